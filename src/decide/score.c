/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/score.h"

#include <string.h>

#include "decide/fit.h"

/* The domain as a whole, and what is summed up on the way. */
struct sums {
        const struct hn_ground *ground;
        const struct hn_seat *seats;
        size_t n_seats;
        struct hn_tally *tallies;
        size_t n_touched;     /* nodes; listed in tallies[] */
        size_t n_cells;       /* with memory */
        double vcpus_milli, memory_kib;
        double *terms;
};

const char *hn_term_name(enum hn_term term)
{
        static const char *const names[HN_TERMS] = {
                [HN_TERM_REMOTE] = "remote", [HN_TERM_CPU] = "cpu",   [HN_TERM_MEMORY] = "memory",
                [HN_TERM_CACHE] = "cache",   [HN_TERM_DEVICE] = "device", [HN_TERM_HOLE] = "hole",
                [HN_TERM_MOVE] = "move",
        };

        return (unsigned) term < HN_TERMS ? names[term] : "unknown";
}

double hn_weight(enum hn_priority priority)
{
        if (priority == HN_PRIORITY_HIGH)
                return HN_WEIGHT_HIGH;
        return priority == HN_PRIORITY_LOW ? HN_WEIGHT_LOW : HN_WEIGHT_NORMAL;
}

static double square(double x)
{
        return x * x;
}

double hn_contention(double u)
{
        double even = HN_CONTENTION_EVEN * (u <= 2 ? square(u) : 4 * (u - 1)), wait = 0;

        if (u >= 1 + HN_CONTENTION_REACH)
                wait = u - 1;
        else if (u > 1 - HN_CONTENTION_REACH)
                wait = square(u - 1 + HN_CONTENTION_REACH) / (4 * HN_CONTENTION_REACH);
        return even + wait;
}

/* End of the run of seats that belong to the cell of seat `first`; sums up the cell's memory. */
static size_t cell_end(const struct sums *s, size_t first, double *ret_memory_kib)
{
        size_t end = first;

        *ret_memory_kib = 0;
        for (; end < s->n_seats && s->seats[end].cell == s->seats[first].cell; end++)
                *ret_memory_kib += (double) s->seats[end].memory_kib;
        return end;
}

static void tally_up(struct sums *s)
{
        for (size_t first = 0, end; first < s->n_seats; first = end) {
                double memory;

                end = cell_end(s, first, &memory);
                s->n_cells += memory > 0;
                s->memory_kib += memory;
                for (size_t i = first; i < end; i++) {
                        const struct hn_seat *seat = &s->seats[i];
                        struct hn_tally *t = &s->tallies[seat->at];

                        if (!t->touched)
                                s->tallies[s->n_touched++].listed = seat->at;
                        t->touched = true;
                        t->vcpus_milli += seat->vcpus_milli;
                        t->ordinary_kib = hn_add(t->ordinary_kib, seat->overhead_kib);
                        if (!seat->kind)
                                t->ordinary_kib = hn_add(t->ordinary_kib, seat->memory_kib);
                        if (memory > 0)
                                t->reach += (double) seat->memory_kib / memory;
                        s->vcpus_milli += (double) seat->vcpus_milli;
                }
        }
}

static double vcpu_share(const struct sums *s, uint64_t milli)
{
        return s->vcpus_milli > 0 ? (double) milli / s->vcpus_milli : 0;
}

double hn_score_cpu(const struct hn_ground_node *node, double weight, uint64_t vcpus_milli)
{
        double capacity = (double) node->capacity_milli, before, after;

        if (!node->capacity_milli || !vcpus_milli)
                return 0;
        before = hn_contention((double) node->demand_milli / capacity);
        after = hn_contention((double) (node->demand_milli + vcpus_milli) / capacity);
        return weight * after + node->crowd_cpu * (after - before);
}

static double shortage(const struct hn_ground_node *g, uint64_t own_kib)
{
        double left = (double) hn_subtract(g->left_kib, own_kib), headroom = (double) g->headroom_kib;
        double part = left < headroom ? (headroom - left) / headroom : 0;

        return HN_SHORTAGE_SLOW * part * part;
}

static void score_memory(struct sums *s, const struct hn_ground_node *g, const struct hn_tally *t)
{
        double before, after, share;

        if (!t->ordinary_kib || s->memory_kib <= 0)
                return;
        before = shortage(g, 0);
        after = shortage(g, t->ordinary_kib);
        share = (double) t->ordinary_kib / s->memory_kib;
        s->terms[HN_TERM_MEMORY] += s->ground->weight * (share < 1 ? share : 1) * after
                                    + g->crowd_memory * (after - before);
}

/* Accesses of one cell from its CPUs to its own memory and to the other cells'. */
static void score_remote(struct sums *s, size_t first, size_t end, double memory_kib)
{
        size_t n = s->ground->host->n_nodes;
        size_t others = s->n_cells - (memory_kib > 0 && s->n_cells > 0);

        for (size_t i = first; i < end; i++) {
                const struct hn_seat *seat = &s->seats[i];
                double own = 0, slow;

                if (!seat->vcpus_milli)
                        continue;
                for (size_t j = first; memory_kib > 0 && j < end; j++)
                        own += (double) s->seats[j].memory_kib / memory_kib
                               * s->ground->slow[seat->at * n + s->seats[j].at];
                slow = own;
                if (others)
                        slow = (1 - HN_CROSS_SHARE) * own
                               + HN_CROSS_SHARE * (s->tallies[seat->at].pull - own) / (double) others;
                s->terms[HN_TERM_REMOTE] += s->ground->weight * vcpu_share(s, seat->vcpus_milli) * slow;
        }
}

/* Large holes are worth more than their sum: Σ (room/total)² falls by 2μ(x - μ) more than with a perfect fit
 * where a part μ is taken out of a hole x.  Counts in the upper half of filling only, so that on a host with
 * holes enough the less loaded node always wins. */
static void score_hole(struct sums *s, const struct hn_seat *seat)
{
        const struct hn_ground *ground = s->ground;
        size_t i = seat->at * ground->n_pages + seat->kind;
        double fill = (ground->fill[seat->kind] - HN_HOLE_FILL) / (1 - HN_HOLE_FILL), taken, room;

        if (fill <= 0 || !ground->totals[i])
                return;
        taken = (double) seat->memory_kib / (double) ground->totals[i];
        room = (double) ground->rooms[i] / (double) ground->totals[i];
        if (room > taken)
                s->terms[HN_TERM_HOLE] += HN_HOLE_SLOW * fill * fill * 2 * taken * (room - taken);
}

/* Mean way from every touched node to all the domain's memory. */
static void fill_pull(struct sums *s)
{
        const double *slow = s->ground->slow;
        size_t n = s->ground->host->n_nodes;

        for (size_t i = 0; i < s->n_touched; i++) {
                size_t at = s->tallies[i].listed;

                for (size_t j = 0; j < s->n_touched; j++) {
                        size_t other = s->tallies[j].listed;

                        s->tallies[at].pull += s->tallies[other].reach * slow[at * n + other];
                }
        }
}

static void score_nodes(struct sums *s)
{
        for (size_t i = 0; i < s->n_touched; i++) {
                size_t at = s->tallies[i].listed;
                const struct hn_ground_node *g = &s->ground->nodes[at];
                struct hn_tally *t = &s->tallies[at];

                s->terms[HN_TERM_CPU] += hn_score_cpu(g, s->ground->weight * vcpu_share(s, t->vcpus_milli),
                                                      t->vcpus_milli);
                score_memory(s, g, t);
                s->terms[HN_TERM_DEVICE] += s->ground->weight * vcpu_share(s, t->vcpus_milli) * g->device;
                *t = (struct hn_tally) { .listed = t->listed };
        }
}

void hn_score_seats(const struct hn_ground *ground, const struct hn_seat *seats, size_t n_seats,
                    struct hn_tally *tallies, struct hn_score *ret)
{
        struct sums s = { .ground = ground, .seats = seats, .n_seats = n_seats, .tallies = tallies };

        *ret = (struct hn_score) { 0 };
        s.terms = ret->terms;
        tally_up(&s);
        fill_pull(&s);
        for (size_t first = 0, end; first < n_seats; first = end) {
                double memory;

                end = cell_end(&s, first, &memory);
                score_remote(&s, first, end, memory);
                for (size_t i = first; i < end; i++) {
                        score_hole(&s, &seats[i]);
                        ret->terms[HN_TERM_CACHE] += ground->weight * vcpu_share(&s, seats[i].vcpus_milli)
                                                     * HN_CACHE_SLOW * seats[i].cache;
                }
        }
        score_nodes(&s);
        for (int i = 0; i < HN_TERMS; i++)
                ret->total += ret->terms[i];
}
