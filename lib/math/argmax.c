#include "math/argmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gather.h"
#include "math/isa.h"
#include "math/rows.h"

enum {
    PART = 1024, /* rows of a round */
    LINE = 64,
    AHEAD = 16 << 10, /* bytes that are fetched before they are used */
    BYTE_MOST = INT8_MAX,
    COLUMNS_MOST = 1 << 17, /* more leave a vector too few steps, and roundings that count */
    BATCH = 64,             /* rows that are multiplied out at a time */
};

static const double UP = 1 + 0x1p-20;       /* more than what follows can round down */
static const float LEAST = 0x1p-100f;       /* a row that has nothing larger is cut into zeros */
static const float TO_WHOLE = 0x1.8p23f;    /* added and taken away again, it rounds */
static const double ROUNDING = 2 * 0x1p-24; /* 2 u: twice what a product takes */

/* The best of a part of the rows, roughly. */
struct argmax_top {
    float value;
    size_t row;
};

static size_t part_count(const struct argmax *argmax)
{
    return (argmax->rows.rows + PART - 1) / PART;
}

static size_t part_rows(const struct argmax *argmax, size_t first)
{
    size_t rest = argmax->rows.rows - first;
    return rest < PART ? rest : PART;
}

/* --- the copy --------------------------------------------------------------------------------- */

FOR_EACH_ISA
static float largest_size(const float *row, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, float size = fabsf(row[i]);
              lanes[lane] = size > lanes[lane] ? size : lanes[lane]);
    return max_row(lanes, LANES);
}

/* Σ (r - q)² and Σ q², LANES side by side, where r is the row in steps of its own. */
struct squares {
    float left[LANES], cut[LANES];
};

static inline void cut_lanes(struct squares *sums, int8_t *restrict parts,
                             const float *restrict row, float steps_in_1)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        float steps = row[lane] * steps_in_1;
        float part = steps + TO_WHOLE - TO_WHOLE;
        float left = steps - part;
        parts[lane] = (int8_t)part;
        sums->left[lane] = fmaf(left, left, sums->left[lane]);
        sums->cut[lane] = fmaf(part, part, sums->cut[lane]);
    }
}

FOR_EACH_ISA
static void cut_row(struct squares *sums, int8_t *restrict parts, const float *restrict row,
                    size_t count, float steps_in_1)
{
    struct squares found = {{0}, {0}};
    float last[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t k = 0; k < whole; k += LANES)
        cut_lanes(&found, parts + k, row + k, steps_in_1);
    memcpy(last, row + whole, (count - whole) * sizeof *last);
    if (whole < count)
        cut_lanes(&found, parts + whole, last, steps_in_1);
    *sums = found;
}

static float rounded_up(double value)
{
    return (float)(value * UP) + FLT_MIN;
}

/* Its norms, from those in steps. Each r is off by less than 2^-15, as 1 / s and two products are
 * rounded, and either sum by less than its own n u. */
static void note_norms(struct argmax *argmax, size_t i, float step, struct squares *sums)
{
    double columns = (double)argmax->rows.columns;
    double up = 1 + columns * ROUNDING;
    double left = sqrt((double)add_lanes(sums->left)) * up + sqrt(columns) * 0x1p-15;
    double cut = sqrt((double)add_lanes(sums->cut)) * up;
    argmax->steps[i] = step;
    argmax->slacks[i] = rounded_up((double)step * (left + columns * ROUNDING * (left + cut)));
    argmax->sizes[i] = rounded_up((double)step * cut);
}

static void cut_part(void *context, size_t round, size_t thread)
{
    struct argmax *argmax = context;
    size_t columns = argmax->rows.columns;
    size_t first = round * PART;
    size_t end = first + part_rows(argmax, first);
    (void)thread;
    for (size_t i = first; i < end; i++) {
        const float *row = argmax->rows.data + i * argmax->rows.stride;
        int8_t *parts = argmax->parts + i * argmax->stride;
        float largest = largest_size(row, columns);
        struct squares sums;
        memset(parts, 0, argmax->stride);
        if (first_nonfinite(row, columns) < columns) {
            argmax->slacks[i] = INFINITY;
        } else if (largest < LEAST) {
            argmax->slacks[i] = rounded_up(sqrt((double)columns) * 2 * (double)LEAST);
        } else {
            cut_row(&sums, parts, row, columns, BYTE_MOST / largest);
            note_norms(argmax, i, largest / BYTE_MOST, &sums);
        }
    }
}

/* ‖w‖ <= ‖w - sq‖ + ‖sq‖ */
static double largest_norm(const struct argmax *argmax)
{
    double largest = 0;
    for (size_t i = 0; i < argmax->rows.rows; i++) {
        double norm = (double)argmax->slacks[i] + (double)argmax->sizes[i];
        largest = norm > largest ? norm : largest;
    }
    return largest;
}

static int take_room(struct argmax *argmax, struct arena *arena, struct err *err)
{
    size_t rows = argmax->rows.rows;
    size_t bytes = 0;
    if (!num_multiply(&bytes, rows, argmax->stride))
        return err_memory(err, SIZE_MAX);
    argmax->parts = arena_room(arena, bytes, sizeof *argmax->parts, err);
    argmax->steps = arena_alloc(arena, rows, sizeof *argmax->steps, err);
    argmax->slacks = arena_alloc(arena, rows, sizeof *argmax->slacks, err);
    argmax->sizes = arena_alloc(arena, rows, sizeof *argmax->sizes, err);
    argmax->x = arena_alloc(arena, argmax->stride, sizeof *argmax->x, err);
    argmax->bounds = arena_alloc(arena, rows, sizeof *argmax->bounds, err);
    argmax->tops = arena_alloc(arena, part_count(argmax), sizeof *argmax->tops, err);
    bool all = argmax->parts && argmax->steps && argmax->slacks && argmax->sizes && argmax->x &&
               argmax->bounds && argmax->tops;
    return all ? 0 : -1;
}

int argmax_init(struct argmax *argmax, struct machine *machine, struct matrix rows,
                struct arena *arena, struct err *err)
{
    *argmax = (struct argmax){.rows = rows, .largest = INFINITY};
    argmax->stride = (rows.columns + LINE - 1) / LINE * LINE;
    struct loop loop = {
        .rounds = part_count(argmax),
        .work = (double)rows.rows * (double)rows.columns,
        .round = cut_part,
    };
    if (rows.columns > COLUMNS_MOST)
        return 0;
    if (take_room(argmax, arena, err))
        return -1;
    pool_run(machine->pool, loop, argmax);
    argmax->largest = largest_norm(argmax);
    return 0;
}

/* --- a question ------------------------------------------------------------------------------- */

struct question {
    struct argmax *argmax;
    const float *x;
    double step;        /* t */
    double norm, error; /* at least ‖x‖ and ‖x - tp‖ */
};

/* Cut the vector as the rows, into as many steps as a sum of products has room for. */
static void cut_vector(struct question *question)
{
    struct argmax *argmax = question->argmax;
    size_t columns = argmax->rows.columns;
    double most = (double)(INT32_MAX / (BYTE_MOST * columns));
    double largest = (double)largest_size(question->x, columns);
    double norm = 0;
    double error = 0;
    most = most < INT16_MAX ? most : INT16_MAX;
    question->step = largest > 0 ? largest / most : 1;
    for (size_t k = 0; k < columns; k++) {
        double value = (double)question->x[k];
        double part = rint(value / question->step);
        double left = value - question->step * part;
        argmax->x[k] = (int16_t)part;
        norm += value * value;
        error += left * left;
    }
    question->norm = sqrt(norm) * UP;
    question->error = sqrt(error) * UP;
}

/* y = q·p, row by row. */
FOR_EACH_ISA
static void multiply_parts(int32_t *restrict y, const int8_t *restrict rows, size_t count,
                           const int16_t *restrict x, size_t stride)
{
    for (size_t row = 0; row < count; row++, rows += stride) {
        int32_t sum = 0;
        for (size_t k = 0; k < stride; k += LINE)
            __builtin_prefetch(rows + AHEAD + k);
        for (size_t k = 0; k < stride; k++)
            sum += (int16_t)rows[k] * x[k];
        y[row] = sum;
    }
}

/* What the products roughly are, and how large they may be. */
FOR_EACH_ISA
static void bound_rows(float *restrict near, const struct question *question,
                       const int32_t *restrict products, size_t first, size_t count)
{
    const struct argmax *argmax = question->argmax;
    const float *restrict steps = argmax->steps + first;
    const float *restrict slacks = argmax->slacks + first;
    const float *restrict sizes = argmax->sizes + first;
    double *restrict bounds = argmax->bounds + first;
    double underflow = (double)argmax->rows.columns * (double)FLT_MIN;
    for (size_t i = 0; i < count; i++) {
        double product = question->step * (double)steps[i] * (double)products[i];
        double slack = question->norm * (double)slacks[i] + question->error * (double)sizes[i];
        near[i] = (float)product;
        bounds[i] = product + slack * UP + underflow;
    }
}

static void bound_part(void *context, size_t round, size_t thread)
{
    const struct question *question = context;
    struct argmax *argmax = question->argmax;
    struct argmax_top *top = &argmax->tops[round];
    int32_t products[PART];
    float near[PART];
    size_t first = round * PART;
    size_t count = part_rows(argmax, first);
    (void)thread;
    multiply_parts(products, argmax->parts + first * argmax->stride, count, argmax->x,
                   argmax->stride);
    bound_rows(near, question, products, first, count);
    top->value = max_row(near, count);
    top->row = 0;
    while (near[top->row] < top->value)
        top->row++;
    top->row += first;
}

/* The row that is roughly the best. */
static size_t likely_row(const struct argmax *argmax)
{
    size_t best = 0;
    for (size_t i = 1; i < part_count(argmax); i++)
        if (argmax->tops[i].value > argmax->tops[best].value)
            best = i;
    return argmax->tops[best].row;
}

/* Rows that are to be multiplied out, and the largest product so far. */
struct contest {
    const struct question *question;
    size_t rows[BATCH];
    size_t count;
    float largest;
    size_t winner;
};

static void multiply_out(struct contest *contest)
{
    const struct matrix *matrix = &contest->question->argmax->rows;
    const float *rows[BATCH];
    float products[BATCH];
    for (size_t i = 0; i < contest->count; i++)
        rows[i] = matrix->data + contest->rows[i] * matrix->stride;
    gather_dots(products, contest->question->x, rows, contest->count,
                (struct gather_form){matrix->columns, 1});
    for (size_t i = 0; i < contest->count; i++) {
        bool is_earlier = products[i] == contest->largest && contest->rows[i] < contest->winner;
        if (products[i] > contest->largest || is_earlier) {
            contest->largest = products[i];
            contest->winner = contest->rows[i];
        }
    }
    contest->count = 0;
}

static void enter(struct contest *contest, size_t row)
{
    contest->rows[contest->count++] = row;
    if (contest->count == BATCH)
        multiply_out(contest);
}

bool argmax_find(struct machine *machine, struct argmax *argmax, const float *x, uint32_t *row)
{
    struct question question = {.argmax = argmax, .x = x};
    struct contest contest = {.question = &question, .largest = -INFINITY};
    struct loop loop = {
        .rounds = part_count(argmax),
        .work = (double)argmax->rows.rows * (double)argmax->stride,
        .round = bound_part,
    };
    if (!isfinite(argmax->largest) ||
        first_nonfinite(x, argmax->rows.columns) < argmax->rows.columns)
        return false;
    cut_vector(&question);
    if ((question.norm + question.error) * argmax->largest >= (double)FLT_MAX / 2)
        return false;
    pool_run(machine->pool, loop, &question);
    enter(&contest, likely_row(argmax));
    multiply_out(&contest);
    for (size_t i = 0; i < argmax->rows.rows; i++)
        if (argmax->bounds[i] >= (double)contest.largest)
            enter(&contest, i);
    multiply_out(&contest);
    *row = (uint32_t)contest.winner;
    return true;
}
