/* bench_write.c: measurements as text, CSV and JSON: a row for each task, or for each kind of
 * attention and length. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/num.h"
#include "bench/benchmark.h"
#include "format/json_writer.h"
#include "text/label.h"
#include "write/table.h"

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

static const struct column {
    const char *name; /* in CSV and JSON */
    bool of_tasks, of_growth;
    const char *title;
    show *show; /* NULL: not in text */
} columns[BENCH_VALUES] = {
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

static bool has_column(const struct bench_report *report, size_t column)
{
    return report->attention ? columns[column].of_growth : columns[column].of_tasks;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void write_head(struct stream *out, const struct bench_report *report)
{
    char text[LABEL_EXCERPT_BYTES];
    label_excerpt(text, report->model, strlen(report->model));
    stream_format(out,
                  "%s, %zu parameters, %s%s, %s kernels, %zu thread%s, medians of %zu round%s\n",
                  text, report->parameters, report->bf16 ? "bf16 by " : "fp32",
                  report->bf16 ? report->bf16 : "", report->kernels, report->threads,
                  plural(report->threads), report->rounds, plural(report->rounds));
    if (report->attention) {
        stream_text(out, "attention only\n");
        return;
    }
    char bytes[AMOUNT_BYTES];
    stream_format(out, "limits of this machine: products %s, memory %s\n",
                  amount_write(text, report->limits.operations / 1e9, "GFLOP/s"),
                  amount_write(bytes, report->limits.bytes / 1e9, "GB/s"));
}

int bench_text_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    struct table_column shown[1 + BENCH_VALUES] = {
        {report->attention ? "attention" : "task", .width = 9, .left = true}};
    size_t count = 1;
    struct table table = {.out = out};
    for (size_t i = 0; i < report->row_count; i++)
        table_fit(shown, report->rows[i].name);
    for (size_t c = 0; c < BENCH_VALUES; c++)
        if (columns[c].show && has_column(report, c))
            shown[count++] = (struct table_column){columns[c].title, .gap = 2, .width = 10};
    write_head(out, report);
    table_begin(&table, shown, count);
    table_titles(&table);
    for (size_t i = 0; i < report->row_count; i++) {
        table_text(&table, report->rows[i].name);
        for (size_t c = 0; c < BENCH_VALUES; c++) {
            char text[AMOUNT_BYTES];
            double value = report->rows[i].values[c];
            if (columns[c].show && has_column(report, c))
                table_text(&table, isnan(value) ? "" : columns[c].show(text, value));
        }
        table_end(&table);
    }
    return table_close(&table, err);
}

int bench_csv_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    (void)err;
    stream_text(out, "name");
    for (size_t c = 0; c < BENCH_VALUES; c++)
        if (has_column(report, c))
            stream_format(out, ",%s", columns[c].name);
    for (size_t i = 0; i < report->row_count; i++) {
        stream_format(out, "\n%s", report->rows[i].name);
        for (size_t c = 0; c < BENCH_VALUES; c++) {
            double value = report->rows[i].values[c];
            stream_text(out, has_column(report, c) ? "," : "");
            if (has_column(report, c) && !isnan(value))
                stream_float(out, (float)value);
        }
    }
    stream_char(out, '\n');
    return 0;
}

int bench_json_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", "attn-cli/bench/3");
    json_put_text(&json, "model", report->model);
    json_put_integer(&json, "parameters", (long long)report->parameters);
    json_put_text(&json, "precision", report->bf16 ? "bf16" : "fp32");
    json_put_text(&json, "kernels", report->kernels);
    json_put_integer(&json, "threads", (long long)report->threads);
    json_put_integer(&json, "rounds", (long long)report->rounds);
    if (!report->attention) {
        json_put_open(&json, "limits", '{');
        json_put_float(&json, "operations", (float)report->limits.operations);
        json_put_float(&json, "bytes", (float)report->limits.bytes);
        json_put_close(&json, '}');
    }
    json_put_open(&json, "results", '[');
    for (size_t i = 0; i < report->row_count; i++) {
        json_put_open(&json, "\n ", '{');
        json_put_text(&json, "name", report->rows[i].name);
        for (size_t c = 0; c < BENCH_VALUES; c++)
            if (has_column(report, c))
                json_put_float(&json, columns[c].name, (float)report->rows[i].values[c]);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}
