/* prediction.h: parts of results that are not tensors: the next tokens after each step of a pass
 * (measure/logit_lens.h finds them, draw/page.h shows them), the findings of a text
 * (measure/finding.h), and the roles of heads. */
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
    const struct next_of_step *layers; /* [layer_count] the last item is the model's output */
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

/* Kinds of findings. A finding is an arrow, from a query to a key in a head, that matters in a text
 * (measure/finding.h). */
enum finding_kind {
    FINDING_ACTS,  /* the prediction at the query depends on the arrow */
    FINDING_LOOKS, /* the weight is far above what habit and nearness of the head explain */
    FINDING_KINDS
};

/* A token or class that a model predicts. If the text of the label is NULL, it is not known. */
struct guess {
    uint32_t id;
    struct label token;
    double probability;
};

struct finding {
    enum finding_kind kind;
    enum site map; /* site of the weights, or of the map of a layer that keeps a state */
    size_t layer, head, query, key;
    double weight; /* attention weight; for a state: share of the cell in its row */
    double s;      /* bits by which the weight exceeds what habit and nearness explain */
    double d;      /* bits that the prediction loses without the arrow in all heads; NaN: unknown */
    struct guess says;    /* the most likely token at the query; NULL text: not known */
    struct guess without; /* the most likely token without the arrow; NULL text: not known */
    double falls_to;      /* probability of the token `says` without the arrow, unless `d` is NaN */
};

enum { FINDINGS_MOST = 4 };

struct findings {
    struct finding items[FINDINGS_MOST]; /* [count] the first one is the headline */
    size_t count;
    size_t row;        /* index of the token at which `says` is predicted */
    struct guess says; /* the most likely token at `row`; NULL text: not known */
    bool is_long;      /* the text is too long to be searched: there are no findings */
};
