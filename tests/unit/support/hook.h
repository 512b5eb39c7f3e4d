/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook as libvirt runs it: the built program, on a recorded tree, with what it prints and exits with.
 */
#pragma once

#include "unit/support/guest.h"

#define BOOT_ID "11111111-2222-3333-4444-555555555555"
#define UUID "6695eb01-f6a4-8304-79aa-97f2502e193f"
#define LEDGER "/run/homenode/ledger/"
#define DROPIN(unit) "/run/systemd/system/" unit ".d/50-homenode.conf"
#define WEB "machine-qemu\\x2d7\\x2dweb.scope"

/* A domain's metadata with these attributes. */
#define WISH(attributes) "<metadata><h:domain xmlns:h='urn:homenode:1' " attributes "/></metadata>"

struct hook_result {
        int status;
        char out[32768], err[4096];
        uint64_t spent_ms;
};

/* A tree with four nodes of 4 cores of 2 threads, which $HOMENODE_ROOT names: node N has CPUs 4N … 4N+3 and
 * 16+4N … 16+4N+3, and 8 GiB. */
int hook_setup(void **state);
int hook_teardown(void **state);

/* Runs it; with `input` NULL its standard input stays open and empty.  Asserts that it ends in time. */
struct hook_result hook_run(const char *name, const char *operation, const char *sub, const char *input);

/* A guest of 2 vCPUs and 2 GiB, with more elements; in a buffer that the next call uses again. */
const char *hook_domain(long id, const char *name, const char *uuid, const char *more);
