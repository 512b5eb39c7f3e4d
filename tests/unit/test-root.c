/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/root.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

static void reads_below_the_tree(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *text = NULL, *line = NULL;
        size_t length = 0;

        tree_put(tree, "/sys/devices/system/node/node3/cpulist", "6-7\nmore\n");
        assert_int_equal(hn_root_read(&tree->root, 100, &text, &length, "/sys/devices/system/node/node%u/cpulist", 3u), 0);
        assert_string_equal(text, "6-7\nmore\n");
        assert_int_equal(length, 9);
        assert_int_equal(hn_root_read_line(&tree->root, &line, "/sys/devices/system/node/node3/cpulist"), 0);
        assert_string_equal(line, "6-7");
        assert_true(hn_root_exists(&tree->root, "/sys"));
        assert_false(hn_root_exists(&tree->root, "/proc/self"));
}

static void limits_what_it_reads(void **state)
{
        struct tree *tree = *state;
        char *text = NULL;

        tree_put(tree, "/etc/ten", "0123456789");
        assert_int_equal(hn_root_read(&tree->root, 9, &text, NULL, "/etc/ten"), -EFBIG);
        assert_null(text);
        assert_int_equal(hn_root_read(&tree->root, 10, &text, NULL, "/etc/ten"), 0);
        free(text);
        text = NULL;
        assert_int_equal(hn_root_read(&tree->root, 10, &text, NULL, "/etc/none"), -ENOENT);
        assert_int_equal(hn_root_read(&tree->root, 10, &text, NULL, "/etc"), -EISDIR);
        assert_null(text);
}

#define WAIT_S 20 /* a test that waits is ended by this */

static void put_odd(struct tree *tree, const char *name, mode_t type)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (type == S_IFSOCK) {
                HN_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

                assert_true(snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", tree->path, name) > 0);
                assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
        } else if (type == S_IFDIR)
                assert_int_equal(mkdirat(tree->root.fd, name, 0700), 0);
        else if (type == S_IFLNK)
                assert_int_equal(symlinkat("/dev/zero", tree->root.fd, name), 0);
        else
                assert_int_equal(mknodat(tree->root.fd, name, type | 0600, 0), 0);
}

static void takes_regular_files_alone_and_waits_for_none(void **state)
{
        static const struct { const char *name; mode_t type; int error; } odd[] = {
                { "fifo", S_IFIFO, -EINVAL }, { "device", S_IFLNK, -EINVAL }, { "socket", S_IFSOCK, -ENXIO },
                { "folder", S_IFDIR, -EISDIR },
        };
        struct tree *tree = *state;

        (void) alarm(WAIT_S);
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
                HN_FREE char *text = NULL;
                uint64_t number;

                put_odd(tree, odd[i].name, odd[i].type);
                assert_int_equal(hn_root_read(&tree->root, 100, &text, NULL, "/%s", odd[i].name), odd[i].error);
                assert_int_equal(hn_root_read_line(&tree->root, &text, "/%s", odd[i].name), odd[i].error);
                assert_int_equal(hn_root_read_u64(&tree->root, &number, "/%s", odd[i].name), odd[i].error);
                assert_true(hn_root_write(&tree->root, "1", "/%s", odd[i].name) < 0);
                assert_true(hn_root_open_regular(&tree->root, O_RDWR | O_CREAT, 0600, "/%s", odd[i].name) < 0);
                if (odd[i].type == S_IFDIR)
                        continue;
                assert_int_equal(hn_root_replace(&tree->root, "new", 3, 0600, "/%s", odd[i].name), 0);
                assert_int_equal(hn_root_read(&tree->root, 100, &text, NULL, "/%s", odd[i].name), 0);
                assert_string_equal(text, "new");
        }
        (void) alarm(0);
}

static void reads_only_whole_numbers(void **state)
{
        struct tree *tree = *state;
        uint64_t value = 77;

        tree_put(tree, "/n", " 18446744073709551615\n");
        assert_int_equal(hn_root_read_u64(&tree->root, &value, "/n"), 0);
        assert_true(value == UINT64_MAX);
        value = 77;
        static const char *const bad[] = { "", "\n", "-1", "+1", "1 2", "max", "0x10", "1e3", "18446744073709551616" };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                tree_put(tree, "/n", bad[i]);
                assert_true(hn_root_read_u64(&tree->root, &value, "/n") < 0);
                assert_true(value == 77);
        }
}

static void replaces_a_file_as_a_whole(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *text = NULL;
        struct stat st;
        DIR *dir = NULL;
        int entries = 0;

        assert_int_equal(hn_root_replace(&tree->root, "a", 1, 0600, "/run/x/f"), -ENOENT);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/run/x"), 0);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/run/x"), 0);
        assert_int_equal(hn_root_replace(&tree->root, "old", 3, 0600, "/run/x/f"), 0);
        assert_int_equal(hn_root_replace(&tree->root, "newer", 5, 0640, "/run/x/f"), 0);
        assert_int_equal(hn_root_read(&tree->root, 10, &text, NULL, "/run/x/f"), 0);
        assert_string_equal(text, "newer");
        assert_int_equal(fstatat(tree->root.fd, "run/x/f", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0640);

        assert_int_equal(hn_root_open_dir(&tree->root, &dir, "/run/x"), 0);
        for (struct dirent *entry; (entry = readdir(dir));)
                entries += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
        (void) closedir(dir);
        assert_int_equal(entries, 1); /* no temporary is left */
}

static void survives_the_temporary_of_one_that_was_killed(void **state)
{
        struct tree *tree = *state;
        char name[64];

        (void) snprintf(name, sizeof name, "/run/.f.%d.tmp", getpid());
        tree_put(tree, name, "half");
        assert_int_equal(hn_root_replace(&tree->root, "whole", 5, 0600, "/run/f"), 0);
        assert_false(hn_root_exists(&tree->root, "%s", name));
}

static void writes_only_to_what_is_there(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *text = NULL;

        assert_int_equal(hn_root_write(&tree->root, "1", "/cg/cpuset.cpus"), -ENOENT);
        tree_put(tree, "/cg/cpuset.cpus", "0-7,16-23\n");
        assert_int_equal(hn_root_write(&tree->root, "0-3\n", "/cg/cpuset.cpus"), 0);
        assert_int_equal(hn_root_read(&tree->root, 10, &text, NULL, "/cg/cpuset.cpus"), 0);
        assert_string_equal(text, "0-3\n");
}

static void removes_files_and_empty_folders(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/d/f", "");
        assert_int_equal(hn_root_remove(&tree->root, "/d"), -ENOTEMPTY);
        assert_int_equal(hn_root_remove(&tree->root, "/d/f"), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/d/f"), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/d"), 0);
        assert_false(hn_root_exists(&tree->root, "/d"));
}

static void takes_the_root_from_the_environment(void **state)
{
        struct tree *tree = *state;
        HN_ROOT struct hn_root root = { .fd = -1 };

        assert_int_equal(setenv("HOMENODE_ROOT", tree->path, 1), 0);
        tree_put(tree, "/only-here", "");
        assert_int_equal(hn_root_open(NULL, &root), 0);
        assert_false(root.host);
        assert_true(hn_root_exists(&root, "/only-here"));
        hn_root_close(&root);
        assert_int_equal(unsetenv("HOMENODE_ROOT"), 0);
        assert_int_equal(hn_root_open(NULL, &root), 0);
        assert_true(root.host);
        hn_root_close(&root);
        assert_int_equal(hn_root_open("/nonexistent-root", &root), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(reads_below_the_tree),
                TEST(limits_what_it_reads),
                TEST(takes_regular_files_alone_and_waits_for_none),
                TEST(reads_only_whole_numbers),
                TEST(replaces_a_file_as_a_whole),
                TEST(survives_the_temporary_of_one_that_was_killed),
                TEST(writes_only_to_what_is_there),
                TEST(removes_files_and_empty_folders),
                TEST(takes_the_root_from_the_environment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
