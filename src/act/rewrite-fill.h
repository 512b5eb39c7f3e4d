/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a decision says, as elements: cells and topology, numatune, pins.  Each adds what the user left open
 * and takes it into the account.
 */
#pragma once

#include "act/rewrite-mark.h"
#include "decide/decide.h"

struct hn_filling {
        struct hn_account *account;
        const struct hn_request *request;
        const struct hn_decision *decision;
};

/* <cpu><topology> and <cpu><numa> of a shape that is not there yet. */
int hn_fill_cells(struct hn_filling *filling);

/* <numatune><memory mode='restrictive'> for one cell. */
int hn_fill_memory(struct hn_filling *filling);

/* <numatune><memnode mode='strict'> for each of several cells that the document has. */
int hn_fill_memnodes(struct hn_filling *filling);

/* <cputune>'s vcpupin, emulatorpin and iothreadpin. */
int hn_fill_pins(struct hn_filling *filling);

/* The set that a pin, memnode or numatune's memory of ours says under this decision; NULL: it is to go.
 * *ret_attribute: where it stands.  -ENOENT: not an element that names the host's CPUs or nodes. */
int hn_fill_wanted(const struct hn_decision *decision, const xmlNode *element, const char **ret_attribute,
                   hwloc_const_bitmap_t *ret);
