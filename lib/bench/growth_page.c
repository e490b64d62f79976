/* growth_page.c: how attention grows, as tables and as pictures of characters.
 *
 *     time            256      512     1024  grows as
 *     dense       0.08 ms  0.24 ms  0.81 ms    n^1.76
 *
 *     1 ms │                                  o  dense, n^1.76
 *          │               ···········o·······
 *          │o··············
 *          └──────────────────────────────────
 *           256          512            1024
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/amount.h"
#include "bench/growth.h"
#include "text/label.h"
#include "write/table.h"

enum {
    CHART_COLUMNS = 46,
    CHART_ROWS = 15,
    LABEL_COLUMNS = 10, /* of the axis at the left */
    BLANK = ' ',
    DOT = '.', /* of a line between two marks */
};

static const char marks[] = "oxv+*#@%&=";

static const char *write_bytes(char text[AMOUNT_BYTES], double value)
{
    return num_size(text, (uint64_t)value); /* AMOUNT_BYTES are NUM_SIZE_BYTES */
}

/* What a table and its picture show of a way. */
static const struct quantity {
    const char *name;
    const char *(*write)(char text[AMOUNT_BYTES], double value);
    double base; /* of the numbers at the picture's axis */
} quantities[] = {{"time", amount_seconds, 10}, {"memory", write_bytes, 4}};

static const double *values_of(const struct quantity *quantity, const struct growth_way *way)
{
    return quantity == quantities ? way->seconds : way->bytes;
}

static char mark_of(size_t way)
{
    return marks[way % (sizeof marks - 1)];
}

/* As wide as the longest name. */
static struct table_column way_column(const struct growth *growth, const char *title)
{
    struct table_column column = {title, .width = strlen("memory"), .left = true};
    for (size_t way = 0; way < growth->way_count; way++)
        table_fit(&column, growth->ways[way].name);
    return column;
}

/* "n^1.97"; nothing where there was nothing to fit. */
static const char *exponent_text(char text[AMOUNT_BYTES], const struct quantity *quantity,
                                 const struct growth_way *way)
{
    double exponent = quantity == quantities ? way->time_exponent : way->memory_exponent;
    snprintf(text, AMOUNT_BYTES, isnan(exponent) ? "" : "n^%.2f", exponent);
    return text;
}

static void write_table(struct table *table, const struct growth *growth,
                        const struct quantity *quantity)
{
    char text[AMOUNT_BYTES];
    const struct table_column columns[] = {
        way_column(growth, quantity->name),
        {.gap = 1, .width = 10, .repeat = growth->length_count},
        {.width = 10},
    };
    table_begin(table, columns, 3);
    table_text(table, quantity->name);
    for (size_t i = 0; i < growth->length_count; i++)
        table_number(table, growth->lengths[i]);
    if (growth->length_count > 1)
        table_text(table, "grows as");
    table_end(table);
    for (size_t w = 0; w < growth->way_count; w++) {
        const struct growth_way *way = &growth->ways[w];
        table_text(table, way->name);
        for (size_t i = 0; i < growth->length_count; i++)
            table_text(table, quantity->write(text, values_of(quantity, way)[i]));
        table_text(table, exponent_text(text, quantity, way));
        table_end(table);
    }
}

/* A picture, and the numbers at its edges, as powers of ten. */
struct chart {
    const struct growth *growth;
    const struct quantity *quantity;
    char cells[CHART_ROWS][CHART_COLUMNS];
    size_t ends[CHART_ROWS]; /* the way whose name stands at the end of a row, counted from 1 */
    double left, right, low, high;
};

/* What is too little to be measured is drawn as the least that counts: 0 has no logarithm. */
static double decades(double value)
{
    return log10(fmax(value, 1e-9));
}

static void find_edges(struct chart *chart)
{
    const struct growth *growth = chart->growth;
    chart->left = log10((double)growth->lengths[0]);
    chart->right = log10((double)growth->lengths[growth->length_count - 1]);
    chart->low = INFINITY;
    chart->high = -INFINITY;
    for (size_t way = 0; way < growth->way_count; way++) {
        for (size_t i = 0; i < growth->length_count; i++) {
            double value = decades(values_of(chart->quantity, &growth->ways[way])[i]);
            chart->low = fmin(chart->low, value);
            chart->high = fmax(chart->high, value);
        }
    }
    if (chart->high - chart->low < 1) /* nearly level: a decade around it */
        chart->high = chart->low + 1;
}

static size_t column_of(const struct chart *chart, size_t length)
{
    double share = (log10((double)length) - chart->left) / (chart->right - chart->left);
    return (size_t)lround(share * (CHART_COLUMNS - 1));
}

static double row_of(const struct chart *chart, double value)
{
    return (chart->high - decades(value)) / (chart->high - chart->low) * (CHART_ROWS - 1);
}

static void draw_segment(struct chart *chart, const double *values, size_t i)
{
    size_t from = column_of(chart, chart->growth->lengths[i]);
    size_t to = column_of(chart, chart->growth->lengths[i + 1]);
    double first = row_of(chart, values[i]);
    double last = row_of(chart, values[i + 1]);
    for (size_t column = from + 1; column < to; column++) {
        double share = (double)(column - from) / (double)(to - from);
        char *cell = &chart->cells[lround(first + share * (last - first))][column];
        *cell = *cell == BLANK ? DOT : *cell;
    }
}

/* The name stands at the row of the last mark, or the next that is free. */
static void place_name(struct chart *chart, size_t way, size_t row)
{
    for (size_t away = 0; away < CHART_ROWS; away++) {
        size_t below = row + away;
        if (below < CHART_ROWS && !chart->ends[below]) {
            chart->ends[below] = way + 1;
            return;
        }
        if (away <= row && !chart->ends[row - away]) {
            chart->ends[row - away] = way + 1;
            return;
        }
    }
}

static void draw_way(struct chart *chart, size_t way)
{
    const double *values = values_of(chart->quantity, &chart->growth->ways[way]);
    size_t count = chart->growth->length_count;
    for (size_t i = 0; i + 1 < count; i++)
        draw_segment(chart, values, i);
    for (size_t i = 0; i < count; i++) {
        size_t column = column_of(chart, chart->growth->lengths[i]);
        chart->cells[lround(row_of(chart, values[i]))][column] = mark_of(way);
    }
    place_name(chart, way, (size_t)lround(row_of(chart, values[count - 1])));
}

/* The power of the base that stands at a row, where one does. */
static const char *row_label(char text[AMOUNT_BYTES], const struct chart *chart, size_t row)
{
    double unit = log10(chart->quantity->base);
    for (double at = ceil(chart->low / unit - 1e-9) * unit; at <= chart->high + 1e-9; at += unit)
        if (lround(row_of(chart, pow(10, at))) == (long)row)
            return chart->quantity->write(text, pow(10, at) * (1 + 1e-9));
    return "";
}

static void write_row(struct table *table, const struct chart *chart, size_t row)
{
    char text[AMOUNT_BYTES];
    struct buf *line = &table->line;
    size_t end = chart->ends[row];
    table_text(table, row_label(text, chart, row));
    buf_text(line, " │");
    for (size_t i = 0; i < CHART_COLUMNS; i++)
        buf_text(line, chart->cells[row][i] == DOT ? "·" : (char[]){chart->cells[row][i], '\0'});
    if (end) {
        const struct growth_way *way = &chart->growth->ways[end - 1];
        buf_format(line, "  %c %s, %s", mark_of(end - 1), way->name,
                   exponent_text(text, chart->quantity, way));
    }
    table_end(table);
}

/* Lengths below the columns where they are, as far as they do not run into each other. */
static void write_axis(struct table *table, const struct chart *chart)
{
    size_t at = 0;
    struct buf *line = &table->line;
    table_text(table, "");
    buf_text(line, " └");
    for (size_t i = 0; i < CHART_COLUMNS; i++)
        buf_text(line, "─");
    table_end(table);
    table_text(table, "");
    buf_text(line, "  ");
    for (size_t i = 0; i < chart->growth->length_count; i++) {
        size_t column = column_of(chart, chart->growth->lengths[i]);
        if (at > 0 && column <= at)
            continue;
        size_t before = line->size;
        buf_format(line, "%*s%zu", (int)(column - at), "", chart->growth->lengths[i]);
        at += line->size - before;
    }
    buf_text(line, "  tokens");
    table_end(table);
}

static void write_chart(struct table *table, const struct growth *growth,
                        const struct quantity *quantity)
{
    static const struct table_column label = {.width = LABEL_COLUMNS};
    struct chart chart = {.growth = growth, .quantity = quantity};
    memset(chart.cells, BLANK, sizeof chart.cells);
    find_edges(&chart);
    for (size_t way = 0; way < growth->way_count; way++)
        draw_way(&chart, way);
    table_begin(table, &label, 1);
    stream_format(table->out, "%s, both axes logarithmic\n", quantity->name);
    for (size_t row = 0; row < CHART_ROWS; row++)
        write_row(table, &chart, row);
    write_axis(table, &chart);
}

/* How many times as fast as dense, and how many times fewer multiply-adds. */
static void write_promises(struct table *table, const struct growth *growth)
{
    const struct growth_way *dense = NULL;
    size_t last = growth->length_count - 1;
    const struct table_column columns[] = {
        way_column(growth, NULL),
        {"time", .gap = 1, .width = 8},
        {"multiply-adds", .gap = 1, .width = 14},
    };
    for (size_t way = 0; way < growth->way_count; way++)
        if (strcmp(growth->ways[way].name, "dense") == 0)
            dense = &growth->ways[way];
    if (!dense || growth->way_count < 2)
        return;
    table_begin(table, columns, 3);
    stream_format(table->out, "beside dense, at %zu tokens\n", growth->lengths[last]);
    table_titles(table);
    for (size_t w = 0; w < growth->way_count; w++) {
        const struct growth_way *way = &growth->ways[w];
        if (way == dense)
            continue;
        table_text(table, way->name);
        table_format(table, "%.3f", way->seconds[last] / dense->seconds[last]);
        table_format(table, "%.3f", way->products[last] / dense->products[last]);
        table_end(table);
    }
}

const char *growth_title(const struct growth *growth, const char *between, struct arena *arena,
                         struct err *err)
{
    const struct config *c = &growth->config;
    char model[LABEL_EXCERPT_BYTES];
    label_excerpt(model, growth->model, strlen(growth->model));
    return arena_format(arena, err, "%s%s%zu layer%s, %zu head%s of %zu%s", model, between,
                        c->n_layer, c->n_layer == 1 ? "" : "s", c->n_head,
                        c->n_head == 1 ? "" : "s", c->d_k, c->causal ? ", causal" : "");
}

int growth_page_write(struct stream *out, const struct growth *growth, struct err *err)
{
    enum { COUNT = sizeof quantities / sizeof *quantities };
    struct arena arena = {0};
    struct table table = {.out = out};
    const char *title = growth_title(growth, " · ", &arena, err);
    if (title)
        stream_format(out,
                      "%s\nattention alone · %zu thread%s · %s kernels · best of %zu round%s\n",
                      title, growth->threads, growth->threads == 1 ? "" : "s", growth->kernels,
                      growth->rounds, growth->rounds == 1 ? "" : "s");
    arena_release(&arena);
    if (!title)
        return -1;
    for (size_t i = 0; i < COUNT; i++)
        write_table(&table, growth, &quantities[i]);
    for (size_t i = 0; i < COUNT && growth->length_count > 1; i++)
        write_chart(&table, growth, &quantities[i]);
    write_promises(&table, growth);
    return table_close(&table, err);
}
