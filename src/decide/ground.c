/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/ground.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "decide/fit.h"
#include "decide/score.h"

/* Shares of domains are summed up as integers: parts of 2^20, weights in quarters. */
#define SHARE_ONE UINT64_C(1048576)
#define WEIGHT_ONE 4.0

/* What placements add up to on one node. */
struct sum {
        uint64_t milli, cpu_shares, memory_shares;
};

void hn_ground_free(struct hn_ground *ground)
{
        if (!ground)
                return;
        for (size_t at = 0; ground->nodes && at < ground->host->n_nodes; at++)
                free(ground->nodes[at].parts);
        free(ground->nodes);
        free(ground->cpus);
        free(ground->slow);
        free(ground->pages);
        free(ground->totals);
        free(ground->rooms);
        free(ground->fill);
        hwloc_bitmap_free(ground->taken);
        free(ground);
}

size_t hn_ground_kind(const struct hn_ground *ground, uint64_t page_kib)
{
        for (size_t i = 0; i < ground->n_pages; i++)
                if (ground->pages[i] == page_kib)
                        return i;
        return 0;
}

int hn_ground_at(const struct hn_ground *ground, int cpu)
{
        return cpu >= 0 && (size_t) cpu < ground->n_cpus ? ground->cpus[cpu].at : -1;
}

const struct hn_core *hn_ground_core(const struct hn_ground *ground, hwloc_const_bitmap_t cpus)
{
        int cpu = hwloc_bitmap_first(cpus);
        int core = cpu >= 0 && (size_t) cpu < ground->n_cpus ? ground->cpus[cpu].core : -1;

        if (core < 0 || !hwloc_bitmap_isincluded(cpus, ground->host->cores[core].threads))
                return NULL;
        return &ground->host->cores[core];
}

static void map_set(struct hn_ground *ground, hwloc_const_bitmap_t set, size_t at)
{
        if (set)
                HN_IDSET_FOREACH(cpu, set)
                        ground->cpus[cpu].at = (int) at;
}

static int map_cpus(struct hn_ground *ground)
{
        const struct hn_host *host = ground->host;
        int last = -1;

        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];
                int a = hwloc_bitmap_last(node->cpus);
                int b = node->isolated ? hwloc_bitmap_last(node->isolated) : -1;

                last = a > last ? a : last;
                last = b > last ? b : last;
        }
        ground->n_cpus = (size_t) (last + 1);
        ground->cpus = calloc(ground->n_cpus + 1, sizeof *ground->cpus);
        if (!ground->cpus)
                return -ENOMEM;
        for (size_t cpu = 0; cpu < ground->n_cpus; cpu++)
                ground->cpus[cpu] = (struct hn_ground_cpu) { .at = -1, .core = -1 };
        for (size_t at = 0; at < host->n_nodes; at++) {
                map_set(ground, host->nodes[at].isolated, at);
                map_set(ground, host->nodes[at].cpus, at);
        }
        for (size_t i = 0; i < host->n_cores; i++)
                HN_IDSET_FOREACH(cpu, host->cores[i].threads)
                        if ((size_t) cpu < ground->n_cpus)
                                ground->cpus[cpu].core = (int) i;
        return 0;
}

bool hn_ground_counts(const struct hn_placement *placement, const struct hn_request *request)
{
        return !request->uuid[0] || strcmp(placement->uuid, request->uuid) != 0;
}

static void add_pages(struct hn_ground *ground, uint64_t page_kib)
{
        if (page_kib && !hn_ground_kind(ground, page_kib))
                ground->pages[ground->n_pages++] = page_kib;
}

static int collect_pages(struct hn_ground *ground, const struct hn_request *request, const struct hn_shape *shape)
{
        ground->pages = calloc(shape->n_cells + request->n_plugged + 1, sizeof *ground->pages);
        if (!ground->pages)
                return -ENOMEM;
        ground->n_pages = 1;
        for (size_t i = 0; i < shape->n_cells; i++)
                add_pages(ground, shape->cells[i].page_kib);
        for (size_t i = 0; i < request->n_plugged; i++)
                add_pages(ground, hn_plugged_page_kib(ground->host, request, &request->plugged[i]));
        return 0;
}

/* What the host itself leaves for guests of that page size: the figures of its build, or the live ones where
 * those say less. */
static uint64_t free_now_kib(const struct hn_policy *policy, const struct hn_node *node, uint64_t page_kib)
{
        uint64_t usable = hn_usable_kib(policy, node, page_kib), free_kib = node->free_kib;
        const struct hn_pool *pool = page_kib ? hn_node_pool(node, page_kib) : NULL;

        if (page_kib)
                free_kib = pool ? hn_multiply(pool->free_pages, page_kib) : 0;
        return usable < free_kib ? usable : free_kib;
}

static uint64_t share_of(uint64_t part, uint64_t whole)
{
        return whole ? (uint64_t) ((double) part / (double) whole * (double) SHARE_ONE + 0.5) : 0;
}

/* Loads of guests by uuid; one per guest is read, whatever order they come in. */
struct loads {
        const struct hn_guest_load **list;
        size_t n;
};

static int by_uuid(const void *a, const void *b)
{
        const struct hn_guest_load *const *x = a, *const *y = b;

        return strcmp((*x)->uuid, (*y)->uuid);
}

static int sort_loads(const struct hn_situation *situation, struct loads *ret)
{
        const struct hn_load *load = situation->load;

        if (!load || !load->n_guests || !situation->n_placements)
                return 0;
        ret->list = calloc(load->n_guests, sizeof *ret->list);
        if (!ret->list)
                return -ENOMEM;
        for (; ret->n < load->n_guests; ret->n++)
                ret->list[ret->n] = &load->guests[ret->n];
        qsort(ret->list, ret->n, sizeof *ret->list, by_uuid);
        return 0;
}

static void end_loads(struct loads *loads)
{
        free(loads->list);
}

/* CPUs that a guest uses and waits for; negative: not measured. */
static double busy_cpus(const struct loads *loads, const char *uuid)
{
        struct hn_guest_load key = { 0 };
        const struct hn_guest_load *p = &key, **found;

        if (!loads->n || strlen(uuid) >= sizeof key.uuid)
                return -1;
        memcpy(key.uuid, uuid, strlen(uuid));
        found = bsearch(&p, loads->list, loads->n, sizeof *loads->list, by_uuid);
        if (!found)
                return -1;
        return (*found)->run_cpus + ((*found)->wait_cpus > 0 ? (*found)->wait_cpus : 0);
}

double hn_demand_part(double busy_cpus, uint64_t vcpus_milli, double floor)
{
        double part = vcpus_milli ? busy_cpus * 1000 / (double) vcpus_milli : 1;

        if (!(busy_cpus >= 0) || part > 1)
                return 1;
        return part < floor ? floor : part;
}

static void add_placement(struct hn_ground *ground, const struct hn_placement *placement, const struct loads *loads,
                          struct sum *sums, uint64_t *promised)
{
        uint64_t quarters = (uint64_t) (hn_weight(placement->priority) * WEIGHT_ONE), milli = 0, memory = 0;
        double part;

        for (size_t i = 0; i < placement->n_promises; i++) {
                milli = hn_add(milli, placement->promises[i].vcpus_milli);
                memory = hn_add(memory, placement->promises[i].memory_kib);
        }
        part = hn_demand_part(busy_cpus(loads, placement->uuid), milli, HN_PLACE_DEMAND_FLOOR);
        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *p = &placement->promises[i];
                size_t kind = hn_ground_kind(ground, p->page_kib);
                int at = hn_host_at(ground->host, p->node);

                if (at < 0)
                        continue;
                sums[at].milli = hn_add(sums[at].milli, (uint64_t) ((double) p->vcpus_milli * part + 0.5));
                sums[at].cpu_shares += quarters * share_of(p->vcpus_milli, milli);
                if (!p->page_kib)
                        sums[at].memory_shares += quarters * share_of(p->memory_kib, memory);
                if (kind || !p->page_kib) {
                        uint64_t *sum = &promised[(size_t) at * ground->n_pages + kind];

                        *sum = hn_add(*sum, p->memory_kib);
                }
        }
}

static void fill_node(struct hn_ground *ground, size_t at, const struct sum *sum, const uint64_t *promised)
{
        const struct hn_node *node = &ground->host->nodes[at];
        struct hn_ground_node *g = &ground->nodes[at];
        double busy = hn_load_busy(ground->situation->load, node->os);

        g->node = node;
        g->capacity_milli = hn_capacity_milli(ground->policy, node);
        /* beyond any machine, and far from where integers end */
        g->demand_milli = hn_add(sum->milli, busy > 0 && busy < 1e6 ? (uint64_t) (busy * 1000) : 0);
        g->crowd_cpu = (double) sum->cpu_shares / (double) SHARE_ONE / WEIGHT_ONE;
        g->crowd_memory = (double) sum->memory_shares / (double) SHARE_ONE / WEIGHT_ONE;
        for (size_t kind = 0; kind < ground->n_pages; kind++) {
                size_t i = at * ground->n_pages + kind;

                ground->totals[i] = hn_usable_kib(ground->policy, node, ground->pages[kind]);
                ground->rooms[i] = hn_subtract(free_now_kib(ground->policy, node, ground->pages[kind]),
                                               promised[i]);
        }
        g->left_kib = hn_subtract(node->memory_kib < node->free_kib ? node->memory_kib : node->free_kib,
                                  promised[at * ground->n_pages]);
        g->headroom_kib = node->memory_kib / 100 * ground->policy->headroom_percent;
}

static void fill_shares(struct hn_ground *ground)
{
        for (size_t kind = 0; kind < ground->n_pages; kind++) {
                double total = 0, room = 0;

                for (size_t at = 0; at < ground->host->n_nodes; at++) {
                        if (!ground->nodes[at].capacity_milli)
                                continue;
                        total += (double) ground->totals[at * ground->n_pages + kind];
                        room += (double) ground->rooms[at * ground->n_pages + kind];
                }
                ground->fill[kind] = total > 0 ? 1 - room / total : 0;
        }
}

static void fill_slow(struct hn_ground *ground)
{
        size_t n = ground->host->n_nodes;

        for (size_t i = 0; i < n * n; i++) {
                unsigned distance = ground->host->distances[i];

                ground->slow[i] = distance > HN_DISTANCE_LOCAL
                                          ? (distance - HN_DISTANCE_LOCAL) * HN_SLOW_PER_DISTANCE : 0;
        }
}

/* Adds the way from every node to one device; passes over devices of which the host knows no node. */
static void add_device(struct hn_ground *ground, const struct hn_pci_address *address, unsigned *n_devices)
{
        const struct hn_host *host = ground->host;

        for (size_t i = 0; i < host->n_devices; i++) {
                const struct hn_device *device = &host->devices[i];
                int at = device->node < 0 ? -1 : hn_host_at(host, (unsigned) device->node);

                if (at < 0 || device->domain != address->domain || device->bus != address->bus
                    || device->slot != address->slot || device->function != address->function)
                        continue;
                for (size_t from = 0; from < host->n_nodes; from++)
                        ground->nodes[from].device += ground->slow[from * host->n_nodes + (size_t) at];
                (*n_devices)++;
                return;
        }
}

void hn_ground_devices(struct hn_ground *ground, const struct hn_request *request)
{
        unsigned n = 0;

        for (size_t at = 0; at < ground->host->n_nodes; at++)
                ground->nodes[at].device = 0;

        for (size_t i = 0; i < request->n_hostdevs; i++)
                add_device(ground, &request->hostdevs[i], &n);
        for (size_t i = 0; i < request->n_interfaces; i++)
                if (request->interfaces[i].has_pci)
                        add_device(ground, &request->interfaces[i].pci, &n);
        for (size_t i = 0; i < request->n_disks; i++)
                if (request->disks[i].has_pci)
                        add_device(ground, &request->disks[i].pci, &n);
        for (size_t at = 0; n && at < ground->host->n_nodes; at++)
                ground->nodes[at].device *= HN_DEVICE_SHARE / n;
}

/* A vCPU has a core for itself where its own CPUs lie within that core. */
static int fill_taken(struct hn_ground *ground, const struct hn_request *request)
{
        const struct hn_situation *situation = ground->situation;

        for (size_t i = 0; i < situation->n_placements; i++) {
                const struct hn_placement *placement = situation->placements[i];

                for (size_t v = 0; hn_ground_counts(placement, request) && v < placement->n_vcpu_cpus; v++) {
                        hwloc_const_bitmap_t cpus = placement->vcpu_cpus[v].cpus;

                        if (hn_ground_core(ground, cpus)
                            && hwloc_bitmap_or(ground->taken, ground->taken, cpus) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static int sum_up(struct hn_ground *ground, const struct hn_request *request)
{
        const struct hn_situation *situation = ground->situation;
        size_t n = ground->host->n_nodes;
        HN_FREE struct sum *sums = calloc(n + 1, sizeof *sums);
        HN_FREE uint64_t *promised = calloc(n * ground->n_pages + 1, sizeof *promised);
        HN_CLEANUP(end_loads) struct loads loads = { 0 };

        if (!sums || !promised || sort_loads(situation, &loads) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < situation->n_placements; i++)
                if (hn_ground_counts(situation->placements[i], request))
                        add_placement(ground, situation->placements[i], &loads, sums, promised);
        for (size_t at = 0; at < n; at++)
                fill_node(ground, at, &sums[at], promised);
        return 0;
}

int hn_ground_new(const struct hn_situation *situation, const struct hn_request *request,
                  const struct hn_shape *shape, struct hn_ground **ret)
{
        HN_GROUND struct hn_ground *ground = calloc(1, sizeof *ground);
        size_t n = situation->host->n_nodes;
        int r;

        if (!ground)
                return -ENOMEM;
        ground->situation = situation;
        ground->host = situation->host;
        ground->policy = situation->policy;
        ground->weight = hn_weight(request->wishes.priority);
        r = collect_pages(ground, request, shape);
        if (r < 0)
                return r;
        ground->nodes = calloc(n + 1, sizeof *ground->nodes);
        ground->slow = calloc(n * n + 1, sizeof *ground->slow);
        ground->totals = calloc(n * ground->n_pages + 1, sizeof *ground->totals);
        ground->rooms = calloc(n * ground->n_pages + 1, sizeof *ground->rooms);
        ground->fill = calloc(ground->n_pages, sizeof *ground->fill);
        ground->taken = hwloc_bitmap_alloc();
        if (!ground->nodes || !ground->slow || !ground->totals || !ground->rooms || !ground->fill
            || !ground->taken)
                return -ENOMEM;
        r = sum_up(ground, request);
        if (r < 0)
                return r;
        fill_shares(ground);
        fill_slow(ground);
        hn_ground_devices(ground, request);
        r = map_cpus(ground);
        if (r < 0)
                return r;
        r = fill_taken(ground, request);
        if (r < 0)
                return r;
        r = hn_ground_caches(ground, request);
        if (r < 0)
                return r;
        *ret = HN_TAKE(ground);
        return 0;
}
