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
        /* 4 of 8 busy alone; with the other one, 0.25 and that one's 0.1875 */
        assert_string_equal(busy, "node 1 rather than node 0: less CPU demand there (0.062 against 0.44)");
        only = sentence_of(scene, 16, GIB);
        assert_string_equal(only, "nodes 0-1: nothing else holds it");
        none = sentence_of(scene, 2, 100 * GIB);
        assert_non_null(strstr(none, "no room"));
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
                cmocka_unit_test(a_runner_up_in_json),
                cmocka_unit_test(what_is_left_or_refused_is_not_managed),
                cmocka_unit_test(the_sentence_names_what_decided),
                cmocka_unit_test(sizes_read_well),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
