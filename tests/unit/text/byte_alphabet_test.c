#include "text/word_table.h"

#include <string.h>

#include "../unit.h"

TEST(bytes_have_the_characters_of_gpt2)
{
    static const struct {
        unsigned char byte;
        uint32_t sign;
    } cases[] = {
        {0x00, 0x100}, {'\t', 0x109}, {'\n', 0x10A}, {'\r', 0x10D}, {' ', 0x120},  {'!', '!'},
        {'A', 'A'},    {'~', '~'},    {0x7F, 0x121}, {0x80, 0x122}, {0xA0, 0x142}, {0xA1, 0xA1},
        {0xAC, 0xAC},  {0xAD, 0x143}, {0xAE, 0xAE},  {0xE9, 0xE9},  {0xFF, 0xFF},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(byte_alphabet_sign(cases[i].byte), cases[i].sign);
}

/* Encode U+0020 to U+07FF. */
static size_t write_short(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
}

TEST(every_byte_survives_a_round_trip)
{
    char text[512];
    char bytes[512];
    size_t size = 0;
    size_t decoded = 0;
    for (int byte = 0; byte < 256; byte++)
        size += write_short(text + size, byte_alphabet_sign((unsigned char)byte));
    ck_assert_uint_eq(byte_alphabet_decode(bytes, &decoded, text, size), size);
    ck_assert_uint_eq(decoded, 256);
    for (int byte = 0; byte < 256; byte++)
        ck_assert_uint_eq((unsigned char)bytes[byte], byte);
    ck_assert_uint_eq(byte_alphabet_decode(text, &decoded, text, size), size); /* in place */
    ck_assert_mem_eq(text, bytes, 256);
}

TEST(decoding_ends_at_other_characters)
{
    static const struct {
        const char *text;
        size_t read;
        const char *bytes;
    } cases[] = {
        {"", 0, ""},
        {"Ġthe", 5, " the"},
        {"a b", 1, "a"},
        {"\t", 0, ""},
        {"a\x7F", 1, "a"},
        {"ab\xC2\xA0", 2, "ab"},   /* U+00A0 is encoded as U+0142 */
        {"ab\xC2\xAD", 2, "ab"},   /* U+00AD as U+0143 */
        {"\xC5\x83z", 3, "\xADz"}, /* U+0143, the last */
        {"\xC5\x84z", 0, ""},      /* U+0144 */
        {"x爱", 1, "x"},
        {"x🍰", 1, "x"},
        {"x\xC4", 1, "x"},     /* invalid UTF-8 */
        {"x\xC4(", 1, "x"},    /* the same */
        {"x\xC0\xA1", 1, "x"}, /* the same */
        {"x\xA1", 1, "x"},     /* the same */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[16];
        size_t size = 77;
        size_t length = strlen(cases[i].text);
        ck_assert_msg(byte_alphabet_decode(bytes, &size, cases[i].text, length) == cases[i].read,
                      "'%s'", cases[i].text);
        ck_assert_uint_eq(size, strlen(cases[i].bytes));
        ck_assert_mem_eq(bytes, cases[i].bytes, size);
    }
}

TEST(fast_decoding_of_json_stops_at_escapes_and_other_characters)
{
    static const struct {
        const char *text;
        enum word_form form;
        size_t read;
        const char *bytes;
    } cases[] = {
        {"Ġthe\"", WORD_BYTES, 5, " the"},
        {"Ġt he\"", WORD_BYTES, 3, " t"},
        {"ab\\u0041\"", WORD_BYTES, 2, "ab"},
        {"a爱\"", WORD_BYTES, 1, "a"},
        {"a\x7F\"", WORD_BYTES, 1, "a"},
        {"\"", WORD_BYTES, 0, ""},
        {"▁the爱\"", WORD_TEXT, 9, "▁the爱"},
        {"Ġ a\"", WORD_TEXT, 2, "Ġ"},
        {"a\x7F\\n\"", WORD_TEXT, 2, "a\x7F"},
        {"\"", WORD_TEXT, 0, ""},
        {"Ġinternationalization of\"", WORD_BYTES, 22, " internationalization"},
        {"internationalizéĠation of\"", WORD_BYTES, 24, "internationaliz\xE9 ation"},
        {"a-word-of-18-bytes\x7F\"", WORD_BYTES, 18, "a-word-of-18-bytes"},
        {"▁internationalizatiön\\n and more\"", WORD_TEXT, 24, "▁internationalizatiön"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t written = strlen(cases[i].bytes);
        for (size_t room = 0; room <= 48; room++) {
            char bytes[48];
            char *end = bytes;
            const char *text = cases[i].text;
            const char *stop =
                word_signs_read(&end, bytes + room, text, text + strlen(text), cases[i].form);
            ck_assert_uint_eq((size_t)(end - bytes), room < written ? room : written);
            ck_assert_mem_eq(bytes, cases[i].bytes, (size_t)(end - bytes));
            if (room > written)
                ck_assert_uint_eq((size_t)(stop - cases[i].text), cases[i].read);
        }
    }
}
