/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/report.h"

#include "command/complain.h"

#define FORM (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

int hn_report_json(struct json_object *json)
{
        const char *text = json_object_to_json_string_ext(json, FORM);

        if (!text)
                return hn_complain("out of memory");
        (void) puts(text);
        return HN_EXIT_DONE;
}
