/* Layers that keep a state: their maps times their values are their contexts, of any text, alone or
 * in a batch. Run in the repository's root. */
#include <math.h>
#include <stdio.h>

#include "../unit.h"
#include "lens/viewer.h"
#include "model/layer.h"

static const char *const models[] = {
    "qwen3_5_text", "qwen3_5",    "qwen3_5_moe_text",
    "qwen3_5_moe",  "qwen3_next", "qwen3_next-mixed",
    "lfm2",         "lfm2_moe",   "bamba",
    "bamba-limits", "mamba",      "mamba2",
    "falcon_mamba", "jamba",      "granitemoehybrid",
    "olmo_hybrid",
};

/* The largest difference between map · v and the context of a layer, relative to the largest
 * number of the context. */
static double difference(const struct report *report, size_t layer)
{
    const struct array *map = report_find(report, SITE_OF(PART_MIXER, SITE_WEIGHTS), layer);
    const struct array *v = report_find(report, SITE_OF(PART_MIXER, SITE_V), layer);
    const struct array *context = report_find(report, SITE_OF(PART_MIXER, SITE_CONTEXT), layer);
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
    snprintf(path, sizeof path, "tests/golden-families/%s", models[_i]);
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
            if (!layer_mixer(layer_of(&viewer.model.config, PART_SENTENCE, layer)))
                continue;
            double off = difference(&reports[i], layer);
            ck_assert_msg(off < 1e-5, "%s, layer %zu: %g", path, layer, off);
            mixers++;
        }
    ck_assert_uint_gt(mixers, 0);
    viewer_release(&viewer);
    arena_release(&arena);
}
