/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The administrator's command: one file per subcommand, each with its table of options.  Reports go to
 * standard output, everything else through complain.h.
 */
#pragma once

/* What a program tells the shell. */
enum hn_exit {
        HN_EXIT_DONE = 0,
        HN_EXIT_FAILED = 1, /* an input could not be used, or the action failed */
        HN_EXIT_USAGE = 2,  /* wrong usage */
};

/* Each takes its own name as argv[0] and returns one of enum hn_exit. */
int hn_command_plan(int argc, char **argv);
int hn_command_rewrite(int argc, char **argv);
int hn_command_explain(int argc, char **argv);
int hn_command_status(int argc, char **argv);
int hn_command_top(int argc, char **argv);
int hn_command_doctor(int argc, char **argv);
int hn_command_simulate(int argc, char **argv);
int hn_command_move(int argc, char **argv);
int hn_command_undo(int argc, char **argv);
