#include "math/gemm_bf16.h"

#include <assert.h>
#include <string.h>

#include "math/bf16.h"
#include "math/blocking.h"
#include "math/panels.h"

enum {
    TILE_ROWS = 64,    /* of one kernel call */
    GROUP_ROWS = 512,  /* of one round: they share each panel while it is in cache */
    CHUNK = 384,       /* pairs of the sum: a chunk of a panel stays in the second-level cache */
    ROUNDED_ROWS = 16, /* of x, by one thread at a time */
};

_Static_assert(GROUP_ROWS *PAIR_COLUMNS <= SUMS_ROOM, "a panel's sums have room");

/* --- the panels ------------------------------------------------------------------------------ */

static size_t panels_of(size_t columns)
{
    return (columns + PAIR_COLUMNS - 1) / PAIR_COLUMNS;
}

size_t pairs_size(const struct weight *w)
{
    return panels_of(w->out) * PAIR_COLUMNS * bf16_pairs(w->in);
}

/* A row of pairs of the panel that `column` begins. */
static size_t place_in_panels(const struct weight *w, size_t pair, size_t column)
{
    return column * bf16_pairs(w->in) + pair * PAIR_COLUMNS;
}

static size_t panel_width(const struct weight *w, size_t column)
{
    size_t rest = w->out - column;
    return rest < PAIR_COLUMNS ? rest : PAIR_COLUMNS;
}

void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second)
{
    const float none[PAIR_COLUMNS] = {0};
    for (size_t column = 0; column < w->out; column += PAIR_COLUMNS)
        bf16_pair_rows(pairs + place_in_panels(w, row / 2, column), first + column,
                       second ? second + column : none, panel_width(w, column));
}

void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded)
{
    uint32_t *to = pairs + place_in_panels(w, 0, column / PAIR_COLUMNS * PAIR_COLUMNS);
    to += column % PAIR_COLUMNS;
    for (size_t pair = 0; pair < bf16_pairs(w->in); pair++)
        to[pair * PAIR_COLUMNS] = rounded[pair];
}

/* --- x --------------------------------------------------------------------------------------- */

/* Rows of pairs, as the kernels read x. */
struct rounding {
    struct matrix x;
    uint32_t *pairs;
    size_t stride;
};

static size_t stride_of_input(size_t columns)
{
    return matrix_stride(bf16_pairs(columns)); /* a pair is as large as a float */
}

size_t pairs_of_input(size_t rows, size_t columns)
{
    return rows * stride_of_input(columns);
}

static void round_rows(void *context, size_t round, size_t thread)
{
    const struct rounding *r = context;
    size_t first = round * ROUNDED_ROWS;
    (void)thread;
    for (size_t row = first; row < r->x.rows && row < first + ROUNDED_ROWS; row++)
        bf16_pair_row(r->pairs + row * r->stride, r->x.data + row * r->x.stride, r->x.columns);
}

static struct rounding round_input(struct machine *machine, struct matrix x)
{
    struct rounding rounding = {x, machine->pairs, stride_of_input(x.columns)};
    assert(pairs_of_input(x.rows, x.columns) <= machine->pairs_held);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = (x.rows + ROUNDED_ROWS - 1) / ROUNDED_ROWS,
                 .work = (double)x.rows * (double)x.columns,
                 .round = round_rows,
             },
             &rounding);
    return rounding;
}

/* --- the product ----------------------------------------------------------------------------- */

/* Kernels of one size of tile and chunk: C = or C += , without and with prefetch. */
struct kernel_set {
    struct kernel forms[2][2];
};

struct job {
    const struct weight *w;
    const struct epilogue *epilogue;
    double work; /* multiply-adds */
    struct rounding x;
    struct blocking groups, tiles, columns,
        sum;            /* of all rows, of all rows again, of W, of its pairs */
    float *const *sums; /* [thread][GROUP_ROWS, PAIR_COLUMNS] */
    struct kernel_set kernels[BLOCKING_KINDS][BLOCKING_KINDS]; /* rows, sum */
};

static void fetch_set(struct kernels *kernels, const struct job *job, struct kernel_set *set,
                      struct kernel_shape shape)
{
    if (shape.n == 0 || shape.k == 0)
        return;
    for (shape.accumulate = 0; shape.accumulate <= (job->sum.count > 1); shape.accumulate++)
        for (shape.prefetch = 0; shape.prefetch <= 1; shape.prefetch++)
            kernels_get(kernels, &set->forms[shape.accumulate][shape.prefetch], &shape, job->work);
}

static void fetch_kernels(struct kernels *kernels, struct job *job)
{
    kernels_begin(kernels);
    for (int rows = BLOCKING_FIRST; rows < BLOCKING_KINDS; rows++)
        for (int sum = BLOCKING_FIRST; sum < BLOCKING_KINDS; sum++)
            fetch_set(kernels, job, &job->kernels[rows][sum],
                      (struct kernel_shape){
                          .m = PAIR_COLUMNS,
                          .n = (int)blocking_size_of(&job->tiles, rows),
                          .k = (int)blocking_size_of(&job->sum, sum),
                          .a_stride = PAIR_COLUMNS,
                          .b_stride = (int)job->x.stride,
                          .c_stride = PAIR_COLUMNS,
                          .pairs = 1,
                      });
}

/* One round: a panel, the rows of x that it is for, and the place of their sums in y. A panel's
 * last columns may be none of y's. */
struct round {
    struct matrix sums;
    const uint32_t *x;
    const uint32_t *panel, *next; /* next: the panel that follows, or any */
    struct corner at;
};

/* A chunk of the sum, a tile at a time. While the first tile is computed, what comes next is
 * fetched. */
static void multiply_chunk(const struct job *job, const struct round *round, size_t chunk)
{
    size_t first = blocking_start(&job->sum, chunk);
    bool last = chunk + 1 == job->sum.count;
    const uint32_t *panel = round->panel + first * PAIR_COLUMNS;
    const uint32_t *next = last ? round->next : panel + CHUNK * PAIR_COLUMNS;
    size_t tile = round->at.row / TILE_ROWS; /* groups are whole tiles */
    for (size_t row = 0; row < round->sums.rows; row += TILE_ROWS, tile++) {
        const struct kernel_set *set =
            &job->kernels[blocking_kind(&job->tiles, tile)][blocking_kind(&job->sum, chunk)];
        struct matrix sums = matrix_rows(round->sums, row, blocking_size(&job->tiles, tile));
        kernel_call_pairs(&set->forms[chunk > 0][row == 0], panel,
                          round->x + row * job->x.stride + first, sums.data, next);
        if (last)
            epilogue_apply(job->epilogue, sums,
                           (struct corner){round->at.row + row, round->at.column});
    }
}

static void compute_panel(void *context, size_t index, size_t thread)
{
    const struct job *job = context;
    size_t panel = index / job->groups.count; /* groups of one panel follow each other */
    size_t group = index % job->groups.count;
    struct corner at = {blocking_start(&job->groups, group), blocking_start(&job->columns, panel)};
    size_t next = panel + 1 < job->columns.count ? at.column + PAIR_COLUMNS : 0;
    struct round round = {
        .sums = {job->sums[thread], blocking_size(&job->groups, group),
                 blocking_size(&job->columns, panel), PAIR_COLUMNS},
        .x = job->x.pairs + at.row * job->x.stride,
        .panel = job->w->pairs + place_in_panels(job->w, 0, at.column),
        .next = job->w->pairs + place_in_panels(job->w, 0, next),
        .at = at,
    };
    for (size_t chunk = 0; chunk < job->sum.count; chunk++)
        multiply_chunk(job, &round, chunk);
}

void multiply_bf16(struct machine *machine, struct matrix x, const struct weight *w,
                   const struct epilogue *epilogue)
{
    struct job job = {
        .w = w,
        .epilogue = epilogue,
        .work = (double)x.rows * (double)w->out * (double)x.columns,
        .x = round_input(machine, x),
        .groups = blocking_of(x.rows, GROUP_ROWS, GROUP_ROWS),
        .tiles = blocking_of(x.rows, TILE_ROWS, TILE_ROWS),
        .columns = blocking_of(w->out, PAIR_COLUMNS, PAIR_COLUMNS),
        .sum = blocking_of(bf16_pairs(w->in), CHUNK, CHUNK),
        .sums = machine->sums,
    };
    fetch_kernels(machine->kernels, &job);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = job.groups.count * job.columns.count,
                 .work = job.work,
                 .round = compute_panel,
             },
             &job);
}
