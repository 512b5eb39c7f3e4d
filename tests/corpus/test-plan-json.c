/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `plan --json` holds, from the built command: the contract's members and types, what domains leave for
 * the next, and that every recorded topology gives a valid plan for every size of domain.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "decide/decide.h"
#include "model/host.h"
#include "model/json.h"
#include "model/text.h"
#include "unit/support/recorded.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define FOUR_NODES "node:4(memory=4GB) core:4 pu:1"
#define OUTPUT_LIMIT (16u << 20)

struct corpus {
        struct tree tree;
        const char *command;
        const char *fixtures;
};

/* One size of domain. */
struct size {
        unsigned vcpus;
        uint64_t memory_mib;
};

/* Runs `plan --json` with these arguments (in shell quoting) and gives its array. */
HN_PRINTF(3, 4)
static struct json_object *plan(const struct corpus *corpus, int expected_exit, const char *format, ...)
{
        HN_FREE char *line = NULL, *text = malloc(OUTPUT_LIMIT), *arguments = NULL;
        struct json_object *array = NULL;
        va_list list;
        size_t length;
        FILE *out;
        int status;

        va_start(list, format);
        arguments = hn_text_vprint(format, list);
        va_end(list);
        assert_non_null(arguments);
        assert_true(asprintf(&line, "HOMENODE_ROOT='%s' '%s' plan --json %s", corpus->tree.path,
                             corpus->command, arguments) > 0);
        out = popen(line, "r");
        assert_non_null(out);
        assert_non_null(text);
        length = fread(text, 1, OUTPUT_LIMIT, out);
        status = pclose(out);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != expected_exit)
                fail_msg("%s: status %#x", line, (unsigned) status);
        if (hn_json_parse(text, length, 16, &array) < 0 || !json_object_is_type(array, json_type_array))
                fail_msg("%s: not a JSON array", line);
        return array;
}

static struct json_object *element(struct json_object *array, size_t i)
{
        struct json_object *object = json_object_array_get_idx(array, i);

        assert_true(json_object_is_type(object, json_type_object));
        return object;
}

static bool managed(struct json_object *domain)
{
        bool value = false;

        assert_int_equal(hn_json_get_bool(domain, "managed", &value), 0);
        return value;
}

static const char *string(struct json_object *object, const char *name)
{
        const char *text = NULL;

        if (hn_json_get_string(object, name, &text) < 0)
                fail_msg("no string %s in %s", name, json_object_to_json_string(object));
        return text;
}

static hwloc_bitmap_t set(struct json_object *object, const char *name)
{
        hwloc_bitmap_t numbers = NULL;

        if (hn_json_get_set(object, name, &numbers) < 0)
                fail_msg("no list string %s in %s", name, json_object_to_json_string(object));
        return numbers;
}

/* All terms are there, none is negative, and the total is their sum. */
static void check_score(struct json_object *score)
{
        double sum = 0;

        assert_true(json_object_is_type(score, json_type_object));
        for (int term = 0; term < HN_TERMS; term++) {
                const char *name = hn_term_name((enum hn_term) term);
                struct json_object *value = json_object_object_get(score, name);

                if (!value || json_object_get_double(value) < 0)
                        fail_msg("term %s in %s", name, json_object_to_json_string(score));
                sum += json_object_get_double(value);
        }
        double total = json_object_get_double(json_object_object_get(score, "total"));
        assert_true(total > sum - 1e-6 && total < sum + 1e-6);
}

static void check_cell(const struct hn_host *host, struct json_object *cell, size_t i, hwloc_bitmap_t vcpus,
                       uint64_t *memory_kib)
{
        HN_BITMAP hwloc_bitmap_t mine = set(cell, "vcpus"), nodes = set(cell, "nodes");
        HN_BITMAP hwloc_bitmap_t cpus = set(cell, "cpus"), theirs = hwloc_bitmap_alloc();
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(host);
        uint64_t number = 0;

        assert_int_equal(hn_json_get_u64(cell, "id", HN_DOMAIN_CELL_LIMIT, &number), 0);
        assert_int_equal(number, i);
        assert_int_equal(hn_json_get_u64(cell, "memory_kib", UINT64_MAX, &number), 0);
        *memory_kib += number;
        assert_false(hwloc_bitmap_intersects(vcpus, mine));
        hwloc_bitmap_or(vcpus, vcpus, mine);
        assert_false(hwloc_bitmap_iszero(nodes));
        assert_true(hwloc_bitmap_isincluded(nodes, homes));
        HN_IDSET_FOREACH(node, nodes)
                hwloc_bitmap_or(theirs, theirs, host->nodes[hn_host_at(host, (unsigned) node)].cpus);
        assert_false(hwloc_bitmap_iszero(cpus));
        assert_true(hwloc_bitmap_isincluded(cpus, theirs));
}

static void check_runner_up(struct json_object *domain)
{
        struct json_object *runner_up = NULL;

        assert_true(json_object_object_get_ex(domain, "runner_up", &runner_up));
        if (!runner_up)
                return;
        HN_BITMAP hwloc_bitmap_t nodes = set(runner_up, "nodes");
        assert_false(hwloc_bitmap_iszero(nodes));
        check_score(json_object_object_get(runner_up, "score"));
}

/* The contract for one element; vCPUs and memory of a placed domain are in its cells, each once. */
static void check_domain(const struct hn_host *host, struct json_object *domain, const struct size *size)
{
        HN_BITMAP hwloc_bitmap_t vcpus = hwloc_bitmap_alloc();
        struct json_object *cells = NULL;
        uint64_t memory_kib = 0;

        (void) string(domain, "name");
        (void) string(domain, "uuid");
        assert_string_not_equal(string(domain, "reason"), "");
        assert_int_equal(hn_json_get_array(domain, "cells", HN_DOMAIN_CELL_LIMIT, &cells), 0);
        size_t n = json_object_array_length(cells);
        if (!managed(domain)) {
                assert_int_equal(n, 0);
                return;
        }
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++)
                check_cell(host, element(cells, i), i, vcpus, &memory_kib);
        assert_int_equal(hn_idset_count(vcpus), size->vcpus);
        assert_int_equal(hwloc_bitmap_last(vcpus), (int) size->vcpus - 1);
        assert_int_equal(memory_kib, size->memory_mib * 1024);
        check_score(json_object_object_get(domain, "score"));
        check_runner_up(domain);
}

/* Writes a domain into the tree; its path is "TREE/NAME.xml". */
static void put_domain(struct corpus *corpus, const char *name, const struct size *size)
{
        HN_FREE char *text = NULL;
        char path[64];

        assert_true(asprintf(&text,
                             "<domain type='kvm'><name>%s</name><memory unit='MiB'>%" PRIu64 "</memory>"
                             "<vcpu>%u</vcpu><os><type>hvm</type></os></domain>",
                             name, size->memory_mib, size->vcpus) > 0);
        (void) snprintf(path, sizeof path, "/%s.xml", name);
        tree_put(&corpus->tree, path, text);
}

static void holds_what_the_contract_names(void **state)
{
        struct corpus *corpus = *state;
        const struct size small = { 2, 1024 };
        HN_HOST struct hn_host *host = NULL;
        HN_JSON struct json_object *array = NULL;

        assert_int_equal(hn_host_from_description(FOUR_NODES, &host), 0);
        array = plan(corpus, 0, "--host '" FOUR_NODES "' '%s/small.xml'", corpus->fixtures);
        assert_int_equal(json_object_array_length(array), 1);
        struct json_object *domain = element(array, 0);
        assert_string_equal(string(domain, "name"), "small");
        assert_string_equal(string(domain, "uuid"), "11111111-0000-4000-8000-000000000001");
        assert_true(managed(domain));
        check_domain(host, domain, &small);
        struct json_object *cells = json_object_object_get(domain, "cells");
        assert_int_equal(json_object_array_length(cells), 1);
        assert_string_equal(string(element(cells, 0), "vcpus"), "0-1");
}

static void says_who_is_left_alone(void **state)
{
        struct corpus *corpus = *state;
        const struct size small = { 2, 1024 };
        HN_HOST struct hn_host *host = NULL;
        HN_JSON struct json_object *array = NULL;
        const char *fixtures = corpus->fixtures;

        assert_int_equal(hn_host_from_description(FOUR_NODES, &host), 0);
        array = plan(corpus, 0, "--host '" FOUR_NODES "' '%s/opted-out.xml' '%s/container.xml' "
                             "'%s/too-large.xml' '%s/spanning-forbidden.xml' '%s/node-not-there.xml'",
                             fixtures, fixtures, fixtures, fixtures, fixtures);
        assert_int_equal(json_object_array_length(array), 5);
        for (size_t i = 0; i < 5; i++) {
                assert_false(managed(element(array, i)));
                check_domain(host, element(array, i), &small);
        }
}

static void plans_the_others_where_one_is_broken(void **state)
{
        struct corpus *corpus = *state;
        HN_JSON struct json_object *array = NULL, *none = NULL;
        const char *fixtures = corpus->fixtures;

        array = plan(corpus, 1, "--host '" FOUR_NODES "' '%s/network.xml' '%s/small.xml' '%s/cut-short.xml' "
                             "- <'%s/node-size.xml' 2>/dev/null",
                             fixtures, fixtures, fixtures, fixtures);
        assert_int_equal(json_object_array_length(array), 2);
        assert_string_equal(string(element(array, 0), "name"), "small");
        assert_string_equal(string(element(array, 1), "name"), "node-size");

        none = plan(corpus, 1, "--host '" FOUR_NODES "' '%s/network.xml' 2>/dev/null", fixtures);
        assert_int_equal(json_object_array_length(none), 0);
}

/* A node of 4 GB takes one guest of 3 GiB and 4 vCPUs: four find a node each, the fifth none. */
static void reserves_before_the_next(void **state)
{
        struct corpus *corpus = *state;
        HN_BITMAP hwloc_bitmap_t taken = hwloc_bitmap_alloc();
        HN_JSON struct json_object *array = NULL;
        const char *fixtures = corpus->fixtures;

        array = plan(corpus, 0, "--host '" FOUR_NODES "' '%s/node-size.xml' '%s/node-size.xml' "
                             "'%s/node-size.xml' '%s/node-size.xml' '%s/node-size.xml'",
                             fixtures, fixtures, fixtures, fixtures, fixtures);
        assert_int_equal(json_object_array_length(array), 5);
        for (size_t i = 0; i < 4; i++) {
                struct json_object *cells = json_object_object_get(element(array, i), "cells");

                assert_int_equal(json_object_array_length(cells), 1);
                HN_BITMAP hwloc_bitmap_t nodes = set(element(cells, 0), "nodes");
                assert_int_equal(hn_idset_count(nodes), 1);
                assert_false(hwloc_bitmap_intersects(taken, nodes));
                hwloc_bitmap_or(taken, taken, nodes);
        }
        assert_false(managed(element(array, 4)));
}

static const struct size sizes[] = {
        { 1, 256 },    { 1, 200000 }, { 2, 1024 },    { 3, 3000 },    { 4, 4096 },    { 7, 8191 },
        { 8, 65536 },  { 16, 16384 }, { 24, 100000 }, { 32, 1024 },   { 48, 262144 }, { 64, 65536 },
        { 96, 32768 }, { 160, 8192 }, { 200, 65536 }, { 255, 1000000 },
};
#define N_SIZES (sizeof sizes / sizeof *sizes)

/* What was promised on each node stays below its memory, cells on several nodes apart. */
static void check_sums(const struct hn_host *host, struct json_object *array)
{
        HN_FREE uint64_t *used_kib = calloc(host->n_nodes, sizeof *used_kib);

        for (size_t i = 0; i < json_object_array_length(array); i++) {
                struct json_object *cells = json_object_object_get(element(array, i), "cells");

                for (size_t j = 0; j < json_object_array_length(cells); j++) {
                        struct json_object *cell = element(cells, j);
                        HN_BITMAP hwloc_bitmap_t nodes = set(cell, "nodes");

                        if (hn_idset_count(nodes) == 1)
                                used_kib[hn_host_at(host, (unsigned) hwloc_bitmap_first(nodes))] +=
                                        json_object_get_uint64(json_object_object_get(cell, "memory_kib"));
                }
        }
        for (size_t at = 0; at < host->n_nodes; at++)
                assert_true(used_kib[at] <= host->nodes[at].memory_kib);
}

static void check_topology(struct corpus *corpus, const char *file)
{
        HN_FREE char *all = strdup("");
        HN_HOST struct hn_host *host = NULL;
        HN_JSON struct json_object *together = NULL;

        assert_int_equal(hn_host_from_description(file, &host), 0);
        for (size_t i = 0; i < N_SIZES; i++) {
                HN_JSON struct json_object *alone = NULL;
                char *longer = NULL;

                alone = plan(corpus, 0, "--host '%s' '%s/guest%zu.xml'", file, corpus->tree.path, i);
                assert_int_equal(json_object_array_length(alone), 1);
                check_domain(host, element(alone, 0), &sizes[i]);
                assert_true(asprintf(&longer, "%s '%s/guest%zu.xml'", all, corpus->tree.path, i) > 0);
                free(all);
                all = longer;
        }
        together = plan(corpus, 0, "--host '%s' %s", file, all);
        assert_int_equal(json_object_array_length(together), N_SIZES);
        for (size_t i = 0; i < N_SIZES; i++)
                check_domain(host, element(together, i), &sizes[i]);
        check_sums(host, together);
}

static void is_valid_on_every_recorded_topology(void **state)
{
        struct corpus *corpus = *state;
        HN_FREE char *folder = NULL;
        HN_CLOSEDIR DIR *dir = NULL;
        unsigned n = 0;

        for (size_t i = 0; i < N_SIZES; i++) {
                char name[32];

                (void) snprintf(name, sizeof name, "guest%zu", i);
                put_domain(corpus, name, &sizes[i]);
        }
        folder = recorded("topologies");
        assert_non_null(folder);
        dir = opendir(folder);
        assert_non_null(dir);
        for (struct dirent *file; (file = readdir(dir));) {
                HN_FREE char *path = NULL;

                if (!strstr(file->d_name, ".xml"))
                        continue;
                assert_true(asprintf(&path, "%s/%s", folder, file->d_name) > 0);
                print_message("%s\n", file->d_name);
                check_topology(corpus, path);
                n++;
        }
        assert_true(n > 0);
}

static int set_up(void **state)
{
        static struct corpus corpus;

        corpus.command = getenv("HOMENODE_COMMAND");
        corpus.fixtures = getenv("HOMENODE_FIXTURES");
        tree_make(&corpus.tree);
        *state = &corpus;
        return 0;
}

static int tear_down(void **state)
{
        tree_remove(&((struct corpus *) *state)->tree);
        return 0;
}

int main(void)
{
        const struct CMUnitTest always[] = {
                cmocka_unit_test(holds_what_the_contract_names),
                cmocka_unit_test(says_who_is_left_alone),
                cmocka_unit_test(plans_the_others_where_one_is_broken),
                cmocka_unit_test(reserves_before_the_next),
        };
        const struct CMUnitTest machines[] = { cmocka_unit_test(is_valid_on_every_recorded_topology) };
        HN_FREE char *topologies = NULL;
        int failed;

        if (!getenv("HOMENODE_COMMAND") || !getenv("HOMENODE_FIXTURES")) {
                (void) fprintf(stderr, "HOMENODE_COMMAND and HOMENODE_FIXTURES are not set: see make check\n");
                return 1;
        }
        failed = cmocka_run_group_tests(always, set_up, tear_down);
        if (failed)
                return 1;
        topologies = recorded("topologies");
        if (!topologies)
                return SKIPPED;
        return cmocka_run_group_tests(machines, set_up, tear_down) ? 1 : 0;
}
