/* batch.h: the texts of one pass, joined without padding.
 *
 * A text owns the rows first … first + count - 1 of every token matrix. With cross-attention it
 * also has a source, whose rows are in other matrices, and its queries attend to these; otherwise
 * its span of keys is that of its queries. Tokens in a cache have no rows, but queries attend to
 * them.
 *
 *     struct text text = {.ids = ids, .count = 6};
 *     struct batch batch;
 *     if (batch_init(&batch, config, &text, 1, &arena, err)) ...
 */
#ifndef ATTN_MODEL_BATCH_H
#define ATTN_MODEL_BATCH_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct cache;
struct config;

struct text {
    const uint32_t *ids;
    size_t count;
    const uint32_t *source_ids; /* cross-attention only */
    size_t source_count;
    struct cache *cache;        /* tokens before the ids, not shared with other texts; or NULL */
    struct cache *source_cache; /* with a cache and an encoder: that of the source */
    size_t whole_count;  /* tokens of the whole text, if it continues after the ids; some scalings
                            of rotary embeddings depend on it; 0: it ends with the ids */
    size_t prompt_count; /* tokens that indices in edits refer to, and that values of other texts
                            replace; 0: all tokens, cached ones included */
};

struct span {
    size_t first, count;
};

struct batch {
    const struct text *texts; /* [count], borrowed */
    size_t count;
    size_t first;               /* number of the first text among all batches, for messages */
    const struct span *queries; /* [count] rows of each text */
    const struct span *sources; /* [count] rows of its source; empty without cross-attention, or if
                                   the source is in its cache */
    const struct span *keys;    /* [count] rows of its keys: `queries` or `sources` */
    const size_t *past;         /* [count] tokens in its cache, before its rows */
    const size_t *past_sources; /* [count] tokens in the cache of its source */
    const size_t *past_keys;    /* [count] tokens in the cache of its keys: one of the two */
    size_t tokens;              /* rows of all texts */
    size_t source_tokens;       /* rows of all sources */
    size_t key_tokens;          /* rows of all keys: one of the two */
    size_t longest_queries;
    size_t longest_keys; /* of one text, with those in its cache */
    bool cached;         /* a text has a cache; in a batch of sources: they are stored in caches */
};

/* The number of keys of a text, with those in its cache. */
static inline size_t batch_keys(const struct batch *batch, size_t text)
{
    return batch->past_keys[text] + batch->keys[text].count;
}

/* The number of tokens that indices in edits refer to. */
static inline size_t batch_prompt(const struct batch *batch, size_t text)
{
    size_t count = batch->texts[text].prompt_count;
    return count ? count : batch->past[text] + batch->queries[text].count;
}

/* Refuse a text without tokens, or with more than the model has positions. */
int batch_check_length(const struct config *config, size_t count, struct err *err);

/* The same for ids after `past` others, and refuse an id beyond the vocabulary. */
int batch_check_ids(const struct config *config, const uint32_t *ids, size_t count, size_t past,
                    struct err *err);

/* Check the texts and assign their rows. Refused: lengths as above (with cached tokens), an id
 * beyond the vocabulary, a source that is missing or that the model does not take. */
int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err);

/* A batch of the sources, empty if they are in caches; and the same texts with the sources as keys,
 * for cross-attention. */
int batch_of_sources(struct batch *sources, const struct batch *batch, struct arena *arena,
                     struct err *err);
struct batch batch_at_sources(const struct batch *batch);

#endif
