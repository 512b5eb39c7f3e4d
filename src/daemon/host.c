/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/host.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "model/text.h"

void hn_outlook_clear(struct hn_outlook *outlook)
{
        hn_host_free(outlook->host);
        free(outlook->stamp);
        *outlook = (struct hn_outlook) { 0 };
}

static int add_set(char **stamp, const char *name, hwloc_const_bitmap_t set)
{
        HN_FREE char *list = NULL;
        int r = set ? hn_idset_format(set, &list) : 0;

        return r < 0 ? r : hn_text_add(stamp, "%s %s", name, list ? list : "");
}

static int add_node(char **stamp, const struct hn_node *node)
{
        int r = hn_text_add(stamp, "node %u role %d memory %" PRIu64, node->os, (int) node->role, node->memory_kib);

        if (r >= 0)
                r = add_set(stamp, "cpus", node->cpus);
        for (size_t i = 0; r >= 0 && i < node->n_pools; i++)
                r = hn_text_add(stamp, "pool %" PRIu64 " pages %" PRIu64, node->pools[i].page_kib,
                                node->pools[i].total_pages);
        return r;
}

int hn_outlook_stamp(const struct hn_host *host, char **ret)
{
        HN_FREE char *stamp = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < host->n_nodes; i++)
                r = add_node(&stamp, &host->nodes[i]);
        if (r >= 0)
                r = add_set(&stamp, "isolated", host->isolated);
        if (r >= 0)
                r = add_set(&stamp, "offline", host->offline);
        if (r >= 0)
                r = add_set(&stamp, "allowed cpus", host->allowed_cpus);
        if (r >= 0)
                r = add_set(&stamp, "allowed nodes", host->allowed_nodes);
        for (size_t i = 0; r >= 0 && i < host->n_devices; i++) {
                const struct hn_device *device = &host->devices[i];

                r = hn_text_add(&stamp, "device %x:%x:%x.%x %d", device->domain, device->bus, device->slot,
                                device->function, device->node);
        }
        if (r < 0)
                return r;
        *ret = HN_TAKE(stamp);
        return 0;
}

int hn_outlook_renew(const struct hn_root *root, struct hn_outlook *outlook)
{
        HN_HOST struct hn_host *host = NULL;
        HN_FREE char *stamp = NULL;
        int r = hn_host_from_cache(root, false, &host);

        if (r >= 0)
                r = hn_outlook_stamp(host, &stamp);
        if (r < 0)
                return r;
        if (outlook->stamp && strcmp(outlook->stamp, stamp) == 0)
                return 0;
        hn_host_free(outlook->host);
        free(outlook->stamp);
        outlook->host = HN_TAKE(host);
        outlook->stamp = HN_TAKE(stamp);
        outlook->generation++;
        return 1;
}
