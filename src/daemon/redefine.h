/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a definition (inactive XML) should say: text in, text out.
 *
 * How a domain is cut into cells is decided as for an idle host, since it must not depend on what runs just now;
 * the nodes that its cells are bound to are decided as of now.  Nodes that are written already stay unless others
 * are clearly better: an administrator who edits the definition finds it changed under their hands otherwise.
 */
#pragma once

#include "model/root.h"

#define HN_RENEWAL_GAIN 0.02 /* of slowdown; what other nodes must be better by */

enum hn_redefinition_kind {
        HN_REDEFINE_NOTHING,
        HN_REDEFINE_FIRST, /* homenode writes into it for the first time */
        HN_REDEFINE_SHAPE, /* other cells than ours that are in it */
        HN_REDEFINE_NODES, /* the same cells on other nodes */
        HN_REDEFINE_UNDO,  /* ours is taken out */
};

struct hn_redefinition {
        enum hn_redefinition_kind kind;
        bool marked;  /* there is something of ours in it, as it was */
        char *xml;    /* the new text; NULL: it is to stay */
        char *name;   /* the domain's; NULL where the text is no domain's */
        char *nodes;  /* its cells' nodes, as a list; may be NULL */
        char *reason; /* for people; may be NULL */
};

/* `active`: it runs, or is to be restored from a managed save: the nodes that are written do not matter then, and
 * stay.  -EBADMSG: the text can't be read as a domain's (`reason` of *ret says why, if known); -ENOMEM; errors of looking at the host (`reason` names what).  *ret is to be cleared in any case. */
int hn_redefine(const struct hn_root *root, const char *xml, bool active, struct hn_redefinition *ret);

void hn_redefinition_clear(struct hn_redefinition *redefinition);
#define HN_REDEFINITION HN_CLEANUP(hn_redefinition_clear)
