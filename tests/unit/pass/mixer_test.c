/* Layers that keep a state: their maps times their values are their contexts, of any text, alone or
 * in a batch. Run in the repository's root. */
#include <math.h>
#include <stdio.h>

#include "../unit.h"
#include "lens/viewer.h"
#include "model/layer.h"

static const char *const models[] = {
    "qwen3_5_text",   "qwen3_5",     "qwen3_5_moe_text",
    "qwen3_5_moe",    "qwen3_next",  "qwen3_next-mixed",
    "lfm2",           "lfm2_moe",    "bamba",
    "bamba-limits",   "mamba",       "mamba2",
    "falcon_mamba",   "jamba",       "granitemoehybrid",
    "olmo_hybrid",    "kimi_linear", "falcon_h1",
    "falcon_h1-norm", "nemotron_h",
};

/* The largest difference between map · v and the context of a layer, relative to the largest
 * number of the context. */
static double difference(const struct report *report, size_t layer)
{
    const struct array *map = report_find(report, SITE_OF(BRANCH_MIXER, SITE_WEIGHTS), layer);
    const struct array *v = report_find(report, SITE_OF(BRANCH_MIXER, SITE_V), layer);
    const struct array *context = report_find(report, SITE_OF(BRANCH_MIXER, SITE_CONTEXT), layer);
    const size_t tokens = context->rows.size, d = context->columns.size;
    double worst = 0, largest = 1;
    for (size_t head = 0; head < context->heads.size; head++)
        for (size_t i = 0; i < tokens; i++)
            for (size_t c = 0; c < d; c++) {
                double sum = 0, is = (double)context->data[(head * tokens + i) * d + c];
                for (size_t j = 0; j < tokens; j++)
                    sum += (double)map->data[(head * tokens + i) * tokens + j] *
                           (double)v->data[(head * tokens + j) * d + c];
                worst = fmax(worst, fabs(sum - is));
                largest = fmax(largest, fabs(is));
            }
    return worst / largest;
}

TEST_LOOP(the_map_of_a_mixer_times_its_values_is_its_context, COUNT(models))
{
    struct viewer viewer;
    struct arena arena = {0};
    struct err err = {0};
    char path[128];
    struct selection selection = {0};
    struct text_with_source pairs[2];
    struct report reports[2];
    const struct capture_request asked = {&selection, pairs, 2, 0, reports, NULL};
    const struct input inputs[] = {{.ids = "1,4,2,0,3,1,5,6,2,8,7,3"}, {.ids = "5,1"}};
    snprintf(path, sizeof path, "tests/references/golden-families/%s", models[_i]);
    int failed =
        viewer_open(&viewer, path, 2, &err) ||
        selection_sites(&selection, "mix_map,mix_v,mix_context", &viewer.model.config, &err) ||
        selection_layers(&selection, NULL, &viewer.model.config, &arena, &err) ||
        selection_heads(&selection, NULL, &viewer.model.config, &arena, &err);
    for (size_t i = 0; i < 2 && !failed; i++)
        failed = viewer_read(&viewer, &pairs[i], &inputs[i], NULL, &arena, &err);
    failed = failed || viewer_capture(&viewer, &asked, &arena, &err);
    ck_assert_msg(!failed, "%s: %s", path, err.text);
    size_t mixers = 0;
    for (size_t layer = 0; layer < viewer.model.config.n_layer; layer++)
        for (size_t i = 0; i < 2; i++) {
            if (!layer_mixer(layer_of(&viewer.model.config, BRANCH_TEXT, layer)))
                continue;
            double off = difference(&reports[i], layer);
            ck_assert_msg(off < 1e-5, "%s, layer %zu: %g", path, layer, off);
            mixers++;
        }
    ck_assert_uint_gt(mixers, 0);
    viewer_release(&viewer);
    arena_release(&arena);
}

/* What the tap of a text has of a tensor, in the first layer with a state. */
static const struct array *capture(struct report *report, struct viewer *viewer, const char *ids,
                                   const char *show, const char *queries, struct arena *arena)
{
    struct err err = {0};
    struct selection selection = {.queries = queries};
    struct text_with_source pair;
    const struct input input = {.ids = ids};
    const struct capture_request asked = {&selection, &pair, 1, 0, report, NULL};
    const struct config *config = &viewer->model.config;
    size_t layer = 0;
    while (!layer_mixer(layer_of(config, BRANCH_TEXT, layer)))
        layer++;
    int failed = selection_sites(&selection, show, config, &err) ||
                 selection_layers(&selection, NULL, config, arena, &err) ||
                 selection_heads(&selection, NULL, config, arena, &err) ||
                 viewer_read(viewer, &pair, &input, NULL, arena, &err) ||
                 viewer_capture(viewer, &asked, arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    enum site site;
    ck_assert(site_find(show, strlen(show), &site));
    return report_find(report, site, layer);
}

TEST(the_state_after_a_token_is_that_of_a_text_that_ends_there)
{
    static const char *const of_state[] = {"qwen3_5_text", "bamba", "mamba"};
    for (size_t i = 0; i < COUNT(of_state); i++) {
        struct viewer viewer;
        struct arena arena = {0};
        struct err err = {0};
        struct report all, some, end;
        char path[128];
        snprintf(path, sizeof path, "tests/references/golden-families/%s", of_state[i]);
        ck_assert_int_eq(viewer_open(&viewer, path, 2, &err), 0);
        const struct array *each = capture(&all, &viewer, "1,4,2,0,3", "mix_states", NULL, &arena);
        const struct array *kept = capture(&some, &viewer, "1,4,2,0,3", "mix_states", "2", &arena);
        const struct array *last = capture(&end, &viewer, "1,4,2", "mix_state", NULL, &arena);
        const size_t size = each->columns.size;
        ck_assert_uint_eq(each->rows.size, 5);
        ck_assert_uint_eq(kept->rows.size, 1);
        for (size_t head = 0; head < each->heads.size; head++) {
            const float *of_end = last->data + head * size;
            ck_assert_mem_eq(each->data + (head * 5 + 2) * size, of_end, size * sizeof *of_end);
            ck_assert_mem_eq(kept->data + head * size, of_end, size * sizeof *of_end);
        }
        viewer_release(&viewer);
        arena_release(&arena);
    }
}

TEST(the_norm_of_maps_is_the_root_of_the_sum_of_their_squares)
{
    static const char *const of_map[] = {"lfm2", "mamba", "qwen3_next"};
    for (size_t i = 0; i < COUNT(of_map); i++) {
        struct viewer viewer;
        struct arena arena = {0};
        struct err err = {0};
        struct report maps, norms;
        char path[128];
        snprintf(path, sizeof path, "tests/references/golden-families/%s", of_map[i]);
        ck_assert_int_eq(viewer_open(&viewer, path, 2, &err), 0);
        const struct array *map = capture(&maps, &viewer, "1,4,2,0,3", "mix_map", NULL, &arena);
        const struct array *norm =
            capture(&norms, &viewer, "1,4,2,0,3", "mix_map_norm", NULL, &arena);
        for (size_t cell = 0; cell < 25; cell++) {
            double sum = 0;
            for (size_t head = 0; head < map->heads.size; head++)
                sum += (double)map->data[head * 25 + cell] * (double)map->data[head * 25 + cell];
            ck_assert_double_eq_tol((double)norm->data[cell], sqrt(sum), 1e-5);
        }
        viewer_release(&viewer);
        arena_release(&arena);
    }
}
