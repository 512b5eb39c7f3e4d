/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Giving back the pages of code: the process goes on as it was.
 */
#include "daemon/shed.h"

#include <stdio.h>
#include <unistd.h>

#include "unit/support/test.h"

#define BLOCK 4096u
#define FILLED 64u /* KiB */

#define FOUR(x) x, x, x, x
#define KIB(x) FOUR(FOUR(FOUR(FOUR(FOUR(x)))))

/* Constants over several pages, and data that was written to. */
static const unsigned char constants[] = { FOUR(FOUR(KIB(0x5a))), FOUR(FOUR(KIB(0xa5))) };
static unsigned char written[FILLED * 1024] = { 1 };

/* Of pages of files, in KiB, as the kernel tells: /proc/self/statm's third figure. */
static unsigned long from_files_kib(void)
{
        unsigned long size, resident, shared;
        FILE *file = fopen("/proc/self/statm", "re");

        assert_non_null(file);
        assert_int_equal(fscanf(file, "%lu %lu %lu", &size, &resident, &shared), 3);
        (void) fclose(file);
        return shared * (unsigned long) sysconf(_SC_PAGESIZE) / 1024;
}

static unsigned sum_of_constants(void)
{
        unsigned sum = 0;

        for (size_t i = 0; i < sizeof constants; i++)
                sum += ((const volatile unsigned char *) constants)[i];
        return sum;
}

static void nothing_is_lost(void **state)
{
        unsigned char *heap = malloc(BLOCK);
        (void) state;

        assert_non_null(heap);
        memset(heap, 7, BLOCK);
        memset(written, 9, sizeof written);
        assert_int_equal(sum_of_constants(), 16 * 1024 * (0x5a + 0xa5));
        hn_shed_pages();
        assert_int_equal(sum_of_constants(), 16 * 1024 * (0x5a + 0xa5));
        for (size_t i = 0; i < BLOCK; i++)
                assert_int_equal(heap[i], 7);
        for (size_t i = 0; i < sizeof written; i++)
                assert_int_equal(written[i], 9);
        free(heap);
}

static void less_of_files_is_resident(void **state)
{
        unsigned long before = from_files_kib();
        (void) state;

        hn_shed_pages();
        assert_true(from_files_kib() < before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_lost),
                cmocka_unit_test(less_of_files_is_resident),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
