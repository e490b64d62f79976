/* train_step_fixture.h: a training step of a small model, and PyTorch's values
 * (tests/references/training).
 *
 *     struct train_step_fixture fixture;
 *     train_step_fixture_open(&fixture, "tied", 2, 0.0f);            2 threads, no dropout
 *     struct train_batch batch = train_step_fixture_batch(&fixture, 0);
 *     train_step_fixture_release(&fixture);
 */
#pragma once

#include "base/file.h"
#include "format/safetensors.h"
#include "train/train_step.h"

struct train_step_fixture {
    struct file config;
    struct safetensors golden;
    struct machine machine;
    struct new_model new_model;
    struct train_step step;
    uint32_t *ids, *targets; /* [10, texts, tokens] */
    uint32_t *sources;       /* [texts, source_tokens] of a model with an encoder */
    size_t source_tokens;
};

/* Run in the repository's root. */
void train_step_fixture_open(struct train_step_fixture *fixture, const char *name, size_t threads,
                             float dropout);
/* A model of tests/references/golden-families, with one batch of two texts. */
void train_step_fixture_family(struct train_step_fixture *fixture, const char *name, float dropout);
void train_step_fixture_release(struct train_step_fixture *fixture);

struct train_batch train_step_fixture_batch(const struct train_step_fixture *fixture, size_t step);

/* A tensor of the file: `kind`, such as "g.", and its name. */
const float *train_step_fixture_golden(const struct train_step_fixture *fixture, const char *kind,
                                       const char *name);
