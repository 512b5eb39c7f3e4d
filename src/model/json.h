/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Strict reading of JSON members, and writing of sets, for everything that homenode keeps as JSON.
 */
#pragma once

#include <json-c/json.h>

#include "model/idset.h"
#include "model/root.h"

HN_DEFINE_CLEANUP(struct json_object *, (void) json_object_put, hn_cleanup_json)
#define HN_JSON HN_CLEANUP(hn_cleanup_json)

/* Parses a whole text of at most `depth` levels; nothing but white space may follow.  -EBADMSG, -ENOMEM. */
int hn_json_parse(const char *text, size_t length, int depth, struct json_object **ret);

/* The same of a file of at most `limit` bytes; errors as hn_root_read, too. */
int hn_json_read(const struct hn_root *root, size_t limit, int depth, struct json_object **ret, const char *path, ...)
        HN_PRINTF(5, 6);

/* Puts a file that only root may read into place, without white space (hn_root_replace).  -ENOMEM and its errors. */
int hn_json_replace(const struct hn_root *root, struct json_object *json, const char *path, ...) HN_PRINTF(3, 4);

/* Members of an object.  -ENOENT: absent; -EBADMSG: of another type or out of range. */
int hn_json_get_u64(struct json_object *object, const char *name, uint64_t limit, uint64_t *ret);
int hn_json_get_bool(struct json_object *object, const char *name, bool *ret);
int hn_json_get_string(struct json_object *object, const char *name, const char **ret); /* owned by the object */
int hn_json_get_set(struct json_object *object, const char *name, hwloc_bitmap_t *ret); /* the caller frees */
int hn_json_get_array(struct json_object *object, const char *name, size_t limit, struct json_object **ret);

/* Adds a member; `value` is taken over, also on failure; NULL as value means there was no memory.  -ENOMEM. */
int hn_json_add(struct json_object *object, const char *name, struct json_object *value);

/* Adds the members of `more` that the object has not.  -ENOMEM. */
int hn_json_add_absent(struct json_object *object, struct json_object *more);

/* A set as a list string; NULL without memory or for an infinite set. */
struct json_object *hn_json_new_set(hwloc_const_bitmap_t set);
