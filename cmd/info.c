/* info.c: `attn-cli info`: what a model is, what it holds, and what a run of it would take. */
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "command.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "model/parameter_table.h"
#include "model/pass.h"
#include "model/site.h"
#include "output.h"
#include "text/label.h"
#include "tokenizer_info.h"
#include "write/table.h"

enum {
    TOKENS_SHOWN = 16, /* sizes are given for, where a model has no limit of its own */
};

struct model_facts {
    const struct model *model;
    struct tokenizer_info tokenizer;
    size_t parameters;             /* numbers in all tensors, a tied matrix once */
    size_t weight_bytes;           /* as they lie in the file */
    size_t converted_bytes;        /* of weights that become float32 when they are first used */
    size_t tokens;                 /* of the text that sizes are told for */
    const char *dtype;             /* of the tensors; "mixed" */
    size_t site_bytes[SITE_COUNT]; /* what --show writes, over all layers */
    size_t all_bytes;
    char hash[SHA256_DIGITS + 1]; /* of the weights, with --hash; else "" */
};

static void count_tensors(struct model_facts *facts)
{
    const struct weights *weights = &facts->model->weights;
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        const struct safetensors_entry *entry = weights_parameter(weights, i).entry;
        if (!entry)
            continue;
        const char *dtype = dtype_name(entry->dtype);
        facts->parameters += entry->count;
        facts->weight_bytes += entry->end - entry->begin;
        bool is_widened = entry->dtype == DTYPE_BF16 || dtype_is_quantised(entry->dtype);
        bool is_read_in_place = entry->dtype == DTYPE_F32 || (is_widened && entry->rank > 1);
        facts->converted_bytes += is_read_in_place ? 0 : entry->count * sizeof(float);
        facts->dtype = !facts->dtype || facts->dtype == dtype ? dtype : "mixed";
    }
}

/* The float32 of a site over all its layers, for a text of some tokens; false: 64 bits are few. */
static bool site_bytes(size_t *bytes, const struct config *c, enum site site, size_t tokens)
{
    bool of_encoder = site_rows[site].part == PART_SOURCE;
    size_t layers = !site_rows[site].in_layer ? 1 : of_encoder ? c->n_encoder_layer : 0;
    for (size_t i = 0; site_rows[site].in_layer && !of_encoder && i < c->n_layer; i++)
        layers += site_is_in_layer(c, site, i);
    return site_size(bytes, c, site, c->n_head, tokens, tokens) &&
           num_multiply(bytes, *bytes, layers) && num_multiply(bytes, *bytes, sizeof(float));
}

static int count_outputs(struct model_facts *facts, struct err *err)
{
    const struct config *c = &facts->model->config;
    for (int site = 0; site < SITE_COUNT; site++) {
        size_t *bytes = &facts->site_bytes[site];
        if (!site_exists(c, (enum site)site))
            continue;
        if (!site_bytes(bytes, c, (enum site)site, facts->tokens) ||
            !num_add(&facts->all_bytes, facts->all_bytes, *bytes))
            return err_usage(err,
                             "--tokens: '%s' of %zu tokens is too large to be counted in bytes",
                             site_rows[site].name, facts->tokens);
    }
    return 0;
}

static void write_sizes(struct table *table, const struct model_facts *facts)
{
    static const struct table_column columns[] = {{.gap = 2, .width = 16, .left = true},
                                                  {.gap = 1, .width = 12}};
    char text[NUM_SIZE_BYTES];
    table_begin(table, columns, 2);
    stream_format(table->out,
                  "What --show gives for %zu tokens, all layers, as float32; csv and json take "
                  "about\nthree times that\n",
                  facts->tokens);
    for (int site = 0; site <= SITE_COUNT; site++) { /* and all together */
        bool all = site == SITE_COUNT;
        if (!all && !site_exists(&facts->model->config, (enum site)site))
            continue;
        table_text(table, all ? "all" : site_rows[site].name);
        table_text(table, num_size(text, all ? facts->all_bytes : facts->site_bytes[site]));
        table_end(table);
    }
}

/* A line of the page each, or a member of JSON. */
static int write_architecture(struct stream *out, struct json_writer *json, const struct config *c,
                              struct err *err)
{
    int failed = 0;
    for (size_t i = 0; i < architecture_row_count && !failed; i++) {
        struct buf words = {0};
        architecture_rows[i].write(&words, c);
        if (json)
            json_put_text(json, architecture_rows[i].name, words.size ? words.bytes : NULL);
        else if (words.size)
            stream_format(out, "%-14s %s\n", architecture_rows[i].name, words.bytes);
        failed = buf_check(&words, err);
        buf_release(&words);
    }
    return failed;
}

static int write_config(struct stream *out, const struct model_facts *facts, struct err *err)
{
    const struct config *c = &facts->model->config;
    const char *sight = c->n_encoder_layer ? "causal, and sees all of a second text (--source)"
                        : c->cross         ? "every token sees all of a second text (--source)"
                        : c->causal        ? "causal"
                                           : "every token sees every token";
    stream_format(out, "type           %s, %s\n", config_kind_name(c), sight);
    if (c->n_encoder_layer)
        stream_format(out, "layers         %zu in the encoder, %zu in the decoder\n",
                      c->n_encoder_layer, c->n_layer);
    else
        stream_format(out, "layers         %zu\n", c->n_layer);
    stream_format(out, "heads          %zu a layer", c->n_head);
    if (c->n_kv_head != c->n_head)
        stream_format(out, ", %zu of keys and values", c->n_kv_head);
    if (c->d_k == c->d_v)
        stream_format(out, ", %zu wide\n", c->d_k);
    else
        stream_format(out, ", keys %zu wide, values %zu\n", c->d_k, c->d_v);
    stream_format(out, "channels       %zu\n", c->n_embd);
    if (c->kind != MODEL_ATTENTION)
        stream_format(out, "mlp            %zu wide, %s%s\n", c->n_inner,
                      activation_name(c->activation), c->gated ? ", gated" : "");
    int failed = write_architecture(out, NULL, c, err);
    stream_format(out, "vocabulary     %zu%s%s\n", c->vocab_size,
                  facts->tokenizer.tokenizer ? ", " : "",
                  facts->tokenizer.tokenizer ? tokenizer_kind(facts->tokenizer.tokenizer)
                                             : ", no tokenizer: --ids only");
    if (c->n_positions)
        stream_format(out, "context        %zu tokens\n", c->n_positions);
    else
        stream_text(out, "context        no limit\n");
    return failed;
}

static void write_tensors(struct table *table, const struct model_facts *facts)
{
    static const struct table_column columns[] = {
        {.gap = 2, .width = 28, .left = true}, {.gap = 1, .width = 5, .left = true}, {.gap = 1}};
    const struct weights *weights = &facts->model->weights;
    char shape[PARAMETER_SHAPE_BYTES];
    table_begin(table, columns, 3);
    stream_text(table->out, "Tensors\n");
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (!info.entry)
            continue;
        table_text(table, info.name);
        table_text(table, dtype_name(info.entry->dtype));
        table_text(table, parameter_shape_text(shape, info.entry->rank, info.entry->shape));
        table_end(table);
    }
}

/* --- the page --------------------------------------------------------------------------------- */

/* What a run takes beside the weights as they lie in the file. */
static void write_memory(struct stream *out, const struct model_facts *facts)
{
    const struct config *c = &facts->model->config;
    char size[NUM_SIZE_BYTES];
    size_t tokens = facts->tokens;
    stream_format(out, "memory         %s for a run of %zu tokens, and what --show keeps\n",
                  num_size(size, pass_memory_bytes(c, tokens)), tokens);
    stream_format(out, "               %s more for each thread\n",
                  num_size(size, attention_bytes(c, tokens, tokens)));
    if (site_exists(c, SITE_LOGITS))
        stream_format(out, "               %s more while logits are made\n",
                      num_size(size, pass_memory_logits_bytes(c, tokens)));
    if (facts->converted_bytes)
        stream_format(out, "               up to %s for weights that become float32\n",
                      num_size(size, facts->converted_bytes));
}

/* Is it elsewhere than where its name leads? */
static bool was_searched(const struct model *model)
{
    return !model->folder.files && strcmp(model->folder.path, model->name) != 0;
}

static const char *weights_file(const struct model_facts *facts)
{
    const char *gguf = gguf_file_name(&facts->model->folder);
    return gguf ? gguf : facts->model->weights.checkpoint.name;
}

static int write_summary(struct stream *out, const struct model_facts *facts, struct err *err)
{
    char weights[NUM_SIZE_BYTES];
    stream_text(out, "model          ");
    label_write_line(out, facts->model->name, strlen(facts->model->name));
    stream_text(out, bundled_find(facts->model->folder.path) ? " (in the binary)\n" : "\n");
    if (model_is_of_fables(facts->model))
        stream_text(out, "trained on     short fables: it knows no other text\n");
    if (was_searched(facts->model))
        stream_format(out, "found in       %s\n", facts->model->folder.path);
    if (write_config(out, facts, err) || tokenizer_info_write(&facts->tokenizer, out, err))
        return -1;
    stream_format(out, "parameters     %zu, %s, %s of weights in %s\n", facts->parameters,
                  facts->dtype, num_size(weights, facts->weight_bytes), weights_file(facts));
    if (*facts->hash)
        stream_format(out, "hash           %s\n", facts->hash);
    write_memory(out, facts);
    return 0;
}

/* {"name": "wte.weight", "dtype": "F32", "shape": [6, 4]}, … */
static void put_tensors(struct json_writer *json, const struct weights *weights)
{
    json_put_open(json, "tensors", '[');
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        struct parameter_info info = weights_parameter(weights, i);
        if (!info.entry)
            continue;
        json_put_open(json, "\n ", '{');
        json_put_text(json, "name", info.name);
        json_put_text(json, "dtype", dtype_name(info.entry->dtype));
        json_put_integers(json, "shape", info.entry->shape, info.entry->rank);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

static int write_json(struct stream *out, const struct model_facts *facts, struct err *err)
{
    const struct config *c = &facts->model->config;
    const struct number {
        const char *name;
        size_t value;
    } numbers[] = {
        {"n_layer", c->n_layer},
        {"n_encoder_layer", c->n_encoder_layer},
        {"n_head", c->n_head},
        {"n_kv_head", c->n_kv_head},
        {"n_embd", c->n_embd},
        {"d_k", c->d_k},
        {"d_v", c->d_v},
        {"n_inner", c->n_inner},
        {"n_positions", c->n_positions},
        {"vocab_size", c->vocab_size},
        {"parameters", facts->parameters},
        {"weight_bytes", facts->weight_bytes},
        {"converted_bytes", facts->converted_bytes},
        {"tokens", facts->tokens},
        {"run_bytes", pass_memory_bytes(c, facts->tokens)},
        {"thread_bytes", attention_bytes(c, facts->tokens, facts->tokens)},
    };
    struct json_writer json = {.stream = out};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("info"));
    json_put_text(&json, "model", facts->model->name);
    if (was_searched(facts->model))
        json_put_text(&json, "folder", facts->model->folder.path);
    json_put_text(&json, "model_type", config_kind_name(c));
    json_put_bool(&json, "causal", c->causal);
    json_put_bool(&json, "cross", c->cross);
    json_put_bool(&json, "bundled", bundled_find(facts->model->folder.path) != NULL);
    int failed = tokenizer_info_json(&facts->tokenizer, &json, err);
    json_put_text(&json, "activation",
                  c->kind == MODEL_ATTENTION ? NULL : activation_name(c->activation));
    json_put_bool(&json, "gated", c->gated);
    failed = failed || write_architecture(out, &json, c, err);
    json_put_text(&json, "dtype", facts->dtype);
    json_put_text(&json, "weights_file", weights_file(facts));
    if (*facts->hash)
        json_put_text(&json, "weights_sha256", facts->hash);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_put_integer(&json, numbers[i].name, numbers[i].value);
    if (site_exists(c, SITE_LOGITS))
        json_put_integer(&json, "logits_bytes", pass_memory_logits_bytes(c, facts->tokens));
    json_put_open(&json, "tensor_bytes", '{');
    for (int site = 0; site < SITE_COUNT; site++)
        if (site_exists(c, (enum site)site))
            json_put_integer(&json, site_rows[site].name, facts->site_bytes[site]);
    json_put_close(&json, '}');
    json_put_integer(&json, "all_bytes", facts->all_bytes);
    put_tensors(&json, &facts->model->weights);
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return failed;
}

static int write_info(size_t columns, bool json, const struct model_facts *facts, struct err *err)
{
    struct stream out = {0};
    struct table table = {.out = &out};
    int failed = 0;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (json) {
        failed = write_json(&out, facts, err);
    } else if (!(failed = write_summary(&out, facts, err))) {
        write_sizes(&table, facts);
        write_tensors(&table, facts);
        failed =
            table_close(&table, err) || tokenizer_info_words(&facts->tokenizer, &out, columns, err);
    }
    return stream_end(&out, failed, err);
}

/* A folder of a tokenizer alone has a page, too; 0 and no `found` where there is no tokenizer. */
static int show_alone(bool *found, const struct folder *folder, const struct options *options,
                      bool json, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    struct tokenizer_info info = {0};
    int failed = tokenizer_open(&tokenizer, folder, err);
    *found = tokenizer;
    print_note_of_tokenizer(tokenizer);
    failed = failed ||
             (*found && (tokenizer_info_init(&info, tokenizer, folder, err) ||
                         tokenizer_info_alone(&info, page_columns(&options->looks), json, err)));
    tokenizer_free(tokenizer);
    return failed ? -1 : 0;
}

static int try_alone(bool *found, const char *name, const struct options *options, bool json,
                     struct err *err)
{
    struct folder folder = {0};
    struct arena arena = {0};
    int failed =
        model_find(&folder, name, &arena, err) ||
        (!folder_has(&folder, "config.json") && show_alone(found, &folder, options, json, err));
    arena_release(&arena);
    return failed ? -1 : 0;
}

int info_command(const struct options *options, struct err *err)
{
    struct model model = {0};
    struct tokenizer *tokenizer = NULL;
    char why[TOKENIZER_WHY_BYTES];
    const char *name = NULL;
    bool json = false;
    bool alone = false;
    struct model_facts facts = {.model = &model};
    if (options_choose_page(&json, &options->output, err) || only_model(&name, options, err) ||
        try_alone(&alone, name, options, json, err))
        return -1;
    if (alone)
        return 0;
    if (model_open(&model, name, err))
        return -1;
    size_t positions = model.config.n_positions; /* --tokens, else as many as the model takes */
    facts.tokens = options->tokens.sizes ? (size_t)options->tokens.sizes
                   : positions           ? positions
                                         : TOKENS_SHOWN;
    int failed = 0;
    if (positions && facts.tokens > positions)
        failed = err_usage(err, "--tokens: expected at most %zu (n_positions), found %zu",
                           positions, facts.tokens);
    failed = failed || count_outputs(&facts, err) ||
             tokenizer_open_if_known(&tokenizer, &model.folder, why, err) ||
             tokenizer_check_ids(tokenizer, &model.folder, model.config.vocab_size, err) ||
             tokenizer_info_init(&facts.tokenizer, tokenizer, &model.folder, err);
    if (!failed) {
        if (*why)
            print_note("%s: ids only", why);
        print_note_of_tokenizer(tokenizer);
        count_tensors(&facts);
        if (options->tokens.hash)
            weights_hash(&model.weights, facts.hash);
        failed = write_info(page_columns(&options->looks), json, &facts, err);
    }
    tokenizer_free(tokenizer);
    model_release(&model);
    return failed ? -1 : 0;
}
