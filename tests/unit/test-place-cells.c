/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where domains go whose cells, memory or nodes the XML says something about: what is bound stays, the rest is placed.
 */
#include "unit/support/test.h"

#include "unit/support/place.h"

static void given_cells_go_together_where_they_fit(void **state)
{
        static const char body[] =
                UUID "<memory>%d</memory><vcpu>4</vcpu><cpu><numa>"
                "<cell id='0' cpus='0-1' memory='%d'/><cell id='1' cpus='2-3' memory='%d'/></numa></cpu>";
        struct scene *scene = scene_of(host_of(&four));
        HN_FREE char *small = NULL, *large = NULL;
        const struct hn_decision *d;

        (void) state;
        assert_true(asprintf(&small, body, 4 << 20, 1 << 20, 3 << 20) > 0);
        assert_true(asprintf(&large, body, 40 << 20, 10 << 20, 30 << 20) > 0);
        d = start_body(scene, small);
        assert_true(d->shape->given);
        assert_set(d->placement->home, "0");
        assert_int_equal(d->placement->n_cells, 2);
        assert_set(d->runner_up, "1");
        scene_free(scene);

        scene = scene_of(host_of(&four));
        d = start_body(scene, large);
        assert_set(d->placement->cells[0].nodes, "0");
        assert_set(d->placement->cells[1].nodes, "1");
        scene_free(scene);
}

static void memory_hotplug_is_said_and_not_reserved(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 16, 4 * GIB);
        const struct hn_decision *d;

        (void) state;
        request->memory_max_kib = 100 * GIB;
        d = scene_start(scene, request);
        assert_non_null(strstr(d->reason, "100 GiB"));
        assert_true(promise_on(d->placement, 0, 0)->memory_kib < 3 * GIB);
        hn_request_free(request);
        scene_free(scene);
}

static void asked_for_cells_are_on_as_many_nodes(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 4, 4 * GIB);
        const struct hn_decision *d;

        (void) state;
        request->wishes.vnuma = 2;
        d = scene_start(scene, request);
        assert_set(d->placement->home, "0-1");
        hn_request_free(request);
        scene_free(scene);
}

static void bound_cells_stay_even_without_room(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        occupy(scene, 1, 28 * GIB, "3");
        d = start_body(scene, UUID "<memory>16777216</memory><vcpu>4</vcpu>"
                                   "<numatune><memnode cellid='0' mode='strict' nodeset='3'/></numatune>"
                                   "<cpu><numa><cell id='0' cpus='0-1' memory='8388608'/>"
                                   "<cell id='1' cpus='2-3' memory='8388608'/></numa></cpu>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->cells[0].nodes, "3");
        assert_set(d->placement->cells[0].cpus, "24-31");
        assert_int_equal(hn_idset_count(d->placement->cells[1].nodes), 1);
        assert_false(hwloc_bitmap_isset(d->placement->cells[1].nodes, 3));
        assert_true(promise_on(d->placement, 3, 0)->memory_kib >= 8 * GIB);
        assert_non_null(strstr(d->reason, "no room"));
        assert_true(hwloc_bitmap_isset(d->placement->memory_nodes, 3));
        scene_free(scene);
}

static void all_bound_leaves_no_memory_set(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d =
                start_body(scene, UUID "<memory>2097152</memory><vcpu>4</vcpu><numatune>"
                                       "<memnode cellid='0' mode='strict' nodeset='2'/>"
                                       "<memnode cellid='1' mode='strict' nodeset='1'/></numatune>"
                                       "<cpu><numa><cell id='0' cpus='0-1' memory='1048576'/>"
                                       "<cell id='1' cpus='2-3' memory='1048576'/></numa></cpu>");

        (void) state;
        assert_set(d->placement->cells[0].nodes, "2");
        assert_set(d->placement->cells[1].nodes, "1");
        assert_set(d->placement->home, "1-2");
        assert_set(d->placement->memory_nodes, "");
        assert_int_equal(d->candidates, 1);
        assert_null(d->runner_up);
        scene_free(scene);
}

static void numatune_is_accounted_for(void **state)
{
        static const char body[] = UUID "<memory>%d</memory><vcpu>2</vcpu><numatune>"
                                        "<memory mode='%s' nodeset='1,3'/></numatune>";
        struct scene *scene = scene_of(host_of(&four));
        HN_FREE char *strict = NULL, *inter = NULL, *large = NULL;
        HN_DECISION struct hn_decision *left = NULL;
        struct hn_request *missing = vm(7, 1, GIB);
        const struct hn_decision *d;

        (void) state;
        assert_true(asprintf(&strict, body, 1 << 20, "strict") > 0);
        assert_true(asprintf(&inter, body, 1 << 20, "interleave") > 0);
        assert_true(asprintf(&large, body, 100 << 20, "strict") > 0);
        occupy(scene, 1, 4 * GIB, "1");
        d = start_body(scene, strict);
        assert_set(d->placement->home, "3");
        assert_set(d->placement->memory_nodes, "");
        d = start_body(scene, inter);
        assert_set(d->placement->home, "1,3");
        assert_int_equal(promise_on(d->placement, 1, 0)->memory_kib, GIB / 2 + 16 * MIB);
        d = start_body(scene, large);
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "1,3");
        assert_non_null(strstr(d->reason, "no room"));
        missing->numatune_nodes = set_of("9");
        missing->numatune_mode = HN_NUMA_STRICT;
        left = scene_ask(scene, missing);
        assert_int_equal(left->verdict, HN_LEFT);
        assert_non_null(strstr(left->reason, "node 9"));
        hn_request_free(missing);
        scene_free(scene);
}

static void numatune_on_memory_only_nodes_gets_the_nearest_cpus(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        host_no_cpus(scene->host, 3);
        host_distance(scene->host, 3, 2, 14);
        d = start_body(scene, UUID "<memory>1048576</memory><vcpu>2</vcpu><numatune>"
                                   "<memory mode='strict' nodeset='3'/></numatune>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_int_equal(promise_on(d->placement, 3, 0)->memory_kib, GIB + 32 * MIB);
        assert_int_equal(promise_on(d->placement, 2, 0)->vcpus_milli, 2000);
        assert_float_equal(d->score.terms[HN_TERM_REMOTE], 0.2, 1e-9);
        scene_free(scene);
}

#define DIMM(gib, cell) \
        "<memory model='dimm'><target><size unit='GiB'>" gib "</size><node>" cell "</node></target></memory>"

/* Cells of 4 GiB on nodes 1 and 2, and a DIMM of 2 GiB in the second: QEMU takes 32 MiB for the first of 10 GiB and 8
 * for each further one, half of which counts to either cell. */
static void memory_devices_are_promised_with_their_cell(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        d = start_body(scene, UUID "<maxMemory slots='4' unit='GiB'>16</maxMemory><memory unit='GiB'>10</memory>"
                                   "<vcpu>4</vcpu><numatune><memnode cellid='0' mode='strict' nodeset='1'/>"
                                   "<memnode cellid='1' mode='strict' nodeset='2'/></numatune>"
                                   "<cpu><numa><cell id='0' cpus='0-1' memory='4194304'/>"
                                   "<cell id='1' cpus='2-3' memory='4194304'/></numa></cpu>"
                                   "<devices>" DIMM("2", "1") "</devices>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(promise_on(d->placement, 1, 0)->memory_kib, 4 * GIB + 52 * MIB);
        assert_int_equal(promise_on(d->placement, 2, 0)->memory_kib, 6 * GIB + 52 * MIB);
        assert_int_equal(d->placement->cells[1].memory_kib, 4 * GIB);
        /* 6 of the 16 GiB can still come */
        assert_non_null(strstr(d->reason, "16 GiB"));
        scene_free(scene);
}

/* Node 3 has 31 GiB to give, of which 28 GiB and 248 MiB are promised: the cell of 2 GiB alone finds room there. */
static void memory_devices_do_not_overcommit_a_node(void **state)
{
        static const char body[] = UUID "<memory unit='GiB'>4</memory><vcpu>2</vcpu>"
                                        "<cpu><numa><cell id='0' cpus='0-1' memory='2097152'/></numa></cpu>"
                                        "<devices>" DIMM("1", "0") DIMM("1", "0") "</devices>";
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = request_of(body);
        HN_DECISION struct hn_decision *with = NULL, *without = NULL;

        (void) state;
        occupy(scene, 1, 28 * GIB, "3");
        request->wishes.nodes = set_of("3");
        with = scene_ask(scene, request);
        request->cells[0].devices_kib = 0;
        without = scene_ask(scene, request);
        assert_int_equal(with->verdict, HN_LEFT);
        assert_int_equal(without->verdict, HN_PLACED);
        hn_request_free(request);
        scene_free(scene);
}

/* One cell of 4 GiB, and memory devices of 2 GiB with this in their <source>, on a host where node 3 has a pool. */
static const struct hn_decision *start_with_source(struct scene *scene, const char *source)
{
        HN_FREE char *body = NULL;

        host_pool(scene->host, 3, 2048, 1024);
        assert_true(asprintf(&body, UUID "<memory unit='GiB'>6</memory><vcpu>2</vcpu><metadata><h:domain "
                             "xmlns:h='urn:homenode:1' nodes='1'/></metadata>"
                             "<cpu><numa><cell id='0' cpus='0-1' memory='4194304'/></numa></cpu>"
                             "<devices><memory model='dimm'><source>%s</source><target><size unit='GiB'>2</size>"
                             "<node>0</node></target></memory></devices>", source) > 0);
        return start_body(scene, body);
}

/* QEMU takes 32 MiB for the first of 6 GiB and 8 for each further one. */
static void a_memory_device_is_promised_where_it_says(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d = start_with_source(scene, "<nodemask>3</nodemask>");
        (void) state;

        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "1");
        assert_int_equal(promise_on(d->placement, 1, 0)->memory_kib, 4 * GIB + 72 * MIB);
        assert_int_equal(promise_on(d->placement, 3, 0)->memory_kib, 2 * GIB);
        assert_int_equal(promise_on(d->placement, 3, 0)->vcpus_milli, 0);
        assert_set(d->placement->memory_nodes, "1,3"); /* or QEMU could not bind it */
        assert_null(strstr(d->reason, "no room"));
        scene_free(scene);
}

static void it_is_promised_in_its_own_pages(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d = start_with_source(scene, "<pagesize unit='MiB'>2</pagesize><nodemask>3</nodemask>");
        (void) state;

        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(promise_on(d->placement, 3, 2048)->memory_kib, 2 * GIB);
        assert_int_equal(promise_on(d->placement, 3, 0)->memory_kib, 0);
        assert_null(strstr(d->reason, "no room"));
        scene_free(scene);
}

static void one_that_has_no_room_is_said(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;
        (void) state;

        occupy(scene, 1, 30 * GIB, "3");
        d = start_with_source(scene, "<nodemask>3</nodemask>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(promise_on(d->placement, 3, 0)->memory_kib, 2 * GIB);
        assert_non_null(strstr(d->reason, "no room where the XML puts 1 of its memory devices"));
        scene_free(scene);
}

static void one_on_a_node_that_is_not_there_is_left(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d = start_with_source(scene, "<nodemask>9</nodemask>");
        (void) state;

        assert_int_equal(d->verdict, HN_LEFT);
        assert_non_null(strstr(d->reason, "its memory device asks for node 9"));
        scene_free(scene);
}

/* 5 GiB in pages of 2 MiB are 2,560 of them. */
static void memory_devices_take_huge_pages(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request;
        const struct hn_decision *d;

        (void) state;
        host_pool(scene->host, 1, 2048, 2559);
        host_pool(scene->host, 2, 2048, 2560);
        request = request_of(UUID "<memory unit='GiB'>5</memory><vcpu>2</vcpu><memoryBacking><hugepages>"
                                  "<page size='2048'/></hugepages></memoryBacking>"
                                  "<cpu><numa><cell id='0' cpus='0-1' memory='3145728'/></numa></cpu>"
                                  "<devices>" DIMM("2", "0") "</devices>");
        d = scene_start(scene, request);
        assert_set(d->placement->home, "2");
        assert_int_equal(promise_on(d->placement, 2, 2048)->memory_kib, 5 * GIB);
        assert_int_equal(promise_on(d->placement, 2, 0)->memory_kib, 64 * MIB);
        hn_request_free(request);
        scene_free(scene);
}

/* Left to libvirt it is counted whole: 4 GiB, and 32 MiB with 3 × 8 for QEMU, over four like nodes. */
static void memory_devices_of_a_guest_left_alone_count(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = request_of(UUID "<memory unit='GiB'>4</memory><vcpu>2</vcpu>"
                                                     "<cpu><numa><cell id='0' cpus='0-1' memory='1048576'/></numa></cpu>"
                                                     "<devices>" DIMM("3", "0") "</devices>");
        const struct hn_decision *d;

        (void) state;
        request->wishes.off = true;
        d = scene_start(scene, request);
        assert_int_equal(d->verdict, HN_LEFT);
        for (unsigned node = 0; node < 4; node++)
                assert_int_equal(promise_on(d->placement, node, 0)->memory_kib, GIB + 14 * MIB);
        hn_request_free(request);
        scene_free(scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(given_cells_go_together_where_they_fit),
                cmocka_unit_test(memory_hotplug_is_said_and_not_reserved),
                cmocka_unit_test(asked_for_cells_are_on_as_many_nodes),
                cmocka_unit_test(bound_cells_stay_even_without_room),
                cmocka_unit_test(all_bound_leaves_no_memory_set),
                cmocka_unit_test(numatune_is_accounted_for),
                cmocka_unit_test(numatune_on_memory_only_nodes_gets_the_nearest_cpus),
                cmocka_unit_test(memory_devices_are_promised_with_their_cell),
                cmocka_unit_test(memory_devices_do_not_overcommit_a_node),
                cmocka_unit_test(a_memory_device_is_promised_where_it_says),
                cmocka_unit_test(it_is_promised_in_its_own_pages),
                cmocka_unit_test(one_that_has_no_room_is_said),
                cmocka_unit_test(one_on_a_node_that_is_not_there_is_left),
                cmocka_unit_test(memory_devices_take_huge_pages),
                cmocka_unit_test(memory_devices_of_a_guest_left_alone_count),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
