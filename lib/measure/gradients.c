#include "measure/gradients.h"

#include <math.h>
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
    struct watch watch;   /* selected sites, SITE_ATTENTION_GRADIENT too */
    struct site_set seen; /* sites that the walk had a gradient of */
};

/* Give weights times their gradient to the sink. */
static int take_product(const struct taken *taken, const struct announcement *weights,
                        struct err *err)
{
    struct announcement product = *weights;
    struct arena arena = {0};
    const float *values = tape_of(taken->tape, weights->site, weights->layer);
    const size_t count = tensor_count(&weights->values);
    float *data = arena_room(&arena, count, sizeof *data, err);
    for (size_t i = 0; data && i < count; i++)
        data[i] = values[i] * weights->values.data[i]; /* both are dense */
    product.site = SITE_OF(site_part(weights->site), SITE_ATTENTION_GRADIENT);
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
    const enum site product = SITE_OF(site_part(announced->site), SITE_ATTENTION_GRADIENT);
    if (site_id(announced->site) == SITE_WEIGHTS && watch_has(&taken->watch, product, layer) &&
        take_product(taken, announced, err))
        return -1;
    site_set_add(&taken->seen, announced->site);
    return watch_has(&taken->watch, announced->site, layer)
               ? taken->walk->sink(taken->walk->context, announced, err)
               : 0;
}

/* Refuse a selected site that the walk had no gradient of. */
static int check_seen(const struct taken *taken, const struct config *c, struct err *err)
{
    for (const struct model_point *p = points_of(c); p < points_end(c); p++)
        if (watch_has(&taken->watch, p->site, (size_t)p->layer) &&
            !site_set_has(taken->seen, p->site))
            return err_unsupported(err,
                                   "gradients: expected a tensor that the walk back reaches, found "
                                   "'%s', which is only shown",
                                   site_name(p->site));
    return 0;
}

/* Watch the selected sites of the pass, and the products. */
static int watch_selected(struct watch *watch, const struct gradient_walk *walk, struct err *err)
{
    const struct selection *selection = walk->selection;
    if (watch_init(watch, &walk->viewer->model.config, walk->arena, err))
        return -1;
    if (!walk->sink)
        return 0;
    selection_watch(selection, watch);
    for (enum site_part part = 0; part < SITE_PARTS; part++) {
        const enum site product = SITE_OF(part, SITE_ATTENTION_GRADIENT);
        const struct layers layers = selection_layers_of(selection, product);
        for (size_t i = 0; site_set_has(selection->sites, product) && i < layers.count; i++)
            watch_add(watch, product, layers.items[i]);
    }
    return 0;
}

/* The bytes of all sites of a pass, with `streams` those of a tape that keeps only streams; and of
 * the walk, which holds two of the largest values of a layer at a time. */
static double bytes_of_pass(const struct config *c, size_t tokens, size_t sources, bool streams)
{
    double floats = 0;
    size_t largest = 0;
    for (const struct model_point *p = points_of(c); p < points_end(c); p++) {
        const size_t layers = site_layers(c, p->site);
        size_t count = 0;
        const bool again = streams && p->layer >= 0 && p->site != SITE_RESID_PRE;
        if (p != point_any(c, p->site) ||
            !site_size(&count, c, p->site, stack_of(c, site_part(p->site))->heads, tokens, sources))
            continue;
        floats += (double)count * (double)(again ? num_min(2, layers) : layers);
        largest = p->layer >= 0 ? num_max(largest, count) : largest;
    }
    return (floats + 2 * (double)largest) * sizeof(float);
}

/* Whether to run layers again, which takes one more pass, rather than to keep them all. An encoder,
 * or what layers read besides the stream, would be made again for each of them. */
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
        batch_init(&batch, c, walk->text, 1, walk->arena, err) || tape_run(&tape, &run, err))
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
    if (!seed || (!walk->only_value && (back_run(&back, err) || check_seen(&taken, c, err))))
        return -1;
    memcpy(walk->token_rows, back.token_rows, sizeof walk->token_rows);
    return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

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
    const size_t before = of_source ? 0 : found->sentence.words_before;
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * rows.columns,
               matrix_row(rows, array.rows.numbers ? array.rows.numbers[i] + before : i),
               rows.columns * sizeof *data);
    array.data = data;
    return report_add_array(report, &array, arena, err);
}

/* Give the arrays, which are in the reverse order of the pass, its order and the names of
 * gradients; behind an embedding, add its rows of tokens. */
static int arrange(struct report *report, const struct gradient_walk *walk, struct arena *arena,
                   struct err *err)
{
    const struct report found = *report;
    report->arrays = NULL;
    report->array_count = 0;
    for (size_t i = found.array_count; i-- > 0;) {
        struct array array = found.arrays[i];
        const enum site_part part = site_part(array.site);
        if (!site_is_effective(array.site) &&
            !(array.gradient = arena_format(arena, err, "gradient.%s", site_name(array.site))))
            return -1;
        if (report_add_array(report, &array, arena, err) ||
            (site_id(array.site) == SITE_EMBEDDING &&
             add_token_rows(report, &found, &found.arrays[i], walk->token_rows[part], arena, err)))
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
        capture.lists->wanted = selection_queries(selection, &pair->sentence);
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
    const size_t tokens = pair->sentence.count, sources = pair->source.count;
    return bytes_of_pass(c, tokens, sources, keeps_streams(c, tokens, sources));
}

void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair)
{
    viewer_add_memory(memory, plan->viewer, plan->selection, pair, CAPTURE_ALL);
    memory->during += gradient_bytes(&plan->viewer->model.config, pair);
}

/* --- saliency --------------------------------------------------------------------------------- */

const char *const saliency_rules[SALIENCY_RULES] = {
    "gausslegendre", "riemann_left", "riemann_middle", "riemann_right", "riemann_trapezoid"};

/* A text or its source: rows that enter the model. */
struct path_side {
    const struct stack *stack;
    const struct tokenized *tokens;
    struct matrix x, base, at; /* of the text; the baseline; a point of the path */
    double *sum;               /* [T, C] weighted gradients, then their products with x - base */
};

/* --- the path --------------------------------------------------------------------------------- */

struct path_point {
    double t, weight;
};

/* The roots of the Legendre polynomial of degree n, by Newton's method, from [-1, 1] to [0, 1]. */
static void gauss_legendre(struct path_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = -cos(acos(-1.0) * ((double)i + 0.75) / ((double)n + 0.5)), slope = 0;
        for (int step = 0; step < 20; step++) {
            double before = 0, value = 1;
            for (size_t k = 0; k < n; k++) {
                double next =
                    ((2 * (double)k + 1) * x * value - (double)k * before) / (double)(k + 1);
                before = value;
                value = next;
            }
            slope = (double)n * (x * value - before) / (x * x - 1);
            x -= value / slope;
        }
        points[i] = (struct path_point){(1 + x) / 2, 1 / ((1 - x * x) * slope * slope)};
    }
}

static void choose_points(struct path_point *points, enum saliency_rule rule, size_t n)
{
    static const double shifts[] = {[RULE_LEFT] = 0, [RULE_MIDDLE] = 0.5, [RULE_RIGHT] = 1};
    const double width = 1 / (double)n;
    for (size_t i = 0; i < n && rule != RULE_GAUSS_LEGENDRE; i++) {
        bool ends = rule == RULE_TRAPEZOID && (i == 0 || i + 1 == n);
        points[i].t = rule == RULE_TRAPEZOID ? (double)i / (double)num_max(n - 1, 1)
                                             : ((double)i + shifts[rule]) * width;
        points[i].weight = ends ? width / 2 : width;
    }
    if (rule == RULE_GAUSS_LEGENDRE)
        gauss_legendre(points, n);
}

/* The mean row of the table of tokens, or that of a token, as each row of `base`. */
static int set_baseline(struct path_side *side, const struct saliency_plan *plan,
                        struct arena *arena, struct err *err)
{
    struct weights *weights = &plan->viewer->model.weights;
    const size_t width = side->base.columns, count = side->stack->embed.rows;
    struct matrix row = matrix_new(1, width, arena, err);
    double *sum = arena_alloc(arena, width, sizeof *sum, err);
    if (!row.data || !sum)
        return -1;
    for (size_t i = 0; i < (plan->from_mean ? count : 1); i++) {
        const uint32_t id = plan->from_mean ? (uint32_t)i : *plan->from;
        embed_tokens(weights, side->stack, &(struct text){.ids = &id}, row);
        for (size_t c = 0; c < width; c++)
            sum[c] += (double)row.data[c];
    }
    for (size_t i = 0; i < side->base.rows * width; i++)
        side->base.data[i] = (float)(sum[i % width] / (double)(plan->from_mean ? count : 1));
    return 0;
}

static int open_side(struct path_side *side, const struct saliency_plan *plan, struct arena *arena,
                     struct err *err)
{
    const size_t rows = side->tokens->count, width = side->stack->embed.width;
    const struct text text = {.ids = side->tokens->ids};
    struct matrix *matrices[] = {&side->x, &side->base, &side->at};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = matrix_new(rows, width, arena, err);
    side->sum = arena_alloc(arena, rows * width, sizeof *side->sum, err);
    if (!side->x.data || !side->base.data || !side->at.data || !side->sum)
        return -1;
    embed_tokens(&plan->viewer->model.weights, side->stack, &text, side->x);
    return plan->method == SALIENCY_INTEGRATED && (plan->from_mean || plan->from)
               ? set_baseline(side, plan, arena, err)
               : 0;
}

/* Go to a point of the path; add the gradients there, times `weight`, to the sums. */
static int visit(struct path_side *sides, struct gradient_walk *walk, struct text *text,
                 struct path_point point, struct err *err)
{
    struct arena scratch = {0};
    for (size_t part = 0; part <= PART_SOURCE; part++) {
        struct path_side *side = &sides[part];
        for (size_t i = 0; i < side->x.rows * side->x.columns; i++) {
            const double base = (double)side->base.data[i];
            side->at.data[i] = (float)(base + point.t * ((double)side->x.data[i] - base));
        }
    }
    text->rows = sides[PART_SENTENCE].at.data;
    text->source_rows = sides[PART_SOURCE].at.data;
    walk->arena = &scratch;
    walk->only_value = point.weight == 0;
    int failed = gradient_walk(walk, err);
    for (size_t part = 0; part <= PART_SOURCE && !failed && point.weight != 0; part++)
        for (size_t i = 0; i < sides[part].x.rows * sides[part].x.columns && !failed; i++) {
            const double slope = (double)walk->token_rows[part].data[i];
            sides[part].sum[i] += point.weight * slope;
            if (!isfinite(slope))
                failed = err_set(err,
                                 "the gradient at point %g of the way from the baseline is not "
                                 "finite, as where norms divide zeros: choose --rule "
                                 "gausslegendre or --baseline mean",
                                 point.t);
        }
    arena_release(&scratch);
    return failed;
}

/* --- the report ------------------------------------------------------------------------------- */

/* The sum of a token's products, and their norm. */
static double number_of(double *norm, const struct path_side *side, size_t token)
{
    double sum = 0, square = 0;
    const size_t width = side->x.columns;
    for (size_t i = token * width; i < (token + 1) * width; i++) {
        double product = side->sum[i] * ((double)side->x.data[i] - (double)side->base.data[i]);
        sum += product;
        square += product * product;
    }
    *norm = sqrt(square);
    return sum;
}

/* A table of a source's tokens, if any, and then of the text's; `most`: the largest number. */
static int add_tokens(struct table *table, const struct path_side *sides, size_t count, double most,
                      struct arena *arena, struct err *err)
{
    const bool is_named = count > 1 && sides[PART_SOURCE].tokens->count;
    struct table_rows rows = {.arena = arena, .err = err};
    for (size_t part = 0; part < count; part++)
        rows.most += sides[part].tokens->count;
    for (size_t part = count; part-- > 0;)
        for (size_t i = 0; i < sides[part].tokens->count; i++, rows_next(&rows)) {
            const struct tokenized *tokens = sides[part].tokens;
            double norm, sum = number_of(&norm, &sides[part], i);
            if (is_named)
                rows_text(&rows, "part", COLUMN_KEY, part == PART_SOURCE ? "source" : "text");
            const long long number = tokenized_number(tokens, i);
            rows_integer(&rows, "position", COLUMN_KEY, number < 0 ? COLUMN_MISSING : number);
            rows_title(&rows, "token");
            rows_integer(&rows, "id", COLUMN_KEY | COLUMN_DATA_ONLY, tokens->ids[i]);
            rows_label(&rows, "text", COLUMN_KEY | COLUMN_SHRINKS, tokens->labels[i]);
            rows_float(&rows, (struct column){"saliency", .flags = COLUMN_COLOURED, .digits = 4},
                       sum);
            rows_float(&rows, (struct column){"norm", .digits = 4}, norm);
            rows_text(&rows, "bar", COLUMN_TEXT_ONLY, bar_text(sum / most, arena, err));
            rows_title(&rows, "");
        }
    return rows_finish(table, &rows, "saliency", "token");
}

/* Figures have a strip of tokens for the text, and one for its source. */
static int add_table(struct report *report, const struct path_side *sides, const char *note,
                     struct arena *arena, struct err *err)
{
    struct table *tables = arena_alloc(arena, 3, sizeof *tables, err);
    const size_t count = sides[PART_SOURCE].tokens->count ? 2 : 1;
    double most = 0, norm;
    for (size_t part = 0; part < count; part++)
        for (size_t i = 0; i < sides[part].tokens->count; i++)
            most = fmax(most, fabs(number_of(&norm, &sides[part], i)));
    if (!tables || add_tokens(tables, sides, count, most, arena, err))
        return -1;
    for (size_t part = 0; part < count && count > 1; part++) {
        if (add_tokens(&tables[1 + part], &sides[part], 1, most, arena, err))
            return -1;
        tables[1 + part].running = true;
    }
    tables[2].name = "source_saliency";
    tables->running = count == 1;
    tables->pictures = tables + 1;
    tables->picture_count = count > 1 ? count : 0;
    tables->note = note;
    report->tables = tables;
    report->table_count = 1;
    return 0;
}

int saliency_make(struct saliency *saliency, struct report *report,
                  const struct saliency_plan *plan, const struct text_with_source *pair,
                  struct arena *arena, struct err *err)
{
    const struct config *c = &plan->viewer->model.config;
    const bool integrates = plan->method == SALIENCY_INTEGRATED;
    const size_t steps = integrates ? plan->steps : 1;
    struct arena held = {0};
    struct text text = viewer_text(pair);
    struct gradient_walk walk = {.viewer = plan->viewer, .text = &text, .question = plan->question};
    struct path_side sides[] = {{stack_of(c, PART_SENTENCE), &pair->sentence},
                                {stack_of(c, PART_SOURCE), &pair->source}};
    struct path_point *points = arena_alloc(&held, steps, sizeof *points, err);
    int failed = !points || open_side(&sides[PART_SENTENCE], plan, &held, err) ||
                 (text.source_count && open_side(&sides[PART_SOURCE], plan, &held, err)) ||
                 visit(sides, &walk, &text, (struct path_point){1, integrates ? 0 : 1}, err);
    *saliency = (struct saliency){.value = walk.value};
    if (integrates && !failed) {
        choose_points(points, plan->rule, steps);
        failed = visit(sides, &walk, &text, (struct path_point){0, 0}, err);
        saliency->baseline = walk.value;
    }
    for (size_t i = 0; i < steps && integrates && !failed; i++) {
        failed = visit(sides, &walk, &text, points[i], err);
        progress_tell(plan->progress, i + 1, steps);
    }
    double norm, change = saliency->value - saliency->baseline;
    saliency->missing = -change;
    for (size_t part = 0; part <= PART_SOURCE && !failed; part++)
        for (size_t i = 0; i < sides[part].x.rows; i++)
            saliency->missing += number_of(&norm, &sides[part], i);
    const char *note =
        "Input × gradient: to first order, what the logit would lose if the row of the "
        "token were zero. Where the logit has saturated it is 0: no proof that the "
        "token is not needed.";
    if (integrates && !failed)
        note = arena_format(
            arena, err,
            "Integrated gradients, %zu points (%s). They sum to the logit less that "
            "at the baseline (%.4f) within %.1e%s.",
            steps, saliency_rules[plan->rule], saliency->baseline, fabs(saliency->missing),
            fabs(saliency->missing) > 0.05 * fabs(change)
                ? ": too much, take more --steps or another --baseline"
                : "");
    failed = failed || !note || add_table(report, sides, note, arena, err);
    arena_release(&held);
    return err_if(failed);
}

void saliency_add_memory(struct memory *memory, const struct saliency_plan *plan,
                         const struct text_with_source *pair)
{
    const struct selection none = {0};
    const struct gradient_plan walk = {.viewer = plan->viewer, .selection = &none};
    const size_t tokens = pair->sentence.count + pair->source.count;
    gradients_add_memory(memory, &walk, pair);
    memory->during += (double)tokens * (double)plan->viewer->model.config.n_embd *
                      (3 * sizeof(float) + sizeof(double));
}
