#include "model/pass.h"
#include "model/pass_memory.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "forward_rig.h"
#include "model/attention.h"
#include "model/mechanism_text.h"

Suite *pass_suite(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 18, SOURCE = 21 };

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 30, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "tie_word_embeddings": false});
static const char self[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "n_kv_head": 2, "d_k": 5, "d_v": 4, "out_proj": true, "bias": true});
static const char cross[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 3,
          "out_proj": true, "bias": true, "attention": "cross"});
static const char bare[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 4, "projections": false});
/* clang-format on */

static struct tiny_model model;
static struct rig rig;
static struct recording seen;

static struct sequence text(void)
{
    struct sequence sequence = {.ids = rig_ids(&model, 0, LENGTH), .count = LENGTH};
    if (model.config.cross) {
        sequence.source_ids = rig_ids(&model, 100, SOURCE);
        sequence.source_count = SOURCE;
    }
    return sequence;
}

static int run(struct err *err)
{
    struct sequence sequence = text();
    seen = (struct recording){0};
    *err = (struct err){0};
    int failed = rig_run(&rig, &seen, &sequence, 1, err);
    recording_release(&seen);
    return failed;
}

static void check_shape(const struct record *record, size_t queries, size_t keys)
{
    const struct config *c = &model.config;
    size_t width = c->n_embd;
    if (site_rows[record->site].part == PART_SOURCE)
        queries = keys;
    if (record->site == SITE_MLP_ACT)
        width = c->n_inner;
    if (record->site == SITE_ATTN_OUT && !c->out_proj)
        width = c->n_head * c->d_v;
    size_t dim = record->site == SITE_Q || record->site == SITE_K ? c->d_k : c->d_v;
    size_t shapes[][3] = {
        [AXES_TOKEN_CHANNEL] = {queries, width},
        [AXES_TOKEN_WORD] = {queries, c->vocab_size},
        [AXES_HEAD_TOKEN_DIM] = {c->n_head, queries, dim},
        [AXES_GROUP_TOKEN_DIM] = {c->n_kv_head, keys, dim},
        [AXES_HEAD_QUERY_KEY] = {c->n_head, queries, keys},
    };
    enum site_axes axes = site_rows[record->site].axes;
    ck_assert_uint_eq(record->rank, shapes[axes][2] ? 3 : 2);
    ck_assert_mem_eq(record->shape, shapes[axes], sizeof record->shape);
    ck_assert_int_eq(record->layer == -1, !site_rows[record->site].in_layer);
}

START_TEST(views_have_the_axes_of_their_site)
{
    static const char *const configs[] = {gpt2, self, cross, bare};
    for (size_t i = 0; i < COUNT(configs); i++) {
        tiny_model_make(&model, configs[i]);
        rig_open(&rig, &model, 1);
        rig_watch_all(&rig);
        struct sequence sequence = text();
        seen = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &seen, &sequence, 1, NULL), 0);
        ck_assert_uint_gt(seen.count, 5);
        for (size_t r = 0; r < seen.count; r++)
            check_shape(&seen.records[r], LENGTH, model.config.cross ? SOURCE : LENGTH);
        recording_release(&seen);
        rig_close(&rig);
        tiny_model_release(&model);
    }
}
END_TEST

START_TEST(announcements_come_in_the_order_of_the_pass)
{
    tiny_model_make(&model, gpt2);
    rig_open(&rig, &model, 1);
    rig_watch_all(&rig);
    struct sequence sequences[2] = {text(), text()};
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, sequences, 2, NULL), 0);
    ck_assert_uint_eq(seen.count, 2 * (3 + 2 * 15));
    for (size_t i = 1; i < seen.count; i++) {
        const struct record *here = &seen.records[i];
        const struct record *before = &seen.records[i - 1];
        ck_assert_uint_eq(here->sequence, i % 2);
        if (here->layer == before->layer)
            ck_assert_int_ge(here->site, before->site);
    }
    recording_release(&seen);
    rig_close(&rig);
    tiny_model_release(&model);
}
END_TEST

/* The site at which a tensor is first of use. */
static enum site first_use(const char *tensor)
{
    static const struct {
        const char *ending;
        enum site site;
    } uses[] = {
        {"wte.weight", SITE_EMBEDDING},
        {"wpe.weight", SITE_EMBEDDING},
        {".ln_1.weight", SITE_LN_1},
        {".ln_1.bias", SITE_LN_1},
        {".c_attn.weight", SITE_Q},
        {".c_attn.bias", SITE_Q},
        {"attn.c_proj.weight", SITE_ATTN_OUT},
        {"attn.c_proj.bias", SITE_ATTN_OUT},
        {".ln_2.weight", SITE_LN_2},
        {".ln_2.bias", SITE_LN_2},
        {".c_fc.weight", SITE_MLP_ACT},
        {".c_fc.bias", SITE_MLP_ACT},
        {"mlp.c_proj.weight", SITE_MLP_OUT},
        {"mlp.c_proj.bias", SITE_MLP_OUT},
        {"ln_f.weight", SITE_LN_F},
        {"ln_f.bias", SITE_LN_F},
        {"lm_head.weight", SITE_LOGITS},
    };
    for (size_t i = 0; i < COUNT(uses); i++)
        if (strstr(tensor, uses[i].ending))
            return uses[i].site;
    ck_abort_msg("nobody knows what '%s' is for", tensor);
    return SITE_COUNT;
}

/* Where a site stands in the pass. */
static size_t place_of(enum site site, size_t layer)
{
    if (site_rows[site].in_layer)
        return layer * SITE_COUNT + (size_t)site;
    return site == SITE_EMBEDDING ? 0 : model.config.n_layer * SITE_COUNT + (size_t)site;
}

static bool is_used_after(const char *tensor, enum site site, size_t layer)
{
    size_t tensor_layer = strncmp(tensor, "h.", 2) == 0 ? (size_t)(tensor[2] - '0') : 0;
    return place_of(first_use(tensor), tensor_layer) > place_of(site, layer);
}

/* Everything that is only used later is made NaN: it would be found if it were used. */
START_TEST(what_comes_after_the_last_watched_site_is_not_computed)
{
    struct err err;
    for (int site = 0; site < SITE_COUNT; site++) {
        if (site_rows[site].part != PART_SENTENCE)
            continue;
        for (size_t layer = 0; layer < (site_rows[site].in_layer ? 2 : 1); layer++) {
            if (site == SITE_SOFTMAX) /* of another mechanism */
                continue;
            tiny_model_make(&model, gpt2);
            for (size_t t = 0; t < model.count; t++)
                for (size_t i = 0; i < model.tensors[t].count; i++)
                    if (is_used_after(model.tensors[t].name, (enum site)site, layer))
                        model.tensors[t].values[i] = NAN;
            tiny_model_write(&model, 0);
            rig_open(&rig, &model, 1);
            watch_add(&rig.watch, (enum site)site, layer);
            ck_assert_msg(!run(&err), "%s of layer %zu: %s", site_rows[site].name, layer, err.text);
            rig_close(&rig);
            tiny_model_release(&model);
        }
    }
}
END_TEST

START_TEST(nothing_watched_is_nothing_announced)
{
    struct err err;
    tiny_model_make(&model, gpt2);
    rig_open(&rig, &model, 1);
    ck_assert_int_eq(run(&err), 0);
    ck_assert_uint_eq(seen.count, 0);
    rig_close(&rig);
    tiny_model_release(&model);
}
END_TEST

START_TEST(what_its_memory_held_before_does_not_show_in_a_pass)
{
    static const char *const configs[] = {gpt2, self, cross, bare};
    static struct recording again;
    for (size_t i = 0; i < COUNT(configs); i++) {
        struct arena memory = {0};
        tiny_model_make(&model, configs[i]);
        rig_open(&rig, &model, 2);
        rig_watch_all(&rig);
        struct sequence sequences[2] = {text(), text()};
        seen = again = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &seen, sequences, 2, NULL), 0);
        rig_soil(&memory);
        rig.memory = &memory;
        ck_assert_int_eq(rig_run(&rig, &again, sequences, 2, NULL), 0);
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
END_TEST

static int ignore(void *context, const struct announcement *announced, struct err *err)
{
    (void)context, (void)announced, (void)err;
    return 0;
}

/* What a pass over `length` tokens takes from its arena. */
static size_t taken_by(size_t length, size_t threads, bool logits)
{
    struct batch batch;
    struct arena arena = {0};
    struct arena own = {0};
    struct sequence sequence = {.ids = rig_ids(&model, 0, length), .count = length};
    rig_open(&rig, &model, threads);
    struct tap tap = {.watch = &rig.watch, .sink = ignore};
    struct run what = {&rig.machine, &model.config, &rig.weights, &batch};
    if (model.config.cross) {
        sequence.source_ids = sequence.ids;
        sequence.source_count = length;
    }
    watch_add(&rig.watch, logits ? SITE_LOGITS : SITE_ATTN_OUT, model.config.n_layer - 1);
    ck_assert_int_eq(batch_init(&batch, &model.config, &sequence, 1, &arena, NULL), 0);
    ck_assert_int_eq(forward(&what, &tap, &own, NULL), 0);
    size_t taken = own.taken_bytes;
    arena_release(&own);
    arena_release(&arena);
    rig_close(&rig);
    return taken;
}

/* But for what is smaller than a kibibyte a thread. */
START_TEST(a_pass_takes_the_memory_that_it_says)
{
    static const char *const configs[] = {gpt2, self, cross, bare};
    static const size_t lengths[] = {1, 18, 30};
    for (size_t i = 0; i < COUNT(configs) * COUNT(lengths); i++) {
        tiny_model_make(&model, configs[i / COUNT(lengths)]);
        const struct config *c = &model.config;
        size_t length = lengths[i % COUNT(lengths)];
        size_t said = pass_memory_bytes(c, length) + attention_bytes(c, length, length);
        size_t taken = taken_by(length, 1, false);
        ck_assert_uint_ge(taken, said);
        ck_assert_uint_le(taken, said + 1024);
        size_t more = taken_by(length, 3, false) - taken;
        ck_assert_uint_ge(more, 2 * attention_bytes(c, length, length));
        ck_assert_uint_le(more, 2 * attention_bytes(c, length, length) + 1024);
        if (c->kind == MODEL_GPT2) {
            size_t logits = taken_by(length, 1, true) - taken;
            ck_assert_uint_ge(logits, pass_memory_logits_bytes(c, length));
            ck_assert_uint_le(logits,
                              pass_memory_logits_bytes(c, length) + 4 * length * c->n_embd + 1024);
        }
        tiny_model_release(&model);
    }
}
END_TEST

/* Random keys, which all threads share, are in it. */
START_TEST(every_way_to_attend_takes_the_memory_that_it_says)
{
    static const char *const ways[] = {"window:4", "strided:3+global:2", "random:5", "random:400",
                                       "linear",   "blocked:8"};
    for (size_t i = 0; i < COUNT(ways) * 2; i++) {
        size_t threads = 1 + 2 * (i % 2);
        tiny_model_make(&model, self);
        ck_assert_int_eq(mechanism_set_attention(&model.config.mechanism, ways[i / 2], NULL), 0);
        size_t said = pass_memory_bytes(&model.config, 30) +
                      attention_whole_bytes(&model.config, 30, 30, threads);
        size_t taken = taken_by(30, threads, false);
        ck_assert_uint_ge(taken, said);
        ck_assert_uint_le(taken, said + 1024 * threads);
        tiny_model_release(&model);
    }
}
END_TEST

Suite *pass_suite(void)
{
    Suite *suite = suite_create("pass");
    TCase *tests = tcase_create("pass");
    tcase_add_test(tests, views_have_the_axes_of_their_site);
    tcase_add_test(tests, announcements_come_in_the_order_of_the_pass);
    tcase_add_test(tests, what_comes_after_the_last_watched_site_is_not_computed);
    tcase_add_test(tests, nothing_watched_is_nothing_announced);
    tcase_add_test(tests, what_its_memory_held_before_does_not_show_in_a_pass);
    tcase_add_test(tests, a_pass_takes_the_memory_that_it_says);
    tcase_add_test(tests, every_way_to_attend_takes_the_memory_that_it_says);
    suite_add_tcase(suite, tests);
    return suite;
}
