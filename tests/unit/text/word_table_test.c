#include "text/word_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../rigs/starve.h"
#include "../unit.h"

static int read_form(struct word_table *table, const char *json, enum word_form form,
                     struct err *err)
{
    struct json_cursor cursor;
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, json, strlen(json), NULL), 0);
    return word_table_read(table, cursor, form, strlen(json), err);
}

static void expect_word(const struct word_table *table, uint32_t id, const char *bytes, size_t size,
                        enum word_form form)
{
    size_t found_size = 0;
    uint32_t found = UINT32_MAX;
    const char *word = word_table_word(table, id, &found_size);
    ck_assert_ptr_nonnull(word);
    ck_assert_uint_eq(found_size, size);
    ck_assert_mem_eq(word, bytes, size);
    ck_assert(word_table_find(table, bytes, size, form, &found));
    ck_assert_uint_eq(found, id);
}

TEST(words_in_the_byte_alphabet_are_decoded)
{
    static const char *const forms[] = {
        "{\"!\": 0, \"\\u0120the\": 2, \"\\u00c4\\u0142\": 1, \"<|endoftext|>\": 3}",
        "[\"!\", \"Äł\", \"Ġthe\", \"<|endoftext|>\"]",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct word_table table = {0};
        ck_assert_int_eq(read_form(&table, forms[i], WORD_BYTES, NULL), 0);
        ck_assert_uint_eq(table.size, 4);
        expect_word(&table, 0, "!", 1, WORD_BYTES);
        expect_word(&table, 1, "\xC4\xA0", 2, WORD_BYTES);
        expect_word(&table, 2, " the", 4, WORD_BYTES);
        expect_word(&table, 3, "<|endoftext|>", 13, WORD_BYTES);
        word_table_release(&table);
        ck_assert_uint_eq(table.size, 0);
    }
}

TEST(a_word_outside_the_alphabet_is_text)
{
    struct word_table table = {0};
    char scratch[8];
    uint32_t id = 77;
    ck_assert_int_eq(read_form(&table, "[\"a b\", \"Ġ\", \" \", \"爱\", \"é\"]", WORD_BYTES, NULL),
                     0);
    expect_word(&table, 0, "a b", 3, WORD_TEXT);
    expect_word(&table, 1, " ", 1, WORD_BYTES);
    expect_word(&table, 2, " ", 1, WORD_TEXT);
    expect_word(&table, 3, "爱", 3, WORD_TEXT);
    expect_word(&table, 4, "\xE9", 1, WORD_BYTES);
    ck_assert(!word_table_find(&table, "爱", 3, WORD_BYTES, &id));
    ck_assert_uint_eq(id, 77);
    ck_assert(word_table_find_written(&table, "é", 2, scratch, &id));
    ck_assert_uint_eq(id, 4);
    ck_assert(word_table_find_written(&table, "爱", 3, scratch, &id));
    ck_assert_uint_eq(id, 3);
    ck_assert(!word_table_find_written(&table, "e", 1, scratch, &id));
    word_table_release(&table);
}

TEST(words_without_an_alphabet_are_text)
{
    struct word_table table = {0};
    char scratch[8];
    uint32_t id = 77;
    ck_assert_int_eq(read_form(&table, "[\"a\", \"Ġ\"]", WORD_TEXT, NULL), 0);
    expect_word(&table, 0, "a", 1, WORD_TEXT);
    expect_word(&table, 1, "Ġ", 2, WORD_TEXT);
    ck_assert(word_table_find_written(&table, "Ġ", 2, scratch, &id));
    ck_assert_uint_eq(id, 1);
    word_table_release(&table);
}

TEST(a_word_may_contain_zeros)
{
    struct word_table table = {0};
    ck_assert_int_eq(
        read_form(&table, "{\"\\u0000\": 0, \"a\\u0000b\": 1, \"a\": 2}", WORD_TEXT, NULL), 0);
    expect_word(&table, 0, "\0", 1, WORD_TEXT);
    expect_word(&table, 1, "a\0b", 3, WORD_TEXT);
    expect_word(&table, 2, "a", 1, WORD_TEXT);
    word_table_release(&table);
}

TEST(ids_may_have_gaps)
{
    struct word_table table = {0};
    size_t size = 0;
    ck_assert_int_eq(read_form(&table, "{\"Hello\": 15496, \"world\": 995}", WORD_BYTES, NULL), 0);
    ck_assert_uint_eq(table.size, 15497);
    expect_word(&table, 995, "world", 5, WORD_BYTES);
    expect_word(&table, 15496, "Hello", 5, WORD_BYTES);
    ck_assert_ptr_null(word_table_word(&table, 996, &size));
    ck_assert_ptr_null(word_table_word(&table, 15497, &size));
    ck_assert_ptr_null(word_table_word(&table, UINT32_MAX, &size));
    word_table_release(&table);
}

TEST(many_words_are_found_by_id_and_by_text)
{
    enum { WORDS = 5000 };
    static char json[WORDS * 16];
    struct word_table table = {0};
    char word[8];
    size_t size = 0;
    for (int i = 0; i < WORDS; i++)
        size += (size_t)snprintf(json + size, sizeof json - size, "%s\"%x\": %d", i ? ", " : "{", i,
                                 WORDS - 1 - i);
    strcpy(json + size, "}");
    ck_assert_int_eq(read_form(&table, json, WORD_BYTES, NULL), 0);
    for (int i = 0; i < WORDS; i++) {
        size = (size_t)snprintf(word, sizeof word, "%x", i);
        expect_word(&table, (uint32_t)(WORDS - 1 - i), word, size, WORD_BYTES);
    }
    word_table_release(&table);
}

TEST(words_of_every_size_are_found)
{
    enum { LONGEST = 24 };
    static const char letters[] = "ab\xC3\xA9\0defghijklmnopqrstuvwxyz";
    struct word_table table = {.form = WORD_TEXT};
    ck_assert_int_eq(word_table_begin(&table, 2 * LONGEST, (size_t)LONGEST * LONGEST * 2, NULL), 0);
    for (size_t size = 1; size <= LONGEST; size++) {
        ck_assert_int_eq(word_table_add(&table, (struct word){letters, size}, 2 * size, NULL), 0);
        struct word other = {letters + 1, size};
        ck_assert_int_eq(word_table_add(&table, other, 2 * size + 1, NULL), 0);
    }
    for (size_t size = 1; size <= LONGEST; size++) {
        uint32_t id = 0;
        expect_word(&table, (uint32_t)(2 * size), letters, size, WORD_TEXT);
        expect_word(&table, (uint32_t)(2 * size + 1), letters + 1, size, WORD_TEXT);
        ck_assert(!word_table_find(&table, letters, size, WORD_BYTES, &id));
        ck_assert(!word_table_find(&table, letters + 2, size, WORD_TEXT, &id));
    }
    word_table_release(&table);
}

TEST(a_small_file_may_use_ids_up_to_a_limit)
{
    struct word_table table = {0};
    ck_assert_int_eq(read_form(&table, "{\"a\": 262352}", WORD_BYTES, NULL), 0);
    ck_assert_uint_eq(table.size, 262353);
    word_table_release(&table);
}

TEST(offsets_have_thirty_bits)
{
    enum { SIZE = 1 << 30 };
    struct word_table table = {0};
    struct err err = {0};
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    bytes[0] = '{'; /* the rest is not read */
    struct json_cursor cursor = {.at = bytes, .end = bytes + SIZE};
    ck_assert_int_eq(word_table_read(&table, cursor, WORD_BYTES, SIZE, &err), -1);
    ck_assert_str_eq(err.text, "expected at most 1073741823 bytes of words, found 1073741824");
    munmap(bytes, SIZE);
}

TEST(a_failed_allocation_is_an_error)
{
    struct starve starve = {.least = 3};
    while (starve_next(&starve)) {
        struct word_table table = {0};
        struct err err = {0};
        int failed = read_form(&table, "{\"a\": 0, \"b\": 1000, \"c\": 2000}", WORD_BYTES, &err);
        starve_check(&starve, failed, &err);
        word_table_release(&table);
    }
}
