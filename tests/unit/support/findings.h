/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Running one of the doctor's checks over a tree.
 */
#pragma once

#include "command/doctor.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

/* What is known of the tree's host; the test clears it. */
static inline struct hn_patient patient_of(const struct tree *tree)
{
        struct hn_patient patient;

        assert_int_equal(hn_patient_read(&tree->root, &patient), 0);
        return patient;
}

/* The check's findings, of which the worst comes first; what is found must have a meaning and where it is worse than a
 * note something to do. */
static inline struct hn_findings look(hn_check *check, const struct tree *tree)
{
        HN_PATIENT struct hn_patient patient = patient_of(tree);
        struct hn_findings findings = { 0 };

        assert_int_equal(check(&patient, &findings), 0);
        for (size_t i = 0; i < findings.n; i++) {
                if (findings.all[i].level > HN_LEVEL_OK)
                        assert_non_null(findings.all[i].means);
                if (findings.all[i].level > findings.all[0].level) {
                        struct hn_finding worse = findings.all[i];

                        findings.all[i] = findings.all[0];
                        findings.all[0] = worse;
                }
        }
        return findings;
}

/* Asserts the worst level that a check finds; returns nothing: the findings are gone. */
static inline void assert_level(hn_check *check, const struct tree *tree, enum hn_level level)
{
        HN_FINDINGS struct hn_findings findings = look(check, tree);

        assert_true(findings.n > 0);
        assert_int_equal(findings.all[0].level, level);
}

/* Asserts that the worst of what a check finds is of that level, and is mended by a text like that. */
static inline void assert_mend(hn_check *check, const struct tree *tree, enum hn_level level, const char *part)
{
        HN_FINDINGS struct hn_findings findings = look(check, tree);

        assert_true(findings.n > 0);
        assert_int_equal(findings.all[0].level, level);
        assert_non_null(findings.all[0].mend);
        if (!strstr(findings.all[0].mend, part))
                fail_msg("\"%s\" is not in \"%s\"", part, findings.all[0].mend);
}
