/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "command/display.h"
#include "command/table.h"
#include "command/undo.h"
#include "model/json.h"

static const char *const running_words[HN_UNDO_OUTCOMES] = {
        [HN_UNDO_ABSENT] = "does not run", [HN_UNDO_NOTHING] = "nothing to undo", [HN_UNDO_DONE] = "given back",
        [HN_UNDO_FAILED] = "failed", [HN_UNDO_UNSEEN] = "not looked at",
};

static const char *const definition_words[HN_UNDO_OUTCOMES] = {
        [HN_UNDO_ABSENT] = "has none", [HN_UNDO_NOTHING] = "nothing to undo", [HN_UNDO_DONE] = "as it was before",
        [HN_UNDO_FAILED] = "failed", [HN_UNDO_UNSEEN] = "not looked at",
};

static const char *const json_words[HN_UNDO_OUTCOMES] = {
        [HN_UNDO_ABSENT] = "absent", [HN_UNDO_NOTHING] = "nothing", [HN_UNDO_DONE] = "done",
        [HN_UNDO_FAILED] = "failed", [HN_UNDO_UNSEEN] = "unseen",
};

/* ---- for programs */

static int fill_domain(const struct hn_undo_domain *domain, struct json_object *json)
{
        if (hn_json_add(json, "name", json_object_new_string(domain->name)) < 0 ||
            hn_json_add(json, "uuid", json_object_new_string(domain->uuid)) < 0 ||
            hn_json_add(json, "running", json_object_new_string(json_words[domain->running])) < 0 ||
            hn_json_add(json, "definition", json_object_new_string(json_words[domain->definition])) < 0 ||
            (domain->notes && hn_json_add(json, "notes", json_object_new_string(domain->notes)) < 0) ||
            (domain->faults && hn_json_add(json, "faults", json_object_new_string(domain->faults)) < 0))
                return -ENOMEM;
        return 0;
}

static int add_domain(const struct hn_undo_domain *domain, struct json_object *array)
{
        struct json_object *element = json_object_new_object();

        if (!element || json_object_array_add(array, element) < 0) {
                json_object_put(element);
                return -ENOMEM;
        }
        return fill_domain(domain, element);
}

static int add_rest(const struct hn_undo_rest *rest, struct json_object *json)
{
        struct json_object *removed = json_object_new_object();

        if (hn_json_add(json, "removed", removed) < 0 ||
            hn_json_add(removed, "drop_ins", json_object_new_int64(rest->dropins)) < 0 ||
            hn_json_add(removed, "records", json_object_new_int64(rest->records)) < 0 ||
            hn_json_add(removed, "copies", json_object_new_int64(rest->copies)) < 0 ||
            (rest->faults && hn_json_add(json, "faults", json_object_new_string(rest->faults)) < 0))
                return -ENOMEM;
        return 0;
}

int hn_undo_to_json(const struct hn_undo *undo, const struct hn_undo_domains *domains, const struct hn_undo_rest *rest,
                    struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        struct json_object *array = json_object_new_array();
        int r = json ? hn_json_add(json, "domains", array) : -ENOMEM;

        if (!json)
                json_object_put(array);
        for (size_t i = 0; r >= 0 && i < domains->n; i++)
                if (domains->all[i].wanted)
                        r = add_domain(&domains->all[i], array);
        if (r >= 0 && !undo->libvirt)
                r = hn_json_add(json, "libvirt_fault", json_object_new_string(undo->libvirt_fault));
        if (r >= 0 && rest)
                r = add_rest(rest, json);
        if (r < 0)
                return r;
        *ret = HN_TAKE(json);
        return 0;
}

/* ---- for people */

static int print_notes(const struct hn_undo_domain *domain, FILE *out)
{
        HN_FREE char *name = hn_display_escape(domain->name), *notes = hn_display_escape(domain->notes);

        if (!name || !notes)
                return -ENOMEM;
        (void) fprintf(out, "%s: %s\n", name, notes);
        return 0;
}

static void print_rest(const struct hn_undo_rest *rest, FILE *out)
{
        if (rest->dropins || rest->records || rest->copies)
                (void) fprintf(out, "removed, of guests that are gone: "
                               "%u drop-in%s, %u record%s, %u cop%s of definitions\n",
                               rest->dropins, rest->dropins == 1 ? "" : "s", rest->records,
                               rest->records == 1 ? "" : "s", rest->copies, rest->copies == 1 ? "y" : "ies");
}

int hn_undo_text(const struct hn_undo_domains *domains, const struct hn_undo_rest *rest, FILE *out)
{
        static const struct hn_column columns[] = { { "GUEST", false }, { "RUNNING", false }, { "DEFINITION", false } };
        HN_TABLE struct hn_table *table = hn_table_new(columns, sizeof columns / sizeof *columns);
        bool any = false;
        int r = table ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < domains->n; i++) {
                const struct hn_undo_domain *domain = &domains->all[i];

                if (!domain->wanted)
                        continue;
                any = true;
                r = hn_table_add(table, (const char *[]) { domain->name, running_words[domain->running],
                                                           definition_words[domain->definition] });
        }
        if (r >= 0 && any)
                hn_table_print(table, out);
        for (size_t i = 0; r >= 0 && i < domains->n; i++)
                if (domains->all[i].wanted && domains->all[i].notes)
                        r = print_notes(&domains->all[i], out);
        if (r >= 0 && rest)
                print_rest(rest, out);
        return r;
}
