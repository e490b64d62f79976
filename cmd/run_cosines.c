/* run_cosines.c: `run --cosines`: writes the cosines between the vectors of texts, in place of the
 * vectors. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "driver.h"
#include "math/rows.h"
#include "model/site.h"
#include "run.h"

struct cosines_state {
    struct run_state run;
    struct report *pooled; /* [texts] reports of the open setting's texts, with their vectors */
    size_t texts;
    struct arena *arena; /* memory that is freed at the end of the setting (sweep.h) */
};

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct cosines_state *own = state;
    if (run_prepare(&own->run, driver, err))
        return -1;
    if (!driver->options->select.pool || driver->accumulates)
        return err_usage(err, "--cosines: expected --pool, which makes a vector of each text, "
                              "and no --mean texts");
    if (options_exclude(driver->options, "cosines", "stack stats gradient", err))
        return -1;
    driver_accumulate(driver, driver->sweep.settings);
    return 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct cosines_state *own = state;
    if (run_select(&own->run, driver, err))
        return -1;
    own->texts = 0;
    own->arena = &driver->session.arena;
    own->pooled = arena_alloc(own->arena, driver->items.count, sizeof *own->pooled, err);
    return own->pooled ? 0 : -1;
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    struct cosines_state *own = state;
    double texts = (double)driver->items.count;
    double layers = (double)num_max(own->run.request.selection.layers.count, 1);
    if (run_read(&own->run, driver, job, arena, err))
        return -1;
    driver->survey.sums =
        fmax(driver->survey.sums, texts * (job->result_bytes + texts * layers * sizeof(float)));
    return 0;
}

static int run(void *state, const struct group *group, struct err *err)
{
    struct cosines_state *own = state;
    return run_texts(&own->run, group, err);
}

/* Copy an array of numbers into own->arena, which is freed at the end of a setting (sweep.h).
 * Returns NULL on failure. */
static void *keep(struct cosines_state *own, const void *numbers, size_t count, size_t size,
                  struct err *err)
{
    void *kept = arena_alloc(own->arena, count, size, err);
    return kept ? memcpy(kept, numbers, count * size) : NULL;
}

/* Keep a text and its vectors for `end`, which compares all texts. */
static int add(void *state, struct job *job, struct err *err)
{
    struct cosines_state *own = state;
    struct report *kept = &own->pooled[own->texts++];
    const char *text = job->report.text.raw;
    *kept = job->report;
    kept->text.raw = arena_text(own->arena, text, job->report.text.size, err);
    struct array *arrays = arena_alloc(own->arena, kept->array_count, sizeof *arrays, err);
    kept->arrays = arrays;
    for (size_t i = 0; i < kept->array_count && !err->kind; i++) {
        const struct array *array = &job->report.arrays[i];
        const size_t *numbers = array->heads.numbers;
        arrays[i] = *array;
        arrays[i].data = keep(own, array->data, array_cells(array), sizeof *array->data, err);
        if (numbers)
            arrays[i].heads.numbers = keep(own, numbers, array->heads.size, sizeof *numbers, err);
    }
    return err_if(err->kind);
}

/* The cosine of two vectors; NaN if one is zero. */
static float cosine(const float *a, const float *b, size_t count)
{
    return (float)(dot_rows(a, b, count) / sqrt(dot_rows(a, a, count) * dot_rows(b, b, count)));
}

/* Write the cosines of each array, a matrix of texts by texts for each head. */
static int end(void *state, struct driver *driver, struct err *err)
{
    const struct cosines_state *own = state;
    struct arena *arena = own->arena;
    size_t n = own->texts;
    struct report report;
    struct label *labels = arena_alloc(arena, n, sizeof *labels, err);
    if (!n)
        return 0;
    if (!labels || viewer_report(&report, &driver->session.viewer, arena, err))
        return -1;
    for (size_t i = 0; i < n && !err->kind; i++)
        labels[i] = label_borrowed(own->pooled[i].text.raw, false, arena, err);
    for (size_t k = 0; k < own->pooled[0].array_count && !err->kind; k++) {
        struct array array = own->pooled[0].arrays[k];
        size_t width = array.columns.size, heads = array_matrix_count(&array);
        float *data = arena_alloc(arena, heads * n * n, sizeof *data, err);
        for (size_t i = 0; data && i < heads * n * n; i++)
            data[i] = cosine(own->pooled[i / n % n].arrays[k].data + i / (n * n) * width,
                             own->pooled[i % n].arrays[k].data + i / (n * n) * width, width);
        array.name = arena_format(arena, err, "%s.cosines", site_name(array.site));
        array.rows = array.columns = (struct axis){"text", n, labels, 0, NULL, 0};
        array.data = data;
        if (!err->kind)
            report_add_array(&report, &array, arena, err);
    }
    return err_if(err->kind || driver_write(driver, &report, err));
}

static int finish(void *state, struct driver *driver, struct err *err)
{
    struct cosines_state *own = state;
    return run_finish(&own->run, driver, err);
}

const struct task run_cosines_task = {
    .many = ITEMS_OR_SOURCE,
    .begins = true,
    .means = MEAN_OF_REGIONS,
    .at_once = true,
    .steps = "layers",
    .state_bytes = sizeof(struct cosines_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .run = run,
    .add = add,
    .end = end,
    .finish = finish,
};
