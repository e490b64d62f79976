/* peak.c: the limits of the machine (the rate of a large product, bytes read from memory), and the
 * work of a pass, which is compared with them. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/platform.h"
#include "bench/benchmark.h"
#include "math/isa.h"

/* A limit is the best of a few short windows: other processes take the processor for some. */
enum { WINDOWS = 4 };

static const double ALL_THREADS = 1e9; /* multiply-adds: work that is worth every thread */

enum {
    WINDOW_BYTES = 32 * 1024 * 1024, /* read in some milliseconds */
    MEMORY_LEAST = WINDOWS * WINDOW_BYTES,
    MEMORY_MOST = 1024 * 1024 * 1024,
    CACHE_UNKNOWN = 64 * 1024 * 1024,
    PIECE_BYTES = 1024 * 1024, /* read by one thread at a time */
};

static _Atomic float result; /* so that no compiler leaves a loop out */

/* --- products --------------------------------------------------------------------------------- */

/* 256 tokens by the widest matrix of GPT-2; as in a pass, its weights exceed two caches. */
enum { TOKENS = 256, INPUTS = 768, OUTPUTS = 3072, ONES_BF16 = 0x3f803f80 };

static struct matrix ones(size_t columns, struct arena *arena, struct err *err)
{
    size_t count = (size_t)TOKENS * columns;
    struct matrix made = {arena_alloc(arena, count, sizeof(float), err), TOKENS, columns, columns};
    for (size_t i = 0; made.data && i < count; i++)
        made.data[i] = 1;
    return made;
}

static int make_product(struct peak *peak, struct machine *machine, enum precision precision,
                        struct arena *arena, struct err *err)
{
    struct weight *weight = &peak->weight;
    *weight = (struct weight){.in = INPUTS, .out = OUTPUTS, .stride = OUTPUTS};
    bool bf16 = precision == PRECISION_BF16;
    size_t count = bf16 ? pairs_size(weight) : panels_size(weight);
    uint32_t *pairs = arena_alloc(arena, count, sizeof *pairs, err);
    float *panels = (float *)(void *)pairs;
    for (size_t i = 0; pairs && i < count; i++)
        if (bf16)
            pairs[i] = ONES_BF16;
        else
            panels[i] = 1;
    bool in_pairs = bf16 && kernels_pair_way(machine->kernels) != PAIRS_NONE;
    weight->rounded = bf16;
    weight->pairs = in_pairs ? pairs : NULL;
    weight->halves = bf16 && !in_pairs ? (const char *)pairs : NULL;
    weight->panels = bf16 ? NULL : panels;
    peak->x = ones(INPUTS, arena, err);
    peak->y = ones(OUTPUTS, arena, err);
    if (!pairs || !peak->x.data || !peak->y.data)
        return -1;
    return bf16 ? machine_hold_rounded(machine, TOKENS, INPUTS, err) : 0;
}

static double measure_operations(struct peak *peak, struct machine *machine)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        double start = clock_seconds();
        linear(machine, peak->y, peak->x, &peak->weight, ACTIVATION_NONE);
        best = fmax(best, 2.0 * TOKENS * INPUTS * OUTPUTS / (clock_seconds() - start));
    }
    return best;
}

/* --- memory ----------------------------------------------------------------------------------- */

int peak_init(struct peak *peak, struct machine *machine, enum precision precision,
              struct arena *arena, struct err *err)
{
    size_t cache = platform_cache_bytes();
    peak->cache_bytes = cache ? cache : CACHE_UNKNOWN;
    size_t size = 2 * peak->cache_bytes;
    size = size < MEMORY_LEAST ? MEMORY_LEAST : size > MEMORY_MOST ? MEMORY_MOST : size;
    peak->size_bytes = size / WINDOW_BYTES * WINDOW_BYTES;
    peak->next_byte = 0;
    peak->data = arena_alloc(arena, peak->size_bytes, 1, err);
    if (!peak->data || make_product(peak, machine, precision, arena, err))
        return -1;
    memset(peak->data, 1, peak->size_bytes); /* untouched, it would be one page of zeros */
    return 0;
}

enum { SUMS = 16 }; /* independent, so that none waits for another */

/* Checks added by a sanitizer would be measured too. */
FOR_EACH_ISA
__attribute__((no_sanitize("address", "thread", "undefined"))) static float add_up(
    const float *data, size_t count)
{
    float sums[SUMS][LANES] = {{0}};
    for (size_t i = 0; i < count; i += SUMS * LANES)
        for (size_t sum = 0; sum < SUMS; sum++)
            for (size_t lane = 0; lane < LANES; lane++)
                sums[sum][lane] += data[i + sum * LANES + lane];
    for (size_t sum = 1; sum < SUMS; sum++)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[0][lane] += sums[sum][lane];
    return add_lanes(sums[0]);
}

static void read_piece(void *context, size_t round, size_t thread)
{
    const float *data = context;
    size_t count = PIECE_BYTES / sizeof *data;
    (void)thread;
    result = add_up(data + round * count, count);
}

/* Each call reads the next windows: what was read before has left the caches by then. */
static double measure_reads(struct peak *peak, struct pool *pool)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        double start = clock_seconds();
        pool_run(pool, (struct loop){WINDOW_BYTES / PIECE_BYTES, ALL_THREADS, read_piece},
                 peak->data + peak->next_byte / sizeof *peak->data);
        best = fmax(best, WINDOW_BYTES / (clock_seconds() - start));
        peak->next_byte = (peak->next_byte + WINDOW_BYTES) % peak->size_bytes;
    }
    return best;
}

struct limits peak_measure(struct peak *peak, struct machine *machine)
{
    return (struct limits){measure_operations(peak, machine), measure_reads(peak, machine->pool)};
}

/* --- work ------------------------------------------------------------------------------------- */

/* The elements of all weight matrices; decoder layers with an encoder have two attentions. */
static double count_weights(const struct config *c)
{
    double layers = (double)c->n_layer;
    double encoder = (double)c->n_encoder_layer;
    double channels = (double)c->n_embd;
    double matrices = c->kind == MODEL_ATTENTION ? 0 : c->gated ? 3 : 2;
    double mlp = matrices * channels * (double)c->n_inner;
    double columns = (double)(c->n_head * c->d_k + c->n_kv_head * (c->d_k + c->d_v));
    double attention = c->projections ? channels * columns : 0;
    attention += c->out_proj ? (double)(c->n_head * c->d_v) * channels : 0;
    return (c->n_encoder_layer ? 2 * layers + encoder : layers) * attention +
           (layers + encoder) * mlp;
}

/* Pairs of a query and a visible key in one text, over all layers. */
static double count_pairs(const struct config *c, const struct pass_size *size)
{
    double layers = (double)c->n_layer;
    double tokens = (double)size->tokens;
    double all = tokens * (double)(size->cached + size->tokens);
    double visible = c->causal ? all - tokens * (tokens - 1) / 2 : all;
    double of_source = c->n_encoder_layer ? (layers + (double)c->n_encoder_layer) * all : 0;
    return layers * visible + of_source;
}

struct work bench_work(const struct config *c, const struct pass_size *size, size_t weight_bytes,
                       size_t float_bytes)
{
    double weights = count_weights(c);
    double unembedding = size->logits ? (double)c->vocab_size * (double)c->n_embd : 0;
    double cached = (double)(c->n_layer * size->cached * c->n_kv_head) * (double)(c->d_k + c->d_v);
    return (struct work){
        .operations = 2 * (double)size->tokens * weights + 2 * unembedding +
                      2 * (double)c->n_head * count_pairs(c, size) * (double)(c->d_k + c->d_v),
        .bytes = (weights + unembedding) * (double)weight_bytes + cached * (double)float_bytes,
    };
}
