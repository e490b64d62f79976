#include "bench/benchmark.h"

#include <math.h>
#include <stdio.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/num.h"
#include "model/cache.h"
#include "model/pass.h"

enum {
    DECODE_STEPS = 8, /* of one measurement */
    DECODE_CACHED = 64,
    GROWTH_LENGTHS = 5,
    GROWTH_LONGEST = 4096,
    GROWTH_SHORTEST = 4,
    NOTE_BYTES = 128,
};

static const double SECONDS_LEAST = 0.02; /* of one measurement: shorter passes are repeated */

const struct task_row task_rows[TASK_KINDS] = {
    [TASK_PREFILL] = {"prefill", "a text in one pass, without logits"},
    [TASK_CAPTURE] = {"capture", "prefill that stores the attention of all heads"},
    [TASK_DECODE] = {"decode", "the logits of one more token, 64 in the cache"},
};

struct task {
    enum task_kind kind;
    const struct mechanism *way; /* of TASK_ATTENTION */
    struct pass_size size;
    double *seconds; /* [rounds] */
};

struct bench {
    const struct bench_plan *plan;
    struct bench_report *report;
    struct viewer viewer;
    struct peak peak;
    const size_t *lengths; /* of texts */
    size_t length_count;
    struct task *tasks;    /* one for each row of the report */
    struct limits *limits; /* [rounds] */
    struct arena captured; /* by a pass; the next pass uses the same memory */
    struct arena arena;    /* until the report is made */
};

/* --- passes ----------------------------------------------------------------------------------- */

/* A text of made-up ids (and a source, for models that have one); NULL with `err`. */
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
    if (config->cross) {
        text->source_ids = ids;
        text->source_count = tokens;
    }
    return text;
}

/* The whole pass except the logits. */
static enum site last_site(const struct config *config)
{
    if (config->kind == MODEL_ATTENTION)
        return SITE_ATTN_OUT;
    if (config->final_norm)
        return SITE_LN_F;
    return config->norm_first ? SITE_RESID_POST : SITE_LN_2;
}

static int prefill(struct bench *bench, const struct task *task, double *seconds, struct err *err)
{
    struct viewer *viewer = &bench->viewer;
    const struct config *config = &viewer->model.config;
    struct capture capture;
    struct stopwatch stopwatch = {0};
    struct selection selection = {.sites = site_bit(last_site(config))};
    struct text_list text = {.count = 1};
    bool attention_alone = task->kind == TASK_ATTENTION;
    struct tap tap =
        attention_alone
            ? stopwatch_tap(&stopwatch)
            : (struct tap){.sink = capture_sink, .lend = capture_lend, .context = &capture};
    text.items = make_text(task->size.tokens, config, &viewer->scratch, err);
    if (attention_alone) {
        selection.sites = STOPWATCH_SITES;
        viewer->model.config.mechanism = *task->way;
    } else if (task->kind == TASK_CAPTURE) {
        selection.sites |= site_bit(SITE_WEIGHTS);
    }
    arena_clear(&bench->captured);
    if (!text.items || selection_layers(&selection, NULL, config, &viewer->scratch, err) ||
        (!attention_alone && capture_init(&capture, &selection, config, 1, &bench->captured, err)))
        return -1;
    double start = clock_seconds();
    int failed = viewer_run(viewer, &selection, &text, tap, err);
    *seconds = attention_alone ? stopwatch.seconds : clock_seconds() - start;
    return failed;
}

static int ignore(void *context, const struct announcement *seen, struct err *err)
{
    (void)context, (void)seen, (void)err;
    return 0;
}

/* Run a text with a cache up to the logits of its last token. */
static int extend(struct bench *bench, const struct text *text, double *seconds, struct err *err)
{
    struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    struct text_list one = {.items = text, .count = 1};
    double start = clock_seconds();
    int failed = viewer_run(&bench->viewer, &selection, &one, (struct tap){.sink = ignore}, err);
    *seconds += clock_seconds() - start;
    return failed;
}

/* The first pass fills the cache; then the last token is removed and run again. */
static int decode(struct bench *bench, const struct task *task, double *seconds, struct err *err)
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
    return failed ? -1 : 0;
}

static int run_task(struct bench *bench, const struct task *task, double *seconds, struct err *err)
{
    return (task->size.logits ? decode : prefill)(bench, task, seconds, err);
}

/* --- what is run ------------------------------------------------------------------------------ */

/* For growth five lengths, each twice the last, up to the context. */
static int choose_lengths(struct bench *bench, struct err *err)
{
    static const size_t usual[] = {6, 64, 256, 1024};
    const struct bench_plan *plan = bench->plan;
    size_t context = bench->viewer.model.config.n_positions;
    size_t limit = context ? context : SIZE_MAX;
    size_t top = num_min(limit, GROWTH_LONGEST);
    size_t *lengths = arena_alloc(&bench->arena, GROWTH_LENGTHS, sizeof *lengths, err);
    if (!lengths)
        return -1;
    bench->lengths = plan->lengths ? plan->lengths : lengths;
    bench->length_count = plan->lengths ? plan->length_count : 0;
    for (size_t i = GROWTH_LENGTHS; !plan->lengths && plan->ways && i-- > 0;)
        if (top >> i >= GROWTH_SHORTEST || i == 0)
            lengths[bench->length_count++] = top >> i;
    for (size_t i = 0; !plan->lengths && !plan->ways && i < sizeof usual / sizeof *usual; i++)
        if (usual[i] <= limit)
            lengths[bench->length_count++] = usual[i];
    for (size_t i = 0; i < bench->length_count; i++)
        if (bench->lengths[i] > limit)
            return err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu",
                             context, bench->lengths[i]);
    return 0;
}

static int add_task(struct bench *bench, struct task task, const char *name, struct err *err)
{
    struct bench_row *row = &bench->report->rows[bench->report->row_count];
    task.seconds = arena_alloc(&bench->arena, bench->plan->rounds, sizeof *task.seconds, err);
    bench->tasks[bench->report->row_count++] = task;
    row->name = name;
    for (int i = 0; i < BENCH_VALUES; i++)
        row->values[i] = NAN;
    row->values[BENCH_TOKENS] = (double)task.size.tokens;
    row->values[BENCH_CACHED] = (double)task.size.cached;
    return task.seconds ? 0 : -1;
}

/* Prefill and capture of each length, then decode where the model has logits. */
static int list_tasks(struct bench *bench, struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    unsigned kinds = bench->plan->kinds;
    size_t context = config->n_positions ? config->n_positions : SIZE_MAX;
    struct task decoding = {.kind = TASK_DECODE,
                            .size = {1, num_min(DECODE_CACHED, context - 1), .logits = true}};
    for (size_t i = 0; i < bench->length_count; i++)
        for (enum task_kind kind = TASK_PREFILL; kind <= TASK_CAPTURE; kind++)
            if (kinds >> kind & 1 &&
                add_task(bench, (struct task){.kind = kind, .size.tokens = bench->lengths[i]},
                         task_rows[kind].name, err))
                return -1;
    if (config->causal && !config->cross && config->kind != MODEL_ATTENTION &&
        kinds >> TASK_DECODE & 1)
        return add_task(bench, decoding, task_rows[TASK_DECODE].name, err);
    return 0;
}

static int list_ways(struct bench *bench, struct arena *arena, struct err *err)
{
    for (size_t way = 0; way < bench->plan->way_count; way++) {
        struct config config = bench->viewer.model.config;
        config.mechanism = bench->plan->ways[way];
        const char *name = mechanism_attention_name(&config.mechanism, arena, err);
        if (!name || mechanism_check(&config.mechanism, &config, err))
            return -1;
        for (size_t i = 0; i < bench->length_count; i++) {
            size_t n = bench->lengths[i];
            size_t bytes = attention_whole_bytes(&config, n, n, bench->report->threads);
            struct bench_row *row = &bench->report->rows[bench->report->row_count];
            if (add_task(bench,
                         (struct task){.kind = TASK_ATTENTION,
                                       .way = &bench->plan->ways[way],
                                       .size.tokens = n},
                         name, err))
                return -1;
            row->values[BENCH_MEMORY] = (double)bytes;
        }
    }
    return 0;
}

static size_t count_parameters(const struct weights *weights)
{
    size_t count = 0;
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        const struct safetensors_entry *entry = weights_parameter(weights, i).entry;
        count += entry ? entry->count : 0;
    }
    return count;
}

static int prepare(struct bench *bench, struct arena *arena, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    struct bench_report *report = bench->report;
    struct viewer *viewer = &bench->viewer;
    if (viewer_open_folder(viewer, plan->folder, plan->threads, err))
        return -1;
    viewer_set_precision(viewer, plan->precision);
    viewer->model.weights.packing = true;
    viewer->model.weights.packing_words = true;
    if (choose_lengths(bench, err))
        return -1;
    size_t most = plan->ways ? plan->way_count * bench->length_count : 2 * bench->length_count + 1;
    struct kernels *kernels = viewer->machine.kernels;
    bool bf16 = plan->precision == PRECISION_BF16;
    *report = (struct bench_report){
        .model = plan->folder->path,
        .kernels = kernels_target(kernels),
        .bf16 = bf16 ? pair_way_name(kernels_pair_way(kernels)) : NULL,
        .parameters = count_parameters(&viewer->model.weights),
        .threads = pool_threads(viewer->machine.pool),
        .rounds = plan->rounds,
        .attention = plan->ways != NULL,
        .rows = arena_alloc(arena, most, sizeof *report->rows, err),
    };
    bench->tasks = arena_alloc(&bench->arena, most, sizeof *bench->tasks, err);
    bench->limits = arena_alloc(&bench->arena, plan->rounds, sizeof *bench->limits, err);
    if (!report->rows || !bench->tasks || !bench->limits)
        return -1;
    if (plan->ways)
        return list_ways(bench, arena, err);
    return list_tasks(bench, err) ||
                   peak_init(&bench->peak, &viewer->machine, plan->precision, &bench->arena, err)
               ? -1
               : 0;
}

/* --- measuring -------------------------------------------------------------------------------- */

static void report_progress(const struct bench *bench, size_t round, size_t index)
{
    const struct bench_row *row = &bench->report->rows[index];
    size_t count = bench->report->row_count;
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "%s, %.0f tokens", row->name, row->values[BENCH_TOKENS]);
    progress_tell_more(bench->plan->progress, round * count + index, bench->plan->rounds * count,
                       note);
}

/* The fastest pass of a round counts, because other processes only make a pass longer. The first
 * two do not count: the first packs weights and finds how much memory a pass needs, the second
 * takes that in one piece, which later ones use. */
static int measure_task(struct bench *bench, const struct task *task, size_t round, struct err *err)
{
    double *best = &task->seconds[round];
    double sum = 0;
    double once = 0;
    int uncounted = round == 0 ? 2 : task->kind == TASK_ATTENTION;
    while (uncounted-- > 0)
        if (run_task(bench, task, &once, err))
            return -1;
    for (*best = INFINITY; sum < SECONDS_LEAST; sum += once, *best = fmin(*best, once))
        if (run_task(bench, task, &once, err))
            return -1;
    return 0;
}

static int measure(struct bench *bench, struct err *err)
{
    for (size_t round = 0; round < bench->plan->rounds; round++) {
        if (!bench->plan->ways)
            bench->limits[round] = peak_measure(&bench->peak, &bench->viewer.machine);
        for (size_t i = 0; i < bench->report->row_count; i++) {
            report_progress(bench, round, i);
            if (measure_task(bench, &bench->tasks[i], round, err))
                return -1;
        }
    }
    return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

static void compare_with_limits(struct bench *bench, const struct task *task, double *values)
{
    const struct weights *weights = &bench->viewer.model.weights;
    const struct limits *limits = &bench->report->limits;
    double seconds = values[BENCH_SECONDS];
    bool bf16 = weights->precision == PRECISION_BF16;
    struct work work = bench_work(weights->config, &task->size, weights_number_bytes(weights),
                                  bf16 ? sizeof(uint16_t) : sizeof(float));
    values[BENCH_RATE] = values[BENCH_TOKENS] / seconds;
    values[BENCH_OPERATIONS] = work.operations;
    values[BENCH_BYTES] = work.bytes;
    values[BENCH_OF_COMPUTE] = work.operations / limits->operations / seconds;
    if (work.bytes > (double)bench->peak.cache_bytes)
        values[BENCH_OF_MEMORY] = work.bytes / limits->bytes / seconds;
}

/* The exponent of a way is in each of its rows. */
static int fit(struct bench *bench, enum bench_value from, enum bench_value to, struct err *err)
{
    size_t count = bench->length_count;
    double *y = arena_alloc(&bench->arena, count, sizeof *y, err);
    for (size_t way = 0; y && way < bench->plan->way_count; way++) {
        struct bench_row *rows = bench->report->rows + way * count;
        for (size_t i = 0; i < count; i++)
            y[i] = rows[i].values[from];
        for (size_t i = 0; i < count; i++)
            rows[i].values[to] = growth_exponent(bench->lengths, y, count);
    }
    return y ? 0 : -1;
}

static int summarise(struct bench *bench, struct err *err)
{
    struct bench_report *report = bench->report;
    const struct limits *first = bench->limits;
    size_t rounds = report->rounds;
    double *sorted = arena_alloc(&bench->arena, rounds, sizeof *sorted, err);
    if (!sorted)
        return -1;
    report->limits.operations = median(&first->operations, sizeof *first, rounds, sorted);
    report->limits.bytes = median(&first->bytes, sizeof *first, rounds, sorted);
    for (size_t i = 0; i < report->row_count; i++) {
        double *values = report->rows[i].values;
        values[BENCH_SECONDS] = median(bench->tasks[i].seconds, sizeof(double), rounds, sorted);
        if (!bench->plan->ways)
            compare_with_limits(bench, &bench->tasks[i], values);
    }
    return bench->plan->ways && (fit(bench, BENCH_SECONDS, BENCH_TIME_EXPONENT, err) ||
                                 fit(bench, BENCH_MEMORY, BENCH_MEMORY_EXPONENT, err))
               ? -1
               : 0;
}

int benchmark(struct bench_report *report, const struct bench_plan *plan, struct arena *arena,
              struct err *err)
{
    struct bench bench = {.plan = plan, .report = report};
    int failed = prepare(&bench, arena, err) || measure(&bench, err) || summarise(&bench, err);
    viewer_release(&bench.viewer);
    arena_release(&bench.captured);
    arena_release(&bench.arena);
    return failed ? -1 : 0;
}
