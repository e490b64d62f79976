#include "bench/benchmark.h"

#include <string.h>

#include "base/names.h"
#include "format/json.h"

static const double SECONDS_MIN = 1e-12, SECONDS_MAX = 1e9; /* of one measurement */
static const double AMOUNT_MAX = 1e30;                      /* of operations, bytes, shares */
static const char PRECISION_FIELD[] = "field 'precision'";

enum { COUNT_MAX = 1 << 30, THREADS_MAX = 1 << 16, VALUE_BYTES = 64 };

static const long long PARAMETERS_MAX = 1LL << 53;

static int lacks(const char *name, const char *expected, struct err *err)
{
    return err_set(err, "field '%s': expected %s, found nothing", name, expected);
}

static int read_text(const char **text, const struct json *object, const char *name,
                     struct arena *arena, struct err *err)
{
    const char *found = NULL;
    if (json_text(object, name, &found, err))
        return -1;
    if (!found)
        return lacks(name, "a text", err);
    *text = arena_text(arena, found, strlen(found), err);
    return *text ? 0 : -1;
}

/* Where there is none, it stays as it is. */
static int read_count(size_t *count, const struct json *object, const char *name, long long min,
                      long long max, struct err *err)
{
    long long number = (long long)*count;
    if (json_integer(object, name, min, max, &number, err))
        return -1;
    *count = (size_t)number;
    return 0;
}

/* What may stand beside the seconds. */
static const struct number_row {
    const char *name;
    size_t offset; /* in struct bench_result */
} number_rows[] = {
    {"operations", offsetof(struct bench_result, work.operations)},
    {"bytes", offsetof(struct bench_result, work.bytes)},
    {"of_compute", offsetof(struct bench_result, median.of_compute)},
    {"of_kernel", offsetof(struct bench_result, median.of_kernel)},
    {"of_memory", offsetof(struct bench_result, median.of_memory)},
    {"over", offsetof(struct bench_result, median.over)},
    {"faster", offsetof(struct bench_result, median.faster)},
};

static int read_numbers(struct bench_result *result, const struct json *object, struct err *err)
{
    double *seconds = &result->median.seconds;
    if (json_double(object, "seconds", SECONDS_MIN, SECONDS_MAX, seconds, err))
        return -1;
    if (*seconds == 0)
        return lacks("seconds", "a number", err);
    for (size_t i = 0; i < sizeof number_rows / sizeof *number_rows; i++) {
        double *number = (double *)((char *)result + number_rows[i].offset);
        if (json_double(object, number_rows[i].name, 0, AMOUNT_MAX, number, err))
            return -1;
    }
    return 0;
}

static int read_task(struct task *task, const struct json *object, struct arena *arena,
                     struct err *err)
{
    const char *name = NULL;
    const char *precision = precision_name(PRECISION_FP32);
    size_t kind = 0;
    if (read_text(&name, object, "name", arena, err) ||
        json_text(object, "precision", &precision, err) ||
        names_choose(&kind, NAMES(task_rows, TASK_KINDS), "field 'name'", name, err) ||
        precision_choose(&task->precision, PRECISION_FIELD, precision, err))
        return -1;
    task->kind = (enum task_kind)kind;
    if (read_count(&task->size.texts, object, "sequences", 1, COUNT_MAX, err) ||
        read_count(&task->size.tokens, object, "tokens", 1, COUNT_MAX, err))
        return -1;
    return read_count(&task->size.cached, object, "cached", 0, COUNT_MAX, err);
}

/* The seconds of every round. */
static int read_each(struct bench_result *result, const struct json *object, size_t rounds,
                     struct arena *arena, struct err *err)
{
    const struct json *list = json_given(object, "each");
    double *each = arena_alloc(arena, rounds, sizeof *each, err);
    size_t count = 0;
    if (!each)
        return -1;
    if (!list)
        return lacks("each", "the seconds of every round", err);
    if (!json_is_array(list))
        return json_refuse(list, "the seconds of every round", err);
    if (json_count(list) != rounds)
        return err_set(err, "field 'each': expected %zu numbers, as many as 'rounds', found %zu",
                       rounds, json_count(list));
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        char value[VALUE_BYTES];
        double *seconds = &each[count++];
        if (!json_get_number(item, seconds) || !(*seconds >= SECONDS_MIN) || *seconds > SECONDS_MAX)
            return err_set(err, "field 'each': expected numbers from %g to %g, found %s",
                           SECONDS_MIN, SECONDS_MAX, json_describe(item, value, sizeof value));
    }
    result->each = each;
    return 0;
}

static int read_results(struct bench_report *report, const struct json *root, struct arena *arena,
                        struct err *err)
{
    const struct json *list = json_given(root, "results");
    size_t count = 0;
    if (!list)
        return lacks("results", "an array", err);
    if (!json_is_array(list))
        return json_refuse(list, "an array", err);
    report->result_count = json_count(list);
    struct bench_result *results = arena_alloc(arena, report->result_count, sizeof *results, err);
    report->results = results;
    for (const struct json *row = json_first(list); results && row; row = json_next(row)) {
        struct bench_result *result = &results[count++];
        if (read_task(&result->task, row, arena, err) || read_numbers(result, row, err) ||
            read_each(result, row, report->rounds, arena, err))
            return err_prefix(err, "row %zu of 'results'", count);
    }
    return results ? 0 : -1;
}

static int read_limits(struct bench_limits *limits, const struct json *root, const char *name,
                       struct err *err)
{
    const struct json *object = json_given(root, name);
    if (!object)
        return lacks(name, "an object", err);
    if (!json_is_object(object))
        return json_refuse(object, "an object", err);
    int failed = read_count(&limits->threads, object, "threads", 1, THREADS_MAX, err) ||
                 json_double(object, "kernel", 0, AMOUNT_MAX, &limits->kernel[0], err) ||
                 json_double(object, "kernel_bf16", 0, AMOUNT_MAX, &limits->kernel[1], err) ||
                 json_double(object, "read", 0, AMOUNT_MAX, &limits->read, err);
    for (int form = 0; form < FMA_FORMS && !failed; form++)
        failed = json_double(object, fma_rows[form].name, 0, AMOUNT_MAX, &limits->fma[form], err);
    if (!failed && !limits->threads)
        failed = lacks("threads", "an integer", err);
    return failed ? err_prefix(err, "'%s'", name) : 0;
}

static int read_report(struct bench_report *report, const struct json *root, struct arena *arena,
                       struct err *err)
{
    if (json_given(root, "ways"))
        return err_set(err, "expected measurements of a model, found those of --attention");
    if (read_text(&report->version, root, "version", arena, err) ||
        read_text(&report->model, root, "model", arena, err) ||
        read_count(&report->parameters, root, "parameters", 0, PARAMETERS_MAX, err) ||
        read_text(&report->processor, root, "processor", arena, err) ||
        read_text(&report->kernels, root, "kernels", arena, err) ||
        read_count(&report->rounds, root, "rounds", 1, BENCH_ROUNDS_MAX, err))
        return -1;
    if (!report->rounds)
        return lacks("rounds", "an integer", err);
    if (json_given(root, "bf16") && read_text(&report->pairs, root, "bf16", arena, err))
        return -1;
    if (read_limits(&report->alone, root, "one_thread", err) ||
        read_limits(&report->together, root, "all_threads", err))
        return -1;
    return read_results(report, root, arena, err);
}

int bench_json_parse(struct bench_report *report, const char *bytes, size_t size,
                     struct arena *arena, struct err *err)
{
    struct json *root = NULL;
    *report = (struct bench_report){0};
    int failed = json_parse(&root, bytes, size, err) || read_report(report, root, arena, err);
    json_free(root);
    if (failed && err && err->kind == ERR_USAGE)
        err->kind = ERR_INPUT; /* a name that stands in a file */
    return failed ? -1 : 0;
}

int bench_json_read(struct bench_report *report, const char *path, struct arena *arena,
                    struct err *err)
{
    struct file file = {0};
    if (file_map(&file, path, err))
        return -1;
    int failed = bench_json_parse(report, file.bytes, file.size, arena, err);
    file_release(&file);
    if (!failed)
        return 0;
    err_prefix(err, "'%s'", path);
    return err && err->out_of_memory
               ? -1
               : err_append(err, ": 'attn-cli bench --format json' writes such a file");
}
