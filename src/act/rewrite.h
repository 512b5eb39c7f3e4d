/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rewriting a domain's XML to a decision, and back.  Everything that homenode has no business with is kept.
 */
#pragma once

#include "decide/decide.h"

enum hn_rewrite_form {
        HN_REWRITE_PREPARE,    /* the whole placement: cells, numatune, memnode, cputune */
        HN_REWRITE_FILTER,     /* migrate, restore: only our own marked values, as this host needs them */
        HN_REWRITE_DEFINITION, /* the inactive XML: several cells, topology, memnode (definition=auto) */
};

/* Changes `doc` to say what `decision` decided.  A decision that is not PLACED changes nothing, but FILTER
 * then takes out our own pins and nodes: they are another host's, or another time's, and would keep the
 * domain from starting as libvirt would start it.  Opted-out domains and other types never change.  Doing it
 * twice gives the same as once.  *ret_changed: whether the document differs from before.
 * `host` gives distances and says which nodes exist.  On failure the document is undefined: throw it away.
 * -ENOMEM, -EINVAL (no domain element). */
int hn_rewrite_apply(xmlDoc *doc, enum hn_rewrite_form form, const struct hn_situation *situation,
                     const struct hn_decision *decision, bool *ret_changed);

/* Takes out what homenode added, as far as nobody changed it since.  *ret_changed as above. */
int hn_rewrite_undo(xmlDoc *doc, bool *ret_changed);

/* The document as text, UTF-8, as it was written (no reformatting); the caller frees. */
int hn_xml_format(xmlDoc *doc, char **ret_text, size_t *ret_length);
