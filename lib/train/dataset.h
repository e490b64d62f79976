/* dataset.h: what a model is trained on: the tokens of texts, and the batches drawn from them.
 *
 * A batch's texts begin where lines of the data begin and go on as far as they are wanted, into the
 * next lines. Which ones a step gets depends on the seed and the step alone.
 *
 *     struct dataset dataset = {0};
 *     if (dataset_add(&dataset, tokenizer, bytes, size, err)) ...           for every file
 *     if (dataset_finish(&dataset, 64, 0.05, err)) ...                      64 tokens; held out: 5
 * % dataset_draw(&dataset, &set, key, ids, targets, 32); dataset_release(&dataset);
 */
#ifndef ATTN_TRAIN_DATASET_H
#define ATTN_TRAIN_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/tokenizer.h"

/* Lines that a batch may begin with. */
struct dataset_part {
    const uint32_t *items; /* places in the tokens */
    size_t count;
};

struct dataset {
    uint32_t *ids;
    size_t count, room;
    uint32_t *starts; /* of lines */
    size_t start_count, start_room;
    size_t tokens;                        /* of a text in a batch */
    struct dataset_part learnt, held_out; /* after dataset_finish */
    uint64_t digest;                      /* of all tokens */
};

struct drills {
    size_t texts, tokens; /* of the batch */
    size_t limit;
    double share;
};

/* Add the tokens of a text. Errors are the tokenizer's. */
int dataset_add(struct dataset *dataset, const struct tokenizer *tokenizer, const char *bytes,
                size_t size, struct err *err);

/* Decide on the length of texts and how many lines, the last ones, are held out. Refused: too few
 * tokens for one text of each. */
int dataset_finish(struct dataset *dataset, size_t tokens, double held_out, struct err *err);
void dataset_release(struct dataset *dataset);

/* Fill ids and targets [count, tokens]: the token after each is its target. */
void dataset_draw(const struct dataset *dataset, const struct dataset_part *starts, uint64_t key,
                  uint32_t *ids, uint32_t *targets, size_t count);

/* Put drills in the place of some texts: random ids below `limit` that come again and again, so
 * that what came before is all there is to go by. `share` of them, drawn by the key. */
void dataset_drill(uint32_t *ids, uint32_t *targets, const struct drills *drills, uint64_t key);

#endif
