#include "out/tally_picture.h"

#include <check.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "memory_stream.h"

Suite *tally_picture_suite(void);

static const float weights[] = {1, 0, 0, 0.25f, 0.75f, 0, 0.5f, 0.25f, 0.25f};

static struct arena arena;
static struct file file;

static void setup(void)
{
    arena = (struct arena){0};
    file = (struct file){0};
}

static void teardown(void)
{
    file_release(&file);
    arena_release(&arena);
}

/* Head 0 of layer 0 and head `other` of layer 1 were counted, of `heads`. */
static struct tally count(unsigned measures, size_t heads, size_t other)
{
    struct tally_size size = {.layers = 2, .heads = heads, .queries = 3, .keys = 3, .causal = true};
    struct tensor square = {weights, 2, {3, 3}, {3, 1}};
    struct tally tally;
    struct err err = {0};
    ck_assert_int_eq(tally_init(&tally, measures, &size, &arena, &err), 0);
    ck_assert_int_eq(tally_add(&tally, 0, 0, &square, &err), 0);
    ck_assert_int_eq(tally_add(&tally, 1, other, &square, &err), 0);
    return tally;
}

static int draw(const struct tally_part *parts, size_t parts_count, struct err *err)
{
    struct stream out = {0};
    memory_stream_open(&out);
    int failed =
        tally_picture_write(&out, PICTURE_SVG, "tiny", parts, parts_count, &style_default, err);
    stream_char(&out, '\0');
    file_release(&file);
    file = memory_stream_take(&out);
    return failed;
}

static size_t count_text(const char *text)
{
    size_t found = 0;
    for (const char *at = file.bytes; (at = strstr(at, text)); at++)
        found++;
    return found;
}

START_TEST(parts_stand_side_by_side_on_one_scale)
{
    struct tally tally = count(1u << MEASURE_ENTROPY, 1, 0);
    struct tally_part parts[] = {{tally, "attention=dense"}, {tally, "attention=\x01window"}};
    ck_assert_int_eq(draw(parts, 2, NULL), 0);
    ck_assert_uint_eq(count_text(">entropy · rows: layer, columns: head</text>"), 1);
    ck_assert_uint_eq(count_text(">attention=dense</text>"), 1);
    ck_assert_uint_eq(count_text("\x01"), 0); /* a control character would be no XML */
    ck_assert_uint_eq(count_text("how evenly a query looks"), 1);
}
END_TEST

START_TEST(parts_of_other_sizes_have_their_own_place)
{
    struct tally_part parts[] = {{count(1u << MEASURE_ENTROPY, 1, 0), "model=a"},
                                 {count(1u << MEASURE_ENTROPY, 3, 2), "model=b"},
                                 {count(1u << MEASURE_ENTROPY, 3, 2), "model=c"}};
    ck_assert_int_eq(draw(parts, 3, NULL), 0);
    ck_assert_uint_eq(count_text(">entropy · model=a · rows: layer, columns: head</text>"), 1);
    ck_assert_uint_eq(count_text(">model=b</text>"), 1);
    ck_assert_uint_eq(count_text(">model=c</text>"), 1);
}
END_TEST

START_TEST(measures_of_cells_are_a_grid_of_layers_and_heads)
{
    struct tally_part parts[] = {{count(1u << MEASURE_MEAN, 1, 0), "a"}};
    ck_assert_int_eq(draw(parts, 1, NULL), 0);
    ck_assert_uint_eq(count_text(">mean · head 0 · rows: query, columns: key</text>"), 1);
    ck_assert_uint_eq(count_text("<title>mean layer 1 head 0</title>"), 1);
}
END_TEST

START_TEST(heads_that_make_no_grid_have_names)
{
    struct tally_part parts[] = {{count(1u << MEASURE_MAX, 4, 2), "a"}};
    ck_assert_int_eq(draw(parts, 1, NULL), 0);
    ck_assert_uint_eq(count_text(">max layer 0 head 0</text>"), 1);
    ck_assert_uint_eq(count_text(">max layer 1 head 2</text>"), 1);
}
END_TEST

START_TEST(what_nothing_was_counted_of_is_left_out)
{
    struct tally full = count(1u << MEASURE_ENTROPY, 1, 0);
    struct tally empty;
    ck_assert_int_eq(tally_init(&empty, full.measures, &full.size, &arena, NULL), 0);
    struct tally_part parts[] = {{empty, "no part"}, {full, "something"}};
    ck_assert_int_eq(draw(parts, 2, NULL), 0);
    ck_assert_uint_eq(count_text("no part"), 0);
    ck_assert_int_eq(draw(parts, 1, NULL), 0); /* a title alone */
    ck_assert_uint_eq(count_text(">tiny</text>"), 1);
}
END_TEST

START_TEST(missing_memory_is_an_error_everywhere)
{
    struct tally_part parts[] = {{count(1u << MEASURE_ENTROPY | 1u << MEASURE_MAX, 4, 2), "a"},
                                 {count(1u << MEASURE_ENTROPY | 1u << MEASURE_MAX, 4, 2), "b"}};
    int failed = -1;
    size_t nth = 0;
    while (failed) {
        struct stream out = {0};
        struct err err = {0};
        memory_stream_open(&out);
        int descriptor = out.descriptor;
        heap_fail_at(++nth, 0);
        failed = tally_picture_write(&out, PICTURE_SVG, "tiny", parts, 2, &style_default, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        stream_discard(&out);
        close(descriptor);
    }
    ck_assert_uint_gt(nth, 5);
}
END_TEST

Suite *tally_picture_suite(void)
{
    Suite *suite = suite_create("tally_picture");
    TCase *tests = tcase_create("tally_picture");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, parts_stand_side_by_side_on_one_scale);
    tcase_add_test(tests, parts_of_other_sizes_have_their_own_place);
    tcase_add_test(tests, measures_of_cells_are_a_grid_of_layers_and_heads);
    tcase_add_test(tests, heads_that_make_no_grid_have_names);
    tcase_add_test(tests, what_nothing_was_counted_of_is_left_out);
    tcase_add_test(tests, missing_memory_is_an_error_everywhere);
    suite_add_tcase(suite, tests);
    return suite;
}
