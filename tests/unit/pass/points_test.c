/* Tests of the list of points, with all golden models. */
#include "model/points.h"

#include <string.h>

#include "../rigs/golden_models.h"
#include "../unit.h"
#include "base/num.h"
#include "model/mechanism.h"
#include "pass/back.h"
#include "pass/edit.h"
#include "pass/forward.h"
#include "pass/tap.h"

enum { POINTS_MAX = 2048, TOKENS = 5 };

static const uint32_t ids[TOKENS] = {0, 4, 5, 2, 1}, source[] = {3, 2, 4};

/* What a pass announced: a number for each point, of the bits of its values. */
struct seen {
    const struct config *config;
    uint64_t bits[POINTS_MAX];
    size_t last; /* index + 1 of the last point announced */
    bool in_order;
};

static int see(void *context, const struct announcement *announced, struct err *err)
{
    struct seen *seen = context;
    const struct model_point *first = points_of(seen->config);
    const struct model_point *point =
        point_find(seen->config, announced->site, (size_t)announced->layer);
    (void)err;
    ck_assert_msg(point, "%s is announced, and not in the list", site_name(announced->site));
    const size_t index = (size_t)(point - first);
    ck_assert_uint_lt(index, POINTS_MAX);
    seen->in_order &= index + 1 > seen->last;
    seen->last = index + 1;
    const size_t count = tensor_count(&announced->values);
    float *values = heap_alloc(count, sizeof *values, NULL);
    ck_assert(values);
    tensor_copy(values, &announced->values);
    uint64_t hash = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &values[i], sizeof word);
        hash = hash * 0x100000001b3 + word;
    }
    seen->bits[index] = hash;
    heap_free(values);
    return 0;
}

static struct viewer viewer;

static struct text make_text(const struct config *c)
{
    struct text text = {.ids = ids, .count = TOKENS};
    if (c->cross) {
        text.source_ids = source;
        text.source_count = sizeof source / sizeof *source;
    }
    return text;
}

/* Run a text with an edit (NULL: none), and see all points. Returns the result of forward. */
static int run_with(struct seen *seen, const struct edit *edit, struct err *err)
{
    const struct config *c = &viewer.model.config;
    const struct edits edits = {edit, edit != NULL};
    struct arena arena = {0};
    struct batch batch;
    struct watch watch;
    struct tap tap = {.watch = &watch, .sink = see, .context = seen};
    const struct text text = make_text(c);
    *seen = (struct seen){.config = c, .in_order = true};
    const struct run run = {&viewer.machine, c, &viewer.model.weights, &batch,
                            .edits = edit ? &edits : NULL};
    int failed = watch_init(&watch, c, &arena, err) ||
                 batch_init(&batch, c, &text, 1, &arena, err) || edits_check(&edits, c, err);
    for (const struct model_point *p = points_of(c); p < points_end(c) && !failed; p++)
        watch_add(&watch, p->site, (size_t)p->layer);
    failed = failed || forward(&run, &tap, &arena, err);
    arena_release(&arena);
    return failed;
}

/* Each point is announced, in the order of the list; an edit of a point changes its values and what
 * follows, or is refused. */
static void check_points(void)
{
    static struct seen plain, edited;
    const struct config *c = &viewer.model.config;
    const struct model_point *points = points_of(c);
    const size_t count = (size_t)(points_end(c) - points);
    struct err err = {0};
    ck_assert_msg(!run_with(&plain, NULL, &err), "%s", err.text);
    ck_assert_msg(plain.in_order, "order");
    for (size_t k = 0; k < count; k++)
        ck_assert_msg(plain.bits[k], "%s of layer %d is not announced", site_name(points[k].site),
                      points[k].layer);
    for (size_t k = 0; k < count; k++) {
        const char *name = site_name(points[k].site);
        const int layer = points[k].layer;
        const struct edit_range only = {layer, layer};
        const struct edit edit = {.site = points[k].site,
                                  .op = EDIT_SCALE,
                                  .number = 0.625F,
                                  .layers = {&only, layer >= 0}};
        if (run_with(&edited, &edit, &err)) {
            ck_assert_msg(strstr(err.text, name), "%s: %s", name, err.text);
            err_clear(&err);
            continue;
        }
        ck_assert_msg(edited.bits[k] != plain.bits[k], "an edit of %s of layer %d: nothing", name,
                      layer);
        bool follows = k + 1 == count;
        for (size_t l = k + 1; l < count; l++)
            follows |= edited.bits[l] != plain.bits[l];
        ck_assert_msg(follows, "nothing follows an edit of %s of layer %d", name, layer);
    }
}

static int note_gradient(void *context, const struct announcement *announced, struct err *err)
{
    const struct config *c = &viewer.model.config;
    const struct model_point *point = point_find(c, announced->site, (size_t)announced->layer);
    bool *reached = context;
    (void)err;
    ck_assert_msg(point, "%s has a gradient, and is not in the list", site_name(announced->site));
    ck_assert_int_lt(point - points_of(c), POINTS_MAX);
    reached[point - points_of(c)] = true;
    return 0;
}

static void release(void)
{
    viewer_release(&viewer);
}

FIXTURE(NULL, release)

TEST_LOOP(points_are_what_a_pass_announces_and_edits_change, golden_models()->gl_pathc)
{
    char path[GOLDEN_PATH_BYTES];
    struct err err = {0};
    ck_assert_msg(!viewer_open(&viewer, golden_model(path, (size_t)_i), 1, &err), "%s", err.text);
    check_points();
}

/* Or the walk refuses the model; attention alone has none. */
TEST_LOOP(points_with_a_gradient_are_what_a_walk_back_announces, golden_models()->gl_pathc)
{
    char path[GOLDEN_PATH_BYTES];
    bool reached[POINTS_MAX] = {false};
    struct err err = {0};
    struct arena arena = {0};
    struct batch batch;
    struct tape tape = {.arena = &arena};
    ck_assert_msg(!viewer_open(&viewer, golden_model(path, (size_t)_i), 1, &err), "%s", err.text);
    const struct config *c = &viewer.model.config;
    const struct text text = make_text(c);
    const struct run run = {&viewer.machine, c, &viewer.model.weights, &batch};
    if (tape_check(&run, &err)) {
        ck_assert_msg(err.kind == ERR_UNSUPPORTED, "%s", err.text);
        return;
    }
    const struct model_point *last = points_end(c) - 1;
    const size_t columns = num_max(last->columns, config_logits(c));
    float *seed = arena_alloc(&arena, TOKENS * last->heads * columns, sizeof *seed, &err);
    const struct back_seed seeds = {last->site, last->layer, seed};
    struct back back = {.run = &run,
                        .tape = &tape,
                        .seeds = &seeds,
                        .seed_count = 1,
                        .sink = note_gradient,
                        .context = reached};
    int failed =
        !seed || batch_init(&batch, c, &text, 1, &arena, &err) ||
        (c->kind != MODEL_ATTENTION && (tape_run(&tape, &run, &err) || back_run(&back, &err)));
    ck_assert_msg(!failed, "%s: %s", path, err.text);
    for (const struct model_point *p = points_of(c); p < points_end(c); p++)
        ck_assert_msg(reached[p - points_of(c)] == p->gradient, "%s: %s of layer %d", path,
                      site_name(p->site), p->layer);
    arena_release(&arena);
}

TEST(a_mask_after_softmax_has_a_point_more)
{
    const struct mechanism mask_after = {.renormalise = true};
    struct err err = {0};
    ck_assert(!viewer_open(&viewer, "tests/references/golden-families/llama", 1, &err));
    ck_assert_ptr_null(point_any(&viewer.model.config, SITE_SOFTMAX));
    ck_assert(!viewer_set_mechanism(&viewer, &mask_after, &err));
    ck_assert_ptr_nonnull(point_any(&viewer.model.config, SITE_SOFTMAX));
    check_points();
}
