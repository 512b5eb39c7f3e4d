/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "act/bus.h"
#include "act/scope.h"
#include "model/clock.h"
#include "model/text.h"

#define DESTINATION "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define UNIT_PATH "/org/freedesktop/systemd1/unit"
#define SCOPE "org.freedesktop.systemd1.Scope"
#define CPUS "AllowedCPUs"
#define NODES "AllowedMemoryNodes"

struct hn_systemd {
        const struct hn_root *root;
        char *address;
        sd_bus *bus; /* NULL: not connected */
};

HN_DEFINE_CLEANUP(sd_bus_message *, (void) sd_bus_message_unref, cleanup_message)

int hn_unit_mask(hwloc_const_bitmap_t set, uint8_t **ret, size_t *ret_n)
{
        int last = hwloc_bitmap_last(set);
        size_t n = (size_t) (last + 8) / 8;

        if (last < 0 && !hwloc_bitmap_iszero(set))
                return -EINVAL;
        uint8_t *mask = calloc(n ? n : 1, 1);
        if (!mask)
                return -ENOMEM;
        HN_IDSET_FOREACH(id, set)
                mask[id / 8] |= (uint8_t) (1u << (id % 8));
        *ret = mask;
        *ret_n = n;
        return 0;
}

int hn_unit_unmask(const uint8_t *mask, size_t n, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t set = hwloc_bitmap_alloc();

        if (!set)
                return -ENOMEM;
        if (n > HN_IDSET_LIMIT / 8)
                return -ERANGE;
        for (unsigned id = 0; id < n * 8; id++)
                if (mask[id / 8] & (1u << (id % 8)) && hwloc_bitmap_set(set, id) < 0)
                        return -ENOMEM;
        *ret = HN_TAKE(set);
        return 0;
}

int hn_systemd_new(const struct hn_root *root, const char *address, struct hn_systemd **ret)
{
        HN_SYSTEMD struct hn_systemd *systemd = calloc(1, sizeof *systemd);

        if (!systemd)
                return -ENOMEM;
        systemd->root = root;
        systemd->address = address ? strdup(address) : NULL;
        if (address && !systemd->address)
                return -ENOMEM;
        *ret = HN_TAKE(systemd);
        return 0;
}

static void disconnect(struct hn_systemd *systemd)
{
        hn_bus_close(systemd->bus);
        systemd->bus = NULL;
}

void hn_systemd_free(struct hn_systemd *systemd)
{
        if (!systemd)
                return;
        disconnect(systemd);
        free(systemd->address);
        free(systemd);
}

/* A recorded tree without an address. */
static bool only_recorded(const struct hn_systemd *systemd)
{
        return !systemd->root->host && !systemd->address;
}

static int ensure_connected(struct hn_systemd *systemd, uint64_t deadline_us)
{
        int r;

        if (systemd->bus && sd_bus_is_open(systemd->bus) > 0)
                return 0;
        disconnect(systemd);
        r = hn_bus_open(systemd->address, deadline_us, &systemd->bus);
        return r < 0 ? r : 0;
}

/* Calls and hands over the reply.  A connection that broke is made anew the next time. */
static int call(struct hn_systemd *systemd, sd_bus_message *message, uint64_t deadline_us, sd_bus_message **ret)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        uint64_t now_us = hn_monotonic_us();
        int r = now_us < deadline_us ? sd_bus_call(systemd->bus, message, deadline_us - now_us, &error, ret)
                                     : -ETIMEDOUT;

        if (r < 0 && sd_bus_error_has_name(&error, "org.freedesktop.systemd1.NoSuchUnit"))
                r = -ENOENT;
        if (r < 0 && !sd_bus_error_is_set(&error))
                disconnect(systemd);
        sd_bus_error_free(&error);
        return r;
}

/* ---- setting */

static int append_set(sd_bus_message *message, const char *property, hwloc_const_bitmap_t set)
{
        HN_FREE uint8_t *mask = NULL;
        size_t n = 0;
        int r;

        if (!set)
                return 0;
        r = hn_unit_mask(set, &mask, &n);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", property);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', mask, n);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int set_message(sd_bus *bus, const char *unit, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes,
                       sd_bus_message **ret)
{
        HN_CLEANUP(cleanup_message) sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(bus, &message, DESTINATION, MANAGER_PATH, MANAGER, "SetUnitProperties");

        if (r >= 0)
                r = sd_bus_message_append(message, "sb", unit, 1 /* runtime */);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sv)");
        if (r >= 0)
                r = append_set(message, CPUS, cpus);
        if (r >= 0)
                r = append_set(message, NODES, nodes);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r < 0)
                return r;
        *ret = HN_TAKE(message);
        return 0;
}

static int record(const struct hn_root *root, const char *unit, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes)
{
        HN_FREE char *cpu_list = NULL, *node_list = NULL;
        int r = cpus ? hn_idset_format(cpus, &cpu_list) : 0;

        if (r >= 0 && nodes)
                r = hn_idset_format(nodes, &node_list);
        if (r >= 0)
                r = hn_root_mkdir(root, 0700, "/run/homenode");
        if (r < 0)
                return r;
        HN_CLOSE int fd = hn_root_open_regular(root, O_WRONLY | O_APPEND | O_CREAT, 0600, "%s", HN_UNITS_FILE);
        if (fd < 0)
                return fd;
        r = dprintf(fd, "%s%s%s%s%s\n", unit, cpus ? " " CPUS "=" : "", cpus ? cpu_list : "",
                    nodes ? " " NODES "=" : "", nodes ? node_list : "");
        return r < 0 ? -errno : 0;
}

static bool is_empty(hwloc_const_bitmap_t set)
{
        return set && hwloc_bitmap_iszero(set);
}

int hn_unit_set(struct hn_systemd *systemd, const char *unit, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes,
                uint64_t wait_us)
{
        HN_CLEANUP(cleanup_message) sd_bus_message *message = NULL, *reply = NULL;
        uint64_t deadline_us = hn_monotonic_us() + wait_us;
        int r;

        if (!hn_scope_unit_valid(unit) || is_empty(cpus) || is_empty(nodes))
                return -EINVAL;
        if (!cpus && !nodes)
                return 0;
        if (only_recorded(systemd))
                return record(systemd->root, unit, cpus, nodes);
        r = ensure_connected(systemd, deadline_us);
        if (r >= 0)
                r = set_message(systemd->bus, unit, cpus, nodes, &message);
        if (r >= 0)
                r = call(systemd, message, deadline_us, &reply);
        return r < 0 ? r : 0;
}

/* ---- reading */

static int get_set(struct hn_systemd *systemd, const char *path, const char *property, uint64_t deadline_us,
                   hwloc_bitmap_t *ret)
{
        HN_CLEANUP(cleanup_message) sd_bus_message *message = NULL, *reply = NULL;
        const void *mask = NULL;
        size_t n = 0;
        int r = sd_bus_message_new_method_call(systemd->bus, &message, DESTINATION, path,
                                               "org.freedesktop.DBus.Properties", "Get");

        if (r >= 0)
                r = sd_bus_message_append(message, "ss", SCOPE, property);
        if (r >= 0)
                r = call(systemd, message, deadline_us, &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_read_array(reply, 'y', &mask, &n);
        return r < 0 ? r : hn_unit_unmask(mask, n, ret);
}

int hn_unit_get(struct hn_systemd *systemd, const char *unit, hwloc_bitmap_t *ret_cpus, hwloc_bitmap_t *ret_nodes,
                uint64_t wait_us)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL, nodes = NULL;
        HN_FREE char *path = NULL;
        uint64_t deadline_us = hn_monotonic_us() + wait_us;
        int r;

        if (!hn_scope_unit_valid(unit))
                return -EINVAL;
        if (only_recorded(systemd))
                return -ENOENT;
        r = sd_bus_path_encode(UNIT_PATH, unit, &path);
        if (r >= 0)
                r = ensure_connected(systemd, deadline_us);
        if (r >= 0)
                r = get_set(systemd, path, CPUS, deadline_us, &cpus);
        if (r >= 0)
                r = get_set(systemd, path, NODES, deadline_us, &nodes);
        if (r < 0)
                return r;
        *ret_cpus = HN_TAKE(cpus);
        *ret_nodes = HN_TAKE(nodes);
        return 0;
}
