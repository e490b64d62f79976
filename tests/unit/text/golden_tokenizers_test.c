/* golden_tokenizers_test.c: small tokenizers of the common kinds, and the ids of a hundred texts
 * from other programs: tests/texts/tokenizers/NAME. */
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/file.h"
#include "format/json.h"
#include "model/gguf/gguf_model.h"
#include "text/decoder.h"
#include "text/label.h"
#include "text/tokenizer.h"

#define ROOT "tests/texts/tokenizers/"

static const char *const names[] = {
    "bert-like",
    "clip-like",
    "falcon-like",
    "gemma-like",
    "gpt-neox-like",
    "llama-2-like",
    "llama-3-like",
    "mistral-metaspace-like",
    "qwen2-like",
    "sentencepiece-bpe",
    "sentencepiece-defined",
    "sentencepiece-unigram",
    "smollm2-like",
    "t5-like",
    "roberta-like",
    "m2m-like",
    "roberta-merges",
    "deberta-like",
    "deberta-spm",
    "spiece-albert",
    "spiece-albert-cased",
    "spiece-camembert",
    "spiece-gpt-sw3",
    "spiece-mbart",
    "spiece-mbart50",
    "spiece-nllb",
    "spiece-pegasus",
    "spiece-t5",
    "spiece-xglm",
    "spiece-xlm-roberta",
};

/* Those with pairs of texts, too: pairs.jsonl. */
static const char *const pair_names[] = {"bert-like",    "llama-2-like",   "llama-3-like",
                                         "roberta-like", "roberta-merges", "t5-like",
                                         "deberta-like"};

/* Tokenizers that are also in a GGUF file: tests/references/gguf/NAME.gguf; and another `pre` that
 * means the same as that of the file, or NULL. */
static const struct {
    const char *name, *pre, *other;
} in_gguf[] = {
    {"gpt-neox-like"},
    {"llama-3-like"},
    {"llama-3-like", "llama-bpe", "smaug-bpe"},
    {"qwen2-like"},
    {"qwen2-like", "qwen2", "stablelm2"},
    {"sentencepiece-bpe"},
    {"sentencepiece-unigram"},
    {"smollm2-like"},
    {"smollm2-like", "smollm", "starcoder"},
    {"smollm2-like", "smollm", "refact"},
    {"falcon-like"},
    {"gemma-like"},
    {"bert-like"},
};

/* A tokenizer without and with the special tokens that its file adds to texts. */
struct pair {
    struct tokenizer *plain, *special; /* special may be NULL */
    bool in_gguf;
};

static void expect_ids(const struct tokens *tokens, const struct json *ids, const char *text)
{
    size_t i = 0;
    size_t before = 0;
    for (const struct json *at = json_first(ids); at; at = json_next(at), i++) {
        long long id = -1;
        ck_assert(json_get_integer(at, 0, INT32_MAX, &id));
        ck_assert_msg(i < tokens->count && tokens->items[i].id == id, "'%s': id %zu", text, i);
    }
    ck_assert_msg(tokens->count == i, "'%s': %zu ids, not %zu", text, tokens->count, i);
    for (i = 0; i < tokens->count; i++) { /* in order and inside the text */
        ck_assert_uint_le(before, tokens->items[i].start);
        ck_assert_uint_le(tokens->items[i].start, tokens->items[i].end);
        before = tokens->items[i].start;
    }
    if (tokens->count)
        ck_assert_uint_le(tokens->items[tokens->count - 1].end, strlen(text));
}

static void expect_encoded(const struct tokenizer *tokenizer, const char *text,
                           const struct json *ids)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    ck_assert_msg(!tokenizer_encode(tokenizer, &tokens, text, strlen(text), &arena, &err),
                  "'%s': %s", text, err.text);
    expect_ids(&tokens, ids, text);
    arena_release(&arena);
}

static void expect_decoded(const struct tokenizer *tokenizer, const struct json *ids,
                           const char *expected)
{
    struct token_decoder decoder = {0};
    struct buf text = {0};
    buf_text(&text, "");
    tokenizer_decode_begin(tokenizer, &decoder, &text);
    for (const struct json *at = json_first(ids); at; at = json_next(at)) {
        long long id = 0;
        ck_assert(json_get_integer(at, 0, INT32_MAX, &id));
        ck_assert(tokenizer_decode(tokenizer, &decoder, (uint32_t)id));
    }
    token_decoder_end(&decoder);
    ck_assert_str_eq(text.bytes, expected);
    token_decoder_release(&decoder);
    buf_release(&text);
}

/* Texts with user-defined tokens that GGUF finds in the unchanged text and SentencePiece in that in
 * which ▁ has replaced blanks; and one whose words are too long for bert-like, a
 * limit that GGUF does not have. */
static bool differs_in_gguf(const char *text)
{
    return strstr(text, "aaaaaaaaaaaaaaaaaaaaa") || text[0] == 'x' || strstr(text, "a b") ||
           strstr(text, " x") || strstr(text, "▁x") || strstr(text, "a▁b") ||
           strstr(text, "the cat") || strstr(text, "<user>") || strstr(text, "  ");
}

static void expect_case(const struct pair *pair, const char *line, size_t size)
{
    struct json *json = NULL;
    struct err err = {0};
    const char *text = NULL;
    ck_assert_msg(!json_parse(&json, line, size, &err), "%s", err.text);
    ck_assert(json_get_text(json_member(json, "text"), &text));
    if (pair->in_gguf && differs_in_gguf(text)) {
        json_free(json);
        return;
    }
    const struct json *ids = json_member(json, "ids");
    const struct json *special = json_member(json, "with_special");
    const struct json *decoded = json_member(json, "decoded");
    expect_encoded(pair->plain, text, ids);
    if (pair->special)
        expect_encoded(tokenizer_of_source(pair->special), text, special ? special : ids);
    if (!decoded || json_get_text(decoded, &text)) /* null: not compared */
        expect_decoded(pair->plain, ids, text);
    json_free(json);
}

/* Call a function with every line of a file; returns how many there are. */
static size_t each_line(const struct pair *pair, const struct file *file,
                        void (*expect)(const struct pair *pair, const char *line, size_t size))
{
    const char *end = file->bytes + file->size;
    size_t count = 0;
    for (const char *at = file->bytes, *next; at < end; at = next, count++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(newline);
        next = newline + 1;
        expect(pair, at, (size_t)(newline - at));
    }
    return count;
}

static int expect_cases(void *context, const struct file *file, struct err *err)
{
    (void)err;
    ck_assert_uint_eq(each_line(context, file, expect_case), 100);
    return 0;
}

TEST_LOOP(texts_have_the_ids_of_other_programs, COUNT(names))
{
    struct buf path = {0};
    struct pair pair = {0};
    struct err err = {0};
    buf_format(&path, ROOT "%s", names[_i]);
    const struct folder folder = {.path = path.bytes};
    ck_assert_msg(!tokenizer_open(&pair.plain, &folder, &err) &&
                      !tokenizer_open(&pair.special, &folder, &err) &&
                      !tokenizer_add_special(pair.special, &err) &&
                      !folder_read(&folder, "cases.jsonl", expect_cases, &pair, &err),
                  "%s", err.text);
    tokenizer_free(pair.special);
    tokenizer_free(pair.plain);
    buf_release(&path);
}

/* Tokens [first, end) of a pair are those of one of its texts. */
static void expect_alone(const struct pair *pair, const struct tokens *tokens, size_t first,
                         size_t end, const char *text)
{
    struct arena arena = {0};
    struct tokens alone = {0};
    struct err err = {0};
    ck_assert_int_eq(
        tokenizer_encode_alone(pair->special, &alone, text, strlen(text), &arena, &err), 0);
    ck_assert_uint_eq(alone.count, end - first);
    for (size_t i = 0; i < alone.count; i++)
        ck_assert_uint_eq(tokens->items[first + i].id, alone.items[i].id);
    arena_release(&arena);
}

/* The ids and segments of two texts, and where each text is. */
static void expect_pair(const struct pair *pair, const char *line, size_t size)
{
    struct json *json = NULL;
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    const char *texts[2] = {0};
    ck_assert_msg(!json_parse(&json, line, size, &err), "%s", err.text);
    ck_assert(json_get_text(json_member(json, "text"), &texts[0]) &&
              json_get_text(json_member(json, "pair"), &texts[1]));
    const struct token_bytes both[] = {{texts[0], strlen(texts[0])}, {texts[1], strlen(texts[1])}};
    ck_assert_msg(!tokenizer_encode_pair(pair->special, &tokens, both, &arena, &err), "%s",
                  err.text);
    const struct json *id = json_first(json_member(json, "ids"));
    const struct json *segment = json_first(json_member(json, "segments"));
    for (size_t i = 0; i < tokens.count; i++, id = json_next(id), segment = json_next(segment)) {
        long long number = -1;
        ck_assert(json_get_integer(id, 0, INT32_MAX, &number));
        ck_assert_msg(tokens.items[i].id == number, "'%s': id %zu", line, i);
        ck_assert(json_get_integer(segment, 0, INT32_MAX, &number));
        ck_assert_msg(tokens.segments[i] == number, "'%s': segment %zu", line, i);
    }
    ck_assert_ptr_null(id);
    ck_assert_ptr_null(segment);
    expect_alone(pair, &tokens, tokens.added[0], tokens.second - tokens.added[1], texts[0]);
    expect_alone(pair, &tokens, tokens.second, tokens.count - tokens.added[2], texts[1]);
    json_free(json);
    arena_release(&arena);
}

static int expect_pairs(void *context, const struct file *file, struct err *err)
{
    (void)err;
    ck_assert_uint_eq(each_line(context, file, expect_pair), 20);
    return 0;
}

TEST_LOOP(pairs_have_the_ids_and_segments_of_other_programs, COUNT(pair_names))
{
    char path[128];
    struct pair pair = {0};
    struct err err = {0};
    snprintf(path, sizeof path, ROOT "%s", pair_names[_i]);
    const struct folder folder = {.path = path};
    ck_assert_msg(!tokenizer_open(&pair.special, &folder, &err) &&
                      !tokenizer_add_special(pair.special, &err) &&
                      !folder_read(&folder, "pairs.jsonl", expect_pairs, &pair, &err),
                  "%s", err.text);
    tokenizer_free(pair.special);
}

static void put_value(struct buf *out, const char *text)
{
    static const char key[] = "tokenizer.ggml.pre\10\0\0"; /* of a text */
    buf_bytes(out, key, sizeof key);
    buf_char(out, (char)strlen(text));
    buf_bytes(out, "\0\0\0\0\0\0", 7);
    buf_text(out, text);
}

/* A copy of the file with the other value, which keeps the offsets of tensors only by chance: they
 * are not read. */
static void replace_pre(struct buf *out, const struct file *file, const char *pre,
                        const char *other)
{
    struct buf old = {0};
    put_value(&old, pre);
    const char *at = memmem(file->bytes, file->size, old.bytes, old.size);
    ck_assert_ptr_nonnull(at);
    buf_bytes(out, file->bytes, (size_t)(at - file->bytes));
    put_value(out, other);
    buf_bytes(out, at + old.size, (size_t)(file->bytes + file->size - at) - old.size);
    buf_repeat(out, "", 1, 64);
    buf_release(&old);
}

/* A line of splits/cases.jsonl: a name of tokenizer.ggml.pre, a text, and its ids in the Hugging
 * Face library. Pairs of this vocabulary are merged across words, so each split changes ids. */
static void expect_split(const struct file *file, const char *line, size_t size)
{
    struct arena arena = {0};
    struct buf bytes = {0};
    struct json *json = NULL;
    struct tokenizer *tokenizer = NULL;
    struct folder folder;
    struct err err = {0};
    const char *pre = NULL, *text = NULL;
    ck_assert_msg(!json_parse(&json, line, size, &err), "%s", err.text);
    ck_assert(json_get_text(json_member(json, "pre"), &pre));
    ck_assert(json_get_text(json_member(json, "text"), &text));
    replace_pre(&bytes, file, "gpt-2", pre);
    ck_assert_msg(!gguf_folder_held(&folder, "x.gguf", bytes.bytes, bytes.size, &arena, &err) &&
                      !tokenizer_open(&tokenizer, &folder, &err),
                  "%s: %s", pre, err.text);
    expect_encoded(tokenizer, text, json_member(json, "ids"));
    tokenizer_free(tokenizer);
    arena_release(&arena);
    buf_release(&bytes);
    json_free(json);
}

TEST(names_of_pre_in_gguf_files_split_texts_like_other_programs)
{
    struct file file = {0};
    struct file cases = {0};
    struct err err = {0};
    ck_assert_msg(!file_map(&file, "tests/references/gguf/splits.gguf", &err) &&
                      !file_map(&cases, ROOT "splits/cases.jsonl", &err),
                  "%s", err.text);
    size_t count = 0;
    const char *end = cases.bytes + cases.size;
    for (const char *at = cases.bytes, *next; at < end; at = next, count++) {
        next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        expect_split(&file, at, (size_t)(next - 1 - at));
    }
    ck_assert_uint_eq(count, 47);
    file_release(&cases);
    file_release(&file);
}

/* Without special tokens around texts, for which convert_hf_to_gguf.py writes separate keys. */
TEST_LOOP(tokenizers_in_gguf_files_give_the_same_ids, COUNT(in_gguf))
{
    char path[128];
    char cases[128];
    struct arena arena = {0};
    struct pair pair = {.in_gguf = true};
    struct err err = {0};
    struct folder folder;
    snprintf(path, sizeof path, "tests/references/gguf/%s.gguf", in_gguf[_i].name);
    snprintf(cases, sizeof cases, ROOT "%s", in_gguf[_i].name);
    const struct folder beside = {.path = cases};
    struct file file = {0};
    struct buf bytes = {0};
    ck_assert_msg(!file_map(&file, path, &err), "%s", err.text);
    if (in_gguf[_i].pre)
        replace_pre(&bytes, &file, in_gguf[_i].pre, in_gguf[_i].other);
    else
        buf_bytes(&bytes, file.bytes, file.size);
    ck_assert_msg(!gguf_folder_held(&folder, path, bytes.bytes, bytes.size, &arena, &err) &&
                      !tokenizer_open(&pair.plain, &folder, &err) &&
                      !folder_read(&beside, "cases.jsonl", expect_cases, &pair, &err),
                  "%s", err.text);
    tokenizer_free(pair.plain);
    arena_release(&arena);
    buf_release(&bytes);
    file_release(&file);
}
