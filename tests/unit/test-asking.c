/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asking apart from the loop: who waits waits alone, the loop turns, and stopping does not wait either.
 */
#include "daemon/asking.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "daemon/turn.h"
#include "model/clock.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"
#include "unit/support/turns.h"

#define HELD "0a1b2c3d-4e5f-4a6b-8c7d-00000000000" /* and a digit */
#define HELD_0 HELD "0"
#define OTHER "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ff"
#define SLOW_MS 300u /* far more than a busy machine keeps a thread from running */

/* A libvirt with a domain that somebody may hold. */
struct gate {
        pthread_mutex_t lock;
        pthread_cond_t opened;
        bool held;
        unsigned inside, most_inside; /* threads */
};

struct scene {
        struct tree tree;
        struct turns turns;
        struct hn_asking *asking;
        struct gate gate;
        pthread_t own;
        unsigned answered, freed, wanted;
};

static struct scene scene = { .gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER } };

static int set_up(void **state)
{
        (void) state;
        tree_make(&scene.tree);
        tree_put(&scene.tree, "/proc/sys/kernel/random/boot_id", "11111111-2222-4333-8444-555555555555\n");
        assert_int_equal(hn_root_mkdir(&scene.tree.root, 0700, "/run/homenode"), 0);
        turns_open(&scene.turns);
        scene.own = pthread_self();
        scene.answered = scene.freed = 0;
        scene.wanted = UINT_MAX;
        scene.gate.most_inside = 0;
        assert_int_equal(hn_asking_new(&scene.tree.root, SLOW_MS, &scene.asking), 0);
        return 0;
}

static int tear_down(void **state)
{
        (void) state;
        assert_true(hn_asking_close(scene.asking));
        tree_remove(&scene.tree);
        return 0;
}

static void hold(bool held)
{
        (void) pthread_mutex_lock(&scene.gate.lock);
        scene.gate.held = held;
        (void) pthread_cond_broadcast(&scene.gate.opened);
        (void) pthread_mutex_unlock(&scene.gate.lock);
}

/* `data` is a copy of the UUID. */
static void ask(void *data, virConnectPtr libvirt)
{
        struct gate *gate = &scene.gate;

        assert_null(libvirt);
        assert_false(pthread_equal(pthread_self(), scene.own));
        (void) pthread_mutex_lock(&gate->lock);
        gate->inside++;
        gate->most_inside = gate->inside > gate->most_inside ? gate->inside : gate->most_inside;
        while (gate->held && strncmp(data, HELD, strlen(HELD)) == 0)
                (void) pthread_cond_wait(&gate->opened, &gate->lock);
        gate->inside--;
        (void) pthread_mutex_unlock(&gate->lock);
}

static void answered(void *data)
{
        assert_non_null(data);
        assert_true(pthread_equal(pthread_self(), scene.own));
        if (++scene.answered == scene.wanted)
                hn_loop_stop(scene.turns.loop);
}

static void count_and_free(void *data)
{
        (void) pthread_mutex_lock(&scene.gate.lock);
        scene.freed++;
        (void) pthread_mutex_unlock(&scene.gate.lock);
        free(data);
}

static void put(const char *uuid, unsigned times)
{
        for (unsigned i = 0; i < times; i++) {
                const struct hn_question question = {
                        .uuid = uuid, .data = strdup(uuid), .ask = ask, .answered = answered,
                        .free = count_and_free,
                };

                assert_non_null(question.data);
                assert_int_equal(hn_asking_ask(scene.asking, &question), 0);
        }
}

/* So many domains that are held. */
static void put_held(unsigned n)
{
        for (unsigned i = 0; i < n; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                (void) snprintf(uuid, sizeof uuid, HELD "%u", i % 10u);
                put(uuid, 1);
        }
}

/* Others, each a domain of its own. */
static void put_others(unsigned n)
{
        for (unsigned i = 0; i < n; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                (void) snprintf(uuid, sizeof uuid, "0a1b2c3d-4e5f-4a6b-8c7e-%012u", i);
                put(uuid, 1);
        }
}

/* Until so many have been answered in all, or `wait_ms` are over. */
static unsigned run(unsigned wanted, unsigned wait_ms)
{
        scene.wanted = wanted;
        if (scene.answered >= wanted)
                return scene.answered;
        turns_run(&scene.turns, wait_ms);
        return scene.answered;
}

static unsigned said(const char *text)
{
        HN_FREE char *journal = NULL;
        unsigned n = 0;

        if (hn_root_read(&scene.tree.root, 65536, &journal, NULL, "/run/homenode/journal") < 0)
                return 0;
        for (const char *p = strstr(journal, text); p; p = strstr(p + 1, text))
                n++;
        return n;
}

static void all_are_answered_by_a_few_threads(void **state)
{
        (void) state;
        put_others(2000);
        assert_int_equal(run(2000, 20000), 2000);
        assert_int_equal(scene.freed, 2000);
        assert_in_range(scene.gate.most_inside, 1, HN_ASKING_THREADS);
        put(OTHER, 1);
        assert_int_equal(run(2001, 20000), 2001);
        assert_int_equal(said("libvirt"), 0);
}

static void one_that_is_held_holds_up_no_other(void **state)
{
        (void) state;
        hold(true);
        put(HELD_0, 1);
        put_others(100);
        assert_int_equal(run(100, 20000), 100);
        assert_int_equal(run(101, 5 * SLOW_MS), 100);
        assert_int_equal(said(HELD_0 ": libvirt does not answer for it"), 1);
        put(OTHER, 3);
        assert_int_equal(run(103, 20000), 103);
        hold(false);
        assert_int_equal(run(104, 20000), 104);
        assert_int_equal(said(HELD_0 ": libvirt answers for it again"), 1);
        assert_int_equal(said("\n"), 2);
}

static void one_that_is_held_takes_one_thread_however_often_it_is_asked_about(void **state)
{
        (void) state;
        hold(true);
        put(HELD_0, 10);
        put_others(100);
        assert_int_equal(run(100, 20000), 100);
        assert_int_equal(run(101, 5 * SLOW_MS), 100);
        assert_int_equal(said("libvirt"), 1);
        hold(false);
        assert_int_equal(run(110, 20000), 110);
}

static void waiting_for_an_answer_has_an_end(void **state)
{
        char *uuid = strdup(OTHER);
        struct hn_question question = { .uuid = OTHER, .data = uuid, .ask = ask, .free = count_and_free };
        uint64_t start_us = hn_monotonic_us();
        (void) state;

        hold(true);
        assert_int_equal(hn_asking_wait(scene.asking, &question, 20000), 0);
        assert_int_equal(scene.freed, 0);
        (void) strcpy(uuid, HELD_0);
        question.uuid = HELD_0;
        assert_int_equal(hn_asking_wait(scene.asking, &question, SLOW_MS), -ETIME);
        assert_in_range(hn_monotonic_us() - start_us, SLOW_MS * 1000, 20000000);
        question.data = strdup(HELD_0);
        assert_int_equal(hn_asking_wait(scene.asking, &question, 20000), -EBUSY);
        free(question.data);
        (void) run(1, 3 * SLOW_MS);
        assert_int_equal(said(HELD_0 ": libvirt does not answer for it"), 1);
        hold(false);
        for (unsigned i = 0; i < 2000 && scene.freed == 0; i++)
                (void) run(1, 10); /* the loop lets go of it */
        assert_int_equal(scene.freed, 1);
        assert_int_equal(scene.answered, 0);
}

static void one_that_comes_to_be_held_later_is_told_too(void **state)
{
        (void) state;
        hold(true);
        put_held(1);
        (void) run(1, 3 * SLOW_MS);
        put(HELD "9", 1);
        (void) run(1, 3 * SLOW_MS);
        assert_int_equal(said(HELD_0 ": libvirt does not answer for it"), 1);
        assert_int_equal(said(HELD "9: libvirt does not answer for it"), 1);
        hold(false);
        assert_int_equal(run(2, 20000), 2);
}

static void the_same_is_not_waited_for_twice(void **state)
{
        struct hn_question question = { .uuid = OTHER, .data = strdup(OTHER), .ask = ask, .free = count_and_free };
        (void) state;

        hold(true);
        put_held(HN_ASKING_THREADS);
        assert_int_equal(hn_asking_wait(scene.asking, &question, SLOW_MS), -ETIME);
        question.data = strdup(OTHER);
        assert_int_equal(hn_asking_wait(scene.asking, &question, 20000), -EBUSY);
        free(question.data);
        hold(false);
        assert_int_equal(run(HN_ASKING_THREADS, 20000), HN_ASKING_THREADS);
}

static void when_all_threads_wait_the_others_do_and_the_loop_turns(void **state)
{
        uint64_t start_us = hn_monotonic_us();
        (void) state;

        hold(true);
        put_held(HN_ASKING_THREADS);
        put(OTHER, 10);
        assert_int_equal(run(1, 5 * SLOW_MS), 0);
        assert_in_range(hn_monotonic_us() - start_us, 5 * SLOW_MS * 1000, 20000000);
        assert_int_equal(said("libvirt does not answer for it"), HN_ASKING_THREADS);
        assert_int_equal(said("libvirt answers none of 4 questions"), 1);
        put(OTHER, 1);
        assert_int_equal(run(1, 5 * SLOW_MS), 0);
        assert_int_equal(said("libvirt answers none of 4 questions"), 1);
        hold(false);
        assert_int_equal(run(HN_ASKING_THREADS + 11, 20000), HN_ASKING_THREADS + 11);
        assert_int_equal(said("answers for it again"), HN_ASKING_THREADS);
}

static void closing_asks_what_waits_and_answers_nothing(void **state)
{
        (void) state;
        put_others(500);
        assert_true(hn_asking_close(scene.asking));
        assert_int_equal(scene.answered, 0);
        assert_int_equal(scene.freed, 500);
        scene.asking = NULL;
}

static void closing_does_not_wait_for_what_is_held(void **state)
{
        uint64_t start_us = hn_monotonic_us();
        (void) state;

        hold(true);
        put_held(HN_ASKING_THREADS + 2);
        assert_false(hn_asking_close(HN_TAKE(scene.asking)));
        assert_in_range(hn_monotonic_us() - start_us, 900000, 5000000);
        assert_int_equal(scene.freed, 0);
        /* The threads go on when they can, and leave nothing behind. */
        hold(false);
        for (unsigned left = HN_ASKING_THREADS + 2, i = 0; left && i < 2000; i++) {
                (void) usleep(10000);
                (void) pthread_mutex_lock(&scene.gate.lock);
                left = HN_ASKING_THREADS + 2 - scene.freed;
                (void) pthread_mutex_unlock(&scene.gate.lock);
        }
        assert_int_equal(scene.freed, HN_ASKING_THREADS + 2);
        assert_int_equal(scene.answered, 0);
}

/* ---- the turn */

static unsigned alone, turns; /* what the turn guards */

static void take_turns(void *data, virConnectPtr libvirt)
{
        (void) data;
        (void) libvirt;
        for (unsigned i = 0; i < 500; i++) {
                hn_turn_take();
                assert_int_equal(++alone, 1);
                turns++;
                alone--;
                hn_turn_give();
        }
}

static void a_thread_gets_its_turn_though_others_are_busy(void **state)
{
        const struct hn_question question = { .uuid = OTHER, .data = strdup(""), .ask = take_turns,
                                              .answered = answered, .free = count_and_free };
        const struct hn_question second = { .uuid = HELD_0, .data = strdup(""), .ask = take_turns,
                                            .answered = answered, .free = count_and_free };
        (void) state;

        turns = 0;
        assert_int_equal(hn_asking_ask(scene.asking, &question), 0);
        assert_int_equal(hn_asking_ask(scene.asking, &second), 0);
        for (unsigned own = 0, all = 0; all < 1000 + own; own++) {
                hn_turn_take();
                assert_int_equal(++alone, 1);
                all = ++turns;
                alone--;
                hn_turn_give();
        }
        assert_int_equal(run(2, 20000), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(all_are_answered_by_a_few_threads),
                TEST(one_that_is_held_holds_up_no_other),
                TEST(one_that_is_held_takes_one_thread_however_often_it_is_asked_about),
                TEST(waiting_for_an_answer_has_an_end),
                TEST(one_that_comes_to_be_held_later_is_told_too),
                TEST(the_same_is_not_waited_for_twice),
                TEST(when_all_threads_wait_the_others_do_and_the_loop_turns),
                TEST(closing_asks_what_waits_and_answers_nothing),
                TEST(closing_does_not_wait_for_what_is_held),
                TEST(a_thread_gets_its_turn_though_others_are_busy),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        turns_close(&scene.turns);
        return r;
}
