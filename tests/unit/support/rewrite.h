/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rewriting in tests: texts in, texts out.
 */
#pragma once

#include "act/rewrite.h"
#include "unit/support/decision.h"
#include "unit/support/xml.h"

#define GIB (1ull << 20) /* in KiB */

/* Four vCPUs and 4 GiB in one, two or three cells; the names say the nodes. */
extern const struct cell_spec on_node_2[1], on_node_5[1], on_nodes_0_8[2], on_nodes_1_9[2], on_three_nodes[3];

/* The domain that they fit: indented, with one iothread, nothing placed. */
extern const char plain_domain[];

/* The document as text; the caller frees. */
char *text_of(xmlDoc *doc);

/* Applies; true where that changed something. */
bool apply_with(xmlDoc *doc, enum hn_rewrite_form form, enum hn_definition definition,
                struct hn_decision *decision);
bool apply(xmlDoc *doc, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n, bool given);
bool undo(xmlDoc *doc);

/* A text after applying cells that it has not got; the caller frees. */
char *applied(const char *text, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n);

/* A text with another one in the single place where `old` stands; the caller frees. */
char *edited(const char *text, const char *old, const char *new);

void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);
