/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/uuid.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

static void tells_the_boot(void **state)
{
        char id[HN_UUID_LENGTH + 1];
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_boot_id(&tree.root, id), -ENOENT);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", "another boot\n");
        assert_int_equal(hn_boot_id(&tree.root, id), -EINVAL);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", "1111111A-2222-4333-8444-555555555555\n");
        assert_int_equal(hn_boot_id(&tree.root, id), 0);
        assert_string_equal(id, "1111111a-2222-4333-8444-555555555555");
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tells_the_boot),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
