/* bench_write.c: measurements as a table: a row for each task, or for each kind of attention and
 * length. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/num.h"
#include "bench/benchmark.h"
#include "lens/report.h"

typedef const char *show(char text[AMOUNT_BYTES], double value);

static const char *show_count(char text[AMOUNT_BYTES], double value)
{
    snprintf(text, AMOUNT_BYTES, "%.0f", value);
    return text;
}

static const char *show_share(char text[AMOUNT_BYTES], double value)
{
    snprintf(text, AMOUNT_BYTES, "%.0f %%", 100 * value);
    return text;
}

static const char *show_power(char text[AMOUNT_BYTES], double value)
{
    snprintf(text, AMOUNT_BYTES, "n^%.2f", value);
    return text;
}

static const char *show_bytes(char text[AMOUNT_BYTES], double value)
{
    return num_size(text, (uint64_t)value); /* AMOUNT_BYTES are NUM_SIZE_BYTES */
}

static const struct value_row {
    const char *name; /* in data */
    bool of_tasks, of_growth;
    const char *title; /* in text; NULL: not there */
    show *show;
} value_rows[BENCH_VALUES] = {
    [BENCH_TOKENS] = {"tokens", true, true, "tokens", show_count},
    [BENCH_CACHED] = {"cached", true, false, "cached", show_count},
    [BENCH_SECONDS] = {"seconds", true, true, "time", amount_seconds},
    [BENCH_RATE] = {"tokens_per_second", true, false, "tokens/s", show_count},
    [BENCH_OPERATIONS] = {"operations", true, false, NULL, NULL},
    [BENCH_BYTES] = {"bytes", true, false, NULL, NULL},
    [BENCH_OF_COMPUTE] = {"of_compute", true, false, "of compute", show_share},
    [BENCH_OF_MEMORY] = {"of_memory", true, false, "of memory", show_share},
    [BENCH_TIME_EXPONENT] = {"time_exponent", false, true, "grows as", show_power},
    [BENCH_MEMORY] = {"memory_bytes", false, true, "memory", show_bytes},
    [BENCH_MEMORY_EXPONENT] = {"memory_exponent", false, true, "grows as", show_power},
};

/* Each value is a number in data, and a text with its unit for people. */
static int add_value(struct frame *frame, struct column *columns, const struct bench_report *report,
                     size_t value, struct arena *arena, struct err *err)
{
    const struct value_row *row = &value_rows[value];
    size_t count = report->row_count;
    double *numbers = arena_alloc(arena, count, sizeof *numbers, err);
    const char **texts = arena_alloc(arena, count, sizeof *texts, err);
    if (!numbers || !texts)
        return -1;
    for (size_t i = 0; i < count; i++) {
        char text[AMOUNT_BYTES];
        numbers[i] = report->rows[i].values[value];
        if (!row->show || isnan(numbers[i]))
            continue;
        row->show(text, numbers[i]);
        if (!(texts[i] = arena_text(arena, text, strlen(text), err)))
            return -1;
    }
    bool coloured = value == (report->attention ? BENCH_SECONDS : BENCH_OF_COMPUTE);
    columns[frame->count++] =
        (struct column){.name = row->name,
                        .flags = COLUMN_DATA_ONLY | (coloured ? COLUMN_COLOURED : 0),
                        .fraction = value == BENCH_OF_COMPUTE,
                        .values = numbers};
    if (row->show)
        columns[frame->count++] = (struct column){.name = row->title,
                                                  .kind = COLUMN_TEXT,
                                                  .flags = COLUMN_TEXT_ONLY | COLUMN_RIGHT,
                                                  .values = texts};
    return 0;
}

static int make_frame(struct frame *frame, const struct bench_report *report, struct arena *arena,
                      struct err *err)
{
    size_t count = report->row_count;
    struct column *columns = arena_alloc(arena, 1 + 2 * BENCH_VALUES, sizeof *columns, err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    if (!columns || !labels)
        return -1;
    for (size_t i = 0; i < count; i++)
        labels[i] =
            (struct label){report->rows[i].name, report->rows[i].name, report->rows[i].name};
    const char *thing = report->attention ? "attention" : "task";
    *frame = (struct frame){"bench", {thing, count, labels, 0}, columns, .count = 1};
    columns[0] =
        (struct column){.name = thing, .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels};
    for (size_t value = 0; value < BENCH_VALUES; value++)
        if (report->attention ? value_rows[value].of_growth : value_rows[value].of_tasks)
            if (add_value(frame, columns, report, value, arena, err))
                return -1;
    return 0;
}

/* 124439808 parameters, f32, avx512 kernels, 2 threads, medians of 5 rounds */
static const char *describe(const struct bench_report *report, struct arena *arena, struct err *err)
{
    return arena_format(arena, err,
                        "%zu parameters, %s%s, %s kernels, %zu thread%s, medians of %zu round%s",
                        report->parameters, report->bf16 ? "bf16 by " : "f32",
                        report->bf16 ? report->bf16 : "", report->kernels, report->threads,
                        num_plural(report->threads), report->rounds, num_plural(report->rounds));
}

static const char *describe_limits(const struct bench_report *report, struct arena *arena,
                                   struct err *err)
{
    char operations[AMOUNT_BYTES];
    char bytes[AMOUNT_BYTES];
    if (report->attention)
        return "Attention only.";
    return arena_format(arena, err, "Limits of this machine: products %s, memory %s.",
                        amount_write(operations, report->limits.operations / 1e9, "GFLOP/s"),
                        amount_write(bytes, report->limits.bytes / 1e9, "GB/s"));
}

/* What JSON says of the whole run. */
static const struct frame *make_facts(const struct bench_report *report, struct arena *arena,
                                      struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return NULL;
    facts_integer(facts, "parameters", (long long)report->parameters);
    facts_text(facts, "precision", report->bf16 ? "bf16" : "f32");
    facts_text(facts, "kernels", report->kernels);
    facts_integer(facts, "threads", (long long)report->threads);
    facts_integer(facts, "rounds", (long long)report->rounds);
    if (!report->attention) {
        facts_float(facts, "limit_operations", report->limits.operations);
        facts_float(facts, "limit_bytes", report->limits.bytes);
    }
    return &facts->frame;
}

int bench_result(struct report *result, const struct bench_report *report, struct arena *arena,
                 struct err *err)
{
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    if (!frame || make_frame(frame, report, arena, err))
        return -1;
    *result = (struct report){.model = report->model, .frames = frame, .frame_count = 1};
    result->about = describe(report, arena, err);
    result->facts = make_facts(report, arena, err);
    frame->note = describe_limits(report, arena, err);
    return result->about && result->facts && frame->note ? 0 : -1;
}
