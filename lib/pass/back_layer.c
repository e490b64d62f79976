/* back_layer.c: the backward pass over a layer: its attention, the products that make queries, keys
 * and values, and the stream between sublayers. Heads that share keys run one after the other,
 * since their gradients are added. Sums are added in the order of the blocks, with any number of
 * threads. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "math/portable_math.h"
#include "math/machine.h"
#include "math/rng.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "pass/back.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "pass/pass.h"

/* --- heads ------------------------------------------------------------------------------------ */

enum {
    SIDE = 64,  /* number of queries, and of keys, in a block */
    SIZES = 2,  /* number of lengths that a side of a block can have: SIDE, and the remainder */
    STRIPS = 2, /* scratch strips of a thread, each with SIDE rows of weights or of their
                 * gradients */
    LINE = 16,  /* floats in a cache line */
};

/* The products of a block: C [n, m] = B [n, k] · A [k, m], or C += for the products with `+=`; d is
 * the number of channels of a head. */
enum product {
    SLOPES, /* [queries, keys] = dcontext · vᵀ: gradients of weights */
    DQ,     /* [queries, d] += dscores · k */
    DK,     /* [keys, d] += dscoresᵀ · q [queries, d] */
    DV,     /* [keys, d] += weightsᵀ · dcontext */
    PRODUCTS,
};

/* The heads of a sublayer. They are computed in blocks of SIDE queries by SIDE keys, without the
 * blocks that have no visible keys. Matrices have the rows of all texts, with heads side by
 * side. */
struct back_heads {
    const struct sublayer *sublayer;
    size_t texts, rows, keys; /* numbers of queries and of keys in each text */
    size_t only;              /* index of the only head that is computed; SIZE_MAX: all heads are
                               * computed */
    struct matrix q, k, v, dcontext;
    struct matrix dq, dk, dv;      /* gradients of q, k and v, to which the backward pass adds */
    const float *weights, *scores; /* [texts, H, T, S] values of the forward pass; `scores` is set
                                    * only if scores are capped */
    const float *rest;             /* [texts, T, H] with `dsinks`: the share of the softmax that the
                                    * sinks get */
    const float *biases;           /* with BIAS_DISENTANGLED: the numbers that weights_biases
                                    * returns; otherwise NULL */
    float *maps;                   /* [texts, H, T, S] zeros, for the gradients of maps; NULL: all
                                    * steps are done at once, in scratch memory */
    float *dsinks;                 /* [texts, H] gradients of the scores of sinks; NULL: they are
                                    * not wanted */
    float *dbiases;                /* [texts, H, 2 reach + 1] gradients of the bias of each
                                    * distance; NULL: they are not wanted */
    float *dplaces;                /* [texts, places_floats] gradients of the tables by distance,
                                    * which follow the biases in `biases`; NULL: they are not
                                    * wanted */
    const float *difference; /* [texts, H, T, S] with differential attention: the differences of the
                              * weights of two heads, in the first H / 2 maps of each text;
                              * otherwise NULL */
    float lambda;            /* with `difference`: the factor of the weights of second heads */
    float *dlambdas;         /* [texts, H] with `difference`: gradients of lambda */
    float *scratch;          /* [threads, back_heads_floats] scratch memory of threads */
    struct dropout dropout;  /* dropout of attention weights during training, with the sublayer's
                              * key */
};

/* The steps back from the gradient of the context: to the gradients of weights, of masked scores,
 * of scores, and of q, k and v. */
enum back_step { BACK_WEIGHTS = 1, BACK_MASKED = 2, BACK_SCORES = 4, BACK_HEADS = 8 };

struct work {
    const struct back_heads *all;
    const struct score_rule *rule;
    unsigned steps;
    size_t stride;     /* floats from one row to the next of a strip in scratch memory, and of
                        * transposed values */
    size_t map_stride; /* floats from one row to the next of a strip of gradients: the number of
                        * keys if there is a map, otherwise `stride` */
    float factor;      /* a score is multiplied by it to get the masked score */
    bool is_folded;    /* the step back over the softmax also multiplies by `factor` */
    struct kernel kernels[PRODUCTS][SIZES][SIZES]; /* [product][1: the last, shorter block of
                                                    * queries][1: the last, shorter block of
                                                    * keys] */
};

/* The state of the backward pass over one head of one text. */
struct head_work {
    const struct work *work;
    struct matrix q, k, v, dcontext, dq, dk, dv; /* [T or S, d] this head's columns */
    struct matrix dwhole;                        /* [T, width] gradient of the complete context,
                                                  * which two heads may share */
    const float *weights, *scores, *rest;        /* [T, S]; `rest` is [T], with its elements H
                                                  * floats apart */
    float *map;                                  /* [T, S] gradients of a map; NULL: they are in
                                                  * scratch memory */
    float *transposed;                           /* [width, stride] the transposed values whose
                                                  * weighted sum is the context */
    float *strips[STRIPS];                       /* [SIDE, stride] weights, or gradients of weights,
                                                  * of a strip of queries */
    float *block;                                /* [SIDE, SIDE] a transposed block of a strip */
    size_t number;                               /* index of this head among all heads of the
                                                  * batch */
};

static size_t stride_of(const struct back_heads *heads)
{
    return (heads->keys + LINE - 1) / LINE * LINE;
}

static size_t back_heads_floats(const struct back_heads *heads)
{
    return stride_of(heads) * (context_width(&heads->sublayer->head) + STRIPS * SIDE) + SIDE * SIDE;
}

static void call(const struct head_work *head, enum product product, size_t first, size_t key,
                 const float *a, const float *b, float *c)
{
    bool few_rows = head->q.rows - first < SIDE, few_keys = head->k.rows - key < SIDE;
    kernel_call(&head->work->kernels[product][few_rows][few_keys], a, b, c, a);
}

/* For one block of a strip, add to dk if `product` is DK, or to dv if it is DV: dk [keys, d] +=
 * blockᵀ · q, dv [keys, d] += blockᵀ · dcontext. */
static void mix_transposed(const struct head_work *head, enum product product, struct matrix strip,
                           size_t first, size_t key)
{
    struct matrix to = product == DK ? head->dk : head->dv;
    struct matrix from = product == DK ? head->q : head->dcontext;
    size_t keys = num_min(head->k.rows - key, SIDE);
    transpose((struct matrix){head->block, keys, strip.rows, SIDE},
              matrix_columns(strip, key, keys));
    call(head, product, first, key, matrix_row(from, first), head->block, matrix_row(to, key));
}

/* Return the weights of a strip by which the values were multiplied: after dropout, as a copy, or
 * the strip itself if there is no dropout. With differential attention, they are the differences of
 * the two heads' weights. */
static struct matrix drop_strip(const struct head_work *head, size_t first, size_t rows)
{
    const struct back_heads *all = head->work->all;
    const size_t keys = all->keys, heads = all->sublayer->head.heads;
    if (all->difference) {
        const size_t context = head->number % heads % context_heads(&all->sublayer->head);
        const size_t map = (head->number / heads * heads + context) * all->rows + first;
        return (struct matrix){(float *)all->difference + map * keys, rows, keys, keys};
    }
    /* the cast drops const, but the weights are only read */
    struct matrix strip = {(float *)head->weights + first * keys, rows, keys, keys};
    struct matrix dropped = {head->strips[1], rows, keys, head->work->stride};
    if (all->dropout.rate <= 0)
        return strip;
    copy_rows(dropped, strip);
    for (size_t row = 0; row < rows; row++) {
        struct key_range seen = score_visible(head->work->rule, first + row, keys);
        rng_dropout(matrix_row(dropped, row) + seen.first, seen.end - seen.first, all->dropout.key,
                    head->number * all->rows + first + row, all->dropout.rate);
    }
    return dropped;
}

/* For one row, go from gradients of differences to gradients of the second head's weights, and add
 * the gradient of lambda. */
static void second_back(const struct head_work *head, float *row, size_t query,
                        struct key_range seen)
{
    const struct back_heads *all = head->work->all;
    const float *weights = head->weights + query * all->keys;
    const size_t count = seen.end - seen.first;
    all->dlambdas[head->number] -= (float)dot_rows(row + seen.first, weights + seen.first, count);
    scale_row(row + seen.first, row + seen.first, count, -all->lambda);
}

/* Go from gradients of weights to gradients of masked scores, for the visible keys of a row; with
 * `dsinks`, add the gradient of the sink. */
static void mask_back(const struct head_work *head, float *row, size_t query, struct key_range seen)
{
    const struct back_heads *all = head->work->all;
    const float *weights = head->weights + query * all->keys;
    const size_t count = seen.end - seen.first;
    if (all->dsinks)
        all->dsinks[head->number] -=
            (float)dot_rows(row + seen.first, weights + seen.first, count) *
            head->rest[query * head->work->all->sublayer->head.heads];
    softmax_row_backward(row + seen.first, weights + seen.first, count,
                         head->work->is_folded ? head->work->factor : 1);
}

/* Go from gradients of masked scores to gradients of scores, for the visible keys of a row; with
 * `dbiases`, add the gradients of biases. */
static void scores_back(const struct head_work *head, float *row, size_t query,
                        struct key_range seen)
{
    const struct score_rule *rule = head->work->rule;
    const struct back_heads *all = head->work->all;
    const float *scores = head->scores + query * all->keys;
    const long reach = rule->reach;
    float *biases = all->dbiases ? all->dbiases + head->number * (2 * (size_t)reach + 1) : NULL;
    for (size_t key = seen.first; key < seen.end; key++) {
        float bent = rule->cap > 0 ? tanh_float(scores[key] * rule->scale / rule->cap) : 0;
        if (biases) {
            long distance = (long)key - (long)query;
            distance = distance < -reach ? -reach : distance > reach ? reach : distance;
            biases[distance + reach] += row[key] / (rule->temperature > 0 ? rule->temperature : 1);
        }
        row[key] *= (1 - bent * bent) * head->work->factor;
    }
}

/* Return the number of floats in the tables of keys and of queries of BIAS_DISENTANGLED
 * together. */
static size_t places_floats(const struct sublayer *s)
{
    const unsigned terms = s->score.terms;
    const size_t tables = (size_t) !!(terms & TERM_KEYS) + !!(terms & TERM_QUERIES);
    return tables * 2 * s->score.buckets * s->head.heads * s->head.d_k;
}

/* With BIAS_DISENTANGLED, from gradients of scores, add the gradients of q and k through their
 * products with the vectors of distances and, with `dplaces`, the gradients of these vectors. */
static void places_back(const struct head_work *head, struct matrix strip, size_t first)
{
    const struct score_rule *rule = head->work->rule;
    const struct back_heads *all = head->work->all;
    const size_t d = head->q.columns, number = head->number % all->sublayer->head.heads;
    const struct head_bias bias = score_head_bias(rule, all->biases, number, head->q, head->k);
    const float *tables = all->biases + score_biases_count(rule);
    const size_t text = head->number / all->sublayer->head.heads;
    float *d_tables = all->dplaces ? all->dplaces + text * places_floats(all->sublayer) : NULL;
    for (size_t i = 0; i < strip.rows; i++)
        for (size_t key = 0; key < all->keys; key++) {
            const size_t place = score_place(rule, &bias, first + i, key);
            const float gradient = matrix_row(strip, i)[key];
            float *dq = matrix_row(head->dq, first + i), *dk = matrix_row(head->dk, key);
            if (bias.keys)
                add_scaled_row(dq, bias.keys + place, d, gradient, bias.keys);
            if (bias.queries)
                add_scaled_row(dk, bias.queries + place, d, gradient, bias.queries);
            if (bias.keys && d_tables)
                add_scaled_row(d_tables + (bias.keys - tables) + place,
                               matrix_row(head->q, first + i), d, gradient, head->q.data);
            if (bias.queries && d_tables)
                add_scaled_row(d_tables + (bias.queries - tables) + place, matrix_row(head->k, key),
                               d, gradient, head->k.data);
        }
}

static void strip_back(const struct head_work *head, size_t first)
{
    const struct work *work = head->work;
    const size_t keys = work->all->keys, rows = num_min(head->q.rows - first, SIDE);
    const size_t from = score_visible(work->rule, first, keys).first / SIDE * SIDE;
    const size_t end = score_visible(work->rule, first + rows - 1, keys).end;
    const struct head_rule *rule = &work->all->sublayer->head;
    const bool is_second = head->number % rule->heads >= context_heads(rule);
    struct matrix strip = {head->strips[0], rows, keys, work->map_stride};
    if (head->map)
        strip.data = head->map + first * keys;
    for (size_t key = from; work->steps & BACK_WEIGHTS && key < end; key += SIDE)
        call(head, SLOPES, first, key, head->transposed + key, matrix_row(head->dwhole, first),
             strip.data + key);
    for (size_t i = 0; i < rows; i++) {
        const struct key_range seen = score_visible(work->rule, first + i, keys);
        const size_t blocks = num_min((end + SIDE - 1) / SIDE * SIDE, keys);
        float *row = matrix_row(strip, i);
        if (work->steps & BACK_WEIGHTS) {
            memset(row + from, 0, (seen.first - from) * sizeof *row);
            memset(row + seen.end, 0, (blocks - seen.end) * sizeof *row);
            rng_dropout(row + seen.first, seen.end - seen.first, work->all->dropout.key,
                        head->number * work->all->rows + first + i, work->all->dropout.rate);
            if (is_second)
                second_back(head, row, first + i, seen);
        }
        if (work->steps & BACK_MASKED)
            mask_back(head, row, first + i, seen);
        if (work->steps & BACK_SCORES && !work->is_folded)
            scores_back(head, row, first + i, seen);
    }
    if (!(work->steps & BACK_HEADS))
        return;
    const struct matrix dropped = drop_strip(head, first, rows);
    for (size_t key = from; key < end; key += SIDE) {
        call(head, DQ, first, key, matrix_row(head->k, key), strip.data + key,
             matrix_row(head->dq, first));
        mix_transposed(head, DK, strip, first, key);
        mix_transposed(head, DV, dropped, first, key);
    }
    if (work->all->biases)
        places_back(head, strip, first);
}

/* --- all heads -------------------------------------------------------------------------------- */

static struct matrix part(struct matrix whole, size_t text, size_t rows, size_t head, size_t width)
{
    return matrix_columns(matrix_rows(whole, text * rows, rows), head * width, width);
}

static struct head_work head_work(const struct work *work, size_t number, size_t thread)
{
    const struct back_heads *all = work->all;
    const struct head_rule *rule = &all->sublayer->head;
    const size_t text = number / rule->heads, head = number % rule->heads;
    const size_t shared = kv_head_of(rule, head), map = all->rows * all->keys;
    const size_t width = context_width(rule);
    float *scratch = all->scratch + thread * back_heads_floats(all);
    return (struct head_work){
        .work = work,
        .q = part(all->q, text, all->rows, head, rule->d_k),
        .k = part(all->k, text, all->keys, shared, rule->d_k),
        .v = part(all->v, text, all->keys, shared, rule->d_v),
        .dcontext = part(all->dcontext, text, all->rows, context_column(rule, head), rule->d_v),
        .dwhole = part(all->dcontext, text, all->rows, head % context_heads(rule), width),
        .dq = part(all->dq, text, all->rows, head, rule->d_k),
        .dk = part(all->dk, text, all->keys, shared, rule->d_k),
        .dv = part(all->dv, text, all->keys, shared, rule->d_v),
        .weights = all->weights + number * map,
        .scores = all->scores ? all->scores + number * map : NULL,
        .rest = all->rest ? all->rest + text * all->rows * rule->heads + head : NULL,
        .map = all->maps ? all->maps + number * map : NULL,
        .block = scratch,
        .transposed = scratch + SIDE * SIDE,
        .strips = {scratch + SIDE * SIDE + width * work->stride,
                   scratch + SIDE * SIDE + (width + SIDE) * work->stride},
        .number = number,
    };
}

static void run_group(void *context, size_t round, size_t thread)
{
    const struct work *work = context;
    const struct back_heads *all = work->all;
    const struct head_rule *rule = &all->sublayer->head;
    const size_t heads = rule->heads, contexts = context_heads(rule);
    const size_t shared = kv_head_shared_by(rule);
    for (size_t number = round * shared; number < (round + 1) * shared; number++) {
        struct head_work head = head_work(work, number, thread);
        if (all->only != SIZE_MAX && number % heads != all->only)
            continue;
        float *to = head.transposed;
        for (size_t one = number % heads % contexts; work->steps & BACK_WEIGHTS && one < heads;
             one += contexts, to += rule->d_v * work->stride)
            transpose((struct matrix){to, rule->d_v, all->keys, work->stride},
                      part(all->v, number / heads, all->keys, kv_head_of(rule, one), rule->d_v));
        for (size_t first = 0; first < all->rows; first += SIDE)
            strip_back(&head, first);
    }
}

/* Get the kernels for blocks of SIDE queries and keys, and for blocks whose sides are the
 * remainders. */
static void get_kernels(struct machine *machine, struct work *work, double cost)
{
    const struct back_heads *all = work->all;
    const int d_k = (int)all->sublayer->head.d_k, d_v = (int)all->sublayer->head.d_v;
    const int strip = (int)work->map_stride, turned = (int)work->stride;
    const int q = (int)all->q.stride, k = (int)all->k.stride, out = (int)all->dcontext.stride;
    const int dq = (int)all->dq.stride, dk = (int)all->dk.stride, dv = (int)all->dv.stride;
    kernels_begin(machine->kernels);
    for (int i = 0; i < SIZES * SIZES; i++) {
        const bool few_rows = i / SIZES, few_keys = i % SIZES;
        const int rows = (int)(few_rows ? all->rows % SIDE : num_min(all->rows / SIDE, 1) * SIDE);
        const int keys = (int)(few_keys ? all->keys % SIDE : num_min(all->keys / SIDE, 1) * SIDE);
        const struct kernel_shape shapes[PRODUCTS] = {
            /* each row lists m, n and k, then the strides of A, B and C, then `accumulate`,
             * `prefetch` and `pairs` */
            [SLOPES] = {keys, rows, (int)context_width(&all->sublayer->head), turned, out, strip, 0,
                        0, 0},
            [DQ] = {d_k, rows, keys, k, strip, dq, 1, 0, 0},
            [DK] = {d_k, keys, rows, q, SIDE, dk, 1, 0, 0},
            [DV] = {d_v, keys, rows, out, SIDE, dv, 1, 0, 0},
        };
        for (int p = 0; rows && keys && p < PRODUCTS; p++)
            kernels_get(machine->kernels, &work->kernels[p][few_rows][few_keys], &shapes[p], cost);
    }
}

static void back_heads(struct machine *machine, const struct back_heads *heads, unsigned steps)
{
    const struct head_rule *rule = &heads->sublayer->head;
    const struct score_rule *score = &heads->sublayer->score;
    const double cost = 2 * (double)(heads->texts * heads->rows) * (double)heads->keys *
                        (double)(rule->heads * rule->d_k);
    struct work work = {
        .all = heads,
        .rule = score,
        .steps = steps,
        .stride = stride_of(heads),
        .map_stride = heads->maps ? heads->keys : stride_of(heads),
        .factor = score->scale / (score->temperature > 0 ? score->temperature : 1),
    };
    work.is_folded =
        steps & BACK_MASKED && steps & BACK_SCORES && score->cap <= 0 && !heads->dbiases;
    get_kernels(machine, &work, cost);
    pool_run(machine->pool, (struct loop){heads->texts * rule->kv_heads, cost, run_group}, &work);
}

/* --- queries, keys and values ----------------------------------------------------------------- */

/* The queries of an attention sublayer or, if `of_keys`, its keys. */
struct product_side {
    const struct sublayer *s;
    bool of_keys;
    size_t heads;
    struct matrix input; /* the input of the projection to queries or keys */
};

/* Return the cosines and sines of a text for a rotary embedding, made on their first use; without
 * data if memory runs out. If `back`, the sines have the opposite sign. */
static struct matrix turns_of(struct walk *w, const struct rotary *rotary, size_t rows, bool back)
{
    struct matrix *turns = &w->turns[rotary == &w->config->rotary_local][back];
    const size_t half = rotary->components / 2;
    if (turns->data && turns->rows == rows)
        return *turns;
    *turns = walk_matrix(arena_room(w->back->tape->arena, rows * 2 * half, sizeof(float), w->err),
                         rows, 2 * half);
    if (!turns->data)
        return *turns;
    rotary_fill(*turns, rotary, 0, rows);
    for (size_t row = 0; back && row < rows; row++)
        scale_row(matrix_row(*turns, row) + half, matrix_row(*turns, row) + half, half, -1);
    return *turns;
}

/* Rotate all heads [N, H · d] or, if `back`, rotate gradients by the opposite angles. Amplitudes
 * and growth factors are the same for both. */
static int turn(struct walk *w, const struct product_side *side, struct matrix heads, bool back)
{
    const struct head_rule *rule = &side->s->head;
    const size_t rows = heads.rows / w->texts;
    if (!rule->rotary || mechanism_lacks(&w->config->mechanism, BLOCK_POSITIONS))
        return 0;
    const struct matrix turns = turns_of(w, rule->rotary, rows, back);
    for (size_t text = 0; text < w->texts && turns.data; text++) {
        struct matrix own = matrix_rows(heads, text * rows, rows);
        rotate(own, own, rule->d_k, rule->rotary, turns);
        if (!side->of_keys)
            rotary_grow(own, rule->rotary, 0);
    }
    return err_if(!turns.data);
}

/* Replace gradients of normed heads, which are `width` columns wide, by gradients of the heads
 * before the norm, which are x. */
static int heads_norm_back(struct walk *w, const struct sublayer *s, int id, size_t width,
                           struct matrix gradient, struct matrix x)
{
    struct slot slot = walk_slot(w, s->branch, id);
    struct matrix dx = walk_zeros(w, x.rows, x.columns);
    if (!dx.data || !x.data)
        return -1;
    for (size_t head = 0; head < x.columns / width; head++) {
        slot.expert = (short)(s->head.norm.own ? (int)head : -1);
        if (walk_norm_back(w, slot, matrix_columns(dx, head * width, width),
                           matrix_columns(gradient, head * width, width),
                           matrix_columns(x, head * width, width)))
            return -1;
    }
    copy_rows(gradient, dx);
    return 0;
}

/* Go from the gradients of queries or keys [N, H · d] to the gradients of the projection's
 * output. */
static int side_back(struct walk *w, const struct product_side *side, struct matrix gradient)
{
    const struct head_rule *rule = &side->s->head;
    const enum site_branch branch = side->s->branch;
    const bool is_normed = side->of_keys ? rule->norm.k : rule->norm.q;
    const bool by_heads = is_normed && !rule->norm.whole;
    const int norm = side->of_keys ? SLOT_K_NORM : SLOT_Q_NORM;
    struct matrix raw = {0};
    if (by_heads) {
        raw = walk_product(w, walk_slot(w, branch, side->of_keys ? SLOT_K : SLOT_Q), side->input);
        if (!raw.data)
            return -1;
    }
    if (by_heads && rule->norm.after_rotary &&
        (turn(w, side, raw, false) || heads_norm_back(w, side->s, norm, rule->d_k, gradient, raw)))
        return -1;
    if (rule->rotary && (turn(w, side, gradient, true) ||
                         walk_show_heads(w, branch, side->of_keys ? SITE_K_PRE : SITE_Q_PRE,
                                         gradient, side->heads)))
        return -1;
    return by_heads && !rule->norm.after_rotary
               ? heads_norm_back(w, side->s, norm, rule->d_k, gradient, raw)
               : 0;
}

/* Go from the gradients of values to the gradients of the projection's output. If keys are made by
 * the same projection, also add the gradient to dk, the gradient of its output. */
static int values_back(struct walk *w, const struct sublayer *s, struct matrix gradient,
                       struct matrix dk, struct matrix input)
{
    const struct head_rule *rule = &s->head;
    const struct slot slot = walk_slot(w, s->branch, rule->v_is_k ? SLOT_K : SLOT_V);
    if (rule->norm.v &&
        heads_norm_back(w, s, SLOT_NONE, rule->d_v, gradient, walk_product(w, slot, input)))
        return -1;
    if (rule->v_is_k)
        add_rows(dk, gradient);
    return 0;
}

/* Return the gradients of the keys and values that a layer borrows. They are kept until the
 * backward pass reaches the layer that made the keys and values. NULL: out of memory. */
static struct matrix *lent_of(struct walk *w, const struct sublayer *s, const struct matrix d[3])
{
    struct matrix *lent = w->lent[s->head.kv_layer];
    for (size_t i = 0; i < 2 && !lent[i].data; i++)
        lent[i] = walk_lasting(w, d[i + 1].rows, d[i + 1].columns);
    return w->err->kind ? NULL : lent;
}

/* Go from the gradients dy of queries, keys or values to the gradients before they are clipped and
 * normed as one row. */
static int clip_back(struct walk *w, const struct head_rule *rule, struct slot slot,
                     struct matrix dy, struct matrix input)
{
    const int id = slot.id;
    const bool is_normed =
        rule->norm.whole && (id == SLOT_Q ? rule->norm.q : id == SLOT_K && rule->norm.k);
    if (!is_normed && rule->clip <= 0)
        return 0;
    struct matrix raw = walk_product(w, slot, input), x = raw,
                  dx = walk_zeros(w, dy.rows, dy.columns);
    struct norm norm;
    slot.id = id == SLOT_Q ? SLOT_Q_NORM : SLOT_K_NORM;
    if (!raw.data || !dx.data || (is_normed && weights_norm(w->run->weights, slot, &norm, w->err)))
        return -1;
    if (is_normed && rule->clip > 0) {
        x = walk_copy(w, raw);
        if (!x.data)
            return -1;
        norm_rows(x, x, &norm);
    }
    for (size_t i = 0; rule->clip > 0 && i < dy.rows * dy.columns; i++)
        dy.data[i] = fabsf(x.data[i]) <= rule->clip ? dy.data[i] : 0;
    if (!is_normed)
        return 0;
    if (walk_norm_back(w, slot, dx, dy, raw))
        return -1;
    copy_rows(dy, dx);
    return 0;
}

/* The backward pass over the products of latent attention, where keys and values, and perhaps
 * queries, are made from a narrow vector. d: the gradients of q, k and v. */
static int latent_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       const struct matrix d[3])
{
    const struct head_rule *rule = &s->head;
    const size_t rows = x.rows, first = rule->rotary->first, rest = rule->d_k - first;
    const struct slot q_down = walk_slot(w, s->branch, SLOT_Q_DOWN);
    const struct slot q_norm = walk_slot(w, s->branch, SLOT_Q_DOWN_NORM);
    const struct slot kv_down = walk_slot(w, s->branch, SLOT_KV_DOWN);
    const struct slot kv_norm = walk_slot(w, s->branch, SLOT_KV_DOWN_NORM);
    struct matrix dplain = walk_zeros(w, rows, rule->heads * first),
                  drotary = walk_zeros(w, rows, rest);
    if (!dplain.data || !drotary.data)
        return -1;
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix own = matrix_columns(d[1], head * rule->d_k, rule->d_k);
        copy_rows(matrix_columns(dplain, head * first, first), matrix_columns(own, 0, first));
        add_rows(drotary, matrix_columns(own, first, rest));
    }
    if (rule->latent_q) {
        struct matrix narrow = walk_product(w, q_down, x),
                      dnarrow = walk_zeros(w, rows, rule->latent_q);
        if (walk_norm_back(w, q_norm, dnarrow,
                           walk_product_gradient(w, walk_slot(w, s->branch, SLOT_Q_UP), d[0],
                                                 walk_normed(w, q_norm, narrow)),
                           narrow) ||
            walk_product_back(w, q_down, dx, dnarrow, x))
            return -1;
    } else if (walk_product_back(w, walk_slot(w, s->branch, SLOT_Q), dx, d[0], x)) {
        return -1;
    }
    struct matrix narrow = walk_product(w, kv_down, x), small = walk_normed(w, kv_norm, narrow);
    if (!small.data)
        return -1;
    struct matrix dnormed =
        walk_product_gradient(w, walk_slot(w, s->branch, SLOT_K), dplain, small);
    struct matrix dnarrow = walk_zeros(w, rows, rule->latent_kv);
    return err_if(walk_product_back(w, walk_slot(w, s->branch, SLOT_V), dnormed, d[2], small) ||
                  walk_norm_back(w, kv_norm, dnarrow, dnormed, narrow) ||
                  walk_product_back(w, kv_down, dx, dnarrow, x) ||
                  walk_product_back(w, walk_slot(w, s->branch, SLOT_K_ROTARY), dx, drotary, x));
}

/* Find the matrix that makes q, k and v side by side, if the file has one (GPT-2) and the gradients
 * of q, k and v can be columns of one matrix: without sinks, seeds, clipping, shared key/value
 * heads and cross-attention. Otherwise `joined` is empty. */
static int find_joined(struct walk *w, const struct sublayer *s, struct weight *joined)
{
    const struct head_rule *rule = &s->head;
    *joined = (struct weight){0};
    if (w->back->sink || w->back->seed_count || rule->by != HEADS_PROJECTED || rule->clip > 0 ||
        rule->kv_heads != rule->heads || s->kind != SUBLAYER_ATTEND)
        return 0;
    return weights_joined(w->run->weights, walk_slot(w, s->branch, SLOT_Q), joined, w->err);
}

/* From d, the gradients of q, k and v, add the gradient of the queries' input to dx. Add the
 * gradient of the input of keys and values to dx or, in cross-attention, to w->dmemory. */
static int project_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                        const struct matrix d[3])
{
    const struct head_rule *rule = &s->head;
    const bool cross = s->kind == SUBLAYER_ATTEND_SOURCE;
    const struct matrix other = cross ? w->memory : x, dother = cross ? w->dmemory : dx;
    const struct product_side queries = {s, false, rule->heads, x};
    const struct product_side keys = {s, true, rule->kv_heads, other};
    static const int slots[] = {SLOT_Q, SLOT_K, SLOT_V};
    /* number of projections of this layer, which has fewer if it borrows keys and values, or if its
     * values are its keys */
    const size_t own = rule->borrows ? 1 : rule->v_is_k ? 2 : 3;
    if (rule->borrows) {
        struct matrix *lent = lent_of(w, s, d);
        if (!lent)
            return -1;
        add_rows(lent[0], d[1]);
        add_rows(lent[1], d[2]);
    } else if (side_back(w, &keys, d[1]) || values_back(w, s, d[2], d[1], other)) {
        return -1;
    }
    if (side_back(w, &queries, d[0]))
        return -1;
    if (rule->by == HEADS_LATENT)
        return latent_back(w, s, dx, x, d);
    if (d[0].stride > d[0].columns) { /* the gradients of q, k and v are columns of one matrix */
        const struct matrix all = {d[0].data, x.rows, d[0].stride, d[0].stride};
        struct weight joined;
        return err_if(find_joined(w, s, &joined) ||
                      walk_product_gradients(w, walk_slot(w, s->branch, SLOT_Q), all, x) ||
                      walk_weight_back(w, dx, all, &joined, true));
    }
    for (size_t i = 0; i < own; i++) {
        struct slot slot = walk_slot(w, s->branch, slots[i]);
        struct matrix to = i ? dother : dx, input = i ? other : x;
        if (rule->by == HEADS_AS_IS)
            add_rows(to, d[i]);
        else if (clip_back(w, rule, slot, d[i], input) ||
                 walk_product_back(w, slot, to, d[i], input))
            return -1;
    }
    return 0;
}

/* --- attention -------------------------------------------------------------------------------- */

/* Give the reader sink the gradient of the stream through one reader. dy is the gradient of the
 * reader's input, which is the norm of the stream if the sublayer has a norm before it. */
static int show_reader(struct walk *w, const struct sublayer *s, enum site id, size_t head,
                       struct matrix dy)
{
    struct back_reader reader = {SITE_OF(s->branch, id), w->layer, head, dy};
    while (s->reads == READS_LAST_INPUT)
        s--;
    if (s->norm_before) {
        reader.gradient = walk_zeros(w, dy.rows, dy.columns);
        if (walk_norm_back(w, walk_slot(w, s->branch, (int)s->norm), reader.gradient, dy, w->read))
            return -1;
    }
    return w->back->reader(w->back->context, &reader, w->err);
}

/* Pass the gradient of the stream through the queries, keys or values of one query head to the
 * reader sink. */
static int head_reader(struct walk *w, const struct sublayer *s, const struct back_heads *all,
                       enum site id, struct matrix x)
{
    struct back_heads own = *all;
    struct matrix dx = walk_zeros(w, x.rows, x.columns);
    struct matrix d[] = {walk_zeros(w, all->dq.rows, all->dq.columns),
                         walk_zeros(w, all->dk.rows, all->dk.columns),
                         walk_zeros(w, all->dv.rows, all->dv.columns)};
    if (w->err->kind)
        return -1;
    own.dq = d[0], own.dk = d[1], own.dv = d[2];
    back_heads(w->run->machine, &own, BACK_HEADS);
    for (enum site i = SITE_Q; i <= SITE_V; i++)
        if (i != id)
            memset(d[i - SITE_Q].data, 0,
                   d[i - SITE_Q].rows * d[i - SITE_Q].columns * sizeof(float));
    return err_if(project_back(w, s, dx, x, d) || show_reader(w, s, id, all->only, dx));
}

/* Pass the gradients of the stream through the queries, keys and values of each head of a sublayer,
 * or only through the queries in cross-attention, to the reader sink. */
static int show_readers(struct walk *w, const struct sublayer *s, const struct back_heads *all,
                        struct matrix x)
{
    const enum site last = s->kind == SUBLAYER_ATTEND_SOURCE ? SITE_Q : SITE_V;
    struct back_heads own = *all;
    struct arena *arena = w->arena, scratch = {0};
    int failed = 0;
    w->arena = &scratch;
    for (own.only = 0; own.only < s->head.heads; own.only++)
        for (enum site id = SITE_Q; id <= last && !failed; id++) {
            failed = head_reader(w, s, &own, id, x);
            arena_clear(&scratch);
        }
    arena_release(&scratch);
    w->arena = arena;
    return err_if(failed);
}

/* From the gradients of the tables of BIAS_DISENTANGLED, add the gradients of the matrices that
 * make these tables, and of the embeddings of distances from which they are made. */
static int places_gradients(struct walk *w, const struct sublayer *s, float *dplaces)
{
    static const int own[] = {SLOT_BIAS_K, SLOT_BIAS_Q}, shared[] = {SLOT_K, SLOT_Q};
    static const unsigned terms[] = {TERM_KEYS, TERM_QUERIES};
    const struct slot norm = slot_of_text(SLOT_BIAS_NORM), slot = slot_of_text(SLOT_BIASES);
    const size_t rows = 2 * (size_t)s->score.buckets, columns = s->head.heads * s->head.d_k;
    const size_t floats = places_floats(s);
    const bool normed = s->score.terms & TERM_NORMED;
    const float *table = NULL;
    struct family_layout layout;
    if (weights_vector(w->run->weights, slot, &table, w->err))
        return -1;
    struct matrix x = walk_matrix(table, rows, w->stack->width), read = x;
    struct matrix dread = walk_zeros(w, rows, x.columns), dx = dread;
    if (normed) {
        read = walk_normed(w, norm, x);
        dx = walk_zeros(w, rows, x.columns);
    }
    for (size_t text = 1; text < w->texts; text++)
        add_to_row(dplaces, dplaces + text * floats, floats);
    for (int i = 0; i < 2; i++) {
        const int id = s->score.terms & TERM_SHARED ? shared[i] : own[i];
        if (!(s->score.terms & terms[i]))
            continue;
        if (!read.data || !dread.data || !dx.data ||
            walk_product_back(w, walk_slot(w, s->branch, id), dread,
                              walk_matrix(dplaces, rows, columns), read))
            return -1;
        dplaces += rows * columns;
    }
    if (normed && walk_norm_back(w, norm, dx, dread, x))
        return -1;
    float *gradient = walk_gradient(w, slot, &layout);
    if (gradient)
        add_to_row(gradient, dx.data, rows * x.columns);
    return 0;
}

/* Add the gradients of the table of biases, from the gradients of biases for each distance, and the
 * gradients of sinks and of embeddings of distances. */
static int score_gradients(struct walk *w, const struct sublayer *s, const struct back_heads *all)
{
    const struct score_rule *rule = &s->score;
    const bool of_layer = rule->bias_layer >= 0;
    const struct slot table =
        of_layer ? slot_of((int)s->branch, SLOT_LAYER_BIASES, (size_t)rule->bias_layer)
                 : slot_of_end((int)s->branch, SLOT_BIASES);
    const size_t heads = s->head.heads, distances = 2 * (size_t)rule->reach + 1;
    struct family_layout layout;
    float *gradient = all->dbiases ? walk_gradient(w, table, &layout) : NULL;
    for (size_t i = 0; gradient && i < w->texts * heads; i++)
        for (size_t k = 0; k < distances; k++)
            gradient[score_bucket(rule, (long)k - (long)rule->reach) * heads + i % heads] +=
                all->dbiases[i * distances + k];
    if (all->dsinks)
        walk_add_sums(w, walk_slot(w, s->branch, SLOT_SINKS),
                      walk_matrix(all->dsinks, w->texts, heads));
    return all->dplaces ? places_gradients(w, s, all->dplaces) : 0;
}

/* Pass to the sink the gradients of the differences of two heads' weights, which are also the
 * gradients of the first heads' weights. */
static int show_differences(struct walk *w, const struct sublayer *s, const struct back_heads *all)
{
    const size_t contexts = context_heads(&s->head), shape[] = {contexts, all->rows, all->keys};
    const struct matrix maps = {all->maps, w->texts, contexts * all->rows * all->keys,
                                s->head.heads * all->rows * all->keys};
    struct matrix own = walk_room(w, maps.rows, maps.columns);
    if (!own.data)
        return -1;
    copy_rows(own, maps);
    return walk_show(w, s->branch, SITE_DIFFERENCE, tensor_dense(own.data, 3, shape));
}

/* Compute the gradients of the attention maps step by step, and pass each to the sink. */
static int maps_back(struct walk *w, const struct sublayer *s, const struct back_heads *all)
{
    static const struct {
        enum site site;
        enum back_step step;
    } steps[] = {
        {SITE_WEIGHTS, BACK_WEIGHTS}, {SITE_MASKED, BACK_MASKED}, {SITE_SCORES, BACK_SCORES}};
    const size_t shape[] = {s->head.heads, all->rows, all->keys};
    const struct tensor own = tensor_dense(all->maps, 3, shape);
    for (size_t i = 0; i < 3; i++) {
        back_heads(w->run->machine, all, steps[i].step);
        if (all->difference && i == 0 && show_differences(w, s, all))
            return -1;
        if (walk_show(w, s->branch, steps[i].site, own))
            return -1;
    }
    back_heads(w->run->machine, all, BACK_HEADS);
    return 0;
}

/* With differential attention: go from the gradients of normed contexts to the gradients of
 * contexts. */
static int contexts_back(struct walk *w, const struct sublayer *s, struct back_heads *all)
{
    struct lambda lambda;
    const struct matrix d = all->dcontext;
    if (weights_lambda(w->run->weights, s->branch, w->layer, &lambda, w->err) ||
        walk_show_rows(w, s->branch, SITE_GATED, d) ||
        heads_norm_back(w, s, SLOT_CONTEXT_NORM, context_width(&s->head), d,
                        walk_matrix(walk_value(w, s->branch, SITE_CONTEXT), d.rows, d.columns)))
        return -1;
    all->lambda = lambda.lambda;
    all->difference = walk_value(w, s->branch, SITE_DIFFERENCE);
    all->dlambdas = walk_zeros(w, w->texts, s->head.heads).data;
    return all->dlambdas ? 0 : -1;
}

/* With differential attention: add the gradients of the four vectors from which lambda is
 * computed. */
static int lambda_gradients(struct walk *w, const struct sublayer *s, const struct back_heads *all)
{
    struct lambda lambda;
    const size_t d = s->head.d_k;
    struct matrix sums = walk_zeros(w, 1, d);
    double gradient = 0;
    if (!all->difference)
        return 0;
    if (!sums.data || weights_lambda(w->run->weights, s->branch, w->layer, &lambda, w->err))
        return -1;
    for (size_t i = 0; i < w->texts * s->head.heads; i++)
        gradient += (double)all->dlambdas[i];
    for (int i = 0; i < 4; i++) { /* the vectors are in the order q1, k1, q2, k2 */
        const double factor = (i < 2 ? lambda.powers[0] : -lambda.powers[1]) * gradient;
        scale_row(sums.data, lambda.vectors[i ^ 1], d, (float)factor);
        walk_add_sums(w, walk_slot(w, s->branch, SLOT_LAMBDA_Q1 + 2 * i), sums);
    }
    return 0;
}

/* From dcontext [N, H · d], the gradient of the output projection's input, add the gradient of x to
 * dx. In cross-attention, add the gradient of the source to w->dmemory. */
static int attend_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       struct matrix dcontext)
{
    const struct head_rule *rule = &s->head;
    const enum site_branch branch = s->branch;
    const bool trains = w->back->gradients != NULL;
    const struct matrix other = s->kind == SUBLAYER_ATTEND_SOURCE ? w->memory : x;
    const size_t texts = w->texts, rows = x.rows / texts, keys = other.rows / texts;
    const size_t threads = pool_threads(w->run->machine->pool);
    const size_t distances = 2 * (size_t)s->score.reach + 1;
    struct back_heads all = {
        .sublayer = s,
        .texts = texts,
        .rows = rows,
        .keys = keys,
        .only = SIZE_MAX,
        .q = walk_matrix(walk_value(w, branch, SITE_Q), x.rows, rule->heads * rule->d_k),
        .k = walk_matrix(walk_value(w, branch, SITE_K), other.rows, rule->kv_heads * rule->d_k),
        .v = walk_matrix(walk_value(w, branch, SITE_V), other.rows, rule->kv_heads * rule->d_v),
        .dcontext = dcontext,
        .weights = walk_value(w, branch, SITE_WEIGHTS),
        .scores = walk_value(w, branch, SITE_SCORES),
        .rest = walk_value(w, branch, SITE_SINK),
        .dropout = dropout_at(&w->run->dropout, branch, w->layer, DROP_WEIGHTS),
    };
    struct weight joined;
    if (rule->differ > 0 && contexts_back(w, s, &all))
        return -1;
    if ((s->score.bias == BIAS_DISENTANGLED &&
         weights_biases(w->run->weights, w->run->machine, (int)branch, &s->score, &all.biases,
                        w->err)) ||
        find_joined(w, s, &joined))
        return -1;
    if (weight_exists(&joined)) {
        const struct matrix d = walk_zeros(w, x.rows, joined.out);
        all.dq = matrix_columns(d, 0, joined.out / 3);
        all.dk = matrix_columns(d, joined.out / 3, joined.out / 3);
        all.dv = matrix_columns(d, joined.out / 3 * 2, joined.out / 3);
    } else {
        all.dq = walk_zeros(w, x.rows, rule->heads * rule->d_k);
        all.dk = walk_zeros(w, other.rows, rule->kv_heads * rule->d_k);
        all.dv = walk_zeros(w, other.rows, rule->kv_heads * rule->d_v);
    }
    if (!w->err->kind && !rule->borrows && s->branch == BRANCH_TEXT && w->lent[w->layer][0].data) {
        copy_rows(all.dk, w->lent[w->layer][0]);
        copy_rows(all.dv, w->lent[w->layer][1]);
    }
    if (trains && s->score.sink)
        all.dsinks = walk_zeros(w, texts, rule->heads).data;
    if (trains && s->score.bias == BIAS_BUCKETS)
        all.dbiases = walk_zeros(w, texts * rule->heads, distances).data;
    if (trains && all.biases)
        all.dplaces = walk_zeros(w, texts, places_floats(s)).data;
    if (w->back->sink || w->back->seed_count)
        all.maps = walk_zeros(w, texts * rule->heads * rows, keys).data;
    all.scratch = walk_room(w, threads, back_heads_floats(&all)).data;
    struct matrix sink =
        walk_zeros(w, x.rows, rule->heads); /* the gradient of the shares of sinks: zeros, because
                                             * no step reads these shares */
    if (w->err->kind || walk_show_heads(w, branch, SITE_CONTEXT, dcontext, context_heads(rule)) ||
        (s->score.sink && walk_show_heads(w, branch, SITE_SINK, sink, rule->heads)))
        return -1;
    if (!all.maps)
        back_heads(w->run->machine, &all, BACK_WEIGHTS | BACK_MASKED | BACK_SCORES | BACK_HEADS);
    else if (maps_back(w, s, &all))
        return -1;
    const struct matrix d[] = {all.dq, all.dk, all.dv};
    return err_if(walk_show_heads(w, branch, SITE_V, all.dv, rule->kv_heads) ||
                  walk_show_heads(w, branch, SITE_K, all.dk, rule->kv_heads) ||
                  walk_show_heads(w, branch, SITE_Q, all.dq, rule->heads) ||
                  (w->back->reader && show_readers(w, s, &all, x)) || score_gradients(w, s, &all) ||
                  lambda_gradients(w, s, &all) || project_back(w, s, dx, x, d));
}

/* --- a layer ---------------------------------------------------------------------------------- */

/* Pass the gradient dx of the stream after a sublayer to the sink, at each of `sites` that is not
 * 0. */
static int show_stream(struct walk *w, const struct sublayer *s, const enum site sites[3],
                       struct matrix dx)
{
    for (size_t i = 3; i-- > 0;)
        if (sites[i] && walk_show_rows(w, sublayer_stream_branch(s, sites[i]), sites[i], dx))
            return -1;
    return 0;
}

/* Return the stream that enters a sublayer of the layer that the backward pass has reached. */
static struct matrix stream_before(struct walk *w, const struct sublayer *s)
{
    const struct sublayer *first = w->stack->layer[w->layer].sublayers;
    if (s > first && s[-1].corrects)
        return walk_corrected(w);
    const enum site_branch branch = w->stack->branch;
    enum site end = s > first ? sublayer_end(s - 1) : SITE_EMBEDDING;
    const float *values = end == SITE_EMBEDDING
                              ? walk_value(w, branch, SITE_RESID_PRE)
                              : walk_value(w, sublayer_stream_branch(s - 1, end), end);
    return walk_matrix(values, w->texts * w->tokens, w->stack->width);
}

/* Return the input of a sublayer; *read becomes the stream whose norm is the input, or the input
 * itself if there is no norm. */
static struct matrix input_of(struct walk *w, const struct sublayer *s, struct matrix *read)
{
    const struct sublayer *first = w->stack->layer[w->layer].sublayers;
    if (s->reads == READS_LAST_INPUT)
        return input_of(w, s - 1, read);
    *read = s->reads == READS_BLOCK_INPUT ? stream_before(w, first) : stream_before(w, s);
    return s->norm_before
               ? walk_matrix(walk_value(w, s->branch, s->at_input), read->rows, read->columns)
               : *read;
}

static void drop_out(struct walk *w, const struct sublayer *s, struct matrix rows)
{
    dropout_rows(w->run->machine, &w->run->dropout, s->branch, w->layer,
                 s->kind == SUBLAYER_MLP ? DROP_MLP : DROP_ATTENTION, rows);
}

/* Return the sum of a sublayer's output and the stream, or the output alone if it replaces the
 * stream, before a norm or a scale is applied. */
static struct matrix sum_of(struct walk *w, const struct sublayer *s)
{
    const struct matrix x = stream_before(w, s);
    const float *out = walk_value(w, s->branch, s->norm_out ? s->at_out_norm : s->at_out);
    struct matrix sum = walk_zeros(w, x.rows, x.columns);
    struct matrix added = walk_copy(w, walk_matrix(out, x.rows, x.columns));
    if (!sum.data || !added.data)
        return (struct matrix){0};
    if (!s->replaces)
        copy_rows(sum, x);
    drop_out(w, s, added);
    for (size_t row = 0; row < x.rows; row++)
        add_scaled_row(matrix_row(sum, row), matrix_row(added, row), x.columns, s->factor, out);
    return sum;
}

/* dx, the gradient of the scaled stream, becomes the gradient of the stream before it is multiplied
 * by the layer's scale, which is one number. Add the gradient of this scale. */
static int scale_back(struct walk *w, const struct sublayer *s, struct matrix dx)
{
    const struct slot slot = slot_of(BRANCH_TEXT, SLOT_LAYER_SCALE, w->layer);
    const float *number = NULL;
    struct family_layout layout;
    if (weights_vector(w->run->weights, slot, &number, w->err))
        return -1;
    if (walk_gradient(w, slot, &layout)) {
        const struct matrix sum = sum_of(w, s);
        double total = 0;
        for (size_t row = 0; row < dx.rows && sum.data; row++)
            total += dot_rows(matrix_row(dx, row), matrix_row(sum, row), dx.columns);
        float gradient = (float)total;
        if (!sum.data)
            return -1;
        walk_add_sums(w, slot, walk_matrix(&gradient, 1, 1));
    }
    walk_scale(dx, *number);
    return 0;
}

/* From dx, the gradient of the sum of output and stream, return the gradient of the input of the
 * sublayer's last matrix (the heads' contexts or the hidden channels) or, with a mixture or without
 * such a matrix, of the output itself. */
static struct matrix write_out_back(struct walk *w, const struct sublayer *s, struct matrix dx)
{
    const bool is_mlp = s->kind == SUBLAYER_MLP;
    const struct matrix none = {0};
    const bool is_read = !w->back->seed_count && s->factor == 1 && w->run->dropout.rate <= 0 &&
                         !s->head.no_out && !s->mlp.mixture;
    struct matrix d = is_read ? dx : walk_copy(w, dx);
    if (!d.data)
        return none;
    drop_out(w, s, d);
    walk_scale(d, s->factor);
    if (s->norm_out) {
        struct matrix out = walk_matrix(walk_value(w, s->branch, s->at_out), d.rows, d.columns);
        struct matrix dout = walk_zeros(w, d.rows, d.columns);
        int id = is_mlp ? SLOT_NORM_2_POST : SLOT_NORM_1_POST;
        if (walk_show_rows(w, s->branch, s->at_out_norm, d) ||
            walk_norm_back(w, walk_slot(w, s->branch, id), dout, d, out))
            return none;
        d = dout;
    }
    if (walk_show_rows(w, s->branch, s->at_out, d))
        return none;
    if (s->head.no_out || s->mlp.mixture)
        return d;
    const enum site from = is_mlp ? SITE_MLP_ACT : context_out(&s->head);
    const size_t width = is_mlp ? s->mlp.inner : s->head.heads * s->head.d_v;
    return walk_product_gradient(w, walk_slot(w, s->branch, is_mlp ? SLOT_DOWN : SLOT_O), d,
                                 walk_matrix(walk_value(w, s->branch, from), d.rows, width));
}

/* The backward pass over the end of a layer with copies of the stream. The copies are merged after
 * the last layer, or after each layer if there are seeds. */
static int leave_back(struct walk *w, struct matrix dx)
{
    const enum site_branch branch = w->stack->branch;
    const bool merges = w->layer + 1 == w->stack->layers || w->back->seed_count;
    arena_clear(w->arena);
    return err_if(walk_show_rows(w, branch, SITE_MERGED, dx) ||
                  (merges && walk_merge_back(w, dx)) ||
                  walk_show_heads(w, branch, SITE_STREAMS, w->dcopies, w->stack->copies.count));
}

/* dx, the gradient of the layer's output, becomes the gradient of its input. */
int walk_layer_back(struct walk *w, struct matrix dx)
{
    const struct layer *own = &w->stack->layer[w->layer];
    const size_t bytes = dx.rows * dx.columns * sizeof *dx.data;
    if (w->dfirst.data)
        memset(w->dfirst.data, 0, bytes);
    if (w->dcopies.data && leave_back(w, dx))
        return -1;
    for (const struct sublayer *s = own->sublayers + own->count; s-- > own->sublayers;) {
        arena_clear(w->arena);
        struct matrix y = input_of(w, s, &w->read), dy = walk_zeros(w, dx.rows, dx.columns);
        for (size_t i = 1; s->spreads && i < w->stack->copies.count; i++)
            add_rows(dx, matrix_columns(w->dcopies, i * dx.columns, dx.columns));
        if (!dy.data || !y.data || (s->corrects && walk_correct_back(w, s, dx)) ||
            show_stream(w, s, s->at_after, dx))
            return -1;
        if (s->norm_after) {
            struct matrix dsum = walk_zeros(w, dx.rows, dx.columns);
            if (walk_norm_back(w, walk_slot(w, s->branch, (int)s->norm), dsum, dx, sum_of(w, s)))
                return -1;
            copy_rows(dx, dsum);
        }
        if (show_stream(w, s, s->at_sum, dx) || (s->scales && scale_back(w, s, dx)))
            return -1;
        walk_scale(dx, s->sum_factor);
        w->dread = s->reads == READS_BLOCK_INPUT ? w->dfirst : dx;
        struct matrix d = write_out_back(w, s, dx);
        if (!d.data ||
            (s->kind == SUBLAYER_MLP ? walk_mlp_back(w, s, dy, y, d)
                                     : attend_back(w, s, dy, y, d)) ||
            (s->kind == SUBLAYER_MLP && w->back->reader && show_reader(w, s, SITE_MLP_OUT, 0, dy)))
            return -1;
        if (s->adds_to_normed || s->adds_input)
            add_rows(dy, dx);
        if (s->adds_to_normed || s->replaces)
            memset(dx.data, 0, bytes);
        if (s + 1 < own->sublayers + own->count && s[1].reads == READS_LAST_INPUT)
            add_rows(dy, w->dshared);
        if (s->reads == READS_LAST_INPUT) {
            copy_rows(w->dshared, dy);
            continue;
        }
        if (s->at_input && walk_show_rows(w, s->branch, s->at_input, dy))
            return -1;
        if (!s->norm_before)
            add_rows(w->dread, dy);
        else if (walk_norm_back(w, walk_slot(w, s->branch, (int)s->norm), w->dread, dy, w->read))
            return -1;
    }
    if (w->dfirst.data)
        add_rows(dx, w->dfirst);
    arena_clear(w->arena);
    return err_if(walk_show_rows(w, w->stack->branch, SITE_RESID_PRE, dx) ||
                  (w->dcopies.data && walk_predict_back(w, dx)));
}
