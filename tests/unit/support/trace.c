/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/trace.h"

#include "unit/support/test.h"

struct hn_trace *trace_of(const char *lines)
{
        HN_FREE char *text = NULL;
        struct hn_trace *trace = NULL;
        size_t line = 0;

        assert_true(asprintf(&text, TRACE_HEAD "%s", lines) > 0);
        assert_int_equal(hn_trace_parse(text, strlen(text), &trace, &line), 0);
        return trace;
}
