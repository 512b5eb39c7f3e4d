/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/records.h"

#include <string.h>

bool hn_record_is(const char *file)
{
        size_t length = strlen(file);

        return *file != '.' && length > 4 && strcmp(file + length - 4, ".xml") == 0;
}

int hn_record_read(const struct hn_root *root, const char *file, struct hn_request **ret)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        HN_FREE char *text = NULL, *fault = NULL;
        size_t length = 0;
        int r = hn_root_read(root, HN_DOMAIN_XML_LIMIT, &text, &length, HN_RECORDS "/%s", file);

        if (r >= 0)
                r = hn_xml_parse(text, length, &doc);
        return r < 0 ? r : hn_request_parse(doc, ret, &fault);
}
