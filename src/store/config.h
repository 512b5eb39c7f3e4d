/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * /etc/homenode/homenode.conf and homenode.conf.d/ *.conf, through libeconf:
 *
 *   definition = auto | minimal | never      before any section, or as "mode" in [definition]
 *   balance = on | off                       likewise in [balance]
 *   [placement]
 *   smt_percent = 25                         0-100; see model/policy.h for what each is
 *   headroom_percent = 20                    0-100
 *   reserve_percent = 5                      0-100
 *   reserve_max_mib = 1024                   0-1073741824
 *   overhead_first_mib = 32                  0-1048576
 *   overhead_per_gib_mib = 8                 0-1024
 *   [balance]
 *   period_seconds = 10                      1-3600
 *   moves = 2                                0-16
 *   threshold_percent = 15                   0-1000
 *   payback_seconds = 120                    0-86400
 *   cooldown_seconds = 60                    0-86400
 *   rate_mib = 0                             0-1048576
 *   [daemon]
 *   renew_seconds = 300                      0-86400
 */
#pragma once

#include "model/policy.h"
#include "model/root.h"

/* Bytes of one file, and of all.  libeconf takes time with the square of it: 0.07 s for the worst 16 KiB. */
#define HN_CONFIG_LIMIT (16u << 10)
#define HN_CONFIG_LIMIT_ALL (64u << 10)

/* Reads main file and drop-ins (in the order of their names) over the defaults.  A file that can't be
 * parsed and a value that is out of range are passed over, and so are unknown sections and keys; all are
 * named in *ret_faults (one a line with its file, NULL: none; the caller frees): configuration never keeps
 * a guest from starting.  Files that are not there are no fault.  -ENOMEM. */
int hn_config_load(const struct hn_root *root, struct hn_policy *ret, char **ret_faults);
