/* items.h: the texts of a command: --sentence, operands, a file or a pipe, --ids.
 *
 *     Life is short                                    lines: one text per line
 *     {"text": "Life is short", "region": "NP"}        JSONL: one object per line
 *     text,region                                      CSV (or ; or tab): a header, then records
 *
 * The ending of the name (.txt, .jsonl, .csv, .tsv) gives the kind of a file. Without one of these
 * endings, the first line gives the kind, unless the whole file is one text: an object begins
 * JSONL, and a header of several columns, one of which the command reads, begins CSV. `score` also
 * reads a test suite, a .json file (stimuli.h).
 *
 * Columns that the command reads belong to the item and replace the option of the same name; all
 * other columns that have a name are copied to the output. A misspelt name of a column that the
 * command reads is refused.
 *
 * With --regions or --word-column, the texts are joined from cells: of several columns, or of one
 * column in neighbouring records with the same values of --by, which are one item. In columns that
 * group rows, a blank cell has the value of the cell above it (fills.h).
 *
 * Opening finds where each item begins; an item is parsed when it is read, in any order.
 *
 *     if (items_open(&items, options, 0, ITEMS_SOME, err)) ...
 *     for (size_t i = 0; i < items.count; i++)
 *         if (items_read(&items, &item, i, &arena, err)) ...
 *     items_release(&items);
 */
#pragma once

#include "base/file.h"
#include "base/names.h"
#include "fills.h"
#include "format/csv_read.h"
#include "lens/tokenized.h"
#include "options.h"
#include "survey.h"
#include "write/format.h"

enum item_field {
    ITEM_TEXT, /* the text; a column "sentence" is also read, since our JSON output has this name */
    ITEM_IDS,
    ITEM_SOURCE,
    /* the second text of a pair; every command that reads texts reads the fields up to this one */
    ITEM_PAIR,
    ITEM_ANSWER,
    ITEM_TARGET,
    ITEM_CONTINUE,
    ITEM_POSITION,
    ITEM_CLEAN, /* the clean text, which becomes the item's text */
    ITEM_CORRUPT,
    ITEM_CORRUPT_SOURCE,
    /* the good text, which becomes the item's text; columns may be called sentence_good and
     * sentence_bad */
    ITEM_GOOD,
    ITEM_BAD,
    ITEM_POSITIVE, /* the positive text of `steer`, which becomes the item's text */
    ITEM_NEGATIVE,
    /* head of an attention score that `attribute` splits; the next two fields are its --key and
     * --against */
    ITEM_HEAD,
    ITEM_KEY,
    ITEM_AGAINST,
    ITEM_LABEL, /* name of a class */
    ITEM_FIELDS
};

/* A bit in the fields of a command: blank lines before the last text are items, and are not
 * skipped; a record of CSV without a text is a blank item, and not an error. */
enum { ITEMS_KEEP_BLANK = 1 << ITEM_FIELDS };

struct item {
    size_t number; /* number of the item, from 0; blank lines and records are counted */
    struct input input;
    bool is_blank;                   /* the item has no text; only with ITEMS_KEEP_BLANK */
    const char *fields[ITEM_FIELDS]; /* values of columns that the command reads; NULL: no value */
    struct options options; /* items->options, in which the values of `fields` replace the options
                             * of the same names */
    /* [column_count + text_count] columns to copy; the last is the text */
    struct identity_column *columns;
    size_t column_count, text_count; /* text_count: 0, or 1 if the file is a table of texts */
    /* [region_count] regions of the text, as ranges of bytes, not tokens (stimuli.h) */
    const struct score_region *regions;
    /* [region_count] regions of the bad or corrupt text */
    const struct score_region *other_regions;
    size_t region_count;
    bool is_joined;   /* the text is joined from cells of the table, each of which is a region:
                       * columns of one row (--regions) or, with --by, rows */
    const char *text; /* the item's text as it was tokenized; NULL: not tokenized yet */
    /* number of bytes in `text` before the user's own text, such as the start of a chat template */
    size_t text_start;
};

struct items {
    const struct options *options;
    unsigned fields;    /* fields that the command reads: bits 1 << ITEM_… */
    bool takes_sources; /* an item may be a source without a text */
    bool reads_clean; /* the table contains only `clean` texts, which the command reads as `text` */
    enum items_kind { ITEMS_LINES, ITEMS_DOCUMENT, ITEMS_JSONL, ITEMS_CSV } kind;
    struct item_start {
        const char *at;
        size_t size; /* size in bytes of a text, line or object; not used for records of CSV */
        size_t line; /* number of the line in the file, from 1; 0: a whole file, or no file */
        size_t number;
        const struct fill *fills; /* values of columns that group rows; NULL: no such columns */
    } * starts;                   /* [count] where each item begins */
    size_t count;
    const char *path;      /* path of the file, "-" for standard input; NULL: no file */
    struct texts formulas; /* formulas of a suite's predictions (stimuli.h); empty: no formulas */
    /* for each line of a suite, the numbers of its regions, " 1 2"; empty: not a suite */
    struct texts numbers;
    struct csv_reader reader; /* reads the file, or the lines that replace a suite */
    /* [header_count] field of each column: an ITEM_…, ITEM_FIELDS + index in `names`, or
     * NO_FIELD */
    size_t *field_of_column;
    size_t header_count;
    unsigned found; /* fields found in the header or in an object of JSONL: bits 1 << ITEM_… */
    struct text_survey survey;
    struct texts parts; /* names of the columns whose cells are joined to the text: from --regions
                         * or --word-column */
    struct texts by;    /* columns of --by; empty: each record is a text */
    struct fills fills; /* columns that group rows */
    size_t records;     /* number of rows of a table, without blank rows */
    struct texts names; /* names of the columns to copy to the output, in order of appearance */
    const char *text_name; /* name of the column of texts: text or sentence; NULL: no such column */
    /* message of the last failure that was printed, without its file and line */
    const char *reason;
    struct file file; /* the file of texts; items may point into its bytes */
    struct arena arena;
};

/* The number of texts that a command reads. ITEMS_NONE: none, not even from standard input.
 * ITEMS_SOME: at least one. ITEMS_OR_SOURCE: at least one, or --source or a column `source`.
 * ITEMS_ANY: any number, but at least one if a file is given; standard input is read only for
 * `--file -`, as in any command with --source. ITEMS_ONE: one; a file of lines is one text.
 * ITEMS_PROMPT: as ITEMS_ONE, but --source or a column `source` is enough. ITEMS_WHOLE: at least
 * one; an operand may be any text, and a file of lines is one text, with its last newline. */
enum items_many {
    ITEMS_NONE,
    ITEMS_ANY,
    ITEMS_SOME,
    ITEMS_OR_SOURCE,
    ITEMS_ONE,
    ITEMS_PROMPT,
    ITEMS_WHOLE,
};

/* Find all items in --sentence, the operands, the file or the pipe, and --ids. `fields` are the
 * columns that only this command reads, bits 1 << ITEM_…. On failure `items` is empty. */
int items_open(struct items *items, const struct options *options, unsigned fields,
               enum items_many many, struct err *err);
void items_release(struct items *items);

/* True if some text has named regions: between marks, or from --regions. */
static inline bool items_have_regions(const struct items *items)
{
    return items->survey.marks || (items->parts.count && !items->by.count);
}

/* Parse an item; its texts point into the file, the options or the arena. Errors in a table name
 * the file and the line. The item's number is set even on failure. */
int items_read(const struct items *items, struct item *item, size_t index, struct arena *arena,
               struct err *err);

/* Make an input from a text or a pair of texts. `text` and `pair` may be NULL, for a missing
 * text. */
struct input input_of(const char *text, const char *pair);

/* The names of item->columns: the columns to copy, then the column of texts. */
struct names item_columns(const struct item *item);

/* The value of an item in the copied column `name`; NULL: no value. */
const char *item_column(const struct item *item, const char *name);

/* Find the column `name` that an option asks for. Refused: a wrong name, and texts that have no
 * columns. */
int column_choose(size_t *index, struct names columns, const char *option, const char *name,
                  size_t size, struct err *err);

/* Append to `origin` where an item comes from: 'story.txt' line 3, --ids, sentence 1 (from 0),
 * --file (document); nothing for a single sentence. items_blame puts this before an error message
 * and returns -1. */
void items_origin(struct buf *origin, const struct items *items, size_t index);
int items_blame(const struct items *items, size_t index, struct err *err);

/* Print why an item failed, unless the last printed failure had the same reason. */
void items_print_failure(struct items *items, size_t index, const char *message);

/* If some items failed while the command continued, fail with a summary. `how`: "failed" or "would
 * fail"; `first`: message of the first failure. */
int items_check_failed(size_t failed, size_t items, const char *how, const char *first,
                       struct err *err);
