/* items.h: the texts that a command reads: --sentence, operands, a file or a pipe, --ids.
 *
 *     Life is short                                    lines: one text per line
 *     {"text": "Life is short", "region": "NP"}        JSONL: one object per line
 *     text,region                                      CSV (or ; or tab): a header, then records
 *
 * The ending of the name says what a file is (.txt, .jsonl, .csv, .tsv), else its first line: an
 * object, or a header of several columns with a known one. Columns named like a text operand of the
 * command belong to the item and replace the option of that name; all others are
 * copied to the output. A misspelt name of a known column is refused.
 *
 * Opening finds where each item begins; an item is parsed when it is read, in any order.
 *
 *     if (items_open(&items, options, 0, ITEMS_SOME, err)) ...
 *     for (size_t i = 0; i < items.count; i++)
 *         if (items_read(&items, &item, i, &arena, err)) ...
 *     items_release(&items);
 */
#ifndef ATTN_CMD_ITEMS_H
#define ATTN_CMD_ITEMS_H

#include "base/file.h"
#include "format/csv_read.h"
#include "lens/tokenized.h"
#include "options.h"
#include "write/format.h"

enum item_field {
    ITEM_TEXT, /* also as a column "sentence", the name in our own results */
    ITEM_IDS,
    ITEM_SOURCE, /* every command that reads texts has the fields up to here */
    ITEM_PAIR,
    ITEM_ANSWER,
    ITEM_TARGET,
    ITEM_CONTINUE,
    ITEM_POSITION,
    ITEM_CLEAN, /* the item's text, too */
    ITEM_CORRUPT,
    ITEM_GOOD, /* likewise; of a minimal pair, whose columns may be sentence_good and _bad, too */
    ITEM_BAD,
    ITEM_FIELDS
};

/* With the fields of a command: blank lines, and records without a text, are items, too. */
enum { ITEMS_KEEP_BLANK = 1 << ITEM_FIELDS };

struct item {
    size_t number; /* from 0; in a file of lines or JSONL blank lines are counted, too */
    struct input input;
    bool is_blank;                   /* with ITEMS_KEEP_BLANK: there is nothing to read */
    const char *fields[ITEM_FIELDS]; /* columns that replace an option; NULL: none */
    struct options options;          /* of the command line, with these in them */
    struct place_column *columns;    /* [column_count] to copy to the output */
    size_t column_count;
    const struct score_region *regions; /* [region_count] of bytes, not tokens (stimuli.h) */
    size_t region_count;
};

struct items {
    const struct options *options;
    unsigned fields; /* 1 << ITEM_…: of the command */
    enum items_kind { ITEMS_LINES, ITEMS_DOCUMENT, ITEMS_JSONL, ITEMS_CSV } kind;
    struct item_start {
        const char *at;
        size_t size; /* of a text, a line or an object; unused for records of CSV */
        size_t line; /* in the file, from 1; 0: not from the file */
        size_t number;
    } * starts; /* [count] */
    size_t count;
    const char *path;         /* of the file, "-" for standard input; NULL: there is none */
    struct texts formulas;    /* of the predictions of a suite (stimuli.h); empty: it is none */
    struct csv_reader reader; /* of the file, or of the lines that replace a suite */
    size_t *places; /* [place_count] CSV: an item_field, or ITEM_FIELDS + its name's index */
    size_t place_count;
    unsigned found;     /* 1 << ITEM_…: that the header, or an object of JSONL, has */
    size_t marks;       /* `|` in the texts of a table, each of which ends a region */
    const char **names; /* [name_count] of columns to copy, in order of appearance */
    size_t name_count;
    struct file file; /* what the items point into */
    struct arena arena;
};

/* The texts that a command takes. ITEMS_NONE: none, and standard input is not read. ITEMS_ONE: at
 * most one, and a file of lines is one text. ITEMS_PROMPT: the same, but --source is enough.
 * ITEMS_WHOLE: several; any operand may be one; a file of lines is one text, to its last byte. */
enum items_many { ITEMS_NONE, ITEMS_ANY, ITEMS_SOME, ITEMS_ONE, ITEMS_PROMPT, ITEMS_WHOLE };

/* Find all items: sentences, operands, those of the file or the pipe, ids. `fields`, 1 << ITEM_…,
 * are columns that the command takes besides those of all commands. On failure nothing is held. */
int items_open(struct items *items, const struct options *options, unsigned fields,
               enum items_many many, struct err *err);
void items_release(struct items *items);

/* Parse an item; its texts point into the file or the arena. Errors name the file and the line; the
 * number is known even then. */
int items_read(const struct items *items, struct item *item, size_t index, struct arena *arena,
               struct err *err);

/* The value of a column that is copied to the output; NULL: none. */
const char *item_column(const struct item *item, const char *name);

/* Append where an item comes from: 'story.txt' line 3, --ids, sentence 1; nothing for a single
 * sentence. items_blame puts that before an error and returns -1. */
void items_place(struct buf *place, const struct items *items, size_t index);
int items_blame(const struct items *items, size_t index, struct err *err);

/* A whole file or, for "-", standard input; and its name in messages. */
int input_file_open(struct file *file, const char *path, struct err *err);
const char *shown_path(const char *path);

#endif
