/* golden_models.h: all models in tests/references/golden and tests/references/golden-families.
 *
 *     TEST_LOOP(every_model_runs, golden_models()->gl_pathc)
 *     {
 *         char path[GOLDEN_PATH_BYTES];
 *         viewer_open(&viewer, golden_model(path, (size_t)_i), 1, &err);
 *         golden_ids(&pair, &viewer, "1,2,3", &arena);
 */
#pragma once

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "lens/viewer.h"

enum { GOLDEN_PATH_BYTES = 96 };

/* Their weights, sorted by path. */
static inline const glob_t *golden_models(void)
{
    static glob_t models;
    if (!models.gl_pathc)
        glob("tests/references/golden*/*/model.safetensors", 0, NULL, &models);
    return &models;
}

/* The folder of a model. Returns `path`. */
static inline char *golden_model(char path[GOLDEN_PATH_BYTES], size_t index)
{
    snprintf(path, GOLDEN_PATH_BYTES, "%s", golden_models()->gl_pathv[index]);
    *strrchr(path, '/') = '\0';
    return path;
}

/* Read ids; those of a source, if the model has an encoder, are 1,2. */
static inline void golden_ids(struct text_with_source *pair, const struct viewer *viewer,
                              const char *ids, struct arena *arena)
{
    const struct input input = {.ids = ids}, source = {.ids = "1,2"};
    const bool has_source = viewer->model.config.n_encoder_layer > 0;
    struct err err = {0};
    ck_assert_msg(!viewer_read(viewer, pair, &input, has_source ? &source : NULL, arena, &err),
                  "%s: %s", viewer->model.name, err.text);
}
