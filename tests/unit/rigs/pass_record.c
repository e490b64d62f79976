#include "pass_record.h"

#include <string.h>

#include "asserts.h"
#include "pass/forward.h"
#include "model/model.h"
#include "model/points.h"
#include "pass/tap.h"

struct record_watch record_all(const struct random_model *model)
{
    return (struct record_watch){.sites = model_sites(&model->config)};
}

static int keep(void *context, const struct announcement *seen, struct err *err)
{
    struct record *record = context;
    ck_assert_uint_lt(record->count, RECORD_MAX);
    struct record_item *item = &record->items[record->count++];
    *item = (struct record_item){seen->site, seen->layer, seen->text, seen->values.rank, {0}, 0};
    memcpy(item->shape, seen->values.shape, sizeof item->shape);
    item->data = arena_alloc(&record->arena, tensor_count(&seen->values), sizeof(float), err);
    ck_assert_ptr_nonnull(item->data);
    tensor_copy(item->data, &seen->values);
    return 0;
}

static void add_sites(struct watch *watch, const struct record_watch *wanted)
{
    const struct site_set sites = wanted->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        size_t first = site_row(site)->in_layer ? wanted->first_layer : 0;
        for (size_t i = first; i < site_layers(watch->config, site); i++)
            watch_add(watch, site, i);
    }
    watch->last_logits = wanted->last_logits;
    watch->first_head = wanted->first_head;
    watch->head_count = wanted->head_count;
}

void record_pass(struct record *record, struct random_model *model, const struct text *texts,
                 size_t count, const struct record_watch *wanted)
{
    struct err err = {0};
    struct arena arena = {0};
    struct watch watch;
    struct batch batch;
    record->count = 0;
    record->arena = (struct arena){0};
    int failed = watch_init(&watch, &model->config, &arena, &err) ||
                 batch_init(&batch, &model->config, texts, count, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    add_sites(&watch, wanted);
    struct tap tap = {.watch = &watch, .sink = keep, .context = record};
    struct run run = {&model->machine, &model->config, &model->weights,
                      &batch,          wanted->edits,  wanted->start};
    ck_assert_msg(forward(&run, &tap, &arena, &err) == 0, "%s", err.text);
    arena_release(&arena);
}

void record_release(struct record *record)
{
    arena_release(&record->arena);
    record->count = 0;
}

static const struct record_item *find(const struct record *record, size_t text,
                                      const struct record_item *like)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct record_item *item = &record->items[i];
        if (item->site == like->site && item->layer == like->layer && item->text == text)
            return item;
    }
    ck_abort_msg("'%s' of layer %d is missing", site_name(like->site), like->layer);
    return NULL;
}

/* Matrix `head` of an item whose last axes are rows and columns. */
static const float *matrix_of(const struct record_item *item, size_t head)
{
    return item->data + head * item->shape[item->rank - 2] * item->shape[item->rank - 1];
}

static void expect_item(const struct record_item *whole, const struct record_item *part,
                        size_t first)
{
    size_t heads = part->rank == 3 ? part->shape[0] : 1;
    size_t rows = part->shape[part->rank - 2];
    size_t columns = part->shape[part->rank - 1];
    size_t stride = whole->shape[whole->rank - 1];
    ck_assert_uint_eq(whole->rank, part->rank);
    ck_assert_uint_eq(whole->rank == 3 ? whole->shape[0] : 1, heads);
    ck_assert_uint_ge(whole->shape[whole->rank - 2], first + rows);
    bool grows = site_branch(part->site) == BRANCH_TEXT;
    if (grows && site_row(part->site)->axes == AXES_HEAD_QUERY_KEY)
        ck_assert_uint_eq(columns, first + rows);
    else
        ck_assert_uint_eq(columns, stride);
    for (size_t head = 0; head < heads; head++)
        for (size_t row = 0; row < rows; row++) {
            const float *wanted = matrix_of(whole, head) + (first + row) * stride;
            const float *found = matrix_of(part, head) + row * columns;
            ck_assert_msg(memcmp(wanted, found, columns * sizeof *found) == 0,
                          "'%s' of layer %d: head %zu row %zu of %zu differs",
                          site_name(part->site), part->layer, head, row, rows);
        }
}

void record_expect_rows(const struct record *whole, size_t whole_sequence,
                        const struct record *part, size_t part_sequence, size_t first)
{
    size_t compared = 0;
    for (size_t i = 0; i < part->count; i++) {
        const struct record_item *item = &part->items[i];
        if (item->text != part_sequence)
            continue;
        expect_item(find(whole, whole_sequence, item), item,
                    site_is_of_source(item->site) ? 0 : first);
        compared++;
    }
    ck_assert_uint_gt(compared, 0);
}
