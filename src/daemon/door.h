/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The door to definitions: all that shaping them wants of libvirt, small enough to be played by a test.
 */
#pragma once

#include "daemon/connection.h"

struct hn_defined {
        char *xml;   /* INACTIVE|SECURE: passwords are in it, or writing it back would lose them */
        bool active; /* it runs, or has a managed save */
};

void hn_defined_clear(struct hn_defined *definition);
#define HN_DEFINED HN_CLEANUP(hn_defined_clear)

struct hn_definition_door {
        void *data;
        /* -ENOENT: there is no such domain, or it is transient; -ENOTCONN: libvirt is away; -EIO: others. */
        int (*read)(void *data, const char *uuid, struct hn_defined *ret);
        /* -EREMOTEIO: libvirt refuses, and says why (the caller frees); -ENOTCONN. */
        int (*write)(void *data, const char *xml, char **ret_message);
        /* Errors as write's. */
        int (*undefine)(void *data, const char *uuid, char **ret_message);
        uint64_t (*now_ms)(void *data); /* CLOCK_MONOTONIC; never 0 */
};

/* libvirt's, over the daemon's connection, or over one that is open (the command's); either must outlive it. */
struct hn_definition_door hn_definition_door(struct hn_connection *connection);
struct hn_definition_door hn_definition_door_to(virConnectPtr libvirt);
