/* grammar_draw.h: an alternative of a rule by its weight, among those that fit, in logarithmic
 * time: a rule may have a hundred thousand, and a text may ask it as often.
 *
 *     if (grammar_draw_prepare(rule, &grammar->arena, err)) ...            (once, when it is read)
 *     struct grammar_draw_among among = {.any = true};
 *     const struct grammar_choice *choice = grammar_draw(rule, &among, key, &drawn);
 */
#ifndef ATTN_TRAIN_GRAMMAR_DRAW_H
#define ATTN_TRAIN_GRAMMAR_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "train/grammar.h"

/* All alternatives; or those of a tag; or all but those of the tag. */
struct grammar_draw_among {
    bool any;
    bool other;
    size_t tag;
};

/* Sum up the weights of a rule whose alternatives are read. */
int grammar_draw_prepare(struct grammar_rule *rule, struct arena *arena, struct err *err);

/* The alternative that number `*drawn` of the key falls on, which counts up; NULL, and nothing is
 * drawn, where none fits. */
const struct grammar_choice *grammar_draw(const struct grammar_rule *rule,
                                          const struct grammar_draw_among *among, uint64_t key,
                                          uint64_t *drawn);

#endif
