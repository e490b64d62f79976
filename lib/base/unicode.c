#include "base/unicode.h"

#include <stddef.h>

#include "base/unicode_runs.h"

enum { RUNS = sizeof unicode_runs / sizeof *unicode_runs, LAST_CHARACTER = 0x10FFFF };

struct unicode_run unicode_run(uint32_t character)
{
    uint32_t next = (character + 1) << 4; /* no run that begins up to here is as large */
    const uint32_t *run = unicode_runs;
    for (size_t count = RUNS; count > 1;) {
        size_t half = count / 2;
        run += run[half] < next ? half : 0;
        count -= half;
    }
    const uint32_t *behind = run + 1;
    return (struct unicode_run){
        .first = *run >> 4,
        .last = behind < unicode_runs + RUNS ? (*behind >> 4) - 1 : LAST_CHARACTER,
        .kind = (enum unicode_kind)(*run & 15),
    };
}

bool unicode_is_word(enum unicode_kind kind)
{
    return kind != UNICODE_CONTROL && kind != UNICODE_SPACE && kind != UNICODE_SIGN &&
           kind != UNICODE_OTHER_NUMBER;
}

bool unicode_is_unspaced(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {
        {0x0E00, 0x0EFF},   /* Thai, Lao */
        {0x1000, 0x109F},   /* Myanmar */
        {0x1780, 0x17FF},   /* Khmer */
        {0x1950, 0x19DF},   /* Tai Le, New Tai Lue */
        {0x1A20, 0x1AAF},   /* Tai Tham */
        {0x1B00, 0x1B7F},   /* Balinese */
        {0x3000, 0x312F},   /* marks of East Asia, Hiragana, Katakana, Bopomofo */
        {0x3190, 0x31FF},   /* Kanbun, Bopomofo, strokes, Katakana */
        {0x3400, 0x4DBF},   /* Han */
        {0x4E00, 0xA4CF},   /* Han, Yi */
        {0xA980, 0xA9FF},   /* Javanese, Myanmar */
        {0xAA60, 0xAADF},   /* Myanmar, Tai Viet */
        {0xF900, 0xFAFF},   /* Han */
        {0xFF66, 0xFF9F},   /* Katakana of half the width */
        {0x16FE0, 0x18DFF}, /* marks, Tangut, Khitan */
        {0x1AFF0, 0x1B2FF}, /* Kana, Nushu */
        {0x20000, 0x3FFFF}, /* Han */
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && blocks[i].first <= character; i++)
        if (character <= blocks[i].last)
            return true;
    return false;
}

const char *unicode_version(void)
{
    return UNICODE_VERSION;
}
