/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Publishing what was read (store/published.h), for starts and for people: nodes in one file and guests in another.
 * Neither is written where nothing has changed by more than a little, so that an idle host is left in peace.
 */
#pragma once

#include "daemon/meter.h"

struct hn_publisher;

/* The root must outlive it.  -ENOMEM. */
int hn_publisher_new(const struct hn_root *root, struct hn_publisher **ret);

/* What it published counts no longer, but for a while (store/published.h). */
void hn_publisher_free(struct hn_publisher *publisher);
HN_DEFINE_CLEANUP(struct hn_publisher *, hn_publisher_free, hn_cleanup_publisher)
#define HN_PUBLISHER HN_CLEANUP(hn_cleanup_publisher)

/* -ENOMEM and those of writing: what is there stays, and the next call tries again. */
int hn_publish(struct hn_publisher *publisher, const struct hn_reading *reading);
