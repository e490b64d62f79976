/* trials.h: the predictions at one position of a text in several passes, each with a different
 * edit.
 *
 *     struct trial trial;
 *     struct tried usual, other;
 *     struct arrow_cut cut = arrow_cut(BRANCH_TEXT, 4, 1);
 *     trial_open(&trial, &viewer, &pair, 4);
 *     if (trial_run(&usual, &trial, NULL, -1, err) ||
 *         trial_run(&other, &trial, arrow_edit(&cut), usual.best.id, err)) ...
 *     trial_close(&trial);
 *
 * `other` then has the most likely token after token 4 if token 4 cannot attend to token 1, and the
 * log-probability of the token that was the most likely one before. */
#pragma once

#include "lens/viewer.h"
#include "pass/cache.h"
#include "pass/sampler.h"

/* A text and the position of its prediction. If `is_cached`, the keys and values of
 * the tokens before the position are in a cache: an edit of the position's row runs one token. */
struct trial {
    struct viewer *viewer;
    const struct text_with_source *pair;
    size_t position;
    bool is_cached; /* `cache`, and of an encoder-decoder `source_cache`, are in use */
    struct cache cache, source_cache;
    struct arena arena; /* memory of one run */
};

struct tried {
    struct likely best; /* the most likely token at the position, with its log-probability */
    float target;       /* log-probability of the target or, without a target, of `best` */
};

/* Begin trials of a text, which must stay valid until trial_close. Nothing runs yet. */
void trial_open(struct trial *trial, struct viewer *viewer, const struct text_with_source *pair,
                size_t position);
void trial_close(struct trial *trial);

/* Return the number of tokens that run in a trial that edits only the position's row. */
size_t trial_tokens(const struct trial *trial);

/* Run the text with the viewer's edits and one more edit (NULL: no further edit). `target`: id of
 * the token for found->target; -1: no target. The caller may change trial->position between
 * runs. */
int trial_run(struct tried *found, struct trial *trial, const struct edit *edit, long long target,
              struct err *err);

/* Raise memory->during to at least the bytes of the caches and of one run. */
void trial_add_memory(struct memory *memory, struct viewer *viewer,
                      const struct text_with_source *pair);

/* A cut of the arrow from a query to a key: the query cannot attend to the key. arrow_cut cuts the
 * arrow in all heads of an attention branch. For one head, set `in_head`, `layer` and `head`. */
struct arrow_cut {
    struct edit edit;
    struct edit_range layer, head, query, key;
    bool in_head; /* true: cut the arrow only in `head` of `layer` */
};

struct arrow_cut arrow_cut(enum site_branch branch, size_t query, size_t key);

/* Return the edit of a cut. It points into the cut, which must not be moved or freed before it. */
const struct edit *arrow_edit(struct arrow_cut *cut);

/* True if arrows of a branch can be cut: it is not a mixer, it has masked scores, and attention is
 * dense. */
bool arrow_can_be_cut(const struct config *config, enum site_branch branch);
