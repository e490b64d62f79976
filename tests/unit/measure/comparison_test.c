#include "measure/comparison.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"
#include "lens/viewer.h"
#include "model/pass.h"
#include "model/mechanism.h"

enum { WAYS = 4, HEADS = 8 };

static const char *const names[WAYS] = {"dense", "window:2", "linear", "blocked:3"};

static struct viewer viewer;
static struct text_pair pairs[2];
static struct mechanism ways[WAYS];
static struct selection selection;
static struct comparison comparison;
static struct arena arena;
static struct err err;

/* tiny, two texts, all layers and heads. */
static void open_all(void)
{
    static const char *const texts[] = {"Life is short", "Life is short, eat dessert first."};
    arena = (struct arena){0};
    err = (struct err){0};
    selection = (struct selection){0};
    ck_assert_int_eq(viewer_open(&viewer, "tiny", 2, &err), 0);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct input input = {.text = texts[i], .size = strlen(texts[i])};
        ck_assert_int_eq(viewer_read(&viewer, &pairs[i], &input, NULL, &arena, &err), 0);
    }
    for (size_t i = 0; i < WAYS; i++) {
        ways[i] = (struct mechanism){0};
        ck_assert_int_eq(mechanism_set_attention(&ways[i], names[i], &err), 0);
    }
    ck_assert_int_eq(selection_layers(&selection, NULL, &viewer.model.config, &arena, &err), 0);
}

static void close_all(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(open_all, close_all)

static struct comparison_plan plan_all(void)
{
    return (struct comparison_plan){
        .viewer = &viewer,
        .pairs = pairs,
        .pair_count = COUNT(pairs),
        .ways = ways,
        .way_count = WAYS,
        .selection = &selection,
        .rounds = 2,
    };
}

TEST(every_way_is_held_against_dense)
{
    struct comparison_plan plan = plan_all();
    ck_assert_msg(!comparison_make(&comparison, &plan, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(comparison.layer_count * comparison.head_count, HEADS);
    ck_assert_uint_eq(comparison.longest, 8);
    ck_assert_uint_eq(comparison.threads, 2);
    for (size_t way = 0; way < WAYS; way++) {
        const struct comparison_result *result = &comparison.results[way];
        struct config config = viewer.model.config;
        config.mechanism = ways[way];
        ck_assert_str_eq(result->name, names[way]);
        ck_assert_double_gt(result->seconds, 0);
        ck_assert_uint_eq(result->bytes, attention_whole_bytes(&config, 8, 8, 2));
    }
    ck_assert_double_eq(comparison.results[0].all.max, 0);
    ck_assert_double_eq_tol(comparison.results[0].all.kept, 1, 1e-6);
    ck_assert_double_gt(comparison.results[1].all.mean, 0.01);
    ck_assert_double_lt(comparison.results[1].all.kept, 0.9);
    ck_assert_double_eq_tol(comparison.results[2].all.kept, 1, 1e-6);
    ck_assert_double_lt(comparison.results[2].all.overlap, 0.9);
    ck_assert_double_lt(comparison.results[3].all.max, 1e-5);
    ck_assert_double_gt(comparison.results[3].all.overlap, 0.999999);
    ck_assert_int_eq(viewer.model.config.mechanism.kind, ATTENTION_DENSE);
}

TEST(layers_that_are_not_kept_together_give_the_same)
{
    struct comparison_plan plan = plan_all();
    struct comparison in_pieces;
    ck_assert_int_eq(comparison_make(&comparison, &plan, &arena, &err), 0);
    plan.most_cells = 1;
    ck_assert_int_eq(comparison_make(&in_pieces, &plan, &arena, &err), 0);
    for (size_t way = 0; way < WAYS; way++)
        ck_assert_mem_eq(comparison.results[way].heads, in_pieces.results[way].heads,
                         HEADS * sizeof *in_pieces.results[way].heads);
}

TEST(some_layers_and_heads_have_their_own_numbers)
{
    struct comparison_plan plan = plan_all();
    struct comparison part;
    struct selection some = {0};
    ck_assert_int_eq(comparison_make(&comparison, &plan, &arena, &err), 0);
    ck_assert_int_eq(selection_layers(&some, "1", &viewer.model.config, &arena, &err), 0);
    ck_assert_int_eq(selection_heads(&some, "0,3", &viewer.model.config, &arena, &err), 0);
    plan.selection = &some;
    ck_assert_int_eq(comparison_make(&part, &plan, &arena, &err), 0);
    ck_assert_uint_eq(part.head_count, 2);
    for (size_t way = 0; way < WAYS; way++) {
        const struct difference *all = comparison.results[way].heads;
        const struct difference *found = part.results[way].heads;
        ck_assert_mem_eq(&found[0], &all[4], sizeof *all);
        ck_assert_mem_eq(&found[1], &all[7], sizeof *all);
    }
}

TEST(a_way_that_is_not_for_the_model_is_refused)
{
    struct comparison_plan plan = plan_all();
    ways[3].without = 1U << PART_MLP;
    viewer.model.config.kind = MODEL_ATTENTION;
    ck_assert_int_eq(comparison_make(&comparison, &plan, &arena, &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(without_memory_no_page_is_written)
{
    struct comparison_plan plan = plan_all();
    int failed = -1;
    plan.rounds = 1;
    plan.pair_count = 1;
    ck_assert_msg(!comparison_make(&comparison, &plan, &arena, &err), "%s", err.text);
    for (size_t nth = 1; failed; nth++) {
        struct stream out = {0};
        memory_stream_open(&out);
        int descriptor = out.descriptor;
        err_clear(&err);
        heap_fail_at(nth, 0);
        failed = comparison_page_write(&out, &comparison, &err);
        heap_fail_at(0, 0);
        ck_assert_int_eq(err.out_of_memory, failed != 0);
        stream_discard(&out);
        close(descriptor);
    }
}

TEST(every_allocation_may_fail)
{
    int failed = -1;
    struct comparison_plan plan = plan_all();
    plan.rounds = 1;
    for (size_t nth = 1; failed;
         nth += nth < 500 ? 1 : nth / 32) { /* passes are repeated for a time */
        struct arena fresh = {0};
        err_clear(&err);
        heap_fail_at(nth, 0);
        failed = comparison_make(&comparison, &plan, &fresh, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strstr(err.text, "out of memory: ") != NULL, "'%s'", err.text);
        ck_assert_int_eq(viewer.model.config.mechanism.kind, ATTENTION_DENSE);
        arena_release(&fresh);
    }
    ck_assert_int_eq(failed, 0);
}

/* --- the stopwatch ---------------------------------------------------------------------------- */

static void announce(struct stopwatch *stopwatch, enum site site)
{
    struct tap tap = stopwatch_tap(stopwatch);
    struct announcement seen = {.site = site};
    ck_assert_int_eq(tap.sink(tap.context, &seen, NULL), 0);
}

TEST(a_stopwatch_runs_from_values_to_contexts)
{
    struct stopwatch stopwatch = {0};
    announce(&stopwatch, SITE_V);
    ck_assert_double_eq(stopwatch.seconds, 0);
    announce(&stopwatch, SITE_V); /* of a second text */
    double begun = stopwatch.begun;
    ck_assert_double_gt(begun, 0);
    announce(&stopwatch, SITE_CONTEXT);
    double first = stopwatch.seconds;
    ck_assert_double_ge(first, 0);
    announce(&stopwatch, SITE_CONTEXT);
    ck_assert_double_eq(stopwatch.seconds, first);
    announce(&stopwatch, SITE_V); /* of the next layer */
    announce(&stopwatch, SITE_CONTEXT);
    ck_assert_double_ge(stopwatch.seconds, first);
    ck_assert_double_lt(stopwatch.seconds, 1);
}
