/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Huge pages: how they are spread over the nodes, and how they could be.
 */
#include <errno.h>
#include <inttypes.h>

#include "command/doctor.h"
#include "model/text.h"

#define GIB_KIB (1024u * 1024u)

/* One page size over all nodes, by `at`. */
struct spread {
        uint64_t page_kib;
        uint64_t sum;    /* pages there are */
        uint64_t *now, *used, *wanted;
};

static void clear_spread(struct spread *spread)
{
        free(spread->now);
        free(spread->used);
        free(spread->wanted);
}

static int read_spread(const struct hn_host *host, uint64_t page_kib, struct spread *ret)
{
        HN_CLEANUP(clear_spread) struct spread spread = {
                .page_kib = page_kib,
                .now = calloc(host->n_nodes + 1, sizeof *spread.now),
                .used = calloc(host->n_nodes + 1, sizeof *spread.used),
                .wanted = calloc(host->n_nodes + 1, sizeof *spread.wanted),
        };

        if (!spread.now || !spread.used || !spread.wanted)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_pool *pool = hn_node_pool(&host->nodes[at], page_kib);

                if (!pool)
                        continue;
                spread.now[at] = pool->total_pages;
                spread.used[at] = pool->total_pages - pool->free_pages;
                spread.sum += pool->total_pages;
        }
        *ret = spread;
        spread = (struct spread) { 0 };
        return 0;
}

/* The same number of pages on each home, all in all as many as now.  Pages in use can't go: a node that uses more than
 * its share keeps those, and the others share what is left. */
static void propose(const struct hn_host *host, struct spread *spread)
{
        uint64_t left = spread->sum, share;
        unsigned n = 0;
        bool again = true;

        for (size_t at = 0; at < host->n_nodes; at++) {
                bool home = host->nodes[at].role == HN_NODE_HOME;

                spread->wanted[at] = home ? UINT64_MAX : spread->used[at]; /* UINT64_MAX: has a share */
                n += home;
                left -= home ? 0 : spread->used[at];
        }
        while (again && n > 0) {
                again = false;
                share = left / n;
                for (size_t at = 0; at < host->n_nodes && !again; at++)
                        if (spread->wanted[at] == UINT64_MAX && spread->used[at] > share) {
                                spread->wanted[at] = spread->used[at];
                                left -= spread->used[at];
                                n--;
                                again = true;
                        }
        }
        for (size_t at = 0; at < host->n_nodes; at++)
                if (spread->wanted[at] == UINT64_MAX) {
                        spread->wanted[at] = left / n + (left % n > 0);
                        left -= spread->wanted[at];
                        n--;
                }
}

/* Commands for sizes that can be had while the host runs, those that free pages first; the kernel command line (5.16
 * and later) for others, for which no run of memory is free long after boot. */
static char *format_proposal(const struct hn_host *host, const struct spread *spread)
{
        bool at_boot = spread->page_kib >= GIB_KIB;
        HN_FREE char *text = at_boot ? hn_text_print("boot with hugepagesz=%" PRIu64 "G hugepages=",
                                                     spread->page_kib / GIB_KIB)
                                     : strdup("");
        const char *between = "";

        for (unsigned pass = 0; text && pass < (at_boot ? 1 : 2); pass++)
                for (size_t at = 0; text && at < host->n_nodes; at++) {
                        bool more = spread->wanted[at] > spread->now[at];
                        char *longer;

                        if (at_boot ? host->nodes[at].role != HN_NODE_HOME
                                    : spread->wanted[at] == spread->now[at] || more != (pass == 1))
                                continue;
                        if (at_boot)
                                longer = hn_text_print("%s%s%u:%" PRIu64, text, between, host->nodes[at].os,
                                                       spread->wanted[at]);
                        else
                                longer = hn_text_print("%s%secho %" PRIu64 " >/sys/devices/system/node/node%u/hugepages/"
                                                       "hugepages-%" PRIu64 "kB/nr_hugepages", text, between,
                                                       spread->wanted[at], host->nodes[at].os, spread->page_kib);
                        free(text);
                        text = longer;
                        between = at_boot ? "," : "; ";
                }
        return HN_TAKE(text);
}

/* Pages on each node as people read it: "node 0: 512, node 1: 0". */
static char *format_now(const struct hn_host *host, const struct spread *spread)
{
        HN_FREE char *text = strdup("");

        for (size_t at = 0; text && at < host->n_nodes; at++) {
                char *longer;

                if (host->nodes[at].role != HN_NODE_HOME && !spread->now[at])
                        continue;
                longer = hn_text_print("%s%snode %u: %" PRIu64, text, *text ? ", " : "", host->nodes[at].os,
                                       spread->now[at]);
                free(text);
                text = longer;
        }
        return HN_TAKE(text);
}

/* How badly are they spread: a home with none, pages where no guest lives, or only fewer here than there? */
static enum hn_level judge(const struct hn_host *host, const struct spread *spread)
{
        uint64_t least = UINT64_MAX, most = 0;

        for (size_t at = 0; at < host->n_nodes; at++) {
                if (host->nodes[at].role != HN_NODE_HOME) {
                        if (spread->now[at])
                                return HN_LEVEL_WARNING;
                        continue;
                }
                least = spread->now[at] < least ? spread->now[at] : least;
                most = spread->now[at] > most ? spread->now[at] : most;
        }
        if (least == 0 && most > 0)
                return HN_LEVEL_WARNING;
        return most > least + 1 && spread->sum ? HN_LEVEL_NOTE : HN_LEVEL_OK;
}

static int check_size(const struct hn_host *host, struct spread *spread, struct hn_findings *findings)
{
        HN_FREE char *now = format_now(host, spread), *mend = NULL;
        enum hn_level level = judge(host, spread);
        char size[HN_TEXT_SIZE];

        if (!now)
                return -ENOMEM;
        hn_text_size(spread->page_kib, size);
        if (level == HN_LEVEL_OK)
                return hn_find(findings, level, "huge pages", NULL, NULL, "pages of %s are spread evenly (%s)", size, now);
        propose(host, spread);
        mend = format_proposal(host, spread);
        return !mend ? -ENOMEM
                     : hn_find(findings, level, "huge pages",
                               "A guest with huge pages can live only on a node that has enough of them free: it goes there "
                               "however crowded that node is, or does not start. Spread them unevenly only on purpose.",
                               *mend ? mend : NULL, "pages of %s are spread unevenly (%s)", size, now);
}

int hn_check_pages(const struct hn_patient *patient, struct hn_findings *findings)
{
        const struct hn_host *host = patient->host;
        bool any = false;

        if (!host || host->n_nodes == 0)
                return 0;
        /* every node has pools of all sizes that the kernel knows */
        for (size_t i = 0; i < host->nodes[0].n_pools; i++) {
                HN_CLEANUP(clear_spread) struct spread spread = { 0 };
                int r = read_spread(host, host->nodes[0].pools[i].page_kib, &spread);

                if (r >= 0 && spread.sum > 0) {
                        any = true;
                        r = check_size(host, &spread, findings);
                }
                if (r < 0)
                        return r;
        }
        return any ? 0 : hn_find(findings, HN_LEVEL_OK, "huge pages", NULL, NULL, "no huge pages are reserved");
}
