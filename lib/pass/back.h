/* back.h: gradients of a scalar at every site of a pass, and of the parameters: one walk back over
 * the sublayers of layer.h, after a pass whose values a tape keeps.
 *
 *     struct tape tape = {.arena = &arena};
 *     if (tape_run(&tape, &run, err)) ...                        (the pass)
 *     struct back back = {&run, &tape, seeds, 1, my_sink, mine};
 *     if (back_run(&back, err)) ...                              (the walk)
 *
 * The seeds define the scalar: they are its gradients at some sites, from which all others follow.
 * Divisors of norms, routing weights and caps have gradients; the choice of experts and of visible
 * keys has none. Weights, masked scores and scores of hidden keys, and weights of experts that were
 * not chosen, have the gradient 0; keys and values have the sum over the queries' heads that share
 * them. */
#pragma once

#include "pass/forward.h"
#include "pass/tap.h"

/* The values that a pass announced, dense, in `arena`. */
struct tape {
    struct arena *arena;
    bool lean;          /* keep only the values that a walk reads: no readers, no logits */
    size_t from;        /* of a lean tape: the first layer of the text that is kept, at whose input
                             the walk ends; 0: at the rows of tokens */
    bool streams;       /* of the text's layers but the last, keep only the stream that enters
                             each: the walk runs each again, to the same bits. Not if `lean` */
    struct arena layer; /* with `streams`, of the layer that the walk is in */
    struct arena scratch; /* of the pass and the walk, released by the caller; the arena's if not
                             `lean` */
    const float **values; /* [layers + 1][SITE_COUNT]; first those outside of layers */
};

/* Run a batch of texts of one length, with sources of one length, without a cache, and keep its
 * sites. Refused, as not supported: what tape_check refuses, before anything is run: edits,
 * attention that is not the model's own, and models without a walk back (features.h). */
int tape_run(struct tape *tape, const struct run *run, struct err *err);
int tape_check(const struct run *run, struct err *err);

/* The values of a site (layer -1: outside of layers): of maps [texts, H, T, S], of others the rows
 * of all texts, with the heads of a row side by side. NULL: there are none. */
const float *tape_of(const struct tape *tape, enum site site, int layer);

/* The gradient of the scalar at a site, as its values lie in a tape. */
struct back_seed {
    enum site site;
    int layer;
    const float *values;
};

/* A reader of the stream: queries, keys or values of a query head, or an MLP (SITE_MLP_OUT); and
 * the gradient [T, C] of the stream through it, and its norm, alone. */
struct back_reader {
    enum site site;
    size_t layer, head;
    struct matrix gradient;
};

typedef int reader_sink(void *context, const struct back_reader *reader, struct err *err);

/* A scalar of training: Σ factor · loss of a row, which is -log softmax(logits)[target], or of a
 * number (logit - target)². */
struct back_loss {
    const uint32_t *targets; /* [rows] or the bits of a float; BACK_NO_TARGET: the row has none */
    float factor;            /* 0: no gradient is needed */
    double *losses;          /* [rows] gets the loss; NaN: not finite */
    bool of_numbers;
};

#define BACK_NO_TARGET UINT32_MAX

struct back {
    const struct run *run; /* of the tape */
    struct tape *tape;
    const struct back_seed *seeds;
    size_t seed_count;
    const struct back_loss *loss; /* instead of seeds, after a lean tape; NULL: none */
    /* The gradients of parameters are added to these floats, by the index of weights_tensor, in the
     * layout of each tensor; NULL: none. Not with readers. */
    float *const *gradients;
    tap_sink sink; /* gets the gradient of each site, in the reverse order of the pass; or NULL */
    void *context;
    /* Gets each reader, layers in reverse; of cross-attention only queries; NULL: not called. */
    reader_sink *reader;
    /* Set by back_run, in the tape's arena: of the scaled rows of the table of tokens, unless the
     * walk ends before them. */
    struct matrix token_rows[BRANCH_CROSS];
};

int back_run(struct back *back, struct err *err);

/* --- shared by the files of the walk ---------------------------------------------------------- */

/* A walk back over a stack. Matrices that a function returns are in `arena`. */
struct walk {
    struct back *back;
    const struct run *run;
    const struct config *config;
    const struct stack *stack;
    size_t layer, texts, tokens; /* tokens: of each text in the stack */
    struct matrix memory;        /* [S, C] what cross-attention reads; no data: nothing */
    struct matrix dmemory;       /* its gradient, summed over the layers of the text */
    struct matrix read, dread;   /* the stream that a sublayer, or its norm, reads; its gradient */
    struct matrix (*lent)[2];    /* [layers] gradients of keys and values through later layers that
                                  * read them; no data: none */
    struct matrix dgiven;        /* of the inputs of single layers */
    struct matrix dcopies; /* [T, N·C] of copies of the stream; no data: there is one stream */
    struct matrix dfirst, dshared; /* gradients of the layer's input, and of a shared norm's result,
                                      of sublayers that do not read the stream; or no data */
    struct matrix turns[2][2];     /* cosines and sines [main, local][forth, back], once used */
    struct arena *arena;           /* of a sublayer */
    struct err *err;
};

/* A view of dense floats; a matrix of zeros, or with any numbers; a copy. Without data if there is
 * no memory. */
struct matrix walk_matrix(const float *data, size_t rows, size_t columns);
struct matrix walk_zeros(struct walk *w, size_t rows, size_t columns);
struct matrix walk_room(struct walk *w, size_t rows, size_t columns);
struct matrix walk_copy(struct walk *w, struct matrix x);
struct matrix walk_lasting(struct walk *w, size_t rows,
                           size_t columns); /* zeros for all the walk */

/* A site's values in the layer. */
const float *walk_value(const struct walk *w, enum site_branch branch, enum site id);

/* Add the seeds of a site to its gradient, and announce the gradient of each text. `own`: the first
 * text's, followed by the others'. The same of rows, and of heads. */
int walk_show(struct walk *w, enum site_branch branch, enum site id, struct tensor own);
int walk_show_rows(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient);
int walk_show_heads(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient,
                    size_t heads); /* side by side */

/* The gradient of the tensor of a slot, from its expert or head on; NULL: not wanted. Add the rows
 * of sums to the gradient of a bias, or of the scales or shift of a norm. */
float *walk_gradient(const struct walk *w, struct slot slot, struct family_layout *layout);
void walk_add_sums(const struct walk *w, struct slot slot, struct matrix sums);
void walk_scale(struct matrix x, float factor);

/* An operation on matrices, which threads do in blocks of rows: `run` gets the rows of a block.
 * Sums over rows are made for each block, and then over the blocks in order, so the bits do not
 * depend on the number of threads. */
struct row_operation {
    void (*run)(const struct row_operation *block);
    struct matrix y, x, more, dx, dy;
    struct matrix whole; /* for all blocks: [columns, rows] transposed, or [blocks, …] sums */
    const void *own;     /* of the operation */
    size_t first, index; /* the first row of this block; its number */
};

void walk_rows(const struct walk *w, struct matrix over, struct row_operation operation);

/* y = x · W + b, and back: the gradients of W and b, summed in the order of rows; dx = dy · Wᵀ,
 * or added to it; dx += and both; the gradient of x, and both. */
struct matrix walk_product(struct walk *w, struct slot slot, struct matrix x);
int walk_product_gradients(struct walk *w, struct slot slot, struct matrix dy, struct matrix x);
int walk_weight_back(struct walk *w, struct matrix dx, struct matrix dy,
                     const struct weight *weight, bool adds);
int walk_product_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                      struct matrix x);
struct matrix walk_product_gradient(struct walk *w, struct slot slot, struct matrix dy,
                                    struct matrix x);

/* y = the norm of x, and back: dx += the gradient of x, from dy, the gradient of y. */
struct matrix walk_normed(struct walk *w, struct slot slot, struct matrix x);
int walk_norm_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                   struct matrix x);

/* A slot of the layer. */
static inline struct slot walk_slot(const struct walk *w, enum site_branch branch, int id)
{
    return slot_of((int)branch, id, w->layer);
}

/* The embedding as layers read it, after dropout. */
struct matrix walk_embedding(struct walk *w);

/* back_copies.c. Merge: from dx, the gradient of the merged stream, to the copies that leave the
 * layer. Correct: from the gradient of the reader of the corrected stream, walk_corrected, to the
 * stream that corrects the copies after a sublayer. Predict: from the layer's input to the copies
 * that enter it. Make: to the embedding. Merge and predict leave dx 0. */
int walk_merge_back(struct walk *w, struct matrix dx);
struct matrix walk_corrected(struct walk *w);
int walk_correct_back(struct walk *w, const struct sublayer *s, struct matrix dx);
int walk_predict_back(struct walk *w, struct matrix dx);
int walk_make_back(struct walk *w, struct matrix dx);

/* back_mlp.c: dx += the gradient of x, from d, the gradient of the hidden channels, or of the
 * output of a mixture. */
int walk_mlp_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                  struct matrix d);

/* back_layer.c: dx, the gradient of the layer's output, becomes the gradient of its input; add to
 * the memory's. */
int walk_layer_back(struct walk *w, struct matrix dx);
