/* bench_write.c: measurements as text, as JSON and, of growth, as a figure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/num.h"
#include "bench/benchmark.h"
#include "bench/growth.h"
#include "draw/log_plot.h"
#include "format/json_writer.h"
#include "text/label.h"
#include "write/table.h"

/* --- a model ---------------------------------------------------------------------------------- */

static void put_share(struct table *table, double share)
{
    if (share > 0)
        table_format(table, "%.0f %%", 100 * share);
    else
        table_text(table, "");
}

static void write_result(struct table *table, const struct bench_result *result)
{
    const struct pass_size *size = &result->size;
    char text[AMOUNT_BYTES];
    table_text(table, task_rows[result->kind].name);
    if (size->cached)
        table_format(table, "%zu + %zu", size->cached, size->tokens);
    else if (size->texts > 1)
        table_format(table, "%zu × %zu", size->texts, size->tokens);
    else
        table_number(table, size->tokens);
    table_text(table, amount_seconds(text, result->median));
    table_format(table, "%.0f", (double)(size->texts * size->tokens) / result->median);
    put_share(table, result->of_compute);
    put_share(table, result->of_memory);
    table_end(table);
}

int bench_text_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    static const struct table_column columns[] = {
        {"task", .width = 8, .left = true},    {"tokens", .gap = 1, .width = 9},
        {"time", .gap = 1, .width = 9},        {"tokens/s", .gap = 1, .width = 9},
        {"of compute", .gap = 2, .width = 10}, {"of memory", .gap = 2, .width = 9}};
    struct table table = {.out = out};
    char model[LABEL_EXCERPT_BYTES];
    char operations[AMOUNT_BYTES];
    char bytes[AMOUNT_BYTES];
    label_excerpt(model, report->model, strlen(report->model));
    stream_format(out,
                  "%s, %zu parameters, %s%s, %s kernels, %zu thread%s, medians of %zu round%s\n",
                  model, report->parameters, report->bf16 ? "bf16 by " : "fp32",
                  report->bf16 ? report->bf16 : "", report->kernels, report->threads,
                  report->threads == 1 ? "" : "s", report->rounds, report->rounds == 1 ? "" : "s");
    stream_format(out, "limits of this machine: products %s, memory %s\n",
                  amount_write(operations, report->limits.operations / 1e9, "GFLOP/s"),
                  amount_write(bytes, report->limits.bytes / 1e9, "GB/s"));
    table_begin(&table, columns, sizeof columns / sizeof *columns);
    table_titles(&table);
    for (size_t i = 0; i < report->result_count; i++)
        write_result(&table, &report->results[i]);
    return table_close(&table, err);
}

static void put_numbers(struct json_writer *json, const char *name, const double *values,
                        size_t count)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        json_put_float(json, NULL, (float)values[i]);
    json_put_close(json, ']');
}

int bench_json_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT_2("bench"));
    json_put_text(&json, "version", report->version);
    json_put_text(&json, "model", report->model);
    json_put_integer(&json, "parameters", (long long)report->parameters);
    json_put_text(&json, "precision", report->bf16 ? "bf16" : "fp32");
    json_put_text(&json, "kernels", report->kernels);
    json_put_integer(&json, "threads", (long long)report->threads);
    json_put_integer(&json, "rounds", (long long)report->rounds);
    json_put_open(&json, "limits", '{');
    json_put_float(&json, "operations", (float)report->limits.operations);
    json_put_float(&json, "bytes", (float)report->limits.bytes);
    json_put_close(&json, '}');
    json_put_open(&json, "results", '[');
    for (size_t i = 0; i < report->result_count; i++) {
        const struct bench_result *result = &report->results[i];
        const struct pass_size *size = &result->size;
        json_put_open(&json, "\n ", '{');
        json_put_text(&json, "name", task_rows[result->kind].name);
        json_put_integer(&json, "texts", (long long)size->texts);
        json_put_integer(&json, "tokens", (long long)size->tokens);
        json_put_integer(&json, "cached", (long long)size->cached);
        json_put_float(&json, "seconds", (float)result->median);
        json_put_float(&json, "tokens_per_second",
                       (float)((double)(size->texts * size->tokens) / result->median));
        json_put_float(&json, "operations", (float)result->work.operations);
        json_put_float(&json, "bytes", (float)result->work.bytes);
        json_put_float(&json, "of_compute", (float)result->of_compute);
        json_put_float(&json, "of_memory", (float)result->of_memory);
        put_numbers(&json, "each", result->seconds, report->rounds);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

/* --- growth ----------------------------------------------------------------------------------- */

static const char *write_bytes(char text[AMOUNT_BYTES], double value)
{
    return num_size(text, (uint64_t)value); /* AMOUNT_BYTES are NUM_SIZE_BYTES */
}

static const struct quantity {
    const char *name, *json, *exponent;
    const char *(*write)(char text[AMOUNT_BYTES], double value);
} quantities[GROWTH_QUANTITIES] = {{"time", "seconds", "time_exponent", amount_seconds},
                                   {"memory", "bytes", "memory_exponent", write_bytes}};

static void write_growth(struct table *table, const struct growth *growth, int quantity)
{
    char text[AMOUNT_BYTES];
    struct table_column columns[] = {{.width = 6, .left = true},
                                     {.gap = 1, .width = 10, .repeat = growth->length_count},
                                     {.width = 10}};
    for (size_t w = 0; w < growth->way_count; w++)
        table_fit(columns, growth->ways[w].name);
    table_begin(table, columns, sizeof columns / sizeof *columns);
    table_text(table, quantities[quantity].name);
    for (size_t i = 0; i < growth->length_count; i++)
        table_number(table, growth->lengths[i]);
    table_text(table, growth->length_count > 1 ? "grows as" : "");
    table_end(table);
    for (size_t w = 0; w < growth->way_count; w++) {
        const struct growth_way *way = &growth->ways[w];
        table_text(table, way->name);
        for (size_t i = 0; i < growth->length_count; i++)
            table_text(table, quantities[quantity].write(text, way->values[quantity][i]));
        if (!isnan(way->exponents[quantity]))
            table_format(table, "n^%.2f", way->exponents[quantity]);
        table_end(table);
    }
}

int growth_text_write(struct stream *out, const struct growth *growth, struct err *err)
{
    struct table table = {.out = out};
    stream_format(out, "%s, %s kernels\nattention only, best of %zu round%s\n", growth->title,
                  growth->kernels, growth->rounds, growth->rounds == 1 ? "" : "s");
    for (int i = 0; i < GROWTH_QUANTITIES; i++)
        write_growth(&table, growth, i);
    return table_close(&table, err);
}

int growth_json_write(struct stream *out, const struct growth *growth, struct err *err)
{
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("bench-growth"));
    json_put_text(&json, "model", growth->model);
    json_put_text(&json, "kernels", growth->kernels);
    json_put_integer(&json, "threads", (long long)growth->threads);
    json_put_integer(&json, "rounds", (long long)growth->rounds);
    json_put_integers(&json, "tokens", growth->lengths, growth->length_count);
    json_put_open(&json, "ways", '[');
    for (size_t w = 0; w < growth->way_count; w++) {
        const struct growth_way *way = &growth->ways[w];
        json_put_open(&json, "\n ", '{');
        json_put_text(&json, "attention", way->name);
        for (int i = 0; i < GROWTH_QUANTITIES; i++) {
            put_numbers(&json, quantities[i].json, way->values[i], growth->length_count);
            json_put_float(&json, quantities[i].exponent, (float)way->exponents[i]);
        }
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

int growth_figure_write(struct stream *out, enum drawing_form form, const struct growth *growth,
                        struct err *err)
{
    const struct drawing_page page = {.width = LOG_PLOT_WIDTH,
                                      .height = GROWTH_QUANTITIES * LOG_PLOT_HEIGHT,
                                      .title = growth->title};
    struct arena arena = {0};
    struct drawing drawing;
    struct log_line *lines = arena_alloc(&arena, growth->way_count, sizeof *lines, err);
    int failed = lines ? drawing_begin(&drawing, form, out, &page, err) : -1;
    for (int q = 0; q < GROWTH_QUANTITIES && !failed; q++) {
        const struct log_plot plot = {q ? "" : growth->title,
                                      quantities[q].json,
                                      growth->lengths,
                                      growth->length_count,
                                      lines,
                                      growth->way_count};
        for (size_t w = 0; w < growth->way_count; w++)
            lines[w] = (struct log_line){growth->ways[w].name, growth->ways[w].values[q]};
        log_plot_draw(&plot, &drawing.canvas, q * LOG_PLOT_HEIGHT);
    }
    failed = failed || drawing_end(&drawing, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
