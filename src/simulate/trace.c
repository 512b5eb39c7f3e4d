/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/domain.h"

#define FORM "id,group,arrive_s,lifetime_s,lifetime_hi_s,censored,vcpus,mem_mib,vnuma,note"
#define MIB_LIMIT (UINT64_C(1) << 40)
#define SECONDS_LIMIT (UINT64_C(1) << 40)

enum field { ID, GROUP, ARRIVE, LIFETIME, LIFETIME_HI, CENSORED, VCPUS, MEMORY, VNUMA, NOTE, N_FIELDS };

struct span {
        const char *text;
        size_t length;
};

void hn_trace_free(struct hn_trace *trace)
{
        if (!trace)
                return;
        free(trace->guests);
        free(trace);
}

/* The note is last and may hold commas. */
static bool split(struct span line, struct span *fields)
{
        for (int i = 0; i < N_FIELDS; i++) {
                const char *comma = i < NOTE ? memchr(line.text, ',', line.length) : NULL;

                if (i < NOTE && !comma)
                        return false;
                fields[i] = line;
                if (!comma)
                        return true;
                fields[i].length = (size_t) (comma - line.text);
                line.length -= fields[i].length + 1;
                line.text = comma + 1;
        }
        return true;
}

static bool read_number(struct span field, uint64_t limit, uint64_t *ret)
{
        uint64_t value = 0;

        for (size_t i = 0; i < field.length; i++) {
                if (field.text[i] < '0' || field.text[i] > '9')
                        return false;
                value = value * 10 + (uint64_t) (field.text[i] - '0');
                if (value > limit)
                        return false;
        }
        *ret = value;
        return field.length > 0;
}

static bool read_times(const struct span *fields, struct hn_trace_guest *guest)
{
        uint64_t arrive, low, high, censored = 0;

        if (!read_number(fields[ARRIVE], SECONDS_LIMIT, &arrive)
            || !read_number(fields[LIFETIME], SECONDS_LIMIT, &low))
                return false;
        if (fields[CENSORED].length && !read_number(fields[CENSORED], 1, &censored))
                return false;
        high = low;
        if (fields[LIFETIME_HI].length && !read_number(fields[LIFETIME_HI], SECONDS_LIMIT, &high))
                return false;
        guest->arrive_s = (double) arrive;
        guest->lifetime_s = censored ? (double) INFINITY : ((double) low + (double) high) / 2;
        return true;
}

/* A guest per line, all with times or all without. */
static bool read_guest(struct span line, struct hn_trace *trace)
{
        struct span fields[N_FIELDS];
        struct hn_trace_guest *guest = &trace->guests[trace->n_guests];
        uint64_t vcpus, mib;
        bool timed;

        *guest = (struct hn_trace_guest) { 0 };
        if (!split(line, fields) || !read_number(fields[VCPUS], HN_DOMAIN_VCPU_LIMIT, &vcpus)
            || !read_number(fields[MEMORY], MIB_LIMIT, &mib) || !vcpus || !mib)
                return false;
        guest->vcpus = (unsigned) vcpus;
        guest->memory_kib = mib * 1024;
        timed = fields[ARRIVE].length > 0;
        if (trace->n_guests == 0)
                trace->timed = timed;
        if (timed != trace->timed || (timed && !read_times(fields, guest)))
                return false;
        if (timed && trace->n_guests && guest->arrive_s < guest[-1].arrive_s)
                return false;
        trace->n_guests++;
        return true;
}

static struct span next_line(const char *text, size_t length)
{
        const char *end = memchr(text, '\n', length);
        size_t n = end ? (size_t) (end - text) : length;

        return (struct span) { text, n && text[n - 1] == '\r' ? n - 1 : n };
}

static size_t count_lines(const char *text, size_t length)
{
        size_t n = 1;

        for (size_t i = 0; i < length; i++)
                n += text[i] == '\n';
        return n;
}

int hn_trace_parse(const char *text, size_t length, struct hn_trace **ret, size_t *ret_line)
{
        HN_TRACE struct hn_trace *trace = calloc(1, sizeof *trace);
        size_t number = 1;

        if (!trace)
                return -ENOMEM;
        trace->guests = calloc(count_lines(text, length), sizeof *trace->guests);
        if (!trace->guests)
                return -ENOMEM;
        for (size_t i = 0; i < length; number++) {
                struct span line = next_line(text + i, length - i);
                const char *end = memchr(text + i, '\n', length - i);
                bool right = number > 1 ? line.length == 0 || read_guest(line, trace)
                                        : line.length == strlen(FORM) && memcmp(line.text, FORM, line.length) == 0;

                if (!right) {
                        *ret_line = number;
                        return -EBADMSG;
                }
                i = end ? (size_t) (end - text) + 1 : length;
        }
        if (!trace->n_guests) {
                *ret_line = number;
                return -EBADMSG;
        }
        *ret = HN_TAKE(trace);
        return 0;
}
