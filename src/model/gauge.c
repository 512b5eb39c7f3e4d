/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/gauge.h"

#include <math.h>

void hn_gauge_add(struct hn_gauge *gauge, double value, uint64_t now_us, uint64_t window_us)
{
        double seconds, part, before = gauge->level;

        if (!isfinite(value) || (gauge->n && now_us <= gauge->at_us))
                return;
        if (!gauge->n) {
                *gauge = (struct hn_gauge) { .level = value, .at_us = now_us, .n = 1 };
                return;
        }
        seconds = (double) (now_us - gauge->at_us) / 1e6;
        part = window_us ? 1 - exp(-seconds * 1e6 / (double) window_us) : 1;
        gauge->level += part * (value - gauge->level);
        gauge->trend += part * ((gauge->level - before) / seconds - gauge->trend);
        gauge->at_us = now_us;
        gauge->n = 2;
}

double hn_gauge_ahead(const struct hn_gauge *gauge, double seconds)
{
        double level = gauge->level + gauge->trend * seconds;

        return level > 0 ? level : 0;
}
