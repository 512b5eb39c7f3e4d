/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Definitions kept over a recorded tree, with libvirt's part played by the test.
 */
#pragma once

#include "daemon/define.h"
#include "unit/support/entry.h"
#include "unit/support/rewrite.h"
#include "unit/support/tree.h"

#define UUID "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ff"
#define SECRET "<graphics type='vnc' passwd='secret'/>"
#define DOMAIN(vcpus, metadata) "<domain type='kvm'>\n  <name>wide</name>\n  <uuid>" UUID "</uuid>\n" metadata \
        "  <memory unit='GiB'>4</memory>\n  <vcpu>" vcpus "</vcpu>\n  <os>\n    <type arch='x86_64'>hvm</type>\n" \
        "  </os>\n  <devices>\n    " SECRET "\n  </devices>\n</domain>\n"
#define WISH(attributes) "  <metadata>\n    <homenode:domain xmlns:homenode='urn:homenode:1' " attributes "/>\n" \
        "  </metadata>\n"
#define NARROW DOMAIN("2", "")
#define WIDE DOMAIN("6", "") /* a node has four CPUs */

/* libvirt with one domain; NULL: it has none. */
struct libvirt {
        char *xml;
        bool active;
        int read_error, write_error;
        const char *refusal;
        unsigned reads, writes, undefines;
        unsigned edit_after; /* this many readings somebody changes it to: */
        const char *edit;    /* "": undefines it */
        const char *other;   /* what another program writes over each of our definitions */
        uint64_t now_ms;
        bool dies;           /* kill -9 comes before it is written */
        struct hn_definitions *listener; /* the daemon, which looks before and after what another program writes */
};

struct scene {
        struct tree tree;
        struct libvirt libvirt;
        struct hn_definition_door door;
        struct hn_definitions *definitions;
};

/* Four nodes of four CPUs and 8 GiB, one of them in a page of 1 GiB. */
int definitions_set_up(void **state);
int definitions_tear_down(void **state);

/* The daemon is started again. */
void restart(struct scene *scene);

/* libvirt has this one now; NULL: it has none. */
void define(struct scene *scene, const char *xml);

/* What it has, with another text in the single place where `old` stands. */
void edit(struct scene *scene, const char *old, const char *new);

unsigned look(struct scene *scene);

/* Looks, and asserts how often it was read and written. */
void assert_look(struct scene *scene, unsigned reads, unsigned writes);
void assert_copy(struct scene *scene, const char *xml);

/* Two cells of ours are in it. */
void assert_wide(struct scene *scene);

/* How often the journal says so. */
unsigned said(struct scene *scene, const char *text);

/* A guest that is about to start was promised so much of a node. */
void promise(struct scene *scene, const char *uuid, unsigned node, uint64_t memory_kib);
