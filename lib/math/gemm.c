#include "math/gemm.h"

#include <assert.h>

#include "math/rows.h"

enum {
    TILE_ROWS = 64,    /* tokens a task works on */
    TILE_COLUMNS = 64, /* output channels: one head's q, k or v in GPT-2 */
    CHUNK = 768,       /* of the sum: a chunk of the panel stays in the second-level cache */
};

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

struct product {
    struct matrix y, x;
    const struct weight *w;
    enum activation activation;
    struct cut rows, columns, sum;
    struct kernel kernels[SIZES][SIZES][SIZES][2]; /* rows, columns, sum, accumulate */
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

static void fetch_kernel(struct kernels *kernels, struct product *p, int rows, int columns, int sum)
{
    struct kernel_shape shape = {
        .m = (int)size_of(&p->columns, columns),
        .n = (int)size_of(&p->rows, rows),
        .k = (int)size_of(&p->sum, sum),
        .a_stride = (int)p->w->stride,
        .b_stride = (int)p->x.stride,
        .c_stride = (int)p->y.stride,
    };
    if (shape.m == 0 || shape.n == 0 || shape.k == 0)
        return;
    int only = which(&p->sum, 0) != sum; /* the first chunk has the other size */
    for (shape.accumulate = only; shape.accumulate <= (p->sum.count > 1); shape.accumulate++)
        kernels_get(kernels, &p->kernels[rows][columns][sum][shape.accumulate], &shape);
}

static void fetch_kernels(struct kernels *kernels, struct product *p)
{
    kernels_begin(kernels);
    for (int rows = FULL; rows < SIZES; rows++)
        for (int columns = FULL; columns < SIZES; columns++)
            for (int sum = FULL; sum < SIZES; sum++)
                fetch_kernel(kernels, p, rows, columns, sum);
}

/* One tile of y: the sum over chunks, then what follows it. */
static void compute_tile(void *context, size_t round, size_t thread)
{
    const struct product *p = context;
    (void)thread;
    size_t panel =
        round / p->rows.count; /* tiles of one panel follow each other: it stays cached */
    size_t tile = round % p->rows.count;
    size_t row = tile * TILE_ROWS;
    size_t column = panel * TILE_COLUMNS;
    struct matrix y = matrix_rows(p->y, row, cut_size(&p->rows, tile));
    y = matrix_columns(y, column, cut_size(&p->columns, panel));
    const struct kernel(*kernels)[2] = p->kernels[which(&p->rows, tile)][which(&p->columns, panel)];
    for (size_t chunk = 0; chunk < p->sum.count; chunk++) {
        size_t k = chunk * CHUNK;
        const struct kernel *kernel = &kernels[which(&p->sum, chunk)][chunk > 0];
        const float *w = p->w->data + k * p->w->stride + column;
        kernel_call(kernel, w, p->x.data + row * p->x.stride + k, y.data);
    }
    if (p->w->bias)
        add_to_rows(y, p->w->bias + column);
    activate(y, p->activation);
}

void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation)
{
    assert(x.rows == y.rows && x.columns == w->in && y.columns == w->out);
    struct product product = {
        .y = y,
        .x = x,
        .w = w,
        .activation = activation,
        .rows = cut_into(y.rows, TILE_ROWS),
        .columns = cut_into(y.columns, TILE_COLUMNS),
        .sum = cut_into(x.columns, CHUNK),
    };
    fetch_kernels(machine->kernels, &product);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = product.rows.count * product.columns.count,
                 .work = (double)y.rows * (double)y.columns * (double)x.columns,
                 .round = compute_tile,
             },
             &product);
}
