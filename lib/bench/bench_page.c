#include "bench/bench_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "write/table.h"

enum { NUMBER_BYTES = AMOUNT_BYTES, SHARE_COLUMNS = 8 };

/* "124,439,808" */
static const char *grouped(char text[NUMBER_BYTES], size_t number)
{
    char *at = text + NUMBER_BYTES - 1;
    *at = '\0';
    for (int digits = 0; digits == 0 || number > 0; digits++, number /= 10) {
        if (digits > 0 && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + number % 10);
    }
    return at;
}

/* One limit: on one thread, and on all where there are more. */
static void write_limit(struct table *table, const char *name, double alone, double together,
                        const char *unit)
{
    char text[NUMBER_BYTES];
    table_text(table, name);
    table_text(table, amount_write(text, alone / 1e9, unit));
    if (table->count > 2)
        table_text(table, amount_write(text, together / 1e9, unit));
    table_end(table);
}

static void write_limits(struct table *table, const struct bench_report *report)
{
    char name[NUMBER_BYTES];
    const struct bench_limits *alone = &report->alone;
    const struct bench_limits *together = &report->together;
    const struct table_column columns[] = {
        {"The machine", .width = 26, .left = true},
        {"1 thread", .gap = 1, .width = 14},
        {name, .gap = 1, .width = 14},
    };
    snprintf(name, sizeof name, "%zu threads", together->threads);
    table_begin(table, columns, together->threads > 1 ? 3 : 2);
    table_titles(table);
    for (int form = 0; form < FMA_FORMS; form++) {
        if (alone->fma[form] == 0)
            continue;
        snprintf(name, sizeof name, "  compute, %s", fma_rows[form].name);
        write_limit(table, name, alone->fma[form], together->fma[form], "GFLOP/s");
    }
    for (int precision = 0; precision < PRECISIONS; precision++)
        if (alone->kernel[precision] > 0)
            write_limit(table,
                        precision == PRECISION_FP32 ? "  a kernel in cache" : "  the same in bf16",
                        alone->kernel[precision], together->kernel[precision], "GFLOP/s");
    write_limit(table, "  memory, read", alone->read, together->read, "GB/s");
}

/* What binds is the limit that the task comes nearest to. Where that is not memory, there is also
 * the share of what a kernel does in a cache. */
static void write_share(struct table *table, const struct bench_sample *sample)
{
    bool memory = sample->of_memory > sample->of_compute;
    double share = memory ? sample->of_memory : sample->of_compute;
    char bar[BAR_BYTES];
    bool times = sample->over > 0 || sample->faster > 0;
    buf_format(&table->cell, "%s %3.0f %% %s", bar_draw(bar, share, SHARE_COLUMNS), 100 * share,
               memory ? "memory" : "compute");
    if (!memory)
        buf_format(&table->cell, " %4.0f %%", 100 * sample->of_kernel);
    else if (times)
        buf_format(&table->cell, "%8s", "");
    if (times)
        buf_format(&table->cell, "  %.2f ×", sample->faster > 0 ? sample->faster : sample->over);
    table_put(table);
}

static void write_result(struct table *table, const struct bench_result *result)
{
    const struct pass_size *size = &result->task.size;
    char time[NUMBER_BYTES];
    table_format(table, "  %s", task_rows[result->task.kind].name);
    if (size->cached)
        buf_format(&table->cell, "%zu + ", size->cached);
    else if (size->texts > 1)
        buf_format(&table->cell, "%zu × ", size->texts);
    if (size->texts)
        buf_format(&table->cell, "%zu", size->tokens);
    table_put(table);
    table_text(table, amount_seconds(time, result->median.seconds));
    if (size->texts) {
        table_format(table, "%.0f", bench_tokens_per_second(result));
        write_share(table, &result->median);
    }
    table_end(table);
}

static void write_results(struct table *table, const struct bench_report *report,
                          enum precision precision)
{
    bool half = precision == PRECISION_BF16; /* how many times as fast it is stands last */
    const struct table_column columns[] = {
        {half ? "In bf16" : "The model", .width = 10, .left = true},
        {"tokens", .width = 10},
        {"time", .width = 10},
        {"tokens/s", .width = 10},
        {half ? "of what it can do   of kernel  faster" : "of what it can do   of kernel",
         .gap = 2},
    };
    table_begin(table, columns, 5);
    table_titles(table);
    for (size_t i = 0; i < report->result_count; i++)
        if (report->results[i].task.precision == precision)
            write_result(table, &report->results[i]);
}

int bench_page_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    struct table table = {.out = out};
    size_t threads = report->together.threads;
    char model[LABEL_EXCERPT_BYTES];
    char parameters[NUMBER_BYTES];
    label_excerpt(model, report->model, strlen(report->model));
    stream_format(out, "%s · %s parameters\n", model, grouped(parameters, report->parameters));
    stream_format(out, "%s%s%zu thread%s · %s kernels%s%s · medians of %zu round%s\n",
                  report->processor, *report->processor ? " · " : "", threads,
                  threads == 1 ? "" : "s", report->kernels, report->pairs ? ", bf16 by " : "",
                  report->pairs ? report->pairs : "", report->rounds,
                  report->rounds == 1 ? "" : "s");
    write_limits(&table, report);
    write_results(&table, report, PRECISION_FP32);
    const struct deviation *deviation = &report->deviation; /* what bf16 costs */
    if (deviation->tokens) {
        write_results(&table, report, PRECISION_BF16);
        stream_format(out, "  off by %.2g at most in attention weights", deviation->weights);
        if (deviation->largest_logit > 0)
            stream_format(out, ", %.2g in logits up to %.3g", deviation->logits,
                          deviation->largest_logit);
        stream_char(out, '\n');
    }
    if (table_close(&table, err))
        return -1;
    return report->compared ? bench_compared_page(out, report->compared, err) : 0;
}
