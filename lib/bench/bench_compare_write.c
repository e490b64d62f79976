#include <string.h>

#include "base/amount.h"
#include "bench/bench_compare.h"
#include "format/json_writer.h"
#include "write/table.h"

static void write_ratio(struct table *table, double ratio)
{
    if (ratio > 0)
        table_format(table, "%.2f ×", ratio);
}

static void write_change(struct table *table, const struct bench_change *change)
{
    const struct task *task = change->now ? &change->now->task : &change->then->task;
    char time[AMOUNT_BYTES];
    table_format(table, "  %s%s", task_rows[task->kind].name,
                 task->precision == PRECISION_FP32 ? "" : ", bf16");
    if (task->size.cached)
        buf_format(&table->cell, "%zu + ", task->size.cached);
    else if (task->size.texts > 1)
        buf_format(&table->cell, "%zu × ", task->size.texts);
    if (task->size.texts)
        buf_format(&table->cell, "%zu", task->size.tokens);
    table_put(table);
    table_text(table, change->then ? amount_seconds(time, change->then->median.seconds) : "–");
    table_text(table, change->now ? amount_seconds(time, change->now->median.seconds) : "–");
    write_ratio(table, change->ratio);
    if (change->beyond_noise)
        table_text(table, change->ratio > 1 ? "slower" : "faster");
    table_end(table);
}

static void write_rate(struct table *table, double rate, const char *unit)
{
    char text[AMOUNT_BYTES];
    table_text(table, rate > 0 ? amount_write(text, rate / 1e9, unit) : "–");
}

static void write_limit(struct table *table, const char *name, double then, double now,
                        const char *unit, double ratio)
{
    table_text(table, name);
    table_text(table, "");
    write_rate(table, then, unit);
    write_rate(table, now, unit);
    write_ratio(table, ratio);
    table_end(table);
}

static void write_differences(struct stream *out, const struct bench_compared *compared)
{
    for (size_t i = 0; i < compared->difference_count; i++) {
        const struct bench_difference *difference = &compared->differences[i];
        stream_format(out, "  %s: ", difference->name);
        label_write_line(out, difference->then, strlen(difference->then));
        stream_text(out, " then, ");
        label_write_line(out, difference->now, strlen(difference->now));
        stream_text(out, " now\n");
    }
    if (compared->can_tell)
        stream_format(out,
                      "  slower, faster: by 2 %% or more, with rounds so far apart as chance puts "
                      "them\n  once in eighty times%s\n",
                      compared->same_machine ? ", and by more than the machine's own speed" : "");
    else
        stream_format(out,
                      "  %zu and %zu rounds are too few to tell a difference from noise: "
                      "--repeat 5\n",
                      compared->then->rounds, compared->now->rounds);
}

int bench_compared_page(struct stream *out, const struct bench_compared *compared, struct err *err)
{
    static const struct table_column columns[] = {
        {NULL, .width = 16, .left = true},
        {"tokens", .width = 10},
        {"then", .width = 14},
        {"now", .width = 14},
        {"now/then", .width = 11},
        {NULL, .gap = 2, .width = 6, .left = true},
    };
    struct table table = {.out = out};
    char path[LABEL_EXCERPT_BYTES];
    const struct bench_limits *then = &compared->then->together;
    const struct bench_limits *now = &compared->now->together;
    stream_format(out, "\nBeside %s\n",
                  label_excerpt(path, compared->path, strlen(compared->path)));
    table.columns = columns;
    table.count = sizeof columns / sizeof *columns;
    table_titles(&table);
    write_limit(&table, "  compute", bench_compute(then), bench_compute(now), "GFLOP/s",
                compared->compute);
    write_limit(&table, "  memory, read", then->read, now->read, "GB/s", compared->read);
    for (size_t i = 0; i < compared->change_count; i++)
        write_change(&table, &compared->changes[i]);
    write_differences(out, compared);
    return table_close(&table, err);
}

static void put_ratio(struct json_writer *json, const char *name, double ratio)
{
    if (ratio > 0)
        json_put_float(json, name, (float)ratio);
}

/* null where it was not measured. */
static void put_seconds(struct json_writer *json, const char *name,
                        const struct bench_result *result)
{
    if (result)
        json_put_float(json, name, (float)result->median.seconds);
    else
        json_put_raw(json, name, "null");
}

static void put_change(struct json_writer *json, const struct bench_change *change)
{
    const struct task *task = change->now ? &change->now->task : &change->then->task;
    json_put_open(json, NULL, '{');
    json_put_text(json, "name", task_rows[task->kind].name);
    if (task->precision != PRECISION_FP32)
        json_put_text(json, "precision", precision_name(task->precision));
    if (task->size.texts) {
        json_put_integer(json, "sequences", task->size.texts);
        json_put_integer(json, "tokens", task->size.tokens);
        json_put_integer(json, "cached", task->size.cached);
    }
    put_seconds(json, "then", change->then);
    put_seconds(json, "now", change->now);
    put_ratio(json, "ratio", change->ratio);
    json_put_bool(json, "beyond_noise", change->beyond_noise);
    json_put_close(json, '}');
}

void bench_compared_json(struct json_writer *json, const struct bench_compared *compared)
{
    json_put_open(json, "compared", '{');
    json_put_text(json, "file", compared->path);
    json_put_open(json, "differences", '[');
    for (size_t i = 0; i < compared->difference_count; i++) {
        const struct bench_difference *difference = &compared->differences[i];
        json_put_open(json, NULL, '{');
        json_put_text(json, "name", difference->name);
        json_put_text(json, "then", difference->then);
        json_put_text(json, "now", difference->now);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    put_ratio(json, "compute", compared->compute);
    put_ratio(json, "read", compared->read);
    json_put_bool(json, "can_tell", compared->can_tell);
    json_put_open(json, "results", '[');
    for (size_t i = 0; i < compared->change_count; i++)
        put_change(json, &compared->changes[i]);
    json_put_close(json, ']');
    json_put_close(json, '}');
}
