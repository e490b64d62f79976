/* back_copies.c: the backward pass over copies of the stream: through the steps that make, mix and
 * merge them. */
#include <math.h>
#include <string.h>

#include "math/rows.h"
#include "pass/back.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "pass/pass.h"

static struct matrix copy_of(struct matrix copies, size_t copy, size_t width)
{
    return matrix_columns(copies, copy * width, width);
}

/* Return the copies at a site of a layer, from the tape. */
static struct matrix copies_at(const struct walk *w, enum site id, size_t layer)
{
    const float *values = tape_of(w->back->tape, SITE_OF(w->stack->branch, id), (int)layer);
    return walk_matrix(values, w->dcopies.rows, w->dcopies.columns);
}

static struct matrix stream_at(const struct walk *w, enum site id)
{
    return walk_matrix(walk_value(w, w->stack->branch, id), w->dcopies.rows, w->stack->width);
}

/* --- what makes and merges copies ------------------------------------------------------------- */

/* Return y = x · the matrix of a copy, before each row is scaled to the mean square of the same row
 * of `like`; factors [rows] becomes the scales of the rows. */
static struct matrix turned(struct walk *w, struct slot slot, struct matrix x, struct matrix like,
                            double *factors)
{
    struct matrix y = walk_product(w, slot, x);
    for (size_t row = 0; row < y.rows && y.data; row++)
        factors[row] = copy_factor(matrix_row(y, row), matrix_row(like, row), y.columns);
    return y;
}

static struct slot turning_slot(int id, size_t copy)
{
    struct slot slot = slot_of_text(id);
    slot.expert = (short)(copy - 1);
    return slot;
}

/* dx += the gradient of x, dlike += the gradient of `like`, from dy, the gradient of the scaled
 * product of x. */
static int turn_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dlike,
                     struct matrix dy, struct matrix x, struct matrix like)
{
    const size_t C = x.columns;
    double *factors = arena_alloc(w->arena, x.rows, sizeof *factors, w->err);
    struct matrix d = walk_copy(w, dy);
    struct matrix y = factors ? turned(w, slot, x, like, factors) : (struct matrix){0};
    if (!d.data || !y.data)
        return -1;
    for (size_t row = 0; row < y.rows; row++) {
        const float *own = matrix_row(y, row), *as = matrix_row(like, row);
        const double squares = dot_rows(own, own, C), wanted = dot_rows(as, as, C);
        const double along = factors[row] * dot_rows(matrix_row(d, row), own, C);
        const bool bounded = squares / (double)C > COPY_LEAST_SQUARE;
        scale_row(matrix_row(d, row), matrix_row(d, row), C, (float)factors[row]);
        if (bounded)
            add_scaled_row(matrix_row(d, row), own, C, (float)(-along / squares), own);
        if (wanted > 0)
            add_scaled_row(matrix_row(dlike, row), as, C, (float)(along / wanted), as);
    }
    return walk_product_back(w, slot, dx, d, x);
}

int walk_merge_back(struct walk *w, struct matrix dx)
{
    const size_t count = w->stack->copies.count, width = dx.columns;
    const struct matrix streams = copies_at(w, SITE_STREAMS, w->layer);
    const struct matrix first = copy_of(streams, 0, width), dfirst = copy_of(w->dcopies, 0, width);
    walk_scale(dx, 1 / (float)count);
    add_rows(dfirst, dx);
    for (size_t i = 1; i < count; i++)
        if (turn_back(w, turning_slot(SLOT_COPY_OUT, i), copy_of(w->dcopies, i, width), dfirst, dx,
                      copy_of(streams, i, width), first))
            return -1;
    memset(dx.data, 0, dx.rows * width * sizeof *dx.data);
    return 0;
}

int walk_make_back(struct walk *w, struct matrix dx)
{
    const struct matrix x = walk_embedding(w);
    if (!x.data)
        return -1;
    add_rows(dx, copy_of(w->dcopies, 0, dx.columns));
    for (size_t i = 1; i < w->stack->copies.count; i++)
        if (turn_back(w, turning_slot(SLOT_COPY_IN, i), dx, dx, copy_of(w->dcopies, i, dx.columns),
                      x, x))
            return -1;
    return 0;
}

/* Return the copies of the stream that enter the layer that the backward pass has reached. */
static struct matrix copies_before(struct walk *w)
{
    const struct matrix none = {0};
    const size_t width = w->stack->width;
    if (w->layer)
        return copies_at(w, SITE_STREAMS, w->layer - 1);
    struct matrix copies = walk_room(w, w->dcopies.rows, w->dcopies.columns);
    struct matrix x = walk_embedding(w);
    double *factors = arena_alloc(w->arena, x.rows, sizeof *factors, w->err);
    if (!copies.data || !x.data || !factors)
        return none;
    copy_rows(copy_of(copies, 0, width), x);
    for (size_t i = 1; i < w->stack->copies.count; i++) {
        struct matrix y = turned(w, turning_slot(SLOT_COPY_IN, i), x, x, factors);
        for (size_t row = 0; row < x.rows && y.data; row++)
            scale_row(matrix_row(copy_of(copies, i, width), row), matrix_row(y, row), width,
                      (float)factors[row]);
        if (!y.data)
            return none;
    }
    return copies;
}

/* --- what mixes them -------------------------------------------------------------------------- */

/* The numbers of each token by which the copies of the stream are weighted: tanh(read · W) · V,
 * where read = norm(x) / C. */
struct weighing {
    struct slot norm, router, last;
    struct matrix x, read, modes, numbers, dnumbers;
};

static int weigh(struct walk *w, struct weighing *m, int id, struct matrix x)
{
    const enum site_branch branch = w->stack->branch;
    m->norm = walk_slot(w, branch, SLOT_COPY_NORM);
    m->router = walk_slot(w, branch, SLOT_COPY_ROUTER);
    m->last = walk_slot(w, branch, id);
    m->x = x;
    m->read = walk_normed(w, m->norm, x);
    if (!m->read.data)
        return -1;
    walk_scale(m->read, 1 / (float)x.columns);
    m->modes = walk_product(w, m->router, m->read);
    if (!m->modes.data)
        return -1;
    activate(m->modes, m->modes, NULL, ACTIVATION_TANH);
    m->numbers = walk_product(w, m->last, m->modes);
    m->dnumbers = walk_room(w, m->numbers.rows, m->numbers.columns);
    return err_if(!m->numbers.data || !m->dnumbers.data);
}

/* dx += the gradient of x, from m->dnumbers, the gradient of the numbers that weight the copies. */
static int weigh_back(struct walk *w, const struct weighing *m, struct matrix dx)
{
    struct matrix d = walk_product_gradient(w, m->last, m->dnumbers, m->modes);
    for (size_t i = 0; d.data && i < d.rows * d.columns; i++)
        d.data[i] *= 1 - m->modes.data[i] * m->modes.data[i];
    struct matrix dread = walk_product_gradient(w, m->router, d, m->read);
    if (!dread.data)
        return -1;
    walk_scale(dread, 1 / (float)m->x.columns);
    return walk_norm_back(w, m->norm, dx, dread, m->x);
}

struct matrix walk_corrected(struct walk *w)
{
    const struct stream_copies *rule = &w->stack->copies;
    const float *scale = NULL;
    struct matrix x = walk_copy(
        w, copy_of(copies_at(w, SITE_CORRECTED, w->layer), rule->active, w->stack->width));
    if (!x.data || (rule->scaled &&
                    weights_vector(w->run->weights, walk_slot(w, w->stack->branch, SLOT_COPY_SCALE),
                                   &scale, w->err)))
        return (struct matrix){0};
    for (size_t i = 0; scale && i < x.rows * x.columns; i++)
        x.data[i] *= scale[i % x.columns];
    return x;
}

/* dx is the gradient of the corrected copy after it is scaled. Add the gradient before scaling to
 * the gradient of the active copy, and add the gradient of the scales. */
static int scale_back(struct walk *w, struct matrix dx)
{
    const struct stream_copies *rule = &w->stack->copies;
    const struct slot slot = walk_slot(w, w->stack->branch, SLOT_COPY_SCALE);
    const float *scale = NULL;
    if (rule->scaled) {
        struct matrix sums =
            walk_copy(w, copy_of(copies_at(w, SITE_CORRECTED, w->layer), rule->active, dx.columns));
        if (!sums.data || weights_vector(w->run->weights, slot, &scale, w->err))
            return -1;
        multiply_rows(sums, dx);
        walk_add_sums(w, slot, sums);
    }
    for (size_t i = 0; scale && i < dx.rows * dx.columns; i++)
        dx.data[i] *= scale[i % dx.columns];
    add_rows(copy_of(w->dcopies, rule->active, dx.columns), dx);
    return walk_show_heads(w, w->stack->branch, SITE_CORRECTED, w->dcopies, rule->count);
}

int walk_correct_back(struct walk *w, const struct sublayer *s, struct matrix dx)
{
    const size_t count = w->stack->copies.count, width = dx.columns;
    struct matrix difference = walk_copy(w, stream_at(w, sublayer_end(s)));
    struct matrix dactive = copy_of(w->dcopies, w->stack->copies.active, width);
    struct weighing m;
    if (!difference.data || scale_back(w, dx) ||
        weigh(w, &m, SLOT_COPY_CORRECT, stream_at(w, sublayer_end(s))))
        return -1;
    memset(dx.data, 0, dx.rows * width * sizeof *dx.data);
    for (size_t row = 0; row < dx.rows; row++) {
        const float *before = matrix_row(stream_at(w, SITE_RESID_PRE), row);
        float *own = matrix_row(difference, row), *d = matrix_row(dx, row);
        add_scaled_row(own, before, width, -1, before);
        for (size_t i = 0; i < count; i++) {
            const float *dcopy = matrix_row(copy_of(w->dcopies, i, width), row);
            matrix_row(m.dnumbers, row)[i] = (float)dot_rows(dcopy, own, width);
            add_scaled_row(d, dcopy, width, 1 + matrix_row(m.numbers, row)[i], dcopy);
        }
        add_scaled_row(matrix_row(dactive, row), d, width, -1, d);
    }
    return weigh_back(w, &m, dx);
}

int walk_predict_back(struct walk *w, struct matrix dx)
{
    const size_t count = w->stack->copies.count, width = dx.columns;
    struct matrix dactive = copy_of(w->dcopies, w->stack->copies.active, width);
    add_rows(dactive, dx);
    memset(dx.data, 0, dx.rows * width * sizeof *dx.data);
    const struct matrix before = copies_before(w);
    struct matrix own = walk_room(w, 1, w->dcopies.columns);
    struct weighing m;
    if (!before.data || !own.data ||
        walk_show_heads(w, w->stack->branch, SITE_PREDICTED, w->dcopies, count) ||
        weigh(w, &m, SLOT_COPY_PREDICT, copy_of(before, w->stack->copies.active, width)))
        return -1;
    for (size_t row = 0; row < dx.rows; row++) {
        copy_rows(own, matrix_rows(w->dcopies, row, 1));
        for (size_t i = 0; i < count * count; i++) {
            const size_t to = i / count, from = i % count;
            const float *d = own.data + to * width;
            matrix_row(m.dnumbers, row)[i] =
                (float)dot_rows(d, matrix_row(copy_of(before, from, width), row), width);
            add_scaled_row(matrix_row(copy_of(w->dcopies, from, width), row), d, width,
                           matrix_row(m.numbers, row)[i], d);
        }
    }
    return weigh_back(w, &m, dactive);
}
