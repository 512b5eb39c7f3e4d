/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `homenode undo` does: running guests are given back to libvirt, and what homenode wrote into definitions is
 * taken out.  Each domain for itself: what can't be done for one keeps no other from being done.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "act/cgroup-io.h"
#include "act/libvirt.h"
#include "act/unit.h"
#include "store/ledger.h"

struct hn_undo {
        const struct hn_root *root;
        struct hn_cgroup_io io;
        virConnectPtr libvirt;    /* NULL: it can't be reached … */
        char *libvirt_fault;      /* … because of this */
        struct hn_ledger *ledger;
        struct hn_systemd *systemd;
};

enum hn_undo_outcome {
        HN_UNDO_ABSENT,  /* it does not run, it has no definition */
        HN_UNDO_NOTHING, /* nothing of homenode's is there */
        HN_UNDO_DONE,
        HN_UNDO_FAILED,
        HN_UNDO_UNSEEN,  /* libvirt can't be asked */
        HN_UNDO_OUTCOMES
};

struct hn_undo_domain {
        char uuid[HN_UUID_LENGTH + 1];
        char *name;
        long id;      /* -1: it does not run, or that is not known */
        bool wanted;
        enum hn_undo_outcome running, definition;
        char *notes;  /* what is worth knowing, what could not be done; NULL: nothing */
        char *faults;
};

struct hn_undo_domains {
        struct hn_undo_domain *all;
        size_t n;
};
void hn_undo_domains_clear(struct hn_undo_domains *domains);
#define HN_UNDO_DOMAINS HN_CLEANUP(hn_undo_domains_clear)

/* ---- undo-list.c.  Every domain: libvirt's and the ledger's; without libvirt those of its records.  -ENOMEM; -EIO:
 * libvirt does not say.  What is of the ledger only is left out where that can't be read. */
int hn_undo_list(const struct hn_undo *undo, struct hn_undo_domains *ret);

/* By id, UUID or name, in virsh's order; NULL: none. */
struct hn_undo_domain *hn_undo_find(const struct hn_undo_domains *domains, const char *text);

/* ---- undo-domain.c.  What came of it is in the domain. */
void hn_undo_domain(const struct hn_undo *undo, struct hn_undo_domain *domain);

/* ---- undo-rest.c.  What is left when all domains are done. */
struct hn_undo_rest {
        unsigned dropins; /* of scopes that are gone */
        unsigned records; /* files of the ledger that no guest stands behind */
        unsigned copies;  /* of definitions of domains that are gone */
        char *faults;
};
void hn_undo_rest(const struct hn_undo *undo, const struct hn_undo_domains *domains, struct hn_undo_rest *ret);

/* ---- undo-report.c.  The domains that were wanted; `rest` NULL: not looked at.  Each -ENOMEM */
int hn_undo_to_json(const struct hn_undo *undo, const struct hn_undo_domains *domains, const struct hn_undo_rest *rest,
                    struct json_object **ret);
int hn_undo_text(const struct hn_undo_domains *domains, const struct hn_undo_rest *rest, FILE *out);
