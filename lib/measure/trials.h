/* trials.h: the prediction at one position of a text, again and again, each time with another edit
 * of the pass.
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

/* A text and the position of its prediction. A model that reads from left to right keeps the tokens
 * before the position in a cache, so that an edit of the position's row runs one token. */
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

/* Begin trials of a text, which is borrowed. Nothing runs yet. */
void trial_open(struct trial *trial, struct viewer *viewer, const struct text_with_source *pair,
                size_t position);
void trial_close(struct trial *trial);

/* The number of tokens that a run with an edit of the position's row passes through the model. */
size_t trial_tokens(const struct trial *trial);

/* Run the text with the viewer's edits and one more edit (NULL: none). `target` is the id of a
 * token; -1: no target. The caller may set another position between two runs. */
int trial_run(struct tried *found, struct trial *trial, const struct edit *edit, long long target,
              struct err *err);

/* The bytes of the caches, and of the memory of one run. */
void trial_add_memory(struct memory *memory, struct viewer *viewer,
                      const struct text_with_source *pair);

/* An arrow from a query to a key that is cut: the query cannot attend to the key. arrow_cut cuts it
 * in all heads of a branch of attention; a caller may name one layer and one head. */
struct arrow_cut {
    struct edit edit;
    struct edit_range layer, head, query, key;
    bool in_head; /* only in `head` of `layer` */
};

struct arrow_cut arrow_cut(enum site_branch branch, size_t query, size_t key);

/* The edit of a cut, valid as long as the cut stays where it is. */
const struct edit *arrow_edit(struct arrow_cut *cut);

/* True if arrows of a branch can be cut: its scores exist and become weights key by key. */
bool arrow_can_be_cut(const struct config *config, enum site_branch branch);
