#include "measure/estimates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/golden_models.h"
#include "../unit.h"
#include "lens/capture.h"
#include "measure/patching.h"
#include "pass/tap.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source clean, corrupt;
static struct question question;
static struct patching found;

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static void read_ids(struct text_with_source *pair, const char *ids, const char *source)
{
    const struct input input = {.ids = ids}, other = {.ids = source};
    ck_assert_msg(!viewer_read(&viewer, pair, &input, source ? &other : NULL, &arena, &err), "%s",
                  err.text);
}

static void open(const char *model)
{
    static char path[64]; /* the model's name */
    snprintf(path, sizeof path, "tests/references/%s", model);
    ck_assert_msg(!viewer_open(&viewer, path, 1, &err), "%s", err.text);
}

static void estimate(struct patching_plan plan)
{
    plan.viewer = &viewer;
    plan.clean = &clean;
    plan.corrupt = &corrupt;
    plan.question = &question;
    plan.estimate = true;
    question.position = clean.text.count - 1;
    ck_assert_msg(!patching_make(&found, &plan, &arena, &err), "%s", err.text);
}

enum { LLAMA, QWEN2, GPT2_MICRO, GPTJ, T5, DIFFLLAMA };

static const struct two_texts {
    const char *model, *clean, *corrupt, *source;
    struct question question;
} texts[] = {
    [LLAMA] = {"golden-families/llama", "1,5,9,3,7,2", "1,6,9,8,7,2", NULL, {0, 12, 5}},
    [QWEN2] = {"golden-families/qwen2", "1,5,9,3,7,2", "1,6,9,8,7,2", NULL, {0, 0, 12}},
    [GPT2_MICRO] = {"golden/gpt2-micro", "1,5,9,3,7,2", "1,6,9,8,7,2", NULL, {0, 16, 30}},
    [GPTJ] = {"golden-families/gptj", "1,5,9,3,7,2", "1,6,9,8,7,2", NULL, {0, 9, 5}},
    [T5] = {"golden-families/t5", "0,5,9,3", "0,6,9,8", "3,1,4,1", {0, 6, 9}},
    [DIFFLLAMA] = {"golden-families/diffllama", "1,5,9,3,7,2", "1,6,9,8,7,2", NULL, {0, 12, 5}},
};

/* Two estimates of a site, the largest first, in float64, by the reference that wrote
 * tests/references/golden-gradients.json; of DiffLlama by transformers and autograd. */
static const struct golden {
    size_t texts;
    enum patch_over over;
    size_t at[2];
    double effects[2];
    bool noise;
    enum patch_with with;
    size_t steps;
} goldens[] = {
    {LLAMA, PATCH_HEADS, {0, 5}, {-0.715692, -0.325015}},
    {LLAMA, PATCH_RESID_PRE, {11, 3}, {0.753658, 0.0554227}},
    {LLAMA, PATCH_WEIGHTS, {2, 3}, {-0.546639, 0.145942}},
    {LLAMA, PATCH_MLP_ACT, {7, 2}, {0.535062, 0.17768}},
    {LLAMA, PATCH_HEADS, {1, 5}, {6.21928, 0.477127}, .noise = true},
    {LLAMA, PATCH_Q, {3, 2}, {0.855107, -0.464705}, .with = PATCH_WITH_ZERO},
    {LLAMA, PATCH_MLP_OUT, {11, 4}, {-2.61576, -0.221474}, .with = PATCH_WITH_MEAN},
    {LLAMA, PATCH_EDGES, {149, 66}, {-0.573121, 0.487305}},
    {LLAMA, PATCH_EDGES, {66, 10}, {1.49097, 0.650124}, .steps = 3},
    {LLAMA, PATCH_EDGES, {66, 9}, {4.98956, 3.30263}, .noise = true},
    {QWEN2, PATCH_HEADS_BY_TOKEN, {35, 17}, {0.28306, -0.0643202}},
    {QWEN2, PATCH_K, {1, 0}, {-0.239582, 0.00332922}},
    {QWEN2, PATCH_V, {1, 3}, {-0.513817, 0.013397}},
    {QWEN2, PATCH_EDGES, {66, 93}, {0.306208, -0.189997}},
    {QWEN2, PATCH_EDGES, {66, 7}, {0.320722, -0.16437}, .steps = 5},
    {GPT2_MICRO, PATCH_HEADS, {2, 3}, {0.705111, 0.263344}},
    {GPT2_MICRO, PATCH_MLP_OUT, {4, 11}, {0.377616, 0.144021}},
    {GPT2_MICRO, PATCH_MLP_ACT, {9, 132}, {0.536718, -0.465373}, .with = PATCH_WITH_ZERO},
    {GPT2_MICRO, PATCH_EDGES, {10, 93}, {1.04652, 0.298318}},
    {GPTJ, PATCH_EDGES, {5, 89}, {-1.29346, -0.261942}},
    {T5, PATCH_HEADS, {2, 0}, {0.0809215, 0.00597011}},
    {T5, PATCH_CROSS_HEADS, {0, 3}, {-0.0383049, -0.00553151}},
    {T5, PATCH_CROSS_OUT, {3, 2}, {-0.0363661, -0.000233129}},
    {T5, PATCH_MLP_OUT, {3, 7}, {0.047556, 7.85423e-05}},
    {T5, PATCH_V, {1, 3}, {-0.0379168, -0.00892708}},
    {DIFFLLAMA, PATCH_EDGES, {39, 52}, {-0.460893102, -0.290082368}},
    {DIFFLLAMA, PATCH_EDGES, {66, 1}, {-1.06804353, 0.197680638}, .noise = true},
};

enum { GOLDENS = sizeof goldens / sizeof *goldens };

TEST_LOOP(estimates_are_those_of_float64, GOLDENS)
{
    const struct golden *golden = &goldens[_i];
    const struct two_texts *two = &texts[golden->texts];
    open(two->model);
    read_ids(&clean, two->clean, two->source);
    read_ids(&corrupt, two->corrupt, two->source);
    question = two->question;
    estimate((struct patching_plan){.over = golden->over,
                                    .with = golden->with,
                                    .noise = golden->noise,
                                    .steps = golden->steps});
    const double unpatched = golden->noise || golden->with ? found.clean : found.corrupt;
    for (int i = 0; i < 2; i++) {
        const double effect = found.logits[golden->at[i]] - unpatched;
        ck_assert_msg(fabs(effect - golden->effects[i]) <= 5e-5 * fabs(golden->effects[0]),
                      "%s %s [%zu]: expected %.9g, found %.9g", two->model,
                      patch_overs[golden->over].name, golden->at[i], golden->effects[i], effect);
    }
}

/* What leaves a writer is what a patch of it changes: blocks in sequence, parallel, with one norm,
 * with multipliers, grouped keys, experts, latent attention, and norms of the embedding and of
 * heads. */
static const char *const families[] = {"llama",   "qwen2",      "gptj",        "gpt_neox",
                                       "granite", "mixtral",    "deepseek_v2", "bloom",
                                       "cohere2", "modernbert", "olmoe",       "phi"};

TEST_LOOP(edges_add_up_to_their_writer, sizeof families / sizeof *families)
{
    char path[64];
    const enum patch_over overs[] = {PATCH_RESID_PRE, PATCH_HEADS, PATCH_MLP_OUT};
    snprintf(path, sizeof path, "golden-families/%s", families[_i]);
    open(path);
    read_ids(&clean, "1,5,9,3,7,2", NULL);
    read_ids(&corrupt, "1,6,9,8,7,2", NULL);
    question = (struct question){0, 4, 9};
    estimate((struct patching_plan){.over = PATCH_EDGES});
    const struct patching edges = found;
    const size_t heads = viewer.model.config.n_head, layers = viewer.model.config.n_layer;
    double *sums = arena_alloc(&arena, edges.layers, sizeof *sums, &err), most = 0;
    for (size_t i = 0; i < edges.layers * edges.columns; i++)
        if (!isnan(edges.logits[i]))
            sums[i / edges.columns] += edges.logits[i] - edges.corrupt;
    ck_assert_uint_eq(edges.layers, 1 + layers * (heads + 1));
    for (size_t writer = 0; writer < edges.layers; writer++)
        most = fmax(most, fabs(sums[writer]));
    for (int i = 0; i < 3; i++) {
        estimate((struct patching_plan){.over = overs[i]});
        for (size_t layer = 0; layer < (overs[i] == PATCH_RESID_PRE ? 1 : layers); layer++) {
            double *effects = found.logits + layer * found.columns, sum = 0;
            const size_t writer = overs[i] == PATCH_RESID_PRE ? 0 : 1 + layer * (heads + 1);
            for (size_t k = 0; k < found.columns; k++) {
                sum += effects[k] - found.corrupt;
                if (overs[i] == PATCH_HEADS)
                    ck_assert_msg(fabs(effects[k] - found.corrupt - sums[writer + k]) < 1e-4 * most,
                                  "%s head %zu.%zu: %g, edges %g", path, layer, k,
                                  effects[k] - found.corrupt, sums[writer + k]);
            }
            if (overs[i] != PATCH_HEADS)
                ck_assert_msg(fabs(sum - sums[overs[i] == PATCH_RESID_PRE ? 0 : writer + heads]) <
                                  1e-4 * most,
                              "%s %s %zu: %g", path, patch_overs[overs[i]].name, layer, sum);
        }
    }
}

/* --- every model ------------------------------------------------------------------------------ */

/* A value that cannot be patched is refused by name, as not supported. */
TEST_LOOP(every_value_of_every_model_is_patched_and_estimated_or_refused, golden_models()->gl_pathc)
{
    char path[GOLDEN_PATH_BYTES];
    ck_assert_msg(!viewer_open(&viewer, golden_model(path, (size_t)_i), 1, &err), "%s", err.text);
    golden_ids(&clean, &viewer, "1,2,3", &arena);
    golden_ids(&corrupt, &viewer, "1,3,3", &arena);
    for (int i = 0; i < 2 * PATCH_OVERS; i++) {
        const struct patching_plan plan = {
            .viewer = &viewer,
            .clean = &clean,
            .corrupt = &corrupt,
            .question = &question,
            .over = (enum patch_over)(i / 2),
            .with = i / 2 == PATCH_PARTS ? PATCH_WITH_ZERO : PATCH_WITH_TEXT,
            .estimate = i % 2 && i / 2 != PATCH_PATHS,
        };
        struct report report = {.text = clean.text};
        question = (struct question){clean.text.count - 1, -1, -1};
        err_clear(&err);
        if (i / 2 == PATCH_EDGES && !plan.estimate)
            continue;
        if (!patching_make(&found, &plan, &arena, &err))
            patching_report(&report, &found, 1 << PATCH_LOGIT, &arena, &err);
        ck_assert_msg(err.kind == ERR_NONE || err.kind == ERR_UNSUPPORTED, "%s --over %s%s: %s",
                      path, patch_overs[plan.over].name, plan.estimate ? " --estimate" : "",
                      err.text);
    }
}

TEST(a_layer_that_keeps_a_state_has_no_edges)
{
    struct edges edges;
    open("golden-families/lfm2");
    ck_assert(edges_find(&edges, &viewer, &arena, &err));
    ck_assert_str_eq(
        err.text, "--over edges: expected parts that add their outputs to the stream, "
                  "found layers that keep a state in 'tests/references/golden-families/lfm2': use "
                  "--over heads or mlp_out");
}

/* --- a small change --------------------------------------------------------------------------- */

/* The contexts and the answer's logit of a run. */
struct seen {
    struct tensor values[8];
    double logit;
};

static int keep(void *context, const struct announcement *announced, struct err *e)
{
    struct seen *seen = context;
    if (announced->site == SITE_LOGITS) {
        seen->logit =
            question_ask(&question, tensor_slice(&announced->values, question.position).data,
                         viewer.model.config.vocab_size);
        return 0;
    }
    struct tensor *to = &seen->values[announced->layer];
    float *data = arena_room(&arena, tensor_count(&announced->values), sizeof *data, e);
    tensor_copy(data, &announced->values);
    *to = tensor_dense(data, announced->values.rank, announced->values.shape);
    return 0;
}

static void run(struct seen *seen, const struct text *text, const struct edits *edits)
{
    struct selection selection = {.sites = SITE_SET(SITE_CONTEXT, SITE_LOGITS)};
    const struct text_list list = {text, 1, 0, NULL};
    viewer.edits = edits;
    int failed =
        selection_layers(&selection, NULL, &viewer.model.config, &arena, &err) ||
        viewer_run(&viewer, &selection, &list, (struct tap){.sink = keep, .context = seen}, &err);
    viewer.edits = NULL;
    ck_assert_msg(!failed, "%s", err.text);
}

/* Between two texts that differ in a hundredth of a token, an estimate is the effect of a patch. */
TEST_LOOP(a_small_change_is_estimated_exactly, 3)
{
    static const char *const models[] = {"golden-families/llama", "golden-families/gptj",
                                         "golden/gpt2-micro"};
    enum { ROWS_MOST = 1024 };
    float from[ROWS_MOST], to[ROWS_MOST];
    open(models[_i]);
    read_ids(&clean, "1,5,9,3,7,2", NULL);
    read_ids(&corrupt, "1,6,9,3,7,2", NULL);
    question = (struct question){5, 4, 9};
    const struct config *c = &viewer.model.config;
    const struct stack *stack = stack_of(c, BRANCH_TEXT);
    const struct text base = viewer_text(&corrupt), other = viewer_text(&clean);
    const size_t width = stack->embed.width, count = base.count * width, heads = c->n_head;
    struct seen unpatched, replaced, patched;
    double effects[64] = {0}, exact[64], most = 0;
    ck_assert(count <= ROWS_MOST && c->n_layer <= 8 && c->n_layer * heads <= 64);
    embed_tokens(&viewer.model.weights, stack, &base, (struct matrix){from, 6, width, width});
    embed_tokens(&viewer.model.weights, stack, &other, (struct matrix){to, 6, width, width});
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] + 0.01f * (to[i] - from[i]);
    struct text moved = base;
    moved.rows = to;
    run(&unpatched, &base, NULL);
    run(&replaced, &moved, NULL);
    const struct estimate_plan plan = {.viewer = &viewer,
                                       .question = &question,
                                       .text = base,
                                       .by_head = true,
                                       .values = {unpatched.values, replaced.values}};
    ck_assert_msg(!estimate_cells(effects, &plan, SITE_CONTEXT, heads, &err), "%s", err.text);
    for (size_t i = 0; i < c->n_layer * heads; i++) {
        const struct edit_range layer = {(ptrdiff_t)(i / heads), (ptrdiff_t)(i / heads)};
        const struct edit_range head = {(ptrdiff_t)(i % heads), (ptrdiff_t)(i % heads)};
        const struct edit_donor donor = {.values = replaced.values, .count = 1, .longest = 6};
        const struct edit edit = {.site = SITE_CONTEXT,
                                  .op = EDIT_TAKE,
                                  .layers = {&layer, 1},
                                  .heads = {&head, 1},
                                  .donor = &donor};
        run(&patched, &base, &(struct edits){&edit, 1});
        exact[i] = patched.logit - unpatched.logit;
        most = fmax(most, fabs(exact[i]));
    }
    for (size_t i = 0; i < c->n_layer * heads; i++)
        ck_assert_msg(fabs(exact[i] - effects[i]) <= 0.02 * most,
                      "%s head %zu: patch %g, estimate %g", models[_i], i, exact[i], effects[i]);
}

/* --- verified estimates ----------------------------------------------------------------------- */

TEST(verified_patches_are_those_of_a_sweep)
{
    const enum patch_over overs[] = {PATCH_HEADS_BY_TOKEN, PATCH_MLP_ACT, PATCH_RESID_MID, PATCH_K};
    open("golden-families/qwen2");
    read_ids(&clean, "1,5,9,3,7,2", NULL);
    read_ids(&corrupt, "1,6,9,8,7,2", NULL);
    question = (struct question){5, 4, 9};
    for (size_t i = 0; i < sizeof overs / sizeof *overs; i++) {
        struct patching_plan plan = {.viewer = &viewer,
                                     .clean = &clean,
                                     .corrupt = &corrupt,
                                     .question = &question,
                                     .over = overs[i]};
        struct patching exact;
        ck_assert_msg(!patching_make(&exact, &plan, &arena, &err), "%s", err.text);
        estimate((struct patching_plan){.over = overs[i], .verify = 3});
        ck_assert_uint_eq(found.verified_count, 3);
        ck_assert(found.correlation >= -1 && found.correlation <= 1);
        double last = INFINITY;
        for (size_t k = 0; k < 3; k++) {
            const struct layer_head at = found.verified[k];
            const size_t cell = at.layer * found.columns + at.head;
            double size = fabs(found.logits[cell] - found.corrupt);
            ck_assert(size <= last);
            last = size;
            ck_assert_msg(found.exact[k] == exact.logits[cell], "%s %zu: expected %.9g, found %.9g",
                          patch_overs[overs[i]].name, cell, exact.logits[cell], found.exact[k]);
        }
    }
}
