/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a domain's XML asks for: who it is, sizes, vCPUs, pins and devices, and what is refused.
 */
#include "model/domain.h"

#include "unit/support/test.h"
#include "unit/support/xml.h"

#define MEMORY "<memory unit='GiB'>4</memory>"

static void refuses_what_is_no_xml(void **state)
{
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -EBADMSG },
                { "<domain>", -EBADMSG },
                { "<domain/><domain/>", -EBADMSG },
                { "<!DOCTYPE domain><domain/>", -EOPNOTSUPP },
                { "<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>", -EOPNOTSUPP },
                { "<!DOCTYPE d [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]><domain>&b;</domain>", -EOPNOTSUPP },
                { "<domain>&unknown;</domain>", -EBADMSG },
                { "<?xml version='1.0' encoding='UTF-16'?><domain/>\xff", -EBADMSG },
                { "<?xml version='1.0' encoding='UCS-4'?><domain/>\xff", -EBADMSG },
                { "<domain>\xff</domain>", -EBADMSG },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                xmlDoc *doc = NULL;

                assert_int_equal(hn_xml_parse(cases[i].text, strlen(cases[i].text), &doc), cases[i].error);
                assert_null(doc);
        }
}

static void refuses_what_is_too_large_or_deep(void **state)
{
        size_t length = HN_DOMAIN_XML_LIMIT + 1, depth = 10000;
        HN_FREE char *text = malloc(length);
        xmlDoc *doc = NULL;
        (void) state;

        assert_non_null(text);
        memset(text, ' ', length);
        assert_int_equal(hn_xml_parse(text, length, &doc), -EFBIG);
        for (size_t i = 0; i < depth; i++)
                memcpy(text + 3 * i, "<a>", 3);
        assert_int_equal(hn_xml_parse(text, 3 * depth, &doc), -EBADMSG);
}

static void finds_the_domain_in_a_wrapper(void **state)
{
        static const struct {
                const char *text;
                bool found;
        } cases[] = {
                { "<domain/>", true },
                { "<domstatus state='running'><monitor/><domain/></domstatus>", true },
                { "<domainsnapshot><domain/><domain/></domainsnapshot>", false },
                { "<network/>", false },
                { "<domain xmlns='urn:other'/>", false },
                { "<a><b><domain/></b></a>", false },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_XMLDOC xmlDoc *doc = xml_of(cases[i].text);
                xmlNode *domain = hn_domain_element(doc);

                assert_int_equal(domain && !strcmp((const char *) domain->name, "domain") && !domain->ns,
                                 cases[i].found);
        }
}

static void reads_who_it_is(void **state)
{
        static const char text[] = "<domain type='qemu' id='12'><name> \xc3\xa4 b</name>"
                                   "<uuid>6695EB01F6A4830479AA97F2502E193F</uuid>" MEMORY "</domain>";
        HN_XMLDOC xmlDoc *doc = xml_of(text);
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;
        (void) state;

        assert_int_equal(hn_request_parse(doc, &request, &fault), 0);
        assert_string_equal(request->name, " \xc3\xa4 b");
        assert_string_equal(request->uuid, "6695eb01-f6a4-8304-79aa-97f2502e193f");
        assert_int_equal(request->id, 12);
        assert_true(request->managed_type);
        assert_int_equal(request->vcpus_max, 1);
}

static void reads_sizes_as_libvirt_does(void **state)
{
        static const struct {
                const char *text, *unit;
                unsigned kib; /* rounded up to MiB */
        } cases[] = {
                { "1048576", NULL, 1048576 }, { "1048577", NULL, 1049600 }, { " 1048576\n", "", 1048576 },
                { "1", "b", 1024 },           { "1073741824", "bytes", 1048576 },
                { "1", "GB", 976896 },        { "1", "G", 1048576 },        { "1", "gib", 1048576 },
                { "1000", "kB", 1024 },       { "1024", "k", 1024 },        { "1", "TIB", 1073741824 },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *body = NULL;

                assert_true(asprintf(&body, "<memory%s%s%s>%s</memory>", cases[i].unit ? " unit='" : "",
                                     cases[i].unit ? cases[i].unit : "", cases[i].unit ? "'" : "",
                                     cases[i].text) > 0);
                HN_REQUEST struct hn_request *request = request_of(body);
                assert_int_equal(request->memory_kib, cases[i].kib);
        }
}

static void refuses_values_that_libvirt_refuses(void **state)
{
        static const char *const bodies[] = {
                "",
                "<memory>0</memory>",
                "<memory>-1</memory>",
                "<memory>1e3</memory>",
                "<memory unit='GiBi'>1</memory>",
                "<memory unit='i'>1</memory>",
                "<memory unit='E'>8</memory>",
                "<memory>99999999999999999999</memory>",
                MEMORY "<uuid>1234</uuid>",
                MEMORY "<uuid>6695eb01-f6a4-8304-79aa-97f2502e193f0</uuid>",
                MEMORY "<vcpu>0</vcpu>",
                MEMORY "<vcpu>8193</vcpu>",
                MEMORY "<vcpu>4294967297</vcpu>",
                MEMORY "<vcpu current='3'>2</vcpu>",
                MEMORY "<vcpu placement='some'>2</vcpu>",
                MEMORY "<vcpu cpuset='0-'>2</vcpu>",
                MEMORY "<vcpu cpuset='0,^0'>2</vcpu>",
                MEMORY "<vcpu>2</vcpu><vcpus><vcpu id='2' enabled='yes'/></vcpus>",
                MEMORY "<vcpu>2</vcpu><vcpus><vcpu id='1' enabled='no'/></vcpus>",
                MEMORY
                "<vcpu>2</vcpu><cputune><vcpupin vcpu='0' cpuset='0'/><vcpupin vcpu='0' cpuset='1'/>"
                "</cputune>",
                MEMORY "<cputune><emulatorpin cpuset='0'/><emulatorpin cpuset='0'/></cputune>",
                MEMORY "<cputune><vcpupin vcpu='0' cpuset='99999'/></cputune>",
                MEMORY "<cputune><vcpupin vcpu='0'/></cputune>",
                MEMORY "<cputune><iothreadpin iothread='1' cpuset='0'/></cputune>",
                MEMORY "<iothreads>1</iothreads><iothreadids><iothread id='0'/></iothreadids>",
                MEMORY "<cpu><topology sockets='1' cores='0' threads='1'/></cpu>",
                MEMORY "<cpu><topology sockets='1' threads='1'/></cpu>",
                MEMORY "<cpu><numa/></cpu>",
                MEMORY "<cpu><numa><cell id='1' memory='1024'/></numa></cpu>",
                MEMORY "<cpu><numa><cell id='0' memory='1024'/><cell id='0' memory='1024'/></numa></cpu>",
                MEMORY "<cpu><numa><cell cpus='0'/></numa></cpu>",
                MEMORY "<cpu><numa><cell cpus='1' memory='1024'/></numa></cpu>",
                MEMORY "<cpu><numa><cell cpus='0' memory='1024'/><cell cpus='0' memory='1024'/></numa></cpu>",
                MEMORY
                "<cpu><numa><cell memory='1024'><distances><sibling id='0' value='11'/></distances></cell>"
                "</numa></cpu>",
                MEMORY "<numatune><memory mode='tight' nodeset='0'/></numatune>",
                MEMORY "<numatune><memory mode='strict'/></numatune>",
                MEMORY "<numatune><memory nodeset=''/></numatune>",
                MEMORY "<numatune/><numatune/>",
                MEMORY "<numatune><memnode cellid='0' mode='strict' nodeset='0'/></numatune>",
                MEMORY "<memoryBacking><hugepages><page size='0'/></hugepages></memoryBacking>",
                MEMORY "<maxMemory slots='2'>1024</maxMemory>",
                MEMORY
                "<devices><memory model='dimm'><target><size unit='GiB'>5</size></target></memory></devices>",
        };
        (void) state;

        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
                HN_FREE char *fault = fault_of(bodies[i]);

                assert_non_null(strstr(fault, "/domain"));
        }
}

static void keeps_faults_short(void **state)
{
        HN_FREE char *body = calloc(1, 100001), *fault = NULL;
        (void) state;

        assert_non_null(body);
        strcpy(body, "<memory>");
        for (size_t i = 8; i < 90000; i += 2)
                memcpy(body + i, "\xc3\xa4", 2);
        strcat(body, "</memory>");
        fault = fault_of(body);
        assert_true(strlen(fault) <= 400);
        assert_int_equal((unsigned char) fault[strlen(fault) - 1], 0xa4);
}

static void reads_vcpus_and_pins(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                MEMORY "<vcpu placement='static' cpuset='0-7,^3' current='2'>4</vcpu>"
                "<vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='yes'/><vcpu id='2' enabled='yes'/>"
                "<vcpu id='3' enabled='no'/></vcpus>"
                "<iothreads>3</iothreads><iothreadids><iothread id='2'/></iothreadids>"
                "<cputune><shares>9</shares><vcpupin vcpu='1' cpuset='5'/><vcpupin vcpu='9' cpuset='5'/>"
                "<emulatorpin cpuset='1-2'/><iothreadpin iothread='3' cpuset='4,6'/></cputune>");
        (void) state;

        assert_int_equal(request->vcpus_max, 4);
        assert_int_equal(request->vcpus_current, 3);
        assert_set(request->vcpu_cpuset, "0-2,4-7");
        assert_set(request->iothreads, "1-3");
        assert_int_equal(request->n_vcpu_pins, 1);
        assert_int_equal(request->vcpu_pins[0].id, 1);
        assert_set(request->vcpu_pins[0].cpus, "5");
        assert_set(request->emulator_pin, "1-2");
        assert_int_equal(request->n_iothread_pins, 1);
        assert_set(request->iothread_pins[0].cpus, "4,6");
        assert_false(request->placement_auto);
}

/* virsh create hands on what the user wrote; libvirt's own lists are plain. */
static void reads_lists_as_libvirt_does(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                MEMORY "<vcpu cpuset='0-3,'>4</vcpu><cputune><vcpupin vcpu='1' cpuset='1-+2'/></cputune>"
                "<numatune><memory nodeset='0, 2 ,'/></numatune>");
        (void) state;

        assert_set(request->vcpu_cpuset, "0-3");
        assert_set(request->vcpu_pins[0].cpus, "1-2");
        assert_set(request->numatune_nodes, "0,2");
}

static void knows_numads_domains(void **state)
{
        static const char *const bodies[] = {
                MEMORY "<vcpu placement='auto' cpuset='0-3'>2</vcpu>",
                MEMORY "<numatune><memory mode='strict' placement='auto'/></numatune>",
                MEMORY "<vcpu placement='auto'>2</vcpu><numatune><memory mode='preferred'/></numatune>",
        };
        (void) state;

        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
                HN_REQUEST struct hn_request *request = request_of(bodies[i]);

                assert_true(request->placement_auto);
                assert_null(request->numatune_nodes);
                assert_null(request->vcpu_cpuset);
        }
}

static void reads_devices(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                MEMORY "<devices>"
                "<disk type='file'><source file='/a'/><driver iothread='2'/></disk>"
                "<disk type='nvme'><source type='pci' managed='yes' namespace='1'>"
                "<address domain='0x0001' bus='0x41' slot='0x00' function='0x1'/></source></disk>"
                "<disk type='network'><source protocol='rbd' name='pool/x'/></disk>"
                "<disk type='vhostuser'><source type='unix' path='/s'/></disk><disk type='volume'/>"
                "<interface type='bridge'><source bridge='br0'/></interface>"
                "<interface type='hostdev'><source>"
                "<address type='pci' bus='0x3' slot='0x2' function='0x7'/></source></interface>"
                "<interface type='direct'><source dev='eth1'/></interface><interface type='user'/>"
                "<hostdev mode='subsystem' type='pci'><source>"
                "<address domain='0' bus='10' slot='0x1f' function='0'/></source></hostdev>"
                "<hostdev mode='subsystem' type='pci'><source><address bus='0x100' slot='0'/></source>"
                "</hostdev>"
                "<hostdev mode='subsystem' type='mdev'><source><address uuid='x'/></source></hostdev>"
                "</devices>");
        (void) state;

        assert_int_equal(request->n_disks, 5);
        assert_string_equal(request->disks[0].source, "/a");
        assert_int_equal(request->disks[0].iothread, 2);
        assert_int_equal(request->disks[1].kind, HN_DISK_NVME);
        assert_true(request->disks[1].has_pci);
        assert_int_equal(request->disks[1].pci.domain, 1);
        assert_int_equal(request->disks[1].pci.bus, 0x41);
        assert_string_equal(request->disks[2].source, "rbd:pool/x");
        assert_int_equal(request->disks[3].kind, HN_DISK_VHOSTUSER);
        assert_int_equal(request->disks[4].kind, HN_DISK_OTHER);
        assert_int_equal(request->n_interfaces, 4);
        assert_string_equal(request->interfaces[0].source, "br0");
        assert_true(request->interfaces[1].has_pci);
        assert_int_equal(request->interfaces[1].pci.function, 7);
        assert_string_equal(request->interfaces[2].source, "eth1");
        assert_int_equal(request->interfaces[3].kind, HN_INTERFACE_OTHER);
        assert_int_equal(request->n_hostdevs, 1);
        assert_int_equal(request->hostdevs[0].bus, 10);
        assert_int_equal(request->hostdevs[0].slot, 31);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refuses_what_is_no_xml),
                cmocka_unit_test(refuses_what_is_too_large_or_deep),
                cmocka_unit_test(finds_the_domain_in_a_wrapper),
                cmocka_unit_test(reads_who_it_is),
                cmocka_unit_test(reads_sizes_as_libvirt_does),
                cmocka_unit_test(refuses_values_that_libvirt_refuses),
                cmocka_unit_test(keeps_faults_short),
                cmocka_unit_test(reads_vcpus_and_pins),
                cmocka_unit_test(reads_lists_as_libvirt_does),
                cmocka_unit_test(knows_numads_domains),
                cmocka_unit_test(reads_devices),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
