#include "bench/benchmark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"

enum { NOTE_BYTES = 64 };

static const double SECONDS_LEAST = 0.02; /* of one measurement: what takes less is done again */

struct bench {
    const struct bench_plan *plan;
    struct bench_subject subject;
    struct pool *alone;
    struct peak_memory memory;
    struct peak_kernel kernel;
    enum fma_form best; /* the form with the highest peak */
    struct task_list tasks;
    struct bench_sample *samples;            /* [task][round] */
    struct bench_limits *alones, *togethers; /* [round] */
    struct deviation deviation;
    struct arena arena; /* all of these; gone when the report is made */
};

/* --- limits ---------------------------------------------------------------------------------- */

static void find_best_form(struct bench *bench)
{
    double highest = 0;
    for (int form = 0; form < FMA_FORMS; form++) {
        double rate = peak_fma(bench->alone, (enum fma_form)form);
        if (rate > highest)
            bench->best = (enum fma_form)form;
        highest = rate > highest ? rate : highest;
    }
}

static double measure_kernel(struct bench *bench, struct pool *pool, enum precision precision)
{
    struct kernels *kernels = bench->subject.viewer.machine.kernels;
    return precision <= bench->plan->choice.precision
               ? peak_kernel(pool, kernels, &bench->kernel, precision)
               : 0;
}

static void measure_limits(struct bench *bench, struct bench_limits *limits, struct pool *pool)
{
    limits->threads = pool_threads(pool);
    for (int form = 0; form < FMA_FORMS; form++)
        limits->fma[form] = peak_fma(pool, (enum fma_form)form);
    for (int precision = 0; precision < PRECISIONS; precision++)
        limits->kernel[precision] = measure_kernel(bench, pool, (enum precision)precision);
    limits->read = peak_read(pool, &bench->memory);
}

/* What stands before and after each measurement: some of the limits, with all threads. */
struct bracket {
    double compute, memory;
    double kernel[PRECISIONS];
};

static struct bracket measure_bracket(struct bench *bench)
{
    struct pool *pool = bench->subject.viewer.machine.pool;
    struct bracket bracket = {peak_fma(pool, bench->best), peak_read(pool, &bench->memory), {0}};
    for (int precision = 0; precision < PRECISIONS; precision++)
        bracket.kernel[precision] = measure_kernel(bench, pool, (enum precision)precision);
    return bracket;
}

/* --- measuring ------------------------------------------------------------------------------- */

static struct bench_sample *sample_at(const struct bench *bench, size_t task, size_t round)
{
    return &bench->samples[task * bench->plan->rounds + round];
}

/* Repeat a task until it has taken long enough, and tell how long one took. */
static int time_task(struct bench *bench, const struct task *task, double *seconds, struct err *err)
{
    double sum = 0;
    double count = 0;
    while (sum < SECONDS_LEAST) {
        double once = 0;
        if (task_run(task, &bench->subject, &once, err))
            return -1;
        sum += once;
        count++;
    }
    *seconds = sum / count;
    return 0;
}

static struct work work_of(const struct bench *bench, const struct task *task)
{
    struct weights weights = bench->subject.viewer.model.weights;
    weights.precision = task->precision;
    return work_of_pass(weights.config, &task->size, weights_number_bytes(&weights),
                        task->precision);
}

/* Hold what was measured against the limits around it. */
static void judge(const struct bench *bench, const struct task *task, struct bench_sample *sample,
                  struct bracket before, struct bracket after)
{
    struct work work = work_of(bench, task);
    enum pair_way way = kernels_pair_way(bench->subject.viewer.machine.kernels);
    double products = task->precision == PRECISION_BF16 ? pair_way_products(way) : 1;
    double compute = products * (before.compute + after.compute) / 2;
    double kernel = (before.kernel[task->precision] + after.kernel[task->precision]) / 2;
    double memory = (before.memory + after.memory) / 2;
    sample->of_compute = work.operations / compute / sample->seconds;
    sample->of_kernel = work.operations / kernel / sample->seconds;
    if (work.bytes > (double)bench->memory.cache_bytes)
        sample->of_memory = work.bytes / memory / sample->seconds;
}

/* How much longer another way of the same pass takes than plain prefill, which stands before it. */
static double over_prefill(const struct bench *bench, size_t task, size_t round)
{
    const struct task *tasks = bench->tasks.items;
    if (!task_rows[tasks[task].kind].by_length || tasks[task].kind == TASK_PREFILL)
        return 0;
    for (size_t i = task; i-- > 0 && tasks[i].size.tokens == tasks[task].size.tokens;)
        if (tasks[i].kind == TASK_PREFILL && tasks[i].precision == PRECISION_FP32)
            return sample_at(bench, task, round)->seconds / sample_at(bench, i, round)->seconds;
    return 0;
}

/* prefill in bf16, 64 tokens */
static void tell(const struct bench *bench, size_t round, size_t index)
{
    const struct task *task = &bench->tasks.items[index];
    size_t tokens = task->size.texts * task->size.tokens;
    char note[NOTE_BYTES];
    int size = snprintf(note, sizeof note, "%s%s", task_rows[task->kind].name,
                        task->precision == PRECISION_FP32 ? "" : " in bf16");
    if (tokens)
        snprintf(note + size, sizeof note - (size_t)size, ", %zu tokens", tokens);
    progress_tell_more(bench->plan->progress, round * bench->tasks.count + index,
                       bench->plan->rounds * bench->tasks.count, note);
}

/* The limits after one task are those before the next. */
static int run_round(struct bench *bench, size_t round, struct err *err)
{
    measure_limits(bench, &bench->alones[round], bench->alone);
    measure_limits(bench, &bench->togethers[round], bench->subject.viewer.machine.pool);
    struct bracket before = measure_bracket(bench);
    for (size_t i = 0; i < bench->tasks.count; i++) {
        const struct task *task = &bench->tasks.items[i];
        struct bench_sample *sample = sample_at(bench, i, round);
        tell(bench, round, i);
        if (time_task(bench, task, &sample->seconds, err))
            return -1;
        struct bracket after = measure_bracket(bench);
        judge(bench, task, sample, before, after);
        sample->over = over_prefill(bench, i, round);
        if (task->precision != PRECISION_FP32) /* it stands after the same in float32 */
            sample->faster = sample_at(bench, i - 1, round)->seconds / sample->seconds;
        before = after;
    }
    return 0;
}

/* The pass that takes the most memory: of the longest text, and keeping its attention. */
static struct task largest_pass(const struct task_list *tasks)
{
    struct task largest = {TASK_PREFILL, {.texts = 1, .tokens = 1}, PRECISION_FP32};
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        bool as_long = task->size.tokens == largest.size.tokens;
        if (task->size.tokens > largest.size.tokens || (as_long && task->kind == TASK_CAPTURE))
            largest = *task;
    }
    return largest;
}

/* Passes that do not count bring the weights into memory; the first finds how much room there must
 * be, the second takes it in one piece, which all others share. In bf16 one is enough to round the
 * weights. */
static int warm_up(struct bench *bench, struct err *err)
{
    struct task task = largest_pass(&bench->tasks);
    double seconds = 0;
    if (task_run(&task, &bench->subject, &seconds, err) ||
        task_run(&task, &bench->subject, &seconds, err))
        return -1;
    task.precision = bench->plan->choice.precision;
    bool enough = task.precision == PRECISION_FP32;
    return enough ? 0 : task_run(&task, &bench->subject, &seconds, err);
}

/* Of two tensors; without a second one, the largest number of the first. */
static double largest_difference(const float *a, const float *b, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(a[i] - (b ? b[i] : 0)));
    return (double)largest;
}

int deviation_measure(struct deviation *deviation, struct bench_subject *subject, struct err *err)
{
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16};
    const struct config *config = &subject->viewer.model.config;
    bool is_short = config->n_positions && config->n_positions < DEVIATION_TOKENS;
    struct pass_size size = {.texts = 1};
    bool has_logits = site_exists(config, SITE_LOGITS);
    uint64_t sites = site_bit(SITE_WEIGHTS) | (has_logits ? site_bit(SITE_LOGITS) : 0);
    struct capture captures[2];
    double seconds = 0;
    size.tokens = is_short ? config->n_positions : DEVIATION_TOKENS;
    *deviation = (struct deviation){.tokens = size.tokens};
    arena_clear(&subject->kept);
    for (int i = 0; i < 2; i++) {
        subject->viewer.model.weights.precision = precisions[i];
        if (bench_pass(&captures[i], subject, &size, sites, &seconds, err))
            return -1;
    }
    for (size_t i = 0; i < captures[0].lists->count; i++) {
        const struct kept *kept = &captures[0].lists->items[i];
        const float *rounded = captures[1].lists->items[i].data;
        double difference = largest_difference(kept->data, rounded, kept_cells(kept));
        if (kept->site == SITE_LOGITS) {
            deviation->logits = difference;
            deviation->largest_logit = largest_difference(kept->data, NULL, kept_cells(kept));
        } else {
            deviation->weights = fmax(deviation->weights, difference);
        }
    }
    return 0;
}

/* --- the report ------------------------------------------------------------------------------ */

static struct bench_sample median_sample(const struct bench_sample *samples, size_t count,
                                         double *sorted)
{
    size_t step = sizeof *samples;
    return (struct bench_sample){
        .seconds = median(&samples->seconds, step, count, sorted),
        .of_compute = median(&samples->of_compute, step, count, sorted),
        .of_kernel = median(&samples->of_kernel, step, count, sorted),
        .of_memory = median(&samples->of_memory, step, count, sorted),
        .over = median(&samples->over, step, count, sorted),
        .faster = median(&samples->faster, step, count, sorted),
    };
}

static struct bench_limits median_limits(const struct bench_limits *limits, size_t count,
                                         double *sorted)
{
    size_t step = sizeof *limits;
    struct bench_limits medians = {.threads = limits->threads};
    for (int form = 0; form < FMA_FORMS; form++)
        medians.fma[form] = median(&limits->fma[form], step, count, sorted);
    for (int precision = 0; precision < PRECISIONS; precision++)
        medians.kernel[precision] = median(&limits->kernel[precision], step, count, sorted);
    medians.read = median(&limits->read, step, count, sorted);
    return medians;
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

/* "AMD EPYC 9754"; "" where /proc/cpuinfo has no such line. */
static const char *find_processor(struct arena *arena, struct err *err)
{
    static const char key[] = "\nmodel name\t: ";
    struct file file = {0};
    const char *name = "";
    if (file_map(&file, "/proc/cpuinfo", NULL))
        return "";
    const char *line = memmem(file.bytes, file.size, key, sizeof key - 1);
    if (line) {
        line += sizeof key - 1;
        size_t rest = file.size - (size_t)(line - file.bytes);
        const char *end = memchr(line, '\n', rest);
        name = arena_text(arena, line, end ? (size_t)(end - line) : rest, err);
    }
    file_release(&file);
    return name;
}

static const double *copy_seconds(const struct bench *bench, size_t task, struct arena *arena,
                                  struct err *err)
{
    size_t rounds = bench->plan->rounds;
    double *each = arena_alloc(arena, rounds, sizeof *each, err);
    for (size_t round = 0; each && round < rounds; round++)
        each[round] = sample_at(bench, task, round)->seconds;
    return each;
}

static int make_report(struct bench_report *report, const struct bench *bench, struct arena *arena,
                       struct err *err)
{
    size_t rounds = bench->plan->rounds;
    const struct task_list *tasks = &bench->tasks;
    struct bench_result *results = arena_alloc(arena, tasks->count, sizeof *results, err);
    double *sorted = arena_alloc(arena, rounds, sizeof *sorted, err);
    struct kernels *kernels = bench->subject.viewer.machine.kernels;
    bool bf16 = bench->plan->choice.precision == PRECISION_BF16;
    *report = (struct bench_report){
        .version = bench->plan->version,
        .model = bench->plan->folder->path,
        .parameters = count_parameters(&bench->subject.viewer.model.weights),
        .kernels = kernels_target(kernels),
        .pairs = bf16 ? pair_way_name(kernels_pair_way(kernels)) : NULL,
        .processor = find_processor(arena, err),
        .rounds = rounds,
        .results = results,
        .result_count = tasks->count,
    };
    if (!results || !sorted || !report->processor)
        return -1;
    report->alone = median_limits(bench->alones, rounds, sorted);
    report->together = median_limits(bench->togethers, rounds, sorted);
    report->deviation = bench->deviation;
    for (size_t i = 0; i < tasks->count; i++) {
        results[i] = (struct bench_result){
            .task = tasks->items[i],
            .work = work_of(bench, &tasks->items[i]),
            .median = median_sample(sample_at(bench, i, 0), rounds, sorted),
            .each = copy_seconds(bench, i, arena, err),
        };
        if (!results[i].each)
            return -1;
    }
    return 0;
}

double bench_tokens_per_second(const struct bench_result *result)
{
    double tokens = (double)(result->task.size.texts * result->task.size.tokens);
    return tokens / result->median.seconds;
}

static int prepare(struct bench *bench, struct err *err)
{
    const struct bench_plan *plan = bench->plan;
    struct arena *arena = &bench->arena;
    const struct config *config = &bench->subject.viewer.model.config;
    if (bench_subject_open(&bench->subject, plan->folder, plan->threads, err))
        return -1;
    viewer_set_precision(&bench->subject.viewer, PRECISION_FP32, !plan->no_amx);
    if (task_list_make(&bench->tasks, &plan->choice, config, arena, err) ||
        pool_open(&bench->alone, 1, err) || peak_memory_init(&bench->memory, arena, err) ||
        peak_kernel_init(&bench->kernel, pool_threads(bench->subject.viewer.machine.pool), arena,
                         err))
        return -1;
    size_t samples = bench->tasks.count * plan->rounds;
    bench->samples = arena_alloc(arena, samples, sizeof *bench->samples, err);
    bench->alones = arena_alloc(arena, plan->rounds, sizeof *bench->alones, err);
    bench->togethers = arena_alloc(arena, plan->rounds, sizeof *bench->togethers, err);
    return bench->samples && bench->alones && bench->togethers ? 0 : -1;
}

static int measure(struct bench *bench, struct err *err)
{
    find_best_form(bench);
    if (warm_up(bench, err))
        return -1;
    for (size_t round = 0; round < bench->plan->rounds; round++)
        if (run_round(bench, round, err))
            return -1;
    if (bench->plan->choice.precision == PRECISION_FP32)
        return 0;
    return deviation_measure(&bench->deviation, &bench->subject, err);
}

int benchmark(struct bench_report *report, const struct bench_plan *plan, struct arena *arena,
              struct err *err)
{
    struct bench bench = {.plan = plan};
    int failed =
        prepare(&bench, err) || measure(&bench, err) || make_report(report, &bench, arena, err);
    pool_free(bench.alone);
    bench_subject_release(&bench.subject);
    arena_release(&bench.arena);
    return failed ? -1 : 0;
}
