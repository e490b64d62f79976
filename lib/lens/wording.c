/* wording.c: tokens as running text, and which tokens of a text make a word together.
 *
 * Words are what white space separates, as in corpora of reading times: punctuation stays with its
 * word (`said,`), `3.14` and `well-known` are one word each, and the number of words does not
 * depend on the tokenizer. Scripts without spaces have one word between two spaces.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lens/tokenized.h"
#include "text/label.h"
#include "text/token_set.h"

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

/* A text, and where its tokens are in it. */
struct script {
    const char *text;
    size_t size;
    const struct tokenizer *tokenizer;
    const struct token *tokens;
    const struct label *labels; /* of the tokens */
};

/* Is byte `at` part of a white-space character? */
static bool is_blank(const struct script *script, size_t at)
{
    uint32_t c = 0;
    size_t start = at;
    while (start > 0 && at - start < 3 && label_is_rest(script->text + start, script->size - start))
        start--;
    size_t size = utf8_decode(&c, script->text + start, script->size - start);
    return start + size > at && utf8_class(c) == UTF8_SPACE;
}

/* The bytes of a token, or of a word, without the white space around them. */
static struct text_range trim(const struct script *script, size_t start, size_t end)
{
    while (start < end && is_blank(script, start))
        start++;
    while (start < end && is_blank(script, end - 1))
        end--;
    return (struct text_range){start, end};
}

static bool has_blank(const struct script *script, size_t start, size_t end)
{
    while (start < end && !is_blank(script, start))
        start++;
    return start < end;
}

/* True for a token such as <s>, written in the text or added around it: not for <unk> in place of
 * other characters, nor for a blank that SentencePiece puts before a word. */
static bool is_special(const struct script *script, size_t index, struct text_range own)
{
    const struct token *token = &script->tokens[index];
    const struct added_token *added = NULL;
    if (token->start == token->end)
        return strcmp(script->labels[index].plain, " ") != 0;
    if (script->tokenizer)
        added = added_tokens_of_id(tokenizer_added(script->tokenizer), token->id);
    return added && added->special && added->size == own.end - own.start &&
           memcmp(added->bytes, script->text + own.start, added->size) == 0;
}

/* A word begins after white space, which it includes, and on both sides of a special token; white
 * space with no word after it belongs to the word before. A token with white space inside joins
 * two words into one. */
static size_t cut(struct word_span *spans, const struct script *script, size_t count)
{
    size_t found = 0;
    size_t next = 0; /* the token after the last one with more than white space, … */
    size_t end = 0;  /* … which ends here */
    bool was_special = false;
    for (size_t i = 0; i < count; i++) {
        const struct token *token = &script->tokens[i];
        struct text_range own = trim(script, token->start, token->end);
        bool special = is_special(script, i, own);
        if (own.start == own.end && !special)
            continue;
        bool parted = special || was_special || has_blank(script, end, own.start);
        if (found == 0 || parted) {
            spans[found].first = special && found ? i : next;
            found++;
        }
        next = i + 1;
        end = own.end;
        was_special = special;
    }
    if (!found) /* white space alone */
        spans[found++].first = 0;
    for (size_t i = 0; i < found; i++)
        spans[i].count = (i + 1 < found ? spans[i + 1].first : count) - spans[i].first;
    return found;
}

/* A word is called what it is in the text, with what the tokenizer dropped at its end; a special
 * token that is not in the text is called as it was. */
static int label_word(struct label *label, const struct script *script, size_t place,
                      const struct word_span *span, size_t limit, struct arena *arena,
                      struct err *err)
{
    const struct token *first = &script->tokens[span->first];
    struct text_range own = trim(script, first->start, first[span->count - 1].end);
    const char *plain = script->labels[span->first].plain;
    struct token_bytes word = {plain, strlen(plain)};
    struct thing thing = {place, &word, 1, 0};
    while (own.start < own.end && own.end < limit && !is_blank(script, own.end))
        own.end++;
    if (own.start < own.end)
        word = (struct token_bytes){script->text + own.start, own.end - own.start};
    return label_make(label, &thing, arena, err);
}

static int find(struct tokenized *tokenized, const struct script *script, struct arena *arena,
                struct err *err)
{
    struct word_span *spans = arena_alloc(arena, tokenized->count, sizeof *spans, err);
    struct label *labels = arena_alloc(arena, tokenized->count, sizeof *labels, err);
    if (!spans || !labels)
        return -1;
    size_t count = cut(spans, script, tokenized->count);
    for (size_t i = 0; i < count; i++) {
        size_t limit = i + 1 < count ? script->tokens[spans[i + 1].first].start : script->size;
        if (label_word(&labels[i], script, i, &spans[i], limit, arena, err))
            return -1;
    }
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
    struct script script = {text.bytes, text.size, tokenizer, tokens, tokenized->labels};
    int failed = buf_check(&text, err) || find(tokenized, &script, arena, err);
    buf_release(&text);
    return failed ? -1 : 0;
}

int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err)
{
    struct script script = {tokenized->text, tokenized->size, tokenizer, tokenized->tokens,
                            tokenized->labels};
    return tokenized->text ? find(tokenized, &script, arena, err)
                           : find_in_ids(tokenized, tokenizer, arena, err);
}

const bool *word_starts(const struct tokenizer *tokenizer, size_t count, struct arena *arena,
                        struct err *err)
{
    const char *prefix = tokenizer_prefix(tokenizer);
    size_t prefix_size = prefix ? strlen(prefix) : 0;
    bool are_apart = prefix || *tokenizer_gap(tokenizer);
    bool *starts = arena_alloc(arena, count, sizeof *starts, err);
    bool any = false;
    for (size_t id = 0; starts && id < count; id++) {
        uint32_t first = 0;
        size_t size = 0;
        const char *bytes = tokenizer_token(tokenizer, (uint32_t)id, &size);
        const struct added_token *added =
            added_tokens_of_id(tokenizer_added(tokenizer), (uint32_t)id);
        if (!bytes)
            continue;
        bool goes_on = prefix_size && size > prefix_size && !memcmp(bytes, prefix, prefix_size);
        bool blank = utf8_decode(&first, bytes, size) && utf8_class(first) == UTF8_SPACE;
        bool is_start = are_apart ? !goes_on : blank;
        any |= is_start;
        starts[id] = is_start || (added && added->special);
    }
    if (starts && !any)
        err_unsupported(err, "expected tokens that begin with white space, found none");
    return any ? starts : NULL;
}
