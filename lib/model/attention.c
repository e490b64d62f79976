#include "model/pass.h"

#include <stdatomic.h>
#include <stdint.h>

#include "math/rows.h"
#include "math/rng.h"
#include "model/attention_strip.h"

const struct attention_method *attention_method(enum attention_kind kind)
{
    static const struct attention_method *const methods[ATTENTION_KINDS] = {
        [ATTENTION_DENSE] = &attention_dense,     [ATTENTION_SPARSE] = &attention_sparse,
        [ATTENTION_LINEAR] = &attention_linear,   [ATTENTION_BLOCKED] = &attention_blocked,
        [ATTENTION_LOWRANK] = &attention_lowrank,
    };
    return methods[kind];
}

static const struct attention_method *method_of(const struct pass *pass)
{
    return attention_method(pass_attention_kind(pass));
}

static struct matrix head_part(struct matrix whole, struct span rows, size_t head, size_t width)
{
    return matrix_columns(matrix_rows(whole, rows.first, rows.count), head * width, width);
}

/* A number for a head: the same for all texts, so that what is drawn for one does not depend on
 * which others are looked at, nor in which order. */
static uint64_t dropout_key(const struct attention_layer *layer, size_t head)
{
    const struct pass *pass = layer->pass;
    uint64_t seed = splitmix64(splitmix64(pass->config->mechanism.seed));
    uint64_t place = layer->layer + ((uint64_t)pass->part << 32);
    return splitmix64(splitmix64(seed + place) + head);
}

static struct attention_head head_of(const struct attention_layer *layer, size_t text, size_t head)
{
    const struct pass *pass = layer->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t group = config_kv_head(c, head);
    struct span queries = pass->batch->queries[text];
    struct span keys = pass->batch->keys[text];
    return (struct attention_head){
        .layer = layer,
        .q = head_part(s->q, queries, head, c->d_k),
        .k = head_part(s->k, keys, group, c->d_k),
        .v = head_part(s->v, keys, group, c->d_v),
        .context = head_part(s->context, queries, head, c->d_v),
        .cache = pass_cache(pass, text),
        .text = text,
        .head = head,
        .group = group,
        .past = pass->batch->past[text],
        .keys = batch_keys(pass->batch, text),
        .scores = attention_maps_at(pass, SITE_SCORES, text, head),
        .softmax = attention_maps_at(pass, SITE_SOFTMAX, text, head),
        .masked = attention_maps_at(pass, SITE_MASKED, text, head),
        .weights = attention_maps_at(pass, SITE_WEIGHTS, text, head),
        .rows = s->maps.rows ? s->maps.rows[text] : NULL,
        .dropout_key = dropout_key(layer, head),
        .slope = score_slope(&layer->rule, head),
    };
}

static void note_fault(struct attention_layer *layer, size_t round, enum head_fault fault)
{
    size_t found = round * HEAD_FAULTS + fault;
    size_t lowest = atomic_load(&layer->first_fault);
    while (found < lowest)
        if (atomic_compare_exchange_weak(&layer->first_fault, &lowest, found))
            break;
}

static void compute_head(void *context, size_t round, size_t thread)
{
    struct attention_layer *layer = context;
    const struct pass *pass = layer->pass;
    size_t head = round % pass->config->n_head;
    struct span heads = pass_heads(pass, SITE_CONTEXT, layer->layer);
    if (head < heads.first || head >= heads.first + heads.count)
        return;
    struct attention_head job = head_of(layer, round / pass->config->n_head, head);
    job.memory = &pass->scratch.attention[thread];
    if (!layer->wants_context && !job.scores && !job.softmax && !job.masked && !job.weights)
        return;
    enum head_fault fault = method_of(pass)->compute(&job);
    nontemporal_fence();
    if (fault != HEAD_SOUND)
        note_fault(layer, round, fault);
}

/* About how many multiply-adds all heads take, so that the pool can judge. */
static double work_of(const struct pass *pass)
{
    const struct config *c = pass->config;
    double cells = 0;
    for (size_t s = 0; s < pass->batch->count; s++)
        cells += (double)pass->batch->queries[s].count * (double)batch_keys(pass->batch, s);
    return cells * (double)c->n_head * (double)(c->d_k + c->d_v);
}

static enum pass_state announce_all(struct pass *pass, size_t layer)
{
    for (enum site site = SITE_SCORES; site <= SITE_WEIGHTS; site++)
        PASS_TRY(attention_maps_announce(pass, site, layer));
    return tap_heads(pass, SITE_CONTEXT, layer, pass->scratch.context);
}

static void store_head(void *context, size_t round, size_t thread)
{
    const struct attention_layer *job = context;
    const struct pass *pass = job->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t text = round / c->n_kv_head;
    size_t group = round % c->n_kv_head;
    struct span rows = pass->batch->keys[text];
    struct cache *cache = pass_cache(pass, text);
    (void)thread;
    if (cache)
        cache_store(cache, job->layer, group, head_part(s->k, rows, group, c->d_k),
                    head_part(s->v, rows, group, c->d_v));
}

void attention_store(struct pass *pass, size_t layer)
{
    const struct config *c = pass->config;
    struct attention_layer job = {.pass = pass, .layer = layer};
    struct loop loop = {
        .rounds = pass->batch->count * c->n_kv_head,
        .work = (double)pass->batch->key_tokens * (double)(c->n_kv_head * (c->d_k + c->d_v)),
        .round = store_head,
    };
    pool_run(pass->machine->pool, loop, &job);
}

static int prepare(struct attention_layer *job)
{
    struct pass *pass = job->pass;
    if ((!pass->scratch.attention && attention_take_memory(pass)) ||
        attention_maps_begin(pass, job->layer))
        return -1;
    if (method_of(pass)->prepare)
        method_of(pass)->prepare(job);
    return 0;
}

enum pass_state attention(struct pass *pass, const struct score_rule *rule, size_t layer)
{
    struct attention_layer job = {
        .pass = pass,
        .layer = layer,
        .rule = *rule,
        .wants_context = pass_goes_to(pass, SITE_CONTEXT, layer),
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
    };
    size_t heads = pass->config->n_head;
    size_t rounds = pass->batch->count * heads;
    for (int i = 0; i < ATTENTION_MAPS; i++)
        job.edits |= (unsigned)pass_edits(pass, (enum site)(SITE_SCORES + i), layer) << i;
    if (score_rule_check(&job.rule, pass->err) || prepare(&job))
        return PASS_FAILED;
    atomic_init(&job.first_fault, rounds * HEAD_FAULTS);
    pool_run(pass->machine->pool,
             (struct loop){.rounds = rounds, .work = work_of(pass), .round = compute_head}, &job);
    size_t fault = atomic_load(&job.first_fault);
    size_t round = fault / HEAD_FAULTS;
    if (round == rounds)
        return announce_all(pass, layer);
    struct place_in_pass place = {SITE_SCORES, layer, round / heads, round % heads};
    if (fault % HEAD_FAULTS == HEAD_NO_NUMBER)
        return pass_fail_number(pass, &place);
    place.site = SITE_WEIGHTS;
    bool blind = fault % HEAD_FAULTS == HEAD_NO_KEY;
    return (blind ? pass_fail_sight : pass_fail_weight)(pass, &place);
}
