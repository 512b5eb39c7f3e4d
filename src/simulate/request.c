/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/request.h"

#include <string.h>

struct hn_request *hn_trace_request_new(void)
{
        HN_REQUEST struct hn_request *request = calloc(1, sizeof *request);

        if (!request)
                return NULL;
        request->type = strdup("kvm");
        request->name = strdup("guest");
        request->iothreads = hwloc_bitmap_alloc();
        if (!request->type || !request->name || !request->iothreads)
                return NULL;
        request->id = -1;
        request->managed_type = true;
        request->wishes.priority = HN_PRIORITY_NORMAL;
        request->wishes.vnuma = -1;
        return HN_TAKE(request);
}

void hn_trace_request_fill(struct hn_request *request, const struct hn_trace_guest *guest)
{
        request->vcpus_max = request->vcpus_current = guest->vcpus;
        request->memory_kib = request->memory_current_kib = guest->memory_kib;
}
