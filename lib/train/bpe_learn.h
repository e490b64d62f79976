/* bpe_learn.h: a byte-level BPE vocabulary learnt from texts, as GPT-2's was: the most frequent
 * pair of neighbours in pieces (bpe.h), of equals the older, becomes a token, again and again.
 *
 *     struct bpe_learner learner = {0};
 *     if (bpe_learner_add(&learner, text, size, err)) ...      for every text; they must stay alive
 *     if (bpe_learner_run(&learner, 1500, err)) ...
 *     bpe_learner_vocab(&learner, &json);                      vocab.json
 *     bpe_learner_merges(&learner, &lines);                    merges.txt
 *     bpe_learner_release(&learner);
 */
#ifndef ATTN_TRAIN_BPE_LEARN_H
#define ATTN_TRAIN_BPE_LEARN_H

#include "base/hash.h"
#include "base/progress_sink.h"

struct buf;

enum { BPE_LEARN_BYTES = 256, BPE_LEARN_MAX = 65536 };

struct bpe_learner {
    struct map numbers; /* of pieces */
    struct learn_piece *pieces;
    size_t piece_count, piece_room;
    uint32_t *symbols; /* of all pieces, each from its first on */
    struct learn_pair *pairs;
    size_t pair_count, pair_slots;
    struct learn_token *tokens; /* [token_count] 256 bytes, then what was merged */
    size_t token_count;
    uint32_t signs[BPE_LEARN_BYTES];      /* of bytes, by id */
    const struct progress_sink *progress; /* of the tokens; NULL: not told */
};

/* Count the pieces of a text. Refused: bytes that are not UTF-8, with the offset. */
int bpe_learner_add(struct bpe_learner *learner, const char *text, size_t size, struct err *err);

/* Learn up to `size` tokens, at least 256; or until no two neighbours occur twice. */
int bpe_learner_run(struct bpe_learner *learner, size_t size, struct err *err);

/* Append files. Ids are GPT-2's: bytes in the order of the signs they are written with. */
void bpe_learner_vocab(const struct bpe_learner *learner, struct buf *json);
void bpe_learner_merges(const struct bpe_learner *learner, struct buf *lines);

void bpe_learner_release(struct bpe_learner *learner);

#endif
