#include "../../../cmd/options.h" /* its code is built into options_test.c */

#include "../unit.h"

static struct options options;
static struct arena arena;
static struct err err;

static void empty(void)
{
    options = (struct options)OPTIONS_DEFAULT;
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(empty, release)

/* Set one option of an item, as a line of a file does. */
static int set(const char *name, const char *value)
{
    err = (struct err){0};
    return options_set(&options, FOR_ITEM, name, value, &arena, &err);
}

TEST(an_item_sets_the_options_of_run_by_their_long_names)
{
    ck_assert_int_eq(set("head", "0-3"), 0);
    ck_assert_int_eq(set("width", "100"), 0);
    ck_assert_int_eq(set("bos", "true"), 0);
    ck_assert_str_eq(options.select.head, "0-3");
    ck_assert_int_eq((int)options.looks.width, 100);
    ck_assert(options.input.bos);
    ck_assert_int_eq(set("bos", "false"), 0);
    ck_assert(!options.input.bos);
}

TEST(what_an_item_may_not_set_is_named)
{
    static const struct {
        const char *name, *value, *message;
    } cases[] = {
        {"heads", "0", "unknown option '--heads': did you mean '--head'?"},
        {"output", "x", "option '--output' is not for one item alone"},
        {"threads", "2", "option '--threads' is not for one item alone"},
        {"quiet", "true", "option '--quiet' is not for one item alone"},
        {"help", "true", "option '--help' is not for one item alone"},
        {"m", "life", "unknown option '--m': --help lists them"},
        {"bos", "yes", "--bos: expected true or false, found 'yes'"},
        {"width", "x", "--width: expected a whole number from 20 to 100000, found 'x'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(set(cases[i].name, cases[i].value), -1);
        ck_assert_str_eq(err.text, cases[i].message);
    }
}

/* So that an option that is added to run is one of batch and of its items without further ado. */
TEST(batch_and_its_items_have_what_run_has_unless_the_row_says_no)
{
    size_t inherited = 0;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (!(row->commands & FOR_RUN) || row->commands == FOR_ALL)
            continue;
        ck_assert_int_eq(option_serves(row, FOR_BATCH), !(row->commands & NOT_BATCH));
        ck_assert_int_eq(option_serves(row, FOR_ITEM), !(row->commands & NOT_ITEM));
        inherited += option_serves(row, FOR_BATCH) && option_serves(row, FOR_ITEM);
    }
    ck_assert_uint_ge(inherited, 9);
}
