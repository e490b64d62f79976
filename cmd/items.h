/* items.h: the texts of a command: --sentence, operands, a file or a pipe, --ids.
 *
 *     Life is short                                    lines: one text per line
 *     {"text": "Life is short", "region": "NP"}        JSONL: one object per line
 *     text,region                                      CSV (or ; or tab): a header, then records
 *
 * The ending of the name (.txt, .jsonl, .csv, .tsv) gives the kind of a file, otherwise its first
 * line, unless the whole file is one text: an object, or a header of several columns, one of which
 * the command reads. Columns that the command reads belong to the item and replace the option of
 * the same name; all others that have a name are copied to the output. A misspelt name of a column
 * that the command reads is refused.
 *
 * With --regions or --word-column, the texts are joined from cells: of several columns, or of one
 * column in neighbouring records with the same values of --by, which are one item. In columns that
 * group rows, a blank cell has the value above (fills.h).
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
    ITEM_TEXT, /* also read from a column "sentence", its name in our JSON */
    ITEM_IDS,
    ITEM_SOURCE,
    ITEM_PAIR, /* the fields up to here belong to every command that reads texts */
    ITEM_ANSWER,
    ITEM_TARGET,
    ITEM_CONTINUE,
    ITEM_POSITION,
    ITEM_CLEAN, /* also the item's text */
    ITEM_CORRUPT,
    ITEM_CORRUPT_SOURCE,
    ITEM_GOOD, /* also the item's text; columns may be called sentence_good and sentence_bad */
    ITEM_BAD,
    ITEM_POSITIVE, /* also the item's text */
    ITEM_NEGATIVE,
    ITEM_HEAD, /* for an attention score to attribute, like the next two */
    ITEM_KEY,
    ITEM_AGAINST,
    ITEM_LABEL, /* name of a class */
    ITEM_FIELDS
};

/* Added to the fields of a command: blank lines before others, and records of CSV without a text,
 * are items. */
enum { ITEMS_KEEP_BLANK = 1 << ITEM_FIELDS };

struct item {
    size_t number; /* from 0; blank lines and records are counted */
    struct input input;
    bool is_blank;                   /* with ITEMS_KEEP_BLANK: no text */
    const char *fields[ITEM_FIELDS]; /* values of columns that the command reads; NULL: none */
    struct options options;          /* items->options, with `fields` in place */
    struct identity_column *columns; /* [column_count + text_count] to copy; the last is the text */
    size_t column_count, text_count; /* text_count: 0, or 1 if the file is a table of texts */
    const struct score_region *regions; /* [region_count] ranges of bytes, not tokens (stimuli.h) */
    const struct score_region *other_regions; /* [region_count] of the bad or corrupt text */
    size_t region_count;
    bool is_joined;    /* the regions are columns or rows, whose cells are the text */
    const char *text;  /* the text of its tokens; NULL: not tokenized */
    size_t text_start; /* bytes of `text` before the user's, such as a chat template's */
};

struct items {
    const struct options *options;
    unsigned fields;    /* 1 << ITEM_…: that the command reads */
    bool takes_sources; /* a source without a text is an item */
    bool reads_clean;   /* the table has `clean` texts alone, which the command reads as `text` */
    enum items_kind { ITEMS_LINES, ITEMS_DOCUMENT, ITEMS_JSONL, ITEMS_CSV } kind;
    struct item_start {
        const char *at;
        size_t size; /* bytes of a text, a line or an object; unused for records of CSV */
        size_t line; /* in the file, from 1; 0: a document, or not from a file */
        size_t number;
        const struct fill *fills; /* values of columns that group rows; NULL: none */
    } * starts;                   /* [count] */
    size_t count;
    const char *path;         /* path of the file, "-" for standard input; NULL: none */
    struct texts formulas;    /* predictions of a suite (stimuli.h); empty: none */
    struct texts numbers;     /* of a suite's regions, " 1 2", for each line; empty: not a suite */
    struct csv_reader reader; /* reads the file, or the lines that replace a suite */
    size_t *field_of_column; /* [header_count] field, ITEM_FIELDS + index in `names`, or NO_FIELD */
    size_t header_count;
    unsigned found; /* 1 << ITEM_…: in the header, or in an object of JSONL */
    struct text_survey survey;
    struct texts parts;    /* columns of --regions, or the one of --word-column */
    struct texts by;       /* columns of --by; empty: a record is a text */
    struct fills fills;    /* columns that group rows */
    size_t records;        /* rows of a table, without blank ones */
    struct texts names;    /* columns to copy, in order of appearance */
    const char *text_name; /* name of the column of texts: text or sentence; NULL: none */
    const char *reason;    /* reason of the last failure that was printed, without its place */
    struct file file;      /* items may point into it */
    struct arena arena;
};

/* The number of texts that a command reads. ITEMS_NONE: none, not even from standard input.
 * ITEMS_SOME: at least one. ITEMS_OR_SOURCE: at least one, or --source or a column `source`.
 * ITEMS_ANY: any number, but of a file at least one; of standard input for `--file -` alone, as
 * with --source. ITEMS_ONE: one; a file of lines is one text.
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

/* Find all items: sentences, operands, items of the file or the pipe, ids. `fields`, 1 << ITEM_…,
 * are the command's own columns. On failure `items` is empty. */
int items_open(struct items *items, const struct options *options, unsigned fields,
               enum items_many many, struct err *err);
void items_release(struct items *items);

/* True if some text has regions by name: of marks, or of --regions. */
static inline bool items_have_regions(const struct items *items)
{
    return items->survey.marks || (items->parts.count && !items->by.count);
}

/* Parse an item; its texts point into the file, the options or the arena. Errors in a table name
 * the file and the line. The item's number is set even on failure. */
int items_read(const struct items *items, struct item *item, size_t index, struct arena *arena,
               struct err *err);

/* The input of a text, or of two as a pair; `text` and `pair` may be NULL. */
struct input input_of(const char *text, const char *pair);

/* The names of the columns to copy, and of the column of texts. */
struct names item_columns(const struct item *item);

/* The value of a column to copy; NULL: none. */
const char *item_column(const struct item *item, const char *name);

/* Find the column `name` that an option asks for. Refused: a wrong name, texts without columns. */
int column_choose(size_t *index, struct names columns, const char *option, const char *name,
                  size_t size, struct err *err);

/* Append the origin of an item: 'story.txt' line 3, --ids, sentence 1 (from 0), --file (document);
 * nothing for a single sentence. items_blame puts the origin before an error and returns -1. */
void items_origin(struct buf *origin, const struct items *items, size_t index);
int items_blame(const struct items *items, size_t index, struct err *err);

/* Print why an item failed, unless the last one that was printed failed for the same reason. */
void items_print_failure(struct items *items, size_t index, const char *message);

/* Fail with a summary if items failed, though the command continued without them. */
int items_check_failed(size_t failed, size_t items, const char *how, const char *first,
                       struct err *err);
