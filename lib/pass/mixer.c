/* mixer.c: layers that keep a state in place of keys and values: gated delta rules, Mamba and short
 * convolutions. Sizes: T tokens, H heads with values [dv], K heads with queries and keys [dk]; each
 * head has a state S [dk, dv]. The columns of a state are computed independently, each in the order
 * of the tokens: the bits are the same in a batch, with any number of threads and from a cache. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "pass/cache.h"
#include "pass/pass.h"
#include "model/points.h"
#include "pass/tap.h"

enum {
    COLUMNS = 32,      /* columns of a state that a thread computes at a time, or heads whose state
                        * is one column */
    ROWS_AT_ONCE = 16, /* rows of matrices that a thread computes at a time */
};

/* The memory of a site's matrices, one for each head: memory of the tap's lender, or buffers of the
 * run. */
struct lent {
    float **heads;      /* NULL: the matrices are not written */
    const size_t *rows; /* row of each query in a matrix, or ATTENTION_NO_ROW (tap.h); NULL: query t
                         * has row t */
    attention_row_taker take;
    size_t columns;
};

/* The mixer of one layer while it runs in a pass. */
struct mixing {
    struct pass *pass;
    const struct mixer *m;
    size_t layer;
    struct matrix q, k, v;             /* queries, keys and values: columns of scratch.mixed */
    struct matrix from, to;            /* input and output of the convolution */
    const float *shift, *decay, *skip; /* parameters of the layer: `decay` is e^DECAY; `skip` NULL:
                                        * the layer has no skip factors */
    struct matrix b;                   /* [T, H] strengths; step sizes if the mixer has no
                                        * strengths */
    struct norm norm;                  /* norm of the context */
    size_t text;
    float *states;    /* [text][H, dk, dv] states after the last token; NULL: they are not
                       * watched */
    struct lent maps; /* maps of a text: one for each head, or one for all heads */
    struct lent *all; /* [text] states after each token; NULL: they are not watched */
};

/* Memory of threads for states, and memory that all layers of a pass share. */
struct mixer_memory {
    float *blocks; /* [thread][dk, COLUMNS] blocks of states */
    float *rates;  /* [H, decays] the rates e^DECAY of a layer */
    float *rows;   /* [thread][2, keys] two rows of maps; NULL before the first watched map */
    float **heads; /* [text][H] memory of each head's matrix (struct lent) */
    float *states, *maps, *after;
    struct lent *all; /* [text] memory of the states after each token */
};

int mixers_init(struct pass *pass)
{
    const struct mixer *m = &pass->config->mixer;
    const size_t threads = pool_threads(pass->machine->pool);
    struct mixer_memory *memory = arena_alloc(pass->arena, 1, sizeof *memory, pass->err);
    if (!memory)
        return -1;
    memory->blocks =
        arena_alloc(pass->arena, threads * m->d_k * COLUMNS, sizeof *memory->blocks, pass->err);
    memory->rates = arena_alloc(pass->arena, m->heads * m->d_k, sizeof *memory->rates, pass->err);
    pass->scratch.mixers = memory;
    return memory->blocks && memory->rates ? 0 : -1;
}

static struct cache *cache_of(const struct mixing *mix, size_t text)
{
    return mix->pass->batch->texts[text].cache;
}

/* Return where to write a row of a head's matrix; NULL: the row is not kept. */
static float *lent_row(const struct lent *lent, size_t head, size_t row)
{
    const size_t at = lent->rows ? lent->rows[row] : row;
    float *of_head = lent->heads[head];
    return of_head && at != ATTENTION_NO_ROW ? of_head + at * lent->columns : NULL;
}

/* Run `some` for ROWS_AT_ONCE rows at a time, in several threads. The rows belong to all texts, or
 * to one text. */
static void for_rows(struct mixing *mix, size_t rows, double cost, size_t columns,
                     void (*some)(void *context, size_t round, size_t thread))
{
    struct loop loop = {(rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE,
                        cost * (double)rows * (double)columns, some};
    pool_run(mix->pass->machine->pool, loop, mix);
}

static enum pass_state product(const struct mixing *mix, int id, struct matrix y, struct matrix x)
{
    return pass_product(mix->pass, pass_slot(mix->pass, id, mix->layer), y, x, ACTIVATION_NONE);
}

static int vector(const struct mixing *mix, int id, const float **numbers)
{
    struct pass *pass = mix->pass;
    return weights_vector(pass->weights, pass_slot(pass, id, mix->layer), numbers, pass->err);
}

/* --- the convolution -------------------------------------------------------------------------- */

/* Fill scratch.taps: the taps of each channel are in a column; the last row has the bias of each
 * channel, or 0. */
static int fill_taps(const struct mixing *mix)
{
    const struct mixer *m = mix->m;
    struct matrix taps = mix->pass->scratch.taps;
    bool alone = taps.columns == m->heads * m->d_v;
    size_t first = 0;
    for (int id = alone ? SLOT_CONV_V : SLOT_CONV_Q; id <= SLOT_CONV_V; id += 2) {
        const float *numbers = NULL, *bias = NULL;
        size_t count = id == SLOT_CONV_V ? m->heads * m->d_v : m->key_heads * m->d_k;
        if (vector(mix, id, &numbers) || vector(mix, id + 1, &bias))
            return -1;
        for (size_t i = 0; i < count; i++) {
            for (size_t tap = 0; tap < m->taps; tap++)
                matrix_row(taps, tap)[first + i] = numbers[i * m->taps + tap];
            matrix_row(taps, m->taps)[first + i] = bias ? bias[i] : 0;
        }
        first += count;
    }
    return 0;
}

/* y += w · x, element by element. */
FOR_EACH_ISA
static void add_products(float *restrict y, const float *restrict w, const float *restrict x,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = fmaf(w[i], x[i], y[i]);
}

/* Return the last inputs [taps - 1, channels] of a text's convolution: before this pass or, if
 * `after`, memory for the inputs after this pass. NULL: the text has no cache. */
static float *tail_of(const struct mixing *mix, size_t text, bool after)
{
    struct cache *cache = cache_of(mix, text);
    return cache ? cache_mixer(cache, mix->layer, after) + mixer_state(mix->m) : NULL;
}

/* Return the input of the convolution for a token of a text. `token` counts from the first row of
 * this pass and is negative for earlier tokens. NULL: the token is before the text. */
static const float *input_of(const struct mixing *mix, size_t text, ptrdiff_t token)
{
    const struct batch_rows rows = mix->pass->batch->queries[text];
    const ptrdiff_t kept = (ptrdiff_t)mix->m->taps - 1;
    if (token >= 0)
        return matrix_row(mix->from, rows.first + (size_t)token);
    if (token + (ptrdiff_t)rows.past < 0)
        return NULL;
    return tail_of(mix, text, false) + (size_t)(token + kept) * mix->from.columns;
}

static void convolve_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const struct mixer *m = mix->m;
    const struct batch_rows rows = mix->pass->batch->queries[mix->text];
    const struct matrix taps = mix->pass->scratch.taps;
    const size_t first = round * ROWS_AT_ONCE, end = num_min(rows.count, first + ROWS_AT_ONCE);
    (void)thread;
    for (size_t t = first; t < end; t++) {
        float *y = matrix_row(mix->to, rows.first + t);
        memcpy(y, matrix_row(taps, m->taps), taps.columns * sizeof *y);
        for (size_t tap = 0; tap < m->taps; tap++) {
            const float *x =
                input_of(mix, mix->text, (ptrdiff_t)(t + tap) - (ptrdiff_t)m->taps + 1);
            if (x)
                add_products(y, matrix_row(taps, tap), x, taps.columns);
        }
    }
    struct matrix done = matrix_rows(mix->to, rows.first + first, end - first);
    if (m->activation)
        activate(done, done, NULL, m->activation);
}

/* to = activation(convolution of `from`), channel by channel. For texts with caches, the last
 * inputs are stored. */
static enum pass_state convolve(struct mixing *mix)
{
    const size_t kept = mix->m->taps - 1, columns = mix->from.columns;
    if (fill_taps(mix))
        return PASS_FAILED;
    for (mix->text = 0; mix->text < mix->pass->batch->count; mix->text++) {
        const size_t count = mix->pass->batch->queries[mix->text].count;
        for_rows(mix, count, 8 + (double)mix->m->taps, columns, convolve_some);
        float *tail = tail_of(mix, mix->text, true);
        for (size_t i = 0; tail && i < kept; i++) {
            const float *x = input_of(mix, mix->text, (ptrdiff_t)(count + i) - (ptrdiff_t)kept);
            if (x)
                memcpy(tail + i * columns, x, columns * sizeof *x);
            else
                memset(tail + i * columns, 0, columns * sizeof *x);
        }
    }
    return PASS_ON;
}

/* --- queries, keys, values -------------------------------------------------------------------- */

/* x = x / √(Σ x² + 1e-6) · factor, for the x of one head. */
FOR_EACH_ISA
static void make_unit(float *x, size_t count, float factor)
{
    float squares[LANES] = {0};
    FOR_LANES(count, squares[lane] = fmaf(x[i], x[i], squares[lane]));
    factor /= sqrtf(add_lanes(squares) + 1e-6f);
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
}

static void unit_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const size_t d = mix->m->d_k, first = round * ROWS_AT_ONCE;
    const float root = 1 / sqrtf((float)d);
    (void)thread;
    for (size_t row = first; row < num_min(mix->q.rows, first + ROWS_AT_ONCE); row++)
        for (size_t at = 0; at < mix->q.columns; at += d) {
            make_unit(matrix_row(mix->q, row) + at, d, root);
            make_unit(matrix_row(mix->k, row) + at, d, 1);
        }
}

/* y = the product of x and the matrix of slot `id`, normed if the mixer has norms for q, k and
 * steps. */
static enum pass_state product_normed(const struct mixing *mix, int id, int norm_id,
                                      struct matrix y, struct matrix x)
{
    struct pass *pass = mix->pass;
    PASS_TRY(product(mix, id, y, x));
    return mix->m->inner_norms ? pass_norm(pass, pass_slot(pass, norm_id, mix->layer), y, y)
                               : PASS_ON;
}

/* Compute q, k and v of a short convolution, whose context is q · convolution(k · v), and the
 * convolution. */
static enum pass_state project_channels(struct mixing *mix, struct matrix x)
{
    struct pass *pass = mix->pass;
    PASS_TRY(product(mix, SLOT_Q, mix->q, x));
    PASS_TRY(product(mix, SLOT_K, mix->k, x));
    PASS_TRY(product(mix, SLOT_V, mix->v, x));
    pass_edit_rows(pass, SITE_Q, mix->layer, mix->q);
    pass_edit_rows(pass, SITE_K, mix->layer, mix->k);
    pass_edit_rows(pass, SITE_V, mix->layer, mix->v);
    copy_rows(mix->from, mix->k);
    multiply_rows(mix->from, mix->v);
    mix->to = pass->scratch.context;
    PASS_TRY(convolve(mix));
    PASS_TRY(tap_rows(pass, SITE_CONV, mix->layer, mix->to));
    PASS_TRY(tap_unedited(pass, SITE_Q, mix->layer, mix->q));
    PASS_TRY(tap_unedited(pass, SITE_K, mix->layer, mix->k));
    return tap_unedited(pass, SITE_V, mix->layer, mix->v);
}

/* Compute q, k and v from x [T, C], by products and the convolution, and the narrow vectors from
 * which step sizes are computed. */
static enum pass_state project(struct mixing *mix, struct matrix x)
{
    struct pass *pass = mix->pass;
    const struct mixer *m = mix->m;
    const size_t layer = mix->layer, keys = mix->q.columns, inner = mix->v.columns;
    const struct matrix pre = mix->from;
    const size_t before = m->only_v ? 0 : 2 * keys; /* columns of `pre` before v's columns */
    struct matrix q = matrix_columns(pre, 0, keys), k = matrix_columns(pre, keys, keys);
    struct matrix v = matrix_columns(pre, before, inner);
    mix->to = m->only_v ? mix->v : pass->scratch.mixed;
    if (!m->only_v) {
        PASS_TRY(product(mix, SLOT_Q, q, x));
        PASS_TRY(tap_rows(pass, SITE_Q_PRE, layer, q));
        PASS_TRY(product(mix, SLOT_K, k, x));
        PASS_TRY(tap_rows(pass, SITE_K_PRE, layer, k));
    }
    PASS_TRY(product(mix, SLOT_V, v, x));
    PASS_TRY(tap_rows(pass, SITE_V_PRE, layer, v));
    PASS_TRY(convolve(mix));
    PASS_TRY(tap_rows(pass, SITE_CONV, layer, mix->to));
    if (m->only_v) {
        PASS_TRY(product_normed(mix, SLOT_Q, SLOT_Q_NORM, mix->q, mix->v));
        PASS_TRY(product_normed(mix, SLOT_K, SLOT_K_NORM, mix->k, mix->v));
    }
    if (m->step_rank) /* the input of step sizes must be computed before v is edited */
        PASS_TRY(product_normed(mix, SLOT_STEP_DOWN, SLOT_STEP_NORM,
                                matrix_columns(pass->scratch.narrow, 0, m->step_rank),
                                m->only_v ? mix->v : x));
    if (m->unit)
        for_rows(mix, x.rows, 4, keys, unit_some);
    PASS_TRY(tap_rows(pass, SITE_Q, layer, mix->q));
    PASS_TRY(tap_rows(pass, SITE_K, layer, mix->k));
    return tap_rows(pass, SITE_V, layer, mix->v);
}

/* --- steps and decays ------------------------------------------------------------------------- */

/* x = ln(1 + e^(x + shift)), limited to the range from `least` to `most`. */
FOR_EACH_ISA
static void softplus_row(float *restrict x, const float *restrict shift, size_t count, float least,
                         float most)
{
    for (size_t i = 0; i < count; i++) {
        float at = x[i] + shift[i];
        double more = log_double(1 + (double)exp_float(-fabsf(at)));
        float soft = (at > 0 ? at : 0) + (float)more;
        soft = soft < least ? least : soft;
        x[i] = soft > most ? most : soft;
    }
}

/* y = e^(-rate · r); if `alone`, r is one number for all elements. */
FOR_EACH_ISA
static void decay_row(float *restrict y, const float *restrict rate, const float *restrict r,
                      size_t count, bool alone)
{
    for (size_t i = 0; i < count; i++)
        y[i] = exp_float(-rate[i] * r[alone ? 0 : i]);
}

static void decay_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const struct mixer *m = mix->m;
    const struct matrix steps = mix->pass->scratch.steps, decays = mix->pass->scratch.decays;
    const size_t each = mixer_decays(m), of_head = m->step_each ? each : 1;
    const size_t first = round * ROWS_AT_ONCE;
    (void)thread;
    for (size_t row = first; row < num_min(steps.rows, first + ROWS_AT_ONCE); row++) {
        float *r = matrix_row(steps, row), *a = matrix_row(decays, row);
        softplus_row(r, mix->shift, steps.columns, m->step_least,
                     m->step_most > 0 ? m->step_most : INFINITY);
        if (each == 1)
            decay_row(a, mix->decay, r, m->heads, false);
        for (size_t h = 0; each > 1 && h < m->heads; h++)
            decay_row(a + h * each, mix->decay + h * each, r + h * of_head, each, !m->step_each);
    }
}

/* Compute the rates e^DECAY, for each head or for each channel of its keys, and fetch the layer's
 * shifts of step sizes and skip factors. */
static int fill_rates(struct mixing *mix)
{
    const struct mixer *m = mix->m;
    const float *decay = NULL;
    const size_t each = mixer_decays(m);
    float *rates = mix->pass->scratch.mixers->rates;
    if (vector(mix, SLOT_DECAY, &decay) || vector(mix, SLOT_STEP_SHIFT, &mix->shift) ||
        vector(mix, SLOT_SKIP, &mix->skip))
        return -1;
    for (size_t i = 0; i < m->heads * each; i++)
        rates[i] = exp_float(decay[m->decay_each ? i : i / each]);
    mix->decay = rates;
    return 0;
}

/* Compute the decays and strengths of all tokens. */
static enum pass_state step(struct mixing *mix, struct matrix x)
{
    struct pass *pass = mix->pass;
    struct scratch *s = &pass->scratch;
    const struct mixer *m = mix->m;
    PASS_TRY(product(mix, SLOT_STEP, s->steps,
                     m->step_rank ? matrix_columns(s->narrow, 0, m->step_rank) : x));
    if (fill_rates(mix))
        return PASS_FAILED;
    for_rows(mix, x.rows, 32, s->decays.columns, decay_some);
    mix->b = m->strength ? s->strengths : s->steps;
    if (m->strength)
        PASS_TRY(product(mix, SLOT_BETA, mix->b, x));
    for (size_t row = 0; m->strength && row < x.rows; row++) {
        logistic_row(matrix_row(mix->b, row), m->heads);
        if (m->strength == STRENGTH_TWICE)
            scale_row(matrix_row(mix->b, row), matrix_row(mix->b, row), m->heads, 2);
    }
    PASS_TRY(tap_rows(pass, SITE_STEP, mix->layer, mix->b));
    return tap_rows(pass, SITE_DECAY, mix->layer, s->decays);
}

/* --- the state -------------------------------------------------------------------------------- */

/* The part of the states that one thread computes at a time: some columns of a head's state, or the
 * states [dk, 1] of several heads, for a range of tokens. */
struct state_block {
    float *state; /* [dk, COLUMNS] columns of one head, or [heads][dk] */
    const float *q, *k, *v, *a, *b;
    const float *skip; /* [heads] factors of the values that are added to the output; NULL: no
                        * values are added */
    float *out;
    size_t tokens, d_k, columns, share; /* `share`: how many heads share a head of keys */
    size_t stride, a_stride, b_stride, out_stride;
    bool each, delta; /* `each`: each channel of a key has a decay; `delta`: MIXER_DELTA */
};

/* S = a S, where S is the state and a the decay of the first token; read += Sᵀ k. */
static inline void decay_columns(const struct state_block *s, float *read)
{
    float *row = s->state;
    for (size_t i = 0; i < s->d_k; i++, row += COLUMNS) {
        const float decay = s->a[s->each ? i : 0], key = s->k[i];
        for (size_t j = 0; j < COLUMNS; j++) {
            row[j] *= decay;
            read[j] = fmaf(key, row[j], read[j]);
        }
    }
}

/* For each token, with the state S, the decay a and the strength b: S = a S; fresh = b (v - Sᵀ k)
 * with a delta rule, otherwise b v; S += k freshᵀ; out = Sᵀ q, plus skip · v if there is a skip
 * factor. Each row of S is read once for each token: with a delta rule, the first step of the next
 * token is done at the same time, and its Sᵀ k is kept in `read`. */
FOR_EACH_ISA
static void scan_columns(const struct state_block *s)
{
    const float one = 1;
    const size_t each = s->each;
    float fresh[COLUMNS] = {0}, read[COLUMNS] = {0};
    if (s->delta)
        decay_columns(s, read);
    for (size_t t = 0; t < s->tokens; t++) {
        const bool last = t + 1 == s->tokens;
        const float *q = s->q + t * s->stride, *k = s->k + t * s->stride;
        const float *a = s->a + t * s->a_stride, *v = s->v + t * s->stride;
        const float *next = last ? k : k + s->stride, *later = last ? &one : a + s->a_stride;
        const size_t step = last ? 0 : each;
        const float b = s->b[t * s->b_stride];
        float out[COLUMNS] = {0}, *row = s->state;
        memcpy(fresh, v, s->columns * sizeof *v);
        for (size_t j = 0; j < COLUMNS; j++) {
            fresh[j] = b * (fresh[j] - read[j]);
            read[j] = 0;
        }
        for (size_t i = 0; i < s->d_k && !s->delta; i++, row += COLUMNS) {
            const float decay = a[i * each], key = k[i], query = q[i];
            for (size_t j = 0; j < COLUMNS; j++) {
                row[j] = fmaf(key, fresh[j], decay * row[j]);
                out[j] = fmaf(query, row[j], out[j]);
            }
        }
        for (size_t i = 0; i < s->d_k && s->delta; i++, row += COLUMNS) {
            const float decay = later[i * step];
            const float key = k[i], query = q[i], next_key = next[i];
            for (size_t j = 0; j < COLUMNS; j++) {
                const float sum = fmaf(key, fresh[j], row[j]);
                out[j] = fmaf(query, sum, out[j]);
                row[j] = decay * sum;
                read[j] = fmaf(next_key, row[j], read[j]);
            }
        }
        float *to = s->out + t * s->out_stride;
        for (size_t j = 0; j < s->columns; j++)
            to[j] = s->skip ? fmaf(*s->skip, v[j], out[j]) : out[j];
    }
}

/* Do the same as scan_columns, for MIXER_ADD and several heads with one value each. */
FOR_EACH_ISA
static void scan_heads(const struct state_block *s)
{
    for (size_t t = 0; t < s->tokens; t++) {
        const float *a = s->a + t * s->a_stride, *v = s->v + t * s->stride;
        const float *b = s->b + t * s->b_stride;
        float *out = s->out + t * s->out_stride;
        for (size_t h = 0; h < s->columns; h++) {
            const size_t of = h / s->share * s->d_k;
            const float *q = s->q + t * s->stride + of, *k = s->k + t * s->stride + of;
            const float *decay = a + h * (s->each ? s->d_k : 1), fresh = b[h] * v[h];
            float *state = s->state + h * s->d_k, lanes[LANES] = {0};
            FOR_LANES(s->d_k, state[i] = fmaf(k[i], fresh, decay[s->each ? i : 0] * state[i]);
                      lanes[lane] = fmaf(q[i], state[i], lanes[lane]));
            float sum = add_lanes(lanes);
            out[h] = s->skip ? fmaf(s->skip[h], v[h], sum) : sum;
        }
    }
}

/* load_block: copy some columns of a state to a block; if `state` is NULL, the block is 0.
 * store_block: copy the columns of a block to a state, unless `state` is NULL. */
static void load_block(float *block, const float *state, size_t d_k, size_t d_v, size_t columns)
{
    memset(block, 0, d_k * COLUMNS * sizeof *block);
    for (size_t i = 0; state && i < d_k; i++)
        memcpy(block + i * COLUMNS, state + i * d_v, columns * sizeof *block);
}

static void store_block(float *state, const float *block, size_t d_k, size_t d_v, size_t columns)
{
    for (size_t i = 0; state && i < d_k; i++)
        memcpy(state + i * d_v, block + i * COLUMNS, columns * sizeof *block);
}

static bool scans_heads(const struct mixer *m)
{
    return m->d_v == 1 && m->update == MIXER_ADD && m->key_heads == 1;
}

/* Return the number of blocks in which the states of a text are computed. */
static size_t block_count(const struct mixer *m)
{
    return scans_heads(m) ? (m->heads + COLUMNS - 1) / COLUMNS
                          : m->heads * ((m->d_v + COLUMNS - 1) / COLUMNS);
}

/* Return how many tokens, from `token` on, are computed before the state is kept: the last of them
 * is the next token after which the state is kept, or the last token of the text. */
static size_t until_kept(const struct mixing *mix, size_t text, size_t token)
{
    const size_t count = mix->pass->batch->queries[text].count;
    size_t end = mix->all ? token : count - 1;
    while (end + 1 < count && mix->all[text].rows && mix->all[text].rows[end] == ATTENTION_NO_ROW)
        end++;
    return end + 1 - token;
}

/* Copy a block to the states after a token, for each head whose memory is not NULL. */
static void keep_block(const struct mixing *mix, const struct state_block *block, size_t text,
                       size_t token, size_t head, size_t column)
{
    const struct mixer *m = mix->m;
    const bool of_heads = scans_heads(m);
    for (size_t i = 0; mix->all && i < (of_heads ? block->columns : 1); i++) {
        float *to = lent_row(&mix->all[text], head + i, token);
        if (to && of_heads)
            memcpy(to, block->state + i * m->d_k, m->d_k * sizeof *to);
        else if (to)
            store_block(to + column, block->state, m->d_k, m->d_v, block->columns);
    }
}

static void scan_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const struct mixer *m = mix->m;
    const struct scratch *s = &mix->pass->scratch;
    const size_t blocks = block_count(m), text = round / blocks, block = round % blocks;
    const bool of_heads = scans_heads(m);
    const size_t of_head = of_heads ? 1 : blocks / m->heads;
    const size_t head = of_heads ? block * COLUMNS : block / of_head;
    const size_t column = of_heads ? 0 : block % of_head * COLUMNS;
    const size_t share = m->heads / m->key_heads, keys = head / share * m->d_k;
    const struct batch_rows rows = mix->pass->batch->queries[text];
    struct cache *cache = cache_of(mix, text);
    const size_t at = head * m->d_k * m->d_v + column;
    float *memory = s->mixers->blocks + thread * m->d_k * COLUMNS;
    float *watched = mix->states ? mix->states + text * mixer_state(m) + at : NULL;
    float *kept = cache ? cache_mixer(cache, mix->layer, true) + at : NULL;
    const float *old = cache && rows.past ? cache_mixer(cache, mix->layer, false) + at : NULL;
    struct state_block own = {
        .state = memory,
        .q = matrix_row(mix->q, rows.first) + keys,
        .k = matrix_row(mix->k, rows.first) + keys,
        .v = matrix_row(mix->v, rows.first) + head * m->d_v + column,
        .a = matrix_row(s->decays, rows.first) + head * mixer_decays(m),
        .b = matrix_row(mix->b, rows.first) + head,
        .skip = mix->skip ? mix->skip + head : NULL,
        .out = matrix_row(s->context, rows.first) + head * m->d_v + column,
        .d_k = m->d_k,
        .columns = num_min(COLUMNS, of_heads ? m->heads - head : m->d_v - column),
        .share = share,
        .stride = mix->v.stride,
        .a_stride = s->decays.stride,
        .b_stride = mix->b.stride,
        .out_stride = s->context.stride,
        .each = mixer_decays(m) > 1,
        .delta = m->update == MIXER_DELTA,
    };
    /* the states of heads with one value are side by side, like the rows of a block */
    const size_t width = of_heads ? own.columns * m->d_k : own.columns;
    const size_t height = of_heads ? 1 : m->d_k;
    if (of_heads) {
        memset(memory, 0, width * sizeof *memory);
        if (old)
            memcpy(memory, old, width * sizeof *memory);
    } else {
        load_block(memory, old, m->d_k, m->d_v, own.columns);
    }
    for (size_t token = 0; token < rows.count; token += own.tokens) {
        own.tokens = until_kept(mix, text, token);
        (of_heads ? scan_heads : scan_columns)(&own);
        keep_block(mix, &own, text, token + own.tokens - 1, head, column);
        own.q += own.tokens * own.stride;
        own.k += own.tokens * own.stride;
        own.v += own.tokens * own.stride;
        own.a += own.tokens * own.a_stride;
        own.b += own.tokens * own.b_stride;
        own.out += own.tokens * own.out_stride;
    }
    store_block(watched, memory, height, m->d_v, width);
    store_block(kept, memory, height, m->d_v, width);
}

/* Compute the context [T, H·dv] and the states of all texts. A text with a cache begins with the
 * cached states. */
static void scan(struct mixing *mix)
{
    const struct mixer *m = mix->m;
    const struct batch *batch = mix->pass->batch;
    double work = 3 * (double)batch->tokens * (double)mixer_state(m);
    pool_run(mix->pass->machine->pool,
             (struct loop){batch->count * block_count(m), work, scan_some}, mix);
}

/* --- the map ---------------------------------------------------------------------------------- */

/* dot: return Σ x · y. go_back, which is used by map_row: u = a (u - taken k). */
FOR_EACH_ISA
static float dot(const float *x, const float *y, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] = fmaf(x[i], y[i], lanes[lane]));
    return add_lanes(lanes);
}

FOR_EACH_ISA
static void go_back(float *restrict u, const float *restrict a, const float *restrict k,
                    size_t count, float taken, bool each)
{
    for (size_t i = 0; i < count; i++)
        u[i] = a[each ? i : 0] * (u[i] - taken * k[i]);
}

/* Compute a row of a head's map: the weights of the values in the output of a query, from the query
 * back to earlier tokens. After the step of token j, u is the query as it acts on the state before
 * token j. */
static void map_row(const struct mixing *mix, float *row, float *u, size_t head, size_t query)
{
    const struct mixer *m = mix->m;
    const struct scratch *s = &mix->pass->scratch;
    const size_t first = mix->pass->batch->queries[mix->text].first;
    const size_t keys = head / (m->heads / m->key_heads) * m->d_k, each = mixer_decays(m);
    memcpy(u, matrix_row(mix->q, first + query) + keys, m->d_k * sizeof *u);
    for (size_t j = query + 1; j-- > 0;) {
        const float *k = matrix_row(mix->k, first + j) + keys;
        row[j] = matrix_row(mix->b, first + j)[head] * dot(u, k, m->d_k);
        go_back(u, matrix_row(s->decays, first + j) + head * each, k, m->d_k,
                m->update == MIXER_DELTA ? row[j] : 0, each > 1);
    }
    row[query] += mix->skip ? mix->skip[head] : 0;
}

/* Compute a row of a head's map like map_row, for a short convolution: query · tap · key for each
 * key that the taps reach. */
static void band_row(const struct mixing *mix, float *row, size_t head, size_t query)
{
    const struct matrix taps = mix->pass->scratch.taps;
    const size_t first = mix->pass->batch->queries[mix->text].first;
    for (size_t j = query + 1; j-- > 0 && query - j < mix->m->taps;)
        row[j] = matrix_row(mix->q, first + query)[head] *
                 matrix_row(taps, mix->m->taps - 1 - (query - j))[head] *
                 matrix_row(mix->k, first + j)[head];
}

/* Return the first key in a row of the map whose cell may not be 0. */
static size_t first_key(const struct mixing *mix, size_t query)
{
    const size_t taps = mix->m->taps;
    return mix->m->update == MIXER_CONVOLVE && query >= taps ? query + 1 - taps : 0;
}

/* Fill a row of a head's map, up to the column of the query's own token. */
static void fill_row(const struct mixing *mix, float *row, size_t head, size_t query, size_t thread)
{
    float *u = mix->pass->scratch.mixers->blocks + thread * mix->m->d_k * COLUMNS;
    if (mix->m->update == MIXER_CONVOLVE)
        band_row(mix, row, head, query);
    else
        map_row(mix, row, u, head, query);
}

/* Return the memory of a thread for two rows: a row of a map, and sums of squares over all maps. */
static float *thread_rows(const struct mixing *mix, size_t thread)
{
    return mix->pass->scratch.mixers->rows + 2 * thread * mix->pass->batch->longest_queries;
}

static void give_row(const struct mixing *mix, enum site id, size_t head, size_t query,
                     const float *values)
{
    const struct attention_map_row row = {
        SITE_OF(BRANCH_MIXER, id), (int)mix->layer, mix->text, head, query,
        mix->maps.columns,         values};
    mix->maps.take(mix->pass->tap->context, &row);
}

/* Compute the map of the head with index `round`. */
static void map_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const struct lent *maps = &mix->maps;
    for (size_t query = 0; query < maps->columns; query++) {
        float *row = maps->take ? thread_rows(mix, thread) : lent_row(maps, round, query);
        if (!row)
            continue;
        memset(row, 0, maps->columns * sizeof *row);
        fill_row(mix, row, round, query, thread);
        if (maps->take)
            give_row(mix, SITE_WEIGHTS, round, query, row);
    }
}

/* Compute the row with index `round` of the norm over the maps of all heads. */
static void norm_some(void *context, size_t round, size_t thread)
{
    const struct mixing *mix = context;
    const struct lent *maps = &mix->maps;
    float *row = thread_rows(mix, thread), *squares = row + mix->pass->batch->longest_queries;
    float *to = lent_row(maps, 0, round);
    if (!to && !maps->take)
        return;
    memset(row, 0, maps->columns * sizeof *row);
    memset(squares, 0, maps->columns * sizeof *squares);
    for (size_t head = 0; head < mix->m->heads; head++) {
        fill_row(mix, row, head, round, thread);
        const size_t first = first_key(mix, round);
        add_products(squares + first, row + first, row + first, round + 1 - first);
    }
    for (size_t j = 0; j <= round; j++)
        squares[j] = sqrtf(squares[j]);
    if (to)
        memcpy(to, squares, maps->columns * sizeof *to);
    else
        give_row(mix, SITE_MAP_NORM, 0, round, squares);
}

/* Find memory for a site's matrices [rows, columns] of a text, one for each head. The tap's lender
 * provides it; without a lender it is *own, a buffer that is allocated once for the run. */
static int borrow(struct mixing *mix, struct lent *lent, enum site id, size_t text, float **own)
{
    struct pass *pass = mix->pass;
    struct mixer_memory *memory = pass->scratch.mixers;
    const struct batch *batch = pass->batch;
    const size_t heads = site_heads(pass->config, SITE_OF(BRANCH_MIXER, id), mix->layer);
    const size_t rows = batch->queries[text].count, longest = batch->longest_queries;
    const size_t threads = pool_threads(pass->machine->pool);
    const size_t states = id == SITE_STATES ? mix->m->d_k * mix->m->d_v : 0;
    struct attention_map_loan loan = {.site = SITE_OF(BRANCH_MIXER, id),
                                      .layer = (int)mix->layer,
                                      .text = text,
                                      .queries = rows,
                                      .keys = states ? states : rows};
    if ((!memory->heads && !(memory->heads = arena_alloc(pass->arena, batch->count * mix->m->heads,
                                                         sizeof *memory->heads, pass->err))) ||
        (!states && !memory->rows &&
         !(memory->rows =
               arena_room(pass->arena, 2 * threads * longest, sizeof *memory->rows, pass->err))))
        return -1;
    loan.heads = memory->heads + text * mix->m->heads;
    memset(loan.heads, 0, mix->m->heads * sizeof *loan.heads);
    if (pass->tap->lend && pass->tap->lend(pass->tap->context, &loan, pass->err))
        return -1;
    if (!pass->tap->lend && !*own &&
        !(*own = arena_room(pass->arena, (states ? batch->count : 1) * mix->m->heads * longest,
                            (states ? states : longest) * sizeof **own, pass->err)))
        return -1;
    float *first = *own + (states ? text * heads * longest * states : 0);
    for (size_t head = 0; !pass->tap->lend && head < heads; head++)
        loan.heads[head] = first + head * rows * loan.keys;
    *lent = (struct lent){loan.heads, loan.rows, loan.take, loan.keys};
    return 0;
}

/* If there is no lender, pass the matrices of a site for a text to the tap. */
static int announce(struct mixing *mix, enum site id, size_t text, const struct lent *lent)
{
    const size_t heads = site_heads(mix->pass->config, SITE_OF(BRANCH_MIXER, id), mix->layer);
    const size_t shape[] = {heads, mix->pass->batch->queries[text].count, lent->columns};
    const bool has_heads = site_has_heads(SITE_OF(BRANCH_MIXER, id));
    if (mix->pass->tap->lend)
        return 0;
    return tap_show(mix->pass, id, mix->layer, text,
                    tensor_dense(lent->heads[0], has_heads ? 3 : 2, shape + !has_heads));
}

/* Compute the maps of each text, or the norm of its maps, if they are watched. */
static enum pass_state show_maps(struct mixing *mix, enum site id)
{
    struct pass *pass = mix->pass;
    const struct mixer *m = mix->m;
    const struct batch *batch = pass->batch;
    const size_t texts = pass_watches(pass, id, mix->layer) ? batch->count : 0;
    for (mix->text = 0; mix->text < texts; mix->text++) {
        const struct batch_rows rows = batch->queries[mix->text];
        const double work = (double)rows.count * (double)rows.count * (double)(m->heads * m->d_k);
        if (rows.past) {
            err_usage(pass->err,
                      "'%s': expected a whole text in one pass, found one that continues tokens in "
                      "a cache",
                      site_name(SITE_OF(BRANCH_MIXER, id)));
            return PASS_FAILED;
        }
        if (borrow(mix, &mix->maps, id, mix->text, &pass->scratch.mixers->maps))
            return PASS_FAILED;
        if (id == SITE_WEIGHTS)
            pool_run(pass->machine->pool, (struct loop){m->heads, work, map_some}, mix);
        else
            pool_run(pass->machine->pool, (struct loop){rows.count, work, norm_some}, mix);
        if (announce(mix, id, mix->text, &mix->maps))
            return PASS_FAILED;
    }
    return pass_after(pass, id, mix->layer);
}

/* Pass the last state of each text, and the states after each token, to the tap if they are
 * watched. */
static enum pass_state show_states(struct mixing *mix)
{
    struct pass *pass = mix->pass;
    const struct mixer *m = mix->m;
    const size_t shape[] = {m->heads, m->d_k, m->d_v};
    for (size_t s = 0; mix->states && s < pass->batch->count; s++)
        if (tap_show(pass, SITE_STATE, mix->layer, s,
                     tensor_dense(mix->states + s * mixer_state(m), 3, shape)))
            return PASS_FAILED;
    PASS_TRY(pass_after(pass, SITE_STATE, mix->layer));
    for (size_t s = 0; mix->all && s < pass->batch->count; s++)
        if (announce(mix, SITE_STATES, s, &mix->all[s]))
            return PASS_FAILED;
    return pass_after(pass, SITE_STATES, mix->layer);
}

/* Compute the states of all texts. If they are watched, store them and pass them to the tap. */
static enum pass_state read_states(struct mixing *mix)
{
    struct pass *pass = mix->pass;
    struct mixer_memory *memory = pass->scratch.mixers;
    const size_t texts = pass->batch->count;
    if (pass_watches(pass, SITE_STATE, mix->layer)) {
        if (!memory->states &&
            !(memory->states = arena_room(pass->arena, texts * mixer_state(mix->m),
                                          sizeof *memory->states, pass->err)))
            return PASS_FAILED;
        mix->states = memory->states;
    }
    if (pass_watches(pass, SITE_STATES, mix->layer)) {
        if (!memory->all &&
            !(memory->all = arena_alloc(pass->arena, texts, sizeof *memory->all, pass->err)))
            return PASS_FAILED;
        mix->all = memory->all;
        for (size_t s = 0; s < texts; s++)
            if (borrow(mix, &mix->all[s], SITE_STATES, s, &memory->after))
                return PASS_FAILED;
    }
    scan(mix);
    return show_states(mix);
}

/* --- the output ------------------------------------------------------------------------------- */

/* The steps between a context and the last matrix: a product with a gate, and a norm. */
struct finish {
    struct matrix context, gate, gated;
    enum gate function;
    bool gate_first;
    const struct norm *norm; /* NULL: there is no norm */
    /* groups: the number of parts of a row that are normed; scales_of_group: the floats from the
     * scales of one group to the scales of the next. */
    size_t groups, scales_of_group;
};

static void finish_some(void *context, size_t round, size_t thread)
{
    const struct finish *f = context;
    const size_t first = round * ROWS_AT_ONCE, width = f->gated.columns / f->groups;
    const size_t count = num_min(f->gated.rows - first, ROWS_AT_ONCE);
    struct matrix y = matrix_rows(f->gated, first, count), gate = {0};
    (void)thread;
    copy_rows(y, matrix_rows(f->context, first, count));
    if (f->function) {
        gate = matrix_rows(f->gate, first, count);
        if (f->function == GATE_SILU)
            activate(gate, gate, NULL, ACTIVATION_SILU);
        for (size_t row = 0; f->function == GATE_LOGISTIC && row < count; row++)
            logistic_row(matrix_row(gate, row), gate.columns);
    }
    if (f->function && f->gate_first)
        multiply_rows(y, gate);
    for (size_t group = 0; f->norm && group < f->groups; group++) {
        struct norm norm = *f->norm;
        struct matrix own = matrix_columns(y, group * width, width);
        norm.scale += group * f->scales_of_group;
        norm_rows(own, own, &norm);
    }
    if (f->function && !f->gate_first)
        multiply_rows(y, gate);
}

/* scratch.gated = the context, multiplied by the gate of f and normed by the norm of f. */
static enum pass_state finish(struct pass *pass, size_t layer, struct finish *f)
{
    const double work = 16 * (double)f->context.rows * (double)f->context.columns;
    f->context = pass->scratch.context;
    f->gated = matrix_columns(pass->scratch.gated, 0, f->context.columns);
    pool_run(pass->machine->pool,
             (struct loop){(f->context.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, work, finish_some},
             f);
    pass->scratch.active = f->gated;
    return tap_rows(pass, SITE_GATED, layer, f->gated);
}

enum pass_state gate_context(struct pass *pass, enum gate gate, size_t layer, struct matrix x)
{
    struct finish f = {.function = gate, .groups = 1};
    f.gate = matrix_columns(pass->scratch.gate, 0, pass->scratch.context.columns);
    PASS_TRY(pass_product(pass, pass_slot(pass, SLOT_OUT_GATE, layer), f.gate, x, ACTIVATION_NONE));
    PASS_TRY(tap_rows(pass, SITE_GATE, layer, f.gate));
    return finish(pass, layer, &f);
}

static enum pass_state leave(struct mixing *mix, struct matrix x)
{
    struct pass *pass = mix->pass;
    struct scratch *s = &pass->scratch;
    const struct mixer *m = mix->m;
    const size_t inner = m->heads * m->d_v;
    struct finish f = {.function = m->gate,
                       .gate_first = m->gate_first,
                       .groups = m->out_groups ? m->out_groups : m->heads};
    f.scales_of_group = m->out_groups ? inner / m->out_groups : 0;
    f.gate = matrix_columns(s->gate, 0, inner);
    s->active = s->context;
    if (m->gate_rank) {
        struct matrix narrow = matrix_columns(s->narrow, 0, m->gate_rank);
        PASS_TRY(product(mix, SLOT_OUT_GATE_DOWN, narrow, x));
        x = narrow;
    }
    if (m->gate) {
        PASS_TRY(product(mix, SLOT_OUT_GATE, f.gate, x));
        PASS_TRY(tap_rows(pass, SITE_GATE, mix->layer, f.gate));
    }
    if (m->out_norm) {
        if (weights_norm(pass->weights, pass_slot(pass, SLOT_OUT_NORM, mix->layer), &mix->norm,
                         pass->err))
            return PASS_FAILED;
        f.norm = &mix->norm;
    }
    return m->gate || m->out_norm ? finish(pass, mix->layer, &f) : PASS_ON;
}

enum pass_state mix(struct pass *pass, const struct mixer *m, size_t layer, struct matrix x)
{
    struct scratch *s = &pass->scratch;
    const size_t keys = m->key_heads * m->d_k, inner = m->heads * m->d_v;
    struct mixing mix = {.pass = pass, .m = m, .layer = layer};
    mix.q = matrix_columns(s->mixed, 0, keys);
    mix.k = matrix_columns(s->mixed, keys, keys);
    mix.v = matrix_columns(s->mixed, 2 * keys, inner);
    mix.from = matrix_columns(s->unmixed, 0, mixer_convolved(m));
    s->context.columns = inner;
    if (m->update == MIXER_CONVOLVE) {
        PASS_TRY(project_channels(&mix, x));
        PASS_TRY(show_maps(&mix, SITE_WEIGHTS));
        PASS_TRY(show_maps(&mix, SITE_MAP_NORM));
        multiply_rows(s->context, mix.q);
    } else {
        PASS_TRY(project(&mix, x));
        PASS_TRY(step(&mix, x));
        PASS_TRY(show_maps(&mix, SITE_WEIGHTS));
        PASS_TRY(show_maps(&mix, SITE_MAP_NORM));
        PASS_TRY(read_states(&mix));
    }
    PASS_TRY(tap_rows(pass, SITE_CONTEXT, layer, s->context));
    return leave(&mix, x);
}
