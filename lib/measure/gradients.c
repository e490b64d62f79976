#include "measure/gradients.h"

#include <string.h>

#include "base/num.h"
#include "lens/capture.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- the walk --------------------------------------------------------------------------------- */

struct taken {
    const struct gradient_walk *walk;
    const struct tape *tape;
    struct watch watch; /* the selected sites, including SITE_ATTENTION_GRADIENT */
};

/* Pass the product of the attention weights and their gradient to the sink. */
static int take_product(const struct taken *taken, const struct announcement *weights,
                        struct err *err)
{
    struct announcement product = *weights;
    struct arena arena = {0};
    const float *values = tape_of(taken->tape, weights->site, weights->layer);
    const size_t count = tensor_count(&weights->values);
    float *data = arena_room(&arena, count, sizeof *data, err);
    for (size_t i = 0; data && i < count; i++)
        data[i] = values[i] * weights->values.data[i]; /* both arrays are dense */
    product.site = SITE_OF(site_branch(weights->site), SITE_ATTENTION_GRADIENT);
    product.values.data = data;
    int failed = !data || taken->walk->sink(taken->walk->context, &product, err);
    arena_release(&arena);
    return err_if(failed);
}

static int take_reader(void *context, const struct back_reader *reader, struct err *err)
{
    const struct gradient_walk *walk = ((const struct taken *)context)->walk;
    return walk->reader(walk->context, reader, err);
}

static int take(void *context, const struct announcement *announced, struct err *err)
{
    struct taken *taken = context;
    const size_t layer = announced->layer < 0 ? 0 : (size_t)announced->layer;
    const enum site product = SITE_OF(site_branch(announced->site), SITE_ATTENTION_GRADIENT);
    if (site_id(announced->site) == SITE_WEIGHTS && watch_has(&taken->watch, product, layer) &&
        take_product(taken, announced, err))
        return -1;
    return watch_has(&taken->watch, announced->site, layer)
               ? taken->walk->sink(taken->walk->context, announced, err)
               : 0;
}

/* Refuse a selected site without a gradient, unless `all` sites are selected. */
static int check_points(const struct watch *watch, const struct gradient_walk *walk,
                        struct err *err)
{
    const struct config *c = watch->config;
    if (!walk->sink || selection_is_all(walk->selection, c))
        return 0;
    for (const struct model_point *p = points_of(c); p < points_end(c); p++)
        if (!p->gradient && watch_has(watch, p->site, (size_t)p->layer))
            return err_unsupported(err,
                                   "gradients: expected a tensor that the walk back reaches, found "
                                   "'%s', which is only shown",
                                   site_name(p->site));
    return 0;
}

/* Watch the selected sites of the pass and, if it is selected, SITE_ATTENTION_GRADIENT, whose
 * values the pass itself does not compute. */
static int watch_selected(struct watch *watch, const struct gradient_walk *walk, struct err *err)
{
    const struct selection *selection = walk->selection;
    if (watch_init(watch, &walk->viewer->model.config, walk->arena, err))
        return -1;
    if (!walk->sink)
        return 0;
    selection_watch(selection, watch);
    for (enum site_branch branch = 0; branch < SITE_BRANCHES; branch++) {
        const enum site product = SITE_OF(branch, SITE_ATTENTION_GRADIENT);
        const struct layers layers = selection_layers_of(selection, product);
        for (size_t i = 0; site_set_has(selection->sites, product) && i < layers.count; i++)
            watch_add(watch, product, layers.items[i]);
    }
    return 0;
}

/* Return the bytes of a pass's tape (with `streams`: of a tape that keeps only the streams), and of
 * the walk back, which holds two of the largest values of a layer at a time. */
static double bytes_of_pass(const struct config *c, size_t tokens, size_t sources, bool streams)
{
    double floats = 0;
    size_t largest = 0;
    for (const struct model_point *p = points_of(c); p < points_end(c); p++) {
        const size_t layers = site_layers(c, p->site);
        size_t count = 0;
        const bool again = streams && p->layer >= 0 && p->site != SITE_RESID_PRE;
        if (p != point_any(c, p->site) ||
            !site_size(&count, c, p->site, stack_of(c, site_branch(p->site))->heads, tokens,
                       sources))
            continue;
        floats += (double)count * (double)(again ? num_min(2, layers) : layers);
        largest = p->layer >= 0 ? num_max(largest, count) : largest;
    }
    return (floats + 2 * (double)largest) * sizeof(float);
}

/* True if the tape should keep only the streams and run each layer again, at the cost of one more
 * pass, because it would be too large otherwise. This is not done if an encoder, or inputs of
 * layers other than the stream, would have to be computed again for each layer. */
static bool keeps_streams(const struct config *c, size_t tokens, size_t sources)
{
    const double most = 256e6;
    return !has_encoder(c) && config_starts_anywhere(c) &&
           bytes_of_pass(c, tokens, sources, false) > most;
}

int gradient_walk(struct gradient_walk *walk, struct err *err)
{
    struct viewer *viewer = walk->viewer;
    const struct config *c = &viewer->model.config;
    const bool is_edited = viewer->edits && viewer->edits->count;
    struct batch batch;
    struct tape tape = {
        .arena = walk->arena,
        .streams = keeps_streams(c, walk->text->count, walk->text->source_count),
    };
    struct taken taken = {.walk = walk, .tape = &tape};
    const struct run run = {&viewer->machine,
                            c,
                            &viewer->model.weights,
                            &batch,
                            is_edited ? viewer->edits : NULL,
                            NULL};
    if (model_check(&viewer->model, NEEDS_LOGITS, err) || watch_selected(&taken.watch, walk, err) ||
        batch_init(&batch, c, walk->text, 1, walk->arena, err) || tape_check(&run, err) ||
        check_points(&taken.watch, walk, err) || tape_run(&tape, &run, err))
        return -1;
    const float *logits = tape_of(&tape, SITE_LOGITS, -1);
    struct question *question = walk->question;
    struct logit_term own[2];
    const struct logit_term *terms = walk->terms;
    size_t count = walk->term_count;
    walk->value = 0;
    if (question) {
        question_ask(question, logits + question->position * config_logits(c), config_logits(c));
        own[0] = (struct logit_term){question->position, (size_t)question->answer, 1};
        own[1] = (struct logit_term){question->position, (size_t)question->against, -1};
        terms = own;
        count = question->against < 0 ? 1 : 2;
    }
    float *seed = arena_alloc(walk->arena, walk->text->count * config_logits(c), sizeof *seed, err);
    for (size_t i = 0; seed && i < count; i++) {
        const size_t at = terms[i].position * config_logits(c) + terms[i].id;
        walk->value += (double)terms[i].weight * (double)logits[at];
        seed[at] += terms[i].weight;
    }
    const struct back_seed seeds = {SITE_LOGITS, -1, seed};
    struct back back = {.run = &run,
                        .tape = &tape,
                        .seeds = &seeds,
                        .seed_count = 1,
                        .sink = take,
                        .context = &taken,
                        .reader = walk->reader ? take_reader : NULL};
    if (!seed || (!walk->only_value && back_run(&back, err)))
        return -1;
    memcpy(walk->token_rows, back.token_rows, sizeof walk->token_rows);
    return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

/* Add an array with the gradients of the rows of the token table from which an embedding is
 * made. */
static int add_token_rows(struct report *report, const struct report *found,
                          const struct array *embedding, struct matrix rows, struct arena *arena,
                          struct err *err)
{
    const bool of_source = site_branch(embedding->site) == BRANCH_SOURCE;
    struct array array = {
        .name = of_source ? "gradient.source_token_rows" : "gradient.token_rows",
        .layer = -1,
        .rows = array_matrix(found, embedding, 0).rows,
    };
    const size_t count = array.rows.size;
    float *data = arena_room(arena, count * rows.columns, sizeof *data, err);
    if (!data || axis_of_numbers(&array.columns, "channel", NULL, rows.columns, arena, err))
        return -1;
    const size_t before = of_source ? 0 : found->text.words_before;
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * rows.columns,
               matrix_row(rows, array.rows.numbers ? array.rows.numbers[i] + before : i),
               rows.columns * sizeof *data);
    array.data = data;
    return report_add_array(report, &array, arena, err);
}

/* Put the arrays, which are in the reverse order of the pass, in the order of the pass, and give
 * them the names of gradients. After an embedding, add the gradients of its rows of tokens. */
static int arrange(struct report *report, const struct gradient_walk *walk, struct arena *arena,
                   struct err *err)
{
    const struct report found = *report;
    report->arrays = NULL;
    report->array_count = 0;
    for (size_t i = found.array_count; i-- > 0;) {
        struct array array = found.arrays[i];
        const enum site_branch branch = site_branch(array.site);
        if (!site_is_effective(array.site) &&
            !(array.gradient = arena_format(arena, err, "gradient.%s", site_name(array.site))))
            return -1;
        if (report_add_array(report, &array, arena, err) ||
            (site_id(array.site) == SITE_EMBEDDING &&
             add_token_rows(report, &found, &found.arrays[i], walk->token_rows[branch], arena,
                            err)))
            return -1;
    }
    return 0;
}

int gradients_make(struct report *report, struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const struct selection *selection = plan->selection;
    const struct capture_request asked = {selection, pair, 1, plan->number, report, NULL};
    const struct text text = viewer_text(pair);
    struct arena scratch = {0};
    struct capture capture;
    struct gradient_walk walk = {.viewer = viewer,
                                 .text = &text,
                                 .question = &plan->question,
                                 .selection = selection,
                                 .sink = capture_sink,
                                 .context = &capture,
                                 .arena = &scratch};
    int failed = capture_init(&capture, selection, &viewer->model.config, 1, arena, err);
    if (!failed) {
        capture.lists->wanted = selection_queries(selection, &pair->text);
        failed = gradient_walk(&walk, err) ||
                 viewer_reports(viewer, &asked, capture.lists, arena, err) ||
                 arrange(report, &walk, arena, err);
        plan->value = walk.value;
    }
    arena_release(&scratch);
    return err_if(failed);
}

double gradient_bytes(const struct config *c, const struct text_with_source *pair)
{
    const size_t tokens = pair->text.count, sources = pair->source.count;
    return bytes_of_pass(c, tokens, sources, keeps_streams(c, tokens, sources));
}

void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair)
{
    viewer_add_memory(memory, plan->viewer, plan->selection, pair, CAPTURE_ALL);
    memory->during += gradient_bytes(&plan->viewer->model.config, pair);
}
