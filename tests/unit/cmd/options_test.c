/* Tests of the option tables of all commands. */
#include <stdio.h>
#include <string.h>

#include "../../../cmd/help.h"
#include "../unit.h"
#include "model/site.h"

/* Visit the options of each command, and of `batch --do` with each of its commands. */
static void for_each_set(void (*visit)(struct option_set set))
{
    for (size_t i = 0; i < all_commands.count; i++) {
        visit(command_set(all_commands.items[i]));
        if (all_commands.items[i]->task)
            visit((struct option_set){.command = &command_batch, .done = all_commands.items[i]});
    }
}

static void check_known(struct option_set set)
{
    struct option_walk walk = {.set = set};
    while (option_next(&walk)) {
        char name[64], letter[] = {'-', walk.row->letter, '\0'};
        snprintf(name, sizeof name, "--%s", walk.row->name);
        ck_assert(option_is_known(set, name));
        ck_assert(!letter[1] || option_find_letter(set, letter[1]) == walk.row);
    }
    ck_assert(option_is_known(set, "--help"));
    ck_assert(option_is_known(set, "-h"));
}

TEST(every_option_is_known_by_name_and_letter)
{
    for_each_set(check_known);
}

TEST(options_of_other_commands_are_unknown)
{
    static const char *const unknown[] = {"--decode", "-n", "-", "--", "--mode", "--models"};
    const struct option_set run = command_set(&command_run);
    ck_assert(option_is_known(run, "--model=life"));
    ck_assert(option_is_known(run, "-mlife"));
    for (size_t i = 0; i < COUNT(unknown); i++)
        ck_assert(!option_is_known(run, unknown[i]));
}

/* Each option's help begins with a clause that fits on a page. */
static void check_brief(struct option_set set)
{
    enum { BRIEF = 50 };
    struct option_walk walk = {.set = set};
    while (option_next(&walk))
        ck_assert_msg(option_brief_bytes(walk.row) <= BRIEF, "%s --%s: %s", set.command->name,
                      walk.row->name, walk.row->about);
}

TEST(a_brief_has_at_most_50_characters)
{
    for_each_set(check_brief);
}

/* The example of each of the most used options is a command line of the command. */
static void check_most_used(const struct command *command, struct arena *arena)
{
    struct used_option used;
    struct err err = {0};
    for (const char *at = command->most_used; used_option_next(&used, command, &at);) {
        char example[80];
        struct options options;
        snprintf(example, sizeof example, "%.*s", (int)used.example_bytes, used.example);
        for (char *quote = example; (quote = strchr(quote, '"'));)
            *quote = '\''; /* line_split knows only single quotes */
        char **words = line_split(example, arena, &err);
        ck_assert_msg(used.row, "%s has no option %s", command->name, example);
        ck_assert_msg(!options_parse(&options, command_set(command), words, arena, &err) &&
                          !options.input.operands.count,
                      "%s %s: %s", command->name, example, err.text);
        ck_assert_msg(used.brief_bytes <= BRIEF_COLUMNS, "%s %s: a long brief", command->name,
                      example);
    }
}

TEST(an_example_of_each_most_used_option_is_valid)
{
    struct arena arena = {0};
    for (size_t i = 0; i < all_commands.count; i++) {
        ck_assert_msg(all_commands.items[i]->most_used, "%s", all_commands.items[i]->name);
        check_most_used(all_commands.items[i], &arena);
    }
    arena_release(&arena);
}

/* The groups of scores on the page of `heads` have each score. */
TEST(each_score_is_in_a_group)
{
    const struct value_list *groups = command_heads.value_groups;
    struct value score, group;
    for (size_t i = 0; values_scores.at(&score, i, NULL); i++) {
        bool found = false;
        for (size_t k = 0; groups->at(&group, k, NULL); k++)
            found |= strstr(group.about, score.name) != NULL;
        ck_assert_msg(found, "%s", score.name);
    }
}

/* The message suggests a name, and nothing else. */
static void expect_suggestion(const struct err *err, const char *dashes, const char *name)
{
    char expected[128];
    const char *found = strstr(err->text, "did you mean ");
    snprintf(expected, sizeof expected, "did you mean '%s%s'?", dashes, name);
    ck_assert_msg(found && strcmp(found, expected) == 0, "%s: %s", name, err->text);
}

TEST(a_mistyped_command_is_suggested_alone)
{
    for (size_t i = 0; i < all_commands.count; i++) {
        char word[64];
        struct err err = {0};
        snprintf(word, sizeof word, "%sx", all_commands.items[i]->name);
        ck_assert_ptr_null(command_find(&all_commands, word, &err));
        expect_suggestion(&err, "", all_commands.items[i]->name);
    }
}

static void check_mistyped(struct option_set set)
{
    struct option_walk walk = {.set = set};
    while (option_next(&walk)) {
        char word[64];
        struct err err = {0};
        int size = snprintf(word, sizeof word, "%sx", walk.row->name);
        ck_assert_int_ne(option_refuse(set, word, (size_t)size, &err), 0);
        expect_suggestion(&err, "--", walk.row->name);
    }
}

TEST(a_mistyped_option_is_suggested_alone)
{
    for_each_set(check_mistyped);
}

static void check_rows(struct option_set set)
{
    struct option_walk walk = {.set = set};
    while (option_next(&walk)) {
        const struct option_row *row = walk.row;
        bool is_number = row->kind == OPTION_NUMBER || row->kind == OPTION_REAL;
        ck_assert(row->about && *row->about);
        ck_assert_int_eq(row->argument == NULL, row->kind == OPTION_FLAG);
        ck_assert_int_eq(row->min < row->max, is_number);
        ck_assert(row->preset == 0 ||
                  (row->preset >= (double)row->min && row->preset <= (double)row->max));
        ck_assert(!row->values || row->kind == OPTION_TEXT || row->kind == OPTION_TEXTS);
        ck_assert(!row->joints || row->values);
        ck_assert_uint_lt(row->offset, sizeof(struct options));
    }
}

TEST(rows_of_the_option_tables_are_valid)
{
    for_each_set(check_rows);
}

static bool table_has(const struct option_row *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return true;
    return false;
}

TEST(excluded_options_are_in_one_table_of_the_command)
{
    for (size_t i = 0; i < all_commands.count; i++) {
        char names[256];
        snprintf(names, sizeof names, "%s",
                 all_commands.items[i]->without ? all_commands.items[i]->without : "");
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
            size_t tables = table_has(running_options, name);
            for (size_t k = 0; k < OPTION_USES && all_commands.items[i]->shared[k]; k++)
                tables += table_has(all_commands.items[i]->shared[k], name);
            ck_assert_msg(tables == 1, "%s: %s", all_commands.items[i]->name, name);
        }
    }
}

TEST(numbers_have_their_presets_by_default)
{
    struct options options;
    options_init(&options, command_set(&command_generate));
    ck_assert_int_eq(options.generate.tokens, 0); /* as the model says */
    ck_assert(options.generate.top_p == 1);
    ck_assert(options.mechanism.temperature == 1); /* generate has a part of this table */
    ck_assert_int_eq(options.score.best, 0);       /* not an option of generate */
}

/* A tensor of a part of a model is listed under the heading of this part alone. */
TEST(each_part_of_a_model_has_a_heading_of_its_own)
{
    const char *headings[SITE_BRANCHES] = {NULL};
    struct value value;
    for (size_t i = 0; values_tensors.at(&value, i, &all_commands); i++)
        for (enum site site = 0; site != SITE_END; site = site_next(site))
            if (site_about(site) && site_id(site) != SITE_EMBEDDING &&
                strcmp(value.name, site_name(site)) == 0) {
                const char **heading = &headings[site_branch(site)];
                *heading = *heading ? *heading : value.heading;
                ck_assert_msg(*heading == value.heading, "%s", value.name);
            }
    for (size_t branch = 0; branch < SITE_BRANCHES; branch++)
        for (size_t other = 0; other < SITE_BRANCHES; other++)
            ck_assert(branch == BRANCH_TEXT
                          ? !headings[branch]
                          : headings[branch] &&
                                (branch == other || headings[other] != headings[branch]));
}
