/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One at a time: libvirt may let a thread wait for as long as somebody holds a domain, so it is asked by threads apart
 * from the loop; but all else of the daemon, hwloc's environment, the readers of files, what is known of guests, is
 * made for one thread.  So whoever works has the turn: the loop in each of its callbacks, a thread that looks at a
 * definition whenever it is not waiting for libvirt.
 */
#pragma once

/* Waits for the turn; whoever asks first is served first, or a busy loop would never let a thread in. */
void hn_turn_take(void);
void hn_turn_give(void);
