/* pass.h: what the verbs of one forward pass share: the model, the batch, the buffers, the tap.
 *
 * With an encoder there are three: one over the sources; one over the texts, the decoder's; and
 * that one again where its queries look at the sources. One layer is in flight at a time, so the
 * buffers are one layer deep.
 */
#ifndef ATTN_MODEL_PASS_H
#define ATTN_MODEL_PASS_H

#include "math/machine.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/edit.h"
#include "model/tap.h"
#include "model/weights.h"

/* --- buffers --------------------------------------------------------------------------------- */

enum {
    SPARE_ROWS = 16, /* readable zero rows after all queries, and after all values: whole tiles */
    ATTENTION_MAPS = SITE_WEIGHTS - SITE_SCORES + 1,
};

/* Where a layer's attention maps, [T, S] of every head, are written: memory that the tap lends,
 * else a buffer of the pass that is announced. */
struct attention_maps {
    float **places[ATTENTION_MAPS]; /* [text][head] in the next layer; NULL: wanted in none */
    float *own[ATTENTION_MAPS];     /* [text][H, T, S] where they are not lent; NULL likewise */
    const size_t **rows;            /* [text] as in tap.h; NULL: none are lent */
};

struct scratch {
    struct matrix x;       /* [T, C] the residual stream */
    struct matrix source;  /* [S, C] cross-attention: what is looked at, of the sources' pass */
    struct matrix norm;    /* [T, C] */
    struct matrix q;       /* [T, H·dk] */
    struct matrix k;       /* [S, Hkv·dk] */
    struct matrix v;       /* [S, Hkv·dv] */
    struct matrix joined;  /* [1, 3C] all three of one token */
    struct matrix context; /* [T, H·dv] */
    struct matrix out;     /* [T, C] of attention, then of the MLP */
    struct matrix hidden;  /* [T, I] */
    struct matrix up;      /* [T, I] of a gated MLP */
    struct matrix waves;   /* [T, turning channels] by what queries and keys turn … */
    struct matrix local;   /* … and in layers that have their own */
    struct matrix logits;  /* [T, V], or [texts, V] where only the last are wanted */
    struct attention_maps maps;
    struct attention_memory *attention; /* [thread] what it works in, from the first layer on */
};

/* --- the pass -------------------------------------------------------------------------------- */

struct pass {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    enum site_part part; /* the texts' sites are named; these are what they stand for */
    size_t layers;       /* it goes through … */
    size_t first_layer;  /* … from which on, as layers are counted through: see config_layers */
    struct pass *cross;  /* the same texts, looking at their encoded sources; NULL: not so */
    struct tap *tap;
    bool attended; /* scratch.context is there: attention is not computed, nor what leads to it */
    const struct edits *edits;           /* NULL: none */
    const struct edit_token *edit_token; /* whose all rows are; NULL: each is of its own */
    struct scratch scratch;
    struct arena *arena; /* the run's */
    struct err *err;
};

/* Reserve the buffers that this pass will use, and room in caches; the pass again, with `batch`,
 * which looks at the sources, over the same stream. */
int pass_init(struct pass *pass);
int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch);

/* What products of bf16 round their inputs into. */
int pass_hold_rounded(struct pass *pass);

/* What was stored in the caches counts from now on; or it is forgotten. */
void pass_end_caches(struct pass *pass, bool keep);

/* Take what a pass uses from the run's arena: the buffers of its layers, or the stream alone; of
 * another pass over the same stream, keys and values; the logits, where they are watched. */
int pass_memory_take(struct pass *pass, bool stream_alone);
int pass_memory_take_keys(struct pass *pass);
int pass_memory_take_logits(struct pass *pass);

/* The bytes of the buffers of passes over one text of so many tokens, and of the logits where they
 * are watched; without attention maps and what threads work in. */
size_t pass_memory_bytes(const struct config *config, size_t tokens);
size_t pass_memory_logits_bytes(const struct config *config, size_t tokens);

/* --- steps: each says how the pass goes on --------------------------------------------------- */

enum pass_state {
    PASS_ON,     /* to the next step */
    PASS_OVER,   /* nothing further is watched or goes into a cache */
    PASS_FAILED, /* the message is in pass->err */
};

/* Do a step; where the pass doesn't go on, the function that does it returns. */
#define PASS_TRY(step)                       \
    do {                                     \
        enum pass_state pass_state = (step); \
        if (pass_state != PASS_ON)           \
            return pass_state;               \
    } while (0)

/* Take the stream scratch.x through a layer. */
enum pass_state block(struct pass *pass, size_t layer);

/* The stream from ids: token + position embedding of every text; or from another pass's, [T, C] of
 * each; and logits from its rows. */
enum pass_state embed(struct pass *pass);
enum pass_state embed_from(struct pass *pass, const float *const *streams);
enum pass_state unembed(struct pass *pass, struct matrix y);

/* Its parts: y in the channels of embeddings; logits [T, V] from that. */
int pass_project_out(struct pass *pass, struct matrix *y);
int pass_make_logits(struct pass *pass, struct matrix logits, struct matrix y);

/* Queries and keys as they meet, where norms of heads and positions make others of them; both are
 * watched. What they turn by is made once a pass. */
enum pass_state pass_place_heads(struct pass *pass, size_t layer,
                                 const struct attention_weights *w);
void pass_fill_waves(struct pass *pass);

/* y = x, normed; or x as it is, where norms are left out. */
void pass_norm(const struct pass *pass, struct matrix y, struct matrix x, const struct norm *norm);

/* Announce a value to the tap, for every text of the batch, of the new tokens where there is a
 * cache. Values that are not finite are a failure. */
enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows);
enum pass_state tap_heads(struct pass *pass, enum site site, size_t layer, struct matrix rows);
enum pass_state tap_logits(struct pass *pass);

/* Are there edits of what is announced there? Apply them to the values of every text. */
bool pass_edits(const struct pass *pass, enum site site, size_t layer);
void pass_edit_rows(const struct pass *pass, enum site site, size_t layer, struct matrix rows);
void pass_edit_logits(const struct pass *pass);

/* tap_… for one text and values that are known to be numbers. Returns as a sink does. */
int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values);

/* How a pass goes on after a site: PASS_ON or PASS_OVER. */
enum pass_state pass_after(const struct pass *pass, enum site site, size_t layer);

/* Where a value stands that is no number. */
struct place_in_pass {
    enum site site;
    size_t layer;
    size_t text;
    size_t head; /* NO_HEAD: the site has none */
};

#define NO_HEAD SIZE_MAX

/* Fail for a value that is no number: blame the parameter that caused it, or name the place; for a
 * row of weights that leaves nothing to divide by; for a query that sees no key; if rows hold
 * something that is no number. */
enum pass_state pass_fail_number(struct pass *pass, const struct place_in_pass *place);
enum pass_state pass_fail_weight(struct pass *pass, const struct place_in_pass *place);
enum pass_state pass_fail_sight(struct pass *pass, const struct place_in_pass *place);
enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer,
                                struct matrix rows);

/* --- what is wanted -------------------------------------------------------------------------- */

/* True when `site` of `layer` is watched; when anything from it on is, or goes into a cache; when
 * `own` is, or anything from `user` on, which is computed from it. */
bool pass_watches(const struct pass *pass, enum site site, size_t layer);
bool pass_goes_to(const struct pass *pass, enum site site, size_t layer);
bool pass_needs(const struct pass *pass, enum site own, enum site user, size_t layer);

/* The last site of a layer that anything watched, or a cache, is made from. */
enum site pass_last_site(const struct pass *pass, size_t layer);

/* The heads that this layer computes: those that are looked at, or all where anything after
 * attention, or a cache, is made of them. */
struct span pass_heads(const struct pass *pass, enum site site, size_t layer);

/* The rows of scratch.logits that belong to a text: one for each of its last rows. */
struct span pass_logit_rows(const struct pass *pass, size_t text);

/* Where the keys and values that a text looks at are kept: its cache, its source's, or NULL. */
struct cache *pass_cache(const struct pass *pass, size_t text);

/* How this pass attends: as the mechanism says, but a pattern is about a text that looks at itself:
 * to sources densely. And what it multiplies; a pattern and a running sum stay float32. */
enum attention_kind pass_attention_kind(const struct pass *pass);
enum precision pass_attention_precision(const struct pass *pass);

/* --- attention ------------------------------------------------------------------------------- */

/* Put the layer's keys and values of texts with a cache after what is in it. */
void attention_store(struct pass *pass, size_t layer);

/* context [T, H·dv] = softmax(q · kᵀ · scale) · v, head by head, from scratch; left out when
 * nothing after the weights is watched. Announces scores, masked, weights and context. */
enum pass_state attention(struct pass *pass, size_t layer);

/* What each thread works in, for a text of so many queries and keys; what all threads do together.
 */
size_t attention_bytes(const struct config *config, size_t queries, size_t keys);
size_t attention_whole_bytes(const struct config *config, size_t queries, size_t keys,
                             size_t threads);

/* In any layer. */
bool attention_maps_are_wanted(const struct pass *pass, enum site site);

/* Maps: reserve what is watched in any layer and not lent; find the places for a layer; the place
 * of one head's, NULL where it isn't wanted; announce what was not lent, which must be sound. */
int attention_maps_init(struct pass *pass);
int attention_maps_begin(struct pass *pass, size_t layer);
float *attention_maps_at(const struct pass *pass, enum site site, size_t text, size_t head);
enum pass_state attention_maps_announce(struct pass *pass, enum site site, size_t layer);

#endif
