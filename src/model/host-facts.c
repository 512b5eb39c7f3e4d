/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/host-facts.h"

#include <errno.h>
#include <string.h>

struct hn_facts *hn_facts_new(void)
{
        HN_FACTS struct hn_facts *facts = calloc(1, sizeof *facts);

        if (!facts)
                return NULL;
        facts->isolated = hwloc_bitmap_alloc();
        facts->offline = hwloc_bitmap_alloc();
        facts->allowed_cpus = hwloc_bitmap_alloc();
        facts->allowed_nodes = hwloc_bitmap_alloc();
        if (!facts->isolated || !facts->offline || !facts->allowed_cpus || !facts->allowed_nodes)
                return NULL;
        return HN_TAKE(facts);
}

void hn_facts_free_nodes(struct hn_fact_node *nodes, size_t n_nodes)
{
        for (size_t i = 0; i < n_nodes; i++) {
                hwloc_bitmap_free(nodes[i].cpus);
                free(nodes[i].pools);
        }
        free(nodes);
}

void hn_facts_free(struct hn_facts *facts)
{
        if (!facts)
                return;
        hn_facts_free_nodes(facts->nodes, facts->n_nodes);
        for (size_t i = 0; i < facts->n_cores; i++)
                hwloc_bitmap_free(facts->cores[i].threads);
        for (size_t i = 0; i < facts->n_caches; i++)
                hwloc_bitmap_free(facts->caches[i].cpus);
        free(facts->source);
        free(facts->distances);
        free(facts->cores);
        free(facts->caches);
        free(facts->devices);
        hwloc_bitmap_free(facts->isolated);
        hwloc_bitmap_free(facts->offline);
        hwloc_bitmap_free(facts->allowed_cpus);
        hwloc_bitmap_free(facts->allowed_nodes);
        free(facts);
}

int hn_facts_at(const struct hn_facts *facts, unsigned os)
{
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (facts->nodes[i].os == os)
                        return (int) i;
        return -1;
}

static int add_lone_core(struct hn_facts *facts, unsigned cpu)
{
        HN_BITMAP hwloc_bitmap_t threads = hwloc_bitmap_alloc();
        struct hn_fact_core *cores;

        if (!threads || hwloc_bitmap_set(threads, cpu) < 0)
                return -ENOMEM;
        cores = hn_array_grow(facts->cores, facts->n_cores, sizeof *cores);
        if (!cores)
                return -ENOMEM;
        facts->cores = cores;
        cores[facts->n_cores++] = (struct hn_fact_core) { .threads = HN_TAKE(threads), .kind = -1 };
        return 0;
}

int hn_facts_lone_cores(struct hn_facts *facts, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t lone = hwloc_bitmap_dup(cpus);

        if (!lone)
                return -ENOMEM;
        for (size_t i = 0; i < facts->n_cores; i++)
                if (hwloc_bitmap_andnot(lone, lone, facts->cores[i].threads) < 0)
                        return -ENOMEM;
        HN_IDSET_FOREACH(cpu, lone) {
                int r = add_lone_core(facts, (unsigned) cpu);

                if (r < 0)
                        return r;
        }
        return 0;
}
