/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libvirt's hook for QEMU guests: /etc/libvirt/hooks/qemu NAME OPERATION SUBOPERATION EXTRA, the domain's XML on
 * standard input.  It never blocks a guest: the work has a time budget, and every way out but one is exit 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "act/budget.h"
#include "act/journal.h"
#include "model/clock.h"
#include "model/text.h"
#include "operations.h"
#include "stale.h"

#define IDENTIFIER "homenode-hook"
#define CALL_BUDGET_US 2000000 /* whatever happens, and however slowly somebody reads what is printed */
#define LOG_BUDGET_US 100000   /* of it for the journal, which may be stopped */

/* All calls of one start together take at most 2.5 s: restore, prepare and started are the most there can be, and each
 * takes some time more to come and go.  release has the 2 s that any call may take. */
static const struct operation {
        const char *name, *sub;
        hn_operation *run;
        uint64_t budget_us;
} operations[] = {
        { "prepare", "begin", hn_operation_prepare, 1150000 },
        { "started", "begin", hn_operation_started, 650000 },
        { "release", "end", hn_operation_release, 1500000 },
        { "migrate", "begin", hn_operation_filter, 550000 },
        { "restore", "begin", hn_operation_filter, 550000 },
};

struct job {
        const struct hn_root *root;
        const struct operation *operation;
        const char *name;
        char *xml; /* NULL: too much of it */
        size_t length;
};

static const struct operation *find_operation(int argc, char **argv)
{
        for (size_t i = 0; argc >= 4 && i < sizeof operations / sizeof *operations; i++)
                if (strcmp(argv[2], operations[i].name) == 0 && strcmp(argv[3], operations[i].sub) == 0)
                        return &operations[i];
        return NULL;
}

/* libvirt writes the XML whether we want it or not, and takes a closed pipe for a fault: read to the end, but not
 * for ever.  *ret_text is empty where there is nothing to keep.  -EFBIG, at the end all the same. */
static int read_input(bool keep, uint64_t deadline_us, char **ret_text, size_t *ret_length)
{
        HN_FREE char *text = malloc(HN_DOMAIN_XML_LIMIT + 1);
        size_t length = 0;
        bool too_large = false;

        if (!text)
                return -ENOMEM;
        for (;;) {
                uint64_t now_us = hn_monotonic_us();
                struct pollfd poller = { .fd = STDIN_FILENO, .events = POLLIN };
                ssize_t n;

                if (now_us >= deadline_us)
                        return -ETIME;
                if (poll(&poller, 1, (int) ((deadline_us - now_us) / 1000 + 1)) <= 0)
                        continue;
                n = read(STDIN_FILENO, text + length, HN_DOMAIN_XML_LIMIT - length);
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return -errno;
                if (n == 0)
                        break;
                length += n > 0 && keep ? (size_t) n : 0;
                if (length == HN_DOMAIN_XML_LIMIT) {
                        too_large = true;
                        keep = false;
                        length = 0;
                }
        }
        if (too_large)
                return -EFBIG;
        text[length] = '\0';
        *ret_text = HN_TAKE(text);
        *ret_length = length;
        return 0;
}

/* Of a domain that can't be read, or is of no business of ours.  Its id is in the XML only. */
static void clear_stale(const struct job *job, char **text)
{
        int r = job->operation->run == hn_operation_prepare ? hn_stale_clear(job->root, job->name) : 0;

        if (r > 0)
                (void) hn_text_add(text, "removed the drop-in of an earlier start");
        else if (r < 0)
                (void) hn_text_add(text, "drop-ins of earlier starts can't be removed: %s", strerror(-r));
}

/* In the child, under the budget. */
static void work(void *data, struct hn_outcome *ret)
{
        const struct job *job = data;
        HN_XMLDOC xmlDoc *doc = NULL;
        HN_REQUEST struct hn_request *request = NULL;
        struct hn_report report = { 0 }; /* ends with the child: to free what hundreds of guests have takes 0.3 ms */
        HN_FREE char *fault = NULL;
        int r = job->xml ? hn_xml_parse(job->xml, job->length, &doc) : -EFBIG;

        if (r >= 0)
                r = hn_request_parse(doc, &request, &fault);
        if (r < 0)
                ret->summary = hn_text_print("left to libvirt: its XML: %s", fault ? fault : strerror(-r));
        if (r < 0 || !request->managed_type) {
                clear_stale(job, &ret->summary);
                return;
        }

        const struct hn_guest guest = { .root = job->root, .name = job->name, .doc = doc, .request = request };
        r = job->operation->run(&guest, &report);
        if (r < 0) {
                ret->summary = hn_text_print("left to libvirt: %s", strerror(-r));
                return;
        }
        if (report.refused && job->operation->run == hn_operation_prepare) {
                ret->status = EXIT_FAILURE;
                ret->complaint = hn_text_print("homenode: %s: %s\n", job->name, report.text);
        } else
                ret->output = HN_TAKE(report.xml);
        ret->summary = HN_TAKE(report.text);
}

/* Whoever started us may have closed standard descriptors: no file of ours is to become one of them. */
static void fill_standard_descriptors(void)
{
        int fd;

        do
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                (void) close(fd);
}

static int exit_status = EXIT_SUCCESS;

static void out_of_time(int number)
{
        (void) number;
        _exit(exit_status);
}

/* From here on a timer ends the process whatever it waits for. */
static void limit_rest(unsigned wait_us)
{
        const struct itimerval timer = { .it_value = { .tv_usec = (suseconds_t) wait_us } };
        const struct sigaction action = { .sa_handler = out_of_time };

        (void) sigaction(SIGALRM, &action, NULL);
        (void) setitimer(ITIMER_REAL, &timer, NULL);
}

static void write_text(int fd, const char *text, uint64_t deadline_us)
{
        size_t left = text ? strlen(text) : 0;

        while (left > 0) {
                struct pollfd poller = { .fd = fd, .events = POLLOUT };
                uint64_t now_us = hn_monotonic_us();
                ssize_t n;

                if (now_us >= deadline_us || poll(&poller, 1, (int) ((deadline_us - now_us) / 1000 + 1)) <= 0)
                        return;
                n = write(fd, text, left < PIPE_BUF ? left : PIPE_BUF);
                if (n <= 0)
                        return;
                text += n;
                left -= (size_t) n;
        }
}

static void tell(const struct job *job, const struct hn_outcome *outcome, uint64_t start_us)
{
        double spent_ms = (double) (hn_monotonic_us() - start_us) / 1000;

        if (!outcome->in_time)
                hn_journal(job->root, LOG_WARNING, IDENTIFIER, job->name, NULL,
                           "%s %s: %s after %.1f ms, left to libvirt", job->operation->name, job->name,
                           outcome->crashed ? "crashed" : "given up", spent_ms);
        else if (outcome->summary)
                hn_journal(job->root, outcome->status ? LOG_WARNING : LOG_INFO, IDENTIFIER, job->name, NULL,
                           "%s %s: %s (%.1f ms)", job->operation->name, job->name, outcome->summary, spent_ms);
}

int main(int argc, char **argv)
{
        uint64_t start_us = hn_monotonic_us();
        const struct operation *operation = find_operation(argc, argv);
        uint64_t deadline_us = start_us + (operation ? operation->budget_us : 500000);
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_OUTCOME struct hn_outcome outcome = { 0 };
        HN_FREE char *xml = NULL;
        struct job job = { .root = &root, .operation = operation, .name = argc > 1 ? argv[1] : "" };
        int r;

        /* A child left behind must hold nothing that a dispatcher in front of us forgot to close. */
        (void) close_range(STDERR_FILENO + 1, ~0u, 0);
        (void) signal(SIGPIPE, SIG_IGN);
        (void) signal(SIGXFSZ, SIG_IGN); /* a limit on files' sizes is like a full disk */
        fill_standard_descriptors();
        r = hn_root_open(NULL, &root);
        /* qemu:///session runs the hook as its user, who can't confine anything. */
        bool session = r < 0 || (root.host && geteuid() != 0);

        r = read_input(operation && !session, deadline_us, &xml, &job.length);
        if ((r < 0 && r != -EFBIG) || !operation || session)
                return EXIT_SUCCESS;
        job.xml = xml;
        if (hn_budget_run(work, &job, deadline_us, &outcome) < 0)
                return EXIT_SUCCESS;

        deadline_us = start_us + CALL_BUDGET_US - LOG_BUDGET_US;
        write_text(STDOUT_FILENO, outcome.output, deadline_us);
        write_text(STDERR_FILENO, outcome.complaint, deadline_us);
        exit_status = outcome.status;
        limit_rest(LOG_BUDGET_US);
        tell(&job, &outcome, start_us);
        return outcome.status;
}
