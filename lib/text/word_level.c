#include "text/tokenizer_json.h"

#include "base/utf8.h"
#include "text/words.h"

/* One text on its way through. */
struct coder {
    const struct word_level *level;
    struct token_list *list;
    const char *text;
};

/* What characters do to a word; neighbours of one kind stand together. */
enum part { PART_BLANK, PART_WORD, PART_SIGNS };

static enum part part_at(const struct coder *coder, size_t at, size_t end, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_decode(&c, coder->text + at, end - at);
    enum unicode_kind kind = unicode_run(c).kind;
    if (coder->level->cut == WORD_LEVEL_WHOLE)
        return PART_WORD;
    if (kind == UNICODE_SPACE)
        return PART_BLANK;
    return coder->level->cut == WORD_LEVEL_BLANKS || unicode_is_word(kind) ? PART_WORD : PART_SIGNS;
}

static int refuse_word(const struct coder *coder, size_t start, size_t end, struct err *err)
{
    const struct word_table *words = &coder->level->set.words;
    struct nearest nearest;
    nearest_begin(&nearest, coder->text + start, end - start);
    for (size_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *word = word_table_word(words, (uint32_t)id, &size);
        if (word)
            nearest_offer_bytes(&nearest, word, size);
    }
    return words_refuse(&nearest, coder->text, start, end, err);
}

static int add_word(const struct coder *coder, size_t start, size_t end, struct err *err)
{
    const struct word_level *level = coder->level;
    const char *word = coder->text + start;
    struct token token = {level->unknown, start, end};
    if (!word_table_find(&level->set.words, word, end - start, WORD_TEXT, &token.id) &&
        !level->has_unknown)
        return refuse_word(coder, start, end, err);
    return token_list_add(coder->list, token, err);
}

static int encode_stretch(void *context, size_t start, size_t end, struct err *err)
{
    const struct coder *coder = context;
    size_t length = 0;
    for (size_t at = start; at < end;) {
        enum part part = part_at(coder, at, end, &length);
        size_t stop = at + length;
        while (stop < end && part_at(coder, stop, end, &length) == part)
            stop += length;
        if (part != PART_BLANK && add_word(coder, at, stop, err))
            return -1;
        at = stop;
    }
    return 0;
}

int word_level_encode(const struct word_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err)
{
    struct coder coder = {level, list, text->bytes};
    struct added_walk walk = {
        .text = text,
        .list = list,
        .between = encode_stretch,
        .context = &coder,
    };
    return added_tokens_walk(&level->set.added, &walk, err);
}

void word_level_release(struct word_level *level)
{
    token_set_release(&level->set);
    *level = (struct word_level){0};
}
