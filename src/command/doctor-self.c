/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode itself: its daemon, its configuration.
 */
#include <errno.h>
#include <string.h>

#include "command/doctor.h"
#include "store/config.h"

int hn_check_daemon(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (patient->homenoded)
                return hn_find(findings, HN_LEVEL_OK, "homenoded", NULL, NULL, "homenoded runs");
        return hn_find(findings, HN_LEVEL_WARNING, "homenoded",
                       "Guests are placed when they start. What then changes (hot-plug, CPUs going off line, somebody else's "
                       "writing, guests wider than a node being defined) is not followed.",
                       "systemctl enable --now homenoded", "homenoded does not run");
}

int hn_check_configuration(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *faults = NULL;
        struct hn_policy policy;
        char *rest = NULL;
        int r = hn_config_load(patient->root, &policy, &faults);

        if (r < 0)
                return r;
        if (!faults || !*faults)
                return hn_find(findings, HN_LEVEL_OK, "configuration", NULL, NULL, "the configuration has no faults");
        for (char *line = strtok_r(faults, "\n", &rest); r >= 0 && line; line = strtok_r(NULL, "\n", &rest))
                r = hn_find(findings, HN_LEVEL_WARNING, "configuration",
                            "It is passed over: what another file says counts, or the default.",
                            "correct it in the file named; /etc/homenode/homenode.conf says what there is", "%s", line);
        return r;
}
