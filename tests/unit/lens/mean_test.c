#include "lens/report.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

static struct arena arena;

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, release)

static const struct kept *find(const struct report *report, enum site site)
{
    for (size_t i = 0; i < report->tensor_count; i++)
        if (report->tensors[i].site == site)
            return &report->tensors[i];
    ck_abort_msg("the report has no such tensor");
    return NULL;
}

static int take_mean(struct report *report, bool of_heads, bool of_layers)
{
    struct derivation how = {.mean_of_heads = of_heads, .mean_of_layers = of_layers};
    return derive(report, &how, NULL, &arena, NULL);
}

TEST(heads_become_their_mean)
{
    struct report report = fixture_layers;
    ck_assert_int_eq(take_mean(&report, true, false), 0);
    ck_assert_uint_eq(report.tensor_count, fixture_layers.tensor_count);
    const struct kept *weights = find(&report, SITE_WEIGHTS);
    ck_assert_uint_eq(weights->rank, 2);
    ck_assert_uint_eq(weights->shape[0], 3);
    ck_assert_uint_eq(weights->shape[1], 3);
    ck_assert_ptr_null(weights->heads);
    ck_assert_float_eq(weights->data[3], 0.375f);
    ck_assert_float_eq(weights->data[8], (float)(((double)0.7f + (double)0.4f) / 2));
}

TEST(what_has_no_heads_stays)
{
    struct report report = fixture_layers;
    ck_assert_int_eq(take_mean(&report, true, false), 0);
    ck_assert_mem_eq(find(&report, SITE_EMBEDDING), &fixture_layers.tensors[0],
                     sizeof(struct kept));
}

TEST(minus_infinity_stays_what_it_is)
{
    struct report report = fixture_layers;
    ck_assert_int_eq(take_mean(&report, true, false), 0);
    const struct kept *masked = find(&report, SITE_MASKED);
    ck_assert(isinf(masked->data[1]) && masked->data[1] < 0);
    ck_assert_float_eq(masked->data[0], 0.75f);
}

TEST(layers_become_their_mean_where_the_first_stood)
{
    static const enum site sites[] = {SITE_EMBEDDING, SITE_K, SITE_WEIGHTS, SITE_MASKED};
    struct report report = fixture_layers;
    ck_assert_int_eq(take_mean(&report, false, true), 0);
    ck_assert_uint_eq(report.tensor_count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(report.tensors[i].site, sites[i]);
    const struct kept *weights = find(&report, SITE_WEIGHTS);
    ck_assert_int_eq(weights->layer, -1);
    ck_assert_uint_eq(weights->shape[0], 2);
    ck_assert_float_eq(weights->data[3], 0.125f);
    ck_assert_float_eq(weights->data[9 + 3], 0.75f);
}

TEST(means_say_so_in_their_names)
{
    static const struct {
        bool heads, layers;
        const char *name, *title, *stem;
    } cases[] = {
        {false, false, "h.0.weights", "weights layer 0 head 0", "weights.l00.h00"},
        {true, false, "h.0.weights.mean", "weights layer 0 mean of heads", "weights.l00.hmean"},
        {false, true, "h.mean.weights", "weights mean of layers head 0", "weights.lmean.h00"},
        {true, true, "h.mean.weights.mean", "weights mean of layers mean of heads",
         "weights.lmean.hmean"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report report = fixture_layers;
        char text[SHEET_NAME_BYTES];
        ck_assert_int_eq(take_mean(&report, cases[i].heads, cases[i].layers), 0);
        const struct kept *weights = find(&report, SITE_WEIGHTS);
        struct sheet sheet = kept_sheet(&report, weights, 0);
        ck_assert_str_eq(kept_name(text, weights), cases[i].name);
        ck_assert_str_eq(sheet_title(text, &sheet), cases[i].title);
        ck_assert_str_eq(sheet_stem(text, &sheet), cases[i].stem);
    }
}
