/* back.h: gradients of a scalar at every site of a pass, and of the parameters: one walk back over
 * the sublayers of layer.h, after a pass whose values a tape keeps.
 *
 *     struct tape tape = {.arena = &arena};
 *     if (tape_run(&tape, &run, err)) ...                        (the pass)
 *     struct back back = {&run, &tape, seeds, 1, my_sink, mine};
 *     if (back_run(&back, err)) ...                              (the walk)
 *
 * The seeds define the scalar: they are its gradients at some sites, and all other gradients follow
 * from them. Divisors of norms, routing weights and caps have gradients; the choice of experts and
 * of visible keys has none. Weights, masked scores and scores of hidden keys, and weights of
 * experts that were not chosen, have the gradient 0. Gradients of keys and values are sums over the
 * query heads that share them. */
#pragma once

#include "pass/forward.h"
#include "pass/tap.h"

/* The values that a pass announced, as dense arrays in `arena`. */
struct tape {
    struct arena *arena;
    bool lean;          /* keep only the values that a walk reads; without readers and logits */
    size_t from;        /* lean: the first layer of the text that is kept; the walk ends at its
                         * input. 0: the walk goes on to the rows of the table of tokens */
    bool streams;       /* of all layers of the text but the last, keep only the stream that enters:
                         * the walk runs each layer again, with the same bits. Not with `lean` */
    struct arena layer; /* with `streams`: memory of the layer that the walk is in */
    struct arena scratch; /* memory of the pass and the walk, which the caller releases. Without
                           * `lean`, `arena` is used instead */
    const float **values; /* [layers + 1][SITE_COUNT]: first the sites outside of layers, then each
                           * layer's */
};

/* tape_run: run a batch of texts of one length, with sources of one length, without a cache, and
 * keep the values of its sites. tape_check: refuse, before anything is run, what is not supported:
 * edits, attention that is not the model's own, and models without a walk back (features.h).
 * tape_run checks as well. */
int tape_run(struct tape *tape, const struct run *run, struct err *err);
int tape_check(const struct run *run, struct err *err);

/* The values of a site in a layer (-1: outside of layers). A map is [texts, H, T, S]; other sites
 * have the rows of all texts, with the heads of a row side by side. NULL: the tape has no such
 * values. */
const float *tape_of(const struct tape *tape, enum site site, int layer);

/* The gradient of the scalar at a site, in the same order as the site's values in a tape. */
struct back_seed {
    enum site site;
    int layer;
    const float *values;
};

/* A reader of the stream: the queries, keys or values of one query head, or an MLP (SITE_MLP_OUT).
 * The gradient [T, C] is that part of the stream's gradient that comes through this reader, and
 * through its norm. */
struct back_reader {
    enum site site;
    size_t layer, head;
    struct matrix gradient;
};

typedef int reader_sink(void *context, const struct back_reader *reader, struct err *err);

/* A scalar for training: Σ factor · loss of a row. The loss is -log softmax(logits)[target], or for
 * a number (logit - target)². */
struct back_loss {
    const uint32_t *targets; /* [rows]: an id, or the bits of a float; BACK_NO_TARGET: the row has
                              * no loss */
    float factor;            /* factor of each loss; 0: no gradient is needed */
    double *losses;          /* [rows]: back_run sets each row's loss; NaN: it is not finite */
    bool of_numbers;
};

#define BACK_NO_TARGET UINT32_MAX

struct back {
    const struct run *run; /* the run of the pass that the tape keeps */
    struct tape *tape;
    const struct back_seed *seeds;
    size_t seed_count;
    const struct back_loss *loss; /* a loss in place of seeds, for a lean tape; NULL: none */
    /* For each index of weights_tensor, floats in the layout of the tensor, to which its gradient
     * is added; NULL: not wanted. Not with readers. */
    float *const *gradients;
    tap_sink sink; /* receives the gradient of each site, in the reverse order of the pass; or
                    * NULL */
    void *context;
    /* Receives each reader, from the last layer to the first; in cross-attention only queries. Or
     * NULL. */
    reader_sink *reader;
    /* back_run sets it, in the tape's arena: the gradients of the scaled rows of the table of
     * tokens, for text and source, unless the walk ends before these rows. */
    struct matrix token_rows[BRANCH_CROSS];
};

int back_run(struct back *back, struct err *err);

/* --- shared by the files of the walk ---------------------------------------------------------- */

/* A walk back over a stack. Matrices that functions of the walk return are in `arena`. */
struct walk {
    struct back *back;
    const struct run *run;
    const struct config *config;
    const struct stack *stack;
    size_t layer, texts, tokens; /* tokens: the length of each text in the stack */
    struct matrix memory;        /* [S, C]: the source's output, which cross-attention reads; no
                                  * data: there is none */
    struct matrix dmemory;       /* gradient of `memory`, summed over the layers of the text */
    struct matrix read, dread;   /* the stream that a sublayer or its norm reads, and the gradient
                                  * of this stream */
    struct matrix (*lent)[2];    /* [layers]: gradients of the layer's keys and values through later
                                  * layers that read them; no data: there are none */
    struct matrix dgiven;        /* gradient of the inputs that layers have of their own */
    struct matrix dcopies; /* [T, N·C]: gradient of the copies of the stream; no data: there is one
                            * stream */
    /* Of sublayers that do not read the stream: the gradient of the layer's input, and of the
     * result of a norm that two sublayers share; or no data. */
    struct matrix dfirst, dshared;
    /* Cosines and sines for [main, local] and [forth, back], made on their first use. */
    struct matrix turns[2][2];
    struct arena *arena; /* memory of one sublayer */
    struct err *err;
};

/* walk_matrix: a view of dense floats. Then a matrix of zeros, a matrix with any numbers, and a
 * copy. A matrix has no data if there is no memory. */
struct matrix walk_matrix(const float *data, size_t rows, size_t columns);
struct matrix walk_zeros(struct walk *w, size_t rows, size_t columns);
struct matrix walk_room(struct walk *w, size_t rows, size_t columns);
struct matrix walk_copy(struct walk *w, struct matrix x);
struct matrix walk_lasting(struct walk *w, size_t rows,
                           size_t columns); /* zeros that are kept until the walk ends */

/* The values of a site in the layer that the walk is in. */
const float *walk_value(const struct walk *w, enum site_branch branch, enum site id);

/* walk_show: add the seeds of a site to its gradient, and announce the gradient of each text. `own`
 * is the gradient of the first text; the other texts' gradients follow it in memory.
 * walk_show_rows: the same for a matrix of rows; the third: for rows with heads side by side. */
int walk_show(struct walk *w, enum site_branch branch, enum site id, struct tensor own);
int walk_show_rows(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient);
int walk_show_heads(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient,
                    size_t heads); /* heads are side by side in a row */

/* walk_gradient: where to add the gradient of a slot's parameter, in the tensor's gradient from its
 * expert or head on; NULL: it is not wanted. walk_add_sums: add all rows of sums to the gradient of
 * a bias, or of the scales or shift of a norm. */
float *walk_gradient(const struct walk *w, struct slot slot, struct family_layout *layout);
void walk_add_sums(const struct walk *w, struct slot slot, struct matrix sums);
void walk_scale(struct matrix x, float factor);

/* An operation on matrices that threads do in blocks of rows: `run` gets the rows of one block. A
 * sum over rows is made for each block, then over the blocks in their order: its bits do not depend
 * on the number of threads. */
struct row_operation {
    void (*run)(const struct row_operation *block);
    struct matrix y, x, more, dx, dy;
    struct matrix whole; /* memory for all blocks: transposed [columns, rows], or sums [blocks,
                          * …] */
    const void *own;     /* data of the operation */
    size_t first, index; /* index of the first row of this block; number of the block */
};

void walk_rows(const struct walk *w, struct matrix over, struct row_operation operation);

/* Steps of a product y = x · W + b. walk_product: y. walk_product_gradients: add the gradients of W
 * and b, summed in the order of rows. walk_weight_back: dx = dy · Wᵀ or, if `adds`, dx += dy · Wᵀ.
 * walk_product_back: both, with dx +=. walk_product_gradient: both, and returns the gradient of
 * x. */
struct matrix walk_product(struct walk *w, struct slot slot, struct matrix x);
int walk_product_gradients(struct walk *w, struct slot slot, struct matrix dy, struct matrix x);
int walk_weight_back(struct walk *w, struct matrix dx, struct matrix dy,
                     const struct weight *weight, bool adds);
int walk_product_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                      struct matrix x);
struct matrix walk_product_gradient(struct walk *w, struct slot slot, struct matrix dy,
                                    struct matrix x);

/* walk_normed: the norm of x. walk_norm_back: dx += the gradient of x, from dy, the gradient of
 * norm(x). */
struct matrix walk_normed(struct walk *w, struct slot slot, struct matrix x);
int walk_norm_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                   struct matrix x);

/* A slot of the layer that the walk is in. */
static inline struct slot walk_slot(const struct walk *w, enum site_branch branch, int id)
{
    return slot_of((int)branch, id, w->layer);
}

/* The embedding as the first layer reads it, after dropout. */
struct matrix walk_embedding(struct walk *w);

/* back_copies.c. walk_merge_back: from dx, the gradient of the merged stream, to the gradients of
 * the copies that leave the layer. Then, in the order of the walk: from walk_corrected, the
 * gradient of the reader of the corrected stream, to the stream that corrects the copies after a
 * sublayer; from the layer's input to the copies that enter the layer; from the first copies to the
 * embedding. Merging and predicting leave dx 0. */
int walk_merge_back(struct walk *w, struct matrix dx);
struct matrix walk_corrected(struct walk *w);
int walk_correct_back(struct walk *w, const struct sublayer *s, struct matrix dx);
int walk_predict_back(struct walk *w, struct matrix dx);
int walk_make_back(struct walk *w, struct matrix dx);

/* back_mlp.c: dx += the gradient of x, from d, the gradient of the hidden channels or, for a
 * mixture, of its output. */
int walk_mlp_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                  struct matrix d);

/* back_layer.c: dx, the gradient of the layer's output, becomes the gradient of its input.
 * w->dmemory gets its part. */
int walk_layer_back(struct walk *w, struct matrix dx);
