#include "text/tokenizer.h"

#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/utf8.h"
#include "text/label.h"
#include "text/vocabulary.h"
#include "text/words.h"

/* One way of cutting texts, and how `info` calls it. */
struct kind {
    const char *name;
    int (*encode)(const struct vocabulary *vocabulary, struct tokens *tokens, const char *text,
                  size_t size, struct arena *arena, struct err *err);
};

static const struct kind words_kind = {"words", words_encode};

struct tokenizer {
    const struct kind *kind;
    struct vocabulary vocabulary;
};

/* Files that ask for another kind; the vocabulary beside them must not be read as words. */
static int refuse_other_kinds(const struct folder *folder, struct err *err)
{
    static const char *const names[] = {"tokenizer.json", "merges.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (folder_has(folder, names[i]))
            return err_unsupported(err,
                                   "'%s/%s': byte-level BPE is not supported, only a word "
                                   "vocabulary (vocab.json alone)",
                                   folder->path, names[i]);
    return 0;
}

int tokenizer_open(struct tokenizer **tokenizer, const struct folder *folder, struct err *err)
{
    *tokenizer = NULL;
    if (refuse_other_kinds(folder, err))
        return -1;
    if (!folder_has(folder, "vocab.json"))
        return 0;
    struct tokenizer *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->kind = &words_kind;
    if (vocabulary_open(&opened->vocabulary, folder, "vocab.json", err)) {
        heap_free(opened);
        return -1;
    }
    *tokenizer = opened;
    return 0;
}

void tokenizer_free(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    vocabulary_release(&tokenizer->vocabulary);
    heap_free(tokenizer);
}

int tokenizer_encode(const struct tokenizer *tokenizer, struct tokens *tokens, const char *text,
                     size_t size, struct arena *arena, struct err *err)
{
    size_t valid = utf8_invalid_at(text, size);
    if (valid < size)
        return err_set(err, "expected a text in UTF-8, found the byte 0x%02x at byte %zu",
                       (unsigned char)text[valid], valid);
    return tokenizer->kind->encode(&tokenizer->vocabulary, tokens, text, size, arena, err);
}

const char *tokenizer_token(const struct tokenizer *tokenizer, uint32_t id, size_t *size)
{
    if (id >= tokenizer->vocabulary.size || !tokenizer->vocabulary.words[id].bytes)
        return NULL;
    *size = tokenizer->vocabulary.words[id].size;
    return tokenizer->vocabulary.words[id].bytes;
}

size_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return tokenizer->vocabulary.size;
}

const char *tokenizer_kind(const struct tokenizer *tokenizer)
{
    return tokenizer->kind->name;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cut the blanks off both ends. */
static char *trim(char *text)
{
    while (is_blank(*text))
        text++;
    size_t size = strlen(text);
    while (size > 0 && is_blank(text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

static size_t count_commas(const char *list)
{
    size_t count = 0;
    while ((list = strchr(list, ','))) {
        list++;
        count++;
    }
    return count;
}

/* Read item `index` of the list, which ends with a 0. */
static int read_id(struct token *token, char *item, size_t index, size_t id_limit, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    long long max = id_limit > UINT32_MAX ? UINT32_MAX : (long long)id_limit - 1;
    long long id = 0;
    item = trim(item);
    if (!num_parse_integer(item, 0, max, &id))
        return err_usage(err,
                         "id %zu of the list: expected a whole number from 0 to %lld, found '%s'",
                         index + 1, max, label_excerpt(shown, item, strlen(item)));
    token->id = (uint32_t)id;
    return 0;
}

int tokens_from_ids(struct tokens *tokens, const char *list, size_t id_limit, struct arena *arena,
                    struct err *err)
{
    struct tokens read = {.count = count_commas(list) + 1};
    char *item = arena_text(arena, list, strlen(list), err);
    read.items = item ? arena_alloc(arena, read.count, sizeof *read.items, err) : NULL;
    if (!read.items)
        return -1;
    for (size_t i = 0; i < read.count; i++) {
        char *end = item + strcspn(item, ",");
        char *next = end + 1; /* behind the last item it is not used */
        *end = '\0';
        if (read_id(&read.items[i], item, i, id_limit, err))
            return -1;
        item = next;
    }
    *tokens = read;
    return 0;
}
