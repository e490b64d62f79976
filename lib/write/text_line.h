/* text_line.h: lines of a page: cells of a width on the terminal, and axes that are too long for
 * it.
 *
 *     struct buf line = {0};
 *     text_left(&line, "Life", 8);
 *     text_right(&line, "0.0386", 8);
 *     if (text_end(out, &line, err)) ...
 */
#ifndef ATTN_WRITE_TEXT_LINE_H
#define ATTN_WRITE_TEXT_LINE_H

#include "base/buf.h"
#include "base/stream.h"
#include "lens/sheet.h"

/* Append a text at the left or the right end of a cell, shortened to its width with an ellipsis. */
void text_left(struct buf *line, const char *text, size_t width);
void text_right(struct buf *line, const char *text, size_t width);

/* Append a label of an axis for a cell that shortens it to so many columns. Models often have long
 * names of one beginning: where some would look the same, what they share goes first, as far as it
 * is in the way, at a slash where there is one: "…/step-00000040". */
void text_label(struct buf *line, const struct axis *axis, size_t place, size_t width);

void text_blanks(struct buf *line, size_t count);

/* The blanks that are left of so many columns beside what takes some; none where it takes more. */
void text_blanks_up_to(struct buf *line, size_t columns, size_t taken);

/* Shorten a whole line to the width of a page, of which colours take nothing; 0: endless. */
void text_shorten(struct buf *line, size_t width);

/* Send the line, without blanks at its end, and begin the next; -1 when it is not whole, because
 * there was no memory for it. */
int text_end(struct stream *out, struct buf *line, struct err *err);

/* Send what was gathered, as it is; -1 when it is not whole, because there was no memory for it. */
int text_send(struct stream *out, const struct buf *text, struct err *err);

/* Send a text, broken at blanks into lines of at most `width` columns (0: endless), and at its own
 * ends of lines. The first goes on at `column`, those that were broken are indented. */
void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width);

/* Which places of an axis are shown: `front` from its start and `back` from its end, and a slot
 * with an ellipsis between them for the middle, unless that is all. */
struct text_cut {
    size_t front;
    size_t back;
    size_t size; /* of the axis */
};

/* `shown` places, at least 2, of an axis that has more. */
struct text_cut text_cut_to(size_t size, size_t shown);

/* As many places as a page of `lines` holds, the ellipsis counted; 0: all. */
struct text_cut text_cut_lines(size_t size, size_t lines);

bool text_is_cut(const struct text_cut *cut);

/* All slots, the ellipsis among them; whether this one is it; and the place that a slot shows, for
 * the ellipsis the first that is left out. */
size_t text_cut_slots(const struct text_cut *cut);
bool text_cut_between(const struct text_cut *cut, size_t slot);
size_t text_cut_place(const struct text_cut *cut, size_t slot);

#endif
