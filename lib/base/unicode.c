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

const char *unicode_version(void)
{
    return UNICODE_VERSION;
}
