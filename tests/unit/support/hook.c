/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/hook.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "model/clock.h"
#include "model/host.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define LIMIT_MS 4000 /* the hook's own is 2 s; the machine may be busy */

int hook_setup(void **state)
{
        static struct tree tree;

        tree_make(&tree);
        host_tree_put(&tree, 4, 4, 2);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_root_mkdir(&tree.root, 0700, "/run/homenode"), 0);
        tree_put(&tree, "/run/homenode/systemd-version", BOOT_ID " 257\n");
        /* Looking at the topology for the first time takes hwloc longer than a busy machine may leave it. */
        HN_HOST struct hn_host *host = NULL;
        assert_int_equal(hn_host_from_cache(&tree.root, false, &host), 0);
        assert_int_equal(setenv("HOMENODE_ROOT", tree.path, 1), 0);
        *state = &tree;
        return 0;
}

int hook_teardown(void **state)
{
        tree_remove(*state);
        return 0;
}

static void put_input(int fd, const char *input)
{
        FILE *file = fdopen(fd, "w");

        assert_non_null(file);
        (void) fputs(input, file);
        (void) fclose(file);
}

static void get_output(int fd, char *text, size_t size)
{
        size_t length = 0;
        ssize_t n;

        while ((n = read(fd, text + length, size - length - 1)) > 0)
                length += (size_t) n;
        text[length] = '\0';
        (void) close(fd);
}

struct hook_result hook_run(const char *name, const char *operation, const char *sub, const char *input)
{
        static const char *hook;
        struct hook_result result = { .status = -1 };
        int in[2], out[2], err[2], status;
        HN_FREE char *path = NULL;

        hook = getenv("HOMENODE_BUILD");
        assert_true(asprintf(&path, "%s/hooks/qemu", hook ? hook : ".") > 0);
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        uint64_t before_us = hn_monotonic_us();
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) dup2(in[0], 0);
                (void) dup2(out[1], 1);
                (void) dup2(err[1], 2);
                (void) execl(path, "qemu", name, operation, sub, "-", (char *) NULL);
                _exit(127);
        }
        (void) close(in[0]);
        (void) close(out[1]);
        (void) close(err[1]);
        if (input)
                put_input(in[1], input);
        get_output(out[0], result.out, sizeof result.out);
        get_output(err[0], result.err, sizeof result.err);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!input)
                (void) close(in[1]);
        result.spent_ms = (hn_monotonic_us() - before_us) / 1000;
        assert_true(WIFEXITED(status));
        result.status = WEXITSTATUS(status);
        assert_true(result.spent_ms < LIMIT_MS);
        return result;
}

const char *hook_domain(long id, const char *name, const char *uuid, const char *more)
{
        static char xml[8192];

        (void) snprintf(xml, sizeof xml,
                        "<domain type='kvm' id='%ld'><name>%s</name><uuid>%s</uuid><memory unit='GiB'>2</memory>"
                        "<vcpu>2</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os>%s</domain>\n",
                        id, name, uuid, more);
        return xml;
}
