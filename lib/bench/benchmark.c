#include "bench/benchmark.h"

#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "model/cache.h"

enum {
    DECODE_STEPS = 8, /* of one measurement */
    NOTE_BYTES = 64,
};

static const double SECONDS_LEAST = 0.02; /* of one measurement: shorter passes are repeated */
static const size_t usual_lengths[] = {6, 64, 256, 1024};

const struct task_row task_rows[TASK_KINDS] = {
    [TASK_PREFILL] = {"prefill", "a text in one pass, without logits", {.texts = 1}},
    [TASK_CAPTURE] = {"capture", "prefill that stores the attention of all heads", {.texts = 1}},
    [TASK_DECODE] = {"decode",
                     "the logits of one more token, 64 in the cache",
                     {.texts = 1, .tokens = 1, .cached = 64, .logits = true}},
    [TASK_GREEDY] = {"greedy",
                     "decode that needs only the largest logit",
                     {.texts = 1, .tokens = 1, .cached = 64, .logits = true, .largest = true}},
    [TASK_BATCH] = {"batch",
                    "prefill of 100 texts of 12 tokens in one pass",
                    {.texts = 100, .tokens = 12}},
};

struct bench {
    const struct bench_plan *plan;
    struct bench_report *report;
    struct viewer viewer;
    struct peak peak;
    struct arena captured; /* by a pass; the next pass uses the same memory */
    struct arena arena;    /* until the report is made */
};

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
    double texts = (double)size->texts;
    double weights = count_weights(c);
    double unembedding = size->logits ? (double)c->vocab_size * (double)c->n_embd : 0;
    double cached = (double)(c->n_layer * size->texts * size->cached * c->n_kv_head) *
                    (double)(c->d_k + c->d_v);
    size_t logit_bytes = size->largest ? sizeof(int8_t) : weight_bytes; /* argmax.h */
    return (struct work){
        .operations =
            2 * texts * (double)size->tokens * weights + 2 * texts * unembedding +
            2 * texts * (double)c->n_head * count_pairs(c, size) * (double)(c->d_k + c->d_v),
        .bytes = weights * (double)weight_bytes + cached * (double)float_bytes +
                 unembedding * (double)logit_bytes,
    };
}

static struct work work_of(const struct bench *bench, const struct pass_size *size)
{
    const struct weights *weights = &bench->viewer.model.weights;
    return bench_work(weights->config, size, weights_number_bytes(weights),
                      weights->precision == PRECISION_BF16 ? sizeof(uint16_t) : sizeof(float));
}

/* --- passes ----------------------------------------------------------------------------------- */

struct text *bench_texts(size_t texts, size_t tokens, const struct config *config,
                         struct arena *arena, struct err *err)
{
    struct text *items = arena_alloc(arena, texts, sizeof *items, err);
    uint32_t *ids = arena_alloc(arena, texts * tokens, sizeof *ids, err);
    if (!items || !ids)
        return NULL;
    for (size_t i = 0; i < texts * tokens; i++)
        ids[i] = (uint32_t)((i * 7919 + 13) % config->vocab_size);
    for (size_t s = 0; s < texts; s++) {
        items[s] = (struct text){.ids = ids + s * tokens, .count = tokens};
        if (config->cross) {
            items[s].source_ids = items[s].ids;
            items[s].source_count = tokens;
        }
    }
    return items;
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

static int prefill(struct bench *bench, const struct bench_result *task, double *seconds,
                   struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    struct capture capture;
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
    struct selection selection = {.sites = site_bit(last_site(config))};
    struct text_list texts = {.count = task->size.texts};
    texts.items =
        bench_texts(task->size.texts, task->size.tokens, config, &bench->viewer.scratch, err);
    if (task->kind == TASK_CAPTURE)
        selection.sites |= site_bit(SITE_WEIGHTS);
    arena_clear(&bench->captured);
    if (!texts.items || selection_layers(&selection, NULL, config, &bench->viewer.scratch, err) ||
        capture_init(&capture, &selection, config, texts.count, &bench->captured, err))
        return -1;
    double start = clock_seconds();
    int failed = viewer_run(&bench->viewer, &selection, &texts, tap, err);
    *seconds = clock_seconds() - start;
    return failed;
}

static int ignore(void *context, const struct announcement *seen, struct err *err)
{
    (void)context, (void)seen, (void)err;
    return 0;
}

/* Run a text with a cache up to the logits of its last token. */
static int extend(struct bench *bench, const struct text *text, bool largest, double *seconds,
                  struct err *err)
{
    struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    struct text_list one = {.items = text, .count = 1};
    struct likeliest likeliest;
    struct tap tap = {.sink = ignore, .likeliest = largest ? &likeliest : NULL};
    double start = clock_seconds();
    int failed = viewer_run(&bench->viewer, &selection, &one, tap, err);
    *seconds += clock_seconds() - start;
    return failed;
}

/* The first pass fills the cache; then the last token is removed and run again. */
static int decode(struct bench *bench, const struct bench_result *task, double *seconds,
                  struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    size_t cached = task->size.cached;
    struct arena arena = {0};
    struct cache cache = {0};
    double filling = 0;
    struct text *text = bench_texts(1, cached + 1, config, &arena, err);
    int failed = !text || cache_init(&cache, config, err);
    bench->viewer.model.weights.packing_words = !task->size.largest;
    if (!failed) {
        text->cache = &cache;
        failed = extend(bench, text, task->size.largest, &filling, err);
    }
    *seconds = 0;
    for (int i = 0; i < DECODE_STEPS && !failed; i++) {
        struct text last = {text->ids + cached, 1, .cache = &cache};
        cache_forget(&cache, cached);
        failed = extend(bench, &last, task->size.largest, seconds, err);
    }
    *seconds /= DECODE_STEPS;
    cache_release(&cache);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int run_task(struct bench *bench, const struct bench_result *task, double *seconds,
                    struct err *err)
{
    return (task->size.logits ? decode : prefill)(bench, task, seconds, err);
}

/* --- what is run ------------------------------------------------------------------------------ */

int bench_check_lengths(const size_t *lengths, size_t count, const struct config *config,
                        struct err *err)
{
    for (size_t i = 0; i < count && config->n_positions; i++)
        if (lengths[i] > config->n_positions)
            return err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu",
                             config->n_positions, lengths[i]);
    return 0;
}

static int add_task(struct bench *bench, int kind, size_t tokens, struct arena *arena,
                    struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    size_t context = config->n_positions ? config->n_positions : SIZE_MAX;
    struct pass_size size = task_rows[kind].size;
    bool grows = config->causal && !config->cross && config->kind != MODEL_ATTENTION;
    bool fits = !size.largest || bench->plan->precision == PRECISION_FP32; /* argmax.h */
    if (!(bench->plan->kinds >> kind & 1) || (size.logits && !grows) || !fits)
        return 0;
    if (!size.tokens)
        size.tokens = tokens;
    if (size.tokens > context)
        size.tokens = context;
    if (size.cached > context - size.tokens)
        size.cached = context - size.tokens;
    struct bench_result *result = &bench->report->results[bench->report->result_count++];
    *result = (struct bench_result){
        .kind = (enum task_kind)kind,
        .size = size,
        .work = work_of(bench, &size),
        .seconds = arena_alloc(arena, bench->plan->rounds, sizeof *result->seconds, err),
        .limits = arena_alloc(arena, bench->plan->rounds, sizeof *result->limits, err),
    };
    return result->seconds && result->limits ? 0 : -1;
}

/* Prefill and capture for each length, then all others. */
static int list_tasks(struct bench *bench, struct arena *arena, struct err *err)
{
    const struct config *config = &bench->viewer.model.config;
    const size_t *lengths = bench->plan->lengths;
    size_t count = bench->plan->length_count;
    if (!lengths) {
        lengths = usual_lengths;
        count = sizeof usual_lengths / sizeof *usual_lengths;
        while (config->n_positions && count && lengths[count - 1] > config->n_positions)
            count--;
    }
    if (bench_check_lengths(lengths, count, config, err))
        return -1;
    struct bench_result *results =
        arena_alloc(arena, (count + 1) * TASK_KINDS, sizeof *results, err);
    bench->report->results = results;
    for (size_t i = 0; results && i < count; i++)
        if (add_task(bench, TASK_PREFILL, lengths[i], arena, err) ||
            add_task(bench, TASK_CAPTURE, lengths[i], arena, err))
            return -1;
    for (int kind = TASK_DECODE; results && kind < TASK_KINDS; kind++)
        if (add_task(bench, kind, 0, arena, err))
            return -1;
    return results ? 0 : -1;
}

/* --- measuring -------------------------------------------------------------------------------- */

static void tell(const struct bench *bench, size_t round, size_t index)
{
    const struct bench_result *task = &bench->report->results[index];
    size_t count = bench->report->result_count;
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "%s, %zu tokens", task_rows[task->kind].name,
             task->size.texts * task->size.tokens);
    progress_tell_more(bench->plan->progress, round * count + index, bench->plan->rounds * count,
                       note);
}

static int measure_task(struct bench *bench, struct bench_result *task, size_t round,
                        struct err *err)
{
    double sum = 0;
    size_t count = 0;
    task->limits[round] = peak_measure(&bench->peak, &bench->viewer.machine);
    for (; sum < SECONDS_LEAST; count++) {
        double once = 0;
        if (run_task(bench, task, &once, err))
            return -1;
        sum += once;
    }
    task->seconds[round] = sum / (double)count;
    return 0;
}

/* The first run of each task, not counted, packs the weights and finds the memory that it needs. */
static int measure(struct bench *bench, struct err *err)
{
    struct bench_report *report = bench->report;
    double seconds = 0;
    for (size_t i = 0; i < report->result_count; i++)
        if (run_task(bench, &report->results[i], &seconds, err))
            return -1;
    for (size_t round = 0; round < report->rounds; round++) {
        for (size_t i = 0; i < report->result_count; i++) {
            tell(bench, round, i);
            if (measure_task(bench, &report->results[i], round, err))
                return -1;
        }
    }
    return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

static struct limits median_limits(const struct limits *limits, size_t count, double *sorted)
{
    return (struct limits){median(&limits->operations, sizeof *limits, count, sorted),
                           median(&limits->bytes, sizeof *limits, count, sorted)};
}

static int summarise(struct bench *bench, struct err *err)
{
    struct bench_report *report = bench->report;
    size_t rounds = report->rounds;
    size_t samples = rounds * report->result_count;
    struct limits *all = arena_alloc(&bench->arena, samples + 1, sizeof *all, err);
    double *sorted = arena_alloc(&bench->arena, samples + rounds, sizeof *sorted, err);
    if (!all || !sorted)
        return -1;
    for (size_t i = 0; i < report->result_count; i++) {
        struct bench_result *result = &report->results[i];
        struct limits limits = median_limits(result->limits, rounds, sorted);
        memcpy(all + i * rounds, result->limits, rounds * sizeof *all);
        result->median = median(result->seconds, sizeof(double), rounds, sorted);
        result->of_compute = result->work.operations / limits.operations / result->median;
        if (result->work.bytes > (double)bench->peak.cache_bytes)
            result->of_memory = result->work.bytes / limits.bytes / result->median;
    }
    if (!samples) /* nothing that the model can do was chosen */
        all[samples++] = peak_measure(&bench->peak, &bench->viewer.machine);
    report->limits = median_limits(all, samples, sorted);
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
    struct viewer *viewer = &bench->viewer;
    if (viewer_open_folder(viewer, plan->folder, plan->threads, err))
        return -1;
    viewer_set_precision(viewer, plan->precision);
    viewer->model.weights.packing = true;
    struct kernels *kernels = viewer->machine.kernels;
    bool bf16 = plan->precision == PRECISION_BF16;
    *bench->report = (struct bench_report){
        .version = plan->version,
        .model = plan->folder->path,
        .kernels = kernels_target(kernels),
        .bf16 = bf16 ? pair_way_name(kernels_pair_way(kernels)) : NULL,
        .parameters = count_parameters(&viewer->model.weights),
        .threads = pool_threads(viewer->machine.pool),
        .rounds = plan->rounds,
    };
    return list_tasks(bench, arena, err) ||
                   peak_init(&bench->peak, &viewer->machine, plan->precision, &bench->arena, err)
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
