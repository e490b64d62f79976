#include "model/site.h"

#include <check.h>
#include <string.h>

Suite *site_suite(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The names users type, in the order of the pass. */
/* clang-format off */
static const char *const names[] = {
    "embedding", "source_embedding",
    "resid_pre", "ln_1", "q", "k", "v", "scores", "softmax", "masked", "weights", "context",
    "attn_out", "resid_mid", "ln_2", "mlp_act", "mlp_out", "resid_post",
    "ln_f", "logits",
};
/* clang-format on */

START_TEST(sites_are_these_in_the_order_of_the_pass)
{
    ck_assert_uint_eq(COUNT(names), SITE_COUNT);
    for (size_t i = 0; i < COUNT(names); i++) {
        enum site site = SITE_COUNT;
        ck_assert_str_eq(site_rows[i].name, names[i]);
        ck_assert(site_find(names[i], strlen(names[i]), &site));
        ck_assert_uint_eq(site, i);
    }
}
END_TEST

START_TEST(only_whole_names_find_a_site)
{
    static const char *const wrong[] = {"", "Q", "weight", "weightss", "h.0.weights", "tokens"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        enum site site = SITE_LN_F;
        ck_assert_msg(!site_find(wrong[i], strlen(wrong[i]), &site), "'%s'", wrong[i]);
        ck_assert_int_eq(site, SITE_LN_F);
    }
}
END_TEST

START_TEST(a_name_ends_where_it_is_said_to)
{
    enum site site = SITE_COUNT;
    ck_assert(site_find("q,k,v", 1, &site));
    ck_assert_int_eq(site, SITE_Q);
    ck_assert(site_find("ln_1,", 4, &site));
    ck_assert_int_eq(site, SITE_LN_1);
    ck_assert(!site_find("weights", 6, &site));
}
END_TEST

START_TEST(tensors_carry_their_layer)
{
    char name[SITE_NAME_BYTES];
    ck_assert_str_eq(site_tensor_name(name, SITE_WEIGHTS, 0), "h.0.weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_RESID_POST, 16383), "h.16383.resid_post");
    ck_assert_str_eq(site_tensor_name(name, SITE_EMBEDDING, -1), "embedding");
    ck_assert_str_eq(site_tensor_name(name, SITE_LOGITS, -1), "logits");
}
END_TEST

START_TEST(every_row_is_whole)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        const struct site_row *row = &site_rows[site];
        bool of_model = site <= SITE_SOURCE_EMBEDDING || site >= SITE_LN_F;
        bool square = row->axes == AXES_HEAD_QUERY_KEY;
        ck_assert(row->about && *row->about);
        ck_assert_int_eq(row->in_layer, !of_model);
        bool whole = site == SITE_SCORES || site == SITE_SOFTMAX; /* before any mask */
        ck_assert_int_eq(row->masked, square && !whole);
        ck_assert_int_eq(row->alias == NULL, whole || row->part != PART_SENTENCE);
        if (row->alias)
            ck_assert_int_eq(strncmp(row->alias, "blocks.L.", 9) == 0, row->in_layer);
    }
}
END_TEST

START_TEST(the_same_of_another_part_is_found)
{
    ck_assert_int_eq(site_of(PART_SENTENCE, SITE_EMBEDDING), SITE_EMBEDDING);
    ck_assert_int_eq(site_of(PART_SENTENCE, SITE_LOGITS), SITE_LOGITS);
    ck_assert_int_eq(site_of(PART_SOURCE, SITE_EMBEDDING), SITE_SOURCE_EMBEDDING);
}
END_TEST

Suite *site_suite(void)
{
    Suite *suite = suite_create("site");
    TCase *tests = tcase_create("site");
    tcase_add_test(tests, sites_are_these_in_the_order_of_the_pass);
    tcase_add_test(tests, only_whole_names_find_a_site);
    tcase_add_test(tests, a_name_ends_where_it_is_said_to);
    tcase_add_test(tests, tensors_carry_their_layer);
    tcase_add_test(tests, every_row_is_whole);
    tcase_add_test(tests, the_same_of_another_part_is_found);
    suite_add_tcase(suite, tests);
    return suite;
}
