/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a domain's XML says of its cells and of what its memory is made of.
 */
#include "model/domain.h"

#include "unit/support/test.h"
#include "unit/support/xml.h"

#define MEMORY "<memory unit='GiB'>4</memory>"

static void reads_cells(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                "<memory unit='GiB'>3</memory><vcpu>8</vcpu><memoryBacking><hugepages>"
                "<page size='1' unit='G' nodeset='1'/>"
                "<page size='2048'/></hugepages></memoryBacking>"
                "<cpu><topology sockets='2' dies='1' cores='2' threads='2'/><numa>"
                "<cell id='1' cpus='4-5' memory='2' unit='GiB' memAccess='shared'><distances>"
                "<sibling id='0' value='21'/>"
                "</distances></cell><cell id='0' cpus='0-3' memory='1048000'><distances>"
                "<sibling id='0' value='10'/>"
                "</distances></cell></numa></cpu>"
                "<numatune><memory mode='strict' nodeset='0-2'/>"
                "<memnode cellid='1' mode='preferred' nodeset='2'/></numatune>"
                "<devices><memory model='dimm'><target><size unit='MiB'>512</size><node>1</node></target>"
                "</memory>"
                "<memory model='virtio-mem'><target><size unit='GiB'>8</size><node>1</node>"
                "<requested unit='GiB'>1</requested></target></memory></devices>");
        (void) state;

        assert_int_equal(request->n_cells, 2);
        assert_false(request->cells_ours);
        assert_set(request->cells[0].vcpus, "0-3,6-7");
        assert_int_equal(request->cells[0].memory_kib, 1048576);
        assert_int_equal(request->cells[0].page_kib, 2048);
        assert_int_equal(request->cells[0].distances[1], 21);
        assert_null(request->cells[0].bound);
        assert_set(request->cells[1].vcpus, "4-5");
        assert_int_equal(request->cells[1].page_kib, 1048576);
        assert_true(hn_request_wants_huge_pages(request));
        assert_int_equal(request->cells[1].devices_kib, 1536 * 1024);
        assert_set(request->cells[1].bound, "2");
        assert_int_equal(request->cells[1].mode, HN_NUMA_PREFERRED);
        assert_int_equal(request->memory_kib, 3 * 1048576);
        assert_true(request->memory_shared);
        assert_int_equal(request->topology.threads, 2);
        assert_int_equal(request->topology.clusters, 1);
        assert_true(request->numatune_user);
        assert_set(request->numatune_nodes, "0-2");
}

static void leaves_memory_devices_out_of_the_start(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                "<maxMemory slots='4' unit='GiB'>16</maxMemory><memory unit='GiB'>5</memory>"
                "<currentMemory unit='GiB'>9</currentMemory>"
                "<devices><memory model='nvdimm'><target><size unit='GiB'>1</size></target></memory>"
                "</devices>");
        (void) state;

        assert_int_equal(request->memory_kib, 4u << 20);
        assert_int_equal(request->memory_current_kib, 5u << 20);
        assert_int_equal(request->memory_max_kib, 16u << 20);
        assert_int_equal(request->memory_slots, 4);
}

#define CELL "<cpu><numa><cell id='0' cpus='0' memory='4' unit='GiB'/></numa></cpu>"
#define DIMM(source) "<memory model='dimm'><source>" source "</source>" \
        "<target><size unit='GiB'>1</size><node>0</node></target></memory>"

/* Those that name no nodes are their cell's. */
static void memory_devices_may_name_their_nodes(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                "<memory unit='GiB'>8</memory>" CELL "<devices>" DIMM("<nodemask>1,^1,2-3</nodemask>")
                DIMM("<pagesize unit='MiB'>2</pagesize><nodemask>0</nodemask>") DIMM("<pagesize unit='KiB'>4</pagesize>")
                DIMM("<pagesize>4</pagesize><nodemask>9</nodemask>") "</devices>");
        (void) state;

        assert_int_equal(request->cells[0].devices_kib, 1 << 20);
        assert_int_equal(request->n_plugged, 3);
        assert_set(request->plugged[0].nodes, "2-3");
        assert_int_equal(request->plugged[0].memory_kib, 1 << 20);
        assert_false(request->plugged[0].page_given);
        assert_set(request->plugged[1].nodes, "0");
        assert_true(request->plugged[1].page_given);
        assert_int_equal(request->plugged[1].page_kib, 2048);
        assert_true(request->plugged[2].page_given);
        assert_int_equal(request->plugged[2].page_kib, 0);
        assert_true(hn_request_wants_huge_pages(request));
}

static void refuses_memory_devices_nowhere(void **state)
{
        static const char *const masks[] = { "x", "^0", "99999999999", "1-" };
        (void) state;

        for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
                HN_FREE char *body = NULL;

                assert_true(asprintf(&body, MEMORY CELL "<devices><memory model='dimm'><source><nodemask>%s</nodemask>"
                                     "</source><target><size unit='GiB'>1</size><node>0</node></target></memory>"
                                     "</devices>", masks[i]) > 0);
                HN_FREE char *fault = fault_of(body);
                assert_non_null(strstr(fault, "nodemask"));
        }
}

static void knows_what_memory_is_made_of(void **state)
{
        HN_REQUEST struct hn_request *plain = request_of(
                MEMORY "<memoryBacking><hugepages><page size='4'/></hugepages></memoryBacking>");
        HN_REQUEST struct hn_request *by_default = request_of(
                MEMORY "<memoryBacking><hugepages/><locked/></memoryBacking>");
        HN_REQUEST struct hn_request *shared = request_of(
                MEMORY "<memoryBacking><source type='memfd'/><allocation mode='immediate'/></memoryBacking>");
        HN_REQUEST struct hn_request *sealed = request_of(MEMORY "<launchSecurity type='sev-snp'/>");
        (void) state;

        assert_int_equal(plain->page_kib, 0);
        assert_false(plain->page_default);
        assert_true(by_default->page_default && by_default->memory_locked);
        assert_true(hn_request_wants_huge_pages(by_default));
        assert_false(hn_request_wants_huge_pages(plain));
        assert_true(shared->memory_shared && shared->memory_immediate);
        assert_true(sealed->memory_encrypted);
}

static void asks_for_no_cells_of_machines_without(void **state)
{
        static const struct {
                const char *type;
                int vnuma;
        } cases[] = {
                { "<type arch='x86_64' machine='pc-q35-rhel9.2.0'>hvm</type>", 4 },
                { "<type arch='aarch64' machine='virt-10.0'>hvm</type>", 4 },
                { "<type arch='x86_64'>hvm</type>", 4 },
                { "<type arch='x86_64' machine='microvm'>hvm</type>", 0 },
                { "<type arch='s390x' machine='s390-ccw-virtio-9.1'>hvm</type>", 0 },
                { "<type arch='s390x'>hvm</type>", 0 },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *body = NULL;

                assert_true(asprintf(&body,
                                     MEMORY "<metadata><domain xmlns='urn:homenode:1' vnuma='4'/></metadata>"
                                            "<os>%s</os>",
                                     cases[i].type) > 0);
                HN_REQUEST struct hn_request *request = request_of(body);
                assert_int_equal(request->wishes.vnuma, cases[i].vnuma);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_cells),
                cmocka_unit_test(leaves_memory_devices_out_of_the_start),
                cmocka_unit_test(memory_devices_may_name_their_nodes),
                cmocka_unit_test(refuses_memory_devices_nowhere),
                cmocka_unit_test(knows_what_memory_is_made_of),
                cmocka_unit_test(asks_for_no_cells_of_machines_without),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
