/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite.h"

#include "unit/support/decision.h"
#include "unit/support/test.h"
#include "unit/support/xml.h"

#define GIB (1ull << 20) /* in KiB */

static const struct cell_spec on_node_2[] = { { "0-3", 4 * GIB, "2", "8-11" } };
static const struct cell_spec on_node_5[] = { { "0-3", 4 * GIB, "5", "20-23" } };
static const struct cell_spec on_nodes_0_8[] = { { "0-1", 2 * GIB, "0", "0-3" }, { "2-3", 2 * GIB, "8", "4-7" } };
static const struct cell_spec on_nodes_1_9[] = { { "0-1", 2 * GIB, "1", "16" }, { "2-3", 2 * GIB, "9", "17" } };
static const struct cell_spec on_three_nodes[] = { { "0-1", GIB, "0", "0" }, { "2", GIB, "1", "1" },
                                                   { "3", 2 * GIB, "2", "2" } };

static const char plain[] =
        "<domain type='kvm'>\n"
        "  <name>vm</name>\n"
        "  <memory unit='KiB'>4194304</memory>\n"
        "  <vcpu placement='static'>4</vcpu>\n"
        "  <iothreads>1</iothreads>\n"
        "  <os>\n    <type>hvm</type>\n  </os>\n"
        "</domain>\n";

static char *text_of(xmlDoc *doc)
{
        char *text = NULL;
        size_t length;

        assert_int_equal(hn_xml_format(doc, &text, &length), 0);
        assert_int_equal(strlen(text), length);
        return text;
}

static bool apply_with(xmlDoc *doc, enum hn_rewrite_form form, enum hn_definition definition,
                       struct hn_decision *decision)
{
        struct hn_policy policy;
        struct hn_situation situation = { .policy = &policy };
        bool changed;

        hn_policy_defaults(&policy);
        policy.definition = definition;
        assert_int_equal(hn_rewrite_apply(doc, form, &situation, decision, &changed), 0);
        return changed;
}

static bool apply(xmlDoc *doc, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n, bool given)
{
        HN_DECISION struct hn_decision *decision = decision_of(cells, n, given);

        return apply_with(doc, form, HN_DEFINITION_AUTO, decision);
}

static bool undo(xmlDoc *doc)
{
        bool changed;

        assert_int_equal(hn_rewrite_undo(doc, &changed), 0);
        return changed;
}

/* Text after applying one decision to a text. */
static char *applied(const char *text, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n)
{
        HN_XMLDOC xmlDoc *doc = xml_of(text);

        (void) apply(doc, form, cells, n, false);
        return text_of(doc);
}

/* Replaces the one place where `old` stands. */
static char *edited(const char *text, const char *old, const char *new)
{
        const char *at = strstr(text, old);
        char *out = NULL;

        assert_non_null(at);
        assert_null(strstr(at + 1, old));
        assert_true(asprintf(&out, "%.*s%s%s", (int) (at - text), text, new, at + strlen(old)) >= 0);
        return out;
}

static void assert_has(const char *text, const char *part)
{
        if (!strstr(text, part))
                fail_msg("no '%s' in\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
        if (strstr(text, part))
                fail_msg("'%s' in\n%s", part, text);
}

static void places_one_cell(void **state)
{
        HN_FREE char *text = applied(plain, HN_REWRITE_PREPARE, on_node_2, 1);
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
        HN_FREE char *text = applied(plain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
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
        plain,
        "<domain type='kvm'><name>vm</name><memory>4194304</memory><vcpu>4</vcpu></domain>",
        "<?xml version='1.0' encoding='utf-8'?>\n<!-- a -->\n<domain type='kvm' id='7'>\n\n\n  <name>vm</name>  <!-- b -->\n"
        "\t<memory>4194304</memory>\n\t<vcpu>4</vcpu><metadata>\n</metadata><cputune/>\n<numatune>\n  </numatune>"
        "<cpu mode='host-passthrough'><!-- c --></cpu></domain>\n<!-- d -->",
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\r\n  <devices/>\r\n  <?pi data?>"
        "<vcpu>4</vcpu>text<memory>4194304</memory><name>vm</name>\r\n  <metadata>\n    <a:b xmlns:a='urn:a' a:c=\"&lt;'\">"
        "<![CDATA[ <x> ]]>\xc3\xa4&#10;</a:b>\n    <homenode:domain xmlns:homenode='urn:homenode:1' priority='high'/></metadata>\n"
        "  <cputune>\n    <shares>2</shares>\n    <vcpupin vcpu='1' cpuset='0'/>\n    <vcpusched vcpus='1' scheduler='rr' priority='1'/>\n"
        "  </cputune><qemu:commandline>\n    <qemu:arg value='-x'/></qemu:commandline></domain>",
        "<domstatus state='running'>\n  <monitor/>\n  <domain type='kvm' id='3'>\n    <name>vm</name>\n    <memory>4194304</memory>\n"
        "    <vcpu>4</vcpu>\n  </domain>\n</domstatus>",
        "<domain type='kvm'><!-- first --><name>vm</name><memory>4194304</memory><vcpu>4</vcpu>"
        "<cpu><numa><cell cpus='0-1' memory='2097152'/><cell cpus='2-3' memory='2097152'/></numa></cpu></domain>",
};

static void assert_round_trip(const char *original, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n)
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
        static const enum hn_rewrite_form forms[] = { HN_REWRITE_PREPARE, HN_REWRITE_FILTER, HN_REWRITE_DEFINITION };
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
        HN_XMLDOC xmlDoc *doc = xml_of(plain);
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
                { "<vcpu>4</vcpu><cputune><emulatorpin cpuset='1'/></cputune>", "<vcpupin vcpu=\"3\" cpuset=\"8-11\"/>",
                  "<emulatorpin cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><cputune><vcpupin vcpu='2' cpuset='1'/></cputune>", "<vcpupin vcpu=\"1\" cpuset=\"8-11\"/>",
                  "<vcpupin vcpu=\"2\" cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><iothreads>2</iothreads><cputune><iothreadpin iothread='1' cpuset='1'/></cputune>",
                  "<iothreadpin iothread=\"2\" cpuset=\"8-11\"/>", "<iothreadpin iothread=\"1\" cpuset=\"8-11\"/>" },
                { "<vcpu>4</vcpu><numatune><memory mode='preferred' nodeset='1'/></numatune>",
                  "<vcpupin vcpu=\"0\" cpuset=\"8-11\"/>", "restrictive" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *text = NULL, *out = NULL;

                assert_true(asprintf(&text, "<domain type='kvm'><name>a</name><memory unit='GiB'>4</memory>%s</domain>",
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
        HN_XMLDOC xmlDoc *doc = xml_of(plain);
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
        HN_XMLDOC xmlDoc *doc = xml_of(plain);
        HN_XMLDOC xmlDoc *with_own = xml_of("<domain type='kvm'><name>a</name><memory>4194304</memory><vcpu>4</vcpu>"
                                            "<cpu><topology sockets='1' cores='4' threads='1'/></cpu></domain>");
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
        HN_XMLDOC xmlDoc *minimal = xml_of(plain);
        HN_XMLDOC xmlDoc *never = xml_of(plain);
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
                HN_XMLDOC xmlDoc *doc = xml_of(plain);

                decision->shape->distances[1] = bad[i];
                assert_true(apply_with(doc, HN_REWRITE_PREPARE, HN_DEFINITION_AUTO, decision));
                HN_FREE char *text = text_of(doc);
                assert_has(text, "<cell id=\"1\"");
                assert_has_not(text, "sibling");
        }
}

static void filters_only_what_is_marked(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_node_2, 1);
        HN_FREE char *mixed = edited(placed, "<vcpupin vcpu=\"1\" cpuset=\"8-11\"/>", "<vcpupin vcpu='1' cpuset='9'/>");
        HN_XMLDOC xmlDoc *doc = xml_of(mixed);
        HN_XMLDOC xmlDoc *unmarked = xml_of(plain);
        (void) state;

        assert_false(apply(unmarked, HN_REWRITE_FILTER, on_node_5, 1, false));
        assert_false(apply(doc, HN_REWRITE_FILTER, on_node_2, 1, false));
        assert_true(apply(doc, HN_REWRITE_FILTER, on_node_5, 1, false));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<vcpupin vcpu=\"0\" cpuset=\"20-23\"/>\n    <vcpupin vcpu=\"1\" cpuset=\"9\"/>");
        assert_has(text, "<memory mode=\"restrictive\" nodeset=\"5\"/>");
        assert_has(text, "what=\"memory\" value=\"restrictive:5\"");
        assert_has_not(text, "8-11");
        assert_true(undo(doc));
        HN_FREE char *after = text_of(doc);
        assert_has(after, "<cputune>\n    <vcpupin vcpu=\"1\" cpuset=\"9\"/>\n  </cputune>");
        assert_has_not(after, "numatune");
        assert_has_not(after, "metadata");
}

static void filters_cells_without_touching_them(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_XMLDOC xmlDoc *doc = xml_of(placed);
        (void) state;

        assert_true(apply(doc, HN_REWRITE_FILTER, on_nodes_1_9, 2, true));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"9\"/>");
        assert_has(text, "what=\"cell\" key=\"1\" value=\"2-3:2097152:20,10\"");
        assert_has_not(text, "pin");
        HN_FREE char *expected = applied(plain, HN_REWRITE_DEFINITION, on_nodes_1_9, 2);
        assert_string_equal(text, expected);
}

static void filtering_drops_what_no_longer_binds(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_node_2, 1);
        HN_DECISION struct hn_decision *decision = decision_of(on_node_2, 1, false);
        HN_XMLDOC xmlDoc *doc = xml_of(placed);
        (void) state;

        hwloc_bitmap_zero(decision->placement->memory_nodes);
        assert_true(apply_with(doc, HN_REWRITE_FILTER, HN_DEFINITION_AUTO, decision));
        HN_FREE char *text = text_of(doc);
        assert_has_not(text, "numatune");
        assert_has(text, "<vcpupin vcpu=\"0\"");
}

static void filtering_unbinds_what_has_no_place_here(void **state)
{
        static const enum hn_verdict verdicts[] = { HN_LEFT, HN_REFUSED };
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *mixed = edited(placed, "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>", "<vcpupin vcpu='2' cpuset='5'/>");
        (void) state;

        for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
                HN_DECISION struct hn_decision *decision = decision_of(on_node_2, 1, false);
                HN_XMLDOC xmlDoc *doc = xml_of(mixed);

                decision->verdict = verdicts[i];
                assert_true(apply_with(doc, HN_REWRITE_FILTER, HN_DEFINITION_AUTO, decision));
                HN_FREE char *text = text_of(doc);
                assert_has(text, "<cputune>\n    <vcpupin vcpu=\"2\" cpuset=\"5\"/>\n  </cputune>");
                assert_has(text, "<cell id=\"1\"");
                assert_has(text, "what=\"cell\" key=\"1\"");
                assert_has_not(text, "numatune");
                assert_false(apply_with(doc, HN_REWRITE_FILTER, HN_DEFINITION_AUTO, decision));
                assert_false(apply_with(doc, HN_REWRITE_PREPARE, HN_DEFINITION_AUTO, decision));
        }
}

static void knows_its_own_after_libvirt_wrote_it_anew(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *lists = edited(placed, "cpus=\"0-1\"", "cpus='0,1'");
        HN_FREE char *doubled = edited(lists, "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>", "<vcpupin cpuset='4,5-7' vcpu='2'/>");
        HN_XMLDOC xmlDoc *doc = xml_of(doubled);
        HN_XMLDOC xmlDoc *original = xml_of(plain);
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;
        (void) state;

        assert_int_equal(hn_request_parse(doc, &request, &fault), 0);
        assert_true(request->cells_ours);
        assert_int_equal(request->n_vcpu_pins, 0);
        assert_set(request->cells[1].ours, "8");
        assert_null(request->cells[1].bound);
        assert_true(undo(doc));
        HN_FREE char *after = text_of(doc), *before = text_of(original);
        assert_string_equal(after, before);
}

static void what_the_user_writes_wins(void **state)
{
        static const struct {
                const char *old, *new, *has;
        } cases[] = {
                { "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>", "<vcpupin vcpu=\"2\" cpuset=\"99\"/>",
                  "<vcpupin vcpu=\"2\" cpuset=\"99\"/>" },
                { "<emulatorpin cpuset=\"0-7\"/>", "<emulatorpin cpuset=\"99\"/>", "<emulatorpin cpuset=\"99\"/>" },
                { "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"8\"/>",
                  "<memnode cellid=\"1\" mode=\"preferred\" nodeset=\"8\"/>",
                  "<memnode cellid=\"1\" mode=\"preferred\" nodeset=\"8\"/>" },
                { "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\">",
                  "<cell id=\"1\" cpus=\"2-3\" memory=\"1048576\" unit=\"KiB\">", "memory=\"1048576\"" },
                { "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\">",
                  "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\" memAccess='shared'>", "memAccess" },
                { "<cputune>", "<cputune><shares>5</shares>", "<shares>5</shares>" },
                { "<cpu>", "<cpu mode='host-model'>", "host-model" },
                { "<numatune>", "<numatune><!-- mine -->", "<!-- mine -->" },
        };
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *text = edited(placed, cases[i].old, cases[i].new);
                HN_XMLDOC xmlDoc *doc = xml_of(text);
                HN_XMLDOC xmlDoc *undone = xml_of(text);

                (void) apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true);
                HN_FREE char *again = text_of(doc);
                assert_has(again, cases[i].has);
                assert_has(again, "<vcpupin vcpu=\"0\" cpuset=\"16\"/>");
                assert_false(apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true));

                assert_true(undo(undone));
                HN_FREE char *rest = text_of(undone);
                assert_has(rest, cases[i].has);
                assert_has_not(rest, "<vcpupin vcpu=\"0\"");
                assert_has_not(rest, "applied");
        }
}

static void without_the_mark_all_is_the_users(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *text = edited(placed, "<homenode:applied xmlns:homenode=\"urn:homenode:applied:1\">",
                                    "<homenode:applied xmlns:homenode=\"urn:other\">");
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        (void) state;

        assert_false(undo(doc));
        assert_false(apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true));
}

static void renews_cells_that_no_longer_fit(void **state)
{
        static const struct cell_spec larger[] = { { "0-2", 2 * GIB, "0", "0-3" }, { "3-5", 2 * GIB, "1", "4-7" } };
        HN_FREE char *placed = applied(plain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_FREE char *more = edited(placed, "<vcpu placement=\"static\">4</vcpu>", "<vcpu>6</vcpu>");
        HN_FREE char *filled = edited(more, "cpus=\"0-1\"", "cpus=\"0-1,4-5\"");
        HN_FREE char *memory = edited(placed, "4194304", "5242880");
        const char *const edits[] = { more, filled, memory };
        (void) state;

        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
                HN_XMLDOC xmlDoc *doc = xml_of(edits[i]);
                HN_REQUEST struct hn_request *request = NULL;
                HN_FREE char *fault = NULL;

                assert_int_equal(hn_request_parse(doc, &request, &fault), 0);
                assert_int_equal(request->n_cells, 0);
                assert_true(apply(doc, HN_REWRITE_DEFINITION, larger, 2, false));
                HN_FREE char *text = text_of(doc);
                assert_has(text, "cpus=\"3-5\"");
                assert_has_not(text, "cpus=\"2-3\"");
                assert_true(undo(doc));
                HN_FREE char *after = text_of(doc);
                assert_has_not(after, "cell");
        }
        HN_XMLDOC xmlDoc *superfluous = xml_of(placed);
        assert_true(apply(superfluous, HN_REWRITE_DEFINITION, on_node_2, 1, false));
        HN_FREE char *text = text_of(superfluous);
        HN_XMLDOC xmlDoc *original = xml_of(plain);
        HN_FREE char *before = text_of(original);
        assert_string_equal(text, before);
}

static void never_changes_cells_of_a_running_domain(void **state)
{
        HN_FREE char *placed = applied(plain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_FREE char *running = edited(placed, "<domain type=\"kvm\">", "<domain type='kvm' id='4'>");
        HN_FREE char *more = edited(running, "<vcpu placement=\"static\">4</vcpu>", "<vcpu>6</vcpu>");
        HN_FREE char *without = edited(plain, "<domain type='kvm'>", "<domain type='kvm' id='4'>");
        HN_XMLDOC xmlDoc *doc = xml_of(more);
        HN_XMLDOC xmlDoc *bare = xml_of(without);
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;
        (void) state;

        assert_int_equal(hn_request_parse(doc, &request, &fault), 0);
        assert_true(request->cells_ours);
        assert_set(request->cells[0].vcpus, "0-1,4-5");
        (void) apply(doc, HN_REWRITE_DEFINITION, on_node_2, 1, false);
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<cell id=\"1\" cpus=\"2-3\"");
        assert_has(text, "what=\"cell\" key=\"1\"");
        assert_false(apply(bare, HN_REWRITE_DEFINITION, on_nodes_0_8, 2, false));
}

static void keeps_cells_that_something_refers_to(void **state)
{
        static const char *const users[] = {
                "<devices><memory model='dimm'><target><size>1024</size><node>1</node></target></memory></devices></domain>",
                "<devices><controller type='pci' index='1' model='pcie-expander-bus'><target><node>1</node></target></controller>"
                "</devices></domain>",
        };
        HN_FREE char *placed = applied(plain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        (void) state;

        for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
                HN_FREE char *text = edited(placed, "</domain>", users[i]);
                HN_XMLDOC xmlDoc *doc = xml_of(text);

                assert_true(undo(doc));
                HN_FREE char *after = text_of(doc);
                assert_has(after, "<cell id=\"1\"");
                assert_has_not(after, "memnode");
                assert_has_not(after, "applied");
        }
}

static void adds_no_cells_beside_page_sizes_of_cells(void **state)
{
        static const char text[] = "<domain type='kvm'><name>a</name><memory>4194304</memory><vcpu>4</vcpu><memoryBacking>"
                                   "<hugepages><page size='2048' nodeset='0'/></hugepages></memoryBacking></domain>";
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        (void) state;

        assert_false(apply(doc, HN_REWRITE_DEFINITION, on_nodes_0_8, 2, false));
}

static void writes_the_declaration_as_it_was(void **state)
{
        static const char *const texts[] = {
                "<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\"?>\n<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<domain>\xc3\xa4</domain>\n",
                "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<domain>\xc3\xa4&#13;<a b=\"&#10;\"/></domain>\n",
        };
        HN_XMLDOC xmlDoc *latin = xml_of("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><domain>\xe4</domain>");
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
                cmocka_unit_test(filters_only_what_is_marked),
                cmocka_unit_test(filters_cells_without_touching_them),
                cmocka_unit_test(filtering_drops_what_no_longer_binds),
                cmocka_unit_test(filtering_unbinds_what_has_no_place_here),
                cmocka_unit_test(knows_its_own_after_libvirt_wrote_it_anew),
                cmocka_unit_test(what_the_user_writes_wins),
                cmocka_unit_test(without_the_mark_all_is_the_users),
                cmocka_unit_test(renews_cells_that_no_longer_fit),
                cmocka_unit_test(never_changes_cells_of_a_running_domain),
                cmocka_unit_test(keeps_cells_that_something_refers_to),
                cmocka_unit_test(adds_no_cells_beside_page_sizes_of_cells),
                cmocka_unit_test(writes_the_declaration_as_it_was),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
