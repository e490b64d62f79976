/* patching.h: activation patching: which part of a model carries an answer.
 *
 * Two texts of as many tokens are run: one that has the answer (clean) and one that lacks it
 * (corrupt). Then a value of the clean run is put into the corrupt one, a part of the model after
 * another, and each time the logit of the answer, or the difference of two, tells how much of it
 * comes back: (logit - corrupt) / (clean - corrupt), 0 as in the corrupt text and 1 as in the
 * clean one. The other way round values of the corrupt run are put into the clean one: the same
 * fraction then is what is left of the answer.
 *
 * Copies of one text share passes. A copy begins in the layer that is patched, with the stream that
 * the text has there, and with the first token that the patch changes: those before it are in a
 * cache. Of a patched head only what comes after the heads is computed in its layer; and in the
 * last layer only what the last token needs. (Where tokens see those to come, or the stream into a
 * layer is edited, copies run whole.) A part that has the same value in both
 * texts changes nothing, and is not run.
 *
 *     struct patching_plan plan = {&viewer, &clean, &corrupt, .answer = 4, .against = -1};
 *     struct patching patching;
 *     if (patching_make(&patching, &plan, &arena, err) ||
 *         patching_report(&report, &patching, 1 << PATCH_FRACTION, &origin, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_PATCHING_H
#define ATTN_MEASURE_PATCHING_H

#include "base/progress_sink.h"
#include "lens/viewer.h"

struct text_origin;

/* What is patched: what every head gives, or takes; a token's place in the stream, or in what is
 * added to it; or paths. */
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

struct patch_over_row {
    const char *name; /* as in --over */
    enum site site;
    const char *about; /* a line for help */
};

extern const struct patch_over_row patch_overs[PATCH_OVERS];

/* A path goes from a head to what a later one takes, or to the logits: what the head gives is that
 * of the other text, all other heads on the way keep what they give, MLPs and norms work on what
 * they get, and of what arrives the receiver alone takes notice (Wang et al., 2022). */
struct patch_path {
    bool has_sender; /* else every head before the receiver is one */
    size_t from_layer, from_head;
    enum site to; /* SITE_Q, SITE_K or SITE_V of to_layer and to_head, or SITE_LOGITS */
    size_t to_layer, to_head;
};

struct patching_plan {
    struct viewer *viewer;
    const struct tokenized *clean, *corrupt;
    enum patch_over over;
    bool noise;                /* values of the corrupt text are put into the clean one */
    struct patch_path path;    /* of PATCH_PATHS */
    size_t position;           /* the token after which the answer stands */
    long long answer, against; /* ids; -1: the likeliest after the clean text; none */
    size_t batch_tokens;       /* that share a pass; 0: as many as pay */
    const struct progress_sink *progress; /* told of patches; NULL: no one */
};

struct patching {
    const struct patching_plan *plan;
    long long answer;
    double clean, corrupt;        /* the logits, or differences */
    size_t first_layer, layers;   /* rows … */
    size_t first_column, columns; /* … and columns: heads, or tokens up to the position; of heads
                                     by token the tokens of one head after those of another */
    double *logits;               /* [layers, columns] after each patch; NaN: there is none */
};

/* The fraction of the answer that a logit stands for. */
double patching_fraction(const struct patching *patching, double logit);

/* Refuse texts of different lengths. */
int patching_check_texts(const struct tokenized *clean, const struct tokenized *corrupt,
                         struct err *err);

/* Run all patches. What is found is the arena's. The viewer's edits are made in all runs, before a
 * patch of the same place. Refused: texts of different lengths, or between whose logits there is
 * nothing to come back; as usage, edits of logits, of a text drawn for each run, or of places where
 * the position is not the last; as not supported, what the model does not have, and models of two
 * texts, whose tokens look ahead, or without logits. */
int patching_make(struct patching *patching, const struct patching_plan *plan, struct arena *arena,
                  struct err *err);

/* --- as a report ------------------------------------------------------------------------------ */

enum patch_number { PATCH_FRACTION, PATCH_LOGIT, PATCH_NUMBERS };

struct patch_number_row {
    const char *name; /* as in --show */
    const char *about;
};

extern const struct patch_number_row patch_numbers[PATCH_NUMBERS];

/* Sheets of these numbers (1 << PATCH_…), layers by heads or tokens, or for each layer heads by
 * tokens; the report's text is the clean one. */
int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    const struct text_origin *origin, struct arena *arena, struct err *err);

#endif
