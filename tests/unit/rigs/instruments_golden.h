/* instruments_golden.h: values of oracle/instruments.py, and of models with mixers those of
 * torch/hybrids.py, for the small models of golden-families.
 *
 *     TEST_LOOP(…, INSTRUMENTS_FAMILIES)
 *     instruments_open(&golden, _i);
 *     viewer_open(&viewer, golden.path, …), golden.ids …
 *     instruments_expect(&golden, "h.0.rollout", values, count, 1e-5);
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "asserts.h"
#include "base/buf.h"
#include "format/safetensors.h"

/* clang-format off */
static const char *const instruments_families[] = {
    "bloom", "bloom-residual-normed", "falcon", "falcon-7b-style", "falcon-rw-alibi", "gemma",
    "gemma-relu", "gemma2", "gemma3_text", "gpt_neo", "gpt_neox", "gpt_neox-sequential", "gptj",
    "granite", "llama", "llama-bf16-tied-biases", "llama-rope-dynamic", "llama-rope-linear",
    "llama-rope-llama3", "llama-rope-yarn", "mistral", "olmo2", "opt", "opt-350m-style", "phi",
    "phi3", "phi3-longrope", "qwen2", "qwen3", "smollm3", "smollm3-sliding", "stablelm",
    "starcoder2", "mixtral", "phimoe", "qwen2_moe", "glm4_moe", "gpt_oss",
    "gemma4", "gemma4_text", "gemma4-experts", "diffllama", "albert", "bert",
    "camembert", "electra", "modernbert", "mpnet",
    "deepseek_v2", "deepseek_v3", "hunyuan_v1_moe",
    /* with mixers */
    "qwen3_5_text", "qwen3_next", "lfm2", "lfm2-biases", "bamba", "granitemoehybrid-dense-rope",
    "jamba", "mamba", "mamba2", "falcon_mamba", "olmo_hybrid",
    "falcon_h1", "falcon_h1-norm", "nemotron_h", "nemotron_h-latent-experts"};
/* clang-format on */

/* All; without those at the end, which have mixers; without those before them, whose heads have no
 * circuits; without encoders before these. */
enum {
    INSTRUMENTS_ALL = sizeof instruments_families / sizeof *instruments_families,
    INSTRUMENTS_ATTENTION = INSTRUMENTS_ALL - 15,
    INSTRUMENTS_CIRCUITS = INSTRUMENTS_ATTENTION - 3,
    INSTRUMENTS_FAMILIES = INSTRUMENTS_CIRCUITS - 6,
};

struct instruments_golden {
    char path[64];
    struct folder folder;
    struct safetensors tensors;
    struct buf ids; /* "11,1,0" */
};

static inline const float *instruments_find(const struct instruments_golden *golden,
                                            const char *name, size_t count)
{
    const struct safetensors_entry *entry = safetensors_find(&golden->tensors, name);
    ck_assert_msg(entry && (!count || entry->count == count), "%s", name);
    return entry->data;
}

static inline void instruments_open(struct instruments_golden *golden, int family)
{
    struct err err = {0};
    *golden = (struct instruments_golden){0};
    snprintf(golden->path, sizeof golden->path, "tests/references/golden-families/%s",
             instruments_families[family]);
    golden->folder.path = golden->path;
    ck_assert_msg(
        !safetensors_open(&golden->tensors, &golden->folder, "instruments.safetensors", &err),
        "%s (run from the repository's root)", err.text);
    const float *ids = instruments_find(golden, "ids", 0);
    for (size_t i = 0; i < safetensors_find(&golden->tensors, "ids")->count; i++)
        buf_format(&golden->ids, "%s%g", i ? "," : "", (double)ids[i]);
}

static inline void instruments_release(struct instruments_golden *golden)
{
    buf_release(&golden->ids);
    safetensors_release(&golden->tensors);
}

/* Without fmax, for which gcc 12 fails to generate arm64 code. */
static inline double instruments_most(const float *numbers, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)numbers[i]) > most)
            most = fabs((double)numbers[i]);
    return most;
}

/* The tolerance is a share of the largest number of the tensor. */
static inline void instruments_expect(const struct instruments_golden *golden, const char *name,
                                      const float *found, size_t count, double share)
{
    const float *expected = instruments_find(golden, name, count);
    double most = instruments_most(expected, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(isnan(expected[i])
                          ? isnan(found[i])
                          : fabs((double)found[i] - (double)expected[i]) <= share * most,
                      "%s %s[%zu]: expected %g, found %g", golden->path, name, i,
                      (double)expected[i], (double)found[i]);
}
