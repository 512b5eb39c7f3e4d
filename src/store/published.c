/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/published.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "model/clock.h"
#include "model/json.h"
#include "model/state.h"
#include "model/uuid.h"

#define STATE_LIMIT (8u << 20)
#define STATE_DEPTH 16

/* Whoever looks shares the lock that the daemon has alone. */
int hn_published_lives(const struct hn_root *root, bool *ret)
{
        HN_CLOSE int fd = hn_root_open_regular(root, O_RDONLY | O_NOFOLLOW, 0, HN_PUBLISHED_PATH);

        if (fd < 0 && fd != -ENOENT)
                return fd;
        *ret = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
        return 0;
}

static bool is_held(const struct hn_root *root)
{
        bool lives = false;

        return hn_published_lives(root, &lives) >= 0 && lives;
}

/* Was it written in this boot, and does it still count? */
static bool counts(const struct hn_root *root, struct json_object *state)
{
        char boot_id[HN_UUID_LENGTH + 1];
        const char *state_boot_id = NULL;
        uint64_t version = 0, written_us = 0, now_us = hn_boottime_us();

        return hn_json_get_u64(state, "version", HN_STATE_VERSION, &version) >= 0 && version == HN_STATE_VERSION &&
               hn_json_get_u64(state, "written_us", UINT64_MAX, &written_us) >= 0 && written_us <= now_us &&
               hn_json_get_string(state, "boot_id", &state_boot_id) >= 0 &&
               hn_boot_id(root, boot_id) >= 0 && strcasecmp(boot_id, state_boot_id) == 0 &&
               (now_us - written_us <= HN_PUBLISHED_FRESH_US || is_held(root));
}

int hn_published_read(const struct hn_root *root, struct json_object **ret)
{
        HN_JSON struct json_object *state = NULL;
        int r = hn_json_read(root, STATE_LIMIT, STATE_DEPTH, &state, HN_PUBLISHED_PATH);

        if (r < 0)
                return r;
        if (!counts(root, state))
                return -ENOENT;
        *ret = HN_TAKE(state);
        return 0;
}

int hn_published_hold(const struct hn_root *root)
{
        HN_CLOSE int fd = hn_root_open_regular(root, O_RDONLY | O_NOFOLLOW, 0, HN_PUBLISHED_PATH);
        int held = fd;

        if (fd < 0)
                return fd;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        fd = -1;
        return held;
}
