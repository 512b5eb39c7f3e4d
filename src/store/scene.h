/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The scene: host, configuration, load and ledger gathered into what a decision looks at, for the hook, the
 * daemon and the command alike.
 */
#pragma once

#include "decide/decide.h"
#include "store/ledger.h"

struct hn_resident;

struct hn_credit; /* what is counted to a node for guests that run there (scene-memory.c) */

struct hn_scene {
        struct hn_root root;                    /* where those guests' memory is looked up */
        struct hn_credit *credits;              /* by `at`; NULL: free memory holds it already */
        char except_uuid[HN_UUID_LENGTH + 1];   /* the domain decided on: nothing is counted for it */
        struct hn_host *host;
        struct hn_policy policy;
        struct hn_load *load;
        struct hn_entry **entries;              /* of hn_ledger_load_room */
        size_t n_entries;
        const struct hn_placement **placements; /* those of the entries, in their order; more may be appended */
        size_t n_placements;
        struct hn_situation situation;          /* points at the above */
        bool credited;                          /* free memory came with what placed guests hold */
        uint64_t *published_kib;                /* the same as published of late, by `at`; NULL: nothing was */
        char *faults;                           /* what was passed over in the configuration, NULL: nothing */
};

/* Where a scene comes from; all members may be left NULL. */
struct hn_scene_source {
        const char *host;    /* --host: hwloc XML file or synthetic description; NULL: the host below the root */
        const char *state;   /* --state: a file; NULL: what the daemon published lately, if the host is the root's */
        bool with_pools;     /* huge page pools are wanted (they cost a read per node and size) */
        bool measured;       /* free memory is to be looked up, whatever was published of it */
};

/* Host, configuration and load.  Errors are those of reading the host or a state that was named; *ret_fault
 * (the caller frees, set only then) names the object, after what was being done with it: HN_SCENE_TOPOLOGY where
 * -EBADMSG is about the host. */
#define HN_SCENE_TOPOLOGY "reading the topology of"
int hn_scene_open(const struct hn_root *root, const struct hn_scene_source *source, struct hn_scene **ret,
                  char **ret_fault);

/* Adds the ledger's placements, but not the one of `except_uuid` (may be NULL: the domain that is decided on).
 * What those guests hold already is counted to the nodes' free memory, so that it is not counted twice: their
 * promises stand for it.  They are taken to hold all they were promised until hn_scene_decide looks. */
int hn_scene_add_ledger(struct hn_scene *scene, const struct hn_root *root, struct hn_ledger *ledger,
                        const char *except_uuid);

/* Decides (`situation` is the scene's, or one with fewer placements).  A file per guest tells what it really
 * holds, too much to read at every start: it is read for the guests on the chosen nodes only, and where that leaves
 * less than the headroom there, the decision is made again.  So memory that a running guest was promised and has
 * not touched yet is never given to another.  What was published spares the reading, but is of some seconds ago: where
 * by that no single node holds the domain, it is looked up all the same.  -ENOMEM. */
int hn_scene_decide(struct hn_scene *scene, const struct hn_situation *situation, const struct hn_request *request,
                    struct hn_decision **ret);

/* Counts the memory of a guest that runs as free, for it is to be had where it is. */
void hn_scene_credit_resident(struct hn_scene *scene, const struct hn_resident *resident);

/* Appends one more placement (plan: each domain reserves before the next).  Not owned. */
int hn_scene_append(struct hn_scene *scene, const struct hn_placement *placement);

void hn_scene_free(struct hn_scene *scene);
HN_DEFINE_CLEANUP(struct hn_scene *, hn_scene_free, hn_cleanup_scene)
#define HN_SCENE HN_CLEANUP(hn_cleanup_scene)
