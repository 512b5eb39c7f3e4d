/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which of the processes that matter run, and since when libvirt's daemon does.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "act/service.h"
#include "command/doctor.h"
#include "model/process.h"
#include "model/text.h"

#define TICKS_PER_SECOND 100u /* USER_HZ: what /proc counts in on every architecture that libvirt has guests on */
#define SYSTEMD_WAIT_US 1000000u
#define STAT_LIMIT (4u << 20)

char *hn_doctor_line(const struct hn_root *root, const char *path)
{
        HN_FREE char *line = NULL;

        if (hn_root_read_line(root, &line, "%s", path) < 0)
                return NULL;
        for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
                line[n - 1] = '\0';
        return HN_TAKE(line);
}

static void note_process(struct hn_patient *patient, const char *name)
{
        patient->numad |= strcmp(name, "numad") == 0;
        patient->irqbalance |= strcmp(name, "irqbalance") == 0;
        patient->homenoded |= strcmp(name, "homenoded") == 0;
}

static void read_processes(const struct hn_root *root, struct hn_patient *patient)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;

        if (hn_root_open_dir(root, &dir, "/proc") < 0)
                return;
        while ((entry = readdir(dir))) {
                HN_FREE char *name = NULL;

                if (*entry->d_name < '1' || *entry->d_name > '9')
                        continue;
                if (hn_root_read_line(root, &name, "/proc/%s/comm", entry->d_name) >= 0)
                        note_process(patient, name);
        }
}

/* When this boot began, by the wall clock; 0: not known. */
static uint64_t boot_us(const struct hn_root *root)
{
        HN_FREE char *text = NULL;
        const char *line;
        uint64_t seconds = 0;

        if (hn_root_read(root, STAT_LIMIT, &text, NULL, "/proc/stat") < 0)
                return 0;
        line = strstr(text, "\nbtime ");
        return line && sscanf(line, "\nbtime %" SCNu64, &seconds) == 1 ? seconds * 1000000u : 0;
}

/* The system's daemon, not a user's: by the file that it keeps its PID in. */
static void read_libvirt(const struct hn_root *root, struct hn_patient *patient)
{
        static const char *const names[] = { "virtqemud", "libvirtd" };

        patient->libvirt = "libvirtd";
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                HN_FREE char *comm = NULL;
                struct hn_process process;
                uint64_t pid, boot = boot_us(root);

                if (hn_root_read_u64(root, &pid, "/run/%s.pid", names[i]) < 0 || pid == 0 || pid > INT32_MAX ||
                    hn_root_read_line(root, &comm, "/proc/%" PRIu64 "/comm", pid) < 0 || strcmp(comm, names[i]) != 0)
                        continue;
                patient->libvirt = names[i];
                patient->libvirt_pid = (int) pid;
                if (boot && hn_process_read(root, (int) pid, &process) >= 0)
                        patient->libvirt_started_us =
                                boot + process.start_ticks * (1000000u / TICKS_PER_SECOND);
                return;
        }
}

/* By its configuration, which a recorded tree has as well, or where it is usual by its programs. */
static bool has_libvirt(const struct hn_root *root, const struct hn_patient *patient)
{
        static const char *const paths[] = {
                "/etc/libvirt/qemu.conf", "/etc/libvirt/libvirtd.conf", "/etc/libvirt/virtqemud.conf",
                "/usr/sbin/libvirtd", "/usr/sbin/virtqemud",
        };

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
                if (hn_root_exists(root, "%s", paths[i]))
                        return true;
        return patient->libvirt_pid > 0;
}

/* A reload leaves no trace but in systemd's memory. */
static int read_reload(const struct hn_root *root, struct hn_patient *patient)
{
        HN_FREE char *unit = hn_text_print("%s.service", patient->libvirt);

        if (!unit)
                return -ENOMEM;
        if (patient->libvirt_pid)
                (void) hn_service_changed(root, NULL, unit, SYSTEMD_WAIT_US, &patient->libvirt_changed_us);
        return 0;
}

int hn_patient_read(const struct hn_root *root, struct hn_patient *ret)
{
        HN_PATIENT struct hn_patient patient = { .root = root };
        int r = hn_host_from_cache(root, true, &patient.host);

        if (r == -ENOMEM)
                return r;
        for (size_t at = 0; patient.host && at < patient.host->n_nodes; at++)
                patient.n_homes += patient.host->nodes[at].role == HN_NODE_HOME;
        read_processes(root, &patient);
        read_libvirt(root, &patient);
        patient.libvirt_installed = has_libvirt(root, &patient);
        patient.systemd = hn_root_exists(root, "/run/systemd/system"); /* as sd_booted(3) tells */
        if (read_reload(root, &patient) < 0)
                return -ENOMEM;
        *ret = patient;
        patient.host = NULL;
        return 0;
}

void hn_patient_clear(struct hn_patient *patient)
{
        hn_host_free(patient->host);
        *patient = (struct hn_patient) { 0 };
}
