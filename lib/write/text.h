/* text.h: reports as text: lines of cells, axes that exceed the page, tables, and pages
 * (text_line.c, text_page.c). Widths are columns of a terminal; a page width of 0 is unlimited.
 *
 *     struct buf line = {0};
 *     text_cell(&line, "Life", 8, false);
 *     text_cell(&line, "0.0386", 8, true);
 *     if (text_end(out, &line, err)) ...
 */
#pragma once

#include "base/num.h"
#include "write/format.h"

/* --- lines ------------------------------------------------------------------------------------ */

/* Append a text, left or right-aligned in a cell; an ellipsis shortens it to the cell's width. */
void text_cell(struct buf *line, const char *text, size_t width, bool right);

/* Append an axis label, for a cell of this width. Long names of models (axis "model"), which often
 * begin alike, are shortened at the start: "…/step-00000040". */
void text_label(struct buf *line, const struct axis *axis, size_t index, size_t width);

void text_blanks(struct buf *line, size_t count); /* append spaces */

/* Shorten a line to the width of a page; colour codes have width 0. */
void text_shorten(struct buf *line, size_t width);

/* Write the line without trailing spaces, and clear it; -1 if memory ran out. */
int text_end(struct stream *out, struct buf *line, struct err *err);

/* Write a text as it is; -1 if memory ran out. */
int text_send(struct stream *out, const struct buf *text, struct err *err);

/* Write a text, beginning at `column`, in lines of at most `width` columns (or one word): broken at
 * spaces and around wide characters, then with `indent`, and at newlines, then without. */
void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width);

/* The displayed positions of an axis: `front` from its start and `back` from its end, with a slot
 * for an ellipsis between them if positions are omitted. */
struct text_cut {
    size_t front, back;
    size_t size; /* positions of the axis */
};

/* Show at most `shown` positions, but at least 2; or as many as fit into `lines` (0: unlimited),
 * including the ellipsis. Even lines + 1 are shown, where an ellipsis would hide only one. */
struct text_cut text_cut_to(size_t size, size_t shown);
struct text_cut text_cut_lines(size_t size, size_t lines);

bool text_is_cut(const struct text_cut *cut);

/* Number of slots, including the ellipsis; is a slot the ellipsis?; position of a slot (for the
 * ellipsis, the first omitted one). */
size_t text_cut_slots(const struct text_cut *cut);
bool text_cut_between(const struct text_cut *cut, size_t slot);
size_t text_cut_place(const struct text_cut *cut, size_t slot);

/* --- tables of a report, and titles ----------------------------------------------------------- */

int table_text_write(struct stream *out, const struct table *table, const struct layout *layout,
                     struct err *err);

/* True for columns of texts, which are left-aligned unless COLUMN_RIGHT. */
static inline bool column_is_text(const struct column *column)
{
    return column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL;
}

/* The text of a cell for people, in `text` if it is a number; "": missing. */
enum { TEXT_CELL_BYTES = 64 };
const char *text_of_cell(char text[TEXT_CELL_BYTES], const struct column *column, size_t row,
                         bool brief);

/* The value of a fact for people, in `number` if it is one; NULL: none, or not for people. */
const char *text_of_fact(char number[NUM_SIZE_BYTES], const struct column *fact);

/* Append the title lines of a page: the model with its mechanism, the text (numbered if there are
 * several) and other texts. text_titles_write shortens them to the page, and wraps below them the
 * subject, which may end in a number. */
void text_titles(struct buf *lines, const struct report *report, const struct layout *layout);
int text_titles_write(struct stream *out, const struct report *report, const struct layout *layout,
                      struct err *err);

/* --- formulas (formula.c) -----------------------------------------------------------------------
 *
 * In the notation of a terminal, k_j, e^(x - max), √(σ² + ε), as HTML and as LaTeX. */

void html_text(struct buf *out, const char *text, size_t size); /* escapes markup */
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);

/* Append a sentence: words such as W_q, without a ' before them, by `symbol`; others by `other`. */
typedef void write_word(struct buf *out, const char *word, size_t size);
void formula_prose(struct buf *out, const char *sentence, write_word *symbol, write_word *other);
