/* gold_relations.h: which head finds what a grammar says: the head of a word, or what depends on
 * it, by relation (Clark et al., 2019).
 *
 * A decoder sees what came before: of two words that are related the later one looks. `obj` counts
 * words that look for their head, `nsubj/head` heads that look for such a word. What a word gives
 * to another is the sum over the other's tokens of the mean over its own; it finds the one of all
 * words before it that gets most. A token belongs to the word that its first character, but for
 * blanks, is of; tokens of no word, such as <s>, count for none.
 *
 * Beside the best head's share stands what it finds where tokens are random, and what the best
 * fixed offset does: "the word before", "two before", …
 *
 *     struct gold gold = {.viewer = &viewer, .seed = 0};
 *     while (... conllu_read ...)
 *         if (gold_add(&gold, &sentence, err)) ...
 *     if (gold_report(&report, &gold, true, &arena, err)) ...
 *     gold_release(&gold);
 */
#ifndef ATTN_MEASURE_GOLD_RELATIONS_H
#define ATTN_MEASURE_GOLD_RELATIONS_H

#include "format/conllu.h"
#include "lens/viewer.h"

struct gold {
    struct viewer *viewer;
    uint64_t seed;
    struct gold_relation *relations; /* [count] in the order in which they came */
    size_t count;
    size_t sentences, left_out; /* left out: words without a token of their own */
    struct arena arena, of_sentence;
};

/* Run a sentence, and random tokens in its place. Refused, as not supported: models that look ahead
 * or at a second text. */
int gold_add(struct gold *gold, const struct conllu_sentence *sentence, struct err *err);

/* Sheets: `relations`, a row each, the most frequent first: pairs, layer and head of the best head,
 * its accuracy, the same of random tokens, the best offset and its accuracy; and `accuracy`, of
 * every head. The report lives as long as the arena and the viewer. */
int gold_report(struct report *report, const struct gold *gold, struct arena *arena,
                struct err *err);

void gold_release(struct gold *gold);

#endif
