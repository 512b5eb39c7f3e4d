/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A folder that stands for a host's root in a test, made anew and removed with all that is in it.
 */
#pragma once

#include "act/cgroup-io.h"

struct tree {
        char path[256];
        struct hn_root root;
        struct hn_cgroup_io files; /* its cgroups' values */
};

/* Makes an empty tree below $TMPDIR or /tmp and opens it as a (recorded) root. */
void tree_make(struct tree *tree);

/* Puts a file with its folders into the tree. */
void tree_put(struct tree *tree, const char *path, const char *text);

void tree_remove(struct tree *tree);

/* cmocka's set-up and tear-down of an empty tree, which *state points at.  The tear-down is for all set-ups that make
 * one. */
int tree_setup(void **state);
int tree_teardown(void **state);
