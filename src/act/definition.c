/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/definition.h"

#include <errno.h>
#include <string.h>

#include "act/rewrite.h"
#include "store/copies.h"

#define READINGS 3 /* of a definition that somebody else keeps changing, one after the other */

void hn_defined_clear(struct hn_defined *definition)
{
        if (definition->xml)
                explicit_bzero(definition->xml, strlen(definition->xml));
        free(definition->xml);
        *definition = (struct hn_defined) { 0 };
}

static void clear_text(char **text)
{
        if (*text)
                explicit_bzero(*text, strlen(*text)); /* passwords */
        free(*text);
}

/* 1: *ret is the text without ours; 0: there is none of it. */
static int take_out(const char *xml, char **ret)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        bool changed = false;
        size_t length = 0;
        int r = hn_xml_parse(xml, strlen(xml), &doc);

        if (r >= 0)
                r = hn_rewrite_undo(doc, &changed);
        if (r >= 0 && changed)
                r = hn_xml_format(doc, ret, &length);
        return r == -EINVAL || r == -EOPNOTSUPP ? -EBADMSG : r < 0 ? r : changed;
}

/* -EAGAIN: it is another than it was. */
static int write_unchanged(const struct hn_definition_door *door, const char *uuid, const char *before, const char *xml,
                           char **ret_message)
{
        HN_DEFINED struct hn_defined present = { 0 };
        int r = door->read(door->data, uuid, &present);

        if (r < 0)
                return r;
        return strcmp(present.xml, before) == 0 ? door->write(door->data, xml, ret_message) : -EAGAIN;
}

/* The daemon hears of our writing at once: what is to be left is noted before, as it should read, and afterwards as
 * libvirt has it. */
static int undo_once(const struct hn_root *root, const struct hn_definition_door *door, const char *uuid,
                     char **ret_message)
{
        HN_DEFINED struct hn_defined before = { 0 }, after = { 0 };
        HN_CLEANUP(clear_text) char *xml = NULL;
        int r = door->read(door->data, uuid, &before), changed;

        if (r >= 0)
                r = take_out(before.xml, &xml);
        if (r < 0)
                return r;
        changed = r;
        r = hn_left_put(root, uuid, hn_left_digest(changed ? xml : before.xml));
        if (r >= 0 && changed) {
                r = write_unchanged(door, uuid, before.xml, xml, ret_message);
                if (r < 0 && r != -ENOTCONN) /* then nobody knows */
                        (void) hn_left_remove(root, uuid);
                if (r >= 0 && door->read(door->data, uuid, &after) >= 0)
                        r = hn_left_put(root, uuid, hn_left_digest(after.xml));
        }
        if (r >= 0)
                r = hn_copy_remove(root, uuid);
        return r < 0 ? r : changed;
}

int hn_definition_undo(const struct hn_root *root, const struct hn_definition_door *door, const char *uuid,
                       char **ret_message)
{
        int r = -EAGAIN;

        for (int i = 0; i < READINGS && r == -EAGAIN; i++)
                r = undo_once(root, door, uuid, ret_message);
        return r == -EAGAIN ? -EBUSY : r;
}
