/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/orders.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "daemon/destination.h"
#include "daemon/keeper-internal.h"
#include "model/array.h"
#include "model/clock.h"
#include "model/json.h"

#define CANCEL ".cancel"
#define ANSWER ".answer"
#define DEPTH 4
#define FRESH_US 30000000u  /* an order that is older was put down for another daemon */
#define ANSWER_US 400000u   /* no oftener */

/* A move that somebody follows. */
struct followed {
        char uuid[HN_UUID_LENGTH + 1];
        uint64_t asked_us, answered_us;
        struct hn_move_progress told;
};

struct hn_orders {
        struct hn_keeper *keeper;
        struct hn_mover *mover;
        struct hn_orders_door door;
        int fd;
        struct followed *list;
        size_t n;
};

/* ---- answers */

struct answer {
        const char *state;
        struct hn_move_progress progress;
        const char *text;
};

static int answer_to_json(const struct answer *answer, struct json_object *json)
{
        int r = hn_json_add(json, "state", json_object_new_string(answer->state));

        if (r >= 0)
                r = hn_json_add(json, "moved_kib", json_object_new_uint64(answer->progress.moved_kib));
        if (r >= 0)
                r = hn_json_add(json, "left_kib", json_object_new_uint64(answer->progress.left_kib));
        if (r >= 0)
                r = hn_json_add(json, "took_us", json_object_new_uint64(answer->progress.took_us));
        return r < 0 ? r : hn_json_add(json, "text", json_object_new_string(answer->text));
}

/* What can't be answered is lost: whoever asked looks at the clock. */
static void answer(const struct hn_orders *orders, const char *uuid, uint64_t asked_us, const struct answer *answer)
{
        HN_JSON struct json_object *json = json_object_new_object();

        if (json && answer_to_json(answer, json) >= 0)
                (void) hn_json_replace(orders->keeper->root, json, HN_ORDERS_ANSWER, uuid, asked_us);
}

/* ---- those that are followed */

/* Several may follow one move: who ordered it, and who calls it off. */
static void follow(struct hn_orders *orders, const char *uuid, uint64_t asked_us)
{
        struct followed *list = hn_array_grow(orders->list, orders->n, sizeof *list), *followed;

        if (!list)
                return;
        orders->list = list;
        followed = &list[orders->n++];
        followed->asked_us = asked_us;
        memcpy(followed->uuid, uuid, HN_UUID_LENGTH + 1);
}

static void on_end(void *data, const char *uuid, hwloc_const_bitmap_t home, bool delivered)
{
        struct hn_orders *orders = data;
        const struct hn_guest *guest = hn_guests_find(&orders->keeper->guests, uuid);
        const struct hn_moved *moved = guest && guest->entry ? &guest->entry->moved : NULL;

        (void) home;
        for (size_t i = orders->n; i-- > 0;) {
                struct followed *followed = &orders->list[i];

                if (strcmp(followed->uuid, uuid) != 0)
                        continue;
                /* else that is of an earlier move */
                const char *result = moved && moved->ended_us >= followed->asked_us ? moved->result : NULL;
                (void) hn_mover_look(orders->mover, uuid, &followed->told);
                answer(orders, uuid, followed->asked_us,
                       &(struct answer) { delivered ? "done" : "failed", followed->told,
                                          result ? result : "it has ended, or was given back" });
                *followed = orders->list[--orders->n];
        }
}

void hn_orders_turn(struct hn_orders *orders)
{
        uint64_t now_us = hn_monotonic_us();

        for (size_t i = 0; i < orders->n; i++) {
                struct followed *followed = &orders->list[i];
                struct hn_move_progress now;

                if (now_us - followed->answered_us < ANSWER_US ||
                    hn_mover_look(orders->mover, followed->uuid, &now) < 0)
                        continue;
                followed->answered_us = now_us;
                followed->told = now;
                answer(orders, followed->uuid, followed->asked_us, &(struct answer) { hn_move_stage_name(now.stage), now, "" });
        }
}

/* ---- orders */

static void refuse(const struct hn_orders *orders, const char *uuid, uint64_t asked_us, const char *text)
{
        answer(orders, uuid, asked_us, &(struct answer) { .state = "refused", .text = text });
}

static int begin(struct hn_orders *orders, const char *uuid, hwloc_const_bitmap_t nodes, char **ret_why)
{
        struct hn_guest *guest = hn_guests_find(&orders->keeper->guests, uuid);
        HN_PLACEMENT struct hn_placement *to = NULL;
        struct hn_move_order order = { .uuid = uuid, .kind = HN_MOVE_GUEST, .reason = "ordered by the administrator" };
        const char *why = NULL;
        int r = guest ? hn_destination(orders->keeper, guest, nodes, &to, ret_why) : -ENOENT;

        if (r < 0)
                return r;
        if (orders->door.occupied(orders->door.data, uuid, &why) >= 0 && why) {
                *ret_why = strdup(why);
                return -EAGAIN;
        }
        order.to = to;
        for (size_t i = 0; i < to->n_cells; i++)
                order.memory_kib += to->cells[i].memory_kib; /* at most */
        if (hwloc_bitmap_isequal(nodes, guest->entry->placement->home))
                order.kind = HN_MOVE_GATHER;
        r = hn_mover_begin(orders->mover, &order, 1);
        why = hn_mover_refusal(orders->mover);
        if (r < 0 && *why)
                *ret_why = strdup(why);
        return r;
}

static void take_order(struct hn_orders *orders, const char *uuid, struct json_object *json, uint64_t asked_us)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        HN_FREE char *why = NULL;
        int r = hn_json_get_set(json, "nodes", &nodes);

        if (r >= 0)
                r = begin(orders, uuid, nodes, &why);
        if (r < 0) {
                refuse(orders, uuid, asked_us,
                       why            ? why
                       : r == -ENOENT ? "it does not run, or homenoded does not know it yet"
                       : r == -ETIME  ? "others have the ledger, try again"
                                      : strerror(-r));
                return;
        }
        follow(orders, uuid, asked_us);
}

static void take_cancel(struct hn_orders *orders, const char *uuid, uint64_t asked_us)
{
        if (hn_mover_cancel(orders->mover, uuid, "called off by the administrator") < 0)
                refuse(orders, uuid, asked_us, "it is not being moved");
        else
                follow(orders, uuid, asked_us);
}

/* "UUID" or "UUID.cancel"; others are none of ours. */
static bool is_order(const char *name, char uuid[HN_UUID_LENGTH + 1], bool *ret_cancels)
{
        char start[HN_UUID_LENGTH + 1] = "";

        if (strlen(name) < HN_UUID_LENGTH)
                return false;
        memcpy(start, name, HN_UUID_LENGTH);
        *ret_cancels = strcmp(name + HN_UUID_LENGTH, CANCEL) == 0;
        return (*ret_cancels || !name[HN_UUID_LENGTH]) && hn_uuid_canonical(start, uuid) == 0;
}

static void take_file(struct hn_orders *orders, const char *name)
{
        const struct hn_root *root = orders->keeper->root;
        char uuid[HN_UUID_LENGTH + 1] = "";
        HN_JSON struct json_object *json = NULL;
        uint64_t asked_us = 0, now_us = hn_boottime_us();
        bool cancels = false;
        int r;

        if (!is_order(name, uuid, &cancels))
                return;
        r = hn_json_read(root, HN_ORDER_LIMIT, DEPTH, &json, HN_ORDERS_FOLDER "/%s", name);
        (void) hn_root_remove(root, HN_ORDERS_FOLDER "/%s", name);
        if (r >= 0)
                r = hn_json_get_u64(json, "asked_us", INT64_MAX, &asked_us);
        if (r < 0 || asked_us > now_us || now_us - asked_us > FRESH_US)
                return;
        if (cancels)
                take_cancel(orders, uuid, asked_us);
        else
                take_order(orders, uuid, json, asked_us);
}

static void take_all(struct hn_orders *orders)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;

        if (hn_root_open_dir(orders->keeper->root, &dir, HN_ORDERS_FOLDER) < 0)
                return;
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.')
                        take_file(orders, entry->d_name);
}

void hn_orders_read(struct hn_orders *orders)
{
        union {
                struct inotify_event event;
                char bytes[4096];
        } buffer;

        while (read(orders->fd, buffer.bytes, sizeof buffer.bytes) > 0)
                continue; /* what it is about stands in the folder */
        take_all(orders);
}

int hn_orders_fd(const struct hn_orders *orders)
{
        return orders->fd;
}

/* ---- the whole */

static int watch(struct hn_orders *orders)
{
        int wd;

        orders->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (orders->fd < 0)
                return -errno;
        /* Whole files come by rename; our own answers do as well, and are none of ours. */
        wd = hn_root_watch(orders->keeper->root, orders->fd, IN_MOVED_TO | IN_ONLYDIR, HN_ORDERS_FOLDER);
        return wd < 0 ? wd : 0;
}

/* Nobody waits for those of an earlier daemon. */
static void remove_answers(const struct hn_root *root)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;

        if (hn_root_open_dir(root, &dir, HN_ORDERS_FOLDER) < 0)
                return;
        while ((entry = readdir(dir))) {
                size_t length = strlen(entry->d_name), suffix = strlen(ANSWER);

                if (length > suffix && strcmp(entry->d_name + length - suffix, ANSWER) == 0)
                        (void) hn_root_remove(root, HN_ORDERS_FOLDER "/%s", entry->d_name);
        }
}

int hn_orders_new(struct hn_keeper *keeper, struct hn_mover *mover, const struct hn_orders_door *door,
                  struct hn_orders **ret)
{
        struct hn_orders *made = calloc(1, sizeof *made);
        int r;

        if (!made)
                return -ENOMEM;
        made->keeper = keeper;
        made->mover = mover;
        made->door = *door;
        made->fd = -1;
        HN_ORDERS struct hn_orders *orders = made;
        r = hn_root_mkdir(keeper->root, 0700, HN_ORDERS_FOLDER);
        if (r >= 0)
                r = watch(orders);
        if (r >= 0)
                r = hn_mover_listen(mover, on_end, orders);
        if (r < 0)
                return r;
        remove_answers(keeper->root);
        *ret = HN_TAKE(orders);
        return 0;
}

void hn_orders_free(struct hn_orders *orders)
{
        if (!orders)
                return;
        if (orders->fd >= 0)
                (void) close(orders->fd);
        free(orders->list);
        free(orders);
}
