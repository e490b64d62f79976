#include "bench/benchmark.h"

#include "format/json_writer.h"

static void put_limits(struct json_writer *json, const char *name,
                       const struct bench_limits *limits)
{
    json_put_open(json, name, '{');
    json_put_integer(json, "threads", limits->threads);
    for (int form = 0; form < FMA_FORMS; form++)
        if (limits->fma[form] > 0)
            json_put_float(json, fma_name((enum fma_form)form), (float)limits->fma[form]);
    json_put_float(json, "read", (float)limits->read);
    json_put_close(json, '}');
}

static void put_result(struct json_writer *json, const struct bench_result *result)
{
    const struct pass_size *size = &result->task.size;
    const struct bench_sample *median = &result->median;
    json_put_open(json, NULL, '{');
    json_put_text(json, "name", task_rows[result->task.kind].name);
    if (result->task.precision != PRECISION_FP32)
        json_put_text(json, "precision", precision_name(result->task.precision));
    json_put_float(json, "seconds", (float)median->seconds);
    if (size->texts) {
        json_put_integer(json, "sequences", size->texts);
        json_put_integer(json, "tokens", size->tokens);
        json_put_integer(json, "cached", size->cached);
        json_put_float(json, "tokens_per_second", (float)bench_tokens_per_second(result));
        json_put_float(json, "operations", (float)result->work.operations);
        json_put_float(json, "bytes", (float)result->work.bytes);
        json_put_float(json, "of_compute", (float)median->of_compute);
        json_put_float(json, "of_memory", (float)median->of_memory);
    }
    if (median->over > 0)
        json_put_float(json, "over", (float)median->over);
    if (median->faster > 0)
        json_put_float(json, "faster", (float)median->faster);
    json_put_close(json, '}');
}

static void put_deviation(struct json_writer *json, const struct deviation *deviation)
{
    json_put_open(json, "deviation", '{');
    json_put_integer(json, "tokens", deviation->tokens);
    json_put_float(json, "weights", (float)deviation->weights);
    json_put_float(json, "logits", (float)deviation->logits);
    json_put_float(json, "largest_logit", (float)deviation->largest_logit);
    json_put_close(json, '}');
}

void bench_json_write(struct stream *out, const struct bench_report *report)
{
    struct json_writer json = {.stream = out};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model", report->model);
    json_put_integer(&json, "parameters", report->parameters);
    json_put_text(&json, "processor", report->processor);
    json_put_text(&json, "kernels", report->kernels);
    json_put_integer(&json, "rounds", report->rounds);
    put_limits(&json, "one_thread", &report->alone);
    put_limits(&json, "all_threads", &report->together);
    json_put_open(&json, "results", '[');
    for (size_t i = 0; i < report->result_count; i++)
        put_result(&json, &report->results[i]);
    json_put_close(&json, ']');
    if (report->deviation.tokens)
        put_deviation(&json, &report->deviation);
    json_put_close(&json, '}');
    stream_char(out, '\n');
}
