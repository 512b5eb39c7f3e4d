/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode undo over a recorded tree and libvirt's driver for tests: "web" runs on node 2, with cells of homenode's in
 * its definition.
 */
#pragma once

#include "command/undo.h"

#include "unit/support/entry.h"
#include "unit/support/guest.h"

#define UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define THREADS GUEST_THREADS(UNIT)
#define PID 4242
#define TICKS 99u

struct scene {
        struct tree tree;
        struct hn_undo undo;
        virDomainPtr web;
        char *original; /* its definition before homenode's part */
};

int undone_set_up(void **state);
int undone_tear_down(void **state);

/* Defines web, with cells of ours where `cells`, and starts it where `start`. */
void put_web(struct scene *scene, const char *metadata, bool cells, bool start);

/* An entry that is web's by name, and its unit's drop-in. */
void put_entry(struct scene *scene, const char *uuid, const char *unit, bool managed, const char *reason);
struct hn_entry *entry_of(struct scene *scene, const char *uuid);

/* A domain's definition; the caller frees. */
char *inactive_of(virDomainPtr domain);

/* Undoes web, which must be found. */
void undo_web(struct scene *scene, struct hn_undo_domains *domains, struct hn_undo_domain **ret);

/* What undo made of the guest that runs. */
void assert_open(struct scene *scene);
void assert_untouched(struct scene *scene);
void assert_given_back(struct scene *scene);

/* Its definition is what it was before homenode's part. */
void assert_original(struct scene *scene);
