#include "measure/finding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "measure/trials.h"
#include "model/layer.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source pair;

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static void read_text(const char *model, const char *text, const char *source)
{
    const struct input input = {.text = text, .size = strlen(text)};
    const struct input other = {.text = source, .size = source ? strlen(source) : 0};
    ck_assert_msg(!viewer_open(&viewer, model, 1, &err), "%s", err.text);
    ck_assert_msg(!viewer.tokenizer || !tokenizer_add_special(viewer.tokenizer, &err), "%s",
                  err.text);
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, source ? &other : NULL, &arena, &err), "%s",
                  err.text);
}

static struct findings find(double products)
{
    const struct finding_plan plan = {&viewer, &pair, products};
    struct findings found;
    struct memory memory = {0};
    findings_add_memory(&memory, &plan);
    ck_assert_double_ge(memory.during, 0);
    ck_assert_msg(!findings_make(&found, &plan, &arena, &err), "%s", err.text);
    return found;
}

/* The findings of texts of the bundled models, by a program in JavaScript that read the weights of
 * `attn-cli page` and tried arrows with `--edit 'scores[query=Q,key=K] = -1000'`.
 * D is -1 where it had only a bound: the token was not among the 30 most likely ones. */
static const struct told {
    const char *model, *text, *source;
    size_t count;
    struct {
        enum finding_kind kind;
        size_t layer, head, query, key;
        double weight, s, d;
    } items[FINDINGS_MOST];
} expected[] = {
    {"tiny",
     "The keys to the cabinet",
     NULL,
     2,
     {
         {FINDING_ACTS, 1, 3, 4, 1, 0.94280, 0.70895, 9.6658},
         {FINDING_ACTS, 0, 1, 4, 3, 0.95484, 0.49787, 2.0507},
     }},
    {"tiny",
     "The key to the cabinets",
     NULL,
     2,
     {
         {FINDING_ACTS, 1, 3, 4, 1, 0.91735, 0.46557, 6.6700},
         {FINDING_ACTS, 0, 1, 4, 3, 0.95840, 0.60763, 0.2171},
     }},
    {"tiny",
     "red fox green boat small lamp old door red fox green boat small lamp old",
     NULL,
     1,
     {
         {FINDING_ACTS, 1, 0, 14, 7, 0.72919, 3.11711, -1},
     }},
    {"tiny", "The cat sat on the mat because it was", NULL, 0, {{0}}},
    {"tiny", "Once upon a time there was a little", NULL, 0, {{0}}},
    {"tiny",
     "Life is short, eat dessert first",
     NULL,
     2,
     {
         {FINDING_ACTS, 0, 3, 6, 3, 0.49937, 1.18488, 0.5035},
         {FINDING_LOOKS, 1, 3, 6, 2, 0.81210, 2.60729, 0.0702},
     }},
    {"roles",
     "The chicken didn't cross the road because it was too tired.",
     NULL,
     4,
     {
         {FINDING_LOOKS, 1, 0, 8, 2, 0.99748, 4.88863, NAN},
         {FINDING_LOOKS, 1, 1, 4, 2, 1.00000, 3.65956, NAN},
         {FINDING_LOOKS, 1, 2, 4, 6, 0.99992, 3.65914, NAN},
         {FINDING_LOOKS, 0, 3, 8, 11, 0.88570, 2.86293, NAN},
     }},
    {"roles",
     "The chicken didn't cross the road because it was too wide.",
     NULL,
     3,
     {
         {FINDING_LOOKS, 1, 0, 8, 6, 0.97607, 3.56000, NAN},
         {FINDING_LOOKS, 1, 1, 4, 2, 1.00000, 3.65956, NAN},
         {FINDING_LOOKS, 1, 2, 4, 6, 0.99990, 3.65908, NAN},
     }},
    {"roles",
     "I walked along the pond, and noticed that one of the trees along the bank had fallen into "
     "the water.",
     NULL,
     2,
     {
         {FINDING_LOOKS, 1, 3, 16, 5, 0.99995, 4.63563, NAN},
         {FINDING_LOOKS, 1, 1, 2, 1, 0.98595, 3.11289, NAN},
     }},
    {"roles",
     "机器人没有过马路，因为它太累了。",
     NULL,
     4,
     {
         {FINDING_LOOKS, 1, 0, 7, 1, 0.99979, 4.86536, NAN},
         {FINDING_LOOKS, 1, 1, 3, 1, 1.00000, 3.58937, NAN},
         {FINDING_LOOKS, 0, 3, 7, 9, 0.90771, 3.18114, NAN},
         {FINDING_LOOKS, 1, 2, 3, 4, 0.99995, 3.00421, NAN},
     }},
    {"translate",
     "<s> le petit chat noir voit une vache blanche",
     "the small black cat sees a white cow",
     1,
     {
         {FINDING_ACTS, 0, 0, 3, 2, 0.90111, 2.34387, 17.9662},
     }},
    {"translate",
     "<s> une souris blanche suit le grand loup gris",
     "a white mouse follows the big grey wolf",
     1,
     {
         {FINDING_ACTS, 0, 0, 6, 7, 0.93178, 2.35459, 18.4546},
     }},
    {"translate-zh",
     "<s> 那只 猫 坐 在 垫子 上",
     "the cat sat on the mat",
     1,
     {
         {FINDING_ACTS, 0, 0, 4, 5, 0.99378, 2.45245, 11.0450},
     }},
    {"cloze",
     "the [MASK] barked at the cat.",
     NULL,
     2,
     {
         {FINDING_ACTS, 1, 2, 2, 4, 0.74511, 0.99428, 13.7693},
         {FINDING_ACTS, 1, 1, 2, 6, 0.44094, 0.60291, 0.1553},
     }},
    {"cloze",
     "The keys to the cabinet [MASK] old.",
     NULL,
     2,
     {
         {FINDING_ACTS, 1, 2, 6, 2, 0.87967, 2.03667, 0.5658},
         {FINDING_LOOKS, 1, 1, 6, 5, 0.91225, 1.16580, -0.0001},
     }},
    {"cloze",
     "The cat sat on the mat.",
     NULL,
     3,
     {
         {FINDING_LOOKS, 1, 3, 6, 4, 0.97445, 3.06191, NAN},
         {FINDING_LOOKS, 0, 2, 4, 6, 0.60725, 1.63952, NAN},
         {FINDING_LOOKS, 1, 2, 3, 6, 0.60868, 1.22739, NAN},
     }},
    {"recall",
     "cat red dog blue cat green cat",
     NULL,
     1,
     {
         {FINDING_LOOKS, 0, 0, 6, 5, 0.99999, 2.37452, NAN},
     }},
    {"tiny", "x", NULL, 0, {{0}}},
    {"tiny", "Tom and Ann went home. Ann gave the book to", NULL, 0, {{0}}},
    {"life", "Life is short, eat dessert first", NULL, 0, {{0}}},
    {"recall",
     "dog blue bird red the dog",
     NULL,
     1,
     {
         {FINDING_LOOKS, 0, 0, 5, 1, 1.00000, 3.61471, NAN},
     }},
    {"tiny", "The dogs near the house", NULL, 0, {{0}}},
    {"tiny", "The dog near the houses", NULL, 0, {{0}}},
    {"tiny",
     "The boy kicked the ball and the ball",
     NULL,
     1,
     {
         {FINDING_ACTS, 1, 1, 14, 11, 0.90050, 3.22309, -1},
     }},
    {"tiny", "The keys to the cabinet are old. The key to the cabinet", NULL, 0, {{0}}},
    {"roles",
     "小鸡没有过马路，因为它太累了。",
     NULL,
     4,
     {
         {FINDING_LOOKS, 1, 0, 7, 1, 0.99963, 4.86431, NAN},
         {FINDING_LOOKS, 1, 1, 3, 1, 0.99999, 3.58934, NAN},
         {FINDING_LOOKS, 0, 3, 7, 9, 0.90769, 3.18102, NAN},
         {FINDING_LOOKS, 1, 2, 3, 4, 0.99995, 3.00422, NAN},
     }},
    {"roles",
     "小鸡没有过马路，因为它太宽了。",
     NULL,
     4,
     {
         {FINDING_LOOKS, 1, 0, 7, 4, 0.99870, 4.05216, NAN},
         {FINDING_LOOKS, 1, 1, 3, 1, 0.99999, 3.58935, NAN},
         {FINDING_LOOKS, 1, 2, 3, 4, 0.99995, 3.00420, NAN},
         {FINDING_LOOKS, 0, 3, 7, 9, 0.86397, 2.96628, NAN},
     }},
    {"roles",
     "The keys to the cabinet are on the table.",
     NULL,
     2,
     {
         {FINDING_LOOKS, 1, 1, 6, 2, 0.99977, 4.33595, NAN},
         {FINDING_LOOKS, 0, 3, 8, 7, 0.94988, 2.17766, NAN},
     }},
    {"roles", "Banana zebra quick.", NULL, 0, {{0}}},
    {"roles",
     "苹果公司昨天发布了最新款的智能眼镜。",
     NULL,
     4,
     {
         {FINDING_LOOKS, 1, 2, 3, 8, 0.99995, 4.51113, NAN},
         {FINDING_LOOKS, 1, 1, 3, 1, 1.00000, 3.51140, NAN},
         {FINDING_LOOKS, 0, 2, 3, 2, 0.99995, 2.92624, NAN},
         {FINDING_LOOKS, 0, 3, 1, 3, 0.56292, 1.35307, NAN},
     }},
    {"cloze",
     "the keys to the cabinet [MASK] old.",
     NULL,
     2,
     {
         {FINDING_ACTS, 1, 2, 6, 2, 0.87967, 2.03667, 0.5658},
         {FINDING_LOOKS, 1, 1, 6, 5, 0.91225, 1.16580, -0.0001},
     }},
    {"cloze",
     "The cat [MASK] on the mat.",
     NULL,
     1,
     {
         {FINDING_ACTS, 1, 0, 3, 4, 0.98493, 0.26579, 0.2906},
     }},
    {"cloze",
     "Tom asked Ann for a [MASK].",
     NULL,
     1,
     {
         {FINDING_LOOKS, 1, 3, 7, 5, 0.83194, 2.61881, 0.5022},
     }},
    {"translate-zh",
     "<s> 那只 小 狗 看见 那只 黑 鸟",
     "the small dog sees the black bird",
     1,
     {
         {FINDING_ACTS, 0, 0, 4, 4, 0.99424, 1.62227, -1},
     }},
};

TEST_LOOP(findings_are_those_of_the_trial, COUNT(expected))
{
    const struct told *row = &expected[_i];
    read_text(row->model, row->text, row->source);
    const struct findings found = find(5e9);
    ck_assert_msg(found.count == row->count, "%s: '%s': %zu findings, expected %zu", row->model,
                  row->text, found.count, row->count);
    for (size_t i = 0; i < found.count; i++) {
        const struct finding *one = &found.items[i];
        ck_assert_int_eq(one->kind, row->items[i].kind);
        ck_assert_uint_eq(one->layer, row->items[i].layer);
        ck_assert_uint_eq(one->head, row->items[i].head);
        ck_assert_uint_eq(one->query, row->items[i].query);
        ck_assert_uint_eq(one->key, row->items[i].key);
        ck_assert_double_eq_tol(one->weight, row->items[i].weight, 1e-4);
        ck_assert_double_eq_tol(one->s, row->items[i].s, 1e-4);
        ck_assert_int_eq(isnan(one->d) != 0, isnan(row->items[i].d) != 0);
        if (row->items[i].d == -1)
            ck_assert_double_ge(one->d, 5);
        else if (!isnan(one->d))
            ck_assert_double_eq_tol(one->d, row->items[i].d, 2e-3);
    }
}

/* What the findings of texts say in words. */
static const struct words {
    const char *model, *text, *source, *language, *words;
} words[] = {
    {"tiny", "The keys to the cabinet", NULL, NULL,
     "After \"cabinet\" the model says \"are\" (> 99.9 %).\n"
     "Head L1H3 looks back at \"keys\" (94 %).\n"
     "If \"cabinet\" could not look at \"keys\", the model would say \"is\" (99.9 %): --knockout "
     "4:1\n"
     "Also: \"cabinet\" → \"the\" (L0H1)."},
    {"tiny", "Life is short, eat dessert first", NULL, NULL,
     "After \"first\" the model says \".\" (98 %).\n"
     "Head L0H3 looks back at \",\" (50 %).\n"
     "If \"first\" could not look at \",\", \".\" would fall to 69 %: --knockout 6:3\n"
     "Also: \"first\" → \"short\" (L1H3)."},
    {"tiny", "Once upon a time there was a little", NULL, NULL,
     "After \"le\" the model is not sure: its best guess is \"␣\" (0.3 %).\n"
     "No head stands out here."},
    {"tiny", "The cat sat on the mat because it was", NULL, NULL,
     "After \"was\" the model says \"too\" (> 99.9 %).\n"
     "No head looks more than usual at one word that this needs."},
    {"tiny", "river lamp cake tree road fox river lamp cake tree road", NULL, NULL,
     "After \"road\" the model is not sure: its best guess is \"fox\" (7 %).\n"
     "Head L1H1 looks back at \"fox\" (39 %)."},
    {"roles", "The robot is broken. It is old.", NULL, NULL,
     "\"it\" looks back at \"robot\" (99 %): head L1H0.\n"
     "Also: \"is\" → \"robot\" (L1H1), \"it\" → \"old\" (L0H3)."},
    {"cloze", "The keys to the cabinet [MASK] old.", NULL, NULL,
     "For [MASK] the model says \"are\" (> 99.9 %).\n"
     "Head L1H2 looks back at \"keys\" (88 %).\n"
     "If [MASK] could not look at \"keys\", \"are\" would fall to 68 %: --knockout 6:2\n"
     "Also: [MASK] → \"cabinet\" (L1H1)."},
    {"cloze", "The lamp near the windows [MASK] broken.", NULL, NULL,
     "For [MASK] the model says \"is\" (> 99.9 %).\n"
     "Head L1H2 looks back at \"lamp\" (92 %).\n"
     "The prediction does not need it: without it \"is\" has 95 %.\n"
     "Also: [MASK] → \"windows\" (L1H1)."},
    {"cloze", "The book that the farmer forgot [MASK] the cabinets is clean.", NULL, NULL,
     "For [MASK] the model says \"behind\" (19 %).\n"
     "Head L1H3 looks back at \"farmer\" (86 %).\n"
     "If [MASK] could not look at \"farmer\", the model would say \"beside\" (19 %): --knockout "
     "7:5\n"
     "Also: [MASK] → \"cabinets\" (L0H2)."},
    {"translate", "<s> le petit chat noir dort", "the small black cat sleeps", NULL,
     "To write \"noir\" the model looks at \"black\" (97 %): head L0H0.\n"
     "If it could not look at \"black\", it would write \"dort\" (99.8 %): --edit "
     "'cross_scores[query=3,key=2] = -1000'"},
    {"recall", "cat red dog blue cat green cat", NULL, NULL,
     "After \"cat\" the model says \"green\" (78 %).\n"
     "The state of head L0H0 gives back mostly what it stored at \"green\" (> 99.9 %)."},
    {"life", "Life is short", NULL, NULL,
     "This model is not trained: its numbers show the computation, not language."},
    {"tiny", "The keys to the cabinet", NULL, "zh",
     "在 \"cabinet\" 之后，模型预测 \"are\"（> 99.9 %）。\n"
     "头 L1H3 回看 \"keys\"（94 %）。\n"
     "如果 \"cabinet\" 看不到 \"keys\"，模型就会预测 \"is\"（99.9 %）: --knockout 4:1\n"
     "还有：\"cabinet\" → \"the\" (L0H1)."},
};

TEST_LOOP(findings_are_told_in_sentences, COUNT(words))
{
    const struct words *row = &words[_i];
    read_text(row->model, row->text, row->source);
    const struct findings found = find(5e9);
    const char *told = findings_words(&found, &viewer, &pair, row->language, &arena, &err);
    ck_assert_str_eq(told, row->words);
}

TEST_LOOP(shares_are_never_rounded_to_certainty, 8)
{
    static const struct {
        double share;
        const char *text;
    } rows[] = {{1, "100.0 %"},    {0.99995, "> 99.9 %"}, {0.9975, "99.8 %"}, {0.94, "94 %"},
                {0.0094, "0.9 %"}, {0.0005, "< 0.1 %"},   {0, "< 0.1 %"},     {0.995, "99.5 %"}};
    char text[SHARE_BYTES];
    ck_assert_str_eq(share_text(text, rows[_i].share), rows[_i].text);
}

/* Products only limit what is tried: the weights are the same. */
TEST(a_search_without_products_tries_what_two_passes_allow)
{
    read_text("cloze", "The keys to the cabinet [MASK] old.", NULL);
    const struct findings found = find(0);
    ck_assert_uint_eq(found.count, 2); /* two passes: the prediction, and one arrow */
    ck_assert_int_eq(found.items[0].kind, FINDING_ACTS);
    ck_assert_uint_eq(found.items[0].head, 3); /* that of the largest S: no head was tried */
    ck_assert_int_eq(isnan(found.items[1].d) != 0, 1);
}

TEST(edits_of_the_viewer_count_in_findings)
{
    const struct edit_range query = {4, 4}, key = {1, 1};
    const struct edit edit = {
        .site = SITE_MASKED, .op = EDIT_FORBID, .tokens = {&query, 1}, .columns = {&key, 1}};
    const struct edits edits = {&edit, 1};
    read_text("tiny", "The keys to the cabinet", NULL);
    const struct findings before = find(5e9);
    viewer.edits = &edits;
    const struct findings after = find(5e9);
    ck_assert_ptr_eq(viewer.edits, &edits);
    ck_assert_str_eq(after.says.token.text, "␣is");
    ck_assert_double_eq_tol(after.says.probability, before.items[0].without.probability, 1e-6);
    for (size_t i = 0; i < after.count; i++)
        ck_assert_uint_ne(after.items[i].key, 1);
}

TEST(a_table_has_a_row_for_each_finding)
{
    struct table table;
    read_text("tiny", "The keys to the cabinet", NULL);
    const struct findings found = find(5e9);
    ck_assert_int_eq(findings_table(&table, &found, &pair, &arena, &err), 0);
    ck_assert_uint_eq(table.rows.size, 2);
    ck_assert_int_eq(table_key(&table, "layer", 0), 1);
    ck_assert_int_eq(table_key(&table, "head", 0), 3);
    ck_assert_str_eq(column_text(table_column(&table, "query"), 0, false), "4:␣cabinet");
    ck_assert_str_eq(column_text(table_column(&table, "prediction"), 0, false), " are");
    ck_assert_str_eq(column_text(table_column(&table, "without"), 0, false), " is");
}

TEST(without_a_finding_the_table_has_the_prediction)
{
    struct table table;
    read_text("tiny", "x", NULL);
    const struct findings found = find(5e9);
    ck_assert_int_eq(findings_table(&table, &found, &pair, &arena, &err), 0);
    ck_assert_uint_eq(table.rows.size, 1);
    ck_assert_ptr_null(column_text(table_column(&table, "query"), 0, false));
    ck_assert_str_eq(column_text(table_column(&table, "prediction"), 0, false), "u");
}

/* A cut in a cache gives the prediction of a whole pass, in models of all kinds; and a search does
 * not fail. */
static const char *const families[] = {"albert",
                                       "bamba",
                                       "bart",
                                       "bert",
                                       "bert-classes",
                                       "bloom",
                                       "deepseek_v3",
                                       "diffllama",
                                       "distilbert-spans",
                                       "falcon-rw-alibi",
                                       "falcon_h1",
                                       "falcon_mamba",
                                       "gemma3n_text",
                                       "gemma4_text",
                                       "gpt_oss",
                                       "jamba",
                                       "kimi_linear",
                                       "lfm2",
                                       "llama",
                                       "m2m_100",
                                       "mpt",
                                       "phi3",
                                       "phi3-longrope",
                                       "qwen3_5_text",
                                       "t5"};

TEST_LOOP(a_cached_trial_is_a_whole_pass, COUNT(families))
{
    char path[96];
    struct trial trial;
    struct tried cached = {{0}, 0}, whole = {{0}, 0};
    struct arrow_cut cut;
    snprintf(path, sizeof path, "tests/references/golden-families/%s", families[_i]);
    ck_assert_msg(!viewer_open(&viewer, path, 1, &err), "%s", err.text);
    const struct config *config = &viewer.model.config;
    const struct input input = {.ids = "4,5,9,3,7,2"};
    ck_assert_msg(
        !viewer_read(&viewer, &pair, &input, has_encoder(config) ? &input : NULL, &arena, &err),
        "%s", err.text);
    find(5e9);
    const enum site_branch branch = has_encoder(config) ? BRANCH_CROSS : BRANCH_TEXT;
    cut = arrow_cut(branch, 5, 2);
    trial_open(&trial, &viewer, &pair, 5);
    if (trial.is_cached && arrow_can_be_cut(config, branch)) {
        ck_assert_msg(!trial_run(&cached, &trial, arrow_edit(&cut), 3, &err), "%s", err.text);
        trial_close(&trial);
        trial_open(&trial, &viewer, &pair, 5);
        cache_release(&trial.cache);
        trial.is_cached = false;
        ck_assert_msg(!trial_run(&whole, &trial, arrow_edit(&cut), 3, &err), "%s", err.text);
        ck_assert_uint_eq(cached.best.id, whole.best.id);
        if (strcmp(families[_i], "mpt") == 0) /* its biases depend on the length of a text */
            ck_assert_float_eq_tol(cached.target, whole.target, 1e-5f);
        else
            ck_assert_float_eq(cached.target, whole.target);
    }
    trial_close(&trial);
}
