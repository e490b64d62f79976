/* back.h: gradients of a scalar at every site of a pass, and of the parameters, by backpropagation:
 * a backward pass, called the walk, over the sublayers of layer.h in reverse order, after a forward
 * pass whose values a tape keeps.
 *
 *     struct tape tape = {.arena = &arena};
 *     if (tape_run(&tape, &run, err)) ...                        (the pass)
 *     struct back back = {&run, &tape, seeds, 1, my_sink, mine};
 *     if (back_run(&back, err)) ...                              (the walk)
 *
 * The seeds define the scalar: they are its gradients at some sites, and all other gradients follow
 * from them. Divisors of norms, routing weights and caps have gradients; the choice of experts and
 * the choice of visible keys have none. For a hidden key, the gradients of its score, masked score
 * and weight are 0; so is the gradient of the weight of an expert that was not chosen. Gradients of
 * keys and values are sums over the query heads that share them. */
#pragma once

#include "pass/forward.h"
#include "pass/tap.h"

/* The values that a forward pass computed at its sites, as dense arrays in `arena`. */
struct tape {
    struct arena *arena;
    bool lean;          /* keep only the values that a backward pass from a loss reads: the tape has
                         * no logits, and back.reader must be NULL */
    size_t from;        /* with `lean`: index of the first layer of the text that is kept; the
                         * backward pass ends at the input of this layer. 0: it continues to the
                         * token embeddings */
    bool streams;       /* for each layer of the text but the last, keep only the stream that enters
                         * the layer: the backward pass runs the layer again, with the same bits.
                         * Cannot be combined with `lean` */
    struct arena layer; /* with `streams`: memory of the layer that the backward pass has reached */
    struct arena scratch; /* memory of the backward pass and, with `lean`, of the forward pass. With
                           * `lean` the caller releases it, otherwise back_run does */
    const float **values; /* [layers + 1][SITE_COUNT] values by site: first the sites outside of
                           * layers, then the sites of each layer */
};

/* tape_run: run a batch of texts of one length, with sources of one length, without a cache, and
 * keep the values of its sites. tape_check: before anything is run, set an error if the run has no
 * gradients: with edits, with attention that is not the model's own, or with a model whose
 * gradients are not supported (features.h). tape_run calls tape_check as well. */
int tape_run(struct tape *tape, const struct run *run, struct err *err);
int tape_check(const struct run *run, struct err *err);

/* Return the values of a site in a layer (-1: outside of layers). A map is [texts, H, T, S]; other
 * sites have the rows of all texts, with the heads of a row side by side. NULL: the tape has no
 * values of this site. */
const float *tape_of(const struct tape *tape, enum site site, int layer);

/* A seed: at one site, the gradient of the scalar whose gradients are wanted, in the same order as
 * the site's values in a tape. */
struct back_seed {
    enum site site;
    int layer;
    const float *values;
};

/* A reader of the stream: the queries, keys or values of one query head, or an MLP (SITE_MLP_OUT).
 * `gradient` [T, C] is the part of the stream's gradient that comes through this reader and its
 * norm. */
struct back_reader {
    enum site site;
    size_t layer, head;
    struct matrix gradient;
};

typedef int reader_sink(void *context, const struct back_reader *reader, struct err *err);

/* A scalar for training: the sum of factor · loss over the rows. The loss of a row is -log
 * softmax(logits)[target] or, if the target is a number, (logit - target)². */
struct back_loss {
    const uint32_t *targets; /* [rows]: an id, or the bits of a float if `of_numbers`;
                              * BACK_NO_TARGET: the row has no loss */
    float factor;            /* factor of each loss; 0: only the losses are computed, without
                              * gradients */
    double *losses;          /* [rows]: the loss of each row, set by back_run; NaN: the loss is not
                              * finite */
    bool of_numbers;
};

#define BACK_NO_TARGET UINT32_MAX

struct back {
    const struct run *run; /* the run of the pass that the tape keeps */
    struct tape *tape;
    const struct back_seed *seeds;
    size_t seed_count;
    const struct back_loss *loss; /* the loss whose gradients are wanted, in place of seeds, for a
                                   * lean tape; NULL: the seeds are used */
    /* [index that weights_tensor returns] memory in the layout of the tensor, to which its gradient
     * is added; NULL: the gradient is not wanted. Cannot be combined with readers. */
    float *const *gradients;
    tap_sink sink; /* receives the gradient of each site, in the reverse order of the pass; NULL:
                    * nothing receives them */
    void *context;
    /* Receives each reader, from the last layer to the first; in cross-attention only queries.
     * NULL: readers are not wanted. */
    reader_sink *reader;
    /* Set by back_run, in the tape's arena: the gradients of the scaled token embeddings, of the
     * text and of the source; no data if the backward pass ends before them. */
    struct matrix token_rows[BRANCH_CROSS];
};

int back_run(struct back *back, struct err *err);

/* --- shared by the files of the walk ---------------------------------------------------------- */

/* The state of the backward pass over a stack (text or source). Matrices that functions of the walk
 * return are in `arena`. */
struct walk {
    struct back *back;
    const struct run *run;
    const struct config *config;
    const struct stack *stack;
    size_t layer, texts, tokens; /* `tokens`: number of tokens of each text or, in the encoder's
                                  * stack, of each source */
    struct matrix memory;        /* [S, C] the encoder's output, which cross-attention reads; no
                                  * data: there are no sources */
    struct matrix dmemory;       /* gradient of `memory`, summed over the layers of the text */
    struct matrix read, dread;   /* the stream that a sublayer or its norm reads, and the gradient
                                  * of this stream */
    struct matrix (*lent)[2];    /* [layers][k, v] gradients of a layer's keys and values through
                                  * later layers that borrow them; no data: no layer borrows them */
    struct matrix dgiven;        /* gradient of the extra inputs of all layers (scratch.given in
                                  * pass.h) */
    struct matrix dcopies; /* [T, N·C]: gradient of the copies of the stream; no data: the stream
                            * has no copies */
    /* For sublayers that do not read the stream. dfirst: the gradient of the layer's input;
     * dshared: the gradient of a norm that two sublayers read. No data: there are no such
     * sublayers. */
    struct matrix dfirst, dshared;
    /* Cosines and sines for [main rotary embedding, local rotary embedding] and [forward,
     * backward], made on their first use. */
    struct matrix turns[2][2];
    struct arena *arena; /* memory that is cleared after each sublayer */
    struct err *err;
};

/* walk_matrix: return a view of dense floats. walk_zeros: return a new matrix of zeros. walk_room:
 * return a new matrix with undefined numbers. walk_copy: return a new copy of x. A new matrix has
 * no data if there is no memory. */
struct matrix walk_matrix(const float *data, size_t rows, size_t columns);
struct matrix walk_zeros(struct walk *w, size_t rows, size_t columns);
struct matrix walk_room(struct walk *w, size_t rows, size_t columns);
struct matrix walk_copy(struct walk *w, struct matrix x);
struct matrix walk_lasting(struct walk *w, size_t rows,
                           size_t columns); /* returns a matrix of zeros that is kept until the
                                             * backward pass ends */

/* Return the values of a site in the layer that the backward pass has reached. */
const float *walk_value(const struct walk *w, enum site_branch branch, enum site id);

/* walk_show: add the seeds of a site to its gradient, and pass the gradient of each text to the
 * sink. `own` is the gradient of the first text; the gradients of other texts follow it in memory.
 * walk_show_rows does this for a matrix of rows, walk_show_heads for rows with heads side by
 * side. */
int walk_show(struct walk *w, enum site_branch branch, enum site id, struct tensor own);
int walk_show_rows(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient);
int walk_show_heads(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient,
                    size_t heads); /* number of heads, which are side by side in a row */

/* walk_gradient: the address to which the gradient of a slot's parameter is added: in the gradient
 * of its tensor, at the numbers of the slot's expert or head if it has one; NULL: the gradient is
 * not wanted. walk_add_sums: add all rows of `sums` to the gradient of a bias, or of the scales or
 * shift of a norm. walk_scale: x = x · factor. */
float *walk_gradient(const struct walk *w, struct slot slot, struct family_layout *layout);
void walk_add_sums(const struct walk *w, struct slot slot, struct matrix sums);
void walk_scale(struct matrix x, float factor);

/* An operation on matrices that threads do in blocks of rows: `run` is called with the rows of one
 * block. A sum over rows is computed for each block, then over the blocks in their order: its bits
 * do not depend on the number of threads. */
struct row_operation {
    void (*run)(const struct row_operation *block);
    struct matrix y, x, more, dx, dy;
    struct matrix whole; /* memory for all blocks: a transposed matrix [columns, rows], or sums
                          * [blocks, …] */
    const void *own;     /* further data for `run` */
    size_t first, index; /* first: index of the first row of this block; index: index of the
                          * block */
};

void walk_rows(const struct walk *w, struct matrix over, struct row_operation operation);

/* Steps of a product y = x · W + b. walk_product: returns y. walk_product_gradients: add the
 * gradients of W and b, summed in the order of rows. walk_weight_back: dx = dy · Wᵀ or, if `adds`,
 * dx += dy · Wᵀ. walk_product_back: does walk_product_gradients, and dx += the gradient of x.
 * walk_product_gradient: does walk_product_gradients, and returns the gradient of x. */
struct matrix walk_product(struct walk *w, struct slot slot, struct matrix x);
int walk_product_gradients(struct walk *w, struct slot slot, struct matrix dy, struct matrix x);
int walk_weight_back(struct walk *w, struct matrix dx, struct matrix dy,
                     const struct weight *weight, bool adds);
int walk_product_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                      struct matrix x);
struct matrix walk_product_gradient(struct walk *w, struct slot slot, struct matrix dy,
                                    struct matrix x);

/* walk_normed: returns the norm of x. walk_norm_back: dx += the gradient of x, from dy, the
 * gradient of norm(x). */
struct matrix walk_normed(struct walk *w, struct slot slot, struct matrix x);
int walk_norm_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                   struct matrix x);

/* Return a slot of the layer that the backward pass has reached. */
static inline struct slot walk_slot(const struct walk *w, enum site_branch branch, int id)
{
    return slot_of((int)branch, id, w->layer);
}

/* Return the embedding as the first layer reads it, after dropout. */
struct matrix walk_embedding(struct walk *w);

/* back_copies.c. walk_merge_back: from dx, the gradient of the merged stream, to w->dcopies, the
 * gradients of the copies that leave the layer. walk_corrected: returns the corrected copy, after
 * scaling, which the next sublayer reads. walk_correct_back: dx, the gradient of the corrected
 * copy, becomes the gradient of the stream after sublayer s, which corrects the copies.
 * walk_predict_back: from dx, the gradient of the layer's input, to the gradients of the copies
 * that enter the layer. walk_make_back: dx += the gradient of the embedding, from the gradients of
 * the first layer's copies. walk_merge_back and walk_predict_back set dx to 0. */
int walk_merge_back(struct walk *w, struct matrix dx);
struct matrix walk_corrected(struct walk *w);
int walk_correct_back(struct walk *w, const struct sublayer *s, struct matrix dx);
int walk_predict_back(struct walk *w, struct matrix dx);
int walk_make_back(struct walk *w, struct matrix dx);

/* back_mlp.c: dx += the gradient of x, the input of an MLP, from d, the gradient of the hidden
 * channels or, with a mixture, of its output. */
int walk_mlp_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                  struct matrix d);

/* back_layer.c: dx, the gradient of the layer's output, becomes the gradient of its input.
 * Gradients through cross-attention are added to w->dmemory. */
int walk_layer_back(struct walk *w, struct matrix dx);
