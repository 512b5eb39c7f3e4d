/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A gauge: a measured value smoothed over a window, and its trend.  Measurements may come at any distance: one that
 * stands for a whole window counts 63 %, what was before the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hn_gauge {
        double level;
        double trend;      /* per second */
        uint64_t at_us;
        unsigned n;        /* measurements, two at most: the first has no trend */
};

/* now_us: any clock that does not go back; a measurement that is not later than the last one is passed over, and so is
 * what is no number. */
void hn_gauge_add(struct hn_gauge *gauge, double value, uint64_t now_us, uint64_t window_us);

/* The level so long from now, if it goes on like that; never below 0. */
double hn_gauge_ahead(const struct hn_gauge *gauge, double seconds);
