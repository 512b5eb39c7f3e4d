/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/search.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "decide/fit.h"
#include "decide/subsets.h"

/* Totals closer than this are equal: rounding must not decide. */
#define SCORE_GRAIN 1e-9

/* Work of a bounded search, in pairs of nodes looked at: some milliseconds. */
#define SWAP_WORK 2000000u

/* One pass over sets of one size. */
struct pass {
        struct hn_search *search;
        size_t k;
        bool spread, cores;
        struct hn_found *best, *second; /* where to keep what is found; second may be NULL */
        size_t *subset;                 /* nodes of the set being looked at, by `at` */
};

void hn_search_free(struct hn_search *search)
{
        if (!search)
                return;
        free(search->best.nodes);
        free(search->second.nodes);
        free(search->chosen);
        free(search->order);
        free(search->trial);
        free(search);
}

int hn_search_new(struct hn_layout *layout, struct hn_search **ret)
{
        HN_SEARCH struct hn_search *search = calloc(1, sizeof *search);
        size_t n = layout->task->ground->host->n_nodes + 1;

        if (!search)
                return -ENOMEM;
        search->layout = layout;
        search->best.nodes = calloc(n, sizeof *search->best.nodes);
        search->second.nodes = calloc(n, sizeof *search->second.nodes);
        search->chosen = calloc(n, sizeof *search->chosen);
        search->order = calloc(n, sizeof *search->order);
        search->trial = calloc(n, sizeof *search->trial);
        if (!search->best.nodes || !search->second.nodes || !search->chosen || !search->order
            || !search->trial)
                return -ENOMEM;
        *ret = HN_TAKE(search);
        return 0;
}

static uint64_t demand(const struct hn_search *search, const size_t *nodes, size_t k)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < k; i++)
                sum = hn_add(sum, search->layout->task->ground->nodes[nodes[i]].demand_milli);
        return sum;
}

/* Lower total, else less CPU demand, else lower node numbers. */
static bool better(const struct hn_search *search, const struct hn_score *score, const size_t *nodes,
                   const struct hn_found *than)
{
        double a = round(score->total / SCORE_GRAIN), b = round(than->score.total / SCORE_GRAIN);
        uint64_t demand_a, demand_b;

        if (a < b || a > b)
                return a < b;
        demand_a = demand(search, nodes, than->k);
        demand_b = demand(search, than->nodes, than->k);
        if (demand_a != demand_b)
                return demand_a < demand_b;
        for (size_t i = 0; i < than->k; i++)
                if (nodes[i] != than->nodes[i])
                        return nodes[i] < than->nodes[i];
        return false;
}

static void keep(struct hn_found *found, const struct pass *pass, const struct hn_score *score)
{
        memcpy(found->nodes, pass->subset, pass->k * sizeof *found->nodes);
        found->k = pass->k;
        found->spread = pass->spread;
        found->cores = pass->cores;
        found->score = *score;
}

static bool same(const struct hn_found *found, const struct pass *pass)
{
        return found->k == pass->k && memcmp(found->nodes, pass->subset, pass->k * sizeof *found->nodes) == 0;
}

/* Looks at pass->subset.  True where it is better than the best so far. */
static bool offer(struct pass *pass)
{
        struct hn_search *search = pass->search;
        struct hn_score score;
        bool fits = pass->spread ? hn_layout_spread(search->layout, pass->subset, pass->k)
                                 : hn_layout_cells(search->layout, pass->subset, pass->k, pass->cores);

        if (!fits)
                return false;
        hn_layout_score(search->layout, &score);
        search->scored++;
        if (same(pass->best, pass))
                return false;
        if (!pass->best->k || better(search, &score, pass->subset, pass->best)) {
                if (pass->second && pass->best->k) {
                        memcpy(pass->second->nodes, pass->best->nodes, pass->k * sizeof *pass->subset);
                        pass->second->k = pass->k;
                        pass->second->score = pass->best->score;
                }
                keep(pass->best, pass, &score);
                return true;
        }
        if (pass->second && (!pass->second->k || better(search, &score, pass->subset, pass->second)))
                keep(pass->second, pass, &score);
        return false;
}

/* Where every cell has a node of its own, the i-th must fit the i-th node. */
static bool may_stand(void *context, size_t position, size_t i)
{
        const struct pass *pass = context;
        const struct hn_layout *layout = pass->search->layout;

        if (pass->spread || pass->k != layout->task->n_open)
                return true;
        return hn_layout_alone(layout, position, layout->task->nodes[i], pass->cores);
}

static void visit(void *context, const size_t *chosen)
{
        struct pass *pass = context;

        for (size_t i = 0; i < pass->k; i++)
                pass->subset[i] = pass->search->layout->task->nodes[chosen[i]];
        (void) offer(pass);
}

static void sort_ascending(size_t *values, size_t n)
{
        for (size_t i = 1; i < n; i++)
                for (size_t j = i; j > 0 && values[j - 1] > values[j]; j--) {
                        size_t value = values[j];

                        values[j] = values[j - 1];
                        values[j - 1] = value;
                }
}

/* Could this node carry a part: the largest cell (`largest`), or at least the smallest? */
static bool worthwhile(const struct pass *pass, size_t at, bool largest)
{
        const struct hn_layout *layout = pass->search->layout;
        size_t n = layout->task->n_open;

        if (pass->spread)
                return layout->task->ground->rooms[at * layout->task->ground->n_pages] > 0;
        return hn_layout_alone(layout, largest ? 0 : n - 1, at, pass->cores);
}

/* The k worthwhile nodes nearest to the anchor, the less loaded among equals. */
static bool around(struct pass *pass, size_t anchor, bool largest)
{
        const struct hn_task *task = pass->search->layout->task;
        const struct hn_ground *ground = task->ground;
        const double *slow = &ground->slow[anchor * ground->host->n_nodes];
        size_t *order = pass->search->order, n = 0;

        for (size_t i = 0; i < task->n_nodes; i++) {
                size_t at = task->nodes[i], j;

                if (!worthwhile(pass, at, largest))
                        continue;
                /* only the nearest k are kept */
                for (j = n < pass->k ? n++ : n; j > 0; j--) {
                        size_t before = order[j - 1];

                        if (slow[before] < slow[at]
                            || (!(slow[before] > slow[at])
                                && ground->nodes[before].demand_milli <= ground->nodes[at].demand_milli))
                                break;
                        if (j < pass->k)
                                order[j] = before;
                }
                if (j < pass->k)
                        order[j] = at;
        }
        if (n < pass->k)
                return false;
        memcpy(pass->subset, order, pass->k * sizeof *pass->subset);
        sort_ascending(pass->subset, pass->k);
        return true;
}

/* The first set in which every cell finds a node, or the roomiest k nodes: finds one wherever there is one
 * with a cell on each node. */
static void offer_first(struct pass *pass)
{
        const struct hn_layout *layout = pass->search->layout;
        const struct hn_task *task = layout->task;
        const uint64_t *rooms = task->ground->rooms;
        size_t n = 0, n_pages = task->ground->n_pages;

        if (!pass->spread && pass->k == task->n_open) {
                for (size_t i = 0; i < task->n_nodes && n < pass->k; i++)
                        if (hn_layout_alone(layout, n, task->nodes[i], pass->cores))
                                pass->subset[n++] = task->nodes[i];
        } else {
                size_t kind = task->needs[task->open[0]].kind;

                for (size_t i = 0; i < task->n_nodes && n < pass->k; i++) {
                        uint64_t room = rooms[task->nodes[i] * n_pages + kind];
                        size_t roomier = 0;

                        for (size_t j = 0; j < task->n_nodes; j++) {
                                uint64_t other = rooms[task->nodes[j] * n_pages + kind];

                                roomier += other > room || (other == room && j < i);
                        }
                        if (roomier < pass->k)
                                pass->subset[n++] = task->nodes[i];
                }
        }
        if (n == pass->k)
                (void) offer(pass);
}

/* One node out, another in, as long as that improves the best. */
static void improve(struct pass *pass)
{
        struct hn_search *search = pass->search;
        const struct hn_task *task = search->layout->task;
        size_t budget = SWAP_WORK / (pass->k * pass->k + 64);
        bool again = pass->best->k == pass->k;

        while (again) {
                again = false;
                memcpy(search->trial, pass->best->nodes, pass->k * sizeof *search->trial);
                for (size_t out = 0; out < pass->k && !again; out++)
                        for (size_t in = 0; in < task->n_nodes && !again; in++) {
                                bool inside = false;

                                for (size_t i = 0; i < pass->k; i++)
                                        inside |= search->trial[i] == task->nodes[in];
                                if (inside || !worthwhile(pass, task->nodes[in], false))
                                        continue;
                                if (budget-- == 0)
                                        return;
                                memcpy(pass->subset, search->trial, pass->k * sizeof *search->trial);
                                pass->subset[out] = task->nodes[in];
                                sort_ascending(pass->subset, pass->k);
                                again = offer(pass);
                        }
        }
}

static void look_around(struct pass *pass)
{
        const struct hn_task *task = pass->search->layout->task;

        offer_first(pass);
        for (size_t i = 0; i < task->n_nodes; i++)
                if (around(pass, task->nodes[i], true))
                        (void) offer(pass);
        for (size_t i = 0; !pass->best->k && i < task->n_nodes; i++)
                if (around(pass, task->nodes[i], false))
                        (void) offer(pass);
        improve(pass);
}

/* Looks at sets of k nodes; true where one was found. */
static bool look(struct hn_search *search, size_t k, bool spread, bool cores, struct hn_found *best,
                 struct hn_found *second)
{
        const struct hn_task *task = search->layout->task;
        struct pass pass = { .search = search, .k = k, .spread = spread, .cores = cores, .best = best,
                             .second = second, .subset = search->chosen };
        struct hn_subsets all = { .n = task->n_nodes, .k = k, .may = may_stand, .visit = visit,
                                  .context = &pass };

        best->k = 0;
        if (k == 0 || k > task->n_nodes)
                return false;
        if (hn_subsets_count(task->n_nodes, k) <= HN_SUBSETS_LIMIT)
                hn_subsets_walk(&all, search->order);
        else
                look_around(&pass);
        return best->k > 0;
}

static bool wants_cores(const struct hn_task *task)
{
        for (size_t i = 0; i < task->n_open; i++)
                if (task->needs[task->open[i]].n_cores)
                        return true;
        return false;
}

static bool look_cells(struct hn_search *search, size_t k)
{
        bool cores = wants_cores(search->layout->task);

        search->second.k = 0;
        return look(search, k, false, cores, &search->best, &search->second)
               || (cores && look(search, k, false, false, &search->best, &search->second));
}

/* Cells that were asked for are wanted on as many nodes; else the fewest nodes. */
static bool run_cells(struct hn_search *search, size_t first)
{
        const struct hn_task *task = search->layout->task;
        size_t last = task->n_open < task->n_nodes ? task->n_open : task->n_nodes;

        if (task->request->wishes.spanning_forbidden)
                last = last ? 1 : 0;
        if (task->request->wishes.vnuma > 1)
                for (size_t k = last; k >= first && k > 0; k--)
                        if (look_cells(search, k))
                                return true;
        for (size_t k = first; k <= last; k++) {
                if (!look_cells(search, k))
                        continue;
                if (!search->second.k && k < last)
                        (void) look(search, k + 1, false, search->best.cores, &search->second, NULL);
                return true;
        }
        return false;
}

bool hn_search_run(struct hn_search *search)
{
        const struct hn_task *task = search->layout->task;
        size_t first = hn_search_bound(search), cells = hn_search_bound_cells(search);

        search->best.k = search->second.k = search->scored = 0;
        if (run_cells(search, cells > first ? cells : first))
                return true;
        search->second.k = 0;
        if (task->request->wishes.spanning_forbidden)
                return false;
        for (size_t k = first > 2 ? first : 2; k <= task->n_nodes; k++)
                if (look(search, k, true, false, &search->best, &search->second))
                        return true;
        return false;
}

bool hn_search_lay(struct hn_layout *layout, const struct hn_found *found)
{
        return found->spread ? hn_layout_spread(layout, found->nodes, found->k)
                             : hn_layout_cells(layout, found->nodes, found->k, found->cores);
}
