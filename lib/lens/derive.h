/* derive.h: what can be made of kept tensors before they are shown: means, words, the rest without
 * the first token. It works on reports, so that every format has it.
 *
 *     struct derivation how = {.hide_first = true};
 *     if (derive_read_mean(&how, "heads", err) ||
 *         derive_check(&how, &selection, tokenizer, err)) ...
 *     ... the pass ...
 *     if (derive(&report, &how, tokenizer, &arena, err)) ...
 */
#ifndef ATTN_LENS_DERIVE_H
#define ATTN_LENS_DERIVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "text/tokenizer.h"

struct derivation {
    bool mean_of_heads;
    bool mean_of_layers;
    bool words;
    bool hide_first;
};

/* Read "heads", "layers" or "heads,layers". */
int derive_read_mean(struct derivation *how, const char *list, struct err *err);

/* Refuse, before anything is computed, what cannot be derived of the selection. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* Change the report; what is new is the arena's. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);

#endif
