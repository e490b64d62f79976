#include <string.h>

#include "../unit.h"
#include "../rigs/small_models.h"
#include "model/mechanism.h"
#include "pass/pass.h"
#include "pass/tap.h"

static struct tiny_model model;
static struct rig rig;
static struct recording seen;

/* Also padding that is multiplied by 0: sources have an odd number of tokens. */
TEST_LOOP(earlier_contents_of_memory_do_not_change_a_pass, PRECISIONS)
{
    static const char *const configs[] = {small_gpt2, small_self, small_cross, small_bare,
                                          small_encoder};
    static struct recording again;
    for (size_t i = 0; i < COUNT(configs); i++) {
        struct arena memory = {0};
        tiny_model_make(&model, configs[i]);
        rig_open(&rig, &model, 2);
        rig.weights.precision = (enum precision)_i;
        rig_watch_all(&rig);
        struct text texts[2] = {small_text(&model), small_text(&model)};
        seen = again = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &seen, texts, 2, NULL), 0);
        rig_soil(&memory);
        rig.memory = &memory;
        ck_assert_int_eq(rig_run(&rig, &again, texts, 2, NULL), 0);
        ck_assert_uint_eq(again.count, seen.count);
        for (size_t r = 0; r < seen.count; r++)
            ck_assert_mem_eq(again.records[r].values, seen.records[r].values,
                             seen.records[r].count * sizeof(float));
        recording_release(&seen);
        recording_release(&again);
        rig_close(&rig);
        arena_release(&memory);
        tiny_model_release(&model);
    }
}

static int ignore(void *context, const struct announcement *announced, struct err *err)
{
    (void)context, (void)announced, (void)err;
    return 0;
}

/* The bytes that a pass over `length` tokens takes from its arena. */
static size_t taken_by(size_t length, size_t threads, bool logits)
{
    struct batch batch;
    struct arena arena = {0};
    struct arena own = {0};
    struct text text = {.ids = rig_ids(&model, 0, length), .count = length};
    rig_open(&rig, &model, threads);
    struct tap tap = {.watch = &rig.watch, .sink = ignore};
    struct run what = {&rig.machine, &model.config, &rig.weights, &batch, .edits = NULL};
    if (model.config.cross) {
        text.source_ids = text.ids;
        text.source_count = length;
    }
    watch_add(&rig.watch, logits ? SITE_LOGITS : SITE_ATTN_OUT, model.config.n_layer - 1);
    ck_assert_int_eq(batch_init(&batch, &model.config, &text, 1, &arena, NULL), 0);
    ck_assert_int_eq(forward(&what, &tap, &own, NULL), 0);
    size_t taken = own.taken_bytes;
    arena_release(&own);
    arena_release(&arena);
    rig_close(&rig);
    return taken;
}

/* The tolerance for a pass over layers, and for each further thread. */
static size_t tolerance_bytes(void)
{
    return has_encoder(&model.config) ? 3 * 1024 : 1024;
}

TEST(a_pass_takes_the_documented_memory)
{
    static const char *const configs[] = {small_gpt2, small_self, small_cross, small_bare,
                                          small_encoder};
    static const size_t lengths[] = {1, 18, 30};
    for (size_t i = 0; i < COUNT(configs) * COUNT(lengths); i++) {
        tiny_model_make(&model, configs[i / COUNT(lengths)]);
        const struct config *c = &model.config;
        size_t length = lengths[i % COUNT(lengths)];
        size_t said = pass_memory_bytes(c, length) + attention_bytes(c, length, length, 1);
        size_t taken = taken_by(length, 1, false);
        ck_assert_uint_ge(taken, said);
        ck_assert_uint_le(taken, said + tolerance_bytes());
        size_t more = taken_by(length, 3, false) - taken;
        ck_assert_uint_ge(more, 2 * attention_bytes(c, length, length, 1));
        ck_assert_uint_le(more, 2 * attention_bytes(c, length, length, 1) + tolerance_bytes());
        if (c->kind == MODEL_GPT2) {
            size_t logits = taken_by(length, 1, true) - taken;
            size_t row = config_logits(c) * sizeof(float);
            ck_assert_uint_ge(logits, length * row);
            ck_assert_uint_le(logits, length * (row + 4 * c->n_embd) + 1024);
        }
        tiny_model_release(&model);
    }
}

/* Includes random keys, which all threads share. */
TEST(every_kind_of_attention_takes_the_documented_memory)
{
    static const char *const ways[] = {"window:4", "strided:3+global:2", "random:5", "random:400",
                                       "linear",   "blocked:8"};
    static const char *const configs[] = {small_self, small_encoder};
    for (size_t i = 0; i < COUNT(ways) * 4; i++) {
        size_t threads = 1 + 2 * (i % 2);
        tiny_model_make(&model, configs[i / 2 % 2]);
        ck_assert_int_eq(mechanism_set_attention(&model.config.mechanism, ways[i / 4], NULL), 0);
        ck_assert(!config_describe(&model.config, NULL));
        size_t said =
            pass_memory_bytes(&model.config, 30) + attention_bytes(&model.config, 30, 30, threads);
        size_t taken = taken_by(30, threads, false);
        ck_assert_uint_ge(taken, said);
        ck_assert_uint_le(taken, said + tolerance_bytes() * threads);
        tiny_model_release(&model);
    }
}
