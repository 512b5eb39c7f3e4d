/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/adopt.h"

#include <errno.h>
#include <string.h>

#include "decide/explain.h"
#include "decide/fit.h"
#include "decide/keep.h"
#include "model/json.h"
#include "model/text.h"

/* The `count` nodes that hold most of the guest; empty where nothing is known. */
static int fullest_nodes(const struct hn_resident *resident, unsigned count, hwloc_bitmap_t ret)
{
        for (unsigned i = 0; i < count; i++) {
                size_t best = resident->n_nodes;

                for (size_t node = 0; node < resident->n_nodes; node++)
                        if (!hwloc_bitmap_isset(ret, (unsigned) node) && resident->node_kib[node] &&
                            (best == resident->n_nodes || resident->node_kib[node] > resident->node_kib[best]))
                                best = node;
                if (best < resident->n_nodes && hwloc_bitmap_set(ret, (unsigned) best) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* What would be best if it were only to start now is what it was preferred to. */
static int prefer(struct hn_decision *decision, const struct hn_decision *to)
{
        hwloc_bitmap_free(decision->runner_up);
        decision->runner_up = hwloc_bitmap_dup(to->placement->home);
        decision->runner_up_score = to->score;
        if (!decision->runner_up)
                return -ENOMEM;
        return hn_text_add(&decision->reason, "most of its memory is there already");
}

/* The same decision with the choice of nodes narrowed to where the guest is; *ret stays as it is where that can't be
 * had. */
static int decide_where_it_is(struct hn_scene *scene, struct hn_request *request, const struct hn_resident *resident,
                              struct hn_decision **ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
        HN_DECISION struct hn_decision *decision = NULL;
        hwloc_bitmap_t wished = request->wishes.nodes;
        int r = nodes ? fullest_nodes(resident, hn_idset_count((*ret)->placement->home), nodes) : -ENOMEM;

        if (r < 0 || hwloc_bitmap_iszero(nodes) || hwloc_bitmap_isequal(nodes, (*ret)->placement->home) ||
            (wished && !hwloc_bitmap_isincluded(nodes, wished)))
                return r;
        request->wishes.nodes = nodes;
        r = hn_scene_decide(scene, &scene->situation, request, &decision);
        request->wishes.nodes = wished;
        if (r < 0 || decision->verdict != HN_PLACED)
                return r;
        r = prefer(decision, *ret);
        if (r >= 0) {
                hn_decision_free(*ret);
                *ret = HN_TAKE(decision);
        }
        return r;
}

/* What it was promised, if it is on record as it runs: huge pages are taken as a guest starts. */
static int credit_promised(struct hn_scene *scene, const struct hn_adoption *adoption, struct hn_ledger *ledger,
                           uint64_t page_kib)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_ledger_get(ledger, adoption->request->uuid, &entry);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (entry->state != HN_ENTRY_STARTED || entry->pid != adoption->pid ||
            (entry->start_ticks && entry->start_ticks != adoption->start_ticks))
                return 0;
        for (size_t i = 0; i < entry->placement->n_promises; i++) {
                const struct hn_promise *promise = &entry->placement->promises[i];

                if (promise->page_kib == page_kib)
                        hn_host_credit_pages(scene->host, promise->node, page_kib, promise->memory_kib);
        }
        return 0;
}

/* Nobody counts those as free, and the kernel tells only where somebody turned the hugetlb controller on, as systemd
 * and libvirt do not. */
static int credit_own_pages(struct hn_scene *scene, const struct hn_adoption *adoption, struct hn_ledger *ledger)
{
        const struct hn_host *host = scene->host;
        int r = 0;

        for (size_t i = 0; r >= 0 && host->n_nodes && i < host->nodes[0].n_pools; i++) {
                uint64_t page_kib = host->nodes[0].pools[i].page_kib;
                HN_RESIDENT struct hn_resident own = { 0 };

                r = adoption->cgroup ? hn_resident_add_huge(adoption->root, adoption->cgroup->scope, page_kib, &own)
                                     : -ENOENT;
                if (r < 0 && r != -ENOMEM)
                        r = credit_promised(scene, adoption, ledger, page_kib);
                else
                        for (unsigned node = 0; node < own.n_nodes; node++)
                                hn_host_credit_pages(scene->host, node, page_kib, hn_resident_kib(&own, node));
        }
        return r;
}

/* A start is refused where the owner's nodes are not there, for the owner to notice.  One that runs may go on on those
 * that are left. */
static int wish_for_what_is_left(const struct hn_host *host, struct hn_request *request)
{
        HN_BITMAP hwloc_bitmap_t left = hn_host_homes(host);

        if (!left)
                return -ENOMEM;
        if (!request->wishes.nodes)
                return 0;
        if (hwloc_bitmap_and(left, left, request->wishes.nodes) < 0)
                return -ENOMEM;
        return hwloc_bitmap_iszero(left) || hwloc_bitmap_copy(request->wishes.nodes, left) >= 0 ? 0 : -ENOMEM;
}

int hn_adopt_scene(const struct hn_adoption *adoption, struct hn_ledger *ledger, const struct hn_resident *resident,
                   struct hn_scene **ret)
{
        const struct hn_scene_source source = { .with_pools = hn_request_wants_huge_pages(adoption->request),
                                                .measured = true };
        HN_SCENE struct hn_scene *scene = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_request_bind_ours(adoption->request);

        if (r >= 0)
                r = hn_scene_open(adoption->root, &source, &scene, &fault);
        if (r < 0)
                return r;
        r = wish_for_what_is_left(scene->host, adoption->request);
        hn_scene_credit_resident(scene, resident);
        if (r >= 0 && source.with_pools)
                r = credit_own_pages(scene, adoption, ledger);
        if (r >= 0)
                r = hn_scene_add_ledger(scene, adoption->root, ledger, adoption->request->uuid);
        if (r >= 0)
                *ret = HN_TAKE(scene);
        return r;
}

static int decide(const struct hn_adoption *adoption, struct hn_ledger *ledger, const struct hn_resident *resident,
                  struct hn_decision **ret)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;
        int r = hn_adopt_scene(adoption, ledger, resident, &scene);

        if (r >= 0)
                r = hn_scene_decide(scene, &scene->situation, adoption->request, &decision);
        if (r >= 0 && decision->verdict == HN_PLACED && resident->n_nodes)
                r = decide_where_it_is(scene, adoption->request, resident, &decision);
        if (r < 0)
                return r;
        *ret = HN_TAKE(decision);
        return 0;
}

/* Without a figure, as without huge pages in it, nothing is known to be at home. */
static bool is_at_home(const struct hn_request *request, const struct hn_resident *resident,
                       hwloc_const_bitmap_t nodes)
{
        uint64_t all_kib = hn_resident_sum_kib(resident, NULL);

        return !hn_request_wants_huge_pages(request) && all_kib &&
               all_kib - hn_resident_sum_kib(resident, nodes) <= HN_KEEP_NARROW_KIB;
}

static int settle_memory(const struct hn_adoption *adoption, const struct hn_resident *resident,
                         struct hn_placement *placement, char **reason)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        int r = hn_keep_nodes(adoption->request, placement, &nodes);

        if (r < 0 || hwloc_bitmap_iszero(nodes) || is_at_home(adoption->request, resident, nodes))
                return r;
        hwloc_bitmap_zero(placement->memory_nodes);
        return hn_text_add(reason, "its memory lies elsewhere still, so it is not confined");
}

static int new_entry(const struct hn_adoption *adoption, const struct hn_decision *decision,
                     const struct hn_resident *resident, struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);
        int r = 0;

        if (!entry)
                return -ENOMEM;
        entry->placement = hn_placement_copy(decision->placement);
        entry->reason = strdup(decision->reason ? decision->reason : "");
        if (!entry->placement || !entry->reason)
                return -ENOMEM;
        if (adoption->cgroup && adoption->cgroup->by_systemd) {
                entry->unit = strdup(hn_guest_cgroup_unit(adoption->cgroup));
                if (!entry->unit)
                        return -ENOMEM;
        }
        entry->state = HN_ENTRY_STARTED;
        entry->domain_id = adoption->request->id;
        entry->pid = adoption->pid;
        entry->start_ticks = adoption->start_ticks;
        entry->managed = decision->verdict == HN_PLACED;
        if (adoption->request->n_cells == 0)
                r = hn_placement_fold(entry->placement);
        if (r >= 0 && entry->managed)
                r = settle_memory(adoption, resident, entry->placement, &entry->reason);
        if (r < 0)
                return r;
        *ret = HN_TAKE(entry);
        return 0;
}

/* What came of its moves so far says where its cells are bound: deciding anew changes nothing about that. */
static void inherit(const struct hn_adoption *adoption, struct hn_ledger *ledger, struct hn_entry *entry)
{
        HN_ENTRY struct hn_entry *old = NULL;

        if (hn_ledger_get(ledger, adoption->request->uuid, &old) < 0 || old->state != HN_ENTRY_STARTED ||
            old->pid != adoption->pid || old->start_ticks != adoption->start_ticks)
                return;
        entry->moved = old->moved;
        old->moved.result = NULL;
}

static int adopt(const struct hn_adoption *adoption, struct hn_ledger *ledger, struct hn_entry **ret)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_DECISION struct hn_decision *decision = NULL;
        HN_JSON struct json_object *explanation = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = 0;

        if (adoption->cgroup && hn_resident_read(adoption->root, adoption->cgroup->scope, &resident) == -ENOMEM)
                r = -ENOMEM;
        if (r >= 0)
                r = decide(adoption, ledger, &resident, &decision);
        if (r >= 0 && adoption->only_placed && decision->verdict != HN_PLACED)
                return 1;
        if (r >= 0)
                r = new_entry(adoption, decision, &resident, &entry);
        if (r >= 0)
                inherit(adoption, ledger, entry);
        if (r >= 0)
                r = hn_explain_json(adoption->request, decision, &explanation);
        if (r >= 0)
                r = hn_ledger_put(ledger, entry, json_object_to_json_string(explanation));
        if (r < 0)
                return r;
        *ret = HN_TAKE(entry);
        return 0;
}

int hn_adopt(const struct hn_adoption *adoption, struct hn_ledger *ledger, struct hn_entry **ret)
{
        int r = adopt(adoption, ledger, ret);

        hn_request_unbind_ours(adoption->request);
        return r;
}
