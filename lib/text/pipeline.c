#include "text/pipeline.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "format/json.h"
#include "text/tokenizer_fields.h"

struct reader {
    struct pipeline *pipeline;
    size_t file_bytes;
    struct field model[MODEL_FIELDS];
    struct field root[ROOT_FIELDS];
};

static int read_normalizer(const struct reader *reader, struct field *field, struct err *err)
{
    struct pipeline *pipeline = reader->pipeline;
    return normalizers_read(&pipeline->normalizers, field->tree, &pipeline->arena, err);
}

static int read_pre_tokenizer(const struct reader *reader, struct field *field, struct err *err)
{
    struct pipeline *pipeline = reader->pipeline;
    return pre_tokenizers_read(&pipeline->pre_tokenizers, field->tree, &pipeline->arena, err);
}

/* How many tokens other programs leave of a text. */
static int read_truncation(const struct reader *reader, struct field *field, struct err *err)
{
    (void)err; /* of another form it is nothing that we need */
    json_get_integer(json_member(field->tree, "max_length"), 1, 1000000000000000,
                     &reader->pipeline->truncation);
    return 0;
}

static int read_post_processor(const struct reader *reader, struct field *field, struct err *err)
{
    return post_processor_read(&reader->pipeline->special, field->tree, err);
}

static int read_decoder(const struct reader *reader, struct field *field, struct err *err)
{
    struct pipeline *pipeline = reader->pipeline;
    return decoders_read(&pipeline->decoders, field->tree, &pipeline->arena, err);
}

/* Are words bytes in GPT-2's alphabet, and do pieces come in it? */
static enum word_form find_form(struct pipeline *pipeline)
{
    const struct pre_tokenizer *step = pipeline->pre_tokenizers;
    bool last = false; /* is ByteLevel the last step? */
    bool spells = normalizers_spell_bytes(pipeline->normalizers);
    pipeline->is_spelt = spells;
    for (; step; step = step->next) {
        last = step->cut == pre_tokenizer_spell;
        spells = spells || last;
    }
    pipeline->is_spelt = pipeline->is_spelt || (spells && !last);
    return spells ? WORD_BYTES : WORD_TEXT;
}

static int read_model(const struct reader *reader, struct field *field, struct err *err)
{
    struct pipeline *pipeline = reader->pipeline;
    struct json_cursor model;
    struct subword_source source = {
        .fields = field->inner,
        .file_bytes = reader->file_bytes,
        .form = find_form(pipeline),
        .words = &pipeline->set.words,
        .arena = &pipeline->arena,
    };
    if (field_need(&model, field, "{", err))
        return -1;
    return subword_read(&pipeline->model, &source, err) ? err_prefix(err, "%s", field->name) : 0;
}

int pipeline_normalize_token(struct pipeline *pipeline, struct added_token *token, struct err *err)
{
    struct text_rewriter rewriters[2] = {0};
    const struct aligned_text text = {.bytes = token->bytes, .size = token->size};
    struct text_limits limits = text_limits_of(token->size);
    struct aligned_text normal;
    if (!token->normalized || !pipeline->normalizers)
        return 0;
    int failed = normalize(pipeline->normalizers, &normal, &text, rewriters, &limits, err);
    if (!failed) {
        token->pattern_size = normal.size;
        token->pattern = arena_text(&pipeline->arena, normal.bytes, normal.size, err);
        failed = token->pattern ? 0 : -1;
    }
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    return failed;
}

static int read_added_tokens(const struct reader *reader, struct field *field, struct err *err)
{
    struct pipeline *pipeline = reader->pipeline;
    size_t count = 0;
    const struct json *list = field->tree;
    if (list && !json_is_array(list))
        return err_set(err, "expected an array");
    struct added_token *items =
        arena_alloc(&pipeline->arena, json_count(list) + 1, sizeof *items, err);
    if (!items)
        return -1;
    for (const struct json *at = json_first(list); at; at = json_next(at), count++)
        if (added_token_read(&items[count], at, err) ||
            pipeline_normalize_token(pipeline, &items[count], err))
            return err_prefix(err, "item %zu", count);
    return token_set_add(&pipeline->set, items, count, err);
}

static int read_root(struct reader *reader, struct json_cursor root, struct err *err)
{
    static const struct {
        enum root_field field;
        int (*read)(const struct reader *reader, struct field *field, struct err *err);
    } steps[] = {
        {ROOT_NORMALIZER, read_normalizer},         {ROOT_PRE_TOKENIZER, read_pre_tokenizer},
        {ROOT_POST_PROCESSOR, read_post_processor}, {ROOT_DECODER, read_decoder},
        {ROOT_TRUNCATION, read_truncation},         {ROOT_MODEL, read_model},
        {ROOT_ADDED_TOKENS, read_added_tokens},
    };
    struct json_cursor model;
    if (fields_find(reader->root, ROOT_FIELDS, &root, err) ||
        field_need(&model, &reader->root[ROOT_MODEL], "{", err))
        return -1;
    reader->pipeline->pads = field_is_given(&reader->root[ROOT_PADDING]);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct field *field = &reader->root[steps[i].field];
        bool is_model = field->inner; /* too large for a tree, and it names itself */
        if ((!is_model && field_parse(field, err)) || steps[i].read(reader, field, err))
            return is_model ? -1 : err_prefix(err, "%s", field->name);
    }
    return 0;
}

static int read_file(void *pipeline, const struct file *file, struct err *err)
{
    struct json_cursor root;
    struct json_extent extent = {0};
    struct reader reader = {
        .pipeline = pipeline,
        .file_bytes = file->size,
        .root = {[ROOT_ADDED_TOKENS] = {.name = "added_tokens"},
                 [ROOT_NORMALIZER] = {.name = "normalizer"},
                 [ROOT_PRE_TOKENIZER] = {.name = "pre_tokenizer"},
                 [ROOT_POST_PROCESSOR] = {.name = "post_processor"},
                 [ROOT_DECODER] = {.name = "decoder"},
                 [ROOT_TRUNCATION] = {.name = "truncation"},
                 [ROOT_PADDING] = {.name = "padding"},
                 [ROOT_MODEL] = {.name = "model",
                                 .inner = reader.model,
                                 .inner_count = MODEL_FIELDS}},
        .model = {[MODEL_TYPE] = {.name = "type"},
                  [MODEL_VOCAB] = {.name = "vocab"},
                  [MODEL_MERGES] = {.name = "merges"},
                  [MODEL_DROPOUT] = {.name = "dropout"},
                  [MODEL_UNK_TOKEN] = {.name = "unk_token"},
                  [MODEL_UNK_ID] = {.name = "unk_id"},
                  [MODEL_PREFIX] = {.name = "continuing_subword_prefix"},
                  [MODEL_SUFFIX] = {.name = "end_of_word_suffix"},
                  [MODEL_FUSE_UNK] = {.name = "fuse_unk"},
                  [MODEL_BYTE_FALLBACK] = {.name = "byte_fallback"},
                  [MODEL_IGNORE_MERGES] = {.name = "ignore_merges"},
                  [MODEL_MOST_CHARACTERS] = {.name = "max_input_chars_per_word"}},
    };
    int failed = json_cursor_open(&root, &extent, file->bytes, file->size, err) ||
                 read_root(&reader, root, err);
    fields_free(reader.root, ROOT_FIELDS);
    fields_free(reader.model, MODEL_FIELDS);
    return failed ? -1 : 0;
}

int pipeline_open_json(struct pipeline *pipeline, const struct folder *folder, struct err *err)
{
    *pipeline = (struct pipeline){0};
    if (folder_read(folder, "tokenizer.json", read_file, pipeline, err) ||
        pipeline_read_listed(pipeline, folder, err)) {
        pipeline_release(pipeline);
        return -1;
    }
    return 0;
}

void pipeline_stages(const struct pipeline *pipeline, struct buf *out)
{
    for (const struct normalizer *step = pipeline->normalizers; step; step = step->next)
        buf_format(out, "%s, ", step->name);
    for (const struct pre_tokenizer *step = pipeline->pre_tokenizers; step; step = step->next) {
        if (step->name)
            buf_text(out, step->name);
        if (step->name && step->matcher.pattern)
            buf_format(out, " (%s)", step->matcher.pattern);
        if (step->name)
            buf_text(out, ", ");
    }
    buf_text(out, pipeline->model.row->name);
}

void pipeline_release(struct pipeline *pipeline)
{
    normalizers_release(pipeline->normalizers);
    pre_tokenizers_release(pipeline->pre_tokenizers);
    subword_release(&pipeline->model);
    decoders_release(pipeline->decoders);
    token_set_release(&pipeline->set);
    arena_release(&pipeline->arena);
    *pipeline = (struct pipeline){0};
}
