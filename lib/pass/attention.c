/* attention.c: attention in a layer: the memory of threads and of attention maps, and the loop over
 * the heads of all texts, each of which a function of the mechanism computes. */

#include "base/num.h"
#include "math/rng.h"
#include "math/rows.h"
#include "pass/attention_strip.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- methods ---------------------------------------------------------------------------------- */

static const struct attention_method *const methods[ATTENTION_KINDS] = {
    [ATTENTION_DENSE] = &attention_dense,     [ATTENTION_SPARSE] = &attention_sparse,
    [ATTENTION_LINEAR] = &attention_linear,   [ATTENTION_BLOCKED] = &attention_blocked,
    [ATTENTION_LOWRANK] = &attention_lowrank,
};

/* --- memory of threads ------------------------------------------------------------------------ */

/* Compute the sizes of a thread's buffers, large enough for all layers of one branch (text, source
 * or cross-attention), and their sum in bytes. Returns false if a size overflows. */
static bool measure(struct attention_size *size, size_t *bytes, struct attention_problem *problem,
                    enum site_branch branch)
{
    *size = (struct attention_size){.rows = 0};
    *bytes = 0;
    for (size_t layer = 0; layer < stack_of(problem->config, branch)->layers; layer++) {
        struct attention_size own = {.rows = 0};
        problem->attention = attention_of(problem->config, branch, layer);
        if (!problem->attention)
            continue;
        if (!methods[problem->attention->score.kind]->measure(&own, problem))
            return false;
        for (size_t i = 0; i < ATTENTION_BUFFERS; i++)
            size->counts[i] = num_max(size->counts[i], own.counts[i]);
        size->strides.scores = num_max(size->strides.scores, own.strides.scores);
        size->strides.context = num_max(size->strides.context, own.strides.context);
        size->strides.query = num_max(size->strides.query, own.strides.query);
        size->strides.weight = num_max(size->strides.weight, own.strides.weight);
        size->rows = num_max(size->rows, own.rows);
        size->part_rows = num_max(size->part_rows, own.part_rows);
    }
    if (!num_multiply(&size->scores, size->rows, size->strides.scores) ||
        !num_multiply(&size->context, size->rows, size->strides.context) ||
        !num_multiply(&size->part, size->part_rows, size->strides.context))
        return false;
    for (size_t i = 0; i < ATTENTION_BUFFERS; i++) {
        size_t of_buffer = 0;
        if (!num_multiply(&of_buffer, size->counts[i], sizeof(float)) ||
            !num_add(bytes, *bytes, of_buffer))
            return false;
    }
    return true;
}

/* Return how many attention memories a thread needs: 2 with differential attention, which computes
 * two heads at a time, otherwise 1. */
static size_t memories(const struct config *config)
{
    return config->differs ? 2 : 1;
}

size_t attention_bytes(const struct config *config, size_t queries, size_t keys, size_t threads)
{
    struct attention_problem problem = {
        .config = config, .queries = queries, .keys = keys, .fresh_keys = keys};
    enum site_branch last = has_encoder(config) ? BRANCH_CROSS : BRANCH_TEXT;
    size_t all = 0;
    for (enum site_branch branch = BRANCH_TEXT; branch <= last;
         branch++) { /* text, source and cross-attention have separate memory, so the sizes are
                      * added */
        struct attention_size size;
        size_t bytes = 0;
        if (!measure(&size, &bytes, &problem, branch) || !num_add(&all, all, bytes))
            return SIZE_MAX;
    }
    return num_multiply(&all, all, threads * memories(config)) ? all : SIZE_MAX;
}

/* Whether an attention map exists in the model and is watched in a layer. */
static bool map_is_wanted(const struct pass *pass, size_t map, size_t layer)
{
    enum site site = (enum site)(SITE_SCORES + map);
    return pass_watches(pass, site, layer) &&
           site_exists(pass->config, SITE_OF(pass->branch, site));
}

/* Allocate memory for each thread, enough for the longest text of the batch. All layers share the
 * memory. */
static int take_memory(struct pass *pass)
{
    size_t threads = pool_threads(pass->machine->pool) * memories(pass->config);
    const struct batch *batch = pass->batch;
    struct attention_problem problem = {
        .config = pass->config,
        .queries = batch->longest_queries,
        .keys = batch->longest_keys,
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
    };
    for (size_t s = 0; s < batch->count; s++)
        if (!pass_cache(pass, s) && batch->keys[s].count > problem.fresh_keys)
            problem.fresh_keys = batch->keys[s].count;
    for (size_t map = 0; map < ATTENTION_MAPS; map++)
        problem.maps |= pass->scratch.maps.heads[map] != NULL;

    struct attention_size size;
    size_t bytes = 0;
    if (!measure(&size, &bytes, &problem, pass->branch))
        return err_memory(pass->err, SIZE_MAX);
    struct attention_memory *memory = arena_alloc(pass->arena, threads, sizeof *memory, pass->err);
    if (!memory)
        return -1;
    for (size_t i = 0; i < threads * ATTENTION_BUFFERS; i++) {
        struct attention_memory *own = &memory[i / ATTENTION_BUFFERS];
        size_t buffer = i % ATTENTION_BUFFERS, count = size.counts[buffer];
        bool zeroed = buffer >= FIRST_OF_PAIRS;
        own->strides = size.strides;
        if (count && !(own->buffers[buffer] = (zeroed ? arena_alloc : arena_room)(
                           pass->arena, count, sizeof(float), pass->err)))
            return -1;
    }
    pass->scratch.attention = memory;
    return 0;
}

/* --- attention maps --------------------------------------------------------------------------- */

static size_t cells_of(const struct pass *pass, size_t text)
{
    return pass->batch->queries[text].count * batch_keys(pass->batch, text);
}

int attention_maps_init(struct pass *pass)
{
    struct attention_maps *maps = &pass->scratch.maps;
    const struct batch *batch = pass->batch;
    size_t heads = batch->count * pass->stack->heads;
    size_t total = 0; /* number of floats in one map of all heads of all texts */
    for (size_t s = 0; s < batch->count; s++) {
        size_t cells = 0;
        if (!num_multiply(&cells, batch->queries[s].count, batch_keys(batch, s)) ||
            !num_multiply(&cells, cells, pass->stack->heads) || !num_add(&total, total, cells))
            return err_memory(pass->err, SIZE_MAX);
    }
    if (pass->tap->lend &&
        !(maps->lent = arena_alloc(pass->arena, batch->count, sizeof *maps->lent, pass->err)))
        return -1;
    for (size_t map = 0; map < ATTENTION_MAPS; map++) {
        size_t layer = 0;
        while (layer < pass->stack->layers && !map_is_wanted(pass, map, layer))
            layer++;
        if (layer == pass->stack->layers)
            continue;
        maps->heads[map] = arena_alloc(pass->arena, heads, sizeof(float *), pass->err);
        if (!pass->tap->lend)
            maps->own[map] = arena_room(pass->arena, total, sizeof(float), pass->err);
        if (!maps->heads[map] || (!pass->tap->lend && !maps->own[map]))
            return -1;
    }
    return 0;
}

size_t attention_rows_bytes(size_t keys)
{
    return STRIP * keys * sizeof(float);
}

/* Ask the tap's lender for the memory of an attention map of each text. If the lender receives rows
 * instead, allocate memory for the rows of a strip in each thread. */
static int borrow(struct pass *pass, size_t map, size_t layer, float **to)
{
    const struct batch *batch = pass->batch;
    struct attention_memory *memory = pass->scratch.attention;
    size_t heads = pass->stack->heads;
    size_t threads = pool_threads(pass->machine->pool) * memories(pass->config);
    size_t strip = attention_rows_bytes(batch->longest_keys);
    for (size_t s = 0; s < batch->count; s++) {
        struct attention_map_loan loan = {
            .site = SITE_OF(pass->branch, SITE_SCORES + map),
            .layer = (int)layer,
            .text = s,
            .queries = batch->queries[s].count,
            .keys = batch_keys(batch, s),
            .heads = to + s * heads,
        };
        if (loan.queries && pass->tap->lend(pass->tap->context, &loan, pass->err))
            return -1;
        for (size_t t = 0; loan.take && t < threads && !memory[t].maps[map]; t++)
            if (!(memory[t].maps[map] = arena_room(pass->arena, 1, strip, pass->err)))
                return -1;
        pass->scratch.maps.lent[s] = (struct lent_maps){loan.rows, loan.take};
    }
    return 0;
}

/* Set the memory of each attention map that is watched in a layer: a buffer of the pass, or memory
 * that the tap lends. */
static int begin_maps(struct pass *pass, size_t layer)
{
    struct attention_maps *maps = &pass->scratch.maps;
    size_t heads = pass->batch->count * pass->stack->heads;
    for (size_t map = 0; map < ATTENTION_MAPS; map++) {
        float **to = maps->heads[map];
        float *own = maps->own[map];
        for (size_t k = 0; to && k < heads; k++)
            to[k] = NULL;
        if (!map_is_wanted(pass, map, layer))
            continue;
        if (!own && borrow(pass, map, layer, to))
            return -1;
        for (size_t k = 0; own && k < heads; k++) {
            to[k] = own;
            own += cells_of(pass, k / pass->stack->heads);
        }
    }
    return 0;
}

/* If an attention map is in a buffer of the pass, and not in memory that the tap lent, pass the map
 * of each text to the tap. Its numbers are known to be finite. */
static enum pass_state announce_map(struct pass *pass, size_t map, size_t layer)
{
    const struct batch *batch = pass->batch;
    const float *own = pass->scratch.maps.own[map];
    enum site site = (enum site)(SITE_SCORES + map);
    for (size_t s = 0; own && map_is_wanted(pass, map, layer) && s < batch->count; s++) {
        size_t keys = batch_keys(batch, s);
        struct tensor values = {
            .data = own,
            .rank = 3,
            .shape = {pass_heads_of(pass, site, layer), batch->queries[s].count, keys},
            .stride = {cells_of(pass, s), keys, 1},
        };
        if (batch->queries[s].count && tap_show(pass, site, layer, s, values))
            return PASS_FAILED;
        own += pass->stack->heads * cells_of(pass, s);
    }
    return pass_after(pass, site, layer);
}

/* --- heads ------------------------------------------------------------------------------------ */

static struct matrix head_part(struct matrix whole, struct batch_rows rows, size_t head,
                               size_t width)
{
    return matrix_columns(matrix_rows(whole, rows.first, rows.count), head * width, width);
}

/* The key of a head's random numbers for dropout. It does not depend on the text, on which heads
 * are watched, or on the order in which heads run. */
static uint64_t dropout_key(const struct attention_layer *layer, size_t head)
{
    const struct pass *pass = layer->pass;
    uint64_t seed = splitmix64(splitmix64(pass->config->mechanism.seed));
    uint64_t where = layer->layer + ((uint64_t)pass->branch << 32);
    return splitmix64(splitmix64(seed + where) + head);
}

static struct attention_head head_of(const struct attention_layer *layer, size_t text, size_t head,
                                     const struct attention_memory *memory)
{
    const struct pass *pass = layer->pass;
    const struct head_rule *c = layer->heads;
    const struct scratch *s = &pass->scratch;
    size_t kv_head = kv_head_of(c, head);
    struct batch_rows queries = pass->batch->queries[text];
    struct batch_rows keys = pass->batch->keys[text];
    struct attention_head job = {
        .layer = layer,
        .memory = memory,
        .q = head_part(s->q, queries, head, c->d_k),
        .k = head_part(s->k, keys, kv_head, c->d_k),
        .v = head_part(s->v, keys, kv_head, c->d_v),
        .context = head_part(s->context, queries, context_column(c, head), c->d_v),
        .cache = pass_cache(pass, text),
        .text = text,
        .head = head,
        .kv_head = kv_head,
        .past = queries.past,
        .keys = batch_keys(pass->batch, text),
        .dropout_key = dropout_key(layer, head),
    };
    job.bias = score_head_bias(&layer->rule, layer->biases, head, job.q, job.k);
    if (layer->sinks) {
        job.sink = layer->sinks + head;
        job.rests = head_part(s->sinks, queries, head, 1);
    }
    if (s->maps.lent)
        job.lent = s->maps.lent[text];
    for (size_t map = 0; map < ATTENTION_MAPS; map++) {
        float *const *to = s->maps.heads[map];
        if (job.lent.take && map_is_wanted(pass, map, layer->layer))
            job.maps[map] = memory->maps[map];
        else if (to)
            job.maps[map] = to[text * c->heads + head];
    }
    return job;
}

static void compute_head(void *context, size_t round, size_t thread)
{
    struct attention_layer *layer = context;
    const struct pass *pass = layer->pass;
    size_t head = round % layer->heads->heads;
    struct span heads = pass_heads(pass, SITE_CONTEXT, layer->layer);
    if (head < heads.first || head >= heads.first + heads.count)
        return;
    const struct attention_memory *memory = &pass->scratch.attention[thread];
    size_t text = round / layer->heads->heads, contexts = context_heads(layer->heads);
    struct attention_head job = head_of(layer, text, head, memory), second;
    bool wanted = layer->wants_context || pass_watches(pass, SITE_SINK, layer->layer);
    if (layer->heads->differ > 0) {
        second = head_of(layer, text, head + contexts, memory + pool_threads(pass->machine->pool));
        job.second = &second;
    }
    for (const struct attention_head *own = &job; own; own = own->second)
        for (size_t map = 0; map < ATTENTION_MAPS; map++)
            wanted |= own->maps[map] != NULL;
    if (!wanted)
        return;
    enum head_fault fault = methods[layer->rule.kind]->compute(&job);
    nontemporal_fence();
    size_t found = round * HEAD_FAULTS + fault, lowest = atomic_load(&layer->first_fault);
    while (fault != HEAD_SOUND && found < lowest)
        if (atomic_compare_exchange_weak(&layer->first_fault, &lowest, found))
            break;
}

static void store_head(void *context, size_t round, size_t thread)
{
    const struct attention_layer *job = context;
    const struct pass *pass = job->pass;
    const struct head_rule *c = job->heads;
    const struct scratch *s = &pass->scratch;
    size_t text = round / c->kv_heads;
    size_t kv_head = round % c->kv_heads;
    struct batch_rows rows = pass->batch->keys[text];
    struct cache *cache = pass_cache(pass, text);
    (void)thread;
    if (cache)
        cache_store(cache, job->layer, kv_head, head_part(s->k, rows, kv_head, c->d_k),
                    head_part(s->v, rows, kv_head, c->d_v));
}

void attention_store(struct pass *pass, const struct head_rule *heads, size_t layer)
{
    struct attention_layer job = {.pass = pass, .layer = layer, .heads = heads};
    size_t width = heads->d_k + heads->d_v;
    double work = (double)pass->batch->key_tokens * (double)(heads->kv_heads * width);
    pool_run(pass->machine->pool,
             (struct loop){pass->batch->count * heads->kv_heads, work, store_head}, &job);
}

/* Cost of a head apart from its matrix products: about 2 µs, as a number of multiply-adds. */
static const double HEAD_WORK = 50e3;

enum pass_state attention(struct pass *pass, const struct sublayer *s, size_t layer)
{
    const struct score_rule *rule = &s->score;
    struct attention_layer job = {
        .pass = pass,
        .layer = layer,
        .heads = &s->head,
        .rule = *rule,
        .dropout = dropout_at(&pass->dropout, s->branch, layer, DROP_WEIGHTS),
        .wants_context = pass_goes_to(pass, SITE_CONTEXT, layer),
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
    };
    size_t heads = s->head.heads;
    size_t rounds = pass->batch->count * heads;
    double cells = 0;
    for (size_t i = 0; i < pass->batch->count; i++)
        cells += (double)pass->batch->queries[i].count * (double)batch_keys(pass->batch, i);
    /* a rough number of multiply-adds: even a head with few cells costs HEAD_WORK */
    double work =
        cells * (double)heads * (double)(s->head.d_k + s->head.d_v) + HEAD_WORK * (double)rounds;
    for (int i = 0; i < ATTENTION_MAPS; i++)
        job.edits |= (unsigned)pass_edits(pass, (enum site)(SITE_SCORES + i), layer) << i;
    struct slot sinks = slot_of((int)pass->branch, SLOT_SINKS, layer);
    struct lambda lambda = {0};
    if ((s->head.differ > 0 &&
         weights_lambda(pass->weights, pass->branch, layer, &lambda, pass->err)) ||
        weights_biases(pass->weights, pass->machine, (int)pass->branch, rule, &job.biases,
                       pass->err) ||
        weights_vector(pass->weights, sinks, &job.sinks, pass->err) ||
        (!pass->scratch.attention && take_memory(pass)) || begin_maps(pass, layer))
        return PASS_FAILED;
    job.lambda = lambda.lambda;
    if (methods[rule->kind]->prepare)
        methods[rule->kind]->prepare(&job);
    atomic_init(&job.first_fault, rounds * HEAD_FAULTS);
    pool_run(pass->machine->pool,
             (struct loop){.rounds = rounds, .work = work, .round = compute_head}, &job);
    size_t fault = atomic_load(&job.first_fault);
    size_t round = fault / HEAD_FAULTS;
    for (size_t map = 0; round == rounds && map < ATTENTION_MAPS; map++)
        PASS_TRY(announce_map(pass, map, layer));
    if (round == rounds && rule->sink)
        PASS_TRY(tap_rows(pass, SITE_SINK, layer, pass->scratch.sinks));
    if (round == rounds)
        return tap_rows(pass, SITE_CONTEXT, layer, pass->scratch.context);
    struct pass_position position = {SITE_SCORES, layer, round / heads, round % heads};
    if (fault % HEAD_FAULTS == HEAD_NO_NUMBER)
        return pass_fail_number(pass, &position);
    position.site = SITE_WEIGHTS;
    if (fault % HEAD_FAULTS == HEAD_NO_WEIGHT)
        return pass_fail(pass, &position, "rows that sum to more than 0, found one of 0");
    return pass_fail(pass, &position,
                     pass->edits ? "at least one visible key for each query, found none after the "
                                   "edits"
                                 : "at least one visible key for each query, found none with both "
                                   "--attention and the model's window: add 'window:1+…'");
}
