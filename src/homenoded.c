/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenoded: keeps in force what was decided for libvirt's guests, and gives wide ones their cells.
 */
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/options.h"
#include "daemon/daemon.h"

static int run(void)
{
        struct hn_daemon daemon;
        int r = hn_daemon_open(&daemon), status = HN_EXIT_DONE;

        if (r < 0) {
                status = hn_complain("starting: %s", strerror(-r));
        } else {
                r = hn_daemon_run(&daemon);
                if (r < 0)
                        status = hn_complain("the event loop: %s", strerror(-r));
        }
        if (!hn_daemon_close(&daemon))
                _exit(status); /* and not through what libraries do at the end, under the thread's feet */
        return status;
}

int main(int argc, char **argv)
{
        bool version = false;
        const struct hn_option table[] = {
                { .name = "version", .flag = &version, .help = "the version of homenode" },
        };
        const struct hn_usage usage = {
                .command = "homenoded",
                .operands = "",
                .summary = "Keeps guests of libvirt placed; the service manager runs it.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (version) {
                (void) puts(PACKAGE_STRING);
                return HN_EXIT_DONE;
        }
        if (first < argc)
                return hn_usage_wrong(&usage, "%s: there are no operands", argv[first]);
        /* The threads that talk to libvirt need no heaps of their own. */
        (void) mallopt(M_ARENA_MAX, 1);
        (void) umask(0077);
        (void) signal(SIGPIPE, SIG_IGN);
        return run();
}
