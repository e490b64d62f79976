/* stimuli.h: the regions of a sentence, and test suites as SyntaxGym has them.
 *
 *     text,regions
 *     The horse | raced | fell,noun|verb|end
 *
 * A region is a part of a text of a table between marks, `|`, which the model does not read. A
 * column `regions` names them, else they have numbers from 1.
 *
 * A suite is a JSON document: items with conditions, whose regions make a sentence, and predictions
 * such as `(3;%mismatch%) > (3;%match%)`: the surprisal of region 3 in two conditions.
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

struct suite {
    size_t conditions, regions; /* of each item */
    const char **names;         /* [conditions] */
    const char **formulas;      /* [formula_count] */
    size_t formula_count;
    const char *lines; /* items as JSONL, with the columns item, condition, text and regions */
    size_t size;
};

/* Read a document; `formula_count` 0: it is no suite. Refused: a suite whose items differ in their
 * conditions or the number of regions, or with another metric than the sum. */
int suite_read(struct suite *suite, const char *bytes, size_t size, struct arena *arena,
               struct err *err);

/* Whether a prediction holds, by the sums of regions, [conditions, regions]. */
int suite_predict(bool *holds, const struct suite *suite, size_t formula, const double *sums,
                  struct err *err);

#endif
