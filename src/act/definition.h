/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The door to definitions (inactive XML): all that shaping them and taking ours out of them want of libvirt, small
 * enough to be played by a test.
 */
#pragma once

#include "model/root.h"

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

/* Takes ours out of a definition and has the daemon leave it until somebody changes it, also where nothing of ours is
 * in it: it may be just about to.  1: done; 0: there was nothing of ours.  As the door's read and write (*ret_message:
 * libvirt's word on -EREMOTEIO, and the definition is as it was); -EBUSY: somebody else changes it again and again;
 * -EBADMSG; what copies.h says, with the definition as it was unless its copy alone could not be removed. */
int hn_definition_undo(const struct hn_root *root, const struct hn_definition_door *door, const char *uuid,
                       char **ret_message);
