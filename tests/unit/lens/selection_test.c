#include "model/config.h"
#include "lens/selection.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"

static const struct config gpt2 = {.norm_in = true,
                                   .kind = MODEL_GPT2,
                                   .n_layer = 6,
                                   .n_head = 12,
                                   .norm_first = true,
                                   .final_norm = true};
static const struct config attention = {.kind = MODEL_ATTENTION, .n_layer = 1, .n_head = 1};

static struct selection selection;
static struct arena arena;
static struct err err;

static void empty(void)
{
    selection = (struct selection){0};
    arena = (struct arena){0};
    err = (struct err){0};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(empty, release)

/* The numbers as text, "0 3 4", to compare. */
static const char *chosen(const size_t *indices, size_t count)
{
    static char text[256];
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%zu", i ? " " : "", indices[i]);
    return text;
}

TEST(numbers_ranges_and_the_end_are_understood)
{
    static const struct {
        const char *list;
        const char *chosen;
    } cases[] = {
        {NULL, "0 1 2 3 4 5"},
        {"all", "0 1 2 3 4 5"},
        {"0", "0"},
        {"5", "5"},
        {"-1", "5"},
        {"-6", "0"},
        {"3,1", "1 3"},
        {"1,1,1", "1"},
        {"0-2", "0 1 2"},
        {"2-2", "2"},
        {"0-5", "0 1 2 3 4 5"},
        {"-3--1", "3 4 5"},
        {"4--1", "4 5"},
        {"-6-1", "0 1"},
        {"5,0-1,-2,1", "0 1 4 5"},
        {"-0", "0"},
        {"003", "3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_msg(!selection_layers(&selection, cases[i].list, &gpt2, &arena, &err), "%s: %s",
                      cases[i].list, err.text);
        ck_assert_str_eq(chosen(selection.layers.items, selection.layers.count), cases[i].chosen);
    }
}

TEST(numbers_that_the_model_lacks_are_refused_with_its_range)
{
    static const struct {
        const char *list;
        const char *found;
    } cases[] = {
        {"6", "6"},
        {"-7", "-7"},
        {"", ""},
        {"0,", ""},
        {",0", ""},
        {"0,,1", ""},
        {"x", "x"},
        {"1x", "1x"},
        {"0x1", "0x1"},
        {"1.0", "1.0"},
        {" 1", " 1"},
        {"3-1", "3-1"},
        {"3-2", "3-2"},
        {"-1-0", "-1-0"},
        {"1-", "1-"},
        {"-", "-"},
        {"--1", "--1"},
        {"1--", "1--"},
        {"0-6", "0-6"},
        {"0-1-2", "0-1-2"},
        {"0,9,1", "9"},
        {"ALL", "ALL"},
        {"0,all", "all"},
        {"99999999999999999999", "99999999999999999999"},
        {"000000000000000000000000000001", "000000000000000000000000000001"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[512];
        snprintf(expected, sizeof expected,
                 "--layer: expected numbers from 0 to 5 (or -6 to -1 from the end), ranges such as "
                 "0-5, or all, found '%s': the model has 6 layers",
                 cases[i].found);
        err_clear(&err);
        ck_assert_msg(selection_layers(&selection, cases[i].list, &gpt2, &arena, &err) == -1,
                      "'%s' was accepted", cases[i].list);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(a_model_of_one_layer_says_so)
{
    ck_assert_int_eq(selection_layers(&selection, "1", &attention, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--layer: expected 0 or all, found '1': the model has one layer");
    err_clear(&err);
    ck_assert_int_eq(selection_heads(&selection, "-2", &attention, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--head: expected 0 or all, found '-2': the model has one head");
    ck_assert_int_eq(selection_heads(&selection, "-1", &attention, &arena, &err), 0);
}

/* Each of the two has layers of its own; the list is read for those that have a chosen site. */
TEST(layers_are_those_of_encoder_and_decoder)
{
    static const struct config uneven = {
        .kind = MODEL_TRANSFORMER, .n_encoder_layer = 5, .n_layer = 2, .final_norm = true};
    static const struct {
        const char *sites, *list;
        const char *encoder, *decoder;
    } cases[] = {
        {"enc.weights,weights", NULL, "0 1 2 3 4", "0 1"},
        {"enc.weights,cross_weights", "-1", "4", "1"},
        {"enc.weights,logits", "4,0", "0 4", ""},
        {"weights", "1", "", "1"},
        {"embedding", "1", "", "1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(selection_sites(&selection, cases[i].sites, &uneven, &err), 0);
        ck_assert_int_eq(selection_layers(&selection, cases[i].list, &uneven, &arena, &err), 0);
        ck_assert_str_eq(chosen(selection.encoder_layers.items, selection.encoder_layers.count),
                         cases[i].encoder);
        ck_assert_str_eq(chosen(selection.layers.items, selection.layers.count), cases[i].decoder);
    }
    ck_assert_int_eq(selection_sites(&selection, "all", &uneven, &err), 0);
    ck_assert_int_eq(selection_layers(&selection, "2", &uneven, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--layer: expected numbers from 0 to 1 (or -2 to -1 from the end), "
                               "ranges such as 0-1, or all, found '2': the decoder has 2 layers");
    err_clear(&err);
    ck_assert_int_eq(selection_layers(&selection, "5", &uneven, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--layer: expected numbers from 0 to 4 (or -5 to -1 from the end), "
                               "ranges such as 0-4, or all, found '5': the encoder has 5 layers");
}
