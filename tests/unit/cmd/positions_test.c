/* Tests of positions by name: columns, regions, words and tokens of texts. */
#include <stdio.h>
#include <string.h>

#include "../../../cmd/items.h"
#include "../../../cmd/session.h"
#include "../unit.h"
#include "measure/score_report.h"

/* Its tokens in the model `tiny`; "sees" and the first "the" are two tokens. */
static const char sentence[] = "the dog sees the cat"; /* t he ␣dog ␣se es ␣the ␣cat */

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source pair;
static struct item item;
static struct item_positions own;

static void enter(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    item = (struct item){0};
    ck_assert_msg(!viewer_open(&viewer, "tiny", 1, &err), "%s", err.text);
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(enter, leave)

static void read_text(const char *text)
{
    const struct input input = {.text = text, .size = strlen(text)};
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, NULL, &arena, &err), "%s", err.text);
    item.text = pair.text.raw;
}

/* Texts begin with a token that has no number. */
static void begin_texts(void)
{
    viewer.model.config.bos_id = 0; /* ! */
    viewer.starts = viewer.start_is_unnumbered = true;
}

static int resolve(void)
{
    return positions_resolve(&own, &item, &pair, &viewer, &arena, &err);
}

/* The positions of --query in the text that was read last. */
static const char *query(const char *list)
{
    item.options.select.query = list;
    int failed = resolve();
    ck_assert_msg(!failed, "'%s': %s", list, err.text);
    return pair.text.queries;
}

static void refused(int failed, const char *message)
{
    ck_assert_msg(failed == -1, "not refused: %s", message);
    ck_assert_msg(strstr(err.text, message), "'%s' lacks '%s'", err.text, message);
    err_clear(&err);
}

static int ask(const char *list)
{
    item.options.select.query = list;
    return resolve();
}

/* --- words and tokens ------------------------------------------------------------------------- */

TEST(words_and_tokens_of_a_text_are_positions)
{
    static const struct {
        const char *list, *tokens, *words; /* NULL words: refused with --words */
    } cases[] = {
        {NULL, NULL, NULL},
        {"all", "all", "all"},
        {"3", "3", "3"},
        {"-1,0-2,1-", "-1,0-2,1-", "-1,0-2,1-"},
        {"@dog", "2", "1"},
        {"dog", "2", "1"},
        {"@sees", "3-4", "2"},
        {"cat,sees", "6,3-4", "4,2"}, /* in this order */
        {"@the dog", "0-2", "0-1"},
        {"the dog,4", "0-2,4", "0-1,4"},
        {"@the/2", "5", "3"},
        {"the/2", "5", "3"},
        {"the/1,cat", "0-1,6", "0,4"},
        {"@the/1,@cat", "0-1,6", "0,4"},
        {"1,@cat,-1", "1,6,-1", "1,4,-1"},
        {"es", "4", NULL}, /* a token, no word */
        {"␣the", "5", NULL},
        {"2:␣dog", "2", NULL},
    };
    read_text(sentence);
    for (size_t i = 0; i < COUNT(cases); i++) {
        item.options.select.words = false;
        ck_assert_pstr_eq(query(cases[i].list), cases[i].tokens);
        item.options.select.words = true;
        if (cases[i].words || !cases[i].tokens)
            ck_assert_pstr_eq(query(cases[i].list), cases[i].words);
        else
            refused(ask(cases[i].list), "--query: expected positions, all, or a token of the text");
    }
}

TEST(a_word_ends_where_no_letter_goes_on)
{
    static const struct {
        const char *text, *name, *positions; /* NULL: refused */
    } cases[] = {
        {"the dogs", "@dog", NULL}, {"the dog's", "@dog", "2"},
        {"the dogé", "@dog", NULL}, /* a letter of two bytes */
        {"édog dog", "@dog", "4"},  {"x \"dog\"", "@dog", "2"},
        {"我爱狗", "@爱", "3-5"}, /* no spaces in this script */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        read_text(cases[i].text);
        if (!cases[i].positions)
            refused(ask(cases[i].name), "which is neither");
        else {
            const struct tokenized *t = &pair.text;
            const char *list = query(cases[i].name);
            ptrdiff_t first = 0, last = 0;
            size_t size = strlen(cases[i].name) - 1, at = 0;
            ck_assert(selection_range(&first, &last, list, strlen(list), t->count));
            while (memcmp(t->raw + at, cases[i].name + 1, size) != 0 ||
                   (at && t->raw[at - 1] == '\xa9'))
                at++;
            ck_assert_msg(t->tokens[first].start <= at && t->tokens[first].end > at &&
                              t->tokens[last].end == at + size,
                          "%s: %s", cases[i].text, list);
        }
    }
}

TEST(a_name_that_is_no_position_is_refused_with_a_guess)
{
    static const struct {
        const char *list, *message;
        bool is_usage;
    } cases[] = {
        {"@wolf",
         "--query: expected a column or a word of the text, found '@wolf', which is neither",
         false},
        {"@dgo", "found '@dgo', which is neither: did you mean 'dog'?", false},
        {"wolf", "--query: expected positions, all, or a token of the text, found 'wolf'", false},
        {"dgo", "found 'dgo': did you mean 'dog'?", false},
        {"@the", "expected a word that occurs once, found 'the' at 1, 5: '@the/2' is the second",
         false},
        {"the", "found 'the' at 1, 5: 'the/2' is the second", false},
        {"the/3", "--query: expected occurrence 1 to 2 of 'the', found 3", false},
        {"the/0", "--query: expected positions, all, or a token of the text, found 'the/0'", false},
        {"@the/3", "--query: expected occurrence 1 to 2 of 'the', found 3", false},
        {"@the/x", "--query: expected a number after '@the/', such as 2", true},
        {"@the/0", "--query: expected a number after '@the/'", true},
        {"@", "--query: expected a column or a word after '@'", true},
        {"1,@", "--query: expected a column or a word after '@'", true},
    };
    read_text(sentence);
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(ask(cases[i].list), -1);
        /* another text may have the word, but a wrong list is wrong for all */
        ck_assert_msg(err.about == (cases[i].is_usage ? ERR_ABOUT_ANYTHING : ERR_ABOUT_POSITION),
                      "%s", cases[i].list);
        ck_assert_int_eq(err.kind, cases[i].is_usage ? ERR_USAGE : ERR_INPUT);
        refused(-1, cases[i].message);
    }
}

/* Its positions are those without the token: totals and words have it, too. */
TEST(a_beginning_token_has_no_number)
{
    static const struct {
        const char *list, *tokens, *words;
    } cases[] = {{"2", "3", "2"},       {"0-2,4", "1-3,5", "0-2,4"}, {"-1", "-1", "-1"},
                 {"@dog", "3", "1"},    {"sees", "4-5", "2"},        {"@the/2,0", "6,1", "3,0"},
                 {"all", "all", "all"}, {"5-", "6--1", "5-"}};
    begin_texts();
    read_text(sentence);
    ck_assert_uint_eq(pair.text.count, 8);
    for (size_t i = 0; i < COUNT(cases); i++) {
        item.options.select.words = false;
        ck_assert_str_eq(query(cases[i].list), cases[i].tokens);
        item.options.select.words = true;
        ck_assert_str_eq(query(cases[i].list), cases[i].words);
    }
    item.options.select.words = false;
    ck_assert_str_eq(query("es"), "5"); /* a token */
    refused(ask("7"), "--query: expected tokens from 0 to 6, or ranges such as 0-1, found '7'");
    refused(ask("!"), "expected a token of the text, found its beginning token '!', which has no "
                      "number: with --special bos, it is token 0");
}

/* --- columns and regions ---------------------------------------------------------------------- */

static struct identity_column columns[] = {
    {"verb", "sees"},     {"n", "3-4"},      {"pandas", "2.0"}, {"nth", "the/2"},
    {"Mein Wort", "cat"}, {"a:b", "dog"},    {"list", "2,4"},   {"cat", "dog"},
    {"missing", NULL},    {"wrong", "wolf"}, {"text", "the"},
};

static void use_columns(void)
{
    item.columns = columns;
    item.column_count = COUNT(columns) - 1;
    item.text_count = 1;
}

TEST(a_column_has_a_word_or_indices)
{
    static const struct {
        const char *list, *tokens;
    } cases[] = {
        {"@verb", "3-4"},    {"@n", "3-4"}, {"@pandas", "2"}, {"@nth", "5"},
        {"@Mein Wort", "6"}, {"@a:b", "2"}, {"@list", "2,4"}, {"@Mein Wort,@a:b,1", "6,2,1"},
        {"@cat", "2"}, /* before the word */
        {"@dog", "2"},       {"cat", "6"},
    };
    use_columns();
    read_text(sentence);
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(query(cases[i].list), cases[i].tokens);
    refused(ask("@missing"), "--query: '@missing': expected a value in this column, found none");
    refused(ask("@wrong"), "--query: column 'wrong': expected a word of the text, found 'wolf'");
    refused(ask("@vreb"), "found '@vreb', which is neither: did you mean 'verb'?");
    refused(ask("@text"), "found 'the' at 1, 5: 'the/2' is the second");
}

/* Numbers in a text are words of it: "2.0" is no index there. */
TEST(a_number_of_a_column_may_be_a_word)
{
    struct identity_column number[] = {{"x", "2.0"}, {"y", "1/2"}};
    item.columns = number;
    item.column_count = 2;
    read_text("dog 2.0 or 1/2 cat");
    const char *list = query("@x");
    ptrdiff_t first = 0, last = 0;
    ck_assert(selection_range(&first, &last, list, strlen(list), pair.text.count));
    ck_assert_uint_eq(pair.text.tokens[last].end, strlen("dog 2.0"));
    list = query("@y");
    ck_assert(selection_range(&first, &last, list, strlen(list), pair.text.count));
    ck_assert_uint_eq(pair.text.tokens[last].end, strlen("dog 2.0 or 1/2"));
}

static const struct score_region regions[] = {
    {.name = "np", .first = 0, .count = 7},    {.name = "v:p", .first = 8, .count = 4},
    {.name = "none", .first = 12, .count = 0}, {.name = "np", .first = 13, .count = 7},
    {.name = "dog", .first = 20, .count = 0},
};

TEST(a_region_has_all_its_tokens)
{
    static const struct {
        const char *list, *tokens, *words;
    } cases[] = {
        {"@np", "0-2,5-6", "0-1,3-4"},
        {"@np/2", "5-6", "3-4"},
        {"@np/1,@v:p", "0-2,3-4", "0-1,2"},
        {"@cat", "6", "4"},
    };
    item.regions = regions;
    item.region_count = COUNT(regions);
    read_text(sentence);
    for (size_t i = 0; i < COUNT(cases); i++) {
        item.options.select.words = false;
        ck_assert_str_eq(query(cases[i].list), cases[i].tokens);
        item.options.select.words = true;
        ck_assert_str_eq(query(cases[i].list), cases[i].words);
    }
    refused(ask("@none"), "--query: region 'none': expected tokens in this text, found none");
    refused(ask("@dog"), "region 'dog'"); /* before the word */
    refused(ask("@wolf"), "expected a column, a region or a word of the text, found '@wolf'");
    item.options.select.words = false;
    item.options.attribute.position = "@np"; /* of one token: the last of all parts */
    query("0");
    ck_assert_str_eq(item.options.attribute.position, "6");
    item.options.attribute.position = NULL;
    begin_texts();
    read_text(sentence);
    ck_assert_str_eq(query("@np"), "1-3,6-7");
    item.text = "another text, whose regions these are";
    refused(ask("@np"), "a region or a word of the text, found '@np', which is neither");
}

TEST(a_column_is_before_a_region_unless_its_cells_are_the_regions)
{
    item.regions = regions;
    item.region_count = COUNT(regions);
    item.columns = (struct identity_column[]){{"v:p", "cat"}, {"np", NULL}};
    item.column_count = 2;
    read_text(sentence);
    ck_assert_str_eq(query("@v:p"), "6");
    refused(ask("@np"), "expected a value in this column");
    item.is_joined = true;
    ck_assert_str_eq(query("@v:p"), "3-4");
    ck_assert_str_eq(query("@np"), "0-2,5-6");
}

/* --- the options ------------------------------------------------------------------------------ */

/* --query of attribute and explain is one token: the last of a name. */
TEST(each_option_has_positions_of_its_text)
{
    struct text_with_source source;
    read_text("the cat is here");
    source = pair;
    read_text(sentence);
    pair.source = source.text;
    item.options.select.query = "dog";
    item.options.select.key = "cat,is";
    item.options.attribute.position = "sees";
    item.options.attribute.key = "cat:dog";
    item.options.explain.token = "@sees";
    ck_assert_msg(!resolve(), "%s", err.text);
    ck_assert_str_eq(pair.text.queries, "2");
    ck_assert_str_eq(pair.source.keys, "2,3"); /* of the source */
    ck_assert_ptr_null(pair.text.keys);
    ck_assert_str_eq(item.options.attribute.position, "4");
    ck_assert_str_eq(item.options.attribute.key, "6:2");
    ck_assert_str_eq(item.options.explain.token, "4");
    item.options.attribute.key = "cat";
    item.options.attribute.part = "cross";
    item.options.attribute.against = "is";
    ck_assert_msg(!resolve(), "%s", err.text);
    ck_assert_str_eq(item.options.attribute.key, "2:3");
    item.options.attribute.against = "dog";
    item.options.attribute.key = "cat";
    refused(resolve(), "--key: expected positions, all, or a token of the text, found 'dog'");
    item.options.attribute.key = NULL;
    item.options.select.words = true;
    item.options.select.key = "cat,is";
    ck_assert_str_eq(query("@cat"), "4");
    ck_assert_str_eq(pair.source.keys, "1,2"); /* words */
}

TEST(a_key_may_be_compared_with_a_mean)
{
    static const struct {
        const char *key, *against, *plain, *begun;
    } cases[] = {{"cat:mean", NULL, "6:mean", "7:mean"},
                 {"@cat", "mean", "6:mean", "7:mean"},
                 {"sees", NULL, "4", "5"}, /* the last token */
                 {"2:@sees", NULL, "2:4", "3:5"},
                 {"dog:0", "mean", "2:0", "3:1"}};
    for (size_t k = 0; k < 2; k++) {
        if (k)
            begin_texts();
        read_text(sentence);
        for (size_t i = 0; i < COUNT(cases); i++) {
            item.options.attribute.key = cases[i].key;
            item.options.attribute.against = cases[i].against;
            ck_assert_msg(!resolve(), "%s", err.text);
            ck_assert_str_eq(item.options.attribute.key, k ? cases[i].begun : cases[i].plain);
        }
    }
}

TEST(positions_of_means_keep_their_names)
{
    const struct named_positions *named = &pair.text.named_queries;
    read_text(sentence);
    item.options.select.mean = "regions";
    item.options.select.key = "0-2";
    query("@sees,-1,cat,1");
    static const char *const names[] = {"sees", "-1", "cat", "1"};
    static const char *const positions[] = {"3-4", "-1", "6", "1"};
    ck_assert_uint_eq(named->count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert_str_eq(named->labels[i].plain, names[i]);
        ck_assert_str_eq(named->positions[i], positions[i]);
    }
    ck_assert_uint_eq(pair.text.named_keys.count, 0); /* the same numbers in all texts */
    query("-1,0");                                    /* another number in each text */
    ck_assert_uint_eq(named->count, 2);
    begin_texts();
    read_text(sentence);
    query("@sees,1,-1");
    ck_assert_uint_eq(named->count, 3);
    ck_assert_str_eq(named->positions[0], "4-5");
    ck_assert_str_eq(named->positions[1], "2");
    ck_assert_str_eq(named->positions[2], "-1");
}

static const char *tokens(bool of_source, const char *position)
{
    own.option = "--edit";
    return positions_tokens(&own, of_source, position, strlen(position));
}

TEST(positions_of_edits_are_tokens)
{
    static const struct {
        const char *position, *found[4]; /* of tokens, words; both after a beginning token */
    } cases[] = {{"@sees", {"3-4", "3-4", "4-5", "4-5"}},
                 {"2", {"2", "3-4", "3", "4-5"}},
                 {"-1", {"-1", "6-6", "-1", "7-7"}},
                 {"1-2", {"1-2", "2-4", "2-3", "3-5"}},
                 {"@the/2", {"5", "5-5", "6", "6-6"}}};
    for (size_t k = 0; k < 4; k++) {
        item.options.select.words = k & 1;
        if (k == 2)
            begin_texts();
        read_text(sentence);
        ck_assert(!resolve());
        for (size_t i = 0; i < COUNT(cases); i++)
            ck_assert_str_eq(tokens(false, cases[i].position), cases[i].found[k]);
    }
    ck_assert_ptr_null(tokens(false, "5"));
    refused(-1, "--edit: expected words from 0 to 4, or ranges such as 0-1, found '5'");
    ck_assert_ptr_null(tokens(true, "@wolf"));
    refused(-1, "--edit: expected a column or a word of the text, found '@wolf'");
}

TEST(a_name_is_found_in_the_text_of_its_axis)
{
    struct text_with_source source;
    read_text("a cat is here");
    source = pair;
    read_text(sentence);
    pair.source = source.text;
    ck_assert(!resolve());
    ck_assert_str_eq(tokens(false, "@cat"), "6");
    ck_assert_str_eq(tokens(true, "@cat"), "1");
    ck_assert_ptr_null(tokens(true, "@dog"));
}

/* Special tokens between the texts are not theirs. */
TEST(a_word_may_be_in_the_second_text_of_a_pair)
{
    const struct input input = {.text = "the cat", .size = 7, .pair = {"the dog", 7}};
    viewer_release(&viewer);
    ck_assert_msg(!viewer_open(&viewer, "cloze", 1, &err) &&
                      !tokenizer_add_special(viewer.tokenizer, &err) &&
                      !viewer_read(&viewer, &pair, &input, NULL, &arena, &err),
                  "%s", err.text); /* [CLS] the cat [SEP] the dog [SEP] */
    ck_assert_str_eq(query("@dog"), "5");
    ck_assert_str_eq(query("@the/2"), "4");
    refused(ask("@the"), "found 'the' at 1, 4");
}

/* --- continuations ---------------------------------------------------------------------------- */

TEST(a_continuation_of_a_column_is_spelt_as_usual)
{
    static const struct {
        const char *value, *after, *masked; /* after the text; in place of a mask */
    } cases[] = {
        {"are", " are", "are"}, {" are", " are", " are"}, {".", ".", "."}, {"\"s", " \"s", "\"s"}};
    const char *texts[] = {"@end", " is"};
    item.input = (struct input){.text = "the dogs", .size = 8};
    item.column_count = 1;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t masked = 0; masked < 2; masked++) {
            item.columns = (struct identity_column[]){{"end", cases[i].value}};
            item.options.score.continuations = (struct texts){texts, 2};
            viewer.mask = masked ? 3 : -1;
            read_text("the dogs");
            ck_assert_msg(!resolve(), "%s", err.text);
            const struct texts *found = &item.options.score.continuations;
            ck_assert_str_eq(found->items[0], masked ? cases[i].masked : cases[i].after);
            ck_assert_str_eq(found->items[1], " is");
        }
    ck_assert_str_eq(texts[0], "@end"); /* of all items */
    item.columns = (struct identity_column[]){{"end", NULL}};
    item.options.score.continuations = (struct texts){texts, 2};
    int failed = resolve();
    ck_assert_int_eq(err.about, ERR_ABOUT_POSITION);
    refused(failed, "--continue: '@end': expected a value in this column, found none");
    item.columns = (struct identity_column[]){{"ned", "is"}};
    refused(resolve(), "--continue: expected ");
    item.fields[ITEM_CONTINUE] = "@end"; /* a column `continue` has texts, not names */
    ck_assert(!resolve());
    ck_assert_str_eq(item.options.score.continuations.items[0], "@end");
}
