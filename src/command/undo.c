/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode undo: guests and definitions as libvirt would have them.
 */
#include "command/undo.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command/options.h"
#include "command/reach.h"
#include "command/report.h"
#include "model/json.h"

struct wish {
        char *const *names;
        size_t n_names;
        bool all, json;
};

static void clear_undo(struct hn_undo *undo)
{
        if (undo->libvirt)
                (void) virConnectClose(undo->libvirt);
        free(undo->libvirt_fault);
        hn_ledger_close(undo->ledger);
        hn_systemd_free(undo->systemd);
}

static void clear_rest(struct hn_undo_rest *rest)
{
        free(rest->faults);
}

/* Marks the domains that are wanted; those that are named and not there are complained about. */
static int choose(const struct hn_undo *undo, const struct wish *wish, struct hn_undo_domains *domains)
{
        int exit = HN_EXIT_DONE;

        for (size_t i = 0; i < domains->n; i++)
                domains->all[i].wanted = wish->all;
        for (size_t i = 0; i < wish->n_names; i++) {
                struct hn_undo_domain *domain = hn_undo_find(domains, wish->names[i]);

                if (domain)
                        domain->wanted = true;
                else
                        exit = hn_complain("%s: no such domain%s", wish->names[i], undo->libvirt ? "" : " runs");
        }
        return exit;
}

static int undo_wanted(const struct hn_undo *undo, struct hn_undo_domains *domains)
{
        int exit = HN_EXIT_DONE;

        for (size_t i = 0; i < domains->n; i++) {
                struct hn_undo_domain *domain = &domains->all[i];

                if (!domain->wanted)
                        continue;
                hn_undo_domain(undo, domain);
                if (domain->faults)
                        exit = hn_complain("%s: %s", domain->name, domain->faults);
        }
        return exit;
}

static int report(const struct hn_undo *undo, const struct hn_undo_domains *domains, const struct hn_undo_rest *rest,
                  bool as_json)
{
        HN_JSON struct json_object *json = NULL;
        int r;

        if (!as_json)
                return hn_undo_text(domains, rest, stdout);
        r = hn_undo_to_json(undo, domains, rest, &json);
        return r < 0 ? r : hn_report_json(json);
}

static int carry_out(struct hn_undo *undo, const struct wish *wish)
{
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        HN_CLEANUP(clear_rest) struct hn_undo_rest rest = { 0 };
        int exit = HN_EXIT_DONE, r;

        if (!undo->libvirt)
                exit = hn_complain("libvirt can't be reached, so no definition is looked at, only guests that run: %s",
                                   undo->libvirt_fault);
        r = hn_undo_list(undo, &domains);
        if (r < 0)
                return hn_complain("libvirt's domains can't be listed: %s", strerror(-r));
        if (choose(undo, wish, &domains) != HN_EXIT_DONE)
                exit = HN_EXIT_FAILED;
        if (undo_wanted(undo, &domains) != HN_EXIT_DONE)
                exit = HN_EXIT_FAILED;
        if (wish->all)
                hn_undo_rest(undo, &domains, &rest);
        if (rest.faults)
                exit = hn_complain("%s", rest.faults);
        if (report(undo, &domains, wish->all ? &rest : NULL, wish->json) < 0)
                return hn_complain("out of memory");
        return exit;
}

static int run(const struct wish *wish)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_CLEANUP(clear_undo) struct hn_undo undo = { .root = &root };
        int r = hn_root_open(NULL, &root);

        if (r < 0)
                return hn_complain("%s: %s", getenv("HOMENODE_ROOT") ? getenv("HOMENODE_ROOT") : "/", strerror(-r));
        if (root.host && geteuid() != 0)
                return hn_complain("undo changes cgroups and definitions: needs root");
        undo.io = hn_cgroup_files(&root);
        (void) hn_cgroup_use_library(&undo.io); /* by files, then */
        r = hn_ledger_open(&root, NULL, &undo.ledger);
        if (r < 0)
                return hn_complain("/run/homenode: %s", strerror(-r));
        r = hn_systemd_new(&root, NULL, &undo.systemd);
        if (r < 0)
                return hn_complain("systemd: %s", strerror(-r));
        if (hn_reach_libvirt(&undo.libvirt, &undo.libvirt_fault) < 0)
                return hn_complain("out of memory");
        return carry_out(&undo, wish);
}

int hn_command_undo(int argc, char **argv)
{
        struct wish wish = { 0 };
        const struct hn_option table[] = {
                { .name = "all", .flag = &wish.all,
                  .help = "every domain, and what is left of those that are gone" },
                { .name = "json", .flag = &wish.json, .help = "print a JSON object" },
        };
        const struct hn_usage usage = {
                .command = "homenode undo",
                .operands = "DOMAIN... | --all",
                .summary = "Gives guests that run back to libvirt and takes out of definitions what homenode wrote.\n"
                           "DOMAIN is a name, UUID or id.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = "\nA guest that is given back is placed again when it starts next, and a definition is left\n"
                        "until it is changed. placement=\"off\" in the metadata keeps homenode away for good.\n",
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        wish.names = argv + first;
        wish.n_names = (size_t) (argc - first);
        if (wish.all ? wish.n_names > 0 : wish.n_names == 0)
                return hn_usage_wrong(&usage, wish.all ? "either domains or --all" : "no domain named");
        return run(&wish);
}
