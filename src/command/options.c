/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/options.h"

#include <getopt.h>
#include <string.h>

#include "model/text.h"

#define FIRST_CODE 256 /* getopt_long's codes of the table's options: above all letters */
#define HELP_CODE 'h'
#define HELP_COLUMN 22

void hn_usage_print(const struct hn_usage *usage, FILE *out)
{
        (void) fprintf(out, "Usage: %s [OPTION...]%s%s\n%s\n\n", usage->command, *usage->operands ? " " : "",
                       usage->operands, usage->summary);
        for (size_t i = 0; i < usage->n_options; i++) {
                const struct hn_option *option = &usage->options[i];
                const char letter[] = { '-', option->letter, ',', ' ', '\0' };
                int used = fprintf(out, "  %s--%s%s%s", option->letter ? letter : "", option->name,
                                   option->argument ? " " : "", option->argument ? option->argument : "");

                (void) fprintf(out, "%*s%s\n", used < HELP_COLUMN ? HELP_COLUMN - used : 2, "", option->help);
        }
        (void) fprintf(out, "%-*s%s\n", HELP_COLUMN, "  -h, --help", "this text");
        if (usage->more)
                (void) fputs(usage->more, out);
}

int hn_usage_wrong(const struct hn_usage *usage, const char *format, ...)
{
        HN_FREE char *message = NULL;
        va_list arguments;

        va_start(arguments, format);
        message = hn_text_vprint(format, arguments);
        va_end(arguments);
        (void) hn_complain("%s (see %s --help)", message ? message : "wrong usage", usage->command);
        return HN_EXIT_USAGE;
}

static struct option *long_options(const struct hn_usage *usage)
{
        struct option *options = calloc(usage->n_options + 2, sizeof *options);

        if (!options)
                return NULL;
        for (size_t i = 0; i < usage->n_options; i++)
                options[i] = (struct option) {
                        .name = usage->options[i].name,
                        .has_arg = usage->options[i].value ? required_argument : no_argument,
                        .val = FIRST_CODE + (int) i,
                };
        options[usage->n_options] = (struct option) { .name = "help", .val = HELP_CODE };
        return options;
}

/* ":" makes getopt_long tell a value that is missing from an option that is not known. */
static char *short_options(const struct hn_usage *usage, bool stop_early)
{
        char *text = malloc(2 * usage->n_options + 4), *to = text;

        if (!text)
                return NULL;
        if (stop_early)
                *to++ = '+';
        *to++ = ':';
        *to++ = HELP_CODE;
        for (size_t i = 0; i < usage->n_options; i++) {
                if (!usage->options[i].letter)
                        continue;
                *to++ = usage->options[i].letter;
                if (usage->options[i].value)
                        *to++ = ':';
        }
        *to = '\0';
        return text;
}

/* The option that a code of getopt_long's stands for; NULL: none of the table. */
static const struct hn_option *option_of(const struct hn_usage *usage, int code)
{
        if (code >= FIRST_CODE)
                return &usage->options[code - FIRST_CODE];
        for (size_t i = 0; i < usage->n_options; i++)
                if (usage->options[i].letter && usage->options[i].letter == code)
                        return &usage->options[i];
        return NULL;
}

/* What getopt_long does not like, and where it stands. */
static int complain_option(const struct hn_usage *usage, int code, char **argv)
{
        const struct hn_option *option = option_of(usage, optopt);

        if (code == ':')
                return hn_usage_wrong(usage, "--%s wants a value", option ? option->name : "?");
        if (optopt >= FIRST_CODE || (optopt == HELP_CODE && strncmp(argv[optind - 1], "--", 2) == 0))
                return hn_usage_wrong(usage, "%s: takes no value", argv[optind - 1]);
        if (optopt)
                return hn_usage_wrong(usage, "unknown option -%c", optopt);
        return hn_usage_wrong(usage, "unknown option %s", argv[optind - 1]);
}

bool hn_options_parse(const struct hn_usage *usage, bool stop_early, int argc, char **argv, int *ret_first,
                      int *ret_exit)
{
        HN_FREE struct option *options = long_options(usage);
        HN_FREE char *letters = short_options(usage, stop_early);
        int code;

        if (!options || !letters) {
                *ret_exit = hn_complain("out of memory");
                return false;
        }
        opterr = 0;
        optind = 0; /* glibc: begin anew, the program's own options were read before the subcommand's */
        while ((code = getopt_long(argc, argv, letters, options, NULL)) != -1) {
                if (code == HELP_CODE) {
                        hn_usage_print(usage, stdout);
                        *ret_exit = HN_EXIT_DONE;
                        return false;
                }
                const struct hn_option *option = option_of(usage, code);
                if (!option) {
                        *ret_exit = complain_option(usage, code, argv);
                        return false;
                }
                if (option->value)
                        *option->value = optarg;
                else
                        *option->flag = true;
        }
        *ret_first = optind;
        return true;
}
