#include "lens/tokenized.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lens/selection.h"
#include "model/config.h"
#include "model/head_name.h"
#include "pass/forward.h"
#include "text/token_list.h"
#include "text/token_set.h"

enum { NUMBER_BYTES = 24 };

/* True if bytes are valid UTF-8 without a zero byte, which would end a C string. */
static bool is_text(const struct token_bytes *own)
{
    return utf8_invalid_at(own->bytes, own->size) == own->size &&
           (own->size == 0 || !memchr(own->bytes, 0, own->size));
}

/* Return the bytes of a token; `bytes` of the result is NULL if they are not known. */
static struct token_bytes bytes_of(const struct tokenizer *tokenizer, uint32_t id)
{
    struct token_bytes token = {0};
    if (tokenizer)
        token.bytes = tokenizer_token(tokenizer, id, &token.size);
    return token;
}

/* Return the bytes of a token; if they are not known, the digits of its id. */
static struct token_bytes bytes_or_number(char number[NUMBER_BYTES],
                                          const struct tokenizer *tokenizer, uint32_t id)
{
    struct token_bytes token = bytes_of(tokenizer, id);
    if (!token.bytes)
        token = (struct token_bytes){number, (size_t)snprintf(number, NUMBER_BYTES, "%u", id)};
    return token;
}

/* A token, `bytes[at]`, with its neighbours: a character may be split into several tokens. */
struct token_row {
    const struct token_bytes *bytes; /* [count] bytes of the row's tokens */
    size_t count, at;
};

static struct label label_bytes(size_t index, struct token_row row, struct arena *arena,
                                struct err *err)
{
    const struct token_bytes *own = &row.bytes[row.at];
    struct buf buf = {0};
    buf_format(&buf, "%zu:", index);
    label_token(&buf, row.bytes, row.count, row.at);
    const char *exact = buf_keep(&buf, arena, err), *text = exact ? strchr(exact, ':') + 1 : NULL;
    const char *plain = is_text(own) ? arena_text(arena, own->bytes, own->size, err) : text;
    return exact && plain ? (struct label){text, exact, plain} : (struct label){0};
}

static struct label label_of_id(size_t index, const struct tokenizer *tokenizer, uint32_t id,
                                struct arena *arena, struct err *err)
{
    char number[NUMBER_BYTES];
    const struct token_bytes own = bytes_or_number(number, tokenizer, id);
    return label_bytes(index, (struct token_row){&own, 1, 0}, arena, err);
}

size_t tokenized_first_part(const struct tokenized *tokenized)
{
    size_t at = 0;
    while (at < tokenized->count &&
           !(tokenized->bytes && tokenized->bytes[at].bytes &&
             label_is_rest(tokenized->bytes[at].bytes, tokenized->bytes[at].size)))
        at++;
    return at;
}

int tokenized_check(const struct tokenized *tokenized, struct err *err)
{
    if (tokenized->count)
        return 0;
    if (tokenized->dropped_count)
        err_set(err, "the text is empty: none of its characters (%zu) is in the vocabulary",
                tokenized->dropped_count);
    else if (tokenized->size) /* the text is white space, or the normalizer removed all of it */
        err_set(err, "the text has no tokens: expected at least one");
    else
        err_set(err, "the text is empty: expected at least one token");
    return err_about(err, ERR_ABOUT_EMPTY);
}

/* Put the model's beginning token before the other tokens. */
static int put_start(struct tokens *tokens, const struct config *config, struct arena *arena,
                     struct err *err)
{
    struct token *items = arena_alloc(arena, tokens->count + 1, sizeof *items, err);
    unsigned char *segments = arena_alloc(arena, tokens->count + 1, 1, err);
    if (!items || !segments)
        return -1;
    if (tokens->count)
        memcpy(items + 1, tokens->items, tokens->count * sizeof *items);
    if (tokens->segments) {
        memcpy(segments + 1, tokens->segments, tokens->count);
        tokens->segments = segments;
        tokens->second++;
    }
    items->id = (uint32_t)config->bos_id;
    tokens->items = items;
    tokens->count++;
    tokens->added[0]++;
    return 0;
}

static int read_tokens(struct tokens *tokens, const struct input *input,
                       const struct token_limits *limits, struct arena *arena, struct err *err)
{
    const struct config *config = limits->config;
    if (!input->text)
        return err_if(tokens_from_ids(tokens, input->ids, limits->vocabulary, arena, err) ||
                      batch_check_length(config, tokens->count, err));
    if (!limits->tokenizer) {
        if (limits->why && *limits->why)
            err_unsupported(err, "%s", limits->why);
        else
            err_set(err,
                    "'%s': the model has no tokenizer (tokenizer.json, or vocab.json and "
                    "merges.txt: copy those of the original model there)",
                    limits->model ? limits->model : "");
        return err_about(err, ERR_ABOUT_TOKENIZER);
    }
    const struct token_bytes texts[] = {{input->text, input->size}, input->pair};
    if (input->pair.bytes && !input->pair.size)
        return err_set(err, "the second text is empty: expected at least one token");
    if (input->pair.bytes
            ? tokenizer_encode_pair(limits->tokenizer, tokens, texts, arena, err)
            : tokenizer_encode(limits->tokenizer, tokens, input->text, input->size, arena, err))
        return -1;
    const struct tokenized text = {
        .size = input->size, .count = tokens->count, .dropped_count = tokens->dropped_count};
    if (tokenized_check(&text, err) ||
        (limits->starts && tokens->items->id != (uint32_t)config->bos_id &&
         put_start(tokens, config, arena, err)) ||
        batch_check_length(config, tokens->count, err))
        return -1;
    for (size_t i = 0; i < tokens->count; i++) { /* the tokenizer's vocabulary may be larger than
                                                  * the model's */
        uint32_t id = tokens->items[i].id;
        struct token_bytes token = bytes_of(limits->tokenizer, id);
        if (id >= limits->vocabulary)
            return err_set(err, "token %zu ('%s'): expected an id below vocab_size = %zu, found %u",
                           i, label_excerpt(token.bytes, token.size), limits->vocabulary, id);
    }
    return 0;
}

/* Label tokens as tokenized_label does; the first `unnumbered` tokens get no number. */
static int label_tokens(struct tokenized *tokenized, const struct tokens *tokens, size_t unnumbered,
                        const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, tokens->count, sizeof *labels, err);
    struct token_bytes *bytes = arena_alloc(arena, tokens->count, sizeof *bytes, err);
    uint32_t *ids = arena_alloc(arena, tokens->count, sizeof *ids, err);
    if (!labels || !bytes || !ids)
        return -1;
    for (size_t i = 0; i < tokens->count; i++) {
        ids[i] = tokens->items[i].id;
        bytes[i] = bytes_of(tokenizer, ids[i]);
    }
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token_row row = {bytes, tokens->count, i};
        const size_t number = i - unnumbered;
        labels[i] = bytes[i].bytes ? label_bytes(number, row, arena, err)
                                   : label_of_id(number, tokenizer, ids[i], arena, err);
        if (!labels[i].text)
            return -1;
        if (i < unnumbered)
            labels[i].exact = labels[i].plain;
    }
    *tokenized = (struct tokenized){
        .words_before = unnumbered,
        .tokens = tokens->items,
        .ids = ids,
        .labels = labels,
        .bytes = bytes,
        .segments = tokens->segments,
        .count = tokens->count,
        .second = tokens->second,
        .added_before = tokens->added[0],
        .added_between = tokens->added[1],
        .added_after = tokens->added[2],
        .dropped_count = tokens->dropped_count,
    };
    if (tokens->dropped_first)
        tokenized->dropped_first = *tokens->dropped_first;
    return 0;
}

int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
                    const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    return label_tokens(tokenized, tokens, 0, tokenizer, arena, err);
}

bool tokenized_is_added(const struct tokenized *tokenized, size_t index)
{
    size_t second = tokenized->second;
    return index < tokenized->added_before || index + tokenized->added_after >= tokenized->count ||
           (index < second && index + tokenized->added_between >= second);
}

int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct token_limits *limits, struct arena *arena, struct err *err)
{
    struct tokens tokens = {0};
    if (read_tokens(&tokens, input, limits, arena, err) ||
        label_tokens(tokenized, &tokens, limits->start_is_unnumbered ? tokens.added[0] : 0,
                     limits->tokenizer, arena, err))
        return -1;
    tokenized->raw = input->text;
    tokenized->size = input->text ? input->size : 0;
    tokenized->pair = input->pair;
    return 0;
}

int tokenized_begin(struct tokenized *tokenized, const struct token_limits *limits,
                    struct arena *arena, struct err *err)
{
    const struct config *config = limits->config;
    if ((unsigned long long)config->bos_id >= limits->vocabulary) /* also true for a bos_id of -1:
                                                                   * the config names no beginning
                                                                   * token */
        return err_set(err, "expected a text, since field 'bos_token_id' of config.json names no "
                            "token of the vocabulary to begin with");
    struct tokens tokens = {0};
    if (put_start(&tokens, config, arena, err) ||
        tokenized_label(tokenized, &tokens, limits->tokenizer, arena, err))
        return -1;
    tokenized->raw = limits->tokenizer ? "" : NULL;
    return 0;
}

int tokenized_table(struct table *table, const struct tokenized *tokenized, const char *title,
                    struct arena *arena, struct err *err)
{
    const unsigned place_flags = tokenized->raw ? 0 : COLUMN_DATA_ONLY;
    struct table_rows rows = {.most = tokenized->count, .arena = arena, .err = err};
    for (size_t i = 0; i < tokenized->count; i++, rows_next(&rows)) {
        struct token token = tokenized->tokens[i];
        struct token_bytes bytes = tokenized->bytes ? tokenized->bytes[i] : (struct token_bytes){0};
        bool needs_hex = bytes.bytes && !is_text(&bytes);
        char *hex = needs_hex ? arena_alloc(arena, 2 * bytes.size + 1, 1, err) : NULL;
        for (size_t k = 0; hex && k < bytes.size; k++)
            snprintf(hex + 2 * k, 3, "%02x", (unsigned char)bytes.bytes[k]);
        const long long number = tokenized_number(tokenized, i);
        rows_integer(&rows, "index", COLUMN_KEY, number < 0 ? COLUMN_MISSING : number);
        rows_title(&rows, "token");
        rows_integer(&rows, "id", 0, token.id);
        rows_integer(&rows, "start", place_flags,
                     tokenized->raw ? (long long)token.start : COLUMN_MISSING);
        rows_integer(&rows, "end", place_flags,
                     tokenized->raw ? (long long)token.end : COLUMN_MISSING);
        if (tokenized->segments)
            rows_integer(&rows, "segment", 0, tokenized->segments[i]);
        rows_label(&rows, "text", COLUMN_SHRINKS, tokenized->labels[i]);
        rows_title(&rows, title);
        rows_text(&rows, "bytes", COLUMN_DATA_ONLY, hex);
    }
    return rows_finish(table, &rows, "tokens", "token");
}

struct label label_borrowed(const char *text, bool shows_blanks, struct arena *arena,
                            struct err *err)
{
    struct buf visible = {0};
    (shows_blanks ? label_visible : label_line)(&visible, text, strlen(text));
    return (struct label){buf_keep(&visible, arena, err), text, text};
}

struct label label_of_head(size_t layer, size_t head, struct arena *arena, struct err *err)
{
    char name[HEAD_NAME_BYTES];
    const char *text = arena_format(arena, err, "%s", head_name(name, layer, head));
    return (struct label){text, text, text};
}

const struct label *labels_of_numbers(const size_t *numbers, size_t count, struct arena *arena,
                                      struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t i = 0; labels && i < count; i++) {
        const char *text = arena_format(arena, err, "%zu", numbers ? numbers[i] : i);
        if (!text)
            return NULL;
        labels[i] = (struct label){text, text, text};
    }
    return labels;
}

int axis_of_numbers(struct axis *axis, const char *name, const size_t *numbers, size_t count,
                    struct arena *arena, struct err *err)
{
    const struct label *labels = labels_of_numbers(numbers, count, arena, err);
    *axis = (struct axis){name, count, labels, .numbers = numbers};
    return labels ? 0 : -1;
}

int axis_of_heads(struct axis *axis, size_t layer, size_t size, struct arena *arena,
                  struct err *err)
{
    struct label *labels = arena_alloc(arena, size, sizeof *labels, err);
    *axis = (struct axis){.name = "head", .size = size, .labels = labels};
    for (size_t i = 0; labels && i < size; i++) {
        labels[i] = label_of_head(layer, i, arena, err);
        if (!labels[i].text)
            return -1;
        labels[i].text = strchr(labels[i].text, 'H') + 1;
    }
    return labels ? 0 : -1;
}

int axis_add(struct axis *axis, const char *name, struct arena *arena, struct err *err)
{
    struct label *labels = arena_grow(arena, (void *)axis->labels, axis->size, sizeof *labels, err);
    if (!labels || !name)
        return -1;
    labels[axis->size++] = (struct label){name, name, name};
    axis->labels = labels;
    return 0;
}

int axis_add_numbers(struct axis *axis, const char *prefix, size_t count, struct arena *arena,
                     struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (axis_add(axis, arena_format(arena, err, "%s%zu", prefix, i), arena, err))
            return -1;
    return 0;
}

struct label label_of_word(const struct tokenizer *tokenizer, uint32_t id, struct arena *arena,
                           struct err *err)
{
    return label_of_id(id, tokenizer, id, arena, err);
}

const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t id = 0; labels && id < count; id++) {
        labels[id] = label_of_word(tokenizer, (uint32_t)id, arena, err);
        if (!labels[id].text)
            return NULL;
    }
    return labels;
}

void tokenized_visible(struct buf *out, const struct tokenized *tokenized)
{
    if (tokenized->raw) {
        label_line(out, tokenized->raw, tokenized->size);
        if (tokenized->pair.bytes) {
            buf_text(out, " │ ");
            label_line(out, tokenized->pair.bytes, tokenized->pair.size);
        }
        return;
    }
    for (size_t i = 0; i < tokenized->count; i++)
        buf_format(out, i ? ",%u" : "ids %u", tokenized->tokens[i].id);
}

/* --- a token by its name ---------------------------------------------------------------------- */

const char *label_name(const struct label *label)
{
    const char *name = label->plain + strspn(label->plain, " ");
    return *name ? name : label->text;
}

static bool is_called(const struct label *label, const char *name)
{
    return strcmp(name, label->plain) == 0 || strcmp(name, label->text) == 0 ||
           strcmp(name, label_name(label)) == 0;
}

bool tokenized_find_token(struct token_match *match, const struct tokenized *tokenized,
                          const char *name)
{
    size_t count = tokenized->count, found = 0;
    const char *colon = strchr(name, ':');
    *match = (struct token_match){0};
    for (size_t i = count; i-- > 0;) /* from the last token to the first, so the first match is
                                      * kept */
        if (is_called(&tokenized->labels[i], name))
            *match = (struct token_match){.index = i, .alike = found++, .next = match->index};
    return found || selection_index(&match->index, name, strlen(name), count) ||
           (colon && selection_index(&match->index, name, (size_t)(colon - name), count) &&
            is_called(&tokenized->labels[match->index], colon + 1));
}

/* --- tokens as running text ------------------------------------------------------------------- */

/* `opening`: punctuation without a space after it; `closing`: without a space before it. */
static const char *const opening = "([{¿¡‘“‚„«‹「『《〈（【〔、。，：；！？'";
static const char *const closing = ".,:;!?)]}%…’”»›」』》〉）】〕、。，：；！？'";

/* Scripts without spaces between words. */
static const struct unicode_range without_blanks[] = {
    {0x0e00, 0x0eff},   /* Thai, Lao */
    {0x1000, 0x109f},   /* Myanmar */
    {0x1780, 0x17ff},   /* Khmer */
    {0x2e80, 0x312f},   /* Han radicals, CJK punctuation, kana, bopomofo */
    {0x31a0, 0x9fff},   /* Han, and other characters of CJK */
    {0xf900, 0xfaff},   /* Han compatibility */
    {0xff00, 0xffef},   /* full-width and half-width forms */
    {0x20000, 0x3ffff}, /* Han */
};

static bool has_no_blanks(uint32_t c)
{
    return UNICODE_IS_IN(without_blanks, c);
}

static bool is_one_of(uint32_t c, const char *signs)
{
    char sign[5] = "";
    utf8_encode(sign, c);
    return *sign && strstr(signs, sign);
}

/* Return the last character of a text; 0 if it is empty or ends inside a character. */
static uint32_t last_character(const struct buf *text)
{
    uint32_t c = 0;
    for (size_t size = 1; size <= 4 && size <= text->size; size++)
        if (utf8_decode(&c, text->bytes + text->size - size, size) == size)
            return c;
    return 0;
}

static bool needs_blank(const struct buf *text, const char *word, size_t size)
{
    uint32_t first = 0;
    if (text->size == 0 || utf8_decode(&first, word, size) == 0)
        return false;
    uint32_t last = last_character(text);
    return utf8_class(last) != UTF8_SPACE && utf8_class(first) != UTF8_SPACE &&
           !is_one_of(last, opening) && !is_one_of(first, closing) &&
           !(has_no_blanks(last) && has_no_blanks(first));
}

bool wording_needs_blank(const struct buf *text, const char *word, size_t size)
{
    static const char low[] = "„", high[] = "“"; /* German quotes: „ opens, “ closes */
    size_t quotes = 0;
    uint32_t first = 0, last = last_character(text);
    utf8_decode(&first, word, size);
    for (size_t i = 0; i < text->size; i++)
        quotes += text->bytes[i] == '"';
    bool is_german = text->size && memmem(text->bytes, text->size, low, sizeof low - 1);
    if ((first == '"' || last == '"') && quotes % 2) /* no blank between a quote and the quotation
                                                      * that it opens or closes */
        return false;
    if (is_german && is_one_of(first, high))
        return false;
    if (is_german && is_one_of(last, high)) /* in German, “ does not open a quote */
        return needs_blank(&(struct buf){.bytes = "\"", .size = 1}, word, size);
    return needs_blank(text, word, size);
}

/* Return the length of WordPiece's continuation prefix ("##") at the start of a token; 0: none. */
static size_t prefix_of(const struct tokenizer *tokenizer, const char *bytes, size_t size)
{
    const char *prefix = tokenizer_facts(tokenizer)->prefix;
    size_t length = prefix ? strlen(prefix) : 0;
    return size > length && memcmp(bytes, prefix ? prefix : "", length) == 0 ? length : 0;
}

/* True if tokens contain no spaces: running text then needs blanks between words. */
static bool needs_blanks(const struct tokenizer *tokenizer)
{
    return tokenizer_facts(tokenizer)->prefix || *tokenizer_facts(tokenizer)->gap;
}

size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id)
{
    char number[NUMBER_BYTES];
    struct token_bytes own = bytes_or_number(number, tokenizer, id);
    if (!tokenizer && text->size)
        buf_char(text, ',');
    size_t prefix = tokenizer && text->size ? prefix_of(tokenizer, own.bytes, own.size) : 0;
    own.bytes += prefix;
    own.size -= prefix;
    if (tokenizer && needs_blanks(tokenizer) && !prefix && needs_blank(text, own.bytes, own.size))
        buf_char(text, ' ');
    size_t start = text->size;
    buf_bytes(text, own.bytes, own.size);
    return start;
}

const char *wording_around(const uint32_t *ids, size_t count, size_t marked,
                           const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    struct buf words = {0};
    size_t start = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        size_t from = wording_add(&words, tokenizer, ids[i]);
        start = i == marked ? from : start;
        end = i == marked ? words.size : end;
    }
    const char *text = buf_keep(&words, arena, err);
    if (!text)
        return NULL;
    start += start < end && text[start] == ' ';
    while (start && (text[start] & 0xc0) == 0x80)
        start--;
    while ((text[end] & 0xc0) == 0x80)
        end++;
    return arena_format(arena, err, "%.*s«%.*s»%s", (int)start, text, (int)(end - start),
                        text + start, text + end);
}

/* --- words ---------------------------------------------------------------------------------------
 *
 * Words are separated by white space, as in reading-time corpora: punctuation belongs to its word
 * (`said,`), `3.14` and `well-known` are one word each, and the number of words does not depend on
 * the tokenizer. In scripts without spaces, words are the tokenizer's tokens, or characters where a
 * character is several tokens. */

/* Return the text that a token is in; for a pair, this is the first or the second text. */
static struct token_bytes text_of(const struct tokenized *text, size_t token)
{
    return text->pair.bytes && token >= text->second ? text->pair
                                                     : (struct token_bytes){text->raw, text->size};
}

/* True if byte `at` is part of a white-space character. */
static bool is_blank(struct token_bytes text, size_t at)
{
    uint32_t c = 0;
    size_t start = at;
    while (start > 0 && at - start < 3 && label_is_rest(text.bytes + start, text.size - start))
        start--;
    size_t size = utf8_decode(&c, text.bytes + start, text.size - start);
    return start + size > at && utf8_class(c) == UTF8_SPACE;
}

/* Return the byte range of a token or word without surrounding white space. */
static struct text_range trim(struct token_bytes text, size_t start, size_t end)
{
    while (start < end && is_blank(text, start))
        start++;
    while (start < end && is_blank(text, end - 1))
        end--;
    return (struct text_range){start, end};
}

/* True for a token such as <s>, in the text or added to it; false for <unk>, which replaces other
 * characters, and for the space that SentencePiece adds before a word. */
static bool is_special(const struct tokenized *text, const struct tokenizer *tokenizer,
                       size_t index, struct text_range own)
{
    const struct token *token = &text->tokens[index];
    const struct added_token *added = NULL;
    if (token->start == token->end)
        return strcmp(text->labels[index].plain, " ") != 0;
    if (tokenizer)
        added = added_tokens_of_id(tokenizer_facts(tokenizer)->added, token->id);
    return added && added->special && added->size == own.end - own.start &&
           memcmp(added->bytes, text_of(text, index).bytes + own.start, added->size) == 0;
}

/* True if a character begins at byte `at`, and it or the character before it is of a script without
 * spaces. `*character` is the byte range of the character that was read last. */
static bool splits_script(struct token_bytes text, size_t at, struct text_range *character)
{
    uint32_t last = 0, next = 0;
    while (character->end < at) {
        size_t start = character->end;
        *character = (struct text_range){
            start, start + utf8_grapheme(text.bytes + start, text.size - start)};
    }
    utf8_decode(&last, text.bytes + character->start, at - character->start);
    utf8_decode(&next, text.bytes + at, text.size - at);
    return character->end == at && (has_no_blanks(last) || has_no_blanks(next));
}

/* Split a text into words, and return their number. A word begins after white space, which it
 * includes, before and after a special token, at a token of a script without spaces, and at the
 * second text of a pair. White space at the end belongs to the last word. A token with white space
 * inside joins two words. */
static size_t split(struct word_span *spans, const struct tokenized *text,
                    const struct tokenizer *tokenizer)
{
    size_t found = 0;
    size_t next = 0; /* index after the last token that is more than white space */
    size_t end = 0;  /* byte offset of the end of the last token that is more than white space */
    size_t count = text->count;
    struct text_range character = {0, 0};
    bool was_special = false;
    for (size_t i = 0; i < count; i++) {
        const struct token *token = &text->tokens[i];
        const struct token_bytes here = text_of(text, i);
        if (text->pair.bytes && i == text->second) {
            character = (struct text_range){0, 0};
            end = 0;
            next = i;
            was_special = true;
        }
        struct text_range own = trim(here, token->start, token->end);
        bool special = is_special(text, tokenizer, i, own);
        if (own.start == own.end && !special)
            continue;
        bool parted = found == 0 || special || was_special;
        for (; end < own.start && !parted; end++)
            parted = is_blank(here, end);
        if (parted || (end <= own.start && splits_script(here, own.start, &character))) {
            spans[found].first = special && found ? i : next;
            found++;
        }
        next = i + 1;
        end = own.end;
        was_special = special;
    }
    if (!found) /* the text is only white space */
        spans[found++].first = 0;
    for (size_t i = 0; i < found; i++)
        spans[i].count = (i + 1 < found ? spans[i + 1].first : count) - spans[i].first;
    return found;
}

/* Return the byte range that the caller gave for word `word` of text->words; NULL: this word is a
 * special token, or the caller gave no words. */
static const struct text_range *given_word(const struct tokenized *text, size_t word)
{
    size_t index = word - text->words_before;
    return word >= text->words_before && index < text->given_count ? &text->given[index] : NULL;
}

/* Return the byte range of a word, including characters that the tokenizer dropped at its end. */
struct text_range word_range(const struct tokenized *text, size_t word)
{
    const struct word_span *span = &text->words[word];
    if (given_word(text, word))
        return *given_word(text, word);
    const struct token *first = &text->tokens[span->first];
    const struct token_bytes here = text_of(text, span->first);
    size_t next = span->first + span->count;
    bool goes_on = next < text->count && text_of(text, next).bytes == here.bytes;
    size_t limit = goes_on ? text->tokens[next].start : here.size;
    struct text_range own = trim(here, first->start, first[span->count - 1].end);
    while (own.start < own.end && own.end < limit && !is_blank(here, own.end))
        own.end++;
    return own;
}

/* Assign to each given word the tokens that begin in it, perhaps none. Each special token is a word
 * of its own. */
static size_t split_given(struct word_span *spans, const struct tokenized *text)
{
    size_t found = 0, token = 0, end = text->count - text->added_after;
    for (; token < text->added_before; token++)
        spans[found++] = (struct word_span){token, 1};
    for (size_t i = 0; i < text->given_count; i++) {
        size_t first = token;
        while (token < end &&
               (i + 1 == text->given_count || text->tokens[token].start < text->given[i].end))
            token++;
        spans[found++] = (struct word_span){first, token - first};
    }
    for (; token < text->count; token++)
        spans[found++] = (struct word_span){token, 1};
    return found;
}

/* Words are labelled by their text; special tokens that are not in the text keep their labels. */
int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err)
{
    struct tokenized text = *tokenized;
    size_t most = text.count + text.given_count;
    struct word_span *spans = arena_alloc(arena, most, sizeof *spans, err);
    struct label *labels = arena_alloc(arena, most, sizeof *labels, err);
    if (!spans || !labels)
        return -1;
    if (!text.raw) { /* ids get the text that they spell */
        struct buf bytes = {0};
        struct token *tokens = arena_alloc(arena, text.count, sizeof *tokens, err);
        for (size_t i = 0; tokens && i < text.count; i++) {
            uint32_t id = text.tokens[i].id;
            size_t start = wording_add(&bytes, tokenizer, id);
            tokens[i] = (struct token){id, false, start, bytes.size};
        }
        text.size = bytes.size;
        text.raw = buf_keep(&bytes, arena, err);
        text.tokens = tokens;
        if (!tokens || !text.raw)
            return -1;
    }

    text.words = spans;
    text.word_count = text.given_count ? split_given(spans, &text) : split(spans, &text, tokenizer);
    text.words_before = 0;
    while (text.words_before < text.word_count &&
           spans[text.words_before].first + spans[text.words_before].count <= text.added_before)
        text.words_before++;
    for (size_t i = 0; i < text.word_count; i++) {
        struct text_range own = word_range(&text, i);
        bool is_in_text = own.start < own.end || given_word(&text, i);
        const char *word = is_in_text ? text_of(&text, spans[i].first).bytes + own.start
                                      : text.labels[spans[i].first].plain;
        const struct token_bytes bytes = {word, is_in_text ? own.end - own.start : strlen(word)};
        const struct token_row row = {&bytes, 1, 0};
        labels[i] = label_bytes(i - text.words_before, row, arena, err);
        if (!labels[i].text)
            return -1;
        if (i < text.words_before)
            labels[i].exact = labels[i].plain;
    }
    tokenized->words = spans;
    tokenized->word_labels = labels;
    tokenized->word_count = text.word_count;
    tokenized->words_before = text.words_before;
    return 0;
}

const bool *word_starts(const struct tokenizer *tokenizer, size_t count, struct arena *arena,
                        struct err *err)
{
    bool apart = needs_blanks(tokenizer);
    bool *starts = arena_alloc(arena, count, sizeof *starts, err);
    bool any = false;
    for (size_t id = 0; starts && id < count; id++) {
        struct token_bytes own = bytes_of(tokenizer, (uint32_t)id);
        if (!own.bytes)
            continue;
        starts[id] =
            apart ? !prefix_of(tokenizer, own.bytes, own.size) : own.size && *own.bytes == ' ';
        any |= starts[id];
    }
    if (starts && !any)
        err_unsupported(err, "expected tokens that begin with a space, found none");
    return any ? starts : NULL;
}

size_t tokenized_opening(const struct tokenized *text, const struct config *config, long long mask)
{
    const bool at_end = config->answers == ANSWER_OF_LAST || config->answers == ANSWER_OF_EACH;
    if (config_classifies(config))
        return at_end ? text->count - 1 : 0;
    for (size_t i = text->count; i-- > 0;)
        if (text->ids[i] == mask)
            return i;
    return text->count - 1 - (text->added_after < text->count ? text->added_after : 0);
}
