/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/door.h"

#include <errno.h>

static int read_present(void *data, const char *uuid, struct hn_defined *ret)
{
        virConnectPtr libvirt = hn_connection_get(data);

        return libvirt ? hn_definition_door_to(libvirt).read(libvirt, uuid, ret) : -ENOTCONN;
}

static int write_present(void *data, const char *xml, char **ret_message)
{
        virConnectPtr libvirt = hn_connection_get(data);

        return libvirt ? hn_definition_door_to(libvirt).write(libvirt, xml, ret_message) : -ENOTCONN;
}

static int undefine_present(void *data, const char *uuid, char **ret_message)
{
        virConnectPtr libvirt = hn_connection_get(data);

        return libvirt ? hn_definition_door_to(libvirt).undefine(libvirt, uuid, ret_message) : -ENOTCONN;
}

struct hn_definition_door hn_definition_door(struct hn_connection *connection)
{
        struct hn_definition_door door = hn_definition_door_to(NULL);

        door.data = connection;
        door.read = read_present;
        door.write = write_present;
        door.undefine = undefine_present;
        return door;
}
