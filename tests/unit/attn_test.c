#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attn.h"
#include "base/memory.h"
#include "unit.h"

/* The calls of a sink. */
struct seen {
    char names[8][32];
    size_t count;
    float row_sum; /* of the last tensor's first row */
    size_t rank;
    size_t shape[ATTN_AXES_MAX];
    int answer; /* return value of the sink */
};

static int look(void *context, const struct attn_tensor *tensor)
{
    struct seen *seen = context;
    ck_assert_uint_lt(seen->count, 8);
    strncpy(seen->names[seen->count++], tensor->name, sizeof seen->names[0] - 1);
    seen->rank = tensor->rank;
    memcpy(seen->shape, tensor->shape, sizeof seen->shape);
    seen->row_sum = 0;
    for (size_t i = 0; i < tensor->shape[tensor->rank - 1]; i++)
        seen->row_sum += tensor->data[i * tensor->stride[tensor->rank - 1]];
    return seen->answer;
}

TEST(a_model_is_opened_run_and_closed)
{
    static const char text[] = "Life is short, eat dessert first";
    struct attn_error error = {0};
    struct seen seen = {0};
    struct attn_ids ids = {0};
    struct attn_request request = {.show = "weights", .sink = look, .context = &seen};
    struct attn_model *model = attn_open("life", 1, &error);
    ck_assert_msg(model != NULL, "%s", error.text);
    ck_assert_int_eq(attn_encode(model, text, strlen(text), &ids, &error), 0);
    ck_assert_uint_eq(ids.count, 6);
    ck_assert_uint_eq(ids.ids[1], 4);
    ck_assert_uint_eq(ids.starts[1], 5);
    ck_assert_uint_eq(ids.ends[1], 7);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_str_eq(seen.names[0], "h.0.weights");
    ck_assert_uint_eq(seen.rank, 3);
    ck_assert_uint_eq(seen.shape[0], 1);
    ck_assert_uint_eq(seen.shape[1], 6);
    ck_assert_uint_eq(seen.shape[2], 6);
    ck_assert_float_eq_tol(seen.row_sum, 1.0f, 1e-6f);
    attn_ids_free(&ids);
    attn_close(model);
}

TEST(layers_are_chosen_as_on_the_command_line)
{
    struct attn_error error = {0};
    struct seen seen = {0};
    uint32_t list[] = {1, 2, 3};
    struct attn_ids ids = {.ids = list, .count = 3};
    struct attn_request request = {
        .show = "resid_pre,logits", .layers = "-1", .sink = look, .context = &seen};
    struct attn_model *model = attn_open("tiny", 0, &error);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_str_eq(seen.names[0], "h.1.resid_pre");
    ck_assert_str_eq(seen.names[1], "logits");
    ck_assert_uint_eq(seen.shape[0], 3);
    ck_assert_uint_eq(seen.shape[1], 1280);
    attn_close(model);
}

TEST(the_sink_gets_effective_attention)
{
    struct seen seen = {0};
    struct attn_ids ids = {0};
    struct attn_request request = {
        .show = "rollout", .layers = "-1", .sink = look, .context = &seen};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    ck_assert_int_eq(attn_encode(model, "Life is short", 13, &ids, NULL), 0);
    ck_assert_int_eq(attn_run(model, &ids, &request, NULL), 0);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_str_eq(seen.names[0], "h.1.rollout");
    ck_assert_uint_eq(seen.rank, 2);
    attn_ids_free(&ids);
    attn_close(model);
}

TEST(a_pair_has_special_tokens_and_segments)
{
    static const uint32_t expected[] = {2, 273, 89, 3, 10, 67, 3};
    struct attn_error error = {0};
    struct seen with = {0}, without = {0};
    struct attn_ids ids = {0};
    struct attn_request request = {
        .show = "resid_pre", .layers = "0", .sink = look, .context = &with};
    struct attn_model *model = attn_open("cloze", 1, &error);
    ck_assert_msg(!attn_encode_special(model, "the dog", 7, "a cat", 5, &ids, &error), "%s",
                  error.text);
    ck_assert_uint_eq(ids.count, 7);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_uint_eq(ids.ids[i], expected[i]);
        ck_assert_uint_eq(ids.segments[i], i >= 4);
        ck_assert_int_eq(ids.words[i] == SIZE_MAX, expected[i] == 2 || expected[i] == 3);
    }
    struct attn_ids one = ids; /* all in segment 0 */
    one.segments = (unsigned char[7]){0};
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    one.segments[0] = 1;
    request.context = &without;
    ck_assert_int_eq(attn_run(model, &one, &request, &error), 0);
    ck_assert_float_ne(with.row_sum, without.row_sum);
    one.segments[0] = 2;
    ck_assert_int_eq(attn_run(model, &one, &request, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "expected a segment below"));
    attn_ids_free(&ids);
    ck_assert_int_eq(attn_encode_special(model, "the dog", 7, NULL, 0, &ids, &error), 0);
    ck_assert_uint_eq(ids.count, 4);
    ck_assert_ptr_null(ids.segments);
    attn_ids_free(&ids);
    attn_close(model);
}

static int keep_row(void *context, const struct attn_tensor *t)
{
    float *logprob = context; /* in: the position, then the id; out: its log-probability */
    const float *logits = t->data + (size_t)logprob[0] * t->stride[0];
    double sum = 0;
    for (size_t i = 0; i < t->shape[1]; i++)
        sum += exp((double)logits[i]);
    logprob[2] = (float)((double)logits[(size_t)logprob[1]] - log(sum));
    return 0;
}

TEST(a_masked_model_scores_each_token_given_all_others)
{
    struct attn_error error = {0};
    struct attn_ids ids = {0};
    struct attn_token_score scores[8], within[8];
    struct attn_model *model = attn_open("cloze", 1, &error);
    size_t mask = attn_count(model).mask;
    ck_assert_int_eq(attn_encode_special(model, "the dog", 7, "a cat!", 6, &ids, &error), 0);
    ck_assert_uint_eq(ids.count, 8);
    ck_assert_msg(!attn_score_all(model, &ids, 1, NULL, scores, &error), "%s", error.text);
    for (size_t i = 0; i < ids.count; i++) {
        float row[] = {(float)i, (float)ids.ids[i], 0};
        struct attn_request request = {.show = "logits", .sink = keep_row, .context = row};
        uint32_t id = ids.ids[i];
        bool is_special = i == 0 || i == 3 || i == 7;
        ids.ids[i] = (uint32_t)mask;
        ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
        ids.ids[i] = id;
        ck_assert(isnan(scores[i].logprob) == is_special);
        if (!is_special)
            ck_assert_float_eq_tol(scores[i].logprob, row[2], 1e-4F);
    }
    const struct attn_request request = {.within_word = 1};
    ids.joins[2] = 1;
    ck_assert_int_eq(attn_score_all(model, &ids, 1, &request, within, &error), 0);
    ck_assert_float_ne(within[1].logprob, scores[1].logprob);
    ck_assert_float_eq(within[2].logprob, scores[2].logprob);
    struct attn_ids bare = {.ids = ids.ids, .count = ids.count};
    ck_assert_int_eq(attn_score_all(model, &bare, 1, &request, within, &error), -1);
    ck_assert_str_eq(error.text, "expected joins of the ids, found NULL");
    attn_ids_free(&ids);
    attn_close(model);
}

TEST(cross_attention_needs_a_source)
{
    struct attn_error error = {0};
    struct seen seen = {0};
    struct attn_ids ids = {.ids = (uint32_t[]){1, 2, 3}, .count = 3};
    struct attn_ids source = {.ids = (uint32_t[]){6, 7}, .count = 2};
    struct attn_request request = {.show = "k", .sink = look, .context = &seen, .source = &source};
    struct attn_model *model = attn_open("life-cross", 1, &error);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.shape[1], 2);
    request.source = NULL;
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_int_eq(error.status, 2);
    ck_assert_ptr_nonnull(strstr(error.text, "expected a second text"));
    request.source = &source;
    source.ids[1] = 99;
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "source: token 1: expected an id below vocab_size"));
    attn_close(model);
    model = attn_open("life", 1, &error);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_int_eq(error.status, 2);
    ck_assert_ptr_nonnull(strstr(error.text, "expected no second text"));
    attn_close(model);
}

TEST(values_are_edited_for_one_run)
{
    struct attn_error error = {0};
    struct seen seen = {0};
    uint32_t list[] = {1, 2, 3};
    struct attn_ids ids = {.ids = list, .count = 3};
    struct attn_request request = {.show = "attn_out",
                                   .layers = "0",
                                   .sink = look,
                                   .context = &seen,
                                   .edits = "h.0.attn_out = 2;attn_out[channel=0] = 1"};
    struct attn_model *model = attn_open("tiny", 1, &error);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    ck_assert_float_eq(seen.row_sum, 2.0f * (float)seen.shape[1] - 1);
    request.edits = NULL;
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
    ck_assert_float_ne(seen.row_sum, 2.0f * (float)seen.shape[1] - 1);
    request.edits = "attn_out = mean";
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_int_eq(error.status, 2);
    ck_assert_str_eq(error.text, "edits: expected numbers or files, found values of other texts");
    attn_close(model);
}

static void increase(void *context, float *values, const struct attn_tensor *tensor)
{
    ck_assert_str_eq(tensor->name, "h.0.attn_out");
    ck_assert_str_eq(tensor->axes[1], "channel");
    for (size_t row = 0; row < tensor->shape[0]; row++)
        for (size_t channel = 0; channel < tensor->shape[1]; channel++)
            values[row * tensor->stride[0] + channel * tensor->stride[1]] += *(float *)context;
}

static int keep_text(void *context, const char *bytes, size_t size)
{
    snprintf(context, 4096, "%.*s", (int)size, bytes);
    return size == 0;
}

/* An edit by an array, by a function, and by words: in a run and in a report. */
TEST(arrays_and_functions_are_edits_and_reports_are_those_of_the_program)
{
    static const char *const edits[] = {"h.0.attn_out + 2", "attn_out[layer=0] + 4*half",
                                        "h.0.attn_out = more"};
    float halves[96], two = 2, sums[COUNT(edits)];
    char reports[COUNT(edits)][4096], edit[64];
    uint32_t list[] = {1, 2, 3};
    struct attn_error error = {0};
    const struct attn_ids ids = {.ids = list, .count = 3};
    const struct attn_value values[] = {
        {.name = "half", .data = halves, .rank = 1, .shape = {COUNT(halves)}},
        {.name = "more", .function = increase, .context = &two}};
    const char *words[] = {"lens", "--ids=1,2,3", "--format=csv", edit, NULL, NULL};
    struct attn_model *model = attn_open("tiny", 1, &error);
    for (size_t i = 0; i < COUNT(halves); i++)
        halves[i] = 0.5f;
    for (size_t i = 0; i < COUNT(edits); i++) {
        struct seen seen = {0};
        const struct attn_request request = {.show = "attn_out",
                                             .layers = "0",
                                             .sink = look,
                                             .context = &seen,
                                             .edits = edits[i],
                                             .values = values,
                                             .value_count = COUNT(values)};
        snprintf(edit, sizeof edit, "--edit=%s", edits[i]);
        ck_assert_int_eq(attn_run(model, &ids, &request, &error), 0);
        ck_assert_int_eq(attn_report(words, values, COUNT(values), keep_text, reports[i], &error),
                         0);
        sums[i] = seen.row_sum;
        ck_assert_float_eq(sums[i], sums[0]);
        ck_assert_str_eq(reports[i], reports[0]);
    }
    ck_assert_msg(strstr(reports[0], "\n0,"), "%s", reports[0]);
    words[4] = "--edit=h.0.attn_out = no";
    ck_assert_int_eq(attn_report(words, values, COUNT(values), keep_text, reports[0], &error), -1);
    ck_assert_int_eq(error.status, 2);
    words[0] = "train";
    words[1] = NULL;
    ck_assert_int_eq(attn_report(words, NULL, 0, keep_text, reports[0], &error), -1);
    ck_assert_str_eq(error.text, "expected a command that reads texts, or help, found 'train'");
    words[0] = "help";
    ck_assert_int_eq(attn_report(words, NULL, 0, keep_text, reports[0], &error), 0);
    ck_assert_msg(strstr(reports[0], "attn-cli: "), "%s", reports[0]);
    attn_close(model);
}

TEST(a_sink_can_end_the_pass)
{
    struct attn_error error = {0};
    struct seen seen = {.answer = 1};
    uint32_t list[] = {1, 2, 3};
    struct attn_ids ids = {.ids = list, .count = 3};
    struct attn_request request = {.show = "all", .sink = look, .context = &seen};
    struct attn_model *model = attn_open("tiny", 1, &error);
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_str_eq(error.text, "'embedding': the sink ended the pass");
    attn_close(model);
}

TEST(errors_have_the_status_and_message_of_the_command)
{
    struct attn_error error = {0};
    struct attn_ids ids = {0};
    ck_assert_ptr_null(attn_open("no/\x1b[2J\xff", 1, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "'no/\\x1b[2J\\xff'"));
    ck_assert_ptr_null(attn_open("no/such/model", 1, &error));
    ck_assert_int_eq(error.status, 3);
    ck_assert_ptr_nonnull(strstr(error.text, "'no/such/model'"));
    ck_assert_ptr_null(attn_open(NULL, 257, &error));
    ck_assert_int_eq(error.status, 2);
    ck_assert_str_eq(error.text, "threads: expected at most 256, found 257");
    struct attn_model *model = attn_open("life", 1, &error);
    ck_assert_int_eq(attn_encode(model, "Lfe", 3, &ids, &error), -1);
    ck_assert_int_eq(error.status, 3);
    ck_assert_ptr_nonnull(strstr(error.text, "'Lfe'"));
    ck_assert_ptr_null(ids.ids);
    struct attn_request request = {.show = "nothing", .sink = look};
    ck_assert_int_eq(attn_run(model, &ids, &request, &error), -1);
    ck_assert_int_eq(error.status, 2);
    ck_assert_int_eq(attn_encode(model, "Lfe", 3, &ids, NULL), -1);
    attn_close(model);
    attn_close(NULL);
}

TEST(messages_name_the_model_when_its_name_was_overwritten)
{
    char name[] = "life";
    float logprobs[1];
    uint32_t number = 1;
    struct attn_error error = {0};
    struct attn_ids ids = {.ids = &number, .count = 1};
    struct attn_model *model = attn_open(name, 1, NULL);
    memset(name, 'Z', 4);
    ck_assert_int_eq(attn_score(model, &ids, logprobs, &error), -1);
    ck_assert_msg(strncmp(error.text, "'life': ", 8) == 0, "%s", error.text);
    ck_assert_ptr_null(attn_cache_open(model, &error));
    ck_assert_msg(strncmp(error.text, "'life': ", 8) == 0, "%s", error.text);
    attn_close(model);
}

TEST(weights_are_shown_by_default)
{
    struct attn_error error = {0};
    struct seen seen = {0};
    struct attn_ids ids = {.ids = (uint32_t[]){1, 2, 3}, .count = 3};
    struct attn_request request = {.layers = "0", .sink = look, .context = &seen};
    struct attn_model *model = attn_open(NULL, 1, &error);
    ck_assert_msg(model != NULL, "%s", error.text);
    ck_assert_msg(!attn_run(model, &ids, &request, &error), "%s", error.text);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_str_eq(seen.names[0], "h.0.weights");
    attn_close(model);
}

TEST(missing_arguments_of_a_run_are_named)
{
    static uint32_t list[] = {1, 2, 3};
    static const struct attn_ids ids = {.ids = list, .count = 3};
    static const struct attn_ids empty = {.count = 3};
    static const struct attn_request request = {.sink = look};
    static const struct attn_request deaf = {.show = "weights"};
    static const struct attn_request unsourced = {.sink = look, .source = &empty};
    struct attn_model *model = attn_open("life", 1, NULL);
    const struct {
        struct attn_model *model;
        const struct attn_ids *ids;
        const struct attn_request *request;
        const char *text;
    } cases[] = {
        {NULL, &ids, &request, "expected a model, found NULL"},
        {model, NULL, &request, "expected ids, found NULL"},
        {model, &empty, &request, "ids: expected 3 numbers, found NULL"},
        {model, &ids, NULL, "expected a request, found NULL"},
        {model, &ids, &deaf, "expected a sink, found NULL"},
        {model, &ids, &unsourced, "ids of the source: expected 3 numbers, found NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_error error = {0};
        ck_assert_int_eq(attn_run(cases[i].model, cases[i].ids, cases[i].request, &error), -1);
        ck_assert_int_eq(error.status, 2);
        ck_assert_str_eq(error.text, cases[i].text);
        ck_assert_int_eq(attn_run(cases[i].model, cases[i].ids, cases[i].request, NULL), -1);
    }
    attn_close(model);
}

TEST(missing_arguments_of_an_encoding_are_named)
{
    struct attn_error error = {0};
    struct attn_ids ids = {.count = 7};
    struct attn_model *model = attn_open("life", 1, NULL);
    ck_assert_int_eq(attn_encode(NULL, "Life", 4, &ids, &error), -1);
    ck_assert_str_eq(error.text, "expected a model, found NULL");
    ck_assert_uint_eq(ids.count, 0);
    ck_assert_int_eq(attn_encode(model, "Life", 4, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected a buffer for ids, found NULL");
    ck_assert_int_eq(attn_encode(model, NULL, 4, &ids, &error), -1);
    ck_assert_int_eq(error.status, 3);
    ck_assert_ptr_nonnull(strstr(error.text, "empty"));
    attn_ids_free(NULL);
    attn_close(model);
}

TEST(without_memory_no_ids_are_returned)
{
    static const char text[] = "Life is short";
    struct attn_ids ids = {0};
    struct attn_model *model = attn_open("life", 1, NULL);
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct attn_error error = {0};
        heap_fail_at(nth, 0);
        failed = attn_encode(model, text, strlen(text), &ids, &error);
        heap_fail_at(0, 0);
        ck_assert_int_eq(error.status, failed ? 3 : 0);
        ck_assert(failed ? !ids.ids && strstr(error.text, "out of memory") : ids.count == 3);
    }
    attn_ids_free(&ids);
    attn_close(model);
}

/* --- packing ---------------------------------------------------------------------------------- */

struct logits {
    float values[8192];
    size_t count;
};

static int copy_logits(void *context, const struct attn_tensor *tensor)
{
    struct logits *logits = context;
    ck_assert(tensor->stride[1] == 1 && tensor->stride[0] == tensor->shape[1]);
    logits->count = tensor->shape[0] * tensor->shape[1];
    ck_assert_uint_le(logits->count, COUNT(logits->values));
    memcpy(logits->values, tensor->data, logits->count * sizeof *logits->values);
    return 0;
}

/* A run of `count` tokens, other ones each time, up to the logits. */
static int run_text(struct logits *logits, struct attn_model *model, size_t count, uint32_t first)
{
    uint32_t numbers[] = {first, first + 1, first + 2};
    struct attn_ids ids = {.ids = numbers, .count = count};
    struct attn_request request = {.show = "logits", .sink = copy_logits, .context = logits};
    return attn_run(model, &ids, &request, NULL);
}

struct faults {
    size_t allocations; /* of the run after `runs` others */
    size_t refused;     /* how often it fails if one of them does */
};

static struct faults faults_of(size_t packing_bytes, size_t runs, size_t tokens)
{
    struct faults faults = {0};
    static struct logits logits;
    for (bool failed = true; failed; faults.allocations += failed) {
        struct attn_model *model = attn_open("tiny", 1, NULL);
        ck_assert(!attn_set_packing(model, packing_bytes, NULL));
        for (uint32_t i = 0; i < runs; i++)
            ck_assert(!run_text(&logits, model, tokens, i));
        heap_fail_at(faults.allocations + 1, 0);
        faults.refused += run_text(&logits, model, tokens, 9) != 0;
        failed = heap_has_failed();
        heap_fail_at(0, 0);
        attn_close(model);
    }
    return faults;
}

TEST(the_second_run_of_several_tokens_packs_and_later_ones_do_not)
{
    size_t matrices = 2 * 4 + 1, plain = faults_of(0, 1, 3).allocations;
    ck_assert_uint_eq(faults_of(SIZE_MAX, 0, 3).allocations, faults_of(0, 0, 3).allocations);
    ck_assert_uint_eq(faults_of(SIZE_MAX, 1, 3).allocations, plain + matrices);
    ck_assert_uint_eq(faults_of(SIZE_MAX, 2, 3).allocations, plain);
    ck_assert_uint_eq(faults_of(1000, 1, 3).allocations, plain);
    ck_assert_uint_eq(faults_of(SIZE_MAX, 1, 1).allocations, faults_of(0, 1, 1).allocations);
}

TEST(without_memory_for_packing_a_run_succeeds)
{
    ck_assert_uint_eq(faults_of(SIZE_MAX, 1, 3).refused, faults_of(0, 1, 3).refused);
}

/* Of floats and of types that become floats. */
static const char *const packed_models[] = {"tiny", "tests/references/gguf/llama-bf16.gguf",
                                            "tests/references/gguf/q5_0.gguf"};

TEST_LOOP(packing_keeps_each_bit, COUNT(packed_models))
{
    static struct logits first, later;
    struct attn_error error = {0};
    struct attn_model *model = attn_open(packed_models[_i], 1, &error);
    ck_assert_msg(model && !run_text(&first, model, 3, 2), "%s", error.text);
    for (size_t i = 0; i < 3; i++) {
        memset(&later, 0, sizeof later);
        ck_assert(!run_text(&later, model, 3, 2));
        ck_assert_mem_eq(&first, &later, sizeof first);
    }
    attn_close(model);
    ck_assert_int_eq(attn_set_packing(NULL, 0, &error), -1);
    ck_assert_str_eq(error.text, "expected a model, found NULL");
}

/* The numbers of attn-cli score. */
TEST(a_text_is_scored)
{
    struct attn_error error = {0};
    float logprobs[3];
    uint32_t numbers[] = {367, 274, 334}; /* Life is short */
    struct attn_ids ids = {.ids = numbers, .count = 3};
    struct attn_model *model = attn_open("tiny", 1, &error);
    ck_assert_int_eq(attn_score(model, &ids, logprobs, &error), 0);
    ck_assert(isnan(logprobs[0]));
    ck_assert_float_eq_tol(logprobs[1], -0.0003334f, 1e-6f);
    ck_assert_float_eq_tol(logprobs[2], -0.5300509f, 1e-6f);
    attn_close(model);
}

TEST(invalid_arguments_of_a_score_are_named)
{
    static const struct {
        const char *model;
        size_t count;
        uint32_t last;
        int status;
        const char *text;
    } cases[] = {
        {"tiny", 0, 0, 3, "the text is empty: expected at least one token"},
        {"tiny", 1, 99999, 3, "token 0: expected an id below vocab_size = 1280, found 99999"},
        {"tiny", 2, 99999, 3, "token 1: expected an id below vocab_size = 1280, found 99999"},
        {"life", 2, 1, 4, "expected a model with logits"},
        {NULL, 2, 1, 2, "expected a model, found NULL"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_error error = {0};
        float logprobs[2];
        uint32_t numbers[] = {cases[i].count == 1 ? cases[i].last : 1, cases[i].last};
        struct attn_ids ids = {.ids = numbers, .count = cases[i].count};
        struct attn_model *model = cases[i].model ? attn_open(cases[i].model, 1, NULL) : NULL;
        ck_assert_int_eq(attn_score(model, &ids, logprobs, &error), -1);
        ck_assert_msg(error.status == cases[i].status, "%zu: %d %s", i, error.status, error.text);
        ck_assert_msg(strstr(error.text, cases[i].text), "%s", error.text);
        attn_close(model);
    }
    struct attn_error error = {0};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    uint32_t number = 1;
    struct attn_ids ids = {.ids = &number, .count = 1};
    ck_assert_int_eq(attn_score(model, &ids, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected a buffer for log-probabilities, found NULL");
    attn_close(model);
}

static int keep_id(void *context, uint32_t id, const char *bytes, size_t size, float logprob)
{
    uint32_t *kept = context;
    ck_assert(isnan(logprob));
    ck_assert(size && bytes[0]);
    kept[kept[0]++] = id;
    return kept[0] == 3; /* kept[0] counts from 1 */
}

TEST(several_texts_have_the_scores_of_each_alone_and_a_text_is_continued)
{
    uint32_t numbers[] = {367, 274, 334, 11, 342}, kept[4] = {1};
    struct attn_token_score all[5];
    float alone[3];
    struct attn_error error = {0};
    struct attn_ids texts[] = {{.ids = numbers, .count = 2}, {.ids = numbers, .count = 3}};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    struct attn_generation how = {.sink = keep_id, .context = kept, .tokens = 5};
    ck_assert_int_eq(attn_score_all(model, texts, 2, NULL, all, &error), 0);
    ck_assert_int_eq(attn_score(model, &texts[1], alone, &error), 0);
    ck_assert(isnan(all[0].logprob) && isnan(all[2].logprob) && all[2].rank == 0);
    ck_assert(all[3].logprob == alone[1] && all[4].logprob == alone[2] && all[4].rank == 1);
    ck_assert_int_eq(attn_generate(model, &texts[0], NULL, &how, &error), 0);
    ck_assert(kept[0] == 3 && kept[1] == numbers[2] && kept[2] == numbers[3]);
    ck_assert_int_eq(attn_run_all(model, NULL, 2, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected ids, found NULL");
    ck_assert_int_eq(attn_score_all(model, NULL, 0, NULL, all, &error), 0);
    ck_assert_int_eq(attn_generate(model, &texts[0], NULL, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected a generation, found NULL");
    how.top_p = 0.5;
    ck_assert_int_eq(attn_generate(model, &texts[0], NULL, &how, &error), -1);
    ck_assert_msg(strstr(error.text, "expected a temperature above 0"), "%s", error.text);
    attn_close(model);
}

TEST(a_sum_of_logits_has_gradients)
{
    uint32_t numbers[] = {367, 274, 334};
    struct attn_error error = {0};
    struct seen seen = {0};
    struct attn_ids ids = {.ids = numbers, .count = 3};
    struct attn_request request = {
        .show = "embedding,attention_gradient", .layers = "1", .sink = look, .context = &seen};
    struct attn_logit logits[] = {{2, 11, 1}, {1, 334, -0.5F}};
    struct attn_model *model = attn_open("tiny", 1, NULL);
    double value[3];
    for (size_t i = 0; i < 3; i++, seen.count = 0)
        ck_assert_int_eq(
            attn_gradient(model, &ids, &request, logits + i % 2, i < 2 ? 1 : 2, &value[i], &error),
            0);
    seen.count = 3;
    ck_assert_str_eq(seen.names[0], "h.1.attention_gradient");
    ck_assert_str_eq(seen.names[1], "embedding");
    ck_assert_str_eq(seen.names[2], "token_rows");
    ck_assert(seen.rank == 2 && seen.shape[0] == 3 && seen.shape[1] == 96);
    ck_assert_double_eq_tol(value[0] + value[1], value[2], 1e-6);
    logits[0].position = 3;
    seen.count = 0;
    ck_assert_int_eq(attn_gradient(model, &ids, &request, logits, 1, NULL, &error), -1);
    ck_assert_str_eq(error.text, "logits: expected a position below 3 and an id below 1280, found "
                                 "3 and 11");
    ck_assert_int_eq(attn_gradient(model, &ids, &request, NULL, 1, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected logits, found NULL");
    request.edits = "v = 0";
    logits[0].position = 2;
    ck_assert_int_eq(attn_gradient(model, &ids, &request, logits, 1, NULL, &error), -1);
    ck_assert_int_eq(error.status, 4);
    attn_close(model);
    model = attn_open("tests/references/golden-families/bert-classes", 1, NULL);
    numbers[0] = numbers[1] = numbers[2] = 1;
    request.edits = NULL;
    ck_assert_int_eq(attn_gradient(model, &ids, &request, logits, 1, NULL, &error), -1);
    ck_assert_str_eq(error.text, "logits: expected a position below 3 and an id below 3, found 2 "
                                 "and 11");
    attn_close(model);
}

/* "The keys to the cabinet" with `demo`, as features prints them; the sink ends after `*left`. */
static int look_at_features(void *context, size_t token, const struct attn_feature *features,
                            size_t count)
{
    int *left = context;
    ck_assert_uint_eq(count, 8);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_lt(features[i - 1].id, features[i].id);
    for (size_t i = 0; i < count; i++)
        if (features[i].id == 27)
            ck_assert_float_eq_tol(features[i].activation, token == 1 ? 57.7231F : 19.4435F, 1e-3F);
    return --*left == 0;
}

TEST(a_dictionary_has_features_of_each_token)
{
    struct attn_error error = {0};
    struct attn_ids ids = {0}, wrong = {.ids = (uint32_t[]){9999}, .count = 1};
    int left = 6;
    struct attn_model *model = attn_open("tiny", 1, NULL);
    ck_assert(!attn_encode(model, "The keys to the cabinet", 23, &ids, &error));
    struct attn_dictionary *dictionary = attn_dictionary_open(model, "demo", &error);
    ck_assert_uint_eq(attn_dictionary_count(dictionary), 128);
    ck_assert_msg(!attn_features(dictionary, &ids, look_at_features, &left, &error), "%s",
                  error.text);
    ck_assert_int_eq(left, 1);
    ck_assert_int_eq(attn_features(dictionary, &ids, look_at_features, &left, &error), -1);
    ck_assert_str_eq(error.text, "token 0: the sink ended the call");
    ck_assert_int_eq(attn_features(dictionary, &ids, NULL, NULL, &error), -1);
    ck_assert_str_eq(error.text, "expected a sink, found NULL");
    ck_assert_int_eq(attn_features(dictionary, &wrong, look_at_features, &left, &error), -1);
    ck_assert_int_eq(attn_features(NULL, &ids, look_at_features, &left, &error), -1);
    ck_assert_str_eq(error.text, "expected a dictionary, found NULL");
    ck_assert(!attn_dictionary_open(model, "demo:2", &error) && error.status == 3);
    ck_assert_str_eq(error.text, "'demo': expected a layer with 'resid_post' from 0 to 1, found 2");
    ck_assert(!attn_dictionary_open(model, NULL, &error) && error.status == 2);
    ck_assert_uint_eq(attn_dictionary_count(NULL), 0);
    attn_close(model);
    ck_assert_int_eq(attn_features(dictionary, &ids, look_at_features, &left, &error), -1);
    attn_dictionary_close(dictionary);
    attn_ids_free(&ids);
}

TEST(a_source_is_translated_and_scored)
{
    struct attn_error error = {0};
    struct attn_ids source, text, none = {0};
    uint32_t own[4] = {1};
    struct attn_generation generation = {.sink = keep_id, .context = own, .beams = 2};
    struct attn_request request = {.source = &source};
    struct attn_token_score scores[16];
    struct attn_model *model = attn_open("translate", 1, &error);
    ck_assert_int_eq(attn_encode_source(model, "the small cat", 13, &source, &error), 0);
    ck_assert_uint_eq(source.count, 3);
    ck_assert_int_eq(attn_generate(model, &none, &request, &generation, &error), 0);
    ck_assert_int_eq(attn_encode_special(model, "<s> le petit chat", 17, NULL, 0, &text, &error),
                     0);
    ck_assert_uint_eq(text.ids[0], attn_count(model).begin);
    ck_assert_uint_eq(own[0], 3);
    ck_assert_mem_eq(text.ids + 1, own + 1, 2 * sizeof *own);
    ck_assert_int_eq(attn_score_all(model, &text, 1, &request, scores, &error), 0);
    ck_assert_uint_eq(scores[3].rank, 1);
    request.source = &(struct attn_ids){.count = 3};
    ck_assert_int_eq(attn_score_all(model, &text, 1, &request, scores, &error), -1);
    ck_assert_str_eq(error.text, "ids of the source: expected 3 numbers, found NULL");
    attn_ids_free(&source);
    attn_ids_free(&text);
    attn_close(model);
}
