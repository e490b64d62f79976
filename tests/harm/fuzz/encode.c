/* encode.c: rules that tokens of every tokenizer and text must satisfy. */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "text/decoder.h"

static struct arena arena; /* reused by the next input */

static void check_token(const struct tokenizer *tokenizer, struct token token, size_t before,
                        size_t size)
{
    size_t token_size = 0;
    fuzz_check(token.id < tokenizer_size(tokenizer), "ids are below the size of the vocabulary");
    fuzz_check(tokenizer_token(tokenizer, token.id, &token_size), "ids are in the vocabulary");
    fuzz_check(before <= token.start && token.start <= token.end && token.end <= size,
               "tokens are in the text and in order");
}

static void check_whole(const struct tokenizer *tokenizer, const struct tokens *tokens,
                        const char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        size_t token_size = 0;
        const char *bytes = tokenizer_token(tokenizer, tokens->items[i].id, &token_size);
        fuzz_check(token_size <= size - at && memcmp(bytes, text + at, token_size) == 0,
                   "the bytes of a token are its text");
        at += token_size;
    }
    fuzz_check(at == size, "the tokens cover the text");
}

static void decode(const struct tokenizer *tokenizer, const struct tokens *tokens)
{
    struct token_decoder decoder = {0};
    struct buf text = {0};
    tokenizer_decode_begin(tokenizer, &decoder, &text);
    for (size_t i = 0; i < tokens->count; i++)
        fuzz_check(tokenizer_decode(tokenizer, &decoder, tokens->items[i].id), "ids are decoded");
    token_decoder_end(&decoder);
    token_decoder_release(&decoder);
    buf_release(&text);
}

void fuzz_encode(const struct tokenizer *tokenizer, const char *text, size_t size, bool whole)
{
    struct tokens tokens = {0};
    size_t before = 0;
    bool apart =
        strcmp(tokenizer_facts(tokenizer)->kind, "words") == 0; /* others may share a character */
    arena_clear(&arena);
    if (tokenizer_encode(tokenizer, &tokens, text, size, &arena, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    for (size_t i = 0; i < tokens.count; i++) {
        check_token(tokenizer, tokens.items[i], before, size);
        before = apart ? tokens.items[i].end : tokens.items[i].start;
    }
    if (whole)
        check_whole(tokenizer, &tokens, text, size);
    decode(tokenizer, &tokens);
}

void fuzz_tokenizer(const struct folder *folder)
{
    static const char text[] =
        "Hello, the <|endoftext|> w\xc3\xb6rld  don't\n 123 \xe6\x88\x91\xe7\x88\xb1 ab<unk>abab ";
    struct tokenizer *tokenizer = NULL;
    if (tokenizer_open(&tokenizer, folder, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    if (!tokenizer)
        return;
    fuzz_encode(tokenizer, text, sizeof text - 1, false);
    if (tokenizer_add_special(tokenizer, &fuzz_err))
        fuzz_refused();
    if (tokenizer_begin_texts(tokenizer, folder, &fuzz_err))
        fuzz_refused();
    tokenizer_literal_special(tokenizer);
    fuzz_encode(tokenizer, text, sizeof text - 1, false);
    tokenizer_free(tokenizer);
}
