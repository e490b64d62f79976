/* comparison_data.c: a comparison as CSV and as JSON.
 *
 *     attention,layer,head,max_difference,mean_difference,kept,overlap,seconds,bytes
 *     window:8,,,0.0531,0.0045,0.9871,0.9871,1.2e-05,8448
 *     window:8,0,0,0.0123,0.0012,0.9991,0.9991,,
 *
 *     {"model": "life", "texts": 1, "tokens": 6, "threads": 2, "rounds": 5,
 *      "dense": {"seconds": …, "bytes": …}, "ways": [
 *      {"attention": "window:8", "seconds": …, "bytes": …, "max_difference": …, …,
 *       "heads": [
 *        {"layer": 0, "head": 0, "max_difference": …, …}, …]}, …]}
 */
#include <string.h>

#include "format/json_writer.h"
#include "measure/comparison.h"

enum { MEASURES = 4 };

static const char *const names[MEASURES] = {"max_difference", "mean_difference", "kept", "overlap"};

/* The numbers of a difference, in the order of the columns. */
struct numbers {
    float items[MEASURES];
};

static struct numbers numbers_of(const struct difference *difference)
{
    return (struct numbers){{(float)difference->max, (float)difference->mean,
                             (float)difference->kept, (float)difference->overlap}};
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_numbers(struct stream *out, const struct difference *difference)
{
    struct numbers numbers = numbers_of(difference);
    for (size_t i = 0; i < MEASURES; i++) {
        stream_char(out, ',');
        stream_float(out, numbers.items[i]);
    }
}

static int csv_write(struct stream *out, const struct comparison *comparison, struct err *err)
{
    size_t heads = comparison->head_count;
    (void)err;
    stream_text(out, "attention,layer,head");
    for (size_t i = 0; i < MEASURES; i++)
        stream_format(out, ",%s", names[i]);
    stream_text(out, ",seconds,bytes\n");
    for (size_t way = 0; way < comparison->plan->way_count; way++) {
        const struct comparison_result *result = &comparison->results[way];
        stream_format(out, "%s,,", result->name);
        csv_numbers(out, &result->all);
        stream_char(out, ',');
        stream_float(out, (float)result->seconds);
        stream_format(out, ",%zu\n", result->bytes);
        for (size_t i = 0; i < comparison->layer_count * heads; i++) {
            stream_format(out, "%s,%zu,%zu", result->name, comparison->layers[i / heads],
                          comparison->heads[i % heads]);
            csv_numbers(out, &result->heads[i]);
            stream_text(out, ",,\n");
        }
    }
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_cost(struct json_writer *json, const struct comparison_result *result)
{
    json_put_float(json, "seconds", (float)result->seconds);
    json_put_integer(json, "bytes", result->bytes);
}

static void put_difference(struct json_writer *json, const struct difference *difference)
{
    struct numbers numbers = numbers_of(difference);
    for (size_t i = 0; i < MEASURES; i++)
        json_put_float(json, names[i], numbers.items[i]);
}

static void put_result(struct json_writer *json, const struct comparison *comparison,
                       const struct comparison_result *result)
{
    size_t heads = comparison->head_count;
    json_put_open(json, "\n ", '{');
    json_put_text(json, "attention", result->name);
    put_cost(json, result);
    put_difference(json, &result->all);
    json_put_open(json, "\n  heads", '[');
    for (size_t i = 0; i < comparison->layer_count * heads; i++) {
        json_put_open(json, "\n   ", '{');
        json_put_integer(json, "layer", comparison->layers[i / heads]);
        json_put_integer(json, "head", comparison->heads[i % heads]);
        put_difference(json, &result->heads[i]);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static int json_write(struct stream *out, const struct comparison *comparison, struct err *err)
{
    const struct comparison_plan *plan = comparison->plan;
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("compare"));
    json_put_text(&json, "model", plan->viewer->model.name);
    json_put_integer(&json, "texts", plan->pair_count);
    json_put_integer(&json, "tokens", comparison->longest);
    json_put_integer(&json, "threads", comparison->threads);
    json_put_integer(&json, "rounds", plan->rounds);
    json_put_open(&json, "\n dense", '{');
    put_cost(&json, &comparison->dense);
    json_put_close(&json, '}');
    json_put_open(&json, "ways", '[');
    for (size_t way = 0; way < plan->way_count; way++)
        put_result(&json, comparison, &comparison->results[way]);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

const struct comparison_format comparison_formats[] = {
    {"text", ".txt", "tables to read", comparison_page_write},
    {"csv", ".csv", "a line for every way, then one for each of its heads", csv_write},
    {"json", ".json", "the same, nested, for programs", json_write},
};

const size_t comparison_format_count = sizeof comparison_formats / sizeof *comparison_formats;
