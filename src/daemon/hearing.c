/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/hearing.h"

#include <errno.h>

static void mark(struct hn_hearing *hearing, virDomainPtr domain, unsigned matters)
{
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (virDomainGetConnect(domain) != hearing->libvirt || virDomainGetUUIDString(domain, uuid) < 0)
                return;
        hn_asking_meet(hearing->asking, domain);
        (void) hn_work_mark(hearing->work, uuid, matters);
}

static unsigned matters_of(int event, int detail)
{
        switch (event) {
        case VIR_DOMAIN_EVENT_DEFINED:
                return HN_LOOK_DEFINITION |
                       (detail == VIR_DOMAIN_EVENT_DEFINED_ADDED ? HN_LOOK_ADDED : HN_LOOK_UPDATED);
        case VIR_DOMAIN_EVENT_UNDEFINED:
                return HN_LOOK_DEFINITION | HN_LOOK_UNDEFINED;
        case VIR_DOMAIN_EVENT_STARTED:
        case VIR_DOMAIN_EVENT_SUSPENDED:
        case VIR_DOMAIN_EVENT_RESUMED:
        case VIR_DOMAIN_EVENT_CRASHED:
                return HN_LOOK_RUNNING;
        case VIR_DOMAIN_EVENT_STOPPED:
                return HN_LOOK_GONE | HN_LOOK_DEFINITION;
        default:
                return 0;
        }
}

static int on_lifecycle(virConnectPtr libvirt, virDomainPtr domain, int event, int detail, void *data)
{
        unsigned matters = matters_of(event, detail);
        (void) libvirt;

        if (matters)
                mark(data, domain, matters);
        return 0;
}

static void on_tunable(virConnectPtr libvirt, virDomainPtr domain, virTypedParameterPtr parameters, int n, void *data)
{
        (void) libvirt;
        (void) parameters;
        (void) n;
        mark(data, domain, HN_LOOK_RUNNING);
}

/* Live, or in the definition: libvirt does not say which. */
static void on_metadata(virConnectPtr libvirt, virDomainPtr domain, int type, const char *uri, void *data)
{
        (void) libvirt;
        (void) type;
        (void) uri;
        mark(data, domain, HN_LOOK_RUNNING | HN_LOOK_DEFINITION);
}

static void on_device(virConnectPtr libvirt, virDomainPtr domain, const char *alias, void *data)
{
        (void) libvirt;
        (void) alias;
        mark(data, domain, HN_LOOK_RUNNING);
}

static void on_memory(virConnectPtr libvirt, virDomainPtr domain, const char *alias, unsigned long long size, void *data)
{
        (void) size;
        on_device(libvirt, domain, alias, data);
}

static void on_reboot(virConnectPtr libvirt, virDomainPtr domain, void *data)
{
        (void) libvirt;
        mark(data, domain, HN_LOOK_RUNNING);
}

/* libvirt's events that say what happened to a guest.  The first can't be done without. */
static const struct {
        int id;
        virConnectDomainEventGenericCallback call;
} hearings[] = {
        { VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle) },
        { VIR_DOMAIN_EVENT_ID_TUNABLE, VIR_DOMAIN_EVENT_CALLBACK(on_tunable) },
        { VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_metadata) },
        { VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_device) },
        { VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_device) },
        { VIR_DOMAIN_EVENT_ID_MEMORY_DEVICE_SIZE_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_memory) },
        { VIR_DOMAIN_EVENT_ID_REBOOT, VIR_DOMAIN_EVENT_CALLBACK(on_reboot) },
};
#define N_HEARINGS (sizeof hearings / sizeof *hearings)
_Static_assert(N_HEARINGS <= HN_EAR_LIMIT, "room for each event's id");

int hn_hear(virConnectPtr libvirt, struct hn_hearing *hearing, struct hn_ears *ret)
{
        struct hn_ears ears = { 0 };

        for (size_t i = 0; i < N_HEARINGS; i++) {
                int id = virConnectDomainEventRegisterAny(libvirt, NULL, hearings[i].id, hearings[i].call, hearing,
                                                          NULL);

                if (id >= 0)
                        ears.ids[ears.n++] = id;
                else if (i == 0)
                        return -EIO;
        }
        *ret = ears;
        return 0;
}

void hn_hear_no_more(virConnectPtr libvirt, const struct hn_ears *ears)
{
        for (size_t i = 0; i < ears->n; i++)
                (void) virConnectDomainEventDeregisterAny(libvirt, ears->ids[i]);
}
