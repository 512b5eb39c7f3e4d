/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

void hn_report_home(struct hn_report *report, const struct hn_placement *placement, const char *reason)
{
        HN_FREE char *nodes = NULL;

        if (hn_idset_format(placement->home, &nodes) < 0)
                return;
        hn_report_tell(report, "%s", reason);
        free(report->nodes);
        report->nodes = HN_TAKE(nodes);
}

void hn_report_decision(struct hn_report *report, const struct hn_decision *decision)
{
        if (decision->verdict == HN_PLACED)
                hn_report_home(report, decision->placement, decision->reason);
        else
                hn_report_tell(report, "%s", decision->reason);
        report->refused = decision->verdict == HN_REFUSED;
}
