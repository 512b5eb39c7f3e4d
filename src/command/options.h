/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options: one table per subcommand, from which both getopt_long and the help text are fed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "command/complain.h"

struct hn_option {
        const char *name;     /* without its dashes */
        const char *argument; /* what the help text calls its value; NULL: a flag */
        const char *help;
        const char **value;   /* where the value goes; NULL for a flag */
        bool *flag;           /* is set; NULL where there is a value */
        char letter;          /* its short form, -x; 0: none */
};

struct hn_usage {
        const char *command;  /* "homenode plan" */
        const char *operands; /* "DOMAIN.xml..."; "" where there are none */
        const char *summary;
        const struct hn_option *options;
        size_t n_options;
        const char *more;     /* printed below the options; NULL: nothing */
};

/* Reads the options; --help, -h is there without being in the table.  False: done already, *ret_exit says how.
 * Else operands are argv[*ret_first] to the end; with `stop_early` the first operand ends the options. */
bool hn_options_parse(const struct hn_usage *usage, bool stop_early, int argc, char **argv, int *ret_first,
                      int *ret_exit);

/* Complains about wrong usage, with a hint to the help text.  Returns HN_EXIT_USAGE. */
int hn_usage_wrong(const struct hn_usage *usage, const char *format, ...) HN_PRINTF(2, 3);

void hn_usage_print(const struct hn_usage *usage, FILE *out);
