#include "measure/gradients.h"

#include <string.h>

#include "model/back.h"
#include "model/layer.h"

/* Where the walk's gradients go. */
struct taken {
    struct array *arrays; /* [count] of the report; those of rows of tokens have names */
    size_t count;
};

/* Copy the selected heads, rows and columns of a gradient to its array. */
static int take(void *context, const struct announcement *announced, struct err *err)
{
    const struct taken *taken = context;
    const struct tensor *values = &announced->values;
    const size_t *shape = values->shape + values->rank - 2;
    const enum site_part part = site_part(announced->site);
    const bool of_rows = announced->site == SITE_TOKEN_ROWS(part);
    const enum site site = of_rows ? SITE_OF(part, SITE_EMBEDDING) : announced->site;
    (void)err;
    for (const struct array *a = taken->arrays; a < taken->arrays + taken->count; a++) {
        const size_t size = a->rows.size * a->columns.size;
        float *data = (float *)a->data;
        if (a->site != site || a->layer != announced->layer || !a->name == of_rows)
            continue;
        for (size_t k = 0; k < array_matrix_count(a) * size; k++) {
            size_t head = a->heads.name ? a->heads.numbers[k / size] : 0;
            size_t row = k % size / a->columns.size, column = k % a->columns.size;
            row = a->rows.numbers ? a->rows.numbers[row] : row;
            column = a->columns.numbers ? a->columns.numbers[column] : column;
            data[k] = values->data[(head * shape[0] + row) * shape[1] + column];
        }
    }
    return 0;
}

/* Add an array of zeros: where nothing depends on a site, its gradient is 0. */
static int add_zeros(struct report *report, struct array array, struct arena *arena,
                     struct err *err)
{
    size_t count = array_matrix_count(&array) * array.rows.size * array.columns.size;
    array.data = arena_alloc(arena, count, sizeof *array.data, err);
    return err_if(!array.data || report_add_array(report, &array, arena, err));
}

/* Replace the arrays of a report by those of gradients; with the embedding, add its rows of
 * tokens. */
static int replace_arrays(struct report *report, const struct config *c, struct arena *arena,
                          struct err *err)
{
    const struct report values = *report;
    report->arrays = NULL;
    report->array_count = 0;
    for (size_t i = 0; i < values.array_count; i++) {
        struct array array = values.arrays[i];
        const enum site_part part = site_part(array.site);
        array.gradient = arena_format(arena, err, "gradient.%s", site_name(array.site));
        if (!array.gradient || add_zeros(report, array, arena, err))
            return -1;
        if (site_id(array.site) != SITE_EMBEDDING)
            continue;
        array.name = part == PART_SOURCE ? "gradient.source_token_rows" : "gradient.token_rows";
        array.rows = array_matrix(&values, &values.arrays[i], 0).rows;
        if (axis_of_numbers(&array.columns, "channel", NULL, stack_of(c, part)->embed.width, arena,
                            err) ||
            add_zeros(report, array, arena, err))
            return -1;
    }
    return 0;
}

int gradients_make(struct report *report, const struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const struct config *c = &viewer->model.config;
    const struct capture_request asked = {plan->selection, pair, 1, plan->number, report, NULL};
    const struct text text = viewer_text(pair);
    struct arena scratch = {0};
    struct batch batch;
    struct taken taken;
    struct tape tape = {.arena = &scratch};
    const struct run run = {&viewer->machine,
                            c,
                            &viewer->model.weights,
                            &batch,
                            viewer->edits && viewer->edits->count ? viewer->edits : NULL,
                            NULL};
    float *seed = arena_alloc(&scratch, text.count * c->vocab_size, sizeof *seed, err);
    struct back_seed seeds = {SITE_LOGITS, -1, seed};
    const struct back back = {&run, &tape, &seeds, 1, take, &taken};
    int failed = !seed || model_check(&viewer->model, NEEDS_LOGITS, err) ||
                 viewer_capture(viewer, &asked, arena, err) ||
                 batch_init(&batch, c, &text, 1, &scratch, err) || tape_run(&tape, &run, err);
    if (!failed) {
        float *row = seed + plan->question.position * c->vocab_size;
        row[plan->question.answer] += 1;
        if (plan->question.against >= 0)
            row[plan->question.against] -= 1;
        failed = replace_arrays(report, c, arena, err);
        taken = (struct taken){(struct array *)report->arrays, report->array_count};
    }
    failed = failed || back_run(&back, err);
    arena_release(&scratch);
    return err_if(failed);
}

void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair)
{
    const struct config *c = &plan->viewer->model.config;
    double floats = 0;
    for (enum site site = 0; site != SITE_PASS_END; site = site_next(site)) {
        size_t count = 0;
        if (site_exists(c, site) && site_size(&count, c, site, stack_of(c, site_part(site))->heads,
                                              pair->sentence.count, pair->source.count))
            floats += (double)count * (double)site_layers(c, site);
    }
    viewer_add_memory(memory, plan->viewer, plan->selection, pair, CAPTURE_ALL);
    memory->during += floats * sizeof(float);
}
