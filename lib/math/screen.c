#include "math/screen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/rows.h"
#include "math/gather.h"

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
struct screen_top {
    float value;
    size_t row;
};

static size_t part_count(const struct screen *screen)
{
    return (screen->rows.rows + PART - 1) / PART;
}

static size_t part_rows(const struct screen *screen, size_t first)
{
    size_t rest = screen->rows.rows - first;
    return rest < PART ? rest : PART;
}

/* --- the copy --------------------------------------------------------------------------------- */

FOR_EACH_ISA
static float largest_size(const float *row, size_t count)
{
    float lanes[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t k = 0; k < whole; k += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            float size = fabsf(row[k + lane]);
            lanes[lane] = size > lanes[lane] ? size : lanes[lane];
        }
    for (size_t k = whole; k < count; k++)
        lanes[0] = fabsf(row[k]) > lanes[0] ? fabsf(row[k]) : lanes[0];
    return largest_of_row(lanes, LANES);
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
static void note_norms(struct screen *screen, size_t i, float step, struct squares *sums)
{
    double columns = (double)screen->rows.columns;
    double up = 1 + columns * ROUNDING;
    double left = sqrt((double)add_lanes(sums->left)) * up + sqrt(columns) * 0x1p-15;
    double cut = sqrt((double)add_lanes(sums->cut)) * up;
    screen->steps[i] = step;
    screen->slacks[i] = rounded_up((double)step * (left + columns * ROUNDING * (left + cut)));
    screen->sizes[i] = rounded_up((double)step * cut);
}

static void cut_part(void *context, size_t round, size_t thread)
{
    struct screen *screen = context;
    size_t columns = screen->rows.columns;
    size_t first = round * PART;
    size_t end = first + part_rows(screen, first);
    (void)thread;
    for (size_t i = first; i < end; i++) {
        const float *row = screen->rows.data + i * screen->rows.stride;
        int8_t *parts = screen->parts + i * screen->stride;
        float largest = largest_size(row, columns);
        struct squares sums;
        memset(parts, 0, screen->stride);
        if (first_bad(row, columns) < columns) {
            screen->slacks[i] = INFINITY;
        } else if (largest < LEAST) {
            screen->slacks[i] = rounded_up(sqrt((double)columns) * 2 * (double)LEAST);
        } else {
            cut_row(&sums, parts, row, columns, BYTE_MOST / largest);
            note_norms(screen, i, largest / BYTE_MOST, &sums);
        }
    }
}

/* ‖w‖ <= ‖w - sq‖ + ‖sq‖ */
static double largest_norm(const struct screen *screen)
{
    double largest = 0;
    for (size_t i = 0; i < screen->rows.rows; i++) {
        double norm = (double)screen->slacks[i] + (double)screen->sizes[i];
        largest = norm > largest ? norm : largest;
    }
    return largest;
}

static int take_room(struct screen *screen, struct arena *arena, struct err *err)
{
    size_t rows = screen->rows.rows;
    size_t bytes = 0;
    if (!num_multiply(&bytes, rows, screen->stride))
        return err_memory(err, SIZE_MAX);
    screen->parts = arena_room(arena, bytes, sizeof *screen->parts, err);
    screen->steps = arena_alloc(arena, rows, sizeof *screen->steps, err);
    screen->slacks = arena_alloc(arena, rows, sizeof *screen->slacks, err);
    screen->sizes = arena_alloc(arena, rows, sizeof *screen->sizes, err);
    screen->x = arena_alloc(arena, screen->stride, sizeof *screen->x, err);
    screen->bounds = arena_alloc(arena, rows, sizeof *screen->bounds, err);
    screen->tops = arena_alloc(arena, part_count(screen), sizeof *screen->tops, err);
    bool all = screen->parts && screen->steps && screen->slacks && screen->sizes && screen->x &&
               screen->bounds && screen->tops;
    return all ? 0 : -1;
}

int screen_init(struct screen *screen, struct machine *machine, struct matrix rows,
                struct arena *arena, struct err *err)
{
    *screen = (struct screen){.rows = rows, .largest = INFINITY};
    screen->stride = (rows.columns + LINE - 1) / LINE * LINE;
    struct loop loop = {
        .rounds = part_count(screen),
        .work = (double)rows.rows * (double)rows.columns,
        .round = cut_part,
    };
    if (rows.columns > COLUMNS_MOST)
        return 0;
    if (take_room(screen, arena, err))
        return -1;
    pool_run(machine->pool, loop, screen);
    screen->largest = largest_norm(screen);
    return 0;
}

/* --- a question ------------------------------------------------------------------------------- */

struct question {
    struct screen *screen;
    const float *x;
    double step;        /* t */
    double norm, error; /* at least ‖x‖ and ‖x - tp‖ */
};

/* Cut the vector as the rows, into as many steps as a sum of products has room for. */
static void cut_vector(struct question *question)
{
    struct screen *screen = question->screen;
    size_t columns = screen->rows.columns;
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
        screen->x[k] = (int16_t)part;
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
    const struct screen *screen = question->screen;
    const float *restrict steps = screen->steps + first;
    const float *restrict slacks = screen->slacks + first;
    const float *restrict sizes = screen->sizes + first;
    double *restrict bounds = screen->bounds + first;
    double underflow = (double)screen->rows.columns * (double)FLT_MIN;
    for (size_t i = 0; i < count; i++) {
        double product = question->step * (double)steps[i] * (double)products[i];
        double slack = question->norm * (double)slacks[i] + question->error * (double)sizes[i];
        near[i] = (float)product;
        bounds[i] = product + slack * UP + underflow;
    }
}

static void screen_part(void *context, size_t round, size_t thread)
{
    const struct question *question = context;
    struct screen *screen = question->screen;
    struct screen_top *top = &screen->tops[round];
    int32_t products[PART];
    float near[PART];
    size_t first = round * PART;
    size_t count = part_rows(screen, first);
    (void)thread;
    multiply_parts(products, screen->parts + first * screen->stride, count, screen->x,
                   screen->stride);
    bound_rows(near, question, products, first, count);
    top->value = largest_of_row(near, count);
    top->row = 0;
    while (near[top->row] < top->value)
        top->row++;
    top->row += first;
}

/* The row that is roughly the best. */
static size_t likely_row(const struct screen *screen)
{
    size_t best = 0;
    for (size_t i = 1; i < part_count(screen); i++)
        if (screen->tops[i].value > screen->tops[best].value)
            best = i;
    return screen->tops[best].row;
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
    const struct matrix *matrix = &contest->question->screen->rows;
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

bool screen_largest(struct machine *machine, struct screen *screen, const float *x, uint32_t *row)
{
    struct question question = {.screen = screen, .x = x};
    struct contest contest = {.question = &question, .largest = -INFINITY};
    struct loop loop = {
        .rounds = part_count(screen),
        .work = (double)screen->rows.rows * (double)screen->stride,
        .round = screen_part,
    };
    if (!isfinite(screen->largest) || first_bad(x, screen->rows.columns) < screen->rows.columns)
        return false;
    cut_vector(&question);
    if ((question.norm + question.error) * screen->largest >= (double)FLT_MAX / 2)
        return false;
    pool_run(machine->pool, loop, &question);
    enter(&contest, likely_row(screen));
    multiply_out(&contest);
    for (size_t i = 0; i < screen->rows.rows; i++)
        if (screen->bounds[i] >= (double)contest.largest)
            enter(&contest, i);
    multiply_out(&contest);
    *row = (uint32_t)contest.winner;
    return true;
}
