/* stimuli.h: the regions of a sentence.
 *
 *     text,regions
 *     The horse | raced | fell,noun|verb|end
 *
 * A region is a part of a text of a table between marks, `|`, which the model does not read. A
 * column `regions` names them, else they have numbers from 1.
 */
#ifndef ATTN_CMD_STIMULI_H
#define ATTN_CMD_STIMULI_H

#include "items.h"
#include "measure/score_report.h"

/* The regions of an item, at most; 0: it has none. */
size_t regions_count(const struct item *item);

/* Its text without marks, and the end of each region in it. Refused: other than one name each. */
struct regions {
    struct input input;
    struct region *items;
    size_t count;
};
int regions_find(struct regions *regions, const struct item *item, struct arena *arena,
                 struct err *err);

/* The region of each token, that of its word; NULL with `err`. */
const struct region **regions_of_tokens(const struct regions *regions,
                                        const struct tokenized *sentence, struct arena *arena,
                                        struct err *err);

#endif
