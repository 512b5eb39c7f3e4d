/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/decide.h"

#include <errno.h>

#include "decide/fit.h"
#include "decide/place.h"
#include "decide/search.h"
#include "decide/shape.h"
#include "decide/shortage.h"
#include "model/text.h"

#define LEFT "left to libvirt: " /* begins the reason of each decision that is that */

/* A decision under way. */
struct deciding {
        const struct hn_situation *situation;
        const struct hn_request *request;
        struct hn_decision *decision;
        struct hn_shape *shape;
        struct hn_task *task;
        char *note;  /* what is added to the reason */
};

static void end_deciding(struct deciding *d)
{
        hn_shape_free(d->shape);
        hn_task_free(d->task);
        free(d->note);
}

void hn_decision_free(struct hn_decision *decision)
{
        if (!decision)
                return;
        free(decision->reason);
        hn_shape_free(decision->shape);
        hn_placement_free(decision->placement);
        hwloc_bitmap_free(decision->runner_up);
        free(decision);
}

/* Why a domain is none of our business; NULL: it is. */
static const char *left_alone(const struct hn_request *request)
{
        if (!request->managed_type)
                return "its type is neither kvm nor qemu";
        if (request->wishes.off)
                return "it is opted out (placement=\"off\")";
        if (request->placement_auto)
                return "numad decides on it (placement='auto')";
        return NULL;
}

static const char *why_no_home(const struct hn_host *host, int at)
{
        if (at < 0)
                return "which this host has not";
        if (host->nodes[at].role == HN_NODE_NO_CPUS)
                return "which has no CPUs";
        return host->nodes[at].role == HN_NODE_NO_MEMORY ? "which has no memory" : "which guests may not use";
}

/* Nodes that the domain's own metadata names must be there and be homes. */
static int check_wishes(struct deciding *d, bool *ret_refused)
{
        const struct hn_host *host = d->situation->host;

        if (!d->request->wishes.nodes)
                return 0;
        HN_IDSET_FOREACH(os, d->request->wishes.nodes) {
                int at = hn_host_at(host, (unsigned) os);

                if (at >= 0 && host->nodes[at].role == HN_NODE_HOME)
                        continue;
                *ret_refused = true;
                return hn_text_add(&d->decision->reason, "its metadata asks for node %d, %s", os,
                                   why_no_home(host, at));
        }
        return 0;
}

/* Nodes of the CPUs that the user gave the vCPUs. */
static int pinned_nodes(const struct hn_task *task, hwloc_bitmap_t nodes)
{
        hwloc_const_bitmap_t last = NULL;

        for (unsigned vcpu = 0; vcpu < task->request->vcpus_max; vcpu++) {
                hwloc_const_bitmap_t cpus = task->user_cpus[vcpu];

                if (!cpus || cpus == last)
                        continue;
                last = cpus;
                HN_IDSET_FOREACH(cpu, cpus) {
                        int at = hn_ground_at(task->ground, cpu);

                        if (at >= 0 && hwloc_bitmap_set(nodes, task->ground->host->nodes[at].os) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

/* Where a domain that is left to libvirt is likely to lie: where its numatune or pins say, or anywhere. */
static int likely_nodes(const struct deciding *d, hwloc_bitmap_t *ret)
{
        const struct hn_host *host = d->situation->host;
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
        int r = 0;

        if (!nodes)
                return -ENOMEM;
        if (!d->request->numatune_nodes)
                r = pinned_nodes(d->task, nodes);
        else if (hwloc_bitmap_copy(nodes, d->request->numatune_nodes) < 0)
                r = -ENOMEM;
        for (size_t at = 0; r >= 0 && at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(nodes, host->nodes[at].os)) {
                        *ret = HN_TAKE(nodes);
                        return 0;
                }
        if (r < 0)
                return r;
        *ret = hn_host_homes(host);
        return *ret ? 0 : -ENOMEM;
}

/* Left to libvirt: counted as far as known. */
static int leave(struct deciding *d)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        int r = likely_nodes(d, &nodes);

        if (r < 0)
                return r;
        hn_placement_free(HN_TAKE(d->decision->placement));
        d->decision->verdict = HN_LEFT;
        return hn_place_counted(d->task, nodes, &d->decision->placement);
}

/* No set of nodes holds it. */
static int no_room(struct deciding *d)
{
        bool refused = d->request->wishes.spanning_forbidden;
        HN_FREE char *shortage = NULL;
        int r = hn_shortage_say(d->task, &shortage);

        if (r >= 0)
                r = hn_text_add(&d->decision->reason, "%s%s", refused ? "" : LEFT, shortage);
        if (r < 0)
                return r;
        if (!refused)
                return leave(d);
        d->decision->verdict = HN_REFUSED;
        return 0;
}

static int say_spread(struct deciding *d, const char *nodes)
{
        HN_FREE char *why = NULL;
        int r = hn_shortage_say_spread(d->task, &why);

        return r < 0 ? r : hn_text_add(&d->decision->reason, "spread over %s: %s", nodes, why);
}

static int say_where(struct deciding *d, const struct hn_found *best, size_t n_open)
{
        char **reason = &d->decision->reason;
        HN_FREE char *nodes = hn_text_nodes(d->decision->placement->home);
        size_t n_cells = d->shape->n_cells;

        if (!nodes)
                return -ENOMEM;
        if (!n_open)
                return hn_text_add(reason, "on %s, where the XML puts it", nodes);
        if (best->spread)
                return say_spread(d, nodes);
        if (n_cells == 1)
                return hn_text_add(reason, "on %s: fits one node", nodes);
        return hn_text_add(reason, "%zu cells on %s%s", n_cells, nodes,
                           d->shape->given || d->request->wishes.vnuma > 0 ? ""
                                                                           : ": the fewest that hold it");
}

/* Cells are bound to their nodes: what is plugged in later has to find room there. */
static int say_hotplug(struct deciding *d)
{
        char most[HN_TEXT_SIZE];

        if (!hn_growth_kib(d->request) || d->shape->n_cells < 2)
                return 0;
        return hn_text_add(&d->note, "memory plugged in later, up to %s, is not reserved",
                           hn_text_size(d->request->memory_max_kib, most));
}

static int keep_runner_up(struct deciding *d, const struct hn_found *second)
{
        hwloc_bitmap_t set;

        if (!second->k)
                return 0;
        set = hwloc_bitmap_alloc();
        d->decision->runner_up = set;
        d->decision->runner_up_score = second->score;
        for (size_t i = 0; set && i < second->k; i++)
                if (hwloc_bitmap_set(set, d->situation->host->nodes[second->nodes[i]].os) < 0)
                        return -ENOMEM;
        return set ? 0 : -ENOMEM;
}

static int accept(struct deciding *d, struct hn_layout *layout, const struct hn_search *search)
{
        int r;

        hn_layout_score(layout, &d->decision->score);
        hn_placement_free(HN_TAKE(d->decision->placement));
        r = hn_place_layout(layout, &d->decision->placement, &d->note);
        if (r >= 0)
                r = say_where(d, &search->best, d->task->n_open);
        if (r >= 0)
                r = say_hotplug(d);
        if (r >= 0)
                r = keep_runner_up(d, &search->second);
        if (r < 0)
                return r;
        d->decision->verdict = HN_PLACED;
        d->decision->shape = HN_TAKE(d->shape);
        return 0;
}

/* libvirt binds the domain to its numatune nodes even where they have no room: it is counted there. */
static int place_bound(struct deciding *d)
{
        hn_task_free(HN_TAKE(d->task));
        return hn_task_new(d->situation, d->request, d->shape, true, &d->task);
}

/* Searches, or takes what is fixed; -ENOSPC: no room. */
static int find(struct deciding *d)
{
        HN_LAYOUT struct hn_layout *layout = NULL;
        HN_SEARCH struct hn_search *search = NULL;
        int r = hn_layout_new(d->task, &layout);

        if (r >= 0)
                r = hn_search_new(layout, &search);
        if (r < 0)
                return r;
        if (!d->task->n_open)
                layout->n_seats = d->task->n_seats;
        else if (!hn_search_run(search))
                return -ENOSPC;
        else
                (void) hn_search_lay(layout, &search->best);
        d->decision->candidates = d->task->n_open ? search->scored : 1;
        return accept(d, layout, search);
}

static int place(struct deciding *d)
{
        int r = find(d);

        if (r == -ENOSPC && d->request->numatune_nodes && !d->request->wishes.spanning_forbidden) {
                r = place_bound(d);
                if (r >= 0)
                        r = find(d);
        }
        return r == -ENOSPC ? no_room(d) : r;
}

static int weigh(struct deciding *d)
{
        const char *alone = left_alone(d->request);
        HN_FREE char *shaped = NULL;
        bool refused = false;
        int r = 0;

        if (!alone && d->request->wishes.fault)
                r = hn_text_add(&d->note, "its metadata is passed over: %s", d->request->wishes.fault);
        if (r >= 0 && !alone)
                r = check_wishes(d, &refused);
        if (r < 0 || refused) {
                d->decision->verdict = HN_REFUSED;
                return r;
        }
        r = hn_shape_new(d->situation->host, d->situation->policy, d->request, &d->shape, &shaped);
        if (r >= 0 && shaped)
                r = hn_text_add(&d->note, "%s", shaped);
        if (r >= 0)
                r = hn_task_new(d->situation, d->request, d->shape, false, &d->task);
        if (r < 0)
                return r;
        if (alone || d->task->obstacle)
                r = hn_text_add(&d->decision->reason, LEFT "%s",
                                alone ? alone : d->task->obstacle);
        if (r < 0)
                return r;
        return alone || d->task->obstacle ? leave(d) : place(d);
}

int hn_decide(const struct hn_situation *situation, const struct hn_request *request,
              struct hn_decision **ret)
{
        HN_DECISION struct hn_decision *decision = calloc(1, sizeof *decision);
        HN_CLEANUP(end_deciding) struct deciding d = { .situation = situation, .request = request };
        int r;

        if (!decision)
                return -ENOMEM;
        d.decision = decision;
        decision->placement = hn_place_empty(request);
        if (!decision->placement)
                return -ENOMEM;
        r = weigh(&d);
        if (r >= 0 && d.task && d.task->note)
                r = hn_text_add(&decision->reason, "%s", d.task->note);
        if (r >= 0 && d.note)
                r = hn_text_add(&decision->reason, "%s", d.note);
        if (r < 0)
                return r;
        *ret = HN_TAKE(decision);
        return 0;
}
