/* page_data.c: writes the JSON of a text in a page, and data in base64 and text for its HTML. */
#include "draw/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/layer.h"
#include "model/points.h"
#include "write/text.h"

/* --- numbers ---------------------------------------------------------------------------------- */

struct short_code {
    bool has_sign;
    float most; /* largest magnitude of the numbers */
};

/* Encode a number in 12 bits (page.h); data.js decodes it. */
static unsigned encode(const struct short_code *code, float value)
{
    enum { ZERO, MINUS_INFINITY, FIRST, CODES = 4096 };
    unsigned highest = (code->has_sign ? CODES / 2 : CODES) - FIRST - 1;
    double powers = code->has_sign ? 5 : 6;
    if (!isfinite(value))
        return MINUS_INFINITY;
    if (value == 0)
        return ZERO;
    long level = lround(highest * (1 + log10(fabs((double)value) / (double)code->most) / powers));
    if (level < 0)
        return ZERO;
    return FIRST + (unsigned)(code->has_sign ? 2 * level + (value < 0) : level);
}

/* State of a base64 encoder: the bytes, fewer than three between calls, that are not yet
 * written. */
struct base64 {
    struct stream *out;
    unsigned char held[3];
    size_t held_count;
};

static void put_three(struct base64 *exact)
{
    uint32_t bits = (uint32_t)exact->held[0] << 16 | (uint32_t)exact->held[1] << 8 | exact->held[2];
    char text[4] = "====";
    for (size_t i = 0; i <= exact->held_count; i++)
        text[i] = base64_digits[bits >> (18 - 6 * i) & 63];
    stream_bytes(exact->out, text, sizeof text);
    memset(exact->held, 0, sizeof exact->held);
    exact->held_count = 0;
}

static void put_bytes(struct base64 *exact, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        exact->held[exact->held_count++] = ((const unsigned char *)bytes)[i];
        if (exact->held_count == sizeof exact->held)
            put_three(exact);
    }
}

static void end_base64(struct base64 *exact)
{
    if (exact->held_count)
        put_three(exact);
}

void page_put_base64(struct stream *out, const char *bytes, size_t size)
{
    struct base64 base64 = {.out = out};
    put_bytes(&base64, bytes, size);
    end_base64(&base64);
}

void page_put_text(struct stream *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            stream_text(out, "&lt;");
        else if (*text == '&')
            stream_text(out, "&amp;");
        else if (*text == '"')
            stream_text(out, "&quot;");
        else
            stream_char(out, *text);
    }
}

void page_add_command(struct buf *out, const struct report *report)
{
    if (!report->identity.provenance)
        return;
    buf_text(out, "<template class=\"command\">");
    json_report_command(out, report);
    buf_text(out, "</template>\n");
}

/* --- tensors ---------------------------------------------------------------------------------- */

static bool has_sink(const struct axis *axis)
{
    return axis->numbers && axis_number(axis, axis->size - 1) < 0;
}

/* Return the name of the list in the page's "labels" that an axis uses, or "numbers". */
static const char *kind_of(const struct report *report, const struct axis *axis)
{
    const struct tokenized *text = report_text_of(report, axis);
    if (has_sink(axis))
        return "with_sink";
    if (text)
        return text == &report->text ? "sentence" : "source";
    return report->words && axis->labels == report->words ? "words" : "numbers";
}

static size_t visible_columns(const struct sheet *sheet, size_t row)
{
    size_t columns = sheet->columns.size, visible = row + 1 + has_sink(&sheet->columns);
    return sheet->causal && visible < columns ? visible : columns;
}

size_t page_count_numbers(const struct report *report)
{
    size_t count = 0;
    /* all heads of an array have the same shape */
    for (size_t i = 0; i < report->array_count; i++) {
        struct sheet sheet = array_matrix(report, &report->arrays[i], 0);
        for (size_t row = 0; row < sheet.rows.size; row++)
            count += array_matrix_count(&report->arrays[i]) * visible_columns(&sheet, row);
    }
    return count;
}

static void put_values(struct stream *out, const struct report *report, const struct array *array,
                       const struct short_code *code)
{
    struct base64 exact = {.out = out};
    for (size_t i = 0; i < array_matrix_count(array); i++) {
        struct sheet sheet = array_matrix(report, array, i);
        for (size_t row = 0; row < sheet.rows.size; row++) {
            size_t visible = visible_columns(&sheet, row);
            for (size_t next = 0; next < visible; next++) {
                bool is_sink = next + 1 == visible && has_sink(&sheet.columns);
                size_t column = is_sink ? sheet.columns.size - 1 : next;
                float value =
                    sheet_hides(&sheet, row, column) ? NAN : sheet_cell(&sheet, row, column);
                unsigned pair = code ? encode(code, value) : 0;
                if (code)
                    stream_bytes(out, (char[]){base64_digits[pair / 64], base64_digits[pair % 64]},
                                 2);
                else
                    put_bytes(&exact, &value, sizeof value);
            }
        }
    }
    end_base64(&exact);
}

/* Write how a sheet is averaged: "mean of layers · mean of heads", one of the two, or "". */
static const char *mean_of(char text[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    bool layers = sheet->mean_of_layers;
    size_t size = (size_t)snprintf(text, SHEET_NAME_BYTES, "%s", layers ? "mean of layers" : "");
    if (sheet->mean_of_heads)
        snprintf(text + size, SHEET_NAME_BYTES - size, "%smean of %ss", layers ? " · " : "",
                 head_word(sheet->shared_by));
    return text;
}

/* Write the numbers of an array, and the name of their coding, "exact" or "short". */
static void put_numbers(struct json_writer *json, const struct report *report,
                        const struct array *array, bool exact)
{
    size_t count = array_matrix_count(array) * array->rows.size * array->columns.size;
    struct short_code code = {0};
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(array->data[i]))
            continue;
        code.has_sign |= array->data[i] < 0;
        code.most = fmaxf(code.most, fabsf(array->data[i]));
    }
    json_put_text(json, "coding", exact ? "exact" : "short");
    if (!exact) {
        json_put_bool(json, "signed", code.has_sign);
        json_put_float(json, "most", code.most);
    }
    json_put_raw(json, "values", "\"");
    put_values(json->stream, report, array, exact ? NULL : &code);
    stream_char(json->stream, '"');
}

static void put_tensor(struct json_writer *json, const struct report *report,
                       const struct array *array, bool exact)
{
    struct sheet sheet = array_matrix(report, array, 0);
    const size_t shape[] = {array_matrix_count(array), sheet.rows.size, sheet.columns.size};
    char mean[SHEET_NAME_BYTES];
    json_put_open(json, "\n", '{');
    json_put_text(json, "tensor", sheet.name);
    json_report_selection(json, array);
    json_put_text(json, "mean_of", mean_of(mean, &sheet));
    json_put_text(json, "rows", sheet.rows.name);
    json_put_text(json, "columns", sheet.columns.name);
    json_put_text(json, "row_labels", kind_of(report, &sheet.rows));
    json_put_text(json, "column_labels", kind_of(report, &sheet.columns));
    json_put_integers(json, "shape", shape, 3);
    json_put_bool(json, "causal", sheet.causal);
    if (sheet.visible)
        json_put_bool(json, "hides", true);
    put_numbers(json, report, array, exact);
    json_put_close(json, '}');
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Write a list of labels as JSON without spaces, since there may be thousands of labels. */
static void put_labels(struct json_writer *json, const char *name, const struct label *labels,
                       size_t count)
{
    json_put_open(json, name, '[');
    json->compact = true;
    for (size_t i = 0; i < count; i++)
        json_put_text(json, NULL, labels[i].text);
    json->compact = false;
    json_put_close(json, ']');
}

/* Write the labels of every kind of axis except numbers. */
static void put_all_labels(struct json_writer *json, const struct report *report)
{
    static const char *const names[] = {"sentence", "source"};
    const struct tokenized *texts[] = {&report->text, &report->source};
    size_t first = report->first_shown;
    size_t words = 0, count = 0;    /* `count`: number of tokens or words on axes of the text */
    const struct axis *keys = NULL; /* the keys of an array that has an attention sink */
    for (size_t i = 0; i < report->array_count; i++) {
        const struct array *array = &report->arrays[i];
        if (report->words && site_axes(array->site) == AXES_TOKEN_WORD)
            words = array->columns.size;
        keys = keys || !array_selects(array, &array->columns) ? keys : &array->columns;
    }
    json_put_open(json, "\nlabels", '{');
    for (size_t i = 0; i < (report->source.count ? 2 : 1); i++) {
        const struct tokenized *text = texts[i];
        size_t size = (text->words ? text->word_count : text->count) - first;
        put_labels(json, names[i], (text->words ? text->word_labels : text->labels) + first, size);
        count = i == 0 ? size : count;
    }
    if (words)
        put_labels(json, "words", report->words, words);
    if (keys)
        put_labels(json, "with_sink", keys->labels, keys->size);
    json_put_close(json, '}');
    if (report->text.second)
        json_put_integer(json, "second",
                         (long long)report_second(&report->text, NULL, first, count));
}

/* --- facts ----------------------------------------------------------------------------------- */

/* Write the settings that turn scores into weights: scales, cap, ALiBi and normalisation. */
static void put_attention(struct json_writer *json, const struct config *config)
{
    static const char *const alibis[] = {[NO_BIAS] = "",
                                         [BIAS_ALIBI] = "bloom",
                                         [BIAS_ALIBI_ROUNDED] = "falcon",
                                         [BIAS_ALIBI_FROM_END] = "mpt",
                                         [BIAS_ALIBI_APART] = "jina",
                                         [BIAS_BUCKETS] = "table",
                                         [BIAS_DISENTANGLED] = "table"};
    static const struct score_rule nothing = {0};
    const struct sublayer *first = first_attention(config, BRANCH_TEXT);
    const struct score_rule *rule = first ? &first->score : &nothing;
    const struct stack *source = stack_of(config, BRANCH_SOURCE);
    const struct matrix none = {0};
    json_put_open(json, "\nattention", '{');
    json_put_bool(json, "linear", rule->kind == ATTENTION_LINEAR);
    json_put_bool(json, "renormalise", rule->mask_after);
    if (config->differs)
        json_put_bool(json, "differs", true);
    json_put_integer(json, "layers", (long long)config->n_layer);
    json_put_integer(json, "heads", (long long)config->n_head);
    json_put_open(json, "encoder", '{');
    json_put_integer(json, "layers", (long long)source->layers);
    json_put_integer(json, "heads", (long long)source->heads);
    json_put_close(json, '}');
    /* how many query heads share a key/value head, for each layer */
    json_put_open(json, "queries_of_a_key", '[');
    for (size_t layer = 0; layer < num_max(config->n_layer, source->layers); layer++)
        json_put_integer(json, NULL,
                         (long long)kv_head_shared_by(
                             stack_head(config, BRANCH_TEXT, num_min(layer, config->n_layer - 1))));
    json_put_close(json, ']');
    json_put_open(json, "scales", '{'); /* for each kind of attention, the scale in each layer */
    for (enum site_branch branch = 0; branch < SITE_BRANCHES; branch++) {
        enum site weights = SITE_OF(branch, SITE_WEIGHTS);
        if (!site_exists(config, weights))
            continue;
        json_put_open(json, site_name(weights), '[');
        for (size_t layer = 0; layer < site_layers(config, weights); layer++) {
            const struct sublayer *attention = attention_of(config, branch, layer);
            json_put_float(json, NULL, attention ? attention->score.scale : 0);
        }
        json_put_close(json, ']');
    }
    json_put_close(json, '}');
    json_put_float(json, "cap", rule->cap);
    json_put_text(json, "alibi", alibis[rule->bias]);
    json_put_open(json, "slopes", '[');
    for (size_t head = 0; head < config->n_head; head++)
        json_put_float(json, NULL, score_head_bias(rule, NULL, head, none, none).slope);
    json_put_close(json, ']');
    json_put_float(json, "temperature", rule->temperature);
    json_put_close(json, '}');
}

static void put_exact(struct json_writer *json, const char *name, const float *values, size_t count,
                      size_t stride)
{
    struct base64 exact = {.out = json->stream};
    json_put_raw(json, name, "\"");
    for (size_t i = 0; i < count; i++)
        put_bytes(&exact, &values[i * stride], sizeof *values);
    end_base64(&exact);
    stream_char(json->stream, '"');
}

/* Write predictions and the names of their tokens. */
static void put_next(struct json_writer *json, const struct next_tokens *next,
                     const struct config *config)
{
    static const char *const steps[STREAM_STEPS] = {"embedding", "attention", "cross-attention",
                                                    "mlp", "layer"};
    json_put_open(json, "\nnext", '{');
    json_put_open(json, "layers", '[');
    for (size_t i = 0; i < next->layer_count; i++) {
        const struct next_of_step *layer = &next->layers[i];
        size_t count = layer->count * layer->best_count;
        json_put_open(json, "\n", '{');
        bool mixes = layer->step == STEP_ATTENTION && config_keeps_state(config) &&
                     !attention_of(config, BRANCH_TEXT, layer->layer);
        json_put_text(json, "step", mixes ? "mixer" : steps[layer->step]);
        json_put_integer(json, "layer", (long long)layer->layer);
        if (layer->first)
            json_put_integer(json, "first", (long long)layer->first);
        json_put_integer(json, "count", (long long)layer->best_count);
        json_put_open(json, "ids", '[');
        json->compact = true;
        for (size_t k = 0; k < count; k++)
            json_put_integer(json, NULL, layer->best[k].id);
        json->compact = false;
        json_put_close(json, ']');
        put_exact(json, "logprobs", &layer->best->logprob, count,
                  sizeof *layer->best / sizeof layer->best->logprob);
        put_exact(json, "came", layer->came, layer->count, 1);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');

    json_put_open(json, "\nnames", '[');
    json->compact = true;
    for (size_t i = 0; i < next->name_count; i++) {
        json_put_integer(json, NULL, next->named[i]);
        json_put_text(json, NULL, next->names[i].text);
    }
    json->compact = false;
    json_put_close(json, ']');
    json_put_close(json, '}');
}

/* The sites, of every attention branch of the model, whose tensors explain cells of attention
 * maps. */
static const enum site explained_sites[] = {
    SITE_Q_PRE,   SITE_K_PRE,  SITE_Q,       SITE_K,          SITE_V,      SITE_SCORES,
    SITE_SOFTMAX, SITE_MASKED, SITE_WEIGHTS, SITE_DIFFERENCE, SITE_CONTEXT};

struct site_set page_explained_sites(const struct config *config)
{
    static const enum site of_mixers[] = {SITE_Q, SITE_K, SITE_STEP, SITE_DECAY, SITE_WEIGHTS};
    struct site_set all = {0};
    for (size_t i = 0; config->mixer.d_v > 1 && i < sizeof of_mixers / sizeof *of_mixers; i++)
        site_set_add(&all, SITE_OF(BRANCH_MIXER, of_mixers[i]));
    for (int branch = 0; branch < ATTENTION_BRANCHES; branch++)
        for (size_t i = 0; i < sizeof explained_sites / sizeof *explained_sites; i++)
            if (site_exists(config, SITE_OF(branch, explained_sites[i])))
                site_set_add(&all, SITE_OF(branch, explained_sites[i]));
    return all;
}

struct site_set page_journey_sites(const struct config *config)
{
    struct site_set all = {0};
    for (int branch = 0; branch < ATTENTION_BRANCHES; branch++)
        site_set_join(&all, SITE_SET(SITE_OF(branch, SITE_Q), SITE_OF(branch, SITE_K),
                                     SITE_OF(branch, SITE_V), SITE_OF(branch, SITE_MASKED)));
    return site_set_both(all, model_sites(config));
}

/* Return the site of the output that a sublayer adds to the stream. */
static enum site added_site(const struct sublayer *s)
{
    return SITE_OF(s->branch, s->norm_out ? s->at_out_norm : s->at_out);
}

struct site_set page_stream_sites(const struct config *config)
{
    struct site_set all = SITE_SET(SITE_RESID_PRE, SITE_LN_1, SITE_CONTEXT);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct layer *own = layer_of(config, BRANCH_TEXT, layer);
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++) {
            const enum site sums[] = {*s->at_sum, sublayer_end(s)};
            site_set_add(&all, added_site(s));
            for (size_t i = 0; i < 2; i++)
                if (sums[i])
                    site_set_add(&all, SITE_OF(sublayer_stream_branch(s, sums[i]), sums[i]));
        }
    }
    if (site_exists(config, SITE_OF(BRANCH_CROSS, SITE_CONTEXT)))
        site_set_add(&all, SITE_OF(BRANCH_CROSS, SITE_CONTEXT));
    return site_set_both(all, model_sites(config));
}

/* Write the sublayers of each layer in order: the kind, the output that is added to the stream, the
 * streams after it (before a norm and after it), and the factor of the output. */
static void put_blocks(struct json_writer *json, const struct config *config)
{
    static const char *const kinds[SITE_BRANCHES] = {[BRANCH_CROSS] = "cross-attention",
                                                     [BRANCH_PER_LAYER] = "layer input",
                                                     [BRANCH_MIXER] = "mixer",
                                                     [BRANCH_LAUREL] = "low-rank branch"};
    json_put_open(json, "\nblocks", '[');
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct layer *own = layer_of(config, BRANCH_TEXT, layer);
        json_put_open(json, NULL, '[');
        json->compact = true;
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++) {
            const enum site sums[] = {*s->at_sum, sublayer_end(s)};
            const char *usual = s->kind == SUBLAYER_MLP ? "MLP" : "attention";
            json_put_open(json, NULL, '{');
            json_put_text(json, "kind", kinds[s->branch] ? kinds[s->branch] : usual);
            json_put_text(json, "adds", site_name(added_site(s)));
            json_put_float(json, "factor", s->factor);
            json_put_bool(json, "rotates", s->kind <= SUBLAYER_ATTEND_SOURCE && s->head.rotary);
            json_put_open(json, "sums", '[');
            for (size_t i = sums[0] == sums[1]; i < 2; i++)
                if (sums[i])
                    json_put_text(json, NULL,
                                  site_name(SITE_OF(sublayer_stream_branch(s, sums[i]), sums[i])));
            json_put_close(json, ']');
            json_put_close(json, '}');
        }
        json->compact = false;
        json_put_close(json, ']');
    }
    json_put_close(json, ']');
}

static void put_journey(struct json_writer *json, const char *name,
                        const struct page_journey *journey)
{
    if (!journey->report)
        return;
    json_put_open(json, name, '{');
    json_put_integer(json, "query", journey->query);
    json_put_open(json, "tensors", '[');
    for (size_t i = 0; i < journey->report->array_count; i++)
        put_tensor(json, journey->report, &journey->report->arrays[i], journey->exact);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

size_t page_explained_numbers(const struct config *config, size_t tokens)
{
    size_t layers = config_layers(config);
    return layers * config_most_heads(config) * tokens * 5 *
           (num_max(num_max(config->d_k, config->wide.d), config->mixer.d_k) + tokens);
}

static void put_scores(struct json_writer *json, const struct sheet *scores)
{
    size_t count = scores->columns.size;
    json_put_open(json, "\nscores", '{');
    json_put_open(json, "names", '[');
    for (size_t i = 0; i < count; i++)
        json_put_text(json, NULL, scores->columns.labels[i].plain);
    json_put_close(json, ']');
    put_labels(json, "heads", scores->rows.labels, scores->rows.size);
    json_put_open(json, "values", '[');
    for (size_t i = 0; i < scores->rows.size; i++)
        json_put_floats(json, "\n", scores->values + i * count, count);
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static void put_roles(struct json_writer *json, const struct roles *roles)
{
    json_put_open(json, "\nroles", '{');
    json_put_float(json, "least", (float)roles->least);
    json_put_float(json, "times", (float)roles->times);
    json_put_open(json, "items", '[');
    for (size_t i = 0; i < roles->count; i++) {
        json_put_open(json, NULL, '{');
        json_put_text(json, "score", roles->items[i].score);
        json_put_text(json, "name", roles->items[i].name);
        json_put_text(json, "brief", roles->items[i].brief);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static void put_site(struct json_writer *json, const struct config *config, enum site site)
{
    size_t layers = site_row(site)->in_layer ? site_layers(config, site) : 0;
    if (!site_exists(config, site) || site_is_by_name(site))
        return;
    json_put_text(json, NULL, site_name(site));
    json_put_integer(json, NULL, (long long)layers);
}

/* Write the sites of a pass in order of computation, with the number of layers of each. If norms
 * are applied to the sums (post-norm), a norm follows its sum. */
static void put_sites(struct json_writer *json, const struct config *config)
{
    json_put_open(json, "\nsites", '[');
    json->compact = true;
    const struct site_set sites = model_sites(config);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        enum site id = site_id(site);
        bool last = layer_of(config, BRANCH_TEXT, 0)->sublayers->norm_after;
        if (!last || (id != SITE_LN_1 && id != SITE_LN_2))
            put_site(json, config, site);
        if (last && (id == SITE_RESID_MID || id == SITE_RESID_POST))
            put_site(json, config,
                     SITE_OF(site_branch(site), id == SITE_RESID_MID ? SITE_LN_1 : SITE_LN_2));
    }
    json->compact = false;
    json_put_close(json, ']');
}

/* Write the rows of a table as lists of their cells. */
static void put_rows(struct json_writer *json, const struct table *table)
{
    json_put_open(json, table->name, '[');
    for (size_t row = 0; row < table->rows.size; row++) {
        json_put_open(json, NULL, '[');
        for (size_t i = 0; i < table->count; i++) {
            const struct column *column = &table->columns[i];
            if (column->flags & COLUMN_TEXT_ONLY)
                continue;
            if (column_is_text(column))
                json_put_text(json, NULL, column_text(column, row, false));
            else
                json_put_float(json, NULL, (float)column_number(column, row));
        }
        json_put_close(json, ']');
    }
    json_put_close(json, ']');
}

static void put_origin(struct json_writer *json, const struct page_origin *origin)
{
    const struct report *report = origin->report;
    json_put_open(json, "\n", '{');
    json->compact = true;
    json_put_text(json, "of", site_name(origin->weights));
    json_put_integer(json, "layer", (long long)origin->layer);
    json_put_integer(json, "head", (long long)origin->head);
    json_put_integer(json, "query", (long long)origin->query);
    json_put_integer(json, "key", (long long)origin->key);
    json_put_bool(json, "less_mean", origin->less_mean);
    json_put_float(json, "score", (float)origin->score);
    put_labels(json, "columns", report->arrays->columns.labels, report->arrays->columns.size);
    json->compact = true;
    json_put_open(json, "sides", '[');
    for (size_t i = 0; i < report->array_count; i++) {
        json_put_open(json, NULL, '{');
        put_numbers(json, report, &report->arrays[i], false);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    /* skip the first table, since "sides" already has its numbers */
    for (size_t i = 1; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY))
            put_rows(json, &report->tables[i]);
    json->compact = false;
    json_put_close(json, '}');
}

void page_origin_put(struct stream *out, const struct page_origin *origin)
{
    struct json_writer json = {.stream = out, .in_html = true};
    put_origin(&json, origin);
}

static void put_guess(struct json_writer *json, const char *token, const char *probability,
                      const struct guess *guess)
{
    if (!guess->token.text)
        return;
    json_put_text(json, token, guess->token.text);
    json_put_float(json, probability, (float)guess->probability);
}

/* Write the findings of a text, and the prediction that is told with the first finding. */
static void put_findings(struct json_writer *json, const struct findings *findings)
{
    static const char *const kinds[FINDING_KINDS] = {"acts", "looks"};
    json_put_open(json, "\nfindings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *one = &findings->items[i];
        json_put_open(json, "\n", '{');
        json_put_text(json, "kind", kinds[one->kind]);
        json_put_text(json, "map", site_name(one->map));
        json_put_integer(json, "layer", (long long)one->layer);
        json_put_integer(json, "head", (long long)one->head);
        json_put_integer(json, "query", (long long)one->query);
        json_put_integer(json, "key", (long long)one->key);
        json_put_float(json, "weight", (float)one->weight);
        json_put_float(json, "s", (float)one->s);
        if (isfinite(one->d))
            json_put_float(json, "d", (float)one->d);
        put_guess(json, "token", "probability", &one->says);
        put_guess(json, "without", "without_probability", &one->without);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    if (!findings->says.token.text)
        return;
    json_put_open(json, "\npredicts", '{');
    json_put_integer(json, "row", (long long)findings->row);
    put_guess(json, "token", "probability", &findings->says);
    json_put_close(json, '}');
}

void page_findings_put(struct stream *out, const struct findings *findings)
{
    struct json_writer json = {.stream = out, .in_html = true};
    json_put_open(&json, NULL, '{');
    put_findings(&json, findings);
    json_put_close(&json, '}');
}

static void put_features(struct json_writer *json, const struct page_features *features)
{
    const struct table *facts = features->report->facts;
    json_put_open(json, "\n", '{');
    json->compact = true;
    json_put_text(json, "name", features->name);
    for (size_t i = 0; i < facts->count; i++)
        if (column_is_text(&facts->columns[i]))
            json_put_text(json, facts->columns[i].name, column_text(&facts->columns[i], 0, false));
        else
            json_put_float(json, facts->columns[i].name,
                           (float)column_number(&facts->columns[i], 0));
    put_rows(json, features->report->tables);
    json->compact = false;
    json_put_close(json, '}');
}

static void put_lesson(struct json_writer *json, const char *name, const struct page_lesson *lesson)
{
    json_put_open(json, name, '{');
    json_put_text(json, "title", lesson->title);
    json_put_text(json, "point", lesson->point);
    json_put_text(json, "before", lesson->before);
    json_put_text(json, "line", lesson->line);
    json_put_text(json, "look", lesson->look);
    if (lesson->also)
        json_put_text(json, "also", lesson->also);
    if (lesson->caption)
        json_put_text(json, "caption", lesson->caption);
    if (lesson->picture)
        json_put_text(json, "picture", lesson->picture);
    if (lesson->labels)
        json_put_text(json, "labels", lesson->labels);
    json_put_text(json, "marks", lesson->marks);
    json_put_text(json, "figures", lesson->figures);
    json_put_text(json, "question", lesson->question);
    json_put_text(json, "answer", lesson->answer);
    if (lesson->chinese)
        put_lesson(json, "\nchinese", lesson->chinese);
    if (lesson->arithmetic)
        json_put_text(json, "arithmetic", lesson->arithmetic);
    json_put_bool(json, "parts", lesson->parts != NULL);
    if (lesson->channels)
        json_put_text(json, "channels", lesson->channels);
    if (lesson->scene)
        json_put_text(json, "scene", lesson->scene);
    json_put_bool(json, "walk", lesson->walk);
    json_put_bool(json, "scale", lesson->scale);
    if (lesson->is_other)
        json_put_integer(json, "of", (long long)lesson->of);
    json_put_close(json, '}');
}

static void put_facts(struct json_writer *json, const struct page_facts *facts)
{
    static const char *const rules[] = {
        [MIXER_ADD] = "add", [MIXER_DELTA] = "delta", [MIXER_CONVOLVE] = "convolve"};
    if (facts->run)
        json_put_text(json, "\nrun", facts->run);
    /* write the input as on the command line: text or token ids */
    if (facts->text->raw && !facts->by_ids) {
        json_put_bytes(json, "\ntext", facts->text->raw, facts->text->size);
    } else {
        json_put_open(json, "\nids", '[');
        for (size_t i = 0; i < facts->text->count; i++)
            json_put_integer(json, NULL, facts->text->tokens[i].id);
        json_put_close(json, ']');
    }
    const size_t tokens[] = {facts->text->count, facts->source ? facts->source->count : 0};
    json_put_integers(json, "\ntokens", tokens, 2);
    const struct config *c = facts->config;
    const size_t opens = tokenized_opening(facts->text, c, facts->mask);
    json_put_integer(json, "\nopens", (long long)opens);
    if (config_classifies(c))
        json_put_bool(json, "classes", true);
    if (facts->mask >= 0 || config_classifies(c)) {
        json_put_open(json, "masks", '[');
        for (size_t i = 0; i < facts->text->count; i++)
            if (!config_classifies(c) ? facts->text->ids[i] == facts->mask
                                      : i == opens || c->answers == ANSWER_OF_EACH)
                json_put_integer(json, NULL, (long long)i);
        json_put_close(json, ']');
    }
    const size_t added[] = {facts->text->added_after,
                            facts->source ? facts->source->added_after : 0};
    json_put_integers(json, "added_after", added, 2);
    size_t part = tokenized_first_part(facts->text);
    if (part < facts->text->count && !facts->text->words)
        json_put_integer(json, "splits", (long long)part);
    if (facts->untrained)
        json_put_bool(json, "untrained", true);
    if (facts->weights) { /* commands on the page read these files, which have no sites other than
                           * the tensors shown */
        json_put_open(json, "\nfiles", '[');
        json_put_text(json, NULL, "--weights");
        json_put_text(json, NULL, facts->weights);
        if (facts->tokens) {
            json_put_text(json, NULL, "--tokens");
            json_put_text(json, NULL, facts->tokens);
        }
        json_put_close(json, ']');
    }
    put_sites(json, facts->config);
    if (facts->scores)
        put_scores(json, facts->scores);
    if (facts->roles)
        put_roles(json, facts->roles);
    if (facts->lesson)
        put_lesson(json, "\nlesson", facts->lesson);
    put_attention(json, facts->config);
    if (config_keeps_state(c)) {
        const struct mixer *mixer = &c->mixer;
        json_put_open(json, "\nmixer", '{');
        json_put_text(json, "rule", rules[mixer->update]);
        json_put_bool(json, "channels", mixer_of_channels(mixer));
        json_put_integer(json, "heads_of_a_key", (long long)(mixer->heads / mixer->key_heads));
        json_put_close(json, '}');
    }
    json_put_integer(json, "\nexplained_bytes", (long long)facts->explained_bytes);
    json_put_open(json, "\nexplained", '[');
    for (size_t i = 0; facts->explained && i < facts->explained->array_count; i++)
        put_tensor(json, facts->explained, &facts->explained->arrays[i], true);
    json_put_close(json, ']');
    json_put_open(json, "\norigins", '[');
    for (size_t i = 0; i < facts->origin_count; i++)
        put_origin(json, &facts->origins[i]);
    json_put_close(json, ']');
    put_blocks(json, c);
    put_journey(json, "\nstreams", &facts->streams);
    put_journey(json, "\njourney", &facts->journey);
    if (facts->feature_count)
        json_put_open(json, "\nfeatures", '[');
    for (size_t i = 0; i < facts->feature_count; i++)
        put_features(json, &facts->features[i]);
    if (facts->feature_count)
        json_put_close(json, ']');
    if (facts->next)
        put_next(json, facts->next, facts->config);
    if (facts->findings)
        put_findings(json, facts->findings);
    if (facts->without_heads) {
        size_t heads = facts->config->n_layer * facts->config->n_head;
        json_put_floats(json, "\neffects", facts->without_heads, heads);
    }
    if (facts->without_keys)
        json_put_floats(json, "\nwithout", facts->without_keys, tokens[0] + tokens[1]);
    if (facts->without_top)
        put_labels(json, "\nwithout_top", facts->without_top, tokens[0] + tokens[1]);
    json_put_open(json, "\ncommand", '[');
    for (size_t i = 0; i < facts->command_count; i++)
        json_put_text(json, NULL, facts->command[i]);
    json_put_close(json, ']');
}

static int put_title(struct json_writer *json, const char *name, const struct tokenized *text,
                     struct err *err)
{
    struct buf title = {0};
    tokenized_visible(&title, text);
    int failed = buf_check(&title, err);
    json_put_bytes(json, name, title.bytes ? title.bytes : "", title.size);
    buf_release(&title);
    return failed;
}

int page_text_put(struct stream *out, const struct report *report, bool exact,
                  const struct page_facts *facts, struct err *err)
{
    struct json_writer json = {.stream = out, .in_html = true};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model", report_model_name(report));
    int failed = put_title(&json, "title", &report->text, err) ||
                 (report->source.count && put_title(&json, "source", &report->source, err));
    put_all_labels(&json, report);
    json_put_open(&json, "\ntensors", '[');
    for (size_t i = 0; i < report->array_count; i++)
        put_tensor(&json, report, &report->arrays[i], exact);
    json_put_close(&json, ']');
    if (facts)
        put_facts(&json, facts);
    json_put_close(&json, '}');
    return err_if(failed);
}
