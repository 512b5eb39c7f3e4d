/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rewriting what was rewritten before: by us for another host, by libvirt, by users.
 */
#include "act/rewrite.h"

#include "model/text.h"
#include "unit/support/rewrite.h"
#include "unit/support/test.h"

static void filters_only_what_is_marked(void **state)
{
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_node_2, 1);
        HN_FREE char *mixed = edited(placed, "<vcpupin vcpu=\"1\" cpuset=\"8-11\"/>",
                                     "<vcpupin vcpu='1' cpuset='9'/>");
        HN_XMLDOC xmlDoc *doc = xml_of(mixed);
        HN_XMLDOC xmlDoc *unmarked = xml_of(plain_domain);
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
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_XMLDOC xmlDoc *doc = xml_of(placed);
        (void) state;

        assert_true(apply(doc, HN_REWRITE_FILTER, on_nodes_1_9, 2, true));
        HN_FREE char *text = text_of(doc);
        assert_has(text, "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"9\"/>");
        assert_has(text, "what=\"cell\" key=\"1\" value=\"2-3:2097152:20,10\"");
        assert_has_not(text, "pin");
        HN_FREE char *expected = applied(plain_domain, HN_REWRITE_DEFINITION, on_nodes_1_9, 2);
        assert_string_equal(text, expected);
}

static void filtering_drops_what_no_longer_binds(void **state)
{
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_node_2, 1);
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
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *mixed = edited(placed, "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>",
                                     "<vcpupin vcpu='2' cpuset='5'/>");
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
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *lists = edited(placed, "cpus=\"0-1\"", "cpus='0,1'");
        HN_FREE char *doubled = edited(lists, "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>",
                                     "<vcpupin cpuset='4,5-7' vcpu='2'/>");
        HN_XMLDOC xmlDoc *doc = xml_of(doubled);
        HN_XMLDOC xmlDoc *original = xml_of(plain_domain);
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
                { "<emulatorpin cpuset=\"0-7\"/>", "<emulatorpin cpuset=\"99\"/>",
                  "<emulatorpin cpuset=\"99\"/>" },
                { "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"8\"/>",
                  "<memnode cellid=\"1\" mode=\"preferred\" nodeset=\"8\"/>",
                  "<memnode cellid=\"1\" mode=\"preferred\" nodeset=\"8\"/>" },
                { "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\">",
                  "<cell id=\"1\" cpus=\"2-3\" memory=\"1048576\" unit=\"KiB\">", "memory=\"1048576\"" },
                { "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\">",
                  "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\" memAccess='shared'>",
                  "memAccess" },
                { "<sibling id=\"1\" value=\"10\"/>", "<sibling id='1' value='10' mine='x'/>", "mine=" },
                { "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>", "<vcpupin vcpu='2' cpuset='4-7' mine='x'/>", "mine=" },
                { "<cputune>", "<cputune><shares>5</shares>", "<shares>5</shares>" },
                { "<cpu>", "<cpu mode='host-model'>", "host-model" },
                { "<numatune>", "<numatune><!-- mine -->", "<!-- mine -->" },
        };
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
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

/* Texts that stand side by side are one when they are read again. */
static void what_was_written_and_read_again_is_settled(void **state)
{
        static const char *const words[] = { "mine ", "mine\n  ", "\n", "<!-- mine -->", "<mine/>", "<![CDATA[mine]]>" };
        static const char *const before[] = { "<cputune>", "<numatune>", "<cpu>", "<metadata>", "<iothreads>", "</domain>" };
        static const char *const into[] = { "</numatune>", "</cputune>", "</cpu>", "</numa>", "</metadata>" };
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        (void) state;

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                for (size_t j = 0; j < sizeof before / sizeof *before; j++)
                        for (size_t k = 0; k < sizeof into / sizeof *into; k++) {
                                HN_FREE char *first = hn_text_print("%s%s", words[i], before[j]);
                                HN_FREE char *second = hn_text_print("  <mine/>\n  %s", into[k]);
                                HN_FREE char *half = edited(placed, before[j], first);
                                HN_FREE char *text = edited(half, into[k], second);
                                HN_XMLDOC xmlDoc *doc = xml_of(text);

                                (void) apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true);
                                HN_FREE char *once = text_of(doc);
                                HN_XMLDOC xmlDoc *read = xml_of(once);

                                assert_false(apply(read, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true));
                                HN_FREE char *twice = text_of(read);
                                assert_string_equal(twice, once);
                        }
}

/* Not only what libvirt reads: files are kept by hand, too. */
static void what_the_user_writes_into_ours_stays(void **state)
{
        static const char *const words[] = { "<!-- mine -->", "<?mine x?>", "mine", "<![CDATA[mine]]>", "<mine/>",
                                             "<x:mine xmlns:x='urn:x'/>" };
        static const struct {
                const char *old, *before, *after;
        } places[] = {
                { "<vcpupin vcpu=\"2\" cpuset=\"4-7\"/>", "<vcpupin vcpu='2' cpuset='4-7'>", "</vcpupin>" },
                { "<emulatorpin cpuset=\"0-7\"/>", "<emulatorpin cpuset='0-7'>", "</emulatorpin>" },
                { "<memnode cellid=\"1\" mode=\"strict\" nodeset=\"8\"/>",
                  "<memnode cellid='1' mode='strict' nodeset='8'>", "</memnode>" },
                { "<sibling id=\"1\" value=\"10\"/>", "<sibling id='1' value='10'>", "</sibling>" },
                { "<sibling id=\"1\" value=\"10\"/>", "<sibling id='1' value='10'/>", "" },
                { "<cell id=\"1\" cpus=\"2-3\" memory=\"2097152\" unit=\"KiB\">",
                  "<cell id='1' cpus='2-3' memory='2097152' unit='KiB'>", "" },
                { "<numa>", "<numa>", "" },
        };
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        (void) state;

        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
                for (size_t j = 0; j < sizeof words / sizeof *words; j++) {
                        HN_FREE char *new = hn_text_print("%s%s%s", places[i].before, words[j], places[i].after);
                        HN_FREE char *text = edited(placed, places[i].old, new);
                        HN_XMLDOC xmlDoc *doc = xml_of(text);
                        HN_XMLDOC xmlDoc *undone = xml_of(text);

                        (void) apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true);
                        HN_FREE char *again = text_of(doc);
                        assert_has(again, "mine");
                        assert_false(apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true));
                        assert_true(undo(undone));
                        HN_FREE char *rest = text_of(undone);
                        assert_has(rest, "mine");
                        assert_has_not(rest, "applied");
                }
}

static void without_the_mark_all_is_the_users(void **state)
{
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_nodes_0_8, 2);
        HN_FREE char *text = edited(placed, "<homenode:applied xmlns:homenode=\"urn:homenode:applied:1\">",
                                    "<homenode:applied xmlns:homenode=\"urn:other\">");
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        (void) state;

        assert_false(undo(doc));
        assert_false(apply(doc, HN_REWRITE_PREPARE, on_nodes_1_9, 2, true));
}

/* The first counts; what the others may say is the user's. */
static void takes_out_all_of_several_marks(void **state)
{
        static const char mark[] = "<h:applied xmlns:h='urn:homenode:applied:1'><h:added what='emulatorpin' value='7'/>"
                                   "</h:applied>";
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_PREPARE, on_node_2, 1);
        HN_FREE char *new = hn_text_print("%s<x xmlns='urn:x'/>%s</metadata><metadata>%s%s</metadata>", mark, mark, mark, mark);
        HN_FREE char *text = edited(placed, "</metadata>", new);
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        (void) state;

        assert_true(undo(doc));
        HN_FREE char *after = text_of(doc);
        assert_has_not(after, "applied");
        assert_has_not(after, "pin");
        assert_has(after, "<x xmlns=\"urn:x\"/>");
        assert_false(undo(doc));
}

static void renews_cells_that_no_longer_fit(void **state)
{
        static const struct cell_spec larger[] = { { "0-2", 2 * GIB, "0", "0-3" },
                                                   { "3-5", 2 * GIB, "1", "4-7" } };
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_FREE char *more = edited(placed, "<vcpu placement=\"static\">4</vcpu>", "<vcpu>6</vcpu>");
        HN_FREE char *filled = edited(more, "cpus=\"0-1\"", "cpus=\"0-1,4-5\"");
        HN_FREE char *memory = edited(placed, "4194304", "5242880");
        HN_FREE char *wish = edited(placed, "<metadata>", "<metadata><domain xmlns='urn:homenode:1' vnuma='3'/>");
        const char *const edits[] = { more, filled, memory, wish };
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
        HN_XMLDOC xmlDoc *original = xml_of(plain_domain);
        HN_FREE char *before = text_of(original);
        assert_string_equal(text, before);
}

static void never_changes_cells_of_a_running_domain(void **state)
{
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
        HN_FREE char *running = edited(placed, "<domain type=\"kvm\">", "<domain type='kvm' id='4'>");
        HN_FREE char *more = edited(running, "<vcpu placement=\"static\">4</vcpu>", "<vcpu>6</vcpu>");
        HN_FREE char *without = edited(plain_domain, "<domain type='kvm'>", "<domain type='kvm' id='4'>");
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
                "<devices><memory model='dimm'><target><size>1024</size><node>1</node></target></memory>"
                "</devices></domain>",
                "<devices><controller type='pci' index='1' model='pcie-expander-bus'><target><node>1</node>"
                "</target></controller>"
                "</devices></domain>",
        };
        HN_FREE char *placed = applied(plain_domain, HN_REWRITE_DEFINITION, on_nodes_0_8, 2);
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
        static const char text[] = "<domain type='kvm'><name>a</name><memory>4194304</memory><vcpu>4</vcpu>"
                                   "<memoryBacking>"
                                   "<hugepages><page size='2048' nodeset='0'/></hugepages></memoryBacking>"
                                   "</domain>";
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        (void) state;

        assert_false(apply(doc, HN_REWRITE_DEFINITION, on_nodes_0_8, 2, false));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(filters_only_what_is_marked),
                cmocka_unit_test(filters_cells_without_touching_them),
                cmocka_unit_test(filtering_drops_what_no_longer_binds),
                cmocka_unit_test(filtering_unbinds_what_has_no_place_here),
                cmocka_unit_test(knows_its_own_after_libvirt_wrote_it_anew),
                cmocka_unit_test(what_the_user_writes_wins),
                cmocka_unit_test(what_was_written_and_read_again_is_settled),
                cmocka_unit_test(what_the_user_writes_into_ours_stays),
                cmocka_unit_test(without_the_mark_all_is_the_users),
                cmocka_unit_test(takes_out_all_of_several_marks),
                cmocka_unit_test(renews_cells_that_no_longer_fit),
                cmocka_unit_test(never_changes_cells_of_a_running_domain),
                cmocka_unit_test(keeps_cells_that_something_refers_to),
                cmocka_unit_test(adds_no_cells_beside_page_sizes_of_cells),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
