#include "model/attention.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/num.h"
#include "math/nontemporal.h"
#include "math/rng.h"
#include "model/attention_job.h"

static const struct attention_way *const ways[ATTENTION_KINDS] = {
    [ATTENTION_DENSE] = &attention_dense,
    [ATTENTION_SPARSE] = &attention_sparse,
    [ATTENTION_LINEAR] = &attention_linear,
    [ATTENTION_BLOCKED] = &attention_blocked,
};

static const struct attention_way *way_of(const struct pass *pass)
{
    return ways[pass_attention_kind(pass)];
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct attention_demand demand_of(const struct pass *pass)
{
    const struct batch *batch = pass->batch;
    struct attention_demand demand = {
        .config = pass->config,
        .queries = batch->longest_queries,
        .keys = batch->longest_keys,
        .scores = squares_are_wanted(pass, SITE_SCORES),
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
        .causal = batch->causal,
    };
    for (size_t s = 0; s < batch->count; s++)
        if (!pass_cache(pass, s) && batch->keys[s].count > demand.fresh_keys)
            demand.fresh_keys = batch->keys[s].count;
    for (int i = 0; i < SQUARES; i++)
        demand.squares |= squares_are_wanted(pass, (enum site)(SITE_SCORES + i));
    return demand;
}

/* The bytes of all parts, which are of floats or of what is as large; false: more than can be
 * counted. */
static bool add_up(size_t *bytes, const struct attention_size *size)
{
    const size_t pairs[][2] = {
        {size->panels, 1},
        {size->rows, size->stride},
        {size->rows, size->context_stride},
        {size->part_rows, size->context_stride},
        {size->row, 1},
        {size->sums, 1},
        {size->single_rows, size->single_room},
        {size->pairs.keys, 1},
        {size->pairs.values, 1},
        {size->pairs.queries, 1},
        {size->pairs.weights, 1},
    };
    *bytes = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t count = 0;
        if (!num_multiply(&count, pairs[i][0], pairs[i][1]) ||
            !num_multiply(&count, count, sizeof(float)) || !num_add(bytes, *bytes, count))
            return false;
    }
    return true;
}

/* What a pass of this kind over such a text takes for a thread. */
static bool count_bytes(size_t *bytes, enum attention_kind kind, struct attention_demand demand)
{
    struct attention_size size = {0};
    size_t more = 0;
    return ways[kind]->measure(&size, &demand) && add_up(&more, &size) &&
           num_add(bytes, *bytes, more);
}

size_t attention_bytes(const struct config *config, size_t queries, size_t keys)
{
    enum attention_kind kind = config->mechanism.kind;
    enum attention_kind across = kind == ATTENTION_SPARSE ? ATTENTION_DENSE : kind;
    struct attention_demand demand = {.config = config,
                                      .queries = queries,
                                      .keys = keys,
                                      .fresh_keys = keys,
                                      .causal = config->causal};
    struct attention_demand of_encoder = demand;
    size_t bytes = 0;
    of_encoder.causal = false;
    bool counted = count_bytes(&bytes, kind, demand);
    if (config->n_encoder_layer) /* three passes, each with its own */
        counted = counted && count_bytes(&bytes, kind, of_encoder) &&
                  count_bytes(&bytes, across, of_encoder);
    return counted ? bytes : SIZE_MAX;
}

size_t attention_whole_bytes(const struct config *config, size_t queries, size_t keys,
                             size_t threads)
{
    const struct mechanism *mechanism = &config->mechanism;
    size_t random = mechanism->kind == ATTENTION_SPARSE ? mechanism->pattern.random : 0;
    size_t drawn = 0;
    size_t bytes = 0;
    if (random)
        drawn = random + 1 < keys ? random + 1 : keys;
    if (config->n_encoder_layer) /* which draws its own */
        drawn *= 2;
    return num_multiply(&drawn, drawn, queries) && num_multiply(&drawn, drawn, sizeof(uint32_t)) &&
                   num_multiply(&bytes, attention_bytes(config, queries, keys), threads) &&
                   num_add(&bytes, bytes, drawn)
               ? bytes
               : SIZE_MAX;
}

static float *take_floats(struct pass *pass, size_t count)
{
    return arena_room(pass->arena, count, sizeof(float), pass->err);
}

static uint32_t *take_pairs(struct pass *pass, size_t count)
{
    return arena_alloc(pass->arena, count, sizeof(uint32_t), pass->err);
}

static int take_for_bf16(struct pass *pass, struct attention_pairs *pairs,
                         const struct attention_pairs_size *size)
{
    if (size->queries == 0)
        return 0;
    *pairs = (struct attention_pairs){
        .keys = take_pairs(pass, size->keys),
        .values = take_pairs(pass, size->values),
        .queries = take_pairs(pass, size->queries),
        .weights = take_pairs(pass, size->weights),
        .query_stride = size->query_stride,
        .weight_stride = size->weight_stride,
    };
    return pairs->keys && pairs->values && pairs->queries && pairs->weights ? 0 : -1;
}

static int take_for_thread(struct pass *pass, struct attention_memory *memory,
                           const struct attention_size *size)
{
    size_t singles = size->single_rows * size->single_room;
    *memory = (struct attention_memory){
        .panels = take_floats(pass, size->panels),
        .scores = take_floats(pass, size->rows * size->stride),
        .context = take_floats(pass, size->rows * size->context_stride),
        .part = take_floats(pass, size->part_rows * size->context_stride),
        .row = take_floats(pass, size->row),
        .sums = take_floats(pass, size->sums),
        .singles = arena_room(pass->arena, singles, sizeof(uint32_t), pass->err),
        .panel_slots = size->panels / (KEY_PANEL * pass->config->d_k),
        .stride = size->stride,
        .context_stride = size->context_stride,
        .single_room = size->single_room,
    };
    return memory->panels && memory->scores && memory->context && memory->part && memory->row &&
                   memory->sums && memory->singles
               ? take_for_bf16(pass, &memory->pairs, &size->pairs)
               : -1;
}

/* Every thread's working memory, for the longest sequence of the batch; one layer uses it after the
 * other. */
static int take_memory(struct pass *pass)
{
    size_t threads = pool_threads(pass->machine->pool);
    struct attention_demand demand = demand_of(pass);
    struct attention_size size = {0};
    size_t bytes = 0;
    if (!way_of(pass)->measure(&size, &demand) || !add_up(&bytes, &size))
        return err_memory(pass->err, SIZE_MAX);
    struct attention_memory *memory = arena_alloc(pass->arena, threads, sizeof *memory, pass->err);
    if (!memory)
        return -1;
    for (size_t t = 0; t < threads; t++)
        if (take_for_thread(pass, &memory[t], &size))
            return -1;
    pass->scratch.attention = memory;
    return 0;
}

/* --- the work --------------------------------------------------------------------------------- */

static struct matrix head_part(struct matrix whole, struct span rows, size_t head, size_t width)
{
    return matrix_columns(matrix_rows(whole, rows.first, rows.count), head * width, width);
}

/* A number for a head: the same for all texts, so that what is drawn for one does not depend on
 * which others are looked at, nor in which order. */
static uint64_t dropout_key(const struct layer_job *layer, size_t head)
{
    const struct pass *pass = layer->pass;
    uint64_t seed = splitmix64(splitmix64(pass->config->mechanism.seed));
    uint64_t place = layer->layer + ((uint64_t)pass->part << 32);
    return splitmix64(splitmix64(seed + place) + head);
}

static struct head_job job_of(const struct layer_job *layer, size_t sequence, size_t head)
{
    const struct pass *pass = layer->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t group = head / (c->n_head / c->n_kv_head);
    struct span queries = pass->batch->queries[sequence];
    struct span keys = pass->batch->keys[sequence];
    return (struct head_job){
        .layer = layer,
        .q = head_part(s->q, queries, head, c->d_k),
        .k = head_part(s->k, keys, group, c->d_k),
        .v = head_part(s->v, keys, group, c->d_v),
        .context = head_part(s->context, queries, head, c->d_v),
        .cache = pass_cache(pass, sequence),
        .sequence = sequence,
        .head = head,
        .group = group,
        .past = pass->batch->past[sequence],
        .keys = batch_keys(pass->batch, sequence),
        .scores = squares_at(pass, SITE_SCORES, sequence, head),
        .softmax = squares_at(pass, SITE_SOFTMAX, sequence, head),
        .masked = squares_at(pass, SITE_MASKED, sequence, head),
        .weights = squares_at(pass, SITE_WEIGHTS, sequence, head),
        .dropout_key = dropout_key(layer, head),
    };
}

/* Remember the fault of the lowest round. */
static void note_fault(struct layer_job *layer, size_t round, enum head_fault fault)
{
    size_t found = round * HEAD_FAULTS + fault;
    size_t lowest = atomic_load(&layer->first_fault);
    while (found < lowest)
        if (atomic_compare_exchange_weak(&layer->first_fault, &lowest, found))
            break;
}

/* One round: a head of a sequence. */
static void compute_head(void *context, size_t round, size_t thread)
{
    struct layer_job *layer = context;
    const struct pass *pass = layer->pass;
    size_t head = round % pass->config->n_head;
    struct span heads = pass_heads(pass, SITE_CONTEXT, layer->layer);
    if (head < heads.first || head >= heads.first + heads.count)
        return;
    struct head_job job = job_of(layer, round / pass->config->n_head, head);
    job.memory = &pass->scratch.attention[thread];
    if (!layer->wants_context && !job.scores && !job.softmax && !job.masked && !job.weights)
        return;
    enum head_fault fault = way_of(pass)->compute(&job);
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
    for (int site = SITE_SCORES; site <= SITE_WEIGHTS; site++)
        PASS_TRY(squares_announce(pass, (enum site)site, layer));
    return tap_heads(pass, SITE_CONTEXT, layer, pass->scratch.context);
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
    struct cache *cache = pass_cache(pass, sequence);
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
        .work = (double)pass->batch->key_tokens * (double)(c->n_kv_head * (c->d_k + c->d_v)),
        .round = store_head,
    };
    pool_run(pass->machine->pool, loop, &job);
}

static int prepare(struct layer_job *job)
{
    struct pass *pass = job->pass;
    if ((!pass->scratch.attention && take_memory(pass)) || squares_begin(pass, job->layer))
        return -1;
    return way_of(pass)->prepare(job);
}

enum pass_state attention(struct pass *pass, size_t layer)
{
    struct layer_job job = {
        .pass = pass,
        .layer = layer,
        .scale = mechanism_scale(pass->config, layer),
        .wants_context = pass_goes_to(pass, SITE_CONTEXT, layer),
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
        .masks_behind = pass->config->mechanism.renormalise && pass->batch->causal,
    };
    size_t heads = pass->config->n_head;
    size_t rounds = pass->batch->count * heads;
    if (prepare(&job))
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
    return pass_fail_weight(pass, &place);
}
