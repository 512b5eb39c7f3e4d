/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/rewrite.h"

#include "unit/support/test.h"

const struct cell_spec on_node_2[1] = { { "0-3", 4 * GIB, "2", "8-11" } };
const struct cell_spec on_node_5[1] = { { "0-3", 4 * GIB, "5", "20-23" } };
const struct cell_spec on_nodes_0_8[2] = { { "0-1", 2 * GIB, "0", "0-3" },
                                           { "2-3", 2 * GIB, "8", "4-7" } };
const struct cell_spec on_nodes_1_9[2] = { { "0-1", 2 * GIB, "1", "16" },
                                           { "2-3", 2 * GIB, "9", "17" } };
const struct cell_spec on_three_nodes[3] = { { "0-1", GIB, "0", "0" }, { "2", GIB, "1", "1" },
                                                   { "3", 2 * GIB, "2", "2" } };

const char plain_domain[] =
        "<domain type='kvm'>\n"
        "  <name>vm</name>\n"
        "  <memory unit='KiB'>4194304</memory>\n"
        "  <vcpu placement='static'>4</vcpu>\n"
        "  <iothreads>1</iothreads>\n"
        "  <os>\n    <type>hvm</type>\n  </os>\n"
        "</domain>\n";

char *text_of(xmlDoc *doc)
{
        char *text = NULL;
        size_t length;

        assert_int_equal(hn_xml_format(doc, &text, &length), 0);
        assert_int_equal(strlen(text), length);
        return text;
}

bool apply_with(xmlDoc *doc, enum hn_rewrite_form form, enum hn_definition definition,
                       struct hn_decision *decision)
{
        struct hn_policy policy;
        struct hn_situation situation = { .policy = &policy };
        bool changed;

        hn_policy_defaults(&policy);
        policy.definition = definition;
        assert_int_equal(hn_rewrite_apply(doc, form, &situation, decision, &changed), 0);
        return changed;
}

bool apply(xmlDoc *doc, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n, bool given)
{
        HN_DECISION struct hn_decision *decision = decision_of(cells, n, given);

        return apply_with(doc, form, HN_DEFINITION_AUTO, decision);
}

bool undo(xmlDoc *doc)
{
        bool changed;

        assert_int_equal(hn_rewrite_undo(doc, &changed), 0);
        return changed;
}

char *applied(const char *text, enum hn_rewrite_form form, const struct cell_spec *cells, size_t n)
{
        HN_XMLDOC xmlDoc *doc = xml_of(text);

        (void) apply(doc, form, cells, n, false);
        return text_of(doc);
}

char *edited(const char *text, const char *old, const char *new)
{
        const char *at = strstr(text, old);
        char *out = NULL;

        assert_non_null(at);
        assert_null(strstr(at + 1, old));
        assert_true(asprintf(&out, "%.*s%s%s", (int) (at - text), text, new, at + strlen(old)) >= 0);
        return out;
}

void assert_has(const char *text, const char *part)
{
        if (!strstr(text, part))
                fail_msg("no '%s' in\n%s", part, text);
}

void assert_has_not(const char *text, const char *part)
{
        if (strstr(text, part))
                fail_msg("'%s' in\n%s", part, text);
}
