/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/known.h"

#include <string.h>

#include "model/array.h"

static struct hn_known_domain *find(const struct hn_known *known, const char *uuid)
{
        for (size_t i = 0; i < known->n; i++)
                if (strcmp(known->list[i].uuid, uuid) == 0)
                        return &known->list[i];
        return NULL;
}

static struct hn_known_domain *obtain(struct hn_known *known, const char *uuid)
{
        struct hn_known_domain *one = find(known, uuid), *list;

        if (one)
                return one;
        list = hn_array_grow(known->list, known->n, sizeof *list);
        if (!list)
                return NULL;
        known->list = list;
        one = &list[known->n++];
        *one = (struct hn_known_domain) { 0 };
        memcpy(one->uuid, uuid, sizeof one->uuid);
        return one;
}

void hn_known_add(struct hn_known *known, virDomainPtr domain)
{
        char uuid[VIR_UUID_STRING_BUFLEN];
        struct hn_known_domain *one;

        _Static_assert(sizeof uuid == sizeof one->uuid, "both have room for a UUID");
        if (virDomainGetUUIDString(domain, uuid) < 0 || virDomainRef(domain) < 0)
                return;
        one = obtain(known, uuid);
        if (!one) {
                (void) virDomainFree(domain);
                return;
        }
        if (one->domain)
                (void) virDomainFree(one->domain);
        one->domain = domain;
}

virDomainPtr hn_known_find(const struct hn_known *known, const char *uuid)
{
        const struct hn_known_domain *one = find(known, uuid);

        return one ? one->domain : NULL;
}

void hn_known_remove(struct hn_known *known, const char *uuid, virDomainPtr domain)
{
        struct hn_known_domain *one = find(known, uuid);

        if (!one || one->domain != domain)
                return;
        (void) virDomainFree(one->domain);
        *one = known->list[--known->n];
}

void hn_known_clear(struct hn_known *known)
{
        for (size_t i = 0; i < known->n; i++)
                (void) virDomainFree(known->list[i].domain);
        free(known->list);
        *known = (struct hn_known) { 0 };
}
