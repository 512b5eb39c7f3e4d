/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Decisions in words and as JSON.
 */
#include "unit/support/test.h"

#include "decide/explain.h"
#include "model/text.h"
#include "model/json.h"
#include "unit/support/scene.h"

static const struct host_plan two = { .nodes = 2, .cores = 8, .threads = 1, .memory_kib = 32 * GIB };

static struct json_object *member(struct json_object *object, const char *name)
{
        struct json_object *value = NULL;

        if (!json_object_object_get_ex(object, name, &value))
                fail_msg("no member %s", name);
        return value;
}

static struct json_object *json_of(const struct hn_request *request, const struct hn_decision *decision)
{
        struct json_object *json = NULL;

        assert_int_equal(hn_explain_json(request, decision, &json), 0);
        return json;
}

static void a_placed_domain_in_json(void **state)
{
        struct scene *scene = scene_of(host_of(&two));
        struct hn_request *request = vm(7, 16, 4 * GIB);
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);
        HN_JSON struct json_object *json = json_of(request, d);
        struct json_object *cell = json_object_array_get_idx(member(json, "cells"), 1);
        double sum = 0;

        (void) state;
        assert_string_equal(json_object_get_string(member(json, "name")), "vm7");
        assert_string_equal(json_object_get_string(member(json, "uuid")),
                            "00000000-0000-0000-0000-000000000007");
        assert_true(json_object_get_boolean(member(json, "managed")));
        assert_string_equal(json_object_get_string(member(json, "verdict")), "placed");
        assert_int_equal(json_object_array_length(member(json, "cells")), 2);
        assert_int_equal(json_object_get_int(member(cell, "id")), 1);
        assert_string_equal(json_object_get_string(member(cell, "vcpus")), "8-15");
        assert_int_equal(json_object_get_int64(member(cell, "memory_kib")), 2 * GIB);
        assert_string_equal(json_object_get_string(member(cell, "nodes")), "1");
        assert_string_equal(json_object_get_string(member(cell, "cpus")), "8-15");
        for (int i = 0; i < HN_TERMS; i++)
                sum += json_object_get_double(member(member(json, "score"), hn_term_name((enum hn_term) i)));
        assert_float_equal(sum, json_object_get_double(member(member(json, "score"), "total")), 1e-9);
        assert_null(member(json, "runner_up"));
        hn_request_free(request);
        scene_free(scene);
}

static void vcpus_with_cores_of_their_own_in_json(void **state)
{
        struct scene *scene = scene_of(host_of(&two));
        struct hn_request *request = vm(7, 2, GIB);
        HN_DECISION struct hn_decision *floats = scene_ask(scene, request), *pinned = NULL;
        HN_JSON struct json_object *without = json_of(request, floats), *with = NULL;
        struct json_object *vcpu;

        (void) state;
        assert_false(json_object_object_get_ex(without, "vcpu_cpus", NULL));
        request->wishes.pin_cores = true;
        pinned = scene_ask(scene, request);
        with = json_of(request, pinned);
        assert_int_equal(json_object_array_length(member(with, "vcpu_cpus")), 2);
        vcpu = json_object_array_get_idx(member(with, "vcpu_cpus"), 1);
        assert_int_equal(json_object_get_int(member(vcpu, "vcpu")), 1);
        assert_string_equal(json_object_get_string(member(vcpu, "cpus")), "1");
        hn_request_free(request);
        scene_free(scene);
}

static void a_runner_up_in_json(void **state)
{
        struct scene *scene = scene_of(host_of(&two));
        struct hn_request *request = vm(7, 2, GIB);
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);
        HN_JSON struct json_object *json = json_of(request, d);
        struct json_object *other = member(json, "runner_up");

        (void) state;
        assert_string_equal(json_object_get_string(member(other, "nodes")), "1");
        assert_true(json_object_get_double(member(member(other, "score"), "total")) > 0);
        hn_request_free(request);
        scene_free(scene);
}

static void what_is_left_or_refused_is_not_managed(void **state)
{
        struct scene *scene = scene_of(host_of(&two));
        struct hn_request *off = vm(1, 2, GIB), *wrong = vm(2, 2, GIB);
        HN_DECISION struct hn_decision *a = NULL, *b = NULL;
        HN_JSON struct json_object *left = NULL, *refused = NULL;

        (void) state;
        off->wishes.off = true;
        wrong->wishes.nodes = set_of("5");
        a = scene_ask(scene, off);
        b = scene_ask(scene, wrong);
        left = json_of(off, a);
        refused = json_of(wrong, b);
        assert_false(json_object_get_boolean(member(left, "managed")));
        assert_string_equal(json_object_get_string(member(left, "verdict")), "left");
        assert_int_equal(json_object_array_length(member(left, "cells")), 0);
        assert_null(member(left, "score"));
        assert_null(member(left, "runner_up"));
        assert_non_null(strstr(json_object_get_string(member(left, "reason")), "opted out"));
        assert_false(json_object_get_boolean(member(refused, "managed")));
        assert_string_equal(json_object_get_string(member(refused, "verdict")), "refused");
        hn_request_free(off);
        hn_request_free(wrong);
        scene_free(scene);
}

/* Sentence of one more domain on the scene. */
static char *sentence_of(const struct scene *scene, unsigned vcpus, uint64_t memory_kib)
{
        struct hn_request *request = vm(99, vcpus, memory_kib);
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);
        char *text = NULL;

        assert_int_equal(hn_explain_sentence(d, &text), 0);
        hn_request_free(request);
        return text;
}

static void the_sentence_names_what_decided(void **state)
{
        struct scene *scene = scene_of(host_of(&two));
        HN_FREE char *idle = sentence_of(scene, 4, GIB), *busy = NULL, *only = NULL, *none = NULL;

        (void) state;
        assert_string_equal(idle, "node 0 rather than node 1: as good as each other, the less busy or lower "
                                  "numbers are taken");
        (void) scene_start_vm(scene, 1, 4, GIB);
        busy = sentence_of(scene, 4, GIB);
        /* 4 of 8 busy alone; with the other one, 0.2 and that one's 0.1625 */
        assert_string_equal(busy, "node 1 rather than node 0: less CPU demand there (expected slowdown "
                                  "0.037 against 0.36)");
        only = sentence_of(scene, 16, GIB);
        assert_string_equal(only, "nodes 0-1: no other nodes that it may use can hold it");
        none = sentence_of(scene, 2, 100 * GIB);
        assert_non_null(strstr(none, "no room"));
        scene_free(scene);
}

/* A decision for node 0 with node 1 second, that differ in one term. */
static char *sentence_of_terms(enum hn_term term, double first, double second)
{
        HN_BITMAP hwloc_bitmap_t other = set_of("1");
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        struct hn_decision decision = { .verdict = HN_PLACED, .placement = placement, .runner_up = other };
        char *text = NULL;

        assert_non_null(placement);
        hwloc_bitmap_set(placement->home, 0);
        decision.score.terms[term] = decision.score.total = first;
        decision.runner_up_score.terms[term] = decision.runner_up_score.total = second;
        assert_int_equal(hn_explain_sentence(&decision, &text), 0);
        return text;
}

static void numbers_that_decide_differ_to_the_eye(void **state)
{
        HN_FREE char *close = sentence_of_terms(HN_TERM_CPU, 0.2712, 0.2744);
        HN_FREE char *closer = sentence_of_terms(HN_TERM_CPU, 12.0012, 12.0041);

        (void) state;
        assert_string_equal(close, "node 0 rather than node 1: less CPU demand there "
                                   "(expected slowdown 0.271 against 0.274)");
        assert_string_equal(closer, "node 0 rather than node 1: less CPU demand there "
                                    "(expected slowdown 12.001 against 12.004)");
}

static void what_nobody_could_measure_is_hardly_a_difference(void **state)
{
        HN_FREE char *memory = sentence_of_terms(HN_TERM_MEMORY, 0.052, 0.053);
        HN_FREE char *cpu = sentence_of_terms(HN_TERM_CPU, 0.2701, 0.2702);

        (void) state;
        assert_string_equal(memory, "node 0 rather than node 1: hardly any difference, more memory left there");
        assert_string_equal(cpu, "node 0 rather than node 1: hardly any difference, less CPU demand there");
}

static void a_single_node_is_the_only_one(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 8, 1, 0, 32 * GIB }));
        HN_FREE char *text = sentence_of(scene, 2, GIB);

        (void) state;
        assert_string_equal(text, "node 0: no other node that it may use can hold it");
        scene_free(scene);
}

static void sizes_read_well(void **state)
{
        char buffer[HN_TEXT_SIZE];

        (void) state;
        assert_string_equal(hn_text_size(0, buffer), "0 KiB");
        assert_string_equal(hn_text_size(512 * MIB, buffer), "512 MiB");
        assert_string_equal(hn_text_size(12 * GIB, buffer), "12 GiB");
        assert_string_equal(hn_text_size(12 * GIB + GIB / 2, buffer), "12.5 GiB");
        assert_true(strlen(hn_text_size(UINT64_MAX, buffer)) < HN_TEXT_SIZE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_placed_domain_in_json),
                cmocka_unit_test(vcpus_with_cores_of_their_own_in_json),
                cmocka_unit_test(a_runner_up_in_json),
                cmocka_unit_test(what_is_left_or_refused_is_not_managed),
                cmocka_unit_test(the_sentence_names_what_decided),
                cmocka_unit_test(numbers_that_decide_differ_to_the_eye),
                cmocka_unit_test(what_nobody_could_measure_is_hardly_a_difference),
                cmocka_unit_test(a_single_node_is_the_only_one),
                cmocka_unit_test(sizes_read_well),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
