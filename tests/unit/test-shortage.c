/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is said where there is no room, or on no single node: what is short, and nothing else.  Nodes of 32 GiB have 31 to give; QEMU takes 32
 * MiB for a guest's first GiB and 8 for each further one.
 */
#include "unit/support/test.h"

#include "unit/support/place.h"

static void assert_reason(struct scene *scene, const struct hn_request *request, enum hn_verdict verdict,
                          const char *reason)
{
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);

        assert_int_equal(d->verdict, verdict);
        assert_string_equal(d->reason, reason);
}

static void too_few_cpus_are_named(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 33, GIB);

        (void) state;
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "33 vCPUs are wanted, the nodes it may use carry 32 together");
        request->wishes.spanning_forbidden = true;
        assert_reason(scene, request, HN_REFUSED, "no room on any single node, and spanning is forbidden: "
                                                  "33 vCPUs are wanted, no node it may use carries more than 8");
        hn_request_free(request);
        scene_free(scene);
}

/* 200 GiB and 32 + 199 × 8 = 1,624 MiB. */
static void too_little_memory_is_named(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, 200 * GIB);

        (void) state;
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "201.5 GiB of memory are wanted, the nodes it may use have "
                                               "124 GiB left together, 31 GiB at most on one");
        request->wishes.spanning_forbidden = true;
        assert_reason(scene, request, HN_REFUSED, "no room on any single node, and spanning is forbidden: "
                                                  "201.5 GiB of memory are wanted, no node it may use has more than "
                                                  "31 GiB left");
        hn_request_free(request);
        scene_free(scene);
}

/* 50 GiB and 32 + 49 × 8 = 424 MiB; another guest's 12 GiB and 120 MiB leave 18 GiB and 904 MiB on node 2. */
static void only_nodes_that_it_may_use_count(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, 50 * GIB);

        (void) state;
        occupy(scene, 2, 12 * GIB, "2");
        request->wishes.nodes = set_of("2-3");
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "50.4 GiB of memory are wanted, the nodes it may use have "
                                               "49.8 GiB left together, 31 GiB at most on one");
        hn_request_free(request);
        scene_free(scene);
}

static void both_are_named_where_both_are_short(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 40, 200 * GIB);

        (void) state;
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "40 vCPUs are wanted, the nodes it may use carry 32 together; "
                                               "201.5 GiB of memory are wanted, the nodes it may use have 124 GiB left "
                                               "together, 31 GiB at most on one");
        hn_request_free(request);
        scene_free(scene);
}

/* 800 pages of 2 MiB are 1.5625 GiB. */
static void huge_pages_are_named_by_their_size(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, 4 * GIB);

        (void) state;
        host_pool(scene->host, 1, 2048, 800);
        request->page_kib = 2048;
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "4 GiB in huge pages of 2 MiB are wanted, the nodes it may use "
                                               "have 1.5 GiB left together, 1.5 GiB at most on one");
        hn_request_free(request);
        scene_free(scene);
}

/* Node 0 has two CPUs and memory, node 1 eight CPUs and 4 GiB: neither is short by itself. */
static void cpus_here_and_memory_there_is_said(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 8, 1, 0, 32 * GIB }));
        struct hn_request *request = vm(1, 4, 8 * GIB);

        (void) state;
        scene->host->nodes[0].n_cores = scene->host->nodes[0].n_threads = 2;
        host_memory(scene->host, 1, 4 * GIB);
        request->wishes.spanning_forbidden = true;
        /* 8 GiB and 88 MiB */
        assert_reason(scene, request, HN_REFUSED, "no room on any single node, and spanning is forbidden: 4 vCPUs and "
                                                  "8 GiB are wanted, and where there are CPUs there is not the memory");
        hn_request_free(request);
        scene_free(scene);
}

static void no_home_at_all_is_said(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 4, 1, 0, 8 * GIB }));
        struct hn_request *request = vm(1, 1, GIB);

        (void) state;
        host_no_cpus(scene->host, 0);
        assert_reason(scene, request, HN_LEFT, "left to libvirt: no room: "
                                               "there is no node that it may use");
        hn_request_free(request);
        scene_free(scene);
}

/* Two nodes of 12 cores and 15 GiB to give; 16 vCPUs in a cell of the user's own, of which one is on line. */
static void a_spread_for_want_of_cpus_says_so(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 12, 1, 0, 16 * GIB }));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>1</memory><vcpu current='1'>16</vcpu>"
                                                "<cpu><numa><cell id='0' cpus='0-15' memory='1' unit='GiB'/>"
                                                "</numa></cpu>");

        (void) state;
        assert_reason(scene, request, HN_PLACED, "spread over nodes 0-1: 16 vCPUs (its maximum) are wanted, no node it "
                                                 "may use carries more than 12");
        hn_request_free(request);
        scene_free(scene);
}

/* 20 GiB and 184 MiB in one cell. */
static void a_spread_for_want_of_memory_says_so(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 12, 1, 0, 16 * GIB }));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>20</memory><vcpu>2</vcpu>"
                                                "<cpu><numa><cell id='0' cpus='0-1' memory='20' unit='GiB'/>"
                                                "</numa></cpu>");

        (void) state;
        assert_reason(scene, request, HN_PLACED, "spread over nodes 0-1: 20.1 GiB of memory are wanted, no node it may "
                                                 "use has more than 15.1 GiB left");
        hn_request_free(request);
        scene_free(scene);
}

/* 3 GiB of 2 MiB pages, 2 GiB of them on each node. */
static void a_spread_for_want_of_pages_says_so(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 12, 1, 0, 16 * GIB }));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>3</memory><vcpu>2</vcpu>"
                                                "<memoryBacking><hugepages/></memoryBacking>"
                                                "<cpu><numa><cell id='0' cpus='0-1' memory='3' unit='GiB'/>"
                                                "</numa></cpu>");

        (void) state;
        host_pool(scene->host, 0, 2048, 1024);
        host_pool(scene->host, 1, 2048, 1024);
        assert_reason(scene, request, HN_PLACED, "spread over nodes 0-1: 3 GiB in huge pages of 2 MiB are wanted, no "
                                                 "node it may use has more than 2 GiB left");
        hn_request_free(request);
        scene_free(scene);
}

/* One of two cells is too large for any node: that one is told of, not the whole guest. */
static void a_spread_for_the_sake_of_one_cell_names_it(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 12, 1, 0, 16 * GIB }));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>4</memory><vcpu>18</vcpu>"
                                                "<cpu><numa><cell id='0' cpus='0-15' memory='2' unit='GiB'/>"
                                                "<cell id='1' cpus='16-17' memory='2' unit='GiB'/></numa></cpu>");

        (void) state;
        assert_reason(scene, request, HN_PLACED, "spread over nodes 0-1: 16 vCPUs are wanted for one cell, no node it "
                                                 "may use carries more than 12");
        hn_request_free(request);
        scene_free(scene);
}

/* Node 0 has two CPUs and memory, node 1 eight CPUs and 4 GiB. */
static void a_spread_for_cpus_here_and_memory_there_says_so(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 8, 1, 0, 32 * GIB }));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>8</memory><vcpu>4</vcpu>"
                                                "<cpu><numa><cell id='0' cpus='0-3' memory='8' unit='GiB'/>"
                                                "</numa></cpu>");

        (void) state;
        scene->host->nodes[0].n_cores = scene->host->nodes[0].n_threads = 2;
        host_memory(scene->host, 1, 4 * GIB);
        assert_reason(scene, request, HN_PLACED, "spread over nodes 0-1: 4 vCPUs and 8 GiB are wanted, and where there "
                                                 "are CPUs there is not the memory");
        hn_request_free(request);
        scene_free(scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(too_few_cpus_are_named),
                cmocka_unit_test(too_little_memory_is_named),
                cmocka_unit_test(only_nodes_that_it_may_use_count),
                cmocka_unit_test(both_are_named_where_both_are_short),
                cmocka_unit_test(huge_pages_are_named_by_their_size),
                cmocka_unit_test(cpus_here_and_memory_there_is_said),
                cmocka_unit_test(no_home_at_all_is_said),
                cmocka_unit_test(a_spread_for_want_of_cpus_says_so),
                cmocka_unit_test(a_spread_for_want_of_memory_says_so),
                cmocka_unit_test(a_spread_for_want_of_pages_says_so),
                cmocka_unit_test(a_spread_for_the_sake_of_one_cell_names_it),
                cmocka_unit_test(a_spread_for_cpus_here_and_memory_there_says_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
