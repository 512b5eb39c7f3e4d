/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/simulate.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "command/table.h"
#include "model/json.h"
#include "model/text.h"

#define N_COLUMNS 12
#define N_PLAIN_COLUMNS 10 /* without those about the best possible */

static const struct hn_column columns[N_COLUMNS] = {
        { "POLICY", false },      { "MEAN SLOWDOWN", true }, { "99TH PERCENTILE", true }, { "LOCAL", true },
        { "OVERLOADED", true },   { "PLACED", true },        { "REFUSED (WITH ROOM)", true }, { "SPLIT", true },
        { "MOVED GIB", true },    { "DECISION US", true },
        { "STARTS ABOVE BEST", true }, { "ALL ABOVE BEST", true },
};

static char *fill(size_t column, const struct hn_simulated *s, bool exact)
{
        const struct hn_outcome *o = &s->outcome;

        switch (column) {
        case 0:
                return hn_text_print("%s", s->name);
        case 1:
                return hn_text_print("%.4f", o->mean_slowdown);
        case 2:
                return hn_text_print("%.4f", o->p99_slowdown);
        case 3:
                return hn_text_print("%.2f%%", 100 * o->local);
        case 4:
                return hn_text_print("%.2f%%", 100 * o->overloaded);
        case 5:
                return hn_text_print("%zu", o->n_placed);
        case 6:
                return hn_text_print("%zu (%zu)", o->n_refused, o->n_refused_with_room);
        case 7:
                return hn_text_print("%zu", o->n_split);
        case 8:
                return hn_text_print("%.1f", o->moved_gib);
        case 9:
                return hn_text_print("%.0f", o->decide_us);
        case 10:
                return exact ? hn_text_print("%.2f%%", 100 * o->above_step) : strdup("");
        default:
                return s->above_best < -0.5 ? strdup("") : hn_text_print("%.2f%% (%zu hosts)", 100 * s->above_best, s->n_best);
        }
}

static int add_row(struct hn_table *table, const struct hn_simulated *s, bool exact)
{
        char *texts[N_COLUMNS];
        int r = 0;

        for (size_t i = 0; i < N_COLUMNS; i++) {
                texts[i] = fill(i, s, exact);
                r = texts[i] ? r : -ENOMEM;
        }
        if (r >= 0)
                r = hn_table_add(table, (const char *const *) texts);
        for (size_t i = 0; i < N_COLUMNS; i++)
                free(texts[i]);
        return r;
}

static bool same_stage(const struct hn_simulated *a, const struct hn_simulated *b)
{
        return a->stage == b->stage || (a->stage && b->stage && strcmp(a->stage, b->stage) == 0);
}

int hn_simulate_print(const struct hn_simulated *list, size_t n, bool exact, FILE *out)
{
        for (size_t first = 0, end; first < n; first = end) {
                HN_TABLE struct hn_table *table = hn_table_new(columns, exact ? N_COLUMNS : N_PLAIN_COLUMNS);

                if (!table)
                        return -ENOMEM;
                for (end = first; end < n && same_stage(&list[first], &list[end]); end++)
                        if (add_row(table, &list[end], exact) < 0)
                                return -ENOMEM;
                if (list[first].stage)
                        (void) fprintf(out, "%s\n", list[first].stage);
                hn_table_print(table, out);
        }
        return 0;
}

static int add_outcome(struct json_object *array, const struct hn_simulated *s, bool exact)
{
        const struct hn_outcome *o = &s->outcome;
        struct json_object *object = json_object_new_object();

        if (!object || json_object_array_add(array, object) < 0) {
                json_object_put(object);
                return -ENOMEM;
        }
        if (json_object_object_add(object, "policy", json_object_new_string(s->name)) < 0
            || (s->stage && json_object_object_add(object, "stage", json_object_new_string(s->stage)) < 0)
            || json_object_object_add(object, "mean_slowdown", json_object_new_double(o->mean_slowdown)) < 0
            || json_object_object_add(object, "p99_slowdown", json_object_new_double(o->p99_slowdown)) < 0
            || json_object_object_add(object, "local_share", json_object_new_double(o->local)) < 0
            || json_object_object_add(object, "overloaded_share", json_object_new_double(o->overloaded)) < 0
            || json_object_object_add(object, "placed", json_object_new_uint64(o->n_placed)) < 0
            || json_object_object_add(object, "refused", json_object_new_uint64(o->n_refused)) < 0
            || json_object_object_add(object, "refused_with_room", json_object_new_uint64(o->n_refused_with_room)) < 0
            || json_object_object_add(object, "split_needlessly", json_object_new_uint64(o->n_split)) < 0
            || json_object_object_add(object, "moved_gib", json_object_new_double(o->moved_gib)) < 0
            || json_object_object_add(object, "decision_us", json_object_new_double(o->decide_us)) < 0
            || json_object_object_add(object, "decision_worst_us", json_object_new_double(o->decide_worst_us)) < 0)
                return -ENOMEM;
        if (exact && json_object_object_add(object, "starts_above_best", json_object_new_double(o->above_step)) < 0)
                return -ENOMEM;
        if (s->above_best > -0.5
            && (json_object_object_add(object, "above_best", json_object_new_double(s->above_best)) < 0
                || json_object_object_add(object, "best_known_hosts", json_object_new_uint64(s->n_best)) < 0))
                return -ENOMEM;
        return 0;
}

int hn_simulate_json(const char *trace, const struct hn_simulated *list, size_t n, bool exact,
                     struct json_object **ret)
{
        HN_JSON struct json_object *object = json_object_new_object(), *array = json_object_new_array();
        int r = object && array ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = add_outcome(array, &list[i], exact);
        if (r >= 0 && json_object_object_add(object, "trace", json_object_new_string(trace)) < 0)
                r = -ENOMEM;
        if (r >= 0 && json_object_object_add(object, "policies", HN_TAKE(array)) < 0)
                r = -ENOMEM;
        if (r >= 0)
                *ret = HN_TAKE(object);
        return r;
}
