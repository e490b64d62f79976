#include "lens/tokenized.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lens/selection.h"
#include "model/batch.h"
#include "model/config.h"
#include "text/token_list.h"
#include "text/token_set.h"

enum { NUMBER_BYTES = 24 };

/* False for a part of a character, and where a text in C would end early. */
static bool is_text(const struct token_bytes *own)
{
    return utf8_invalid_at(own->bytes, own->size) == own->size &&
           (own->size == 0 || !memchr(own->bytes, 0, own->size));
}

int label_make(struct label *label, const struct thing *thing, struct arena *arena, struct err *err)
{
    struct buf exact = {0};
    int failed = -1;
    const struct token_bytes *own = &thing->row[thing->index];
    buf_format(&exact, "%zu:", thing->place);
    size_t visible = exact.size;
    label_token(&exact, thing->row, thing->count, thing->index);
    if (buf_check(&exact, err))
        goto done;
    label->exact = arena_text(arena, exact.bytes, exact.size, err);
    label->text = label->exact ? label->exact + visible : NULL;
    label->plain = is_text(own) ? arena_text(arena, own->bytes, own->size, err) : label->text;
    failed = label->plain && label->exact ? 0 : -1;
done:
    buf_release(&exact);
    return failed;
}

/* A token by its own bytes; by its number where the bytes are not known. */
static int label_id(struct label *label, struct thing thing, uint32_t id, struct arena *arena,
                    struct err *err)
{
    char number[NUMBER_BYTES];
    struct token_bytes alone = {number, 0};
    if (!thing.row[thing.index].bytes) {
        alone.size = (size_t)snprintf(number, sizeof number, "%u", id);
        thing = (struct thing){thing.place, &alone, 1, 0};
    }
    return label_make(label, &thing, arena, err);
}

static struct token_bytes bytes_of(const struct tokenizer *tokenizer, uint32_t id)
{
    struct token_bytes token = {0};
    if (tokenizer)
        token.bytes = tokenizer_token(tokenizer, id, &token.size);
    return token;
}

static int check(size_t count, size_t size, size_t dropped_count, struct err *err)
{
    if (count)
        return 0;
    if (dropped_count)
        return err_set(err, "the text is empty: none of its characters (%zu) is in the vocabulary",
                       dropped_count);
    if (size) /* blanks, or what a normalizer takes away */
        return err_set(err, "no token is left of the text: expected at least one");
    return err_set(err, "the text is empty: expected at least one token");
}

/* Tokens of a text: as many as the model has positions are kept, the others only counted, so that a
 * text that is far too long takes no memory. */
struct gathering {
    struct token_list kept;
    size_t count;
    size_t limit; /* 0: none */
};

static int gather(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct gathering *gathering = context;
    for (size_t i = 0; i < count; i++, gathering->count++)
        if ((!gathering->limit || gathering->count < gathering->limit) &&
            token_list_add(&gathering->kept, tokens[i], err))
            return -1;
    return 0;
}

static int encode(struct tokens *tokens, const struct input *input,
                  const struct token_limits *limits, struct arena *arena, struct err *err)
{
    struct gathering gathering = {.limit = limits->config->n_positions};
    struct token_sink sink = {gather, &gathering};
    struct token_list list = {.sink = &sink};
    int failed = tokenizer_stream(limits->tokenizer, &list, input->text, input->size, err) ||
                 check(gathering.count, input->size, list.dropped_count, err) ||
                 batch_check_length(limits->config, gathering.count, err);
    gathering.kept.dropped_count = list.dropped_count;
    gathering.kept.dropped_first = list.dropped_first;
    failed = failed || token_list_keep(&gathering.kept, tokens, arena, err);
    token_list_release(&gathering.kept);
    token_list_release(&list);
    return failed ? -1 : 0;
}

static int read_tokens(struct tokens *tokens, const struct input *input,
                       const struct token_limits *limits, struct arena *arena, struct err *err)
{
    char word[LABEL_EXCERPT_BYTES];
    size_t vocab_size = limits->config->vocab_size;
    if (!input->text)
        return tokens_from_ids(tokens, input->ids, vocab_size, arena, err) ||
                       batch_check_length(limits->config, tokens->count, err)
                   ? -1
                   : 0;
    if (!limits->tokenizer) {
        if (limits->why && *limits->why)
            err_unsupported(err, "%s", limits->why);
        else
            err_set(err, "the model has no tokenizer (tokenizer.json or vocab.json)");
        return err_about(err, ERR_ABOUT_TOKENIZER);
    }
    if (encode(tokens, input, limits, arena, err))
        return -1;
    for (size_t i = 0; i < tokens->count; i++) { /* a vocabulary may be larger than the model's */
        uint32_t id = tokens->items[i].id;
        struct token_bytes token = bytes_of(limits->tokenizer, id);
        if (id < vocab_size)
            continue;
        label_excerpt(word, token.bytes, token.size);
        return err_set(err, "token %zu ('%s'): expected an id below vocab_size = %zu, found %u", i,
                       word, vocab_size, id);
    }
    return 0;
}

int tokenized_check(const struct tokenized *tokenized, struct err *err)
{
    return check(tokenized->count, tokenized->size, tokenized->dropped_count, err);
}

int tokenized_label(struct tokenized *tokenized, const struct tokens *tokens,
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
    for (size_t i = 0; i < tokens->count; i++)
        if (label_id(&labels[i], (struct thing){i, bytes, tokens->count, i}, ids[i], arena, err))
            return -1;
    *tokenized = (struct tokenized){
        .tokens = tokens->items,
        .ids = ids,
        .labels = labels,
        .bytes = bytes,
        .count = tokens->count,
        .dropped_count = tokens->dropped_count,
    };
    if (tokens->dropped_first)
        tokenized->dropped_first = *tokens->dropped_first;
    return 0;
}

int tokenized_make(struct tokenized *tokenized, const struct input *input,
                   const struct token_limits *limits, struct arena *arena, struct err *err)
{
    struct tokens tokens = {0};
    if (read_tokens(&tokens, input, limits, arena, err) ||
        tokenized_label(tokenized, &tokens, limits->tokenizer, arena, err))
        return -1;
    tokenized->text = input->text;
    tokenized->size = input->text ? input->size : 0;
    if (input->text)
        tokenizer_adds(limits->tokenizer, &tokenized->added_before, &tokenized->added_after);
    return 0;
}

int tokenized_begin(struct tokenized *tokenized, const struct token_limits *limits,
                    struct arena *arena, struct err *err)
{
    const struct config *config = limits->config;
    if (config->bos_id < 0)
        return err_set(err, "expected a text to begin with (--sentence): field 'bos_token_id' of "
                            "config.json names no token for it");
    if ((unsigned long long)config->bos_id >= config->vocab_size)
        return err_set(err,
                       "field 'bos_token_id': expected an id below vocab_size = %zu, found %lld",
                       config->vocab_size, config->bos_id);
    struct token *begin = arena_alloc(arena, 1, sizeof *begin, err);
    if (!begin)
        return -1;
    begin->id = (uint32_t)config->bos_id;
    struct tokens tokens = {.items = begin, .count = 1};
    if (tokenized_label(tokenized, &tokens, limits->tokenizer, arena, err))
        return -1;
    tokenized->text = limits->tokenizer ? "" : NULL;
    tokenized->added_before = 1;
    return 0;
}

int tokenized_frame(struct frame *frame, const struct tokenized *tokenized, const char *title,
                    struct arena *arena, struct err *err)
{
    enum { INDEX, ID, START, END, TEXT, BYTES };
    const unsigned place_flags = tokenized->text ? 0 : COLUMN_DATA_ONLY;
    const struct column columns[] = {
        [INDEX] = {"index", "token", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
        [ID] = {"id", .kind = COLUMN_INTEGER},
        [START] = {"start", .kind = COLUMN_INTEGER, .flags = place_flags},
        [END] = {"end", .kind = COLUMN_INTEGER, .flags = place_flags},
        [TEXT] = {"text", title, .kind = COLUMN_LABEL, .flags = COLUMN_SHRINKS},
        [BYTES] = {"bytes", .kind = COLUMN_TEXT, .flags = COLUMN_DATA_ONLY},
    };
    *frame = (struct frame){"tokens", {"token", tokenized->count, tokenized->labels, 0}};
    if (frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err))
        return -1;
    for (size_t i = 0; i < tokenized->count; i++) {
        const struct token *token = &tokenized->tokens[i];
        frame_integers(frame, INDEX)[i] = (long long)i;
        frame_integers(frame, ID)[i] = token->id;
        frame_integers(frame, START)[i] =
            tokenized->text ? (long long)token->start : COLUMN_MISSING;
        frame_integers(frame, END)[i] = tokenized->text ? (long long)token->end : COLUMN_MISSING;
        frame_labels(frame, TEXT)[i] = tokenized->labels[i];
        const struct token_bytes *bytes = tokenized->bytes ? &tokenized->bytes[i] : NULL;
        if (!bytes || !bytes->bytes || is_text(bytes))
            continue;
        char *hex = arena_alloc(arena, 2 * bytes->size + 1, 1, err);
        if (!hex)
            return -1;
        for (size_t k = 0; k < bytes->size; k++)
            snprintf(hex + 2 * k, 3, "%02x", (unsigned char)bytes->bytes[k]);
        frame_texts(frame, BYTES)[i] = hex;
    }
    return 0;
}

int label_of_head(struct label *label, size_t layer, size_t head, struct arena *arena,
                  struct err *err)
{
    label->text = arena_format(arena, err, "%zu.%zu", layer, head);
    label->exact = label->plain = arena_format(arena, err, "L%zuH%zu", layer, head);
    return label->text && label->exact ? 0 : -1;
}

const struct label *labels_of_numbers(size_t count, struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t i = 0; labels && i < count; i++) {
        const char *text = arena_format(arena, err, "%zu", i);
        if (!text)
            return NULL;
        labels[i] = (struct label){.text = text, .exact = text, .plain = text};
    }
    return labels;
}

int axis_of_numbers(struct axis *axis, const char *name, size_t size, struct arena *arena,
                    struct err *err)
{
    *axis = (struct axis){.name = name, .size = size};
    axis->labels = labels_of_numbers(size, arena, err);
    return axis->labels ? 0 : -1;
}

int axis_of_heads(struct axis *axis, size_t layer, size_t size, struct arena *arena,
                  struct err *err)
{
    struct label *labels = arena_alloc(arena, size, sizeof *labels, err);
    if (!labels || axis_of_numbers(axis, "head", size, arena, err))
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (label_of_head(&labels[i], layer, i, arena, err))
            return -1;
        labels[i].text = axis->labels[i].text;
    }
    axis->labels = labels;
    return 0;
}

int label_of_word(struct label *label, const struct tokenizer *tokenizer, uint32_t id,
                  struct arena *arena, struct err *err)
{
    struct token_bytes token = bytes_of(tokenizer, id);
    struct thing thing = {id, &token, 1, 0};
    return label_id(label, thing, id, arena, err);
}

const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t id = 0; labels && id < count; id++)
        if (label_of_word(&labels[id], tokenizer, (uint32_t)id, arena, err))
            return NULL;
    return labels;
}

void tokenized_visible(struct buf *out, const struct tokenized *tokenized)
{
    const char *text = tokenized->text;
    if (!text)
        buf_text(out, "ids ");
    for (size_t i = 0; !text && i < tokenized->count; i++)
        buf_format(out, i ? ",%u" : "%u", tokenized->tokens[i].id);
    for (size_t at = 0; text && at < tokenized->size;) {
        const char *blank = memchr(text + at, ' ', tokenized->size - at);
        size_t end = blank ? (size_t)(blank - text) : tokenized->size;
        label_visible(out, text + at, end - at);
        if (blank)
            buf_char(out, ' ');
        at = end + (blank != NULL);
    }
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

static bool find_text(struct token_match *match, const struct tokenized *tokenized,
                      const char *name)
{
    bool found = false;
    for (size_t i = 0; i < tokenized->count; i++) {
        if (!is_called(&tokenized->labels[i], name))
            continue;
        if (!found)
            *match = (struct token_match){.index = i};
        else if (match->alike++ == 0)
            match->next = i;
        found = true;
    }
    return found;
}

bool tokenized_find_token(struct token_match *match, const struct tokenized *tokenized,
                          const char *name)
{
    size_t place = 0;
    size_t count = tokenized->count;
    const char *colon = strchr(name, ':');
    bool is_place = selection_index(&place, name, strlen(name), count);
    if (find_text(match, tokenized, name)) {
        match->place = is_place ? place : match->index;
        return true;
    }
    if (!is_place)
        is_place = colon && selection_index(&place, name, (size_t)(colon - name), count) &&
                   is_called(&tokenized->labels[place], colon + 1);
    *match = (struct token_match){.index = place, .place = place};
    return is_place;
}

/* --- words and running text ---------------------------------------------------------------------
 *
 * Tokens as running text, and which tokens of a text make a word together.
 *
 * Words are what white space separates, as in corpora of reading times: punctuation stays with its
 * word (`said,`), `3.14` and `well-known` are one word each, and the number of words does not
 * depend on the tokenizer. Scripts without spaces have one word between two spaces.
 */
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

struct text_range word_range(const struct tokenized *tokenized, size_t word)
{
    const struct word_span *span = &tokenized->words[word];
    const struct token *first = &tokenized->tokens[span->first];
    const struct script script = {.text = tokenized->text, .size = tokenized->size};
    bool is_last = word + 1 == tokenized->word_count;
    size_t limit = is_last ? script.size : tokenized->tokens[span[1].first].start;
    struct text_range range = trim(&script, first->start, first[span->count - 1].end);
    while (range.start < range.end && range.end < limit && !is_blank(&script, range.end))
        range.end++;
    return range;
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
        size_t size = 0;
        const char *bytes = tokenizer_token(tokenizer, (uint32_t)id, &size);
        if (!bytes)
            continue;
        bool goes_on = prefix_size && size > prefix_size && !memcmp(bytes, prefix, prefix_size);
        starts[id] = are_apart ? !goes_on : size && *bytes == ' ';
        any |= starts[id];
    }
    if (starts && !any)
        err_unsupported(err, "expected tokens that begin with a blank, found none");
    return any ? starts : NULL;
}
