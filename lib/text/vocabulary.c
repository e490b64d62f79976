#include "text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/json.h"
#include "text/label.h"

enum { DESCRIPTION_BYTES = 80 };

/* One member of the object or one item of the array. */
struct item {
    struct vocabulary_word word;
    size_t id;
};

/* What stands in the file, before anything is allocated for it. */
struct extent {
    size_t file_bytes;
    size_t count;
    size_t text_bytes; /* all words together */
    size_t largest_id;
};

static int read_member(struct item *item, const struct json *member, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char found[DESCRIPTION_BYTES];
    long long id = 0;
    item->word.bytes = json_key(member);
    item->word.size = strlen(item->word.bytes);
    if (!json_get_integer(member, 0, VOCABULARY_ID_MAX, &id))
        return err_set(err, "word '%s': expected an id from 0 to %d, found %s",
                       label_excerpt(shown, item->word.bytes, item->word.size), VOCABULARY_ID_MAX,
                       json_describe(member, found, sizeof found));
    item->id = (size_t)id;
    return 0;
}

static int read_array_item(struct item *item, const struct json *value, size_t index,
                           struct err *err)
{
    char found[DESCRIPTION_BYTES];
    if (index > VOCABULARY_ID_MAX)
        return err_set(err, "expected ids up to %d, found more words", VOCABULARY_ID_MAX);
    if (!json_get_text(value, &item->word.bytes))
        return err_set(err, "id %zu: expected a word, found %s", index,
                       json_describe(value, found, sizeof found));
    item->word.size = strlen(item->word.bytes);
    item->id = index;
    return 0;
}

static int read_item(struct item *item, const struct json *root, const struct json *value,
                     size_t index, struct err *err)
{
    if (json_is_array(root) ? read_array_item(item, value, index, err)
                            : read_member(item, value, err))
        return -1;
    if (item->word.size == 0)
        return err_set(err, "id %zu: expected a word, found \"\"", item->id);
    return 0;
}

static int check_id(const struct item *item, size_t file_bytes, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    size_t limit = VOCABULARY_IDS_FREE + file_bytes * VOCABULARY_IDS_PER_BYTE;
    if (item->id <= limit)
        return 0;
    return err_set(err, "word '%s': expected an id up to %zu in a file of %zu bytes, found %zu",
                   label_excerpt(shown, item->word.bytes, item->word.size), limit, file_bytes,
                   item->id);
}

static int measure(struct extent *extent, const struct json *root, struct err *err)
{
    char found[DESCRIPTION_BYTES];
    struct item item = {0};
    if (!json_is_object(root) && !json_is_array(root))
        return err_set(err, "expected an object or an array of words, found %s",
                       json_describe(root, found, sizeof found));
    for (const struct json *at = json_first(root); at; at = json_next(at)) {
        if (read_item(&item, root, at, extent->count, err) ||
            check_id(&item, extent->file_bytes, err))
            return -1;
        extent->count++;
        extent->text_bytes += item.word.size;
        if (item.id > extent->largest_id)
            extent->largest_id = item.id;
    }
    return extent->count ? 0 : err_set(err, "expected words, found none");
}

static int allocate(struct vocabulary *vocabulary, const struct extent *extent, struct err *err)
{
    struct arena *arena = &vocabulary->arena;
    vocabulary->size = extent->largest_id + 1;
    vocabulary->words = arena_alloc(arena, vocabulary->size, sizeof *vocabulary->words, err);
    vocabulary->entries = arena_alloc(arena, extent->count, sizeof *vocabulary->entries, err);
    if (!vocabulary->words || !vocabulary->entries)
        return -1;
    return map_reserve(&vocabulary->ids, extent->count, err);
}

/* Enter a word, whose bytes are ours already. */
static int add(struct vocabulary *vocabulary, const struct item *item, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    char other[LABEL_EXCERPT_BYTES];
    const struct vocabulary_word *word = &item->word;
    struct vocabulary_word *place = &vocabulary->words[item->id];
    uint32_t id = 0;
    if (map_get(&vocabulary->ids, word->bytes, word->size, &id))
        return err_set(err, "word '%s' stands twice, with the ids %u and %zu",
                       label_excerpt(shown, word->bytes, word->size), (unsigned)id, item->id);
    if (place->bytes)
        return err_set(err, "id %zu belongs to two words, '%s' and '%s'", item->id,
                       label_excerpt(other, place->bytes, place->size),
                       label_excerpt(shown, word->bytes, word->size));
    *place = *word;
    if (word->size > vocabulary->longest_bytes)
        vocabulary->longest_bytes = word->size;
    id = (uint32_t)item->id;
    vocabulary->entries[vocabulary->count++] = (struct vocabulary_entry){.word = *word, .id = id};
    return map_put(&vocabulary->ids, word->bytes, word->size, id, err);
}

static int fill(struct vocabulary *vocabulary, const struct json *root, size_t text_bytes,
                struct err *err)
{
    struct item item = {0};
    char *text = arena_alloc(&vocabulary->arena, text_bytes, 1, err);
    if (!text)
        return -1;
    for (const struct json *at = json_first(root); at; at = json_next(at)) {
        if (read_item(&item, root, at, vocabulary->count, err))
            return -1;
        memcpy(text, item.word.bytes, item.word.size);
        item.word.bytes = text;
        text += item.word.size;
        if (add(vocabulary, &item, err))
            return -1;
    }
    return 0;
}

/* The order of bytes; a word stands before those that begin with it. */
static int compare(const struct vocabulary_word *a, const struct vocabulary_word *b)
{
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_entries(const void *a, const void *b)
{
    const struct vocabulary_entry *one = a;
    const struct vocabulary_entry *two = b;
    return compare(&one->word, &two->word);
}

static bool begins_with(const struct vocabulary_word *word, const struct vocabulary_word *start)
{
    return word->size >= start->size && memcmp(word->bytes, start->bytes, start->size) == 0;
}

/* In sorted order the words that begin an entry are among those that begin its neighbour before it,
 * the neighbour included. */
static void sort_entries(struct vocabulary *vocabulary)
{
    struct vocabulary_entry *entries = vocabulary->entries;
    qsort(entries, vocabulary->count, sizeof *entries, compare_entries);
    for (uint32_t i = 1; i < vocabulary->count; i++) {
        uint32_t shorter = i;
        while (shorter && !begins_with(&entries[i].word, &entries[shorter - 1].word))
            shorter = entries[shorter - 1].shorter;
        entries[i].shorter = shorter;
    }
}

static int read_words(struct vocabulary *vocabulary, const struct file *file, struct err *err)
{
    struct json *root = NULL;
    struct extent extent = {.file_bytes = file->size};
    int failed = json_parse(&root, file->bytes, file->size, err) || measure(&extent, root, err) ||
                 allocate(vocabulary, &extent, err) ||
                 fill(vocabulary, root, extent.text_bytes, err);
    if (!failed)
        sort_entries(vocabulary);
    json_free(root);
    return failed ? -1 : 0;
}

int vocabulary_open(struct vocabulary *vocabulary, const struct folder *folder, const char *name,
                    struct err *err)
{
    struct file file = {0};
    *vocabulary = (struct vocabulary){0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = read_words(vocabulary, &file, err);
    if (failed) {
        err_prefix(err, "'%s/%s'", folder->path, name);
        vocabulary_release(vocabulary);
    }
    file_release(&file);
    return failed;
}

void vocabulary_release(struct vocabulary *vocabulary)
{
    map_release(&vocabulary->ids);
    arena_release(&vocabulary->arena);
    *vocabulary = (struct vocabulary){0};
}

const struct vocabulary_entry *vocabulary_shorter(const struct vocabulary *vocabulary,
                                                  const struct vocabulary_entry *entry)
{
    return entry->shorter ? &vocabulary->entries[entry->shorter - 1] : NULL;
}

static size_t common_bytes(const struct vocabulary_word *a, const struct vocabulary_word *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    size_t common = 0;
    while (common < size && a->bytes[common] == b->bytes[common])
        common++;
    return common;
}

/* The words that begin a text begin its left neighbour in the order too: whatever stands between a
 * word and a text that begins with it begins with that word. */
const struct vocabulary_entry *vocabulary_longest(const struct vocabulary *vocabulary,
                                                  const char *text, size_t size)
{
    const struct vocabulary_word wanted = {.bytes = text, .size = size};
    size_t low = 0; /* entries before it are not greater than the text */
    size_t high = vocabulary->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&vocabulary->entries[middle].word, &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct vocabulary_entry *entry = low ? &vocabulary->entries[low - 1] : NULL;
    size_t common = entry ? common_bytes(&entry->word, &wanted) : 0;
    while (entry && entry->word.size > common)
        entry = common ? vocabulary_shorter(vocabulary, entry) : NULL;
    return entry;
}
