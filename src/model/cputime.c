/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/cputime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/host-facts.h"

#define STAT_LIMIT (4u << 20)

/* user nice system idle iowait irq softirq steal; what follows (guest, guest_nice) is in user and nice already. */
enum { IDLE = 3, IOWAIT = 4, COLUMNS = 8, COLUMNS_AT_LEAST = 4 };

static bool read_line(const char *line, unsigned long *ret_cpu, struct hn_cpu_time *ret)
{
        struct hn_cpu_time time = { 0 };
        unsigned columns = 0;
        char *p;

        *ret_cpu = strtoul(line + 3, &p, 10);
        if (*ret_cpu >= HN_HOST_CPU_LIMIT)
                return false;
        for (; columns < COLUMNS && *p == ' ' && p[1] >= '0' && p[1] <= '9'; columns++) {
                uint64_t ticks = strtoull(p + 1, &p, 10);

                time.total += ticks;
                if (columns != IDLE && columns != IOWAIT)
                        time.busy += ticks;
        }
        *ret = time;
        return columns >= COLUMNS_AT_LEAST && (*p == ' ' || *p == '\0');
}

static int add(struct hn_cpu_times *times, unsigned long cpu, const struct hn_cpu_time *time)
{
        if (cpu >= times->n_cpus) {
                struct hn_cpu_time *more = reallocarray(times->cpus, cpu + 1, sizeof *more);

                if (!more)
                        return -ENOMEM;
                memset(more + times->n_cpus, 0, (cpu + 1 - times->n_cpus) * sizeof *more);
                times->cpus = more;
                times->n_cpus = cpu + 1;
        }
        times->cpus[cpu] = *time;
        return 0;
}

int hn_cpu_times_read(const struct hn_root *root, struct hn_cpu_times *ret)
{
        HN_CPU_TIMES struct hn_cpu_times times = { 0 };
        HN_FREE char *text = NULL;
        char *rest = NULL;
        int r = hn_root_read(root, STAT_LIMIT, &text, NULL, "/proc/stat");

        for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &rest); r >= 0 && line;
             line = strtok_r(NULL, "\n", &rest)) {
                struct hn_cpu_time time;
                unsigned long cpu;

                if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9')
                        continue;
                r = read_line(line, &cpu, &time) ? add(&times, cpu, &time) : -EBADMSG;
        }
        if (r < 0)
                return r;
        *ret = times;
        times = (struct hn_cpu_times) { 0 };
        return 0;
}

void hn_cpu_times_clear(struct hn_cpu_times *times)
{
        free(times->cpus);
        *times = (struct hn_cpu_times) { 0 };
}

double hn_cpu_times_busy(const struct hn_cpu_times *before, const struct hn_cpu_times *after,
                         hwloc_const_bitmap_t cpus)
{
        double busy = 0;
        bool told = false;

        HN_IDSET_FOREACH(cpu, cpus) {
                if ((size_t) cpu >= before->n_cpus || (size_t) cpu >= after->n_cpus)
                        continue;
                const struct hn_cpu_time *from = &before->cpus[cpu], *to = &after->cpus[cpu];
                if (!from->total || to->total <= from->total)
                        continue;
                told = true;
                /* iowait may go back (proc_stat(5)), so the part can seem larger than the whole. */
                uint64_t whole = to->total - from->total, part = to->busy > from->busy ? to->busy - from->busy : 0;
                busy += part < whole ? (double) part / (double) whole : 1;
        }
        return told ? busy : -1;
}
