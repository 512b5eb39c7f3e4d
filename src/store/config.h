/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * /etc/homenode/homenode.conf and homenode.conf.d/ *.conf, through libeconf.
 */
#pragma once

#include "model/policy.h"
#include "model/root.h"

/* Reads main file and drop-ins (in the order of their names) over the defaults.  A file that can't be parsed
 * and a value that is out of range are passed over and named in *ret_faults (one a line, NULL: none; the
 * caller frees): configuration never keeps a guest from starting.  -ENOMEM. */
int hn_config_load(const struct hn_root *root, struct hn_policy *ret, char **ret_faults);
