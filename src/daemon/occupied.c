/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/occupied.h"

#include <errno.h>
#include <stdio.h>

#define ANSWER_WAIT_MS 300u /* guests that are to be moved are few, and the loop waits so long */

static bool paused_for_a_job(int reason)
{
        switch (reason) {
        case VIR_DOMAIN_PAUSED_MIGRATION:
        case VIR_DOMAIN_PAUSED_SAVE:
        case VIR_DOMAIN_PAUSED_DUMP:
        case VIR_DOMAIN_PAUSED_FROM_SNAPSHOT:
        case VIR_DOMAIN_PAUSED_SNAPSHOT:
        case VIR_DOMAIN_PAUSED_STARTING_UP:
        case VIR_DOMAIN_PAUSED_POSTCOPY:
        case VIR_DOMAIN_PAUSED_POSTCOPY_FAILED:
                return true;
        default:
                return false;
        }
}

/* What libvirt is asked about one guest. */
struct occupation {
        char uuid[HN_UUID_LENGTH + 1];
        int r;           /* -EBUSY: it does not tell */
        const char *why; /* NULL: it has nothing to do with it */
};

/* Memory that is being sent away, or read in, is not moved besides. */
static void ask(void *data, virConnectPtr libvirt)
{
        struct occupation *occupation = data;
        HN_VIRDOMAIN virDomainPtr domain = libvirt ? virDomainLookupByUUIDString(libvirt, occupation->uuid) : NULL;
        virDomainJobInfo job = { 0 };
        int state = 0, reason = 0;

        if (!domain || virDomainGetState(domain, &state, &reason, 0) < 0)
                occupation->r = -EBUSY;
        else if (state == VIR_DOMAIN_PAUSED && paused_for_a_job(reason))
                occupation->why = "it is being migrated, saved or restored";
        else if (virDomainGetJobInfo(domain, &job) >= 0 && job.type != VIR_DOMAIN_JOB_NONE &&
                 job.type != VIR_DOMAIN_JOB_COMPLETED)
                occupation->why = "libvirt has a job for it: it is being migrated, saved or dumped";
}

int hn_occupied(struct hn_asking *asking, const struct hn_connection *connection, const char *uuid, const char **ret_why)
{
        HN_FREE struct occupation *occupation = calloc(1, sizeof *occupation);
        const struct hn_question question = {
                .uuid = uuid, .data = occupation, .ask = ask, .free = free,
        };
        int r;

        if (!hn_connection_get(connection) || !occupation)
                return -EBUSY;
        (void) snprintf(occupation->uuid, sizeof occupation->uuid, "%s", uuid);
        r = hn_asking_wait(asking, &question, ANSWER_WAIT_MS);
        if (r == -ETIME)
                (void) HN_TAKE(occupation);
        if (r < 0 || occupation->r < 0)
                return -EBUSY;
        *ret_why = occupation->why;
        return 0;
}
