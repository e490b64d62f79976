/* gguf_export_tokenizer.c: a model's tokenizer as the keys of a GGUF file: what gguf_tokenizer.c
 * reads, the other way round. What cuts texts in no way that has a name there is refused. */
#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "format/json_cursor.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "text/post_processor.h"
#include "text/splitter.h"
#include "text/tokenizer.h"
#include "text/tokenizer_fields.h"

/* Kinds of tokens: SentencePiece's. */
enum { NORMAL = 1, CONTROL = 3, USER_DEFINED, UNUSED };

/* Every row of the model has a token, with its kind. */
struct listed {
    struct gguf *gguf;
    struct gguf_text *tokens; /* [count] without bytes: none */
    int32_t *kinds;
    size_t count;
    struct buf merges;
    size_t merge_count;
    struct arena arena;
    struct err *err;
};

static int list(struct listed *listed, long long id, const char *bytes, size_t size, int32_t kind)
{
    if (id < 0 || (size_t)id >= listed->count)
        return err_unsupported(listed->err,
                               "a GGUF file: expected ids of tokens below vocab_size = %zu, found "
                               "%lld",
                               listed->count, id);
    listed->tokens[id] = (struct gguf_text){bytes, size};
    listed->kinds[id] = kind;
    return 0;
}

static int put_listed(struct listed *listed)
{
    struct buf items = {0};
    struct buf kinds = {0};
    for (size_t i = 0; i < listed->count; i++) {
        char name[32];
        struct gguf_text token = listed->tokens[i];
        int32_t kind = token.bytes ? listed->kinds[i] : UNUSED;
        if (!token.bytes)
            token = (struct gguf_text){name, (size_t)snprintf(name, sizeof name, "[PAD%zu]", i)};
        gguf_add_text(&items, token.bytes, token.size);
        buf_bytes(&kinds, &kind, sizeof kind);
    }
    int failed = gguf_put_array(listed->gguf, "tokenizer.ggml.tokens", GGUF_TEXT, listed->count,
                                &items, listed->err) ||
                 gguf_put_array(listed->gguf, "tokenizer.ggml.token_type", GGUF_I32, listed->count,
                                &kinds, listed->err) ||
                 gguf_put_array(listed->gguf, "tokenizer.ggml.merges", GGUF_TEXT,
                                listed->merge_count, &listed->merges, listed->err);
    buf_release(&items);
    buf_release(&kinds);
    return failed ? -1 : 0;
}

/* --- tables of JSON --------------------------------------------------------------------------- */

static int read_vocab(struct listed *listed, struct json_cursor vocab)
{
    json_cursor_enter(&vocab);
    while (json_cursor_next(&vocab)) {
        struct json_span name = json_cursor_name(&vocab);
        char *bytes = arena_room(&listed->arena, name.size + 1, 1, listed->err);
        size_t id = 0;
        if (!bytes)
            return -1;
        if (!json_cursor_number(&vocab, UINT32_MAX, &id))
            return err_set(listed->err, "field 'vocab': expected ids that are whole numbers");
        if (list(listed, (long long)id, bytes, json_unescape(bytes, name), NORMAL))
            return -1;
    }
    return 0;
}

static void add_merge(struct listed *listed, const char *bytes, size_t size)
{
    gguf_add_text(&listed->merges, bytes, size);
    listed->merge_count++;
}

/* "a b", or ["a", "b"]. */
static int read_merges(struct listed *listed, struct json_cursor merges)
{
    struct buf pair = {0};
    json_cursor_enter(&merges);
    while (json_cursor_next(&merges)) {
        bool is_array = json_cursor_kind(&merges) == '[';
        struct json_cursor item = json_cursor_at(json_cursor_value(&merges));
        buf_clear(&pair);
        if (is_array)
            json_cursor_enter(&item);
        for (size_t i = 0; is_array ? json_cursor_next(&item) : i == 0; i++) {
            struct json_span text = json_cursor_text(&item);
            char *room = arena_room(&listed->arena, text.size + 1, 1, listed->err);
            if (!room) {
                buf_release(&pair);
                return -1;
            }
            buf_text(&pair, i ? " " : "");
            buf_bytes(&pair, room, json_unescape(room, text));
        }
        add_merge(listed, pair.size ? pair.bytes : "", pair.size);
    }
    int failed = buf_check(&pair, listed->err);
    buf_release(&pair);
    return failed;
}

static int read_added(struct listed *listed, const struct json *added)
{
    for (const struct json *token = json_first(added); token; token = json_next(token)) {
        long long id = -1;
        const char *content = "";
        bool special = false;
        if (json_integer(token, "id", 0, UINT32_MAX, &id, listed->err) ||
            json_text(token, "content", &content, listed->err) ||
            json_bool(token, "special", &special, listed->err))
            return -1;
        char *copy = arena_text(&listed->arena, content, strlen(content), listed->err);
        if (!copy || list(listed, id, copy, strlen(copy), special ? CONTROL : USER_DEFINED))
            return -1;
    }
    return 0;
}

/* --- how texts are cut ------------------------------------------------------------------------ */

static int refuse_stage(const char *type, struct err *err)
{
    return err_unsupported(
        err,
        "expected a byte-level BPE that a tokenizer.ggml.pre of GGUF names, found "
        "another '%s': without its tokenizer's files a model is written for "
        "ids",
        type);
}

static void find_pattern(struct gguf_pre *pre, const char *regex)
{
    const struct splitter_pattern *found = splitter_find(regex);
    for (int i = 0; i < PATTERN_COUNT; i++)
        if (found == &splitter_patterns[i])
            pre->pattern = i;
}

/* A pre-tokenizer, or those of a Sequence. */
static int read_cut(struct gguf_pre *pre, const struct json *stage, struct err *err)
{
    const char *type = "";
    const char *regex = "";
    const char *behavior = "";
    bool with_regex = true;
    bool prefixes = true;
    bool flag = false;
    if (json_text(stage, "type", &type, err))
        return -1;
    if (strcmp(type, "ByteLevel") == 0) {
        if (json_bool(stage, "use_regex", &with_regex, err) ||
            json_bool(stage, "add_prefix_space", &prefixes, err))
            return -1;
        pre->pattern = with_regex ? PATTERN_GPT2 : pre->pattern;
        return prefixes ? refuse_stage("add_prefix_space", err) : 0;
    }
    if (strcmp(type, "Digits") == 0) {
        if (json_bool(stage, "individual_digits", &pre->digits, err))
            return -1;
        return pre->digits ? 0 : refuse_stage(type, err);
    }
    if (strcmp(type, "Split") == 0) {
        if (json_text(json_member(stage, "pattern"), "Regex", &regex, err) ||
            json_text(stage, "behavior", &behavior, err) || json_bool(stage, "invert", &flag, err))
            return -1;
        find_pattern(pre, regex);
        return flag || strcmp(behavior, "Isolated") != 0 ? refuse_stage(type, err) : 0;
    }
    return refuse_stage(type, err);
}

static int read_cuts(struct gguf_pre *pre, const struct json *stage, struct err *err)
{
    const struct json *several = json_member(stage, "pretokenizers");
    if (!several)
        return read_cut(pre, stage, err);
    for (const struct json *one = json_first(several); one; one = json_next(one))
        if (read_cut(pre, one, err))
            return -1;
    return 0;
}

enum { TYPE, VOCAB, MERGES, IGNORE, FALLBACK, MODEL_COUNT };
enum { NORMALIZER, CUTS, ADDED, MODEL, ROOT_COUNT };

static int put_pre(struct listed *listed, struct field *root, struct field *model)
{
    struct gguf_pre pre = {.pattern = -1};
    const char *type = "";
    bool falls_back = false;
    if (field_text(&model[TYPE], &type, listed->err) ||
        field_bool(&model[IGNORE], &pre.takes_whole, listed->err) ||
        field_bool(&model[FALLBACK], &falls_back, listed->err))
        return -1;
    if (strcmp(type, "BPE") != 0 || falls_back)
        return refuse_stage(falls_back ? "byte_fallback" : type, listed->err);
    if (field_is_given(&root[NORMALIZER])) {
        if (field_parse(&root[NORMALIZER], listed->err) ||
            json_text(root[NORMALIZER].tree, "type", &type, listed->err))
            return -1;
        pre.composes = strcmp(type, "NFC") == 0;
        if (!pre.composes)
            return refuse_stage(type, listed->err);
    }
    if (!field_is_given(&root[CUTS]))
        return refuse_stage("pre_tokenizer", listed->err);
    if (field_parse(&root[CUTS], listed->err) || read_cuts(&pre, root[CUTS].tree, listed->err))
        return -1;
    const struct gguf_pre *row = gguf_find_same_pre(&pre);
    return row ? gguf_put_text(listed->gguf, "tokenizer.ggml.pre", row->name, listed->err)
               : refuse_stage("pre_tokenizer", listed->err);
}

static int read_json(void *context, const struct file *file, struct err *err)
{
    struct listed *listed = context;
    struct json_cursor cursor;
    struct field model[] = {[TYPE] = {.name = "type"},
                            [VOCAB] = {.name = "vocab"},
                            [MERGES] = {.name = "merges"},
                            [IGNORE] = {.name = "ignore_merges"},
                            [FALLBACK] = {.name = "byte_fallback"}};
    struct field root[] = {[NORMALIZER] = {.name = "normalizer"},
                           [CUTS] = {.name = "pre_tokenizer"},
                           [ADDED] = {.name = "added_tokens"},
                           [MODEL] = {.name = "model", .inner = model, .inner_count = MODEL_COUNT}};
    struct json_cursor inner, vocab, merges;
    if (json_cursor_open(&cursor, NULL, file->bytes, file->size, err))
        return -1;
    int failed = fields_find(root, ROOT_COUNT, &cursor, err) ||
                 field_need(&inner, &root[MODEL], "{", err) || put_pre(listed, root, model) ||
                 field_need(&vocab, &model[VOCAB], "{", err) ||
                 field_need(&merges, &model[MERGES], "[", err) || read_vocab(listed, vocab) ||
                 read_merges(listed, merges) ||
                 (field_is_given(&root[ADDED]) &&
                  (field_parse(&root[ADDED], err) || read_added(listed, root[ADDED].tree)));
    fields_free(root, ROOT_COUNT);
    fields_free(model, MODEL_COUNT);
    return failed ? -1 : 0;
}

/* --- vocab.json and merges.txt ---------------------------------------------------------------- */

static int read_words(void *context, const struct file *file, struct err *err)
{
    struct json_cursor vocab;
    if (json_cursor_open(&vocab, NULL, file->bytes, file->size, err))
        return -1;
    if (json_cursor_kind(&vocab) != '{')
        return err_unsupported(err, "expected an object of tokens and ids for a GGUF file");
    return read_vocab(context, vocab);
}

static int read_lines(void *context, const struct file *file, struct err *err)
{
    const char *end = file->bytes + file->size;
    (void)err;
    for (const char *at = file->bytes; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((next ? next : end) - at);
        size_t kept = size && at[size - 1] == '\r' ? size - 1 : size;
        bool is_version = at == file->bytes && kept >= 8 && memcmp(at, "#version", 8) == 0;
        if (kept && !is_version)
            add_merge(context, at, kept);
        at += size + 1;
    }
    return 0;
}

/* --- the tokenizer ---------------------------------------------------------------------------- */

/* The tokens that its own program puts around a text. */
static int put_special(struct gguf *gguf, const struct model *model, struct err *err)
{
    struct tokenizer *tokenizer = NULL;
    struct special_ids ids = {0};
    const struct config *c = &model->config;
    if (tokenizer_open(&tokenizer, &model->folder, err))
        return -1;
    int failed = tokenizer_special(&ids, tokenizer, err);
    tokenizer_free(tokenizer);
    if (failed)
        return -1;
    bool begins = ids.before_count == 1 && ids.before[0] == c->bos_id;
    bool ends = ids.after_count == 1 && ids.after[0] == c->eos_id;
    if (ids.before_count > begins || ids.after_count > ends)
        return err_unsupported(err, "a GGUF file: expected bos_token_id and eos_token_id alone "
                                    "around texts, found other tokens");
    return gguf_put_bool(gguf, "tokenizer.ggml.add_bos_token", begins, err) ||
                   gguf_put_bool(gguf, "tokenizer.ggml.add_eos_token", ends, err)
               ? -1
               : 0;
}

static int put_byte_level(struct listed *listed, const struct model *model)
{
    const struct folder *folder = &model->folder;
    struct err *err = listed->err;
    listed->count = model->config.vocab_size;
    listed->tokens = arena_alloc(&listed->arena, listed->count, sizeof *listed->tokens, err);
    listed->kinds = arena_alloc(&listed->arena, listed->count, sizeof *listed->kinds, err);
    if (!listed->tokens || !listed->kinds ||
        gguf_put_text(listed->gguf, "tokenizer.ggml.model", "gpt2", err))
        return -1;
    if (folder_has(folder, "tokenizer.json"))
        return folder_read(folder, "tokenizer.json", read_json, listed, err) || put_listed(listed)
                   ? -1
                   : 0;
    return gguf_put_text(listed->gguf, "tokenizer.ggml.pre", "gpt-2", err) ||
                   folder_read(folder, "vocab.json", read_words, listed, err) ||
                   folder_read(folder, "merges.txt", read_lines, listed, err) || put_listed(listed)
               ? -1
               : 0;
}

int gguf_export_tokenizer(struct gguf *gguf, const struct model *model, struct err *err)
{
    const struct folder *folder = &model->folder;
    struct listed listed = {.gguf = gguf, .err = err};
    const char *other = NULL;
    for (size_t i = 0; i < TOKENIZER_FILES && !other; i++)
        if (tokenizer_file_opens(i) && folder_has(folder, tokenizer_file_name(i)))
            other = tokenizer_file_name(i);
    if (!other)
        return gguf_put_text(gguf, "tokenizer.ggml.model", "no_vocab", err);
    bool is_known = folder_has(folder, "tokenizer.json") ||
                    (folder_has(folder, "vocab.json") && folder_has(folder, "merges.txt"));
    bool has_pieces = folder_has(folder, "tokenizer.model");
    if (!has_pieces && !is_known)
        return err_unsupported(err,
                               "'%s': expected a tokenizer.json, or vocab.json and merges.txt, of "
                               "a byte-level BPE, or SentencePiece's tokenizer.model, for a GGUF "
                               "file: without its tokenizer's files a model is written for ids",
                               other);
    int failed = has_pieces ? gguf_export_pieces(gguf, model, err) : put_byte_level(&listed, model);
    failed = failed || put_special(gguf, model, err);
    buf_release(&listed.merges);
    arena_release(&listed.arena);
    return failed ? -1 : 0;
}
