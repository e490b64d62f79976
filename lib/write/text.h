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

/* Append a text as a cell, aligned left or right. An ellipsis shortens a text that is wider than
 * the cell. */
void text_cell(struct buf *line, const char *text, size_t width, bool right);

/* Append an axis label for a cell of `width` columns. Long names of models (axis "model"), which
 * often begin alike, are shortened at the start: "…/step-00000040". */
void text_label(struct buf *line, const struct axis *axis, size_t index, size_t width);

void text_blanks(struct buf *line, size_t count); /* appends `count` spaces */

/* Shorten a line to the width of a page, in columns; colour codes have width 0. */
void text_shorten(struct buf *line, size_t width);

/* Write the line without trailing spaces, and clear it; -1 if memory ran out. */
int text_end(struct stream *out, struct buf *line, struct err *err);

/* Write a text as it is; -1 if memory ran out. */
int text_send(struct stream *out, const struct buf *text, struct err *err);

/* Write a text, beginning at `column`, in lines of at most `width` columns; only a word that is
 * wider than a line exceeds them. Lines break at spaces and around wide characters; the next line
 * then begins with `indent` spaces. Lines that follow a newline in the text are not indented. */
void text_wrap(struct stream *out, const char *text, size_t column, size_t indent, size_t width);

/* The displayed positions of an axis: `front` from its start and `back` from its end, with a slot
 * for an ellipsis between them if positions are omitted. */
struct text_cut {
    size_t front, back;
    size_t size; /* number of positions of the axis */
};

/* text_cut_to shows at most `shown` positions, but at least 2. text_cut_lines shows as many
 * positions as fit into `lines` lines, including the ellipsis (0: no limit). It also shows all of
 * `lines` + 1 positions: to omit some would need that line, to say how many are shown. */
struct text_cut text_cut_to(size_t size, size_t shown);
struct text_cut text_cut_lines(size_t size, size_t lines);

bool text_is_cut(const struct text_cut *cut);

/* text_cut_slots: the number of slots, including the ellipsis. text_cut_between: true if a slot is
 * the ellipsis. text_cut_place: the position in a slot (in the ellipsis, the first omitted
 * position). */
size_t text_cut_slots(const struct text_cut *cut);
bool text_cut_between(const struct text_cut *cut, size_t slot);
size_t text_cut_place(const struct text_cut *cut, size_t slot);

/* --- tables of a report, and titles ----------------------------------------------------------- */

int table_text_write(struct stream *out, const struct table *table, const struct layout *layout,
                     struct err *err);

/* True if a column contains texts, which are left-aligned unless COLUMN_RIGHT is set. */
static inline bool column_is_text(const struct column *column)
{
    return column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL;
}

/* The text of a cell for people; a number is written into `text`. "": the value is missing. If
 * `brief`, numbers of columns with a brief header have one decimal less. */
enum { TEXT_CELL_BYTES = 64 };
const char *text_of_cell(char text[TEXT_CELL_BYTES], const struct column *column, size_t row,
                         bool brief);

/* The value of a fact for people; a number is written into `number`. NULL: the fact has no value,
 * or is not for people. */
const char *text_of_fact(char number[NUM_SIZE_BYTES], const struct column *fact);

/* text_titles appends the title lines of a page: the model with its mechanism, the text (numbered
 * if there are several), its source and its corrupt texts. text_titles_write writes them, shortened
 * to the width of the page, and below them report->about in wrapped lines. */
void text_titles(struct buf *lines, const struct report *report, const struct layout *layout);
int text_titles_write(struct stream *out, const struct report *report, const struct layout *layout,
                      struct err *err);

/* --- formulas (formula.c) -----------------------------------------------------------------------
 *
 * Functions that convert formulas from the notation of a terminal, such as k_j, e^(x - max) and
 * √(σ² + ε), to HTML and LaTeX. */

/* appends a text with &, <, > and " as HTML entities */
void html_text(struct buf *out, const char *text, size_t size);
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);

/* Append a sentence. `symbol` writes words such as W_q, unless a ' is before them; `other` writes
 * all other words. */
typedef void write_word(struct buf *out, const char *word, size_t size);
void formula_prose(struct buf *out, const char *sentence, write_word *symbol, write_word *other);
