#include "lens/reading.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "text/label.h"

enum { NUMBER_BYTES = 24 };

/* The three forms of a thing: its bytes, what is seen of them, and that with its place before it.
 */
static int make_label(struct label *label, size_t place, const char *bytes, size_t size,
                      struct arena *arena, struct err *err)
{
    struct buf visible = {0};
    struct buf exact = {0};
    int failed = -1;
    label_visible(&visible, bytes, size);
    buf_format(&exact, "%zu:", place);
    if (buf_check(&visible, err))
        goto done;
    buf_bytes(&exact, visible.bytes, visible.size);
    if (buf_check(&exact, err))
        goto done;
    label->plain = arena_text(arena, bytes, size, err);
    label->text = arena_text(arena, visible.bytes, visible.size, err);
    label->exact = arena_text(arena, exact.bytes, exact.size, err);
    failed = label->plain && label->text && label->exact ? 0 : -1;
done:
    buf_release(&visible);
    buf_release(&exact);
    return failed;
}

/* A token by its own bytes; by its number where nobody knows the bytes. */
static int label_token(struct label *label, size_t place, uint32_t id,
                       const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    char number[NUMBER_BYTES];
    size_t size = 0;
    const char *bytes = tokenizer ? tokenizer_token(tokenizer, id, &size) : NULL;
    if (!bytes) {
        size = (size_t)snprintf(number, sizeof number, "%u", id);
        bytes = number;
    }
    return make_label(label, place, bytes, size, arena, err);
}

static int read_tokens(struct tokens *tokens, const struct input *input,
                       const struct lexicon *lexicon, struct arena *arena, struct err *err)
{
    if (!input->text)
        return tokens_from_ids(tokens, input->ids, lexicon->id_limit, arena, err);
    if (!lexicon->tokenizer)
        return err_set(err, "the model has no tokenizer (vocab.json): give the tokens by --ids");
    if (tokenizer_encode(lexicon->tokenizer, tokens, input->text, input->size, arena, err))
        return -1;
    if (tokens->count)
        return 0;
    return tokens->dropped_count
               ? err_set(err, "the text is empty: all %zu marks in it are not in the vocabulary",
                         tokens->dropped_count)
               : err_set(err, "the text is empty: expected at least one token");
}

int reading_make(struct reading *reading, const struct input *input, const struct lexicon *lexicon,
                 struct arena *arena, struct err *err)
{
    struct tokens tokens = {0};
    if (read_tokens(&tokens, input, lexicon, arena, err))
        return -1;
    struct label *labels = arena_alloc(arena, tokens.count, sizeof *labels, err);
    if (!labels)
        return -1;
    for (size_t i = 0; i < tokens.count; i++)
        if (label_token(&labels[i], i, tokens.items[i].id, lexicon->tokenizer, arena, err))
            return -1;
    *reading = (struct reading){
        .text = input->text,
        .size = input->text ? input->size : 0,
        .tokens = tokens.items,
        .labels = labels,
        .count = tokens.count,
        .dropped_count = tokens.dropped_count,
    };
    if (tokens.dropped_first)
        reading->dropped_first = *tokens.dropped_first;
    return 0;
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

const struct label *labels_of_words(const struct tokenizer *tokenizer, size_t count,
                                    struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t id = 0; labels && id < count; id++)
        if (label_token(&labels[id], id, (uint32_t)id, tokenizer, arena, err))
            return NULL;
    return labels;
}
