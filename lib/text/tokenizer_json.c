/* tokenizer_json.c: reads Hugging Face's tokenizer.json as a tree, except for the model's
 * tables. */
#include <float.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "format/json.h"
#include "text/builder.h"
#include "text/label.h"

struct stage_reader {
    struct tokenizer *tokenizer;
    size_t file_bytes;
    struct json_extent extent;
    struct json_span vocab, merges; /* bytes of the two tables in the document; NULL: absent */
    struct json *root;              /* the document, in which vocab and merges are null */
    const struct json *model;
};

/* --- the document ----------------------------------------------------------------------------- */

/* Find vocab and merges, which are too large for a tree, and parse the rest of the document. */
static int parse_rest(struct stage_reader *reader, struct json_cursor at, struct err *err)
{
    const char *copied = at.at; /* everything before this position was copied to `rest` */
    struct buf rest = {0};
    for (json_cursor_enter(&at); json_cursor_next(&at);) {
        bool is_model = json_span_is(json_cursor_name(&at), "model");
        if (!is_model || json_cursor_kind(&at) != '{') {
            json_cursor_value(&at);
            continue;
        }
        for (json_cursor_enter(&at); json_cursor_next(&at);) {
            struct json_span name = json_cursor_name(&at);
            struct json_span value = json_cursor_value(&at);
            bool is_vocab = json_span_is(name, "vocab");
            if (!is_vocab && !json_span_is(name, "merges"))
                continue;
            *(is_vocab ? &reader->vocab : &reader->merges) = value;
            buf_bytes(&rest, copied, (size_t)(value.bytes - copied));
            buf_text(&rest, "null");
            copied = at.at;
        }
    }
    buf_bytes(&rest, copied, (size_t)(at.end - copied));
    int failed = buf_check(&rest, err) || json_parse(&reader->root, rest.bytes, rest.size, err);
    if (failed)
        err_prefix(err, "without vocab and merges");
    buf_release(&rest);
    reader->model = json_member(reader->root, "model");
    return failed || json_unique_keys(reader->root, err) ? -1 : 0;
}

/* Open a table of the model, which must be of the kind '{' or '['. */
static int need_table(struct json_cursor *cursor, struct json_span table, const char *name,
                      char kind, struct err *err)
{
    if (!table.bytes || *table.bytes == 'n')
        return err_set(err, "expected a field '%s'", name);
    *cursor = json_cursor_at(table);
    if (json_cursor_kind(cursor) != kind)
        return err_set(err, "field '%s': expected an %s", name, kind == '{' ? "object" : "array");
    return 0;
}

/* --- models ----------------------------------------------------------------------------------- */

static int read_words(struct stage_reader *reader, char kind, enum word_form form, struct err *err)
{
    struct json_cursor vocab;
    struct word_table *words = &reader->tokenizer->set.words;
    if (need_table(&vocab, reader->vocab, "vocab", kind, err))
        return -1;
    return word_table_read(words, vocab, form, reader->file_bytes, err) ? err_prefix(err, "vocab")
                                                                        : 0;
}

static int read_affix(struct word *affix, struct stage_reader *reader, const char *name,
                      struct err *err)
{
    const char *text = "";
    if (json_text(reader->model, name, &text, err))
        return -1;
    affix->size = strlen(text);
    affix->bytes = arena_text(&reader->tokenizer->arena, text, affix->size, err);
    return affix->bytes ? 0 : -1;
}

static int read_bpe_settings(struct stage_reader *reader, struct bpe *bpe, struct err *err)
{
    const struct json *fields = reader->model;
    const char *unknown = "";
    bool found = true, falls_back = false;
    if (read_affix(&bpe->suffix, reader, "end_of_word_suffix", err) ||
        json_text(fields, "unk_token", &unknown, err) ||
        (*unknown && token_set_find_word(&reader->tokenizer->set, unknown, strlen(unknown),
                                         &bpe->unknown, &found, err)))
        return -1;
    if (!found)
        return err_set(err, "unk_token: '%s' is not in the vocabulary",
                       label_excerpt(unknown, strlen(unknown)));
    if (json_bool(fields, "fuse_unk", &bpe->fuses_unknown, err) ||
        json_bool(fields, "ignore_merges", &bpe->takes_whole, err) ||
        json_bool(fields, "byte_fallback", &falls_back, err))
        return -1;
    subword_find_bytes(bpe->fallback_ids, bpe->words, falls_back);
    return 0;
}

/* Return WORD_BYTES if words are written in GPT-2's alphabet, else WORD_TEXT. Set encoded_pieces to
 * whether the pieces of a text are written in it. */
static enum word_form find_form(struct tokenizer *tokenizer)
{
    const struct stage *step = tokenizer->pre_tokenizers;
    bool last = false; /* true if ByteLevel is the last step */
    bool encodes = normalizers_encode_bytes(tokenizer->normalizers);
    tokenizer->encoded_pieces = encodes;
    for (; step; step = step->next) {
        last = step->run == pre_tokenizer_encode_bytes;
        encodes = encodes || last;
    }
    tokenizer->encoded_pieces = tokenizer->encoded_pieces || (encodes && !last);
    return encodes ? WORD_BYTES : WORD_TEXT;
}

static int read_bpe(struct stage_reader *reader, struct subword *model, struct err *err)
{
    struct json_cursor vocab, merges;
    struct word prefix = {0};
    double dropout = 0;
    if (json_double(reader->model, "dropout", 0, 1, &dropout, err))
        return -1;
    if (dropout != 0) /* random merges are for training */
        return err_unsupported(err, "'dropout': %g is not supported", dropout);
    if (need_table(&vocab, reader->vocab, "vocab", '{', err) ||
        need_table(&merges, reader->merges, "merges", '[', err) ||
        read_words(reader, '{', find_form(reader->tokenizer), err) ||
        read_affix(&prefix, reader, "continuing_subword_prefix", err))
        return -1;
    bpe_init(&model->bpe, model->words);
    if (merges_read_json(&model->bpe, merges, prefix.size, err))
        return err_prefix(err, "merges");
    model->bpe.prefix = prefix;
    if (read_bpe_settings(reader, &model->bpe, err))
        return -1;
    return subword_find_fronts(model, err);
}

static int read_unigram(struct stage_reader *reader, struct subword *model, struct err *err)
{
    enum { PENALTY = 10 }; /* the score of an unknown character is the smallest score minus this */
    const struct json *fields = reader->model;
    const struct word_table *words = model->words;
    double least = DBL_MAX;
    long long unknown = -1;
    bool falls_back = false;
    model->fuses_unknown = true;
    if (read_words(reader, '[', WORD_TEXT, err))
        return -1;
    model->scores = words->scores;
    if (!model->scores)
        return err_set(err, "vocab: expected items [\"▁a\", -3.5], found words without scores");
    if (json_integer(fields, "unk_id", 0, (long long)words->size - 1, &unknown, err) ||
        json_bool(fields, "byte_fallback", &falls_back, err) ||
        json_bool(fields, "fuse_unk", &model->fuses_unknown, err))
        return -1;
    for (size_t id = 0; id < words->size; id++)
        if (words->stored[id].form != WORD_ABSENT && model->scores[id] < least)
            least = model->scores[id];
    if (least == DBL_MAX)
        return err_set(err, "vocab: expected scores, found none");
    model->unknown_score = least - PENALTY;
    model->unknown = unknown < 0 ? BPE_NONE : (uint32_t)unknown;
    subword_find_bytes(model->byte_ids, words, falls_back);
    return word_trie_init(&model->trie, words, err);
}

static int read_word_level(struct stage_reader *reader, struct subword *model, struct err *err)
{
    const char *text = "";
    if (read_words(reader, '{', WORD_TEXT, err) ||
        json_text(reader->model, "unk_token", &text, err))
        return -1;
    word_table_find(model->words, text, strlen(text), WORD_TEXT, &model->unknown);
    return 0;
}

static int read_word_piece(struct stage_reader *reader, struct subword *model, struct err *err)
{
    const char *prefix = "##";
    if (read_word_level(reader, model, err) ||
        json_text(reader->model, "continuing_subword_prefix", &prefix, err) ||
        json_integer(reader->model, "max_input_chars_per_word", 0, INT32_MAX,
                     &model->most_characters, err))
        return -1;
    return subword_find_rests(model, prefix, err);
}

static int read_model(struct stage_reader *reader, struct err *err)
{
    static int (*const read[SUBWORD_WORDS])(struct stage_reader *, struct subword *,
                                            struct err *) = {
        [SUBWORD_BPE] = read_bpe,
        [SUBWORD_UNIGRAM] = read_unigram,
        [SUBWORD_WORD_PIECE] = read_word_piece,
        [SUBWORD_WORD_LEVEL] = read_word_level,
    };
    const char *type = NULL;
    size_t row = 0;
    struct tokenizer *tokenizer = reader->tokenizer;
    if (json_unique_keys(reader->model, err) || json_text(reader->model, "type", &type, err))
        return -1;
    if (!type) /* files of old versions do not name the model; other fields identify it */
        type = reader->merges.bytes && *reader->merges.bytes != 'n'    ? "BPE"
               : json_given(reader->model, "unk_id")                   ? "Unigram"
               : json_given(reader->model, "max_input_chars_per_word") ? "WordPiece"
                                                                       : NULL;
    if (!type)
        return err_set(err, "expected a field 'type'");
    if (!names_find(&row, NAMES(subword_rows, SUBWORD_WORDS), type, strlen(type)))
        return err_unsupported(err, "type '%s' is not supported",
                               label_excerpt(type, strlen(type)));
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
    enum {
        MORE_BYTES = 1024
    }; /* stricter than text_limits_of, since a file may have many
                                 * tokens */
    const size_t most = TEXT_GROWTH * token->size + MORE_BYTES;
    struct text_limits limits = text_limits_of(token->size);
    struct aligned_text normal;
    if (!token->normalized || !tokenizer->normalizers)
        return 0;
    int failed = normalize(tokenizer->normalizers, &normal, &text, rewriters, &limits, err);
    if (!failed && normal.size > most)
        failed = err_set(err, "normalizer: expected at most %zu bytes of an added token, found %zu",
                         most, normal.size);
    if (!failed) {
        token->pattern_size = normal.size;
        token->pattern = arena_text(&tokenizer->arena, normal.bytes, normal.size, err);
        failed = token->pattern ? 0 : -1;
    }
    text_rewriter_release(&rewriters[0]);
    text_rewriter_release(&rewriters[1]);
    return failed;
}

/* Read an item of `added_tokens`. */
static int read_added(struct added_token *token, const struct json *item, struct err *err)
{
    long long id = -1;
    *token = (struct added_token){0};
    if (!json_is_object(item))
        return err_set(err, "expected an object");
    if (json_integer(item, "id", 0, WORD_ID_MAX, &id, err))
        return -1;
    if (id < 0)
        return err_set(err, "expected a field 'id'");
    token->id = (uint32_t)id;
    return added_token_read_content(token, item, err);
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
        if (read_added(&items[count], at, err) ||
            tokenizer_normalize_token(tokenizer, &items[count], err))
            return err_prefix(err, "item %zu", count);
    return token_set_add(&tokenizer->set, items, count, err);
}

static int read_stages(struct tokenizer *tokenizer, const struct json *root, struct err *err)
{
    struct arena *arena = &tokenizer->arena;
    struct {
        const char *name;
        struct stage_list list;
    } fields[] = {
        {"normalizer", {&normalizers, arena, &tokenizer->normalizers}},
        {"pre_tokenizer", {&pre_tokenizers, arena, &tokenizer->pre_tokenizers}},
        {"post_processor", {&post_processors, .templates = &tokenizer->templates}},
        {"decoder", {&decoders, arena, &tokenizer->decoders}},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (stages_read(&fields[i].list, json_member(root, fields[i].name), err))
            return err_prefix(err, "%s", fields[i].name);
    tokenizer->facts.pads = json_given(root, "padding");
    json_get_integer(json_member(json_member(root, "truncation"), "max_length"), 1,
                     1000000000000000, &tokenizer->facts.truncation); /* other values: no limit */
    return 0;
}

int tokenizer_parse_stages(struct tokenizer *tokenizer, struct buf *text, struct err *err)
{
    struct json *root = NULL;
    int failed = buf_check(text, err) || json_parse(&root, text->bytes, text->size, err) ||
                 read_stages(tokenizer, root, err);
    json_free(root);
    buf_release(text);
    return err_if(failed);
}

static int read_root(struct stage_reader *reader, struct json_cursor cursor, struct err *err)
{
    struct tokenizer *tokenizer = reader->tokenizer;
    if (json_cursor_kind(&cursor) != '{')
        return err_set(err, "expected an object");
    if (parse_rest(reader, cursor, err))
        return -1;
    if (!json_given(reader->root, "model"))
        return err_set(err, "expected a field 'model'");
    if (!json_is_object(reader->model))
        return err_set(err, "field 'model': expected an object");
    if (read_stages(tokenizer, reader->root, err))
        return -1;
    if (read_model(reader, err))
        return err_prefix(err, "model");
    return read_added_tokens(tokenizer, json_given(reader->root, "added_tokens"), err)
               ? err_prefix(err, "added_tokens")
               : 0;
}

static int read_file(void *tokenizer, const struct file *file, struct err *err)
{
    struct json_cursor root;
    struct stage_reader reader = {.tokenizer = tokenizer, .file_bytes = file->size};
    int failed = json_cursor_open(&root, &reader.extent, file->bytes, file->size, err) ||
                 read_root(&reader, root, err);
    json_free(reader.root);
    return failed ? -1 : 0;
}

int tokenizer_parse_json(struct tokenizer *tokenizer, const char *bytes, size_t size,
                         struct err *err)
{
    const struct file file = file_borrow(bytes, size);
    return read_file(tokenizer, &file, err);
}

int tokenizer_fill_json(struct tokenizer *tokenizer, const struct folder *folder, const char *name,
                        struct err *err)
{
    return err_if(tokenizer_config_read(tokenizer, folder, CONFIG_LISTED, err) ||
                  folder_read(folder, name, read_file, tokenizer, err) ||
                  tokenizer_merge_listed(tokenizer, folder, err));
}
