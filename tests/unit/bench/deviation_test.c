#include "bench/benchmark.h"

#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/heap.h"
#include "model/model.h"

static struct bench_subject subject;

static void open_model(const char *name)
{
    struct err err = {0};
    ck_assert_msg(!bench_subject_open(&subject, bundled_find(name), 1, &err), "%s", err.text);
}

TEST(a_model_of_gpt2s_shape_is_off_a_little)
{
    struct deviation found;
    open_model("tiny");
    ck_assert_int_eq(deviation_measure(&found, &subject, NULL), 0);
    ck_assert_uint_eq(found.tokens, 64); /* its context */
    ck_assert_double_gt(found.weights, 0);
    ck_assert_double_lt(found.weights, 0.02);
    ck_assert_double_gt(found.logits, 0);
    ck_assert_double_lt(found.logits, 0.05 * found.largest_logit);
    bench_subject_release(&subject);
}

TEST(bare_attention_has_no_logits)
{
    struct deviation found;
    open_model("life");
    ck_assert_int_eq(deviation_measure(&found, &subject, NULL), 0);
    ck_assert_uint_eq(found.tokens, DEVIATION_TOKENS);
    ck_assert_double_gt(found.weights, 0);
    ck_assert_double_eq(found.logits, 0);
    ck_assert_double_eq(found.largest_logit, 0);
    bench_subject_release(&subject);
}

/* q and k are the embeddings, as they are in float32. */
TEST(without_projections_only_queries_and_keys_are_rounded)
{
    struct deviation found;
    open_model("journey");
    ck_assert_int_eq(deviation_measure(&found, &subject, NULL), 0);
    ck_assert_double_gt(found.weights, 0);
    ck_assert_double_lt(found.weights, 1e-4);
    bench_subject_release(&subject);
}

TEST(an_allocation_that_fails_is_an_error)
{
    int failed = -1;
    for (size_t nth = 1; failed; nth += one_of(4)) {
        struct deviation found;
        struct err err = {0};
        open_model("tiny");
        heap_fail_at(nth, 0);
        failed = deviation_measure(&found, &subject, &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || strstr(err.text, "out of memory"));
        ck_assert(failed || nth > 10);
        bench_subject_release(&subject);
    }
}
