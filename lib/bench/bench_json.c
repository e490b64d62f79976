#include "bench/bench_compare.h"
#include "bench/growth.h"
#include "format/json_writer.h"

static void put_limits(struct json_writer *json, const char *name,
                       const struct bench_limits *limits)
{
    json_put_open(json, name, '{');
    json_put_integer(json, "threads", limits->threads);
    for (int form = 0; form < FMA_FORMS; form++)
        if (limits->fma[form] > 0)
            json_put_float(json, fma_rows[form].name, (float)limits->fma[form]);
    for (int i = 0; i < PRECISIONS; i++)
        if (limits->kernel[i] > 0)
            json_put_float(json, i == PRECISION_FP32 ? "kernel" : "kernel_bf16",
                           (float)limits->kernel[i]);
    json_put_float(json, "read", (float)limits->read);
    json_put_close(json, '}');
}

static void put_result(struct json_writer *json, const struct bench_result *result, size_t rounds)
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
        json_put_float(json, "of_kernel", (float)median->of_kernel);
        json_put_float(json, "of_memory", (float)median->of_memory);
    }
    if (median->over > 0)
        json_put_float(json, "over", (float)median->over);
    if (median->faster > 0)
        json_put_float(json, "faster", (float)median->faster);
    json_put_open(json, "each", '[');
    for (size_t round = 0; round < rounds; round++)
        json_put_float(json, NULL, (float)result->each[round]);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

int bench_json_write(struct stream *out, const struct bench_report *report, struct err *err)
{
    (void)err;
    struct json_writer json = {.stream = out};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("bench"));
    json_put_text(&json, "version", report->version);
    json_put_text(&json, "model", report->model);
    json_put_integer(&json, "parameters", report->parameters);
    json_put_text(&json, "processor", report->processor);
    json_put_text(&json, "kernels", report->kernels);
    if (report->pairs)
        json_put_text(&json, "bf16", report->pairs);
    json_put_integer(&json, "rounds", report->rounds);
    put_limits(&json, "one_thread", &report->alone);
    put_limits(&json, "all_threads", &report->together);
    json_put_open(&json, "results", '[');
    for (size_t i = 0; i < report->result_count; i++)
        put_result(&json, &report->results[i], report->rounds);
    json_put_close(&json, ']');
    const struct deviation *deviation = &report->deviation;
    if (deviation->tokens) {
        json_put_open(&json, "deviation", '{');
        json_put_integer(&json, "tokens", deviation->tokens);
        json_put_float(&json, "weights", (float)deviation->weights);
        json_put_float(&json, "logits", (float)deviation->logits);
        json_put_float(&json, "largest_logit", (float)deviation->largest_logit);
        json_put_close(&json, '}');
    }
    if (report->compared)
        bench_compared_json(&json, report->compared);
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

/* --- how attention grows ----------------------------------------------------------------------
 *
 *     {"model": "head-64", "n_layer": 1, "n_head": 1, "d_k": 64, "d_v": 64, "causal": true,
 *      "kernels": "avx512", "threads": 2, "rounds": 5, "tokens": [256, 512], "ways": [
 *      {"attention": "dense", "seconds": […], "bytes": […], "products": […],
 *       "time_exponent": 1.97, "memory_exponent": 1}, …]}
 */

static void put_series(struct json_writer *json, const char *name, const double *values,
                       size_t count)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        json_put_float(json, NULL, (float)values[i]);
    json_put_close(json, ']');
}

static void put_way(struct json_writer *json, const struct growth_way *way, size_t lengths)
{
    json_put_open(json, "\n ", '{');
    json_put_text(json, "attention", way->name);
    put_series(json, "seconds", way->seconds, lengths);
    put_series(json, "bytes", way->bytes, lengths);
    put_series(json, "products", way->products, lengths);
    json_put_float(json, "time_exponent", (float)way->time_exponent);
    json_put_float(json, "memory_exponent", (float)way->memory_exponent);
    json_put_close(json, '}');
}

int growth_json_write(struct stream *out, const struct growth *growth, struct err *err)
{
    const struct config *c = &growth->config;
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("bench-attention"));
    json_put_text(&json, "model", growth->model);
    json_put_integer(&json, "n_layer", c->n_layer);
    json_put_integer(&json, "n_head", c->n_head);
    json_put_integer(&json, "d_k", c->d_k);
    json_put_integer(&json, "d_v", c->d_v);
    json_put_bool(&json, "causal", c->causal);
    json_put_text(&json, "\n kernels", growth->kernels);
    json_put_integer(&json, "threads", growth->threads);
    json_put_integer(&json, "rounds", growth->rounds);
    json_put_integers(&json, "tokens", growth->lengths, growth->length_count);
    json_put_open(&json, "ways", '[');
    for (size_t way = 0; way < growth->way_count; way++)
        put_way(&json, &growth->ways[way], growth->length_count);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}
