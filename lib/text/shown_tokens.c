#include "text/shown_tokens.h"

#include <string.h>

#include "text/decoder/decoder.h"

/* Write a word with blanks for signs; returns its size, or 0 where it has none. */
static size_t write_word(char *out, const char *bytes, size_t size, const struct matcher *sign)
{
    struct matcher_walk walk = matcher_walk(sign, bytes, size, NULL);
    struct text_range match;
    size_t written = 0;
    size_t at = 0;
    while (matcher_next(&walk, &match, NULL) > 0) {
        memcpy(out + written, bytes + at, match.start - at);
        written += match.start - at;
        out[written++] = ' ';
        at = match.end;
    }
    if (!at)
        return 0;
    memcpy(out + written, bytes + at, size - at);
    return written + (size - at);
}

int shown_tokens_init(struct shown_tokens *shown, const struct word_table *words,
                      const struct decoder_step *decoders, struct arena *arena, struct err *err)
{
    bool joins_bytes = decoders_join_bytes(decoders);
    const struct matcher *sign = decoders_sign(decoders);
    size_t used = 0;
    *shown = (struct shown_tokens){0};
    if (!sign && !joins_bytes)
        return 0;
    shown->bytes = arena_room(arena, words->used_bytes, 1, err);
    struct word_place *places = arena_alloc(arena, words->size, sizeof *places, err);
    if (!shown->bytes || !places)
        return -1;
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *bytes = word_table_word(words, id, &size);
        if (!bytes)
            continue;
        int byte = joins_bytes ? decoder_byte_of(bytes, size) : -1;
        size_t written = byte < 0 && sign ? write_word(shown->bytes + used, bytes, size, sign) : 0;
        if (byte >= 0)
            shown->bytes[used + written++] = (char)byte;
        if (!written)
            continue; /* it is shown as it is */
        places[id] = (struct word_place){
            .start = (uint32_t)used, .size = (uint32_t)written & 0x3FFFFFFF, .form = WORD_TEXT};
        used += written;
    }
    shown->places = places;
    shown->count = words->size;
    return 0;
}

const char *shown_tokens_at(const struct shown_tokens *shown, uint32_t id, size_t *size)
{
    if (id >= shown->count || shown->places[id].form == WORD_ABSENT)
        return NULL;
    *size = shown->places[id].size;
    return shown->bytes + shown->places[id].start;
}
