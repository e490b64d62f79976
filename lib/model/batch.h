/* batch.h: the texts of one pass, side by side without padding.
 *
 * Text s owns rows first … first + count - 1 of every token matrix. In cross-attention each has
 * a source as well, with rows in other matrices, which its queries look at; elsewhere the keys'
 * span is the queries'. Tokens in a cache have no rows, but they are seen.
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
    struct cache *cache;        /* NULL, or what comes before the ids; no two texts share one */
    struct cache *source_cache; /* beside it where there is an encoder: of the source */
    size_t whole_count;  /* of the text that goes on after them, by which some scalings of rotary
                           turn all tokens; 0: it ends with them */
    size_t prompt_count; /* tokens that indices in edits refer to, and that values of other texts
                          * replace; 0: all tokens, cached ones included */
};

struct span {
    size_t first, count;
};

struct batch {
    const struct text *texts; /* [count], borrowed */
    size_t count;
    size_t first; /* the number of the first one, for messages: there may be batches before it */
    const struct span *queries; /* [count] rows of each text */
    const struct span *sources; /* [count] rows of its source; empty without cross-attention, and
                                   where the source is in its cache */
    const struct span *keys;    /* [count] rows that it looks at: those of one or the other */
    const size_t *past;         /* [count] tokens in its cache, which come before its rows … */
    const size_t *past_sources; /* [count] … and in that of its source … */
    const size_t *past_keys;    /* [count] … and in the one that it looks at */
    size_t tokens;              /* rows of all texts */
    size_t source_tokens;       /* rows of all sources */
    size_t key_tokens;          /* rows that are looked at: one of the two */
    size_t longest_queries;
    size_t longest_keys; /* that one text sees, those in its cache included */
    bool cached;         /* some text has a cache; of sources: what they give goes there */
    bool causal;         /* a query sees itself and the keys before it, else all of them */
};

/* How many keys a text sees. */
static inline size_t batch_keys(const struct batch *batch, size_t text)
{
    return batch->past_keys[text] + batch->keys[text].count;
}

/* How many tokens the indices in edits refer to. */
static inline size_t batch_prompt(const struct batch *batch, size_t text)
{
    size_t count = batch->texts[text].prompt_count;
    return count ? count : batch->past[text] + batch->queries[text].count;
}

/* Refuse a text of no tokens, or of more than the model has positions. */
int batch_check_length(const struct config *config, size_t count, struct err *err);

/* Check the texts and lay them out. Refused: lengths as above (what is in a cache counts), an
 * id beyond the vocabulary, a missing or unwanted source. */
int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err);

/* The sources of a batch as texts of their own, empty where they are in a cache; the same texts,
 * looking at their sources in place of themselves. */
int batch_of_sources(struct batch *sources, const struct batch *batch, struct arena *arena,
                     struct err *err);
struct batch batch_at_sources(const struct batch *batch);

#endif
