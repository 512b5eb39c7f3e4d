/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/redefine.h"

#include <errno.h>
#include <string.h>

#include "act/rewrite.h"
#include "model/domain-xml.h"
#include "model/mark.h"
#include "store/scene.h"

/* A definition while it is worked on. */
struct work {
        const struct hn_root *root;
        xmlDoc *doc;
        struct hn_request *request;
        bool active;
        struct hn_redefinition *ret;
};

void hn_redefinition_clear(struct hn_redefinition *redefinition)
{
        if (redefinition->xml)
                explicit_bzero(redefinition->xml, strlen(redefinition->xml)); /* passwords */
        free(redefinition->xml);
        free(redefinition->name);
        free(redefinition->nodes);
        free(redefinition->reason);
        *redefinition = (struct hn_redefinition) { 0 };
}

static void replace_text(char **text, const char *by)
{
        free(*text);
        *text = by ? strdup(by) : NULL;
}

static int read_request(struct work *work)
{
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_request_parse(work->doc, &request, &fault);

        if (r == -EINVAL) {
                replace_text(&work->ret->reason, fault);
                return -EBADMSG;
        }
        if (r < 0)
                return r;
        hn_request_free(work->request);
        work->request = HN_TAKE(request);
        return 0;
}

static bool has_mark(xmlDoc *doc)
{
        return hn_mark_find(hn_domain_element(doc)) != NULL;
}

/* Ours stand in it, and fit. */
static bool has_cells_of_ours(const struct hn_request *request)
{
        return request->cells_ours && request->n_cells > 1;
}

/* The mark names cells, and there are none: someone took them out, and what the user writes wins. */
static int cells_taken_out(xmlDoc *doc, bool *ret)
{
        HN_MARK struct hn_mark *mark = NULL;
        const xmlNode *domain = hn_domain_element(doc);
        int r = hn_mark_load(domain, &mark);

        if (r < 0)
                return r;
        *ret = hn_mark_vcpus(mark) > 0 && !hn_xml_child(hn_xml_child(domain, "cpu"), "numa");
        return 0;
}

static int open_scene(struct work *work, bool with_pools, struct hn_scene **ret)
{
        const struct hn_scene_source source = { .with_pools = with_pools };
        HN_FREE char *fault = NULL;
        int r = hn_scene_open(work->root, &source, ret, &fault);

        if (r < 0)
                replace_text(&work->ret->reason, fault);
        return r;
}

static int apply(struct work *work, const struct hn_situation *situation, const struct hn_decision *decision)
{
        bool changed;

        replace_text(&work->ret->reason, decision->reason);
        if (decision->verdict != HN_PLACED)
                return 0;
        free(HN_TAKE(work->ret->nodes));
        if (hn_idset_format(decision->placement->home, &work->ret->nodes) < 0)
                return -ENOMEM;
        return hn_rewrite_apply(work->doc, HN_REWRITE_DEFINITION, situation, decision, &changed);
}

/* ---- cells: as on an idle host */

static void make_idle(struct hn_scene *scene)
{
        scene->situation.load = NULL;
        for (size_t i = 0; i < scene->host->n_nodes; i++) {
                struct hn_node *node = &scene->host->nodes[i];

                node->free_kib = node->memory_kib;
                for (size_t j = 0; j < node->n_pools; j++)
                        node->pools[j].free_pages = node->pools[j].total_pages;
        }
}

static int cut(struct work *work)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;
        int r = open_scene(work, false, &scene);

        if (r < 0)
                return r;
        make_idle(scene);
        r = hn_decide(&scene->situation, work->request, &decision);
        if (r >= 0)
                r = apply(work, &scene->situation, decision);
        return r < 0 ? r : read_request(work);
}

/* ---- nodes: as of now */

/* Nothing is reserved, so the ledger's lock is not needed: each entry is replaced as a whole. */
static int add_ledger(struct work *work, struct hn_scene *scene)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(work->root, NULL, &ledger);

        if (r >= 0)
                r = hn_scene_add_ledger(scene, work->root, ledger, work->request->uuid);
        return r;
}

/* Would it start where it is written about as well as elsewhere?  The request is bound to that after this. */
static int stays(struct work *work, struct hn_scene *scene, const struct hn_decision *decision, bool *ret)
{
        HN_DECISION struct hn_decision *bound = NULL;
        int r = hn_request_bind_ours(work->request);

        if (r >= 0)
                r = hn_scene_decide(scene, &scene->situation, work->request, &bound);
        if (r < 0)
                return r;
        *ret = bound->verdict == HN_PLACED && bound->score.total <= decision->score.total + HN_RENEWAL_GAIN;
        return 0;
}

static bool is_bound(const struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++)
                if (!request->cells[i].ours)
                        return false;
        return true;
}

/* `written`: the cells' nodes stood in the definition before. */
static int place(struct work *work, bool written)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;
        bool same = false;
        int r = open_scene(work, true, &scene);

        if (r >= 0)
                r = add_ledger(work, scene);
        if (r >= 0)
                r = hn_scene_decide(scene, &scene->situation, work->request, &decision);
        if (r < 0 || decision->verdict != HN_PLACED)
                return r;
        if (written && scene->policy.definition == HN_DEFINITION_AUTO && is_bound(work->request))
                r = stays(work, scene, decision, &same);
        return r < 0 || same ? r : apply(work, &scene->situation, decision);
}

/* ---- all of it */

static int take_out(struct work *work)
{
        bool changed;

        replace_text(&work->ret->reason, "it is opted out");
        return hn_rewrite_undo(work->doc, &changed);
}

static int rewrite(struct work *work)
{
        bool taken_out = false, written = has_cells_of_ours(work->request);
        int r;

        if (work->request->wishes.off)
                return take_out(work);
        if (!work->request->managed_type || (written && work->active))
                return 0;
        r = cells_taken_out(work->doc, &taken_out);
        if (r < 0 || taken_out)
                return r;
        if (!written)
                r = cut(work);
        return r < 0 || !has_cells_of_ours(work->request) ? r : place(work, written);
}

static enum hn_redefinition_kind kind_of(const struct work *work, bool written)
{
        if (!work->ret->marked)
                return HN_REDEFINE_FIRST;
        if (!has_mark(work->doc))
                return HN_REDEFINE_UNDO;
        return written ? HN_REDEFINE_NODES : HN_REDEFINE_SHAPE;
}

static int compare(struct work *work, bool written, const char *before)
{
        HN_FREE char *after = NULL;
        size_t length = 0;
        int r = hn_xml_format(work->doc, &after, &length);

        if (r < 0 || strcmp(before, after) == 0)
                return r;
        work->ret->kind = kind_of(work, written);
        work->ret->xml = HN_TAKE(after);
        return 0;
}

int hn_redefine(const struct hn_root *root, const char *xml, bool active, struct hn_redefinition *ret)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        HN_FREE char *before = NULL;
        struct work work = { .root = root, .active = active, .ret = ret };
        bool written;
        size_t length = 0;
        int r = hn_xml_parse(xml, strlen(xml), &doc);

        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        work.doc = doc;
        r = read_request(&work);
        if (r < 0)
                return r;
        ret->name = strdup(work.request->name ? work.request->name : "");
        ret->marked = has_mark(doc);
        written = has_cells_of_ours(work.request);
        r = ret->name ? hn_xml_format(doc, &before, &length) : -ENOMEM;
        if (r >= 0)
                r = rewrite(&work);
        if (r >= 0)
                r = compare(&work, written, before);
        hn_request_free(work.request);
        return r;
}
