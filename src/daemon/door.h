/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The door to definitions over the daemon's connection, which comes and goes.
 */
#pragma once

#include "act/definition.h"
#include "daemon/connection.h"

/* `connection` must outlive it. */
struct hn_definition_door hn_definition_door(struct hn_connection *connection);
