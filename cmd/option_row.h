/* option_row.h: how rows of the table of options are written: a macro a kind of value. What
 * follows the field is the same for all: the commands that have the option, by sets of them that
 * have several in common, the range of a number, and the line of its help.
 *
 *     FLAG("words", 0, select.words, FOR_SCORE, "merge tokens into words"),
 *     INTEGER("top", 0, "N", heads.top, FOR_HEADS, 1, LLONG_MAX, "the first rows"),
 */
#ifndef ATTN_CMD_OPTION_ROW_H
#define ATTN_CMD_OPTION_ROW_H

#include "options.h"

/* name, letter, what help calls the value, field, commands, range, help */
#define ROW(name, letter, kind, value, field, commands, min, max, about)                      \
    {                                                                                         \
        name, letter, kind, value, offsetof(struct options, field), commands, min, max, about \
    }
#define FLAG(name, letter, field, commands, about) \
    ROW(name, letter, OPTION_FLAG, NULL, field, commands, 0, 0, about)
#define STRING(name, letter, value, field, commands, about) \
    ROW(name, letter, OPTION_TEXT, value, field, commands, 0, 0, about)
#define STRINGS(name, letter, value, field, commands, about) \
    ROW(name, letter, OPTION_TEXTS, value, field, commands, 0, 0, about)
#define INTEGER(name, letter, value, field, commands, min, max, about) \
    ROW(name, letter, OPTION_NUMBER, value, field, commands, min, max, about)
#define REAL(name, letter, value, field, commands, min, max, about) \
    ROW(name, letter, OPTION_REAL, value, field, commands, min, max, about)

/* The table is in parts, a file of cmd/option_rows each, in the order in which help goes. */
struct option_rows {
    const struct option_row *items;
    size_t count;
};

extern const struct option_rows input_options, score_options, attend_options, output_options,
    batch_options, page_options, process_options, instrument_options, train_options;

/* --- sets of commands ------------------------------------------------------------------------- */

/* What is made of the numbers of `run` and `generate`, and how it looks. */
enum { OF_REPORTS = FOR_RUN | FOR_GENERATE | VIEW };

/* Whose pages and pictures have cells in colours. */
enum { COLOURED = OF_REPORTS | INSTRUMENTS };

/* Who looks at texts; and attends as options say. */
enum {
    ATTENDING = FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_SCORE | FOR_LENS | FOR_PATCH | FOR_PAGE
};
enum { LOOKING = ATTENDING | FOR_ATTRIBUTE };

/* Who asks it of one text at a time, but takes several. */
enum { TEXT_ALONE = FOR_SCORE | FOR_LENS | FOR_ATTRIBUTE | FOR_HEADS | FOR_PAGE };

/* Whose passes can be edited; who sets models beside each other. */
enum { EDITED = ATTENDING | FOR_HEADS | FOR_COMPARE };
enum { SEVERAL_MODELS = FOR_SCORE | FOR_LENS | FOR_HEADS | FOR_COMPARE | FOR_PAGE };

#endif
