#include "text/tokenizer_json.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "format/json.h"
#include "text/label.h"
#include "text/bpe.h"

/* A member of an object. */
struct field {
    const char *name;
    struct json_span value; /* NULL bytes: it is not there */
    size_t count;           /* members or items of its value */
    struct json *tree;      /* of a small value, once it was parsed */
    struct field *inner;    /* [inner_count] members to look for in its value */
    size_t inner_count;
};

/* The members of the document that make a difference; and those of its model, the first OFF_FIELDS
 * of which must be off. */
enum { ADDED_TOKENS, NORMALIZER, PRE_TOKENIZER, TRUNCATION, MODEL, ROOT_FIELDS };
enum { VOCAB = 5, OFF_FIELDS = VOCAB, MERGES, TYPE, UNKNOWN, MODEL_FIELDS };

/* A document on its way in. */
struct reader {
    size_t file_bytes;
    struct pre_tokenizer pre;
    struct field model[MODEL_FIELDS];
    struct field root[ROOT_FIELDS];
};

static int find_fields(struct field *fields, size_t count, struct json_cursor *object,
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
        field->value = json_cursor_count(object, &field->count);
        return 0;
    }
    if (find_fields(field->inner, field->inner_count, object, err))
        return err_prefix(err, "%s", field->name);
    field->value = (struct json_span){start, (size_t)(object->at - start)};
    return 0;
}

/* Find the fields of the object that comes, and pass it. */
static int find_fields(struct field *fields, size_t count, struct json_cursor *object,
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

static bool is_given(const struct field *field)
{
    return field->value.bytes && *field->value.bytes != 'n'; /* null is as good as nothing */
}

/* Make a tree of a value that is small. */
static int parse(struct field *field, struct err *err)
{
    if (!is_given(field) || !json_parse(&field->tree, field->value.bytes, field->value.size, err))
        return 0;
    return err_prefix(err, "%s", field->name); /* it is too large: its grammar was looked at */
}

/* --- what stands beside the model ------------------------------------------------------------- */

static int add_tokens(struct token_set *set, const struct json *list, struct err *err)
{
    size_t count = 0;
    if (list && !json_is_array(list))
        return err_set(err, "expected an array");
    struct added_token *items = arena_alloc(&set->arena, json_count(list) + 1, sizeof *items, err);
    if (!items)
        return -1;
    for (const struct json *at = json_first(list); at; at = json_next(at), count++)
        if (added_token_read(&items[count], at, err))
            return err_prefix(err, "item %zu", count);
    return token_set_add(set, items, count, err);
}

static int read_added_tokens(struct token_set *set, struct field *field, struct err *err)
{
    if (parse(field, err))
        return -1;
    return add_tokens(set, field->tree, err) ? err_prefix(err, "%s", field->name) : 0;
}

static int refuse_normalizer(struct field *field, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *type = "";
    if (!is_given(field))
        return 0;
    if (parse(field, err))
        return -1;
    json_get_text(json_member(field->tree, "type"), &type);
    return err_unsupported(err, "normalizer: type '%s' is not supported",
                           label_excerpt(shown, type, strlen(type)));
}

static int read_pre_tokenizer(struct pre_tokenizer *pre, struct field *field, struct err *err)
{
    if (parse(field, err))
        return -1;
    return pre_tokenizer_read(pre, field->tree, err) ? err_prefix(err, "%s", field->name) : 0;
}

/* How many tokens other programs leave of a text. */
static int read_truncation(long long *most, struct field *field, struct err *err)
{
    if (parse(field, err))
        return -1;
    /* of another form it is nothing that we need */
    json_get_integer(json_member(field->tree, "max_length"), 1, 1000000000000000, most);
    return 0;
}

/* --- the model -------------------------------------------------------------------------------- */

/* null, false, "", 0: what a setting is where it changes nothing. */
static bool is_off(const struct field *field)
{
    static const char *const forms[] = {"false", "\"\"", "0", "0.0"};
    if (!is_given(field))
        return true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (json_span_is(field->value, forms[i]))
            return true;
    return false;
}

static int refuse_settings(const struct reader *reader, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    for (size_t i = 0; i < OFF_FIELDS; i++) {
        const struct field *field = &reader->model[i];
        if (!is_off(field))
            return err_unsupported(err, "'%s': %s is not supported", field->name,
                                   label_excerpt(shown, field->value.bytes, field->value.size));
    }
    return 0;
}

/* The value of a field, which must be there. */
static int need(struct json_cursor *value, const struct field *field, const char *kinds,
                struct err *err)
{
    if (!is_given(field))
        return err_set(err, "expected a field '%s'", field->name);
    *value = json_cursor_at(field->value);
    if (!strchr(kinds, json_cursor_kind(value)))
        return err_set(err, "field '%s': expected an %s", field->name,
                       *kinds == '{' ? "object" : "array");
    return 0;
}

static int read_vocabulary(struct word_table *words, const struct reader *reader,
                           enum word_form form, struct err *err)
{
    struct json_cursor vocab;
    if (need(&vocab, &reader->model[VOCAB], "{", err))
        return -1;
    return word_table_read(words, vocab, form, reader->file_bytes, err) ? err_prefix(err, "vocab")
                                                                        : 0;
}

static int read_bpe(struct byte_level *level, const struct reader *reader, struct err *err)
{
    struct json_cursor merges;
    if (reader->pre.kind != PRE_TOKENIZER_BYTE_LEVEL)
        return err_unsupported(err,
                               "BPE with the pre_tokenizer %s is not supported, only ByteLevel",
                               pre_tokenizer_name(reader->pre.kind));
    level->prefix_space = reader->pre.prefix_space;
    if (read_vocabulary(&level->set.words, reader, WORD_BYTES, err) ||
        need(&merges, &reader->model[MERGES], "[", err))
        return -1;
    size_t count = reader->model[MERGES].count;
    return merges_read_json(&level->bpe, &level->set.words, merges, count, err)
               ? err_prefix(err, "merges")
               : 0;
}

static int read_word_level(struct word_level *level, struct reader *reader, struct err *err)
{
    static const enum word_level_cut cuts[] = {
        [PRE_TOKENIZER_NONE] = WORD_LEVEL_WHOLE,
        [PRE_TOKENIZER_WHITESPACE] = WORD_LEVEL_WORDS,
        [PRE_TOKENIZER_WHITESPACE_SPLIT] = WORD_LEVEL_BLANKS,
    };
    struct field *unknown = &reader->model[UNKNOWN];
    const char *text = "";
    if (reader->pre.kind == PRE_TOKENIZER_BYTE_LEVEL)
        return err_unsupported(err, "WordLevel with the pre_tokenizer ByteLevel is not supported");
    level->cut = cuts[reader->pre.kind];
    if (read_vocabulary(&level->set.words, reader, WORD_TEXT, err) || parse(unknown, err))
        return -1;
    json_get_text(unknown->tree, &text);
    level->has_unknown =
        word_table_find(&level->set.words, text, strlen(text), WORD_TEXT, &level->unknown);
    return 0;
}

/* Files of old versions do not name the model; then merges tell. */
static int read_model(struct tokenizer_json *json, struct reader *reader, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const struct field *type = &reader->model[TYPE];
    bool named = is_given(type);
    bool bpe = named ? json_span_is(type->value, "\"BPE\"") : is_given(&reader->model[MERGES]);
    if (!named && !bpe)
        return err_set(err, "expected a field 'type'");
    if (!bpe && !json_span_is(type->value, "\"WordLevel\""))
        return err_unsupported(err, "type %s is not supported, only BPE and WordLevel",
                               label_excerpt(shown, type->value.bytes, type->value.size));
    if (refuse_settings(reader, err))
        return -1;
    json->model = bpe ? TOKENIZER_JSON_BPE : TOKENIZER_JSON_WORD_LEVEL;
    return bpe ? read_bpe(&json->byte_level, reader, err)
               : read_word_level(&json->word_level, reader, err);
}

static int read_root(struct tokenizer_json *json, struct reader *reader, struct json_cursor root,
                     struct err *err)
{
    struct field *fields = reader->root;
    struct json_cursor model;
    if (find_fields(fields, ROOT_FIELDS, &root, err) || need(&model, &fields[MODEL], "{", err) ||
        refuse_normalizer(&fields[NORMALIZER], err) ||
        read_pre_tokenizer(&reader->pre, &fields[PRE_TOKENIZER], err) ||
        read_truncation(&json->truncation, &fields[TRUNCATION], err))
        return -1;
    if (read_model(json, reader, err))
        return err_prefix(err, "model");
    struct token_set *set =
        json->model == TOKENIZER_JSON_BPE ? &json->byte_level.set : &json->word_level.set;
    return read_added_tokens(set, &fields[ADDED_TOKENS], err);
}

static int read_file(void *json, const struct file *file, struct err *err)
{
    struct json_cursor root;
    struct reader reader = {
        .file_bytes = file->size,
        .root = {[ADDED_TOKENS] = {.name = "added_tokens"},
                 [NORMALIZER] = {.name = "normalizer"},
                 [PRE_TOKENIZER] = {.name = "pre_tokenizer"},
                 [TRUNCATION] = {.name = "truncation"},
                 [MODEL] = {.name = "model", .inner = reader.model, .inner_count = MODEL_FIELDS}},
        .model = {{.name = "dropout"},
                  {.name = "continuing_subword_prefix"},
                  {.name = "end_of_word_suffix"},
                  {.name = "byte_fallback"},
                  {.name = "ignore_merges"},
                  [VOCAB] = {.name = "vocab"},
                  [MERGES] = {.name = "merges"},
                  [TYPE] = {.name = "type"},
                  [UNKNOWN] = {.name = "unk_token"}},
    };
    int failed = json_cursor_open(&root, file->bytes, file->size, err) ||
                 read_root(json, &reader, root, err);
    for (size_t i = 0; i < ROOT_FIELDS; i++)
        json_free(reader.root[i].tree);
    json_free(reader.model[UNKNOWN].tree);
    return failed ? -1 : 0;
}

int tokenizer_json_open(struct tokenizer_json *json, const struct folder *folder, struct err *err)
{
    *json = (struct tokenizer_json){0};
    int failed = folder_read(folder, "tokenizer.json", read_file, json, err);
    if (failed) {
        byte_level_release(&json->byte_level);
        word_level_release(&json->word_level);
    }
    return failed;
}
