/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/define.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "act/journal.h"
#include "daemon/connection.h"
#include "daemon/redefine.h"
#include "model/clock.h"
#include "model/uuid.h"
#include "store/config.h"
#include "store/copies.h"
#include "store/ledger.h"

#define READINGS 3       /* of a definition that somebody else keeps changing, one after the other */
#define BUSY_MS 1000u    /* then, and while the hook works on the domain */
#define SETTLE_MS 1000u  /* until all that libvirt has to say of a writing has been said */
#define ECHO_MS 10000u   /* what it says later is of something else */
#define TROUBLE_MS 60000u /* a full disk, a host that can't be looked at */

/* What is known of a domain; only those have one with which something was done, or went wrong. */
struct record {
        char uuid[HN_UUID_LENGTH + 1];
        uint64_t left;                      /* the definition that is left as it is; 0: none */
        uint64_t written_ms[HN_DEFINE_BURST]; /* the last rewritings, oldest first; 0: none */
        uint64_t rest_ms;                   /* until when it rests after too many; 0: it was calm */
        unsigned said;                      /* by libvirt, since we wrote it last */
        bool troubled;                      /* said that it can't be kept or looked at */
};

struct hn_definitions {
        const struct hn_root *root;
        struct hn_definition_door door;
        struct record *records;
        size_t n;
};

/* One look at one domain.  While libvirt is asked others may be looked at, and what is known of them moves. */
struct look {
        struct hn_definitions *all;
        void *libvirt;
        const char *uuid;
        struct hn_defined *first;
        struct hn_redefinition *to;
};

/* ---- records */

static struct record *find(struct hn_definitions *all, const char *uuid)
{
        for (size_t i = 0; i < all->n; i++)
                if (strcmp(all->records[i].uuid, uuid) == 0)
                        return &all->records[i];
        return NULL;
}

/* NULL without memory. */
static struct record *obtain(struct hn_definitions *all, const char *uuid)
{
        struct record *record = find(all, uuid), *more;

        if (record)
                return record;
        more = reallocarray(all->records, all->n + 1, sizeof *more);
        if (!more)
                return NULL;
        all->records = more;
        record = &all->records[all->n++];
        *record = (struct record) { 0 };
        (void) snprintf(record->uuid, sizeof record->uuid, "%s", uuid);
        return record;
}

static void forget(struct hn_definitions *all, const char *uuid)
{
        struct record *record = find(all, uuid);

        if (record)
                *record = all->records[--all->n];
        (void) hn_copy_remove(all->root, uuid);
        (void) hn_left_remove(all->root, uuid);
}

static uint64_t now_ms(const struct look *look)
{
        return look->all->door.now_ms(look->libvirt);
}

static void tell(const struct look *look, int priority, const char *text, const char *why)
{
        const char *name = look->to->name ? look->to->name : look->uuid;

        hn_journal(look->all->root, priority, HN_DAEMON_IDENTIFIER, name, look->to->nodes, "%s: %s%s%s", name, text,
                   why ? ": " : "", why ? why : "");
}

/* Not to be tried again until the definition changes. */
static unsigned leave(const struct look *look)
{
        struct record *record = obtain(look->all, look->uuid);

        if (record)
                record->left = hn_left_digest(look->first->xml);
        return 0;
}

static bool is_left(const struct look *look, const char *xml)
{
        const struct record *record = find(look->all, look->uuid);
        uint64_t digest = hn_left_digest(xml);

        return (record && record->left == digest) || hn_left_is(look->all->root, look->uuid, digest);
}

/* Trouble that is not the definition's: said once until it is over. */
static unsigned trouble(const struct look *look, const char *text, const char *why)
{
        struct record *record = obtain(look->all, look->uuid);

        if (record && !record->troubled) {
                record->troubled = true;
                tell(look, LOG_WARNING, text, why);
        }
        return TROUBLE_MS;
}

/* ---- how often */

static unsigned renew_ms(const struct hn_root *root)
{
        HN_FREE char *faults = NULL;
        struct hn_policy policy;

        if (hn_config_load(root, &policy, &faults) < 0)
                hn_policy_defaults(&policy);
        return policy.renew_seconds * 1000;
}

/* How long nodes alone must wait for; 0: not at all. */
static unsigned renewal_wait(const struct look *look)
{
        const struct record *record = find(look->all, look->uuid);
        uint64_t since_ms = record ? record->written_ms[HN_DEFINE_BURST - 1] : 0;
        uint64_t wait_ms = renew_ms(look->all->root);

        if (since_ms == 0 || look->to->kind != HN_REDEFINE_NODES)
                return 0;
        since_ms = now_ms(look) - since_ms;
        return since_ms < wait_ms ? (unsigned) (wait_ms - since_ms) : 0;
}

/* Somebody edits it, or fights with us: *ret_wait_ms until it may be written again, UINT_MAX: not.  What the user
 * wants taken out is taken out at once. */
static bool is_burst(const struct look *look, unsigned *ret_wait_ms)
{
        struct record *record = find(look->all, look->uuid);
        uint64_t present_ms = now_ms(look);

        if (look->to->kind == HN_REDEFINE_UNDO || !record || !record->written_ms[0] ||
            present_ms - record->written_ms[0] >= HN_DEFINE_BURST_MS)
                return false;
        if (record->rest_ms == 0)
                record->rest_ms = record->written_ms[0] + HN_DEFINE_BURST_MS;
        *ret_wait_ms = present_ms < record->rest_ms ? (unsigned) (record->rest_ms - present_ms) : UINT_MAX;
        return true;
}

static void note_written(const struct look *look)
{
        struct record *record = obtain(look->all, look->uuid);

        if (!record)
                return;
        if (now_ms(look) - record->written_ms[HN_DEFINE_BURST - 1] >= HN_DEFINE_CALM_MS)
                record->rest_ms = 0;
        memmove(record->written_ms, record->written_ms + 1, sizeof record->written_ms - sizeof *record->written_ms);
        record->written_ms[HN_DEFINE_BURST - 1] = now_ms(look);
        record->said = 0;
        record->left = 0;
        record->troubled = false;
}

/* ---- writing */

static const char *const sayings[] = {
        [HN_REDEFINE_FIRST] = "cells written into its definition",
        [HN_REDEFINE_SHAPE] = "cells renewed in its definition",
        [HN_REDEFINE_NODES] = "its cells' nodes renewed in its definition",
        [HN_REDEFINE_UNDO] = "taken out of its definition",
};

static unsigned refused(const struct look *look, const char *message)
{
        if (look->to->kind == HN_REDEFINE_FIRST)
                (void) hn_copy_remove(look->all->root, look->uuid);
        tell(look, LOG_WARNING, "libvirt refuses the definition with cells, which stays as it was", message);
        return leave(look);
}

/* The definition stood as in look->first a moment ago. */
static unsigned write_definition(const struct look *look)
{
        HN_FREE char *message = NULL;
        int r = 0;

        if (look->to->kind == HN_REDEFINE_FIRST)
                r = hn_copy_put(look->all->root, look->uuid, look->first->xml);
        if (r < 0)
                return trouble(look, "no copy of its definition can be kept, so it stays as it is", strerror(-r));
        /* Not earlier: who gives it back notes what is to be left before writing it, and we may be looking meanwhile. */
        (void) hn_left_remove(look->all->root, look->uuid);
        r = look->all->door.write(look->libvirt, look->to->xml, &message);
        if (r == -EREMOTEIO)
                return refused(look, message);
        if (r < 0)
                return BUSY_MS; /* this connection broke */
        note_written(look);
        tell(look, LOG_INFO, sayings[look->to->kind], look->to->reason);
        if (look->to->kind == HN_REDEFINE_UNDO)
                (void) hn_copy_remove(look->all->root, look->uuid);
        return 0;
}

/* *ret_again: somebody else changed it since it was read. */
static unsigned write_unchanged(const struct look *look, bool *ret_again)
{
        HN_DEFINED struct hn_defined second = { 0 };
        unsigned wait_ms = renewal_wait(look);
        int r;

        if (wait_ms > 0)
                return wait_ms;
        if (is_burst(look, &wait_ms)) {
                if (wait_ms < UINT_MAX)
                        return wait_ms;
                tell(look, LOG_WARNING, "its definition is changed again and again: left as it is", look->to->reason);
                return leave(look);
        }
        r = look->all->door.read(look->libvirt, look->uuid, &second);
        *ret_again = r == -ENOENT || (r >= 0 && strcmp(second.xml, look->first->xml) != 0);
        /* It may have been given back since the first reading. */
        return r < 0 || *ret_again || is_left(look, second.xml) ? 0 : write_definition(look);
}

/* What came of deciding, other than a text. */
static unsigned not_redefined(const struct look *look, int r)
{
        if (r == -EBADMSG) {
                tell(look, LOG_WARNING, "its definition can't be read, and stays as it is", look->to->reason);
                return leave(look);
        }
        return trouble(look, look->to->reason ? look->to->reason : "its definition can't be looked at", strerror(-r));
}

/* Did our writing bring back what was undefined?  *ret_wait_ms: when that is certain. */
static bool is_revenant(const struct look *look, unsigned *ret_wait_ms)
{
        const struct record *record = find(look->all, look->uuid);
        uint64_t since_ms;

        if (!record || record->said != (HN_LOOK_ADDED | HN_LOOK_UNDEFINED) || !look->to->marked)
                return false;
        since_ms = now_ms(look) - record->written_ms[HN_DEFINE_BURST - 1];
        *ret_wait_ms = since_ms < SETTLE_MS ? (unsigned) (SETTLE_MS - since_ms) : 0;
        return since_ms < ECHO_MS;
}

/* It is as it should be. */
static unsigned rest(const struct look *look)
{
        HN_FREE char *message = NULL;
        unsigned wait_ms = 0;

        if (!look->to->marked) {
                (void) hn_copy_remove(look->all->root, look->uuid); /* of what somebody defined anew since */
                (void) hn_left_remove(look->all->root, look->uuid);
        }
        if (!is_revenant(look, &wait_ms) || wait_ms > 0)
                return wait_ms;
        if (look->all->door.undefine(look->libvirt, look->uuid, &message) < 0)
                tell(look, LOG_WARNING, "it was undefined while its cells were written, and is there again", message);
        forget(look->all, look->uuid);
        return 0;
}

/* The hook is working on it: libvirt holds the domain for as long, and what is read just now may change. */
static bool is_starting(const struct hn_root *root, const char *uuid)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        char boot_id[HN_UUID_LENGTH + 1];

        return hn_ledger_open(root, NULL, &ledger) >= 0 && hn_ledger_get(ledger, uuid, &entry) >= 0 &&
               entry->state == HN_ENTRY_RESERVED && hn_boot_id(root, boot_id) >= 0 &&
               strcmp(boot_id, entry->boot_id) == 0 && hn_boottime_us() - entry->written_us < HN_RESERVATION_US;
}

static unsigned look_once(struct hn_definitions *all, void *libvirt, const char *uuid, bool *ret_again)
{
        HN_DEFINED struct hn_defined first = { 0 };
        HN_REDEFINITION struct hn_redefinition to = { 0 };
        const struct look look = { .all = all, .libvirt = libvirt, .uuid = uuid, .first = &first, .to = &to };
        int r;

        *ret_again = false;
        if (is_starting(all->root, uuid))
                return BUSY_MS;
        r = all->door.read(libvirt, uuid, &first);
        if (r == -ENOENT)
                forget(all, uuid);
        if (r < 0)
                return r == -ENOENT ? 0 : r == -ENOTCONN ? BUSY_MS : TROUBLE_MS;
        if (is_left(&look, first.xml))
                return 0;
        r = hn_redefine(all->root, first.xml, first.active, &to);
        if (r < 0)
                return not_redefined(&look, r);
        return to.xml ? write_unchanged(&look, ret_again) : rest(&look);
}

static void hear(struct hn_definitions *all, const char *uuid, unsigned matters)
{
        struct record *record = find(all, uuid);

        if (record)
                record->said |= matters & (HN_LOOK_ADDED | HN_LOOK_UPDATED | HN_LOOK_UNDEFINED);
}

unsigned hn_definitions_look(struct hn_definitions *definitions, void *libvirt, const char *uuid, unsigned matters)
{
        bool again = true;

        hear(definitions, uuid, matters);
        for (int i = 0; i < READINGS && again; i++) {
                unsigned wait_ms = look_once(definitions, libvirt, uuid, &again);

                if (!again)
                        return wait_ms;
        }
        return BUSY_MS;
}

/* ---- the whole */

int hn_definitions_new(const struct hn_root *root, const struct hn_definition_door *door, struct hn_definitions **ret)
{
        struct hn_definitions *definitions = calloc(1, sizeof *definitions);

        if (!definitions)
                return -ENOMEM;
        definitions->root = root;
        definitions->door = *door;
        *ret = definitions;
        return 0;
}

void hn_definitions_free(struct hn_definitions *definitions)
{
        if (!definitions)
                return;
        free(definitions->records);
        free(definitions);
}
