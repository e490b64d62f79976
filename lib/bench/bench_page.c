#include "bench/benchmark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "text/label.h"

enum { NUMBER_BYTES = AMOUNT_BYTES };

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

/* --- the machine ----------------------------------------------------------------------------- */

/* One limit: on one thread, and on all where there are more. */
static void write_limit(struct stream *out, const struct bench_report *report, const char *name,
                        double alone, double together, const char *unit)
{
    char text[NUMBER_BYTES];
    stream_format(out, "  %-24s %14s", name, amount_write(text, alone / 1e9, unit));
    if (report->together.threads > 1)
        stream_format(out, " %14s", amount_write(text, together / 1e9, unit));
    stream_char(out, '\n');
}

static void write_limits(struct stream *out, const struct bench_report *report)
{
    char name[NUMBER_BYTES];
    size_t threads = report->together.threads;
    stream_format(out, "\n%-26s %14s", "The machine", "1 thread");
    if (threads > 1) {
        snprintf(name, sizeof name, "%zu threads", threads);
        stream_format(out, " %14s", name);
    }
    stream_char(out, '\n');
    for (int form = 0; form < FMA_FORMS; form++) {
        if (report->alone.fma[form] == 0)
            continue;
        snprintf(name, sizeof name, "compute, %s", fma_name((enum fma_form)form));
        write_limit(out, report, name, report->alone.fma[form], report->together.fma[form],
                    "GFLOP/s");
    }
    write_limit(out, report, "memory, read", report->alone.read, report->together.read, "GB/s");
}

/* --- the model ------------------------------------------------------------------------------- */

/* What binds is the limit that the task comes nearest to. */
static void write_share(struct stream *out, const struct bench_sample *sample)
{
    bool memory = sample->of_memory > sample->of_compute;
    double share = memory ? sample->of_memory : sample->of_compute;
    char bar[BAR_BYTES];
    stream_format(out, "  %s %3.0f %% %s", bar_draw(bar, share), 100 * share,
                  memory ? "memory" : "compute");
    if (sample->over > 0 || sample->faster > 0)
        stream_format(out, "  %.2f ×", sample->faster > 0 ? sample->faster : sample->over);
}

static void write_result(struct stream *out, const struct bench_result *result)
{
    const struct pass_size *size = &result->task.size;
    char tokens[NUMBER_BYTES] = "";
    char time[NUMBER_BYTES];
    if (size->cached)
        snprintf(tokens, sizeof tokens, "%zu + %zu", size->cached, size->tokens);
    else if (size->texts > 1)
        snprintf(tokens, sizeof tokens, "%zu × %zu", size->texts, size->tokens);
    else if (size->texts)
        snprintf(tokens, sizeof tokens, "%zu", size->tokens);
    stream_format(out, "  %-8s", task_rows[result->task.kind].name);
    amount_right(out, tokens, 10);
    amount_right(out, amount_seconds(time, result->median.seconds), 10);
    if (size->texts) {
        stream_format(out, " %9.0f", bench_tokens_per_second(result));
        write_share(out, &result->median);
    }
    stream_char(out, '\n');
}

static void write_results(struct stream *out, const struct bench_report *report,
                          enum precision precision)
{
    for (size_t i = 0; i < report->result_count; i++)
        if (report->results[i].task.precision == precision)
            write_result(out, &report->results[i]);
}

/* The results in bf16, how many times as fast they are, and what that costs. */
static void write_bf16(struct stream *out, const struct bench_report *report)
{
    const struct deviation *deviation = &report->deviation;
    if (!deviation->tokens)
        return;
    stream_format(out, "\n%-10s %9s %9s %9s  %s %10s\n", "In bf16", "tokens", "time", "tokens/s",
                  "of what the machine can do", "faster");
    write_results(out, report, PRECISION_BF16);
    stream_format(out, "  off by %.2g at most in attention weights", deviation->weights);
    if (deviation->largest_logit > 0)
        stream_format(out, ", %.2g in logits up to %.3g", deviation->logits,
                      deviation->largest_logit);
    stream_char(out, '\n');
}

void bench_page_write(struct stream *out, const struct bench_report *report)
{
    size_t threads = report->together.threads;
    char model[LABEL_EXCERPT_BYTES];
    char parameters[NUMBER_BYTES];
    label_excerpt(model, report->model, strlen(report->model));
    stream_format(out, "%s · %s parameters\n", model, grouped(parameters, report->parameters));
    stream_format(out, "%s%s%zu thread%s · %s kernels · medians of %zu round%s\n",
                  report->processor, *report->processor ? " · " : "", threads,
                  threads == 1 ? "" : "s", report->kernels, report->rounds,
                  report->rounds == 1 ? "" : "s");
    write_limits(out, report);
    stream_format(out, "\n%-10s %9s %9s %9s  %s\n", "The model", "tokens", "time", "tokens/s",
                  "of what the machine can do");
    write_results(out, report, PRECISION_FP32);
    write_bf16(out, report);
}
