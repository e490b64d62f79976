/* growth_json.c: how attention grows, for programs.
 *
 *     {"model": "head-64", "n_layer": 1, "n_head": 1, "d_k": 64, "d_v": 64, "causal": true,
 *      "kernels": "avx512", "threads": 2, "rounds": 5, "tokens": [256, 512], "ways": [
 *      {"attention": "dense", "seconds": […], "bytes": […], "products": […],
 *       "time_exponent": 1.97, "memory_exponent": 1}, …]}
 */
#include "bench/growth.h"
#include "format/json_writer.h"

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
