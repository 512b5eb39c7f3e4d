/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Orders of the administrator to the mover: `homenode move` puts them down in /run/homenode/moves, and reads the answers
 * there, so that neither it nor we need a socket.
 *
 *   UUID          { "nodes": "2", "asked_us": 1 }      taken away as it is read
 *   UUID.cancel   { "asked_us": 1 }                    likewise
 *   UUID.1.answer { "state": "waiting" | "opening" | "moving" | "narrowing" | "done" | "failed" | "refused",
 *                   "moved_kib": 1, "left_kib": 1, "took_us": 1, "text": "…" }
 *                                                      to what was asked at that time; written anew as the move goes on;
 *                                                      whoever asked removes it
 *   .lock         locked as long as somebody moves guests
 */
#pragma once

#include <inttypes.h>

#include "daemon/mover.h"

#define HN_ORDERS_FOLDER "/run/homenode/moves"
#define HN_ORDERS_LOCK HN_ORDERS_FOLDER "/.lock"
#define HN_ORDER_LIMIT 4096u /* bytes of one file */
#define HN_ORDERS_ANSWER HN_ORDERS_FOLDER "/%s.%" PRIu64 ".answer" /* UUID, asked_us */

struct hn_orders;

struct hn_orders_door {
        void *data;
        /* As hn_occupied; who does not tell is not waited for. */
        int (*occupied)(void *data, const char *uuid, const char **ret_why);
};

/* Both must outlive it.  What was put down before is seen to with the next order.  -ENOMEM and those of inotify. */
int hn_orders_new(struct hn_keeper *keeper, struct hn_mover *mover, const struct hn_orders_door *door,
                  struct hn_orders **ret);
void hn_orders_free(struct hn_orders *orders);
HN_DEFINE_CLEANUP(struct hn_orders *, hn_orders_free, hn_cleanup_orders)
#define HN_ORDERS HN_CLEANUP(hn_cleanup_orders)

/* Readable when there is an order; then hn_orders_read takes it. */
int hn_orders_fd(const struct hn_orders *orders);
void hn_orders_read(struct hn_orders *orders);

/* Says how far moves are that somebody asked for; to be called after the mover's turn. */
void hn_orders_turn(struct hn_orders *orders);
