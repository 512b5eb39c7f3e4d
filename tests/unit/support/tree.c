/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "unit/support/test.h"

void tree_make(struct tree *tree)
{
        (void) snprintf(tree->path, sizeof tree->path, "%s/homenode-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        assert_non_null(mkdtemp(tree->path));
        assert_int_equal(hn_root_open(tree->path, &tree->root), 0);
        assert_false(tree->root.host);
        tree->files = hn_cgroup_files(&tree->root);
}

void tree_put(struct tree *tree, const char *path, const char *text)
{
        const char *base = strrchr(path, '/');
        HN_CLOSE int fd = -1;

        assert_non_null(base);
        fd = hn_root_open_file(&tree->root, O_WRONLY | O_CREAT | O_TRUNC, 0644, "%s", path);
        if (fd == -ENOENT) {
                assert_int_equal(hn_root_mkdir(&tree->root, 0755, "%.*s", (int) (base - path), path), 0);
                fd = hn_root_open_file(&tree->root, O_WRONLY | O_CREAT | O_TRUNC, 0644, "%s", path);
        }
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void) st;
        (void) type;
        (void) ftw;
        return remove(path);
}

void tree_remove(struct tree *tree)
{
        hn_root_close(&tree->root);
        assert_int_equal(nftw(tree->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int tree_setup(void **state)
{
        static struct tree tree;

        tree_make(&tree);
        *state = &tree;
        return 0;
}

int tree_teardown(void **state)
{
        tree_remove(*state);
        return 0;
}
