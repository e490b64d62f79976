#include "draw/measured_form.h"

#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"
#include "measure/reduction.h"

enum { SVG = 7 }; /* its row */

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

FIXTURE(setup, teardown)

/* Head 0 of layer 0 and head `other` of layer 1 were counted, of `heads`. */
static struct reduction count(unsigned measures, size_t heads, size_t other)
{
    struct reduction_size size = {
        .layers = 2, .heads = heads, .queries = 3, .keys = 3, .causal = true};
    struct tensor square = {weights, 2, {3, 3}, {3, 1}};
    struct reduction reduction;
    struct err err = {0};
    ck_assert_int_eq(reduction_init(&reduction, measures, &size, &arena, &err), 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 0, &square, NULL, &err), 0);
    ck_assert_int_eq(reduction_add(&reduction, 1, other, &square, NULL, &err), 0);
    return reduction;
}

struct part {
    struct reduction reduction;
    const char *name;
};

/* What `out` is given: the parts, measured in memory of their own. */
static int write_parts(struct stream *out, const struct part *parts, size_t count, struct err *err)
{
    struct measured measured[3] = {0};
    struct measured_list list = {"tiny", measured, count};
    struct arena own = {0};
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        measured[i].name = parts[i].name;
        failed = reduction_measure(&measured[i], &parts[i].reduction, &own, err);
    }
    const struct place place = {.count = 1, .style = &style_default};
    ck_assert_str_eq(measured_forms[SVG].name, "svg");
    failed = failed || measured_forms[SVG].write(out, &list, &place, err);
    arena_release(&own);
    return failed ? -1 : 0;
}

static int draw(const struct part *parts, size_t parts_count, struct err *err)
{
    struct stream out = {0};
    memory_stream_open(&out);
    int failed = write_parts(&out, parts, parts_count, err);
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

TEST(parts_stand_side_by_side_on_one_scale)
{
    struct reduction reduction = count(1u << MEASURE_ENTROPY, 1, 0);
    struct part parts[] = {{reduction, "attention=dense"}, {reduction, "attention=\x01window"}};
    ck_assert_int_eq(draw(parts, 2, NULL), 0);
    ck_assert_uint_eq(count_text(">entropy · rows: layer, columns: head</text>"), 1);
    ck_assert_uint_eq(count_text(">attention=dense</text>"), 1);
    ck_assert_uint_eq(count_text("\x01"), 0); /* a control character would be no XML */
    ck_assert_uint_eq(count_text("how evenly a query looks"), 1);
}

TEST(parts_of_other_sizes_have_their_own_place)
{
    struct part parts[] = {{count(1u << MEASURE_ENTROPY, 1, 0), "model=a"},
                           {count(1u << MEASURE_ENTROPY, 3, 2), "model=b"},
                           {count(1u << MEASURE_ENTROPY, 3, 2), "model=c"}};
    ck_assert_int_eq(draw(parts, 3, NULL), 0);
    ck_assert_uint_eq(count_text(">entropy · model=a · rows: layer, columns: head</text>"), 1);
    ck_assert_uint_eq(count_text(">model=b</text>"), 1);
    ck_assert_uint_eq(count_text(">model=c</text>"), 1);
}

TEST(measures_of_cells_are_a_grid_of_layers_and_heads)
{
    struct part parts[] = {{count(1u << MEASURE_MEAN, 1, 0), "a"}};
    ck_assert_int_eq(draw(parts, 1, NULL), 0);
    ck_assert_uint_eq(count_text(">mean · head 0 · rows: query, columns: key</text>"), 1);
    ck_assert_uint_eq(count_text("<title>mean layer 1 head 0</title>"), 1);
}

TEST(heads_that_make_no_grid_have_names)
{
    struct part parts[] = {{count(1u << MEASURE_MAX, 4, 2), "a"}};
    ck_assert_int_eq(draw(parts, 1, NULL), 0);
    ck_assert_uint_eq(count_text(">max layer 0 head 0</text>"), 1);
    ck_assert_uint_eq(count_text(">max layer 1 head 2</text>"), 1);
}

TEST(what_nothing_was_counted_of_is_left_out)
{
    struct reduction full = count(1u << MEASURE_ENTROPY, 1, 0);
    struct reduction empty;
    ck_assert_int_eq(reduction_init(&empty, full.measures, &full.size, &arena, NULL), 0);
    struct part parts[] = {{empty, "no part"}, {full, "something"}};
    ck_assert_int_eq(draw(parts, 2, NULL), 0);
    ck_assert_uint_eq(count_text("no part"), 0);
    ck_assert_int_eq(draw(parts, 1, NULL), 0); /* a title alone */
    ck_assert_uint_eq(count_text(">tiny</text>"), 1);
}

TEST(a_measure_of_which_nothing_was_counted_is_left_out)
{
    /* a text of one token has no token before its query */
    struct reduction_size size = {.layers = 1, .heads = 1, .queries = 1, .keys = 1, .causal = true};
    unsigned measures = 1u << MEASURE_ENTROPY | 1u << MEASURE_PREVIOUS_TOKEN;
    struct tensor square = {weights, 2, {1, 1}, {1, 1}};
    struct part part = {.name = "a"};
    ck_assert_int_eq(reduction_init(&part.reduction, measures, &size, &arena, NULL), 0);
    ck_assert_int_eq(reduction_add(&part.reduction, 0, 0, &square, NULL, NULL), 0);
    ck_assert_int_eq(draw(&part, 1, NULL), 0);
    ck_assert_uint_eq(count_text(">entropy · rows: layer, columns: head</text>"), 1);
    ck_assert_uint_eq(count_text("previous-token"), 0);
}

TEST(missing_memory_is_an_error_everywhere)
{
    struct part parts[] = {{count(1u << MEASURE_ENTROPY | 1u << MEASURE_MAX, 4, 2), "a"},
                           {count(1u << MEASURE_ENTROPY | 1u << MEASURE_MAX, 4, 2), "b"}};
    int failed = -1;
    size_t nth = 0;
    while (failed) {
        struct stream out = {0};
        struct err err = {0};
        memory_stream_open(&out);
        int descriptor = out.descriptor;
        heap_fail_at(++nth, 0);
        failed = write_parts(&out, parts, 2, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        stream_discard(&out);
        close(descriptor);
    }
    ck_assert_uint_gt(nth, 5);
}
