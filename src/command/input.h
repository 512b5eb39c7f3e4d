/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A domain's XML as the command takes it: a file, or standard input for "-".
 */
#pragma once

#include "model/domain.h"

struct hn_input {
        const char *name;  /* for messages; not owned */
        char *text;        /* as it was read */
        size_t length;
        xmlDoc *doc;
        struct hn_request *request;
};

/* Reads and parses `path`; what can't be used is complained about, by name and fault.  `with_request`: also
 * what the domain asks for; without, that it is a domain's XML is all that is looked at.  Negative errno. */
int hn_input_read(const char *path, bool with_request, struct hn_input *ret);

/* Reads a file, or standard input for "-", as it is.  -EFBIG: more than `limit` bytes; other negative errno. */
int hn_input_text(const char *path, size_t limit, char **ret_text, size_t *ret_length);

/* Is there a domain's XML in that file?  Complains of nothing. */
bool hn_input_is_domain(const char *path);

void hn_input_clear(struct hn_input *input);
#define HN_INPUT HN_CLEANUP(hn_input_clear)
