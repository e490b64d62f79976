#include "math/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "math/bf16.h"
#include "math/blocking.h"
#include "math/isa.h"
#include "math/kernel.h"
#include "math/machine.h"
#include "math/pool.h"
#include "math/rows.h"

enum {
    TILE_ROWS = 64,    /* of one kernel call */
    GROUP_ROWS = 192,  /* of one round: they stay in cache while panels come and go */
    LARGE_GROUP = 512, /* the same in place and of pairs: the more rows share a panel the better */
    FEW_ROWS = 8,      /* up to here reading W is all the work: whole rows of it, in order, */
    SLAB_ROWS = 16,    /* so many at a time, */
    SLAB_COLUMNS = 768,
    IN_PLACE_CHUNK = 192, /* of the sum: rows of W that lie far apart fill no more of a cache */
    MANY_ROWS = 384,      /* from here on it pays to copy a panel for one use, */
    WIDE = 2560,
    MANY_ROWS_WIDE = 192, /* the sooner the farther rows of W are apart */
    STREAM_AHEAD = 2048,  /* floats that one row of y prefetches */
    FEW_DOTS = 8,         /* rows that read W as [out, in] where it lies, */
    DOTS_AT_ONCE = 192,   /* so many of its rows in a round */
    PAIR_CHUNK = 384,     /* of the sum: a chunk of a panel stays in the second-level cache */
    LINE_BYTES = 64,      /* of the caches */
    USUAL_COLUMNS = 32,   /* with a number that is known, a loop has no rest */
};

_Static_assert(LARGE_GROUP *COPY_COLUMNS <= SUMS_ROOM && LARGE_GROUP * PAIR_COLUMNS <= SUMS_ROOM &&
                   FEW_ROWS * SLAB_COLUMNS <= SUMS_ROOM,
               "a panel's sums have room");

/* --- the epilogue ----------------------------------------------------------------------------- */

/* What follows the sums of a product while they are in cache. y or total may have no data: it is
 * not wanted. A total is of plain sums, without an activation. */
struct epilogue {
    struct matrix y;     /* = activation(sums + bias) */
    struct matrix total; /* += sums + bias */
    const float *bias;   /* [columns], or NULL: none */
    enum activation activation;
};

/* Where a tile begins in y. */
struct corner {
    size_t row, column;
};

static inline void add_biased_row(float *restrict to, const float *restrict sums,
                                  const float *restrict bias, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += sums[i] + bias[i];
}

/* total += sums + bias. It reads sums again rather than y, which may be far from the processor. */
FOR_EACH_ISA
static void add_biased_rows(struct matrix total, struct matrix sums, const float *bias)
{
    for (size_t row = 0; row < sums.rows; row++) {
        if (sums.columns == USUAL_COLUMNS)
            add_biased_row(total.data, sums.data, bias, USUAL_COLUMNS);
        else
            add_biased_row(total.data, sums.data, bias, sums.columns);
        total.data += total.stride;
        sums.data += sums.stride;
    }
}

static struct matrix tile_of(struct matrix whole, struct matrix sums, struct corner at)
{
    return matrix_columns(matrix_rows(whole, at.row, sums.rows), at.column, sums.columns);
}

static void epilogue_apply(const struct epilogue *epilogue, struct matrix sums, struct corner at)
{
    const float *bias = epilogue->bias ? epilogue->bias + at.column : NULL;
    assert(!epilogue->total.data || epilogue->activation == ACTIVATION_NONE);
    if (epilogue->y.data)
        activate(tile_of(epilogue->y, sums, at), sums, bias, epilogue->activation);
    if (epilogue->total.data && bias)
        add_biased_rows(tile_of(epilogue->total, sums, at), sums, bias);
    else if (epilogue->total.data)
        add_rows(tile_of(epilogue->total, sums, at), sums);
}

/* --- the plan --------------------------------------------------------------------------------- */

/* How W is worked through. */
struct plan {
    size_t panel_columns, first_columns; /* of the panels, and of the first of them */
    size_t chunk;                        /* of the sum */
    size_t group;                        /* rows of one round */
    bool row;                            /* no panels, no kernels: W is read row by row */
    bool copy;                           /* each panel is made contiguous before it is used */
    bool prefetch;                       /* while a panel is used the next is prefetched */
    bool groups_in_turn;                 /* all groups of a panel, then of the next; not all panels
                                            of a group */
};

/* The columns of W that come before the first cache line that begins in a row, or a panel's. A
 * file aligns its tensors to 8 bytes; a vector that lies across two lines is read twice. */
static size_t columns_to_line(const struct weight *w)
{
    size_t past = (uintptr_t)w->data % LINE_BYTES / sizeof(float);
    bool rows_alike = w->stride * sizeof(float) % LINE_BYTES == 0;
    return past > 0 && rows_alike ? LINE_BYTES / sizeof(float) - past : PANEL_COLUMNS;
}

/* The one place that decides. One row streams through W, which is all that memory can do, or reads
 * panels where there is nothing else. Panels are read once, in order. W in place, where it lies in
 * the file: few rows stream through it; many rows copy it panel by panel, because rows of W that
 * are kilobytes apart fall on the same few lines of the caches. What is prefetched is narrow: a
 * kernel asks for the whole of the next panel during its first rows. W as [out, in] is read row by
 * row for few rows, and transposed panel by panel for many; in bf16 it is widened, too. */
static struct plan choose_plan(const struct weight *w, size_t rows, size_t threads)
{
    size_t part = (w->out + threads - 1) / threads;
    part = part < SUMS_ROOM ? part : SUMS_ROOM;
    struct plan one_row = {part, part, w->in, LARGE_GROUP, .row = true};
    struct plan pairs = {PAIR_COLUMNS, PAIR_COLUMNS,     PAIR_CHUNK,
                         LARGE_GROUP,  .prefetch = true, .groups_in_turn = true};
    struct plan packed = {PANEL_COLUMNS, PANEL_COLUMNS, PANEL_ROWS, GROUP_ROWS, .prefetch = true};
    struct plan slabs = {SLAB_COLUMNS, SLAB_COLUMNS, SLAB_ROWS, LARGE_GROUP, .row = false};
    struct plan in_place = {PANEL_COLUMNS, columns_to_line(w), IN_PLACE_CHUNK, LARGE_GROUP,
                            .prefetch = true};
    struct plan copied = {COPY_COLUMNS, COPY_COLUMNS, PANEL_ROWS, LARGE_GROUP, .copy = true};
    struct plan dots = {DOTS_AT_ONCE, DOTS_AT_ONCE, w->in, LARGE_GROUP, .row = true};
    if (w->pairs)
        return pairs;
    if (w->rows.data && rows <= FEW_DOTS)
        return dots;
    if (rows == 1 && (w->data || w->halves))
        return one_row;
    if (w->panels)
        return packed;
    if (w->rows.data || w->halves)
        return copied;
    if (rows <= FEW_ROWS)
        return slabs;
    return rows < (w->stride < WIDE ? MANY_ROWS : MANY_ROWS_WIDE) ? in_place : copied;
}

/* --- the product ------------------------------------------------------------------------------ */

/* Kernels of one size of tile and chunk: C = or C += , without and with prefetch. */
struct kernel_set {
    struct kernel forms[2][2];
};

/* Where W has pairs, so has x: as large as floats, and read by kernels alone. */
struct product {
    struct matrix x;
    const struct weight *w;
    struct epilogue epilogue;
    double work; /* multiply-adds */
    struct plan plan;
    size_t threads;
    struct blocking groups, tiles, columns, sum; /* of all rows, of all rows again, of W */
    float *const *copies, *const *sums; /* [thread] room for a panel's chunk, and its sums */
    struct kernel_set kernels[BLOCKING_KINDS][BLOCKING_KINDS]
                             [BLOCKING_KINDS]; /* rows, columns, sum */
};

/* The panels, one after the other; NULL: W lies in rows. */
static const float *packed_panels(const struct weight *w)
{
    return w->pairs ? (const float *)w->pairs : w->panels;
}

static void fetch_set(struct kernels *kernels, const struct product *p, struct kernel_set *set,
                      struct kernel_shape shape)
{
    if (shape.m == 0 || shape.n == 0 || shape.k == 0)
        return;
    if (shape.pairs)
        shape.m = PAIR_COLUMNS; /* a panel's last columns may be none of y's */
    for (shape.accumulate = 0; shape.accumulate <= (p->sum.count > 1); shape.accumulate++)
        for (shape.prefetch = 0; shape.prefetch <= p->plan.prefetch; shape.prefetch++)
            kernels_get(kernels, &set->forms[shape.accumulate][shape.prefetch], &shape, p->work);
}

static void fetch_kernels(struct kernels *kernels, struct product *p)
{
    bool panels = p->plan.copy || packed_panels(p->w);
    kernels_begin(kernels);
    for (int rows = BLOCKING_FIRST; rows < BLOCKING_KINDS; rows++)
        for (int columns = BLOCKING_FIRST; columns < BLOCKING_KINDS; columns++)
            for (int sum = BLOCKING_FIRST; sum < BLOCKING_KINDS; sum++)
                fetch_set(kernels, p, &p->kernels[rows][columns][sum],
                          (struct kernel_shape){
                              .m = (int)blocking_size_of(&p->columns, columns),
                              .n = (int)blocking_size_of(&p->tiles, rows),
                              .k = (int)blocking_size_of(&p->sum, sum),
                              .a_stride = (int)(panels ? p->plan.panel_columns : p->w->stride),
                              .b_stride = (int)p->x.stride,
                              .c_stride = (int)p->plan.panel_columns,
                              .pairs = p->w->pairs != NULL,
                          });
}

/* A chunk of a panel where it lies. */
static const float *find_panel(const struct product *p, size_t panel, size_t chunk)
{
    size_t row = chunk * p->plan.chunk;
    size_t column = blocking_start(&p->columns, panel);
    const float *packed = packed_panels(p->w);
    if (packed)
        return packed + column * p->x.columns + row * p->plan.panel_columns;
    return p->w->data + row * p->w->stride + column;
}

/* The chunk that this thread works on next, most likely: the panels between are the other threads'.
 * At the end it is one of the first: any will do. */
static const float *find_next(const struct product *p, size_t panel, size_t chunk)
{
    if (chunk + 1 < p->sum.count)
        return find_panel(p, panel, chunk + 1);
    size_t step = p->plan.groups_in_turn ? 1 : p->threads;
    return find_panel(p, (panel + step) % p->columns.count, 0);
}

/* One round: a panel, the rows of x that it is for, and the place of their sums in y. */
struct round {
    struct matrix sums;
    const float *x;
    size_t panel;
    struct corner at;
};

/* sums += x · chunk, a tile at a time. While the first tile is computed, what comes next is
 * prefetched. */
static void multiply_chunk(const struct product *p, const struct round *round, const float *panel,
                           size_t chunk)
{
    const float *x = round->x + chunk * p->plan.chunk;
    const float *next = p->plan.prefetch ? find_next(p, round->panel, chunk) : panel;
    size_t tile = round->at.row / TILE_ROWS; /* groups are whole tiles */
    for (size_t row = 0; row < round->sums.rows; row += TILE_ROWS, tile++) {
        const struct kernel_set *set =
            &p->kernels[blocking_kind(&p->tiles, tile)][blocking_kind(&p->columns, round->panel)]
                       [blocking_kind(&p->sum, chunk)];
        bool prefetch = p->plan.prefetch && row == 0;
        struct matrix sums = matrix_rows(round->sums, row, blocking_size(&p->tiles, tile));
        kernel_call(&set->forms[chunk > 0][prefetch], panel, x + row * p->x.stride, sums.data,
                    next);
        if (chunk + 1 == p->sum.count)
            epilogue_apply(&p->epilogue, sums,
                           (struct corner){round->at.row + row, round->at.column});
    }
}

static void compute_panel(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    bool turn = p->plan.groups_in_turn;
    size_t panel = turn ? index / p->groups.count : index % p->columns.count;
    size_t group = turn ? index % p->groups.count : index / p->columns.count;
    struct corner at = {blocking_start(&p->groups, group), blocking_start(&p->columns, panel)};
    struct round round = {
        .sums = {p->sums[thread], blocking_size(&p->groups, group),
                 blocking_size(&p->columns, panel), p->plan.panel_columns},
        .x = p->x.data + at.row * p->x.stride,
        .panel = panel,
        .at = at,
    };
    for (size_t chunk = 0; chunk < p->sum.count; chunk++) {
        const float *found = p->copies[thread];
        size_t rows = blocking_size(&p->sum, chunk);
        if (p->plan.copy)
            weight_copy(p->copies[thread], COPY_COLUMNS, p->w,
                        (struct weight_piece){chunk * p->plan.chunk, rows, at.column});
        else
            found = find_panel(p, panel, chunk);
        multiply_chunk(p, &round, found, chunk);
    }
}

/* Columns of one row: sums += x[k] · row k of W, which may have to be widened. */
static void stream_rows(const struct product *p, size_t column, struct matrix sums, float *room)
{
    size_t count = sums.columns;
    size_t rows_ahead = (STREAM_AHEAD + count - 1) / count;
    size_t later = count == p->w->stride ? STREAM_AHEAD : rows_ahead * p->w->stride;
    memset(sums.data, 0, count * sizeof *sums.data);
    for (size_t k = 0; k < p->x.columns; k++) {
        const float *row = weight_row(p->w, k, column, count, room);
        add_scaled_row(sums.data, row, count, p->x.data[k], row == room ? row : row + later);
    }
}

static void compute_columns(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    size_t column = blocking_start(&p->columns, index);
    size_t count = blocking_size(&p->columns, index);
    struct matrix sums = {p->sums[thread], p->x.rows, count, count};
    if (p->w->rows.data)
        gemv(sums, p->x, p->w, column);
    else
        stream_rows(p, column, sums, p->copies[thread]);
    epilogue_apply(&p->epilogue, sums, (struct corner){0, column});
}

static void multiply(struct machine *machine, struct product *p)
{
    size_t rows = p->x.rows;
    p->threads = pool_threads(machine->pool);
    p->work = (double)rows * (double)p->w->out * (double)p->x.columns;
    p->plan = choose_plan(p->w, rows, p->threads);
    if (p->w->pairs)
        p->x = round_input(machine, p->x);
    p->groups = blocking_of(rows, p->plan.group, p->plan.group);
    p->tiles = blocking_of(rows, TILE_ROWS, TILE_ROWS);
    p->columns = blocking_of(p->w->out, p->plan.panel_columns, p->plan.first_columns);
    p->sum = blocking_of(p->x.columns, p->plan.chunk, p->plan.chunk);
    p->copies = machine->panels;
    p->sums = machine->sums;
    if (!p->plan.row)
        fetch_kernels(machine->kernels, p);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = p->groups.count * p->columns.count,
                 .work = p->work,
                 .round = p->plan.row ? compute_columns : compute_panel,
             },
             p);
}

/* Does it have the shape of x · w? */
static bool is_product(struct matrix y, struct matrix x, const struct weight *w)
{
    return x.columns == w->in && y.rows == x.rows && y.columns == w->out;
}

void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation)
{
    struct epilogue epilogue = {.y = y, .bias = w->bias, .activation = activation};
    assert(is_product(y, x, w));
    multiply(machine, &(struct product){.x = x, .w = w, .epilogue = epilogue});
}

void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w)
{
    struct epilogue epilogue = {.y = y, .total = total, .bias = w->bias};
    assert(is_product(total, x, w) && (!y.data || is_product(y, x, w)));
    multiply(machine, &(struct product){.x = x, .w = w, .epilogue = epilogue});
}
