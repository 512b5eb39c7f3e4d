/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ownership by attribute: a variable that carries one of these is released when it goes out of
 * scope, so that functions return early and flat.  Types with a destructor of their own define
 * their attribute beside it.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HN_CLEANUP(function) __attribute__((cleanup(function)))

/* Defines the attribute's function for a pointer type: calls `destroy` unless the pointer is NULL. */
#define HN_DEFINE_CLEANUP(type, destroy, name) \
        static inline void name(type *p) \
        { \
                if (*p) \
                        destroy(*p); \
        }

/* Hands the value over and leaves the variable empty: `*ret_x = HN_TAKE(x);` */
#define HN_TAKE(p) \
        __extension__({ \
                __typeof__(p) taken_ = (p); \
                (p) = NULL; \
                taken_; \
        })

static inline void hn_cleanup_free(void *p)
{
        free(*(void **) p);
}

static inline void hn_cleanup_close(const int *fd)
{
        if (*fd >= 0)
                (void) close(*fd);
}

HN_DEFINE_CLEANUP(FILE *, (void) fclose, hn_cleanup_fclose)
HN_DEFINE_CLEANUP(DIR *, (void) closedir, hn_cleanup_closedir)

#define HN_FREE HN_CLEANUP(hn_cleanup_free)
#define HN_CLOSE HN_CLEANUP(hn_cleanup_close)
#define HN_FCLOSE HN_CLEANUP(hn_cleanup_fclose)
#define HN_CLOSEDIR HN_CLEANUP(hn_cleanup_closedir)
