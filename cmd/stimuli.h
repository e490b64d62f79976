/* stimuli.h: the regions of a sentence, and test suites of SyntaxGym.
 *
 *     text,regions
 *     The horse | raced | fell,noun|verb|end
 *
 * A region is the part of a text of a table between marks, `|`. No command gives marks to a model.
 * The column `regions` contains their names; without it, regions are numbered from 1. A bar of
 * a special token, <|endoftext|>, is no mark. A mark and the blanks around it become one blank; a
 * mark without blanks joins two regions, as in Chinese.
 *
 * A suite is a JSON document: items with conditions, whose regions make a sentence, and predictions
 * such as `(3;%mismatch%) > (3;%match%)`: the surprisal of region 3 in two conditions. */
#pragma once

#include "items.h"
#include "measure/score_report.h"

/* Divide the text of an item at its marks into regions. A text without marks is one region if the
 * column `regions` has a name for it. `numbers`: numbers of the regions, " 1 2"; NULL: they are
 * numbered from 1. Refused: fewer or more names than regions. */
int regions_read(struct item *item, const char *numbers, struct arena *arena, struct err *err);

/* Join the cells of regions [count], whose names are set, to the text of an item. The value of the
 * option --join separates the cells; without it, a blank separates them where normal spelling has
 * one. */
int regions_join(struct item *item, struct score_region *regions, const char *const *cells,
                 size_t count, struct arena *arena, struct err *err);

/* The regions of an item as ranges of the tokens that begin in each region. NULL: no regions, or
 * failed with `err`. */
const struct score_region *regions_find(const struct tokenized *text, const struct item *item,
                                        struct arena *arena, struct err *err);

/* If the file of the items is a suite, replace it by its sentences as JSONL, with the columns item,
 * condition, text and regions. A sentence has its regions in the order of the file; predictions
 * refer to their region_number, as in SyntaxGym. Refused: an item or region without a number; a
 * prediction with a metric other than the sum, or without a comparison. Predictions may be
 * missing. */
int suite_read(struct items *items, struct err *err);

/* Replace the totals of a suite's regions by its predictions: for each item, then over all
 * items. */
int suite_predict_all(struct score_totals *table, const struct texts *formulas, struct arena *arena,
                      struct err *err);
