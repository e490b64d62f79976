/* pass.h: the state of a forward pass (model, batch, buffers, tap) and the functions that it calls.
 *
 * With an encoder there are three passes: over the sources; over the texts, in the decoder; and
 * over the same texts for cross-attention, with the sources as keys. Only one layer runs at a time,
 * so there is one set of buffers for all layers. */
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
    SPARE_ROWS = 16, /* zero rows after queries and values: kernels read whole tiles */
    ATTENTION_MAPS = SITE_DIFFERENCE - SITE_SCORES + 1,
};

/* Memory of a layer's attention maps, [T, S] for each head: lent by the tap, or else a buffer of
 * the pass, which is then announced. */
struct attention_maps {
    float **heads[ATTENTION_MAPS]; /* [text][head] in the layer that runs; NULL: not watched */
    float *own[ATTENTION_MAPS];    /* [text][H, T, S]; NULL: not watched, or lent */
    struct lent_maps {
        const size_t *rows; /* as in site.h */
        attention_row_taker take;
    } * lent; /* [text] NULL: none are lent */
};

struct layer_keys {
    struct matrix k, v;
};

struct scratch {
    struct matrix x;        /* [T, C] the residual stream */
    struct matrix source;   /* [S, C] cross-attention: the sources, encoded or embedded */
    struct matrix norm;     /* [T, C] */
    struct matrix q;        /* [T, H·dk] */
    struct matrix k;        /* [S, Hkv·dk] */
    struct matrix v;        /* [S, Hkv·dv] */
    struct matrix narrow;   /* [T, channels] latent attention: what q, or k and v, come from; copies
                             * of the stream: numbers of theirs */
    struct matrix k_plain;  /* [T, H·first] channels of latent keys that are not rotated */
    struct matrix k_rotary; /* [T, components] rotated channels of keys, the same in all heads */
    struct matrix joined;   /* [1, 3C] q, k and v of one token */
    struct matrix context;  /* [T, H·dv] */
    struct matrix sinks;    /* [T, H] the share of the softmax of heads' sinks */
    struct matrix out;      /* [T, C] outputs: of attention, then of the MLP */
    struct matrix hidden;   /* [T, I] */
    struct matrix up;       /* [T, I] of a gated MLP */
    struct matrix active;   /* [T, I] the input of the last matrix of an MLP: `hidden`, or lent */
    struct matrix router;   /* [T, E] logits of the experts */
    struct matrix experts;  /* [T, E] weights of the experts */
    struct matrix gathered; /* [T, C] the input of one expert, then its output */
    struct matrix expert_out;
    struct matrix rotations; /* [T, rotated channels] cosines and sines of the rotary embedding */
    struct matrix local;     /* the same of config.rotary_local */
    struct matrix logits;    /* [T, V], or [texts, V] if only the last are watched */
    struct attention_maps maps;
    /* Of models with such layers: buffers of k and v of each layer, [L] (NULL: none is borrowed);
     * inputs of single layers [T, L·channels]; the input of experts beside the MLP [T, C]. */
    struct layer_keys *keys;
    struct matrix given, beside;
    struct matrix copies, before; /* [T, N·C] copies of the stream; one token's, [1, N·C] */
    /* Of gated attention, and of mixers: the gate, and the gated context [T, H·dv]. Of mixers: the
     * input of the convolution, and its output (q, k and v side by side, of mixers); the numbers of
     * steps, decays and strengths; taps of the convolution [taps + 1, channels]. */
    struct matrix gate, gated, unmixed, mixed, steps, decays, strengths, taps;
    struct mixer_memory *mixers;        /* NULL without mixers */
    struct attention_memory *attention; /* [thread] NULL before the first attention; then again
                                         * [thread] of second heads, in models that have them */
};

/* --- the pass -------------------------------------------------------------------------------- */

struct pass {
    struct machine *machine;
    const struct config *config;
    const struct stack *stack;
    struct weights *weights;
    const struct batch *batch;
    enum site_branch branch; /* the branch of the ids of sites that functions of the pass get */
    size_t first_layer;      /* of the stack, among all layers (config_layers) */
    struct pass *cross;      /* the pass of cross-attention; NULL: none */
    struct tap *tap;
    size_t end;    /* site_order of the last value that is watched or stored in a cache */
    bool attended; /* scratch.context is given: start after attention */
    struct dropout dropout;
    const struct edits *edits;           /* NULL: none */
    const struct edit_token *edit_token; /* the token of all rows; NULL: one for each row */
    struct scratch scratch;
    struct arena *arena; /* the run's */
    struct err *err;
};

/* Reserve the buffers of this pass, and memory in caches; make the pass of cross-attention over the
 * stream of `pass`; `batch` has the sources as keys. */
int pass_init(struct pass *pass);
int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch);

/* Reserve memory for the rounded inputs of bf16 products. */
int pass_hold_rounded(struct pass *pass);

/* Keep the values that this pass stored in caches, or remove them. */
void pass_end_caches(struct pass *pass, bool keep);

/* Allocate the buffers of the layers in the run's arena, or only the stream; one more matrix. */
int pass_memory_take(struct pass *pass, bool stream_alone);
int pass_matrix(struct pass *pass, struct matrix *matrix, size_t rows, size_t columns);

/* Bytes of the buffers of passes over a text of `tokens` tokens and a source as long, without
 * attention maps and the memory of threads. */
size_t pass_memory_bytes(const struct config *config, size_t tokens);

/* --- steps; pass_state: whether the pass continues -------------------------------------------- */

enum pass_state {
    PASS_ON,     /* continue with the next step */
    PASS_OVER,   /* nothing that follows is watched or stored in a cache */
    PASS_FAILED, /* the message is in pass->err */
};

/* Do a step; return from the function unless the pass continues. */
#define PASS_TRY(step)                       \
    do {                                     \
        enum pass_state pass_state = (step); \
        if (pass_state != PASS_ON)           \
            return pass_state;               \
    } while (0)

/* The slot of a parameter of a layer. */
static inline struct slot pass_slot(const struct pass *pass, int id, size_t layer)
{
    return slot_of((int)pass->branch, id, layer);
}

/* With a slot's parameters: y = activation(x · W + b); y = norm of x, or x with --without norm. */
enum pass_state pass_product(struct pass *pass, struct slot slot, struct matrix y, struct matrix x,
                             enum activation activation);
enum pass_state pass_norm(struct pass *pass, struct slot slot, struct matrix y, struct matrix x);

/* Apply edits to a value; if it is watched, announce it for each text of the batch, with a cache
 * only its new tokens. Fails if a number that is to be announced is not finite. */
enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* The same without edits. */
enum pass_state tap_unedited(struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* Whether there are edits of a site in a layer. Apply them to the values of all texts. */
bool pass_edits(const struct pass *pass, enum site site, size_t layer);
void pass_edit_rows(const struct pass *pass, enum site site, size_t layer, struct matrix rows);

/* The memory that a tap has for the values of a site, with the size of `own`; or `own`. */
struct matrix pass_lent(const struct pass *pass, enum site site, size_t layer, struct matrix own);

/* Announce values of one text that are known to be finite. Returns as a sink does. */
int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values);

/* Whether a pass continues after a site: PASS_ON or PASS_OVER. */
enum pass_state pass_after(const struct pass *pass, enum site site, size_t layer);

/* Where a pass fails. */
struct pass_position {
    enum site site;
    size_t layer;
    size_t text;
    size_t head; /* NO_HEAD: the site has none */
};

#define NO_HEAD SIZE_MAX

/* Fail because of a value that is not finite: the message names a parameter of the layer that is
 * not finite, or else the position. Fail with "expected EXPECTED", which also says what was found.
 * Check rows, and fail if a number is not finite. */
enum pass_state pass_fail_number(struct pass *pass, const struct pass_position *position);
enum pass_state pass_fail(struct pass *pass, const struct pass_position *position,
                          const char *expected);
enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer,
                                struct matrix rows);

/* --- what must be computed -------------------------------------------------------------------- */

/* Whether a site of a layer is watched; whether it or a later value is watched or cached. */
bool pass_watches(const struct pass *pass, enum site id, size_t layer);
bool pass_goes_to(const struct pass *pass, enum site id, size_t layer);

/* Indices first … first + count - 1. */
struct span {
    size_t first, count;
};

/* The heads of a site that a layer computes: the watched ones, or all if anything after attention,
 * or a cache, needs them. */
struct span pass_heads(const struct pass *pass, enum site site, size_t layer);

/* The rows of a text in the matrix of a site; in scratch.logits, which may have only its last row.
 * The number of heads side by side in that matrix, of a layer; 1 if the site has none. */
struct batch_rows pass_rows(const struct pass *pass, enum site site, size_t text);
struct batch_rows pass_logit_rows(const struct pass *pass, size_t text);
size_t pass_heads_of(const struct pass *pass, enum site site, size_t layer);

/* The cache with the keys and values of a text: its own, its source's, or NULL. */
struct cache *pass_cache(const struct pass *pass, size_t text);

/* The precision of attention in this pass: bf16 if attention is dense and matrices are rounded to
 * pairs; else float32. */
enum precision pass_attention_precision(const struct pass *pass);

/* --- the embedding: forward.c ----------------------------------------------------------------- */

/* To rows of embed_tokens, add the embeddings of segments, and of positions after `past` tokens. */
void embed_places(struct weights *weights, const struct config *config, const struct stack *stack,
                  const struct text *text, size_t past, struct matrix rows);

/* --- mixtures: mixture.c ------------------------------------------------------------------- */

/* out [T, C], in scratch, = the weighted outputs of the experts that are chosen for each row of x
 * [T, C], and of the shared one. Experts that no row chooses are not read. Announces ln_experts,
 * router, expert_weights and shared_out. */
enum pass_state mixture(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                        struct matrix x);

/* Remove the best expert from `left`, and return it. near [E] = its softmax among those near it. */
size_t mixture_choose_one(const struct mixture *m, float *near, float *left, const float *logits);

/* gate = min(gate, clamp), up = up within ±clamp, + offset. With another slope s than quick_gelu's
 * the gate is multiplied by s / 1.702, and up divided by it. Returns this factor, or 1. */
float mlp_limit(const struct mlp_rule *rule, struct matrix gate, struct matrix up);

/* y = act(gate) · up; without data in `up`, act(gate). With a clamp y is gate, as mlp_rule says.
 * `active`: y is gate, and has act(gate). */
void mlp_combine(struct machine *machine, const struct mlp_rule *rule, struct matrix y,
                 struct matrix gate, struct matrix up, bool active);

/* --- mixers: mixer.c ----------------------------------------------------------------------- */

/* Reserve what all mixers of a pass use. */
int mixers_init(struct pass *pass);

/* scratch.active [T, H·dv] = the input of the last matrix of a mixer, for x [T, C]. Announces the
 * sites from q_pre to gated; continues and stores the states of texts with caches. */
enum pass_state mix(struct pass *pass, const struct mixer *mixer, size_t layer, struct matrix x);

/* gated = the context · function of a product of x [T, C], channel by channel. Announces gate and
 * gated. */
enum pass_state gate_context(struct pass *pass, enum gate gate, size_t layer, struct matrix x);

/* --- attention: attention.c ------------------------------------------------------------------- */

/* Append the layer's keys and values to the caches of texts. */
void attention_store(struct pass *pass, const struct head_rule *heads, size_t layer);

/* context [T, H·dv] = softmax(rule(q · kᵀ)) · v for each head, in scratch; without the context if
 * neither it nor a later value is needed. Announces the sites from scores to context. */
enum pass_state attention(struct pass *pass, const struct sublayer *s, size_t layer);

/* Bytes that threads need for a text with these numbers of queries and keys, in float32. */
size_t attention_bytes(const struct config *config, size_t queries, size_t keys, size_t threads);

/* Bytes of the rows of a map that one thread holds for a lender of rows. */
size_t attention_rows_bytes(size_t keys);

/* Reserve memory for the attention maps that are watched in any layer and not lent. */
int attention_maps_init(struct pass *pass);
