/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/top-draw.h"

#include <curses.h>
#include <string.h>

#include "command/display.h"
#include "model/text.h"

#define LOCAL_LOW 80.0  /* percent: what those who know esxtop take for too little */
#define READY_HIGH 10.0 /* percent of one vCPU, the same */

enum { PLAIN, MOVES, REMOTE, WAITS };

bool hn_top_draw_begin(void)
{
        const char *none = getenv("NO_COLOR"); /* no-color.org: set and not empty */

        return !(none && *none) && has_colors() && start_color() == OK && use_default_colors() == OK &&
               init_pair(MOVES, COLOR_CYAN, -1) == OK && init_pair(REMOTE, COLOR_YELLOW, -1) == OK &&
               init_pair(WAITS, COLOR_RED, -1) == OK;
}

static int colour_of(const struct hn_top_row *row)
{
        if (row->guest->entry && row->guest->entry->moving)
                return MOVES;
        if (row->ready >= 0 && row->vcpus && row->ready / row->vcpus > READY_HIGH)
                return WAITS;
        return row->local_percent >= 0 && row->local_percent < LOCAL_LOW ? REMOTE : PLAIN;
}

/* Where the locale has no UTF-8 each character of it becomes a "?": as wide as was counted. */
static void make_plain(char *text)
{
        char *to = text;

        for (const char *from = text; *from; from++)
                if (((unsigned char) *from & 0xc0) != 0x80)
                        *to++ = (unsigned char) *from < 0x80 ? *from : '?';
        *to = '\0';
}

/* One line; what is too long is cut, or it would go on in the next one. */
static void draw_line(int y, const char *line)
{
        HN_FREE char *cut = COLS > 0 ? hn_display_cut(line, (unsigned) COLS) : NULL;

        if (!cut)
                return;
        if (MB_CUR_MAX == 1)
                make_plain(cut);
        (void) mvaddstr(y, 0, cut);
}

/* The lines above the list take half of the screen at most; the last one, the titles, is always there. */
static int draw_head(const struct hn_top_page *page)
{
        size_t most = LINES > 4 ? (size_t) LINES / 2 : 2, n = page->n_head <= most ? page->n_head : most;
        int y = 0;

        for (size_t i = 0; i + 1 < n; i++)
                draw_line(y++, page->head[i]);
        if (n < page->n_head && n > 2) {
                HN_FREE char *more = hn_text_print("(%zu more lines: a taller screen shows them)", page->n_head - n + 1);

                (void) move(y - 1, 0);
                (void) clrtoeol();
                draw_line(y - 1, more ? more : "");
        }
        (void) mvchgat(0, 0, -1, A_BOLD, 0, NULL);
        draw_line(y, page->head[page->n_head - 1]);
        (void) mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
        return y + 1;
}

size_t hn_top_draw_page(const struct hn_top_page *page, bool colours, size_t *first)
{
        int y = draw_head(page);
        size_t room = LINES > y ? (size_t) (LINES - y) : 1;

        if (*first + room > page->n_body)
                *first = page->n_body > room ? page->n_body - room : 0;
        for (size_t i = *first; i < page->n_body && i < *first + room; i++, y++) {
                int colour = colour_of(&page->rows[i]);

                draw_line(y, page->body[i]);
                if (colours && colour != PLAIN)
                        (void) mvchgat(y, 0, -1, A_NORMAL, (short) colour, NULL);
        }
        return room;
}

void hn_top_draw_text(const char *text)
{
        HN_FREE char *copy = strdup(text);
        char *rest = NULL;
        int y = 0;

        for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && y < LINES; line = strtok_r(NULL, "\n", &rest))
                draw_line(y++, line);
}
