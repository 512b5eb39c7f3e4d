/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The screen, by ncurses.  Signals that would end or stop the program are waited for like keys: so the terminal is put
 * back in order on every way out, and nothing happens in the middle of something else.
 */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "command/top-draw.h"
#include "model/clock.h"
#include "model/text.h"

#include <term.h> /* last: it has macros of any name */
#undef columns
#undef lines

#define FIRST_INTERVAL_US 200000u /* so long the first page has no figures that are differences */
#define LEAST_INTERVALS 10u    /* of the CPU time of a reading: a tenth of a CPU at most, whatever is asked for */
#define LOST_LIMIT 100u        /* a terminal that can be read from so often and has nothing is gone */

struct screen {
        struct hn_top *top;
        struct hn_top_plan *plan;
        struct hn_top_page page;
        char *help;           /* NULL: not shown */
        size_t first;         /* guest at the top of the list */
        size_t room;          /* guests that there is room for */
        uint64_t next_us;     /* CLOCK_MONOTONIC: of the next reading */
        uint64_t n_read;      /* readings up to now */
        int signals;          /* signalfd */
        sigset_t mask;        /* as it was before */
        SCREEN *terminal;
        unsigned lost;
        bool colours, ended;
        int number;           /* signal that the program is to die of */
};

/* ---- the terminal */

static int catch_signals(struct screen *s)
{
        static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
        sigset_t set;

        (void) sigemptyset(&set);
        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
                (void) sigaddset(&set, caught[i]);
        if (sigprocmask(SIG_BLOCK, &set, &s->mask) < 0)
                return -errno;
        s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
        if (s->signals < 0) {
                int r = -errno;

                (void) sigprocmask(SIG_SETMASK, &s->mask, NULL);
                return r;
        }
        return 0;
}

/* Gives the terminal back; signals that came meanwhile do then what they do. */
static void close_screen(struct screen *s)
{
        if (s->terminal) {
                (void) endwin();
                delscreen(s->terminal);
        }
        if (s->signals >= 0) {
                (void) close(s->signals);
                (void) sigprocmask(SIG_SETMASK, &s->mask, NULL);
        }
        hn_top_page_clear(&s->page);
        free(s->help);
}

static int open_screen(struct screen *s)
{
        int r = catch_signals(s);

        if (r < 0)
                return r;
        s->terminal = newterm(NULL, stdout, stdin);
        if (!s->terminal || !cursor_address)
                return -EOPNOTSUPP;
        (void) cbreak();
        (void) noecho();
        (void) nonl();
        (void) keypad(stdscr, TRUE);
        (void) nodelay(stdscr, TRUE);
        (void) set_escdelay(25);
        (void) curs_set(0);
        s->colours = hn_top_draw_begin();
        return 0;
}

static void resize(void)
{
        struct winsize size;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
                (void) resizeterm(size.ws_row, size.ws_col);
        (void) clearok(stdscr, TRUE);
}

/* ---- drawing and reading */

static void draw(struct screen *s)
{
        (void) erase();
        if (s->help)
                hn_top_draw_text(s->help);
        else
                s->room = hn_top_draw_page(&s->page, s->colours, &s->first);
        (void) refresh();
}

static int make_page(struct screen *s)
{
        HN_FREE char *banner = hn_top_banner(s->top, &s->plan->sort);
        HN_FREE char *line = banner ? hn_text_print("%s, every %g s (h: help)", banner, s->plan->interval_ms / 1000.0) : NULL;
        struct hn_top_page page = { 0 };
        int r = line ? hn_top_page(s->top, &s->plan->sort, line, COLS > 0 ? (unsigned) COLS : 1, &page) : -ENOMEM;

        if (r < 0)
                return r;
        hn_top_page_clear(&s->page);
        s->page = page;
        return 0;
}

static uint64_t used_us(void)
{
        struct timespec used = { 0 };

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (uint64_t) used.tv_sec * 1000000u + (uint64_t) used.tv_nsec / 1000u;
}

/* The page points at what the reading replaces. */
static int read_now(struct screen *s)
{
        uint64_t began_us = hn_monotonic_us(), before_us = used_us();
        uint64_t interval_us = UINT64_C(1000) * s->plan->interval_ms, least_us;
        int r;

        hn_top_page_clear(&s->page);
        r = hn_top_read(s->top);
        if (r >= 0)
                r = make_page(s);
        least_us = LEAST_INTERVALS * (used_us() - before_us);
        if (interval_us < least_us)
                interval_us = least_us;
        if (s->n_read++ == 0 && interval_us > FIRST_INTERVAL_US)
                interval_us = FIRST_INTERVAL_US;
        s->next_us = began_us + interval_us;
        return r;
}

/* ---- keys */

static int show_help(struct screen *s)
{
        HN_FREE char *legend = hn_top_legend();

        s->help = legend ? hn_text_print("homenode top: columns, their words for --sort, and the keys that sort by them\n%s"
                                         "Keys\n"
                                         "  < >    sorts by the column to the left, to the right\n"
                                         "  r      the other way round\n"
                                         "  arrows, PgUp, PgDn, Home, End  go through the list\n"
                                         "  blank  reads now\n"
                                         "  q      quits\n"
                                         "Any key goes back.\n", legend)
                         : NULL;
        return s->help ? 0 : -ENOMEM;
}

static int sort_by(struct screen *s, enum hn_top_column column)
{
        s->plan->sort = (struct hn_top_sort) { .by = column };
        s->first = 0;
        return make_page(s);
}

static void scroll_by(struct screen *s, long lines)
{
        if (lines < 0)
                s->first -= (size_t) -lines < s->first ? (size_t) -lines : s->first;
        else
                s->first += (size_t) lines; /* drawing knows where the end is */
}

static bool scroll_key(struct screen *s, int key)
{
        long page = s->room > 1 ? (long) s->room - 1 : 1;

        switch (key) {
        case KEY_UP:
                scroll_by(s, -1);
                return true;
        case KEY_DOWN:
                scroll_by(s, 1);
                return true;
        case KEY_PPAGE:
                scroll_by(s, -page);
                return true;
        case KEY_NPAGE:
                scroll_by(s, page);
                return true;
        case KEY_HOME:
                s->first = 0;
                return true;
        case KEY_END:
                s->first = s->page.n_body;
                return true;
        default:
                return false;
        }
}

static int do_key(struct screen *s, int key)
{
        enum hn_top_column by = s->plan->sort.by;

        if (s->help) {
                free(HN_TAKE(s->help));
                return 0;
        }
        if (scroll_key(s, key))
                return 0;
        switch (key) {
        case 'q':
                s->ended = true;
                return 0;
        case 'h':
        case '?':
                return show_help(s);
        case ' ':
                return read_now(s);
        case 'r':
                s->plan->sort.reversed = !s->plan->sort.reversed;
                return make_page(s);
        case '<':
                return sort_by(s, by ? by - 1 : HN_TOP_COLUMNS - 1);
        case '>':
                return sort_by(s, (by + 1) % HN_TOP_COLUMNS);
        default:
                by = hn_top_column_of_key(key);
                return by == HN_TOP_COLUMNS ? 0 : sort_by(s, by);
        }
}

static int do_keys(struct screen *s)
{
        int key = getch(), r = 0;

        s->lost = key == ERR ? s->lost + 1 : 0;
        s->ended |= s->lost > LOST_LIMIT;
        for (; r >= 0 && key != ERR && !s->ended; key = getch())
                if (key != KEY_RESIZE)
                        r = do_key(s, key);
        return r;
}

/* ---- signals */

static void stop(void)
{
        (void) endwin();
        (void) raise(SIGSTOP);
        resize();
}

static int do_signals(struct screen *s)
{
        struct signalfd_siginfo info;
        bool resized = false;

        while (read(s->signals, &info, sizeof info) == (ssize_t) sizeof info)
                switch (info.ssi_signo) {
                case SIGWINCH:
                        resize();
                        resized = true;
                        break;
                case SIGTSTP:
                        stop();
                        resized = true;
                        break;
                case SIGINT: /* how many end whatever is on their screen: no failure */
                        s->ended = true;
                        break;
                default:
                        s->ended = true;
                        s->number = (int) info.ssi_signo;
                        break;
                }
        return resized ? make_page(s) : 0;
}

/* ---- */

static int wait_and_do(struct screen *s)
{
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = s->signals, .events = POLLIN } };
        uint64_t now_us = hn_monotonic_us();
        int left_ms = now_us < s->next_us ? (int) ((s->next_us - now_us + 999) / 1000) : 0;
        int n = poll(fds, 2, left_ms), r = 0;

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        if (fds[1].revents)
                r = do_signals(s);
        if (r >= 0 && !s->ended && fds[0].revents)
                r = do_keys(s);
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
                s->ended = true;
        if (r < 0 || s->ended || hn_monotonic_us() < s->next_us)
                return r;
        s->ended = s->plan->count && s->n_read > s->plan->count; /* the first one only shows what is no difference */
        return s->ended ? 0 : read_now(s);
}

int hn_top_screen(struct hn_top *top, struct hn_top_plan *plan, int *ret_signal)
{
        HN_CLEANUP(close_screen) struct screen s = { .top = top, .plan = plan, .signals = -1 };
        int r = open_screen(&s);

        if (r >= 0)
                r = read_now(&s);
        while (r >= 0 && !s.ended) {
                draw(&s);
                r = wait_and_do(&s);
        }
        *ret_signal = s.number;
        return r;
}
