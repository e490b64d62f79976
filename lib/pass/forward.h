/* forward.h: a batch of texts, and the whole pass over it, from ids to the watched values.
 *
 *     struct text text = {.ids = ids, .count = 6};
 *     struct batch batch;
 *     if (batch_init(&batch, &config, &text, 1, &arena, err)) ...
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};
 *     struct run run = {&machine, &config, &weights, &batch};
 *     if (forward(&run, &tap, &arena, err)) ...
 */
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
    const uint32_t *source_ids; /* with cross-attention, else NULL */
    size_t source_count;
    struct cache *cache;        /* tokens before the ids, not shared with other texts; or NULL */
    struct cache *source_cache; /* with a cache and an encoder: the source's; else NULL */
    size_t whole_count; /* tokens of the whole text, if it continues after the ids; some scalings
                            of rotary embeddings depend on it; 0: it ends with the ids */
    const unsigned char *segments;   /* [count]; NULL: all 0 */
    const float *rows, *source_rows; /* [count, width] in place of the ids' scaled rows of the table
                                      * of tokens; NULL: use the ids */
    size_t prompt_count; /* tokens that indices in edits refer to, and that values of other texts
                            replace; 0: all tokens, cached ones included */
    bool grows;          /* token -1 of edits is the last prompt token, then each later one */
};

struct batch_rows {
    size_t first, count;
    size_t past; /* tokens in a cache, before these rows */
};

struct batch {
    const struct text *texts; /* [count], borrowed */
    size_t count;
    size_t first;                     /* number of its first text, counted over all batches */
    const struct batch_rows *queries; /* [count] the rows of each text */
    const struct batch_rows *sources; /* [count] rows of each source; none if the source is in its
                                         cache, or without cross-attention */
    const struct batch_rows *keys;    /* [count] rows of keys: `queries` or `sources` */
    size_t tokens;                    /* rows of all texts */
    size_t source_tokens;             /* rows of all sources */
    size_t key_tokens;                /* rows of all keys: `tokens` or `source_tokens` */
    size_t longest_queries;
    size_t longest_keys; /* most keys of one text, with the keys in its cache */
    bool cached;         /* any text has a cache; of sources: any text that reads them has one */
};

/* The number of keys of a text, with those in its cache. */
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

/* Check the length of ids after `past` others; refuse an id beyond the vocabulary of a branch. */
int batch_check_ids(const struct config *config, enum site_branch branch, const uint32_t *ids,
                    size_t count, size_t past, struct err *err);

/* Check the texts and assign their rows. Refused: lengths as above (with cached tokens), an id or a
 * segment beyond its table, a source that is missing, or one that the model has no use for. */
int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err);

/* --- the pass --------------------------------------------------------------------------------- */

/* Start at a layer, with the residual stream of another pass; not where layers read more than the
 * stream: their own inputs, or keys of earlier layers. Lower layers do not run and store nothing in
 * caches, which must forget these tokens before a pass that starts at a lower layer. */
struct stream_start {
    size_t layer;
    const float *const *streams; /* [text] resid_pre of the layer, [T, C]; texts may share it */
};

/* Dropout in training. Numbers are drawn by the key, the place and the row: the pass and the walk
 * back draw the same. */
struct dropout {
    uint64_t key; /* rng.h */
    float rate;   /* 0: none */
};

enum dropout_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

/* The dropout of a place, with a key of its own; drop rows of it. */
struct dropout dropout_at(const struct dropout *all, enum site_branch branch, size_t layer,
                          enum dropout_place place);
void dropout_rows(struct machine *machine, const struct dropout *all, enum site_branch branch,
                  size_t layer, enum dropout_place place, struct matrix rows);

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    const struct edits *edits;        /* checked by edits_check; NULL: none */
    const struct stream_start *start; /* NULL: start with the embedding */
    struct dropout dropout;
};

/* Run the batch up to the last watched site and announce watched values; buffers are in `arena`.
 * Keys and values of every layer that runs are stored in the texts' caches; a source that is in its
 * cache is not read or announced. Returns -1 with the first error, which may be the sink's; the
 * caches are then unchanged. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

/* What a text (of a source: its ids and rows) enters a stack as: the scaled rows of the table of
 * tokens, or those that it has in their place. */
float embed_scale(const struct embed_rule *rule, const uint32_t *ids, size_t count, size_t token);
void embed_tokens(struct weights *weights, const struct stack *stack, const struct text *text,
                  struct matrix rows);

/* Logits [T, V] of rows [T, C] of the residual stream of any layer: the final norm, unless they are
 * `normed`, then the rest of the model, with the same bits as in a pass. The run needs no batch.
 * Logits may be NaN: the caller checks, and forward_logits_blame sets the error; returns -1. */
int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err);
int forward_logits_blame(const struct run *run, struct err *err);

/* The output [C] of an expert of a layer for x [C], what its MLP reads, before its weight; in the
 * arena. NULL with `err`. The run needs no batch. */
const float *forward_expert(const struct run *run, const float *x, size_t layer, size_t expert,
                            struct arena *arena, struct err *err);

/* The numbers that predict (SLOT_COPY_PREDICT: N · N) or correct (SLOT_COPY_CORRECT: N) the copies
 * of the stream, from x [C]: tanh(norm(x) / C · W) · V. NULL with `err`, or if x is NULL. */
const float *forward_mixing(const struct run *run, int id, size_t layer, const float *x,
                            struct arena *arena, struct err *err);

/* What gives y, a product of a copy, the mean square of `like`. */
double copy_factor(const float *y, const float *like, size_t channels);

/* Rows of the residual stream before a layer, x [N, C], and its context vectors, [N, H·dv]. If
 * `token` is set, all rows belong to it, and the run's edits are applied: x already has the edits
 * of resid_pre, context has none yet. */
struct attended_rows {
    size_t layer;
    struct matrix x, context;
    const struct edit_token *token; /* NULL: no edits */
};

/* Run the rest of the layer after its heads: x becomes its output, and must be as wide (if a model
 * is attention alone, this may not be C). Not for models with cross-attention. */
int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err);
