#include "../../../cmd/sweep.h"

#include <stdio.h>
#include <string.h>

#include "../../../cmd/command.h"
#include "../unit.h"

static struct arena arena;
static struct err err;

static void enter(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
}

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(enter, leave)

/* --- the values of every option --------------------------------------------------------------- */

/* Visit the options of each command that a batch runs. */
static void for_each_option(void (*visit)(const struct command *done, const struct option_row *row))
{
    for (size_t i = 0; i < all_commands.count; i++) {
        const struct command *done = all_commands.items[i];
        struct option_walk walk = {.set = {.command = &command_batch, .done = done}};
        while (done->task && option_next(&walk))
            visit(done, walk.row);
    }
}

/* Parse the arguments of `batch --do NAME`, up to a NULL. */
static int parse(struct options *options, const struct command *done, const char *more)
{
    char *words[] = {(char *)"--do", (char *)done->name, (char *)more, NULL};
    return command_parse(options, &all_commands, &command_batch, words, &arena, &err);
}

/* Two values that the option takes. */
static void two_values(char values[2][32], const struct option_row *row)
{
    bool number = row->kind == OPTION_NUMBER || row->kind == OPTION_REAL;
    for (int i = 0; i < 2; i++)
        if (number)
            snprintf(values[i], sizeof values[i], "%lld", row->min + i);
        else
            snprintf(values[i], sizeof values[i], "%s",
                     row->kind == OPTION_FLAG ? (i ? "false" : "true") : (i ? "b" : "a"));
}

static bool same_texts(const struct texts *a, const struct texts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* True if both have the same value of an option. */
static bool same_value(const struct options *a, const struct options *b,
                       const struct option_row *row)
{
    const void *one = (const char *)a + row->offset, *other = (const char *)b + row->offset;
    const char *text, *other_text;
    switch (row->kind) {
    case OPTION_FLAG:
        return *(const bool *)one == *(const bool *)other;
    case OPTION_NUMBER:
        return *(const long long *)one == *(const long long *)other;
    case OPTION_REAL:
        return *(const double *)one == *(const double *)other;
    case OPTION_TEXTS:
        return same_texts(one, other);
    default:
        memcpy(&text, one, sizeof text);
        memcpy(&other_text, other, sizeof other_text);
        return text && other_text ? strcmp(text, other_text) == 0 : text == other_text;
    }
}

/* The setting has the value of the option, as the command line gives it, and no other value. */
static void expect_set(const struct options *found, const struct options *given,
                       const struct option_row *row)
{
    struct option_walk walk = {.set = found->set};
    while (option_next(&walk))
        if (strcmp(walk.row->name, "sweep") != 0)
            ck_assert_msg(same_value(found, given, walk.row), "--sweep %s sets --%s", row->name,
                          walk.row->name);
    ck_assert(!options_are_given(found, row->name) == !options_are_given(given, row->name));
}

static void check_swept(const struct command *done, const struct option_row *row)
{
    char values[2][32], line[96];
    struct options options, setting, given;
    struct sweep sweep;
    if (row->flags & OPTION_UNSWEPT)
        return;
    two_values(values, row);
    snprintf(line, sizeof line, "--sweep=%s=%s,%s", row->name, values[0], values[1]);
    ck_assert_msg(!parse(&options, done, line) && !sweep_read(&sweep, &options, &arena, &err),
                  "%s %s: %s", done->name, line, err.text);
    ck_assert_uint_eq(sweep.settings, 2);
    for (size_t i = 0; i < 2; i++) {
        bool off = row->kind == OPTION_FLAG && i == 1;
        snprintf(line, sizeof line, row->kind == OPTION_FLAG ? "--%s" : "--%s=%s", row->name,
                 values[i]);
        ck_assert_msg(!parse(&given, done, off ? NULL : line), "%s", err.text);
        ck_assert_msg(!sweep_set(&sweep, i, &setting, &arena, &err), "%s", err.text);
        expect_set(&setting, &given, row);
        ck_assert_str_eq(sweep.items[0].value, values[i]);
    }
}

TEST(a_setting_has_the_value_of_its_option_alone)
{
    for_each_option(check_swept);
}

static void check_unswept(const struct command *done, const struct option_row *row)
{
    char line[96];
    struct options options;
    struct sweep sweep;
    if (!(row->flags & OPTION_UNSWEPT))
        return;
    snprintf(line, sizeof line, "--sweep=%s=1,2", row->name);
    ck_assert_msg(!parse(&options, done, line), "%s", err.text);
    ck_assert_int_ne(sweep_read(&sweep, &options, &arena, &err), 0);
    ck_assert_msg(strstr(err.text, "expected an option that may differ between settings") != NULL,
                  "%s: %s", row->name, err.text);
}

TEST(an_option_of_the_whole_batch_is_not_swept)
{
    for_each_option(check_unswept);
}
