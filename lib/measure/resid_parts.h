/* resid_parts.h: splits the residual stream at some positions into a sum of parts: the embeddings,
 * and the outputs of each earlier head, MLP and bias.
 *
 * With the divisors of norms fixed, every step from the stream to a head's queries, keys and values
 * (a norm, a matrix product, a rotation) is affine: it maps a sum to the sum of the mapped parts
 * plus a constant, which is also a part.
 *
 *     struct resid_pass pass = {.viewer = &viewer, .pair = &pair, ...};
 *     const struct key_range query = {pass.position_count, pass.position_count + 1};
 *     if (resid_capture(&pass, arena, err) ||
 *         resid_side_parts(&parts, &pass, RESID_QUERY, query, arena, err)) ... */
#pragma once

#include "lens/dictionary.h"
#include "lens/viewer.h"
#include "model/layer.h"

enum resid_part_kind {
    RESID_TOKEN,
    RESID_PLACE, /* the position's embedding */
    RESID_SEGMENT,
    RESID_BIAS, /* biases of a layer, or of the embedding and, in an encoder, of its last norm */
    RESID_HEAD,
    RESID_MLP,           /* an MLP's output; with BRANCH_PER_LAYER, what a layer adds for its
                          * per-layer input */
    RESID_HERE,          /* constants of the head whose query, keys or values are split */
    RESID_PROBE,         /* channel `head` of a layer's context: see struct resid_pass */
    RESID_FEATURE,       /* feature number `head` of a dictionary */
    RESID_FEATURE_BIAS,  /* the dictionary's output without features: its bias, and a skip matrix */
    RESID_FEATURE_ERROR, /* the part that no feature explains */
};

struct resid_part {
    enum resid_part_kind kind;
    enum site_branch of; /* for a head, the branch of its attention; else the branch whose stream
                          * has the part */
    int layer;           /* -1: outside of layers */
    int head;
};

enum { RESID_PART_BYTES = 64 };

/* Write a part's name in data, such as "L16.H0", "enc.token", "L0.cross.H2", or its title for
 * people: "L16H0", "enc.token", "cross L0H2". Both return `name`. */
const char *resid_part_name(char name[RESID_PART_BYTES], struct resid_part part);
const char *resid_part_title(char name[RESID_PART_BYTES], struct resid_part part);

/* The parts of `rows` vectors: each part adds a vector of `width` numbers to each of them. */
struct resid_parts {
    struct resid_part *items; /* [count] what each part is */
    float *values;            /* [count][rows, width] values of each part */
    size_t count, most, rows, width;
};

/* A head: its attention, layer and index. */
struct resid_head {
    enum site_branch branch;
    size_t layer, head;
};

enum resid_side { RESID_QUERY, RESID_KEY, RESID_VALUE };

/* Return the text from whose stream a head's queries, or its keys and values, are made. */
const struct tokenized *resid_text(const struct config *config, const struct text_with_source *pair,
                                   struct resid_head head, enum resid_side side);

/* A pass up to an attention, and the rows of values that it keeps: rows 0 to position_count - 1 are
 * for the positions, row position_count is for the query. */
struct resid_pass {
    struct viewer *viewer;
    const struct text_with_source *pair;
    struct resid_head at;
    size_t number;           /* number of the text, for messages */
    size_t query;            /* position of the query, in the text from whose stream queries are
                              * made */
    const size_t *positions; /* [position_count] positions of the keys or values to split, in the
                              * text from whose stream they are made */
    size_t position_count;
    const struct resid_part *probe; /* a head, or with head -1 all heads of a layer: each channel of
                                     * their contexts gets a part RESID_PROBE, the effect of a 1 in
                                     * the channel; divisors of norms ignore these parts. NULL: no
                                     * such parts */
    const struct dictionary *dictionary; /* a dictionary for a site of the text's layers: there, its
                                          * features, its bias and its error are the parts. NULL: no
                                          * dictionary */

    /* Set by resid_capture. */
    bool keeps_all; /* true: the rows of all tokens are kept, and a later pass up to a head of an
                     * earlier layer of the same stack may borrow `kept` */
    const float *(*kept)[SITE_COUNT]; /* [layer] kept rows of each site, with heads side by side;
                                       * keys and values of all tokens, head by head */
    struct feature_row *features;     /* [position_count + 1] features of each kept row */
    struct matrix decoded, read;      /* `decoded`: reconstructions; `read`: the rows that they
                                       * reconstruct */
    uint32_t *active;                 /* [active_count] features that are active in any row */
    size_t active_count;
    struct arena *arena;
};

/* Run the text up to the attention `pass->at`, and keep the values from which resid_attend computes
 * weights, and resid_side_parts splits the vectors of the query and of the positions into parts. */
int resid_capture(struct resid_pass *pass, struct arena *arena, struct err *err);

/* The attention of a head at one query, the token of a kept row of a resid_pass. */
struct resid_attention {
    size_t keys, visible;
    uint32_t *list;        /* [visible] indices of the visible keys */
    double *plain, *score; /* [keys] `plain`: scale · q · k; `score`: with biases, before a cap */
    double *weights;       /* [keys] attention weights; 0 for a hidden key */
    double of_sink;        /* attention weight of the sink; 0: no sink */
};

int resid_attend(struct resid_attention *attention, const struct resid_pass *pass,
                 struct resid_head head, size_t row, struct arena *arena, struct err *err);

/* Like resid_attend, but `weights` are the numbers that multiply the values in a head's context,
 * which in differential attention combine two heads; `factor`: the factor of the context's norm, 1
 * if there is none. */
int resid_mix(struct resid_attention *attention, const struct resid_pass *pass,
              struct resid_head head, size_t row, double *factor, struct arena *arena,
              struct err *err);

/* Return the values from which a head's context is made, [keys, width]. */
const float *resid_values(const struct resid_pass *pass, struct resid_head head);

/* Make the parts of the head's queries, keys or values at some kept rows. */
int resid_side_parts(struct resid_parts *parts, const struct resid_pass *pass, enum resid_side side,
                     struct key_range some, struct arena *arena, struct err *err);
