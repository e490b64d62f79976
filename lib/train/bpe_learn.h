/* bpe_learn.h: learn a byte-level BPE vocabulary from texts, as for GPT-2: the most frequent pair
 * of adjacent tokens in pieces (bpe.h), the older one of equals, becomes a token, again and again.
 *
 *     struct bpe_learner learner = {0};
 *     if (bpe_learner_add(&learner, text, size, err)) ...      for each text, which must stay alive
 *     if (bpe_learner_run(&learner, 1500, err)) ...
 *     bpe_learner_vocab(&learner, &json);                      vocab.json
 *     bpe_learner_merges(&learner, &lines);                    merges.txt
 *     bpe_learner_release(&learner);
 */
#pragma once

#include "base/hash.h"
#include "base/progress_sink.h"

struct buf;

enum { BPE_LEARN_BYTES = 256, BPE_LEARN_MAX = 65536 };

struct bpe_learner {
    struct map numbers; /* of pieces */
    struct arena arena; /* of all that is not of the pairs */
    struct learn_piece *pieces;
    size_t piece_count;
    uint32_t *symbols; /* of all pieces, each from its first on */
    struct learn_pair *pairs;
    size_t pair_count, pair_slots;
    struct learn_token *tokens; /* [token_count] 256 bytes, then merged pairs */
    size_t token_count;
    uint32_t signs[BPE_LEARN_BYTES];      /* of bytes, by id */
    const struct progress_sink *progress; /* by tokens; or NULL */
};

/* Count the pieces of a text; refuses bytes that are not UTF-8, with the offset. */
int bpe_learner_add(struct bpe_learner *learner, const char *text, size_t size, struct err *err);

/* Learn up to `size` tokens, at least 256, or until no pair occurs twice. */
int bpe_learner_run(struct bpe_learner *learner, size_t size, struct err *err);

/* Append the files. Ids begin with all bytes, in the order of their characters, as in GPT-2. */
void bpe_learner_vocab(const struct bpe_learner *learner, struct buf *json);
void bpe_learner_merges(const struct bpe_learner *learner, struct buf *lines);

void bpe_learner_release(struct bpe_learner *learner);
