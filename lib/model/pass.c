/* The state of a pass: its buffers, where it may stop, the values and failures that it reports. */
#include "model/pass.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "math/rows.h"
#include "model/cache.h"
#include "model/family/family.h"

/* --- buffers ---------------------------------------------------------------------------------- */

/* A matrix of the scratch, before its memory is allocated. */
struct buffer {
    struct matrix *matrix;
    size_t rows, columns;
    size_t spare_rows;
};

static int take_matrix(struct pass *pass, const struct buffer *buffer, size_t stride)
{
    size_t padded = 0, count = 0;
    if (!num_add(&padded, buffer->rows, buffer->spare_rows) ||
        !num_multiply(&count, padded, stride))
        return err_memory(pass->err, (size_t)-1);
    float *data = arena_room(pass->arena, count, sizeof *data, pass->err);
    if (!data)
        return -1;
    memset(data + buffer->rows * stride, 0, buffer->spare_rows * stride * sizeof *data);
    *buffer->matrix = (struct matrix){data, buffer->rows, buffer->columns, stride};
    return 0;
}

/* The widest vectors of all layers of a stack; q, k and v that are the stream itself count as 0. */
struct widths {
    size_t q, k, v, context, inner, gate;
};

static struct widths widest(const struct stack *stack)
{
    struct widths w = {0};
    for (const struct layer *layer = stack->layer; layer < stack->layer + stack->layers; layer++)
        for (const struct sublayer *s = layer->sublayers; s < layer->sublayers + layer->all; s++) {
            const struct head_rule *head = &s->head;
            size_t shared = s->mlp.mixture ? s->mlp.mixture->shared_inner : 0;
            bool own = head->by != HEADS_AS_IS;
            w.q = num_max(w.q, own * head->heads * head->d_k);
            w.k = num_max(w.k, own * head->kv_heads * head->d_k);
            w.v = num_max(w.v, own * head->kv_heads * head->d_v);
            w.context = num_max(w.context, head->heads * head->d_v);
            w.inner = num_max(w.inner, num_max(s->mlp.inner, shared));
            w.gate = num_max(w.gate, (head->gate != GATE_NONE) * head->heads * head->d_v);
        }
    return w;
}

enum { FIRST_OF_KEYS = 1, BUFFERS_OF_KEYS = 2, BUFFERS = 32 };

/* List the matrices of a pass over `rows` tokens that attend to `keys` tokens; those that a model
 * does not need have no columns. The first is the stream, the only one that a pass without layers
 * needs; keys and values [S, Hkv·d] follow. */
static void list_buffers(struct buffer list[BUFFERS], struct scratch *s, const struct config *c,
                         const struct stack *stack, size_t rows, size_t keys)
{
    struct widths w = widest(stack);
    const struct mixer *m = &c->mixer;
    const size_t values = m->heads * m->d_v;
    const struct family_row *q = family_row(c->family, slot_of(PART_SENTENCE, SLOT_Q, 0));
    bool joined = q && q->transposed && q->members[1]; /* weights_joined */
    bool block = c->kind != MODEL_ATTENTION;
    w.context = num_max(w.context, values);
    w.gate = num_max(w.gate, (m->gate != GATE_NONE || m->out_norm) * values);
    size_t experts = c->mixture.experts, copies = stack->copies.count;
    const size_t latent = c->mixture.latent;
    const struct buffer all[BUFFERS] = {
        {&s->x, rows, c->n_embd, c->projections ? 0 : SPARE_ROWS}, /* x may be q and v, too */
        {&s->k, keys, w.k},
        {&s->v, keys, w.v, SPARE_ROWS},
        {&s->q, rows, w.q, SPARE_ROWS},
        {&s->context, rows, w.context},
        {&s->out, rows, c->d_out ? c->d_out : c->n_embd},
        {&s->narrow, rows,
         num_max(num_max(num_max(c->latent_q, c->latent_kv), num_max(m->step_rank, m->gate_rank)),
                 copies + copies * copies)},
        {&s->k_plain, rows, c->latent_kv ? stack->heads * c->rotary.first : 0},
        {&s->k_rotary, rows, c->latent_kv ? c->rotary.components : 0},
        {&s->sinks, rows, c->sinks ? stack->heads : 0},
        {&s->norm, rows, block ? c->n_embd : 0},
        {&s->hidden, rows, w.inner},
        {&s->up, rows, c->gated ? w.inner : 0},
        {&s->router, rows, experts},
        {&s->experts, rows, experts},
        {&s->beside, rows, c->mixture.beside ? c->n_embd : 2 * latent},
        {&s->gathered, rows, experts ? num_max(c->n_embd, latent) : 0},
        {&s->expert_out, rows, experts ? num_max(c->n_embd, latent) : 0},
        {&s->given, rows, stack->embed.given * stack->layers},
        {&s->copies, rows, copies * c->n_embd},
        {&s->before, 1, copies * c->n_embd},
        {&s->rotations, rows, c->rotary.components},
        {&s->local, rows, c->rotary_local.components},
        {&s->joined, 1, joined ? 3 * c->n_embd : 0},
        {&s->gate, rows, w.gate},
        {&s->gated, rows, w.gate},
        {&s->unmixed, rows, values ? num_max(mixer_convolved(m), values) : 0},
        {&s->mixed, rows, values ? mixer_channels(m) : 0},
        {&s->steps, rows, m->heads * (m->step_each ? m->d_k : 1)},
        {&s->decays, rows, m->heads * mixer_decays(m)},
        {&s->strengths, rows, m->strength ? m->heads : 0},
        {&s->taps, m->taps + 1, values ? mixer_convolved(m) : 0}, /* and biases */
    };
    memcpy(list, all, sizeof all);
}

static size_t bytes_of(const struct buffer *list, size_t count)
{
    size_t floats = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].columns)
            floats += (list[i].rows + list[i].spare_rows) * matrix_stride(list[i].columns);
    return floats * sizeof(float);
}

/* Floats of a token in the buffers of take_layer_keys, for each layer that others borrow from. */
static size_t layer_keys_columns(const struct stack *stack)
{
    size_t columns = 0, last = SIZE_MAX, before = SIZE_MAX; /* kinds of layers alternate */
    for (size_t i = 0; i < stack->layers; i++) {
        const struct head_rule *rule = &stack->layer[i].sublayers->head;
        if (!rule->borrows || rule->kv_layer == last || rule->kv_layer == before)
            continue;
        before = last;
        last = rule->kv_layer;
        columns +=
            matrix_stride(rule->kv_heads * rule->d_k) + matrix_stride(rule->kv_heads * rule->d_v);
    }
    return columns;
}

size_t pass_memory_bytes(const struct config *config, size_t tokens)
{
    struct scratch none;
    struct buffer list[BUFFERS];
    list_buffers(list, &none, config, stack_of(config, PART_SENTENCE), tokens, tokens);
    size_t bytes = bytes_of(list, BUFFERS) +
                   tokens * sizeof(float) * layer_keys_columns(stack_of(config, PART_SENTENCE));
    if (!has_encoder(config))
        return bytes + (config->cross ? bytes_of(list, 1) : 0);
    /* cross-attention: keys and values of the encoder's output; then the encoder's own pass */
    bytes += bytes_of(list + FIRST_OF_KEYS, BUFFERS_OF_KEYS);
    list_buffers(list, &none, config, stack_of(config, PART_SOURCE), tokens, tokens);
    return bytes + bytes_of(list, BUFFERS);
}

/* Allocate some of the buffers of a pass. */
static int take_buffers(struct pass *pass, size_t first, size_t count)
{
    const struct batch *batch = pass->batch;
    struct buffer list[BUFFERS];
    list_buffers(list, &pass->scratch, pass->config, pass->stack, batch->tokens, batch->key_tokens);
    for (size_t i = first; i < first + count; i++)
        if (list[i].columns && take_matrix(pass, &list[i], matrix_stride(list[i].columns)))
            return -1;
    return 0;
}

/* Give layers whose keys and values later ones read buffers of their own, if any layer borrows. */
static int take_layer_keys(struct pass *pass)
{
    struct scratch *s = &pass->scratch;
    const struct stack *stack = pass->stack;
    bool borrows = false;
    for (size_t i = 0; i < stack->layers; i++)
        borrows |= stack->layer[i].sublayers->head.borrows;
    if (!borrows)
        return 0;
    s->keys = arena_alloc(pass->arena, stack->layers, sizeof *s->keys, pass->err);
    for (size_t i = 0; s->keys && i < stack->layers; i++)
        s->keys[i] = (struct layer_keys){s->k, s->v};
    for (size_t i = 0; s->keys && i < stack->layers; i++) {
        const struct head_rule *rule = &stack->layer[i].sublayers->head;
        struct layer_keys *own = &s->keys[rule->kv_layer];
        size_t rows = pass->batch->key_tokens;
        size_t d_k = rule->kv_heads * rule->d_k, d_v = rule->kv_heads * rule->d_v;
        if (!rule->borrows || own->k.data != s->k.data)
            continue;
        if (take_matrix(pass, &(struct buffer){&own->k, rows, d_k, 0}, matrix_stride(d_k)) ||
            take_matrix(pass, &(struct buffer){&own->v, rows, d_v, SPARE_ROWS}, matrix_stride(d_v)))
            return -1;
    }
    return s->keys ? 0 : -1;
}

int pass_memory_take(struct pass *pass, bool stream_alone)
{
    return take_buffers(pass, 0, stream_alone ? 1 : BUFFERS);
}

int pass_matrix(struct pass *pass, struct matrix *matrix, size_t rows, size_t columns)
{
    return take_matrix(pass, &(struct buffer){matrix, rows, columns, 0}, columns);
}

/* --- begin and end ---------------------------------------------------------------------------- */

enum precision pass_attention_precision(const struct pass *pass)
{
    const struct sublayer *first = first_attention(pass->config, pass->part);
    bool pairs = first && first->score.kind == ATTENTION_DENSE && !pass->weights->widens;
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

int pass_hold_rounded(struct pass *pass)
{
    const struct config *c = pass->config;
    const struct batch *batch = pass->batch;
    size_t rows = num_max(batch->tokens, batch->source_tokens);
    struct widths text = widest(stack_of(c, PART_SENTENCE));
    struct widths source = widest(stack_of(c, PART_SOURCE));
    size_t columns = num_max(num_max(text.context, c->n_embd),
                             num_max(num_max(text.inner, source.inner), c->n_word));
    columns = num_max(columns, num_max(c->mixer.heads * c->mixer.d_v, c->mixture.latent));
    if (pass->weights->precision != PRECISION_BF16)
        return 0;
    pass->weights->widens = kernels_pair_way(pass->machine->kernels) == PAIRS_NONE;
    return machine_hold_rounded(pass->machine, rows, columns, pass->err);
}

/* The cosines and sines of a rotary embedding, once in each pass; the same for equal texts. */
static void fill_rotations(struct matrix to, const struct rotary *rotary, const struct batch *batch)
{
    for (size_t s = 0, last = 0; s < batch->count; s++) {
        const struct batch_rows rows = batch->queries[s], before = batch->queries[last];
        const size_t whole = batch->texts[s].whole_count;
        const struct matrix own = matrix_rows(to, rows.first, rows.count);
        if (s && rows.count == before.count && rows.past == before.past &&
            whole == batch->texts[last].whole_count)
            copy_rows(own, matrix_rows(to, before.first, before.count));
        else
            rotary_fill(own, rotary, rows.past, num_max(rows.past + rows.count, whole));
        last = s;
    }
}

int pass_init(struct pass *pass)
{
    const struct config *c = pass->config;
    const struct batch *batch = pass->batch;
    struct scratch *scratch = &pass->scratch;
    bool stream_alone = !pass->stack->layers || !pass_goes_to(pass, SITE_PREDICTED, 0);
    if (pass_memory_take(pass, stream_alone) || pass_hold_rounded(pass))
        return -1;
    if (stream_alone)
        return 0;
    if (take_layer_keys(pass) || (c->mixer.heads && mixers_init(pass)))
        return -1;

    if (config_rotates(c))
        fill_rotations(scratch->rotations, &c->rotary, batch);
    if (config_rotates(c) && c->rotary_local.components)
        fill_rotations(scratch->local, &c->rotary_local, batch);
    if (attention_maps_init(pass))
        return -1;
    size_t logit_rows = pass->tap->watch->last_logits ? batch->count : batch->tokens;
    if (pass->part == PART_SENTENCE && pass_watches(pass, SITE_LOGITS, 0) &&
        pass_matrix(pass, &scratch->logits, logit_rows, config_logits(c)))
        return -1;
    return reserve_caches(pass);
}

int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch)
{
    *cross = *pass;
    cross->batch = batch;
    cross->part = PART_CROSS;
    cross->scratch.maps = (struct attention_maps){0};
    cross->scratch.attention = NULL;
    if (!pass_goes_to(pass, SITE_PREDICTED, 0))
        return 0;
    return take_buffers(cross, FIRST_OF_KEYS, BUFFERS_OF_KEYS) || attention_maps_init(cross) ||
                   reserve_caches(cross)
               ? -1
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
        end_cache(text->cache, batch->queries[s].past, batch->queries[s].count, keep);
        end_cache(text->source_cache, batch->sources[s].past, batch->sources[s].count, keep);
    }
}

/* --- what must be computed -------------------------------------------------------------------- */

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

size_t pass_heads_of(const struct pass *pass, enum site site, size_t layer)
{
    return site_heads(pass->config, SITE_OF(pass->part, site), layer);
}

struct span pass_heads(const struct pass *pass, enum site site, size_t layer)
{
    const struct watch *watch = pass->tap->watch;
    bool of_keys = site_axes(SITE_OF(pass->part, site)) == AXES_GROUP_TOKEN_DIM;
    size_t heads = pass_heads_of(pass, site, layer);
    size_t group = num_max(pass->stack->heads / heads, 1);
    if (watch->head_count == 0 || pass->part == PART_MIXER ||
        site_axes(SITE_OF(pass->part, site)) == AXES_COPY_TOKEN_CHANNEL ||
        pass_goes_to(pass, SITE_ATTN_OUT, layer) ||
        stack_head(pass->config, pass->part, layer)->differ > 0 || (of_keys && pass->batch->cached))
        return (struct span){0, heads};
    size_t first = num_min(watch->first_head / group, heads); /* an encoder may have fewer heads */
    size_t end = num_min((watch->first_head + watch->head_count - 1) / group + 1, heads);
    return (struct span){first, end - first};
}

struct batch_rows pass_logit_rows(const struct pass *pass, size_t text)
{
    return pass->tap->watch->last_logits ? (struct batch_rows){text, 1, 0}
                                         : pass->batch->queries[text];
}

struct batch_rows pass_rows(const struct pass *pass, enum site site, size_t text)
{
    if (site == SITE_LOGITS)
        return pass_logit_rows(pass, text);
    if (site == SITE_POOLED)
        return (struct batch_rows){text, 1, 0};
    bool of_keys = site_axes(site) == AXES_GROUP_TOKEN_DIM;
    return (of_keys ? pass->batch->keys : pass->batch->queries)[text];
}

/* --- products and norms ----------------------------------------------------------------------- */

enum pass_state pass_product(struct pass *pass, struct slot slot, struct matrix y, struct matrix x,
                             enum activation activation)
{
    struct weight w;
    if (weights_matrix(pass->weights, slot, &w, pass->err))
        return PASS_FAILED;
    linear(pass->machine, y, x, &w, activation);
    return PASS_ON;
}

struct norm_job {
    struct matrix y, x;
    struct norm norm;
};

enum { NORM_ROWS = 8 }; /* in one round of the pool */

static void norm_some(void *context, size_t round, size_t thread)
{
    const struct norm_job *job = context;
    size_t first = round * NORM_ROWS;
    size_t count = num_min(job->x.rows - first, NORM_ROWS);
    (void)thread;
    norm_rows(matrix_rows(job->y, first, count), matrix_rows(job->x, first, count), &job->norm);
}

enum pass_state pass_norm(struct pass *pass, struct slot slot, struct matrix y, struct matrix x)
{
    enum { WORTH = 16 }; /* estimated multiply-adds per element */
    struct norm_job job = {.y = y, .x = x};
    size_t rounds = (x.rows + NORM_ROWS - 1) / NORM_ROWS;
    double work = WORTH * (double)x.rows * (double)x.columns;
    if (weights_norm(pass->weights, slot, &job.norm, pass->err))
        return PASS_FAILED;
    if (!mechanism_lacks(&pass->config->mechanism, BLOCK_NORM))
        pool_run(pass->machine->pool, (struct loop){rounds, work, norm_some}, &job);
    else if (y.data != x.data)
        copy_rows(y, x);
    return PASS_ON;
}

/* --- dropout ---------------------------------------------------------------------------------- */

struct dropout dropout_at(const struct dropout *all, enum site_part part, size_t layer,
                          enum dropout_place place)
{
    uint64_t key = part == PART_SENTENCE ? all->key : rng_fold_in(all->key, (uint64_t)part);
    return (struct dropout){rng_fold_in(key, layer * DROP_PLACES + place), all->rate};
}

enum { DROP_ROWS = 64 }; /* in one round of the pool */

struct drop_job {
    struct dropout dropout;
    struct matrix rows;
};

static void drop_some(void *context, size_t round, size_t thread)
{
    const struct drop_job *job = context;
    const size_t end = num_min(job->rows.rows, (round + 1) * DROP_ROWS);
    (void)thread;
    for (size_t row = round * DROP_ROWS; row < end; row++)
        rng_dropout(matrix_row(job->rows, row), job->rows.columns, job->dropout.key, row,
                    job->dropout.rate);
}

void dropout_rows(struct machine *machine, const struct dropout *all, enum site_part part,
                  size_t layer, enum dropout_place place, struct matrix rows)
{
    enum { WORTH = 8 }; /* estimated multiply-adds per element */
    struct drop_job job = {dropout_at(all, part, layer, place), rows};
    double work = WORTH * (double)rows.rows * (double)rows.columns;
    if (all->rate > 0)
        pool_run(machine->pool,
                 (struct loop){(rows.rows + DROP_ROWS - 1) / DROP_ROWS, work, drop_some}, &job);
}

/* --- values for the tap ----------------------------------------------------------------------- */

/* "'h.0.scores' head 1: expected …, found … (text 0)" */
enum pass_state pass_fail(struct pass *pass, const struct pass_position *position,
                          const char *expected)
{
    char site[SITE_NAME_BYTES];
    char head[32] = "";
    site_tensor_name(site, SITE_OF(pass->part, position->site), (int)position->layer);
    if (position->head != NO_HEAD)
        snprintf(head, sizeof head, " head %zu", position->head);
    err_set(pass->err, "'%s'%s: expected %s (text %zu)", site, head, expected,
            pass->batch->first + position->text);
    return PASS_FAILED;
}

enum pass_state pass_fail_number(struct pass *pass, const struct pass_position *position)
{
    bool in_layer = site_row(position->site)->in_layer;
    int layer = in_layer ? (int)(pass->first_layer + position->layer) : -1;
    if (weights_check_finite(pass->weights, layer, pass->err))
        return PASS_FAILED;
    return pass_fail(pass, position, "finite numbers, found infinity or nan");
}

/* The first column of rows with a number that is not finite; their number, if all are. */
static size_t nonfinite_column(struct matrix rows)
{
    size_t lowest = rows.columns;
    for (size_t row = 0; row < rows.rows; row++)
        lowest = num_min(lowest, first_nonfinite(matrix_row(rows, row), rows.columns));
    return lowest;
}

/* Fail if a number of a text's rows is not finite. `width`: columns of a head; position.head: the
 * first head, or NO_HEAD. Checking whole rows is several times faster than head after head. */
static enum pass_state check_finite(struct pass *pass, struct pass_position position,
                                    struct matrix rows, size_t width)
{
    size_t lowest = nonfinite_column(rows);
    if (lowest == rows.columns)
        return PASS_ON;
    if (position.head != NO_HEAD)
        position.head += lowest / width;
    return pass_fail_number(pass, &position);
}

enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct batch_rows span = pass->batch->queries[s];
        PASS_TRY(check_finite(pass, (struct pass_position){site, layer, s, .head = NO_HEAD},
                              matrix_rows(rows, span.first, span.count), rows.columns));
    }
    return PASS_ON;
}

int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values)
{
    struct announcement announced = {
        .site = SITE_OF(pass->part, site),
        .layer = site_row(site)->in_layer ? (int)layer : -1,
        .text = text,
        .values = values,
    };
    return pass->tap->sink(pass->tap->context, &announced, pass->err);
}

/* Rows that are announced, text by text. */
struct shown_rows {
    struct pass *pass;
    enum site site;
    size_t layer, heads;
    struct matrix rows;
    struct span watched; /* heads */
};

static enum pass_state show_text(const struct shown_rows *shown, size_t text)
{
    struct pass *pass = shown->pass;
    const bool has_heads = site_has_heads(shown->site);
    const size_t width = shown->rows.columns / shown->heads;
    const struct batch_rows span = pass_rows(pass, shown->site, text);
    const struct matrix own = matrix_rows(shown->rows, span.first, span.count);
    const struct pass_position position = {shown->site, shown->layer, text,
                                           .head = has_heads ? shown->watched.first : NO_HEAD};
    struct tensor values = {
        .data = own.data,
        .rank = 3,
        .shape = {shown->heads, own.rows, width},
        .stride = {width, own.stride, 1},
    };
    if (span.count == 0)
        return PASS_ON;
    if (!pass->tap->room)
        PASS_TRY(check_finite(
            pass, position,
            matrix_columns(own, shown->watched.first * width, shown->watched.count * width),
            width));
    return tap_show(pass, shown->site, shown->layer, text,
                    has_heads ? values : tensor_slice(&values, 0))
               ? PASS_FAILED
               : PASS_ON;
}

/* Show a text to a sink that threads share. */
static void share_text(void *context, size_t round, size_t thread)
{
    (void)thread;
    show_text(context, round + 1);
}

enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    pass_edit_rows(pass, site, layer, rows);
    return tap_unedited(pass, site, layer, rows);
}

enum pass_state tap_unedited(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    enum { COST = 4 }; /* estimated multiply-adds per element */
    const size_t heads = pass_heads_of(pass, site, layer), texts = pass->batch->count;
    const double work = COST * (double)rows.rows * (double)rows.columns;
    struct shown_rows shown = {pass, site, layer, heads, rows, {0, 1}};
    if (site_has_heads(site))
        shown.watched = pass_heads(pass, site, layer);
    for (size_t s = 0; pass_watches(pass, site, layer) && s < texts; s++) {
        PASS_TRY(show_text(&shown, s));
        if (!pass->tap->room || texts == 1)
            continue;
        pool_run(pass->machine->pool, (struct loop){texts - 1, work, share_text}, &shown);
        break;
    }
    return pass_after(pass, site, layer);
}

struct matrix pass_lent(const struct pass *pass, enum site site, size_t layer, struct matrix own)
{
    struct tap *tap = pass->tap;
    if (!tap || !tap->room || !pass_watches(pass, site, layer))
        return own;
    const int of = site_row(site)->in_layer ? (int)layer : -1;
    float *to = tap->room(tap->context, SITE_OF(pass->part, site), of, own.rows * own.columns);
    return to ? (struct matrix){to, own.rows, own.columns, own.columns} : own;
}
