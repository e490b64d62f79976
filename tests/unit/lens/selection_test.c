/* Tests of what --show, --layer, --head and --query select. Run in the repository's root. */
#include "lens/selection.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/small_models.h"
#include "lens/tokenized.h"
#include "model/layer.h"

/* Models with layers that differ: a dense MLP, then experts; MLPs with 8 or 16 channels; two layers
 * that keep a state before one with attention; only layers that keep a state. */
#define FAMILIES "tests/references/golden-families/"
static const char experts[] = FAMILIES "deepseek_v3";
static const char widths[] = FAMILIES "gemma4";
static const char mixers[] = FAMILIES "qwen3_5_text";
static const char states[] = FAMILIES "mamba";

static struct config config;
static struct arena arena;
static struct err err;
static struct selection selection;
static char said[512];

static void enter(void)
{
    config = (struct config){0};
    arena = (struct arena){0};
    err = (struct err){0};
    selection = (struct selection){0};
    *said = '\0';
}

static void leave(void)
{
    config_release(&config);
    arena_release(&arena);
}

FIXTURE(enter, leave)

/* Open a config: the path of a model, or JSON. */
static void use(const char *model)
{
    const struct folder_file file = {"config.json", model, strlen(model)};
    const struct folder made = {"made", &file, 1}, folder = {.path = model};
    ck_assert_msg(!config_open(&config, *model == '{' ? &made : &folder, &err) &&
                      !config_describe(&config, &err),
                  "%s", err.text);
}

static int show(const char *list)
{
    return selection_sites(&selection, list, &config, &err);
}

static void choose(const char *sites)
{
    ck_assert_msg(!show(sites), "%s", err.text);
}

/* The message of the failed call before, which is one of usage. */
static void refused(int failed, const char *message)
{
    ck_assert_msg(failed == -1, "not refused: %s", message);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_msg(strstr(err.text, message), "'%s' lacks '%s'", err.text, message);
    err_clear(&err);
}

/* "0,3": the numbers of a list; "all" without one. */
static const char *listed(const size_t *items, size_t count)
{
    static char text[128];
    size_t size = 0;
    *text = '\0';
    for (size_t i = 0; items && i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%zu", i ? "," : "", items[i]);
    return items ? text : "all";
}

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(a_range_has_both_ends_and_counts_from_the_end)
{
    enum { NO = -9 };
    static const struct {
        const char *text;
        size_t count; /* 0: unknown */
        ptrdiff_t first, last;
    } cases[] = {
        {"3", 5, 3, 3},
        {"-1", 5, 4, 4},
        {"-5", 5, 0, 0},
        {"0-2", 5, 0, 2},
        {"1-", 5, 1, 4},
        {"4-", 5, 4, 4},
        {"-3-", 5, 2, 4},
        {"-3--1", 5, 2, 4},
        {"1--2", 5, 1, 3},
        {"-4-2", 5, 1, 2},
        {"2-2", 5, 2, 2},
        {"5", 5, NO, 0},
        {"-6", 5, NO, 0},
        {"0-5", 5, NO, 0},
        {"5-", 5, NO, 0},
        {"3-1", 5, NO, 0},
        {"-1--3", 5, NO, 0},
        {"-1-0", 5, NO, 0},
        {"", 5, NO, 0},
        {"-", 5, NO, 0},
        {"x", 5, NO, 0},
        {"1x", 5, NO, 0},
        {"1-2-3", 5, NO, 0},
        {" 1", 5, NO, 0},
        {"1.0", 5, NO, 0},
        {"7", 0, 7, 7},
        {"-7", 0, -7, -7},
        {"2-9", 0, 2, 9},
        {"2-", 0, 2, -1},
        {"-3-2", 0, -3, 2},
        {"9-2", 0, NO, 0},
        {"-1--3", 0, NO, 0},
        {"x", 0, NO, 0},
        {"3", 0, 3, 3},
        {"99999999999999999999", 0, NO, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        ptrdiff_t first = 0, last = 0;
        bool found =
            selection_range(&first, &last, cases[i].text, strlen(cases[i].text), cases[i].count);
        ck_assert_msg(found == (cases[i].first != NO), "'%s' of %zu", cases[i].text,
                      cases[i].count);
        ck_assert_msg(!found || (first == cases[i].first && last == cases[i].last),
                      "'%s' of %zu is %td to %td", cases[i].text, cases[i].count, first, last);
    }
}

TEST(an_index_is_below_the_count_and_may_count_from_the_end)
{
    enum { NO = 99 };
    static const struct {
        const char *text;
        size_t index;
    } cases[] = {{"0", 0},   {"4", 4},    {"-1", 4},  {"-5", 0}, {"5", NO},
                 {"-6", NO}, {"1-2", NO}, {"1-", NO}, {"", NO},  {"all", NO}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t index = NO;
        bool found = selection_index(&index, cases[i].text, strlen(cases[i].text), 5);
        ck_assert_msg(found == (cases[i].index != NO) && index == cases[i].index, "'%s' is %zu",
                      cases[i].text, index);
    }
    size_t part = NO;
    ck_assert(selection_index(&part, "37", 1, 5)); /* the size ends the text */
    ck_assert_uint_eq(part, 3);
}

TEST(a_head_is_named_with_its_layer)
{
    static const struct stack stack = {.layers = 12, .heads = 8};
    static const char message[] = "--head: expected a head such as L1H3, with a layer from 0 to 11 "
                                  "and a head from 0 to 7, found '9.8'";
    static const char *const wrong[] = {"9.8",  "12.0", "9",     "9.",     ".6",    "9.6.1", "9.6,",
                                        "L9",   "L9H8", "L9.6",  "L9H",    "LH6",   "9H6",   "H6",
                                        "L9KV", "L9K1", "L9KV1", "L9H0-1", "L9H6x", "l",     ""};
    struct layer_head head;
    ck_assert_int_eq(selection_layer_head(&head, "--head", "9.-2,", 4, &stack, &err), 0);
    ck_assert_uint_eq(head.layer, 9);
    ck_assert_uint_eq(head.head, 6); /* the size ends the text */
    for (size_t i = 0; i < COUNT(wrong); i++) {
        err_clear(&err);
        ck_assert_int_eq(
            selection_layer_head(&head, "--head", wrong[i], strlen(wrong[i]), &stack, &err), -1);
        ck_assert_msg(i > 0 || strcmp(err.text, message) == 0, "%s", err.text);
    }
}

TEST_LOOP(heads_are_named_with_their_layers, 9)
{
    static const struct {
        const char *name;
        struct head_range range;
    } cases[] = {{"L1H3", {{1, 1}, {3, 3}, false, false, false}},
                 {"l1h3", {{1, 1}, {3, 3}, false, false, false}},
                 {"1.3", {{1, 1}, {3, 3}, false, false, false}},
                 {"L-1H-1", {{11, 11}, {7, 7}, false, false, false}},
                 {"L1H2-4", {{1, 1}, {2, 4}, false, false, false}},
                 {"0-1.2-", {{0, 1}, {2, 7}, false, false, false}},
                 {"L1", {{1, 1}, {0, 7}, false, true, false}},
                 {"1", {{1, 1}, {0, 7}, true, true, false}},
                 {"L1KV0", {{1, 1}, {0, 0}, false, false, true}}};
    struct head_range found;
    ck_assert(head_range_read(&found, cases[_i].name, strlen(cases[_i].name), 12, 8));
    ck_assert_mem_eq(found.layers, cases[_i].range.layers, sizeof found.layers);
    ck_assert_mem_eq(found.heads, cases[_i].range.heads, sizeof found.heads);
    ck_assert_int_eq(found.is_bare, cases[_i].range.is_bare);
    ck_assert_int_eq(found.is_whole, cases[_i].range.is_whole);
    ck_assert_int_eq(found.of_keys, cases[_i].range.of_keys);
}

TEST_LOOP(heads_of_one_layer_are_split_into_layer_and_heads, 7)
{
    static const struct {
        const char *layers, *heads, *layer_found, *heads_found;
    } cases[] = {
        {NULL, "L1H3", "1", "3"},
        {NULL, "L1H2,1.0-1", "1", "2,0,1"},
        {NULL, "L1", "1", "0,1,2,3"},
        {"1", "0,2", "1", "0,2"},
        {"0-1", "all", "0-1", "all"},
        {"1", "L1H3", NULL, "cannot be combined"},
        {NULL, "L1H3,L0H2", NULL, "--head: expected heads of one layer, found 'L1H3,L0H2'"}};
    static const struct stack stack = {.layers = 2, .heads = 4};
    const char *layers = cases[_i].layers, *heads = cases[_i].heads;
    int failed = selection_split_heads(&layers, &heads, &stack, &arena, &err);
    if (!cases[_i].layer_found) {
        refused(failed, cases[_i].heads_found);
        return;
    }
    ck_assert_str_eq(layers, cases[_i].layer_found);
    ck_assert_str_eq(heads, cases[_i].heads_found);
}

TEST(a_list_of_indices_ascends_and_has_each_once)
{
    static const struct {
        const char *list, *found;
    } cases[] = {{"3,0-1,1", "0,1,3"}, {"-1", "4"},    {"2-,2", "2,3,4"},
                 {"0-4", "0,1,2,3,4"}, {"all", "all"}, {NULL, "all"}};
    const struct index_range range = {"--query", "text", "token", 5};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t *items = NULL;
        size_t count = 0;
        ck_assert(!selection_indices(&items, &count, cases[i].list, &range, &arena, &err));
        ck_assert_str_eq(listed(items, count), cases[i].found);
        ck_assert(items || count == 5);
    }
}

TEST(a_wrong_index_is_refused_by_what_there_is)
{
    static const struct {
        const char *option, *list;
        size_t count;
        const char *message;
    } cases[] = {
        {"--query", "5", 5,
         "--query: expected numbers from 0 to 4 (or -5 to -1 from the end), ranges such as 0-4, or "
         "all, found '5': the text has 5 tokens"},
        {"--query", "0,,1", 5, "found ''"},
        {"--query", "0,9,x", 5, "found '9'"},
        {"--query", "1", 1, "--query: expected 0 or all, found '1': the text has one token"},
        {"--head", "x", 5,
         "ranges such as 0-4, names such as L1H3, or all, found 'x': the text has"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct index_range range = {cases[i].option, "text", "token", cases[i].count};
        const size_t *items = NULL;
        size_t count = 0;
        refused(selection_indices(&items, &count, cases[i].list, &range, &arena, &err),
                cases[i].message);
    }
}

/* --- sites ------------------------------------------------------------------------------------ */

TEST(names_of_sites_are_a_set_and_tokens_are_a_table)
{
    use(small_gpt2);
    choose("tokens,ln_f");
    choose("weights,q,weights"); /* not added to the list before */
    const struct site_set two = SITE_SET(SITE_WEIGHTS, SITE_Q);
    ck_assert_mem_eq(&selection.sites, &two, sizeof two);
    ck_assert(!selection.tokens);
    choose("entropy,tokens");
    ck_assert(selection.tokens && site_set_has(selection.sites, SITE_ENTROPY));
    choose("all");
    ck_assert(selection.tokens && site_set_has(selection.sites, SITE_LOGITS));
    ck_assert(!site_set_has(selection.sites, SITE_Q_PRE)); /* the model has none */
    ck_assert(!site_set_has_effective(selection.sites));
}

/* Maps of mixers' norms and states after each token take much memory. */
TEST(all_leaves_out_what_is_computed_only_by_name)
{
    const enum site norm = SITE_OF(BRANCH_MIXER, SITE_MAP_NORM);
    use(mixers);
    choose("all");
    ck_assert(!site_set_has(selection.sites, norm));
    ck_assert(site_set_has(selection.sites, SITE_OF(BRANCH_MIXER, SITE_STATE)));
    choose("all,mix_map_norm");
    ck_assert(site_set_has(selection.sites, norm));
}

TEST(a_site_that_cannot_be_selected_is_refused_with_the_way_out)
{
    static const struct {
        const char *model, *list, *message;
    } cases[] = {
        {small_gpt2, "weight", "--show: expected one of tokens, embedding, resid_pre, ln_1, q,"},
        {small_gpt2, "weight", "mask, visible, all, found 'weight': did you mean 'weights'?"},
        {small_gpt2, "weights,", "found ''"},
        {small_gpt2, "attention_probs", "found 'attention_probs'"},
        {small_gpt2, "pattern", "found 'pattern': did you mean 'weights'?"},
        {small_gpt2, "hidden_states", "found 'hidden_states': did you mean 'resid_post'?"},
        {small_gpt2, "ffn", "found 'ffn': did you mean 'mlp_out'?"},
        {small_gpt2, "z", "found 'z': did you mean 'context'?"},
        {small_gpt2, "prediction", ": 'lens' and 'generate --logprobs' show predictions"},
        {small_gpt2, "softmax", "--show: 'softmax' exists only with --mask-after"},
        {small_gpt2, "q_pre", "--show: a model of type \"gpt2\" has no 'q_pre'"},
        {small_gpt2, "enc.weights", "a model of type \"gpt2\" has no 'enc.weights'"},
        {states, "weights", "has no 'weights': its layers keep a state: see 'mix_map'"},
    };
    const char *opened = NULL;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].model != opened) {
            config_release(&config);
            use(opened = cases[i].model);
        }
        refused(show(cases[i].list), cases[i].message);
    }
    ck_assert_int_eq(show("q"), -1); /* the hint to mix_map is only for weights */
    ck_assert_ptr_null(strstr(err.text, "mix_map"));
}

/* Effective attention and sinks are shown, but are no values that the pass goes on with. */
TEST(an_option_of_one_site_takes_no_computed_one)
{
    static const char *const shown[] = {"entropy", "rollout", "mask"};
    enum site site;
    use(small_gpt2);
    for (size_t i = 0; i < COUNT(shown); i++) {
        struct site_word word = {"--edit 'x'", shown[i], strlen(shown[i]), true};
        ck_assert(!selection_site(&site, &word, &config, &err));
        word.of_list = false;
        refused(selection_site(&site, &word, &config, &err), "--edit 'x': expected one of emb");
    }
    const struct site_word word = {"--over", "tokens", 6, false};
    refused(selection_site(&site, &word, &config, &err), "logits, found 'tokens'");
    const struct site_word part = {"--over", "weights=0", 7, false};
    ck_assert(!selection_site(&site, &part, &config, &err));
    ck_assert_int_eq(site, SITE_WEIGHTS);
}

/* --- names of other programs ------------------------------------------------------------------ */

static void note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(said + strlen(said), sizeof said - strlen(said), format, values);
    va_end(values);
}

TEST(a_name_of_another_program_is_ours_with_its_layer)
{
    static const struct {
        const char *name, *site; /* NULL: the name is ours, or unknown */
        int layer;
        const char *note;
    } cases[] = {
        {"blocks.1.attn.hook_pattern", "weights", 1,
         "'blocks.1.attn.hook_pattern' is 'h.1.weights' here"},
        {"transformer.h.0.attn.c_proj", "attn_out", 0,
         "'transformer.h.0.attn.c_proj' is 'h.0.attn_out' here"},
        {"blocks.9.attn.hook_pattern", "weights", 9, ""}, /* the layer is refused later */
        {"h.1.weights", "weights", 1, ""},
        {"weights", NULL, 0, ""},
        {"all", NULL, 0, ""},
        {"tokens", NULL, 0, ""},
        {"wieghts", NULL, 0, ""},
    };
    use(small_gpt2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct site_word word = {"--show", cases[i].name, strlen(cases[i].name), true};
        enum site site = SITE_PASS_END;
        int layer = -1;
        *said = '\0';
        bool found = selection_other_name(&site, &layer, &word, &config, note, &err);
        ck_assert_msg(found == (cases[i].site != NULL), "%s: %s", cases[i].name, err.text);
        ck_assert_str_eq(said, cases[i].note);
        ck_assert(!found || strcmp(site_name(site), cases[i].site) == 0);
        ck_assert(!found || layer == cases[i].layer);
    }
}

TEST(layers_of_translated_names_are_the_list_unless_there_is_one)
{
    static const struct {
        const char *show, *layers, *then_show, *then_layers; /* NULL: none */
    } cases[] = {
        {"blocks.1.hook_mlp_out,tokens", NULL, "mlp_out,tokens", "1"},
        {"h.1.q,blocks.0.attn.hook_z", NULL, "q,context", "1,0"},
        {"h.1.q", "all", "q", "all"},
        {"weights,wrong", NULL, "weights,wrong", NULL},
        {"ln_f", "0", "ln_f", "0"},
    };
    use(small_gpt2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *list = cases[i].show, *layers = cases[i].layers;
        ck_assert(!selection_translate(&list, &layers, &config, NULL, &arena, &err));
        ck_assert_str_eq(list, cases[i].then_show);
        ck_assert_pstr_eq(layers, cases[i].then_layers);
    }
}

TEST(an_option_of_one_site_takes_no_layer_in_its_name)
{
    const char *none = NULL, *own = "q", *other = "blocks.1.attn.hook_z", *wrong = "wrong";
    use(small_gpt2);
    ck_assert(!selection_translate_one(&none, "--site", &config, &err) && !none);
    ck_assert(!selection_translate_one(&own, "--site", &config, &err));
    ck_assert(!selection_translate_one(&wrong, "--site", &config, &err)); /* is refused later */
    ck_assert_str_eq(own, "q");
    refused(selection_translate_one(&other, "--site", &config, &err),
            "--site: expected 'context' and --layer 1, found 'blocks.1.attn.hook_z'");
    other = "transformer.ln_f";
    ck_assert_msg(!selection_translate_one(&other, "--site", &config, &err), "%s", err.text);
    ck_assert_str_eq(other, "ln_f");
}

/* --- layers ----------------------------------------------------------------------------------- */

TEST(layers_are_those_of_the_stacks_of_the_sites)
{
    static const struct {
        const char *model, *sites, *list, *text, *source;
    } cases[] = {
        {small_gpt2, "weights", NULL, "0,1", "all"},
        {small_gpt2, "weights", "-1,-1", "1", "all"},
        {small_gpt2, "ln_f", "0", "0", "all"}, /* no site is in a layer */
        {small_encoder, "weights,ln_f", "1", "1", "all"},
        {small_encoder, "enc.weights", "0", "all", "0"},
        {small_encoder, "enc.weights,cross_weights", "all", "0,1", "0,1"},
        {experts, "router", NULL, "0,1", "all"},
        {experts, "router", "0-1", "0,1", "all"}, /* one of them has it */
        {experts, "all", "0", "0", "all"},        /* `all` asks for what there is */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        config_release(&config);
        use(cases[i].model);
        choose(cases[i].sites);
        ck_assert_msg(!selection_layers(&selection, cases[i].list, &config, &arena, &err), "%s: %s",
                      cases[i].sites, err.text);
        ck_assert_str_eq(listed(selection.layers.items, selection.layers.count), cases[i].text);
        ck_assert_str_eq(listed(selection.encoder_layers.items, selection.encoder_layers.count),
                         cases[i].source);
    }
}

TEST(a_site_outside_of_layers_is_in_layer_0)
{
    use(small_encoder);
    choose("enc.weights,weights,ln_f");
    ck_assert(!selection_layers(&selection, "1", &config, &arena, &err));
    selection.encoder_layers.count = 0;
    const struct layers outside = selection_layers_of(&selection, SITE_LN_F);
    ck_assert_str_eq(listed(outside.items, outside.count), "0");
    ck_assert_uint_eq(selection_layers_of(&selection, SITE_WEIGHTS).count, 1);
    ck_assert_uint_eq(selection_layers_of(&selection, SITE_OF(BRANCH_SOURCE, SITE_Q)).count, 0);
}

TEST(layers_that_lack_a_site_are_refused)
{
    static const struct {
        const char *model, *sites, *list, *message;
    } cases[] = {
        {small_gpt2, "q", "2", "--layer: expected numbers from 0 to 1"},
        {small_gpt2, "q", "2", "found '2': the model has 2 layers"},
        {small_encoder, "enc.q", "2", "found '2': the encoder has 2 layers"},
        {small_encoder, "cross_q", "2", "found '2': the decoder has 2 layers"},
        {experts, "weights,router", "0", "--show: layer 0 has no 'router': it has no experts"},
        {mixers, "weights", "0,1",
         "--show: layer 0 has no 'weights': layer 2 is the first with attention"},
        {mixers, "mix_map", "2", "--show: layer 2 has no 'mix_map'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        config_release(&config);
        use(cases[i].model);
        choose(cases[i].sites);
        refused(selection_layers(&selection, cases[i].list, &config, &arena, &err),
                cases[i].message);
    }
}

TEST(the_last_layers_are_those_that_have_the_sites)
{
    static const struct {
        const char *model, *sites, *last;
    } cases[] = {{small_gpt2, "weights", "-1"},      {mixers, "weights", "2"},
                 {mixers, "mix_map", "1"},           {mixers, "mix_map,resid_post", "1"},
                 {mixers, "mix_map,weights", "1,2"}, {mixers, "logits", "2"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        config_release(&config);
        use(cases[i].model);
        choose(cases[i].sites);
        ck_assert_pstr_eq(selection_last_layers(&selection, &config, &arena, &err), cases[i].last);
    }
}

/* --- heads and channels ----------------------------------------------------------------------- */

TEST(heads_are_query_heads_of_all_sites)
{
    static const struct {
        const char *model, *sites, *list, *found, *message;
    } cases[] = {
        {small_gpt2, "weights", NULL, "all", NULL},
        {small_gpt2, "weights", "all", "all", NULL},
        {small_gpt2, "weights", "2,0", "0,2", NULL},
        {small_self, "k", "5", "5", NULL}, /* of two kv_heads */
        {small_self, "k,weights", "6", NULL, "found '6': the model has 6 heads"},
        {mixers, "mix_map", "3", "3", NULL},
        {mixers, "weights,mix_map", "3", NULL, "--head: expected numbers from 0 to 1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        config_release(&config);
        use(cases[i].model);
        choose(cases[i].sites);
        int failed = selection_heads(&selection, cases[i].list, &config, &arena, &err);
        if (cases[i].message)
            refused(failed, cases[i].message);
        else
            ck_assert_str_eq(listed(selection.heads, selection.head_count), cases[i].found);
    }
}

TEST(channels_are_of_a_site_with_the_same_width_in_all_layers)
{
    enum site site;
    use(widths);
    ck_assert_msg(
        !selection_of_channels(&selection, &site, "mlp_act", "0-1", &config, &arena, &err), "%s",
        err.text);
    ck_assert_int_eq(site, SITE_MLP_ACT);
    ck_assert_str_eq(listed(selection.layers.items, selection.layers.count), "0,1");
    ck_assert(!selection_of_channels(&selection, &site, "mlp_out", NULL, &config, &arena, &err));
    refused(selection_of_channels(&selection, &site, "mlp_act", NULL, &config, &arena, &err),
            "--layer: expected layers with as many channels of 'mlp_act' as layer 0, 8, found "
            "layer 2 with 16");
    refused(selection_of_channels(&selection, &site, "weights", NULL, &config, &arena, &err),
            "--site: expected one of resid_pre, ");
    refused(selection_of_channels(&selection, &site, "ln_f", NULL, &config, &arena, &err),
            "found 'ln_f'");
}

/* --- queries and what is watched -------------------------------------------------------------- */

TEST(queries_of_a_text_replace_those_of_all)
{
    struct tokenized text = {.count = 5};
    ck_assert_ptr_null(selection_queries(&selection, &text));
    ck_assert_uint_eq(selection_query_count(&selection, &text), 5);
    text.queries = "1"; /* by a text's own list, only where queries are selected */
    ck_assert_ptr_null(selection_queries(&selection, &text));
    selection.queries = "@verb";
    ck_assert_str_eq(selection_queries(&selection, &text), "1");
    ck_assert_uint_eq(selection_query_count(&selection, &text), 1);
    text.queries = NULL;
    selection.queries = "0-2,-1";
    ck_assert_uint_eq(selection_query_count(&selection, &text), 4);
    selection.queries = "9"; /* wrong: all */
    ck_assert_uint_eq(selection_query_count(&selection, &text), 5);
}

TEST(sites_of_keys_the_encoder_and_the_first_token_have_no_queries)
{
    static const enum site with[] = {SITE_WEIGHTS, SITE_Q, SITE_RESID_POST, SITE_LOGITS,
                                     SITE_OF(BRANCH_CROSS, SITE_WEIGHTS)};
    static const enum site without[] = {SITE_K,
                                        SITE_V,
                                        SITE_POOLED,
                                        SITE_OF(BRANCH_SOURCE, SITE_WEIGHTS),
                                        SITE_OF(BRANCH_CROSS, SITE_K),
                                        SITE_OF(BRANCH_MIXER, SITE_STATE)};
    for (size_t i = 0; i < COUNT(with); i++)
        ck_assert_msg(selection_has_queries(&selection, with[i]), "%s", site_name(with[i]));
    for (size_t i = 0; i < COUNT(without); i++)
        ck_assert_msg(!selection_has_queries(&selection, without[i]), "%s", site_name(without[i]));
    selection.all_tokens = SITE_SET(SITE_Q);
    ck_assert(!selection_has_queries(&selection, SITE_Q));
}

TEST(heads_from_the_first_to_the_last_are_watched)
{
    struct watch watch;
    use(small_gpt2);
    choose("weights,ln_f");
    ck_assert(!selection_layers(&selection, "1", &config, &arena, &err));
    ck_assert(!watch_init(&watch, &config, &arena, &err));
    selection.last_logits = true;
    selection_watch(&selection, &watch);
    ck_assert(watch_has(&watch, SITE_WEIGHTS, 1) && !watch_has(&watch, SITE_WEIGHTS, 0));
    ck_assert(watch_has(&watch, SITE_LN_F, 0) && !watch_has(&watch, SITE_Q, 1));
    ck_assert(watch.last_logits);
    ck_assert_uint_eq(watch.head_count, 0); /* all */
    selection.queries = "0";                /* logits of this token are needed */
    ck_assert(!selection_heads(&selection, "1,2", &config, &arena, &err));
    selection_watch(&selection, &watch);
    ck_assert(!watch.last_logits);
    ck_assert_uint_eq(watch.first_head, 1);
    ck_assert_uint_eq(watch.head_count, 2);
    ck_assert(!watch_init(&watch, &config, &arena, &err));
    selection.whole = SITE_SET(SITE_WEIGHTS);
    selection_watch(&selection, &watch);
    ck_assert_uint_eq(watch.head_count, 0);
}
