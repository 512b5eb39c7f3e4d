/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/libvirt.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>

#include "model/clock.h"

#define SYSTEM_URI "qemu:///system"

const char *hn_libvirt_uri(void)
{
        const char *uri = getenv("HOMENODE_URI");

        return uri && *uri ? uri : SYSTEM_URI;
}

/* What libvirt's last error means; only its own word counts for a domain that is gone. */
static int error_of(virConnectPtr libvirt)
{
        if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
                return -ENOENT;
        return virConnectIsAlive(libvirt) == 1 ? -EIO : -ENOTCONN;
}

static int read_from(void *libvirt, const char *uuid, struct hn_defined *ret)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainLookupByUUIDString(libvirt, uuid);
        int persistent, running, saved;
        char *xml;

        if (!domain)
                return error_of(libvirt);
        persistent = virDomainIsPersistent(domain);
        if (persistent == 0)
                return -ENOENT;
        running = virDomainIsActive(domain);
        saved = virDomainHasManagedSaveImage(domain, 0);
        if (persistent < 0 || running < 0)
                return error_of(libvirt);
        xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
        if (!xml)
                return error_of(libvirt);
        *ret = (struct hn_defined) { .xml = xml, .active = running > 0 || saved > 0 };
        return 0;
}

static int refusal(virConnectPtr libvirt, char **ret_message)
{
        const char *message = virGetLastErrorMessage();

        *ret_message = strdup(message ? message : "no message");
        return virConnectIsAlive(libvirt) == 1 ? -EREMOTEIO : -ENOTCONN;
}

static int write_to(void *libvirt, const char *xml, char **ret_message)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainDefineXML(libvirt, xml);

        return domain ? 0 : refusal(libvirt, ret_message);
}

static int undefine_from(void *libvirt, const char *uuid, char **ret_message)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainLookupByUUIDString(libvirt, uuid);

        /* A driver that has no such files refuses the flag. */
        if (domain && (virDomainUndefineFlags(domain, VIR_DOMAIN_UNDEFINE_KEEP_NVRAM) >= 0 ||
                       virDomainUndefine(domain) >= 0))
                return 0;
        return refusal(libvirt, ret_message);
}

static uint64_t now_ms(void *data)
{
        (void) data;
        return hn_monotonic_us() / 1000 + 1;
}

struct hn_definition_door hn_definition_door_to(virConnectPtr libvirt)
{
        return (struct hn_definition_door) {
                .data = libvirt, .read = read_from, .write = write_to, .undefine = undefine_from, .now_ms = now_ms,
        };
}
