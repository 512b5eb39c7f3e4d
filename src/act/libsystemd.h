/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What connecting to systemd takes of libsystemd, loaded when somebody connects.  The hook does that once in a boot,
 * while loading the library and the seven that it brings costs 0.5 of the 1.7 ms in which all others are loaded.
 */
#pragma once

#include <systemd/sd-bus.h>

#define HN_LIBSYSTEMD(X) \
        X(new) \
        X(set_address) \
        X(start) \
        X(open_system_with_description) \
        X(is_ready) \
        X(process) \
        X(wait) \
        X(set_method_call_timeout) \
        X(get_property_string) \
        X(close_unref)

/* sd_bus_new is `new`, and so on. */
struct hn_libsystemd {
#define HN_LIBSYSTEMD_MEMBER(name) __typeof__(sd_bus_##name) *name;
        HN_LIBSYSTEMD(HN_LIBSYSTEMD_MEMBER)
};

/* The library, which stays loaded.  -ENOPKG: it is not there, or lacks one of these. */
int hn_libsystemd_load(const struct hn_libsystemd **ret);
