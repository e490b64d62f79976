#include "../unit.h"

#include <string.h>

#include "base/num.h"

static const struct {
    const char *text, *bytes;
} good[] = {
    {"", ""},    {"QQ==", "A"},      {"QUI=", "AB"},       {"QUJD", "ABC"},
    {"QQ", "A"}, {"QUJDRA", "ABCD"}, {"/+8=", "\xff\xef"}, {"z9o0", "\xcf\xda\x34"},
};

TEST_LOOP(texts_in_base64_are_read, COUNT(good))
{
    char bytes[8];
    size_t size = 0;
    ck_assert(base64_decode(bytes, &size, good[_i].text, strlen(good[_i].text)));
    ck_assert_uint_eq(size, strlen(good[_i].bytes));
    ck_assert_mem_eq(bytes, good[_i].bytes, size);
}

static const char *const bad[] = {"Q", "QUJDR", "QQ=x", "Q Q", "QU\n", "QU-_", "=QQ"};

TEST_LOOP(other_texts_are_refused, COUNT(bad))
{
    char bytes[8];
    size_t size = 0;
    ck_assert(!base64_decode(bytes, &size, bad[_i], strlen(bad[_i])));
}
