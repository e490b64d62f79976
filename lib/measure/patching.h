/* patching.h: activation patching: which parts of a model carry an answer.
 *
 * Two texts of equal length are run, one with the information (clean) and one without (corrupt).
 * Then one value after another of the clean run replaces that of the corrupt run, and the logit of
 * the answer (or the difference of two) is compared: (logit - corrupt) / (clean - corrupt) is 0 as
 * in the corrupt run, 1 as in the clean run. With `noise` corrupt values replace clean ones.
 *
 * Each patch is an edit of a copy of the text, and copies share passes. A copy begins at the
 * patched layer, with the stream of the unpatched run, and at the first token that changes; the
 * tokens before it are in a cache. (If tokens see later ones, or an edit changes the stream into a
 * layer, the whole copy is run.) A value that is equal in both texts is not run.
 *
 *     struct question question = {position, .answer = 4, .against = -1};
 *     struct patching_plan plan = {&viewer, &clean, &corrupt, &question};
 *     struct patching patching;
 *     if (patching_make(&patching, &plan, &arena, err) ||
 *         patching_report(&report, &patching, 1 << PATCH_FRACTION, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_PATCHING_H
#define ATTN_MEASURE_PATCHING_H

#include "base/progress_sink.h"
#include "measure/text_origin.h"

enum patch_over {
    PATCH_HEADS,
    PATCH_RESID_PRE,
    PATCH_RESID_MID,
    PATCH_ATTN_OUT,
    PATCH_MLP_OUT,
    PATCH_Q,
    PATCH_K,
    PATCH_V,
    PATCH_WEIGHTS,
    PATCH_HEADS_BY_TOKEN,
    PATCH_PATHS,
    PATCH_OVERS,
};

extern const struct patch_over_row {
    const char *name; /* as in --over */
    enum site site;
    const char *about; /* a line for help */
} patch_overs[PATCH_OVERS];

/* A path from a head (the sender) to the query, key or value of a later head, or to the logits: the
 * sender's output is that of the other text, all heads in between keep theirs, MLPs and norms are
 * computed, and only the receiver uses the result (Wang et al., 2022). */
struct patch_path {
    bool has_sender; /* false: every head before the receiver, one after another */
    size_t from_layer, from_head;
    enum site to; /* SITE_Q, SITE_K or SITE_V of to_layer and to_head, or SITE_LOGITS */
    size_t to_layer, to_head;
};

struct patching_plan {
    struct viewer *viewer;
    const struct tokenized *clean, *corrupt;
    struct question *question; /* an answer of -1 becomes the clean text's */
    enum patch_over over;
    bool noise;                           /* corrupt values replace clean ones */
    struct patch_path path;               /* of PATCH_PATHS */
    size_t batch_tokens;                  /* of one pass; 0: the default */
    const struct progress_sink *progress; /* of patches; NULL: none */
};

struct patching {
    const struct patching_plan *plan;
    double clean, corrupt;        /* the logits, or differences */
    size_t first_layer, layers;   /* rows */
    size_t first_column, columns; /* heads; tokens up to the position; or [heads, tokens] */
    double *logits;               /* [layers, columns] after each patch; NaN: no such site */
};

/* Refuse texts of different lengths. */
int patching_check_texts(const struct tokenized *clean, const struct tokenized *corrupt,
                         struct err *err);

/* Run all patches; results are the arena's. The viewer's edits apply to all runs, before a patch of
 * the same value. Refused: texts of different length, or whose logits are equal; as usage, edits of
 * logits, edits that draw a text for each run, or edits of single tokens with an earlier position;
 * as not supported, sites that the model lacks, and models other than decoders of one text. */
int patching_make(struct patching *patching, const struct patching_plan *plan, struct arena *arena,
                  struct err *err);

enum patch_number { PATCH_FRACTION, PATCH_LOGIT, PATCH_NUMBERS };

extern const struct patch_number_row {
    const char *name; /* as in --show */
    const char *about;
} patch_numbers[PATCH_NUMBERS];

/* Add sheets of these numbers (1 << PATCH_...) to the report of the clean text: layers by heads or
 * tokens, or for each layer heads by tokens; and for people a table of the fractions that a patch
 * changes most (from 0, with `noise` from 1). */
int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    struct arena *arena, struct err *err);

#endif
