#include "measure/saliency.h"

#include <math.h>

#include "base/num.h"
#include "model/layer.h"
#include "pass/forward.h"

const char *const saliency_rules[SALIENCY_RULES] = {
    "gausslegendre", "riemann_left", "riemann_middle", "riemann_right", "riemann_trapezoid"};

/* A text or its source, as the rows that enter the model. */
struct path_side {
    const struct stack *stack;
    const struct tokenized *tokens;
    struct matrix x, base, at; /* `x`: the text's rows; `base`: the baseline's; `at`: rows at a
                                * point of the path */
    double *sum;               /* [T, C] sum of the weighted gradients at all points of the path */
};

/* --- the path --------------------------------------------------------------------------------- */

struct path_point {
    double t, weight;
};

/* Compute the points and weights of Gauss-Legendre quadrature: the roots of the Legendre polynomial
 * of degree n, by Newton's method, moved from [-1, 1] to [0, 1]. */
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

/* Set each row of `base` to the mean row of the token table, or to the row of one token. */
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

/* Run the model at a point of the path, and add the gradients there, times the point's weight, to
 * the sums. A weight of 0 computes only the logit. */
static int visit(struct path_side *sides, struct gradient_walk *walk, struct text *text,
                 struct path_point point, struct err *err)
{
    struct arena scratch = {0};
    for (size_t branch = 0; branch <= BRANCH_SOURCE; branch++) {
        struct path_side *side = &sides[branch];
        for (size_t i = 0; i < side->x.rows * side->x.columns; i++) {
            const double base = (double)side->base.data[i];
            side->at.data[i] = (float)(base + point.t * ((double)side->x.data[i] - base));
        }
    }
    text->rows = sides[BRANCH_TEXT].at.data;
    text->source_rows = sides[BRANCH_SOURCE].at.data;
    walk->arena = &scratch;
    walk->only_value = point.weight == 0;
    int failed = gradient_walk(walk, err);
    for (size_t branch = 0; branch <= BRANCH_SOURCE && !failed && point.weight != 0; branch++)
        for (size_t i = 0; i < sides[branch].x.rows * sides[branch].x.columns && !failed; i++) {
            const double slope = (double)walk->token_rows[branch].data[i];
            sides[branch].sum[i] += point.weight * slope;
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

/* Return the sum, over channels, of a token's products (gradient · difference from the baseline),
 * and set `*norm` to their L2 norm. */
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

/* Make a table of the tokens of the source, if there is one, and then of the text. `most` is the
 * largest saliency in magnitude, which has the longest bar. */
static int add_tokens(struct table *table, const struct path_side *sides, size_t count, double most,
                      struct arena *arena, struct err *err)
{
    const bool is_named = count > 1 && sides[BRANCH_SOURCE].tokens->count;
    struct table_rows rows = {.arena = arena, .err = err};
    for (size_t branch = 0; branch < count; branch++)
        rows.most += sides[branch].tokens->count;
    for (size_t branch = count; branch-- > 0;)
        for (size_t i = 0; i < sides[branch].tokens->count; i++, rows_next(&rows)) {
            const struct tokenized *tokens = sides[branch].tokens;
            double norm, sum = number_of(&norm, &sides[branch], i);
            if (is_named)
                rows_text(&rows, "part", COLUMN_KEY, branch == BRANCH_SOURCE ? "source" : "text");
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

/* Add the table of tokens. Figures have a strip of tokens for the text, and one for its source. */
static int add_table(struct report *report, const struct path_side *sides, const char *note,
                     struct arena *arena, struct err *err)
{
    struct table *tables = arena_alloc(arena, 3, sizeof *tables, err);
    const size_t count = sides[BRANCH_SOURCE].tokens->count ? 2 : 1;
    double most = 0, norm;
    for (size_t branch = 0; branch < count; branch++)
        for (size_t i = 0; i < sides[branch].tokens->count; i++)
            most = fmax(most, fabs(number_of(&norm, &sides[branch], i)));
    if (!tables || add_tokens(tables, sides, count, most, arena, err))
        return -1;
    for (size_t branch = 0; branch < count && count > 1; branch++) {
        if (add_tokens(&tables[1 + branch], &sides[branch], 1, most, arena, err))
            return -1;
        tables[1 + branch].running = true;
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
    struct path_side sides[] = {{stack_of(c, BRANCH_TEXT), &pair->text},
                                {stack_of(c, BRANCH_SOURCE), &pair->source}};
    struct path_point *points = arena_alloc(&held, steps, sizeof *points, err);
    int failed = !points || open_side(&sides[BRANCH_TEXT], plan, &held, err) ||
                 (text.source_count && open_side(&sides[BRANCH_SOURCE], plan, &held, err)) ||
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
    for (size_t branch = 0; branch <= BRANCH_SOURCE && !failed; branch++)
        for (size_t i = 0; i < sides[branch].x.rows; i++)
            saliency->missing += number_of(&norm, &sides[branch], i);
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
    const size_t tokens = pair->text.count + pair->source.count;
    gradients_add_memory(memory, &walk, pair);
    memory->during += (double)tokens * (double)plan->viewer->model.config.n_embd *
                      (3 * sizeof(float) + sizeof(double));
}
