/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cgroup v2, with the controllers on all levels down to where guests are.
 */
#include <errno.h>
#include <string.h>

#include "command/doctor.h"
#include "model/text.h"

#define CGROUP "/sys/fs/cgroup"
#define SLICE CGROUP "/machine.slice"
#define CHECK "cgroup"

/* The controllers that a file lists; "" where it can't be read. */
static int read_list(const struct hn_root *root, const char *path, char **ret)
{
        char *line = hn_doctor_line(root, path);

        *ret = line ? line : strdup("");
        return *ret ? 0 : -ENOMEM;
}

static bool has_guests(const struct hn_root *root)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;

        if (hn_root_open_dir(root, &dir, SLICE) < 0)
                return false;
        while ((entry = readdir(dir)))
                if (strncmp(entry->d_name, "machine-qemu", 12) == 0)
                        return true;
        return false;
}

/* What is missing above the guests.  systemd turns a controller on for a slice where something below wants it, as
 * machined's delegated scopes do: without a guest it may well be off. */
static int check_slice(const struct hn_patient *patient, const char *controller, const char *means,
                       enum hn_level level, struct hn_findings *findings)
{
        HN_FREE char *here = NULL, *below = NULL, *mend = NULL;
        const char *property = strcmp(controller, "cpuset") == 0 ? "AllowedMemoryNodes" : "MemoryAccounting";
        HN_FREE char *nodes = NULL;

        if (!has_guests(patient->root))
                return hn_find(findings, HN_LEVEL_OK, CHECK, NULL, NULL,
                               "the %s controller is there; no guest runs that it could be looked up for", controller);
        if (read_list(patient->root, SLICE "/cgroup.controllers", &here) < 0 ||
            read_list(patient->root, SLICE "/cgroup.subtree_control", &below) < 0)
                return -ENOMEM;
        if (hn_text_has_word(here, controller) && hn_text_has_word(below, controller))
                return hn_find(findings, HN_LEVEL_OK, CHECK, NULL, NULL,
                               "the %s controller is on for guests in machine.slice", controller);
        nodes = hn_doctor_line(patient->root, "/sys/devices/system/node/online");
        mend = hn_text_print("systemctl set-property machine.slice %s=%s", property,
                             *property == 'A' ? (nodes ? nodes : "0") : "yes");
        return !mend ? -ENOMEM : hn_find(findings, level, CHECK, means, mend, "the %s controller is off %s machine.slice",
                                         controller, hn_text_has_word(here, controller) ? "below" : "for");
}

#define CPUSET_MEANS "Guests can't be confined to CPUs or memory nodes: placements do not come into force."
#define MEMORY_MEANS "Where a guest's memory lies is not counted per node: locality can't be shown or kept watch of."

static int check_controller(const struct hn_patient *patient, const char *all, const char *controller,
                            const char *means, enum hn_level level, struct hn_findings *findings)
{
        if (!hn_text_has_word(all, controller))
                return hn_find(findings, level, CHECK, means,
                               "take cgroup_disable= out of the kernel command line, unmount cgroup v1 hierarchies that hold it, "
                               "and reboot",
                               "the kernel has no %s controller in cgroup v2", controller);
        return check_slice(patient, controller, means, level, findings);
}

int hn_check_cgroup(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *all = NULL;
        int r = read_list(patient->root, CGROUP "/cgroup.controllers", &all);

        if (r < 0)
                return r;
        if (!hn_root_exists(patient->root, CGROUP "/cgroup.controllers"))
                return hn_find(findings, HN_LEVEL_PROBLEM, CHECK, CPUSET_MEANS,
                               "add systemd.unified_cgroup_hierarchy=1 to the kernel command line (Debian: "
                               "GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub), and reboot",
                               "the host does not run with cgroup v2 alone");
        r = check_controller(patient, all, "cpuset", CPUSET_MEANS, HN_LEVEL_PROBLEM, findings);
        return r < 0 ? r : check_controller(patient, all, "memory", MEMORY_MEANS, HN_LEVEL_WARNING, findings);
}
