#include "measure/gradients.h"

#include <string.h>

#include "lens/capture.h"
#include "model/back.h"
#include "model/layer.h"

/* Where the walk's gradients go. */
struct taken {
    struct capture capture;
    struct watch watch;
};

static int take(void *context, const struct announcement *announced, struct err *err)
{
    struct taken *taken = context;
    size_t layer = announced->layer < 0 ? 0 : (size_t)announced->layer;
    return watch_has(&taken->watch, announced->site, layer)
               ? capture_sink(&taken->capture, announced, err)
               : 0;
}

/* Add the gradients of the rows of tokens that an array of embeddings has. */
static int add_token_rows(struct report *report, const struct report *found,
                          const struct array *embedding, struct matrix rows, struct arena *arena,
                          struct err *err)
{
    const bool of_source = site_part(embedding->site) == PART_SOURCE;
    struct array array = {
        .name = of_source ? "gradient.source_token_rows" : "gradient.token_rows",
        .layer = -1,
        .rows = array_matrix(found, embedding, 0).rows,
    };
    const size_t count = array.rows.size;
    float *data = arena_room(arena, count * rows.columns, sizeof *data, err);
    if (!data || axis_of_numbers(&array.columns, "channel", NULL, rows.columns, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * rows.columns,
               matrix_row(rows, array.rows.numbers ? array.rows.numbers[i] : i),
               rows.columns * sizeof *data);
    array.data = data;
    return report_add_array(report, &array, arena, err);
}

/* Give the arrays, which are in the reverse order of the pass, its order and the names of
 * gradients; behind an embedding, add its rows of tokens. */
static int arrange(struct report *report, const struct back *back, struct arena *arena,
                   struct err *err)
{
    const struct report found = *report;
    report->arrays = NULL;
    report->array_count = 0;
    for (size_t i = found.array_count; i-- > 0;) {
        struct array array = found.arrays[i];
        const enum site_part part = site_part(array.site);
        array.gradient = arena_format(arena, err, "gradient.%s", site_name(array.site));
        if (!array.gradient || report_add_array(report, &array, arena, err) ||
            (site_id(array.site) == SITE_EMBEDDING &&
             add_token_rows(report, &found, &found.arrays[i], back->token_rows[part], arena, err)))
            return -1;
    }
    return 0;
}

int gradients_make(struct report *report, const struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const struct config *c = &viewer->model.config;
    const struct selection *selection = plan->selection;
    const struct question *question = &plan->question;
    const struct capture_request asked = {selection, pair, 1, plan->number, report, NULL};
    const struct text text = viewer_text(pair);
    const bool is_edited = viewer->edits && viewer->edits->count;
    struct arena scratch = {0};
    struct batch batch;
    struct taken taken;
    struct tape tape = {.arena = &scratch};
    const struct run run = {&viewer->machine,
                            c,
                            &viewer->model.weights,
                            &batch,
                            is_edited ? viewer->edits : NULL,
                            NULL};
    float *seed = arena_alloc(&scratch, text.count * c->vocab_size, sizeof *seed, err);
    struct back_seed seeds = {SITE_LOGITS, -1, seed};
    struct back back = {.run = &run,
                        .tape = &tape,
                        .seeds = &seeds,
                        .seed_count = 1,
                        .sink = take,
                        .context = &taken};
    int failed = !seed || model_check(&viewer->model, NEEDS_LOGITS, err) ||
                 capture_init(&taken.capture, selection, c, 1, arena, err) ||
                 watch_init(&taken.watch, c, &scratch, err) ||
                 batch_init(&batch, c, &text, 1, &scratch, err);
    if (!failed) {
        float *row = seed + question->position * c->vocab_size;
        row[question->answer] += 1;
        if (question->against >= 0)
            row[question->against] -= 1;
        taken.capture.lists->wanted = selection_queries(selection, &pair->sentence);
        selection_watch(selection, &taken.watch);
        failed = tape_run(&tape, &run, err) || back_run(&back, err) ||
                 viewer_reports(viewer, &asked, taken.capture.lists, arena, err) ||
                 arrange(report, &back, arena, err);
    }
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
