/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/publish.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host.h"
#include "model/clock.h"
#include "model/json.h"
#include "store/published.h"

/* What is more than a little.  Of memory a quarter of what is never promised of a large node: more would be given to
 * guests wrongly. */
#define LITTLE_CPUS 0.25      /* of a guest */
#define LITTLE_NODE_CPUS 0.5  /* a look at the host over ssh takes that much for a moment */
#define LITTLE_PART 0.1
#define LITTLE_SHARE 0.1
#define LITTLE_MEMORY_PART 50u /* of the node */
#define LITTLE_MEMORY_KIB (UINT64_C(256) << 10)

struct node {
        unsigned os;
        uint64_t free_kib, free_pages;
        double busy_cpus;
};

struct hn_publisher {
        const struct hn_root *root;
        int held;                    /* -1: nothing is published */
        char *stamp;                 /* of the host, as published */
        struct node *nodes;          /* as published, by `at` */
        size_t n_nodes;
        struct hn_guest_load *guests; /* as published */
        size_t n_guests;
        bool has_guests;
};

int hn_publisher_new(const struct hn_root *root, struct hn_publisher **ret)
{
        struct hn_publisher *publisher = calloc(1, sizeof *publisher);

        if (!publisher)
                return -ENOMEM;
        publisher->root = root;
        publisher->held = -1;
        *ret = publisher;
        return 0;
}

void hn_publisher_free(struct hn_publisher *publisher)
{
        if (!publisher)
                return;
        if (publisher->held >= 0)
                (void) close(publisher->held);
        free(publisher->stamp);
        free(publisher->nodes);
        free(publisher->guests);
        free(publisher);
}

/* ---- what has changed */

static bool differ(double a, double b, double little)
{
        double part = LITTLE_PART * (fabs(a) > fabs(b) ? fabs(a) : fabs(b));

        return fabs(a - b) > (part > little ? part : little);
}

static bool memory_differs(uint64_t a, uint64_t b, uint64_t all)
{
        uint64_t little = all / LITTLE_MEMORY_PART < LITTLE_MEMORY_KIB ? all / LITTLE_MEMORY_PART : LITTLE_MEMORY_KIB;

        return (a > b ? a - b : b - a) > little;
}

/* Pages come and go by large numbers, or not at all: any change of any pool tells. */
static uint64_t sum_of_pages(const struct hn_node *node)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < node->n_pools; i++)
                sum = sum * 1000003u + node->pools[i].free_pages;
        return sum;
}

static bool node_differs(const struct node *was, const struct hn_reading *reading, size_t at)
{
        const struct hn_node *node = &reading->host->nodes[at];

        return memory_differs(was->free_kib, node->free_kib, node->memory_kib) ||
               differ(was->busy_cpus, hn_load_busy(reading->load, node->os), LITTLE_NODE_CPUS) ||
               was->free_pages != sum_of_pages(node);
}

static bool nodes_differ(const struct hn_publisher *publisher, const struct hn_reading *reading, const char *stamp)
{
        if (!publisher->stamp || strcmp(publisher->stamp, stamp) != 0 ||
            publisher->n_nodes != reading->host->n_nodes)
                return true;
        for (size_t at = 0; at < publisher->n_nodes; at++)
                if (node_differs(&publisher->nodes[at], reading, at))
                        return true;
        return false;
}

static bool guest_differs(const struct hn_guest_load *a, const struct hn_guest_load *b)
{
        return strcmp(a->uuid, b->uuid) != 0 || differ(a->run_cpus, b->run_cpus, LITTLE_CPUS) ||
               differ(a->wait_cpus, b->wait_cpus, LITTLE_CPUS) ||
               differ(a->cpu_pressure, b->cpu_pressure, LITTLE_SHARE) ||
               differ(a->memory_pressure, b->memory_pressure, LITTLE_SHARE) ||
               differ(a->io_pressure, b->io_pressure, LITTLE_SHARE);
}

/* The daemon's guests keep their order, unless one of them goes. */
static bool guests_differ(const struct hn_publisher *publisher, const struct hn_load *load)
{
        if (!publisher->has_guests || publisher->n_guests != load->n_guests)
                return true;
        for (size_t i = 0; i < load->n_guests; i++)
                if (guest_differs(&publisher->guests[i], &load->guests[i]))
                        return true;
        return false;
}

/* ---- writing */

static int write_state(const struct hn_publisher *publisher, struct json_object *state, const char *path)
{
        int r = hn_root_mkdir(publisher->root, 0700, "/run/homenode");

        return r < 0 ? r : hn_json_replace(publisher->root, state, "%s", path);
}

static int write_nodes(const struct hn_publisher *publisher, const struct hn_reading *reading, const char *boot_id)
{
        const struct hn_load nodes = { .nodes = reading->load->nodes, .n_nodes = reading->load->n_nodes };
        HN_JSON struct json_object *state = NULL;
        int r = hn_load_to_state(reading->host, &nodes, boot_id, hn_boottime_us(), &state);

        return r < 0 ? r : write_state(publisher, state, HN_PUBLISHED_PATH);
}

static int remember_nodes(struct hn_publisher *publisher, const struct hn_reading *reading, char **stamp)
{
        size_t n = reading->host->n_nodes;
        struct node *nodes = calloc(n + 1, sizeof *nodes);

        if (!nodes)
                return -ENOMEM;
        for (size_t at = 0; at < n; at++) {
                const struct hn_node *node = &reading->host->nodes[at];

                nodes[at] = (struct node) { node->os, node->free_kib, sum_of_pages(node),
                                            hn_load_busy(reading->load, node->os) };
        }
        free(publisher->nodes);
        publisher->nodes = nodes;
        publisher->n_nodes = n;
        free(publisher->stamp);
        publisher->stamp = HN_TAKE(*stamp);
        return 0;
}

/* Somebody else may be looking at it this very moment: then the next call takes the lock. */
static void hold(struct hn_publisher *publisher)
{
        int fd = hn_published_hold(publisher->root);

        if (publisher->held >= 0)
                (void) close(publisher->held);
        publisher->held = fd < 0 ? -1 : fd;
}

static bool is_there(const struct hn_publisher *publisher)
{
        struct stat st;

        return publisher->held < 0 || (fstat(publisher->held, &st) == 0 && st.st_nlink > 0);
}

static int publish_nodes(struct hn_publisher *publisher, const struct hn_reading *reading, const char *boot_id)
{
        HN_FREE char *stamp = NULL;
        int r = hn_outlook_stamp(reading->host, &stamp);

        if (r < 0)
                return r;
        if (is_there(publisher) && !nodes_differ(publisher, reading, stamp)) {
                if (publisher->held < 0)
                        hold(publisher);
                return 0;
        }
        r = write_nodes(publisher, reading, boot_id);
        if (r >= 0)
                r = remember_nodes(publisher, reading, &stamp);
        if (r >= 0)
                hold(publisher);
        return r;
}

static int publish_guests(struct hn_publisher *publisher, const struct hn_load *load, const char *boot_id)
{
        HN_JSON struct json_object *state = NULL;
        HN_FREE struct hn_guest_load *guests = NULL;
        int r;

        if (!guests_differ(publisher, load))
                return 0;
        guests = calloc(load->n_guests + 1, sizeof *guests);
        if (!guests)
                return -ENOMEM;
        for (size_t i = 0; i < load->n_guests; i++)
                guests[i] = load->guests[i];
        r = hn_load_guests_to_state(load, boot_id, hn_boottime_us(), &state);
        if (r >= 0)
                r = write_state(publisher, state, HN_PUBLISHED_GUESTS_PATH);
        if (r < 0)
                return r;
        free(publisher->guests);
        publisher->guests = HN_TAKE(guests);
        publisher->n_guests = load->n_guests;
        publisher->has_guests = true;
        return 0;
}

int hn_publish(struct hn_publisher *publisher, const struct hn_reading *reading)
{
        char boot_id[HN_UUID_LENGTH + 1];
        int r = hn_boot_id(publisher->root, boot_id), guests;

        if (r < 0)
                return r;
        r = publish_nodes(publisher, reading, boot_id);
        guests = publish_guests(publisher, reading->load, boot_id);
        return r < 0 ? r : guests;
}
