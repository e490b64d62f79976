#include "measure/head_circuits.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/instruments_golden.h"

/* The families of golden-families, then these; compositions also of encoders, after these. */
static const char *const natives[] = {"models/tiny", "tests/references/golden/transformer-pre",
                                      "tests/references/golden/transformer-post"};
enum { MODELS = INSTRUMENTS_FAMILIES + COUNT(natives) };

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct instruments_golden golden; /* values of oracle/circuits.py */

static void leave(void)
{
    viewer_release(&viewer);
    safetensors_release(&golden.tensors);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static const char *open_model(int model)
{
    bool is_native = model >= INSTRUMENTS_FAMILIES && model < MODELS;
    const char *native = is_native ? natives[model - INSTRUMENTS_FAMILIES] : NULL;
    model -= model < MODELS ? 0 : (int)COUNT(natives);
    const char *name = native ? strrchr(native, '/') + 1 : instruments_families[model];
    golden.folder.path = "tests/references/oracle";
    snprintf(golden.path, sizeof golden.path, "%s%s",
             native ? "" : "tests/references/golden-families/", native ? native : name);
    int failed = viewer_open(&viewer, golden.path, 1, &err) ||
                 safetensors_open(&golden.tensors, &golden.folder, "circuits.safetensors", &err);
    ck_assert_msg(!failed, "%s (run from the repository's root)", err.text);
    return name;
}

static void expect(const char *score, const struct circuit_words *words, const char *model)
{
    const struct config *c = &viewer.model.config;
    size_t heads = c->n_layer * c->n_head;
    char name[96];
    struct mean found[64], random[64];
    float values[64];
    ck_assert_uint_le(heads, COUNT(found));
    ck_assert_msg(!circuits_count(found, random, words, &viewer, 0, &err), "%s", err.text);
    for (size_t i = 0; i < heads; i++)
        values[i] = (float)mean_value(&found[i]);
    snprintf(name, sizeof name, "%s/%s", model, score);
    instruments_expect(&golden, name, values, heads, 1e-6);
}

TEST_LOOP(copying_agrees_with_the_reference, MODELS)
{
    struct circuit_words words;
    const char *model = open_model(_i);
    ck_assert(!circuits_all_words(&words, &viewer, 0, &arena, &err));
    ck_assert_uint_eq(words.count, viewer.model.config.vocab_size);
    expect("copying", &words, model);
}

/* A head that raises a word's own logit most copies it. */
TEST_LOOP(promotions_agree_with_copying, MODELS)
{
    struct circuit_words words;
    open_model(_i);
    const struct config *c = &viewer.model.config;
    const size_t heads = c->n_layer * c->n_head, across = c->vocab_size;
    struct mean found[64], random[64];
    ck_assert(!circuits_all_words(&words, &viewer, 0, &arena, &err));
    ck_assert_msg(!circuits_count(found, random, &words, &viewer, 0, &err), "%s", err.text);
    struct promotion *promotions = arena_alloc(&arena, heads * across, sizeof *promotions, &err);
    for (size_t i = 0; i < heads * across; i++)
        promotions[i].from = (uint32_t)(i % across);
    ck_assert_msg(!circuits_promote(promotions, across, &viewer, &err), "%s", err.text);
    for (size_t head = 0; head < heads; head++) {
        size_t own = 0;
        for (size_t i = 0; i < across; i++) {
            const struct promotion *promotion = &promotions[head * across + i];
            own += promotion->raised[0].id == i &&
                   promotion->raised[0].change > promotion->raised[1].change;
            for (size_t k = 1; k < PROMOTIONS; k++)
                ck_assert(promotion->raised[k - 1].change >= promotion->raised[k].change &&
                          promotion->lowered[k - 1].change <= promotion->lowered[k].change);
        }
        ck_assert_double_eq_tol((double)own, found[head].sum, 1);
    }
}

TEST_LOOP(successors_agree_with_the_reference, MODELS)
{
    const char *model = open_model(_i);
    char name[96];
    uint32_t from[64], to[64], among[128];
    struct circuit_words words = {.from = from, .to = to, .among = among};
    snprintf(name, sizeof name, "%s/pairs", model);
    const float *pairs = instruments_find(&golden, name, 0);
    words.count = safetensors_find(&golden.tensors, name)->count / 2;
    ck_assert_uint_le(words.count, COUNT(from));
    for (size_t i = 0; i < words.count; i++) {
        from[i] = (uint32_t)pairs[2 * i];
        to[i] = (uint32_t)pairs[2 * i + 1];
    }
    for (uint32_t id = 0; id < viewer.model.config.vocab_size; id++)
        for (size_t i = 0; i < words.count; i++)
            if (from[i] == id || to[i] == id) {
                among[words.among_count++] = id;
                break;
            }
    expect("successor", &words, model);
}

TEST_LOOP(compositions_agree_with_the_reference, INSTRUMENTS_CIRCUITS + COUNT(natives))
{
    const char *model = open_model(_i);
    size_t heads = viewer.model.config.n_layer * viewer.model.config.n_head;
    float *values = arena_alloc(&arena, heads * heads, sizeof *values, &err);
    for (int way = 0; way < COMPOSITIONS; way++) {
        char name[96];
        struct report report;
        int failed = circuits_report(&report, (enum composition)way, &viewer, &arena, &err);
        ck_assert_msg(!failed, "%s", err.text);
        const size_t count = report.arrays->rows.size * report.arrays->columns.size;
        for (size_t i = 0; i < count; i++)
            values[i] = isnan(report.arrays->data[i]) ? -1 : report.arrays->data[i];
        snprintf(name, sizeof name, "%s/%s_composition", model, composition_names[way]);
        instruments_expect(&golden, name, values, count, 1e-6);
    }
}

TEST(a_large_vocabulary_is_sampled_in_all_parts)
{
    struct circuit_words words, same, other;
    viewer.model.config.vocab_size = 50257;
    ck_assert(!circuits_all_words(&words, &viewer, 1, &arena, &err));
    ck_assert(!circuits_all_words(&same, &viewer, 1, &arena, &err));
    ck_assert(!circuits_all_words(&other, &viewer, 2, &arena, &err));
    ck_assert_uint_eq(words.count, CIRCUIT_WORDS_SAMPLE);
    ck_assert_uint_eq(words.among_count, 50257);
    ck_assert_mem_eq(words.from, same.from, words.count * sizeof *words.from);
    ck_assert_mem_ne(words.from, other.from, words.count * sizeof *words.from);
    for (size_t i = 1; i < words.count; i++)
        ck_assert_uint_lt(words.from[i - 1], words.from[i]);
    ck_assert_uint_lt(words.from[words.count - 1], 50257);
    viewer = (struct viewer){0};
}
