/* forward.h: a batch of texts, and the complete pass over the batch, from ids to watched values.
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
 * every matrix of tokens. In self-attention, the keys of a text are in the same rows as its
 * queries; in cross-attention, its queries attend to its source, whose rows are in other matrices.
 * Tokens in a cache have no rows, but queries attend to them. */

struct text {
    const uint32_t *ids;
    size_t count;
    const uint32_t *source_ids; /* ids of the source in a model with cross-attention; otherwise
                                 * NULL */
    size_t source_count;
    /* The cache of the tokens that come before `ids`; NULL: no tokens come before. Two texts must
     * not have the same cache. */
    struct cache *cache;
    /* The cache of the source, if the model has an encoder and `cache` is not NULL; otherwise
     * NULL. */
    struct cache *source_cache;
    size_t whole_count; /* number of tokens in the complete text, if more tokens follow after `ids`:
                         * some scalings of rotary embeddings depend on it; 0: the text ends with
                         * `ids` */
    const unsigned char *segments;   /* [count]: the segment of each token; NULL: all are 0 */
    const float *rows, *source_rows; /* [count, width] and [source_count, width]: used in place of
                                      * the scaled token embeddings; NULL: the embeddings of the ids
                                      * are used */
    size_t prompt_count; /* number of tokens, from the start of the text, that indices in edits
                          * refer to and that a donor's values replace; 0: all tokens, including
                          * cached tokens */
    bool grows;          /* an edit of token -1 changes the last token of the prompt, and then each
                          * later token */
};

struct batch_rows {
    size_t first, count;
    size_t past; /* number of cached tokens before these rows */
};

struct batch {
    const struct text *texts; /* [count] the texts, owned by the caller */
    size_t count;
    size_t first;                     /* number of the first text of this batch, counted over all
                                       * batches */
    const struct batch_rows *queries; /* [count]: the rows of each text */
    const struct batch_rows *sources; /* [count]: the rows of each source; 0 rows if the source is
                                       * in its cache, or if the model has no cross-attention */
    const struct batch_rows *keys;    /* [count]: the rows of each text's keys: `queries` or
                                       * `sources` */
    size_t tokens;                    /* number of rows of all texts */
    size_t source_tokens;             /* number of rows of all sources */
    size_t key_tokens;                /* number of rows of all keys: `tokens` or `source_tokens` */
    size_t longest_queries;
    size_t longest_keys; /* maximum number of keys of a text, including the keys in its cache */
    bool cached;         /* at least one text has a cache; in a batch of sources: at least one text
                          * that reads them has a cache */
};

/* Return the number of keys of a text, including the keys in its cache. */
static inline size_t batch_keys(const struct batch *batch, size_t text)
{
    return batch->keys[text].past + batch->keys[text].count;
}

/* Return the number of tokens of a text that indices in edits refer to. */
static inline size_t batch_prompt(const struct batch *batch, size_t text)
{
    size_t count = batch->texts[text].prompt_count;
    return count ? count : batch->queries[text].past + batch->queries[text].count;
}

/* Set an error if a text has no tokens, or more tokens than the model has positions. */
int batch_check_length(const struct config *config, size_t count, struct err *err);

/* Set an error if `count` is 0, if `past` + `count` tokens are more than the model has positions,
 * or if an id is not in the vocabulary of the branch (text or source). */
int batch_check_ids(const struct config *config, enum site_branch branch, const uint32_t *ids,
                    size_t count, size_t past, struct err *err);

/* Check the texts and assign their rows. It is an error if a text has no tokens or, with its cached
 * tokens, too many; if an id or a segment is beyond its table; if a source is missing; or if the
 * model uses no source and a text has one. */
int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err);

/* --- the pass --------------------------------------------------------------------------------- */

/* The start of a pass at a layer, with the residual stream of another pass. It is not for models
 * where layers read more than the stream, such as an extra input or keys of earlier layers. Lower
 * layers do not run and store nothing in caches: before a pass that starts at a lower layer, caches
 * must forget these tokens. */
struct stream_start {
    size_t layer;
    const float *const *streams; /* [text] the stream resid_pre [T, C] of the layer; several texts
                                  * may share one stream */
};

/* Dropout during training. Random numbers depend on the key, the place in the model (enum
 * dropout_place) and the row: the backward pass drops the same elements as the forward pass. */
struct dropout {
    uint64_t key; /* key of the random numbers (rng.h) */
    float rate;   /* share of elements that are dropped; 0: no dropout */
};

enum dropout_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

/* dropout_at: return `all` with the key of one place in the model. dropout_rows: drop elements of
 * rows at one place. */
struct dropout dropout_at(const struct dropout *all, enum site_branch branch, size_t layer,
                          enum dropout_place place);
void dropout_rows(struct machine *machine, const struct dropout *all, enum site_branch branch,
                  size_t layer, enum dropout_place place, struct matrix rows);

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    const struct edits *edits;        /* edits that edits_check has accepted; NULL: there are
                                       * none */
    const struct stream_start *start; /* NULL: the pass starts with the embedding */
    struct dropout dropout;
};

/* Run the batch up to the last watched site, and pass watched values to the tap. Buffers are in
 * `arena`. Keys and values of all layers that run are stored in the texts' caches. A source that is
 * in its cache is not read, and its values do not go to the tap. Returns -1 with the first error,
 * which may be the sink's; the caches then have the same tokens as before. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

/* embed_tokens: set `rows` to the scaled token embeddings of a text or of a source or, if it has
 * its own rows (text->rows), to a copy of these. embed_scale: return the factor by which a token's
 * embedding is multiplied. */
float embed_scale(const struct embed_rule *rule, const uint32_t *ids, size_t count, size_t token);
void embed_tokens(struct weights *weights, const struct stack *stack, const struct text *text,
                  struct matrix rows);

/* Compute logits [T, V] from rows [T, C] of the residual stream of any layer: apply the final norm,
 * unless the rows are already `normed`, and all later steps of the model, with the same bits as in
 * a pass. The run needs no batch. Logits may be NaN: the caller must check them.
 * forward_logits_blame then sets the error and returns -1. */
int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err);
int forward_logits_blame(const struct run *run, struct err *err);

/* Return the output [C] of one expert of a layer for x [C], an input of the layer's MLP, before it
 * is multiplied by the expert's weight. The output is in `arena`; NULL: `err` is set. The run needs
 * no batch. */
const float *forward_expert(const struct run *run, const float *x, size_t layer, size_t expert,
                            struct arena *arena, struct err *err);

/* Return the numbers by which copies of the stream are predicted (SLOT_COPY_PREDICT: N · N numbers)
 * or corrected (SLOT_COPY_CORRECT: N numbers), from x [C]: tanh(norm(x) / C · W) · V. Returns NULL
 * if there is an error, or if x is NULL. */
const float *forward_mixing(const struct run *run, int id, size_t layer, const float *x,
                            struct arena *arena, struct err *err);

/* Return the factor that scales y, a product of a copy of the stream, to the mean square of
 * `like`. */
double copy_factor(const float *y, const float *like, size_t channels);

/* Rows x [N, C] of the residual stream before a layer, and their context vectors [N, H·dv]. If
 * `token` is not NULL, all rows are of this token, and the run's edits are applied: x must already
 * have the edits of resid_pre, while the context must have no edits. */
struct attended_rows {
    size_t layer;
    struct matrix x, context;
    const struct edit_token *token; /* NULL: no edits are applied */
};

/* Run the steps of the layer that follow its heads: x becomes the layer's output, which must be as
 * wide as x (a model of attention alone may have another width). Not for models with
 * cross-attention. */
int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err);
