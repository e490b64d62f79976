/* info.c: `attn-cli info`: shows a model's architecture, tokenizer, weights and memory use, or a
 * tokenizer alone. A fact has a label for text output, a name for data, or both. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "measure/token_scores.h"
#include "model/layer.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "model/parameter_table.h"
#include "pass/pass.h"
#include "model/points.h"
#include "model/site.h"
#include "model/site_names.h"
#include "output.h"
#include "say.h"
#include "text/label.h"
#include "text/post_processor.h"
#include "text/token_set.h"

struct own_options {
    long long tokens;
    bool hash, sites;
};

static const struct option_row own_options[] = {
    STRING("model", 'm', "MODEL", IN(model.name),
           "folder, GGUF file or name; the name of a bundled model or of one in the Hugging Face "
           "cache; default: $ATTN_MODEL, else tiny",
           .values = &values_models),
    INTEGER("tokens", 'n', "N", OWN(tokens), 1, 100000000,
            "memory of score for N tokens; default: the model's context"),
    FLAG("hash", 0, OWN(hash), "also print a hash of the weights"),
    FLAG("sites", 0, OWN(sites),
         "only the tensors' names in other programs; TransformerLens and Hugging Face"),
    STRING("output", 'o', "FILE", IN(output.path),
           "file: its ending sets the format; default: standard output", .flags = OPTION_PROCESS),
    {0},
};

static command_verb info_command;

const struct command command_info = {
    .name = "info",
    .heading = "Models",
    .about = "details of a model, and the cost of a run",
    .operands = "[MODEL]",
    .most_used = "-n 1024\tmemory of score for N tokens\n"
                 "--sites\ttensors' names in other programs\n"
                 "--hash\n"
                 "--format json\ttext (default), json, csv, ...\n"
                 "-o model.json\n",
    .examples = "attn-cli info\n"
                "attn-cli info life\n"
                "attn-cli info --tokens 16 --format json\n",
    .run = info_command,
    .options = own_options,
    .shared = {output_options},
    .without = "output threads quiet verbose",
    .operand_values = &values_models,
};

enum {
    TOKENS_SHOWN = 16, /* default of --tokens if the model's context has no limit */
    WORDS_SHOWN = 500,
    FRAMES_MAX = 4,
    PROGRAM_BYTES = 27 << 18, /* estimated bytes of memory of the program and its libraries */
    PAGE_BYTES = 4096,
    /* estimated bytes of memory for each word of the vocabulary, with the tokenizer's tables */
    ENTRY_BYTES = 300,
};

struct info {
    const struct options *options;
    const struct folder *folder;
    struct tokenizer *tokenizer; /* NULL: the model has no tokenizer */
    struct facts *facts;
    struct report report;
    struct table tables[FRAMES_MAX];
    struct output output;
    struct arena arena;
    struct err *err;
    char hash[SHA256_DIGITS + 1];
};

#define FORMAT(info, ...) arena_format(&(info)->arena, (info)->err, __VA_ARGS__)

/* Add a fact: only to data if `label` is NULL, only to text output if `name` is NULL. */
static void tell(struct info *info, const char *label, const char *name, const char *text)
{
    facts_text(info->facts, name, text);
    facts_title(info->facts, label, NULL);
}

/* Add a fact and release its buffer. An empty buffer makes a fact without a value. */
static void tell_buf(struct info *info, const char *label, const char *name, struct buf *gathered)
{
    bool empty = !gathered->size && !gathered->out_of_memory;
    const char *text = empty ? NULL : buf_keep(gathered, &info->arena, info->err);
    buf_release(gathered);
    tell(info, label, name, text);
}

static void tell_number(struct info *info, const char *label, const char *name, size_t value)
{
    facts_integer(info->facts, name, (long long)value);
    facts_title(info->facts, label, NULL);
}

static void tell_bytes(struct info *info, const char *label, const char *name, double value)
{
    facts_integer(info->facts, name, (long long)value);
    facts_title(info->facts, label, "bytes");
}

static struct table *add_table(struct info *info, const struct table_rows *rows, const char *name,
                               const char *row)
{
    struct table *table = &info->tables[info->report.table_count++];
    rows_finish(table, rows, name, row);
    return table;
}

/* --- the tokenizer ---------------------------------------------------------------------------- */

static void add_token(const struct info *info, struct buf *row, uint32_t id)
{
    size_t size = 0;
    const char *bytes = tokenizer_token(info->tokenizer, id, &size);
    label_visible(row, bytes ? bytes : "", bytes ? size : 0);
}

static void tell_tokenizer(struct info *info)
{
    static const struct {
        const char *name, *fact;
    } roles[TOKEN_ROLES] = {[ROLE_BOS] = {"bos", "bos_id"},
                            [ROLE_EOS] = {"eos", "eos_id"},
                            [ROLE_MASK] = {"mask", "mask_id"}};
    const struct tokenizer *tokenizer = info->tokenizer;
    const char *gguf = gguf_file_name(info->folder);
    const char *kind = tokenizer ? tokenizer_facts(tokenizer)->kind : NULL;
    struct buf stages = {0}, row = {0};
    tell(info, NULL, "tokenizer", kind);
    tell(info, "tokenizer", NULL, kind ? kind : "none: --ids only");
    tell(info, "read from", "tokenizer_files",
         !tokenizer ? NULL
         : gguf     ? gguf
                    : tokenizer_facts(tokenizer)->file);
    if (!tokenizer)
        return;
    tokenizer_stages(tokenizer, &stages);
    tell_buf(info, "stages", "tokenizer_stages", &stages);

    /* the line of special tokens, such as "bos <s> 1, eos </s> 2" */
    for (enum token_role role = 0; role < TOKEN_ROLES; role++) {
        uint32_t id = 0;
        bool has = false;
        tokenizer_role(tokenizer, role, &id, &has, info->err);
        facts_integer(info->facts, roles[role].fact, has ? (long long)id : COLUMN_MISSING);
        if (!has)
            continue;
        buf_format(&row, "%s%s ", row.size ? ", " : "", roles[role].name);
        add_token(info, &row, id);
        buf_format(&row, " %u", id);
    }
    tell_buf(info, "special tokens", NULL, &row);

    struct text_templates special = {0};
    tokenizer_special(&special, tokenizer, info->err);
    for (size_t i = 0; i < special.single.count; i++) {
        buf_text(&row, i ? " " : "");
        if (special.single.parts[i].kind == TEMPLATE_SPECIAL)
            add_token(info, &row, special.single.parts[i].id);
        else
            buf_text(&row, special.single.count > 1 ? "TEXT" : "nothing");
    }
    tell_buf(info, "added to text", "add_special", &row);

    const struct added_tokens *added = tokenizer_facts(tokenizer)->added;
    struct table_rows rows = {.most = added->count, .arena = &info->arena, .err = info->err};
    for (size_t i = 0; i < added->count; i++, rows_next(&rows)) {
        rows_integer(&rows, "id", COLUMN_KEY, added->by_id[i].id);
        rows_label(&rows, "text", 0,
                   label_of_word(tokenizer, added->by_id[i].id, &info->arena, info->err));
        rows_integer(&rows, "special", 0, added->by_id[i].special);
    }
    struct table *table = add_table(info, &rows, "added_tokens", "token");
    table->heading = "Added tokens";
    table->flags = added->count ? 0 : COLUMN_DATA_ONLY;
}

/* --- the model -------------------------------------------------------------------------------- */

static void tell_model(struct info *info, const struct model *model)
{
    const struct config *c = &model->config;
    const struct stack *source = stack_of(c, BRANCH_SOURCE);
    bool has_mlp = c->kind != MODEL_ATTENTION;
    bool bundled = bundled_find(model->folder.path);
    bool searched = !model->folder.files && strcmp(model->folder.path, model->name) != 0;
    const char *activation = c->xielu ? "xielu" : has_mlp ? activation_name(c->activation) : NULL;
    struct buf name = {0};
    label_line(&name, model->name, strlen(model->name));
    buf_text(&name, bundled ? " (built in)" : "");
    tell_buf(info, "model", NULL, &name);
    if (model_is_of_fables(model))
        tell(info, "trained on", NULL, "short fables, no other text");
    if (model_is_untrained(model))
        tell(info, "trained on", NULL, "nothing: its weights are random, or chosen for an example");
    if (searched)
        tell(info, "found in", "folder", model->folder.path);
    tell(info, "type", "model_type", config_kind_name(c));
    tell(info, "attention", NULL,
         has_encoder(c)           ? "causal, with cross-attention to a second text (--source)"
         : config_reads_source(c) ? "cross-attention to a second text (--source)"
         : c->causal              ? "causal"
                                  : "bidirectional");
    tell_number(info, "layers", "n_layer", c->n_layer);
    tell_number(info, has_encoder(c) ? "encoder layers" : NULL, "n_encoder_layer", source->layers);
    tell_number(info, "heads", "n_head", c->n_head);
    if (source->heads != c->n_head)
        tell_number(info, "encoder heads", "n_encoder_head", source->heads);
    tell_number(info, c->n_kv_head != c->n_head ? "KV heads" : NULL, "n_kv_head", c->n_kv_head);
    tell_number(info, c->d_v != c->d_k ? "key size" : "head size", "d_k", c->d_k);
    tell_number(info, c->d_v != c->d_k ? "value size" : NULL, "d_v", c->d_v);
    tell_number(info, "channels", "n_embd", c->n_embd);
    if (c->d_out && c->d_out != c->n_embd)
        tell_number(info, "output size", "d_out", c->d_out);
    tell_number(info, NULL, "n_inner", c->n_inner);
    tell_number(info, "vocabulary", "vocab_size", c->vocab_size);
    if (source->embed.own_table)
        tell_number(info, "encoder vocabulary", "n_encoder_vocab", source->embed.rows);
    tell_number(info, c->n_positions ? "context" : NULL, "n_positions", c->n_positions);
    tell_number(info, NULL, "causal", c->causal);
    tell_number(info, NULL, "cross", config_reads_source(c));
    tell_number(info, NULL, "bundled", bundled);
    tell_number(info, NULL, "gated", c->gated);
    if (!c->n_positions)
        tell(info, "context", NULL, "no limit");
    tell(info, NULL, "activation", activation);
    if (has_mlp)
        tell(info, "mlp", NULL,
             FORMAT(info, "%zu channels, %s%s", c->n_inner, activation, c->gated ? ", gated" : ""));
    for (size_t i = 0; i < architecture_row_count; i++) {
        struct buf words = {0};
        architecture_rows[i].write(&words, c);
        tell_buf(info, architecture_rows[i].name, architecture_rows[i].name, &words);
    }
}

/* Return the size in bytes of the matrix that makes logits. Add to `*unread` the size in bytes of
 * the rows of embedding tables that no token of a text reads. */
static size_t words_of(const struct weights *weights, size_t tokens, size_t *unread)
{
    const struct config *c = weights->config;
    const int id = c->tied ? SLOT_TOKENS : SLOT_UNEMBED;
    size_t words = 0;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        struct parameter_info own = weights_parameter(weights, i);
        size_t bytes = own.entry ? own.entry->end - own.entry->begin : 0;
        words += own.slot.id == id ? bytes : 0;
        if (bytes && own.slot.id != id &&
            (own.slot.id == SLOT_TOKENS || own.slot.id == SLOT_POSITIONS)) {
            size_t row = num_max(bytes / own.entry->shape[0], PAGE_BYTES);
            *unread += bytes - num_min(bytes, tokens * row);
        }
    }
    return words;
}

/* Add facts about the memory that `score` needs in one thread, or `run` if the model gives no
 * probabilities of words: the memory of the process and its tokenizer, plus the weights, plus the
 * larger of the pass and the logits that come after it. The matrix that makes logits is read, and
 * packed, only for the logits. */
static void tell_memory(struct info *info, struct viewer *viewer, size_t tokens)
{
    const struct config *c = &viewer->model.config;
    const struct weights *weights = &viewer->model.weights;
    const struct text_with_source pair = {.text.count = tokens, .source.count = tokens};
    const struct scoring scoring = {.viewer = viewer};
    struct scoring_memory run = {0};
    struct err refused = {0};
    size_t unread = 0, words = words_of(weights, tokens, &unread);
    bool scores = !scoring_check(&scoring, &refused);
    viewer_expect(viewer, EXPECT_TOKENS, viewer->mask < 0 ? tokens : tokens * tokens);
    struct weights_bytes held = weights_bytes(weights);
    viewer_expect(viewer, EXPECT_STEPS, scores ? tokens : 0);
    size_t packed = weights_bytes(weights).heap - held.heap;
    size_t thread = attention_bytes(c, tokens, tokens, 1);
    if (scores)
        run = scoring_memory(&scoring, &pair);
    else
        run.pass = (double)(pass_memory_bytes(c, tokens) + thread);
    double program = PROGRAM_BYTES + (viewer->tokenizer ? ENTRY_BYTES * (double)c->vocab_size : 0);
    double copies = (double)(held.heap + packed), mapped = (double)held.mapped;
    double read = mapped - fmin((double)unread, mapped);
    double early = run.pass - (double)words, late = run.logits + (double)packed;
    double others = program + (double)held.heap + fmax(early, late) + run.rows + run.held;
    tell(info, "run by", "run_command", scores ? "score --threads 1" : "run --threads 1");
    tell_number(info, "run length", "run_tokens", tokens);
    tell_bytes(info, "memory", "memory_bytes", read + others);
    tell_bytes(info, "  program", "program_bytes", program);
    tell_bytes(info, mapped > 0 ? "  weights" : NULL, "mapped_bytes", mapped);
    tell_bytes(info, copies > 0 ? "  copies" : NULL, "converted_bytes", copies);
    tell_bytes(info, "  pass", "run_bytes", run.pass - (double)thread + run.rows + run.held);
    tell_bytes(info, "  per thread", "thread_bytes", (double)thread);
    tell_bytes(info, run.logits > 0 ? "  logits" : NULL, "logits_bytes", run.logits);
    print_note_of_weights(mapped, others);
}

/* Add facts about the weights, such as their number and size, and about the memory of a run. */
static void tell_sizes(struct info *info, struct viewer *viewer, size_t tokens)
{
    const struct model *model = &viewer->model;
    const struct weights *weights = &model->weights;
    const struct config *c = &model->config;
    const char *gguf = gguf_file_name(&model->folder);
    const char *dtype = NULL;
    size_t parameters = 0; /* number of parameters; a tied matrix counts once */
    size_t bytes = 0;
    const size_t experts = c->mixture.experts;
    /* numbers that are divided by `experts` below: `idle`: how many parameters of experts a token
     * does not use; `idle_bytes`: the size of these parameters in bytes */
    size_t idle = 0, idle_bytes = 0;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        struct parameter_info own = weights_parameter(weights, i);
        const struct safetensors_entry *entry = own.entry;
        bool of_expert = own.slot.id >= SLOT_EXPERT_GATE && own.slot.id < SLOT_SHARED_GATE;
        if (!entry)
            continue;
        const char *type = dtype_name(entry->dtype);
        size_t others = of_expert ? experts - config_chosen(c, (size_t)own.slot.layer) : 0;
        parameters += entry->count;
        idle += entry->count * others;
        bytes += entry->end - entry->begin;
        idle_bytes += (entry->end - entry->begin) * others;
        dtype = !dtype || dtype == type ? type : "mixed";
    }
    tell(info, "data type", "dtype", dtype);
    tell(info, "weights file", "weights_file", gguf ? gguf : weights->checkpoint.name);
    if (options_own(info->options)->hash) {
        weights_hash(weights, info->hash);
        tell(info, "hash", "weights_sha256", info->hash);
    }
    tell_number(info, "parameters", "parameters", parameters);
    if (idle)
        tell_number(info, "  per token", "active_parameters", parameters - idle / experts);
    tell_bytes(info, "weights", "weight_bytes", (double)bytes);
    if (idle)
        tell_bytes(info, "  per token", "active_bytes", (double)(bytes - idle_bytes / experts));
    tell_memory(info, viewer, tokens);
}

/* --- tables of a model ------------------------------------------------------------------------ */

/* List the size of each site's tensors in all layers, as float32, and the total of --show all. */
static int list_sizes(struct info *info, const struct config *c, size_t tokens)
{
    struct table_rows rows = {.most = SITE_COUNT, .arena = &info->arena, .err = info->err};
    size_t all = 0;
    char size[NUM_SIZE_BYTES];
    const struct site_set sites = model_sites(c);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        size_t bytes = 0, layers = 0;
        const char *name = site_name(site);
        if (site_is_by_name(site))
            continue;
        for (const struct model_point *p = points_of(c); p < points_end(c); p++)
            layers += p->site == site;
        if (!site_size(&bytes, c, site, c->n_head, tokens, tokens) ||
            !num_multiply(&bytes, bytes, layers) || !num_multiply(&bytes, bytes, sizeof(float)) ||
            !num_add(&all, all, bytes) || all > LLONG_MAX)
            return err_usage(info->err,
                             "--tokens: '%s' of %zu tokens is too large to be counted in bytes",
                             name, tokens);
        rows_label(&rows, "site", COLUMN_KEY, (struct label){name, name, name});
        rows_title(&rows, "");
        rows_integer(&rows, "bytes", COLUMN_DATA_ONLY, (long long)bytes);
        rows_text(&rows, "size", COLUMN_TEXT_ONLY | COLUMN_RIGHT,
                  FORMAT(info, "%s", num_size(size, bytes)));
        rows_title(&rows, "");
        rows_next(&rows);
    }
    facts_integer(info->facts, "all_bytes", (long long)all);
    add_table(info, &rows, "sites", "site")->heading = FORMAT(
        info, "Output of --show all for %zu tokens, as float32: %s", tokens, num_size(size, all));
    return err_if(info->err->kind);
}

/* The field of a Hugging Face model's output that contains a site's tensor: [0] without an encoder,
 * [1] with one. The model must return hidden states and attentions. */
static const char *const hugging_face[SITE_COUNT][2] = {
    [SITE_EMBEDDING] = {"hidden_states[0]", "decoder_hidden_states[0]"},
    [SITE_RESID_PRE] = {"hidden_states[L]", "decoder_hidden_states[L]"},
    [SITE_RESID_POST] = {"hidden_states[L+1], L not last",
                         "decoder_hidden_states[L+1], L not last"},
    [SITE_WEIGHTS] = {"attentions[L]", "decoder_attentions[L]"},
    [SITE_LN_F] = {"hidden_states[-1]", "decoder_hidden_states[-1]"},
    [SITE_LOGITS] = {"logits", "logits"},
    [SITE_OF(BRANCH_SOURCE, SITE_EMBEDDING)] = {NULL, "encoder_hidden_states[0]"},
    [SITE_OF(BRANCH_SOURCE, SITE_RESID_PRE)] = {NULL, "encoder_hidden_states[L]"},
    [SITE_OF(BRANCH_SOURCE, SITE_WEIGHTS)] = {NULL, "encoder_attentions[L]"},
    [SITE_OF(BRANCH_SOURCE, SITE_LN_F)] = {NULL, "encoder_last_hidden_state"},
    [SITE_OF(BRANCH_CROSS, SITE_WEIGHTS)] = {NULL, "cross_attentions[L]"},
};

/* List the names of the model's tensors in attn-cli and in other libraries (--sites). */
static int list_site_names(struct info *info, const struct weights *weights)
{
    const struct config *c = weights->config;
    struct site_names names;
    if (site_names_make(&names, c, info->err))
        return -1;
    struct table_rows rows = {.most = SITE_COUNT, .arena = &info->arena, .err = info->err};
    const struct site_set sites = model_sites(c);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        struct buf axes = {0};
        const char *name = site_row(site)->in_layer
                               ? FORMAT(info, "%s.L.%s", site_stack(site), site_name_in_layer(site))
                               : site_name(site);
        for (size_t axis = 0; axis < 3 && site_axis_name(site, axis); axis++)
            buf_format(&axes, "%s%s", axis ? ", " : "", site_axis_name(site, axis));
        const char *lens = site_branch(site) == BRANCH_TEXT ? site_row(site)->alias : NULL;
        if (site_exists(c, SITE_Q_PRE) && (site == SITE_Q || site == SITE_K))
            lens = site == SITE_Q ? "blocks.L.attn.hook_rot_q" : "blocks.L.attn.hook_rot_k";
        rows_label(&rows, "site", COLUMN_KEY, (struct label){name, name, name});
        rows_text(&rows, "axes", 0, buf_keep(&axes, &info->arena, info->err));
        rows_text(&rows, "transformer_lens", 0, lens);
        rows_title(&rows, "TransformerLens");
        rows_text(&rows, "hugging_face", 0, hugging_face[site][has_encoder(c)]);
        rows_title(&rows, "Hugging Face");
        rows_text(&rows, "module", 0, site_names_module(&names, site, &info->arena, info->err));
        rows_title(&rows, "its module");
        const char *llama = site_llama_cpp_name(site);
        rows_text(&rows, "llama_cpp", 0,
                  llama && site_row(site)->in_layer ? FORMAT(info, "%s-L", llama) : llama);
        rows_title(&rows, "llama.cpp");
        rows_next(&rows);
    }
    site_names_release(&names);
    add_table(info, &rows, "sites", "site");
    return err_if(info->err->kind);
}

static void list_tensors(struct info *info, const struct weights *weights)
{
    size_t most = weights->parameter_count;
    struct table_rows rows = {.most = most, .arena = &info->arena, .err = info->err};
    for (size_t i = 0; i < most; i++) {
        struct parameter_info own = weights_parameter(weights, i);
        char shape[PARAMETER_SHAPE_BYTES];
        if (!own.entry)
            continue;
        const char *name = FORMAT(info, "%s", own.name);
        parameter_shape_text(shape, own.entry->rank, own.entry->shape);
        rows_label(&rows, "name", COLUMN_KEY, (struct label){name, name, name});
        rows_title(&rows, "");
        rows_text(&rows, "dtype", 0, dtype_name(own.entry->dtype));
        rows_title(&rows, "");
        rows_text(&rows, "shape", 0, FORMAT(info, "%s", shape));
        rows_title(&rows, "");
        rows_next(&rows);
    }
    add_table(info, &rows, "tensors", "tensor")->heading = "Tensors";
}

/* --- the command ------------------------------------------------------------------------------ */

static int write_report(struct info *info, const char *model)
{
    /* list the words of a tokenizer that has one token for each word */
    if (info->tokenizer && *tokenizer_facts(info->tokenizer)->gap) {
        size_t count = tokenizer_size(info->tokenizer);
        struct buf text = {0};
        for (size_t id = 0; id < count && id < WORDS_SHOWN; id++) {
            buf_text(&text, id ? " " : "");
            add_token(info, &text, (uint32_t)id);
        }
        if (count > WORDS_SHOWN)
            buf_format(&text, " and %zu more: see vocab.json or tokenizer.json",
                       count - WORDS_SHOWN);
        info->tables[info->report.table_count++] = (struct table){
            "words", .heading = "Words", .note = buf_keep(&text, &info->arena, info->err),
            .flags = COLUMN_TEXT_ONLY};
    }
    info->report.model = model;
    info->report.untitled = true;
    info->report.tables = info->tables;
    info->report.facts = &info->facts->table;
    return err_if(info->err->kind ||
                  output_write_table(&info->output, &info->report, info->options, NULL, info->err));
}

/* Report on a folder that has only a tokenizer. */
static int show_tokenizer(struct info *info)
{
    const char *path = info->folder->path;
    struct buf name = {0};
    buf_text(&name, "none, only a tokenizer: ");
    label_line(&name, path, strlen(path));
    tell_buf(info, "model", NULL, &name);
    tell_number(info, "vocabulary", "vocab_size", tokenizer_size(info->tokenizer));
    tell_tokenizer(info);
    return write_report(info, path);
}

static int show_model(struct info *info, struct viewer *viewer)
{
    const struct model *model = &viewer->model;
    const struct own_options *options = options_own(info->options);
    size_t positions = model->config.n_positions;
    size_t tokens = options->tokens ? (size_t)options->tokens
                    : positions     ? positions
                                    : TOKENS_SHOWN;
    if (provenance_add_model(model, info->err))
        return -1;
    if (options->sites)
        return err_if(list_site_names(info, &model->weights) || write_report(info, model->name));
    if (positions && tokens > positions)
        return err_usage(info->err, "--tokens: expected at most %zu (n_positions), found %zu",
                         positions, tokens);
    if (list_sizes(info, &model->config, tokens))
        return -1;
    if (*viewer->why)
        print_note("%s: ids only", viewer->why);
    info->tokenizer = viewer->tokenizer;
    info->folder = &model->folder;
    tell_model(info, model);
    tell_tokenizer(info);
    tell_sizes(info, viewer, tokens);
    list_tensors(info, &model->weights);
    return write_report(info, model->name);
}

static int info_command(const struct options *options, struct err *err)
{
    struct info info = {.options = options, .err = err};
    struct folder folder = {0};
    struct viewer viewer = {0};
    const char *name = NULL;
    info.facts = facts_new(&info.arena, err);
    info.folder = &folder;
    int failed =
        !info.facts || options_exclude(options, "sites", "tokens hash", err) ||
        output_choose_table(&info.output, &options->output, err) ||
        only_model(&name, options, err) || model_find(&folder, name, &info.arena, err) ||
        (!folder_has(&folder, "config.json") && tokenizer_open(&info.tokenizer, &folder, err));
    if (!failed)
        failed = info.tokenizer ? show_tokenizer(&info)
                                : viewer_open(&viewer, name, 1, err) || show_model(&info, &viewer);
    if (!failed)
        print_note_of_tokenizer(info.tokenizer);
    output_discard(&info.output);
    if (info.tokenizer != viewer.tokenizer)
        tokenizer_free(info.tokenizer);
    viewer_release(&viewer);
    arena_release(&info.arena);
    return err_if(failed);
}
