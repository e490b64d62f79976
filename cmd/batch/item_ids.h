/* item_ids.h: which ids the items of a batch have, so that no two have the same.
 *
 * What is kept of each is 64 bits of its SHA-256 and its line: of ten million items it takes 512
 * MB, and one batch in a hundred thousand of that size would be told of an id that is none.
 *
 *     size_t line = number_of_this_line;
 *     if (item_ids_note(&ids, "a", &line, err)) ...
 *     if (line != number_of_this_line)
 *         ... line `line` has the id already ...
 */
#ifndef ATTN_CMD_ITEM_IDS_H
#define ATTN_CMD_ITEM_IDS_H

#include <stddef.h>

#include "base/err.h"

struct item_ids {
    struct item_id_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

/* Note whose id it is: the item's that begins at `*line`, or that of an earlier one, whose line is
 * put there. The same item may be noted again. */
int item_ids_note(struct item_ids *ids, const char *id, size_t *line, struct err *err);
void item_ids_release(struct item_ids *ids);

#endif
