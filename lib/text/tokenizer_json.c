/* tokenizer_json.c: Hugging Face's tokenizer.json: members of the document and of its model, found
 * in one walk because its tables are too large for a tree. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "format/json.h"
#include "text/builder.h"
#include "text/label.h"

/* --- fields ----------------------------------------------------------------------------------- */

/* A member of an object. */
struct field {
    const char *name;
    struct json_span value; /* NULL bytes: it is not there */
    struct json *tree;      /* of a small value, once it was parsed */
    struct field *inner;    /* [inner_count] members to look for in its value */
    size_t inner_count;
};

/* Members of the document, in the order in which they are read, and of its model. */
enum root_field {
    ROOT_NORMALIZER,
    ROOT_PRE_TOKENIZER,
    ROOT_POST_PROCESSOR,
    ROOT_DECODER,
    ROOT_TRUNCATION,
    ROOT_MODEL,
    ROOT_ADDED_TOKENS,
    ROOT_PADDING, /* after all that are read in this order */
    ROOT_FIELDS
};

enum model_field {
    MODEL_TYPE,
    MODEL_VOCAB,
    MODEL_MERGES,
    MODEL_DROPOUT,
    MODEL_UNK_TOKEN,
    MODEL_UNK_ID,
    MODEL_PREFIX,
    MODEL_SUFFIX,
    MODEL_FUSE_UNK,
    MODEL_BYTE_FALLBACK,
    MODEL_IGNORE_MERGES,
    MODEL_MOST_CHARACTERS,
    MODEL_FIELDS
};

enum { DESCRIPTION_BYTES = 80 };

static int fields_find(struct field *fields, size_t count, struct json_cursor *object,
                       struct err *err);

/* Pass the value of a field, or of none that is wanted. The large ones are passed only once. */
static int pass_value(struct field *field, struct json_cursor *object, struct err *err)
{
    const char *start = object->at;
    if (!field) {
        json_cursor_value(object);
        return 0;
    }
    if (field->value.bytes)
        return err_set(err, "field '%s': expected once, found twice", field->name);
    if (!field->inner || json_cursor_kind(object) != '{') {
        field->value = json_cursor_value(object);
        return 0;
    }
    if (fields_find(field->inner, field->inner_count, object, err))
        return err_prefix(err, "%s", field->name);
    field->value = (struct json_span){start, (size_t)(object->at - start)};
    return 0;
}

static int fields_find(struct field *fields, size_t count, struct json_cursor *object,
                       struct err *err)
{
    if (json_cursor_kind(object) != '{')
        return err_set(err, "expected an object");
    json_cursor_enter(object);
    while (json_cursor_next(object)) {
        struct json_span name = json_cursor_name(object);
        struct field *field = NULL;
        for (size_t i = 0; i < count; i++)
            if (json_span_is(name, fields[i].name))
                field = &fields[i];
        if (pass_value(field, object, err))
            return -1;
    }
    return 0;
}

static bool field_is_given(const struct field *field)
{
    return field->value.bytes && *field->value.bytes != 'n'; /* null counts as absent */
}

static int field_parse(struct field *field, struct err *err)
{
    if (!field_is_given(field) || field->tree)
        return 0;
    return json_parse(&field->tree, field->value.bytes, field->value.size, err);
}

static void fields_free(struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_free(fields[i].tree);
}

static int field_need(struct json_cursor *value, const struct field *field, const char *kinds,
                      struct err *err)
{
    if (!field_is_given(field))
        return err_set(err, "expected a field '%s'", field->name);
    *value = json_cursor_at(field->value);
    if (!strchr(kinds, json_cursor_kind(value)))
        return err_set(err, "field '%s': expected an %s", field->name,
                       *kinds == '{' ? "object" : "array");
    return 0;
}

static int refuse(const struct field *field, const char *expected, struct err *err)
{
    char found[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", field->name, expected,
                   json_describe(field->tree, found, sizeof found));
}

static int field_text(struct field *field, const char **out, struct err *err)
{
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    return json_get_text(field->tree, out) ? 0 : refuse(field, "a text", err);
}

static int field_bool(struct field *field, bool *out, struct err *err)
{
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    return json_get_bool(field->tree, out) ? 0 : refuse(field, "true or false", err);
}

static int field_integer(struct field *field, long long min, long long max, long long *out,
                         struct err *err)
{
    char expected[DESCRIPTION_BYTES];
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    if (json_get_integer(field->tree, min, max, out))
        return 0;
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", min, max);
    return refuse(field, expected, err);
}

struct reader {
    struct tokenizer *tokenizer;
    size_t file_bytes;
    struct field model[MODEL_FIELDS];
    struct field root[ROOT_FIELDS];
};

/* --- models ----------------------------------------------------------------------------------- */

/* Read the words, an object or an array as `kind` says. */
static int read_words(struct reader *reader, const char *kind, enum word_form form, struct err *err)
{
    struct json_cursor vocab;
    struct word_table *words = &reader->tokenizer->set.words;
    if (field_need(&vocab, &reader->model[MODEL_VOCAB], kind, err))
        return -1;
    return word_table_read(words, vocab, form, reader->file_bytes, err) ? err_prefix(err, "vocab")
                                                                        : 0;
}

static int read_affix(struct word *affix, struct field *field, struct arena *arena, struct err *err)
{
    const char *text = "";
    if (field_text(field, &text, err))
        return -1;
    affix->size = strlen(text);
    affix->bytes = arena_text(arena, text, affix->size, err);
    return affix->bytes ? 0 : -1;
}

static int read_bpe_settings(struct reader *reader, struct bpe *bpe, struct err *err)
{
    struct field *fields = reader->model;
    char shown[LABEL_EXCERPT_BYTES];
    const char *unknown = "";
    bool found = true;
    bool falls_back = false;
    if (read_affix(&bpe->suffix, &fields[MODEL_SUFFIX], &reader->tokenizer->arena, err) ||
        field_text(&fields[MODEL_UNK_TOKEN], &unknown, err) ||
        (*unknown && token_set_find_word(&reader->tokenizer->set, unknown, strlen(unknown),
                                         &bpe->unknown, &found, err)))
        return -1;
    if (!found)
        return err_set(err, "unk_token: '%s' is not in the vocabulary",
                       label_excerpt(shown, unknown, strlen(unknown)));
    if (field_bool(&fields[MODEL_FUSE_UNK], &bpe->fuses_unknown, err) ||
        field_bool(&fields[MODEL_IGNORE_MERGES], &bpe->takes_whole, err) ||
        field_bool(&fields[MODEL_BYTE_FALLBACK], &falls_back, err))
        return -1;
    if (falls_back)
        subword_find_bytes(bpe->fallback_ids, bpe->words);
    return 0;
}

/* True if words are written in GPT-2's alphabet; sets whether pieces are, too. */
static enum word_form find_form(struct tokenizer *tokenizer)
{
    const struct pre_tokenizer *step = tokenizer->pre_tokenizers;
    bool last = false; /* is ByteLevel the last step? */
    bool spells = normalizers_spell_bytes(tokenizer->normalizers);
    tokenizer->is_spelt = spells;
    for (; step; step = step->next) {
        last = step->cut == pre_tokenizer_spell;
        spells = spells || last;
    }
    tokenizer->is_spelt = tokenizer->is_spelt || (spells && !last);
    return spells ? WORD_BYTES : WORD_TEXT;
}

static int read_bpe(struct reader *reader, struct subword *model, struct err *err)
{
    struct field *fields = reader->model;
    struct json_cursor merges;
    struct word prefix = {0};
    char shown[LABEL_EXCERPT_BYTES];
    struct json_span dropout = fields[MODEL_DROPOUT].value;
    struct json_cursor vocab;
    /* random merges are for training */
    if (field_is_given(&fields[MODEL_DROPOUT]) && !json_span_is(dropout, "0") &&
        !json_span_is(dropout, "0.0"))
        return err_unsupported(err, "'dropout': %s is not supported",
                               label_excerpt(shown, dropout.bytes, dropout.size));
    if (field_need(&vocab, &fields[MODEL_VOCAB], "{", err) ||
        field_need(&merges, &fields[MODEL_MERGES], "[", err) ||
        read_words(reader, "{", find_form(reader->tokenizer), err) ||
        read_affix(&prefix, &fields[MODEL_PREFIX], &reader->tokenizer->arena, err))
        return -1;
    bpe_init(&model->bpe, model->words);
    if (merges_read_json(&model->bpe, merges, prefix.size, err))
        return err_prefix(err, "merges");
    model->bpe.prefix = prefix;
    if (read_bpe_settings(reader, &model->bpe, err))
        return -1;
    model->cuts_at_signs = bpe_cuts_at_signs(&model->bpe);
    return 0;
}

static int read_unigram(struct reader *reader, struct subword *model, struct err *err)
{
    enum { PENALTY = 10 }; /* of an unknown character, below the smallest score */
    struct field *fields = reader->model;
    const struct word_table *words = model->words;
    double least = DBL_MAX;
    long long unknown = -1;
    bool falls_back = false;
    model->fuses_unknown = true;
    if (read_words(reader, "[", WORD_TEXT, err))
        return -1;
    model->scores = words->scores;
    if (!model->scores)
        return err_set(err, "vocab: expected items [\"▁a\", -3.5], found words without scores");
    if (field_integer(&fields[MODEL_UNK_ID], 0, (long long)words->size - 1, &unknown, err) ||
        field_bool(&fields[MODEL_BYTE_FALLBACK], &falls_back, err) ||
        field_bool(&fields[MODEL_FUSE_UNK], &model->fuses_unknown, err))
        return -1;
    for (size_t id = 0; id < words->size; id++)
        if (words->places[id].form != WORD_ABSENT && model->scores[id] < least)
            least = model->scores[id];
    if (least == DBL_MAX)
        return err_set(err, "vocab: expected scores, found none");
    model->unknown_score = least - PENALTY;
    model->unknown = unknown < 0 ? BPE_NONE : (uint32_t)unknown;
    memset(model->byte_ids, 0xFF, sizeof model->byte_ids);
    if (falls_back)
        subword_find_bytes(model->byte_ids, words);
    return word_trie_init(&model->trie, words, err);
}

static int read_word_level(struct reader *reader, struct subword *model, struct err *err)
{
    const char *text = "";
    if (read_words(reader, "{", WORD_TEXT, err) ||
        field_text(&reader->model[MODEL_UNK_TOKEN], &text, err))
        return -1;
    word_table_find(model->words, text, strlen(text), WORD_TEXT, &model->unknown);
    return 0;
}

static int read_word_piece(struct reader *reader, struct subword *model, struct err *err)
{
    struct field *fields = reader->model;
    const char *prefix = "##";
    if (read_word_level(reader, model, err) || field_text(&fields[MODEL_PREFIX], &prefix, err) ||
        field_integer(&fields[MODEL_MOST_CHARACTERS], 0, INT32_MAX, &model->most_characters, err))
        return -1;
    return subword_find_rests(model, prefix, err);
}

/* Files of old versions do not name the model; other fields identify it. */
static const char *guess_type(const struct field *fields)
{
    return field_is_given(&fields[MODEL_MERGES])            ? "BPE"
           : field_is_given(&fields[MODEL_UNK_ID])          ? "Unigram"
           : field_is_given(&fields[MODEL_MOST_CHARACTERS]) ? "WordPiece"
                                                            : NULL;
}

static int read_model(struct reader *reader, struct err *err)
{
    static int (*const read[SUBWORD_WORDS])(struct reader *, struct subword *, struct err *) = {
        [SUBWORD_BPE] = read_bpe,
        [SUBWORD_UNIGRAM] = read_unigram,
        [SUBWORD_WORD_PIECE] = read_word_piece,
        [SUBWORD_WORD_LEVEL] = read_word_level,
    };
    char shown[LABEL_EXCERPT_BYTES];
    const char *type = NULL;
    size_t row = 0;
    struct tokenizer *tokenizer = reader->tokenizer;
    if (field_text(&reader->model[MODEL_TYPE], &type, err))
        return -1;
    type = type ? type : guess_type(reader->model);
    if (!type)
        return err_set(err, "expected a field 'type'");
    if (!names_find(&row, NAMES(subword_rows, SUBWORD_WORDS), type, strlen(type)))
        return err_unsupported(err, "type '%s' is not supported",
                               label_excerpt(shown, type, strlen(type)));
    if (find_form(tokenizer) == WORD_BYTES && row != SUBWORD_BPE)
        return err_unsupported(err, "%s with the pre_tokenizer ByteLevel is not supported",
                               subword_rows[row].name);
    subword_init(&tokenizer->model, &subword_rows[row], &tokenizer->set.words);
    return read[row](reader, &tokenizer->model, err);
}

/* --- stages ----------------------------------------------------------------------------------- */

int tokenizer_normalize_token(struct tokenizer *tokenizer, struct added_token *token,
                              struct err *err)
{
    struct text_rewriter rewriters[2] = {0};
    const struct aligned_text text = {.bytes = token->bytes, .size = token->size};
    struct text_limits limits = text_limits_of(token->size);
    struct aligned_text normal;
    if (!token->normalized || !tokenizer->normalizers)
        return 0;
    int failed = normalize(tokenizer->normalizers, &normal, &text, rewriters, &limits, err);
    if (!failed) {
        token->pattern_size = normal.size;
        token->pattern = arena_text(&tokenizer->arena, normal.bytes, normal.size, err);
        failed = token->pattern ? 0 : -1;
    }
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    return failed;
}

static int read_added_tokens(struct tokenizer *tokenizer, const struct json *list, struct err *err)
{
    size_t count = 0;
    if (list && !json_is_array(list))
        return err_set(err, "expected an array");
    struct added_token *items =
        arena_alloc(&tokenizer->arena, json_count(list) + 1, sizeof *items, err);
    if (!items)
        return -1;
    for (const struct json *at = json_first(list); at; at = json_next(at), count++)
        if (added_token_read(&items[count], at, err) ||
            tokenizer_normalize_token(tokenizer, &items[count], err))
            return err_prefix(err, "item %zu", count);
    return token_set_add(&tokenizer->set, items, count, err);
}

static int read_stage(struct reader *reader, enum root_field field, const struct json *value,
                      struct err *err)
{
    struct tokenizer *tokenizer = reader->tokenizer;
    struct arena *arena = &tokenizer->arena;
    switch (field) {
    case ROOT_NORMALIZER:
        return normalizers_read(&tokenizer->normalizers, value, arena, err);
    case ROOT_PRE_TOKENIZER:
        return pre_tokenizers_read(&tokenizer->pre_tokenizers, value, arena, err);
    case ROOT_POST_PROCESSOR:
        return post_processor_read(&tokenizer->templates, value, err);
    case ROOT_DECODER:
        return decoders_read(&tokenizer->decoders, value, arena, err);
    case ROOT_TRUNCATION: /* any other value does not matter */
        json_get_integer(json_member(value, "max_length"), 1, 1000000000000000,
                         &tokenizer->truncation);
        return 0;
    case ROOT_MODEL:
        return read_model(reader, err);
    case ROOT_ADDED_TOKENS:
        return read_added_tokens(tokenizer, value, err);
    default:
        return 0;
    }
}

static int read_root(struct reader *reader, struct json_cursor root, struct err *err)
{
    struct json_cursor model;
    if (fields_find(reader->root, ROOT_FIELDS, &root, err) ||
        field_need(&model, &reader->root[ROOT_MODEL], "{", err))
        return -1;
    reader->tokenizer->pads = field_is_given(&reader->root[ROOT_PADDING]);
    for (enum root_field i = 0; i < ROOT_PADDING; i++) {
        struct field *field = &reader->root[i];
        if ((i != ROOT_MODEL && field_parse(field, err)) || read_stage(reader, i, field->tree, err))
            return err_prefix(err, "%s", field->name);
    }
    return 0;
}

static int read_file(void *tokenizer, const struct file *file, struct err *err)
{
    struct json_cursor root;
    struct json_extent extent = {0};
    struct reader reader = {
        .tokenizer = tokenizer,
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

int tokenizer_fill_json(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                        struct err *err)
{
    return tokenizer_config_read(tokenizer, folder, CONFIG_LISTED, err) ||
                   folder_read(folder, name, read_file, tokenizer, err) ||
                   tokenizer_merge_listed(tokenizer, folder, err)
               ? -1
               : 0;
}
