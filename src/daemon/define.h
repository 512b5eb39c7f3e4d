/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shape at define time: a domain that is wider than a node gets its cells in the definition, once, marked, with a
 * copy of the original kept.  libvirt has no compare-and-swap: a definition is read again just before it is written,
 * and what somebody else wrote in between wins.
 */
#pragma once

#include "act/definition.h"
#include "daemon/work.h"

#define HN_DEFINE_BURST 3u          /* rewritings of one domain … */
#define HN_DEFINE_BURST_MS 60000u   /* … in this time: then it rests until the time is over, */
#define HN_DEFINE_CALM_MS 600000u   /* and if it happens again before it was calm, is left until it is changed */

struct hn_definitions;

/* `root` must outlive it.  The door's functions alone count: what they are given as data comes with each look. */
int hn_definitions_new(const struct hn_root *root, const struct hn_definition_door *door, struct hn_definitions **ret);
void hn_definitions_free(struct hn_definitions *definitions);
HN_DEFINE_CLEANUP(struct hn_definitions *, hn_definitions_free, hn_cleanup_definitions)
#define HN_DEFINITIONS HN_CLEANUP(hn_cleanup_definitions)

/* Looks at a domain's definition and writes it where that is due; what was done, or why not, is in the journal.
 * `libvirt`: what the door's functions are given.  `matters`: what libvirt said of it, as far as it is known (work.h).
 * The door may let looks at other domains, in other threads, begin or go on before it answers.  In how many ms it is to be looked at again;
 * 0: when it changes.
 *
 * A domain that is undefined just before it is written would be made anew by that.  libvirt tells: it was undefined and
 * then added, where our own writing updates.  Such a one is undefined again. */
unsigned hn_definitions_look(struct hn_definitions *definitions, void *libvirt, const char *uuid, unsigned matters);
