/* items.h: what a batch is made of: one item after another from a file of sentences, of JSON or of
 * CSV, which separates by comma, semicolon or tab.
 *
 *     a sentence a line           Life is short
 *     an object a line (jsonl)    {"id": "a", "sentence": "Life is short", "head": [0, 2]}
 *     a table with a header (csv) id,sentence,head
 *
 * An item has a sentence or ids, any option of `run` by its long name over those of the command
 * line, and its conditions: what else it says (item_conditions.h). Items are read when they are
 * asked for: nothing is kept of those before.
 *
 *     struct items items = {0};
 *     if (items_open(&items, options, err)) ...
 *     struct item item;
 *     while (items_next(&items, &item, &arena, &item_err))
 *         use(&item);
 *     items_release(&items);
 */
#ifndef ATTN_CMD_ITEMS_H
#define ATTN_CMD_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "format/csv_read.h"
#include "item_conditions.h"
#include "item_ids.h"
#include "lens/tokenized.h"
#include "../options.h"

struct item {
    const char *id; /* its own; else its number, in four digits or more */
    size_t line;    /* where it begins in the file, from 1 */
    bool broken;    /* what is wrong with it is in `err`: it can not be run */
    struct input input;
    struct options options;
    struct item_conditions conditions;
};

struct items {
    const char *path; /* "-": standard input */
    struct file file; /* what items point into */
    const struct options *defaults;
    const struct items_kind *kind;
    struct csv_reader first;      /* where the first item begins, whatever the kind */
    struct csv_reader reader;     /* … and the next */
    struct csv_record header;     /* csv: the names of the columns */
    struct condition_names names; /* of conditions: all, once all items were read */
    size_t next;                  /* the number of the next item */
    struct item_ids ids;          /* of items that can say their own */
    const char *forgotten;        /* the memory of what is before it was given back */
    struct arena arena;           /* the header's */
};

/* Open the file that is the command's only operand. --input says its kind, else the name's ending,
 * else its first character: { begins an object. Refused: a file without items, a column of CSV that
 * no item can have, or none of texts. On failure nothing is held. */
int items_open(struct items *items, const struct options *options, struct err *err);

/* The same with what is in the file; `path` tells its kind, and messages. The file is released with
 * the items, or on failure. */
int items_begin(struct items *items, const char *path, struct file file,
                const struct options *options, struct err *err);
void items_release(struct items *items);

/* Refuse what was written to while it was read. */
int items_check_unchanged(const struct items *items, struct err *err);

/* Begin again with the first; or with the one that stood next when the mark was taken. */
void items_rewind(struct items *items);

struct items_mark {
    struct csv_reader reader;
    size_t next;
};

struct items_mark items_mark(const struct items *items);
void items_return(struct items *items, const struct items_mark *mark);

/* Read the next item; its texts are the file's or the arena's. False at the end. Of a broken one
 * only id and line are certain, and `err`, which is to be empty, says in which line what is wrong.
 */
bool items_next(struct items *items, struct item *item, struct arena *arena, struct err *err);

#endif
