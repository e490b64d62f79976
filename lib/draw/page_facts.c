#include "draw/page_facts.h"

#include "draw/page_values.h"
#include "model/attention_strip.h"
#include "model/mechanism.h"

/* How a score becomes a weight. */
static void put_attention(struct json_writer *json, const struct config *config)
{
    static const char *const alibis[] = {"", "bloom", "falcon"};
    const struct mechanism *mechanism = &config->mechanism;
    size_t layers =
        config->n_layer > config->n_encoder_layer ? config->n_layer : config->n_encoder_layer;
    bool cools =
        mechanism->temperature > 0 && (config->score_cap > 0 || attention_slope(config, 0) > 0);
    json_put_open(json, "\nattention", '{');
    json_put_bool(json, "linear", mechanism->kind == ATTENTION_LINEAR);
    json_put_bool(json, "renormalise", mechanism->renormalise);
    json_put_integer(json, "layers", (long long)config->n_layer);
    json_put_integer(json, "heads", (long long)config->n_head);
    json_put_integer(json, "queries_of_a_key", (long long)(config->n_head / config->n_kv_head));
    json_put_integer(json, "width", (long long)config->d_k);
    json_put_open(json, "scales", '[');
    for (size_t layer = 0; layer < layers; layer++)
        json_put_float(json, NULL,
                       cools ? mechanism_base_scale(config, layer)
                             : mechanism_scale(config, layer));
    json_put_close(json, ']');
    json_put_float(json, "cap", config->score_cap);
    json_put_text(json, "alibi", alibis[config->alibi]);
    json_put_open(json, "slopes", '[');
    for (size_t head = 0; head < config->n_head; head++)
        json_put_float(json, NULL, attention_slope(config, head));
    json_put_close(json, ']');
    json_put_float(json, "temperature", cools ? mechanism->temperature : 0);
    json_put_float(json, "dropout", mechanism->dropout);
    json_put_close(json, '}');
}

static void put_explained(struct json_writer *json, const struct page_facts *facts)
{
    const struct report *report = facts->explained;
    json_put_integer(json, "\nexplained_bytes", (long long)facts->explained_bytes);
    json_put_open(json, "\nexplained", '[');
    for (size_t i = 0; report && i < report->tensor_count; i++)
        page_tensor_put(json, report, &report->tensors[i], true);
    json_put_close(json, ']');
}

static void put_exact(struct json_writer *json, const char *name, const float *values, size_t count,
                      size_t stride)
{
    struct page_exact exact = {.out = json->stream};
    json_put_raw(json, name, "\"");
    for (size_t i = 0; i < count; i++)
        page_exact_put(&exact, values[i * stride]);
    page_exact_end(&exact);
    stream_char(json->stream, '"');
}

static void put_next_layer(struct json_writer *json, const struct page_next_layer *layer,
                           size_t tokens)
{
    static const char *const steps[PAGE_STEPS] = {"embedding", "attention", "mlp", "layer"};
    size_t count = tokens * layer->best_count;
    json_put_open(json, "\n", '{');
    json_put_text(json, "step", steps[layer->step]);
    json_put_integer(json, "layer", (long long)layer->layer);
    json_put_integer(json, "count", (long long)layer->best_count);
    json_put_open(json, "ids", '[');
    json->compact = true;
    for (size_t i = 0; i < count; i++)
        json_put_integer(json, NULL, layer->best[i].id);
    json->compact = false;
    json_put_close(json, ']');
    put_exact(json, "logprobs", &layer->best->logprob, count,
              sizeof *layer->best / sizeof layer->best->logprob);
    put_exact(json, "came", layer->came, tokens, 1);
    json_put_close(json, '}');
}

/* Predictions, and the names of all their tokens. */
static void put_next(struct json_writer *json, const struct page_next *next)
{
    json_put_open(json, "\nnext", '{');
    json_put_integer(json, "vocabulary", (long long)next->vocabulary);
    json_put_open(json, "layers", '[');
    for (size_t i = 0; i < next->layer_count; i++)
        put_next_layer(json, &next->layers[i], next->token_count);
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

/* What a command line says to look at it again: the text, or the ids that were given. */
static void put_text(struct json_writer *json, const struct tokenized *sentence)
{
    if (sentence->text) {
        json_put_bytes(json, "\ntext", sentence->text, sentence->size);
        return;
    }
    json_put_open(json, "\nids", '[');
    for (size_t i = 0; i < sentence->count; i++)
        json_put_integer(json, NULL, sentence->tokens[i].id);
    json_put_close(json, ']');
}

/* Of the attention of a text; others are like it. */
static const enum site explained_sites[] = {SITE_Q_PRE,   SITE_K_PRE,  SITE_Q,       SITE_K,
                                            SITE_V,       SITE_SCORES, SITE_SOFTMAX, SITE_MASKED,
                                            SITE_WEIGHTS, SITE_CONTEXT};

uint64_t page_explained_sites(const struct config *config)
{
    enum site_part last = config->n_encoder_layer ? PART_CROSS : PART_SENTENCE;
    uint64_t all = 0;
    for (int part = PART_SENTENCE; part <= (int)last; part++)
        for (size_t i = 0; i < sizeof explained_sites / sizeof *explained_sites; i++) {
            enum site site = site_of((enum site_part)part, explained_sites[i]);
            if (site_rows[site].part == (enum site_part)part && site_exists(config, site))
                all |= site_bit(site);
        }
    return all;
}

static void put_scores(struct json_writer *json, const struct page_scores *scores)
{
    json_put_open(json, "\nscores", '{');
    json_put_open(json, "names", '[');
    for (size_t i = 0; i < scores->name_count; i++)
        json_put_text(json, NULL, scores->names[i]);
    json_put_close(json, ']');
    json_put_open(json, "heads", '[');
    for (size_t i = 0; i < scores->count; i++) {
        const struct page_head *head = &scores->heads[i];
        json_put_open(json, "\n", '{');
        json_put_integer(json, "layer", (long long)head->layer);
        json_put_integer(json, "head", (long long)head->head);
        json_put_open(json, "values", '[');
        json->compact = true;
        for (size_t k = 0; k < scores->name_count; k++)
            json_put_text(json, NULL, head->values[k]);
        json->compact = false;
        json_put_close(json, ']');
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

static void put_site(struct json_writer *json, const struct config *config, enum site site)
{
    const struct site_row *row = &site_rows[site];
    bool in_encoder = row->part == PART_SOURCE && config->n_encoder_layer;
    if (!site_exists(config, site))
        return;
    json_put_text(json, NULL, row->name);
    json_put_integer(
        json, NULL,
        row->in_layer ? (long long)(in_encoder ? config->n_encoder_layer : config->n_layer) : 0);
}

/* What a pass announces, in its order, each with its layers; a norm that comes last stands after
 * its sum. */
static void put_sites(struct json_writer *json, const struct config *config)
{
    json_put_open(json, "\nsites", '[');
    json->compact = true;
    for (int site = 0; site < SITE_COUNT; site++) {
        if (config->norm_first || !site_rows[site].after)
            put_site(json, config, (enum site)site);
        for (int norm = 0; norm < SITE_COUNT && !config->norm_first; norm++)
            if (site_rows[norm].after == (enum site)site && site)
                put_site(json, config, (enum site)norm);
    }
    json->compact = false;
    json_put_close(json, ']');
}

static void put_lesson(struct json_writer *json, const struct page_lesson *lesson)
{
    json_put_open(json, "\nlesson", '{');
    json_put_integer(json, "number", (long long)lesson->number);
    json_put_integer(json, "count", (long long)lesson->count);
    json_put_text(json, "title", lesson->title);
    json_put_text(json, "before", lesson->before);
    json_put_text(json, "line", lesson->line);
    json_put_text(json, "look", lesson->look);
    json_put_text(json, "marks", lesson->marks);
    json_put_text(json, "question", lesson->question);
    json_put_text(json, "answer", lesson->answer);
    json_put_bool(json, "walk", lesson->is_walk);
    json_put_close(json, '}');
}

void page_facts_put(struct json_writer *json, const struct page_facts *facts)
{
    if (facts->run)
        json_put_text(json, "\nrun", facts->run);
    put_text(json, facts->sentence);
    const size_t tokens[] = {facts->sentence->count, facts->source ? facts->source->count : 0};
    json_put_integers(json, "\ntokens", tokens, 2);
    put_sites(json, facts->config);
    if (facts->scores)
        put_scores(json, facts->scores);
    if (facts->lesson)
        put_lesson(json, facts->lesson);
    put_attention(json, facts->config);
    put_explained(json, facts);
    if (facts->next)
        put_next(json, facts->next);
    json_put_open(json, "\ncommand", '[');
    for (size_t i = 0; i < facts->command_count; i++)
        json_put_text(json, NULL, facts->command[i]);
    json_put_close(json, ']');
}
