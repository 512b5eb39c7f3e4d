/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode: the administrator's command.
 */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "command/options.h"

static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        const char *summary;
} commands[] = {
        { "plan", hn_command_plan, "what would be decided for domains, and why" },
        { "rewrite", hn_command_rewrite, "a domain's XML as homenode would rewrite it" },
        { "explain", hn_command_explain, "why a domain is where it is" },
        { "status", hn_command_status, "nodes and guests as they are now" },
        { "top", hn_command_top, "nodes and guests as they change, on a full screen" },
        { "move", hn_command_move, "another home for a guest that runs" },
        { "undo", hn_command_undo, "guests and definitions as libvirt would have them" },
        { "simulate", hn_command_simulate, "how a recorded or made-up load would fare on a host" },
        { "doctor", hn_command_doctor, "what on this host is in the way, and what mends it" },
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

/* A full disk or a closed pipe shows only when the buffer is written: a report cut short is no success. */
static int finish(int r)
{
        struct pollfd reader = { .fd = STDOUT_FILENO };

        errno = 0;
        if (fflush(stdout) == 0 && !ferror(stdout))
                return r;
        /* `… | head` has read what it wanted.  Which write failed may be long ago, so the pipe is asked. */
        if (errno == EPIPE || (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR)))
                return HN_EXIT_FAILED;
        (void) hn_complain("standard output: %s", strerror(errno ? errno : EIO));
        return HN_EXIT_FAILED;
}

/* The list of subcommands below the program's own options; the caller frees. */
static char *list_commands(void)
{
        HN_FREE char *list = strdup("\nSubcommands (homenode SUBCOMMAND --help says more):\n");

        for (size_t i = 0; list && i < N_COMMANDS; i++) {
                char *longer = NULL;

                if (asprintf(&longer, "%s  %-10s%s\n", list, commands[i].name, commands[i].summary) < 0)
                        return NULL;
                free(list);
                list = longer;
        }
        return HN_TAKE(list);
}

static int dispatch(int argc, char **argv)
{
        HN_FREE char *list = list_commands();
        bool version = false;
        const struct hn_option table[] = {
                { .name = "version", .flag = &version, .help = "the version of homenode" },
        };
        const struct hn_usage usage = {
                .command = "homenode",
                .operands = "SUBCOMMAND ...",
                .summary = "Adaptive NUMA placement for libvirt guests.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = list,
        };
        int first, r;

        if (!hn_options_parse(&usage, true, argc, argv, &first, &r))
                return r;
        if (version) {
                (void) puts(PACKAGE_STRING);
                return HN_EXIT_DONE;
        }
        if (first == argc)
                return hn_usage_wrong(&usage, "no subcommand named");
        for (size_t i = 0; i < N_COMMANDS; i++)
                if (strcmp(argv[first], commands[i].name) == 0)
                        return commands[i].run(argc - first, argv + first);
        return hn_usage_wrong(&usage, "unknown subcommand %s", argv[first]);
}

int main(int argc, char **argv)
{
        /* Only how characters are written: numbers in reports are the same everywhere. */
        (void) setlocale(LC_CTYPE, "");
        (void) signal(SIGPIPE, SIG_IGN);
        return finish(dispatch(argc, argv));
}
