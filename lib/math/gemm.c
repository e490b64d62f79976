#include "math/gemm.h"

#include <assert.h>
#include <string.h>

#include "math/rows.h"

enum {
    TILE_ROWS = 64,     /* of one kernel call */
    GROUP_ROWS = 512,   /* of one round: they share each panel while it is in cache */
    CHUNK = PANEL_ROWS, /* of the sum: a chunk of a panel stays in the second-level cache */
    FEW_ROWS = 8,       /* up to here reading W is all the work: whole rows of it, in order, */
    SLAB_ROWS = 16,     /* so many at a time, */
    SLAB_COLUMNS = 768,
    AHEAD = 32,      /* rows that are fetched ahead of a copy: each is on another page */
    MANY_ROWS = 128, /* from here on it pays to copy a panel for one use */
};

/* How W is worked through. */
struct plan {
    size_t panel_columns;
    size_t chunk;
    bool copy;     /* each panel is made contiguous before it is used */
    bool prefetch; /* while a panel is used the next one is fetched */
};

/* The one place that decides. W in panels is read once, in order. W in place, where it lies in the
 * file: few rows stream through it; many rows copy it panel by panel, because rows of W that are
 * kilobytes apart fall on the same few lines of the caches. */
static struct plan choose_plan(const struct weight *w, size_t rows)
{
    if (rows <= FEW_ROWS && !w->panels)
        return (struct plan){.panel_columns = SLAB_COLUMNS, .chunk = SLAB_ROWS};
    return (struct plan){
        .panel_columns = PANEL_COLUMNS,
        .chunk = CHUNK,
        .copy = !w->panels && rows >= MANY_ROWS,
        .prefetch = w->panels != NULL,
    };
}

/* One dimension cut into parts of equal size and a shorter last one. */
struct cut {
    size_t size, part, count;
};

static struct cut cut_into(size_t size, size_t part)
{
    return (struct cut){size, part, (size + part - 1) / part};
}

static size_t cut_size(const struct cut *cut, size_t index)
{
    size_t rest = cut->size - index * cut->part;
    return rest < cut->part ? rest : cut->part;
}

enum { FULL, LAST, SIZES };

/* Kernels of one size of tile and chunk: C = or C += , without and with prefetch. */
struct kernel_set {
    struct kernel forms[2][2];
};

struct product {
    struct matrix y, x;
    const struct weight *w;
    enum activation activation;
    struct plan plan;
    struct cut groups, columns, sum;
    float *const *copies;                           /* [thread] room for a panel's chunk */
    struct kernel_set kernels[SIZES][SIZES][SIZES]; /* rows, columns, sum */
};

static int which(const struct cut *cut, size_t index)
{
    return cut_size(cut, index) == cut->part ? FULL : LAST;
}

/* The size that FULL or LAST stands for; 0 when no part of the cut has it. */
static size_t size_of(const struct cut *cut, int which_size)
{
    if (which_size == FULL)
        return cut->size >= cut->part ? cut->part : 0;
    return cut->size % cut->part;
}

static size_t panel_stride(const struct product *p)
{
    return p->w->panels || p->plan.copy ? PANEL_COLUMNS : p->w->stride;
}

static void fetch_set(struct kernels *kernels, const struct product *p, struct kernel_set *set,
                      struct kernel_shape shape)
{
    if (shape.m == 0 || shape.n == 0 || shape.k == 0)
        return;
    for (shape.accumulate = 0; shape.accumulate <= (p->sum.count > 1); shape.accumulate++)
        for (shape.prefetch = 0; shape.prefetch <= p->plan.prefetch; shape.prefetch++)
            kernels_get(kernels, &set->forms[shape.accumulate][shape.prefetch], &shape);
}

static void fetch_kernels(struct kernels *kernels, struct product *p)
{
    struct cut tiles = cut_into(p->y.rows, TILE_ROWS);
    kernels_begin(kernels);
    for (int rows = FULL; rows < SIZES; rows++)
        for (int columns = FULL; columns < SIZES; columns++)
            for (int sum = FULL; sum < SIZES; sum++)
                fetch_set(kernels, p, &p->kernels[rows][columns][sum],
                          (struct kernel_shape){
                              .m = (int)size_of(&p->columns, columns),
                              .n = (int)size_of(&tiles, rows),
                              .k = (int)size_of(&p->sum, sum),
                              .a_stride = (int)panel_stride(p),
                              .b_stride = (int)p->x.stride,
                              .c_stride = (int)p->y.stride,
                          });
}

static void copy_columns(float *to, const struct weight *w, size_t row, size_t rows, size_t column)
{
    size_t left = w->out - column;
    size_t columns = left < PANEL_COLUMNS ? left : PANEL_COLUMNS;
    const float *from = w->data + row * w->stride + column;
    for (size_t i = 0; i < rows; i++, from += w->stride) {
        const float *later = from + AHEAD * w->stride;
        for (size_t line = 0; line < PANEL_COLUMNS; line += 16)
            __builtin_prefetch(later + line);
        memcpy(to + i * PANEL_COLUMNS, from, columns * sizeof *to);
    }
}

size_t panels_size(const struct weight *w)
{
    return cut_into(w->out, PANEL_COLUMNS).count * PANEL_COLUMNS * w->in;
}

void panels_fill(float *panels, const struct weight *w)
{
    memset(panels, 0, panels_size(w) * sizeof *panels);
    for (size_t column = 0; column < w->out; column += PANEL_COLUMNS)
        copy_columns(panels + column * w->in, w, 0, w->in, column);
}

/* A chunk of a panel where it lies. */
static const float *find_panel(const struct product *p, size_t panel, size_t chunk)
{
    size_t row = chunk * p->plan.chunk;
    size_t column = panel * p->plan.panel_columns;
    if (p->w->panels)
        return p->w->panels + column * p->w->in + row * PANEL_COLUMNS;
    return p->w->data + row * p->w->stride + column;
}

/* The chunk that is worked on next; at the end the first one: any will do. */
static const float *find_next(const struct product *p, size_t panel, size_t chunk)
{
    if (chunk + 1 < p->sum.count)
        return find_panel(p, panel, chunk + 1);
    return find_panel(p, panel + 1 < p->columns.count ? panel + 1 : 0, 0);
}

static const float *copy_panel(const struct product *p, float *copy, size_t panel, size_t chunk)
{
    size_t rows = cut_size(&p->sum, chunk);
    copy_columns(copy, p->w, chunk * p->plan.chunk, rows, panel * PANEL_COLUMNS);
    return copy;
}

/* What follows the sum, while the tile is in cache. */
static void finish_tile(const struct product *p, struct matrix y, size_t column)
{
    if (p->w->bias)
        add_to_rows(y, p->w->bias + column);
    activate(y, p->activation);
}

/* One round: a panel, and the rows of y and x that it is for. */
struct round {
    struct matrix y;
    const float *x;
    size_t panel;
};

/* y += x · chunk, a tile at a time. While the first tile is computed, what comes next is fetched.
 */
static void multiply_chunk(const struct product *p, const struct round *round, const float *panel,
                           size_t chunk)
{
    struct cut tiles = cut_into(round->y.rows, TILE_ROWS);
    const float *x = round->x + chunk * p->plan.chunk;
    const float *next = find_next(p, round->panel, chunk);
    for (size_t tile = 0; tile < tiles.count; tile++) {
        const struct kernel_set *set =
            &p->kernels[which(&tiles, tile)][which(&p->columns, round->panel)]
                       [which(&p->sum, chunk)];
        bool prefetch = p->plan.prefetch && tile == 0;
        size_t row = tile * TILE_ROWS;
        struct matrix y = matrix_rows(round->y, row, cut_size(&tiles, tile));
        kernel_call(&set->forms[chunk > 0][prefetch], panel, x + row * p->x.stride, y.data, next);
        if (chunk + 1 == p->sum.count)
            finish_tile(p, y, round->panel * p->plan.panel_columns);
    }
}

static void compute_round(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    size_t panel = index / p->groups.count; /* groups of one panel follow each other */
    size_t group = index % p->groups.count;
    size_t row = group * GROUP_ROWS;
    struct matrix rows = matrix_rows(p->y, row, cut_size(&p->groups, group));
    struct round round = {
        .y = matrix_columns(rows, panel * p->plan.panel_columns, cut_size(&p->columns, panel)),
        .x = p->x.data + row * p->x.stride,
        .panel = panel,
    };
    for (size_t chunk = 0; chunk < p->sum.count; chunk++) {
        const float *found = find_panel(p, panel, chunk);
        if (p->plan.copy)
            found = copy_panel(p, p->copies[thread], panel, chunk);
        multiply_chunk(p, &round, found, chunk);
    }
}

void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation)
{
    assert(x.rows == y.rows && x.columns == w->in && y.columns == w->out);
    struct plan plan = choose_plan(w, y.rows);
    struct product product = {
        .y = y,
        .x = x,
        .w = w,
        .activation = activation,
        .plan = plan,
        .groups = cut_into(y.rows, GROUP_ROWS),
        .columns = cut_into(y.columns, plan.panel_columns),
        .sum = cut_into(x.columns, plan.chunk),
        .copies = machine->panels,
    };
    fetch_kernels(machine->kernels, &product);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = product.groups.count * product.columns.count,
                 .work = (double)y.rows * (double)y.columns * (double)x.columns,
                 .round = compute_round,
             },
             &product);
}
