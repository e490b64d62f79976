#include "path_text.h"

#include <string.h>

#include "model/layer.h"
#include "model/model.h"
#include "model/points.h"
#include "pass/tap.h"

enum { LONG = 70 }; /* tokens; more than a panel of keys has */

static struct path_value *value_at(const struct path_text *text, enum site site, int layer)
{
    return &text->values[(size_t)(layer < 0 ? 0 : layer) * SITE_COUNT + (size_t)site];
}

/* Whether a value is one of the whole text: pieces of it have others. */
static bool is_of_whole(enum site site)
{
    return site == SITE_OF(BRANCH_MIXER, SITE_WEIGHTS) ||
           site == SITE_OF(BRANCH_MIXER, SITE_STATE) || site_is_by_name(site);
}

/* Watch a site, and look up its tensor in the reference. */
static void add_site(struct path_text *text, enum site site, int layer)
{
    char name[SITE_NAME_BYTES];
    site_tensor_name(name, site, layer);
    if (is_of_whole(site)) { /* the program's output alone is compared */
        text->left_out += text->golden && golden_find(text->golden, name);
        return;
    }
    watch_add(&text->watch, site, layer < 0 ? 0 : (size_t)layer);
    if (text->golden)
        value_at(text, site, layer)->golden = golden_find(text->golden, name);
}

/* Sites times layers, of the encoder or the decoder, whichever has more layers. */
static size_t value_count(const struct config *config)
{
    size_t layers = stack_of(config, BRANCH_SOURCE)->layers > config->n_layer
                        ? stack_of(config, BRANCH_SOURCE)->layers
                        : config->n_layer;
    return layers * SITE_COUNT;
}

static int add_sites(struct path_text *text, struct err *err)
{
    size_t values = value_count(text->config);
    text->values = arena_alloc(&text->arena, values, sizeof *text->values, err);
    if (!text->values || watch_init(&text->watch, text->config, &text->arena, err))
        return -1;
    const struct site_set sites = model_sites(text->config);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        if (!site_row(site)->in_layer)
            add_site(text, site, -1);
        for (size_t layer = 0; site_row(site)->in_layer && layer < site_layers(text->config, site);
             layer++)
            add_site(text, site, (int)layer);
    }
    return 0;
}

int path_text_open(struct path_text *text, const struct config *config, const struct golden *golden,
                   struct err *err)
{
    *text = (struct path_text){.config = config, .golden = golden};
    text->sequence = (struct text){.ids = golden->ids, .count = golden->id_count};
    if (golden->source_id_count) {
        text->sequence.source_ids = golden->source_ids;
        text->sequence.source_count = golden->source_id_count;
    }
    if (golden->segment_count) {
        unsigned char *segments = arena_alloc(&text->arena, golden->segment_count, 1, err);
        for (size_t i = 0; segments && i < golden->segment_count; i++)
            segments[i] = (unsigned char)golden->segments[i];
        text->sequence.segments = segments;
    }
    if (add_sites(text, err) == 0)
        return 0;
    path_text_release(text);
    return -1;
}

int path_text_open_long(struct path_text *text, const struct config *config,
                        const struct golden *golden, struct err *err)
{
    size_t most = config->n_positions;
    size_t count = most && most < LONG ? most : LONG;
    if (path_text_open(text, config, golden, err))
        return -1;
    uint32_t *ids = arena_alloc(&text->arena, count, sizeof *ids, err);
    if (!ids) {
        path_text_release(text);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        ids[i] = golden->ids[i % golden->id_count];
    text->sequence.ids = ids;
    text->sequence.count = count;
    text->sequence.segments = NULL;
    text->golden = NULL;
    for (size_t i = 0; i < value_count(config); i++)
        text->values[i].golden = NULL;
    return 0;
}

void path_text_release(struct path_text *text)
{
    arena_release(&text->arena);
    *text = (struct path_text){0};
}

static size_t heads_of(size_t rank, const size_t *shape)
{
    return rank == 3 ? shape[0] : 1;
}

/* Number of rows of all heads. */
static size_t rows_of(size_t rank, const size_t *shape)
{
    return heads_of(rank, shape) * shape[rank - 2];
}

/* Keep the values of the first run, which passes the whole text. */
static int keep(struct path_value *value, const struct tensor *values, struct arena *arena,
                struct err *err)
{
    float *bits = arena_alloc(arena, tensor_count(values), sizeof *bits, err);
    if (!bits)
        return -1;
    tensor_copy(bits, values);
    value->bits = bits;
    value->rank = values->rank;
    memcpy(value->shape, values->shape, sizeof value->shape);
    size_t rank = value->golden ? value->golden->rank : 0; /* of a sink without its last axis */
    if (value->golden &&
        (rank > value->rank || (rank < value->rank && value->shape[rank] != 1) ||
         memcmp(value->golden->shape, value->shape, rank * sizeof *value->shape) != 0))
        return err_set(err, "the reference has another shape");
    return 0;
}

/* Compare the first columns of a row with the bits of the first run, unless these may differ, and
 * with the reference. */
static int compare_row(struct path_run *run, const struct path_value *value, size_t row,
                       const float *found, size_t columns, bool same_bits, struct err *err)
{
    size_t at = row * value->shape[value->rank - 1];
    if (same_bits && memcmp(value->bits + at, found, columns * sizeof *found) != 0)
        return err_set(err, "row %zu has other bits than the first path gave", row);
    for (size_t i = 0; value->golden && i < columns; i++) {
        double error = golden_error(value->golden, at + i, found[i]);
        run->worst = error > run->worst ? error : run->worst;
        if (!golden_agrees(value->golden, at + i, found[i], run->tolerance))
            return err_set(err, "row %zu, column %zu: expected %.9g, found %.9g", row, i,
                           value->golden->values[at + i], (double)found[i]);
    }
    return 0;
}

static int compare(struct path_run *run, const struct path_value *value,
                   const struct tensor *values, const float *found, bool same_bits, struct err *err)
{
    size_t heads = heads_of(values->rank, values->shape);
    size_t rows = values->shape[values->rank - 2];
    size_t columns = values->shape[values->rank - 1];
    size_t whole = value->shape[value->rank - 2];
    if (values->rank != value->rank || heads != heads_of(value->rank, value->shape) ||
        run->past + rows > whole || columns > value->shape[value->rank - 1])
        return err_set(err, "it has another shape than the whole text");
    for (size_t i = 0; i < heads * rows; i++)
        if (compare_row(run, value, i / rows * whole + run->past + i % rows, found + i * columns,
                        columns, same_bits, err))
            return -1;
    return 0;
}

int path_sink(void *context, const struct announcement *seen, struct err *err)
{
    struct path_run *run = context;
    struct path_text *text = run->text;
    struct path_value *value = value_at(text, seen->site, seen->layer);
    const struct text *sequence = &run->sequences[seen->text];
    struct arena arena = {0};
    char name[SITE_NAME_BYTES];
    float *found = arena_alloc(&arena, tensor_count(&seen->values), sizeof *found, err);
    if (!found)
        return -1;
    tensor_copy(found, &seen->values);
    /* Such biases of a part of the text differ from those of the whole by a number for each row. */
    bool moved = text->config->score_bias == BIAS_ALIBI_FROM_END &&
                 (sequence->cache || sequence->count < text->sequence.count);
    int failed = (!value->bits && keep(value, &seen->values, &text->arena, err)) ||
                 ((!moved || site_id(seen->site) != SITE_MASKED) &&
                  compare(run, value, &seen->values, found, !moved, err));
    if (sequence->cache || sequence->count == text->sequence.count)
        value->rows_seen += rows_of(seen->values.rank, seen->values.shape);
    arena_release(&arena);
    return failed ? err_prefix(err, "'%s'", site_tensor_name(name, seen->site, seen->layer)) : 0;
}

/* Return the number of compared rows, and reset it. */
static size_t take_rows_seen(struct path_value *value)
{
    size_t rows = value->rows_seen;
    value->rows_seen = 0;
    return rows;
}

int path_run_finish(struct path_run *run, struct err *err)
{
    struct path_text *text = run->text;
    size_t tensors = 0;
    int failed = 0;
    for (size_t i = 0; i < value_count(text->config); i++) {
        struct path_value *value = &text->values[i];
        size_t rows = value->bits ? run->texts * rows_of(value->rank, value->shape) : 0;
        size_t seen = take_rows_seen(value);
        if (seen != rows)
            failed = err_set(err, "'%s': expected %zu rows, found %zu", site_name(i % SITE_COUNT),
                             rows, seen);
        tensors += value->golden && value->bits;
    }
    tensors += text->left_out;
    if (text->golden && tensors != text->golden->tensor_count)
        failed = err_set(err, "expected %zu tensors of the reference, found %zu",
                         text->golden->tensor_count, tensors);
    return failed;
}
