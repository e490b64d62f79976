#include "train_step_fixture.h"

#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "math/rng.h"
#include "train/trainer.h"

static const struct folder folder = {.path = "tests/references/training"};

static uint32_t *read_ids(struct train_step_fixture *fixture, const char *name)
{
    const struct safetensors_entry *entry = safetensors_find(&fixture->golden, name);
    uint32_t *ids = arena_alloc(&fixture->new_model.arena, entry->count, sizeof *ids, NULL);
    const char *from = entry->data;
    for (size_t i = 0; i < entry->count; i++) {
        float id = 0;
        memcpy(&id, from + i * sizeof id, sizeof id);
        ids[i] = (uint32_t)id;
    }
    return ids;
}

const float *train_step_fixture_golden(const struct train_step_fixture *fixture, const char *kind,
                                       const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", kind, name);
    const struct safetensors_entry *entry = safetensors_find(&fixture->golden, full);
    ck_assert_msg(entry != NULL, "no tensor '%s'", full);
    return entry->data; /* aligned: the header is a multiple of 8 bytes */
}

void train_step_fixture_open(struct train_step_fixture *fixture, const char *name, size_t threads,
                             float dropout)
{
    struct err err = {0};
    char file[64];
    *fixture = (struct train_step_fixture){0};
    snprintf(file, sizeof file, "%s.json", name);
    int failed = folder_open(&fixture->config, &folder, file, &err);
    snprintf(file, sizeof file, "%s.safetensors", name);
    failed = failed || safetensors_open(&fixture->golden, &folder, file, &err) ||
             machine_open(&fixture->machine, threads, &err) ||
             new_model_open(&fixture->new_model, name, fixture->config.bytes, fixture->config.size,
                            &err);
    ck_assert_msg(!failed, "%s (run from the repository's root)", err.text);
    kernels_write_all(fixture->machine.kernels);
    for (size_t i = 0; i < fixture->new_model.count; i++) {
        struct new_model_tensor *tensor = &fixture->new_model.tensors[i];
        memcpy(tensor->data, train_step_fixture_golden(fixture, "w.", tensor->name),
               tensor->count * sizeof(float));
    }
    const struct safetensors_entry *ids = safetensors_find(&fixture->golden, "ids");
    struct train_step_plan plan = {&fixture->machine, &fixture->new_model, ids->shape[1],
                                   ids->shape[2], dropout};
    ck_assert_msg(train_step_open(&fixture->step, &plan, &err) == 0, "%s", err.text);
    fixture->ids = read_ids(fixture, "ids");
    fixture->targets = read_ids(fixture, "targets");
}

void train_step_fixture_family(struct train_step_fixture *fixture, const char *name, float dropout)
{
    enum { TEXTS = 2, TOKENS = 7, SOURCES = 5, IDS = 10, FIRST = 3 };
    struct err err = {0};
    char path[64];
    *fixture = (struct train_step_fixture){0};
    snprintf(path, sizeof path, "tests/references/golden-families/%s", name);
    const struct folder of_family = {.path = path};
    struct train_step_plan plan = {&fixture->machine, &fixture->new_model, TEXTS, TOKENS, dropout};
    int failed = folder_open(&fixture->config, &of_family, "config.json", &err) ||
                 machine_open(&fixture->machine, 1, &err) ||
                 new_model_open(&fixture->new_model, name, fixture->config.bytes,
                                fixture->config.size, &err) ||
                 train_checkpoint_weights(&fixture->new_model, &of_family, &err) ||
                 train_step_open(&fixture->step, &plan, &err);
    ck_assert_msg(!failed, "%s (run from the repository's root)", err.text);
    struct arena *arena = &fixture->new_model.arena;
    const enum train_objective objective = train_objective_of(fixture->step.config);
    uint32_t *const ids = arena_alloc(arena, TEXTS * TOKENS, sizeof *ids, NULL);
    uint32_t *const targets = arena_alloc(arena, TEXTS * TOKENS, sizeof *targets, NULL);
    uint32_t *const sources = arena_alloc(arena, TEXTS * SOURCES, sizeof *sources, NULL);
    for (size_t i = 0; i < TEXTS * TOKENS; i++) {
        ids[i] = FIRST + (uint32_t)rng_below(1, i, IDS);
        targets[i] = FIRST + (uint32_t)rng_below(2, i, IDS);
        if (objective == TRAIN_MASKED && i % 3)
            targets[i] = BACK_NO_TARGET;
    }
    for (size_t i = 0; i < TEXTS * SOURCES; i++)
        sources[i] = FIRST + (uint32_t)rng_below(3, i, IDS);
    fixture->ids = ids;
    fixture->targets = targets;
    fixture->sources = sources;
    fixture->source_tokens = objective == TRAIN_PAIRS ? SOURCES : 0;
}

void train_step_fixture_release(struct train_step_fixture *fixture)
{
    train_step_release(&fixture->step);
    new_model_release(&fixture->new_model);
    machine_release(&fixture->machine);
    safetensors_release(&fixture->golden);
    file_release(&fixture->config);
}

struct train_batch train_step_fixture_batch(const struct train_step_fixture *fixture, size_t step)
{
    size_t at = step * fixture->step.rows;
    return (struct train_batch){.ids = fixture->ids + at,
                                .targets = fixture->targets + at,
                                .sources = fixture->sources,
                                .source_tokens = fixture->source_tokens,
                                .key = step,
                                .share = 1};
}
