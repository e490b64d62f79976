#include "explanation_fixture.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "memory_stream.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { KEYS = 4, WIDTH = 9, WRITTEN_BYTES = 1 << 16 };

static const char text[] = "a_b|爱\r";
static const struct token tokens[] = {{3, 0, 3}, {1, 3, 4}, {4, 4, 7}, {5, 7, 8}};
static const struct label labels[] = {
    {"a_b", "0:a_b", "a_b"}, {"|", "1:|", "|"}, {"爱", "2:爱", "爱"}, {"\\x0d", "3:\\x0d", "\r"}};

static const struct report report = {
    .model = "o\"dd",
    .sentence = {.text = text,
                 .size = sizeof text - 1,
                 .tokens = tokens,
                 .labels = labels,
                 .count = COUNT(tokens)},
};

static const struct label input_rows[] = {{"x", "x", "x"}, {"b_q", "b_q", "b_q"}};
static const float input[] = {0.5f, NAN};
static const float matrix[2][2] = {{1, -2}, {0.25f, 0}};
static const float product[] = {0.75f, -1};

static const float keys[KEYS][WIDTH] = {{1, 2, 3, 4, 5, 6, 7, 8, 9},
                                        {-1, -2, -3, -4, -5, -6, -7, -8, -9},
                                        {0, 0.5f, 0, 0.5f, 0, 0.5f, 0, 0.5f, 0},
                                        {0, 0, 0, 0, 0, 0, 0, 0, 0.00001f}};
static const float masked[] = {0.5f, 1.5f, -INFINITY, -INFINITY};
static const float weights[] = {0.25f, 0.75f, 0, 0};
static const float sum[] = {1};

/* A matrix that is shown only in full, and two things that formulas show. */
static const float bias[] = {0.5f, 0.125f};
static const float scale[] = {0.25f};

static const struct given givens[] = {
    {.is_matrix = true,
     .table = {.corner = "channel",
               .rows = labels,
               .row_count = 2,
               .own_row = NO_ROW,
               .total = "b_k",
               .blocks = {{.name = "W_k",
                           .symbol = "W_k",
                           .is_vector = true,
                           .width = 2,
                           .values = &matrix[0][0],
                           .stride = 2,
                           .total = bias,
                           .numeral = {.digits = 4}}},
               .block_count = 1}},
    {.is_shown = true,
     .table = {.row_count = 1,
               .blocks = {{.name = "b_k", .is_vector = true, .width = 2, .values = bias}},
               .block_count = 1}},
    {.is_shown = true,
     .table = {.row_count = 1,
               .blocks = {{.name = "scale", .width = 1, .values = scale}},
               .block_count = 1}},
};

static const struct step steps[] = {
    {
        .name = "query",
        .title = "Query",
        .formulas = {"q = x · W_q + b_q"},
        .formula_count = 1,
        .table = {.corner = "channel",
                  .rows = input_rows,
                  .row_count = 2,
                  .own_row = NO_ROW,
                  .total = "q",
                  .blocks = {{.name = "x",
                              .symbol = "x",
                              .width = 1,
                              .values = input,
                              .stride = 1,
                              .numeral = {.digits = 4}},
                             {.name = "W_q",
                              .symbol = "W_q",
                              .is_vector = true,
                              .width = 2,
                              .values = &matrix[0][0],
                              .stride = 2,
                              .total = product,
                              .numeral = {.digits = 4}}},
                  .block_count = 2},
    },
    {
        .name = "scores",
        .title = "Keys",
        .formulas = {"k_j = x_j", "score_j = q · k_j"},
        .formula_count = 2,
        .note = "W_k, W_O,h: what they are.",
        .worked = "score_0 = 0.5 · 1",
        .givens = givens,
        .given_count = COUNT(givens),
        .table = {.corner = "key",
                  .rows = labels,
                  .row_count = KEYS,
                  .of_keys = true,
                  .own_row = 1,
                  .blocks = {{.name = "k",
                              .symbol = "k_j",
                              .is_vector = true,
                              .width = WIDTH,
                              .values = &keys[0][0],
                              .stride = WIDTH,
                              .numeral = {.digits = 4}}},
                  .block_count = 1},
    },
    {
        .name = "weights",
        .title = "Softmax",
        .table = {.corner = "key",
                  .rows = labels,
                  .row_count = KEYS,
                  .of_keys = true,
                  .own_row = 1,
                  .total = "sum",
                  .blocks = {{.name = "masked",
                              .symbol = "masked_j",
                              .width = 1,
                              .values = masked,
                              .stride = 1,
                              .numeral = {.digits = 1}},
                             {.name = "weight",
                              .symbol = "weight_j",
                              .is_share = true,
                              .width = 1,
                              .values = weights,
                              .stride = 1,
                              .total = sum,
                              .numeral = {.digits = 2, .scientific = true}}},
                  .block_count = 2},
    },
    {.name = "output", .title = "Output", .note = "That is all.", .table = {.own_row = NO_ROW}},
};

static const size_t all[] = {0, 1, 2, 3};

const struct explanation fixture_explanation = {
    .report = &report,
    .text = &report.sentence,
    .layer = 2,
    .head = 1,
    .query = 1,
    .key_count = KEYS,
    .shown = all,
    .shown_count = KEYS,
    .shown_weight = 1,
    .steps = steps,
    .step_count = COUNT(steps),
};

static const size_t heaviest[] = {1, 2};

const struct explanation fixture_explanation_short = {
    .report = &report,
    .text = &report.sentence,
    .layer = 2,
    .head = 1,
    .query = 1,
    .key_count = KEYS,
    .shown = heaviest,
    .shown_count = COUNT(heaviest),
    .shown_weight = 0.75f,
    .steps = steps + 1,
    .step_count = 1,
};

const struct explain_page fixture_page = {.columns = 60};

static char written[WRITTEN_BYTES];

const char *fixture_explained(fixture_explainer writer, const struct explanation *explanation,
                              const struct explain_page *page)
{
    struct stream out = {0};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_msg(writer(&out, &(struct explanations){explanation, 1, false}, page, &err) == 0,
                  "%s", err.text);
    struct file file = memory_stream_take(&out);
    ck_assert_uint_lt(file.size, sizeof written);
    memcpy(written, file.bytes, file.size);
    written[file.size] = '\0';
    file_release(&file);
    return written;
}

void fixture_starve_explainer(fixture_explainer writer)
{
    int failed = -1;
    size_t nth = 0;
    while (failed) {
        struct stream out = {0};
        struct err err = {0};
        memory_stream_open(&out);
        int descriptor = out.descriptor;
        heap_fail_at(++nth, 0);
        failed = writer(&out, &(struct explanations){&fixture_explanation, 1, false}, &fixture_page,
                        &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        stream_discard(&out);
        close(descriptor);
    }
}

void fixture_starve_explanation(struct viewer *viewer, const struct text_pair *pair,
                                const struct explain_request *request)
{
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct arena arena = {0};
        struct err err = {0};
        struct explanation explanation;
        heap_fail_at(nth, 0);
        failed = explanation_make(&explanation, viewer, pair, request, &arena, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        arena_release(&arena);
        ck_assert(failed || nth > 10);
    }
}
