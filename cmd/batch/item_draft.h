/* item_draft.h: one item of a batch on its way from the file: fields that become texts,
 * options and conditions.
 *
 *     struct item_draft draft = {.item = &item, .arena = &arena, .err = err};
 *     if (item_draft_set(&draft, "head", "0-2")) ...
 *     return item_draft_check(&draft);
 */
#ifndef ATTN_CMD_ITEM_DRAFT_H
#define ATTN_CMD_ITEM_DRAFT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "format/json.h"
#include "items.h"

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

/* False for names of conditions. */
bool item_has_field(const char *name);

#endif
