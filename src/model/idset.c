/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/idset.h"

#include <ctype.h>
#include <errno.h>

static const char *skip_space(const char *p)
{
        while (isspace((unsigned char) *p))
                p++;
        return p;
}

/* One decimal number below `limit`; moves *p behind it.  strtoul would take signs and "0x". */
static int read_number(const char **p, unsigned limit, unsigned *ret)
{
        unsigned value = 0;
        bool beyond = false;

        if (!isdigit((unsigned char) **p))
                return -EINVAL;
        for (; isdigit((unsigned char) **p); (*p)++) {
                value = value * 10 + (unsigned) (**p - '0');
                beyond |= value >= limit;
                if (beyond)
                        value = 0;
        }
        if (beyond)
                return -ERANGE;
        *ret = value;
        return 0;
}

/* libvirt reads a range's end with strtol, after white space: signs are allowed there, whatever sense they make. */
static int read_signed(const char **p, unsigned limit, unsigned *ret)
{
        bool minus = **p == '-';
        unsigned value = 0;
        int r;

        if (minus || **p == '+')
                (*p)++;
        r = read_number(p, limit, &value);
        if (r < 0 || (minus && value > 0))
                return r < 0 ? r : -EINVAL;
        *ret = value;
        return 0;
}

/* "4", "2-7" or "^4" */
static int read_item(const char **p, unsigned limit, bool libvirt, hwloc_bitmap_t set)
{
        unsigned first = 0, last = 0;
        bool out = **p == '^';
        int r;

        if (out)
                (*p)++;
        r = read_number(p, limit, &first);
        if (r < 0)
                return r;
        if (out)
                return hwloc_bitmap_clr(set, first) < 0 ? -ENOMEM : 0;

        last = first;
        *p = skip_space(*p);
        if (**p == '-') {
                *p = skip_space(*p + 1);
                r = libvirt ? read_signed(p, limit, &last) : read_number(p, limit, &last);
                if (r < 0)
                        return r;
                if (last < first)
                        return -EINVAL;
        }
        return hwloc_bitmap_set_range(set, first, (int) last) < 0 ? -ENOMEM : 0;
}

static int parse(const char *text, unsigned limit, bool libvirt, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t set = hwloc_bitmap_alloc();
        const char *p = skip_space(text);
        int r;

        if (!set)
                return -ENOMEM;
        if (limit > HN_IDSET_LIMIT)
                limit = HN_IDSET_LIMIT;
        while (*p) {
                r = read_item(&p, limit, libvirt, set);
                if (r < 0)
                        return r;
                p = skip_space(p);
                if (*p == ',') {
                        p = skip_space(p + 1);
                        if (!*p && !libvirt)
                                return -EINVAL;
                } else if (*p)
                        return -EINVAL;
        }
        *ret = HN_TAKE(set);
        return 0;
}

int hn_idset_parse(const char *text, unsigned limit, hwloc_bitmap_t *ret)
{
        return parse(text, limit, false, ret);
}

int hn_idset_parse_libvirt(const char *text, unsigned limit, hwloc_bitmap_t *ret)
{
        return parse(text, limit, true, ret);
}

int hn_idset_format(hwloc_const_bitmap_t set, char **ret)
{
        char *text = NULL;

        if (hwloc_bitmap_weight(set) < 0)
                return -EINVAL;
        if (hwloc_bitmap_list_asprintf(&text, set) < 0)
                return -ENOMEM;
        *ret = text;
        return 0;
}

unsigned hn_idset_count(hwloc_const_bitmap_t set)
{
        int n = set ? hwloc_bitmap_weight(set) : 0;

        return n > 0 ? (unsigned) n : 0;
}
