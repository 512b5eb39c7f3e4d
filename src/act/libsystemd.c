/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/libsystemd.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#define SONAME "libsystemd.so.0" /* the same for all versions since 209 */

static struct hn_libsystemd library;

int hn_libsystemd_load(const struct hn_libsystemd **ret)
{
        static bool loaded;
        void *handle = loaded ? NULL : dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL);

        if (!loaded && !handle)
                return -ENOPKG;
        if (!loaded) {
#define LOAD(name) \
                /* POSIX's own way from an object's address to a function's */ \
                *(void **) &library.name = dlsym(handle, "sd_bus_" #name); \
                if (!library.name) \
                        return -ENOPKG;
                HN_LIBSYSTEMD(LOAD)
                loaded = true;
        }
        *ret = &library;
        return 0;
}
