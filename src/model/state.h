/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state file: what the daemon publishes in /run/homenode/state.json and `--state FILE` takes.
 *
 *   { "version": 1,
 *     "boot_id": "…", "written_us": 123,             CLOCK_BOOTTIME; how old it is
 *     "allowed_cpus": "0-63", "isolated_cpus": "2-3", "offline_cpus": "",
 *     "nodes": [ { "node": 0, "free_kib": 123, "busy_cpus": 1.5,
 *                  "pools": [ { "page_kib": 2048, "total": 512, "free": 100 } ] } ],
 *     "guests": [ { "uuid": "…", "run_cpus": 1.5, "wait_cpus": 0.25, "trend_cpus": 0.1, "cpu_pressure": 0.2,
 *                   "memory_pressure": 0, "io_pressure": 0 } ] }
 *
 * busy_cpus is what keeps CPUs busy there and is not in the ledger; guests in it have promises that stand for them.
 * free_kib is what is left to guests: free and cheaply reclaimable memory, and what guests with a placement hold
 * already (their promises stand for that).  A pool's free pages are those that no process has taken.
 * Guests are those that were measured: CPUs that they keep busy, that they wait for, by how much the two grow in a
 * minute; pressure is a share of the time.  A start does without them, and reads less: the daemon has them in a file of
 * their own (guests.json, of the same form).
 * All members but version are optional; what is not said is as on an idle host.
 *
 * It is written anew where something has changed by more than a little, so it may be old; store/published.h has what
 * makes it count all the same.
 */
#pragma once

#define HN_STATE_VERSION 1
