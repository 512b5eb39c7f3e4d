/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/explain-text.h"

#include <errno.h>
#include <string.h>

#include "command/table.h"
#include "command/display.h"
#include "model/text.h"
#include "model/json.h"

enum form { TEXT, SIZE, PAGES, THOUSANDTHS };

/* A member and how it is shown. */
struct field {
        const char *title;
        const char *member;
        enum form form;
};

#define FIELD_LIMIT 8

static const struct field head[] = {
        { "Domain", "name", TEXT }, { "UUID", "uuid", TEXT }, { "State", "state", TEXT },
        { "PID", "pid", TEXT },
        { "Unit", "unit", TEXT }, { "Decided", "decided", TEXT }, { "Managed", "managed", TEXT },
        { "Priority", "priority", TEXT }, { "Home", "home", TEXT }, { "Memory on", "memory_nodes", TEXT },
        { "Emulator", "emulator_cpus", TEXT }, { "Why", "reason", TEXT },
        { "Moving", "moving", TEXT }, { "Moves", "moves", TEXT }, { "Last move", "last_move", TEXT },
};

static const struct field cell_fields[] = {
        { "CELL", "id", TEXT }, { "VCPUS", "vcpus", TEXT }, { "MEMORY", "memory_kib", SIZE },
        { "NODES", "nodes", TEXT }, { "CPUS", "cpus", TEXT },
};

static const struct field vcpu_fields[] = { { "VCPU", "vcpu", TEXT }, { "CPUS", "cpus", TEXT } };

static const struct field promise_fields[] = {
        { "PROMISED ON", "node", TEXT }, { "MEMORY", "memory_kib", SIZE }, { "PAGES", "page_kib", PAGES },
        { "VCPUS", "vcpus_milli", THOUSANDTHS },
};

/* A member as text, "-" where there is none.  The caller frees; NULL without memory. */
static char *show(struct json_object *object, const struct field *field)
{
        struct json_object *value = json_object_object_get(object, field->member);
        const char *plain = value ? json_object_get_string(value) : "";
        uint64_t number = json_object_get_uint64(value);
        char text[HN_TEXT_SIZE];

        switch (field->form) {
        case SIZE:
                return strdup(hn_text_size(number, text));
        case PAGES:
                return strdup(number ? hn_text_size(number, text) : "ordinary");
        case THOUSANDTHS:
                (void) snprintf(text, sizeof text, "%.5g", (double) number / 1000.0);
                return strdup(text);
        case TEXT:
        default:
                return plain ? strdup(*plain ? plain : "-") : NULL;
        }
}

static int print_head(struct json_object *explained, FILE *out)
{
        for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
                HN_FREE char *text = NULL, *safe = NULL;

                if (!json_object_object_get(explained, head[i].member))
                        continue;
                text = show(explained, &head[i]);
                safe = text ? hn_display_escape(text) : NULL;
                if (!safe)
                        return -ENOMEM;
                (void) fprintf(out, "%-10s %s\n", head[i].title, safe);
        }
        return 0;
}

static int add_object(struct hn_table *table, struct json_object *object, const struct field *fields,
                      size_t n)
{
        char *texts[FIELD_LIMIT] = { NULL };
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                texts[i] = show(object, &fields[i]);
                if (!texts[i])
                        r = -ENOMEM;
        }
        if (r >= 0)
                r = hn_table_add(table, (const char *const *) texts);
        for (size_t i = 0; i < n; i++)
                free(texts[i]);
        return r;
}

/* A table of an array's objects; nothing where it is absent or empty. */
static int print_array(struct json_object *array, const struct field *fields, size_t n, FILE *out)
{
        struct hn_column columns[FIELD_LIMIT];
        size_t n_objects = json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;

        if (n_objects == 0)
                return 0;
        for (size_t i = 0; i < n; i++)
                columns[i] = (struct hn_column) { .title = fields[i].title, .right = fields[i].form != TEXT };
        HN_TABLE struct hn_table *table = hn_table_new(columns, n);
        int r = table ? 0 : -ENOMEM;
        for (size_t i = 0; r >= 0 && i < n_objects; i++)
                r = add_object(table, json_object_array_get_idx(array, i), fields, n);
        if (r < 0)
                return r;
        (void) fputc('\n', out);
        hn_table_print(table, out);
        return 0;
}
#define PRINT_ARRAY(explained, member, fields, out) \
        print_array(json_object_object_get(explained, member), fields, sizeof(fields) / sizeof *(fields), out)

/* "NODE 2", "NODES 0-1": a placement's home as a title; the caller frees. */
static char *home_title(struct json_object *object, const char *member)
{
        const char *home = NULL;
        char *title = NULL;

        if (hn_json_get_string(object, member, &home) < 0)
                return strdup("-");
        return asprintf(&title, "%s %s", strpbrk(home, ",-") ? "NODES" : "NODE", home) < 0 ? NULL : title;
}

static void format_term(struct json_object *score, const char *term, char text[static HN_TEXT_SIZE])
{
        struct json_object *value = NULL;

        if (!json_object_object_get_ex(score, term, &value))
                (void) snprintf(text, HN_TEXT_SIZE, "-");
        else
                (void) snprintf(text, HN_TEXT_SIZE, "%.4f", json_object_get_double(value));
}

/* Every term of the winner's score beside the runner-up's. */
static int print_score(struct json_object *explained, FILE *out)
{
        struct json_object *score = json_object_object_get(explained, "score");
        struct json_object *runner_up = json_object_object_get(explained, "runner_up");
        struct json_object *second = json_object_object_get(runner_up, "score");
        HN_FREE char *first_title = home_title(explained, "home");
        HN_FREE char *second_title = home_title(runner_up, "nodes");
        const struct hn_column columns[] = {
                { "SCORE", false }, { first_title, true }, { second_title, true },
        };

        if (!json_object_is_type(score, json_type_object))
                return 0;
        if (!first_title || !second_title)
                return -ENOMEM;
        HN_TABLE struct hn_table *table = hn_table_new(columns, second ? 3 : 2);
        if (!table)
                return -ENOMEM;
        json_object_object_foreach(score, term, value) {
                char first[HN_TEXT_SIZE], other[HN_TEXT_SIZE];

                (void) value;
                format_term(score, term, first);
                format_term(second, term, other);
                if (hn_table_add(table, (const char *[]) { term, first, other }) < 0)
                        return -ENOMEM;
        }
        (void) fputc('\n', out);
        hn_table_print(table, out);
        return 0;
}

int hn_explain_text(struct json_object *explained, FILE *out)
{
        int r = print_head(explained, out);

        if (r >= 0)
                r = PRINT_ARRAY(explained, "cells", cell_fields, out);
        if (r >= 0)
                r = PRINT_ARRAY(explained, "vcpu_cpus", vcpu_fields, out);
        if (r >= 0)
                r = PRINT_ARRAY(explained, "promises", promise_fields, out);
        return r < 0 ? r : print_score(explained, out);
}
