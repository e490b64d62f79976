/* headvis.c: writes an atlas as the files of HeadVis (Luger, Kamath et al., Anthropic, 2026), by
 * the definitions of Neuronpedia's compute-head-metrics.py:
 *
 *     config.json, scatter_data.json, heads/L{layer}H{head}.json
 *     server_config.json, attributions/manifest.json      empty objects
 *
 * HeadVis's means of self-attention, entropy and distance include the first position of each text,
 * ours do not: these means are multiplied by (N - n) / N for N tokens in n texts, and the values of
 * the first queries, which see only themselves, are added. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "atlas.h"
#include "driver.h"
#include "text/decoder.h"

enum { TOP_TOKENS = 50, EDGES = ATLAS_DISTANCES + 1, METRICS = 6, ROUNDED_BYTES = 64 };

static const struct {
    const char *name, *about;
} metrics[METRICS] = {
    {"self_attention_score", "Mean weight of each query on itself, the first one included."},
    {"prev_token_score", "Mean weight on the token before the query."},
    {"pattern_entropy", "Mean entropy of the weights of a query, in nats."},
    {"qk_distance", "Mean distance from query to key, weighted by attention."},
    {"qk_distance_variance", "Variance of that distance, over all queries together."},
    {"induction_score", "Weight on the tokens after earlier copies of the query's token."},
};

/* Write a number rounded to 4 decimals, as Python's round does; null if it is not finite. */
static void put_rounded(struct json_writer *json, const char *name, double value)
{
    char text[ROUNDED_BYTES];
    int size = snprintf(text, sizeof text, "%.4f", value);
    while (size > 2 && text[size - 1] == '0' && text[size - 2] != '.')
        text[--size] = 0;
    json_put_raw(json, name, isfinite(value) ? text : "null");
}

/* --- scatter_data.json ------------------------------------------------------------------------ */

static void find_metrics(double values[METRICS], const struct atlas_state *own, size_t index)
{
    /* indices of the scores, in the order of the list that atlas.c passes as --score */
    enum { SELF, PREVIOUS, ENTROPY, DISTANCE, VARIANCE };
    const struct atlas *atlas = &own->atlas;
    const struct atlas_head *head = &atlas->heads[index];
    const double positions = (double)atlas->tokens;
    const double part = (positions - (double)atlas->texts) / positions;
    const double mean = atlas_score(own, DISTANCE, index), distance = mean * part;
    values[0] = atlas_score(own, SELF, index) * part + head->first_self / positions;
    values[1] = atlas_score(own, PREVIOUS, index);
    values[2] = atlas_score(own, ENTROPY, index) * part + head->first_entropy / positions;
    values[3] = distance;
    values[4] = (atlas_score(own, VARIANCE, index) + mean * mean) * part - distance * distance;
    values[5] = atlas->copies ? head->induction / (double)atlas->copies : (double)NAN;
}

static int write_scatter(struct stream *out, struct atlas_state *own, size_t head, struct err *err)
{
    struct json_writer json = {.stream = out};
    (void)head, (void)err;
    json_put_open(&json, NULL, '[');
    for (size_t i = 0; i < own->atlas.layers * own->atlas.across; i++) {
        double values[METRICS];
        if (!atlas_has_head(own, i))
            continue;
        find_metrics(values, own, i);
        json_put_open(&json, "\n ", '{');
        json_put_integer(&json, "layer", (long long)(i / own->atlas.across));
        json_put_integer(&json, "head", (long long)(i % own->atlas.across));
        for (size_t k = 0; k < METRICS; k++)
            put_rounded(&json, metrics[k].name, values[k]);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    return 0;
}

/* --- config.json ------------------------------------------------------------------------------ */

static void put_labels(struct json_writer *json, const char *name, const char *const labels[2][2])
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < 2; i++) {
        json_put_open(json, NULL, '{');
        json_put_text(json, "key", labels[i][0]);
        json_put_text(json, "label", labels[i][1]);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

static void put_pipeline(struct json_writer *json, const struct atlas_state *own,
                         const char *dataset)
{
    const struct atlas_plan *plan = &own->atlas.plan;
    const struct driver *driver = own->driver;
    const struct viewer *viewer = &driver->session.viewer;
    json_put_open(json, "\n pipeline_config", '{');
    json_put_text(json, "model_name", viewer->model.name);
    json_put_text(json, "dataset_name", dataset);
    json_put_integer(json, "n_sequences", (long long)driver->items.count);
    json_put_integer(json, "seq_len", (long long)driver->survey.longest);
    json_put_text(json, "dtype", "float32");
    json_put_text(json, "attn_implementation", "eager");
    json_put_raw(json, "induction_attention_threshold", "0.01");
    json_put_integer(json, "n_intervals", (long long)plan->intervals);
    json_put_integer(json, "samples_per_interval", (long long)plan->samples);
    json_put_integer(json, "samples_per_top_interval", (long long)plan->top_samples);
    json_put_integer(json, "sparse_topk_per_row", (long long)plan->keys);
    json_put_float(json, "sparse_threshold", (float)plan->floor);
    json_put_integer(json, "sample_seed", (long long)plan->seed);
    json_put_integer(json, "warmup_size", (long long)plan->warm_up);
    json_put_integer(json, "actual_sequences_processed", (long long)own->atlas.texts);
    json_put_integer(json, "num_hidden_layers", (long long)own->atlas.layers);
    json_put_integer(json, "num_attention_heads", (long long)own->atlas.across);
    json_put_open(json, "attention_layer_indices", '[');
    for (size_t layer = 0; layer < own->atlas.layers; layer++)
        if (atlas_has_head(own, layer * own->atlas.across))
            json_put_integer(json, NULL, (long long)layer);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static int write_config(struct stream *out, struct atlas_state *own, size_t head, struct err *err)
{
    static const char *const plots[2][2] = {{"qk_distance_histogram", "Q-K distance"},
                                            {"histogram", "Activation distribution"}};
    static const char *const tables[2][2] = {{"top_query_tokens", "Top query tokens"},
                                             {"top_key_tokens", "Top key tokens"}};
    struct json_writer json = {.stream = out};
    const char *model = own->driver->session.viewer.model.name, *slash = strrchr(model, '/');
    const char *path = own->driver->items.path, *file = path ? strrchr(path, '/') : NULL;
    const char *dataset = file ? file + 1 : path ? path : "texts";
    (void)head, (void)err;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model_name", model);
    json_put_text(&json, "np_model_id", slash && slash[1] ? slash + 1 : model);
    json_put_text(&json, "dataset_name", dataset);
    json_put_open(&json, "\n heads", '[');
    for (size_t i = 0; i < own->atlas.layers * own->atlas.across; i++) {
        const size_t pair[2] = {i / own->atlas.across, i % own->atlas.across};
        if (atlas_has_head(own, i))
            json_put_integers(&json, NULL, pair, 2);
    }
    json_put_close(&json, ']');
    json_put_integer(&json, "\n n_layers", (long long)own->atlas.layers);
    json_put_integer(&json, "n_heads", (long long)own->atlas.across);
    json_put_integer(&json, "n_intervals", (long long)own->atlas.plan.intervals);
    json_put_open(&json, "\n metrics", '[');
    for (size_t i = 0; i < METRICS; i++)
        json_put_text(&json, NULL, metrics[i].name);
    json_put_close(&json, ']');
    json_put_open(&json, "\n metric_descriptions", '{');
    for (size_t i = 0; i < METRICS; i++)
        json_put_text(&json, metrics[i].name, metrics[i].about);
    json_put_close(&json, '}');
    json_put_text(&json, "\n head_data_pattern", "L{layer}H{head}.json");
    json_put_bool(&json, "has_umap", false);
    json_put_raw(&json, "umap_heads", "[]");
    put_labels(&json, "\n custom_plots", plots);
    put_labels(&json, "custom_tables", tables);
    json_put_raw(&json, "\n statistics_display",
                 "{\"n_samples\": {\"label\": \"Samples kept\", \"format\": \"default\"}, "
                 "\"mean_max_activation\": {\"label\": \"Mean max activation\", \"format\": "
                 "\"default\"}}");
    put_pipeline(&json, own, dataset);
    json_put_close(&json, '}');
    return 0;
}

/* --- heads/L1H3.json -------------------------------------------------------------------------- */

/* Write the text of a token, decoded without its neighbours; without a tokenizer, its id. */
static void put_token(struct json_writer *json, const char *name, const struct viewer *viewer,
                      uint32_t id, struct err *err)
{
    struct buf text = {0};
    struct token_decoder decoder;
    if (viewer->tokenizer) {
        tokenizer_decode_begin(viewer->tokenizer, &decoder, &text);
        tokenizer_decode(viewer->tokenizer, &decoder, id);
        token_decoder_end(&decoder);
        token_decoder_release(&decoder);
    } else {
        buf_format(&text, "%u", id);
    }
    if (!buf_check(&text, err))
        json_put_bytes(json, name, text.bytes ? text.bytes : "", text.size);
    buf_release(&text);
}

static int put_sequence(struct json_writer *json, struct atlas_state *own, size_t interval,
                        const struct atlas_example *example, struct err *err)
{
    const struct viewer *viewer = &own->driver->session.viewer;
    const size_t keys = own->atlas.plan.keys, tokens = example->tokens;
    const uint32_t *ids = atlas_item_ids(own, example->text, err);
    if (!ids)
        return -1;
    json_put_open(json, "\n ", '{');
    json_put_integer(json, "sequence_id", (long long)example->text);
    json_put_integer(json, "interval", (long long)interval + 1);
    json_put_open(json, "tokens", '[');
    for (size_t i = 0; i < tokens; i++)
        put_token(json, NULL, viewer, ids[i], err);
    json_put_close(json, ']');
    json_put_open(json, "attention_indices", '[');
    for (size_t i = 0; i < tokens * keys; i++)
        if (example->entries[i])
            json_put_integer(json, NULL,
                             (long long)(i / keys * tokens + atlas_entry_key(example->entries[i])));
    json_put_close(json, ']');
    json_put_open(json, "attention_values", '[');
    for (size_t i = 0; i < tokens * keys; i++)
        if (example->entries[i])
            json_put_float(json, NULL, atlas_entry_weight(example->entries[i]));
    json_put_close(json, ']');
    json_put_integer(json, "seq_len", (long long)tokens);
    put_rounded(json, "max_activation", (double)example->top);
    json_put_close(json, '}');
    return err_if(err->kind);
}

static void put_masses(struct json_writer *json, const char *name, const struct viewer *viewer,
                       const struct atlas_mass *masses, size_t count, struct err *err)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count && i < TOP_TOKENS; i++) {
        json_put_open(json, NULL, '{');
        put_token(json, "token", viewer, masses[i].id, err);
        put_rounded(json, "weight", masses[i].weight);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

static void put_histograms(struct json_writer *json, const struct atlas_head *head,
                           const struct atlas_marginals *marginals)
{
    json_put_open(json, "\n qk_distance_histogram", '{');
    json_put_open(json, "bin_edges", '[');
    for (int i = 0; i < EDGES; i++)
        json_put_integer(json, NULL, i ? 1 << (i - 1) : 0);
    json_put_close(json, ']');
    json_put_open(json, "bin_values", '[');
    for (size_t i = 0; i < ATLAS_DISTANCES; i++)
        put_rounded(json, NULL, marginals->distances[i]);
    json_put_close(json, ']');
    json_put_close(json, '}');
    json_put_open(json, "\n histogram", '{');
    json_put_open(json, "bin_edges", '[');
    for (size_t i = 0; i <= ATLAS_BINS; i++)
        put_rounded(json, NULL, (double)i / ATLAS_BINS);
    json_put_close(json, ']');
    json_put_open(json, "bin_values", '[');
    for (size_t i = 0; i < ATLAS_BINS; i++)
        json_put_integer(json, NULL, (long long)head->bins[i]);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static int write_head(struct stream *out, struct atlas_state *own, size_t index, struct err *err)
{
    const struct atlas *atlas = &own->atlas;
    const struct atlas_head *head = &atlas->heads[index];
    const struct viewer *viewer = &own->driver->session.viewer;
    struct arena arena = {0};
    struct json_writer json = {.stream = out};
    struct atlas_marginals marginals;
    const struct atlas_masses_of of = {atlas, index, false, atlas_item_ids, own};
    int failed = atlas_marginals(&marginals, &of, &arena, err);
    json_put_open(&json, NULL, '{');
    json_put_open(&json, "sequences", '[');
    for (size_t i = 0; i < atlas->plan.intervals; i++)
        for (size_t k = 0; k < head->intervals[i].count && !failed; k++)
            failed = put_sequence(&json, own, i, &head->intervals[i].items[k], err);
    json_put_close(&json, ']');
    if (!failed) {
        put_histograms(&json, head, &marginals);
        put_masses(&json, "\n top_query_tokens", viewer, marginals.queries, marginals.query_count,
                   err);
        put_masses(&json, "\n top_key_tokens", viewer, marginals.keys, marginals.key_count, err);
        json_put_open(&json, "\n statistics", '{');
        json_put_integer(&json, "n_samples", (long long)marginals.examples);
        put_rounded(&json, "mean_max_activation", head->peaks / (double)atlas->texts);
        json_put_close(&json, '}');
    }
    json_put_close(&json, '}');
    arena_release(&arena);
    return err_if(failed || err->kind);
}

/* --- all files -------------------------------------------------------------------------------- */

static int write_empty(struct stream *out, struct atlas_state *own, size_t head, struct err *err)
{
    (void)own, (void)head, (void)err;
    stream_text(out, "{}\n");
    return 0;
}

int headvis_write(struct atlas_state *own, struct err *err)
{
    static const struct atlas_file of_head = {".json", write_head, 0};
    static const struct atlas_file manifest = {"manifest.json", write_empty, 0};
    static const struct atlas_file files[] = {{"server_config.json", write_empty, 0},
                                              {"scatter_data.json", write_scatter, 0},
                                              /* written last, when the other files exist */
                                              {"config.json", write_config, 0}};
    int failed = atlas_write_folder(own, "attributions", &manifest, false, err) ||
                 atlas_write_folder(own, "heads", &of_head, true, err);
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = atlas_write_file(own, &files[i], &own->driver->output.folder, err);
    return err_if(failed);
}
