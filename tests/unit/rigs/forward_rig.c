#include "forward_rig.h"

#include <math.h>
#include <string.h>

#include "asserts.h"
#include "model/model.h"
#include "model/points.h"
#include "pass/tap.h"
#include "reference_model.h"

void rig_open(struct rig *rig, struct tiny_model *model, size_t threads)
{
    struct err err = {0};
    *rig = (struct rig){.model = model};
    ck_assert_msg(!weights_open(&rig->weights, &model->config, &model->folder, &err), "%s",
                  err.text);
    ck_assert_int_eq(machine_open(&rig->machine, threads, NULL), 0);
    kernels_write_all(rig->machine.kernels);
    rig_watch_nothing(rig);
}

void rig_close(struct rig *rig)
{
    weights_release(&rig->weights);
    machine_release(&rig->machine);
    arena_release(&rig->arena);
}

void rig_watch_nothing(struct rig *rig)
{
    ck_assert_int_eq(watch_init(&rig->watch, &rig->model->config, &rig->arena, NULL), 0);
}

size_t rig_layers(const struct rig *rig, enum site site)
{
    const struct config *config = &rig->model->config;
    return site_exists(config, site) ? site_layers(config, site) : 0;
}

void rig_watch_all(struct rig *rig)
{
    const struct site_set sites = model_sites(&rig->model->config);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        for (size_t layer = 0; layer < rig_layers(rig, site); layer++)
            watch_add(&rig->watch, site, layer);
}

void rig_soil(struct arena *memory)
{
    size_t bytes = (size_t)1 << 22;
    memset(arena_room(memory, bytes, 1, NULL), 0xff, bytes);
    arena_clear(memory);
}

static int record(void *context, const struct announcement *seen, struct err *err)
{
    struct recording *recording = context;
    if (recording->count >= RECORDS_MAX)
        ck_abort_msg("more than %d announcements", RECORDS_MAX);
    struct record *new = &recording->records[recording->count++];
    *new = (struct record){.site = seen->site,
                           .layer = seen->layer,
                           .text = seen->text,
                           .rank = seen->values.rank,
                           .count = tensor_count(&seen->values)};
    for (size_t axis = 0; axis < new->rank; axis++)
        new->shape[axis] = seen->values.shape[axis];
    new->values = arena_alloc(&recording->arena, new->count, sizeof(float), err);
    if (!new->values)
        return -1;
    tensor_copy(new->values, &seen->values);
    if (recording->count == recording->fail_at)
        return err_output(err, "announcement %zu is refused", recording->fail_at);
    return 0;
}

int rig_run(struct rig *rig, struct recording *recording, const struct text *texts, size_t count,
            struct err *err)
{
    struct batch batch;
    struct arena arena = {0};
    struct tap tap = {.watch = &rig->watch, .sink = record, .context = recording};
    struct run run = {&rig->machine, &rig->model->config, &rig->weights, &batch, .edits = NULL};
    int failed = batch_init(&batch, run.config, texts, count, &arena, err) ||
                 forward(&run, &tap, rig->memory ? rig->memory : &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static double largest(const double *values, size_t count)
{
    double max = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            max = fmax(max, fabs(values[i]));
    return max;
}

/* Errors grow with the sums in a value, so the tolerance depends on the largest of its tensor. */
static void judge_record(const struct record *found, const double *expected, size_t count)
{
    char name[SITE_NAME_BYTES];
    double tolerance = 4e-6 * largest(expected, count) + 1e-9;
    site_tensor_name(name, found->site, found->layer);
    ck_assert_msg(found->count == count, "%s: expected %zu elements, found %zu", name, count,
                  found->count);
    for (size_t i = 0; i < count; i++) {
        bool same = isinf(expected[i]) ? found->values[i] == expected[i]
                                       : fabs(found->values[i] - expected[i]) <= tolerance;
        if (!same)
            ck_abort_msg("%s [%zu, %zu, %zu], element %zu: expected %.9g, found %.9g", name,
                         found->shape[0], found->shape[1], found->shape[2], i, expected[i],
                         found->values[i]);
    }
}

void rig_judge(struct rig *rig, const struct recording *recording, size_t index,
               const struct text *text)
{
    struct reference reference;
    reference_run(&reference, rig->model, text);
    for (enum site site = 0; site != SITE_PASS_END; site = site_next(site)) {
        for (int layer = 0; layer < REFERENCE_LAYERS_MAX; layer++) {
            const double *expected = reference.sites[site][layer];
            int announced = site_row(site)->in_layer ? layer : -1;
            const struct record *found = recording_find(recording, site, announced, index);
            if (!expected && (site_row(site)->in_layer || layer > 0))
                continue;
            ck_assert_msg(!found == !expected, "%s of layer %d", site_name(site), layer);
            if (expected)
                judge_record(found, expected, reference.counts[site][layer]);
        }
    }
    reference_release(&reference);
}

const struct record *recording_find(const struct recording *recording, enum site site, int layer,
                                    size_t text)
{
    for (size_t i = 0; i < recording->count; i++) {
        const struct record *record_i = &recording->records[i];
        if (record_i->site == site && record_i->layer == layer && record_i->text == text)
            return record_i;
    }
    return NULL;
}

void rig_judge_text(struct rig *rig, const struct text *text)
{
    static struct recording seen;
    struct err err = {0};
    seen = (struct recording){0};
    ck_assert_msg(!rig_run(rig, &seen, text, 1, &err), "%s", err.text);
    rig_judge(rig, &seen, 0, text);
    recording_release(&seen);
}

void recording_release(struct recording *recording)
{
    arena_release(&recording->arena);
}

const uint32_t *rig_ids(const struct tiny_model *model, size_t start, size_t count)
{
    enum { IDS = 4096 };
    static uint32_t ids[IDS];
    ck_assert_uint_le(start + count, IDS);
    for (size_t i = start; i < start + count; i++)
        ids[i] = (uint32_t)((i * i * 7 + i * 3 + 5) % model->config.vocab_size);
    return ids + start;
}
