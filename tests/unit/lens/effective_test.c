#include "lens/viewer.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/instruments_golden.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_pair pair;
static struct report report;

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static void open(const char *model, const char *ids)
{
    struct input input = {.ids = ids};
    ck_assert_msg(!viewer_open(&viewer, model, 1, &err), "%s", err.text);
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, NULL, &arena, &err), "%s", err.text);
}

static int look(const char *sites, const char *layers)
{
    const struct config *config = &viewer.model.config;
    struct selection selection = {0};
    struct look one = {&selection, &pair, 1, 0, &report};
    int failed = selection_sites(&selection, sites, config, &err) ||
                 selection_layers(&selection, layers, config, &arena, &err) ||
                 selection_heads(&selection, NULL, config, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return viewer_look(&viewer, &one, &arena, &err);
}

static const char all[] = "value_weighted,norm_weighted,value_zeroing,rollout";

/* --- against float64 -------------------------------------------------------------------------- */

TEST_LOOP(effective_attention_is_that_of_the_reference, INSTRUMENTS_FAMILIES)
{
    struct instruments_golden golden;
    instruments_open(&golden, _i);
    open(golden.path, golden.ids.bytes);
    ck_assert_msg(!look(all, NULL), "%s", err.text);
    ck_assert_uint_eq(report.tensor_count, 4 * viewer.model.config.n_layer);
    for (size_t i = 0; i < report.tensor_count; i++) {
        const struct kept *kept = &report.tensors[i];
        char name[SITE_NAME_BYTES];
        instruments_expect(&golden, kept_name(name, kept), kept->data, kept_cells(kept), 1e-5);
    }
    instruments_release(&golden);
}

/* --- beside edits ----------------------------------------------------------------------------- */

enum { TOKENS = 4 };

static const char *const models[] = {"tiny", "tests/golden-families/llama",
                                     "tests/golden-families/gpt_neox", "tests/golden-families/gptj",
                                     "life-grouped"};

/* A number for each token, whatever the other axes. */
static const float of_tokens[TOKENS] = {0.5f, -1, 2, 0.25f};
static const struct tensor of_heads[] = {{of_tokens, 3, {1, TOKENS, 1}, {0, 1, 0}},
                                         {of_tokens, 3, {1, TOKENS, 1}, {0, 1, 0}}};
static const struct tensor of_rows[] = {{of_tokens, 2, {TOKENS, 1}, {1, 0}},
                                        {of_tokens, 2, {TOKENS, 1}, {1, 0}}};
static const struct edit_source to_heads = {.values = of_heads, .count = 1, .longest = TOKENS};
static const struct edit_source to_rows = {.values = of_rows, .count = 1, .longest = TOKENS};
static const struct edit_range at_first = {0, 0}, at_last = {-1, -1};

static const struct edit changes[] = {
    {.site = SITE_CONTEXT, .op = EDIT_SET, .heads = {&at_first, 1}},
    {.site = SITE_CONTEXT, .op = EDIT_SCALE, .number = 0.5f, .tokens = {&at_last, 1}},
    {.site = SITE_CONTEXT, .op = EDIT_ADD, .source = &to_heads},
    {.site = SITE_RESID_PRE, .op = EDIT_SCALE, .number = 2},
    {.site = SITE_LN_1, .op = EDIT_SCALE, .number = 2},
    {.site = SITE_WEIGHTS, .op = EDIT_SCALE, .number = 2, .columns = {&at_first, 1}},
    {.site = SITE_ATTN_OUT, .op = EDIT_ADD, .source = &to_rows},
    {.site = SITE_ATTN_OUT, .op = EDIT_TAKE, .source = &to_rows},
    {.site = SITE_RESID_MID, .op = EDIT_SCALE, .number = 3, .tokens = {&at_last, 1}},
    {.site = SITE_MLP_ACT, .op = EDIT_ADD, .source = &to_rows},
    {.site = SITE_RESID_POST, .op = EDIT_TAKE, .source = &to_rows, .columns = {&at_first, 1}},
};

/* [TOKENS, width] of the last layer. */
static const float *rows_of(const char *site, const struct edits *edits, size_t *width)
{
    viewer.edits = edits;
    ck_assert_msg(!look(site, "-1"), "%s", err.text);
    viewer.edits = NULL;
    *width = report.tensors[0].shape[1];
    return report.tensors[0].data;
}

static double row_distance(const float *a, const float *b, size_t count)
{
    double both = 0, of_a = 0, of_b = 0;
    for (size_t i = 0; i < count; i++) {
        both += (double)a[i] * (double)b[i];
        of_a += (double)a[i] * (double)a[i];
        of_b += (double)b[i] * (double)b[i];
    }
    return 1 - both / sqrt(of_a * of_b);
}

/* Passes of an edited model, in which a token's values are edited, too. */
TEST_LOOP(a_token_without_values_is_one_of_the_edited_model, COUNT(models))
{
    open(models[_i], "0,5,3,4");
    const struct config *c = &viewer.model.config;
    size_t layer = c->n_layer - 1;
    struct edit_range key, layers = {(ptrdiff_t)layer, (ptrdiff_t)layer};
    for (size_t i = 0; i < COUNT(changes); i++) {
        if (!site_exists(c, changes[i].site))
            continue;
        struct edit both[] = {changes[i],
                              {.site = SITE_V, .layers = {&layers, 1}, .tokens = {&key, 1}}};
        const struct edits edited = {both, 1}, without = {both, 2};
        double distances[TOKENS][TOKENS];
        size_t width;
        const char *end = site_exists(c, SITE_RESID_POST) ? "resid_post" : "attn_out";
        const float *whole = rows_of(end, &edited, &width);
        for (size_t k = 0; k < TOKENS; k++) {
            key = (struct edit_range){(ptrdiff_t)k, (ptrdiff_t)k};
            const float *rows = rows_of(end, &without, &width);
            for (size_t q = 0; q < TOKENS; q++)
                distances[q][k] = row_distance(whole + q * width, rows + q * width, width);
        }
        viewer.edits = &edited;
        ck_assert_msg(!look("value_zeroing", "-1"), "%s", err.text);
        for (size_t q = 0; q < TOKENS; q++) {
            double sum = 0;
            for (size_t k = 0; k < TOKENS; k++)
                sum += distances[q][k];
            for (size_t k = 0; k < TOKENS; k++)
                ck_assert_double_eq_tol((double)report.tensors[0].data[q * TOKENS + k],
                                        sum > 0 ? distances[q][k] / sum : 0, 1e-6);
        }
        viewer.edits = NULL;
    }
}

static struct edit_places all_but(struct edit_range ranges[2], size_t place, size_t count)
{
    size_t used = 0;
    if (place > 0)
        ranges[used++] = (struct edit_range){0, (ptrdiff_t)place - 1};
    if (place + 1 < count)
        ranges[used++] = (struct edit_range){(ptrdiff_t)place + 1, (ptrdiff_t)count - 1};
    return (struct edit_places){ranges, used};
}

/* Edits leave one head and one key of the layer: what comes is that vector, and the bias. */
TEST_LOOP(vectors_of_heads_and_tokens_sum_to_what_leaves_attention, 3)
{
    open(models[_i], "0,5,3,4");
    size_t width, heads = viewer.model.config.n_head;
    struct edit_range ranges[4];
    const struct edit_range layers = {(ptrdiff_t)viewer.model.config.n_layer - 1, 99};
    const struct edit other = {.site = SITE_WEIGHTS, .layers = {&layers, 1}};
    struct edit others[] = {other, other};
    const struct edits edits = {others, 2};
    const float *bias = rows_of("attn_out", &edits, &width);
    const float *whole = rows_of("attn_out", NULL, &width);
    double sums[TOKENS][128] = {0};
    ck_assert(width <= 128 && !look("norm_weighted", "-1"));
    const float *lengths = report.tensors[0].data;
    for (size_t i = 0; i < heads * TOKENS; i++) {
        others[0].heads = all_but(ranges, i / TOKENS, heads);
        others[1].columns = all_but(ranges + 2, i % TOKENS, TOKENS);
        const float *rows = rows_of("attn_out", &edits, &width);
        for (size_t q = 0; q < TOKENS; q++) {
            double square = 0;
            for (size_t d = 0; d < width; d++) {
                double of_one = (double)rows[q * width + d] - (double)bias[q * width + d];
                square += of_one * of_one;
                sums[q][d] += of_one;
            }
            size_t cell = (i / TOKENS * TOKENS + q) * TOKENS + i % TOKENS;
            ck_assert_double_eq_tol((double)lengths[cell], sqrt(square), 1e-6);
        }
    }
    for (size_t i = 0; i < TOKENS * width; i++)
        ck_assert_double_eq_tol(sums[i / width][i % width], (double)whole[i] - (double)bias[i],
                                2e-6);
}

/* --- what is selected ------------------------------------------------------------------------- */

static bool same(const struct kept *a, const struct kept *b)
{
    return a->site == b->site && a->layer == b->layer &&
           memcmp(a->data, b->data, kept_cells(a) * sizeof(float)) == 0;
}

TEST(only_what_is_selected_is_seen)
{
    static const char text[] = "0,5,9,3,7";
    open("tiny", text);
    ck_assert(!look("weights,rollout", NULL));
    ck_assert_uint_eq(report.tensor_count, 4);
    struct kept last = report.tensors[3];
    ck_assert_int_eq(last.site, SITE_ROLLOUT);
    ck_assert(!look("rollout", "-1"));
    ck_assert_uint_eq(report.tensor_count, 1);
    ck_assert(same(&last, &report.tensors[0]));
}

static void look_at_heads(struct selection *selection, const char *heads)
{
    const struct config *config = &viewer.model.config;
    *selection = (struct selection){0};
    ck_assert(!selection_sites(selection, all, config, &err));
    ck_assert(!selection_layers(selection, "1", config, &arena, &err));
    ck_assert(!selection_heads(selection, heads, config, &arena, &err));
}

/* Others beside it, or threads, or fewer heads: it is the same to the bit. */
TEST(a_text_gives_the_same_in_company)
{
    struct selection selection;
    struct report alone, reports[2];
    struct text_pair pairs[2];
    struct input other = {.ids = "8,1,2"};
    open("tiny", "0,5,9,3,7");
    look_at_heads(&selection, NULL);
    ck_assert(!viewer_look(&viewer, &(struct look){&selection, &pair, 1, 0, &alone}, &arena, &err));
    pairs[1] = pair;
    ck_assert(!viewer_read(&viewer, &pairs[0], &other, NULL, &arena, &err));
    ck_assert(
        !viewer_look(&viewer, &(struct look){&selection, pairs, 2, 0, reports}, &arena, &err));
    ck_assert_uint_eq(alone.tensor_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert(same(&alone.tensors[i], &reports[1].tensors[i]));
    look_at_heads(&selection, "2");
    ck_assert(
        !viewer_look(&viewer, &(struct look){&selection, &pair, 1, 0, reports}, &arena, &err));
    for (size_t i = 0; i < 4; i++) {
        const struct kept *one = &reports[0].tensors[i];
        size_t first = one->heads ? 2 * kept_cells(one) : 0;
        ck_assert(
            memcmp(one->data, alone.tensors[i].data + first, kept_cells(one) * sizeof(float)) == 0);
    }
}

/* Where the heads' outputs are the layer's, that of one head is all there is. */
TEST(bare_attention_has_them_without_a_stream)
{
    open("life-causal", "0,1,2,3");
    ck_assert(!look(all, NULL));
    ck_assert_uint_eq(report.tensor_count, 4);
    const struct kept rollout = report.tensors[2];
    struct kept *const kept = (struct kept *)report.tensors;
    ck_assert_int_eq(rollout.site, SITE_ROLLOUT);
    ck_assert_int_eq(kept[3].site, SITE_VALUE_ZEROING);
    ck_assert(!look("weights", NULL)); /* of one layer and one head: the weights */
    for (size_t i = 0; i < kept_cells(&rollout); i++) {
        double weight = (double)report.tensors[0].data[i];
        ck_assert(fabs((double)rollout.data[i] - weight) < 1e-7);
    }
}

/* 1 - cos between the contexts of a query, the heads side by side, with and without a key. */
static double distance_without(const struct kept *kept, size_t query, size_t key)
{
    const struct kept *v = &kept[0], *weights = &kept[1], *context = &kept[2];
    double both = 0, with = 0, without = 0;
    for (size_t head = 0; head < 4; head++) {
        size_t row = head * weights->shape[1] + query;
        double a = (double)context->data[row];
        double b = a - (double)weights->data[row * weights->shape[2] + key] *
                           (double)v->data[head / 2 * weights->shape[2] + key];
        both += a * b;
        with += a * a;
        without += b * b;
    }
    return 1 - both / sqrt(with * without);
}

TEST(heads_side_by_side_are_what_leaves_a_layer)
{
    open("life-grouped", "0,4,5,3"); /* heads 1 wide, two of which share values */
    ck_assert(!look("v,weights,context,value_zeroing", NULL));
    ck_assert_int_eq(report.tensors[3].site, SITE_VALUE_ZEROING);
    for (size_t query = 0; query < 4; query++) {
        double distances[4];
        double sum = 0;
        for (size_t key = 0; key < 4; key++)
            sum += distances[key] = distance_without(report.tensors, query, key);
        for (size_t key = 0; key < 4; key++)
            ck_assert(fabs((double)report.tensors[3].data[query * 4 + key] - distances[key] / sum) <
                      1e-5);
    }
}
