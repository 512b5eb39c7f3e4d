/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Drawing on the screen that top-screen.c has opened.
 */
#pragma once

#include "command/top.h"

/* Once, when the screen is there.  Are there colours? */
bool hn_top_draw_begin(void);

/* Draws guests from *first on, which comes back as is possible.  Returns how many there is room for. */
size_t hn_top_draw_page(const struct hn_top_page *page, bool colours, size_t *first);

void hn_top_draw_text(const char *text);
