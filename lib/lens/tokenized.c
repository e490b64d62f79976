#include "lens/tokenized.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "lens/frame.h"
#include "lens/selection.h"
#include "model/batch.h"
#include "text/label.h"
#include "text/token_list.h"
#include "model/config.h"

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

/* A vocabulary may have words for which the model has no row. */
static int check_ids(const struct tokens *tokens, const struct lexicon *lexicon, struct err *err)
{
    char word[LABEL_EXCERPT_BYTES];
    for (size_t i = 0; i < tokens->count; i++) {
        uint32_t id = tokens->items[i].id;
        if (id < lexicon->config->vocab_size)
            continue;
        struct token_bytes token = bytes_of(lexicon->tokenizer, id);
        label_excerpt(word, token.bytes, token.size);
        return err_set(err, "token %zu ('%s'): expected an id below vocab_size = %zu, found %u", i,
                       word, lexicon->config->vocab_size, id);
    }
    return 0;
}

/* A text's tokens on their way in: as many as the model has positions are kept, the others counted
 * alone, so that a text that is far too long takes no memory. */
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

static int encode(struct tokens *tokens, const struct input *input, const struct lexicon *lexicon,
                  struct arena *arena, struct err *err)
{
    struct gathering gathering = {.limit = lexicon->config->n_positions};
    struct token_sink sink = {gather, &gathering};
    struct token_list list = {.sink = &sink};
    int failed = tokenizer_stream(lexicon->tokenizer, &list, input->text, input->size, err) ||
                 check(gathering.count, input->size, list.dropped_count, err) ||
                 batch_check_length(lexicon->config, gathering.count, err);
    gathering.kept.dropped_count = list.dropped_count;
    gathering.kept.dropped_first = list.dropped_first;
    failed = failed || token_list_keep(&gathering.kept, tokens, arena, err);
    token_list_release(&gathering.kept);
    token_list_release(&list);
    return failed ? -1 : 0;
}

static int read_tokens(struct tokens *tokens, const struct input *input,
                       const struct lexicon *lexicon, struct arena *arena, struct err *err)
{
    if (!input->text)
        return tokens_from_ids(tokens, input->ids, lexicon->config->vocab_size, arena, err) ||
                       batch_check_length(lexicon->config, tokens->count, err)
                   ? -1
                   : 0;
    if (!lexicon->tokenizer && lexicon->why && *lexicon->why)
        err_unsupported(err, "%s", lexicon->why);
    if (!lexicon->tokenizer)
        err_set(err, "the model has no tokenizer (tokenizer.json or vocab.json)");
    if (!lexicon->tokenizer)
        return err_about(err, ERR_ABOUT_TOKENIZER);
    if (encode(tokens, input, lexicon, arena, err))
        return -1;
    return check_ids(tokens, lexicon, err);
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
                   const struct lexicon *lexicon, struct arena *arena, struct err *err)
{
    struct tokens tokens = {0};
    if (read_tokens(&tokens, input, lexicon, arena, err) ||
        tokenized_label(tokenized, &tokens, lexicon->tokenizer, arena, err))
        return -1;
    tokenized->text = input->text;
    tokenized->size = input->text ? input->size : 0;
    if (input->text)
        tokenizer_adds(lexicon->tokenizer, &tokenized->added_before, &tokenized->added_after);
    return 0;
}

int tokenized_begin(struct tokenized *tokenized, const struct lexicon *lexicon, struct arena *arena,
                    struct err *err)
{
    const struct config *config = lexicon->config;
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
    if (tokenized_label(tokenized, &tokens, lexicon->tokenizer, arena, err))
        return -1;
    tokenized->text = lexicon->tokenizer ? "" : NULL;
    tokenized->added_before = 1;
    return 0;
}

/* The bytes in hexadecimal where they are no text; else NULL. */
static int write_hex(const char **hex, const struct token_bytes *token, struct arena *arena,
                     struct err *err)
{
    char *text = NULL;
    if (!token->bytes || is_text(token))
        return 0;
    text = arena_alloc(arena, 2 * token->size + 1, 1, err);
    for (size_t i = 0; text && i < token->size; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)token->bytes[i]);
    *hex = text;
    return text ? 0 : -1;
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
        if (tokenized->bytes &&
            write_hex(&frame_texts(frame, BYTES)[i], &tokenized->bytes[i], arena, err))
            return -1;
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
        char number[NUMBER_BYTES];
        int size = snprintf(number, sizeof number, "%zu", i);
        const char *text = arena_text(arena, number, (size_t)size, err);
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

static void text_visible(struct buf *out, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *blank = memchr(text + at, ' ', size - at);
        size_t end = blank ? (size_t)(blank - text) : size;
        label_visible(out, text + at, end - at);
        if (blank)
            buf_char(out, ' ');
        at = end + (blank != NULL);
    }
}

void tokenized_visible(struct buf *out, const struct tokenized *tokenized)
{
    if (tokenized->text) {
        text_visible(out, tokenized->text, tokenized->size);
        return;
    }
    buf_text(out, "ids ");
    for (size_t i = 0; i < tokenized->count; i++)
        buf_format(out, i ? ",%u" : "%u", tokenized->tokens[i].id);
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
