/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/scene.h"

#include "decide/explain.h"
#include "unit/support/test.h"

static void *zeroed(size_t n, size_t size)
{
        void *p = calloc(n + 1, size);

        assert_non_null(p);
        return p;
}

static void add_core(struct hn_host *host, const struct host_plan *plan, unsigned node, unsigned first_cpu)
{
        struct hn_core *core = &host->cores[host->n_cores++];

        core->node = node;
        core->kind = -1;
        core->threads = hwloc_bitmap_alloc();
        hwloc_bitmap_set_range(core->threads, first_cpu, (int) (first_cpu + plan->threads - 1));
}

static void add_caches(struct hn_host *host, const struct host_plan *plan, unsigned first_cpu)
{
        unsigned size = plan->cores_per_cache ? plan->cores_per_cache : plan->cores;

        for (unsigned core = 0; core < plan->cores; core += size) {
                hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
                unsigned last = core + size < plan->cores ? core + size : plan->cores;

                hwloc_bitmap_set_range(cpus, first_cpu + core * plan->threads,
                                       (int) (first_cpu + last * plan->threads - 1));
                host->caches[host->n_caches++] = (struct hn_cache) { .cpus = cpus };
        }
}

struct hn_host *host_of(const struct host_plan *plan)
{
        struct hn_host *host = zeroed(1, sizeof *host);
        unsigned cpus = plan->cores * plan->threads;

        host->source = strdup("made by hand");
        host->n_nodes = plan->nodes;
        host->nodes = zeroed(plan->nodes, sizeof *host->nodes);
        host->distances = zeroed(plan->nodes * (size_t) plan->nodes, sizeof *host->distances);
        host->cores = zeroed(plan->nodes * (size_t) plan->cores, sizeof *host->cores);
        host->caches = zeroed(plan->nodes * (size_t) plan->cores, sizeof *host->caches);
        host->devices = zeroed(8, sizeof *host->devices);
        host->isolated = hwloc_bitmap_alloc();
        host->offline = hwloc_bitmap_alloc();
        host->allowed_cpus = hwloc_bitmap_alloc_full();
        host->allowed_nodes = hwloc_bitmap_alloc_full();
        for (unsigned node = 0; node < plan->nodes; node++) {
                host->nodes[node] = (struct hn_node) {
                        .os = node, .role = HN_NODE_HOME, .cpus = hwloc_bitmap_alloc(),
                        .memory_kib = plan->memory_kib, .free_kib = plan->memory_kib,
                        .n_cores = plan->cores, .n_threads = cpus, 
                };
                hwloc_bitmap_set_range(host->nodes[node].cpus, node * cpus, (int) ((node + 1) * cpus - 1));
                for (unsigned core = 0; core < plan->cores; core++)
                        add_core(host, plan, node, node * cpus + core * plan->threads);
                add_caches(host, plan, node * cpus);
                for (unsigned other = 0; other < plan->nodes; other++)
                        host->distances[node * plan->nodes + other] = node == other ? 10 : 20;
        }
        return host;
}

static struct hn_node *node_of(struct hn_host *host, unsigned os)
{
        int at = hn_host_at(host, os);

        assert_true(at >= 0);
        return &host->nodes[at];
}

void host_distance(struct hn_host *host, unsigned a, unsigned b, unsigned distance)
{
        host->distances[a * host->n_nodes + b] = distance;
        host->distances[b * host->n_nodes + a] = distance;
}

void host_memory(struct hn_host *host, unsigned node, uint64_t memory_kib)
{
        node_of(host, node)->memory_kib = memory_kib;
        node_of(host, node)->free_kib = memory_kib;
}

void host_pool(struct hn_host *host, unsigned node, uint64_t page_kib, uint64_t pages)
{
        struct hn_node *n = node_of(host, node);

        n->pools = reallocarray(n->pools, n->n_pools + 1, sizeof *n->pools);
        assert_non_null(n->pools);
        n->pools[n->n_pools++] = (struct hn_pool) { page_kib, pages, pages };
}

void host_no_cpus(struct hn_host *host, unsigned node)
{
        struct hn_node *n = node_of(host, node);
        size_t kept = 0;

        n->role = HN_NODE_NO_CPUS;
        hwloc_bitmap_zero(n->cpus);
        n->n_cores = n->n_threads = 0;
        for (size_t i = 0; i < host->n_cores; i++) {
                if (host->cores[i].node == node)
                        hwloc_bitmap_free(host->cores[i].threads);
                else
                        host->cores[kept++] = host->cores[i];
        }
        host->n_cores = kept;
}

struct hn_request *vm(unsigned number, unsigned vcpus, uint64_t memory_kib)
{
        struct hn_request *request = zeroed(1, sizeof *request);

        request->type = strdup("kvm");
        assert_true(asprintf(&request->name, "vm%u", number) > 0);
        (void) snprintf(request->uuid, sizeof request->uuid, "00000000-0000-0000-0000-%012u", number);
        request->id = -1;
        request->managed_type = true;
        request->vcpus_max = request->vcpus_current = vcpus;
        request->memory_kib = request->memory_current_kib = memory_kib;
        request->iothreads = hwloc_bitmap_alloc();
        request->wishes.priority = HN_PRIORITY_NORMAL;
        request->wishes.vnuma = -1;
        return request;
}

struct scene *scene_of(struct hn_host *host)
{
        struct scene *scene = zeroed(1, sizeof *scene);

        scene->host = host;
        hn_policy_defaults(&scene->policy);
        scene->situation = (struct hn_situation) { .host = host, .policy = &scene->policy,
                                                   .placements = scene->placements };
        return scene;
}

void scene_free(struct scene *scene)
{
        for (size_t i = 0; i < scene->situation.n_placements; i++)
                hn_decision_free(scene->decisions[i]);
        hn_host_free(scene->host);
        free(scene);
}

struct hn_decision *scene_ask(const struct scene *scene, const struct hn_request *request)
{
        struct hn_decision *decision = NULL;

        assert_int_equal(hn_decide(&scene->situation, request, &decision), 0);
        check_decision(scene, request, decision);
        return decision;
}

const struct hn_decision *scene_start(struct scene *scene, const struct hn_request *request)
{
        struct hn_decision *decision = scene_ask(scene, request);

        assert_true(scene->situation.n_placements < 1024);
        scene->decisions[scene->situation.n_placements] = decision;
        scene->placements[scene->situation.n_placements++] = decision->placement;
        return decision;
}

const struct hn_decision *scene_start_vm(struct scene *scene, unsigned number, unsigned vcpus,
                                         uint64_t memory_kib)
{
        struct hn_request *request = vm(number, vcpus, memory_kib);
        const struct hn_decision *decision = scene_start(scene, request);

        if (decision->verdict != HN_PLACED)
                fail_msg("vm%u is not placed: %s", number, decision->reason);
        hn_request_free(request);
        return decision;
}

static hwloc_bitmap_t cpus_of(const struct hn_host *host, hwloc_const_bitmap_t nodes)
{
        hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

        for (size_t at = 0; at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(nodes, host->nodes[at].os))
                        hwloc_bitmap_or(cpus, cpus, host->nodes[at].cpus);
        return cpus;
}

/* The first of its nodes on which a cell runs: it may have but memory on others. */
static int runs_first(const struct hn_host *host, const struct hn_placed_cell *cell)
{
        for (size_t at = 0; at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(cell->nodes, host->nodes[at].os)
                    && hwloc_bitmap_intersects(cell->cpus, host->nodes[at].cpus))
                        return (int) host->nodes[at].os;
        return -1;
}

static bool user_fixed(const struct hn_request *request)
{
        bool fixed = request->numatune_nodes || request->vcpu_cpuset || request->n_vcpu_pins
                     || request->emulator_pin || request->n_plugged;

        for (size_t i = 0; i < request->n_cells; i++)
                fixed |= request->cells[i].bound != NULL;
        return fixed;
}

static void check_cells(const struct scene *scene, const struct hn_request *request,
                        const struct hn_decision *decision)
{
        HN_BITMAP hwloc_bitmap_t vcpus = hwloc_bitmap_alloc(), homes = hn_host_homes(scene->host);
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc(), all = hwloc_bitmap_alloc();
        const struct hn_placement *placement = decision->placement;
        uint64_t memory = 0;
        int last = -1;

        for (size_t i = 0; i < placement->n_cells; i++) {
                const struct hn_placed_cell *cell = &placement->cells[i];
                HN_BITMAP hwloc_bitmap_t theirs = cpus_of(scene->host, cell->nodes);

                assert_int_equal(cell->id, i);
                assert_false(hwloc_bitmap_intersects(vcpus, cell->vcpus));
                hwloc_bitmap_or(vcpus, vcpus, cell->vcpus);
                assert_false(hwloc_bitmap_iszero(cell->nodes));
                assert_true(hwloc_bitmap_isincluded(cell->nodes, homes));
                assert_false(hwloc_bitmap_iszero(cell->cpus));
                assert_true(hwloc_bitmap_isincluded(cell->cpus, theirs));
                if (!user_fixed(request)) {
                        assert_true(runs_first(scene->host, cell) >= last);
                        last = runs_first(scene->host, cell);
                }
                if (request->wishes.nodes && !user_fixed(request))
                        assert_true(hwloc_bitmap_isincluded(cell->nodes, request->wishes.nodes));
                hwloc_bitmap_or(nodes, nodes, cell->nodes);
                memory += cell->memory_kib;
        }
        if (request->vcpus_max)
                hwloc_bitmap_set_range(all, 0, (int) request->vcpus_max - 1);
        assert_true(hwloc_bitmap_isequal(vcpus, all));
        assert_true(hwloc_bitmap_isequal(nodes, placement->home));
        if (!request->n_cells)
                assert_int_equal(memory, request->memory_kib);
        if (request->wishes.memory == HN_MEMORY_SOFT || request->numatune_nodes)
                assert_true(hwloc_bitmap_iszero(placement->memory_nodes));
        else if (!user_fixed(request) && request->memory_max_kib) /* room to grow may be elsewhere */
                assert_true(hwloc_bitmap_isincluded(placement->home, placement->memory_nodes));
        else if (!user_fixed(request))
                assert_true(hwloc_bitmap_isequal(placement->memory_nodes, placement->home));
}

static void check_cpus(const struct scene *scene, const struct hn_request *request,
                       const struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(scene->host);
        HN_BITMAP hwloc_bitmap_t usable = cpus_of(scene->host, homes), used = hwloc_bitmap_alloc();

        if (user_fixed(request))
                hwloc_bitmap_or(usable, usable, scene->host->isolated);
        for (size_t i = 0; i < placement->n_vcpu_cpus; i++) {
                const struct hn_pin *pin = &placement->vcpu_cpus[i];

                assert_true(pin->id < request->vcpus_max);
                assert_false(hwloc_bitmap_iszero(pin->cpus));
                assert_true(hwloc_bitmap_isincluded(pin->cpus, usable));
                if (!user_fixed(request))
                        assert_false(hwloc_bitmap_intersects(pin->cpus, used));
                hwloc_bitmap_or(used, used, pin->cpus);
        }
        assert_false(hwloc_bitmap_iszero(placement->emulator_cpus));
        assert_true(hwloc_bitmap_isincluded(placement->emulator_cpus, usable));
}

/* What may still be promised there, reckoned anew: live or built memory, less what others were promised. */
static uint64_t room_of(const struct scene *scene, const struct hn_request *request, unsigned os,
                        uint64_t page_kib)
{
        const struct hn_node *node = &scene->host->nodes[hn_host_at(scene->host, os)];
        uint64_t room, reserve = node->memory_kib / 20, promised = 0;

        if (page_kib) {
                const struct hn_pool *pool = hn_node_pool(node, page_kib);

                room = pool ? pool->free_pages * page_kib : 0;
        } else {
                room = node->memory_kib - (reserve < GIB ? reserve : GIB);
                room = room < node->free_kib ? room : node->free_kib;
        }
        for (size_t i = 0; i < scene->situation.n_placements; i++) {
                const struct hn_placement *placement = scene->placements[i];

                for (size_t p = 0; strcmp(placement->uuid, request->uuid) != 0 && p < placement->n_promises;
                     p++)
                        if (placement->promises[p].node == os && placement->promises[p].page_kib == page_kib)
                                promised += placement->promises[p].memory_kib;
        }
        return room > promised ? room - promised : 0;
}

static bool has_huge_pages(const struct hn_request *request)
{
        bool has = request->page_kib || request->page_default;

        for (size_t i = 0; i < request->n_cells; i++)
                has |= request->cells[i].page_kib != 0;
        return has;
}

static void check_promises(const struct scene *scene, const struct hn_request *request,
                           const struct hn_decision *decision)
{
        const struct hn_placement *placement = decision->placement;
        uint64_t milli = 0, memory = 0, cells = 0, gib;

        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];

                milli += promise->vcpus_milli;
                memory += promise->memory_kib;
                if (decision->verdict == HN_PLACED && !user_fixed(request)) {
                        assert_true(hwloc_bitmap_isset(placement->home, promise->node));
                        assert_true(promise->memory_kib
                                    <= room_of(scene, request, promise->node, promise->page_kib) + 0);
                }
        }
        for (size_t i = 0; i < placement->n_cells; i++)
                cells += placement->cells[i].memory_kib;
        for (size_t i = 0; i < request->n_cells; i++)
                cells += request->cells[i].devices_kib;
        for (size_t i = 0; i < request->n_plugged; i++)
                cells += request->plugged[i].memory_kib;
        if (decision->verdict != HN_PLACED)
                return;
        gib = cells / GIB + (cells % GIB ? 1 : 0);
        cells += 32 * MIB + (gib > 1 ? gib - 1 : 0) * 8 * MIB;
        assert_int_equal(milli, request->vcpus_max * 1000);
        if (has_huge_pages(request))
                assert_true(memory >= cells); /* whole pages */
        else
                assert_int_equal(memory, cells);
}

static void check_shape(const struct hn_request *request, const struct hn_shape *shape)
{
        const struct hn_topology *t = &shape->topology;
        size_t n = shape->n_cells;

        assert_true(n > 0);
        if (t->sockets)
                assert_int_equal(t->sockets * t->cores * t->threads, request->vcpus_max);
        if (shape->given)
                return;
        assert_true((n > 1) == (shape->distances != NULL));
        for (size_t i = 0; n > 1 && i < n; i++) {
                assert_false(hwloc_bitmap_iszero(shape->cells[i].vcpus));
                assert_true(shape->cells[i].memory_kib > 0);
                for (size_t j = 0; j < n; j++) {
                        unsigned d = shape->distances[i * n + j];

                        assert_int_equal(d, shape->distances[j * n + i]);
                        assert_true(i == j ? d == 10 : d > 10 && d < 255);
                }
        }
}

/* The same decision once more says the same, word for word. */
static void check_again(const struct scene *scene, const struct hn_request *request,
                        const struct hn_decision *decision)
{
        HN_DECISION struct hn_decision *again = NULL;
        struct json_object *a = NULL, *b = NULL;
        HN_FREE char *sentence = NULL;

        assert_int_equal(hn_decide(&scene->situation, request, &again), 0);
        assert_int_equal(hn_explain_json(request, decision, &a), 0);
        assert_int_equal(hn_explain_json(request, again, &b), 0);
        assert_string_equal(json_object_to_json_string(a), json_object_to_json_string(b));
        json_object_put(a);
        json_object_put(b);
        assert_int_equal(hn_explain_sentence(decision, &sentence), 0);
        assert_true(strlen(sentence) > 0);
}

void check_decision(const struct scene *scene, const struct hn_request *request,
                    const struct hn_decision *decision)
{
        assert_non_null(decision->placement);
        assert_non_null(decision->reason);
        assert_string_equal(decision->placement->uuid, request->uuid);
        assert_string_equal(decision->placement->name, request->name);
        check_promises(scene, request, decision);
        if (decision->verdict == HN_PLACED) {
                assert_non_null(decision->shape);
                assert_int_equal(decision->shape->n_cells, decision->placement->n_cells);
                check_shape(request, decision->shape);
                check_cells(scene, request, decision);
                check_cpus(scene, request, decision->placement);
        } else {
                assert_null(decision->shape);
                assert_int_equal(decision->placement->n_cells, 0);
                assert_true(hwloc_bitmap_iszero(decision->placement->home));
                assert_true(hwloc_bitmap_iszero(decision->placement->memory_nodes));
        }
        check_again(scene, request, decision);
}
