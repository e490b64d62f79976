#include "lens/tokenized.h"

#include <string.h>

#include "../unit.h"
#include "lens/sheet.h"

enum { NONE = 99 };

/* " is this 3 0:0 ␣ is is \xc3": some look like an index, one is a blank, one half a character. */
static const struct label labels[] = {
    {"␣is", "0:␣is", " is"}, {"␣this", "1:␣this", " this"},
    {"3", "2:3", "3"},       {"0:0", "3:0:0", "0:0"},
    {"␣", "4:␣", " "},       {"␣is", "5:␣is", " is"},
    {"is", "6:is", "is"},    {"\\xc3‿", "7:\\xc3‿", "\\xc3‿"},
};

static const struct tokenized tokenized = {.labels = labels, .count = COUNT(labels)};

TEST(a_token_is_found_by_text_label_or_index)
{
    static const struct {
        const char *name;
        size_t index, alike, next;
    } cases[] = {
        {"is", 0, 2, 5},
        {" is", 0, 1, 5},
        {"␣is", 0, 1, 5},
        {"this", 1, 0, 0},
        {"3", 2, 0, 0},
        {"4", 4, 0, 0},
        {"0", 0, 0, 0},
        {"-1", 7, 0, 0},
        {"-8", 0, 0, 0},
        {"5:is", 5, 0, 0},
        {"5:␣is", 5, 0, 0},
        {"6:is", 6, 0, 0},
        {"-2:is", 6, 0, 0},
        {"0:0", 3, 0, 0},
        {"3:0:0", 3, 0, 0},
        {" ", 4, 0, 0},
        {"␣", 4, 0, 0},
        {"4: ", 4, 0, 0},
        {"\\xc3‿", 7, 0, 0},
        {"7:\\xc3‿", 7, 0, 0},
        {"Is", NONE, 0, 0},
        {"8", NONE, 0, 0},
        {"-9", NONE, 0, 0},
        {"", NONE, 0, 0},
        {":", NONE, 0, 0},
        {"1:", NONE, 0, 0},
        {"1:is", NONE, 0, 0},
        {"9:is", NONE, 0, 0},
        {"i", NONE, 0, 0},
        {"3x", NONE, 0, 0},
        {"x:this", NONE, 0, 0},
        {":is", NONE, 0, 0},
        {"000000000000000000000000000001", NONE, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct token_match match = {0};
        bool found = tokenized_find_token(&match, &tokenized, cases[i].name);
        ck_assert_msg(found == (cases[i].index != NONE), "'%s'", cases[i].name);
        if (!found)
            continue;
        ck_assert_msg(match.index == cases[i].index, "'%s' is %zu", cases[i].name, match.index);
        ck_assert_uint_eq(match.alike, cases[i].alike);
        ck_assert_uint_eq(match.next, cases[i].next);
    }
}

/* --- as a table ------------------------------------------------------------------------------- */

TEST(a_table_has_the_bytes_of_tokens_that_are_not_text)
{
    static const struct token tokens[] = {{7, false, 0, 3}, {8, false, 3, 4}, {9, false, 4, 5}};
    static const struct token_bytes bytes[] = {{" is", 3}, {"\xc3", 1}, {"\0", 1}};
    const struct tokenized own = {.raw = " is\xc3",
                                  .size = 5,
                                  .tokens = tokens,
                                  .labels = &labels[5],
                                  .bytes = bytes,
                                  .count = COUNT(tokens)};
    struct tokenized of_ids = own;
    struct arena arena = {0};
    struct err err = {0};
    struct table table;
    of_ids.raw = NULL;
    ck_assert_int_eq(tokenized_table(&table, &own, NULL, &arena, &err), 0);
    ck_assert_str_eq(table.columns[0].name, "index");
    ck_assert_int_eq(table_key(&table, "id", 1), 8);
    ck_assert_int_eq(table_key(&table, "start", 1), 3);
    ck_assert_int_eq(table_key(&table, "end", 1), 4);
    const struct column *last = &table.columns[table.count - 1];
    ck_assert_ptr_null(column_text(last, 0, false));
    ck_assert_str_eq(column_text(last, 1, false), "c3");
    ck_assert_str_eq(column_text(last, 2, false), "00");
    ck_assert_int_eq(tokenized_table(&table, &of_ids, NULL, &arena, &err), 0);
    ck_assert_int_eq(table_key(&table, "start", 1), -1); /* ids have no span of a text */
    arena_release(&arena);
}
