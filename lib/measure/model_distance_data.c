/* model_distance_data.c: how far two models are from each other, as a page, CSV and JSON.
 *
 *     site,layer,head,distance,match,matched_distance
 *     weights,0,0,0.123,2,0.001                        heads: Jensen and Shannon's; the best match
 *     resid_pre,0,,0.054,,                             sites: relative
 *
 *     {"models": ["a", "b"], "texts": 1, "equal_weights": false,
 *      "heads": [{"layer": 0, "head": 0, "distance": 0.123, "match": 2, "matched_distance": …}, …],
 *      "sites": [{"site": "embedding", "layer": null, "distance": 0, "masked_in_one": 0}, …]}
 */
#include <string.h>

#include "format/json_writer.h"
#include "measure/model_distance.h"
#include "text/label.h"
#include "write/table.h"

enum { NUMBER_COLUMNS = 10 };

/* Of heads, by their place among all. */
struct head_line {
    size_t layer, head, match;
    const struct head_distance *numbers;
};

static struct head_line head_at(const struct model_distance *distance, size_t index)
{
    const struct head_distance *numbers = &distance->of_heads[index];
    return (struct head_line){distance->layers.items[index / distance->head_count],
                              distance->heads[index % distance->head_count],
                              distance->heads[numbers->match], numbers};
}

static size_t head_lines(const struct model_distance *distance)
{
    return distance->layers.count * distance->head_count;
}

/* Sites in the order of the pass, each with its layers; false after the last. */
static bool next_site(size_t *index, const struct model_distance *distance)
{
    while (*index < SITE_COUNT * distance->layers.count && !distance->compared[*index])
        ++*index;
    return *index < SITE_COUNT * distance->layers.count;
}

static const struct site_row *site_at(const struct model_distance *distance, size_t index)
{
    return &site_rows[index / distance->layers.count];
}

/* --- data ------------------------------------------------------------------------------------- */

static int write_csv(struct stream *out, const struct model_distance *distance, struct err *err)
{
    (void)err;
    stream_text(out, "site,layer,head,distance,match,matched_distance\n");
    for (size_t i = 0; i < head_lines(distance); i++) {
        struct head_line line = head_at(distance, i);
        stream_format(out, "weights,%zu,%zu,", line.layer, line.head);
        stream_float(out, (float)line.numbers->distance);
        stream_format(out, ",%zu,", line.match);
        stream_float(out, (float)line.numbers->matched);
        stream_char(out, '\n');
    }
    for (size_t i = 0; next_site(&i, distance); i++) {
        const struct site_row *site = site_at(distance, i);
        stream_format(out, "%s,", site->name);
        if (site->in_layer)
            stream_format(out, "%zu", distance->layers.items[i % distance->layers.count]);
        stream_text(out, ",,");
        stream_float(out, (float)distance->of_sites[i]);
        stream_text(out, ",,\n");
    }
    return 0;
}

static int write_json(struct stream *out, const struct model_distance *distance, struct err *err)
{
    const struct model_distance_plan *plan = distance->plan;
    struct json_writer json = {.stream = out};
    (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("compare-models"));
    json_put_open(&json, "models", '[');
    for (size_t i = 0; i < 2; i++)
        json_put_text(&json, NULL, plan->models[i]->model.name);
    json_put_close(&json, ']');
    json_put_integer(&json, "texts", plan->pair_count);
    json_put_bool(&json, "equal_weights", plan->equal_weights);
    json_put_open(&json, "\n heads", '[');
    for (size_t i = 0; i < head_lines(distance); i++) {
        struct head_line line = head_at(distance, i);
        json_put_open(&json, "\n  ", '{');
        json_put_integer(&json, "layer", line.layer);
        json_put_integer(&json, "head", line.head);
        json_put_float(&json, "distance", (float)line.numbers->distance);
        json_put_integer(&json, "match", line.match);
        json_put_float(&json, "matched_distance", (float)line.numbers->matched);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_open(&json, "\n sites", '[');
    for (size_t i = 0; next_site(&i, distance); i++) {
        const struct site_row *site = site_at(distance, i);
        json_put_open(&json, "\n  ", '{');
        json_put_text(&json, "site", site->name);
        if (site->in_layer)
            json_put_integer(&json, "layer", distance->layers.items[i % distance->layers.count]);
        else
            json_put_text(&json, "layer", NULL);
        json_put_float(&json, "distance", (float)distance->of_sites[i]);
        json_put_integer(&json, "masked_in_one", distance->masked_in_one[i]);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_distance(struct table *table, double distance)
{
    table_format(table, distance > 0 && distance < 0.00005 ? "%.1e" : "%.4f", distance);
}

static void write_title(struct stream *out, const struct model_distance *distance)
{
    const struct model_distance_plan *plan = distance->plan;
    for (size_t i = 0; i < 2; i++) {
        const char *name = plan->models[i]->model.name;
        stream_text(out, i ? " and " : "");
        label_write_line(out, name, strlen(name));
    }
    stream_format(out, " · %zu text%s%s\n", plan->pair_count, plan->pair_count == 1 ? "" : "s",
                  plan->equal_weights ? " · equal weights" : "");
}

static void write_heads(struct table *table, const struct model_distance *distance)
{
    static const struct table_column columns[] = {
        {"layer", .width = 5},
        {"head", .gap = 2, .width = 4},
        {"distance", .width = NUMBER_COLUMNS},
        {"match", .gap = 2, .width = 5},
        {"distance", .width = NUMBER_COLUMNS},
    };
    table_begin(table, columns, sizeof columns / sizeof *columns);
    table_titles(table);
    for (size_t i = 0; i < head_lines(distance); i++) {
        struct head_line line = head_at(distance, i);
        table_number(table, line.layer);
        table_number(table, line.head);
        put_distance(table, line.numbers->distance);
        table_number(table, line.match);
        put_distance(table, line.numbers->matched);
        table_end(table);
    }
}

/* A line a site: over its layers the mean and the largest, and where that is. */
static void write_sites(struct table *table, const struct model_distance *distance)
{
    static const struct table_column columns[] = {
        {"site", .width = 14, .left = true},
        {"mean", .width = NUMBER_COLUMNS},
        {"largest", .width = NUMBER_COLUMNS},
        {"in layer", .width = NUMBER_COLUMNS},
    };
    size_t layers = distance->layers.count;
    table_begin(table, columns, sizeof columns / sizeof *columns);
    table_titles(table);
    for (size_t i = 0; next_site(&i, distance); i = (i / layers + 1) * layers) {
        const struct site_row *site = site_at(distance, i);
        size_t most = i;
        double sum = 0;
        double count = 0;
        for (size_t k = i; k < (i / layers + 1) * layers; k++) {
            most = distance->of_sites[k] > distance->of_sites[most] ? k : most;
            sum += distance->compared[k] ? distance->of_sites[k] : 0;
            count += distance->compared[k];
        }
        table_text(table, site->name);
        put_distance(table, sum / count);
        if (site->in_layer) {
            put_distance(table, distance->of_sites[most]);
            table_number(table, distance->layers.items[most % layers]);
        }
        table_end(table);
    }
}

static void write_moved(struct stream *out, const struct model_distance *distance)
{
    const struct model_distance_plan *plan = distance->plan;
    const char *before = "\n";
    for (size_t i = 0; i < head_lines(distance); i++) {
        struct head_line line = head_at(distance, i);
        if (line.match == line.head || line.numbers->matched > MODEL_DISTANCE_SAME)
            continue;
        stream_format(out, "%sHead %zu.%zu of ", before, line.layer, line.head);
        before = "";
        label_write_line(out, plan->models[0]->model.name, strlen(plan->models[0]->model.name));
        stream_format(out, " is head %zu.%zu of ", line.layer, line.match);
        label_write_line(out, plan->models[1]->model.name, strlen(plan->models[1]->model.name));
        stream_char(out, '\n');
    }
}

static int write_page(struct stream *out, const struct model_distance *distance, struct err *err)
{
    struct table table = {.out = out};
    size_t layers = distance->layers.count;
    write_title(out, distance);
    write_heads(&table, distance);
    write_moved(out, distance);
    write_sites(&table, distance);
    stream_text(out, "\nheads: Jensen and Shannon's distance of attention, 0 to 1, a mean over "
                     "queries\n"
                     "match: the other's head, one to one, and the distance to that\n"
                     "sites: |difference| of |values|, Euclid's, over all tokens\n");
    for (size_t i = 0; next_site(&i, distance); i = (i / layers + 1) * layers) {
        size_t count = 0;
        for (size_t k = i; k < (i / layers + 1) * layers; k++)
            count += distance->masked_in_one[k];
        if (count)
            stream_format(out,
                          "%s: the masks differ: %zu cell%s -inf in only one model, and not "
                          "part of the numbers above\n",
                          site_at(distance, i)->name, count, count == 1 ? " is" : "s are");
    }
    return table_close(&table, err);
}

const struct model_distance_format model_distance_formats[] = {
    {"text", ".txt", "tables to read", write_page},
    {"csv", ".csv", "a line for every head, then one for each site and layer", write_csv},
    {"json", ".json", "the same, nested, for programs", write_json},
};

const size_t model_distance_format_count =
    sizeof model_distance_formats / sizeof *model_distance_formats;
