/* study_fixture.h: a small GPT-2 in training, and what PyTorch made of it (tests/training).
 *
 *     struct study_fixture fixture;
 *     study_fixture_open(&fixture, "tied", 2, 0.0f);            2 threads, nothing dropped
 *     struct batch_of_texts batch = study_fixture_batch(&fixture, 0);
 *     study_fixture_release(&fixture);
 */
#ifndef ATTN_TESTS_STUDY_FIXTURE_H
#define ATTN_TESTS_STUDY_FIXTURE_H

#include "base/file.h"
#include "format/safetensors.h"
#include "train/study.h"

struct study_fixture {
    struct file config;
    struct safetensors golden;
    struct machine machine;
    struct new_model new_model;
    struct study study;
    uint32_t *ids, *targets; /* [10, texts, tokens] */
};

/* Run where the repository's root is the working directory. */
void study_fixture_open(struct study_fixture *fixture, const char *name, size_t threads,
                        float dropout);
void study_fixture_release(struct study_fixture *fixture);

struct batch_of_texts study_fixture_batch(const struct study_fixture *fixture, size_t step);

/* A tensor of the file: "g." and its name. */
const float *study_fixture_golden(const struct study_fixture *fixture, const char *kind,
                                  const char *name);

#endif
