#include "base/names.h"

#include <string.h>

#include "../unit.h"
#include "base/memory.h"

enum { NAMES_MAX = 4 };

/* A mistyped word, the valid names and the suggested one (NULL: none). */
struct meaning {
    const char *word, *names[NAMES_MAX], *nearest;
};

static const char *nearest_of(const struct meaning *meaning)
{
    struct nearest nearest;
    nearest_begin(&nearest, meaning->word, strlen(meaning->word));
    for (size_t i = 0; i < NAMES_MAX && meaning->names[i]; i++)
        nearest_offer(&nearest, meaning->names[i]);
    return nearest.name;
}

static void must_mean(const struct meaning *meanings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *found = nearest_of(&meanings[i]);
        const char *wanted = meanings[i].nearest;
        ck_assert_msg(wanted ? found && strcmp(found, wanted) == 0 : !found,
                      "'%s': expected %s, found %s", meanings[i].word, wanted ? wanted : "nothing",
                      found ? found : "nothing");
    }
}

TEST(an_inserted_deleted_or_changed_letter_costs_one)
{
    static const struct meaning meanings[] = {
        {"tinny", {"life", "tiny"}, "tiny"}, {"tin", {"life", "tiny"}, "tiny"},
        {"tony", {"life", "tiny"}, "tiny"},  {"layerr", {"head", "layer"}, "layer"},
        {"pgn", {"svg", "png"}, "png"},      {"verison", {"help", "version"}, "version"},
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(swapped_neighbours_cost_one)
{
    static const struct meaning meanings[] = {
        {"rnu", {"run", "corpus"}, "run"},
        {"hepl", {"help", "heap"}, "help"},
        {"shrot", {"short", "eat"}, "short"},
        {"ab", {"ba"}, "ba"},
        {"abc", {"bca"}, NULL}, /* two of three letters */
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(prefixes_match_in_either_direction)
{
    static const struct meaning meanings[] = {
        {"gen", {"explain", "generate"}, "generate"},
        {"s", {"sentence"}, NULL}, /* one letter is too short */
        {"co", {"compare", "corpus"}, "corpus"},
        {"GEN", {"generate"}, "generate"},
        {"heatmap", {"both", "heat"}, "heat"},
        {"logarithmic", {"linear", "log"}, "log"},
        {"benchmark", {"mark", "bench"}, "bench"},
        {"isolated", {"is"}, NULL},            /* two letters are too short */
        {"layers", {"lay", "layer"}, "layer"}, /* edit distance takes precedence */
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(case_decides_between_equal_distances)
{
    static const struct meaning meanings[] = {
        {"TINY", {"life", "tiny"}, "tiny"},
        {"Layer", {"layers", "layer"}, "layer"},
        {"lief", {"Life", "life"}, "life"},
        {"Lief", {"life", "Life"}, "Life"},
        {"X", {"y", "x"}, "x"},
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(distances_count_characters_and_not_bytes)
{
    static const struct meaning meanings[] = {
        {"naive", {"naïve", "native"}, "naïve"}, {"größe", {"Größe"}, "Größe"},
        {"爱我", {"我爱", "你好"}, "我爱"},      {"爱", {"我"}, NULL},
        {"ÉCOLE", {"école"}, "école"},           {"l\xffyer", {"layer"}, "layer"},
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(a_word_with_more_than_a_third_of_its_letters_wrong_has_no_match)
{
    static const struct meaning meanings[] = {
        {"prompt", {"format"}, NULL}, {"moon", {"book"}, NULL}, {"desrt", {"dessert"}, "dessert"},
        {"xyz", {"run"}, NULL},       {"", {"", "a"}, NULL},    {"a", {"b", "ab"}, NULL},
        {"ab", {"cd"}, NULL},
    };
    must_mean(meanings, COUNT(meanings));
}

TEST(a_word_that_is_too_long_has_no_match)
{
    char word[NEAREST_CHARACTERS + 2];
    char name[NEAREST_CHARACTERS + 2];
    memset(word, 'x', sizeof word);
    memset(name, 'x', sizeof name);
    word[NEAREST_CHARACTERS] = name[NEAREST_CHARACTERS - 1] = '\0';
    ck_assert_str_eq(nearest_of(&(struct meaning){word, {name}, NULL}), name);
    ck_assert_str_eq(nearest_of(&(struct meaning){name, {word}, NULL}), word);
    word[NEAREST_CHARACTERS] = 'x';
    word[NEAREST_CHARACTERS + 1] = '\0';
    ck_assert_ptr_null(nearest_of(&(struct meaning){word, {name}, NULL}));
    ck_assert_ptr_null(nearest_of(&(struct meaning){name, {word}, NULL}));
}

TEST(file_name_endings_ignore_case)
{
    ck_assert(name_has_ending("a.gguf", ".gguf") && name_has_ending("b/c.GgUF", ".gguf"));
    ck_assert(!name_has_ending(".gguf", ".gguf") && !name_has_ending("a.gguf/", ".gguf"));
    ck_assert(!name_has_ending("a.ggu", ".gguf") && !name_has_ending("", ".gguf"));
}

TEST(a_name_is_among_those_between_blanks)
{
    ck_assert(name_is_among(" a bc ", "a") && name_is_among("bcd bc", "bc"));
    ck_assert(!name_is_among(" a bc ", "b") && !name_is_among(" a bc ", "c"));
    ck_assert(!name_is_among(" a ", "") && !name_is_among(NULL, "a"));
}

TEST(a_name_that_is_taken_gets_a_prefix_until_it_is_not)
{
    static const char *const taken[] = {"row", "attn_row", "layer"};
    struct arena arena = {0};
    struct err err = {0};
    ck_assert_str_eq(names_unused("head", NAMES_LIST(taken), &arena, &err), "head");
    ck_assert_str_eq(names_unused("layer", NAMES_LIST(taken), &arena, &err), "attn_layer");
    ck_assert_str_eq(names_unused("row", NAMES_LIST(taken), &arena, &err), "attn_attn_row");
    arena_release(&arena);
}
