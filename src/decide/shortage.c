/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/shortage.h"

#include <errno.h>
#include <inttypes.h>

#include "decide/fit.h"
#include "model/text.h"

/* What the open cells want of one thing, and what the nodes they may use have of it. */
struct balance {
        uint64_t wanted, together, most;
        bool single; /* all of it is wanted on one node */
};

static void count(struct balance *balance, uint64_t has)
{
        balance->together = hn_add(balance->together, has);
        balance->most = has > balance->most ? has : balance->most;
}

static struct balance balance_vcpus(const struct hn_task *task)
{
        struct balance balance = { .wanted = hn_task_wanted_milli(task),
                                   .single = task->request->wishes.spanning_forbidden };

        for (size_t i = 0; i < task->n_nodes; i++) {
                const struct hn_ground_node *g = &task->ground->nodes[task->nodes[i]];

                count(&balance, hn_subtract(g->capacity_milli, g->fixed_milli));
        }
        return balance;
}

static struct balance balance_memory(const struct hn_task *task, size_t kind)
{
        struct balance balance = { .wanted = hn_task_wanted_kib(task, kind),
                                   .single = task->request->wishes.spanning_forbidden };

        for (size_t i = 0; i < task->n_nodes; i++)
                count(&balance, task->ground->rooms[task->nodes[i] * task->ground->n_pages + kind]);
        return balance;
}

static bool is_short(const struct balance *balance)
{
        return balance->wanted > (balance->single ? balance->most : balance->together);
}

/* " for one cell" where a single node is asked for one of several. */
static const char *for_whom(const struct hn_task *task, const struct balance *balance)
{
        return balance->single && !task->request->wishes.spanning_forbidden && task->n_open > 1 ? " for one cell" : "";
}

/* Those that can be plugged in count as well, which few expect of a guest that has few on line. */
static int say_vcpus(const struct hn_task *task, const struct balance *b, char **text)
{
        const char *maximum = task->request->vcpus_current < task->request->vcpus_max ? " (its maximum)" : "";

        if (b->single)
                return hn_text_add(text, "%" PRIu64 " vCPUs%s are wanted%s, no node it may use carries more than %.4g",
                                   b->wanted / 1000, maximum, for_whom(task, b), (double) b->most / 1000);
        return hn_text_add(text, "%" PRIu64 " vCPUs%s are wanted, the nodes it may use carry %.4g together",
                           b->wanted / 1000, maximum, (double) b->together / 1000);
}

static int say_memory(const struct hn_task *task, size_t kind, const struct balance *b, char **text)
{
        char wanted[HN_TEXT_SIZE], together[HN_TEXT_SIZE], most[HN_TEXT_SIZE], page[HN_TEXT_SIZE];
        HN_FREE char *what = NULL;

        what = kind ? hn_text_print("in huge pages of %s", hn_text_size(task->ground->pages[kind], page))
                    : hn_text_print("of memory");
        if (!what)
                return -ENOMEM;
        if (b->single)
                return hn_text_add(text, "%s %s are wanted%s, no node it may use has more than %s left",
                                   hn_text_size(b->wanted, wanted), what, for_whom(task, b),
                                   hn_text_size(b->most, most));
        return hn_text_add(text, "%s %s are wanted, the nodes it may use have %s left together, %s at most on one",
                           hn_text_size(b->wanted, wanted), what, hn_text_size(b->together, together),
                           hn_text_size(b->most, most));
}

/* Each would do by itself. */
static int say_both(const struct hn_task *task, const struct balance *vcpus, char **text)
{
        char size[HN_TEXT_SIZE];
        uint64_t kib = 0;

        for (size_t kind = 0; kind < task->ground->n_pages; kind++)
                kib = hn_add(kib, hn_task_wanted_kib(task, kind));
        return hn_text_add(text, "%" PRIu64 " vCPUs and %s are wanted, and where there are CPUs there is not the memory",
                           vcpus->wanted / 1000, hn_text_size(kib, size));
}

int hn_shortage_say(const struct hn_task *task, char **reason)
{
        struct balance vcpus = balance_vcpus(task);
        HN_FREE char *text = NULL;
        int r = 0;

        if (!task->n_nodes)
                return hn_text_add(reason, "no room: there is no node that it may use");
        if (is_short(&vcpus))
                r = say_vcpus(task, &vcpus, &text);
        for (size_t kind = 0; r >= 0 && kind < task->ground->n_pages; kind++) {
                struct balance memory = balance_memory(task, kind);

                if (is_short(&memory))
                        r = say_memory(task, kind, &memory, &text);
        }
        if (r >= 0 && !text)
                r = say_both(task, &vcpus, &text);
        if (r < 0)
                return r;
        return hn_text_add(reason, "no room%s: %s",
                           task->request->wishes.spanning_forbidden ? " on any single node, and spanning is forbidden"
                                                                    : "", text);
}

/* Ordinary memory, or pages of a size, that a cell takes of its node. */
static uint64_t need_kib(const struct hn_need *need, size_t kind)
{
        if (need->kind == kind)
                return hn_add(need->memory_kib, kind ? 0 : need->overhead_kib);
        return kind ? 0 : need->overhead_kib;
}

/* The same for the cell that wants most of it: a cell is whole on one node. */
static struct balance balance_cell_vcpus(const struct hn_task *task)
{
        struct balance balance = balance_vcpus(task);

        balance.single = true;
        balance.wanted = 0;
        for (size_t i = 0; i < task->n_open; i++) {
                uint64_t milli = task->needs[task->open[i]].n_vcpus * UINT64_C(1000);

                balance.wanted = milli > balance.wanted ? milli : balance.wanted;
        }
        return balance;
}

static struct balance balance_cell_memory(const struct hn_task *task, size_t kind)
{
        struct balance balance = balance_memory(task, kind);

        balance.single = true;
        balance.wanted = 0;
        for (size_t i = 0; i < task->n_open; i++) {
                uint64_t kib = need_kib(&task->needs[task->open[i]], kind);

                balance.wanted = kib > balance.wanted ? kib : balance.wanted;
        }
        return balance;
}

int hn_shortage_say_spread(const struct hn_task *task, char **ret)
{
        struct balance vcpus = balance_cell_vcpus(task);
        HN_FREE char *said = NULL;
        int r = is_short(&vcpus) ? say_vcpus(task, &vcpus, &said) : 0;

        for (size_t kind = 0; r >= 0 && kind < task->ground->n_pages; kind++) {
                struct balance memory = balance_cell_memory(task, kind);

                if (is_short(&memory))
                        r = say_memory(task, kind, &memory, &said);
        }
        if (r >= 0 && !said)
                r = task->n_open == 1 ? say_both(task, &vcpus, &said)
                                      : hn_text_add(&said, "not every cell finds a node with room for it");
        if (r >= 0)
                *ret = HN_TAKE(said);
        return r;
}
