/* comparison_page.c: a comparison as tables to read.
 *
 *     tiny · Life is short, eat dessert first
 *     7 tokens · 2 layers, 4 heads · 2 threads · medians of 5 rounds
 *
 *     attention          time  of dense      memory  of dense
 *     dense           8.10 µs    1.00 ×    12.0 KiB    1.00 ×
 *     window:4        9.24 µs    1.14 ×    11.2 KiB    0.93 ×
 *
 *                                     context             weight
 *     layer  head  attention      max      mean      kept   overlap
 *         0     0  window:4    0.0812    0.0108    0.9311    0.9311
 *      together    window:4    0.2105    0.0213    0.9240    0.9102
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "base/amount.h"
#include "measure/comparison.h"
#include "text/label.h"
#include "write/table.h"

enum { TITLE_COLUMNS = 60, NUMBER_COLUMNS = 10 };

/* --- titles ----------------------------------------------------------------------------------- */

/* As much of a text as a title has room for. */
static void write_start(struct stream *out, const char *text, size_t size)
{
    size_t at = 0;
    for (size_t columns = 0; at < size;) {
        size_t length = utf8_grapheme(text + at, size - at);
        columns += utf8_width(text + at, length);
        if (columns > TITLE_COLUMNS)
            break;
        at += length;
    }
    stream_bytes(out, text, at);
    stream_text(out, at < size ? "…\n" : "\n");
}

static int write_subject(struct stream *out, const struct comparison_plan *plan, struct err *err)
{
    char model[LABEL_EXCERPT_BYTES];
    struct buf text = {0};
    if (plan->pair_count > 1)
        buf_format(&text, "%zu texts", plan->pair_count);
    else
        tokenized_visible(&text, &plan->pairs[0].sentence);
    int failed = buf_check(&text, err);
    label_excerpt(model, plan->viewer->model.name, strlen(plan->viewer->model.name));
    stream_format(out, "%s · ", model);
    if (!failed)
        write_start(out, text.bytes, text.size);
    buf_release(&text);
    return failed;
}

static void write_count(struct stream *out, size_t count, const char *thing)
{
    stream_format(out, "%zu %s%s", count, thing, count == 1 ? "" : "s");
}

static void write_sizes(struct stream *out, const struct comparison *comparison)
{
    const struct comparison_plan *plan = comparison->plan;
    stream_text(out, plan->pair_count > 1 ? "up to " : "");
    write_count(out, comparison->longest, "token");
    stream_text(out, " · ");
    write_count(out, plan->viewer->model.config.n_layer, "layer");
    stream_text(out, ", ");
    write_count(out, plan->viewer->model.config.n_head, "head");
    stream_text(out, " · ");
    write_count(out, comparison->threads, "thread");
    stream_text(out, " · medians of ");
    write_count(out, plan->rounds, "round");
    stream_char(out, '\n');
}

static bool is_dense(const struct comparison *comparison, const struct comparison_result *result)
{
    return result->way.kind == ATTENTION_DENSE && !comparison->plan->edits;
}

/* As wide as the longest name. */
static struct table_column way_column(const struct comparison *comparison, size_t gap)
{
    struct table_column column = {"attention", gap, .width = strlen("attention"), .left = true};
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        table_fit(&column, comparison->results[way].name);
    return column;
}

/* --- what it costs ---------------------------------------------------------------------------- */

static void write_cost(struct table *table, const struct comparison_result *result,
                       const struct comparison_result *dense)
{
    char time[AMOUNT_BYTES];
    char memory[NUM_SIZE_BYTES];
    table_text(table, result->name);
    table_text(table, amount_seconds(time, result->seconds));
    table_format(table, "%.2f ×", result->seconds / dense->seconds);
    table_text(table, num_size(memory, result->bytes));
    table_format(table, "%.2f ×", (double)result->bytes / (double)dense->bytes);
    table_end(table);
}

static void write_costs(struct table *table, const struct comparison *comparison)
{
    const struct comparison_result *dense = &comparison->dense;
    const struct table_column columns[] = {
        way_column(comparison, 0), {"time", .width = 12},     {"of dense", .width = 10},
        {"memory", .width = 12},   {"of dense", .width = 10},
    };
    bool listed = false;
    table_begin(table, columns, 5);
    table_titles(table);
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        listed |= is_dense(comparison, &comparison->results[way]);
    if (!listed)
        write_cost(table, dense, dense);
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        write_cost(table, &comparison->results[way], dense);
}

/* --- how far it is ---------------------------------------------------------------------------- */

/* One head, or all of them, in all ways but dense, whose numbers go without saying. */
static void write_head(struct table *table, const struct comparison *comparison, const char *title,
                       size_t head)
{
    bool all = head == comparison->layer_count * comparison->head_count;
    for (size_t way = 0; way < comparison->plan->way_count; way++) {
        const struct comparison_result *result = &comparison->results[way];
        const struct difference *difference = all ? &result->all : &result->heads[head];
        const double numbers[] = {difference->max, difference->mean, difference->kept,
                                  difference->overlap};
        if (is_dense(comparison, result))
            continue;
        table_text(table, title);
        table_text(table, result->name);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) /* 0.1234, or 3.1e-08 */
            table_format(table, numbers[i] > 0 && numbers[i] < 0.00005 ? "%.1e" : "%.4f",
                         numbers[i]);
        table_end(table);
        title = "";
    }
}

static void write_differences(struct table *table, const struct comparison *comparison)
{
    char title[AMOUNT_BYTES];
    size_t heads = comparison->head_count;
    size_t count = comparison->layer_count * heads;
    const struct table_column columns[] = {
        {"layer  head", .width = 11},      way_column(comparison, 2),
        {"max", .width = NUMBER_COLUMNS},  {"mean", .width = NUMBER_COLUMNS},
        {"kept", .width = NUMBER_COLUMNS}, {"overlap", .width = NUMBER_COLUMNS},
    };
    const struct table_column above[] = {
        {.width = columns[0].width + columns[1].gap + columns[1].width},
        {"context", .width = 2 * NUMBER_COLUMNS},
        {"weight", .width = 2 * NUMBER_COLUMNS},
    };
    table_begin(table, above, 3);
    table_titles(table);
    table->columns = columns;
    table->count = sizeof columns / sizeof *columns;
    table_titles(table);
    for (size_t i = 0; i < count; i++) {
        snprintf(title, sizeof title, "%5zu %5zu", comparison->layers[i / heads],
                 comparison->heads[i % heads]);
        write_head(table, comparison, title, i);
    }
    if (count > 1)
        write_head(table, comparison, "together", count);
}

static void write_legend(struct stream *out, const struct comparison *comparison)
{
    stream_text(out, "\ncontext: |difference| from dense, the largest and the mean\n"
                     "weight: dense attention's on keys that still have any, and what both give "
                     "alike\n");
    if (comparison->plan->viewer->model.config.kind == MODEL_TRANSFORMER)
        stream_text(out, "Only the decoder's heads that look at its own text are compared.\n");
    if (comparison->plan->viewer->model.config.n_layer > 1)
        stream_text(out, "Every layer attends in that way: differences go into the next.\n");
}

int comparison_page_write(struct stream *out, const struct comparison *comparison, struct err *err)
{
    struct table table = {.out = out};
    bool others = false;
    if (write_subject(out, comparison->plan, err))
        return -1;
    write_sizes(out, comparison);
    write_costs(&table, comparison);
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        others |= !is_dense(comparison, &comparison->results[way]);
    if (others) {
        write_differences(&table, comparison);
        write_legend(out, comparison);
    }
    return table_close(&table, err);
}
