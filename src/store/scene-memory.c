/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory that running guests hold: a promise stands for all of it, so what of it is used already must count as free
 * beside the promise, and what is not used yet must not.
 */
#include "store/scene-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "decide/fit.h"
#include "model/resident.h"
#include "model/text.h"

#define CHOICES 2u /* so many homes are looked at one by one, then all that is left at once: a full host has many */

struct hn_credit {
        uint64_t measured_kib; /* free by the kernel's figures */
        uint64_t held_kib;     /* of it promised, and used already */
        bool exact;            /* by the guests' own figures, not only by their promises */
        bool wanted;           /* is to be made exact */
};

static bool runs(const struct hn_scene *scene, const struct hn_entry *entry)
{
        return entry->state == HN_ENTRY_STARTED && strcmp(entry->placement->uuid, scene->except_uuid) != 0;
}

static void set_free(struct hn_scene *scene, size_t at)
{
        hn_node_set_free(&scene->host->nodes[at], scene->credits[at].measured_kib, scene->credits[at].held_kib);
}

static void credit_entry(struct hn_scene *scene, const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];
                int at = hn_host_at(scene->host, promise->node);

                /* Huge pages are taken as a guest starts. */
                if (promise->page_kib)
                        hn_host_credit_pages(scene->host, promise->node, promise->page_kib, promise->memory_kib);
                else if (at >= 0 && scene->credits)
                        scene->credits[at].held_kib = hn_add(scene->credits[at].held_kib, promise->memory_kib);
        }
}

/* What was published has been looked up; but never is more there than by the kernel's figure of now. */
static void take_published(struct hn_scene *scene, size_t at)
{
        struct hn_node *node = &scene->host->nodes[at];

        if (!scene->published_kib || scene->published_kib[at] == UINT64_MAX)
                return;
        if (scene->published_kib[at] < node->free_kib)
                node->free_kib = scene->published_kib[at];
        scene->credits[at].exact = true;
}

int hn_scene_credit(struct hn_scene *scene, const struct hn_root *root)
{
        size_t n = scene->host->n_nodes;

        if (!scene->credited) {
                scene->root = (struct hn_root) { .fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 3), .host = root->host };
                if (scene->root.fd < 0)
                        return -errno;
                scene->credits = calloc(n + 1, sizeof *scene->credits);
                if (!scene->credits)
                        return -ENOMEM;
        }
        for (size_t at = 0; scene->credits && at < n; at++)
                scene->credits[at].measured_kib = scene->host->nodes[at].free_kib;
        for (size_t i = 0; i < scene->n_entries; i++)
                if (runs(scene, scene->entries[i]))
                        credit_entry(scene, scene->entries[i]->placement);
        for (size_t at = 0; scene->credits && at < n; at++) {
                set_free(scene, at);
                take_published(scene, at);
        }
        return 0;
}

void hn_scene_credit_resident(struct hn_scene *scene, const struct hn_resident *resident)
{
        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                struct hn_node *node = &scene->host->nodes[at];

                hn_node_set_free(node, node->free_kib, hn_resident_kib(resident, node->os));
        }
}

/* ---- looking at the guests */

static struct hn_credit *wanted_credit(struct hn_scene *scene, const struct hn_promise *promise)
{
        int at = promise->page_kib ? -1 : hn_host_at(scene->host, promise->node);

        return at >= 0 && scene->credits[at].wanted ? &scene->credits[at] : NULL;
}

/* A guest whose cgroup does not tell is taken to hold all that it was promised. */
static bool read_resident(const struct hn_scene *scene, const struct hn_entry *entry, struct hn_resident *ret)
{
        HN_FREE char *dir = NULL;

        if (!entry->unit)
                return false;
        dir = hn_text_print("/sys/fs/cgroup/machine.slice/%s", entry->unit);
        return dir && hn_resident_read(&scene->root, dir, ret) >= 0;
}

/* Adds what one guest holds on the wanted nodes; no promise stands for more than was promised. */
static void add_held(struct hn_scene *scene, const struct hn_entry *entry)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        bool asked = false, told = false;

        for (size_t i = 0; i < entry->placement->n_promises; i++) {
                const struct hn_promise *promise = &entry->placement->promises[i];
                struct hn_credit *credit = wanted_credit(scene, promise);
                uint64_t held_kib = promise->memory_kib;

                if (!credit)
                        continue;
                if (!asked)
                        told = read_resident(scene, entry, &resident);
                asked = true;
                if (told && hn_resident_kib(&resident, promise->node) < held_kib)
                        held_kib = hn_resident_kib(&resident, promise->node);
                credit->held_kib = hn_add(credit->held_kib, held_kib);
        }
}

/* Chooses what to look at: the nodes of a placement, or all; false: that is exact already. */
static bool want(struct hn_scene *scene, const struct hn_placement *placement, bool all)
{
        bool any = false;

        for (size_t i = 0; i < placement->n_promises; i++) {
                int at = placement->promises[i].page_kib ? -1 : hn_host_at(scene->host, placement->promises[i].node);

                if (at >= 0 && !scene->credits[at].exact)
                        any = scene->credits[at].wanted = true;
        }
        for (size_t at = 0; any && all && at < scene->host->n_nodes; at++)
                scene->credits[at].wanted = !scene->credits[at].exact;
        return any;
}

static void look(struct hn_scene *scene)
{
        for (size_t at = 0; at < scene->host->n_nodes; at++)
                if (scene->credits[at].wanted)
                        scene->credits[at].held_kib = 0;
        for (size_t i = 0; i < scene->n_entries; i++)
                if (runs(scene, scene->entries[i]))
                        add_held(scene, scene->entries[i]);
        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                struct hn_credit *credit = &scene->credits[at];

                if (!credit->wanted)
                        continue;
                credit->exact = true;
                credit->wanted = false;
                set_free(scene, at);
        }
}

/* Does the placement leave less than the headroom on one of its nodes?  With more, memory does not count in the
 * score, and the choice stays what it is. */
static bool tight(const struct hn_scene *scene, const struct hn_situation *situation,
                  const struct hn_request *request, const struct hn_placement *placement)
{
        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                const struct hn_node *node = &scene->host->nodes[at];
                uint64_t need_kib = hn_placement_memory_kib(placement, node->os, 0);

                if (!need_kib)
                        continue;
                need_kib = hn_add(need_kib, node->memory_kib / 100 * scene->policy.headroom_percent);
                for (size_t i = 0; i < situation->n_placements; i++)
                        if (!request->uuid[0] || strcmp(situation->placements[i]->uuid, request->uuid) != 0)
                                need_kib = hn_add(need_kib,
                                                  hn_placement_memory_kib(situation->placements[i], node->os, 0));
                if (need_kib > node->free_kib)
                        return true;
        }
        return false;
}

/* Forgets what was published.  False: nothing was. */
static bool forget_published(struct hn_scene *scene)
{
        if (!scene->credits || !scene->published_kib)
                return false;
        free(scene->published_kib);
        scene->published_kib = NULL;
        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                scene->credits[at].exact = false;
                set_free(scene, at);
        }
        return true;
}

static bool on_one_node(const struct hn_decision *decision)
{
        return decision->verdict == HN_PLACED && hwloc_bitmap_weight(decision->placement->home) == 1;
}

int hn_scene_decide(struct hn_scene *scene, const struct hn_situation *situation, const struct hn_request *request,
                    struct hn_decision **ret)
{
        /* Ends: each round makes one node exact at least, but for one in which nothing is published any more.  What was left or refused with memory taken for free
         * would be so without. */
        for (unsigned round = 0;; round++) {
                HN_DECISION struct hn_decision *decision = NULL;
                bool again = false;
                int r = hn_decide(situation, request, &decision);

                if (r < 0)
                        return r;
                if (!on_one_node(decision) && forget_published(scene))
                        again = true;
                else if (scene->credits && decision->verdict == HN_PLACED &&
                         want(scene, decision->placement, round >= CHOICES)) {
                        look(scene);
                        again = tight(scene, situation, request, decision->placement);
                }
                if (!again) {
                        *ret = HN_TAKE(decision);
                        return 0;
                }
        }
}
