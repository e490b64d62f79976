#include "base/buf.h"
#include "model/mechanism.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"

static struct mechanism mechanism;
static struct err err;

static void begin(void)
{
    mechanism = (struct mechanism){.seed = 7};
    err = (struct err){0};
}

FIXTURE(begin, NULL)

static void expect_words(const char *expected)
{
    struct buf words = {0};
    mechanism_write(&words, &mechanism);
    ck_assert_str_eq(words.bytes ? words.bytes : "", expected);
    buf_release(&words);
}

/* What is read is written back. */
TEST(every_kind_of_attention_is_read)
{
    static const struct {
        const char *text, *words;
        enum attention_kind kind;
        struct pattern pattern;
        size_t block;
    } cases[] = {
        {"dense", "", ATTENTION_DENSE, {0}, 0},
        {"window:4", "attention window:4", ATTENTION_SPARSE, {.window = 4}, 0},
        {"strided:100000000",
         "attention strided:100000000",
         ATTENTION_SPARSE,
         {.stride = 100000000},
         0},
        {"global:1", "attention global:1", ATTENTION_SPARSE, {.global = 1}, 0},
        {"random:3", "attention random:3:7", ATTENTION_SPARSE, {.random = 3, .seed = 7}, 0},
        {"random:3:0", "attention random:3:0", ATTENTION_SPARSE, {.random = 3}, 0},
        {"random:3:9223372036854775807",
         "attention random:3:9223372036854775807",
         ATTENTION_SPARSE,
         {.random = 3, .seed = 9223372036854775807u},
         0},
        {"global:2+random:1:5+window:3",
         "attention window:3+global:2+random:1:5",
         ATTENTION_SPARSE,
         {.window = 3, .global = 2, .random = 1, .seed = 5},
         0},
        {"linear", "attention linear", ATTENTION_LINEAR, {0}, 0},
        {"blocked:64", "attention blocked:64", ATTENTION_BLOCKED, {0}, 64},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        ck_assert_int_eq(mechanism_set_attention(&mechanism, cases[i].text, &err), 0);
        ck_assert_int_eq(mechanism.kind, cases[i].kind);
        ck_assert_mem_eq(&mechanism.pattern, &cases[i].pattern, sizeof mechanism.pattern);
        ck_assert_uint_eq(mechanism.block, cases[i].block);
        expect_words(cases[i].words);
    }
}

#define KINDS                                                                                 \
    "--attention: expected dense, window:W, strided:S, global:G, random:K[:SEED], linear or " \
    "blocked:B, found "
#define NUMBER "--attention: expected a whole number from 1 to 100000000 in "
#define JOINED "--attention: '+' joins window, strided, global and random, found "
#define SEED                                                                                     \
    "--attention random: expected a seed from 0 to 9223372036854775807 after the second colon, " \
    "found "

TEST(what_is_no_attention_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", KINDS "''"},
        {"sparse", KINDS "'sparse'"},
        {"Window:4", KINDS "'Window'"},
        {"windows:4", KINDS "'windows'"},
        {"window:4,linear", NUMBER "'window:W', found '4,linear'"},
        {"window", NUMBER "'window:W', found ''"},
        {"window:", NUMBER "'window:W', found ''"},
        {"window:0", NUMBER "'window:W', found '0'"},
        {"window:-1", NUMBER "'window:W', found '-1'"},
        {"window:4x", NUMBER "'window:W', found '4x'"},
        {"window:4:5", NUMBER "'window:W', found '4:5'"},
        {"window:100000001", NUMBER "'window:W', found '100000001'"},
        {"blocked:0.5", NUMBER "'blocked:B', found '0.5'"},
        {"random:", NUMBER "'random:K[:SEED]', found ''"},
        {"random::5", NUMBER "'random:K[:SEED]', found ''"},
        {"random:2:", SEED "''"},
        {"random:2:-1", SEED "'-1'"},
        {"random:2:3:4", SEED "'3:4'"},
        {"random:2:9223372036854775808", SEED "'9223372036854775808'"},
        {"linear:4", "--attention: 'linear' takes no number, found ':4'"},
        {"dense:", "--attention: 'dense' takes no number, found ':'"},
        {"window:4+", KINDS "''"},
        {"+window:4", KINDS "''"},
        {"window:4++global:1", KINDS "''"},
        {"window:4+linear", JOINED "'linear' beside it"},
        {"dense+window:4", JOINED "'dense' beside it"},
        {"blocked:4+window:4", JOINED "'blocked' beside it"},
        {"window:4+window:5", "--attention: 'window' stands twice"},
        {"random:4+global:1+random:5", "--attention: 'random' stands twice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        const char *message = cases[i].message; /* what was meant may come after it */
        ck_assert_int_eq(mechanism_set_attention(&mechanism, cases[i].text, &err), -1);
        ck_assert_msg(strncmp(err.text, message, strlen(message)) == 0, "%s", err.text);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(the_mask_comes_before_or_behind)
{
    ck_assert_int_eq(mechanism_set_mask_method(&mechanism, "renormalise", &err), 0);
    ck_assert(mechanism.renormalise);
    expect_words("mask-method renormalise");
    ck_assert_int_eq(mechanism_set_mask_method(&mechanism, "before", &err), 0);
    ck_assert(!mechanism.renormalise);
    expect_words("");
    ck_assert_int_eq(mechanism_set_mask_method(&mechanism, "after", &err), -1);
    ck_assert_str_eq(err.text, "--mask-method: expected one of before, renormalise, found 'after': "
                               "did you mean 'renormalise'?");
}

TEST(a_scale_is_a_number_or_has_a_name)
{
    static const struct {
        const char *text, *words;
        enum scale_method method;
        float scale;
    } cases[] = {
        {"none", "scale 1", SCALE_NUMBER, 1},
        {"sqrt", "scale sqrt", SCALE_SQRT, 1},
        {"0.125", "scale 0.125", SCALE_NUMBER, 0.125f},
        {"-2", "scale -2", SCALE_NUMBER, -2},
        {"0", "scale 0", SCALE_NUMBER, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        ck_assert_int_eq(mechanism_set_scale(&mechanism, cases[i].text, &err), 0);
        ck_assert_int_eq(mechanism.scale_method, cases[i].method);
        ck_assert_float_eq(mechanism.scale, cases[i].scale);
        expect_words(cases[i].words);
    }
    static const char *const wrong[] = {"", "half", "1e7", "nan", "inf", "2x", "Sqrt"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[128];
        begin();
        snprintf(expected, sizeof expected,
                 "--scale: expected none, sqrt or a number from -1000000 to 1000000, found '%s'",
                 wrong[i]);
        ck_assert_int_eq(mechanism_set_scale(&mechanism, wrong[i], &err), -1);
        ck_assert_msg(strncmp(err.text, expected, strlen(expected)) == 0, "%s", err.text);
    }
}

TEST(parts_are_left_out_by_name)
{
    ck_assert_int_eq(mechanism_set_without(&mechanism, "residual,mlp,mlp", &err), 0);
    ck_assert_uint_eq(mechanism.without, 1U << PART_RESIDUAL | 1U << PART_MLP);
    ck_assert(mechanism_lacks(&mechanism, PART_MLP));
    ck_assert(!mechanism_lacks(&mechanism, PART_NORM));
    expect_words("without mlp, without residual");
    ck_assert_int_eq(mechanism_set_without(&mechanism, "positions,norm", &err), 0);
    expect_words("without norm, without positions");
    static const char *const wrong[] = {"", "mlps", "mlp,", ",mlp", "mlp, norm", "all"};
    static const char *const found[] = {"", "mlps", "", "", " norm", "all"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[128];
        begin();
        snprintf(expected, sizeof expected,
                 "--without: expected one of mlp, norm, residual, positions, found '%s'", found[i]);
        ck_assert_int_eq(mechanism_set_without(&mechanism, wrong[i], &err), -1);
        ck_assert_msg(strncmp(err.text, expected, strlen(expected)) == 0, "%s", err.text);
    }
}

TEST(all_that_differs_is_told)
{
    mechanism.temperature = 0.5f;
    mechanism.dropout = 0.1f;
    ck_assert_int_eq(mechanism_set_attention(&mechanism, "window:2", &err), 0);
    ck_assert_int_eq(mechanism_set_scale(&mechanism, "sqrt", &err), 0);
    ck_assert_int_eq(mechanism_set_without(&mechanism, "norm", &err), 0);
    expect_words("attention window:2, scale sqrt, temperature 0.5, dropout 0.1 seed 7, "
                 "without norm");
}
