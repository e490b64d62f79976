#include "report_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "base/memory.h"
#include "memory_stream.h"

enum { WRITTEN_BYTES = 1 << 20, NUMBERS = 8 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct layout fixture_alone = {.columns = 80};

static const struct label numbers[NUMBERS] = {
    {"0", "0", "0"}, {"1", "1", "1"}, {"2", "2", "2"}, {"3", "3", "3"},
    {"4", "4", "4"}, {"5", "5", "5"}, {"6", "6", "6"}, {"7", "7", "7"},
};

/* Life is Life */

static const char life_text[] = "Life is Life";
static const struct token life_tokens[] = {{0, false, 0, 4}, {1, false, 5, 7}, {0, false, 8, 12}};
static const struct label life_labels[] = {
    {"Life", "0:Life", "Life"}, {"is", "1:is", "is"}, {"Life", "2:Life", "Life"}};

#define LIFE                                                                   \
    {                                                                          \
        .raw = life_text, .size = sizeof life_text - 1, .tokens = life_tokens, \
        .labels = life_labels, .count = COUNT(life_tokens)                     \
    }

static const size_t heads[] = {0, 1};

static const float life_weights[2][2][3][3] = {
    {{{1, 0, 0}, {0.25f, 0.75f, 0}, {0.1f, 0.2f, 0.7f}},
     {{1, 0, 0}, {0.5f, 0.5f, 0}, {0.3f, 0.3f, 0.4f}}},
    {{{1, 0, 0}, {0, 1, 0}, {0.125f, 0.25f, 0.625f}}, {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}}};
static const float life_masked[2][3][3] = {
    {{0.5f, -INFINITY, -INFINITY}, {-1, 2, -INFINITY}, {1e-7f, 3, -12.5f}},
    {{1, -INFINITY, -INFINITY}, {2, 3, -INFINITY}, {4, 5, 6}}};
static const float life_keys[2][3][2] = {{{1, 2}, {3, 4}, {1, 2}}, {{-5, 6}, {7, 8}, {-5, 6}}};
static const float life_embedding[3][2] = {{0.5f, -0.5f}, {12345678, 0.25f}, {0.5f, -0.5f}};

static const struct array life_tensors[] = {
    {.site = SITE_EMBEDDING,
     .layer = -1,
     .rows.size = 3,
     .columns.size = 2,
     .data = &life_embedding[0][0]},
    {.site = SITE_K,
     .layer = 0,
     .heads = {"head", 2, NULL, 0, heads},
     .rows.size = 3,
     .columns.size = 2,
     .data = &life_keys[0][0][0]},
    {.site = SITE_WEIGHTS,
     .layer = 0,
     .heads = {"head", 2, NULL, 0, heads},
     .rows.size = 3,
     .columns.size = 3,
     .data = &life_weights[0][0][0][0]},
    {.site = SITE_MASKED,
     .layer = 1,
     .heads = {"head", 2, NULL, 0, heads},
     .rows.size = 3,
     .columns.size = 3,
     .data = &life_masked[0][0][0]},
    {.site = SITE_WEIGHTS,
     .layer = 1,
     .heads = {"head", 2, NULL, 0, heads},
     .rows.size = 3,
     .columns.size = 3,
     .data = &life_weights[1][0][0][0]},
};
static const struct array plain_tensors[] = {{.site = SITE_WEIGHTS,
                                              .layer = 0,
                                              .heads = {"head", 1, NULL, 0, heads},
                                              .rows.size = 3,
                                              .columns.size = 3,
                                              .data = &life_weights[0][0][0][0]}};
static const struct array selected_tensors[] = {{.site = SITE_WEIGHTS,
                                                 .heads = {"head", 1, NULL, 0, &heads[1]},
                                                 .rows.size = 3,
                                                 .columns.size = 3,
                                                 .data = &life_weights[0][1][0][0]}};

const struct report fixture_plain = {.model = "life",
                                     .text = LIFE,
                                     .arrays = plain_tensors,
                                     .array_count = 1,
                                     .numbers = numbers,
                                     .causal = true};
const struct report fixture_layers = {.model = "life",
                                      .text = LIFE,
                                      .arrays = life_tensors,
                                      .array_count = COUNT(life_tensors),
                                      .numbers = numbers,
                                      .causal = true};
const struct report fixture_selected = {.model = "life",
                                        .text = LIFE,
                                        .arrays = selected_tensors,
                                        .array_count = 1,
                                        .heads = &heads[1],
                                        .head_count = 1,
                                        .numbers = numbers,
                                        .causal = true};

/* Tokens with special characters; é is two tokens of one byte. */

static const char odd_text[] = "the,\"\n爱🍰theé";
static const struct token odd_tokens[] = {
    {7, false, 0, 3},  {1, false, 3, 4},   {2, false, 4, 5},   {3, false, 5, 6},  {4, false, 6, 9},
    {5, false, 9, 13}, {7, false, 13, 16}, {8, false, 16, 17}, {9, false, 17, 18}};
static const struct label odd_labels[] = {{"the", "0:the", "the"},     {",", "1:,", ","},
                                          {"\"", "2:\"", "\""},        {"↵", "3:↵", "\n"},
                                          {"爱", "4:爱", "爱"},        {"🍰", "5:🍰", "🍰"},
                                          {"the", "6:the", "the"},     {"\\xc3", "7:\\xc3", "\xC3"},
                                          {"\\xa9", "8:\\xa9", "\xA9"}};
static const float odd_weights[1][9][9] = {{{1},
                                            {0.5f, 0.5f},
                                            {0.5f, 0, 0.5f},
                                            {0.5f, 0, 0, 0.5f},
                                            {0.5f, 0, 0, 0, 0.5f},
                                            {0.5f, 0, 0, 0, 0, 0.5f},
                                            {0.5f, 0, 0, 0, 0, 0, 0.5f},
                                            {0.5f, 0, 0, 0, 0, 0, 0, 0.5f},
                                            {0.5f, 0, 0, 0, 0, 0, 0, 0, 0.5f}}};
static const struct array odd_tensors[] = {{.site = SITE_WEIGHTS,
                                            .layer = 0,
                                            .heads = {"head", 1, NULL, 0, heads},
                                            .rows.size = 9,
                                            .columns.size = 9,
                                            .data = &odd_weights[0][0][0]}};

const struct report fixture_odd = {.model = "o\"dd",
                                   .text = {.raw = odd_text,
                                            .size = sizeof odd_text - 1,
                                            .tokens = odd_tokens,
                                            .labels = odd_labels,
                                            .count = COUNT(odd_tokens)},
                                   .arrays = odd_tensors,
                                   .array_count = 1,
                                   .numbers = numbers,
                                   .causal = true};

/* Weights of two ids over three words */

static const struct token id_tokens[] = {{3, false, 0, 0}, {11, false, 0, 0}};
static const struct label id_labels[] = {{"3", "0:3", "3"}, {"11", "1:11", "11"}};
static const float cross_weights[1][2][3] = {{{0.5f, 0.25f, 0.25f}, {0, 0, 1}}};
static const float cross_keys[1][3][1] = {{{1}, {-2}, {1}}};
static const struct array cross_tensors[] = {{.site = SITE_K,
                                              .layer = 0,
                                              .heads = {"head", 1, NULL, 0, heads},
                                              .rows.size = 3,
                                              .columns.size = 1,
                                              .data = &cross_keys[0][0][0]},
                                             {.site = SITE_WEIGHTS,
                                              .layer = 0,
                                              .heads = {"head", 1, NULL, 0, heads},
                                              .rows.size = 2,
                                              .columns.size = 3,
                                              .data = &cross_weights[0][0][0]}};

const struct report fixture_cross = {
    .model = "models/cross",
    .text = {.tokens = id_tokens, .labels = id_labels, .count = COUNT(id_tokens)},
    .source = LIFE,
    .arrays = cross_tensors,
    .array_count = COUNT(cross_tensors),
    .numbers = numbers};

/* t0 t1 t2 …: uniform causal weights */

struct report fixture_long(size_t count)
{
    static float values[2 * FIXTURE_LONG_MAX * FIXTURE_LONG_MAX];
    static char names[FIXTURE_LONG_MAX][8];
    static struct label labels[FIXTURE_LONG_MAX];
    static struct token tokens[FIXTURE_LONG_MAX];
    static struct array weights;
    ck_assert_uint_le(count, FIXTURE_LONG_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i);
        labels[i] = (struct label){.text = names[i], .exact = names[i], .plain = names[i]};
        tokens[i] = (struct token){.id = (uint32_t)i};
    }
    for (size_t i = 0; i < 2 * count * count; i++) {
        size_t row = i / count % count;
        values[i] = i % count <= row ? 1 / (float)(row + 1) : 0;
    }
    weights = (struct array){.site = SITE_WEIGHTS,
                             .layer = 0,
                             .heads = {"head", 2, NULL, 0, heads},
                             .rows.size = count,
                             .columns.size = count,
                             .data = values};
    return (struct report){
        .model = "long",
        .text = {.tokens = tokens, .labels = labels, .count = count},
        .arrays = &weights,
        .array_count = 1,
        .causal = true,
    };
}

/* Streams to memory */

static char written[WRITTEN_BYTES];
static size_t written_size;

static const char *take(struct stream *out)
{
    struct file file = memory_stream_take(out);
    ck_assert_uint_lt(file.size, sizeof written);
    memcpy(written, file.bytes, file.size);
    written[file.size] = '\0';
    written_size = file.size;
    file_release(&file);
    return written;
}

const char *fixture_written(fixture_writer writer, const struct report *report,
                            const struct layout *layout)
{
    struct stream out = {0};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_msg(writer(&out, report, layout, &err) == 0, "%s", err.text);
    return take(&out);
}

size_t fixture_size(void)
{
    return written_size;
}

const char *fixture_several(fixture_writer writer, const struct report *const *reports,
                            size_t count)
{
    struct stream out = {0};
    struct err err = {0};
    memory_stream_open(&out);
    for (size_t i = 0; i < count; i++) {
        struct report report = *reports[i];
        report.identity = (struct identity){.index = i, .count = count};
        ck_assert_msg(writer(&out, &report, &fixture_alone, &err) == 0, "%s", err.text);
    }
    return take(&out);
}

void fixture_starve(fixture_writer writer, const struct report *report)
{
    const struct layout layout = {.columns = 80, .show_tokens = true};
    struct report first = *report;
    first.identity.count = 2;
    int failed = -1;
    size_t nth = 0;
    while (failed) {
        struct stream out = {0};
        struct err err = {0};
        memory_stream_open(&out);
        int descriptor = out.descriptor;
        heap_fail_at(++nth, 0);
        failed = writer(&out, &first, &layout, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        stream_discard(&out);
        close(descriptor);
    }
    ck_assert_uint_gt(nth, 1);
}
