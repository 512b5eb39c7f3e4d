/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any text as a trace: what is read is what was written there, line by line, for a second reader that knows nothing but
 * memchr and strtod; what is refused is refused at a line that there is.  Links libhomenode.a.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/domain.h"
#include "simulate/trace.h"

#define FIELDS 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
        if (!holds)
                abort();
}

/* Cuts a line at its first nine commas; what is not looked at may be anything. */
static void cut(char *line, const char *end, char *fields[FIELDS])
{
        for (int i = 0; i < FIELDS; i++) {
                char *comma = i + 1 < FIELDS ? memchr(line, ',', (size_t) (end - line)) : NULL;

                demand(comma || i + 1 == FIELDS);
                fields[i] = line;
                if (comma) {
                        *comma = '\0';
                        line = comma + 1;
                }
        }
}

static double number(const char *text)
{
        return strtod(text, NULL); /* digits only, or it would not have been read */
}

static void compare(const struct hn_trace_guest *guest, char *line, const char *end, bool timed)
{
        char *fields[FIELDS];

        cut(line, end, fields);
        demand(guest->vcpus > 0 && guest->vcpus <= HN_DOMAIN_VCPU_LIMIT && guest->memory_kib > 0);
        demand(fabs(guest->vcpus - number(fields[6])) < 0.5);
        demand(fabs((double) guest->memory_kib - 1024 * number(fields[7])) < 512);
        demand(timed == (*fields[2] != '\0'));
        if (!timed)
                return;
        demand(guest->arrive_s >= 0 && guest->lifetime_s >= 0);
        demand(fabs(guest->arrive_s - number(fields[2])) < 0.5);
        demand((bool) isinf(guest->lifetime_s) == (number(fields[5]) > 0));
        if (!isinf(guest->lifetime_s))
                demand(fabs(guest->lifetime_s - (number(fields[3]) + number(fields[*fields[4] ? 4 : 3])) / 2) < 0.5);
}

/* The lines behind the first that are not empty are the guests, in their order. */
static void check(const struct hn_trace *trace, char *text, size_t size)
{
        size_t n = 0;
        bool first = true;

        demand(trace->n_guests > 0);
        for (char *line = text, *end; line < text + size; line = end + 1, first = false) {
                end = memchr(line, '\n', (size_t) (text + size - line));
                end = end ? end : text + size;
                *end = '\0';
                if (first || end == line || (end == line + 1 && *line == '\r'))
                        continue;
                demand(n < trace->n_guests);
                demand(!n || !trace->timed || trace->guests[n].arrive_s >= trace->guests[n - 1].arrive_s);
                compare(&trace->guests[n++], line, end, trace->timed);
        }
        demand(n == trace->n_guests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_TRACE struct hn_trace *trace = NULL;
        HN_FREE char *text = calloc(1, size + 1);
        size_t line = 0, lines = 1;
        int r;

        demand(text);
        memcpy(text, data, size);
        for (size_t i = 0; i < size; i++)
                lines += data[i] == '\n';
        r = hn_trace_parse(text, size, &trace, &line);
        if (r < 0) {
                demand(r == -EBADMSG && !trace && line >= 1 && line <= lines + 1);
                return 0;
        }
        check(trace, text, size);
        return 0;
}
