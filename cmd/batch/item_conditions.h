/* item_conditions.h: what a table says of its items beside what is to be run: the design of an
 * experiment.
 *
 *     id,condition,plausibility,sentence
 *     a1,object-relative,4.5,The reporter that the senator attacked resigned
 *
 * Columns of CSV and members of JSON that are neither the text nor an option are conditions. They
 * change nothing of what is computed, and stand in what is written. A file has so many names, in
 * the order in which they appear first; an item has a place for each, filled where it says it.
 *
 *     struct condition_names names = {0};            one for a file, which outlives its items
 *     struct item_conditions conditions;
 *     if (item_conditions_begin(&conditions, &names, &arena, err)) ...
 *     if (item_conditions_set(&conditions, &(struct condition){"plausibility", "4.5"}, err)) ...
 *     condition_names_release(&names);
 */
#ifndef ATTN_CMD_ITEM_CONDITIONS_H
#define ATTN_CMD_ITEM_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

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

struct condition_names {
    const char *names[CONDITIONS_MAX];
    size_t count;
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

/* Fill the place of that name, which is added where it is new; the value is borrowed. */
int item_conditions_set(struct item_conditions *conditions, const struct condition *condition,
                        struct err *err);

#endif
