/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/json.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "model/text.h"

HN_DEFINE_CLEANUP(struct json_tokener *, json_tokener_free, cleanup_tokener)

static bool is_ascii(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if ((unsigned char) text[i] >= 0x80)
                        return false;
        return true;
}

static bool is_space(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (!strchr(" \t\r\n", text[i]) || !text[i])
                        return false;
        return true;
}

int hn_json_parse(const char *text, size_t length, int depth, struct json_object **ret)
{
        int flags = JSON_TOKENER_VALIDATE_UTF8;
        HN_CLEANUP(cleanup_tokener) struct json_tokener *tokener = json_tokener_new_ex(depth);
        HN_JSON struct json_object *object = NULL;

        if (!tokener)
                return -ENOMEM;
        if (length > INT_MAX)
                return -EBADMSG;
        /* json-c 0.18 in strict mode takes the bytes of any character beyond ASCII for control characters (its
         * issue 892), and a domain's name may have such. */
        if (is_ascii(text, length))
                flags |= JSON_TOKENER_STRICT;
        json_tokener_set_flags(tokener, flags);
        object = json_tokener_parse_ex(tokener, text, (int) length);
        if (!object || json_tokener_get_error(tokener) != json_tokener_success)
                return -EBADMSG;
        size_t end = json_tokener_get_parse_end(tokener);
        if (end < length && !is_space(text + end, length - end))
                return -EBADMSG;
        *ret = HN_TAKE(object);
        return 0;
}

int hn_json_read(const struct hn_root *root, size_t limit, int depth, struct json_object **ret, const char *path, ...)
{
        HN_FREE char *name = NULL, *text = NULL;
        size_t length = 0;
        va_list arguments;
        int r;

        va_start(arguments, path);
        name = hn_text_vprint(path, arguments);
        va_end(arguments);
        r = name ? hn_root_read(root, limit, &text, &length, "%s", name) : -ENOMEM;
        return r < 0 ? r : hn_json_parse(text, length, depth, ret);
}

int hn_json_replace(const struct hn_root *root, struct json_object *json, const char *path, ...)
{
        const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
        HN_FREE char *name = NULL;
        va_list arguments;

        va_start(arguments, path);
        name = hn_text_vprint(path, arguments);
        va_end(arguments);
        return text && name ? hn_root_replace(root, text, strlen(text), 0600, "%s", name) : -ENOMEM;
}

static int get(struct json_object *object, const char *name, enum json_type type, struct json_object **ret)
{
        struct json_object *value;

        if (!json_object_is_type(object, json_type_object))
                return -EBADMSG;
        if (!json_object_object_get_ex(object, name, &value))
                return -ENOENT;
        if (!json_object_is_type(value, type))
                return -EBADMSG;
        *ret = value;
        return 0;
}

int hn_json_get_u64(struct json_object *object, const char *name, uint64_t limit, uint64_t *ret)
{
        struct json_object *value = NULL;
        int r = get(object, name, json_type_int, &value);

        if (r < 0)
                return r;
        /* json-c clamps: a negative number reads as 0, one beyond 64 bits as the largest. */
        if (json_object_get_int64(value) < 0 || json_object_get_uint64(value) > limit)
                return -EBADMSG;
        *ret = json_object_get_uint64(value);
        return 0;
}

int hn_json_get_bool(struct json_object *object, const char *name, bool *ret)
{
        struct json_object *value = NULL;
        int r = get(object, name, json_type_boolean, &value);

        if (r < 0)
                return r;
        *ret = json_object_get_boolean(value);
        return 0;
}

int hn_json_get_string(struct json_object *object, const char *name, const char **ret)
{
        struct json_object *value = NULL;
        int r = get(object, name, json_type_string, &value);

        if (r < 0)
                return r;
        /* A NUL inside would end the text early, so that two different names look alike. */
        if (strlen(json_object_get_string(value)) != (size_t) json_object_get_string_len(value))
                return -EBADMSG;
        *ret = json_object_get_string(value);
        return 0;
}

int hn_json_get_set(struct json_object *object, const char *name, hwloc_bitmap_t *ret)
{
        const char *text = NULL;
        int r = hn_json_get_string(object, name, &text);

        if (r < 0)
                return r;
        r = hn_idset_parse(text, HN_IDSET_LIMIT, ret);
        return r == -EINVAL || r == -ERANGE ? -EBADMSG : r;
}

int hn_json_get_array(struct json_object *object, const char *name, size_t limit, struct json_object **ret)
{
        struct json_object *value = NULL;
        int r = get(object, name, json_type_array, &value);

        if (r < 0)
                return r;
        if (json_object_array_length(value) > limit)
                return -EBADMSG;
        *ret = value;
        return 0;
}

int hn_json_add(struct json_object *object, const char *name, struct json_object *value)
{
        if (!value)
                return -ENOMEM;
        if (json_object_object_add(object, name, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int hn_json_add_absent(struct json_object *object, struct json_object *more)
{
        json_object_object_foreach(more, name, value) {
                if (json_object_object_get_ex(object, name, NULL))
                        continue;
                if (json_object_object_add(object, name, json_object_get(value)) < 0) {
                        json_object_put(value);
                        return -ENOMEM;
                }
        }
        return 0;
}

struct json_object *hn_json_new_set(hwloc_const_bitmap_t set)
{
        HN_FREE char *text = NULL;

        return hn_idset_format(set, &text) < 0 ? NULL : json_object_new_string(text);
}
