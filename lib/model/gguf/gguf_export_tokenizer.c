/* gguf_export_tokenizer.c: a model's tokenizer as the keys of a GGUF file: what gguf_tokenizer.c
 * reads, the other way round. What cuts texts in no way that has a name there is refused. */
#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "format/json_cursor.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "text/post_processor.h"
#include "text/sentencepiece.h"
#include "text/splitter.h"
#include "text/subword/bpe.h"
#include "text/tokenizer.h"
#include "text/tokenizer_fields.h"

/* Every row of the model has a token, with its kind, as SentencePiece has them. */
struct listed {
    struct gguf *gguf;
    const struct model *model;
    struct gguf_text *tokens; /* [count] without bytes: none */
    int32_t *kinds;
    float *scores; /* of pieces; NULL: there are merges */
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

/* A number for every row. */
static int put_numbers(const struct listed *listed, const char *key, enum gguf_kind kind,
                       void *numbers)
{
    const struct buf items = {.bytes = numbers, .size = listed->count * sizeof(int32_t)};
    return gguf_put_array(listed->gguf, key, kind, listed->count, &items, listed->err);
}

static int put_listed(struct listed *listed)
{
    struct gguf *gguf = listed->gguf;
    struct buf texts = {0};
    for (size_t i = 0; i < listed->count; i++) {
        char name[32];
        struct gguf_text token = listed->tokens[i];
        if (!token.bytes) {
            token = (struct gguf_text){name, (size_t)snprintf(name, sizeof name, "[PAD%zu]", i)};
            listed->kinds[i] = PIECE_UNUSED;
        }
        gguf_add_text(&texts, token.bytes, token.size);
    }
    int failed =
        gguf_put_array(gguf, "tokenizer.ggml.tokens", GGUF_TEXT, listed->count, &texts,
                       listed->err) ||
        (listed->scores &&
         put_numbers(listed, "tokenizer.ggml.scores", GGUF_F32, listed->scores)) ||
        put_numbers(listed, "tokenizer.ggml.token_type", GGUF_I32, listed->kinds) ||
        (!listed->scores && gguf_put_array(gguf, "tokenizer.ggml.merges", GGUF_TEXT,
                                           listed->merge_count, &listed->merges, listed->err));
    buf_release(&texts);
    return failed ? -1 : 0;
}

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
        if (list(listed, (long long)id, bytes, json_unescape(bytes, name), PIECE_NORMAL))
            return -1;
    }
    return 0;
}

static void add_merge(struct listed *listed, const char *bytes, size_t size)
{
    gguf_add_text(&listed->merges, bytes, size);
    listed->merge_count++;
}

/* What a text stands for. */
static void put_unescaped(struct buf *out, struct json_span text)
{
    size_t before = out->size;
    buf_fill(out, 0, text.size);
    if (!out->out_of_memory && text.size)
        out->size = before + json_unescape(out->bytes + before, text);
}

/* "a b", or ["a", "b"]. */
static int read_merges(struct listed *listed, struct json_cursor merges)
{
    struct buf pair = {0};
    bool sound = true;
    json_cursor_enter(&merges);
    while (sound && json_cursor_next(&merges)) {
        struct json_cursor item = json_cursor_at(json_cursor_value(&merges));
        bool is_array = json_cursor_kind(&item) == '[';
        buf_clear(&pair);
        if (is_array)
            json_cursor_enter(&item);
        for (size_t i = 0; sound && (is_array ? json_cursor_next(&item) : i == 0); i++) {
            sound = json_cursor_kind(&item) == '"';
            buf_text(&pair, i ? " " : "");
            put_unescaped(&pair, sound ? json_cursor_text(&item) : (struct json_span){"", 0});
        }
        add_merge(listed, pair.size ? pair.bytes : "", pair.size);
    }
    int failed = sound ? buf_check(&pair, listed->err)
                       : err_set(listed->err, "field 'merges': expected \"a b\" or [\"a\", \"b\"]");
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
        if (!copy ||
            list(listed, id, copy, strlen(copy), special ? PIECE_CONTROL : PIECE_USER_DEFINED))
            return -1;
    }
    return 0;
}

enum { TYPE, VOCAB, MERGES, IGNORE, FALLBACK, MODEL_COUNT };
enum { NORMALIZER, CUTS, ADDED, MODEL, ROOT_COUNT };

static int put_pre(struct listed *listed, struct field *root, struct field *model)
{
    const struct gguf_pre *pre = NULL;
    const char *type = "";
    bool takes_whole = false;
    bool falls_back = false;
    if (field_text(&model[TYPE], &type, listed->err) ||
        field_bool(&model[IGNORE], &takes_whole, listed->err) ||
        field_bool(&model[FALLBACK], &falls_back, listed->err))
        return -1;
    if (strcmp(type, "BPE") != 0 || falls_back)
        return gguf_refuse_stage(falls_back ? "byte_fallback" : type, listed->err);
    if (field_parse(&root[NORMALIZER], listed->err) || field_parse(&root[CUTS], listed->err) ||
        gguf_read_pre(&pre, root[NORMALIZER].tree, root[CUTS].tree, takes_whole, listed->err))
        return -1;
    return gguf_put_text(listed->gguf, "tokenizer.ggml.pre", pre->name, listed->err);
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
        struct word line = merges_take_line(&at, end);
        bool is_version =
            line.bytes == file->bytes && line.size >= 8 && memcmp(line.bytes, "#version", 8) == 0;
        if (line.size && !is_version)
            add_merge(context, line.bytes, line.size);
    }
    return 0;
}

/* vocab.json and merges.txt say nothing of it: what their tokenizer has found does. */
static int put_pre_of_files(struct listed *listed)
{
    struct tokenizer *tokenizer = NULL;
    struct buf stages = {0};
    if (tokenizer_open(&tokenizer, &listed->model->folder, listed->err))
        return -1;
    tokenizer_stages(tokenizer, &stages);
    tokenizer_free(tokenizer);
    int failed = buf_check(&stages, listed->err);
    const char *name = "gpt-2";
    if (!failed && strstr(stages.bytes, "NFC"))
        name = strstr(stages.bytes, splitter_patterns[PATTERN_QWEN2].name) ? "qwen2" : "olmo";
    buf_release(&stages);
    return failed ? -1 : gguf_put_text(listed->gguf, "tokenizer.ggml.pre", name, listed->err);
}

/* --- SentencePiece's BPE: tokenizer.model ----------------------------------------------------- */

static int check_rules(const struct sentencepiece *pieces, size_t rows, struct err *err)
{
    if (pieces->kind != SENTENCEPIECE_BPE || pieces->suffix || pieces->charsmap_size ||
        !pieces->escapes)
        return err_unsupported(err, "expected a BPE that leaves texts as they are but for blanks, "
                                    "for a GGUF file, found another model of SentencePiece");
    return pieces->count <= rows ? 0
                                 : err_unsupported(err,
                                                   "expected at most vocab_size = %zu pieces for a "
                                                   "GGUF file, found %zu",
                                                   rows, pieces->count);
}

static bool has_tokens_of(const struct tokenizer *pieces, const struct tokenizer *other)
{
    for (uint32_t id = 0; id < tokenizer_size(other); id++) {
        size_t sizes[2] = {0};
        const char *expected = tokenizer_token(other, id, &sizes[0]);
        const char *found = tokenizer_token(pieces, id, &sizes[1]);
        if (expected && (!found || sizes[0] != sizes[1] || memcmp(found, expected, sizes[0]) != 0))
            return false;
    }
    return true;
}

/* A tokenizer.json may be there, too, by which the model is run: it has no other tokens. */
static int check_tokens(const struct file *file, const struct model *model, struct err *err)
{
    struct tokenizer *tokenizers[2] = {NULL, NULL};
    struct folder_file held = {.name = "tokenizer.model", .bytes = file->bytes, .size = file->size};
    struct folder alone = {.path = model->folder.path, .files = &held, .file_count = 1};
    if (!folder_has(&model->folder, "tokenizer.json"))
        return 0;
    int failed = tokenizer_open(&tokenizers[0], &alone, err) ||
                 tokenizer_open(&tokenizers[1], &model->folder, err);
    if (!failed && !has_tokens_of(tokenizers[0], tokenizers[1]))
        failed = err_unsupported(err, "expected the tokens of tokenizer.json for a GGUF file, "
                                      "found others");
    tokenizer_free(tokenizers[0]);
    tokenizer_free(tokenizers[1]);
    return failed ? -1 : 0;
}

/* llama.cpp looks for what users defined in texts as they are. */
static int put_blanks(struct listed *listed, struct word *word)
{
    static const char sign[] = "▁";
    char *bytes = arena_text(&listed->arena, word->bytes, word->size, listed->err);
    size_t size = 0;
    if (!bytes)
        return -1;
    for (size_t i = 0; i < word->size; size++) {
        bool is_sign = strncmp(bytes + i, sign, strlen(sign)) == 0;
        bytes[size] = is_sign ? ' ' : bytes[i];
        i += is_sign ? strlen(sign) : 1;
    }
    *word = (struct word){bytes, size};
    return 0;
}

static int read_pieces(void *context, const struct file *file, struct err *err)
{
    struct listed *listed = context;
    struct sentencepiece pieces;
    if (sentencepiece_read(&pieces, file, &listed->arena, err) ||
        check_rules(&pieces, listed->count, err) || check_tokens(file, listed->model, err))
        return -1;
    listed->scores = arena_alloc(&listed->arena, listed->count, sizeof *listed->scores, err);
    if (!listed->scores)
        return -1;
    for (size_t id = 0; id < pieces.count; id++) {
        const struct sentencepiece_piece *piece = &pieces.pieces[id];
        struct word word = piece->word;
        if (piece->kind == PIECE_USER_DEFINED && put_blanks(listed, &word))
            return -1;
        listed->scores[id] = piece->score;
        list(listed, (long long)id, word.bytes, word.size, (int32_t)piece->kind);
    }
    if (put_listed(listed) ||
        gguf_put_bool(listed->gguf, "tokenizer.ggml.add_space_prefix", pieces.prefixes, err))
        return -1;
    return gguf_put_bool(listed->gguf, "tokenizer.ggml.remove_extra_whitespaces", pieces.collapses,
                         err);
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
    if (gguf_put_bool(gguf, "tokenizer.ggml.add_bos_token", begins, err))
        return -1;
    return gguf_put_bool(gguf, "tokenizer.ggml.add_eos_token", ends, err);
}

static int put_tokens(struct listed *listed)
{
    const struct folder *folder = &listed->model->folder;
    struct gguf *gguf = listed->gguf;
    struct err *err = listed->err;
    bool has_pieces = folder_has(folder, "tokenizer.model");
    listed->count = listed->model->config.vocab_size;
    listed->tokens = arena_alloc(&listed->arena, listed->count, sizeof *listed->tokens, err);
    listed->kinds = arena_alloc(&listed->arena, listed->count, sizeof *listed->kinds, err);
    if (!listed->tokens || !listed->kinds ||
        gguf_put_text(gguf, "tokenizer.ggml.model", has_pieces ? "llama" : "gpt2", err))
        return -1;
    if (has_pieces)
        return folder_read(folder, "tokenizer.model", read_pieces, listed, err);
    int failed = folder_has(folder, "tokenizer.json")
                     ? folder_read(folder, "tokenizer.json", read_json, listed, err)
                     : put_pre_of_files(listed) ||
                           folder_read(folder, "vocab.json", read_words, listed, err) ||
                           folder_read(folder, "merges.txt", read_lines, listed, err);
    return failed || put_listed(listed) ? -1 : 0;
}

int gguf_export_tokenizer(struct gguf *gguf, const struct model *model, struct err *err)
{
    const struct folder *folder = &model->folder;
    struct listed listed = {.gguf = gguf, .model = model, .err = err};
    const char *other = NULL;
    for (size_t i = 0; i < TOKENIZER_FILES && !other; i++)
        if (tokenizer_file_opens(i) && folder_has(folder, tokenizer_file_name(i)))
            other = tokenizer_file_name(i);
    if (!other)
        return gguf_put_text(gguf, "tokenizer.ggml.model", "no_vocab", err);
    bool is_known = folder_has(folder, "tokenizer.model") || folder_has(folder, "tokenizer.json") ||
                    (folder_has(folder, "vocab.json") && folder_has(folder, "merges.txt"));
    if (!is_known)
        return err_unsupported(err,
                               "'%s': expected a tokenizer.json, or vocab.json and merges.txt, of "
                               "a byte-level BPE, or SentencePiece's tokenizer.model, for a GGUF "
                               "file: without its tokenizer's files a model is written for ids",
                               other);
    int failed = put_tokens(&listed) || put_special(gguf, model, err);
    buf_release(&listed.merges);
    arena_release(&listed.arena);
    return failed ? -1 : 0;
}
