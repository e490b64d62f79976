#include "math/argmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/machine.h"
#include "math/rows.h"

enum {
    PART = 1024, /* rows that a thread compares in one round */
    LINE = 64,
    AHEAD = 16 << 10, /* bytes of quantised rows that are prefetched ahead */
    BYTE_MOST = INT8_MAX,
    COLUMNS_MOST = SUMS_ROOM, /* maximum number of columns: a thread's buffer has room for as many,
                               * and the quantised vector p would be too coarse for many more */
};

static const double UP = 1 + 0x1p-20;       /* factor that enlarges an upper bound by more than
                                             * rounding can reduce it */
static const float LEAST = 0x1p-100f;       /* a row whose numbers all have smaller absolute values
                                             * is quantised to zeros */
static const float TO_WHOLE = 0x1.8p23f;    /* adding and subtracting it rounds a float to an
                                             * integer */
static const double ROUNDING = 2 * 0x1p-24; /* 2 u: twice the relative error of rounding */

/* The row with the largest quantised product in a part of the rows, and that product. */
struct argmax_top {
    float value;
    size_t row;
};

static size_t part_count(const struct argmax *argmax)
{
    return (argmax->words.out + PART - 1) / PART;
}

static size_t part_rows(const struct argmax *argmax, size_t first)
{
    return num_min(argmax->words.out - first, PART);
}

/* --- the copy --------------------------------------------------------------------------------- */

FOR_EACH_ISA
static float max_abs(const float *row, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, {
        float size = fabsf(row[i]);
        lanes[lane] = size > lanes[lane] ? size : lanes[lane];
    });
    return max_row(lanes, LANES);
}

/* Σ (r - q)² and Σ q² in LANES chains, where r is a row divided by its scale and q the quantised
 * row. */
struct squares {
    float error[LANES], quant[LANES];
};

FOR_EACH_ISA
static void quantise_row(struct squares *sums, int8_t *restrict quants, const float *restrict row,
                         size_t count, float inverse)
{
    struct squares found = {{0}, {0}};
    FOR_LANES(count, {
        float exact = row[i] * inverse;
        float quant = exact + TO_WHOLE - TO_WHOLE;
        float error = exact - quant;
        quants[i] = (int8_t)quant;
        found.error[lane] = fmaf(error, error, found.error[lane]);
        found.quant[lane] = fmaf(quant, quant, found.quant[lane]);
    });
    *sums = found;
}

static float rounded_up(double value)
{
    return (float)(value * UP) + FLT_MIN;
}

/* Set the bounds of row i. Each computed r = w / s is off by less than 2^-15, because 1 / s and two
 * products are rounded, and each sum of n squares is off by less than n u times the sum. */
static void note_norms(struct argmax *argmax, size_t i, float scale, struct squares *sums)
{
    double columns = (double)argmax->words.in;
    double up = 1 + columns * ROUNDING;
    double error = sqrt((double)add_lanes(sums->error)) * up + sqrt(columns) * 0x1p-15;
    double quant = sqrt((double)add_lanes(sums->quant)) * up;
    argmax->scales[i] = scale;
    argmax->errors[i] = rounded_up((double)scale * (error + columns * ROUNDING * (error + quant)));
    argmax->norms[i] = rounded_up((double)scale * quant);
}

static void quantise_part(void *context, size_t round, size_t thread)
{
    struct argmax *argmax = context;
    size_t columns = argmax->words.in;
    size_t first = round * PART;
    size_t end = first + part_rows(argmax, first);
    float *row = argmax->buffers[thread].sums;
    for (size_t i = first; i < end; i++) {
        int8_t *quants = argmax->quants + i * argmax->stride;
        struct squares sums;
        dtype_to_float(row, weight_number_rows(&argmax->words, 0, i).at[0],
                       argmax->words.rows.dtype, columns);
        float largest = max_abs(row, columns);
        memset(quants, 0, argmax->stride);
        if (first_nonfinite(row, columns) < columns) {
            argmax->errors[i] = INFINITY;
        } else if (largest < LEAST) {
            argmax->errors[i] = rounded_up(sqrt((double)columns) * 2 * (double)LEAST);
        } else {
            quantise_row(&sums, quants, row, columns, BYTE_MOST / largest);
            note_norms(argmax, i, largest / BYTE_MOST, &sums);
        }
    }
}

static int take_room(struct argmax *argmax, struct arena *arena, struct err *err)
{
    size_t rows = argmax->words.out;
    size_t bytes = 0;
    if (!num_multiply(&bytes, rows, argmax->stride))
        return err_memory(err, SIZE_MAX);
    argmax->quants = arena_room(arena, bytes, sizeof *argmax->quants, err);
    argmax->scales = arena_alloc(arena, rows, sizeof *argmax->scales, err);
    argmax->errors = arena_alloc(arena, rows, sizeof *argmax->errors, err);
    argmax->norms = arena_alloc(arena, rows, sizeof *argmax->norms, err);
    argmax->x = arena_alloc(arena, argmax->stride, sizeof *argmax->x, err);
    argmax->bounds = arena_alloc(arena, rows, sizeof *argmax->bounds, err);
    argmax->tops = arena_alloc(arena, part_count(argmax), sizeof *argmax->tops, err);
    bool all = argmax->quants && argmax->scales && argmax->errors && argmax->norms && argmax->x &&
               argmax->bounds && argmax->tops;
    return all ? 0 : -1;
}

int argmax_init(struct argmax *argmax, struct machine *machine, const struct weight *words,
                struct arena *arena, struct err *err)
{
    *argmax = (struct argmax){.words = *words, .buffers = machine->buffers, .largest = INFINITY};
    argmax->stride = (words->in + LINE - 1) / LINE * LINE;
    double work = (double)words->out * (double)words->in;
    if (words->in > COLUMNS_MOST)
        return 0;
    if (take_room(argmax, arena, err))
        return -1;
    pool_run(machine->pool, (struct loop){part_count(argmax), work, quantise_part}, argmax);
    argmax->largest = 0;
    for (size_t i = 0; i < words->out; i++) { /* ‖w‖ <= ‖w - sq‖ + ‖sq‖ */
        double norm = (double)argmax->errors[i] + (double)argmax->norms[i];
        argmax->largest = norm > argmax->largest ? norm : argmax->largest;
    }
    return 0;
}

/* --- the products with a vector --------------------------------------------------------------- */

struct query {
    struct argmax *argmax;
    const float *x;
    double scale;       /* the scale t of the vector (argmax.h) */
    double norm, error; /* upper bounds of ‖x‖ and ‖x - tp‖ */
};

/* Quantise x to integers of 16 bits, as large as possible while their product with a row of bytes
 * fits in 32 bits. */
static void quantise_vector(struct query *query)
{
    struct argmax *argmax = query->argmax;
    size_t columns = argmax->words.in;
    double most = (double)(INT32_MAX / (BYTE_MOST * columns));
    double largest = (double)max_abs(query->x, columns);
    double norm = 0, error = 0;
    most = most < INT16_MAX ? most : INT16_MAX;
    query->scale = largest > 0 ? largest / most : 1;
    for (size_t k = 0; k < columns; k++) {
        double value = (double)query->x[k];
        double quant = rint(value / query->scale);
        double rest = value - query->scale * quant;
        argmax->x[k] = (int16_t)quant;
        norm += value * value;
        error += rest * rest;
    }
    query->norm = sqrt(norm) * UP;
    query->error = sqrt(error) * UP;
}

/* y[row] = rows[row] · x, the product q·p of argmax.h. */
FOR_EACH_ISA
static void multiply_quants(int32_t *restrict y, const int8_t *restrict rows, size_t count,
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

/* near = the quantised products as floats; argmax->bounds = upper bounds of the products that
 * `linear` computes. */
FOR_EACH_ISA
static void bound_rows(float *restrict near, const struct query *query,
                       const int32_t *restrict products, size_t first, size_t count)
{
    const struct argmax *argmax = query->argmax;
    const float *restrict scales = argmax->scales + first;
    const float *restrict errors = argmax->errors + first;
    const float *restrict norms = argmax->norms + first;
    double *restrict bounds = argmax->bounds + first;
    double underflow = (double)argmax->words.in * (double)FLT_MIN;
    for (size_t i = 0; i < count; i++) {
        double product = query->scale * (double)scales[i] * (double)products[i];
        double slack = query->norm * (double)errors[i] + query->error * (double)norms[i];
        near[i] = (float)product;
        bounds[i] = product + slack * UP + underflow;
    }
}

static void bound_part(void *context, size_t round, size_t thread)
{
    const struct query *query = context;
    struct argmax *argmax = query->argmax;
    struct argmax_top *top = &argmax->tops[round];
    int32_t products[PART];
    float near[PART];
    size_t first = round * PART;
    size_t count = part_rows(argmax, first);
    (void)thread;
    multiply_quants(products, argmax->quants + first * argmax->stride, count, argmax->x,
                    argmax->stride);
    bound_rows(near, query, products, first, count);
    top->value = max_row(near, count);
    top->row = 0;
    while (near[top->row] < top->value)
        top->row++;
    top->row += first;
}

/* Rows whose products are computed next, and the largest product so far. */
struct candidates {
    const struct query *query;
    size_t rows[LANES];
    size_t count;
    float largest;
    size_t winner;
};

static void multiply_out(struct candidates *candidates)
{
    const struct weight *words = &candidates->query->argmax->words;
    struct number_rows rows = {.count = candidates->count, .dtype = words->rows.dtype};
    float products[LANES];
    if (candidates->count == 0)
        return;
    for (size_t i = 0; i < candidates->count; i++)
        rows.at[i] = weight_number_rows(words, 0, candidates->rows[i]).at[0];
    gemv_rows((struct matrix){products, 1, candidates->count, LANES},
              (struct matrix){(float *)candidates->query->x, 1, words->in, words->in}, &rows, 1);
    for (size_t i = 0; i < candidates->count; i++) {
        bool is_earlier =
            products[i] == candidates->largest && candidates->rows[i] < candidates->winner;
        if (products[i] > candidates->largest || is_earlier) {
            candidates->largest = products[i];
            candidates->winner = candidates->rows[i];
        }
    }
    candidates->count = 0;
}

static void add_candidate(struct candidates *candidates, size_t row)
{
    candidates->rows[candidates->count++] = row;
    if (candidates->count == LANES)
        multiply_out(candidates);
}

bool argmax_find(struct machine *machine, struct argmax *argmax, const float *x, uint32_t *row)
{
    struct query query = {.argmax = argmax, .x = x};
    struct candidates candidates = {.query = &query, .largest = -INFINITY};
    double work = (double)argmax->words.out * (double)argmax->stride;
    size_t likely = 0; /* the part with the largest quantised product */
    if (!isfinite(argmax->largest) || first_nonfinite(x, argmax->words.in) < argmax->words.in)
        return false;
    quantise_vector(&query);
    if ((query.norm + query.error) * argmax->largest >= (double)FLT_MAX / 2)
        return false;
    pool_run(machine->pool, (struct loop){part_count(argmax), work, bound_part}, &query);
    for (size_t i = 1; i < part_count(argmax); i++)
        likely = argmax->tops[i].value > argmax->tops[likely].value ? i : likely;
    add_candidate(&candidates, argmax->tops[likely].row);
    multiply_out(&candidates);
    for (size_t i = 0; i < argmax->words.out; i++)
        if (argmax->bounds[i] >= (double)candidates.largest)
            add_candidate(&candidates, i);
    multiply_out(&candidates);
    *row = (uint32_t)candidates.winner;
    return true;
}
