/* pass_begin.c: the buffers of a pass, and the beginning and end of a pass. */
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "pass/cache.h"
#include "model/family/family.h"
#include "pass/pass.h"

/* --- buffers ---------------------------------------------------------------------------------- */

/* A matrix in struct scratch whose memory is not allocated yet. */
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

/* The largest number of channels that any layer of a stack has for each kind of matrix. If q, k or
 * v is the stream itself, it counts as 0. */
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

/* List the matrices of a pass over `rows` tokens that attend to `keys` tokens. Matrices that the
 * model does not need get 0 columns. The first matrix is the stream, the only one that a pass
 * without layers needs; the matrices of keys and values [S, Hkv·d] follow. */
static void list_buffers(struct buffer list[BUFFERS], struct scratch *s, const struct config *c,
                         const struct stack *stack, size_t rows, size_t keys)
{
    struct widths w = widest(stack);
    const struct mixer *m = &c->mixer;
    const size_t values = m->heads * m->d_v;
    const struct family_row *q = family_row(c->family, slot_of(BRANCH_TEXT, SLOT_Q, 0));
    bool joined = q && q->transposed && q->members[1]; /* whether q, k and v are one matrix in the
                                                        * file (weights_joined) */
    bool block = c->kind != MODEL_ATTENTION;
    w.context = num_max(w.context, values);
    w.gate = num_max(w.gate, (m->gate != GATE_NONE || m->out_norm) * values);
    size_t experts = c->mixture.experts, copies = stack->copies.count;
    const size_t latent = c->mixture.latent;
    const struct buffer all[BUFFERS] = {
        {&s->x, rows, c->n_embd, c->projections ? 0 : SPARE_ROWS}, /* without projections, x is also
                                                                    * q and v, which need spare
                                                                    * rows */
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
        {&s->taps, m->taps + 1, values ? mixer_convolved(m) : 0}, /* the last row has the biases */
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

/* Return how many floats a token needs in the buffers that take_layer_keys allocates: buffers for
 * each layer from which other layers borrow keys. */
static size_t layer_keys_columns(const struct stack *stack)
{
    size_t columns = 0, last = SIZE_MAX, before = SIZE_MAX; /* the last two layers that lend keys,
                                                             * as layers of two kinds may
                                                             * alternate */
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
    list_buffers(list, &none, config, stack_of(config, BRANCH_TEXT), tokens, tokens);
    size_t bytes = bytes_of(list, BUFFERS) +
                   tokens * sizeof(float) * layer_keys_columns(stack_of(config, BRANCH_TEXT));
    if (!has_encoder(config))
        return bytes + (config_reads_source(config) ? bytes_of(list, 1) : 0);
    /* add the keys and values that cross-attention makes from the encoder's output, and then the
     * buffers of the encoder's pass */
    bytes += bytes_of(list + FIRST_OF_KEYS, BUFFERS_OF_KEYS);
    list_buffers(list, &none, config, stack_of(config, BRANCH_SOURCE), tokens, tokens);
    return bytes + bytes_of(list, BUFFERS);
}

/* Allocate `count` buffers of a pass, beginning with buffer `first` of list_buffers. */
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

/* If later layers borrow keys and values, allocate separate buffers for each layer that lends
 * them. */
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
    struct widths text = widest(stack_of(c, BRANCH_TEXT));
    struct widths source = widest(stack_of(c, BRANCH_SOURCE));
    size_t columns = num_max(num_max(text.context, c->n_embd),
                             num_max(num_max(text.inner, source.inner), c->n_word));
    columns = num_max(columns, num_max(c->mixer.heads * c->mixer.d_v, c->mixture.latent));
    if (pass->weights->precision != PRECISION_BF16)
        return 0;
    pass->weights->widens = kernels_pair_way(pass->machine->kernels) == PAIRS_NONE;
    return machine_hold_rounded(pass->machine, rows, columns, pass->err);
}

/* Fill a matrix with the cosines and sines of a rotary embedding. This is done once for each pass.
 * If a text has the same positions as the text before it, the rows of that text are copied. */
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
    if (take_layer_keys(pass) || (config_keeps_state(c) && mixers_init(pass)))
        return -1;

    if (config_rotates(c))
        fill_rotations(scratch->rotations, &c->rotary, batch);
    if (config_rotates(c) && c->rotary_local.components)
        fill_rotations(scratch->local, &c->rotary_local, batch);
    if (attention_maps_init(pass))
        return -1;
    size_t logit_rows = pass->tap->watch->last_logits ? batch->count : batch->tokens;
    if (pass->branch == BRANCH_TEXT && pass_watches(pass, SITE_LOGITS, 0) &&
        pass_matrix(pass, &scratch->logits, logit_rows, config_logits(c)))
        return -1;
    return reserve_caches(pass);
}

int pass_init_cross(struct pass *cross, const struct pass *pass, const struct batch *batch)
{
    *cross = *pass;
    cross->batch = batch;
    cross->branch = BRANCH_CROSS;
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
