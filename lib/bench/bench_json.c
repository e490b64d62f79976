#include "bench/bench_json.h"

#include <string.h>

#include "format/json_writer.h"

static void write_text(struct stream *out, const char *name, const char *text)
{
    stream_format(out, "\"%s\": ", name);
    json_write_text(out, text, strlen(text));
}

static void write_number(struct stream *out, const char *name, double value)
{
    stream_format(out, ", \"%s\": ", name);
    json_write_float(out, (float)value);
}

static void write_limits(struct stream *out, const char *name, const struct bench_limits *limits)
{
    stream_format(out, ", \"%s\": {\"threads\": %zu", name, limits->threads);
    for (int form = 0; form < FMA_FORMS; form++)
        if (limits->fma[form] > 0)
            write_number(out, fma_name((enum fma_form)form), limits->fma[form]);
    write_number(out, "read", limits->read);
    stream_char(out, '}');
}

static void write_result(struct stream *out, const struct bench_result *result)
{
    const struct pass_size *size = &result->task.size;
    const struct bench_sample *median = &result->median;
    stream_char(out, '{');
    write_text(out, "name", task_rows[result->task.kind].name);
    if (result->task.precision != PRECISION_FP32) {
        stream_text(out, ", ");
        write_text(out, "precision", precision_name(result->task.precision));
    }
    write_number(out, "seconds", median->seconds);
    if (size->sequences) {
        stream_format(out, ", \"sequences\": %zu, \"tokens\": %zu, \"cached\": %zu",
                      size->sequences, size->tokens, size->cached);
        write_number(out, "tokens_per_second", bench_tokens_per_second(result));
        write_number(out, "operations", result->work.operations);
        write_number(out, "bytes", result->work.bytes);
        write_number(out, "of_compute", median->of_compute);
        write_number(out, "of_memory", median->of_memory);
    }
    if (median->over > 0)
        write_number(out, "over", median->over);
    if (median->faster > 0)
        write_number(out, "faster", median->faster);
    stream_char(out, '}');
}

static void write_deviation(struct stream *out, const struct deviation *deviation)
{
    stream_format(out, ", \"deviation\": {\"tokens\": %zu", deviation->tokens);
    write_number(out, "weights", deviation->weights);
    write_number(out, "logits", deviation->logits);
    write_number(out, "largest_logit", deviation->largest_logit);
    stream_char(out, '}');
}

void bench_json_write(struct stream *out, const struct bench_report *report)
{
    stream_char(out, '{');
    write_text(out, "model", report->model);
    stream_format(out, ", \"parameters\": %zu, ", report->parameters);
    write_text(out, "processor", report->processor);
    stream_text(out, ", ");
    write_text(out, "kernels", report->kernels);
    stream_format(out, ", \"rounds\": %zu", report->rounds);
    write_limits(out, "one_thread", &report->alone);
    write_limits(out, "all_threads", &report->together);
    stream_text(out, ", \"results\": [");
    for (size_t i = 0; i < report->result_count; i++) {
        stream_text(out, i ? ", " : "");
        write_result(out, &report->results[i]);
    }
    stream_char(out, ']');
    if (report->deviation.tokens)
        write_deviation(out, &report->deviation);
    stream_text(out, "}\n");
}
