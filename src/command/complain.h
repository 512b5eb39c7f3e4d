/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one place that prints messages: a line each on standard error, "homenode: " in front.  What comes out
 * of files and arguments can't drive the terminal: control characters are escaped.
 */
#pragma once

#include "command/command.h"
#include "model/root.h"

/* Prints one line.  Returns HN_EXIT_FAILED, so that a caller can end with it. */
int hn_complain(const char *format, ...) HN_PRINTF(1, 2);

/* The same for a text of several lines, one message each, `about` in front of it. */
void hn_complain_lines(const char *about, const char *text);
