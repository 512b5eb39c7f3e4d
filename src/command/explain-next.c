/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/explain-next.h"

#include <errno.h>
#include <string.h>

#include "act/libvirt.h"
#include "command/display.h"
#include "command/explain-text.h"
#include "command/reach.h"
#include "command/report.h"
#include "command/where.h"
#include "decide/explain.h"
#include "model/json.h"
#include "model/text.h"

struct definition {
        struct hn_request *request;
        bool saved; /* it is restored when it starts, as what it was */
};

static void clear(struct definition *definition)
{
        hn_request_free(definition->request);
}

/* As JSON an object all the same: there is nothing to say. */
HN_PRINTF(3, 4)
static int complain(const char *domain, bool as_json, const char *format, ...)
{
        HN_JSON struct json_object *nothing = as_json ? json_object_new_object() : NULL;
        HN_FREE char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (nothing)
                (void) hn_report_json(nothing);
        return hn_complain("%s: %s", domain, text ? text : "out of memory");
}

/* A UUID goes before a name that looks like one, as in the ledger. */
static virDomainPtr look_up(virConnectPtr libvirt, const char *domain)
{
        char uuid[HN_UUID_LENGTH + 1];
        virDomainPtr found = hn_uuid_canonical(domain, uuid) >= 0 ? virDomainLookupByUUIDString(libvirt, uuid) : NULL;

        return found ? found : virDomainLookupByName(libvirt, domain);
}

static int parse(const char *xml, struct hn_request **ret)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_xml_parse(xml, strlen(xml), &doc);

        if (r >= 0)
                r = hn_request_parse(doc, ret, &fault);
        /* libvirt binds its cells to the nodes that homenode wrote, whatever is decided now. */
        return r < 0 ? r : hn_request_bind_ours(*ret);
}

static int read_definition(const char *domain, bool as_json, struct definition *ret)
{
        HN_VIRCONNECT virConnectPtr libvirt = NULL;
        HN_FREE char *fault = NULL, *xml = NULL;
        int r = hn_reach_libvirt(&libvirt, &fault);

        if (r < 0)
                return complain(domain, as_json, "out of memory");
        if (!libvirt)
                return complain(domain, as_json, "has not been started in this boot, or is unknown; its definition is not to "
                                "be had from libvirt: %s", fault);
        HN_VIRDOMAIN virDomainPtr found = look_up(libvirt, domain);
        if (!found)
                return complain(domain, as_json, "is known neither to libvirt nor to the ledger");
        if (virDomainIsActive(found) > 0)
                return complain(domain, as_json, "runs, and is not in the ledger: `homenode status` shows where it is");
        ret->saved = virDomainHasManagedSaveImage(found, 0) > 0;
        xml = virDomainGetXMLDesc(found, VIR_DOMAIN_XML_INACTIVE);
        r = xml ? parse(xml, &ret->request) : -EIO;
        return r < 0 ? complain(domain, as_json, "its definition: %s", strerror(-r)) : HN_EXIT_DONE;
}

static int to_json(const struct definition *definition, const struct hn_decision *decision, struct json_object **ret)
{
        HN_JSON struct json_object *json = NULL, *explanation = NULL;
        int r = hn_placement_to_json(decision->placement, &json);

        if (r >= 0)
                r = hn_json_add(json, "state", json_object_new_string("shut off"));
        if (r >= 0 && definition->saved)
                r = hn_json_add(json, "saved", json_object_new_boolean(true));
        if (r >= 0)
                r = hn_explain_json(definition->request, decision, &explanation);
        if (r >= 0)
                r = hn_json_add_absent(json, explanation);
        if (r >= 0)
                *ret = HN_TAKE(json);
        return r;
}

static int print_text(const struct definition *definition, struct json_object *json)
{
        HN_FREE char *name = hn_display_escape(definition->request->name);

        if (!name)
                return -ENOMEM;
        (void) printf("%s does not run%s. If it were started now:\n\n", name,
                      definition->saved ? " (it is saved: what it was then is restored)" : "");
        return hn_explain_text(json, stdout);
}

int hn_explain_next(const char *domain, bool as_json)
{
        const struct hn_where here = { 0 };
        HN_CLEANUP(clear) struct definition definition = { 0 };
        HN_DECISION struct hn_decision *decision = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_JSON struct json_object *json = NULL;
        int r = read_definition(domain, as_json, &definition);

        if (r != HN_EXIT_DONE || hn_where_scene(&here, &scene) < 0)
                return HN_EXIT_FAILED;
        r = hn_where_decide(scene, definition.request, &decision);
        if (r >= 0)
                r = to_json(&definition, decision, &json);
        if (r >= 0 && as_json)
                return hn_report_json(json);
        if (r >= 0)
                r = print_text(&definition, json);
        return r < 0 ? hn_complain("%s: %s", domain, strerror(-r)) : HN_EXIT_DONE;
}
