/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The lasting facts as words, for their record in /run (host-cache.c).  What contradicts itself is refused, as in
 * host-json-read.c.
 */
#include "model/host-facts.h"

#include <errno.h>
#include <string.h>

#define NO_KIND 1 /* kinds are -1 and up */

static int add_nodes(const struct hn_facts *facts, struct hn_words *words)
{
        int r = hn_words_add(words, facts->n_nodes);

        for (size_t i = 0; r >= 0 && i < facts->n_nodes; i++) {
                const struct hn_fact_node *node = &facts->nodes[i];

                r = HN_WORDS_ADD(words, node->os, node->n_pools);
                for (size_t j = 0; r >= 0 && j < node->n_pools; j++)
                        r = hn_words_add(words, node->pools[j].page_kib);
                if (r >= 0)
                        r = hn_words_add_set(words, node->cpus);
        }
        if (r >= 0)
                r = hn_words_add(words, facts->distance_source);
        for (size_t i = 0; r >= 0 && i < facts->n_nodes * facts->n_nodes; i++)
                r = hn_words_add(words, facts->distances[i]);
        return r;
}

static int add_cores(const struct hn_facts *facts, struct hn_words *words)
{
        int r = hn_words_add(words, facts->n_cores);

        for (size_t i = 0; r >= 0 && i < facts->n_cores; i++) {
                r = hn_words_add(words, (uint64_t) (facts->cores[i].kind + NO_KIND));
                if (r >= 0)
                        r = hn_words_add_set(words, facts->cores[i].threads);
        }
        return r;
}

static int add_caches(const struct hn_facts *facts, struct hn_words *words)
{
        int r = hn_words_add(words, facts->n_caches);

        for (size_t i = 0; r >= 0 && i < facts->n_caches; i++) {
                r = hn_words_add(words, facts->caches[i].size_kib);
                if (r >= 0)
                        r = hn_words_add_set(words, facts->caches[i].cpus);
        }
        return r;
}

static int add_devices(const struct hn_facts *facts, struct hn_words *words)
{
        int r = hn_words_add(words, facts->n_devices);

        for (size_t i = 0; r >= 0 && i < facts->n_devices; i++) {
                const struct hn_device *d = &facts->devices[i];

                r = HN_WORDS_ADD(words, d->domain, d->bus, d->slot, d->function, d->class_id,
                                 (uint64_t) (d->node + 1));
        }
        return r;
}

int hn_facts_to_words(const struct hn_facts *facts, struct hn_words *words)
{
        int r = hn_words_add_text(words, facts->source);

        if (r >= 0)
                r = add_nodes(facts, words);
        if (r >= 0)
                r = add_cores(facts, words);
        if (r >= 0)
                r = add_caches(facts, words);
        return r < 0 ? r : add_devices(facts, words);
}

/* ---- and back */

static void *make_array(struct hn_word_reader *reader, size_t n, size_t size)
{
        void *array = calloc(n + 1, size);

        if (!array)
                hn_words_fail(reader, -ENOMEM);
        return array;
}

/* Adds a set to those that are taken; no two may share a CPU. */
static void claim(struct hn_word_reader *reader, hwloc_bitmap_t taken, hwloc_const_bitmap_t set)
{
        if (reader->error)
                return;
        if (hwloc_bitmap_intersects(taken, set))
                hn_words_fail(reader, -EBADMSG);
        else if (hwloc_bitmap_or(taken, taken, set) < 0)
                hn_words_fail(reader, -ENOMEM);
}

static void take_pools(struct hn_word_reader *reader, struct hn_fact_node *node)
{
        size_t n = hn_words_take_count(reader, HN_HOST_POOL_LIMIT);

        node->pools = make_array(reader, n, sizeof *node->pools);
        for (size_t i = 0; !reader->error && i < n; i++) {
                uint64_t page_kib = hn_words_take(reader, HN_HOST_PAGE_KIB_LIMIT);

                for (size_t j = 0; j < i; j++)
                        if (node->pools[j].page_kib == page_kib)
                                hn_words_fail(reader, -EBADMSG);
                if (page_kib == 0)
                        hn_words_fail(reader, -EBADMSG);
                node->pools[node->n_pools++].page_kib = page_kib;
        }
}

static void take_nodes(struct hn_word_reader *reader, hwloc_bitmap_t taken, struct hn_facts *facts)
{
        size_t n = hn_words_take_count(reader, HN_HOST_NODE_LIMIT);

        facts->nodes = make_array(reader, n, sizeof *facts->nodes);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_fact_node *node = &facts->nodes[facts->n_nodes++];

                node->os = (unsigned) hn_words_take(reader, HN_HOST_NODE_LIMIT - 1);
                if (i > 0 && node->os <= node[-1].os)
                        hn_words_fail(reader, -EBADMSG);
                take_pools(reader, node);
                hn_words_take_set(reader, HN_HOST_CPU_LIMIT, &node->cpus);
                claim(reader, taken, node->cpus);
        }
        if (n == 0)
                hn_words_fail(reader, -EBADMSG);
}

/* What was written had been made usable: a matrix that would still have to change was not. */
static void take_distances(struct hn_word_reader *reader, struct hn_facts *facts)
{
        HN_FREE unsigned *check = NULL;
        size_t n = facts->n_nodes;

        facts->distance_source = (enum hn_distance_source) hn_words_take(reader, HN_DISTANCE_BROKEN);
        if (reader->left < n * n)
                hn_words_fail(reader, -EBADMSG);
        if (reader->error)
                return;
        facts->distances = make_array(reader, n * n, sizeof *facts->distances);
        for (size_t i = 0; !reader->error && i < n * n; i++)
                facts->distances[i] = (unsigned) hn_words_take(reader, UINT8_MAX);
        if (reader->error)
                return;
        check = hn_array_copy(facts->distances, n * n, sizeof *check);
        if (!check)
                hn_words_fail(reader, -ENOMEM);
        else if (hn_distances_normalise(check, n) != HN_DISTANCE_FROM_HOST ||
                 memcmp(check, facts->distances, n * n * sizeof *check) != 0)
                hn_words_fail(reader, -EBADMSG);
}

static void take_cores(struct hn_word_reader *reader, hwloc_bitmap_t taken, struct hn_facts *facts)
{
        size_t n = hn_words_take_count(reader, HN_HOST_CPU_LIMIT);

        facts->cores = make_array(reader, n, sizeof *facts->cores);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_fact_core *core = &facts->cores[facts->n_cores++];

                core->kind = (int) hn_words_take(reader, HN_HOST_KIND_LIMIT) - NO_KIND;
                hn_words_take_set(reader, HN_HOST_CPU_LIMIT, &core->threads);
                if (!reader->error && hwloc_bitmap_iszero(core->threads))
                        hn_words_fail(reader, -EBADMSG);
                claim(reader, taken, core->threads);
        }
}

static void take_caches(struct hn_word_reader *reader, struct hn_facts *facts)
{
        size_t n = hn_words_take_count(reader, HN_HOST_CPU_LIMIT);

        facts->caches = make_array(reader, n, sizeof *facts->caches);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_cache *cache = &facts->caches[facts->n_caches++];

                cache->size_kib = hn_words_take(reader, HN_HOST_KIB_LIMIT);
                hn_words_take_set(reader, HN_HOST_CPU_LIMIT, &cache->cpus);
        }
}

static void take_devices(struct hn_word_reader *reader, struct hn_facts *facts)
{
        size_t n = hn_words_take_count(reader, HN_HOST_DEVICE_LIMIT);

        facts->devices = make_array(reader, n, sizeof *facts->devices);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_device *d = &facts->devices[facts->n_devices++];

                d->domain = (unsigned) hn_words_take(reader, UINT32_MAX);
                d->bus = (unsigned) hn_words_take(reader, 0xff);
                d->slot = (unsigned) hn_words_take(reader, 0x1f);
                d->function = (unsigned) hn_words_take(reader, 7);
                d->class_id = (unsigned) hn_words_take(reader, 0xffff);
                d->node = (int) hn_words_take(reader, HN_HOST_NODE_LIMIT) - 1;
                if (d->node >= 0 && hn_facts_at(facts, (unsigned) d->node) < 0)
                        hn_words_fail(reader, -EBADMSG);
        }
}

int hn_facts_from_words(const uint64_t *words, size_t n, struct hn_facts **ret)
{
        HN_FACTS struct hn_facts *facts = hn_facts_new();
        HN_BITMAP hwloc_bitmap_t of_nodes = hwloc_bitmap_alloc(), of_cores = hwloc_bitmap_alloc();
        struct hn_word_reader reader = { .words = words, .left = n };

        if (!facts || !of_nodes || !of_cores)
                return -ENOMEM;
        facts->source = hn_words_take_text(&reader);
        if (!facts->source)
                hn_words_fail(&reader, -EBADMSG);
        take_nodes(&reader, of_nodes, facts);
        take_distances(&reader, facts);
        take_cores(&reader, of_cores, facts);
        take_caches(&reader, facts);
        take_devices(&reader, facts);
        if (!reader.error && reader.left > 0)
                hn_words_fail(&reader, -EBADMSG);
        if (reader.error)
                return reader.error;
        *ret = HN_TAKE(facts);
        return 0;
}
