#include "measure/reduction.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"
#include "lens/viewer.h"

static const char *const texts[] = {"Life is short", "Life is sweet", "Life", "The keys"};

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_pair pairs[COUNT(texts)];
static struct selection all;
static struct selection some; /* layer 1, heads 0 and 2 */

static void choose(struct selection *selection, const char *layers, const char *heads)
{
    const struct config *config = &viewer.model.config;
    int failed = selection_sites(selection, "weights", config, &err) ||
                 selection_layers(selection, layers, config, &arena, &err) ||
                 selection_heads(selection, heads, config, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void enter(void)
{
    ck_assert_msg(!viewer_open(&viewer, "tiny", 1, &err), "%s", err.text);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct input input = {.text = texts[i], .size = strlen(texts[i])};
        ck_assert(!viewer_read(&viewer, &pairs[i], &input, NULL, &arena, &err));
    }
    choose(&all, NULL, NULL);
    choose(&some, "1", "0,2");
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(enter, leave)

static void begin(struct reduction *reduction)
{
    const struct config *config = &viewer.model.config;
    struct reduction_size size = {config->n_layer, config->n_head, 3, 3, true};
    unsigned measures = 1u << MEASURE_MEAN | 1u << MEASURE_MAX | 1u << MEASURE_ENTROPY;
    ck_assert_int_eq(reduction_init(reduction, measures, &size, &arena, &err), 0);
}

/* Count reports that were kept, the long way. */
static void count_kept(struct reduction *reduction, const struct selection *selection, size_t first,
                       size_t count)
{
    struct report reports[COUNT(texts)];
    struct look look = {selection, pairs + first, count, 0, reports};
    ck_assert_msg(!viewer_look(&viewer, &look, &arena, &err), "%s", err.text);
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < reports[i].tensor_count; t++) {
            const struct kept *kept = &reports[i].tensors[t];
            size_t tokens = kept->shape[1];
            for (size_t h = 0; h < kept->shape[0]; h++) {
                struct tensor weights = {
                    kept->data + h * tokens * tokens, 2, {tokens, tokens}, {tokens, 1}};
                ck_assert(!reduction_add(reduction, (size_t)kept->layer, kept->heads[h], &weights,
                                         NULL, &err));
            }
        }
}

static void expect_same(const struct reduction *a, const struct reduction *b)
{
    struct reduction_walk one = {.reduction = a};
    struct reduction_walk other = {.reduction = b};
    while (reduction_next(&one)) {
        ck_assert(reduction_next(&other));
        ck_assert_mem_eq(&one.entry, &other.entry, sizeof one.entry);
    }
    ck_assert(!reduction_next(&other));
}

TEST(what_is_seen_counts_as_what_is_kept)
{
    struct reduction seen;
    struct reduction kept;
    struct reduction_text places[COUNT(texts)];
    struct reduction_sink sink;
    begin(&seen);
    begin(&kept);
    for (size_t i = 0; i < COUNT(texts); i++)
        places[i] = (struct reduction_text){&seen, i < 2 ? &all : &some, NULL};
    ck_assert(!reduction_sink_init(&sink, places, COUNT(texts), 2, &arena, &err));
    struct look look = {&all, pairs, COUNT(texts), 0, NULL};
    struct tap tap = {.sink = reduction_sink_see, .context = &sink};
    ck_assert_msg(!viewer_watch(&viewer, &look, tap, &err), "%s", err.text);
    count_kept(&kept, &all, 0, 2);
    count_kept(&kept, &some, 2, 2);
    expect_same(&seen, &kept);
}

/* Whatever finds no memory, and in whichever head: run again, alone, each text counts once. */
TEST(a_pass_that_lacks_memory_leaves_no_part_of_a_layer)
{
    struct reduction kept;
    bool came = true;
    begin(&kept);
    count_kept(&kept, &all, 0, 2);
    for (size_t nth = 1; came; nth++) {
        struct reduction seen;
        struct reduction_text places[2] = {{&seen, &all, NULL}, {&seen, &all, NULL}};
        struct reduction_sink sink;
        struct look look = {&all, pairs, 2, 0, NULL};
        begin(&seen);
        ck_assert(!reduction_sink_init(&sink, places, 2, 2, &arena, &err));
        heap_fail_at(nth, 0);
        int failed = viewer_watch(&viewer, &look,
                                  (struct tap){.sink = reduction_sink_see, .context = &sink}, &err);
        came = heap_has_failed();
        heap_fail_at(0, 0);
        for (size_t i = 0; i < 2 && failed; i++) {
            struct look one = {&all, pairs + i, 1, i, NULL};
            struct reduction_sink only = reduction_sink_only(&sink, i);
            struct tap tap = {.sink = reduction_sink_see, .context = &only};
            ck_assert(!viewer_watch(&viewer, &one, tap, NULL));
        }
        expect_same(&seen, &kept);
        err_clear(&err);
    }
}
