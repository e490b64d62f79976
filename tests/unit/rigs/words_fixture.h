/* words_fixture.h: small vocabularies and the tokens of texts, as texts separated by tildes.
 *
 *     words_open(&vocabulary, "Life~is~short");
 *     words_keep(&vocabulary, &tokens, text, ...);
 *     words_describe(&buf, &tokens, text);
 */
#pragma once

#include "asserts.h"
#include "base/buf.h"
#include "base/file.h"
#include "text/builder.h"

/* A vocabulary of the words between the tildes; the first has id 0. */
static inline void words_open(struct tokenizer *vocabulary, const char *words)
{
    struct buf json = {0};
    struct err err = {0};
    buf_text(&json, "[\"");
    for (; *words; words++) {
        if (*words == '~')
            buf_text(&json, "\", \"");
        else if (*words == '\n')
            buf_text(&json, "\\n");
        else
            buf_char(&json, *words);
    }
    buf_text(&json, "\"]");
    const struct folder_file file = {"vocab.json", json.bytes, json.size};
    const struct folder folder = {"test", &file, 1};
    ck_assert_msg(!tokenizer_fill(vocabulary, &folder, &err), "%s", err.text);
    buf_release(&json);
}

/* The tokens of a text, kept in `arena`. */
static inline int words_keep(const struct tokenizer *tokenizer, struct tokens *tokens,
                             const char *text, size_t size, struct arena *arena, struct err *err)
{
    return tokenizer_encode(tokenizer, tokens, text, size, arena, err);
}

/* The id of a word, if `id` is not NULL; false if there is none. */
static inline bool words_find(const struct tokenizer *tokenizer, const char *text, size_t size,
                              uint32_t *id)
{
    uint32_t none = 0;
    return tokenizer->set.words.size &&
           word_table_find(&tokenizer->set.words, text, size, WORD_TEXT, id ? id : &none);
}

/* The texts of the tokens, separated by tildes. */
static inline void words_describe(struct buf *out, const struct tokens *tokens, const char *text)
{
    buf_text(out, "");
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        buf_text(out, i ? "~" : "");
        buf_bytes(out, text + token->start, token->end - token->start);
    }
}
