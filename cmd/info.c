/* info.c: `attn-cli info`: what a model is, what it holds, and what a run of it takes; or a
 * tokenizer alone. Rows for people and facts for data; tables of tensors and added tokens. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "model/parameter_table.h"
#include "model/pass.h"
#include "model/site.h"
#include "output.h"
#include "session.h"
#include "text/label.h"
#include "text/post_processor.h"
#include "text/token_set.h"

struct info_options {
    long long sizes; /* of a text of that many tokens */
    bool hash, sites;
};

static const struct info_options *own(const struct options *options)
{
    return (const void *)options->own;
}

static const struct option_row own_options[] = {
    STRING("model", 'm', "MODEL", IN(model.name),
           "folder, GGUF file, bundled name, or Hugging Face Hub name already in the cache "
           "(default: $ATTN_MODEL, else tiny)",
           .values = &values_models),
    INTEGER("tokens", 'n', "N", OWN(struct info_options, sizes), 1, 100000000,
            "also print the cost of a run over N tokens"),
    FLAG("hash", 0, OWN(struct info_options, hash), "also print a hash of the weights"),
    FLAG("sites", 0, OWN(struct info_options, sites),
         "print the names of the model's tensors in TransformerLens and Hugging Face, and nothing "
         "else"),
    STRING("output", 'o', "FILE", IN(output.path),
           "file (default: standard output); the ending sets the format", .flags = OPTION_PROCESS),
    {0},
};

const struct command command_info = {
    .name = "info",
    .group = "Inspect",
    .about = "model details, and the cost of a run",
    .operands = "[MODEL]",
    .examples = "attn-cli info\n"
                "attn-cli info life\n"
                "attn-cli info --tokens 16 --format json\n",
    .run = info_command,
    .options = own_options,
    .shared = {{table_options, "output"}, {running_options, "threads quiet verbose"}},
    .operand_values = &values_models,
};

enum {
    TOKENS_SHOWN = 16, /* sizes are given for, where a model has no limit of its own */
    ADDED_SHOWN = 8,   /* special tokens in the row for people */
    WORDS_SHOWN = 500,
    FRAMES_MAX = 5,
};

struct info {
    const struct options *options;
    const struct folder *folder;
    const struct tokenizer *tokenizer; /* NULL: there is none */
    struct facts *facts;
    struct report report;
    struct frame frames[FRAMES_MAX];
    struct arena arena;
    struct err *err;
    bool failed; /* with `err` */
};

/* A row for people; NULL text: there was no memory. */
static void add_row(struct info *info, const char *name, const char *text)
{
    info->failed |= !text;
    facts_row(info->facts, name, text);
}

#define TELL(info, name, ...) \
    add_row(info, name, arena_format(&(info)->arena, (info)->err, __VA_ARGS__))

/* A text that was gathered, NULL where it is empty, as a row and as a fact; NULL: not as that. */
static void tell_buf(struct info *info, const char *row, const char *fact, struct buf *gathered)
{
    bool empty = !gathered->size && !gathered->out_of_memory;
    const char *text = empty ? NULL : buf_keep(gathered, &info->arena, info->err);
    info->failed |= !text && !empty;
    buf_release(gathered);
    if (row)
        facts_row(info->facts, row, text);
    if (fact)
        facts_text(info->facts, fact, text);
}

static struct frame *add_frame(struct info *info, struct frame frame, const struct column *columns,
                               size_t count)
{
    struct frame *added = &info->frames[info->report.frame_count++];
    *added = frame;
    info->failed |= frame_columns(added, columns, count, &info->arena, info->err) != 0;
    return info->failed ? NULL : added;
}

/* --- the tokenizer ---------------------------------------------------------------------------- */

/* "vocab.json, merges.txt, tokenizer_config.json", or a GGUF file. */
static void tell_files(struct info *info)
{
    const char *gguf = gguf_file_name(info->folder);
    const char *file = info->tokenizer ? tokenizer_file(info->tokenizer) : "";
    bool has_merges = info->tokenizer && strcmp(file, "vocab.json") == 0 &&
                      strcmp(tokenizer_kind(info->tokenizer), "words") != 0;
    const char *const others[] = {has_merges ? "merges.txt" : NULL,
                                  info->tokenizer ? "tokenizer_config.json" : NULL,
                                  has_merges ? "special_tokens_map.json" : NULL};
    struct buf row = {0};
    buf_text(&row, gguf && info->tokenizer ? gguf : file);
    for (size_t i = 0; i < sizeof others / sizeof *others && !gguf; i++)
        if (others[i] && folder_has(info->folder, others[i]))
            buf_format(&row, ", %s", others[i]);
    tell_buf(info, "tokenizer", "tokenizer_files", &row);
}

static void add_token(const struct info *info, struct buf *row, uint32_t id)
{
    size_t size = 0;
    const char *bytes = tokenizer_token(info->tokenizer, id, &size);
    label_visible(row, bytes ? bytes : "", bytes ? size : 0);
}

/* A role's token, in data and before the other special tokens of the row; whether there is one. */
static bool tell_role(struct info *info, struct buf *row, enum token_role role, uint32_t *id)
{
    static const char *const names[] = {[ROLE_BOS] = "bos", [ROLE_EOS] = "eos"};
    static const char *const facts[] = {[ROLE_BOS] = "bos_id", [ROLE_EOS] = "eos_id"};
    bool has = false;
    info->failed |= tokenizer_role(info->tokenizer, role, id, &has, info->err) != 0;
    facts_integer(info->facts, facts[role], has ? (long long)*id : COLUMN_MISSING);
    if (!has || info->failed)
        return false;
    buf_format(row, "%s%s ", row->size ? ", " : "", names[role]);
    add_token(info, row, *id);
    buf_format(row, " %u", *id);
    return true;
}

/* "bos <s> 1, eos </s> 2, <pad> 3; 24 others added": those with a role first. */
static void tell_special(struct info *info)
{
    const struct added_tokens *added = tokenizer_added(info->tokenizer);
    uint32_t ids[TOKEN_ROLES];
    bool has[TOKEN_ROLES];
    struct buf row = {0};
    size_t left = 0;
    size_t shown = 0;
    size_t plain = 0; /* usually runs of blanks */
    for (enum token_role role = 0; role < TOKEN_ROLES; role++)
        has[role] = tell_role(info, &row, role, &ids[role]);
    for (size_t i = 0; i < added->count && !info->failed; i++) {
        uint32_t id = added->by_id[i].id;
        bool known = false;
        for (enum token_role role = 0; role < TOKEN_ROLES; role++)
            known = known || (has[role] && ids[role] == id);
        bool special = added->by_id[i].special;
        plain += !known && !special;
        left += !known && special && shown == ADDED_SHOWN;
        if (known || !special || shown == ADDED_SHOWN)
            continue;
        buf_text(&row, row.size ? ", " : "");
        add_token(info, &row, id);
        buf_format(&row, " %u", id);
        shown++;
    }
    if (left)
        buf_format(&row, " and %zu more", left);
    if (plain)
        buf_format(&row, "%s%zu other%s added", row.size ? "; " : "", plain, num_plural(plain));
    tell_buf(info, "special tokens", NULL, &row);
}

/* The tokens that the tokenizer adds before and after a text. */
static void tell_around(struct info *info, const struct special_ids *special)
{
    struct buf row = {0};
    for (size_t i = 0; i < special->before_count; i++) {
        add_token(info, &row, special->before[i]);
        buf_char(&row, ' ');
    }
    buf_text(&row, special->before_count || special->after_count ? "TEXT" : "nothing");
    for (size_t i = 0; i < special->after_count; i++) {
        buf_char(&row, ' ');
        add_token(info, &row, special->after[i]);
    }
    tell_buf(info, "added to text", "add_special", &row);
}

static void list_added(struct info *info)
{
    enum { ID, TOKEN, SPECIAL };
    static const struct column columns[] = {
        [ID] = {"id", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
        [TOKEN] = {"text", .kind = COLUMN_LABEL},
        [SPECIAL] = {"special", .kind = COLUMN_INTEGER},
    };
    const struct added_tokens *added = tokenizer_added(info->tokenizer);
    struct frame *frame = add_frame(
        info,
        (struct frame){"added_tokens", {"token", added->count, NULL, 0}, .flags = COLUMN_DATA_ONLY},
        columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; frame && i < added->count; i++) {
        frame_integers(frame, ID)[i] = added->by_id[i].id;
        frame_integers(frame, SPECIAL)[i] = added->by_id[i].special;
        info->failed |= label_of_word(&frame_labels(frame, TOKEN)[i], info->tokenizer,
                                      added->by_id[i].id, &info->arena, info->err) != 0;
    }
    if (frame)
        frame->rows.labels = frame_labels(frame, TOKEN);
}

/* The words of a vocabulary of whole words, which is all that such a model can read. */
static void list_words(struct info *info)
{
    size_t count = tokenizer_size(info->tokenizer);
    struct buf text = {0};
    for (size_t id = 0; id < count && id < WORDS_SHOWN; id++) {
        buf_text(&text, id ? " " : "");
        add_token(info, &text, (uint32_t)id);
    }
    if (count > WORDS_SHOWN)
        buf_format(&text, " and %zu more: the model's vocab.json or tokenizer.json has all",
                   count - WORDS_SHOWN);
    struct frame *frame = add_frame(
        info, (struct frame){"words", .heading = "Words", .flags = COLUMN_TEXT_ONLY}, NULL, 0);
    const char *words = buf_keep(&text, &info->arena, info->err);
    info->failed |= !words;
    if (frame)
        frame->note = words;
}

static void tell_tokenizer(struct info *info)
{
    struct buf stages = {0};
    struct special_ids special = {0};
    facts_text(info->facts, "tokenizer", info->tokenizer ? tokenizer_kind(info->tokenizer) : NULL);
    tell_files(info);
    if (!info->tokenizer)
        return;
    tokenizer_stages(info->tokenizer, &stages);
    tell_buf(info, "stages", "tokenizer_stages", &stages);
    tell_special(info);
    info->failed |= tokenizer_special(&special, info->tokenizer, info->err) != 0;
    tell_around(info, &special);
    list_added(info);
}

/* --- the model -------------------------------------------------------------------------------- */

static void tell_kind(struct info *info, const struct model *model)
{
    const struct config *c = &model->config;
    struct buf name = {0};
    const char *sight = c->n_encoder_layer
                            ? "causal, with cross-attention to a second text (--source)"
                        : c->cross  ? "cross-attention to a second text (--source)"
                        : c->causal ? "causal"
                                    : "bidirectional";
    bool bundled = bundled_find(model->folder.path);
    bool searched = !model->folder.files && strcmp(model->folder.path, model->name) != 0;
    label_line(&name, model->name, strlen(model->name));
    buf_text(&name, bundled ? " (in the binary)" : "");
    tell_buf(info, "model", NULL, &name);
    if (model_is_of_fables(model))
        TELL(info, "trained on", "short fables: it knows no other text");
    if (searched) {
        TELL(info, "found in", "%s", model->folder.path);
        facts_text(info->facts, "folder", model->folder.path);
    }
    TELL(info, "type", "%s, %s", config_kind_name(c), sight);
    facts_text(info->facts, "model_type", config_kind_name(c));
    facts_integer(info->facts, "causal", c->causal);
    facts_integer(info->facts, "cross", c->cross);
    facts_integer(info->facts, "bundled", bundled);
}

static void tell_config(struct info *info, const struct config *c)
{
    bool has_mlp = c->kind != MODEL_ATTENTION;
    char kv_heads[2 * NUM_SIZE_BYTES] = "";
    if (c->n_encoder_layer)
        TELL(info, "layers", "%zu in the encoder, %zu in the decoder", c->n_encoder_layer,
             c->n_layer);
    else
        TELL(info, "layers", "%zu", c->n_layer);
    if (c->n_kv_head != c->n_head)
        snprintf(kv_heads, sizeof kv_heads, ", %zu for keys and values", c->n_kv_head);
    if (c->d_k == c->d_v)
        TELL(info, "heads", "%zu per layer%s, size %zu", c->n_head, kv_heads, c->d_k);
    else
        TELL(info, "heads", "%zu per layer%s, key size %zu, value size %zu", c->n_head, kv_heads,
             c->d_k, c->d_v);
    TELL(info, "channels", "%zu", c->n_embd);
    if (has_mlp)
        TELL(info, "mlp", "%zu wide, %s%s", c->n_inner, activation_name(c->activation),
             c->gated ? ", gated" : "");
    facts_text(info->facts, "activation", has_mlp ? activation_name(c->activation) : NULL);
    facts_integer(info->facts, "gated", c->gated);
    for (size_t i = 0; i < architecture_row_count; i++) {
        struct buf words = {0};
        architecture_rows[i].write(&words, c);
        tell_buf(info, architecture_rows[i].name, architecture_rows[i].name, &words);
    }
    TELL(info, "vocabulary", "%zu, %s", c->vocab_size,
         info->tokenizer ? tokenizer_kind(info->tokenizer) : "no tokenizer: --ids only");
    if (c->n_positions)
        TELL(info, "context", "%zu tokens", c->n_positions);
    else
        TELL(info, "context", "no limit");
}

/* Returns the bytes that weights take in memory besides the file. */
static size_t tell_weights(struct info *info, const struct model *model)
{
    const struct weights *weights = &model->weights;
    const char *gguf = gguf_file_name(&model->folder);
    const char *file = gguf ? gguf : weights->checkpoint.name;
    const char *dtype = NULL;
    size_t parameters = 0; /* a tied matrix counts once */
    size_t bytes = 0;
    size_t converted = 0; /* of weights that become float32 when they are first used */
    char size[NUM_SIZE_BYTES];
    char *hash = own(info->options)->hash
                     ? arena_alloc(&info->arena, SHA256_DIGITS + 1, 1, info->err)
                     : NULL;
    for (size_t i = 0; i < weights_parameter_count(weights); i++) {
        const struct safetensors_entry *entry = weights_parameter(weights, i).entry;
        if (!entry)
            continue;
        const char *own = dtype_name(entry->dtype);
        parameters += entry->count;
        bytes += entry->end - entry->begin;
        dtype = !dtype || dtype == own ? own : "mixed";
        bool is_widened = entry->dtype == DTYPE_BF16 || dtype_is_quantised(entry->dtype);
        bool is_read_in_place = entry->dtype == DTYPE_F32 || (is_widened && entry->rank > 1);
        converted += is_read_in_place ? 0 : entry->count * sizeof(float);
    }
    TELL(info, "parameters", "%zu, %s, %s of weights in %s", parameters, dtype,
         num_size(size, bytes), file);
    facts_text(info->facts, "dtype", dtype);
    facts_text(info->facts, "weights_file", file);
    facts_integer(info->facts, "parameters", (long long)parameters);
    facts_integer(info->facts, "weight_bytes", (long long)bytes);
    info->failed |= own(info->options)->hash && !hash;
    if (hash) {
        weights_hash(weights, hash);
        facts_row(info->facts, "hash", hash);
        facts_text(info->facts, "weights_sha256", hash);
    }
    return converted;
}

/* The memory that a run takes besides the weights in the file. */
static void tell_memory(struct info *info, const struct config *c, size_t tokens, size_t converted)
{
    const struct {
        const char *name;
        const char *format; /* with the size */
        size_t bytes;
        bool always;
    } rows[] = {
        {"thread_bytes", "%s more for each thread", attention_bytes(c, tokens, tokens), true},
        {"logits_bytes", "%s more while logits are computed",
         site_exists(c, SITE_LOGITS) ? pass_memory_logits_bytes(c, tokens) : 0, false},
        {"converted_bytes", "up to %s for weights converted to float32", converted, false},
    };
    char size[NUM_SIZE_BYTES];
    TELL(info, "memory", "%s for a run of %zu tokens, plus the output of --show",
         num_size(size, pass_memory_bytes(c, tokens)), tokens);
    facts_integer(info->facts, "run_tokens", (long long)tokens);
    facts_integer(info->facts, "run_bytes", (long long)pass_memory_bytes(c, tokens));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        facts_integer(info->facts, rows[i].name, (long long)rows[i].bytes);
        if (rows[i].bytes || rows[i].always)
            TELL(info, "", rows[i].format, num_size(size, rows[i].bytes));
    }
}

static void count_config(struct info *info, const struct config *c)
{
    const struct {
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
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        facts_integer(info->facts, numbers[i].name, (long long)numbers[i].value);
}

/* --- its tables ------------------------------------------------------------------------------- */

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

/* The bytes that --show writes; the last row, for people, is of all sites. */
static int list_sites(struct info *info, const struct config *c, size_t tokens)
{
    enum { SITE, BYTES, SIZE };
    static const struct column columns[] = {
        [SITE] = {"site", "", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [BYTES] = {"bytes", .kind = COLUMN_INTEGER, .flags = COLUMN_DATA_ONLY},
        [SIZE] = {"size", "", .kind = COLUMN_TEXT, .flags = COLUMN_TEXT_ONLY | COLUMN_RIGHT},
    };
    size_t all = 0;
    char size[NUM_SIZE_BYTES];
    struct frame *frame =
        add_frame(info, (struct frame){"sites", {"site", SITE_COUNT, NULL, 0}}, columns, 3);
    if (!frame)
        return -1;
    frame->rows.size = 0;
    frame->rows.labels = frame_labels(frame, SITE);
    for (int site = 0; site < SITE_COUNT; site++) {
        size_t row = frame->rows.size;
        size_t bytes = 0;
        const char *name = site_rows[site].name;
        if (!site_exists(c, (enum site)site))
            continue;
        if (!site_bytes(&bytes, c, (enum site)site, tokens) || !num_add(&all, all, bytes) ||
            all > LLONG_MAX)
            return err_usage(info->err,
                             "--tokens: '%s' of %zu tokens is too large to be counted in bytes",
                             name, tokens);
        frame_labels(frame, SITE)[row] = (struct label){name, name, name};
        frame_integers(frame, BYTES)[row] = (long long)bytes;
        frame_texts(frame, SIZE)[row] =
            arena_format(&info->arena, info->err, "%s", num_size(size, bytes));
        info->failed |= !frame_texts(frame, SIZE)[row];
        frame->rows.size++;
    }
    facts_integer(info->facts, "all_bytes", (long long)all);
    frame->heading =
        arena_format(&info->arena, info->err,
                     "Output of --show for %zu tokens, all layers, as float32: %s; csv and json "
                     "take\nabout three times that",
                     tokens, num_size(size, all));
    info->failed |= !frame->heading;
    return 0;
}

/* Where transformers has the value: a field of a model's output with output_hidden_states and
 * output_attentions. NULL: nowhere. */
static const char *hugging_face_name(const struct config *c, enum site site)
{
    static const struct {
        enum site site;
        const char *name, *of_decoder;
    } rows[] = {
        {SITE_EMBEDDING, "hidden_states[0]", "decoder_hidden_states[0]"},
        {SITE_RESID_PRE, "hidden_states[L]", "decoder_hidden_states[L]"},
        {SITE_RESID_POST, "hidden_states[L+1], L not last",
         "decoder_hidden_states[L+1], L not last"},
        {SITE_WEIGHTS, "attentions[L]", "decoder_attentions[L]"},
        {SITE_LN_F, "hidden_states[-1]", "decoder_hidden_states[-1]"},
        {SITE_LOGITS, "logits", "logits"},
        {SITE_SOURCE_EMBEDDING, NULL, "encoder_hidden_states[0]"},
        {SITE_ENC_RESID_PRE, NULL, "encoder_hidden_states[L]"},
        {SITE_ENC_WEIGHTS, NULL, "encoder_attentions[L]"},
        {SITE_ENC_LN_F, NULL, "encoder_last_hidden_state"},
        {SITE_CROSS_WEIGHTS, NULL, "cross_attentions[L]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].site == site)
            return c->n_encoder_layer ? rows[i].of_decoder : rows[i].name;
    return NULL;
}

/* --sites: the names of what --show outputs, and of the same values elsewhere. */
static void list_site_names(struct info *info, const struct config *c)
{
    enum { SITE, AXES, LENS, FACE };
    static const struct column columns[] = {
        [SITE] = {"site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [AXES] = {"axes", .kind = COLUMN_TEXT},
        [LENS] = {"transformer_lens", "TransformerLens", .kind = COLUMN_TEXT},
        [FACE] = {"hugging_face", "Hugging Face", .kind = COLUMN_TEXT},
    };
    struct frame *frame =
        add_frame(info, (struct frame){"sites", {"site", SITE_COUNT, NULL, 0}}, columns, 4);
    if (!frame)
        return;
    frame->rows.size = 0;
    frame->rows.labels = frame_labels(frame, SITE);
    for (enum site site = 0; site < SITE_COUNT; site++) {
        struct buf axes = {0};
        if (!site_exists(c, site))
            continue;
        size_t row = frame->rows.size++;
        const char *name = site_rows[site].in_layer
                               ? arena_format(&info->arena, info->err, "%s.L.%s", site_stack(site),
                                              site_name_in_layer(site))
                               : site_rows[site].name;
        for (size_t axis = 0; axis < 3 && site_axis_name(site, axis); axis++)
            buf_format(&axes, "%s%s", axis ? ", " : "", site_axis_name(site, axis));
        frame_labels(frame, SITE)[row] = (struct label){name, name, name};
        frame_texts(frame, AXES)[row] = buf_keep(&axes, &info->arena, info->err);
        frame_texts(frame, LENS)[row] = site_rows[site].alias; /* NULL: it has no such hook */
        if (site_exists(c, SITE_Q_PRE) && (site == SITE_Q || site == SITE_K))
            frame_texts(frame, LENS)[row] =
                site == SITE_Q ? "blocks.L.attn.hook_rot_q" : "blocks.L.attn.hook_rot_k";
        frame_texts(frame, FACE)[row] = hugging_face_name(c, site);
        info->failed |= !name || !frame_texts(frame, AXES)[row];
    }
}

static void list_tensors(struct info *info, const struct weights *weights)
{
    enum { NAME, DTYPE, SHAPE };
    static const struct column columns[] = {
        [NAME] = {"name", "", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [DTYPE] = {"dtype", "", .kind = COLUMN_TEXT},
        [SHAPE] = {"shape", "", .kind = COLUMN_TEXT},
    };
    size_t most = weights_parameter_count(weights);
    struct frame *frame =
        add_frame(info, (struct frame){"tensors", {"tensor", most, NULL, 0}, .heading = "Tensors"},
                  columns, 3);
    if (!frame)
        return;
    frame->rows.size = 0;
    frame->rows.labels = frame_labels(frame, NAME);
    for (size_t i = 0; i < most; i++) {
        struct parameter_info own = weights_parameter(weights, i);
        char shape[PARAMETER_SHAPE_BYTES];
        if (!own.entry)
            continue;
        parameter_shape_text(shape, own.entry->rank, own.entry->shape);
        const char *name = arena_format(&info->arena, info->err, "%s", own.name);
        size_t row = frame->rows.size++;
        frame_labels(frame, NAME)[row] = (struct label){name, name, name};
        frame_texts(frame, DTYPE)[row] = dtype_name(own.entry->dtype);
        frame_texts(frame, SHAPE)[row] = arena_format(&info->arena, info->err, "%s", shape);
        info->failed |= !name || !frame_texts(frame, SHAPE)[row];
    }
}

/* --- the command ------------------------------------------------------------------------------ */

static int write_report(struct info *info, const char *model)
{
    struct output output = {0};
    if (info->tokenizer && *tokenizer_gap(info->tokenizer)) /* others are written without a gap */
        list_words(info);
    info->report.model = model;
    info->report.untitled = true;
    info->report.frames = info->frames;
    info->report.facts = &info->facts->frame;
    if (info->failed || output_choose_table(&output, &info->options->output, info->err))
        return -1;
    int failed = output_write_table(&output, &info->report, info->options, info->err);
    output_discard(&output);
    return failed;
}

/* A folder of a tokenizer alone has a page, too; 0 and no `found` where there is no tokenizer. */
static int show_alone(struct info *info, bool *found)
{
    struct tokenizer *tokenizer = NULL;
    int failed = tokenizer_open(&tokenizer, info->folder, info->err);
    *found = tokenizer;
    print_note_of_tokenizer(tokenizer);
    if (!failed && tokenizer) {
        const char *path = info->folder->path;
        struct buf name = {0};
        size_t size = tokenizer_size(tokenizer);
        info->tokenizer = tokenizer;
        buf_text(&name, "none, only a tokenizer: ");
        label_line(&name, path, strlen(path));
        tell_buf(info, "model", NULL, &name);
        TELL(info, "vocabulary", "%zu, %s", size, tokenizer_kind(tokenizer));
        facts_integer(info->facts, "vocab_size", (long long)size);
        tell_tokenizer(info);
        failed = write_report(info, path);
    }
    tokenizer_free(tokenizer);
    return failed ? -1 : 0;
}

static int show_model(struct info *info, const char *name)
{
    const struct options *options = info->options;
    struct model model = {0};
    struct tokenizer *tokenizer = NULL;
    char why[TOKENIZER_WHY_BYTES];
    if (model_open(&model, name, info->err))
        return -1;
    size_t positions = model.config.n_positions; /* --tokens, else as many as the model takes */
    size_t tokens = own(options)->sizes ? (size_t)own(options)->sizes
                    : positions         ? positions
                                        : TOKENS_SHOWN;
    int failed = provenance_add_model(&model, info->err);
    if (own(options)->sites) {
        if (!failed)
            list_site_names(info, &model.config);
        failed = failed || write_report(info, model.name);
        model_release(&model);
        return failed ? -1 : 0;
    }
    failed = failed ||
             (positions && tokens > positions
                  ? err_usage(info->err, "--tokens: expected at most %zu (n_positions), found %zu",
                              positions, tokens)
                  : list_sites(info, &model.config, tokens));
    failed = failed || tokenizer_open_if_known(&tokenizer, &model.folder, why, info->err) ||
             tokenizer_check_ids(tokenizer, &model.folder, model.config.vocab_size, info->err);
    if (!failed) {
        if (*why)
            print_note("%s: ids only", why);
        print_note_of_tokenizer(tokenizer);
        info->folder = &model.folder;
        info->tokenizer = tokenizer;
        tell_kind(info, &model);
        tell_config(info, &model.config);
        tell_tokenizer(info);
        tell_memory(info, &model.config, tokens, tell_weights(info, &model));
        count_config(info, &model.config);
        list_tensors(info, &model.weights);
        failed = write_report(info, model.name);
    }
    tokenizer_free(tokenizer);
    model_release(&model);
    return failed ? -1 : 0;
}

int info_command(const struct options *options, struct err *err)
{
    struct info info = {.options = options, .err = err};
    struct folder folder = {0};
    struct output output = {0};
    const char *name = NULL;
    bool alone = false;
    info.facts = facts_new(&info.arena, err);
    info.folder = &folder;
    int failed = !info.facts || options_exclude(options, "sites", "tokens hash", err) ||
                 output_choose_table(&output, &options->output, err) ||
                 only_model(&name, options, err) || model_find(&folder, name, &info.arena, err);
    if (!failed && !folder_has(&folder, "config.json"))
        failed = show_alone(&info, &alone);
    if (!failed && !alone)
        failed = show_model(&info, name);
    arena_release(&info.arena);
    return failed ? -1 : 0;
}
