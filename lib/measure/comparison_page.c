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

enum { TITLE_COLUMNS = 60, COST_COLUMNS = 12, SHARE_COLUMNS = 10, NUMBER_COLUMNS = 10 };

static size_t name_columns(const struct comparison *comparison)
{
    size_t columns = strlen("attention");
    for (size_t way = 0; way < comparison->plan->way_count; way++) {
        size_t size = strlen(comparison->results[way].name);
        columns = size > columns ? size : columns;
    }
    return columns;
}

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

/* --- what it costs ---------------------------------------------------------------------------- */

static void write_share(struct stream *out, double part, double whole)
{
    char text[AMOUNT_BYTES];
    snprintf(text, sizeof text, "%.2f ×", part / whole);
    amount_right(out, text, SHARE_COLUMNS);
}

static void write_cost(struct stream *out, const struct comparison_result *result,
                       const struct comparison_result *dense, size_t columns)
{
    char time[AMOUNT_BYTES];
    char memory[NUM_SIZE_BYTES];
    stream_format(out, "%-*s", (int)columns, result->name);
    amount_right(out, amount_seconds(time, result->seconds), COST_COLUMNS);
    write_share(out, result->seconds, dense->seconds);
    amount_right(out, num_size(memory, result->bytes), COST_COLUMNS);
    write_share(out, (double)result->bytes, (double)dense->bytes);
    stream_char(out, '\n');
}

static bool is_dense(const struct comparison_result *result)
{
    return result->way.kind == ATTENTION_DENSE;
}

static void write_costs(struct stream *out, const struct comparison *comparison)
{
    size_t columns = name_columns(comparison);
    bool listed = false;
    stream_format(out, "\n%-*s", (int)columns, "attention");
    amount_right(out, "time", COST_COLUMNS);
    amount_right(out, "of dense", SHARE_COLUMNS);
    amount_right(out, "memory", COST_COLUMNS);
    amount_right(out, "of dense", SHARE_COLUMNS);
    stream_char(out, '\n');
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        listed |= is_dense(&comparison->results[way]);
    if (!listed)
        write_cost(out, &comparison->dense, &comparison->dense, columns);
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        write_cost(out, &comparison->results[way], &comparison->dense, columns);
}

/* --- how far it is ---------------------------------------------------------------------------- */

/* 0.1234; of what is so small, 3.1e-08. */
static void write_number(struct stream *out, double value)
{
    char text[AMOUNT_BYTES];
    snprintf(text, sizeof text, value > 0 && value < 0.00005 ? "%.1e" : "%.4f", value);
    amount_right(out, text, NUMBER_COLUMNS);
}

static void write_difference(struct stream *out, const struct comparison_result *result,
                             const struct difference *difference, size_t columns)
{
    stream_format(out, "  %-*s", (int)columns, result->name);
    write_number(out, difference->max);
    write_number(out, difference->mean);
    write_number(out, difference->kept);
    write_number(out, difference->overlap);
    stream_char(out, '\n');
}

/* One head, or all of them, in all ways but dense, whose numbers go without saying. */
static void write_head(struct stream *out, const struct comparison *comparison, const char *title,
                       size_t head)
{
    bool all = head == comparison->layer_count * comparison->head_count;
    for (size_t way = 0; way < comparison->plan->way_count; way++) {
        const struct comparison_result *result = &comparison->results[way];
        if (is_dense(result))
            continue;
        stream_format(out, "%11s", title);
        write_difference(out, result, all ? &result->all : &result->heads[head],
                         name_columns(comparison));
        title = "";
    }
}

static void write_differences(struct stream *out, const struct comparison *comparison)
{
    char title[AMOUNT_BYTES];
    size_t heads = comparison->head_count;
    size_t count = comparison->layer_count * heads;
    size_t columns = name_columns(comparison);
    stream_format(out, "\n%*s", (int)(13 + columns), "");
    amount_right(out, "context", 2 * NUMBER_COLUMNS);
    amount_right(out, "weight", 2 * NUMBER_COLUMNS);
    stream_format(out, "\nlayer  head  %-*s", (int)columns, "attention");
    amount_right(out, "max", NUMBER_COLUMNS);
    amount_right(out, "mean", NUMBER_COLUMNS);
    amount_right(out, "kept", NUMBER_COLUMNS);
    amount_right(out, "overlap", NUMBER_COLUMNS);
    stream_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        snprintf(title, sizeof title, "%5zu %5zu", comparison->layers[i / heads],
                 comparison->heads[i % heads]);
        write_head(out, comparison, title, i);
    }
    if (count > 1)
        write_head(out, comparison, "together", count);
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
    bool others = false;
    if (write_subject(out, comparison->plan, err))
        return -1;
    write_sizes(out, comparison);
    write_costs(out, comparison);
    for (size_t way = 0; way < comparison->plan->way_count; way++)
        others |= !is_dense(&comparison->results[way]);
    if (!others)
        return 0;
    write_differences(out, comparison);
    write_legend(out, comparison);
    return 0;
}
