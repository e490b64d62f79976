/* golden_tokenizers_test.c: small tokenizers in the manner of those that people use, and the ids
 * that two other programs agree on: tests/tokenizers/NAME. */
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/folder.h"
#include "format/json.h"
#include "text/tokenizer.h"

#define ROOT "tests/tokenizers/"

static const char *const names[] = {
    "gemma-like", "gpt-neox-like", "llama-2-like", "llama-3-like", "mistral-metaspace-like",
    "qwen2-like", "smollm2-like",
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
    for (i = 0; i < tokens->count; i++) { /* in order, and within the text */
        ck_assert_uint_le(before, tokens->items[i].start);
        ck_assert_uint_le(tokens->items[i].start, tokens->items[i].end);
        before = tokens->items[i].start;
    }
    if (tokens->count)
        ck_assert_uint_le(tokens->items[tokens->count - 1].end, strlen(text));
}

static void expect_case(const struct tokenizer *tokenizer, const char *line, size_t size)
{
    struct json *json = NULL;
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    const char *text = NULL;
    ck_assert_msg(!json_parse(&json, line, size, &err), "%s", err.text);
    ck_assert(json_get_text(json_member(json, "text"), &text));
    ck_assert_msg(!tokenizer_encode(tokenizer, &tokens, text, strlen(text), &arena, &err),
                  "'%s': %s", text, err.text);
    expect_ids(&tokens, json_member(json, "ids"), text);
    arena_release(&arena);
    json_free(json);
}

static int expect_cases(void *context, const struct file *file, struct err *err)
{
    const char *end = file->bytes + file->size;
    size_t count = 0;
    (void)err;
    for (const char *at = file->bytes, *next; at < end; at = next, count++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(newline);
        next = newline + 1;
        expect_case(context, at, (size_t)(newline - at));
    }
    ck_assert_uint_eq(count, 100);
    return 0;
}

TEST_LOOP(texts_have_the_ids_that_others_give_them, COUNT(names))
{
    struct buf path = {0};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    buf_format(&path, ROOT "%s", names[_i]);
    const struct folder folder = {.path = path.bytes};
    ck_assert_msg(!tokenizer_open(&tokenizer, &folder, &err), "%s", err.text);
    ck_assert_msg(!folder_read(&folder, "cases.jsonl", expect_cases, tokenizer, &err), "%s",
                  err.text);
    tokenizer_free(tokenizer);
    buf_release(&path);
}
