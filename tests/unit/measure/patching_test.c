#include "measure/patching.h"

#include <math.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "../rigs/instruments_golden.h"
#include "model/config.h"
#include "model/mechanism.h"
#include "model/points.h"
#include "pass/tap.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source clean, corrupt;
static struct question question;
static struct patching_plan plan;
static struct patching found;
static const struct edits *own; /* edits of all runs */

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static void read_ids(struct text_with_source *pair, const char *ids)
{
    struct input input = {.ids = ids};
    ck_assert_msg(!viewer_read(&viewer, pair, &input, NULL, &arena, &err), "%s", err.text);
}

static void open(const char *model, size_t threads, const char *clean_ids, const char *corrupt_ids)
{
    ck_assert_msg(!viewer_open(&viewer, model, threads, &err), "%s", err.text);
    read_ids(&clean, clean_ids);
    read_ids(&corrupt, corrupt_ids);
    plan = (struct patching_plan){
        .viewer = &viewer, .clean = &clean, .corrupt = &corrupt, .question = &question};
    question = (struct question){clean.text.count - 1, .answer = 4, .against = 9};
}

static void patch(enum patch_over over)
{
    plan.over = over;
    ck_assert_msg(!patching_make(&found, &plan, &arena, &err), "%s", err.text);
}

/* --- against passes with one edit ------------------------------------------------------------- */

static int keep_answer(void *context, const struct announcement *seen, struct err *e)
{
    struct tensor row = tensor_slice(&seen->values, question.position);
    const float *logits = row.data;
    (void)e;
    *(double *)context = (double)logits[question.answer] - (double)logits[question.against];
    return 0;
}

/* The logit difference of the answer in an edited pass over the patched text. */
static double edited_logit(const struct edits *edits)
{
    const struct text_with_source *base = plan.noise || plan.with ? plan.clean : plan.corrupt;
    struct selection selection = {.sites = SITE_SET(SITE_LOGITS)};
    const struct text text = viewer_text(base);
    struct text_list one = {&text, 1, 0, NULL};
    struct edit items[4];
    struct edits joined = {items, 0};
    double logit = NAN;
    for (size_t i = 0; own && i < own->count; i++)
        items[joined.count++] = own->items[i];
    for (size_t i = 0; edits && i < edits->count; i++)
        items[joined.count++] = edits->items[i];
    viewer.edits = &joined;
    int failed = viewer_run(&viewer, &selection, &one,
                            (struct tap){.sink = keep_answer, .context = &logit}, &err);
    ck_assert_msg(!failed, "%s", err.text);
    viewer.edits = own;
    return logit;
}

/* In place of an array's values: 0, or the mean over the rows of each matrix. */
static struct tensor replaced(const struct array *array)
{
    struct tensor tensor = array_tensor(array);
    size_t rows = array->rows.size, columns = array->columns.size;
    float *data = arena_alloc(&arena, array_cells(array), sizeof *data, &err);
    for (size_t k = 0; plan.with == PATCH_WITH_MEAN && k < array_matrix_count(array); k++)
        for (size_t column = 0; column < columns; column++) {
            double sum = 0;
            for (size_t row = 0; row < rows; row++)
                sum += (double)array->data[(k * rows + row) * columns + column];
            for (size_t row = 0; row < rows; row++)
                data[(k * rows + row) * columns + column] = (float)(sum / (double)rows);
        }
    tensor.data = data;
    return tensor;
}

/* The values of a site in all layers of the other text, or those of an ablation. */
static struct edit_donor other_values(enum site site)
{
    const struct config *c = &viewer.model.config;
    struct selection selection = {.sites = SITE_SET(site)};
    struct report report;
    struct text_with_source other = plan.noise ? corrupt : clean;
    struct capture_request asked = {&selection, &other, 1, 0, &report};
    struct tensor *values = arena_alloc(&arena, c->n_layer, sizeof *values, &err);
    ck_assert(values && !selection_layers(&selection, NULL, c, &arena, &err));
    ck_assert_msg(!viewer_capture(&viewer, &asked, &arena, &err), "%s", err.text);
    for (size_t i = 0; i < report.array_count; i++) {
        const struct array *array = &report.arrays[i];
        values[array->layer < 0 ? 0 : array->layer] =
            plan.with ? replaced(array) : array_tensor(array);
    }
    return (struct edit_donor){.values = values, .count = 1, .longest = other.text.count};
}

/* Columns of a layer, which may have fewer than others, or read keys of another layer. */
static size_t columns_of(enum site site, size_t layer)
{
    const struct config *c = &viewer.model.config;
    if (!site_is_in_layer(c, site, layer) || site_is_borrowed(c, site, layer))
        return 0;
    return site == SITE_MLP_ACT                        ? site_columns(c, site, layer)
           : site_axes(site) == AXES_KV_HEAD_TOKEN_DIM ? site_heads(c, site, layer)
                                                       : found.columns;
}

static void expect_edits(enum patch_over over)
{
    enum site site = patch_overs[over].site;
    bool by_token = over == PATCH_HEADS_BY_TOKEN;
    bool by_heads = site_has_heads(site);
    size_t tokens = viewer.model.config.causal ? question.position + 1 : clean.text.count;
    struct edit_donor donor = other_values(site);
    patch(over);
    for (size_t layer = 0; layer < found.layers; layer++) {
        struct edit_range layers = {(ptrdiff_t)layer, (ptrdiff_t)layer};
        for (size_t column = 0; column < found.columns; column++) {
            if (column >= columns_of(site, layer)) {
                ck_assert(isnan(found.logits[layer * found.columns + column]));
                continue;
            }
            ptrdiff_t at = (ptrdiff_t)(by_token ? column / tokens : column);
            ptrdiff_t token = (ptrdiff_t)(column % tokens);
            struct edit_range range = {at, at};
            struct edit_range one_token = {token, token};
            struct edit_indices indices = {&range, 1};
            struct edit edit = {
                .site = site, .op = EDIT_TAKE, .layers = {&layers, 1}, .donor = &donor};
            *(by_heads                ? &edit.heads
              : over == PATCH_MLP_ACT ? &edit.columns
                                      : &edit.tokens) = indices;
            if (by_token)
                edit.tokens = (struct edit_indices){&one_token, 1};
            struct edits edits = {&edit, 1};
            double expected = edited_logit(&edits);
            ck_assert_msg(found.logits[layer * found.columns + column] == expected,
                          "%s %s, layer %zu, %zu: expected %.9g, found %.9g", viewer.model.name,
                          patch_overs[over].name, layer, column, expected,
                          found.logits[layer * found.columns + column]);
        }
    }
}

static void expect_all_edits(void)
{
    for (int over = PATCH_HEADS; over < PATCH_PATHS; over++)
        if (site_exists(&viewer.model.config, patch_overs[over].site))
            expect_edits((enum patch_over)over);
}

/* Passes over the whole text, whose length determines the rotation of some families; then of models
 * with copies of the stream. */
TEST_LOOP(a_patch_has_the_bits_of_an_edit, INSTRUMENTS_ALL + 2)
{
    static const char *const copies[] = {"gemma3n_text", "gemma3n"};
    char path[64];
    if ((size_t)_i % one_of(1))
        return;
    snprintf(path, sizeof path, "tests/references/golden-families/%s",
             _i < INSTRUMENTS_ALL ? instruments_families[_i] : copies[_i - INSTRUMENTS_ALL]);
    open(path, 1, "1,5,9,3,7,2", "1,6,9,8,7,2");
    expect_all_edits();
    for (int with = PATCH_WITH_ZERO; with < PATCH_WITH_EDITS; with++) {
        plan.with = (enum patch_with)with;
        expect_all_edits();
        ck_assert(found.corrupt == 0 && found.clean != 0);
    }
    plan.with = PATCH_WITH_TEXT;
    plan.noise = true;
    question.position = 4;
    expect_all_edits();
}

/* The sources may have different lengths, and the texts be the same. */
TEST_LOOP(a_patch_of_a_decoder_with_a_source_has_the_bits_of_an_edit, 7)
{
    static const char *const models[] = {"golden/transformer-pre", "golden-families/t5",
                                         "golden-families/umt5",   "golden-families/bart",
                                         "golden-families/mbart",  "golden-families/marian",
                                         "golden-families/m2m_100"};
    const struct input sources[] = {{.ids = "7,6,5,2"}, {.ids = "7,8,2"}};
    char path[64];
    snprintf(path, sizeof path, "tests/references/%s", models[_i]);
    open(path, 1, "1,5,3", "1,5,3");
    ck_assert(
        !viewer_read(&viewer, &clean, &(struct input){.ids = "1,5,3"}, &sources[0], &arena, &err) &&
        !viewer_read(&viewer, &corrupt, &(struct input){.ids = "1,6,3"}, &sources[1], &arena,
                     &err));
    expect_all_edits();
    plan.noise = true;
    question.position = 1;
    expect_all_edits();
    plan.over = PATCH_PATHS;
    ck_assert(patching_make(&found, &plan, &arena, &err) &&
              strstr(err.text, "--over heads or cross_heads"));
}

static const char clean_ids[] = "267,399,301,259,404,399,301";
static const char corrupt_ids[] = "267,575,301,82,404,399,301";

/* With causal attention, patched runs begin at the first token that differs, after a cache. */
TEST_LOOP(a_patch_has_the_bits_of_an_edit_with_every_kind_of_attention, 6)
{
    static const struct {
        const char *attention;
        bool renormalise;
        enum precision precision;
        size_t batch_tokens;
    } ways[] = {
        {"dense", true, PRECISION_FP32, 0},       {"linear", false, PRECISION_FP32, 0},
        {"window:3", false, PRECISION_FP32, 0},   {"random:2", false, PRECISION_FP32, 14},
        {"blocked:4", false, PRECISION_FP32, 14}, {"dense", false, PRECISION_BF16, 0},
    };
    open("tiny", 1, clean_ids, corrupt_ids);
    struct mechanism mechanism = viewer.model.config.mechanism;
    viewer.model.weights.precision = ways[_i].precision;
    ck_assert(!mechanism_set_attention(&mechanism, ways[_i].attention, &err));
    mechanism.renormalise = ways[_i].renormalise;
    ck_assert_msg(!viewer_set_mechanism(&viewer, &mechanism, &err), "%s", err.text);
    plan.batch_tokens = ways[_i].batch_tokens;
    expect_edits(PATCH_HEADS);
    expect_edits(PATCH_V);
    expect_edits(PATCH_RESID_PRE);
    expect_edits(PATCH_MLP_OUT);
}

/* The edits apply to the runs of both texts and, before the patch, to the patched run. */
TEST_LOOP(a_patch_has_the_bits_of_an_edit_after_the_edits_of_all_runs, 5)
{
    static const struct edit_range second = {1, 1}, third = {2, 2};
    static const struct edit edits[] = {
        {.site = SITE_CONTEXT, .op = EDIT_SET, .layers = {&second, 1}, .heads = {&third, 1}},
        {.site = SITE_RESID_PRE, .op = EDIT_SCALE, .number = 0.5f, .layers = {&second, 1}},
        {.site = SITE_MASKED, .op = EDIT_FORBID, .columns = {&second, 1}, .tokens = {&third, 1}},
        {.site = SITE_V, .op = EDIT_SCALE, .number = 2, .tokens = {&third, 1}},
        {.site = SITE_LN_F, .op = EDIT_SCALE, .number = 2},
    };
    const struct edits all = {&edits[_i], 1};
    open("tests/references/golden-families/opt", 1, "1,5,9,3,7,2,4", "1,6,9,8,7,2,4");
    own = viewer.edits = &all;
    expect_all_edits();
    own = NULL;
}

/* --- against PyTorch in float64 (tests/references/torch/patches.py) --------------------------- */

static void expect_map(const struct instruments_golden *golden, const char *name, size_t skipped)
{
    size_t cells = found.layers * found.columns;
    const float *expected = instruments_find(golden, name, 0) + skipped;
    double most = instruments_most(expected, cells);
    for (size_t i = 0; i < cells; i++)
        ck_assert_msg(fabs(found.logits[i] - (double)expected[i]) <= 1e-5 * most,
                      "%s %s[%zu]: expected %g, found %g", golden->path, name, i,
                      (double)expected[i], found.logits[i]);
}

/* Senders and receivers that tests/references/torch/patches.py chose. */
static void expect_sets(const struct instruments_golden *golden)
{
    static struct layer_head senders[2];
    static struct patch_receiver receivers[8];
    const float *number = instruments_find(golden, "receivers", 0);
    size_t count = safetensors_find(&golden->tensors, "receivers")->count / 3;
    ck_assert_uint_le(count, 8);
    for (size_t i = 0; i < count; i++, number += 3)
        receivers[i] = (struct patch_receiver){(enum site)(SITE_Q + (int)number[0]),
                                               {(size_t)number[1], (size_t)number[2]}};
    number = instruments_find(golden, "senders", 4);
    for (size_t i = 0; i < 2; i++)
        senders[i] = (struct layer_head){(size_t)number[2 * i], (size_t)number[2 * i + 1]};
    plan.receivers = receivers;
    plan.receiver_count = count;
    patch(PATCH_PATHS);
    expect_map(golden, "to_set", 0);
    plan.heads = senders;
    plan.head_count = 2;
    plan.joint = true;
    patch(PATCH_PATHS);
    ck_assert_uint_eq(found.layers * found.columns, 3);
    expect_map(golden, "joint_to_set", 0);
    plan.receiver_count = 0;
    patch(PATCH_PATHS);
    expect_map(golden, "joint_to_logits", 0);
}

TEST_LOOP(patches_agree_with_pytorch, 4)
{
    static const char *const families[] = {"opt", "llama", "gpt_neox", "smollm3"};
    static const char *const to[] = {"to_q", "to_k", "to_v"};
    struct patch_receiver receiver;
    struct instruments_golden golden = {0};
    snprintf(golden.path, sizeof golden.path, "tests/references/golden-families/%s", families[_i]);
    golden.folder.path = golden.path;
    int failed = safetensors_open(&golden.tensors, &golden.folder, "patches.safetensors", &err);
    ck_assert_msg(!failed, "%s", err.text);
    open(golden.path, 1, "1,5,9,3,7,2", "1,6,9,8,7,2");
    const struct config *c = &viewer.model.config;
    for (int over = PATCH_HEADS; over <= PATCH_PATHS; over++) {
        const char *name = over == PATCH_HEADS ? "context" : patch_overs[over].name;
        if (over == PATCH_HEADS_BY_TOKEN || over == PATCH_MLP_ACT ||
            !site_exists(c, patch_overs[over].site))
            continue;
        patch((enum patch_over)over);
        expect_map(&golden, name, 0);
    }
    const float *answer = instruments_find(&golden, "answer", 2);
    ck_assert(fabs(found.clean - (double)answer[0]) < 1e-5);
    ck_assert(fabs(found.corrupt - (double)answer[1]) < 1e-5);
    plan.receivers = &receiver;
    plan.receiver_count = 1;
    for (int i = 0; i < 3; i++)
        for (size_t head = 0; head < (i == 0 ? c->n_head : c->n_kv_head); head++) {
            receiver = (struct patch_receiver){(enum site)(SITE_Q + i), {c->n_layer - 1, head}};
            patch(PATCH_PATHS);
            expect_map(&golden, to[i], head * found.layers * found.columns);
        }
    expect_sets(&golden);
    instruments_release(&golden);
}

/* Neurons are many: the smallest batch on one thread, the largest on three. */
static bool is_run(enum patch_over over, size_t threads, int batch)
{
    bool neurons = over == PATCH_MLP_ACT;
    return site_exists(&viewer.model.config, patch_overs[over].site) &&
           (!neurons || batch == (threads == 1 ? 0 : 3));
}

TEST(threads_and_batches_do_not_change_a_bit)
{
    static const size_t batches[] = {1, 7, 20, 100000};
    static const struct patch_receiver receiver = {SITE_K, {1, 0}};
    double first[PATCH_OVERS][1024];
    for (size_t threads = 1; threads <= 3; threads += 2) {
        open("tiny", threads, clean_ids, corrupt_ids);
        plan.receivers = &receiver;
        plan.receiver_count = 1;
        for (int i = 0; i < 4; i++)
            for (int over = 0; over <= PATCH_PATHS; over++) {
                if (!is_run((enum patch_over)over, threads, i))
                    continue;
                plan.batch_tokens = batches[i];
                patch((enum patch_over)over);
                size_t cells = found.layers * found.columns;
                ck_assert_uint_le(cells, 1024);
                if (threads == 1 && i == 0)
                    memcpy(first[over], found.logits, cells * sizeof *first[over]);
                ck_assert_mem_eq(first[over], found.logits, cells * sizeof *first[over]);
            }
        viewer_release(&viewer);
    }
}
