/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Domains are named as for virsh.
 */
#include "command/called.h"

#include "unit/support/entry.h"

static void by_id_uuid_or_name(void **state)
{
        static const struct { const char *text; long id; const char *uuid, *name; int called; } cases[] = {
                { "7", 7, UUID_A, "web", 3 },  { "07", 7, UUID_A, "web", 3 },
                { UUID_A, 7, UUID_A, "web", 2 }, { "0A1B2C3D-4E5F-4A6B-8C7D-00000000000A", 7, UUID_A, "web", 2 },
                { "web", 7, UUID_A, "web", 1 }, { "7", -1, UUID_A, "7", 1 }, { UUID_B, -1, UUID_A, UUID_B, 1 },
                { "we", 7, UUID_A, "web", 0 }, { "WEB", 7, UUID_A, "web", 0 }, { "", 7, UUID_A, "web", 0 },
                { "", -1, "", NULL, 0 }, { "-1", -1, UUID_A, "web", 0 }, { "7x", 7, UUID_A, "web", 0 },
                { " 7", 7, UUID_A, "web", 0 }, { "99999999999999999999", -1, UUID_A, "web", 0 },
                { "9223372036854775808", 9223372036854775807, UUID_A, "web", 0 },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                assert_int_equal(hn_called(cases[i].text, cases[i].id, cases[i].uuid, cases[i].name), cases[i].called);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_id_uuid_or_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
