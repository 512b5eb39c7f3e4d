/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/xml.h"

#include <libxml/c14n.h>

#include "unit/support/test.h"

xmlDoc *xml_of(const char *text)
{
        xmlDoc *doc = NULL;

        assert_int_equal(hn_xml_parse(text, strlen(text), &doc), 0);
        return doc;
}

xmlDoc *xml_of_domain(const char *body)
{
        HN_FREE char *text = NULL;

        assert_true(asprintf(&text, "<domain type='kvm'><name>vm</name>%s</domain>", body) > 0);
        return xml_of(text);
}

struct hn_request *request_of(const char *body)
{
        HN_XMLDOC xmlDoc *doc = xml_of_domain(body);
        struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;

        if (hn_request_parse(doc, &request, &fault) < 0)
                fail_msg("refused: %s", fault);
        return request;
}

char *fault_of(const char *body)
{
        HN_XMLDOC xmlDoc *doc = xml_of_domain(body);
        struct hn_request *request = NULL;
        char *fault = NULL;

        assert_int_equal(hn_request_parse(doc, &request, &fault), -EINVAL);
        assert_non_null(fault);
        return fault;
}

char *canonical_of(xmlDoc *doc)
{
        xmlChar *text = NULL;

        assert_true(xmlC14NDocDumpMemory(doc, NULL, XML_C14N_1_0, NULL, 1, &text) > 0);
        return (char *) text;
}
