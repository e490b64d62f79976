/* text_line.h: lines of a page: cells with a width on the terminal, and axes that are too long for
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

/* Append a label of an axis for a cell of this width. Models often have long names with the same
 * beginning: if shortened ones would look the same, the shared part is cut, at a slash if there is
 * one: "…/step-00000040". */
void text_label(struct buf *line, const struct axis *axis, size_t place, size_t width);

void text_blanks(struct buf *line, size_t count);

/* Fill a cell of `columns` after a text that took `taken`. */
void text_blanks_up_to(struct buf *line, size_t columns, size_t taken);

/* Shorten a whole line to the width of a page, in which colours take none; 0: endless. */
void text_shorten(struct buf *line, size_t width);

/* Write the line without blanks at its end, and clear it; -1 if memory for it ran out. */
int text_end(struct stream *out, struct buf *line, struct err *err);

/* Write a text as it is; -1 if memory for it ran out. */
int text_send(struct stream *out, const struct buf *text, struct err *err);

/* Write a text, broken at blanks into lines of at most `width` columns (0: endless), and at its own
 * line ends. The first line starts at `column`, broken lines are indented. */
void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width);

/* The positions of an axis that are shown: `front` from its start and `back` from its end, and
 * between them a slot with an ellipsis, unless that is all. */
struct text_cut {
    size_t front;
    size_t back;
    size_t size; /* of the axis */
};

/* Show at most this many positions, and at least 2. */
struct text_cut text_cut_to(size_t size, size_t shown);

/* Show as many positions as a page of `lines` holds, including the ellipsis; 0: all. */
struct text_cut text_cut_lines(size_t size, size_t lines);

bool text_is_cut(const struct text_cut *cut);

/* The number of slots, including the ellipsis; whether a slot is the ellipsis; and its position,
 * for the ellipsis the first that is left out. */
size_t text_cut_slots(const struct text_cut *cut);
bool text_cut_between(const struct text_cut *cut, size_t slot);
size_t text_cut_place(const struct text_cut *cut, size_t slot);

#endif
