/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/kept.h"

#include <ftw.h>
#include <sys/inotify.h>

#include "act/scope.h"
#include "model/text.h"
#include "unit/support/host-tree.h"

#define XML "<domain type='kvm' id='%d'><name>%s</name><uuid>%s</uuid><memory unit='KiB'>1048576</memory>" \
            "<vcpu>2</vcpu>%s<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"

static const struct guest_plan web = { .unit = WEB_UNIT, .confined = "4-5", .all = "0-7", .nodes = "2" };
static const struct guest_plan db = { .unit = DB_UNIT, .confined = "6-7", .all = "0-7", .nodes = "3" };

static int live_xml(void *data, const char *uuid, char **ret)
{
        struct kept *kept = data;
        const char *xml = kept->db_xml && strcmp(uuid, UUID_B) == 0 ? kept->db_xml : kept->xml;

        if (kept->xml_error)
                return kept->xml_error;
        if (!xml)
                return -ENOENT;
        *ret = strdup(xml);
        return *ret ? 0 : -ENOMEM;
}

static void again(void *data, const char *uuid, unsigned wait_ms)
{
        struct kept *kept = data;

        kept->asked++;
        if (kept->on_again)
                kept->on_again(kept);
        kept->last_wait_ms = wait_ms;
        (void) snprintf(kept->last_uuid, sizeof kept->last_uuid, "%s", uuid);
}

void kept_set_xml(struct kept *kept, const char *elements)
{
        free(kept->xml);
        kept->xml = hn_text_print(XML, 7, "web", UUID_A, elements);
        assert_non_null(kept->xml);
}

static void make(struct kept *kept)
{
        const struct hn_running_door door = { .data = kept, .live_xml = live_xml, .again = again };

        *kept = (struct kept) { 0 };
        tree_make(&kept->tree);
        host_tree_put(&kept->tree, 4, 2, 1);
        guest_put_cgroups(&kept->tree, &web);
        tree_put(&kept->tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-3\n");
        guest_put_process(&kept->tree, WEB_UNIT, "web", WEB_PID, WEB_TICKS);
        tree_put(&kept->tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(&kept->tree, "/sys/devices/system/cpu/possible", "0-15\n");
        tree_put(&kept->tree, "/sys/devices/system/node/possible", "0-3\n");
        kept_set_xml(kept, "");
        assert_int_equal(hn_keeper_new(&kept->tree.files, &door, NULL, &kept->keeper), 0);
}

int kept_set_up(void **state)
{
        static struct kept kept;

        make(&kept);
        assert_true(hn_keeper_look_at_host(kept.keeper));
        *state = &kept;
        return 0;
}

int kept_tear_down(void **state)
{
        struct kept *kept = *state;

        hn_keeper_free(kept->keeper);
        free(kept->xml);
        free(kept->db_xml);
        tree_remove(&kept->tree);
        return 0;
}

void kept_put_entry(struct kept *kept, enum hn_entry_state state, bool dropin)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        HN_LEDGER struct hn_ledger *ledger = NULL;
        hwloc_bitmap_t cpus = entry->placement->cells[0].cpus;

        hwloc_bitmap_zero(cpus);
        hwloc_bitmap_set_range(cpus, 4, 5);
        hwloc_bitmap_copy(entry->placement->emulator_cpus, cpus);
        hwloc_bitmap_set(entry->placement->memory_nodes, 2);
        entry->state = state;
        entry->unit = strdup(WEB_UNIT);
        if (state == HN_ENTRY_STARTED) {
                entry->pid = WEB_PID;
                entry->start_ticks = WEB_TICKS;
        }
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        if (dropin)
                assert_int_equal(hn_dropin_write(&kept->tree.root, WEB_UNIT, NULL, entry->placement->memory_nodes), 0);
}

struct hn_entry *kept_entry(struct kept *kept)
{
        return kept_entry_of(kept, UUID_A);
}

struct hn_entry *kept_entry_of(struct kept *kept, const char *uuid)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_entry *entry = NULL;

        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        return hn_ledger_get(ledger, uuid, &entry) >= 0 ? entry : NULL;
}

void kept_give_back(struct kept *kept, const char *uuid)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_give_back(ledger, uuid, HN_REASON_GIVEN_BACK), 0);
}

void kept_open_scope(struct kept *kept)
{
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/cpuset.cpus", "0-15\n");
}

void kept_settle(struct kept *kept)
{
        kept_put_entry(kept, HN_ENTRY_STARTED, true);
        hn_keeper_look(kept->keeper, UUID_A);
        kept_open_scope(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_watched(kept->keeper);
        kept->asked = 0;
}

static void put_db_entry(struct kept *kept)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_B, "db");
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_placement *placement = entry->placement;

        placement->promises[0].node = 3;
        hwloc_bitmap_only(placement->home, 3);
        hwloc_bitmap_only(placement->memory_nodes, 3);
        hwloc_bitmap_only(placement->cells[0].nodes, 3);
        hwloc_bitmap_zero(placement->cells[0].cpus);
        hwloc_bitmap_set_range(placement->cells[0].cpus, 6, 7);
        hwloc_bitmap_copy(placement->emulator_cpus, placement->cells[0].cpus);
        entry->domain_id = 8;
        entry->state = HN_ENTRY_STARTED;
        entry->unit = strdup(DB_UNIT);
        entry->pid = DB_PID;
        entry->start_ticks = DB_TICKS;
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        assert_int_equal(hn_dropin_write(&kept->tree.root, DB_UNIT, NULL, placement->memory_nodes), 0);
}

void kept_settle_db(struct kept *kept)
{
        guest_put_cgroups(&kept->tree, &db);
        tree_put(&kept->tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-3\n");
        guest_put_process(&kept->tree, DB_UNIT, "db", DB_PID, DB_TICKS);
        kept->db_xml = hn_text_print(XML, 8, "db", UUID_B, "");
        assert_non_null(kept->db_xml);
        put_db_entry(kept);
        hn_keeper_look(kept->keeper, UUID_B);
        tree_put(&kept->tree, GUEST_SCOPE(DB_UNIT) "/cpuset.cpus", "0-15\n");
        hn_keeper_look(kept->keeper, UUID_B);
        hn_keeper_watched(kept->keeper);
        kept->asked = 0;
}

static int counting = -1; /* nftw has no room for it */

static int watch_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void) st;
        (void) ftw;
        if (type == FTW_D)
                assert_true(inotify_add_watch(counting, path, IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE |
                                              IN_ATTRIB) >= 0);
        return 0;
}

int kept_count_writes(struct kept *kept)
{
        counting = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        assert_true(counting >= 0);
        assert_int_equal(nftw(kept->tree.path, watch_one, 16, FTW_PHYS), 0);
        return counting;
}

unsigned kept_writes(int fd)
{
        union {
                struct inotify_event event;
                char bytes[65536];
        } buffer;
        unsigned writes = 0;
        ssize_t n;

        while ((n = read(fd, buffer.bytes, sizeof buffer.bytes)) > 0)
                for (ssize_t at = 0; at < n; writes++) {
                        struct inotify_event event;

                        memcpy(&event, buffer.bytes + at, sizeof event);
                        at += (ssize_t) (sizeof event + event.len);
                }
        return writes;
}
