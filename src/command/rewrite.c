/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode rewrite: a domain's XML from standard input, as the hook or the daemon would rewrite it, on
 * standard output.
 */
#include "act/rewrite.h"

#include <errno.h>
#include <string.h>

#include "command/input.h"
#include "command/where.h"

struct rewrite_options {
        struct hn_where where;
        const char *op;
        bool definition;
        bool undo;
};

/* The form that the options ask for; false: no such. */
static bool find_form(const struct rewrite_options *options, enum hn_rewrite_form *ret)
{
        const char *op = options->op ? options->op : "prepare";

        if (options->definition)
                *ret = HN_REWRITE_DEFINITION;
        else if (strcmp(op, "prepare") == 0)
                *ret = HN_REWRITE_PREPARE;
        else if (strcmp(op, "restore") == 0 || strcmp(op, "migrate") == 0)
                *ret = HN_REWRITE_FILTER;
        else
                return false;
        return true;
}

static int apply(const struct hn_where *where, enum hn_rewrite_form form, struct hn_input *input,
                 bool *ret_changed)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;
        HN_FREE const struct hn_placement **placements = NULL;
        struct hn_situation situation;
        int r = hn_where_scene(where, &scene);

        if (r < 0)
                return HN_EXIT_FAILED;
        r = hn_where_situation(scene, input->request, &situation, &placements);
        if (r >= 0)
                r = hn_scene_decide(scene, &situation, input->request, &decision);
        if (r >= 0 && decision->verdict == HN_REFUSED)
                return hn_complain("%s: refused: %s", input->request->name, decision->reason);
        if (r >= 0)
                r = hn_rewrite_apply(input->doc, form, &situation, decision, ret_changed);
        return r < 0 ? hn_complain("%s: %s", input->name, strerror(-r)) : HN_EXIT_DONE;
}

/* What nothing was changed in goes out as it came in, byte by byte. */
static int print(const struct hn_input *input, bool changed)
{
        HN_FREE char *text = NULL;
        const char *out = input->text;
        size_t length = input->length;

        if (changed) {
                int r = hn_xml_format(input->doc, &text, &length);

                if (r < 0)
                        return hn_complain("%s: %s", input->name, strerror(-r));
                out = text;
        }
        (void) fwrite(out, 1, length, stdout);
        return HN_EXIT_DONE;
}

static int rewrite(const struct rewrite_options *options, enum hn_rewrite_form form)
{
        HN_INPUT struct hn_input input = { 0 };
        bool changed = false;
        int r = HN_EXIT_DONE;

        if (hn_input_read("-", !options->undo, &input) < 0)
                return HN_EXIT_FAILED;
        if (!options->undo)
                r = apply(&options->where, form, &input, &changed);
        else if (hn_rewrite_undo(input.doc, &changed) < 0)
                r = hn_complain("%s: out of memory", input.name);
        return r == HN_EXIT_DONE ? print(&input, changed) : r;
}

int hn_command_rewrite(int argc, char **argv)
{
        struct rewrite_options options = { 0 };
        const struct hn_option table[] = {
                HN_WHERE_OPTIONS(options.where),
                { .name = "op", .argument = "OP", .value = &options.op,
                  .help = "prepare (default), restore or migrate: as the hook does there" },
                { .name = "definition", .flag = &options.definition,
                  .help = "as the daemon writes it into the inactive XML" },
                { .name = "undo", .flag = &options.undo, .help = "take out what homenode added" },
        };
        const struct hn_usage usage = {
                .command = "homenode rewrite",
                .operands = "<in.xml >out.xml",
                .summary = "Rewrites a domain's XML to what would be decided for it.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
        };
        enum hn_rewrite_form form;
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (first < argc)
                return hn_usage_wrong(&usage, "%s: the XML is read from standard input", argv[first]);
        if ((options.op != NULL) + options.definition + options.undo > 1)
                return hn_usage_wrong(&usage, "only one of --op, --definition and --undo");
        if (!find_form(&options, &form))
                return hn_usage_wrong(&usage, "--op %s: there is prepare, restore and migrate", options.op);
        return rewrite(&options, form);
}
