#include "text/matcher.h"

#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"

/* The judge is Oniguruma, with the pattern itself. */
static const char *const patterns[] = {"\\s+", "[0-9][0-9][0-9]"};

TEST_LOOP(characters_in_a_row_are_what_the_pattern_finds, COUNT(patterns))
{
    static const char *const parts[] = {
        "1",  "22", "333",      "4444",         "x",           "é", " ", "\n",
        "\t", "٣",  "\xC2\x85", "\xE3\x80\x80", "\xE2\x80\x8B"};
    struct matcher matcher = {0};
    struct regex *regex = NULL;
    unsigned seed = 1;
    ck_assert_int_eq(matcher_set_pattern(&matcher, patterns[_i], NULL), 0);
    ck_assert_ptr_null(matcher.regex);
    ck_assert_int_eq(regex_open(&regex, patterns[_i], NULL), 0);
    for (size_t round = 0; round < 100000; round += one_of(100)) {
        char text[128] = "";
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            strcat(text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        struct matcher_walk walk = matcher_walk(&matcher, text, strlen(text));
        struct regex_walk judge = {.regex = regex, .text = text, .size = strlen(text)};
        for (int found = 1; found;) {
            struct text_range match = {0};
            struct text_range expected = {0};
            found = regex_next(&judge, &expected, NULL);
            ck_assert_int_eq(matcher_next(&walk, &match, NULL), found);
            ck_assert_msg(!found || (match.start == expected.start && match.end == expected.end),
                          "'%s': [%zu, %zu), not [%zu, %zu)", text, match.start, match.end,
                          expected.start, expected.end);
        }
        regex_walk_release(&judge);
        matcher_walk_release(&walk);
    }
    regex_free(regex);
    matcher_release(&matcher);
}
