/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `homenode doctor` looks at: everything on a host that keeps homenode from placing guests, or works against it.
 * A check is a function over the patient that reports one finding or more; it reads files and changes nothing.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "model/host.h"

enum hn_level {
        HN_LEVEL_OK,
        HN_LEVEL_NOTE,    /* worth knowing; guests are placed all the same */
        HN_LEVEL_WARNING, /* costs speed, or may spoil a placement */
        HN_LEVEL_PROBLEM, /* something that homenode is there for does not work */
};

struct hn_finding {
        enum hn_level level;
        const char *check;
        char *what;
        char *means; /* NULL where all is well and nothing is to be said */
        char *mend;  /* a command, or what else is to be done; NULL: nothing */
};

struct hn_findings {
        struct hn_finding *all;
        size_t n;
};

/* Whom it is about, looked up once for all checks. */
struct hn_patient {
        const struct hn_root *root;
        struct hn_host *host;        /* NULL: it can't be read */
        unsigned n_homes;            /* below 2 there is nothing to place */
        const char *libvirt;         /* "libvirtd" or "virtqemud": the one that runs, else the one to be expected */
        bool libvirt_installed;
        bool systemd;                /* runs as the host's init */
        int libvirt_pid;             /* 0: none runs */
        uint64_t libvirt_started_us; /* wall clock; 0: not known */
        uint64_t libvirt_changed_us; /* when systemd last started or reloaded it, wall clock; 0: not known */
        bool numad, irqbalance, homenoded; /* run */
};

int hn_patient_read(const struct hn_root *root, struct hn_patient *ret); /* -ENOMEM */
void hn_patient_clear(struct hn_patient *patient);
#define HN_PATIENT HN_CLEANUP(hn_patient_clear)

typedef int hn_check(const struct hn_patient *patient, struct hn_findings *findings); /* each -ENOMEM */

/* doctor-basis.c: what all else stands on; finds something only where it is missing */
hn_check hn_check_libvirt, hn_check_systemd;
/* doctor-libvirt.c */
hn_check hn_check_hook, hn_check_noticed;
/* doctor-cgroup.c */
hn_check hn_check_cgroup;
/* doctor-security.c */
hn_check hn_check_apparmor, hn_check_selinux;
/* doctor-kernel.c: what moves or merges pages beside us */
hn_check hn_check_numad, hn_check_balancing, hn_check_ksm, hn_check_zone_reclaim;
/* doctor-nodes.c */
hn_check hn_check_nodes, hn_check_distances, hn_check_isolated, hn_check_irqbalance;
/* doctor-pages.c */
hn_check hn_check_pages;
/* doctor-self.c */
hn_check hn_check_daemon, hn_check_configuration;

/* Adds a finding; `means` and `mend` are copied and may be NULL.  -ENOMEM. */
int hn_find(struct hn_findings *findings, enum hn_level level, const char *check, const char *means, const char *mend,
            const char *what, ...) HN_PRINTF(6, 7);
void hn_findings_clear(struct hn_findings *findings);
#define HN_FINDINGS HN_CLEANUP(hn_findings_clear)

/* All checks, in order.  -ENOMEM. */
int hn_doctor_look(const struct hn_patient *patient, struct hn_findings *ret);

bool hn_findings_have(const struct hn_findings *findings, enum hn_level level);
int hn_findings_to_json(const struct hn_findings *findings, struct json_object **ret); /* an array */
int hn_findings_text(const struct hn_findings *findings, FILE *out);

/* A line of a file without white space at its end; NULL: it can't be read.  The caller frees. */
char *hn_doctor_line(const struct hn_root *root, const char *path);
