/* text.h: text for people: lines with cells, axes that are too long for a page, tables, and reports
 * (text_line.c, text_page.c). Widths are columns of a terminal; 0: no limit.
 *
 *     struct buf line = {0};
 *     text_cell(&line, "Life", 8, false);
 *     text_cell(&line, "0.0386", 8, true);
 *     if (text_end(out, &line, err)) ...
 */
#ifndef ATTN_WRITE_TEXT_H
#define ATTN_WRITE_TEXT_H

#include "write/format.h"

/* --- lines ------------------------------------------------------------------------------------ */

/* Append a text at the left or the right end of a cell, shortened to its width with an ellipsis. */
void text_cell(struct buf *line, const char *text, size_t width, bool right);

/* Append a label of an axis for a cell of this width. Long names of models, which often begin
 * alike, lose their beginning: "…/step-00000040". */
void text_label(struct buf *line, const struct axis *axis, size_t index, size_t width);

void text_blanks(struct buf *line, size_t count); /* append them */

/* Shorten a whole line to the width of a page, in which colours take no columns. */
void text_shorten(struct buf *line, size_t width);

/* Write the line without blanks at its end, and clear it; -1 if memory for it ran out. */
int text_end(struct stream *out, struct buf *line, struct err *err);

/* Write a text as it is; -1 if memory for it ran out. */
int text_send(struct stream *out, const struct buf *text, struct err *err);

/* Write a text in lines of at most `width` columns, broken at blanks and at its own line ends. The
 * first line starts at `column`; lines after a break are indented. */
void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width);

/* The positions of an axis that are shown: `front` from its start and `back` from its end, with a
 * slot for an ellipsis between them unless these are all. */
struct text_cut {
    size_t front, back;
    size_t size; /* of the axis */
};

/* Show at most this many positions, and at least 2; or as many as a page of `lines` (0: no limit)
 * holds, including the ellipsis. */
struct text_cut text_cut_to(size_t size, size_t shown);
struct text_cut text_cut_lines(size_t size, size_t lines);

bool text_is_cut(const struct text_cut *cut);

/* The number of slots, including the ellipsis; whether a slot is the ellipsis; and its position,
 * for the ellipsis the first that is left out. */
size_t text_cut_slots(const struct text_cut *cut);
bool text_cut_between(const struct text_cut *cut, size_t slot);
size_t text_cut_place(const struct text_cut *cut, size_t slot);

/* --- tables of a report, and titles ----------------------------------------------------------- */

int frame_text_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err);

/* Write the first lines of a page, shortened to its width: the model and the text, numbered where
 * there are several, and the source or the corrupt text. */
int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err);

#endif
