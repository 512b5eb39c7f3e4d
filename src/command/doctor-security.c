/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * AppArmor and SELinux: what they keep the hook, and QEMU, from doing.
 */
#include <errno.h>
#include <string.h>

#include "command/doctor.h"

#define ABSTRACTION "/etc/apparmor.d/abstractions/libvirt-qemu"
#define LOCAL "/etc/apparmor.d/local/abstractions/libvirt-qemu"
#define PROFILE_LIMIT (1u << 20)
#define SELINUX "/sys/fs/selinux"

/* The daemon's own label: "libvirtd (enforce)", "unconfined".  Kernel 5.8 and later have it apart from other modules'. */
static char *read_label(const struct hn_patient *patient)
{
        HN_FREE char *line = NULL;

        if (!patient->libvirt_pid)
                return NULL;
        if (hn_root_read_line(patient->root, &line, "/proc/%d/attr/apparmor/current", patient->libvirt_pid) < 0)
                (void) hn_root_read_line(patient->root, &line, "/proc/%d/attr/current", patient->libvirt_pid);
        return HN_TAKE(line);
}

static int check_profile(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *label = read_label(patient);

        if (!label)
                return hn_find(findings, HN_LEVEL_NOTE, "apparmor", "Nothing can be said about its profile.",
                               patient->libvirt_pid ? "sudo homenode doctor" : NULL,
                               patient->libvirt_pid ? "AppArmor is on; the profile of %s can't be read"
                                                    : "AppArmor is on; %s does not run",
                               patient->libvirt);
        if (strstr(label, "(enforce)"))
                return hn_find(findings, HN_LEVEL_OK, "apparmor", NULL, NULL, "%s is confined by its profile: %s",
                               patient->libvirt, label);
        return hn_find(findings, HN_LEVEL_NOTE, "apparmor",
                       "The hook may do all it needs. Guests are not kept apart by AppArmor, which is not homenode's doing.",
                       NULL, "the profile of %s is not enforced: %s", patient->libvirt, label);
}

/* Is there a rule (no comment) that lets QEMU read the nodes' cpumap? */
static bool allows_cpumap(const struct hn_root *root, const char *path)
{
        HN_FREE char *text = NULL;
        char *rest = NULL;

        if (hn_root_read(root, PROFILE_LIMIT, &text, NULL, "%s", path) < 0)
                return false;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                line += strspn(line, " \t");
                if (*line != '#' && strstr(line, "/devices/system/node/") && strstr(line, "/cpumap"))
                        return true;
        }
        return false;
}

static int check_rule(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (!hn_root_exists(patient->root, ABSTRACTION))
                return 0;
        if (allows_cpumap(patient->root, ABSTRACTION) || allows_cpumap(patient->root, LOCAL))
                return hn_find(findings, HN_LEVEL_OK, "apparmor rule", NULL, NULL,
                               "QEMU may read the nodes' CPU maps");
        return hn_find(findings, HN_LEVEL_PROBLEM, "apparmor rule",
                       "A guest whose memory is both bound to nodes (mode strict) and allocated at start does not start, "
                       "with or without homenode, and homenode binds guests that are wider than a node.",
                       "echo '/sys/devices/system/node/node[0-9]*/cpumap r,' >>" LOCAL,
                       "AppArmor keeps QEMU from reading the nodes' CPU maps");
}

int hn_check_apparmor(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *enabled = hn_doctor_line(patient->root, "/sys/module/apparmor/parameters/enabled");
        int r;

        if (!enabled || *enabled != 'Y')
                return hn_find(findings, HN_LEVEL_OK, "apparmor", NULL, NULL, "AppArmor is not in use");
        r = check_profile(patient, findings);
        return r < 0 ? r : check_rule(patient, findings);
}

int hn_check_selinux(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *enforce = hn_doctor_line(patient->root, SELINUX "/enforce");
        HN_FREE char *hooks = hn_doctor_line(patient->root, SELINUX "/booleans/virt_hooks_unconfined");

        if (!enforce || *enforce != '1')
                return hn_find(findings, HN_LEVEL_OK, "selinux", NULL, NULL,
                               enforce ? "SELinux only warns" : "SELinux is not in use");
        if (hooks && *hooks == '1')
                return hn_find(findings, HN_LEVEL_OK, "selinux", NULL, NULL, "hooks may do what they need "
                               "(virt_hooks_unconfined)");
        return hn_find(findings, HN_LEVEL_WARNING, "selinux",
                       "The hook may not be allowed to write its records, or a guest's cgroups: guests then start anywhere, "
                       "and homenoded has to move them.",
                       hooks ? "setsebool -P virt_hooks_unconfined on" : "update the package selinux-policy: it has no "
                               "virt_hooks_unconfined", "SELinux confines libvirt's hooks");
}
