/* normalizer_bert.c: BertNormalizer, as several steps. */
#include "format/json.h"
#include "text/normalizer/normalizer.h"

enum { REPLACEMENT = 0xFFFD };

/* Controls go, and every kind of white space becomes a blank. */
static int clean(char bytes[NORMALIZER_BYTES], uint32_t c)
{
    enum unicode_kind kind = unicode_kind(c);
    bool line = c == '\t' || c == '\n' || c == '\r';
    if (c == REPLACEMENT || (utf8_is_other(c) && !line))
        return 0;
    if (c == ' ' || kind != UNICODE_SPACE)
        return NORMALIZER_SAME;
    *bytes = ' ';
    return 1;
}

/* The blocks that BERT's own code calls Chinese characters. */
static bool is_chinese(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && blocks[i].first <= c; i++)
        if (c <= blocks[i].last)
            return true;
    return false;
}

/* A blank on either side, which stands where it does. */
static int space_chinese(char bytes[NORMALIZER_BYTES], uint32_t c)
{
    if (!is_chinese(c))
        return NORMALIZER_SAME;
    bytes[0] = ' ';
    size_t size = 1 + utf8_encode(bytes + 1, c);
    bytes[size] = ' ';
    return (int)size + 1;
}

static int strip_nonspacing(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    (void)bytes;
    return utf8_is_nonspacing(character) ? 0 : NORMALIZER_SAME;
}

int bert_steps_read(const struct normalizer_row *steps[BERT_STEPS_MAX], size_t *count,
                    const struct json *value, struct err *err)
{
    static const struct normalizer_row rows[BERT_STEPS_MAX] = {
        {"clean_text", NULL, NULL, clean},
        {"handle_chinese_chars", NULL, NULL, space_chinese},
        {"NFD", NULL, normalize_form, NULL},
        {"strip_accents", NULL, NULL, strip_nonspacing},
        {"lowercase", NULL, NULL, normalize_lowercase},
    };
    bool wanted[BERT_STEPS_MAX] = {true, true, true, true, true};
    bool *strips = &wanted[3];
    bool *lowers = &wanted[4];
    if (json_bool(value, rows[0].name, &wanted[0], err) ||
        json_bool(value, rows[1].name, &wanted[1], err) ||
        json_bool(value, rows[4].name, lowers, err))
        return -1;
    *strips = *lowers; /* null */
    if (json_bool(value, rows[3].name, strips, err))
        return -1;
    wanted[2] = *strips;
    *count = 0;
    for (size_t i = 0; i < BERT_STEPS_MAX; i++)
        if (wanted[i])
            steps[(*count)++] = &rows[i];
    return 0;
}
