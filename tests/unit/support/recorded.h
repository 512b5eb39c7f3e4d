/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The recorded machines and domains, which are not in this repository.
 */
#pragma once

#define SKIPPED 77 /* automake's */

/* A folder of theirs ("": all of it) below $HOMENODE_DATA; the caller frees.  NULL: it is not there, which is said. */
char *recorded(const char *folder);
