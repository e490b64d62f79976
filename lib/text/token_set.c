#include "text/token_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "format/json.h"
#include "text/label.h"

/* --- from JSON -------------------------------------------------------------------------------- */

int added_token_read_content(struct added_token *token, const struct json *item, struct err *err)
{
    const char *content = NULL;
    if (json_unique_keys(item, err) || json_text(item, "content", &content, err) ||
        json_bool(item, "special", &token->special, err) ||
        json_bool(item, "single_word", &token->single_word, err) ||
        json_bool(item, "lstrip", &token->left_strip, err) ||
        json_bool(item, "rstrip", &token->right_strip, err) ||
        json_bool(item, "normalized", &token->normalized, err))
        return -1;
    if (!content)
        return err_set(err, "expected a field 'content'");
    token->bytes = content;
    token->size = strlen(content);
    return 0;
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* The bytes that represent a token in a text. */
static struct word pattern_of(const struct added_token *token)
{
    return token->pattern ? (struct word){token->pattern, token->pattern_size}
                          : (struct word){token->bytes, token->size};
}

static unsigned char first_byte(const struct added_token *token)
{
    struct word pattern = pattern_of(token);
    return pattern.size ? (unsigned char)pattern.bytes[0] : 0;
}

static int compare_texts(const void *a, const void *b)
{
    struct word one = pattern_of(a);
    struct word two = pattern_of(b);
    if (first_byte(a) != first_byte(b))
        return first_byte(a) < first_byte(b) ? -1 : 1;
    if (one.size != two.size)
        return one.size > two.size ? -1 : 1;
    return memcmp(one.bytes, two.bytes, one.size);
}

int added_token_compare_ids(const void *a, const void *b)
{
    const struct added_token *one = a;
    const struct added_token *two = b;
    return (one->id > two->id) - (one->id < two->id);
}

int added_tokens_init(struct added_tokens *tokens, const struct added_token *items, size_t count,
                      struct arena *arena, struct err *err)
{
    *tokens = (struct added_tokens){.count = count};
    tokens->items = arena_alloc(arena, count, sizeof *tokens->items, err);
    tokens->by_id = arena_alloc(arena, count, sizeof *tokens->by_id, err);
    if (!tokens->items || !tokens->by_id)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct added_token *token = &tokens->items[i];
        *token = items[i];
        if (token->size == 0)
            return err_set(err, "id %u: expected an added token, found \"\"", token->id);
        token->bytes = arena_text(arena, token->bytes, token->size, err);
        if (token->pattern)
            token->pattern = arena_text(arena, token->pattern, token->pattern_size, err);
        if (!token->bytes || (items[i].pattern && !token->pattern))
            return -1;
    }
    memcpy(tokens->by_id, tokens->items, count * sizeof *tokens->by_id);
    qsort(tokens->items, count, sizeof *tokens->items, compare_texts);
    qsort(tokens->by_id, count, sizeof *tokens->by_id, added_token_compare_ids);
    for (size_t i = 0; i < count; i++) {
        tokens->first[first_byte(&tokens->items[i]) + 1] = i + 1;
        tokens->count_of[tokens->items[i].normalized]++;
        tokens->begins[tokens->items[i].normalized][first_byte(&tokens->items[i])] = true;
    }
    for (size_t byte = 1; byte <= 256; byte++)
        if (tokens->first[byte] < tokens->first[byte - 1])
            tokens->first[byte] = tokens->first[byte - 1];

    for (size_t i = 1; i < count; i++) { /* refuse equal texts and ids */
        const struct added_token *a = &tokens->items[i - 1];
        const struct added_token *b = &tokens->items[i];
        if (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0)
            return err_set(err, "added token '%s' occurs twice, with the ids %u and %u",
                           label_excerpt(a->bytes, a->size), a->id, b->id);
        a = &tokens->by_id[i - 1];
        b = &tokens->by_id[i];
        if (a->id == b->id)
            return err_set(err, "id %u belongs to two added tokens, '%s' and '%s'", a->id,
                           label_excerpt(a->bytes, a->size), label_excerpt(b->bytes, b->size));
    }
    return 0;
}

/* --- searching a text ------------------------------------------------------------------------- */

struct token_search {
    const struct added_walk *walk;
    const char *text;
    size_t size;
    size_t at; /* offset up to which the text has been searched */
};

struct match {
    const struct added_token *token;
    size_t start;
    size_t end;
};

/* The longest token with which a text begins, among the tokens whose `normalized` equals the
 * argument; NULL: there is none. Tokens that the model itself finds are included only if
 * `in_model`. */
static const struct added_token *longest(const struct added_tokens *tokens, const char *text,
                                         size_t size, bool normalized, bool in_model)
{
    unsigned char byte = (unsigned char)*text;
    for (size_t i = tokens->first[byte]; i < tokens->first[byte + 1]; i++) {
        const struct added_token *token = &tokens->items[i];
        struct word pattern = pattern_of(token);
        if (token->normalized == normalized && token->in_model <= in_model && pattern.size &&
            pattern.size <= size &&
            text[pattern.size - 1] == pattern.bytes[pattern.size - 1] && /* these bytes usually
                                                                          * differ */
            memcmp(text, pattern.bytes, pattern.size) == 0)
            return token;
    }
    return NULL;
}

const struct added_token *added_tokens_at(const struct added_tokens *tokens, const char *text,
                                          size_t size)
{
    return longest(tokens, text, size, true, true);
}

static enum unicode_kind kind_at(const struct token_search *search, size_t at, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_step(&c, search->text + at, search->size - at);
    return unicode_kind(c);
}

static enum unicode_kind kind_before(const struct token_search *search, size_t at, size_t *length)
{
    return kind_at(search, utf8_before(search->text, at), length);
}

static bool touches_word(const struct token_search *search, const struct match *match)
{
    size_t length = 0;
    return (match->start > 0 && unicode_is_word(kind_before(search, match->start, &length))) ||
           (match->end < search->size && unicode_is_word(kind_at(search, match->end, &length)));
}

/* Find the next match, extended by the white space that its token strips, but not to before
 * `search->at`. Set `search->at` to the end of the match. False: there are no more matches. */
static bool find(const struct added_tokens *tokens, struct token_search *search,
                 struct match *match)
{
    bool normalized = search->walk->normalized;
    const bool *begins = tokens->begins[normalized];
    size_t length = 0;
    for (size_t at = search->at; tokens->count_of[normalized] && at < search->size;) {
        const struct added_token *token =
            begins[(unsigned char)search->text[at]]
                ? longest(tokens, search->text + at, search->size - at, normalized, false)
                : NULL;
        if (!token) {
            at++;
            continue;
        }
        *match = (struct match){token, at, at + pattern_of(token).size};
        at = match->end; /* do not search for other tokens inside a token that is skipped */
        if ((search->walk->plain && token->special) ||
            (token->single_word && touches_word(search, match)))
            continue;
        while (token->left_strip && match->start > search->at &&
               kind_before(search, match->start, &length) == UNICODE_SPACE)
            match->start -= length;
        while (token->right_strip && match->end < search->size &&
               kind_at(search, match->end, &length) == UNICODE_SPACE)
            match->end += length;
        search->at = match->end;
        return true;
    }
    return false;
}

static int pass_on(const struct added_walk *walk, size_t start, size_t end, struct err *err)
{
    struct text_range between = {start, end};
    return start < end ? walk->between(walk->context, walk->text, between, err) : 0;
}

int added_tokens_walk(const struct added_tokens *tokens, const struct added_walk *walk,
                      struct err *err)
{
    struct token_search search = {
        .walk = walk, .text = walk->text->bytes, .size = walk->text->size};
    struct match match;
    size_t hint = 0;
    for (size_t done = 0;; done = search.at) {
        if (!find(tokens, &search, &match))
            return pass_on(walk, done, search.size, err);
        struct text_range found = {match.start, match.end};
        struct text_range range = aligned_text_origin(walk->text, found, &hint);
        struct token token = {match.token->id, false, range.start, range.end};
        if (pass_on(walk, done, match.start, err) || token_list_add(walk->list, token, err))
            return -1;
    }
}

const struct added_token *added_tokens_of_id(const struct added_tokens *tokens, uint32_t id)
{
    const struct added_token wanted = {.id = id};
    if (!tokens->count)
        return NULL;
    return bsearch(&wanted, tokens->by_id, tokens->count, sizeof wanted, added_token_compare_ids);
}

/* --- the set ---------------------------------------------------------------------------------- */

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

int token_set_add(struct token_set *set, const struct added_token *items, size_t count,
                  struct err *err)
{
    if (added_tokens_init(&set->added, items, count, &set->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *bytes = items[i].bytes;
        size_t size = items[i].size, other_size = 0;
        uint32_t id = 0;
        bool found = false;
        if (token_set_find_word(set, bytes, size, &id, &found, err))
            return -1;
        if (found && id != items[i].id)
            return err_set(err, "added token '%s': expected its id in the vocabulary, %u, found %u",
                           label_excerpt(bytes, size), id, items[i].id);
        if (!found && word_table_word(&set->words, items[i].id, &other_size))
            return err_set(err, "added token '%s': its id %u belongs to another word",
                           label_excerpt(bytes, size), items[i].id);
    }
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
