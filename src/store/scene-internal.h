/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What scene.c and scene-memory.c share.
 */
#pragma once

#include "store/scene.h"

/* Counts to the nodes' free memory and pools what the ledger's running guests were promised there.  -ENOMEM and
 * others. */
int hn_scene_credit(struct hn_scene *scene, const struct hn_root *root);
