#include <pthread.h>
#include <string.h>

#include "attn.h"
#include "base/memory.h"
#include "unit.h"

/* The last tensor that a sink saw, dense. */
struct last {
    float data[40000];
    size_t count;
    size_t shape[ATTN_AXES_MAX];
    char axes[ATTN_AXES_MAX][8];
    size_t heads[4];
};

static size_t rows_of(const struct attn_tensor *t)
{
    return t->rank == 3 ? t->shape[0] * t->shape[1] : t->shape[0];
}

static int keep(void *context, const struct attn_tensor *t)
{
    struct last *last = context;
    size_t columns = t->shape[t->rank - 1];
    *last = (struct last){.count = rows_of(t) * columns};
    ck_assert_uint_le(last->count, COUNT(last->data));
    for (size_t n = 0; n < last->count; n++) {
        size_t row = n / columns, column = n % columns;
        last->data[n] = t->rank == 3
                            ? t->data[row / t->shape[1] * t->stride[0] +
                                      row % t->shape[1] * t->stride[1] + column * t->stride[2]]
                            : t->data[row * t->stride[0] + column * t->stride[1]];
    }
    for (size_t axis = 0; axis < t->rank; axis++) {
        last->shape[axis] = t->shape[axis];
        strncpy(last->axes[axis], t->axes[axis], sizeof last->axes[axis] - 1);
    }
    for (size_t i = 0; t->heads && i < t->shape[0] && i < 4; i++)
        last->heads[i] = t->heads[i];
    return 0;
}

static uint32_t words[] = {367, 274, 334, 1, 2, 3, 367, 274};

static struct attn_ids ids_of(size_t first, size_t count)
{
    return (struct attn_ids){.ids = words + first, .count = count};
}

static void run(struct attn_model *model, size_t count, struct attn_request *request)
{
    struct attn_error error = {0};
    struct attn_ids ids = ids_of(0, count);
    ck_assert_msg(!attn_run(model, &ids, request, &error), "%s", error.text);
}

TEST(steps_give_the_bits_of_one_run)
{
    static const size_t sizes[] = {1, 3, 1, 1, 2};
    static struct last whole, step;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_cache *cache = attn_cache_open(model, NULL);
    struct attn_request to_whole = {.show = "logits", .sink = keep, .context = &whole};
    struct attn_request to_step = {.show = "logits", .sink = keep, .context = &step};
    run(model, 8, &to_whole);
    size_t columns = whole.shape[1];
    for (size_t i = 0, first = 0; i < COUNT(sizes); first += sizes[i++]) {
        struct attn_ids ids = ids_of(first, sizes[i]);
        ck_assert_uint_eq(attn_cache_count(cache), first);
        ck_assert_int_eq(attn_step(cache, &ids, &to_step, NULL), 0);
        ck_assert_uint_eq(step.shape[0], sizes[i]);
        ck_assert_mem_eq(step.data, whole.data + first * columns, step.count * sizeof(float));
    }
    ck_assert_uint_eq(attn_cache_count(cache), 8);
    attn_cache_close(cache);
    attn_close(model);
}

/* The shown tensors do not change the contents of the cache. */
TEST(a_step_that_shows_the_first_layer_fills_all_layers)
{
    static struct last whole, step;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_cache *cache = attn_cache_open(model, NULL);
    struct attn_request early = {.show = "q", .layers = "0", .sink = keep, .context = &step};
    struct attn_request late = {
        .show = "weights", .layers = "-1", .heads = "0", .sink = keep, .context = &whole};
    struct attn_ids first = ids_of(0, 5), next = ids_of(5, 1);
    ck_assert_int_eq(attn_step(cache, &first, &early, NULL), 0);
    run(model, 6, &late);
    late.context = &step;
    ck_assert_int_eq(attn_step(cache, &next, &late, NULL), 0);
    ck_assert_uint_eq(step.shape[1], 1);
    ck_assert_uint_eq(step.shape[2], 6);
    ck_assert_mem_eq(step.data, whole.data + (size_t)5 * 6, 6 * sizeof(float));
    attn_cache_close(cache);
    attn_close(model);
}

TEST(steps_refuse_options_of_whole_runs)
{
    static struct last last;
    const struct {
        struct attn_request request;
        int status;
        const char *text;
    } cases[] = {
        {{.sink = keep, .edits = "context = 0"}, 2, "a step does not support a source, edits"},
        {{.sink = keep, .attention = "window:2"}, 2, "a step does not support a source, edits"},
        {{.sink = keep, .temperature = 2}, 2, "a step does not support a source, edits"},
        {{.sink = keep, .show = "rollout"}, 4, "a step: effective attention is not available"},
        {{.sink = keep, .show = "nothing"}, 2, "'nothing'"},
        {{.show = "weights"}, 2, "expected a sink, found NULL"},
    };
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_cache *cache = attn_cache_open(model, NULL);
    struct attn_ids ids = ids_of(0, 2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_error error = {0};
        struct attn_request request = cases[i].request;
        request.context = &last;
        ck_assert_int_eq(attn_step(cache, &ids, &request, &error), -1);
        ck_assert_msg(error.status == cases[i].status, "%zu: %d %s", i, error.status, error.text);
        ck_assert_msg(strstr(error.text, cases[i].text), "%s", error.text);
        ck_assert_uint_eq(attn_cache_count(cache), 0);
    }
    struct attn_error error = {0};
    struct attn_request request = {.sink = keep, .context = &last};
    ck_assert_int_eq(attn_step(cache, &ids, &request, NULL), 0);
    ids.count = SIZE_MAX; /* with the one in the cache, the sum would overflow */
    ck_assert_int_eq(attn_step(cache, &ids, &request, &error), -1);
    ck_assert_msg(strstr(error.text, "too long"), "%s", error.text);
    attn_cache_close(cache);
    attn_cache_close(NULL);
    attn_close(model);
}

TEST(steps_refuse_unsuitable_models)
{
    static const struct {
        const char *model;
        int status;
        const char *text;
    } cases[] = {
        {NULL, 2, "expected a model, found NULL"},
        {"life", 4, "'life'"},
        {"life-cross", 4, "'life-cross'"},
        {"translate", 4, "'translate': a model with cross-attention cannot be run step by step"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_error error = {0};
        struct attn_model *model = cases[i].model ? attn_open(cases[i].model, 1, NULL) : NULL;
        ck_assert_ptr_null(attn_cache_open(model, &error));
        ck_assert_msg(error.status == cases[i].status, "%zu: %d %s", i, error.status, error.text);
        ck_assert_msg(strstr(error.text, cases[i].text), "%s", error.text);
        attn_close(model);
    }
    ck_assert_uint_eq(attn_cache_count(NULL), 0);
}

TEST(heads_are_chosen_and_axes_are_named)
{
    static struct last all, one;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_counts counts = attn_count(model);
    struct attn_request request = {.layers = "-1", .sink = keep, .context = &all};
    run(model, 6, &request);
    ck_assert_uint_eq(all.shape[0], counts.heads);
    ck_assert_str_eq(all.axes[0], "head");
    ck_assert_str_eq(all.axes[1], "query");
    ck_assert_str_eq(all.axes[2], "key");
    ck_assert_uint_eq(all.heads[1], 1);
    request.heads = "-1";
    request.context = &one;
    run(model, 6, &request);
    ck_assert_uint_eq(one.shape[0], 1);
    ck_assert_uint_eq(one.heads[0], counts.heads - 1);
    ck_assert_mem_eq(one.data, all.data + (counts.heads - 1) * 36, 36 * sizeof(float));
    attn_close(model);
}

/* Shows the key/value heads of the chosen query heads, each once. */
TEST(key_value_heads_are_those_of_the_chosen_heads)
{
    static struct last all, some;
    uint32_t numbers[] = {1, 2, 3};
    struct attn_ids ids = {.ids = numbers, .count = 3};
    struct attn_request request = {.show = "k", .sink = keep, .context = &all};
    struct attn_model *model = attn_open("life-grouped", 1, NULL);
    struct attn_counts counts = attn_count(model);
    ck_assert_uint_gt(counts.heads, counts.kv_heads);
    ck_assert_int_eq(attn_run(model, &ids, &request, NULL), 0);
    ck_assert_str_eq(all.axes[0], "kv_head");
    ck_assert_uint_eq(all.shape[0], counts.kv_heads);
    request.heads = "-2--1";
    request.context = &some;
    ck_assert_int_eq(attn_run(model, &ids, &request, NULL), 0);
    ck_assert_uint_eq(some.shape[0], 1);
    ck_assert_uint_eq(some.heads[0], counts.kv_heads - 1);
    ck_assert_mem_eq(some.data, all.data + (counts.kv_heads - 1) * some.count,
                     some.count * sizeof(float));
    attn_close(model);
}

TEST(attention_of_a_request_applies_to_one_run)
{
    static struct last own, other;
    struct attn_error error = {0};
    struct attn_ids ids = ids_of(0, 6);
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_request request = {
        .layers = "0", .heads = "0", .sink = keep, .context = &own, .attention = "window:2"};
    run(model, 6, &request);
    ck_assert_float_eq(own.data[5 * 6 + 3], 0);
    ck_assert_float_gt(own.data[5 * 6 + 4], 0);
    request.attention = NULL;
    run(model, 6, &request);
    ck_assert_float_gt(own.data[5 * 6 + 3], 0);
    request.context = &other;
    request.temperature = 1000000;
    run(model, 6, &request);
    ck_assert_float_eq_tol(other.data[5 * 6], 1.0f / 6, 1e-3f);
    request.temperature = -1;
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_str_eq(error.text, "temperature: expected a number above 0, or 0 for none, found -1");
    attn_close(model);
}

TEST(ids_have_token_texts)
{
    size_t size = 7;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_counts counts = attn_count(model);
    const char *text = attn_token_text(model, 367, &size);
    ck_assert_uint_eq(size, 4);
    ck_assert_mem_eq(text, "Life", 4);
    text = attn_token_text(model, 274, &size);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(text, " is", 3);
    ck_assert_ptr_null(attn_token_text(model, (uint32_t)counts.vocabulary, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_null(attn_token_text(NULL, 0, &size));
    ck_assert_uint_eq(counts.layers, 2);
    ck_assert_uint_eq(counts.vocabulary, 1280);
    ck_assert_uint_eq(attn_count(NULL).layers, 0);
    attn_close(model);
}

TEST(without_memory_nothing_is_opened)
{
    int failed = 1;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    for (size_t nth = 1; failed; nth++) {
        struct attn_error error = {0};
        heap_fail_at(nth, 0);
        struct attn_cache *cache = attn_cache_open(model, &error);
        heap_fail_at(0, 0);
        failed = !cache;
        ck_assert(!failed || strstr(error.text, "out of memory"));
        attn_cache_close(cache);
    }
    attn_close(model);
}

/* --- threads with a model each ---------------------------------------------------------------- */

enum { ROUNDS = 20 };

struct thread {
    struct last last;
    bool differs;
};

static struct last alone;

static void *look(void *context)
{
    struct thread *thread = context;
    struct attn_ids ids = ids_of(0, 8);
    struct attn_request request = {.show = "logits", .sink = keep, .context = &thread->last};
    for (int round = 0; round < ROUNDS; round++) {
        struct attn_model *model = attn_open("tiny", 2, NULL);
        thread->differs |= !model || attn_run(model, &ids, &request, NULL) ||
                           thread->last.count != alone.count ||
                           memcmp(thread->last.data, alone.data, sizeof alone.data) != 0;
        attn_close(model);
    }
    return NULL;
}

TEST(threads_with_separate_models_give_the_same_bits)
{
    static struct thread threads[2];
    pthread_t handles[2];
    struct attn_request request = {.show = "logits", .sink = keep, .context = &alone};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    run(model, 8, &request);
    attn_close(model);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&handles[i], NULL, look, &threads[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(handles[i], NULL);
        ck_assert(!threads[i].differs);
    }
}
