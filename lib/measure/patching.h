/* patching.h: activation patching: which parts of a model carry an answer.
 *
 * Two texts of equal length are run, one with the information (clean) and one without (corrupt).
 * Then each value of the clean run in turn replaces the corrupt run's value. The logit of the
 * answer, or a difference of logits, gives the fraction (logit - corrupt) / (clean - corrupt): 0
 * for the corrupt run, 1 for the clean run. With `noise`, corrupt values replace clean ones. An
 * ablation replaces clean values by 0, a mean or another text's values, without a corrupt text,
 * whose logit counts as 0: the fraction logit / clean is 1 for the clean run. Other metrics replace
 * the logit in the same fractions.
 *
 * Each patch is an edit of a copy of the text, and copies share passes. A copy starts at the
 * patched layer, with the stream of the unpatched run, and at the first token that changes; a cache
 * holds the earlier tokens. (All tokens are run if the model is not causal, has layers that keep a
 * state, or with --mask-after; all tokens and layers, if it has an encoder or layers that read more
 * than the stream, or if there is an edit of resid_pre.) Values that are equal in both texts are
 * not patched.
 *
 *     struct question question = {position, .answer = 4, .against = -1};
 *     struct patching_plan plan = {&viewer, &clean, &corrupt, .question = &question};
 *     struct patching patching;
 *     if (patching_make(&patching, &plan, &arena, err) ||
 *         patching_report(&report, &patching, 1 << PATCH_FRACTION, &arena, err)) ...
 */
#pragma once

#include "base/progress_sink.h"
#include "measure/estimates.h"
#include "measure/question.h"

enum patch_over {
    PATCH_HEADS,
    PATCH_RESID_PRE,
    PATCH_RESID_MID,
    PATCH_ATTN_OUT,
    PATCH_MLP_OUT,
    PATCH_MLP_ACT,
    PATCH_Q,
    PATCH_K,
    PATCH_V,
    PATCH_WEIGHTS,
    PATCH_HEADS_BY_TOKEN,
    PATCH_CROSS_HEADS,
    PATCH_CROSS_OUT,
    PATCH_MIX_HEADS,
    PATCH_MIX_OUT,
    PATCH_MIX_Q,
    PATCH_MIX_K,
    PATCH_MIX_V,
    PATCH_MIX_STEP,
    PATCH_MIX_DECAY,
    PATCH_PATHS,
    PATCH_EDGES, /* edges from writers to readers (estimates.h); only with estimates */
    PATCH_PARTS, /* heads and, in a last column, MLPs; only with ablations */
    PATCH_OVERS,
};

extern const struct patch_over_row {
    const char *name; /* value of --over */
    enum site site;
    const char *about; /* description in the help of --over */
} patch_overs[PATCH_OVERS];

/* What replaces a value: the other text's value; or, in the clean text, 0 or the value's mean over
 * the text's tokens (each head and channel has its own mean; for attention weights, each head and
 * key); or the mean of reference texts, position by position, or the value of one of them; or, with
 * PATCH_WITH_EDITS, the viewer's edits are made all at once in the clean run, which gives one
 * number. */
enum patch_with {
    PATCH_WITH_TEXT,
    PATCH_WITH_ZERO,
    PATCH_WITH_MEAN,
    PATCH_WITH_RESAMPLE,
    PATCH_WITH_EDITS,
    PATCH_WITHS
};

extern const char *const patch_withs[PATCH_WITHS];

enum patch_metric {
    METRIC_LOGIT,
    METRIC_PROBABILITY,
    METRIC_LOGPROB,
    METRIC_KL, /* METRIC_KL and METRIC_JS: divergences, in nats, from the clean run's predictions */
    METRIC_JS,
    METRIC_COSINE, /* cosine of the last residual stream and a direction */
    PATCH_METRICS,
};

extern const struct patch_metric_row {
    const char *name; /* value of --metric */
    const char *about;
    bool is_scale; /* true if a metric of 0 has a meaning: then its fractions are printed */
} patch_metrics[PATCH_METRICS];

struct patch_receiver {
    enum site site;       /* SITE_Q, SITE_K or SITE_V */
    struct layer_head at; /* layer and head; for keys and values, the key/value head */
};

/* PATCH_PATHS are paths from a head (the sender) to queries, keys or values of later heads (the
 * receivers), or to the logits (path patching; Wang et al., 2022). The sender's output comes from
 * the other text. All other heads before the last receiver (for the logits: all heads) keep their
 * outputs; MLPs and norms are recomputed. Only the receivers use the result, all at once; all that
 * follows them is recomputed. */
struct patching_plan {
    struct viewer *viewer;
    const struct text_with_source *clean, *corrupt; /* corrupt: only PATCH_WITH_TEXT reads it */
    enum patch_with with;
    const struct edit_donor *donors[2]; /* values of reference texts for an ablation: [0] at the
                                         * site of `over`, [1] at mlp_out for PATCH_PARTS; NULL: no
                                         * reference texts */
    size_t number; /* number of the text, which decides the reference text that is drawn */
    enum patch_metric metric;  /* how the answer is measured; estimates always use the logit */
    const float *direction;    /* [n_embd] the direction for METRIC_COSINE */
    struct question *question; /* answer -1 becomes the clean run's most likely token */
    enum patch_over over;
    bool noise;    /* replace clean values by corrupt ones */
    bool estimate; /* true: make first-order estimates (estimates.h), not exact patches; not for
                    * paths */
    size_t steps;  /* number of steps for estimates of edges between texts, as in estimates.h; 0
                    * means 1 */
    size_t verify; /* number of patches to also run exactly: those with the largest estimates; 0 for
                    * edges and listed heads */
    const struct patch_receiver *receivers; /* [receiver_count] receivers of paths; if there are
                                             * none, paths lead to the logits */
    size_t receiver_count;
    struct layers layers;                 /* layers to patch, except for paths; if there are none,
                                           * all layers */
    const struct layer_head *heads;       /* [head_count] the heads to patch or, for paths, the
                                           * senders */
    size_t head_count;                    /* 0: all heads, layer by layer */
    bool joint;                           /* patch the listed heads one by one, then all at once */
    size_t batch_tokens;                  /* maximum number of tokens in a pass; 0: the default */
    const struct progress_sink *progress; /* counts patches; NULL: progress is not reported */
};

struct patching {
    const struct patching_plan *plan;
    double clean,
        corrupt; /* metrics of the clean and the corrupt run without patches; for an ablation,
                  * `corrupt` is 0 */
    const size_t *numbers; /* [layers] the layer of each row of the result */
    size_t layers;
    size_t columns; /* number of heads, neurons, tokens that are run, heads · tokens, or listed
                     * heads */
    double *logits; /* [layers, columns] metrics after each patch; NaN: the layer lacks the site.
                     * For listed heads [head_count + joint]: with `joint`, the last is for all at
                     * once. For edges [writers, readers]; NaN: no such edge */
    struct edges edges;
    const struct layer_head *verified; /* [verified_count] the cells of the largest estimates; for
                                        * values without heads, or by token, `head` is the column */
    const double *exact; /* [verified_count] metrics after the patches of these cells */
    size_t verified_count;
    double correlation; /* correlation of estimates and patches; NaN: undefined */
};

/* Refuse texts of different lengths. */
int patching_check_texts(const struct tokenized *clean, const struct tokenized *corrupt,
                         struct err *err);

/* Run all patches; the arena owns the results. The viewer's edits apply to all runs, before a patch
 * of the same value. Refused: texts of different lengths or with equal metrics of the answer; as
 * usage, edits of logits, `= resample`, and, if text follows the position, edits of single tokens
 * or columns and edits with values of a file or a text; as not supported, sites that the model
 * lacks, paths of models with an encoder or with layers that keep a state, what estimates.h
 * refuses, and models without logits or with features that patching lacks. */
int patching_make(struct patching *patching, const struct patching_plan *plan, struct arena *arena,
                  struct err *err);

void patching_add_memory(struct memory *memory, const struct patching_plan *plan,
                         const struct text_with_source *pair);

enum patch_number { PATCH_FRACTION, PATCH_LOGIT, PATCH_EFFECT, PATCH_NUMBERS };

extern const struct patch_number_row {
    const char *name; /* value of --show */
    const char *about;
} patch_numbers[PATCH_NUMBERS];

/* Add arrays of numbers (1 << PATCH_...) to the clean text's report: layers by heads, tokens or
 * neurons, or for each layer heads by tokens; and for people a table of the numbers farthest from
 * the unpatched run: of fractions or, if they are not among `numbers`, of effects or metrics. With
 * `joint` or PATCH_WITH_EDITS, only a table of the listed heads or of the edits; for verified
 * estimates, a table of estimates and exact numbers. */
int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    struct arena *arena, struct err *err);
