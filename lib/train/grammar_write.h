/* grammar_write.h: texts drawn from a grammar.
 *
 *     uint64_t key = rng_fold_in(seed, number);                  (of text 0, 1, 2, …)
 *     if (grammar_write(&grammar, &text, 0, key, err)) ...
 */
#ifndef ATTN_TRAIN_GRAMMAR_WRITE_H
#define ATTN_TRAIN_GRAMMAR_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "train/grammar.h"

/* Append a text of a rule (0: the first): the same for a key, on every machine. Refused: a tag that
 * no alternative has, a name that stands for nothing yet, rules without an end, a text too long or
 * of too many parts. */
int grammar_write(const struct grammar *grammar, struct buf *out, size_t rule, uint64_t key,
                  struct err *err);

#endif
