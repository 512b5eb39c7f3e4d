/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/explain.h"

#include <errno.h>
#include <string.h>

#include "model/text.h"
#include "model/json.h"

static int add_text(struct json_object *to, const char *key, const char *text)
{
        return hn_json_add(to, key, json_object_new_string(text ? text : ""));
}

static int add_set(struct json_object *to, const char *key, hwloc_const_bitmap_t set)
{
        return hn_json_add(to, key, hn_json_new_set(set));
}

/* Adds NULL where there is nothing to say: json-c's NULL is no object and can't fail. */
static int add_null(struct json_object *to, const char *key)
{
        return json_object_object_add(to, key, NULL) == 0 ? 0 : -ENOMEM;
}

static int score_json(const struct hn_score *score, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        int r = json ? 0 : -ENOMEM;

        for (int i = 0; r >= 0 && i < HN_TERMS; i++)
                r = hn_json_add(json, hn_term_name((enum hn_term) i),
                                json_object_new_double(score->terms[i]));
        if (r >= 0)
                r = hn_json_add(json, "total", json_object_new_double(score->total));
        if (r < 0)
                return r;
        *ret = HN_TAKE(json);
        return 0;
}

static int add_score(struct json_object *to, const struct hn_score *score)
{
        struct json_object *json = NULL;
        int r = score_json(score, &json);

        return r < 0 ? r : hn_json_add(to, "score", json);
}

static int cell_json(const struct hn_placed_cell *cell, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        int r;

        if (!json)
                return -ENOMEM;
        r = hn_json_add(json, "id", json_object_new_int64(cell->id));
        if (r >= 0)
                r = add_set(json, "vcpus", cell->vcpus);
        if (r >= 0)
                r = hn_json_add(json, "memory_kib", json_object_new_uint64(cell->memory_kib));
        if (r >= 0)
                r = add_set(json, "nodes", cell->nodes);
        if (r >= 0)
                r = add_set(json, "cpus", cell->cpus);
        if (r < 0)
                return r;
        *ret = HN_TAKE(json);
        return 0;
}

static int add_cells(struct json_object *to, const struct hn_placement *placement)
{
        HN_JSON struct json_object *array = json_object_new_array();

        if (!array)
                return -ENOMEM;
        for (size_t i = 0; i < placement->n_cells; i++) {
                struct json_object *cell = NULL;
                int r = cell_json(&placement->cells[i], &cell);

                if (r < 0)
                        return r;
                if (json_object_array_add(array, cell) < 0) {
                        (void) json_object_put(cell);
                        return -ENOMEM;
                }
        }
        return hn_json_add(to, "cells", HN_TAKE(array));
}

/* vCPUs whose CPUs are not their cell's, in the form of the ledger; nothing where there is none. */
static int add_vcpus(struct json_object *to, const struct hn_placement *placement)
{
        HN_JSON struct json_object *array = json_object_new_array();

        if (!array)
                return -ENOMEM;
        if (!placement->n_vcpu_cpus)
                return 0;
        for (size_t i = 0; i < placement->n_vcpu_cpus; i++) {
                struct json_object *vcpu = json_object_new_object();

                if (!vcpu || json_object_array_add(array, vcpu) < 0) {
                        (void) json_object_put(vcpu);
                        return -ENOMEM;
                }
                if (hn_json_add(vcpu, "vcpu", json_object_new_int64(placement->vcpu_cpus[i].id)) < 0
                    || add_set(vcpu, "cpus", placement->vcpu_cpus[i].cpus) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(to, "vcpu_cpus", HN_TAKE(array));
}

static int add_runner_up(struct json_object *to, const struct hn_decision *decision)
{
        HN_JSON struct json_object *json = NULL;
        int r;

        if (!decision->runner_up)
                return add_null(to, "runner_up");
        json = json_object_new_object();
        if (!json)
                return -ENOMEM;
        r = add_set(json, "nodes", decision->runner_up);
        if (r >= 0)
                r = add_score(json, &decision->runner_up_score);
        return r < 0 ? r : hn_json_add(to, "runner_up", HN_TAKE(json));
}

static const char *verdict_name(enum hn_verdict verdict)
{
        if (verdict == HN_PLACED)
                return "placed";
        return verdict == HN_LEFT ? "left" : "refused";
}

int hn_explain_json(const struct hn_request *request, const struct hn_decision *decision,
                    struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        bool placed = decision->verdict == HN_PLACED;
        int r;

        if (!json)
                return -ENOMEM;
        r = add_text(json, "name", request->name);
        if (r >= 0)
                r = add_text(json, "uuid", request->uuid);
        if (r >= 0)
                r = hn_json_add(json, "managed", json_object_new_boolean(placed));
        if (r >= 0)
                r = add_text(json, "verdict", verdict_name(decision->verdict));
        if (r >= 0)
                r = add_text(json, "reason", decision->reason);
        if (r >= 0)
                r = add_cells(json, decision->placement);
        if (r >= 0)
                r = add_vcpus(json, decision->placement);
        if (r >= 0)
                r = placed ? add_score(json, &decision->score) : add_null(json, "score");
        if (r >= 0)
                r = add_runner_up(json, decision);
        if (r < 0)
                return r;
        *ret = HN_TAKE(json);
        return 0;
}

/* What it means that a term is smaller. */
static const char *term_says(enum hn_term term)
{
        static const char *const says[HN_TERMS] = {
                [HN_TERM_REMOTE] = "memory is nearer",
                [HN_TERM_CPU] = "less CPU demand there",
                [HN_TERM_MEMORY] = "more memory left there",
                [HN_TERM_CACHE] = "vCPUs share a cache there",
                [HN_TERM_DEVICE] = "its devices are nearer",
                [HN_TERM_HOLE] = "a larger hole is kept for others",
                [HN_TERM_MOVE] = "less to be moved",
        };

        return says[term];
}

/* Less than a quarter of a per cent all in all: what no measurement could show. */
#define HARDLY 0.0025

static int weigh_terms(const struct hn_decision *decision, const char *rather, char **ret)
{
        double most = 0, apart = decision->runner_up_score.total - decision->score.total;
        char own[HN_TEXT_SIZE], other[HN_TEXT_SIZE];
        int term = -1;

        if (hn_idset_count(decision->runner_up) > hn_idset_count(decision->placement->home))
                return hn_text_add(ret, "%s: fewer nodes hold it", rather);
        for (int i = 0; i < HN_TERMS; i++) {
                double gain = decision->runner_up_score.terms[i] - decision->score.terms[i];

                if (gain > most) {
                        most = gain;
                        term = i;
                }
        }
        if (term < 0 || apart < 1e-9)
                return hn_text_add(ret, "%s: as good as each other, the less busy or lower numbers are taken",
                                   rather);
        if (apart < HARDLY)
                return hn_text_add(ret, "%s: hardly any difference, %s", rather, term_says((enum hn_term) term));
        hn_text_apart(decision->score.terms[term], decision->runner_up_score.terms[term], own, other);
        return hn_text_add(ret, "%s: %s (expected slowdown %s against %s)", rather, term_says((enum hn_term) term),
                           own, other);
}

int hn_explain_sentence(const struct hn_decision *decision, char **ret)
{
        HN_FREE char *home = NULL, *other = NULL, *rather = NULL, *text = NULL;
        int r;

        if (decision->verdict != HN_PLACED)
                r = hn_text_add(&text, "%s", decision->reason ? decision->reason : "");
        else {
                home = hn_text_nodes(decision->placement->home);
                other = decision->runner_up ? hn_text_nodes(decision->runner_up) : NULL;
                if (!home || (decision->runner_up && !other))
                        return -ENOMEM;
                if (!other)
                        r = hn_text_add(&text, "%s: no other %s that it may use can hold it", home,
                                        hn_idset_count(decision->placement->home) == 1 ? "node" : "nodes");
                else {
                        r = hn_text_add(&rather, "%s rather than %s", home, other);
                        if (r >= 0)
                                r = weigh_terms(decision, rather, &text);
                }
        }
        if (r < 0)
                return r;
        *ret = HN_TAKE(text);
        return 0;
}
