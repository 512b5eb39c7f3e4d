/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of the topology in /run: when it is taken, when it is made anew, and what is read in any case.
 */
#include <sys/stat.h>

#include "model/host-facts.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define RECORD HN_TOPOLOGY_PATH
#define LIMIT ((size_t) 1 << 17)
#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"

static struct hn_host *look(struct tree *tree)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_cache(&tree->root, true, &host), 0);
        assert_string_equal(host->source, "this host");
        return host;
}

static struct hn_words record(struct tree *tree)
{
        struct hn_words words = { 0 };

        assert_int_equal(hn_words_read(&tree->root, LIMIT, &words.words, &words.n, RECORD), 0);
        return words;
}

static void put_record(struct tree *tree, struct hn_words *words)
{
        assert_int_equal(hn_words_write(&tree->root, LIMIT, words, words->words[0], RECORD), 0);
}

/* Changes the record so that a host that came from it can be told: its caches get another size. */
static void mark(struct tree *tree)
{
        HN_WORDS struct hn_words words = record(tree);

        for (size_t i = 0; i < words.n; i++)
                if (words.words[i] == 16384)
                        words.words[i] = 12345;
        put_record(tree, &words);
}

static bool is_marked(const struct hn_host *host)
{
        assert_int_equal(host->n_caches, 2);
        return host->caches[0].size_kib == 12345;
}

static void the_second_look_takes_the_record(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *first = look(tree), *second = NULL;
        struct stat st;

        assert_int_equal(fstatat(tree->root.fd, &RECORD[1], &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(fstatat(tree->root.fd, "run/homenode", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        mark(tree);
        second = look(tree);
        assert_true(is_marked(second));
        assert_int_equal(second->n_nodes, first->n_nodes);
        assert_int_equal(second->n_cores, first->n_cores);
        assert_set(second->nodes[1].cpus, "2-3,6-7");
        assert_int_equal(hn_host_distance(second, 0, 1), 21);
}

static void figures_are_read_each_time(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *first = look(tree), *second = NULL, *third = NULL;

        mark(tree);
        host_tree_put_meminfo(tree, 0, 8u << 20, 777, 0);
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/free_hugepages", "9\n");
        tree_put(tree, CPU "/isolated", "4\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-6\n");
        second = look(tree);
        assert_true(is_marked(second));
        assert_int_equal(second->nodes[0].free_kib, 777);
        assert_int_equal(hn_node_pool(&second->nodes[1], 2048)->free_pages, 9);
        assert_int_equal(second->nodes[1].memory_kib, 6u << 20);
        assert_set(second->nodes[0].cpus, "0-1,5");
        assert_set(second->nodes[1].cpus, "2-3,6");
        assert_set(first->nodes[1].cpus, "2-3,6-7");

        /* … and come back when the limit goes */
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-7\n");
        tree_put(tree, CPU "/isolated", "\n");
        third = look(tree);
        assert_true(is_marked(third));
        assert_set(third->nodes[0].cpus, "0-1,4-5");
        assert_set(third->nodes[1].cpus, "2-3,6-7");
}

static void without_pools_their_free_pages_are_not_read(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_cache(&tree->root, false, &host), 0);
        assert_int_equal(hn_node_pool(&host->nodes[0], 1048576)->total_pages, 1);
        assert_int_equal(hn_node_pool(&host->nodes[0], 1048576)->free_pages, 0);
        assert_int_equal(host->nodes[0].memory_kib, 7u << 20);
}

static void what_the_record_depends_on_makes_it_anew(void **state)
{
        static const struct { const char *path, *text; } changes[] = {
                { "/proc/sys/kernel/random/boot_id", "another-boot\n" },
                { CPU "/online", "0-6\n" },
                { NODE "/online", "0-2\n" },
                { "/sys/bus/pci/devices/0000:07:00.0/vendor", "0x8086\n" },
        };
        struct tree *tree = *state;

        tree_put(tree, NODE "/node2/cpulist", "\n");
        host_tree_put_meminfo(tree, 2, 1000, 1000, 0);
        hn_host_free(look(tree));
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                HN_HOST struct hn_host *host = NULL;

                mark(tree);
                tree_put(tree, changes[i].path, changes[i].text);
                host = look(tree);
                assert_false(is_marked(host));
        }
}

static void check_made_anew(struct tree *tree, const struct hn_words *good)
{
        hn_host_free(look(tree));
        HN_WORDS struct hn_words now = record(tree);
        assert_int_equal(now.n, good->n);
        assert_memory_equal(now.words, good->words, good->n * sizeof *good->words);
}

/* `length` bytes of a record, whatever is in them. */
static void put_bytes(struct tree *tree, const uint64_t *words, size_t length)
{
        assert_int_equal(hn_root_replace(&tree->root, (const char *) words, length, 0600, "%s", RECORD), 0);
}

static void an_odd_record_is_made_anew(void **state)
{
        static const char *const records[] = { "", "x", "{\"key\":{}}", "sixteen bytes...", "twenty-four bytes of it." };
        struct tree *tree = *state;

        hn_host_free(look(tree));
        HN_WORDS struct hn_words good = record(tree);
        HN_FREE uint64_t *copy = hn_array_copy(good.words, good.n, sizeof *copy);
        for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
                tree_put(tree, RECORD, records[i]);
                check_made_anew(tree, &good);
        }
        for (size_t length = 0; length < good.n * sizeof *copy; length += 37) { /* cut short by a full file system */
                put_bytes(tree, copy, length);
                check_made_anew(tree, &good);
        }
        for (size_t i = 0; i < good.n; i++) { /* damaged; of another form, or another version of the package */
                copy[i] ^= UINT64_C(1) << (i % 64);
                put_bytes(tree, copy, good.n * sizeof *copy);
                check_made_anew(tree, &good);
                copy[i] = good.words[i];
        }
}

static void a_record_that_others_may_write_is_made_anew(void **state)
{
        struct tree *tree = *state;

        hn_host_free(look(tree));
        mark(tree);
        assert_int_equal(fchmodat(tree->root.fd, &RECORD[1], 0620, 0), 0);
        HN_HOST struct hn_host *host = look(tree);
        assert_false(is_marked(host));

        tree_put(tree, "/elsewhere", "");
        assert_int_equal(hn_root_remove(&tree->root, RECORD), 0);
        assert_int_equal(symlinkat("../../elsewhere", tree->root.fd, &RECORD[1]), 0);
        hn_host_free(look(tree));
        HN_FREE char *text = NULL;
        assert_int_equal(hn_root_read(&tree->root, LIMIT, &text, NULL, "/elsewhere"), 0);
        assert_string_equal(text, "");
}

/* Each word of a host set to what somebody might forge, with a checksum that belongs to it: refused, or facts that a host
 * can be made of. */
static void forged_words_do_no_harm(void **state)
{
        static const uint64_t odd[] = { 0, 1, 2, 9, 64, 255, 1023, 1024, 8192, 16384, 65536, 1ull << 32, 1ull << 53,
                                        1ull << 63, UINT64_MAX - 7, UINT64_MAX };
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = look(tree);
        HN_WORDS struct hn_words words = { 0 };

        assert_int_equal(hn_facts_to_words(host->facts, &words), 0);
        for (size_t i = 0; i < words.n; i++)
                for (size_t j = 0; j < sizeof odd / sizeof *odd; j++) {
                        HN_FACTS struct hn_facts *facts = NULL;
                        HN_HOST struct hn_host *made = NULL;
                        uint64_t kept = words.words[i];

                        words.words[i] = odd[j];
                        if (hn_facts_from_words(words.words, words.n, &facts) >= 0 && hn_host_settle(facts, &made) >= 0)
                                facts = NULL;
                        words.words[i] = kept;
                }
}

/* What is wrong with the facts themselves is no less of a reason than the checksum. */
static void a_record_that_contradicts_itself_is_made_anew(void **state)
{
        struct tree *tree = *state;

        hn_host_free(look(tree));
        HN_WORDS struct hn_words good = record(tree);
        for (size_t i = 1; i < 4; i++) {
                good.words[good.n - i] = UINT64_MAX;
                put_record(tree, &good);
                HN_HOST struct hn_host *host = look(tree);
                assert_int_equal(host->n_cores, 4);
                HN_WORDS struct hn_words now = record(tree);
                assert_int_not_equal(now.words[good.n - i], UINT64_MAX);
        }
}

/* All that words hold of a host with everything: what they do not hold is read each time. */
static void words_keep_all_that_lasts(void **state)
{
        HN_FACTS struct hn_facts *facts = hn_facts_new(), *again = NULL;
        HN_WORDS struct hn_words words = { 0 }, words_again = { 0 };
        static const struct hn_device device = { 0x10000, 0xff, 0x1f, 7, 0xffff, 1023 }, lost = { .node = -1 };
        (void) state;

        facts->source = strdup("this host");
        facts->nodes = calloc(2, sizeof *facts->nodes);
        facts->n_nodes = 2;
        facts->nodes[0] = (struct hn_fact_node) { .os = 8, .cpus = set_of("0,8191"), .n_pools = 2,
                                                  .pools = calloc(2, sizeof(struct hn_pool)) };
        facts->nodes[0].pools[0].page_kib = 2048;
        facts->nodes[0].pools[1].page_kib = HN_HOST_PAGE_KIB_LIMIT;
        facts->nodes[1] = (struct hn_fact_node) { .os = 1023, .cpus = set_of(""),
                                                  .pools = calloc(1, sizeof(struct hn_pool)) };
        facts->distances = calloc(4, sizeof *facts->distances);
        memcpy(facts->distances, (const unsigned[]) { 10, 254, 254, 10 }, 4 * sizeof *facts->distances);
        facts->distance_source = HN_DISTANCE_BROKEN;
        facts->cores = calloc(2, sizeof *facts->cores);
        facts->n_cores = 2;
        facts->cores[0] = (struct hn_fact_core) { set_of("0"), HN_HOST_KIND_LIMIT - 1 };
        facts->cores[1] = (struct hn_fact_core) { set_of("8191"), -1 };
        facts->caches = calloc(1, sizeof *facts->caches);
        facts->n_caches = 1;
        facts->caches[0] = (struct hn_cache) { HN_HOST_KIB_LIMIT, set_of("0,8191") };
        facts->devices = calloc(2, sizeof *facts->devices);
        facts->n_devices = 2;
        facts->devices[0] = device;
        facts->devices[1] = lost;

        assert_int_equal(hn_facts_to_words(facts, &words), 0);
        assert_int_equal(hn_facts_from_words(words.words, words.n, &again), 0);
        assert_int_equal(again->nodes[0].os, 8);
        assert_int_equal(again->nodes[1].os, 1023);
        assert_set(again->nodes[0].cpus, "0,8191");
        assert_int_equal(again->nodes[0].n_pools, 2);
        assert_int_equal(again->nodes[0].pools[1].page_kib, HN_HOST_PAGE_KIB_LIMIT);
        assert_non_null(again->nodes[1].pools); /* looked for, and none there */
        assert_int_equal(again->distances[1], 254);
        assert_int_equal(again->distance_source, HN_DISTANCE_BROKEN);
        assert_int_equal(again->cores[0].kind, HN_HOST_KIND_LIMIT - 1);
        assert_int_equal(again->cores[1].kind, -1);
        assert_set(again->cores[1].threads, "8191");
        assert_int_equal(again->caches[0].size_kib, HN_HOST_KIB_LIMIT);
        assert_set(again->caches[0].cpus, "0,8191");
        assert_memory_equal(&again->devices[0], &device, sizeof device);
        assert_memory_equal(&again->devices[1], &lost, sizeof lost);
        assert_int_equal(hn_facts_to_words(again, &words_again), 0);
        assert_int_equal(words_again.n, words.n);
        assert_memory_equal(words_again.words, words.words, words.n * sizeof *words.words);
        for (size_t n = 0; n < words.n; n++) {
                struct hn_facts *cut = NULL;

                assert_int_equal(hn_facts_from_words(words.words, n, &cut), -EBADMSG);
        }
}

static void no_room_for_the_record_is_no_failure(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode", "a file where the folder should be");
        hn_host_free(look(tree));
        hn_host_free(look(tree));
}

static void without_a_boot_id_nothing_is_recorded(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(hn_root_remove(&tree->root, "/proc/sys/kernel/random/boot_id"), 0);
        hn_host_free(look(tree));
        assert_false(hn_root_exists(&tree->root, RECORD));
}

static void a_record_does_not_stand_in_for_a_missing_host(void **state)
{
        struct tree *tree = *state;
        struct hn_host *host = NULL;

        hn_host_free(look(tree));
        assert_int_equal(hn_root_remove(&tree->root, NODE "/online"), 0);
        assert_int_equal(hn_host_from_cache(&tree->root, true, &host), -ENOENT);
        assert_null(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(the_second_look_takes_the_record),
                TEST(figures_are_read_each_time),
                TEST(without_pools_their_free_pages_are_not_read),
                TEST(what_the_record_depends_on_makes_it_anew),
                TEST(an_odd_record_is_made_anew),
                TEST(a_record_that_others_may_write_is_made_anew),
                TEST(forged_words_do_no_harm),
                TEST(a_record_that_contradicts_itself_is_made_anew),
                cmocka_unit_test(words_keep_all_that_lasts),
                TEST(no_room_for_the_record_is_no_failure),
                TEST(without_a_boot_id_nothing_is_recorded),
                TEST(a_record_does_not_stand_in_for_a_missing_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
