/* items.h: what a batch is made of: one item after another from a file of sentences, of JSON or of
 * CSV, which separates by comma, semicolon or tab.
 *
 *     a sentence a line           Life is short
 *     an object a line (jsonl)    {"id": "a", "sentence": "Life is short", "head": [0, 2]}
 *     a table with a header (csv) id,plausibility,sentence,head
 *
 * An item has a sentence or ids, any option of `run` by its long name over those of the command
 * line, and its conditions, the design of an experiment: columns of CSV and members of JSON that
 * are neither the text nor an option. They change nothing of what is computed, and stand in what is
 * written. Items are read when they are asked for: nothing is kept of those before.
 *
 *     if (items_open(&items, options, err)) ...
 *     while (items_next(&items, &item, &arena, &item_err))
 *         use(&item);
 *     items_release(&items);
 */
#ifndef ATTN_CMD_ITEMS_H
#define ATTN_CMD_ITEMS_H

#include "base/file.h"
#include "format/csv_read.h"
#include "format/json.h"
#include "lens/tokenized.h"
#include "../options.h"

/* --- conditions ------------------------------------------------------------------------------- */

enum {
    CONDITIONS_MAX = 256,             /* of a file */
    CONDITION_NAME_BYTES_MAX = 256,   /* of one name */
    CONDITIONS_BYTES_MAX = 64 * 1024, /* of an item's values: thousands of items are in memory */
};

struct condition {
    const char *name;
    const char *value; /* NULL: the item says nothing of it */
    bool literal;      /* a number, true or false of JSON, and written like that */
};

/* Of a file, in the order in which they appear first; they outlive its items. */
struct condition_names {
    const char *names[CONDITIONS_MAX];
    size_t count;
    int commands; /* whose options are no conditions: FOR_ITEM, and what the batch does */
    struct arena arena;
};

struct item_conditions {
    struct condition *items; /* [count] in the order of the names */
    size_t count;
    size_t next;  /* where the next one is looked for first: items are like one another */
    size_t bytes; /* of values */
    struct condition_names *names;
    struct arena *arena;
};

/* Add a name. Refused, with the way out: one that a column of results has, one that is an option of
 * the whole batch, one that is nearly an option's (`heads`), which would be overlooked. */
int condition_names_add(struct condition_names *names, const char *name, struct err *err);
void condition_names_release(struct condition_names *names);

/* Set the error that a text is missing, as `what` says, and ask whether one of the names is meant
 * for it: `Sentence`, `text`. Returns -1. */
int condition_names_blame(const struct condition_names *names, const char *what, struct err *err);

/* A place for each of the names, in memory of the arena. */
int item_conditions_begin(struct item_conditions *conditions, struct condition_names *names,
                          struct arena *arena, struct err *err);

/* --- ids -------------------------------------------------------------------------------------- */

/* Which ids there are, so that no two items have the same. What is kept of each is 64 bits of its
 * SHA-256 and its line: of ten million items it takes 512 MB, and one batch in a hundred thousand
 * of that size would be told of an id that is none. */
struct item_ids {
    struct item_id_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

/* Note whose id it is: the item's that begins at `*line`, or that of an earlier one, whose line is
 * put there. The same item may be noted again. */
int item_ids_note(struct item_ids *ids, const char *id, size_t *line, struct err *err);
void item_ids_release(struct item_ids *ids);

/* --- items ------------------------------------------------------------------------------------ */

struct item {
    const char *id; /* its own; else its number, in four digits or more */
    size_t line;    /* where it begins in the file, from 1 */
    bool broken;    /* what is wrong with it is in `err`: it can not be run */
    struct input input;
    struct options options;
    struct item_conditions conditions;
};

/* An item on its way from the file. */
struct item_draft {
    struct item *item;
    bool has_ids;
    bool literal; /* the field's value is a number, true or false of JSON */
    struct arena *arena;
    struct err *err;
};

/* Set a field as a command line has it; the value is borrowed. */
int item_draft_set(struct item_draft *draft, const char *name, const char *value);

/* All fields are set: 1 an item, -1 one that is broken. */
int item_draft_check(struct item_draft *draft);

/* All fields of an object, checked in the same way. */
int item_draft_set_members(struct item_draft *draft, const struct json *root);

/* False for names of conditions; true for that of its text, which for patch is `clean`, too. The
 * commands whose options an item has. */
bool item_has_field(int commands, const char *name);
bool item_is_text(int commands, const char *name);
int item_commands(const struct options *options);

struct items {
    const char *path; /* "-": standard input */
    struct file file; /* what items point into */
    const struct options *defaults;
    const struct items_kind *kind;
    struct csv_reader first;      /* where the first item begins, whatever the kind … */
    struct csv_reader last;       /* … and the one that was read last … */
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

/* Begin again with the first; or with the one that was read last. */
void items_rewind(struct items *items);
void items_again(struct items *items);

/* Read the next item; its texts are the file's or the arena's. False at the end. Of a broken one
 * only id and line are certain, and `err`, empty before, says in which line what is wrong. */
bool items_next(struct items *items, struct item *item, struct arena *arena, struct err *err);

#endif
