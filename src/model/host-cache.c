/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host's topology on record in /run, since hwloc takes tens of ms to look at a large host and the hook
 * runs at every start.  The record holds facts that stay the same as long as its key does; memory, pools and
 * the sets of the cgroups are read each time.
 *
 *   words: magic, checksum of the rest, the key, the facts (host-words.c)
 */
#include "model/host-facts.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define FOLDER "/run/homenode"
#define MAGIC UINT64_C(0x316f706f546e6d48) /* this form; another byte order reads another number */
#define WORDS_LIMIT ((16u << 20) / sizeof(uint64_t))

/* What a record is good for. */
static const char *const key_files[] = {
        "/proc/sys/kernel/random/boot_id",
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/node/online",
};

/* Devices come and go (hot plug, virtual functions): their names in any order, as a number. */
static uint64_t devices_digest(const struct hn_root *root)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        uint64_t sum = 0;

        if (hn_root_open_dir(root, &dir, "/sys/bus/pci/devices") < 0)
                return 0;
        while ((entry = readdir(dir))) {
                uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

                for (const char *p = entry->d_name; *p; p++)
                        hash = (hash ^ (unsigned char) *p) * UINT64_C(0x100000001b3);
                sum += hash;
        }
        return sum;
}

/* The beginning of a record: a head to be filled, and the key. */
static int make_key(const struct hn_root *root, struct hn_words *record)
{
        int r = HN_WORDS_ADD(record, 0, 0, devices_digest(root));

        for (size_t i = 0; r >= 0 && i < sizeof key_files / sizeof *key_files; i++) {
                HN_FREE char *line = NULL;

                r = hn_root_read_line(root, &line, "%s", key_files[i]);
                if (r >= 0)
                        r = hn_words_add_text(record, line);
        }
        return r;
}

static int read_record(const struct hn_root *root, const struct hn_words *key, struct hn_facts **ret)
{
        HN_FREE uint64_t *words = NULL;
        size_t n = 0;
        int r = hn_words_read(root, WORDS_LIMIT, &words, &n, HN_TOPOLOGY_PATH);

        if (r < 0)
                return r;
        if (!hn_words_valid(words, n, MAGIC))
                return -EBADMSG;
        if (n < key->n || memcmp(words + HN_WORDS_HEAD, key->words + HN_WORDS_HEAD,
                                 (key->n - HN_WORDS_HEAD) * sizeof *words) != 0)
                return -ESTALE;
        return hn_facts_from_words(words + key->n, n - key->n, ret);
}

/* No record is no harm: the next one tries again. */
static void write_record(const struct hn_root *root, struct hn_words *record, const struct hn_facts *facts)
{
        if (hn_facts_to_words(facts, record) >= 0 && hn_root_mkdir(root, 0700, FOLDER) >= 0)
                (void) hn_words_write(root, WORDS_LIMIT, record, MAGIC, HN_TOPOLOGY_PATH);
}

static int settle(struct hn_facts *facts, struct hn_host **ret)
{
        int r = hn_host_settle(facts, ret);

        if (r < 0)
                hn_facts_free(facts);
        return r;
}

int hn_host_from_cache(const struct hn_root *root, bool with_pools, struct hn_host **ret)
{
        HN_WORDS struct hn_words record = { 0 };
        HN_FACTS struct hn_facts *facts = NULL;
        bool recorded = make_key(root, &record) >= 0;
        int r;

        if (recorded && read_record(root, &record, &facts) >= 0) {
                r = hn_facts_live_figures(root, with_pools, facts);
                if (r >= 0)
                        return settle(HN_TAKE(facts), ret);
                hn_facts_free(HN_TAKE(facts));
        }
        r = hn_facts_from_root(root, &facts);
        if (r >= 0)
                r = hn_facts_live_figures(root, with_pools, facts);
        if (r < 0)
                return r;
        if (recorded)
                write_record(root, &record, facts);
        return settle(HN_TAKE(facts), ret);
}
