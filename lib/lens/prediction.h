/* prediction.h: parts of results that are not tensors: the next tokens after each step of a pass
 * (measure/logit_lens.h finds them, draw/page.h shows them), and the roles of heads. */
#pragma once

#include "lens/continuation.h"

/* The step of a pass after which a prediction is read from the residual stream. */
enum stream_step { STEP_EMBEDDING, STEP_ATTENTION, STEP_CROSS, STEP_MLP, STEP_LAYER, STREAM_STEPS };

/* Logit lens: the prediction after each token or, in a masked model, in place of the token, read
 * from the residual stream after a step. */
struct next_of_step {
    enum stream_step step;
    size_t layer, best_count;
    size_t first, count;       /* `first`: index of the first token; `count`: number of tokens, 0 if
                                * the text of a masked model has no mask */
    const struct likely *best; /* [count, best_count] most likely tokens, best first */
    const float *came;         /* [count] log-probability of the next token of the text; NaN: there
                                * is none */
};

struct next_tokens {
    const struct next_of_step *layers; /* [layer_count] the last one is the model's output */
    size_t layer_count, vocabulary;
    const uint32_t *named; /* [name_count] token ids that occur in `layers`; `names` has their
                            * names */
    const struct label *names;
    size_t name_count;
};

/* Roles of heads. A head has the role whose keys get its highest mean weight, if this weight
 * reaches both `least` and `times` the mean weight of uniform attention. */
struct roles {
    double least, times;
    const struct role {
        const char *score, *name, *brief;
    } * items;
    size_t count;
};
