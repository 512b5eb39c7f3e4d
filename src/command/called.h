/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which domain an administrator means, who may name one as for virsh: by id, UUID or name.
 */
#pragma once

/* How well `text` names that one: 0 not at all; an id goes before a UUID, a UUID before a name that looks like one (as
 * virsh has it).  id -1: it has none; name may be NULL. */
int hn_called(const char *text, long id, const char *uuid, const char *name);
