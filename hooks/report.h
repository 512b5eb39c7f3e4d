/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an operation of the hook came to, and how it is told.
 */
#pragma once

#include "decide/decide.h"
#include "model/text.h"
#include "store/scene.h"

struct hn_report {
        bool refused;  /* the domain's own metadata demands what can't be had: the start is to fail */
        char *text;    /* a line for people; never NULL after success */
        char *nodes;   /* the home as a list; NULL: none */
        char *xml;     /* the rewritten XML; NULL: nothing to print */
        struct hn_scene *scene; /* what the operation looked at; NULL: nothing */
};
/* Adds a part to the report's line, printf-like; what does not fit into memory is left out. */
#define hn_report_tell(report, ...) ((void) hn_text_add(&(report)->text, __VA_ARGS__))

/* Where a guest is at home, and why. */
void hn_report_home(struct hn_report *report, const struct hn_placement *placement, const char *reason);

/* Its home, that it is left to libvirt, or that it is refused. */
void hn_report_decision(struct hn_report *report, const struct hn_decision *decision);
