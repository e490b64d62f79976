#include "model/config.h"
#include "model/mechanism.h"
#include "lens/selection.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/family_sites.h"
#include "base/heap.h"

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

static uint64_t bit(int site)
{
    return (uint64_t)1 << site;
}

/* All that a GPT-2 has: the sentence's. */
static uint64_t all_bits(void)
{
    uint64_t bits = 0;
    for (int site = 0; site < SITE_COUNT; site++)
        if (site_rows[site].part == PART_SENTENCE && site != SITE_SOFTMAX && !is_family_site(site))
            bits |= bit(site);
    return bits;
}

TEST(sites_are_chosen_by_their_names)
{
    const struct {
        const char *list;
        uint64_t sites;
        bool tokens;
    } cases[] = {
        {"weights", bit(SITE_WEIGHTS), false},
        {"weights,context", bit(SITE_WEIGHTS) | bit(SITE_CONTEXT), false},
        {"logits,q,q,embedding", bit(SITE_LOGITS) | bit(SITE_Q) | bit(SITE_EMBEDDING), false},
        {"tokens", 0, true},
        {"k,tokens", bit(SITE_K), true},
        {"all", all_bits(), true},
        {"all,q", all_bits(), true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_int_eq(selection_sites(&selection, cases[i].list, &gpt2, &err), 0);
        ck_assert_uint_eq(selection.sites, cases[i].sites);
        ck_assert_int_eq(selection.tokens, cases[i].tokens);
    }
}

TEST(all_is_what_the_model_has)
{
    ck_assert_int_eq(selection_sites(&selection, "all", &attention, &err), 0);
    ck_assert_uint_eq(selection.sites, bit(SITE_EMBEDDING) | bit(SITE_Q) | bit(SITE_K) |
                                           bit(SITE_V) | bit(SITE_SCORES) | bit(SITE_MASKED) |
                                           bit(SITE_WEIGHTS) | bit(SITE_CONTEXT) |
                                           bit(SITE_ATTN_OUT));
}

TEST(a_site_that_is_none_is_refused_with_those_there_are)
{
    static const struct {
        const char *list;
        const char *found;
    } cases[] = {{"", ""},         {"weight", "weight"}, {"weights,", ""},
                 {",weights", ""}, {"q, k", " k"},       {"ALL", "ALL"},
                 {"q;k", "q;k"},   {"allq", "allq"},     {"tokens2", "tokens2"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[512];
        snprintf(
            expected, sizeof expected,
            "--show: expected one of tokens, embedding, q, k, v, scores, masked, weights, context, "
            "attn_out, value_weighted, norm_weighted, value_zeroing, rollout, all, found "
            "'%s'",
            cases[i].found);
        err_clear(&err);
        ck_assert_int_eq(selection_sites(&selection, cases[i].list, &attention, &err), -1);
        ck_assert_msg(strncmp(err.text, expected, strlen(expected)) == 0, "%s", err.text);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(a_site_that_the_model_lacks_is_refused)
{
    ck_assert_int_eq(selection_sites(&selection, "weights,ln_1", &attention, &err), -1);
    ck_assert_str_eq(err.text, "--show: a model of type \"attention\" has no 'ln_1'");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(a_site_of_another_mechanism_is_refused)
{
    struct config without = gpt2;
    without.mechanism.without = 1U << PART_MLP;
    ck_assert_int_eq(selection_sites(&selection, "softmax", &gpt2, &err), -1);
    ck_assert_str_eq(err.text, "--show: 'softmax' is there with --mask-method renormalise alone");
    err_clear(&err);
    ck_assert_int_eq(selection_sites(&selection, "q,mlp_act", &without, &err), -1);
    ck_assert_str_eq(err.text, "--show: 'mlp_act' is left out by --without mlp");
}

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

TEST(heads_are_chosen_like_layers)
{
    ck_assert_int_eq(selection_heads(&selection, "11,0-2", &gpt2, &arena, &err), 0);
    ck_assert_str_eq(chosen(selection.heads, selection.head_count), "0 1 2 11");
    ck_assert_int_eq(selection_heads(&selection, "12", &gpt2, &arena, &err), -1);
    ck_assert_str_eq(err.text,
                     "--head: expected numbers from 0 to 11 (or -12 to -1 from the end), ranges "
                     "such as 0-11, or all, found '12': the model has 12 heads");
}

TEST(all_heads_are_no_list)
{
    static const char *const lists[] = {NULL, "all"};
    for (size_t i = 0; i < COUNT(lists); i++) {
        ck_assert_int_eq(selection_heads(&selection, lists[i], &gpt2, &arena, &err), 0);
        ck_assert_ptr_null(selection.heads);
        ck_assert_uint_eq(selection.head_count, 12);
    }
    ck_assert_int_eq(selection_heads(&selection, "0-11", &gpt2, &arena, &err), 0);
    ck_assert_ptr_nonnull(selection.heads);
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

TEST(an_encoder_is_watched_in_its_own_layers)
{
    static const struct config uneven = {
        .kind = MODEL_TRANSFORMER, .n_encoder_layer = 3, .n_layer = 1, .final_norm = true};
    struct watch watch;
    ck_assert_int_eq(watch_init(&watch, &uneven, &arena, &err), 0);
    ck_assert_int_eq(selection_sites(&selection, "enc.q,cross_q,enc.ln_f", &uneven, &err), 0);
    ck_assert_int_eq(selection_layers(&selection, NULL, &uneven, &arena, &err), 0);
    selection_watch(&selection, &watch);
    for (int site = 0; site < SITE_COUNT; site++)
        for (size_t layer = 0; layer < 3; layer++)
            ck_assert_int_eq(watch_has(&watch, (enum site)site, layer),
                             site == SITE_ENC_Q || site == SITE_ENC_LN_F ||
                                 (site == SITE_CROSS_Q && layer == 0));
    ck_assert_uint_eq(selection_layers_of(&selection, SITE_ENC_Q).count, 3);
    ck_assert_uint_eq(selection_layers_of(&selection, SITE_CROSS_Q).count, 1);
    ck_assert_uint_eq(selection_layers_of(&selection, SITE_ENC_LN_F).count, 1);
}

TEST(a_selection_watches_its_sites_in_its_layers)
{
    struct watch watch;
    ck_assert_int_eq(watch_init(&watch, &gpt2, &arena, &err), 0);
    ck_assert_int_eq(selection_sites(&selection, "weights,logits", &gpt2, &err), 0);
    ck_assert_int_eq(selection_layers(&selection, "1,-1", &gpt2, &arena, &err), 0);
    selection_watch(&selection, &watch);
    for (int site = 0; site < SITE_COUNT; site++)
        for (size_t layer = 0; layer < gpt2.n_layer; layer++)
            ck_assert_int_eq(watch_has(&watch, (enum site)site, layer),
                             site == SITE_LOGITS ||
                                 (site == SITE_WEIGHTS && (layer == 1 || layer == 5)));
}

TEST(heads_are_watched_from_the_first_to_the_last)
{
    static const struct {
        const char *heads;
        size_t first, count;
    } cases[] = {{NULL, 0, 0}, {"all", 0, 0}, {"0", 0, 1}, {"3", 3, 1}, {"1,3", 1, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct watch watch;
        ck_assert_int_eq(watch_init(&watch, &gpt2, &arena, &err), 0);
        ck_assert_int_eq(selection_sites(&selection, "weights,context", &gpt2, &err), 0);
        ck_assert_int_eq(selection_heads(&selection, cases[i].heads, &gpt2, &arena, &err), 0);
        selection_watch(&selection, &watch);
        ck_assert_uint_eq(watch.first_head, cases[i].first);
        ck_assert_uint_eq(watch.head_count, cases[i].count);
    }
}

/* Of a site that is kept whole every head is looked at. */
TEST(a_site_that_is_whole_watches_every_head)
{
    struct watch watch;
    ck_assert_int_eq(watch_init(&watch, &gpt2, &arena, &err), 0);
    ck_assert_int_eq(selection_sites(&selection, "weights,context", &gpt2, &err), 0);
    ck_assert_int_eq(selection_heads(&selection, "1", &gpt2, &arena, &err), 0);
    selection.whole = (uint64_t)1 << SITE_CONTEXT;
    selection_watch(&selection, &watch);
    ck_assert_uint_eq(watch.head_count, 0);
}

TEST(tokens_alone_watch_nothing)
{
    struct watch watch;
    ck_assert_int_eq(watch_init(&watch, &gpt2, &arena, &err), 0);
    ck_assert_int_eq(selection_sites(&selection, "tokens", &gpt2, &err), 0);
    ck_assert_int_eq(selection_layers(&selection, NULL, &gpt2, &arena, &err), 0);
    selection_watch(&selection, &watch);
    ck_assert(!watch_from(&watch, SITE_EMBEDDING, 0));
}

TEST(an_allocation_that_fails_is_an_error)
{
    heap_fail_at(1, 1);
    ck_assert_int_eq(selection_layers(&selection, "0", &gpt2, &arena, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
    err_clear(&err);
    ck_assert_int_eq(selection_heads(&selection, "0", &gpt2, &arena, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
    err_clear(&err);
    ck_assert_int_eq(selection_sites(&selection, "none", &gpt2, &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    heap_fail_at(0, 0);
}
