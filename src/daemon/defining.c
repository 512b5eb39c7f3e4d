/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/defining.h"

#include <errno.h>

#include "daemon/turn.h"

#define MATTERS (HN_LOOK_DEFINITION | HN_LOOK_ADDED | HN_LOOK_UPDATED | HN_LOOK_UNDEFINED)
#define LATER_MS 5000u /* there was no memory, no thread or no connection, or it is not known yet */

/* One look at one domain. */
struct look {
        struct hn_defining *defining;
        char uuid[HN_UUID_LENGTH + 1];
        unsigned matters;
        bool heard;       /* what matters is known to those who define */
        unsigned wait_ms; /* what came of it */
};

/* ---- the door */

static int read_apart(void *libvirt, const char *uuid, struct hn_defined *ret)
{
        int r;

        hn_turn_give();
        r = hn_definition_door_to(libvirt).read(libvirt, uuid, ret);
        hn_turn_take();
        return r;
}

static int write_apart(void *libvirt, const char *xml, char **ret_message)
{
        int r;

        hn_turn_give();
        r = hn_definition_door_to(libvirt).write(libvirt, xml, ret_message);
        hn_turn_take();
        return r;
}

static int undefine_apart(void *libvirt, const char *uuid, char **ret_message)
{
        int r;

        hn_turn_give();
        r = hn_definition_door_to(libvirt).undefine(libvirt, uuid, ret_message);
        hn_turn_take();
        return r;
}

struct hn_definition_door hn_defining_door(void)
{
        struct hn_definition_door door = hn_definition_door_to(NULL);

        door.read = read_apart;
        door.write = write_apart;
        door.undefine = undefine_apart;
        return door;
}

/* ---- looking */

static void look(void *data, virConnectPtr libvirt)
{
        struct look *look = data;

        if (!libvirt) {
                look->wait_ms = LATER_MS;
                return;
        }
        look->heard = true;
        hn_turn_take();
        look->wait_ms = hn_definitions_look(look->defining->definitions, libvirt, look->uuid, look->matters);
        hn_turn_give();
}

static void looked(void *data)
{
        const struct look *look = data;

        if (look->wait_ms > 0)
                (void) hn_work_mark_later(look->defining->work, look->uuid, look->heard ? HN_LOOK_DEFINITION : look->matters,
                                          look->wait_ms);
        hn_work_done(look->defining->work, look->uuid);
}

/* While libvirt is away nothing is due: all is marked when it is back. */
static bool on_work(void *data, const char *uuid, unsigned matters)
{
        struct hn_defining *defining = data;
        bool present = hn_connection_get(defining->connection);
        HN_FREE struct look *begun = present ? calloc(1, sizeof *begun) : NULL;
        const struct hn_question question = {
                .uuid = uuid, .data = begun, .ask = look, .answered = looked, .free = free,
        };

        if (!present)
                return false;
        if (begun) {
                *begun = (struct look) { .defining = defining, .matters = matters };
                (void) snprintf(begun->uuid, sizeof begun->uuid, "%s", uuid);
        }
        if (!begun || hn_asking_ask(defining->asking, &question) < 0) {
                (void) hn_work_mark_later(defining->work, uuid, matters, LATER_MS);
                return false;
        }
        (void) HN_TAKE(begun);
        return true;
}

int hn_defining_new(struct hn_definitions *definitions, struct hn_work *work, struct hn_connection *connection,
                    struct hn_asking *asking, struct hn_defining **ret)
{
        HN_DEFINING struct hn_defining *defining = calloc(1, sizeof *defining);
        int r;

        if (!defining)
                return -ENOMEM;
        *defining = (struct hn_defining) {
                .definitions = definitions, .work = work, .connection = connection, .asking = asking,
        };
        r = hn_work_subscribe(work, MATTERS, on_work, defining);
        if (r < 0)
                return r;
        *ret = HN_TAKE(defining);
        return 0;
}

void hn_defining_free(struct hn_defining *defining)
{
        free(defining);
}
