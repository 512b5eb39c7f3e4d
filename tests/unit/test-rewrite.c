/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite.h"

#include "unit/support/rewrite.h"
#include "unit/support/test.h"

static void places_one_cell(void **state)
{
        HN_FREE char *text = applied(plain_domain, HN_REWRITE_PREPARE, on_node_2, 1);
        (void) state;

        assert_string_equal(text,
                "<domain type=\"kvm\">\n"
                "  <name>vm</name>\n"
                "  <metadata>\n"
                "    <homenode:applied xmlns:homenode=\"urn:homenode:applied:1\">\n"
                "      <homenode:added what=\"metadata\"/>\n"
                "      <homenode:added what=\"cputune\"/>\n"
                "      <homenode:added what=\"numatune\"/>\n"
                "      <homenode:added what=\"memory\" value=\"restrictive:2\"/>\n"
                "      <homenode:added what=\"vcpupin\" key=\"0\" value=\"8-11\"/>\n"
                "      <homenode:added what=\"vcpupin\" key=\"1\" value=\"8-11\"/>\n"
                "      <homenode:added what=\"vcpupin\" key=\"2\" value=\"8-11\"/>\n"
                "      <homenode:added what=\"vcpupin\" key=\"3\" value=\"8-11\"/>\n"
                "      <homenode:added what=\"emulatorpin\" value=\"8-11\"/>\n"
                "      <homenode:added what=\"iothreadpin\" key=\"1\" value=\"8-11\"/>\n"
                "    </homenode:applied>\n"
                "  </metadata>\n"
                "  <memory unit=\"KiB\">4194304</memory>\n"
                "  <vcpu placement=\"static\">4</vcpu>\n"
                "  <iothreads>1</iothreads>\n"
                "  <cputune>\n"
                "    <vcpupin vcpu=\"0\" cpuset=\"8-11\"/>\n"
                "    <vcpupin vcpu=\"1\" cpuset=\"8-11\"/>\n"
                "    <vcpupin vcpu=\"2\" cpuset=\"8-11\"/>\n"
                "    <vcpupin vcpu=\"3\" cpuset=\"8-11\"/>\n"
                "    <emulatorpin cpuset=\"8-11\"/>\n"
                "    <iothreadpin iothread=\"1\" cpuset=\"8-11\"/>\n"
                "  </cputune>\n"
                "  <numatune>\n"
                "    <memory mode=\"restrictive\" nodeset=\"2\"/>\n"
                "  </numatune>\n"
                "  <os>\n    <type>hvm</type>\n  </os>\n"
                "</domain>\n");
}

static void places_several_cells(void **state)
{
        HN_FREE char *text = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        (void) state;

        assert_has(text,
                "  <cpu>\n"
                "    <numa>\n"
                "      <cell id=\"0\" cpus=\"0-1\" memory=\"2097152\" unit=\"KiB\">\n"
                "        <distances>\n"
                "          <sibling id=\"0\" value=\"10\"/>\n"
                "          <sibling id=\"1\" value=\"20\"/>\n"
                "        </distances>\n"
                "      </cell>\n");
        assert_has(text,
                "  <numatune>\n"
                "    <memnode cellid=\"0\" mode=\"strict\" nodeset=\"0\"/>\n"
                "    <memnode cellid=\"1\" mode=\"strict\" nodeset=\"8\"/>\n"
                "  </numatune>\n");
        assert_has(text, "<vcpupin vcpu=\"1\" cpuset=\"0-3\"/>\n    <vcpupin vcpu=\"2\" cpuset=\"4-7\"/>");
        assert_has(text, "<emulatorpin cpuset=\"0-7\"/>");
        assert_has(text, "what=\"cell\" key=\"1\" value=\"2-3:2097152:20,10\"");
}

/* Documents with everything that a careless rewriting would lose or reformat. */
static const char *const odd_documents[] = {
        plain_domain,
        "<domain type='kvm'><name>vm</name><memory>4194304</memory><vcpu>4</vcpu></domain>",
        "<?xml version='1.0' encoding='utf-8'?>\n<!-- a -->\n<domain type='kvm' id='7'>\n\n\n  <name>vm"
        "</name>  <!-- b -->\n"
        "\t<memory>4194304</memory>\n\t<vcpu>4</vcpu><metadata>\n</metadata><cputune/>\n<numatune>\n  "
        "</numatune>"
        "<cpu mode='host-passthrough'><!-- c --></cpu></domain>\n<!-- d -->",
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\r\n  <devices/>\r\n  "
        "<?pi data?>"
        "<vcpu>4</vcpu>text<memory>4194304</memory><name>vm</name>\r\n  <metadata>\n    "
        "<a:b xmlns:a='urn:a' a:c=\"&lt;'\">"
        "<![CDATA[ <x> ]]>\xc3\xa4&#10;</a:b>\n    "
        "<homenode:domain xmlns:homenode='urn:homenode:1' priority='high'/></metadata>\n"
        "  <cputune>\n    <shares>2</shares>\n    <vcpupin vcpu='1' cpuset='0'/>\n    "
        "<vcpusched vcpus='1' scheduler='rr' priority='1'/>\n"
        "  </cputune><qemu:commandline>\n    <qemu:arg value='-x'/></qemu:commandline></domain>",
        "<domstatus state='running'>\n  <monitor/>\n  <domain type='kvm' id='3'>\n    <name>vm</name>\n    "
        "<memory>4194304</memory>\n"
        "    <vcpu>4</vcpu>\n  </domain>\n</domstatus>",
        "<domain type='kvm'><!-- first --><name>vm</name><memory>4194304</memory><vcpu>4</vcpu>"
        "<cpu><numa><cell cpus='0-1' memory='2097152'/><cell cpus='2-3' memory='2097152'/></numa></cpu>"
        "</domain>",
};

static void assert_round_trip(const char *original, enum hn_rewrite_form form, const struct cell_spec *cells,
                              size_t n)
{
        HN_XMLDOC xmlDoc *doc = xml_of(original);
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *fault = NULL, *before = text_of(doc), *once = NULL, *twice = NULL, *after = NULL;
        bool changed;

        assert_int_equal(hn_request_parse(doc, &request, &fault), 0);
        changed = apply(doc, form, cells, n, request->n_cells > 0);
        once = text_of(doc);
        assert_int_equal(changed, strcmp(before, once) != 0);

        HN_XMLDOC xmlDoc *read_again = xml_of(once);
        HN_REQUEST struct hn_request *now = NULL;
        assert_int_equal(hn_request_parse(read_again, &now, &fault), 0);
        assert_int_equal(now->n_vcpu_pins, request->n_vcpu_pins);
        assert_int_equal(now->numatune_user, request->numatune_user);
        assert_int_equal(now->cells_ours, now->n_cells > request->n_cells);
        assert_false(apply(read_again, form, cells, n, now->n_cells > 0));
        twice = text_of(read_again);
        assert_string_equal(twice, once);

        assert_int_equal(undo(read_again), changed);
        after = text_of(read_again);
        assert_string_equal(after, before);
        assert_false(undo(read_again));
}

static void gives_back_every_byte(void **state)
{
        static const enum hn_rewrite_form forms[] = { HN_REWRITE_PREPARE, HN_REWRITE_FILTER,
                                                      HN_REWRITE_DEFINITION };
        (void) state;

        for (size_t i = 0; i < sizeof odd_documents / sizeof *odd_documents; i++)
                for (size_t form = 0; form < 3; form++) {
                        assert_round_trip(odd_documents[i], forms[form], on_node_2, 1);
                        assert_round_trip(odd_documents[i], forms[form], on_nodes_0_8, 2);
                        assert_round_trip(odd_documents[i], forms[form], on_three_nodes, 3);
                }
}

static void leaves_alone_what_is_not_placed_or_not_ours(void **state)
{
        static const char *const bodies[] = {
                "<domain type='kvm'><name>a</name><memory>1</memory><metadata>"
                "<domain xmlns='urn:homenode:1' placement='off'/></metadata></domain>",
                "<domain type='lxc'><name>a</name><memory>1</memory></domain>",
        };
        HN_XMLDOC xmlDoc *doc = xml_of(plain_domain);
        HN_DECISION struct hn_decision *decision = decision_of(on_node_2, 1, false);
        (void) state;

        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
                HN_XMLDOC xmlDoc *other = xml_of(bodies[i]);

                assert_false(apply(other, HN_REWRITE_PREPARE, on_nodes_0_8, 2, false));
        }
        decision->verdict = HN_LEFT;
        assert_false(apply_with(doc, HN_REWRITE_PREPARE, HN_DEFINITION_AUTO, decision));
        decision->verdict = HN_PLACED;
        assert_false(apply_with(doc, HN_REWRITE_DEFINITION, HN_DEFINITION_AUTO, decision));
}

static void completes_only_what_the_user_left_open(void **state)
{
        static const struct {
                const char *body, *has, *has_not;
        } cases[] = {
                { "<vcpu cpuset='0-3'>4</vcpu>", "<memory mode=\"restrictive\" nodeset=\"2\"/>", "pin" },
                { "<vcpu>4</vcpu><cputune><emulatorpin cpuset='1'/>"
                  "</cputune>", "<vcpupin vcpu=\"3\" cpuset=\"8-11\"/>",
                  "<emulatorpin cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><cputune><vcpupin vcpu='2' cpuset='1'/>"
                  "</cputune>", "<vcpupin vcpu=\"1\" cpuset=\"8-11\"/>",
                  "<vcpupin vcpu=\"2\" cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><iothreads>2</iothreads><cputune><iothreadpin iothread='1' cpuset='1'/>"
                  "</cputune>",
                  "<iothreadpin iothread=\"2\" cpuset=\"8-11\"/>",
                  "<iothreadpin iothread=\"1\" cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><numatune><memory mode='preferred' nodeset='1'/></numatune>",
                  "<vcpupin vcpu=\"0\" cpuset=\"8-11\"/>", "restrictive" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *text = NULL, *out = NULL;

                assert_true(asprintf(&text, "<domain type='kvm'><name>a</name><memory unit='GiB'>4"
                                            "</memory>%s</domain>",
                                     cases[i].body) > 0);
                out = applied(text, HN_REWRITE_PREPARE, on_node_2, 1);
                assert_has(out, cases[i].has);
                assert_has_not(out, cases[i].has_not);
        }
}

static void binds_cells_of_the_user_only_at_prepare(void **state)
{
        const char *given = odd_documents[5];
        HN_XMLDOC xmlDoc *doc = xml_of(given);
        HN_XMLDOC xmlDoc *definition = xml_of(given);
        (void) state;

        assert_true(apply(doc, HN_REWRITE_PREPARE, on_nodes_0_8, 2, true));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<cell cpus=\"2-3\" memory=\"2097152\"/>");
        assert_has(text, "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"8\"/>");
        assert_false(apply(definition, HN_REWRITE_DEFINITION, on_nodes_0_8, 2, true));
}

static void binds_nothing_without_a_memory_set(void **state)
{
        HN_DECISION struct hn_decision *decision = decision_of(on_nodes_0_8, 2, false);
        HN_XMLDOC xmlDoc *doc = xml_of(plain_domain);
        (void) state;

        hwloc_bitmap_zero(decision->placement->memory_nodes);
        assert_true(apply_with(doc, HN_REWRITE_PREPARE, HN_DEFINITION_AUTO, decision));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<cell id=\"1\"");
        assert_has_not(text, "<numatune");
}

static void writes_the_topology_that_is_decided(void **state)
{
        HN_DECISION struct hn_decision *decision = decision_of(on_nodes_0_8, 2, false);
        HN_XMLDOC xmlDoc *doc = xml_of(plain_domain);
        HN_XMLDOC xmlDoc *with_own = xml_of("<domain type='kvm'><name>a</name><memory>4194304</memory>"
                                            "<vcpu>4</vcpu>"
                                            "<cpu><topology sockets='1' cores='4' threads='1'/></cpu>"
                                            "</domain>");
        (void) state;

        decision->shape->topology = (struct hn_topology){ 2, 1, 1, 1, 2 };
        assert_true(apply_with(doc, HN_REWRITE_DEFINITION, HN_DEFINITION_AUTO, decision));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<cpu>\n    <topology sockets=\"2\" cores=\"1\" threads=\"2\"/>\n    <numa>");
        assert_has_not(text, "pin");
        assert_has(text, "<memnode cellid=\"0\" mode=\"strict\" nodeset=\"0\"/>");

        assert_true(apply_with(with_own, HN_REWRITE_DEFINITION, HN_DEFINITION_AUTO, decision));
        HN_FREE char *own = text_of(with_own);
        assert_has_not(own, "sockets=\"2\"");
        assert_has_not(own, "what=\"topology\"");
}

static void writes_into_definitions_what_the_policy_allows(void **state)
{
        HN_DECISION struct hn_decision *decision = decision_of(on_nodes_0_8, 2, false);
        HN_XMLDOC xmlDoc *minimal = xml_of(plain_domain);
        HN_XMLDOC xmlDoc *never = xml_of(plain_domain);
        (void) state;

        assert_true(apply_with(minimal, HN_REWRITE_DEFINITION, HN_DEFINITION_MINIMAL, decision));
        HN_FREE char *text = text_of(minimal);
        assert_has(text, "<cell id=\"0\"");
        assert_has_not(text, "memnode");
        assert_false(apply_with(never, HN_REWRITE_DEFINITION, HN_DEFINITION_NEVER, decision));
}

static void writes_no_distances_that_libvirt_refuses(void **state)
{
        static const unsigned bad[] = { 10, 9, 0, 255, 300 };
        (void) state;

        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                HN_DECISION struct hn_decision *decision = decision_of(on_nodes_0_8, 2, false);
                HN_XMLDOC xmlDoc *doc = xml_of(plain_domain);

                decision->shape->distances[1] = bad[i];
                assert_true(apply_with(doc, HN_REWRITE_PREPARE, HN_DEFINITION_AUTO, decision));
                HN_FREE char *text = text_of(doc);
                assert_has(text, "<cell id=\"1\"");
                assert_has_not(text, "sibling");
        }
}

static void writes_the_declaration_as_it_was(void **state)
{
        static const char *const texts[] = {
                "<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\"?>\n<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\" standalone=\"yes\"?>\n<domain>\xc3\xa4&#13;<a b=\"&#10;\"/></domain>\n",
        };
        HN_XMLDOC xmlDoc *latin = xml_of("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><domain>\xe4"
                                         "</domain>");
        HN_FREE char *utf8 = text_of(latin);
        (void) state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                HN_XMLDOC xmlDoc *doc = xml_of(texts[i]);
                HN_FREE char *out = text_of(doc);

                assert_string_equal(out, texts[i]);
        }
        assert_string_equal(utf8, texts[2]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(places_one_cell),
                cmocka_unit_test(places_several_cells),
                cmocka_unit_test(gives_back_every_byte),
                cmocka_unit_test(leaves_alone_what_is_not_placed_or_not_ours),
                cmocka_unit_test(completes_only_what_the_user_left_open),
                cmocka_unit_test(binds_cells_of_the_user_only_at_prepare),
                cmocka_unit_test(binds_nothing_without_a_memory_set),
                cmocka_unit_test(writes_the_topology_that_is_decided),
                cmocka_unit_test(writes_into_definitions_what_the_policy_allows),
                cmocka_unit_test(writes_no_distances_that_libvirt_refuses),
                cmocka_unit_test(writes_the_declaration_as_it_was),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
