#include "bench/benchmark.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/platform.h"
#include "lens/report.h"
#include "math/isa.h"
#include "pass/cache.h"
#include "model/parameter_table.h"
#include "pass/pass.h"
#include "model/points.h"
#include "model/score_rule.h"
#include "pass/tap.h"

/* --- limits of the machine -------------------------------------------------------------------- */

struct peak {
    /* Memory that is read to measure its speed: a window that is removed from the caches before it
     * is read or, if that is impossible, more than the caches hold, at most MEMORY_MOST bytes. */
    float *data;
    size_t size_bytes, cache_bytes;
    size_t next_byte;     /* byte offset at which the next read starts */
    struct weight weight; /* the measured product is y = x · weight, as large as a product of
                           * a forward pass */
    struct matrix x, y;
};

/* Either the work of a forward pass: a multiply-add is two operations; each weight, cached key and
 * cached value is read once; embeddings, norms, softmax and activations are not counted. Or the
 * limits of the machine: `operations` per second of products alone, in the precision of the pass,
 * and `bytes` per second read from memory. */
struct bench_work {
    double operations, bytes;
};

/* A limit is the highest speed in a few short windows, since other processes interrupt some of
 * them. */
enum { WINDOWS = 4 };

static const double ALL_THREADS =
    1e9; /* declared multiply-adds of a loop that all threads shall run */

enum {
    WINDOW_BYTES = 32 * 1024 * 1024, /* bytes that are read in one window, in a few milliseconds */
    MEMORY_LEAST = WINDOWS * WINDOW_BYTES,
    MEMORY_MOST = 1024 * 1024 * 1024,
    CACHE_UNKNOWN = 64 * 1024 * 1024,
    PIECE_BYTES = 1024 * 1024, /* bytes of memory that a thread reads at a time */
};

static _Atomic float total; /* a result that keeps the compiler from removing loops */

/* The measured product: 256 tokens by a matrix of GPT-2's MLP, whose weights exceed most L1 and L2
 * caches, as in a forward pass. */
enum { TOKENS = 256, INPUTS = 768, OUTPUTS = 3072, ONES_BF16 = 0x3f803f80 };

static struct matrix ones(size_t columns, struct arena *arena, struct err *err)
{
    size_t count = (size_t)TOKENS * columns;
    struct matrix made = {arena_alloc(arena, count, sizeof(float), err), TOKENS, columns, columns};
    for (size_t i = 0; made.data && i < count; i++)
        made.data[i] = 1;
    return made;
}

static int peak_init(struct peak *peak, struct machine *machine, enum precision precision,
                     struct arena *arena, struct err *err)
{
    size_t cache = platform_cache_bytes(3);
    peak->cache_bytes = cache ? cache : CACHE_UNKNOWN;
    size_t size = num_min(num_max(2 * peak->cache_bytes, MEMORY_LEAST), MEMORY_MOST);
    bool leaves = platform_leave_caches(&size, sizeof size);
    peak->size_bytes = leaves ? WINDOW_BYTES : size / WINDOW_BYTES * WINDOW_BYTES;
    peak->data = arena_alloc(arena, peak->size_bytes, 1, err);

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
    if (!peak->data || !pairs || !peak->x.data || !peak->y.data ||
        (bf16 && machine_hold_rounded(machine, TOKENS, INPUTS, err)))
        return -1;
    /* memory that was never written would be one page of zeros */
    memset(peak->data, 1, peak->size_bytes);
    return 0;
}

enum { SUMS = 16 }; /* number of independent sums, whose additions can overlap */

/* Sanitizers are off: their checks would be measured as well. */
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

static void parse_piece(void *context, size_t round, size_t thread)
{
    const float *data = context;
    size_t count = PIECE_BYTES / sizeof *data;
    (void)thread;
    total = add_up(data + round * count, count);
}

/* Measure the limits of the machine. Each window begins where the previous window ended. If the
 * caches cannot be flushed, the data of a window was displaced by other windows before it is read
 * again. */
static struct bench_work measure_limits(struct peak *peak, struct machine *machine)
{
    const struct loop reads = {WINDOW_BYTES / PIECE_BYTES, ALL_THREADS, parse_piece};
    struct bench_work best = {0};
    for (int i = 0; i < WINDOWS; i++) {
        double start = clock_seconds();
        linear(machine, peak->y, peak->x, &peak->weight, ACTIVATION_NONE);
        double rate = 2.0 * TOKENS * INPUTS * OUTPUTS / (clock_seconds() - start);
        best.operations = fmax(best.operations, rate);
    }
    for (int i = 0; i < WINDOWS; i++) {
        float *window = peak->data + peak->next_byte / sizeof *peak->data;
        platform_leave_caches(window, WINDOW_BYTES);
        double start = clock_seconds();
        pool_run(machine->pool, reads, window);
        best.bytes = fmax(best.bytes, WINDOW_BYTES / (clock_seconds() - start));
        peak->next_byte = (peak->next_byte + WINDOW_BYTES) % peak->size_bytes;
    }
    return best;
}

/* --- work ------------------------------------------------------------------------------------- */

struct pass_size {
    size_t tokens;
    size_t cached; /* number of tokens whose keys and values were computed earlier */
    bool logits;   /* logits are computed for the last token */
};

/* The work for one token with the weight matrices of all layers, including all experts, or with the
 * unembedding. */
static struct bench_work work_of_weights(const struct weights *weights, bool unembedding)
{
    const struct config *c = weights->config;
    struct bench_work work = {0};
    int words = c->tied ? SLOT_TOKENS : SLOT_UNEMBED;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        struct slot slot = weights_parameter(weights, i).slot;
        size_t shape[SLOT_RANK_MAX];
        bool counts = unembedding ? slot.id == words : slot.layer >= 0;
        if (!counts || slot_shape(shape, slot, c) != 2)
            continue;
        size_t count = shape[0] * shape[1];
        work.operations += 2 * (double)count;
        work.bytes += (double)weights_read_bytes(weights, i, count);
    }
    return work;
}

static struct bench_work work_of(const struct pass_size *size, const struct weights *weights)
{
    const struct config *c = weights->config;
    size_t cached_bytes = weights->precision == PRECISION_BF16 ? sizeof(uint16_t) : sizeof(float);
    struct bench_work own = work_of_weights(weights, false);
    struct bench_work logits =
        size->logits ? work_of_weights(weights, true) : (struct bench_work){0};
    double layers = (double)c->n_layer, tokens = (double)size->tokens;
    double all = tokens * (double)(size->cached + size->tokens); /* query-key pairs of a head,
                                                                  * without a mask */
    double visible = c->causal ? all - tokens * (tokens - 1) / 2 : all;
    double of_source =
        has_encoder(c) ? (layers + (double)stack_of(c, BRANCH_SOURCE)->layers) * all : 0;
    double width = (double)(c->d_k + c->d_v);
    double cached = (double)(c->n_layer * size->cached * c->n_kv_head) * width;
    return (struct bench_work){
        .operations = tokens * own.operations + logits.operations +
                      2 * (double)c->n_head * (layers * visible + of_source) * width,
        .bytes = own.bytes + logits.bytes + cached * (double)cached_bytes,
    };
}

/* --- tasks ------------------------------------------------------------------------------------ */

enum {
    DECODE_STEPS = 8, /* number of tokens that one measurement generates */
    DECODE_CACHED = 64,
    LENGTHS = 5,    /* default number of text lengths to measure growth */
    LONGEST = 4096, /* the largest default length in tokens */
    NOTE_BYTES = 128,
};

static const size_t usual_lengths[] = {1, 2, 6, 12, 24, 64, 256, 1024};

enum { USUAL_LENGTHS = sizeof usual_lengths / sizeof *usual_lengths };

static const double SECONDS_LEAST = 0.02; /* minimum seconds of a measurement: shorter passes are
                                           * repeated */

const struct task_row task_rows[TASK_KINDS] = {
    [TASK_PREFILL] = {"prefill", "a forward pass over the text, without logits"},
    [TASK_DECODE] = {"decode", "one more token with logits, after 64 cached tokens"},
};

enum value {
    TOKENS_RUN,
    TOKENS_CACHED,
    RATE, /* tokens per second */
    OPERATIONS,
    BYTES,
    OF_COMPUTE,  /* speed as a fraction of the measured limit of operations per second */
    OF_MEMORY,   /* fraction of the memory bandwidth; NAN: everything that is read fits in the
                  * caches */
    WIDTH,       /* number of channels of a head */
    TIME_SPREAD, /* how much TIME_EXPONENT may differ from the true exponent */

    /* With `ways`: values that grow with the length or the width, each followed by the exponent of
     * its growth. The exponent is NAN if only one length or width was measured. */
    SECONDS, /* seconds of a pass, the median of all rounds */
    TIME_EXPONENT,
    MEMORY, /* working memory of attention in bytes */
    MEMORY_EXPONENT,
    MAP_MEMORY, /* MEMORY plus the size of the attention weights of one layer, in bytes */
    MAP_MEMORY_EXPONENT,
    PAIRS, /* number of query-key pairs whose scores one head computes */
    PAIRS_EXPONENT,
    VALUES,
};

/* A row of the result. */
struct bench_task {
    const char *name;            /* name of the task, or of its kind of attention: "window:64" */
    const struct mechanism *way; /* measure only this kind of attention; NULL: measure the whole
                                  * task */
    struct viewer *viewer;
    struct pass_size size;
    double *seconds; /* seconds of the pass in each round */
    double values[VALUES];
};

struct bench {
    const struct bench_plan *plan;
    struct viewer viewer;
    struct viewer *wide; /* a model for each width; NULL: the plan has no widths */
    bool causal;         /* config.causal of the opened model; set_way changes config.causal */
    struct peak peak;
    const size_t *lengths; /* `length_count` lengths of texts in tokens */
    size_t length_count;
    const size_t *points; /* the lengths or widths to which exponents are fitted */
    size_t point_count;
    struct bench_task *tasks;
    size_t task_count;
    /* [rounds] measured speed limits of the machine, per second; summarise() replaces the first
     * element by the medians */
    struct bench_work *limits;
    struct arena arena; /* freed after the result is made */
};

/* --- passes ----------------------------------------------------------------------------------- */

/* Make a text of arbitrary ids (with a source if the model reads one); NULL with `err`. */
static struct text *make_text(size_t tokens, const struct config *config, struct arena *arena,
                              struct err *err)
{
    struct text *text = arena_alloc(arena, 1, sizeof *text, err);
    uint32_t *ids = arena_alloc(arena, tokens, sizeof *ids, err);
    if (!text || !ids)
        return NULL;
    for (size_t i = 0; i < tokens; i++)
        ids[i] = (uint32_t)((i * 7919 + 13) % config->vocab_size);
    *text = (struct text){.ids = ids, .count = tokens};
    if (config_reads_source(config)) {
        text->source_ids = ids;
        text->source_count = tokens;
    }
    return text;
}

static int ignore(void *context, const struct announcement *announced, struct err *err)
{
    (void)context, (void)announced, (void)err;
    return 0;
}

/* A stopwatch for the time of attention in all layers: from keys and values to the context. */
struct stopwatch {
    double begun; /* seconds at which the stopwatch was started; 0: it is stopped */
    double seconds;
};

/* Start the stopwatch when the values were computed, and stop it when the context was. With several
 * texts, the time is from the last values to the first context. */
static int take_time(void *context, const struct announcement *announced, struct err *err)
{
    struct stopwatch *stopwatch = context;
    double now = clock_seconds();
    (void)err;
    if (announced->site == SITE_V) {
        stopwatch->begun = now;
    } else if (stopwatch->begun > 0) {
        stopwatch->seconds += now - stopwatch->begun;
        stopwatch->begun = 0;
    }
    return 0;
}

/* Set the kind of attention of later passes. config_describe writes the description into memory
 * that it already has, and does not fail. */
static void set_way(const struct bench *bench, struct config *config, const struct mechanism *way)
{
    config->mechanism = *way;
    config->causal = bench->causal && way->kind != ATTENTION_LOWRANK;
    config_describe(config, NULL);
}

static int prefill(struct bench *bench, const struct bench_task *task, double *seconds,
                   struct err *err)
{
    struct viewer *viewer = task->viewer;
    struct config *config = &viewer->model.config;
    struct stopwatch stopwatch = {0};
    struct tap tap = {.sink = ignore};
    enum site last = config->kind == MODEL_ATTENTION ? SITE_ATTN_OUT : site_of_logits(config);
    struct selection selection = {.sites = SITE_SET(last)}; /* a forward pass without logits */
    struct text_list text = {.count = 1};
    text.items = make_text(task->size.tokens, config, &viewer->scratch, err);
    if (!text.items || selection_layers(&selection, NULL, config, &viewer->scratch, err))
        return -1;
    if (task->way) {
        tap = (struct tap){.sink = take_time, .context = &stopwatch};
        /* no attention weights are selected: to store them would add time */
        selection.sites = SITE_SET(SITE_V, SITE_CONTEXT);
        set_way(bench, config, task->way);
    }
    double start = clock_seconds();
    int failed = viewer_run(viewer, &selection, &text, tap, err);
    *seconds = task->way ? stopwatch.seconds : clock_seconds() - start;
    return failed;
}

/* Run a text, with a cache, up to the logits of its last token. */
static int extend(struct bench *bench, const struct text *text, double *seconds, struct err *err)
{
    struct selection selection = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    struct text_list one = {.items = text, .count = 1};
    double start = clock_seconds();
    int failed = viewer_run(&bench->viewer, &selection, &one, (struct tap){.sink = ignore}, err);
    *seconds += clock_seconds() - start;
    return failed;
}

/* Fill the cache by a first pass, then repeatedly remove and rerun the last token. */
static int decode(struct bench *bench, const struct bench_task *task, double *seconds,
                  struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    size_t cached = task->size.cached;
    struct arena arena = {0};
    struct cache cache = {0};
    double filling = 0;
    struct text *text = make_text(cached + 1, config, &arena, err);
    int failed = !text || cache_init(&cache, config, err);
    if (!failed) {
        text->cache = &cache;
        text->count = num_max(cached, 1);
        failed = extend(bench, text, &filling, err);
    }
    *seconds = 0;
    for (int i = 0; i < DECODE_STEPS && !failed; i++) {
        struct text last = {text->ids + cached, 1, .cache = &cache};
        cache_forget(&cache, cached);
        failed = extend(bench, &last, seconds, err);
    }
    *seconds /= DECODE_STEPS;
    cache_release(&cache);
    arena_release(&arena);
    return err_if(failed);
}

/* --- plan of tasks ---------------------------------------------------------------------------- */

/* Use the plan's lengths, or choose some within the context: usual_lengths or, to measure
 * growth, LENGTHS lengths, each twice the length before, up to LONGEST. */
static int choose_lengths(struct bench *bench, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    size_t context = bench->viewer.model.config.n_positions;
    size_t limit = context ? context : SIZE_MAX;
    size_t *lengths = arena_alloc(&bench->arena, USUAL_LENGTHS, sizeof *lengths, err);
    bench->lengths = plan->lengths ? plan->lengths : lengths;
    bench->length_count = plan->lengths ? plan->length_count : 0;
    size_t count = plan->lengths ? 0 : plan->ways ? LENGTHS : USUAL_LENGTHS;
    for (size_t i = 0; lengths && i < count; i++) {
        size_t length =
            plan->ways ? num_min(limit, LONGEST) >> (LENGTHS - 1 - i) : usual_lengths[i];
        if (length > 0 && length <= limit)
            lengths[bench->length_count++] = length;
    }
    for (size_t i = 0; i < bench->length_count; i++)
        if (bench->lengths[i] > limit)
            return err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu",
                             context, bench->lengths[i]);
    return lengths ? 0 : -1;
}

static int add_task(struct bench *bench, struct bench_task task, struct err *err)
{
    task.seconds = arena_alloc(&bench->arena, bench->plan->rounds, sizeof *task.seconds, err);
    for (int i = 0; i < VALUES; i++)
        task.values[i] = NAN;
    task.values[TOKENS_RUN] = (double)task.size.tokens;
    task.values[TOKENS_CACHED] = (double)task.size.cached;
    bench->tasks[bench->task_count++] = task;
    return task.seconds ? 0 : -1;
}

/* Add the tasks in plan->kinds: prefill for each length; decode if the model is a decoder that has
 * logits and reads no source. */
static int list_tasks(struct bench *bench, struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    unsigned kinds = bench->plan->kinds;
    size_t context = config->n_positions ? config->n_positions : SIZE_MAX;
    struct bench_task task = {task_rows[TASK_PREFILL].name, .viewer = &bench->viewer};
    for (size_t i = 0; i < bench->length_count && kinds >> TASK_PREFILL & 1; i++) {
        task.size.tokens = bench->lengths[i];
        if (add_task(bench, task, err))
            return -1;
    }
    if (!config->causal || config_reads_source(config) || config->kind == MODEL_ATTENTION ||
        !(kinds >> TASK_DECODE & 1))
        return 0;
    task = (struct bench_task){task_rows[TASK_DECODE].name,
                               .size = {1, num_min(DECODE_CACHED, context - 1), .logits = true}};
    return add_task(bench, task, err);
}

/* Set `*pairs` to the number of query-key pairs whose scores a head of the first layer computes:
 * the reason why attention grows with n². The sums of linear attention count as one key, as
 * does a segment of lowrank. */
static int count_scores(double *pairs, const struct config *config, size_t tokens,
                        struct arena *arena, struct err *err)
{
    const struct mechanism *m = &config->mechanism;
    const struct sublayer *attention = first_attention(config, BRANCH_TEXT);
    const struct score_rule *rule = attention ? &attention->score : NULL;
    uint32_t *keys = arena_alloc(arena, 2 * tokens, sizeof *keys, err);
    *pairs = 0;
    for (size_t query = 0; rule && keys && query < tokens; query++) {
        struct key_range visible = score_visible(rule, query, tokens);
        size_t count = rule->pattern ? score_keys(rule, query, tokens, keys, keys + tokens)
                                     : visible.end - visible.first;
        *pairs += m->kind == ATTENTION_LINEAR    ? 1
                  : m->kind == ATTENTION_LOWRANK ? (double)num_min(m->segments, count)
                                                 : (double)count;
    }
    return keys ? 0 : -1;
}

/* Add a task for each kind of attention at each length or width. */
static int list_ways(struct bench *bench, struct arena *arena, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    size_t threads = pool_threads(bench->viewer.machine.pool);
    for (size_t at = 0; at < plan->way_count * bench->point_count; at++) {
        size_t i = at % bench->point_count, n = bench->lengths[plan->widths ? 0 : i], map = 0;
        struct bench_task task = {.way = &plan->ways[at / bench->point_count],
                                  .viewer = plan->widths ? &bench->wide[i] : &bench->viewer,
                                  .size.tokens = n};
        struct config *config = &task.viewer->model.config;
        set_way(bench, config, task.way);
        task.name = mechanism_attention_name(task.way, arena, err);
        if (!task.name || mechanism_check(task.way, config, err) || add_task(bench, task, err))
            return -1;
        double *values = bench->tasks[bench->task_count - 1].values;
        values[WIDTH] = (double)(plan->widths ? plan->widths[i] : 0);
        values[MEMORY] = (double)attention_bytes(config, n, n, threads);
        if (site_size(&map, config, SITE_WEIGHTS, config->n_head, n, n))
            values[MAP_MEMORY] = values[MEMORY] + (double)map * sizeof(float);
        if (count_scores(&values[PAIRS], config, n, &bench->arena, err))
            return -1;
    }
    return 0;
}

static int prepare(struct bench *bench, struct arena *arena, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    struct viewer *viewer = &bench->viewer;
    if (viewer_open_folder(viewer, plan->folder, plan->threads, err))
        return -1;
    viewer->model.weights.precision = plan->precision;
    viewer->model.weights.packing = true;
    viewer->model.weights.packing_words = true;
    viewer->model.weights.packing_quants = true;
    bench->causal = viewer->model.config.causal;
    if (choose_lengths(bench, err))
        return -1;
    bench->points = plan->widths ? plan->widths : bench->lengths;
    bench->point_count = plan->widths ? plan->width_count : bench->length_count;
    if (plan->widths)
        bench->wide = arena_alloc(&bench->arena, plan->width_count, sizeof *bench->wide, err);
    for (size_t i = 0; bench->wide && i < plan->width_count; i++)
        if (viewer_open_folder(&bench->wide[i], &plan->folder[i], plan->threads, err))
            return -1;
    size_t most = plan->ways ? plan->way_count * bench->point_count : bench->length_count + 1;
    bench->tasks = arena_alloc(&bench->arena, most, sizeof *bench->tasks, err);
    bench->limits = arena_alloc(&bench->arena, plan->rounds, sizeof *bench->limits, err);
    if (!bench->tasks || !bench->limits || (plan->widths && !bench->wide))
        return -1;
    if (plan->ways)
        return list_ways(bench, arena, err);
    return err_if(list_tasks(bench, err) ||
                  peak_init(&bench->peak, &viewer->machine, plan->precision, &bench->arena, err));
}

/* --- measuring -------------------------------------------------------------------------------- */

/* Measure all tasks. The time in a round is the time of its fastest pass: other processes only slow
 * passes down. A task's first two passes are not counted: the first packs weights and finds the
 * memory size that a pass needs; the second allocates that size as one piece, which later passes
 * reuse. With `ways`, the first pass in each later round is not counted either. */
static int measure(struct bench *bench, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    const struct progress_sink *progress = plan->progress;
    char note[NOTE_BYTES];
    for (size_t round = 0; round < plan->rounds; round++) {
        if (!plan->ways)
            bench->limits[round] = measure_limits(&bench->peak, &bench->viewer.machine);
        for (size_t i = 0; i < bench->task_count; i++) {
            const struct bench_task *task = &bench->tasks[i];
            snprintf(note, sizeof note, "%s, %zu tokens", task->name, task->size.tokens);
            if (progress)
                progress->report(progress->context, round * bench->task_count + i,
                                 plan->rounds * bench->task_count, note);
            double *best = &task->seconds[round];
            double sum = 0, once = 0;
            int (*run)(struct bench *, const struct bench_task *, double *, struct err *) =
                task->size.logits ? decode : prefill;
            for (int uncounted = round == 0 ? 2 : task->way != NULL; uncounted > 0; uncounted--)
                if (run(bench, task, &once, err))
                    return -1;
            for (*best = INFINITY; sum < SECONDS_LEAST; sum += once, *best = fmin(*best, once))
                if (run(bench, task, &once, err))
                    return -1;

            struct bench_task *next = &bench->tasks[i + 1];
            bool is_usual = !plan->lengths && !plan->ways && i + 1 < bench->task_count;
            if (is_usual && next->size.tokens == usual_lengths[USUAL_LENGTHS - 1] &&
                task->seconds[0] > plan->seconds_most) /* skip the longest text, which is too
                                                        * slow */
                memmove(next, next + 1, (--bench->task_count - (i + 1)) * sizeof *next);
        }
    }
    return 0;
}

const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit)
{
    int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
    snprintf(text, AMOUNT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *first, size_t step_bytes, size_t count, double *sorted)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&sorted[i], (const char *)first + i * step_bytes, sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static size_t first_fitted(size_t count)
{
    return count / 2 - (count > 1 && count % 2 == 0);
}

double growth_exponent(const size_t *x, const double *y, size_t count)
{
    size_t first = first_fitted(count);
    double n = (double)(count - first);
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = first; i < count; i++) {
        double log_x = log((double)x[i]), log_y = log(y[i]);
        sum_x += log_x;
        sum_y += log_y;
        sum_xx += log_x * log_x;
        sum_xy += log_x * log_y;
    }
    double spread = n * sum_xx - sum_x * sum_x;
    return n >= 2 && spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : NAN;
}

double growth_spread(const size_t *x, const double *y, size_t count)
{
    double exponent = growth_exponent(x, y, count), spread = 0;
    for (size_t i = first_fitted(count) + 1; i < count; i++)
        spread = fmax(spread, fabs(growth_exponent(x + i - 1, y + i - 1, 2) - exponent));
    return isnan(exponent) ? NAN : spread;
}

/* Fit the exponents of each kind of attention, and set them in all rows of this kind. TIME_SPREAD
 * includes the exponent of the times of the fastest rounds, which differs if the measurement was
 * disturbed. */
static int fit(struct bench *bench, struct err *err)
{
    size_t count = bench->point_count;
    double *y = arena_alloc(&bench->arena, count, sizeof *y, err);
    for (size_t row = 0; y && row < bench->task_count; row += count)
        for (enum value value = SECONDS; value < VALUES; value += 2) {
            struct bench_task *tasks = bench->tasks + row;
            for (size_t i = 0; i < count; i++)
                y[i] = tasks[i].values[value];
            double exponent = growth_exponent(bench->points, y, count);
            for (size_t i = 0; i < count; i++)
                tasks[i].values[value + 1] = exponent;
            if (value != SECONDS)
                continue;
            double spread = growth_spread(bench->points, y, count);
            for (size_t i = 0; i < count * bench->plan->rounds; i++)
                y[i % count] = fmin(y[i % count], tasks[i % count].seconds[i / count]);
            spread = fmax(spread, fabs(growth_exponent(bench->points, y, count) - exponent));
            for (size_t i = 0; i < count; i++)
                tasks[i].values[TIME_SPREAD] = spread;
        }
    return y ? 0 : -1;
}

static int summarise(struct bench *bench, struct err *err)
{
    struct bench_work *first = bench->limits;
    size_t rounds = bench->plan->rounds;
    double *sorted = arena_alloc(&bench->arena, rounds, sizeof *sorted, err);
    if (!sorted)
        return -1;
    *first = (struct bench_work){median(&first->operations, sizeof *first, rounds, sorted),
                                 median(&first->bytes, sizeof *first, rounds, sorted)};
    for (size_t i = 0; i < bench->task_count; i++) {
        struct bench_task *task = &bench->tasks[i];
        double *values = task->values;
        double seconds = values[SECONDS] = median(task->seconds, sizeof(double), rounds, sorted);
        if (bench->plan->ways)
            continue;
        struct bench_work work = work_of(&task->size, &bench->viewer.model.weights);
        values[RATE] = values[TOKENS_RUN] / seconds;
        values[OPERATIONS] = work.operations;
        values[BYTES] = work.bytes;
        values[OF_COMPUTE] = work.operations / first->operations / seconds;
        if (work.bytes > (double)bench->peak.cache_bytes)
            values[OF_MEMORY] = work.bytes / first->bytes / seconds;
    }
    return bench->plan->ways ? fit(bench, err) : 0;
}

/* --- result ----------------------------------------------------------------------------------- */

enum { OF_TASKS = 1, OF_LENGTHS = 2, OF_WIDTHS = 4, OF_GROWTH = OF_LENGTHS | OF_WIDTHS };

static const struct value_row {
    unsigned tables; /* set of bits: the tables that have the column */
    enum value value;
    double scale; /* factor by which the column multiplies the value */
    struct column column;
} value_rows[] = {
    {OF_TASKS | OF_GROWTH, TOKENS_RUN, 1, {"tokens"}},
    {OF_WIDTHS, WIDTH, 1, {"width"}},
    {OF_TASKS, TOKENS_CACHED, 1, {"cached"}},
    {OF_TASKS | OF_GROWTH, SECONDS, 1, {"seconds", .flags = COLUMN_DATA_ONLY}},
    {OF_TASKS | OF_GROWTH, SECONDS, 1e3, {"ms", .flags = COLUMN_TEXT_ONLY, .digits = 3}},
    {OF_TASKS, RATE, 1, {"tokens_per_second", "tokens/s"}},
    {OF_TASKS, OPERATIONS, 1, {"operations", .flags = COLUMN_DATA_ONLY}},
    {OF_TASKS, BYTES, 1, {"bytes", .flags = COLUMN_DATA_ONLY}},
    {OF_TASKS, OF_COMPUTE, 1, {"of_compute", "of compute", .digits = 2, .fraction = true}},
    {OF_TASKS, OF_MEMORY, 1, {"of_memory", "of memory", .digits = 2}},
    {OF_LENGTHS, TIME_EXPONENT, 1, {"time_exponent", "time ~ n^", .digits = 2}},
    {OF_WIDTHS, TIME_EXPONENT, 1, {"width_exponent", "time ~ d^", .digits = 2}},
    {OF_GROWTH, TIME_SPREAD, 1, {"time_exponent_spread", "±", .digits = 2}},
    {OF_LENGTHS, PAIRS, 1, {"pairs"}},
    {OF_LENGTHS, PAIRS_EXPONENT, 1, {"pairs_exponent", "pairs ~ n^", .digits = 2}},
    {OF_LENGTHS, MEMORY, 1, {"memory_bytes", .flags = COLUMN_DATA_ONLY}},
    {OF_LENGTHS, MEMORY, 1e-6, {"MB", .flags = COLUMN_TEXT_ONLY, .digits = 3}},
    {OF_LENGTHS, MEMORY_EXPONENT, 1, {"memory_exponent", "memory ~ n^", .digits = 2}},
    {OF_LENGTHS, MAP_MEMORY, 1, {"map_memory_bytes", .flags = COLUMN_DATA_ONLY}},
    {OF_LENGTHS, MAP_MEMORY_EXPONENT, 1, {"map_memory_exponent", "maps ~ n^", .digits = 2}},
};

enum { VALUE_ROWS = sizeof value_rows / sizeof *value_rows };

/* --- figures: a line for each kind of attention, on logarithmic axes ------------------------ */

/* Add a row's cells, one for each kind of attention, in columns such as "dense ~ n^2.00". */
static void add_lines(struct table_rows *rows, const struct bench *bench, size_t point,
                      const char *what, enum value value, double scale)
{
    for (const struct bench_task *task = bench->tasks; task < bench->tasks + bench->task_count;
         task += bench->point_count) {
        double exponent = task->values[value + 1];
        const char *name = isnan(exponent)
                               ? arena_format(rows->arena, rows->err, "%s%s", task->name, what)
                               : arena_format(rows->arena, rows->err, "%s%s ~ %s^%.2f", task->name,
                                              what, bench->plan->widths ? "d" : "n", exponent);
        rows_float(rows, (struct column){name, name}, scale * task[point].values[value]);
    }
}

static int make_pictures(struct table *table, const struct bench *bench, struct arena *arena,
                         struct err *err)
{
    size_t count = bench->point_count;
    const char *thing = bench->plan->widths ? "width" : "tokens";
    struct table *pictures = arena_alloc(arena, 2, sizeof *pictures, err);
    size_t *numbers = arena_alloc(arena, count, sizeof *numbers, err);
    if (!pictures || !numbers)
        return -1;
    table->pictures = pictures;
    table->picture_count = bench->plan->widths ? 1 : 2;
    for (size_t k = 0; k < table->picture_count; k++) {
        struct table_rows rows = {.most = count, .arena = arena, .err = err};
        for (size_t i = 0; i < count; i++, rows_next(&rows)) {
            const char *number = arena_format(arena, err, "%zu", numbers[i] = bench->points[i]);
            rows_label(&rows, thing, COLUMN_KEY, (struct label){number, number, number});
            add_lines(&rows, bench, i, "", k ? MEMORY : SECONDS, k ? 1e-6 : 1e3);
            if (k == 1)
                add_lines(&rows, bench, i, " with maps", MAP_MEMORY, 1e-6);
        }
        if (rows_finish(&pictures[k], &rows, k ? "memory" : "time", thing))
            return -1;
        pictures[k].rows.numbers = numbers;
        pictures[k].curves = pictures[k].logarithmic = true;
        pictures[k].note = arena_format(arena, err, "%s of attention against %s",
                                        k ? "memory in MB" : "time in ms", thing);
    }
    return err_if(err->kind);
}

static int make_table(struct table *table, const struct bench *bench, struct arena *arena,
                      struct err *err)
{
    bool growth = bench->plan->ways != NULL;
    unsigned kind = bench->plan->widths ? OF_WIDTHS : growth ? OF_LENGTHS : OF_TASKS;
    const char *thing = growth ? "attention" : "task";
    struct table_rows rows = {.most = bench->task_count, .arena = arena, .err = err};
    for (size_t i = 0; i < bench->task_count; i++, rows_next(&rows)) {
        const char *name = bench->tasks[i].name;
        rows_label(&rows, thing, COLUMN_KEY, (struct label){name, name, name});
        for (const struct value_row *row = value_rows; row < value_rows + VALUE_ROWS; row++) {
            struct column column = row->column;
            if (!(row->tables & kind))
                continue;
            column.flags |= COLUMN_PLAIN;
            if (row->value == (growth ? SECONDS : OF_COMPUTE) && row->scale == 1)
                column.flags |= COLUMN_COLOURED;
            rows_float(&rows, column, row->scale * bench->tasks[i].values[row->value]);
        }
    }
    return err_if(rows_finish(table, &rows, "bench", thing) ||
                  (growth && make_pictures(table, bench, arena, err)));
}

/* Add facts about the run, and two lines for people: above the table "124439808 parameters, f32,
 * avx512 kernels, 2 threads, medians of 5 rounds", below it the limits, or a note on attention. */
static int describe(struct report *result, struct table *table, const struct bench *bench,
                    struct arena *arena, struct err *err)
{
    const struct viewer *viewer = &bench->viewer;
    const struct weights *weights = &viewer->model.weights;
    const char *kernels = kernels_target(viewer->machine.kernels);
    size_t parameters = 0;
    size_t threads = pool_threads(viewer->machine.pool);
    size_t rounds = bench->plan->rounds;
    char operations[AMOUNT_BYTES], bytes[AMOUNT_BYTES];
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return -1;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        const struct safetensors_entry *entry = weights_parameter(weights, i).entry;
        parameters += entry ? entry->count : 0;
    }
    facts_integer(facts, "parameters", (long long)parameters);
    facts_text(facts, "precision", precision_name(bench->plan->precision));
    facts_text(facts, "kernels", kernels);
    facts_integer(facts, "threads", (long long)threads);
    facts_integer(facts, "rounds", (long long)rounds);
    table->note = bench->plan->widths
                      ? "Attention only, of heads of width d."
                      : "Attention only. The O(n²) of textbooks is the growth of pairs (time) and "
                        "of maps (memory "
                        "with --show weights); a pass that keeps no map needs the MB shown.";
    if (!bench->plan->ways) {
        facts_float(facts, "limit_operations", bench->limits->operations);
        facts_float(facts, "limit_bytes", bench->limits->bytes);
        table->note =
            arena_format(arena, err, "Limits of this machine: arithmetic %s, memory %s.",
                         amount_write(operations, bench->limits->operations / 1e9, "GFLOP/s"),
                         amount_write(bytes, bench->limits->bytes / 1e9, "GB/s"));
    }
    result->facts = &facts->table;
    result->about = arena_format(
        arena, err, "%zu parameters, %s, %s kernels, %zu thread%s, medians of %zu round%s",
        parameters, viewer_precision(viewer).text, kernels, threads, num_plural(threads), rounds,
        num_plural(rounds));
    return result->about && table->note ? 0 : -1;
}

int benchmark(struct report *result, const struct bench_plan *plan, struct arena *arena,
              struct err *err)
{
    struct bench bench = {.plan = plan};
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    *result = (struct report){.model = plan->folder->path, .tables = table, .table_count = 1};
    int failed = !table || prepare(&bench, arena, err) || measure(&bench, err) ||
                 summarise(&bench, err) || make_table(table, &bench, arena, err) ||
                 describe(result, table, &bench, arena, err);
    for (size_t i = 0; bench.wide && i < plan->width_count; i++)
        viewer_release(&bench.wide[i]);
    viewer_release(&bench.viewer);
    arena_release(&bench.arena);
    return err_if(failed);
}
