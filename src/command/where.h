/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a decision is to be made: the options --host, --state and --ledger, and the scene they tell of.
 */
#pragma once

#include "command/options.h"
#include "store/scene.h"

struct hn_where {
        const char *host;
        const char *state;
        const char *ledger;
        bool empty;         /* whoever is there now does not matter: no ledger is looked at */
};

/* The three options, for a subcommand's table. */
#define HN_WHERE_OPTIONS(where) \
        { .name = "host", .argument = "TOPOLOGY", .value = &(where).host, \
          .help = "an hwloc XML file or synthetic description (default: this host)" }, \
        { .name = "state", .argument = "FILE", .value = &(where).state, \
          .help = "the state that homenoded published" }, \
        HN_LEDGER_OPTION((where).ledger)
#define HN_LEDGER_OPTION(ledger) \
        { .name = "ledger", .argument = "DIR", .value = &(ledger), \
          .help = "what guests were promised (default: /run/homenode)" }

/* Opens the ledger in `dir`, or this host's if that is NULL.  Looking makes no folder: -ENOENT where the
 * named one is not there. */
int hn_where_ledger(const struct hn_root *root, const char *dir, struct hn_ledger **ret);

/* Opens the scene with the placements that the ledger holds.  What is missing but not asked for by an option
 * is only said.  Complains itself; negative errno. */
int hn_where_scene(const struct hn_where *where, struct hn_scene **ret);

/* The situation as `request` will find it: without what the ledger has for that very domain from a start
 * before.  *ret points into the scene and at *ret_placements, which the caller frees.  -ENOMEM. */
int hn_where_situation(const struct hn_scene *scene, const struct hn_request *request,
                       struct hn_situation *ret, const struct hn_placement ***ret_placements);

/* Decides in that situation.  -ENOMEM. */
int hn_where_decide(struct hn_scene *scene, const struct hn_request *request, struct hn_decision **ret);
