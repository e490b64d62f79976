/* wording.c: tokens as running text, and which tokens of a text make a word together.
 *
 * Two neighbours belong together when nothing stands between them and the text would go on as one
 * word there: both sides are letters or digits (`dess` `ert`), an apostrophe stands between letters
 * (`don` `'t`), or a character was cut in two. Marks stay alone, and scripts without blanks keep
 * the words that the tokenizer made of them.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lens/tokenized.h"
#include "text/label.h"

enum { ID_BYTES = 16 };

/* Signs that stand close to the word after them, and to the word before them. */
static const char *const opening = "([{¿¡‘“‚„«‹「『《〈（【〔、。，：；！？'";
static const char *const closing = ".,:;!?)]}%…’”»›」』》〉）】〕、。，：；！？'";

/* Scripts that put no blanks between words. */
static const struct unspaced {
    uint32_t first, last;
} without_blanks[] = {
    {0x0e00, 0x0eff},   /* Thai, Lao */
    {0x1000, 0x109f},   /* Myanmar */
    {0x1780, 0x17ff},   /* Khmer */
    {0x2e80, 0x312f},   /* Han radicals, their punctuation, kana, bopomofo */
    {0x31a0, 0x9fff},   /* Han */
    {0xf900, 0xfaff},   /* Han for compatibility */
    {0xff00, 0xffef},   /* signs of full width */
    {0x20000, 0x3ffff}, /* Han */
};

static bool has_no_blanks(uint32_t c)
{
    for (size_t i = 0; i < sizeof without_blanks / sizeof *without_blanks; i++)
        if (c >= without_blanks[i].first && c <= without_blanks[i].last)
            return true;
    return false;
}

static bool is_one_of(uint32_t c, const char *signs)
{
    size_t size = strlen(signs);
    for (size_t at = 0; at < size;) {
        uint32_t sign = 0;
        at += utf8_decode(&sign, signs + at, size - at);
        if (sign == c)
            return true;
    }
    return false;
}

/* The character that ends before `at`, and where it begins; 0 at the start of the text. */
static uint32_t before(const char *text, size_t at, size_t *start)
{
    uint32_t c = 0;
    size_t first = at;
    while (first > 0 && at - first < 4) {
        first--;
        if (utf8_decode(&c, text + first, at - first) == at - first) {
            *start = first;
            return c;
        }
    }
    return 0;
}

static bool needs_blank(const struct buf *text, const char *word, size_t size)
{
    uint32_t first = 0;
    size_t start = 0;
    if (text->size == 0 || utf8_decode(&first, word, size) == 0)
        return false;
    uint32_t last = before(text->bytes, text->size, &start);
    if (utf8_class(last) == UTF8_SPACE || utf8_class(first) == UTF8_SPACE)
        return false;
    if (is_one_of(last, opening) || is_one_of(first, closing))
        return false;
    return !(has_no_blanks(last) && has_no_blanks(first));
}

/* Take the sign off a token that goes on the word before it: "##ably". */
static bool goes_on_word(const struct buf *text, const char *prefix, const char **bytes,
                         size_t *size)
{
    size_t length = prefix && text->size ? strlen(prefix) : 0;
    if (length == 0 || *size < length || memcmp(*bytes, prefix, length) != 0)
        return false;
    *bytes += length;
    *size -= length;
    return true;
}

size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id)
{
    char number[ID_BYTES];
    size_t size = 0;
    const char *bytes = tokenizer ? tokenizer_token(tokenizer, id, &size) : NULL;
    if (!bytes) {
        size = (size_t)snprintf(number, sizeof number, "%u", id);
        bytes = number;
    }
    if (!tokenizer && text->size)
        buf_char(text, ',');
    const char *prefix = tokenizer ? tokenizer_prefix(tokenizer) : NULL;
    bool are_apart = prefix || (tokenizer && *tokenizer_gap(tokenizer));
    if (are_apart && !goes_on_word(text, prefix, &bytes, &size) && needs_blank(text, bytes, size))
        buf_char(text, ' ');
    size_t start = text->size;
    buf_bytes(text, bytes, size);
    return start;
}

/* --- words ------------------------------------------------------------------------------------ */

/* A text, and the place of every token in it. */
struct script {
    const char *text;
    size_t size;
    const struct token *tokens;
    const struct label *labels; /* of the tokens */
    size_t whole;               /* up to here the text was cut into what readers call characters */
};

static uint32_t after(const struct script *script, size_t at, size_t *end)
{
    uint32_t c = 0;
    *end = at + utf8_decode(&c, script->text + at, script->size - at);
    return *end > at ? c : 0;
}

static bool is_word(uint32_t c)
{
    return c && unicode_is_word(unicode_kind(c)) && !has_no_blanks(c);
}

static bool is_apostrophe(uint32_t c)
{
    return c == '\'' || c == 0x2019;
}

/* True inside of what a reader calls one character: a flag may be four tokens. Asked from left to
 * right. */
static bool is_inside_character(struct script *script, size_t at)
{
    while (script->whole < at) {
        size_t size = utf8_grapheme(script->text + script->whole, script->size - script->whole);
        script->whole += size ? size : 1;
    }
    return script->whole > at;
}

/* True when a word goes on at `at`, which is neither the start nor the end of the text. */
static bool goes_on(struct script *script, size_t at)
{
    size_t start = 0;
    size_t end = 0;
    size_t ignored = 0;
    if (label_is_rest(script->text + at, script->size - at) || is_inside_character(script, at))
        return true;
    uint32_t last = before(script->text, at, &start);
    uint32_t first = after(script, at, &end);
    if (is_word(last) && is_word(first))
        return true;
    if (is_word(last) && is_apostrophe(first))
        return is_word(after(script, end, &ignored));
    return is_apostrophe(last) && is_word(first) && is_word(before(script->text, start, &ignored));
}

/* True when nothing stands between two tokens but what belongs to the character before: an accent
 * that the tokenizer dropped. */
static bool is_next(struct script *script, size_t end, size_t start)
{
    return start <= end || (is_inside_character(script, end) && script->whole >= start);
}

/* A token without a place stands alone, such as one that begins texts, unless it is a blank that
 * was put before a word, as SentencePiece does, or into a character. */
static bool is_put_before(const struct script *script, size_t index)
{
    const struct token *token = &script->tokens[index];
    return token->start == token->end && strcmp(script->labels[index].plain, " ") == 0;
}

/* True when token `index` goes on the word of the one before, or shares its place. */
static bool joins(struct script *script, size_t index)
{
    const struct token *token = &script->tokens[index];
    const struct token *previous = token - 1;
    if (token->end == token->start)
        return is_put_before(script, index) && is_next(script, previous->end, token->start) &&
               is_inside_character(script, token->start);
    if (is_put_before(script, index - 1))
        return token->start == previous->end;
    if (previous->end == previous->start || !is_next(script, previous->end, token->start))
        return false;
    return token->start < previous->end || goes_on(script, token->start);
}

static bool is_blank(const struct script *script, size_t at)
{
    uint32_t c = 0;
    return utf8_decode(&c, script->text + at, script->size - at) > 0 && utf8_class(c) == UTF8_SPACE;
}

/* A word is called what it is in the text, to the end of its last character, without the blanks
 * before it; a token without a place is called as it was. */
static int label_word(struct label *label, struct script *script, size_t place,
                      const struct word_span *span, struct arena *arena, struct err *err)
{
    size_t start = script->tokens[span->first].start;
    size_t end = script->tokens[span->first + span->count - 1].end;
    const char *plain = script->labels[span->first].plain;
    struct token_bytes word = {plain, strlen(plain)};
    struct thing thing = {place, &word, 1, 0};
    size_t first = start;
    if (start < end && is_inside_character(script, end))
        end = script->whole;
    while (first < end && is_blank(script, first))
        first++;
    if (first == end)
        first = start;
    if (start < end)
        word = (struct token_bytes){script->text + first, end - first};
    return label_make(label, &thing, arena, err);
}

static size_t cut(struct word_span *spans, struct script *script, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && joins(script, i))
            spans[found - 1].count++;
        else
            spans[found++] = (struct word_span){i, 1};
    }
    return found;
}

static int find(struct tokenized *tokenized, struct script *script, struct arena *arena,
                struct err *err)
{
    struct word_span *spans = arena_alloc(arena, tokenized->count, sizeof *spans, err);
    struct label *labels = arena_alloc(arena, tokenized->count, sizeof *labels, err);
    if (!spans || !labels)
        return -1;
    size_t count = cut(spans, script, tokenized->count);
    script->whole = 0; /* from left to right once more */
    for (size_t i = 0; i < count; i++)
        if (label_word(&labels[i], script, i, &spans[i], arena, err))
            return -1;
    tokenized->words = spans;
    tokenized->word_labels = labels;
    tokenized->word_count = count;
    return 0;
}

/* Of ids, the text they stand for. */
static int find_in_ids(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                       struct arena *arena, struct err *err)
{
    struct buf text = {0};
    struct token *tokens = arena_alloc(arena, tokenized->count, sizeof *tokens, err);
    if (!tokens)
        return -1;
    for (size_t i = 0; i < tokenized->count; i++) {
        uint32_t id = tokenized->tokens[i].id;
        size_t start = wording_add(&text, tokenizer, id);
        tokens[i] = (struct token){id, start, text.size};
    }
    struct script script = {text.bytes, text.size, tokens, tokenized->labels, 0};
    int failed = buf_check(&text, err) || find(tokenized, &script, arena, err);
    buf_release(&text);
    return failed ? -1 : 0;
}

int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err)
{
    struct script script = {tokenized->text, tokenized->size, tokenized->tokens, tokenized->labels,
                            0};
    return tokenized->text ? find(tokenized, &script, arena, err)
                           : find_in_ids(tokenized, tokenizer, arena, err);
}
