/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parts of hn_request_parse, one per subject.  Each fills its members of the request; -EINVAL comes with
 * a fault.  The order matters: later parts check against what earlier ones found.
 */
#pragma once

#include <string.h>

#include "model/domain-xml.h"
#include "model/domain.h"
#include "model/mark.h"

struct hn_reading {
        const xmlNode *domain;
        const struct hn_mark *mark;
        struct hn_request *request;
        char *fault;
};

/* <metadata>'s wishes; never -EINVAL: what is wrong with them is in wishes.fault. */
int hn_read_wishes(struct hn_reading *reading);

/* <vcpu>, <vcpus>, <cpu><topology>, <iothreads>, <iothreadids>, <cputune>'s pins */
int hn_read_vcpus(struct hn_reading *reading);
int hn_read_topology(struct hn_reading *reading);
int hn_read_pins(struct hn_reading *reading);

/* <cpu><numa>, then all about memory and its devices, and <launchSecurity> */
int hn_read_cells(struct hn_reading *reading);
int hn_read_memory(struct hn_reading *reading);

/* <numatune> */
int hn_read_numatune(struct hn_reading *reading);

/* <devices>: disks, interfaces and host devices.  They only say where a domain would rather be, so one that
 * can't be made sense of is passed over. */
int hn_read_devices(struct hn_reading *reading);

/* Adds a zeroed element to an array of the request; its address, or NULL without memory. */
#define HN_ARRAY_ADD(array, n) \
        __extension__({ \
                __typeof__(array) grown_ = reallocarray((array), (n) + 1, sizeof *(array)); \
                if (grown_) { \
                        memset(&grown_[n], 0, sizeof *grown_); \
                        (array) = grown_; \
                        grown_ = &grown_[(n)++]; \
                } \
                grown_; \
        })
