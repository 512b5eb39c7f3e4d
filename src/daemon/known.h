/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The domains that libvirt has told of, by UUID: whoever has one need not look it up.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "model/domain.h"

struct hn_known {
        struct hn_known_domain {
                char uuid[HN_UUID_LENGTH + 1];
                virDomainPtr domain;
        } *list;
        size_t n;
        bool all; /* one that is not in the list is not there */
};

/* Holds a reference of its own, instead of an earlier one's; without memory it stays unknown. */
void hn_known_add(struct hn_known *known, virDomainPtr domain);

/* NULL: it is not known.  Not the caller's. */
virDomainPtr hn_known_find(const struct hn_known *known, const char *uuid);

/* It is gone, unless another one of that UUID came since. */
void hn_known_remove(struct hn_known *known, const char *uuid, virDomainPtr domain);

void hn_known_clear(struct hn_known *known);
