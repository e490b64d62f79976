/* examples.c: `attn-cli examples`: lists the tokens with the largest activations. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/sparse_features.h"
#include "model/points.h"

struct own_options {
    const char *channel, *feature;
    bool smallest;
};

static const struct option_row own_options[] = {
    STRING("site", 0, "SITE", IN(lens.site),
           "tensor of channels (default: mlp_act); mlp_act is the neurons; with experts: mlp_out",
           .heading = "What is searched"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 (last, default), or all"),
    STRING("channel", 0, "LIST", OWN(channel), "channels: 0,3-5, all (default)"),
    STRING("feature", 0, "LIST", OWN(feature),
           "features of --sae instead: 27,60-63, or all; with the share of tokens where each is "
           "active, and its mean there"),
    INTEGER("top", 0, "N", IN(lens.best), 1, 10000,
            "tokens of each (default: 10); texts and positions count from 0, ranks from 1",
            .preset = 10),
    FLAG("smallest", 0, OWN(smallest), "the most negative activations; default: the most positive"),
    {0},
};

enum { TOKENS_BEFORE = 8, TOKENS_AFTER = 4 };

struct example {
    float activation; /* the activation, negated for --smallest; -INFINITY: no example yet */
    int layer;
    bool goes_on; /* the text has tokens after `ids` */
    /* `text`: number of the item; `item`: its index; `position`: index of the token */
    size_t text, item, position;
    size_t count; /* number of `ids`, which begin at most TOKENS_BEFORE tokens before `position` */
    uint32_t ids[TOKENS_BEFORE + 1 + TOKENS_AFTER];
};

struct examples_state {
    struct selection selection;
    const struct dictionary *dictionary; /* the features to search; NULL: search channels */
    struct feature_total {
        size_t tokens; /* number of tokens at which the feature is active */
        double sum;
    } * totals; /* [channel_count] totals of each selected feature; NULL: channels are searched, not
                 * features */
    /* if features are searched: number of tokens of all texts, without tokens put before a text */
    size_t tokens;
    const size_t *channels; /* [channel_count] indices of channels or features; NULL: all */
    size_t channel_count, layers, top, count;
    float sign;           /* 1: find the largest activations; -1: the smallest */
    struct example *best; /* [layers, channel_count, top] the best examples, sorted */
};

/* Select features of --sae, which are searched in place of channels. */
static int open_features(struct examples_state *own, const struct own_options *given,
                         struct driver *driver, struct err *err)
{
    struct session *session = &driver->session;
    if (options_exclude(session->options, "feature", "site layer channel smallest", err))
        return -1;
    if (session->dictionary_count != 1)
        return err_usage(err, "--feature: expected one --sae DIR, found %zu",
                         session->dictionary_count);
    own->dictionary = session->dictionaries;
    features_select(&own->selection, own->dictionary);
    const struct index_range range = {"--feature", "dictionary", "feature", own->dictionary->count};
    if (selection_indices(&own->channels, &own->channel_count, given->feature, &range,
                          &session->arena, err))
        return -1;
    own->totals = arena_alloc(&session->arena, own->channel_count, sizeof *own->totals, err);
    return own->totals ? 0 : -1;
}

/* Select the channels of --site. */
static int open_channels(struct examples_state *own, const struct own_options *given,
                         struct driver *driver, struct err *err)
{
    const struct options *options = driver->session.options;
    const struct config *config = &driver->session.viewer.model.config;
    bool has_neurons = site_is_in_layer(config, SITE_MLP_ACT, config->n_layer - 1);
    const char *name = options->lens.site ? options->lens.site
                       : has_neurons      ? "mlp_act"
                                          : "mlp_out";
    const char *layers = options->select.layer ? options->select.layer : "-1";
    struct arena *arena = &driver->session.arena;
    enum site site = 0;
    struct index_range range = {"--channel", "tensor", "channel", 0};
    if (selection_of_channels(&own->selection, &site, name, layers, config, arena, err))
        return -1;
    site_size(&range.count, config, site, 1, 1, 1);
    own->layers = selection_layers_of(&own->selection, site).count;
    return selection_indices(&own->channels, &own->channel_count, given->channel, &range, arena,
                             err);
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct examples_state *own = state;
    const struct options *options = driver->session.options;
    const struct own_options *given = options_own(options);
    *own = (struct examples_state){
        .layers = 1, .top = (size_t)options->lens.best, .sign = given->smallest ? -1 : 1};
    if ((given->feature ? open_features : open_channels)(own, given, driver, err))
        return -1;
    own->count = own->layers * own->channel_count * own->top;
    own->best = arena_alloc(&driver->session.arena, own->count, sizeof *own->best, err);
    for (size_t i = 0; own->best && i < own->count; i++)
        own->best[i].activation = -INFINITY;
    return own->best ? 0 : -1;
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    const struct examples_state *own = state;
    (void)arena;
    (void)err;
    viewer_add_memory(&job->memory, &driver->session.viewer, &own->selection, &job->pair,
                      CAPTURE_ALL);
    return 0;
}

static int run(void *state, const struct group *group, struct err *err)
{
    const struct examples_state *own = state;
    const struct feature_plan plan = {group->viewer, own->dictionary};
    int failed = group_capture(group, &own->selection, err);
    for (size_t i = 0; own->dictionary && i < group->count && !failed; i++) {
        struct job *job = group->jobs[i];
        struct feature_row *rows = NULL;
        struct matrix x;
        failed = features_of_report(&rows, &x, &plan, &job->report, group->arena, err);
        job->own = rows;
    }
    return failed;
}

/* Insert an activation at a token of a text into `best`, the sorted examples of a channel or
 * feature, if the activation is larger than the activation of the last example. */
static void offer(struct example *best, const struct examples_state *own, const struct job *job,
                  const struct tokenized *text, int layer, size_t row, float value)
{
    /* of equal activations, the earlier example stays */
    if (!(value > best[own->top - 1].activation))
        return;
    size_t first = row < TOKENS_BEFORE ? 0 : row - TOKENS_BEFORE, at = own->top - 1;
    size_t end = num_min(row + TOKENS_AFTER + 1, text->count);
    struct example entry = {value,      layer, end < text->count, job->item.number,
                            job->index, row,   end - first,       {0}};
    memcpy(entry.ids, text->ids + first, entry.count * sizeof *entry.ids);
    for (; at && value > best[at - 1].activation; at--)
        best[at] = best[at - 1];
    best[at] = entry;
}

/* Add the active features of each token to the totals of these features, and offer them as
 * examples. The tokens that a tokenizer puts before the text are left out. */
static void add_features(struct examples_state *own, const struct job *job)
{
    const struct tokenized *text = &job->report.text;
    const struct feature_row *rows = job->own;
    for (size_t i = text->added_before; i < text->count; i++, own->tokens++)
        for (size_t j = 0, k = 0; j < rows[i].count; j++) {
            const struct feature *f = &rows[i].items[j];
            while (own->channels && k < own->channel_count && own->channels[k] < f->id)
                k++;
            k = own->channels ? k : f->id;
            if (k == own->channel_count || (own->channels && own->channels[k] != f->id))
                continue;
            own->totals[k].tokens++;
            own->totals[k].sum += (double)f->value;
            offer(own->best + k * own->top, own, job, text, (int)own->dictionary->layer, i,
                  f->value);
        }
}

static int add(void *state, struct job *job, struct err *err)
{
    struct examples_state *own = state;
    (void)err;
    if (own->dictionary)
        add_features(own, job);
    for (size_t i = 0; !own->dictionary && i < job->report.array_count * own->channel_count; i++) {
        const struct array *array = &job->report.arrays[i / own->channel_count];
        const struct tokenized *text = report_queries(&job->report, site_branch(array->site));
        size_t k = i % own->channel_count, channel = own->channels ? own->channels[k] : k;
        for (size_t row = 0; row < array->rows.size; row++)
            offer(own->best + i * own->top, own, job, text, array->layer, row,
                  own->sign * array->data[row * array->columns.size + channel]);
    }
    return 0;
}

static int end(void *state, struct driver *driver, struct err *err)
{
    enum { KEY = COLUMN_KEY | COLUMN_LEADS };
    struct examples_state *own = state;
    const struct viewer *viewer = &driver->session.viewer;
    struct table table;
    struct table_rows rows = {.most = own->count, .arena = &driver->session.arena, .err = err};
    struct report report;
    const struct items *items = &driver->items;
    const struct identity_column **columns = /* [items->count] columns of each item that has a row;
                                              * NULL: not read yet */
        arena_alloc(rows.arena, items->count, sizeof *columns, err);
    if (!columns || viewer_report(&report, viewer, rows.arena, err))
        return -1;
    report.about = own->sign < 0 ? "smallest activations" : "largest activations";
    report.tables = &table;
    report.table_count = 1;
    for (size_t i = 0; i < own->count && !err->kind; i++) {
        const struct example *example = &own->best[i];
        size_t rank = i % own->top, k = i / own->top % own->channel_count;
        if (example->activation == -INFINITY)
            continue;
        size_t at = num_min(example->position, TOKENS_BEFORE);
        const char *text =
            wording_around(example->ids, example->count, at, viewer->tokenizer, rows.arena, err);
        text = arena_format(rows.arena, err, "%s%s%s", example->position > at ? "…" : "",
                            text ? text : "", example->goes_on ? "…" : "");
        struct label token = label_of_word(viewer->tokenizer, example->ids[at], rows.arena, err);
        const struct identity_column **own_columns = &columns[example->item];
        struct item item;
        if (!err->kind && items->names.count && !*own_columns &&
            !items_read(items, &item, example->item, rows.arena, err))
            *own_columns = item.columns;
        if (err->kind)
            break;
        const struct feature_total *total = own->totals ? &own->totals[k] : NULL;
        k = own->channels ? own->channels[k] : k;
        for (size_t c = 0; c < items->names.count; c++)
            rows_text(&rows, (*own_columns)[c].name, KEY | COLUMN_DATA_ONLY,
                      (*own_columns)[c].value);
        rows_integer(&rows, "layer", COLUMN_KEY, example->layer);
        rows_integer(&rows, own->dictionary ? "feature" : "channel", KEY, (long long)k);
        rows_integer(&rows, "rank", KEY, (long long)rank + 1);
        rows_integer(&rows, "sentence", KEY, (long long)example->text);
        rows_integer(&rows, "position", COLUMN_KEY, (long long)example->position);
        rows_label(&rows, "token", COLUMN_KEY, token);
        rows_float(&rows, (struct column){"activation", .digits = 4},
                   (double)(own->sign * example->activation));
        if (total) {
            rows_float(&rows, (struct column){"share", .digits = 4},
                       (double)total->tokens / (double)own->tokens);
            rows_float(&rows, (struct column){"mean", .digits = 4},
                       total->sum / (double)total->tokens);
        }
        token = label_borrowed(text, false, rows.arena, err);
        rows_label(&rows, "surroundings", COLUMN_SHRINKS | COLUMN_LEADS, token);
        rows_next(&rows);
    }
    return err_if(rows_finish(&table, &rows, "examples", "example") ||
                  driver_write(driver, &report, err));
}

static const struct task examples_task = {
    .many = ITEMS_SOME,
    .pages = "attn-cli page",
    .folder = "csv",
    .state_bytes = sizeof(struct examples_state),
    .open = open,
    .read = read,
    .at_once = true,
    .accumulates = true,
    .run = run,
    .add = add,
    .end = end,
};

const struct command command_examples = {
    .name = "examples",
    .heading = "Look",
    .about = "texts in which a neuron or feature is largest",
    .operands = "[TEXT]...",
    .most_used = "-f corpus.txt\n"
                 "-m smollm2.gguf\n"
                 "--layer 1\tlayers (default: -1, the last)\n"
                 "--channel 12\n"
                 "--sae demo\tfolder of an autoencoder\n"
                 "--feature 27\tfeatures of --sae: 27,60-63, all\n"
                 "--top 20\n"
                 "-o neurons.csv\n",
    .examples = "attn-cli examples -f corpus.txt --layer 1 --channel 12 --top 20\n"
                "attn-cli examples -f corpus.txt --channel all --top 5 -o neurons.csv\n"
                "attn-cli examples -f corpus.txt --sae demo --feature 27 --top 20\n",
    .task = &examples_task,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, output_options,
               terminal_options},
    .without = "words",
    .draws = true,
};
