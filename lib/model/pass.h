/* pass.h: what the verbs of one forward pass share: the model, the batch, the buffers, the tap.
 *
 * With an encoder there are three: one over the sources; one over the sentences, the decoder's; and
 * that one again where its queries look at the sources, with keys and values of its own.
 *
 * One layer is in flight at a time, so the buffers are one layer deep: pass_memory.h. Squares of
 * scores, masked and weights exist only while they are watched: squares.h.
 */
#ifndef ATTN_MODEL_PASS_H
#define ATTN_MODEL_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/machine.h"
#include "math/tensor.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/pass_memory.h"
#include "model/tap.h"
#include "model/weights.h"

struct pass {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    enum site_part part; /* the sentences' sites are named; these are what they stand for */
    size_t layers;       /* it goes through … */
    size_t first_layer;  /* … from which on, as layers are counted through: see config_layers */
    struct pass *cross;  /* the same sentences, looking at their encoded sources; NULL: they do not
                          */
    struct tap *tap;
    struct scratch scratch;
    struct arena *arena; /* the run's */
    struct err *err;
};

/* Reserve the buffers that this pass will use, and no others; in caches, room for its tokens, or in
 * those of sources for them. */
int pass_init(struct pass *pass);

/* The pass again, with `batch`, which looks at the sources: its stream and the buffers of what it
 * computes from that are the same ones. */
int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch);

/* What was stored in the caches counts from now on; or it is forgotten. */
void pass_keep_caches(struct pass *pass);
void pass_forget_caches(struct pass *pass);

/* Announce a value to the tap, for every sequence of the batch; see tap.h. All return true when the
 * pass is over: nothing further is watched or goes into a cache, or something failed
 * (pass->tap->failed, with the message in pass->err). Values that are not finite are such a
 * failure. Of a sequence with a cache the new tokens are announced, and how they see all others. */
bool tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows);
bool tap_heads(struct pass *pass, enum site site, size_t layer, struct matrix rows);
bool tap_logits(struct pass *pass);

/* The same for one sequence and values that are known to be numbers; and whether the pass is over
 * behind a site. */
void tap_show(struct pass *pass, enum site site, size_t layer, size_t sequence,
              struct tensor values);
bool pass_is_over(const struct pass *pass, enum site site, size_t layer);

/* y = x, normed; or x as it is, where norms are left out. */
void pass_norm(const struct pass *pass, struct matrix y, struct matrix x, const struct norm *norm);

/* True when `site` of `layer` is watched; when anything from it on is, or goes into a cache. */
bool pass_watches(const struct pass *pass, enum site site, size_t layer);
bool pass_goes_to(const struct pass *pass, enum site site, size_t layer);

/* Where the keys and values that a sequence looks at are kept: its cache, or its source's; NULL:
 * nowhere. */
struct cache *pass_cache(const struct pass *pass, size_t sequence);

/* The last site of a layer that anything watched, or a cache, is made from. */
enum site pass_last_site(const struct pass *pass, size_t layer);

/* True when `own` is wanted in this layer, or anything from `user` on, which is computed from it.
 */
bool pass_needs(const struct pass *pass, enum site own, enum site user, size_t layer);

/* The heads of q, k, v or what is made of them that this layer computes: those that are looked at,
 * or all where anything behind attention, or a cache, is made of them. */
struct span pass_heads(const struct pass *pass, enum site site, size_t layer);

/* How this pass attends: as the mechanism says, but to the sources of an encoder always densely
 * where that is a pattern, which is about a text that looks at itself. */
enum attention_kind pass_attention_kind(const struct pass *pass);

/* What attention multiplies: bf16 where the other products do. A pattern that picks out single keys
 * and a running sum stay float32. */
enum precision pass_attention_precision(const struct pass *pass);

/* The columns of scratch.logits, in bf16 its rows, that belong to a sequence: one for each of its
 * last rows. */
struct span pass_logit_rows(const struct pass *pass, size_t sequence);

/* Where a value stands that is no number. */
struct place_in_pass {
    enum site site;
    size_t layer;
    size_t sequence;
    size_t head; /* NO_HEAD: the site has none */
};

#define NO_HEAD SIZE_MAX

/* Fail for a value that is no number: blame the parameter that caused it, or name the place.
 * Returns true, as the taps do. */
bool pass_fail_number(struct pass *pass, const struct place_in_pass *place);

/* Fail for a row of weights that leaves nothing to divide by. */
bool pass_fail_weight(struct pass *pass, const struct place_in_pass *place);

/* The same, if the rows of any sequence hold something that is no number; false when all is well.
 */
bool pass_check_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows);

#endif
