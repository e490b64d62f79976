/* random_model.h: a model in memory with any config and random weights.
 *
 *     struct random_model model;
 *     random_model_open(&model, "{\"model_type\": \"attention\", …}", 1);
 *     struct run run = {&model.machine, &model.config, &model.weights, &batch};
 *     random_model_release(&model);
 */
#pragma once

#include "base/file.h"
#include "math/machine.h"
#include "model/config.h"
#include "model/parameter_table.h"
#include "model/weights.h"

struct random_model {
    struct folder_file files[2];
    struct folder folder;
    struct file bytes; /* of the file of weights */
    struct config config;
    struct weights weights;
    struct machine machine;
};

/* The same config gives the same weights. The struct must not move. */
void random_model_open(struct random_model *model, const char *config, size_t threads);

void random_model_release(struct random_model *model);

/* `count` ids below `limit`, always the same. */
void random_ids(uint32_t *ids, size_t count, size_t limit);
