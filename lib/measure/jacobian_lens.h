/* jacobian_lens.h: the Jacobian lens (Anthropic's jacobian-lens): a vector h of the stream that
 * leaves layer l is decoded, like the model's own output, from J_l · h: its mean effect, to first
 * order, on the stream that leaves the last layer.
 *
 * J_l [C, C] is Σ ∂h_last(t') / ∂h_l(t) over the tokens t' ≥ t of V, averaged over the tokens t of
 * V and over the texts. V is a text without its first 16 tokens and its last one.
 *
 *     struct jacobian_fit fit = {.viewer = &viewer, .layers = layers};
 *     if (jacobian_fit_begin(&fit, &arena, err)) ...
 *     if (jacobian_fit_add(&fit, &pair, err)) ...                            (each text)
 *     if (jacobian_fit_write(&fit, &stream, err)) ...
 */
#pragma once

#include "base/progress_sink.h"
#include "lens/viewer.h"

struct stream;

struct jacobian_lens {
    struct weight *weights; /* [layers of the model] J of each layer; empty if the layer was not
                             * asked for, or the file lacks it */
    size_t prompts;         /* number of texts from which J was computed; 0: unknown */
};

/* Read J of some layers from a file of torch.save, {'J': {layer: matrix}, 'n_prompts', …} or a
 * checkpoint {'jacobian_sum': {layer: matrix}, 'n_done', …}, or of safetensors (`J.14`). The arena
 * owns the numbers. Refused: a file for another width, more layers or another target layer; as not
 * supported, a model with copies of the stream. */
int jacobian_lens_open(struct jacobian_lens *lens, const char *path, const struct config *config,
                       const struct layers *layers, struct arena *arena, struct err *err);

enum { JACOBIAN_TOKENS_MIN = 16 + 2 };

struct jacobian_fit {
    struct viewer *viewer;
    struct layers layers;                 /* ascending, without the last layer of the model */
    const struct progress_sink *progress; /* counts the computed channels of all `texts`; NULL:
                                           * progress is not reported */
    size_t texts, done;                   /* `texts`: number of texts to add; `done`: texts that
                                           * were added or left out */
    size_t prompts;                       /* texts added so far */
    float *sums;                          /* [layers, C, C] sums of J over the added texts */
};

int jacobian_fit_begin(struct jacobian_fit *fit, struct arena *arena, struct err *err);

/* Add the J of a text. A text of fewer than JACOBIAN_TOKENS_MIN tokens is left out. */
int jacobian_fit_add(struct jacobian_fit *fit, const struct text_with_source *pair,
                     struct err *err);

/* Write the means as a file of torch.save, in float16. */
int jacobian_fit_write(const struct jacobian_fit *fit, struct stream *out, struct err *err);
