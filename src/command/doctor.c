/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode doctor: what on this host keeps guests from being placed well, what that means, and how to mend it.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "command/display.h"
#include "command/doctor.h"
#include "command/options.h"
#include "command/report.h"
#include "model/json.h"
#include "model/text.h"

static hn_check *const checks[] = {
        hn_check_libvirt, hn_check_systemd, hn_check_hook, hn_check_noticed, hn_check_daemon, hn_check_configuration, hn_check_cgroup,
        hn_check_apparmor, hn_check_selinux, hn_check_nodes, hn_check_distances, hn_check_isolated,
        hn_check_pages, hn_check_numad, hn_check_balancing, hn_check_ksm, hn_check_zone_reclaim,
        hn_check_irqbalance,
};

static const char *const level_names[] = {
        [HN_LEVEL_OK] = "ok", [HN_LEVEL_NOTE] = "note", [HN_LEVEL_WARNING] = "warning", [HN_LEVEL_PROBLEM] = "problem",
};
#define LEVELS (sizeof level_names / sizeof *level_names)

static void clear_finding(struct hn_finding *finding)
{
        free(finding->what);
        free(finding->means);
        free(finding->mend);
}

int hn_find(struct hn_findings *findings, enum hn_level level, const char *check, const char *means, const char *mend,
            const char *what, ...)
{
        struct hn_finding *more = reallocarray(findings->all, findings->n + 1, sizeof *more), *finding;
        va_list arguments;

        if (!more)
                return -ENOMEM;
        findings->all = more;
        finding = &more[findings->n];
        *finding = (struct hn_finding) {
                .level = level, .check = check, .means = means ? strdup(means) : NULL, .mend = mend ? strdup(mend) : NULL,
        };
        va_start(arguments, what);
        finding->what = hn_text_vprint(what, arguments);
        va_end(arguments);
        if (!finding->what || (means && !finding->means) || (mend && !finding->mend)) {
                clear_finding(finding);
                return -ENOMEM;
        }
        findings->n++;
        return 0;
}

void hn_findings_clear(struct hn_findings *findings)
{
        for (size_t i = 0; i < findings->n; i++)
                clear_finding(&findings->all[i]);
        free(findings->all);
        *findings = (struct hn_findings) { 0 };
}

/* Cuts a mend where it would call upon what is not there; one that does nothing else is none. */
static void drop_vain_mends(const struct hn_patient *patient, struct hn_findings *findings)
{
        const char *vain = patient->systemd ? "systemctl reload " : "systemctl ";

        for (size_t i = 0; i < findings->n; i++) {
                struct hn_finding *finding = &findings->all[i];
                char *call = finding->mend ? strstr(finding->mend, vain) : NULL;

                if (!call || (patient->systemd && patient->libvirt_installed))
                        continue;
                if (call - finding->mend >= 4 && strncmp(call - 4, " && ", 4) == 0)
                        call[-4] = '\0';
                else {
                        free(finding->mend);
                        finding->mend = NULL;
                }
        }
}

int hn_doctor_look(const struct hn_patient *patient, struct hn_findings *ret)
{
        HN_FINDINGS struct hn_findings findings = { 0 };

        for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
                int r = checks[i](patient, &findings);

                if (r < 0)
                        return r;
        }
        drop_vain_mends(patient, &findings);
        *ret = findings;
        findings = (struct hn_findings) { 0 };
        return 0;
}

static unsigned count(const struct hn_findings *findings, enum hn_level level)
{
        unsigned n = 0;

        for (size_t i = 0; i < findings->n; i++)
                n += findings->all[i].level == level;
        return n;
}

bool hn_findings_have(const struct hn_findings *findings, enum hn_level level)
{
        return count(findings, level) > 0;
}

static int fill_finding(const struct hn_finding *finding, struct json_object *json)
{
        if (hn_json_add(json, "check", json_object_new_string(finding->check)) < 0 ||
            hn_json_add(json, "level", json_object_new_string(level_names[finding->level])) < 0 ||
            hn_json_add(json, "what", json_object_new_string(finding->what)) < 0 ||
            (finding->means && hn_json_add(json, "means", json_object_new_string(finding->means)) < 0) ||
            (finding->mend && hn_json_add(json, "mend", json_object_new_string(finding->mend)) < 0))
                return -ENOMEM;
        return 0;
}

int hn_findings_to_json(const struct hn_findings *findings, struct json_object **ret)
{
        HN_JSON struct json_object *array = json_object_new_array();

        if (!array)
                return -ENOMEM;
        for (size_t i = 0; i < findings->n; i++) {
                struct json_object *element = json_object_new_object();

                if (!element || json_object_array_add(array, element) < 0) {
                        json_object_put(element);
                        return -ENOMEM;
                }
                if (fill_finding(&findings->all[i], element) < 0)
                        return -ENOMEM;
        }
        *ret = HN_TAKE(array);
        return 0;
}

static int print_line(FILE *out, const char *before, const char *text)
{
        HN_FREE char *safe = hn_display_escape(text);

        if (!safe)
                return -ENOMEM;
        (void) fprintf(out, "%s%s\n", before, safe);
        return 0;
}

static int print_finding(const struct hn_finding *finding, FILE *out)
{
        char head[64];
        int r;

        (void) snprintf(head, sizeof head, "%-8s %-15s ", level_names[finding->level], finding->check);
        r = print_line(out, head, finding->what);
        if (r >= 0 && finding->means)
                r = print_line(out, "           means: ", finding->means);
        if (r >= 0 && finding->mend)
                r = print_line(out, "           mend:  ", finding->mend);
        return r;
}

int hn_findings_text(const struct hn_findings *findings, FILE *out)
{
        for (size_t i = 0; i < findings->n; i++) {
                int r = print_finding(&findings->all[i], out);

                if (r < 0)
                        return r;
        }
        (void) fputc('\n', out);
        for (size_t level = LEVELS; level-- > 0;) {
                unsigned n = count(findings, (enum hn_level) level);

                (void) fprintf(out, "%u %s%s%s", n, level_names[level], n != 1 && level != HN_LEVEL_OK ? "s" : "",
                               level ? ", " : "\n");
        }
        return 0;
}

static int run(bool as_json)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_PATIENT struct hn_patient patient = { 0 };
        HN_FINDINGS struct hn_findings findings = { 0 };
        HN_JSON struct json_object *json = NULL;
        int r = hn_root_open(NULL, &root);

        if (r < 0)
                return hn_complain("%s: %s", getenv("HOMENODE_ROOT") ? getenv("HOMENODE_ROOT") : "/", strerror(-r));
        r = hn_patient_read(&root, &patient);
        if (r >= 0)
                r = hn_doctor_look(&patient, &findings);
        if (r >= 0)
                r = as_json ? hn_findings_to_json(&findings, &json) : hn_findings_text(&findings, stdout);
        if (r < 0 || (as_json && hn_report_json(json) != HN_EXIT_DONE))
                return hn_complain("out of memory");
        return hn_findings_have(&findings, HN_LEVEL_PROBLEM) ? HN_EXIT_FAILED : HN_EXIT_DONE;
}

int hn_command_doctor(int argc, char **argv)
{
        bool json = false;
        const struct hn_option table[] = {
                { .name = "json", .flag = &json, .help = "print a JSON array" },
        };
        const struct hn_usage usage = {
                .command = "homenode doctor",
                .operands = "",
                .summary = "Says what on this host keeps guests from being placed well, what that means and what mends it.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = "\nThe exit status is 1 if there is a problem, 0 with warnings and notes alone.\n",
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (first != argc)
                return hn_usage_wrong(&usage, "no operands are taken");
        return run(json);
}
