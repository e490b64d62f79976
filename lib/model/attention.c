#include "model/attention.h"

#include <stdatomic.h>

#include "model/attention_dense.h"

static struct matrix head_part(struct matrix whole, struct span rows, size_t head, size_t width)
{
    return matrix_columns(matrix_rows(whole, rows.first, rows.count), head * width, width);
}

/* One round: a head of a sequence. */
static void compute_head(void *context, size_t round, size_t thread)
{
    struct layer_job *layer = context;
    const struct pass *pass = layer->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t sequence = round / c->n_head;
    size_t head = round % c->n_head;
    size_t group = head / (c->n_head / c->n_kv_head);
    struct span heads = pass_heads(pass, SITE_CONTEXT, layer->layer);
    struct span queries = pass->batch->queries[sequence];
    struct span keys = pass->batch->keys[sequence];
    if (head < heads.first || head >= heads.first + heads.count)
        return;
    struct head_job job = {
        .layer = layer,
        .memory = &s->strips[thread],
        .q = head_part(s->q, queries, head, c->d_k),
        .k = head_part(s->k, keys, group, c->d_k),
        .v = head_part(s->v, keys, group, c->d_v),
        .context = head_part(s->context, queries, head, c->d_v),
        .cache = pass->batch->sequences[sequence].cache,
        .group = group,
        .past = pass->batch->past[sequence],
        .keys = batch_keys(pass->batch, sequence),
        .scores = squares_at(pass, SITE_SCORES, sequence, head),
        .masked = squares_at(pass, SITE_MASKED, sequence, head),
        .weights = squares_at(pass, SITE_WEIGHTS, sequence, head),
    };
    if (!layer->wants_context && !job.scores && !job.masked && !job.weights)
        return;
    bool sound = attention_dense_head(&job);
    size_t lowest = atomic_load(&layer->first_failure);
    while (!sound && round < lowest)
        if (atomic_compare_exchange_weak(&layer->first_failure, &lowest, round))
            break;
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

static bool announce_all(struct pass *pass, size_t layer)
{
    return squares_announce(pass, SITE_SCORES, layer) ||
           squares_announce(pass, SITE_MASKED, layer) ||
           squares_announce(pass, SITE_WEIGHTS, layer) ||
           tap_heads(pass, SITE_CONTEXT, layer, pass->scratch.context);
}

/* One round: a key/value head of a sequence. */
static void store_head(void *context, size_t round, size_t thread)
{
    const struct layer_job *job = context;
    const struct pass *pass = job->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t sequence = round / c->n_kv_head;
    size_t group = round % c->n_kv_head;
    struct span rows = pass->batch->keys[sequence];
    struct cache *cache = pass->batch->sequences[sequence].cache;
    (void)thread;
    if (cache)
        cache_store(cache, job->layer, group, head_part(s->k, rows, group, c->d_k),
                    head_part(s->v, rows, group, c->d_v));
}

void attention_store(struct pass *pass, size_t layer)
{
    const struct config *c = pass->config;
    struct layer_job job = {.pass = pass, .layer = layer};
    struct loop loop = {
        .rounds = pass->batch->count * c->n_kv_head,
        .work = (double)pass->batch->tokens * (double)(c->n_kv_head * (c->d_k + c->d_v)),
        .round = store_head,
    };
    pool_run(pass->machine->pool, loop, &job);
}

bool attention(struct pass *pass, size_t layer)
{
    struct layer_job job = {
        .pass = pass,
        .layer = layer,
        .scale = config_scale(pass->config, layer),
        .wants_context = pass_goes_to(pass, SITE_CONTEXT, layer),
    };
    size_t heads = pass->config->n_head;
    size_t rounds = pass->batch->count * heads;
    if ((!pass->scratch.strips && attention_dense_take(pass)) || squares_begin(pass, layer)) {
        pass->tap->failed = true;
        return true;
    }
    atomic_init(&job.first_failure, rounds);
    attention_dense_prepare(&job);
    pool_run(pass->machine->pool,
             (struct loop){.rounds = rounds, .work = work_of(pass), .round = compute_head}, &job);
    size_t failure = atomic_load(&job.first_failure);
    if (failure < rounds)
        return pass_fail_number(
            pass, &(struct place_in_pass){SITE_SCORES, layer, failure / heads, failure % heads});
    return announce_all(pass, layer);
}

size_t attention_bytes(const struct config *config, size_t queries, size_t keys)
{
    return attention_dense_bytes(config, queries, keys);
}
