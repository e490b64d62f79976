#include "lens/viewer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/instruments_golden.h"
#include "model/points.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source pair;
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

static int asked(const char *sites, const char *layers)
{
    const struct config *config = &viewer.model.config;
    struct selection selection = {0};
    struct capture_request one = {&selection, &pair, 1, 0, &report};
    int failed = selection_sites(&selection, sites, config, &err) ||
                 selection_layers(&selection, layers, config, &arena, &err) ||
                 selection_heads(&selection, NULL, config, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return viewer_capture(&viewer, &one, &arena, &err);
}

static const char all[] = "value_weighted,norm_weighted,value_zeroing,rollout";

/* --- against float64 -------------------------------------------------------------------------- */

TEST_LOOP(effective_attention_agrees_with_the_reference, INSTRUMENTS_ATTENTION)
{
    struct instruments_golden golden;
    instruments_open(&golden, _i);
    open(golden.path, golden.ids.bytes);
    const struct config *c = &viewer.model.config;
    const bool zeroes = site_exists(c, SITE_VALUE_ZEROING);
    ck_assert_msg(!asked(zeroes ? all : "value_weighted,norm_weighted,rollout", NULL), "%s",
                  err.text);
    ck_assert_uint_eq(report.array_count, (3 + zeroes) * c->n_layer);
    for (size_t i = 0; i < report.array_count; i++) {
        const struct array *kept = &report.arrays[i];
        char name[SITE_NAME_BYTES];
        instruments_expect(&golden, array_name(name, kept), kept->data, array_cells(kept), 1e-5);
    }
    instruments_release(&golden);
}

/* --- entropies -------------------------------------------------------------------------------- */

static const struct edit_range at_query = {3, 3}, at_key = {1, 1};
static const struct edit of_scores[] = {
    {.site = SITE_MASKED,
     .op = EDIT_FORBID,
     .heads = {&at_key, 1},
     .tokens = {&at_query, 1},
     .columns = {&at_key, 1}},
    {.site = SITE_MASKED, .op = EDIT_SET, .number = 2, .columns = {&at_query, 1}}};

static const struct {
    const char *model, *source, *prefix;
    size_t window, edits;
} entropic[] = {
    {"tiny", NULL, "", 0, 0},
    {"tiny", NULL, "", 0, 1},
    {"tiny", NULL, "", 0, 2},
    {"tiny", NULL, "", 2, 0},
    {"cloze", NULL, "", 0, 1},
    {"tests/references/golden-families/gemma3_text", NULL, "", 0, 0},
    {"tests/references/golden-families/gpt_oss", NULL, "", 0, 0},
    {"translate", "5,2,4,1,0", "enc.", 0, 0},
    {"translate", "5,2,4,1,0", "cross_", 0, 0},
    {"translate", "5,2,4,1,0", "", 0, 0},
};

/* -Σ a ln a, divided by the log of the number of keys whose score is not -inf. */
TEST_LOOP(entropies_are_those_of_the_rows_of_weights, COUNT(entropic))
{
    struct input source = {.ids = entropic[_i].source}, input = {.ids = "0,5,3,4,1,2"};
    struct mechanism windowed = {.kind = ATTENTION_SPARSE,
                                 .pattern = {.window = entropic[_i].window}};
    const struct edits edits = {of_scores, entropic[_i].edits};
    char sites[128];
    const char *of = entropic[_i].prefix;
    snprintf(sites, sizeof sites, "%sentropy_share,%sentropy,%sweights,%smasked", of, of, of, of);
    open(entropic[_i].model, input.ids);
    ck_assert(!viewer_read(&viewer, &pair, &input, source.ids ? &source : NULL, &arena, &err));
    if (entropic[_i].window)
        ck_assert_msg(!viewer_set_mechanism(&viewer, &windowed, &err), "%s", err.text);
    viewer.edits = &edits;
    ck_assert_msg(!asked(sites, "-1"), "%s", err.text);
    viewer.edits = NULL;
    ck_assert_uint_eq(report.array_count, 4);
    const struct array *masked = &report.arrays[0], *weights = &report.arrays[1];
    size_t keys = weights->columns.size;
    for (size_t row = 0; row < weights->heads.size * weights->rows.size; row++) {
        double entropy = 0, visible = 0;
        for (size_t cell = row * keys; cell < (row + 1) * keys; cell++) {
            double a = (double)weights->data[cell];
            entropy -= a > 0 ? a * log(a) : 0;
            visible += masked->data[cell] != -INFINITY;
        }
        ck_assert_double_eq_tol((double)report.arrays[2].data[row], entropy, 1e-6);
        if (visible > 1)
            ck_assert_double_eq_tol((double)report.arrays[3].data[row], entropy / log(visible),
                                    1e-6);
        else
            ck_assert(isnan(report.arrays[3].data[row]));
    }
}

/* --- layers of different sizes ---------------------------------------------------------------- */

TEST(a_layer_with_larger_heads_has_the_same_bits_after_smaller_ones)
{
    float alone[2 * 16];
    open("tests/references/golden-families/gemma4-experts", "0,5,3,4");
    ck_assert_msg(!asked("value_weighted", "2"), "%s", err.text);
    memcpy(alone, report.arrays[0].data, sizeof alone);
    ck_assert_msg(!asked("value_weighted", "0-2"), "%s", err.text);
    ck_assert_uint_eq(report.array_count, 3);
    ck_assert_mem_eq(report.arrays[2].data, alone, sizeof alone);
}

/* --- with edits ------------------------------------------------------------------------------- */

enum { TOKENS = 4 };

static const char *const models[] = {"tiny",
                                     "tests/references/golden-families/llama",
                                     "tests/references/golden-families/gpt_neox",
                                     "tests/references/golden-families/gptj",
                                     "life-grouped",
                                     "tests/references/golden-families/gemma4-experts"};

/* One number for each token, repeated along the other axes by strides of 0. */
static const float of_tokens[TOKENS] = {0.5f, -1, 2, 0.25f};
static const struct tensor of_heads[] = {{of_tokens, 3, {1, TOKENS, 1}, {0, 1, 0}},
                                         {of_tokens, 3, {1, TOKENS, 1}, {0, 1, 0}},
                                         {of_tokens, 3, {1, TOKENS, 1}, {0, 1, 0}}};
static const struct tensor of_rows[] = {{of_tokens, 2, {TOKENS, 1}, {1, 0}},
                                        {of_tokens, 2, {TOKENS, 1}, {1, 0}},
                                        {of_tokens, 2, {TOKENS, 1}, {1, 0}}};
static const struct edit_donor to_heads = {.values = of_heads, .count = 1, .longest = TOKENS};
static const struct edit_donor to_rows = {.values = of_rows, .count = 1, .longest = TOKENS};
static const struct edit_range at_first = {0, 0}, at_last = {-1, -1};

static const struct edit changes[] = {
    {.site = SITE_CONTEXT, .op = EDIT_SET, .heads = {&at_first, 1}},
    {.site = SITE_CONTEXT, .op = EDIT_SCALE, .number = 0.5f, .tokens = {&at_last, 1}},
    {.site = SITE_CONTEXT, .op = EDIT_ADD, .number = 1, .donor = &to_heads},
    {.site = SITE_RESID_PRE, .op = EDIT_SCALE, .number = 2},
    {.site = SITE_LN_1, .op = EDIT_SCALE, .number = 2},
    {.site = SITE_WEIGHTS, .op = EDIT_SCALE, .number = 2, .columns = {&at_first, 1}},
    {.site = SITE_ATTN_OUT, .op = EDIT_ADD, .number = 1, .donor = &to_rows},
    {.site = SITE_ATTN_OUT, .op = EDIT_TAKE, .donor = &to_rows},
    {.site = SITE_RESID_MID, .op = EDIT_SCALE, .number = 3, .tokens = {&at_last, 1}},
    {.site = SITE_MLP_ACT, .op = EDIT_ADD, .number = 1, .donor = &to_rows},
    {.site = SITE_RESID_POST, .op = EDIT_TAKE, .donor = &to_rows, .columns = {&at_first, 1}},
};

/* A tensor of the last layer: [TOKENS, width]. */
static const float *rows_of(const char *site, const struct edits *edits, size_t *width)
{
    viewer.edits = edits;
    ck_assert_msg(!asked(site, "-1"), "%s", err.text);
    viewer.edits = NULL;
    *width = report.arrays[0].columns.size;
    return report.arrays[0].data;
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

/* Compared with passes of the edited model in which the values of a token are set to 0, too. */
TEST_LOOP(value_zeroing_applies_to_the_edited_model, COUNT(models))
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
        ck_assert_msg(!asked("value_zeroing", "-1"), "%s", err.text);
        for (size_t q = 0; q < TOKENS; q++) {
            double sum = 0;
            for (size_t k = 0; k < TOKENS; k++)
                sum += distances[q][k];
            for (size_t k = 0; k < TOKENS; k++)
                ck_assert_double_eq_tol((double)report.arrays[0].data[q * TOKENS + k],
                                        sum > 0 ? distances[q][k] / sum : 0, 1e-6);
        }
        viewer.edits = NULL;
    }
}

/* --- selection -------------------------------------------------------------------------------- */

static bool same(const struct array *a, const struct array *b)
{
    return a->site == b->site && a->layer == b->layer &&
           memcmp(a->data, b->data, array_cells(a) * sizeof(float)) == 0;
}

static void look_at_heads(struct selection *selection, const char *heads)
{
    const struct config *config = &viewer.model.config;
    *selection = (struct selection){0};
    ck_assert(!selection_sites(selection, all, config, &err));
    ck_assert(!selection_layers(selection, "1", config, &arena, &err));
    ck_assert(!selection_heads(selection, heads, config, &arena, &err));
}

TEST(other_texts_and_selected_heads_do_not_change_a_bit)
{
    struct selection selection;
    struct report alone, reports[2];
    struct text_with_source pairs[2];
    struct input other = {.ids = "8,1,2"};
    open("tiny", "0,5,9,3,7");
    look_at_heads(&selection, NULL);
    ck_assert(!viewer_capture(&viewer, &(struct capture_request){&selection, &pair, 1, 0, &alone},
                              &arena, &err));
    pairs[1] = pair;
    ck_assert(!viewer_read(&viewer, &pairs[0], &other, NULL, &arena, &err));
    ck_assert(!viewer_capture(&viewer, &(struct capture_request){&selection, pairs, 2, 0, reports},
                              &arena, &err));
    ck_assert_uint_eq(alone.array_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert(same(&alone.arrays[i], &reports[1].arrays[i]));
    look_at_heads(&selection, "2");
    ck_assert(!viewer_capture(&viewer, &(struct capture_request){&selection, &pair, 1, 0, reports},
                              &arena, &err));
    for (size_t i = 0; i < 4; i++) {
        const struct array *one = &reports[0].arrays[i];
        size_t first = one->heads.name ? 2 * array_cells(one) : 0;
        ck_assert(
            memcmp(one->data, alone.arrays[i].data + first, array_cells(one) * sizeof(float)) == 0);
    }
}
