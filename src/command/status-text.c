/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `homenode status` for people: a table of nodes and one of guests.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command/display.h"
#include "command/status.h"
#include "command/table.h"
#include "model/clock.h"
#include "model/text.h"

const char *hn_guest_state_name(enum hn_guest_state state)
{
        static const char *const names[] = {
                [HN_GUEST_STARTING] = "starting", [HN_GUEST_RUNNING] = "placed",
                [HN_GUEST_COUNTED] = "left to libvirt", [HN_GUEST_NOT_PLACED] = "not placed",
                [HN_GUEST_NOT_KNOWN] = "not known",
        };

        return names[state];
}

const char *hn_node_role_name(enum hn_node_role role)
{
        static const char *const names[] = {
                [HN_NODE_HOME] = "home", [HN_NODE_NO_MEMORY] = "no memory",
                [HN_NODE_NO_CPUS] = "no CPUs", [HN_NODE_FORBIDDEN] = "forbidden",
        };

        return names[role];
}

/* ---- nodes */

enum { NODE, ROLE, CPUS, BUSY, MEMORY, USED, FREE, PROMISED, VCPUS, PAGES, GUESTS, NODE_COLUMNS };

static const struct hn_column node_columns[NODE_COLUMNS] = {
        [NODE] = { "NODE", true }, [ROLE] = { "ROLE", false }, [CPUS] = { "CPUS", false }, [BUSY] = { "BUSY", true },
        [MEMORY] = { "MEMORY", true }, [USED] = { "USED", true }, [FREE] = { "FREE", true },
        [PROMISED] = { "PROMISED", true }, [VCPUS] = { "VCPUS", true }, [GUESTS] = { "GUESTS", true },
        [PAGES] = { "HUGE PAGES FREE", false },
};

/* "2 MiB: 100/512": free and all, of the sizes that there are any of. */
static int format_pools(const struct hn_node *node, char **ret)
{
        HN_FREE char *text = NULL;

        for (size_t i = 0; i < node->n_pools; i++) {
                const struct hn_pool *pool = &node->pools[i];
                char size[HN_TEXT_SIZE], *longer;

                if (!pool->total_pages)
                        continue;
                longer = hn_text_print("%s%s%s: %" PRIu64 "/%" PRIu64, text ? text : "", text ? ", " : "",
                                       hn_text_size(pool->page_kib, size), pool->free_pages, pool->total_pages);
                if (!longer)
                        return -ENOMEM;
                free(text);
                text = longer;
        }
        *ret = text ? HN_TAKE(text) : strdup("-");
        return *ret ? 0 : -ENOMEM;
}

static int add_node(struct hn_table *table, const struct hn_status *status, size_t at)
{
        const struct hn_node *node = &status->host->nodes[at];
        const struct hn_node_status *figures = &status->nodes[at];
        HN_FREE char *cpus = hn_display_set(node->cpus), *pools = NULL;
        uint64_t used_kib = node->memory_kib > node->free_kib ? node->memory_kib - node->free_kib : 0;
        char os[16], busy[32], memory[HN_TEXT_SIZE], used[HN_TEXT_SIZE], left[HN_TEXT_SIZE], promised[HN_TEXT_SIZE];
        char vcpus[32], guests[16];
        bool told = status->ledger_read;

        if (!cpus || format_pools(node, &pools) < 0)
                return -ENOMEM;
        (void) snprintf(os, sizeof os, "%u", node->os);
        (void) snprintf(busy, sizeof busy, "%.1f", figures->busy_cpus);
        (void) snprintf(vcpus, sizeof vcpus, "%.6g", figures->promised_vcpus_milli / 1000.0);
        (void) snprintf(guests, sizeof guests, "%u", figures->n_guests);
        return hn_table_add(table, (const char *[NODE_COLUMNS]) {
                [NODE] = os, [ROLE] = hn_node_role_name(node->role), [CPUS] = cpus,
                [BUSY] = figures->busy_cpus < 0 ? "-" : busy, [MEMORY] = hn_text_size(node->memory_kib, memory),
                [USED] = hn_text_size(used_kib, used), [FREE] = hn_text_size(node->free_kib, left),
                [PROMISED] = told ? hn_text_size(figures->promised_kib, promised) : "-",
                [VCPUS] = told ? vcpus : "-", [PAGES] = pools, [GUESTS] = told ? guests : "-",
        });
}

static int print_nodes(const struct hn_status *status, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(node_columns, NODE_COLUMNS);
        int r = table ? 0 : -ENOMEM;

        for (size_t at = 0; r >= 0 && at < status->host->n_nodes; at++)
                r = add_node(table, status, at);
        if (r >= 0)
                hn_table_print(table, out);
        return r;
}

/* ---- guests */

enum { GUEST, STATE, HOME, GUEST_CPUS, RESIDENT, LOCAL, MOVES, PRIORITY, PINNED, ACTION, GUEST_COLUMNS };

static const struct hn_column guest_columns[GUEST_COLUMNS] = {
        [GUEST] = { "GUEST", false }, [STATE] = { "STATE", false }, [HOME] = { "HOME", false },
        [GUEST_CPUS] = { "CPUS", false }, [RESIDENT] = { "NODE:MIB", false }, [LOCAL] = { "LOCAL", true }, [MOVES] = { "MOVES", true },
        [PRIORITY] = { "PRIORITY", false }, [PINNED] = { "PINNED BY", false }, [ACTION] = { "LAST ACTION", false },
};

/* "2:790 0:14": MiB by node, most first; what rounds to nothing is left out. */
static int format_resident(const struct hn_guest_status *guest, char **ret)
{
        HN_BITMAP hwloc_bitmap_t left = hwloc_bitmap_alloc_full();
        HN_FREE char *text = strdup("");

        if (!left || !text)
                return -ENOMEM;
        for (;;) {
                uint64_t most_kib = 1023;
                unsigned most = 0;
                char *longer;

                for (unsigned node = 0; node < guest->resident.n_nodes; node++)
                        if (hwloc_bitmap_isset(left, node) && hn_resident_kib(&guest->resident, node) > most_kib) {
                                most_kib = hn_resident_kib(&guest->resident, node);
                                most = node;
                        }
                if (most_kib < 1024)
                        break;
                longer = hn_text_print("%s%s%u:%" PRIu64, text, *text ? " " : "", most, most_kib / 1024);
                if (!longer)
                        return -ENOMEM;
                free(text);
                text = longer;
                if (hwloc_bitmap_clr(left, most) < 0)
                        return -ENOMEM;
        }
        if (!*text) {
                free(text);
                text = strdup("-");
        }
        *ret = HN_TAKE(text);
        return *ret ? 0 : -ENOMEM;
}

static const char *who_pins(const struct hn_pins *pins)
{
        bool user = false, ours = false;

        for (size_t i = 0; i < pins->n; i++)
                *(pins->all[i].by_user ? &user : &ours) = true;
        if (!pins->known)
                return ours ? "homenode, ?" : "?";
        return user && ours ? "user, homenode" : user ? "user" : ours ? "homenode" : "-";
}

static void format_age(uint64_t age_s, char text[static 32])
{
        if (age_s < 60)
                (void) snprintf(text, 32, "%" PRIu64 " s", age_s);
        else if (age_s < 3600)
                (void) snprintf(text, 32, "%" PRIu64 " min", age_s / 60);
        else if (age_s < 172800)
                (void) snprintf(text, 32, "%" PRIu64 " h", age_s / 3600);
        else
                (void) snprintf(text, 32, "%" PRIu64 " d", age_s / 86400);
}

static int format_action(const struct hn_status *status, const struct hn_entry *entry, char **ret)
{
        HN_FREE char *what = entry ? hn_status_action(entry) : strdup("-");
        uint64_t now_us = hn_boottime_us();
        char age[32];

        if (!what)
                return -ENOMEM;
        if (!entry || !hn_status_of_this_boot(status, entry) || entry->written_us > now_us) {
                *ret = HN_TAKE(what);
                return 0;
        }
        format_age((now_us - (entry->moving ? entry->moving->began_us : entry->written_us)) / 1000000u, age);
        *ret = hn_text_print(entry->moving ? "for %s: %s" : "%s ago: %s", age, what);
        return *ret ? 0 : -ENOMEM;
}

static int add_guest(struct hn_table *table, const struct hn_status *status, const struct hn_guest_status *guest)
{
        const struct hn_placement *placement = guest->entry ? guest->entry->placement : NULL;
        HN_BITMAP hwloc_bitmap_t all = placement ? hn_placement_cpus(placement) : hwloc_bitmap_alloc();
        HN_FREE char *home = hn_display_set(placement ? placement->home : NULL), *cpus = hn_display_set(all);
        HN_FREE char *resident = NULL, *action = NULL;
        HN_PINS struct hn_pins pins = { 0 };
        double locality = hn_guest_locality(guest);
        char local[32], moves[32];

        if (!all || !home || !cpus || format_resident(guest, &resident) < 0 || hn_pins_of(guest, &pins) < 0 ||
            format_action(status, guest->entry, &action) < 0)
                return -ENOMEM;
        /* 99.97 is not 100 */
        (void) snprintf(local, sizeof local, "%.1f%%", locality < 100 && locality > 99.9 ? 99.9 : locality);
        (void) snprintf(moves, sizeof moves, "%u", guest->entry ? guest->entry->moved.count : 0);
        return hn_table_add(table, (const char *[GUEST_COLUMNS]) {
                [GUEST] = guest->name, [STATE] = hn_guest_state_name(guest->state), [HOME] = home, [GUEST_CPUS] = cpus,
                [RESIDENT] = resident, [LOCAL] = locality < 0 ? "-" : local,
                [MOVES] = guest->entry ? moves : "-",
                [PRIORITY] = placement ? hn_priority_name(placement->priority) : "-", [PINNED] = who_pins(&pins),
                [ACTION] = action,
        });
}

/* Why there is no figure, or what is not in it: below the table, a line a guest. */
static int print_notes(const struct hn_shown *shown, FILE *out)
{
        bool unknown = false;

        for (size_t i = 0; i < shown->n_guests; i++)
                unknown |= !shown->guests[i]->live;
        if (unknown)
                (void) fprintf(out, "?: what the user pinned is not known, libvirt's record of the guest can't be read\n");
        for (size_t i = 0; i < shown->n_guests; i++) {
                HN_FREE char *safe = shown->guests[i]->unread ? hn_display_escape(shown->guests[i]->name) : NULL;

                if (!shown->guests[i]->unread)
                        continue;
                if (!safe)
                        return -ENOMEM;
                (void) fprintf(out, "%s: resident memory: %s\n", safe, shown->guests[i]->unread);
        }
        return 0;
}

static int print_guests(const struct hn_status *status, const struct hn_shown *shown, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(guest_columns, GUEST_COLUMNS);
        int r = table ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < shown->n_guests; i++)
                r = add_guest(table, status, shown->guests[i]);
        if (r < 0)
                return r;
        hn_table_print(table, out);
        return print_notes(shown, out);
}

int hn_status_text(const struct hn_status *status, const struct hn_shown *shown, FILE *out)
{
        int r = 0;

        if (shown->all && status->host) {
                r = print_nodes(status, out);
                (void) fputc('\n', out);
        }
        if (r >= 0 && shown->n_guests > 0)
                r = print_guests(status, shown, out);
        else if (r >= 0 && shown->all)
                (void) fprintf(out, "No guests%s.\n", status->ledger_read ? "" : " that can be seen");
        for (size_t i = 0; r >= 0 && !shown->all && i < shown->n_guests; i++)
                r = hn_status_cells_text(shown->guests[i], out);
        return r;
}
