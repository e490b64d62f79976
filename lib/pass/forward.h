/* forward.h: a batch of texts, and the whole pass over the batch, from ids to the watched values.
 *
 *     struct text text = {.ids = ids, .count = 6};
 *     struct batch batch;
 *     if (batch_init(&batch, &config, &text, 1, &arena, err)) ...
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};
 *     struct run run = {&machine, &config, &weights, &batch};
 *     if (forward(&run, &tap, &arena, err)) ...
 * */
#pragma once

#include "math/machine.h"
#include "pass/edit.h"
#include "model/site.h"
#include "model/weights.h"
#include "pass/tap.h"

struct cache;
struct embed_rule;
struct stack;

/* --- the batch --------------------------------------------------------------------------------
 *
 * The texts of one pass, joined without padding. A text owns the rows first … first + count - 1 of
 * every token matrix. In cross-attention its queries attend to its source, whose rows are in other
 * matrices; in self-attention the rows of its keys are the rows of its queries. Tokens in a cache
 * have no rows, but queries attend to them. */

struct text {
    const uint32_t *ids;
    size_t count;
    const uint32_t *source_ids; /* ids of the source in a model with cross-attention; else NULL */
    size_t source_count;
    /* The tokens before `ids`. No other text may have the same cache. NULL: there are none. */
    struct cache *cache;
    /* The cache of the source, if the model has an encoder and `cache` is there; else NULL. */
    struct cache *source_cache;
    size_t whole_count; /* number of tokens in the whole text if more follow after `ids`, as some
                         * scalings of rotary embeddings depend on it; 0: the text ends with
                         * `ids` */
    const unsigned char *segments;   /* [count]: the segment of each token; NULL: all are 0 */
    const float *rows, *source_rows; /* [count, width]: used in place of the scaled rows of the
                                      * table of tokens; NULL: the rows of the ids are used */
    size_t prompt_count; /* number of tokens that indices in edits refer to, and that a donor's
                          * values replace; 0: all tokens, with the cached ones */
    bool grows;          /* in edits, token -1 is the last token of the prompt, and then each later
                          * token */
};

struct batch_rows {
    size_t first, count;
    size_t past; /* number of cached tokens before these rows */
};

struct batch {
    const struct text *texts; /* [count], borrowed */
    size_t count;
    size_t first;                     /* number of the first text, which counts the texts of all
                                       * batches */
    const struct batch_rows *queries; /* [count]: the rows of each text */
    const struct batch_rows *sources; /* [count]: the rows of each source; none if the source is in
                                       * its cache, or without cross-attention */
    const struct batch_rows *keys;    /* [count]: the rows of each text's keys: `queries` or
                                       * `sources` */
    size_t tokens;                    /* number of rows of all texts */
    size_t source_tokens;             /* number of rows of all sources */
    size_t key_tokens;                /* number of rows of all keys: `tokens` or `source_tokens` */
    size_t longest_queries;
    size_t longest_keys; /* the most keys of any text, with keys in its cache */
    bool cached;         /* some text has a cache; in a batch of sources: some text that reads them
                          * has one */
};

/* The number of keys of a text, with the keys in its cache. */
static inline size_t batch_keys(const struct batch *batch, size_t text)
{
    return batch->keys[text].past + batch->keys[text].count;
}

/* The number of tokens that indices in edits refer to. */
static inline size_t batch_prompt(const struct batch *batch, size_t text)
{
    size_t count = batch->texts[text].prompt_count;
    return count ? count : batch->queries[text].past + batch->queries[text].count;
}

/* Refuse a text without tokens, or with more than the model has positions. */
int batch_check_length(const struct config *config, size_t count, struct err *err);

/* Refuse too many ids after `past` other tokens, and an id beyond the vocabulary of a branch. */
int batch_check_ids(const struct config *config, enum site_branch branch, const uint32_t *ids,
                    size_t count, size_t past, struct err *err);

/* Check the texts and assign their rows. Refused are texts without tokens or with too many,
 * counting cached ones; an id or a segment beyond its table; a missing source; and a source that
 * the model does not use. */
int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err);

/* --- the pass --------------------------------------------------------------------------------- */

/* A start at a layer, with the residual stream of another pass. It is not for models where layers
 * read more than the stream: inputs of their own, or keys of earlier layers. Lower layers do not
 * run and store nothing in caches: before a pass that starts at a lower layer, caches must forget
 * these tokens. */
struct stream_start {
    size_t layer;
    const float *const *streams; /* [text]: the stream resid_pre of the layer, [T, C]; several texts
                                  * may have the same one */
};

/* Dropout in training. Random numbers depend on the key, the place and the row, so the walk back
 * drops the same elements as the pass. */
struct dropout {
    uint64_t key; /* key of the random numbers (rng.h) */
    float rate;   /* share of elements that are dropped; 0: no dropout */
};

enum dropout_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

/* dropout_at: the dropout of one place, with a key of its own. The next function drops elements of
 * some rows with it. */
struct dropout dropout_at(const struct dropout *all, enum site_branch branch, size_t layer,
                          enum dropout_place place);
void dropout_rows(struct machine *machine, const struct dropout *all, enum site_branch branch,
                  size_t layer, enum dropout_place place, struct matrix rows);

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    const struct edits *edits;        /* edits that edits_check has accepted; NULL: none */
    const struct stream_start *start; /* NULL: the pass starts with the embedding */
    struct dropout dropout;
};

/* Run the batch up to the last watched site, and announce watched values. Buffers are in `arena`.
 * Keys and values of all layers that run are stored in the texts' caches. A source that is in its
 * cache is neither read nor announced. Returns -1 with the first error, which may be the sink's;
 * caches are then as before. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

/* embed_tokens: the rows with which a text, or its source, enters a stack: scaled rows of the table
 * of tokens, or the text's own rows in their place. embed_scale: the factor of a token's row. */
float embed_scale(const struct embed_rule *rule, const uint32_t *ids, size_t count, size_t token);
void embed_tokens(struct weights *weights, const struct stack *stack, const struct text *text,
                  struct matrix rows);

/* Compute logits [T, V] from rows [T, C] of the residual stream of any layer: by the final norm,
 * unless the rows are already `normed`, and the rest of the model, with the same bits as in a pass.
 * The run needs no batch. Logits may be NaN: the caller must check them; forward_logits_blame sets
 * the error and returns -1. */
int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err);
int forward_logits_blame(const struct run *run, struct err *err);

/* The output [C] of one expert of a layer for x [C], an input of the layer's MLP, before the output
 * is weighted. It is in the arena. NULL with `err`. The run needs no batch. */
const float *forward_expert(const struct run *run, const float *x, size_t layer, size_t expert,
                            struct arena *arena, struct err *err);

/* The numbers by which copies of the stream are predicted (SLOT_COPY_PREDICT: N · N numbers) or
 * corrected (SLOT_COPY_CORRECT: N), from x [C]: tanh(norm(x) / C · W) · V. NULL with `err`, or if x
 * is NULL. */
const float *forward_mixing(const struct run *run, int id, size_t layer, const float *x,
                            struct arena *arena, struct err *err);

/* The factor that gives y, a product of a copy, the mean square of `like`. */
double copy_factor(const float *y, const float *like, size_t channels);

/* Rows x [N, C] of the residual stream before a layer, and their context vectors [N, H·dv]. If
 * `token` is set, all rows are of this token, and the run's edits are applied: x must already have
 * the edits of resid_pre, the context none. */
struct attended_rows {
    size_t layer;
    struct matrix x, context;
    const struct edit_token *token; /* NULL: no edits are applied */
};

/* Run the rest of the layer, after its heads: x becomes the layer's output, which must be as wide
 * as x (not always so in a model of attention alone). Not for models with cross-attention. */
int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err);
