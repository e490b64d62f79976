/* survey.h: finds details of a table of texts that its author may overlook: marks between regions,
 * stray blanks, columns of numbers with a decimal comma. items.c surveys each cell when it opens a
 * table, and says in one note what was found. */
#pragma once

#include "base/buf.h"
#include "base/memory.h"

struct text_survey {
    size_t marks; /* number of marks, `|`, in the texts of a table (stimuli.h) */
    size_t glued; /* number of marks without blanks between two words */
    /* `blank`: number of lines without text; `nameless`: number of columns without a name */
    size_t blank, nameless;
    size_t stray;            /* number of texts with blanks that --trim removes */
    const char *glued_words; /* the words at the first glued mark: "horse|raced" */
    size_t stray_line;       /* number of the line of the first text with stray blanks */
    size_t hidden;           /* number of texts with characters that a spreadsheet does not show */
    size_t hidden_line;      /* number of the line of the first text with hidden characters */
    unsigned hidden_kinds;   /* kinds of hidden characters: bits 1 << index in the table `hidden` */
    size_t errors;      /* number of cells with an error of Excel, such as #N/A, except in texts */
    size_t error_line;  /* number of the line of the first cell with an error */
    const char *error;  /* value of the first cell with an error */
    size_t whole;       /* number of lines with a separator in a table of one column */
    const char *commas; /* name of a copied column of numbers with a decimal comma, or NULL */
};

/* Find the first mark, `|`, from `at` on; NULL: no mark. A bar of a special token is no mark. */
const char *mark_find(const char *text, const char *at);

/* Add a text of a table to the survey: its marks, only for CELL_WITH_MARKS, and stray blanks. Stray
 * blanks are several blanks within a line that are not next to a mark and, unless the text is a
 * region or has marks, white space at its start or end. */
enum cell_kind { CELL_TEXT, CELL_WITH_MARKS, CELL_REGION };
int text_survey_add(struct text_survey *survey, const char *text, enum cell_kind kind, size_t line,
                    struct arena *arena, struct err *err);

/* The kinds of hidden characters in a text, as in text_survey.hidden_kinds: for example no-break
 * spaces, zero-width spaces, direction marks and, in a cell of CSV, line breaks and tabs. Joiners
 * do not count, since Persian and emoji need them. */
unsigned hidden_find(const char *text, bool is_csv);

/* True if a cell is an error value of Excel, in English or in a language in which Excel translates
 * it. */
bool cell_is_error(const char *cell);

/* Update the kind of a column with a cell. CELLS_WITH_COMMAS: some cells are numbers with a decimal
 * comma, and all others whole numbers or empty. */
enum cells { CELLS_PLAIN, CELLS_WITH_COMMAS, CELLS_OTHER };
enum cells cells_add(enum cells cells, const char *cell);

/* Copy a text without the blanks at its ends, and with one blank in place of several within a line.
 * Returns NULL with `err` on failure. */
const char *text_trim(const char *text, struct arena *arena, struct err *err);

/* Append to a note the survey's findings, as in "; 2 blank lines skipped; …". `leaves_marks`: the
 * command leaves marks out of the texts; `keeps_blanks`: it does not remove stray blanks. */
void text_survey_write(struct buf *out, const struct text_survey *survey, bool leaves_marks,
                       bool keeps_blanks);
