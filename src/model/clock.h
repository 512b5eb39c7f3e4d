/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two clocks: one for how long something takes, one for when something was in this boot; and waiting.
 */
#pragma once

#include <stdint.h>

uint64_t hn_monotonic_us(void); /* CLOCK_MONOTONIC */
uint64_t hn_boottime_us(void);  /* CLOCK_BOOTTIME: goes on while the host sleeps */

void hn_sleep_ms(unsigned ms); /* all of it, whatever signals are caught meanwhile */
