/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Domain XML in tests: text to document to request, and documents as canonical XML.
 */
#pragma once

#include "model/domain.h"

/* The document of a text, which must be well formed. */
xmlDoc *xml_of(const char *text);

/* "<domain type='kvm'><name>vm</name>BODY</domain>" */
xmlDoc *xml_of_domain(const char *body);

/* The request of a domain's body, which must be one that can be read. */
struct hn_request *request_of(const char *body);

/* Why a body is refused; the caller frees.  Fails where it is not. */
char *fault_of(const char *body);

/* Canonical XML 1.0 with comments; the caller frees with xmlFree. */
char *canonical_of(xmlDoc *doc);
