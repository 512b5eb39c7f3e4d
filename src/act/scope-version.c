/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which systemd runs.  The bus may be stopped, and a start must not wait for it.
 */
#include <errno.h>
#include <string.h>

#include "act/bus.h"
#include "act/libsystemd.h"
#include "act/scope.h"
#include "model/clock.h"
#include "model/text.h"
#include "model/uuid.h"

#define CACHE "/run/homenode/systemd-version"
#define VERSION_LIMIT 100000u

int hn_systemd_version_parse(const char *text, unsigned *ret)
{
        const char *p = text + (*text == 'v');
        unsigned version = 0;

        if (*p < '1' || *p > '9')
                return -EBADMSG;
        for (; *p >= '0' && *p <= '9'; p++) {
                version = version * 10 + (unsigned) (*p - '0');
                if (version >= VERSION_LIMIT)
                        return -EBADMSG;
        }
        if (*p && !strchr(".-~+^ (", *p))
                return -EBADMSG;
        *ret = version;
        return 0;
}

static int ask(uint64_t wait_us, unsigned *ret)
{
        const struct hn_libsystemd *sd = NULL;
        HN_BUS sd_bus *bus = NULL;
        HN_FREE char *text = NULL;
        int r = hn_libsystemd_load(&sd);

        if (r >= 0)
                r = hn_bus_open(NULL, hn_monotonic_us() + wait_us, &bus);
        if (r >= 0)
                r = sd->get_property_string(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                            "org.freedesktop.systemd1.Manager", "Version", NULL, &text);
        return r < 0 ? r : hn_systemd_version_parse(text, ret);
}

/* "BOOT_ID VERSION": another boot may run another systemd. */
static int read_cache(const struct hn_root *root, const char *boot_id, unsigned *ret)
{
        HN_FREE char *line = NULL;
        size_t length = strlen(boot_id);
        int r;

        r = hn_root_read_line(root, &line, CACHE);
        if (r < 0)
                return r;
        if (strncmp(line, boot_id, length) != 0 || line[length] != ' ')
                return -ESTALE;
        return hn_systemd_version_parse(line + length + 1, ret);
}

int hn_systemd_version(const struct hn_root *root, uint64_t wait_us, unsigned *ret)
{
        char boot_id[HN_UUID_LENGTH + 1];
        HN_FREE char *line = NULL;
        unsigned version = 0;

        if (hn_boot_id(root, boot_id) < 0)
                return -ENXIO;
        if (read_cache(root, boot_id, ret) >= 0)
                return 0;
        if (!root->host || !hn_root_exists(root, "/run/systemd/system") || ask(wait_us, &version) < 0)
                return -ENXIO;

        /* Not being able to keep it only means asking again. */
        line = hn_text_print("%s %u\n", boot_id, version);
        if (line && hn_root_mkdir(root, 0700, "/run/homenode") >= 0)
                (void) hn_root_replace(root, line, strlen(line), 0600, CACHE);
        *ret = version;
        return 0;
}
