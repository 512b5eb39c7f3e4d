/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a domain wishes of homenode in its metadata.
 */
#include "model/domain.h"

#include "unit/support/test.h"
#include "unit/support/xml.h"

#define MEMORY "<memory unit='GiB'>4</memory>"

static void reads_wishes(void **state)
{
        HN_REQUEST struct hn_request *request = request_of(
                MEMORY "<metadata><x:domain xmlns:x='urn:other' placement='off'/>"
                "<hn:domain xmlns:hn='urn:homenode:1' nodes='0,2' priority='high' vnuma='2' spanning='forbid'"
                " memory='strict'"
                " pinning='core' network='off' storage='auto'/></metadata>");
        HN_REQUEST struct hn_request *none = request_of(MEMORY);
        (void) state;

        assert_null(request->wishes.fault);
        assert_false(request->wishes.off);
        assert_set(request->wishes.nodes, "0,2");
        assert_int_equal(request->wishes.priority, HN_PRIORITY_HIGH);
        assert_int_equal(request->wishes.vnuma, 2);
        assert_true(request->wishes.spanning_forbidden);
        assert_int_equal(request->wishes.memory, HN_MEMORY_STRICT);
        assert_true(request->wishes.pin_cores && request->wishes.network_off && !request->wishes.storage_off);
        assert_int_equal(none->wishes.priority, HN_PRIORITY_NORMAL);
        assert_int_equal(none->wishes.vnuma, -1);
        assert_null(none->wishes.nodes);
}

static void wishes_with_a_fault_count_as_none_but_for_off(void **state)
{
        static const struct {
                const char *attributes, *named;
                bool off;
        } cases[] = {
                { "nodse='1' priority='high'", "nodse", false },
                { "priority='urgent' nodes='1'", "urgent", false },
                { "nodes='' priority='high'", "nodes", false },
                { "nodes='1-'", "nodes", false },
                { "vnuma='0'", "vnuma", false },
                { "vnuma='-1'", "vnuma", false },
                { "vnuma='4294967298'", "vnuma", false },
                { "placement='of'", "placement", false },
                { "placement='off' priority='urgent'", "urgent", true },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *body = NULL;

                assert_true(asprintf(&body, MEMORY "<metadata><domain xmlns='urn:homenode:1' %s/></metadata>",
                                     cases[i].attributes) > 0);
                HN_REQUEST struct hn_request *request = request_of(body);
                assert_non_null(strstr(request->wishes.fault, cases[i].named));
                assert_null(request->wishes.nodes);
                assert_int_equal(request->wishes.priority, HN_PRIORITY_NORMAL);
                assert_int_equal(request->wishes.off, cases[i].off);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_wishes),
                cmocka_unit_test(wishes_with_a_fault_count_as_none_but_for_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
