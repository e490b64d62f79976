/* The commands are no part of the library: their table of options and its reader are built in here.
 */
#include "../../../cmd/options.c"
#include "../../../cmd/option_table.c"
#include "../../../cmd/option_rows/input_options.c"
#include "../../../cmd/option_rows/score_options.c"
#include "../../../cmd/option_rows/attend_options.c"
#include "../../../cmd/option_rows/output_options.c"
#include "../../../cmd/option_rows/batch_options.c"
#include "../../../cmd/option_rows/process_options.c"
#include "../../../cmd/option_rows/instrument_options.c"
#include "../../../cmd/option_rows/page_options.c"
#include "../../../cmd/option_rows/train_options.c"
#include "../../../cmd/removed.c"
#include "../../../cmd/unknown_option.c"

#include <stdio.h>
#include <stdlib.h>

#include "../unit.h"
#include "base/heap.h"

/* What messages name; the functions of commands are not called. */
const struct command command_rows[] = {{.name = "run", .bit = FOR_RUN},
                                       {.name = "info", .bit = FOR_INFO},
                                       {.name = "heads", .bit = FOR_HEADS}};
const size_t command_count = COUNT(command_rows);

static struct options options;
static struct arena arena;
static struct err err;

static void empty(void)
{
    options = (struct options){0};
    arena = (struct arena){0};
    err = (struct err){0};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(empty, release)

/* Parse the words up to NULL. */
static int parse(int command, char **words)
{
    options = (struct options){0};
    err = (struct err){0};
    return options_parse(&options, command, words, &arena, &err);
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

static void must_parse(int command, char **words)
{
    ck_assert_msg(!parse(command, words), "%s", err.text);
}

TEST(a_value_stands_behind_its_option_in_every_form)
{
    char **const forms[] = {
        WORDS("--model", "life"), WORDS("--model=life"),
        WORDS("-m", "life"),      WORDS("-mlife"),
        WORDS("-qmlife"),         WORDS("-q", "-m", "life"),
        WORDS("-qm", "life"),     WORDS("--model=x", "--model=life"),
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        must_parse(FOR_RUN, forms[i]);
        ck_assert_str_eq(options.model.name, "life");
        ck_assert_uint_eq(options.input.operands.count, 0);
    }
}

TEST(a_value_may_look_like_anything)
{
    static const char *const values[] = {"", "-1", "--quiet", "--", "a=b", "=", "\xff", " "};
    for (size_t i = 0; i < COUNT(values); i++) {
        char joined[32];
        must_parse(FOR_RUN, WORDS("--title", (char *)values[i]));
        ck_assert_str_eq(options.looks.title, values[i]);
        snprintf(joined, sizeof joined, "--title=%s", values[i]);
        must_parse(FOR_RUN, WORDS(joined));
        ck_assert_str_eq(options.looks.title, values[i]);
    }
    ck_assert(!options.quiet);
}

TEST(flags_are_set_alone_and_in_groups)
{
    must_parse(FOR_RUN, WORDS("-qv"));
    ck_assert(options.quiet && options.verbose && !options.help);
    must_parse(FOR_RUN, WORDS("--quiet", "-h", "--quiet"));
    ck_assert(options.quiet && !options.verbose && options.help);
}

TEST(texts_are_kept_in_their_order)
{
    char *words[2 * 9 + 1] = {0};
    char texts[9][2];
    for (size_t i = 0; i < COUNT(texts); i++) {
        memcpy(texts[i], (char[]){(char)('a' + i), '\0'}, 2);
        words[2 * i] = "--sentence";
        words[2 * i + 1] = texts[i];
    }
    must_parse(FOR_RUN, words);
    ck_assert_uint_eq(options.input.sentences.count, COUNT(texts));
    for (size_t i = 0; i < COUNT(texts); i++)
        ck_assert_ptr_eq(options.input.sentences.items[i], texts[i]);
}

TEST(what_is_no_option_is_an_operand)
{
    must_parse(FOR_RUN, WORDS("a", "-q", "-", "", "--", "-q", "--model", "--"));
    static const char *const operands[] = {"a", "-", "", "-q", "--model", "--"};
    ck_assert_uint_eq(options.input.operands.count, COUNT(operands));
    for (size_t i = 0; i < COUNT(operands); i++)
        ck_assert_str_eq(options.input.operands.items[i], operands[i]);
    ck_assert(options.quiet && !options.model.name);
}

TEST(numbers_are_read_whole_and_in_their_range)
{
    must_parse(FOR_RUN, WORDS("-t3", "--width=100000"));
    ck_assert_int_eq(options.model.threads, 3);
    ck_assert_int_eq(options.looks.width, 100000);
    static const char *const wrong[] = {
        "0", "257", "-1", "", "3x", "0x1", "1.5", " 1", "99999999999999999999"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[128];
        ck_assert_int_eq(parse(FOR_RUN, WORDS("--threads", (char *)wrong[i])), -1);
        snprintf(expected, sizeof expected,
                 "--threads: expected a whole number from 1 to 256, found '%s'", wrong[i]);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(fractions_are_read_whole_and_in_their_range)
{
    static char *const good[] = {"0", "1", "0.5", ".25", "1e-3", "0.999999999"};
    static char *const bad[] = {"", "-0.1", "1.000001", "x", "0.5x", "nan", "inf", "0x1", " 1"};
    for (size_t i = 0; i < COUNT(good); i++) {
        must_parse(FOR_GENERATE, WORDS("--top-p", good[i]));
        ck_assert_double_eq(options.generate.top_p, strtod(good[i], NULL));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "--top-p: expected a number from 0 to 1, found '%s'",
                 bad[i]);
        ck_assert_int_eq(parse(FOR_GENERATE, WORDS("--top-p", bad[i])), -1);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
    const struct options untouched = OPTIONS_DEFAULT;
    ck_assert_double_eq(untouched.generate.top_p, 1);
}

TEST(one_name_may_mean_one_thing_here_and_another_there)
{
    must_parse(FOR_RUN, WORDS("--ids", "3,1"));
    ck_assert_str_eq(options.input.ids, "3,1");
    ck_assert(!options.tokens.only_ids);
    must_parse(FOR_TOKENIZE, WORDS("--ids", "3,1"));
    ck_assert(options.tokens.only_ids && !options.input.ids);
    ck_assert_str_eq(options.input.operands.items[0], "3,1");
}

TEST(what_is_wrong_is_said)
{
    const struct {
        int command;
        char **words;
        const char *message;
    } cases[] = {
        {FOR_RUN, WORDS("--modle", "x"), "unknown option '--modle': did you mean '--model'?"},
        {FOR_RUN, WORDS("--sentense=x"), "unknown option '--sentense': did you mean '--sentence'?"},
        {FOR_RUN, WORDS("--Layer", "0"), "unknown option '--Layer': did you mean '--layer'?"},
        {FOR_RUN, WORDS("--lyaer=0"), "unknown option '--lyaer': did you mean '--layer'?"},
        {FOR_RUN, WORDS("--sent", "x"), "unknown option '--sent': did you mean '--sentence'?"},
        {FOR_RUN, WORDS("--zzzzzzzz=1"), "unknown option '--zzzzzzzz': --help lists them"},
        {FOR_RUN, WORDS("--=x"), "unknown option '--': --help lists them"},
        {FOR_RUN, WORDS("-z"), "unknown option '-z': --help lists them"},
        {FOR_RUN, WORDS("-qz"), "unknown option '-z': --help lists them"},
        {FOR_RUN, WORDS("-\xC3\xA9"), "unknown option '-\xC3\xA9': --help lists them"},
        {FOR_RUN, WORDS("-n3"), "unknown option '-n': it is '--tokens' of info"},
        {FOR_INFO, WORDS("-M", "life"), "unknown option '-M': did you mean '-m'?"},
        {FOR_RUN, WORDS("--layer=", "0"),
         "--layer: expected a value (LIST) right after the '=', found a blank"},
        {FOR_RUN, WORDS("--layer", "=", "0"),
         "--layer: expected a value (LIST) right after the '=', found a blank"},
        {FOR_INFO, WORDS("--sentence=x"),
         "unknown option '--sentence': it is one of run, heads; --help lists those of this one"},
        {FOR_RUN, WORDS("--quiet=yes"), "--quiet: expected no value, found 'yes'"},
        {FOR_RUN, WORDS("--quiet="), "--quiet: expected no value, found ''"},
        {FOR_RUN, WORDS("-q", "--model"),
         "--model: expected a value (DIR|NAME), found the end of the line"},
        {FOR_RUN, WORDS("--layer", "--head", "1"),
         "--layer: expected a value (LIST), found the option '--head'"},
        {FOR_RUN, WORDS("-qo", "-s", "x"),
         "--output: expected a value (PATH), found the option '-s'"},
        {FOR_RUN, WORDS("-qs"), "--sentence: expected a value (TEXT), found the end of the line"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(parse(cases[i].command, cases[i].words), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(every_option_of_the_table_is_known_to_its_commands)
{
    for (size_t i = 0; i < option_count(); i++) {
        char name[64], letter[] = {'-', option_at(i)->letter, '\0'};
        snprintf(name, sizeof name, "--%s", option_at(i)->name);
        ck_assert(option_is_known(option_at(i)->commands, name));
        ck_assert(!letter[1] || option_is_known(option_at(i)->commands, letter));
    }
    ck_assert(option_is_known(FOR_RUN, "--model=life"));
    ck_assert(option_is_known(FOR_RUN, "-mlife"));
    static const char *const unknown[] = {"--decode", "-n", "-", "--", "--mode", "--models"};
    for (size_t i = 0; i < COUNT(unknown); i++)
        ck_assert(!option_is_known(FOR_RUN, unknown[i]));
}

TEST(a_removed_option_names_its_replacement)
{
    err = (struct err){0};
    ck_assert_int_eq(options_check_name(FOR_RUN, "no-config", &err), -1);
    ck_assert_str_eq(err.text, "'--no-config' was removed: there is no file of defaults; "
                               "$ATTN_MODEL names the default model");
}

TEST(dashes_of_another_kind_are_seen)
{
    static const struct {
        char *word;
        const char *message;
    } cases[] = {
        {"-layer", "unknown option '-layer': did you mean '--layer', with two dashes?"},
        {"-show=q", "unknown option '-show': did you mean '--show', with two dashes?"},
        {"–layer", "unknown option '–layer': did you mean '--layer', with two plain dashes?"},
        {"—layer=0", "unknown option '—layer': did you mean '--layer', with two plain dashes?"},
        {"−−head", "unknown option '−−head': did you mean '--head', with two plain dashes?"},
        {"–s", "unknown option '–s': did you mean '-s', with a plain dash?"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(parse(FOR_RUN, WORDS(cases[i].word, "0")), -1);
        ck_assert_str_eq(err.text, cases[i].message);
    }
    must_parse(FOR_RUN, WORDS("— Life", "–", "layer", "-sLife", "--", "–layer", "-layer"));
    ck_assert_uint_eq(options.input.operands.count, 5);
}

TEST(words_of_any_length_are_compared)
{
    static char word[100000];
    memset(word, 'm', sizeof word - 1);
    word[0] = word[1] = '-';
    ck_assert_int_eq(parse(FOR_RUN, WORDS(word)), -1);
    ck_assert_msg(strncmp(err.text, "unknown option '--mmm", 21) == 0, "%.40s", err.text);
    ck_assert_str_eq(err.text + strlen(err.text) - 3, "...");
}

/* One name or letter means one thing in a command, and its field has the kind's type. */
TEST(the_table_is_sound)
{
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        ck_assert(row->about && *row->about);
        ck_assert_int_eq(row->argument == NULL, row->kind == OPTION_FLAG);
        ck_assert_int_eq(row->min < row->max,
                         row->kind == OPTION_NUMBER || row->kind == OPTION_REAL);
        ck_assert_uint_lt(strlen(row->name), WORD_BYTES);
        for (size_t k = 0; k < i; k++) {
            const struct option_row *other = option_at(k);
            if (!(row->commands & other->commands & ~(NOT_BATCH | NOT_ITEM)))
                continue; /* where an option is not is no command */
            ck_assert_str_ne(row->name, other->name);
            ck_assert(row->letter == 0 || row->letter != other->letter);
        }
    }
}

TEST(formats_of_pages_are_text_and_json)
{
    static const char *const good[] = {NULL, "text", "json"};
    bool json = false;
    for (size_t i = 0; i < COUNT(good); i++) {
        options.output.format = good[i];
        ck_assert_int_eq(options_choose_page(&json, &options.output, &err), 0);
        ck_assert_int_eq(json, i == 2);
    }
    options.output.format = "csv";
    ck_assert_int_eq(options_choose_page(&json, &options.output, &err), -1);
    ck_assert_str_eq(err.text, "--format: expected one of text, json, found 'csv'");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(an_allocation_that_fails_is_an_error)
{
    heap_fail_at(1, 0);
    ck_assert_int_eq(parse(FOR_RUN, WORDS("-s", "x")), -1);
    heap_fail_at(0, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
}
