#include "measure/reduction.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/buf.h"

enum { MEASURES = 1 << MEASURE_MEAN | 1 << MEASURE_MAX | 1 << MEASURE_ENTROPY };

static const struct reduction_size size = {
    .layers = 1, .heads = 2, .queries = 2, .keys = 2, .causal = true};
static const float weights[] = {1, 0, 0.25f, 0.75f};

static struct arena arena;
static struct err err;
static struct reduction reduction;

static void begin(struct reduction *fresh)
{
    err = (struct err){0};
    ck_assert_int_eq(reduction_init(fresh, MEASURES, &size, &arena, &err), 0);
}

static void count_two_texts(void)
{
    struct tensor square = {weights, 2, {2, 2}, {2, 1}};
    struct tensor one = {weights, 2, {1, 1}, {1, 1}};
    begin(&reduction);
    ck_assert_int_eq(reduction_add(&reduction, 0, 1, &square, NULL, &err), 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 1, &one, NULL, &err), 0);
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(count_two_texts, release)

static const char *written(struct file *file,
                           void (*write)(struct stream *, const struct reduction *))
{
    struct stream out = {0};
    memory_stream_open(&out);
    write(&out, &reduction);
    stream_char(&out, '\0');
    *file = memory_stream_take(&out);
    return file->bytes;
}

TEST(sums_read_back_to_the_same_sums)
{
    struct file once;
    struct file again;
    written(&once, reduction_write_sums);
    begin(&reduction);
    for (const char *line = once.bytes; *line; line += strcspn(line, "\n") + 1)
        ck_assert_msg(!reduction_read_sum(&reduction, line, strcspn(line, "\n"), &err), "%s",
                      err.text);
    ck_assert_str_eq(written(&again, reduction_write_sums), once.bytes);
    ck_assert_ptr_nonnull(
        strstr(once.bytes, "mean,0,1,0,0,2,40000000000000000000000000000000000000\n"));
    file_release(&once);
    file_release(&again);
}

TEST(anything_else_is_no_line_of_sums)
{
    static const char *const wrong[] = {
        "",
        "entropy",
        "entropy,0,1,,,3",
        "entropy,0,1,,,3,1f,",
        "entropy,0,2,,,3,1f",
        "entropy,,1,,,3,1f",
        "entropy,0,1,0,0,3,1f",
        "entropy,0,1,,,0,1f",
        "entropy,0,1,,,-3,1f",
        "entropy,0,1,,,3,1.5",
        "distance,0,1,,,3,1f",
        "entropies,0,1,,,3,1f",
        "mean,0,1,0,1,3,1f",
        "mean,0,1,2,0,3,1f",
        "mean,0,1,,,3,1f",
        "mean,0,1,0,0,99999999999999999999,1f",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        err = (struct err){0};
        ck_assert_msg(reduction_read_sum(&reduction, wrong[i], strlen(wrong[i]), &err), "%s",
                      wrong[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "expected a line of sums, found '"));
    }
    char longer[400];
    memset(longer, '1', sizeof longer);
    err = (struct err){0};
    ck_assert_int_eq(reduction_read_sum(&reduction, longer, sizeof longer, &err), -1);
}
