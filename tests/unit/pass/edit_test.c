#include "pass/edit.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/growth_rig.h"
#include "../rigs/pass_record.h"
#include "math/weight.h"

#define FAMILY(type, keys)                                                              \
    "{\"model_type\": \"" type                                                          \
    "\", \"vocab_size\": 97, \"hidden_size\": 24, \"num_hidden_layers\": 3, "           \
    "\"num_attention_heads\": 4, \"intermediate_size\": 20, \"layer_norm_eps\": 1e-5, " \
    "\"layer_norm_epsilon\": 1e-5, \"max_position_embeddings\": 256, " keys "}"

static const char *const configs[] = {
    growth_tiny,
    growth_gpt2,
    FAMILY("llama", "\"num_key_value_heads\": 2"),
    FAMILY("gpt_neox", "\"rotary_pct\": 0.67"),
    FAMILY("gemma2", "\"head_dim\": 6, \"num_key_value_heads\": 2, \"sliding_window\": 5"),
    FAMILY("bloom", "\"n_head\": 4, \"n_layer\": 3"),
    FAMILY("granite", "\"num_key_value_heads\": 2, \"residual_multiplier\": 0.5"),
    growth_grouped,
    growth_norms_last,
    growth_norms_first,
};

/* The first four configs have a plain causal block. */
enum { PLAIN = 4, LENGTH = 13, SOURCE = 7, LAYER = 1 };

static struct random_model model;
static struct record plain, edited;
static uint32_t ids[LENGTH];

static void open_model(const char *config, size_t threads)
{
    random_model_open(&model, config, threads);
    random_ids(ids, LENGTH, model.config.vocab_size);
}

static void release(void)
{
    record_release(&plain);
    record_release(&edited);
    random_model_release(&model);
}

FIXTURE(NULL, release)

static struct text a_text(void)
{
    bool cross = model.config.cross;
    return (struct text){ids, LENGTH, .source_ids = cross ? ids + 3 : NULL, cross ? SOURCE : 0};
}

static void run(struct record *record, const struct edit *edit, size_t count)
{
    struct edits edits = {edit, count};
    struct record_watch watch = record_all(&model);
    struct text text = a_text();
    struct err err = {0};
    ck_assert_msg(!edits_check(&edits, &model.config, &err), "%s", err.text);
    watch.edits = &edits;
    record_release(record);
    record_pass(record, &model, &text, 1, &watch);
}

static size_t cells(const struct record_item *item)
{
    return item->shape[0] * item->shape[1] * (item->rank == 3 ? item->shape[2] : 1);
}

static const struct record_item *find(const struct record *record, enum site site, int layer)
{
    for (size_t i = 0; i < record->count; i++)
        if (record->items[i].site == site && record->items[i].layer == layer)
            return &record->items[i];
    return NULL;
}

static bool same(const struct record_item *a, const struct record_item *b)
{
    return memcmp(a->data, b->data, cells(a) * sizeof *a->data) == 0;
}

static struct tensor tensor_of(const struct record_item *item)
{
    struct tensor tensor = {.data = item->data, .rank = item->rank};
    size_t stride = 1;
    for (size_t axis = item->rank; axis-- > 0; stride *= item->shape[axis]) {
        tensor.shape[axis] = item->shape[axis];
        tensor.stride[axis] = stride;
    }
    return tensor;
}

/* --- identities ------------------------------------------------------------------------------- */

TEST_LOOP(scale_1_and_replacement_with_the_same_values_do_not_change_a_bit, COUNT(configs))
{
    open_model(configs[_i], 1);
    run(&plain, NULL, 0);
    for (size_t i = 0; i < plain.count; i++) {
        const struct record_item *item = &plain.items[i];
        struct tensor values[4] = {tensor_of(item), tensor_of(item), tensor_of(item),
                                   tensor_of(item)};
        struct edit_donor donor = {values, 1, .longest = LENGTH};
        struct edit_range layer = {item->layer, item->layer};
        struct edit edit[] = {
            {.site = item->site, .op = EDIT_SCALE, .number = 1},
            {.site = item->site, .op = EDIT_TAKE, .layers = {&layer, 1}, .donor = &donor},
        };
        run(&edited, edit, COUNT(edit));
        for (size_t k = 0; k < plain.count; k++)
            ck_assert_msg(same(&plain.items[k], &edited.items[k]), "%s edited, %s differs",
                          site_name(item->site), site_name(plain.items[k].site));
    }
}

/* --- places of edits -------------------------------------------------------------------------- */

TEST_LOOP(every_value_can_be_set_and_is_announced, COUNT(configs))
{
    open_model(configs[_i], 1);
    run(&plain, NULL, 0);
    for (size_t i = 0; i < plain.count; i++) {
        const struct record_item *item = &plain.items[i];
        struct edit_range token = {-2, -2};
        size_t rows = item->shape[item->rank - 2];
        size_t width = item->shape[item->rank - 1];
        size_t place = (width < rows ? width : rows) - 3; /* inside the window */
        struct edit_range column = {(ptrdiff_t)place, (ptrdiff_t)place};
        struct edit edit = {.site = item->site,
                            .op = EDIT_SET,
                            .number = 0.75f,
                            .tokens = {&token, 1},
                            .columns = {&column, 1}};
        run(&edited, &edit, 1);
        const struct record_item *found = find(&edited, item->site, item->layer);
        for (size_t cell = 0; cell < cells(item); cell++) {
            bool hit = cell / width % rows == rows - 2 && cell % width == place;
            bool first = item->layer <= 0; /* it changes later layers, too */
            if (hit || first)
                ck_assert_msg(found->data[cell] == (hit ? 0.75f : item->data[cell]),
                              "'%s': cell %zu", site_name(item->site), cell);
        }
    }
}

TEST_LOOP(one_text_of_a_batch_is_edited_with_any_number_of_threads, 3)
{
    struct edit_range layer = {LAYER, LAYER};
    struct edit edits_of[] = {
        {.site = SITE_CONTEXT,
         .op = EDIT_SCALE,
         .number = 3,
         .one_text = true,
         .text = 1,
         .layers = {&layer, 1}},
        {.site = SITE_WEIGHTS, .op = EDIT_SET, .number = 0.5f, .one_text = true, .text = 1},
    };
    struct edits edits = {edits_of, COUNT(edits_of)};
    struct edit alone[] = {edits_of[0], edits_of[1]};
    open_model(configs[2], (size_t)_i + 1);
    alone[0].one_text = alone[1].one_text = false;
    run(&plain, NULL, 0);
    struct record_watch watch = record_all(&model);
    struct text texts[] = {a_text(), a_text(), a_text()};
    watch.edits = &edits;
    record_pass(&edited, &model, texts, COUNT(texts), &watch);
    record_expect_rows(&plain, 0, &edited, 0, 0);
    record_expect_rows(&plain, 0, &edited, 2, 0);
    run(&plain, alone, COUNT(alone));
    record_expect_rows(&plain, 0, &edited, 1, 0);
}

TEST_LOOP(a_growing_text_is_edited_as_the_whole, PLAIN)
{
    struct cache cache;
    struct edit_range head = {0, 0};
    struct edit_range token = {-3, -1};
    struct edit edits_of[] = {
        {.site = SITE_V, .op = EDIT_SCALE, .number = -2, .heads = {&head, 1}},
        {.site = SITE_CONTEXT, .op = EDIT_SET, .tokens = {&token, 1}},
        {.site = SITE_MASKED, .op = EDIT_FORBID, .columns = {&head, 1}, .tokens = {&token, 1}},
    };
    struct edits edits = {edits_of, COUNT(edits_of)};
    struct text part = {ids, 1, .cache = &cache, .prompt_count = LENGTH};
    open_model(configs[_i], 1);
    run(&plain, edits_of, COUNT(edits_of));
    struct record_watch watch = record_all(&model);
    watch.edits = &edits;
    site_set_remove(&watch.sites, SITE_SCORES);
    ck_assert(!cache_init(&cache, &model.config, NULL));
    for (size_t i = 0; i < LENGTH; i++, part.ids++) {
        record_pass(&edited, &model, &part, 1, &watch);
        record_expect_rows(&plain, 0, &edited, 0, i);
        record_release(&edited);
    }
    cache_release(&cache);
}

TEST_LOOP(a_pass_can_start_from_a_captured_stream, COUNT(configs))
{
    open_model(configs[_i], 2);
    run(&plain, NULL, 0);
    const struct record_item *stream = find(&plain, SITE_RESID_PRE, LAYER);
    if (!stream)
        stream = find(&plain, SITE_ATTN_OUT, LAYER - 1); /* bare attention */
    const float *streams[] = {stream->data, stream->data};
    struct stream_start start = {LAYER, streams};
    struct record_watch watch = record_all(&model);
    struct text texts[] = {a_text(), a_text()};
    watch.start = &start;
    record_pass(&edited, &model, texts, COUNT(texts), &watch);
    ck_assert_ptr_null(find(&edited, SITE_V, 0));
    ck_assert_ptr_nonnull(find(&edited, SITE_ATTN_OUT, LAYER));
    record_expect_rows(&plain, 0, &edited, 0, 0);
    record_expect_rows(&plain, 0, &edited, 1, 0);
}

/* --- other texts ------------------------------------------------------------------------------ */

TEST(resampling_chooses_a_text_that_is_long_enough)
{
    static const float shorter[3 * 4] = {0};
    static const float numbers[3][LENGTH * 4] = {{1}, {2}, {3}};
    struct tensor values[4] = {{shorter, 2, {3, 4}, {4, 1}}};
    float row[LENGTH * 4];
    unsigned seen = 0;
    for (size_t i = 0; i < 3; i++)
        values[i + 1] = (struct tensor){numbers[i], 2, {LENGTH, 4}, {4, 1}};
    for (size_t number = 0; number < 32; number++) {
        struct edit_donor donor = {values, 4, 7, LENGTH, false};
        struct edit edit = {.site = SITE_EMBEDDING, .op = EDIT_TAKE, .donor = &donor};
        struct edits edits = {&edit, 1};
        struct edit_block block = {.site = SITE_EMBEDDING,
                                   .number = number,
                                   .data = row,
                                   .heads = 1,
                                   .rows = LENGTH,
                                   .columns = 4,
                                   .row_stride = 4,
                                   .row_places = LENGTH,
                                   .column_places = SIZE_MAX};
        edits_apply(&edits, &block);
        ck_assert_float_ge(row[0], 1);
        seen |= 1u << (int)row[0];
    }
    ck_assert_uint_eq(seen, 1u << 1 | 1u << 2 | 1u << 3);
}

/* --- errors ----------------------------------------------------------------------------------- */

static const struct refusal {
    const char *config, *message;
    struct edit edit;
} refusals[] = {
    {growth_tiny,
     "edit: token: expected an index from 0 to 12 (or -13 to -1 from the end), found 13: the text "
     "has 13",
     {.site = SITE_LN_1, .tokens = {&(struct edit_range){2, 13}, 1}}},
    {growth_tiny,
     "edit: key: expected an index from 0 to 12 (or -13 to -1 from the end), found -14: the text "
     "has 13",
     {.site = SITE_WEIGHTS, .columns = {&(struct edit_range){-14, -1}, 1}}},
    {growth_tiny,
     "edit: expected 13 tokens or more as in the text, found 12",
     {.site = SITE_LN_1, .donor = &(struct edit_donor){.longest = 12}}},
    {growth_tiny,
     "edit: expected 13 tokens as in the text, found 14",
     {.site = SITE_LN_1, .donor = &(struct edit_donor){.longest = 14, .exact = true}}},
    {growth_bare,
     "edit: the model has no projection 'k': queries, keys and values are its input: edit the "
     "input",
     {.site = SITE_K}},
};

TEST_LOOP(edits_outside_of_the_text_or_model_are_refused, COUNT(refusals))
{
    struct err err = {0};
    struct edits edits = {&refusals[_i].edit, 1};
    open_model(refusals[_i].config, 1);
    ck_assert(edits_check(&edits, &model.config, &err) ||
              edits_check_text(&edits, &model.config, LENGTH, SOURCE, &err));
    ck_assert_str_eq(err.text, refusals[_i].message);
}
