/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "command/called.h"
#include "command/records.h"
#include "command/undo.h"
#include "model/array.h"
#include "model/uuid.h"

void hn_undo_domains_clear(struct hn_undo_domains *domains)
{
        for (size_t i = 0; i < domains->n; i++) {
                free(domains->all[i].name);
                free(domains->all[i].notes);
                free(domains->all[i].faults);
        }
        free(domains->all);
        *domains = (struct hn_undo_domains) { 0 };
}

static struct hn_undo_domain *find_uuid(const struct hn_undo_domains *domains, const char *uuid)
{
        for (size_t i = 0; i < domains->n; i++)
                if (strcmp(domains->all[i].uuid, uuid) == 0)
                        return &domains->all[i];
        return NULL;
}

/* Once; what was added first is right. */
static int add(struct hn_undo_domains *domains, const char *uuid, const char *name, long id)
{
        struct hn_undo_domain domain = { .id = id }, *all;

        if (hn_uuid_canonical(uuid, domain.uuid) < 0 || find_uuid(domains, domain.uuid))
                return 0;
        all = hn_array_grow(domains->all, domains->n, sizeof *all);
        if (!all)
                return -ENOMEM;
        domains->all = all;
        domain.name = strdup(name ? name : domain.uuid);
        if (!domain.name)
                return -ENOMEM;
        domains->all[domains->n++] = domain;
        return 0;
}

/* ---- whence */

static int add_libvirts(virConnectPtr libvirt, struct hn_undo_domains *domains)
{
        virDomainPtr *list = NULL;
        int n = virConnectListAllDomains(libvirt, &list, 0), r = n < 0 ? -EIO : 0;

        for (int i = 0; i < n; i++) {
                char uuid[VIR_UUID_STRING_BUFLEN] = "";
                unsigned id = virDomainGetID(list[i]);

                if (r >= 0 && virDomainGetUUIDString(list[i], uuid) == 0)
                        r = add(domains, uuid, virDomainGetName(list[i]), id == (unsigned) -1 ? -1 : (long) id);
                (void) virDomainFree(list[i]);
        }
        free(list);
        return r;
}

static int add_records(const struct hn_root *root, struct hn_undo_domains *domains)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *file;
        int r = hn_root_open_dir(root, &dir, HN_RECORDS);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        while (r >= 0 && (file = readdir(dir))) {
                HN_REQUEST struct hn_request *request = NULL;

                if (hn_record_is(file->d_name) && hn_record_read(root, file->d_name, &request) >= 0)
                        r = add(domains, request->uuid, request->name, request->id);
        }
        return r;
}

static int add_entries(struct hn_ledger *ledger, struct hn_undo_domains *domains)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_ledger_load(ledger, &entries, &n);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = add(domains, entries[i]->placement->uuid, entries[i]->placement->name, entries[i]->domain_id);
        hn_entries_free(entries, n);
        return r;
}

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct hn_undo_domain *) a)->name, ((const struct hn_undo_domain *) b)->name);
}

int hn_undo_list(const struct hn_undo *undo, struct hn_undo_domains *ret)
{
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        int r = undo->libvirt ? add_libvirts(undo->libvirt, &domains) : add_records(undo->root, &domains);

        if (r >= 0)
                r = add_entries(undo->ledger, &domains);
        if (r < 0)
                return r;
        if (domains.n > 0)
                qsort(domains.all, domains.n, sizeof *domains.all, by_name);
        *ret = domains;
        domains = (struct hn_undo_domains) { 0 };
        return 0;
}

struct hn_undo_domain *hn_undo_find(const struct hn_undo_domains *domains, const char *text)
{
        struct hn_undo_domain *found = NULL;
        int best = 0;

        for (size_t i = 0; i < domains->n; i++) {
                struct hn_undo_domain *domain = &domains->all[i];
                int called = hn_called(text, domain->id, domain->uuid, domain->name);

                if (called <= best)
                        continue;
                best = called;
                found = domain;
        }
        return found;
}
