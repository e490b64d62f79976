#include "measure/unigrams.h"

#include "base/num.h"
#include "base/utf8.h"
#include "math/portable_math.h"
#include "text/word_table.h"

enum { SMALL_BYTES = 256 }; /* longer words are not looked up in small letters */

static const struct unigram *find(const struct unigrams *unigrams, struct hash_probe *probe,
                                  const char *word, size_t size)
{
    *probe = hash_probe(&unigrams->found, hash_bytes(word, size));
    for (uint32_t index; hash_next(probe, &index);)
        if (unigrams->items[index].size == size &&
            memcmp(unigrams->items[index].word, word, size) == 0)
            return &unigrams->items[index];
    return NULL;
}

int unigrams_read(struct unigrams *unigrams, const char *bytes, size_t size, struct arena *arena,
                  struct err *err)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    *unigrams = (struct unigrams){0};
    if (lines > HASH_NUMBER_MAX)
        return err_set(err, "expected at most %d words, found %zu", HASH_NUMBER_MAX, lines);
    unigrams->items = arena_alloc(arena, lines, sizeof *unigrams->items, err);
    if (!unigrams->items || hash_index_init(&unigrams->found, lines, arena, err))
        return -1;
    const char *next = bytes, *end = bytes + size;
    for (size_t number = 1; next < end; number++) {
        struct word line = word_take_line(&next, end);
        const char *tab = memchr(line.bytes, '\t', line.size);
        size_t length = tab ? (size_t)(tab - line.bytes) : line.size, digits = 0;
        long long count = 0;
        while (length + 1 + digits < line.size && tab[1 + digits] != '\t')
            digits++;
        if (!tab || !num_parse_part(tab + 1, digits, 0, 1LL << 52, &count)) {
            if (!line.size || number == 1)
                continue;
            return err_set(err, "line %zu: expected a word, a tab and a count, found '%.*s'",
                           number, (int)num_min(line.size, 40), line.bytes);
        }
        struct hash_probe probe;
        if (find(unigrams, &probe, line.bytes, length))
            return err_set(err, "line %zu: expected each word once, found '%.*s' again", number,
                           (int)num_min(length, 40), line.bytes);
        hash_put(&probe, (uint32_t)unigrams->count);
        unigrams->items[unigrams->count++] = (struct unigram){line.bytes, length, (double)count};
        unigrams->total += (double)count;
    }
    return unigrams->total > 0 ? 0 : err_set(err, "expected words with their counts, found none");
}

/* Leave out characters around a word that are not of words. */
static void trim(const char **word, size_t *size)
{
    uint32_t c = 0;
    for (size_t length; *size; *word += length, *size -= length) {
        length = utf8_decode(&c, *word, *size);
        if (!length || unicode_is_word(unicode_kind(c)))
            break;
    }
    while (*size) {
        size_t start = utf8_before(*word, *size);
        if (!utf8_decode(&c, *word + start, *size - start) || unicode_is_word(unicode_kind(c)))
            break;
        *size = start;
    }
}

double unigrams_logprob(const struct unigrams *unigrams, const char *word, size_t size,
                        size_t *unknown)
{
    char small[SMALL_BYTES + 4];
    size_t length = 0;
    struct hash_probe probe;
    const struct unigram *found = find(unigrams, &probe, word, size);
    if (!found) {
        trim(&word, &size);
        found = find(unigrams, &probe, word, size);
    }
    for (size_t at = 0, step; !found && at < size && length < SMALL_BYTES; at += step) {
        uint32_t c = 0;
        step = utf8_decode(&c, word + at, size - at);
        if (!step)
            break;
        length += utf8_encode(small + length, utf8_small(c));
    }
    found = found ? found : find(unigrams, &probe, small, length);
    *unknown += !found || found->count < 1;
    return log_double(found && found->count > 1 ? found->count : 1) - log_double(unigrams->total);
}
