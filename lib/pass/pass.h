/* pass.h: the state of a forward pass (model, batch, buffers, tap), and the functions that share
 * it.
 *
 * A model with an encoder runs three passes: over the sources; over the texts, in the decoder; and
 * over the same texts for cross-attention, with the sources as keys. Only one layer runs at a time,
 * so one set of buffers is enough for all layers. */
#pragma once

#include "math/machine.h"
#include "model/config.h"
#include "pass/edit.h"
#include "pass/forward.h"
#include "model/layer.h"
#include "model/score_rule.h"
#include "model/site.h"
#include "model/weights.h"
#include "pass/tap.h"

/* --- buffers --------------------------------------------------------------------------------- */

enum {
    SPARE_ROWS = 16, /* rows of zeros after queries and values, because kernels read complete
                      * tiles */
    ATTENTION_MAPS = SITE_DIFFERENCE - SITE_SCORES + 1,
};

/* Memory of a layer's attention maps, [T, S] for each head. The tap lends the memory, or the maps
 * are in buffers of the pass, which go to the tap when they are complete. */
struct attention_maps {
    float **heads[ATTENTION_MAPS]; /* [text][head] maps of the running layer; NULL: the map is not
                                    * watched */
    float *own[ATTENTION_MAPS];    /* [text][H, T, S] buffers; NULL: the map is not watched, or the
                                    * tap lends memory */
    struct lent_maps {
        const size_t *rows; /* row of each query in the lent memory, or ATTENTION_NO_ROW (tap.h);
                             * NULL: query t has row t */
        attention_row_taker take;
    } * lent; /* [text]; NULL: the tap has no lender */
};

struct layer_keys {
    struct matrix k, v;
};

struct scratch {
    struct matrix x;        /* [T, C] the residual stream */
    struct matrix source;   /* [S, C] in cross-attention: the sources, which are the encoder's
                             * output or embeddings */
    struct matrix norm;     /* [T, C] the norm of the stream, which a sublayer or the unembedding
                             * reads */
    struct matrix q;        /* [T, H·dk] queries */
    struct matrix k;        /* [S, Hkv·dk] keys */
    struct matrix v;        /* [S, Hkv·dv] values */
    struct matrix narrow;   /* [T, channels] in latent attention: the narrow vectors from which q,
                             * or k and v, are made; in mixers: the narrow vectors from which step
                             * sizes or gates are made; with copies of the stream: the numbers that
                             * weight the copies */
    struct matrix k_plain;  /* [T, H·first] in latent attention: the channels of keys that are not
                             * rotated */
    struct matrix k_rotary; /* [T, components] in latent attention: the rotated channels of keys,
                             * which all heads share */
    struct matrix joined;   /* [1, 3C] q, k and v of one token, computed by one product */
    struct matrix context;  /* [T, H·dv] contexts of the heads */
    struct matrix sinks;    /* [T, H] the share of the softmax that each head's sink gets */
    struct matrix out;      /* [T, C] the output of the current sublayer */
    struct matrix hidden;   /* [T, I] hidden channels */
    struct matrix up;       /* [T, I] the output of the up projection in a gated MLP */
    struct matrix active;  /* the input of the sublayer's last matrix: [T, H·dv] contexts or [T, I]
                             * hidden channels, perhaps in memory that a tap lent */
    struct matrix router;  /* [T, E] logits of the experts */
    struct matrix experts; /* [T, E] weights of the experts */
    struct matrix gathered; /* [T, C] the rows that chose an expert; expert_out: the output of the
                             * expert for these rows */
    struct matrix expert_out;
    struct matrix rotations; /* [T, rotated channels] cosines and sines of the rotary embedding */
    struct matrix local;     /* [T, rotated channels] cosines and sines of config.rotary_local */
    struct matrix logits;    /* [T, V] logits; [texts, V] if only the last token of each text is
                              * watched */
    struct attention_maps maps;
    /* keys: [L] the buffers of k and v of each layer (NULL: no layer borrows keys, and all layers
     * share `k` and `v`). given: [T, L·channels] the extra input of each layer, made from the
     * embedding. beside: [T, C] the input of the experts, if it differs from the input of the MLP;
     * with latent experts: their input, then the sum of their outputs [T, 2 · latent]. */
    struct layer_keys *keys;
    struct matrix given, beside;
    /* copies: [T, N·C] the copies of the stream. before: [1, N·C] the copies of one token before
     * they change. */
    struct matrix copies, before;
    /* gate, gated: the gate, and the context multiplied by it [T, H·dv], in gated attention and in
     * mixers. The other matrices are only for mixers. unmixed, mixed: the input and the output of
     * the convolution, with q, k and v side by side. steps, decays, strengths: the step sizes, the
     * decays and the strengths of each token (mixer.c). taps: the taps and biases of the
     * convolution [taps + 1, channels]. */
    struct matrix gate, gated, unmixed, mixed, steps, decays, strengths, taps;
    struct mixer_memory *mixers;        /* NULL: the model has no mixers */
    struct attention_memory *attention; /* [thread] memory of attention, then [thread] more for
                                         * second heads with differential attention; NULL before the
                                         * first attention */
};

/* --- the pass -------------------------------------------------------------------------------- */

struct pass {
    struct machine *machine;
    const struct config *config;
    const struct stack *stack;
    struct weights *weights;
    const struct batch *batch;
    enum site_branch branch; /* the branch whose sites and slots functions of the pass use: text,
                              * source, cross-attention or mixer */
    size_t first_layer;      /* index of the stack's first layer among all layers (config_layers) */
    struct pass *cross;      /* the pass of cross-attention; NULL: the model has no
                              * cross-attention */
    struct tap *tap;
    size_t end;    /* site_order of the last value that is watched or stored in a cache; SIZE_MAX:
                    * run to the end */
    bool attended; /* scratch.context is already computed: the layer starts after its attention */
    struct dropout dropout;
    const struct edits *edits;           /* edits of the run; NULL: the run has no edits */
    const struct edit_token *edit_token; /* the token that all rows belong to; NULL: each row is a
                                          * token */
    struct scratch scratch;
    struct arena *arena; /* arena of the run */
    struct err *err;
};

/* pass_init: reserve the buffers of a pass, and memory in caches. pass_init_cross: make the pass of
 * cross-attention, which continues the stream of `pass`; the keys of `batch` are the sources. */
int pass_init(struct pass *pass);
int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch);

/* If products are in bf16, reserve memory for their rounded inputs, and set weights->widens if no
 * kernel multiplies bf16 pairs. */
int pass_hold_rounded(struct pass *pass);

/* If `keep`, add the tokens whose values this pass stored to the caches; otherwise remove them. */
void pass_end_caches(struct pass *pass, bool keep);

/* pass_memory_take: allocate the buffers of the layers, or only the buffer of the residual stream,
 * in the run's arena. pass_matrix: allocate one more matrix. */
int pass_memory_take(struct pass *pass, bool stream_alone);
int pass_matrix(struct pass *pass, struct matrix *matrix, size_t rows, size_t columns);

/* Return about how many bytes the buffers of passes need for a text of `tokens` tokens and a source
 * of the same length. Attention maps and the memory of threads are not included. */
size_t pass_memory_bytes(const struct config *config, size_t tokens);

/* --- steps; pass_state: whether the pass continues -------------------------------------------- */

enum pass_state {
    PASS_ON,     /* continue with the next step */
    PASS_OVER,   /* nothing that follows is watched or stored in a cache */
    PASS_FAILED, /* the message is in pass->err */
};

/* Do a step. Unless the pass continues, return the step's state from the calling function. */
#define PASS_TRY(step)                       \
    do {                                     \
        enum pass_state pass_state = (step); \
        if (pass_state != PASS_ON)           \
            return pass_state;               \
    } while (0)

/* The slot of a parameter in a layer, in the pass's branch. */
static inline struct slot pass_slot(const struct pass *pass, int id, size_t layer)
{
    return slot_of((int)pass->branch, id, layer);
}

/* pass_product: y = activation(x · W + b), with the parameters of a slot. pass_norm: y = norm of x,
 * or y = x if the option --without removes norms. */
enum pass_state pass_product(struct pass *pass, struct slot slot, struct matrix y, struct matrix x,
                             enum activation activation);
enum pass_state pass_norm(struct pass *pass, struct slot slot, struct matrix y, struct matrix x);

/* Apply edits to a value. If the value is watched, pass it to the tap for each text of the batch;
 * with a cache, only the rows of new tokens. Fails if a number passed to the tap is not finite,
 * unless the tap has the function `room`. */
enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* Pass a value to the tap as tap_rows does, but apply no edits. */
enum pass_state tap_unedited(struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* pass_edits: whether a site in a layer has edits. pass_edit_rows: apply these edits to the values
 * of all texts. */
bool pass_edits(const struct pass *pass, enum site site, size_t layer);
void pass_edit_rows(const struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* Return the memory that the tap provides for a site's values, as a matrix with the size of `own`;
 * `own` itself if the tap provides none. */
struct matrix pass_lent(const struct pass *pass, enum site site, size_t layer, struct matrix own);

/* Pass values of one text, which are known to be finite, to the tap. Returns like a sink: 0, or -1
 * with an error. */
int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values);

/* Whether a pass continues after a site: PASS_ON, or PASS_OVER if no later value is needed. */
enum pass_state pass_after(const struct pass *pass, enum site site, size_t layer);

/* The position at which a pass fails, for the error message. */
struct pass_position {
    enum site site;
    size_t layer;
    size_t text;
    size_t head; /* index of the head; NO_HEAD: the site has no heads */
};

#define NO_HEAD SIZE_MAX

/* pass_fail_number: fail because a value is not finite; the message names a parameter of the layer
 * that is not finite or, if all are finite, the position. pass_fail: fail with the message
 * "expected EXPECTED" and the position. pass_check_rows: check rows, and fail if a number is not
 * finite. */
enum pass_state pass_fail_number(struct pass *pass, const struct pass_position *position);
enum pass_state pass_fail(struct pass *pass, const struct pass_position *position,
                          const char *expected);
enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer,
                                struct matrix rows);

/* --- what must be computed -------------------------------------------------------------------- */

/* pass_watches: whether a site in a layer is watched. pass_goes_to: whether the value of a site, or
 * any later value, is watched or stored in a cache. */
bool pass_watches(const struct pass *pass, enum site id, size_t layer);
bool pass_goes_to(const struct pass *pass, enum site id, size_t layer);

/* A range of indices: first … first + count - 1. */
struct span {
    size_t first, count;
};

/* Return the heads of a site that a layer computes: only the watched heads; all heads if a cache or
 * a value after attention needs them, in mixers, or with differential attention. */
struct span pass_heads(const struct pass *pass, enum site site, size_t layer);

/* pass_rows: the rows of a text in the matrix of a site. pass_logit_rows: the rows of a text in
 * scratch.logits, which may have only the last token of each text. pass_heads_of: the number of
 * heads side by side in the matrix of a site in a layer; 1 if the site has no heads. */
struct batch_rows pass_rows(const struct pass *pass, enum site site, size_t text);
struct batch_rows pass_logit_rows(const struct pass *pass, size_t text);
size_t pass_heads_of(const struct pass *pass, enum site site, size_t layer);

/* Return the cache that has a text's keys and values: the text's own cache or, in cross-attention,
 * the cache of its source. NULL: there is no cache. */
struct cache *pass_cache(const struct pass *pass, size_t text);

/* The precision of attention in this pass: bf16 if attention is dense and the weights are rounded
 * to bf16 and multiplied as pairs; else float32. */
enum precision pass_attention_precision(const struct pass *pass);

/* --- the embedding: forward.c ----------------------------------------------------------------- */

/* Add the embeddings of segments and positions to the rows that embed_tokens computes; `past`
 * tokens of the text come before these rows. */
void embed_places(struct weights *weights, const struct config *config, const struct stack *stack,
                  const struct text *text, size_t past, struct matrix rows);

/* --- mixtures: mixture.c ------------------------------------------------------------------- */

/* scratch.out [T, C] = for each row of x [T, C], the sum of the outputs of its chosen experts times
 * their weights, plus the output of the shared expert if the mixture has one. Passes the sites
 * ln_experts, router, expert_weights and shared_out to the tap. */
enum pass_state mixture(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                        struct matrix x);

/* Remove the best expert from `left`, and return its index. near [E] becomes the softmax of `left`
 * over the best expert and the experts that are near it; other experts get 0. */
size_t mixture_choose_one(const struct mixture *m, float *near, float *left, const float *logits);

/* gate = min(gate, clamp); up is limited to the range from -clamp to clamp, then up_offset is
 * added. If gate_slope is not 0, gate is multiplied by gate_slope / 1.702, and up divided by it,
 * because quick_gelu has the slope 1.702. Returns the number by which gate was multiplied. */
float mlp_limit(const struct mlp_rule *rule, struct matrix gate, struct matrix up);

/* y = act(gate) · up, or act(gate) if up.data is NULL. With a clamp, gate and up are limited first
 * (mlp_limit), and y must be the same matrix as gate. If `active` is true, y is gate, to which act
 * has already been applied. */
void mlp_combine(struct machine *machine, const struct mlp_rule *rule, struct matrix y,
                 struct matrix gate, struct matrix up, bool active);

/* --- mixers: mixer.c ----------------------------------------------------------------------- */

/* Reserve the memory that all mixers of a pass use. */
int mixers_init(struct pass *pass);

/* scratch.active [T, H·dv] = the input of a mixer's last matrix, for x [T, C]. Passes the sites
 * from q_pre to gated to the tap. In texts with caches, the states in the cache are continued and
 * stored. */
enum pass_state mix(struct pass *pass, const struct mixer *mixer, size_t layer, struct matrix x);

/* gated = the context · gate(a product of x [T, C]), element by element. Passes the sites gate and
 * gated to the tap. */
enum pass_state gate_context(struct pass *pass, enum gate gate, size_t layer, struct matrix x);

/* --- attention: attention.c ------------------------------------------------------------------- */

/* Append the layer's keys and values to the caches of texts. */
void attention_store(struct pass *pass, const struct head_rule *heads, size_t layer);

/* scratch.context [T, H·dv] = weights · v for each head, with weights = softmax(rule(q · kᵀ)) in
 * dense attention. The context is not computed if neither it nor a later value is needed. Passes
 * the sites from scores to context to the tap. */
enum pass_state attention(struct pass *pass, const struct sublayer *s, size_t layer);

/* Return how many bytes `threads` threads need for attention in float32, for a text with `queries`
 * queries and `keys` keys; SIZE_MAX: the number overflows. */
size_t attention_bytes(const struct config *config, size_t queries, size_t keys, size_t threads);

/* Return how many bytes one thread needs for the rows of a map, if the tap's lender receives
 * rows. */
size_t attention_rows_bytes(size_t keys);

/* Reserve memory for the attention maps that are watched in any layer and not lent. */
int attention_maps_init(struct pass *pass);
