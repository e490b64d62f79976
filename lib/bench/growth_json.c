/* growth_json.c: how attention grows, for programs.
 *
 *     {"model": "head-64", "n_layer": 1, "n_head": 1, "d_k": 64, "d_v": 64, "causal": true,
 *      "kernels": "avx512", "threads": 2, "rounds": 5, "tokens": [256, 512], "ways": [
 *      {"attention": "dense", "seconds": […], "bytes": […], "products": […],
 *       "time_exponent": 1.97, "memory_exponent": 1}, …]}
 */
#include <string.h>

#include "bench/growth_write.h"
#include "format/json_writer.h"

static void write_series(struct stream *out, const char *name, const double *values, size_t count)
{
    stream_format(out, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        stream_text(out, i ? ", " : "");
        json_write_float(out, (float)values[i]);
    }
    stream_char(out, ']');
}

static void write_exponent(struct stream *out, const char *name, double value)
{
    stream_format(out, ", \"%s\": ", name);
    json_write_float(out, (float)value);
}

static void write_way(struct stream *out, const struct growth_way *way, size_t lengths)
{
    stream_format(out, "\n {\"attention\": \"%s\"", way->name);
    write_series(out, "seconds", way->seconds, lengths);
    write_series(out, "bytes", way->bytes, lengths);
    write_series(out, "products", way->products, lengths);
    write_exponent(out, "time_exponent", way->time_exponent);
    write_exponent(out, "memory_exponent", way->memory_exponent);
    stream_char(out, '}');
}

int growth_json_write(struct stream *out, const struct growth *growth, struct err *err)
{
    const struct config *c = &growth->config;
    (void)err;
    stream_text(out, "{\"model\": ");
    json_write_text(out, growth->model, strlen(growth->model));
    stream_format(
        out,
        ", \"n_layer\": %zu, \"n_head\": %zu, \"d_k\": %zu, \"d_v\": %zu, \"causal\": %s,\n "
        "\"kernels\": \"%s\", \"threads\": %zu, \"rounds\": %zu, \"tokens\": [",
        c->n_layer, c->n_head, c->d_k, c->d_v, c->causal ? "true" : "false", growth->kernels,
        growth->threads, growth->rounds);
    for (size_t i = 0; i < growth->length_count; i++)
        stream_format(out, "%s%zu", i ? ", " : "", growth->lengths[i]);
    stream_text(out, "], \"ways\": [");
    for (size_t way = 0; way < growth->way_count; way++) {
        stream_text(out, way ? "," : "");
        write_way(out, &growth->ways[way], growth->length_count);
    }
    stream_text(out, "]}\n");
    return 0;
}
