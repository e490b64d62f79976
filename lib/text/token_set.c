#include "text/token_set.h"

#include <string.h>

#include "base/memory.h"
#include "text/label.h"

int token_set_find_word(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                        bool *found, struct err *err)
{
    char *scratch = heap_alloc(size, 1, err);
    if (!scratch)
        return -1;
    *found = word_table_find_written(&set->words, text, size, scratch, id);
    heap_free(scratch);
    return 0;
}

static int check(const struct token_set *set, const struct added_token *token, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    size_t size = 0;
    uint32_t id = 0;
    bool found = false;
    if (token_set_find_word(set, token->bytes, token->size, &id, &found, err))
        return -1;
    if (found ? id == token->id : !word_table_word(&set->words, token->id, &size))
        return 0;
    label_excerpt(shown, token->bytes, token->size);
    if (found)
        return err_set(err, "added token '%s': expected its id in the vocabulary, %u, found %u",
                       shown, id, token->id);
    return err_set(err, "added token '%s': its id %u belongs to another word", shown, token->id);
}

int token_set_add(struct token_set *set, const struct added_token *items, size_t count,
                  struct err *err)
{
    if (added_tokens_init(&set->added, items, count, &set->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check(set, &items[i], err))
            return -1;
    return 0;
}

void token_set_release(struct token_set *set)
{
    word_table_release(&set->words);
    arena_release(&set->arena);
    *set = (struct token_set){0};
}

const char *token_set_word(const struct token_set *set, uint32_t id, size_t *size)
{
    const struct added_token *added = added_tokens_of_id(&set->added, id);
    if (!added)
        return word_table_word(&set->words, id, size);
    *size = added->size;
    return added->bytes;
}

int token_set_find(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                   bool *found, struct err *err)
{
    const struct added_tokens *added = &set->added;
    for (size_t i = 0; i < added->count; i++) {
        if (added->items[i].size != size || memcmp(added->items[i].bytes, text, size) != 0)
            continue;
        *id = added->items[i].id;
        *found = true;
        return 0;
    }
    return token_set_find_word(set, text, size, id, found, err);
}

size_t token_set_size(const struct token_set *set)
{
    const struct added_tokens *added = &set->added;
    size_t size = added->count ? (size_t)added->by_id[added->count - 1].id + 1 : 0;
    return size > set->words.size ? size : set->words.size;
}
