/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/place.h"

#include "unit/support/test.h"

const struct host_plan four = { .nodes = 4, .cores = 8, .threads = 1, .memory_kib = 32 * GIB };

const struct hn_decision *start_body(struct scene *scene, const char *body)
{
        struct hn_request *request = request_of(body);
        const struct hn_decision *decision = scene_start(scene, request);

        hn_request_free(request);
        return decision;
}

void occupy(struct scene *scene, unsigned number, uint64_t memory_kib, const char *nodes)
{
        struct hn_request *request = vm(number, 1, memory_kib);

        request->wishes.nodes = set_of(nodes);
        assert_int_equal(scene_start(scene, request)->verdict, HN_PLACED);
        hn_request_free(request);
}

const struct hn_promise *promise_on(const struct hn_placement *placement, unsigned node, uint64_t page_kib)
{
        static const struct hn_promise none = { 0 };

        for (size_t i = 0; i < placement->n_promises; i++)
                if (placement->promises[i].node == node && placement->promises[i].page_kib == page_kib)
                        return &placement->promises[i];
        return &none;
}
