#include "model/pass.h"

#include "base/num.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/cache.h"
#include "model/layer.h"

enum attention_kind pass_attention_kind(const struct pass *pass)
{
    enum attention_kind kind = pass->config->mechanism.kind;
    return kind == ATTENTION_SPARSE && pass->part == PART_CROSS ? ATTENTION_DENSE : kind;
}

enum precision pass_attention_precision(const struct pass *pass)
{
    bool pairs = pass_attention_kind(pass) == ATTENTION_DENSE && !pass->weights->widens;
    return pairs ? pass->weights->precision : PRECISION_FP32;
}

struct cache *pass_cache(const struct pass *pass, size_t index)
{
    const struct text *text = &pass->batch->texts[index];
    return pass->part == PART_CROSS ? text->source_cache : text->cache;
}

static int reserve_caches(struct pass *pass)
{
    const struct batch *batch = pass->batch;
    for (size_t s = 0; s < batch->count; s++) {
        struct cache *cache = pass_cache(pass, s);
        if (cache &&
            cache_reserve(cache, pass_attention_precision(pass), batch->keys[s].count, pass->err))
            return -1;
    }
    return 0;
}

/* Compute the cosines and sines of rotary embeddings, once in each pass. */
static void pass_fill_waves(struct pass *pass)
{
    const struct config *c = pass->config;
    const struct scratch *scratch = &pass->scratch;
    const struct batch *batch = pass->batch;
    for (size_t s = 0; config_rotates(c) && s < batch->count; s++) {
        struct span rows = batch->queries[s];
        size_t past = batch->past[s];
        size_t length = num_max(past + rows.count, batch->texts[s].whole_count);
        rotary_fill(matrix_rows(scratch->waves, rows.first, rows.count), &c->rotary, past, length);
        if (c->rotary_local.components)
            rotary_fill(matrix_rows(scratch->local, rows.first, rows.count), &c->rotary_local, past,
                        length);
    }
}

int pass_hold_rounded(struct pass *pass)
{
    const struct config *c = pass->config;
    const struct batch *batch = pass->batch;
    size_t rows = num_max(batch->tokens, batch->source_tokens);
    size_t columns =
        num_max(num_max(c->n_head * c->d_v, c->n_embd), num_max(c->n_inner, c->n_word));
    if (pass->weights->precision != PRECISION_BF16)
        return 0;
    pass->weights->widens = kernels_pair_way(pass->machine->kernels) == PAIRS_NONE;
    return machine_hold_rounded(pass->machine, rows, columns, pass->err);
}

int pass_init(struct pass *pass)
{
    bool stream_alone = !pass->layers || !pass_goes_to(pass, SITE_RESID_PRE, 0);
    if (pass_memory_take(pass, stream_alone) || pass_hold_rounded(pass))
        return -1;
    if (stream_alone)
        return 0;
    pass_fill_waves(pass);
    return attention_maps_init(pass) || pass_memory_take_logits(pass) || reserve_caches(pass) ? -1
                                                                                              : 0;
}

int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch)
{
    *cross = *pass;
    cross->batch = batch;
    cross->part = PART_CROSS;
    cross->scratch.maps = (struct attention_maps){0};
    cross->scratch.attention = NULL;
    if (!pass_goes_to(pass, SITE_RESID_PRE, 0))
        return 0;
    return pass_memory_take_keys(cross) || attention_maps_init(cross) || reserve_caches(cross) ? -1
                                                                                               : 0;
}

static void end_cache(struct cache *cache, size_t past, size_t fresh, bool keep)
{
    if (cache && keep)
        cache_add(cache, fresh);
    else if (cache)
        cache_forget(cache, past);
}

void pass_end_caches(struct pass *pass, bool keep)
{
    const struct batch *batch = pass->batch;
    for (size_t s = 0; s < batch->count; s++) {
        const struct text *text = &batch->texts[s];
        end_cache(text->cache, batch->past[s], batch->queries[s].count, keep);
        end_cache(text->source_cache, batch->past_sources[s], batch->sources[s].count, keep);
    }
}

bool pass_watches(const struct pass *pass, enum site id, size_t layer)
{
    return watch_has(pass->tap->watch, SITE_OF(pass->part, id), layer);
}

bool pass_goes_to(const struct pass *pass, enum site id, size_t layer)
{
    return site_order(pass->config, SITE_OF(pass->part, id), layer) <= pass->end;
}

enum pass_state pass_after(const struct pass *pass, enum site id, size_t layer)
{
    return site_order(pass->config, SITE_OF(pass->part, id), layer) < pass->end ? PASS_ON
                                                                                : PASS_OVER;
}

struct span pass_heads(const struct pass *pass, enum site site, size_t layer)
{
    const struct watch *watch = pass->tap->watch;
    bool of_keys = site_row(site)->axes == AXES_GROUP_TOKEN_DIM;
    size_t heads = of_keys ? pass->config->n_kv_head : pass->config->n_head;
    size_t group = pass->config->n_head / heads;
    if (watch->head_count == 0 || pass_goes_to(pass, SITE_ATTN_OUT, layer) ||
        (of_keys && pass->batch->cached))
        return (struct span){0, heads};
    size_t first = watch->first_head / group;
    size_t last = (watch->first_head + watch->head_count - 1) / group;
    return (struct span){first, last + 1 - first};
}

struct norm_job {
    struct matrix y, x;
    const struct norm *norm;
};

enum { NORM_ROWS = 8 }; /* of a round */

static void norm_some(void *context, size_t round, size_t thread)
{
    const struct norm_job *job = context;
    size_t first = round * NORM_ROWS;
    size_t count = num_min(job->x.rows - first, NORM_ROWS);
    (void)thread;
    norm_rows(matrix_rows(job->y, first, count), matrix_rows(job->x, first, count), job->norm);
}

void pass_norm(const struct pass *pass, struct matrix y, struct matrix x, const struct norm *norm)
{
    enum { WORTH = 16 }; /* multiply-adds that take as long as what is done to an element */
    struct norm_job job = {y, x, norm};
    struct loop loop = {
        .rounds = (x.rows + NORM_ROWS - 1) / NORM_ROWS,
        .work = WORTH * (double)x.rows * (double)x.columns,
        .round = norm_some,
    };
    if (!mechanism_lacks(&pass->config->mechanism, PART_NORM))
        pool_run(pass->machine->pool, loop, &job);
    else if (y.data != x.data)
        copy_rows(y, x);
}

struct span pass_logit_rows(const struct pass *pass, size_t text)
{
    return pass->tap->watch->last_logits ? (struct span){text, 1} : pass->batch->queries[text];
}
