/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "model/clock.h"

#define TEXTS 3
#define OUTCOME_LIMIT (32u << 20)

/* Goes before the texts on the pipe; a length of SIZE_MAX is a NULL. */
struct header {
        int status;
        size_t lengths[TEXTS];
};

void hn_outcome_clear(struct hn_outcome *outcome)
{
        free(outcome->output);
        free(outcome->complaint);
        free(outcome->summary);
        *outcome = (struct hn_outcome) { 0 };
}

static bool send_all(int fd, const void *data, size_t length)
{
        const char *p = data;

        while (length > 0) {
                ssize_t n = write(fd, p, length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                p += n;
                length -= (size_t) n;
        }
        return true;
}

/* The child's life.  Whoever started us waits until all copies of its descriptors are closed: keep none of
 * the standard ones. */
__attribute__((noreturn))
static void child(hn_work *work, void *data, int pipe_fd, pid_t parent)
{
        HN_OUTCOME struct hn_outcome outcome = { 0 };
        const char *texts[TEXTS];
        struct header header;
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (int fd = 0; fd <= 2; fd++)
                if (null_fd < 0 || dup2(null_fd, fd) < 0)
                        (void) close(fd);
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);

        work(data, &outcome);
        texts[0] = outcome.output;
        texts[1] = outcome.complaint;
        texts[2] = outcome.summary;
        header.status = outcome.status;
        for (int i = 0; i < TEXTS; i++)
                header.lengths[i] = texts[i] ? strlen(texts[i]) : SIZE_MAX;
        bool sent = send_all(pipe_fd, &header, sizeof header);
        for (int i = 0; sent && i < TEXTS; i++)
                if (texts[i])
                        sent = send_all(pipe_fd, texts[i], strlen(texts[i]));
        _exit(sent ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Fills the whole buffer, or fails at the deadline (-ETIME) or the end of the pipe (-EPIPE). */
static int receive(int fd, void *buffer, size_t length, uint64_t deadline_us)
{
        char *p = buffer;

        while (length > 0) {
                uint64_t now_us = hn_monotonic_us();
                struct pollfd poller = { .fd = fd, .events = POLLIN };
                ssize_t n;
                int r;

                if (now_us >= deadline_us)
                        return -ETIME;
                r = poll(&poller, 1, (int) ((deadline_us - now_us) / 1000 + 1));
                if (r < 0 && errno != EINTR)
                        return -errno;
                if (r <= 0)
                        continue;
                n = read(fd, p, length);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return -EPIPE;
                p += n;
                length -= (size_t) n;
        }
        return 0;
}

static int receive_outcome(int fd, uint64_t deadline_us, struct hn_outcome *ret)
{
        HN_OUTCOME struct hn_outcome outcome = { .in_time = true };
        char **texts[TEXTS] = { &outcome.output, &outcome.complaint, &outcome.summary };
        struct header header;
        int r = receive(fd, &header, sizeof header, deadline_us);

        if (r < 0)
                return r;
        outcome.status = header.status;
        for (int i = 0; i < TEXTS; i++) {
                size_t length = header.lengths[i];

                if (length == SIZE_MAX)
                        continue;
                if (length > OUTCOME_LIMIT)
                        return -EFBIG;
                *texts[i] = calloc(1, length + 1);
                if (!*texts[i])
                        return -ENOMEM;
                r = receive(fd, *texts[i], length, deadline_us);
                if (r < 0)
                        return r;
        }
        *ret = outcome;
        outcome = (struct hn_outcome) { 0 };
        return 0;
}

int hn_budget_run(hn_work *work, void *data, uint64_t deadline_us, struct hn_outcome *ret)
{
        struct hn_outcome outcome = { 0 };
        pid_t parent = getpid(), pid;
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        HN_CLOSE int reader = ends[0];

        pid = fork();
        if (pid < 0) {
                int r = -errno;

                (void) close(ends[1]);
                return r;
        }
        if (pid == 0) {
                (void) close(reader);
                child(work, data, ends[1], parent);
        }
        (void) close(ends[1]);

        int r = receive_outcome(reader, deadline_us, &outcome);
        if (r < 0) {
                outcome.crashed = r == -EPIPE;
                (void) kill(pid, SIGKILL);
        } else
                (void) waitpid(pid, NULL, 0);
        *ret = outcome;
        return 0;
}
