#include "measure/comparison.h"

#include "../unit.h"
#include "lens/viewer.h"
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
