#include "math/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "base/platform.h"
#include "math/kernel.h"
#include "math/machine.h"
#include "math/precision.h"
#include "math/rows.h"

/* --- blocks ----------------------------------------------------------------------------------- */

/* One dimension cut into blocks of equal size, except the first and the last. */
struct blocking {
    size_t size, part, first, count;
};

/* Kinds of blocks of a dimension; blocks of a kind have the same size, 0 if there are none. */
enum blocking_kind { BLOCKING_FIRST, BLOCKING_INNER, BLOCKING_LAST, BLOCKING_KINDS };

/* Cut `size` into blocks. Size 100, part 32 and first 8 give blocks of 8, 32, 32 and 28. */
static struct blocking blocking_of(size_t size, size_t part, size_t first)
{
    first = num_min(first, size);
    size_t others = (size - first + part - 1) / part;
    return (struct blocking){size, part, first, .count = (first > 0) + others};
}

static size_t blocking_start(const struct blocking *blocking, size_t index)
{
    return index == 0 ? 0 : blocking->first + (index - 1) * blocking->part;
}

static size_t blocking_size(const struct blocking *blocking, size_t index)
{
    size_t rest = blocking->size - blocking_start(blocking, index);
    return index == 0 ? blocking->first : num_min(blocking->part, rest);
}

static enum blocking_kind blocking_kind(const struct blocking *blocking, size_t index)
{
    if (index == 0)
        return BLOCKING_FIRST;
    return blocking_size(blocking, index) == blocking->part ? BLOCKING_INNER : BLOCKING_LAST;
}

static size_t blocking_size_of(const struct blocking *blocking, enum blocking_kind which)
{
    size_t others = blocking->size - blocking->first;
    if (which == BLOCKING_FIRST)
        return blocking->first;
    if (which == BLOCKING_INNER)
        return others >= blocking->part ? blocking->part : 0;
    return others % blocking->part;
}

/* Reading a number of W takes about as long as this many multiply-adds: with few rows of x, threads
 * are worth starting for less arithmetic. */
static const double READ_WORK = 4;

/* --- plans ------------------------------------------------------------------------------------ */

enum {
    TILE_ROWS = 64,    /* rows of x that a kernel reads at a time */
    GROUP_ROWS = 192,  /* rows of x that stay in a cache of unknown size while panels are read */
    GROUP_MOST = 256,  /* maximum number of rows of x that stay in a cache of known size while
                        * panels are read */
    LARGE_GROUP = 512, /* rows of x in a group if the plan does not need smaller groups: more rows
                        * share each panel */
    TILES_GROUP = 256, /* rows of x in a group with AMX, if x is larger than TILES_CACHE bytes */
    TILES_PANELS = 4,  /* number of panels that one round multiplies with AMX: x is read once for
                        * all of them */
    TILES_CACHE = 512 * 1024,
    FEW_ROWS = 8, /* with at most this many rows of x, most time goes to reading W, which is read in
                   * pieces of SLAB_ROWS by SLAB_COLUMNS */
    SLAB_ROWS = 16,
    SLAB_COLUMNS = 768,
    IN_PLACE_CHUNK = 256, /* number of terms in a chunk of W that is read in place: few, because
                           * rows of W that are far apart evict each other from the cache */
    MANY_ROWS = 384,      /* with at least this many rows of x, it pays to copy a panel for one
                           * use */
    MANY_ROWS_WIDE = 192, /* used in place of MANY_ROWS if rows of W are WIDE floats or more
                           * apart */
    WIDE = 2560,
    DOTS_AT_ONCE = 192, /* columns of W, stored as [out, in], that one round reads in place */
    PAIR_CHUNK = 384,   /* pairs of terms in a chunk: a chunk of a panel stays in the second-level
                         * cache */
    LINE_BYTES = 64,    /* bytes of a cache line */

    STREAM_AHEAD = 2048, /* floats of W prefetched ahead if y has one row */
    ROUNDED_ROWS = 16,   /* rows of x that one thread rounds at a time */
};

enum plan_flags {
    BY_ROWS = 1,          /* no panels or kernels: W is read row by row */
    STRIPS = 2,           /* with BY_ROWS, if W is stored as [out, in]: several strips are read at a
                           * time (gemv) */
    SEVERAL_PANELS = 4,   /* a kernel reads several panels */
    COPY = 8,             /* each panel is made contiguous before it is used */
    ALIGN = 16,           /* the first panel ends where a cache line begins */
    PREFETCH = 32,        /* while a panel is used, its first tile prefetches the next panel */
    EVENLY = 64,          /* with PREFETCH: each tile prefetches a part of the next panel */
    GROUPS_IN_TURN = 128, /* all groups of rows of x use a panel before the next panel is used;
                           * otherwise a group uses all panels before the next group */
};

/* How a product is divided: W into panels of columns, the sum into chunks of terms, and x into
 * groups of rows. A round multiplies a group by some panels; for each chunk, kernels read TILE_ROWS
 * rows of x at a time, then the remaining rows. */
struct plan {
    size_t panel_columns;
    size_t chunk;  /* number of terms of the sum in a chunk; if W is in pairs: number of pairs of
                    * terms */
    size_t group;  /* number of rows of x in one round */
    size_t panels; /* number of panels in one round: x is read once for all of them */
    unsigned flags;
};

_Static_assert(LARGE_GROUP *COPY_COLUMNS <= SUMS_ROOM && LARGE_GROUP * PAIR_COLUMNS <= SUMS_ROOM &&
                   TILES_GROUP * TILES_PANELS * PAIR_COLUMNS <= SUMS_ROOM &&
                   FEW_ROWS * SLAB_COLUMNS <= SUMS_ROOM && PANEL_ROWS * COPY_COLUMNS <= SUMS_ROOM,
               "a panel's sums have room, and so has its copy");
_Static_assert(SUM_SEGMENT % SLAB_ROWS == 0 && SUM_SEGMENT % IN_PLACE_CHUNK == 0 &&
                   SUM_SEGMENT % PANEL_ROWS == 0,
               "segments are whole chunks");
_Static_assert((int)PANEL_COLUMNS == (int)PANEL_FLOATS, "kernels know panels by their columns");
_Static_assert(GROUP_ROWS % TILE_ROWS == 0 && GROUP_MOST % TILE_ROWS == 0 &&
                   LARGE_GROUP % TILE_ROWS == 0 && TILES_GROUP % TILE_ROWS == 0 &&
                   PAIR_CHUNK % TILE_PAIRS == 0,
               "groups are whole tiles, chunks whole steps");

static size_t divide_up(size_t number, size_t divisor)
{
    return (number + divisor - 1) / divisor;
}

/* The number of columns of W before the first column that begins a cache line in each row;
 * PANEL_COLUMNS if that is column 0 or there is no such column. Loading a vector that crosses a
 * line takes twice as long. */
static size_t columns_to_line(const struct weight *w)
{
    size_t past = (uintptr_t)w->data % LINE_BYTES / sizeof(float);
    bool rows_alike = w->stride * sizeof(float) % LINE_BYTES == 0;
    return past > 0 && rows_alike ? LINE_BYTES / sizeof(float) - past : PANEL_COLUMNS;
}

/* The number of panels of pairs in one round, at most TILES_PANELS, for which all threads get
 * equally many rounds. */
static size_t panels_together(const struct weight *w, size_t threads)
{
    size_t panels = divide_up(w->out, PAIR_COLUMNS);
    size_t rounds = num_max(1, divide_up(divide_up(panels, TILES_PANELS), threads) * threads);
    return divide_up(panels, rounds);
}

/* The number of rows of x in a group: a multiple of TILE_ROWS, chosen to make all groups about
 * equally large. If the size of a core's second-level cache is known, a chunk of a group fills at
 * most five eighths of it. */
static size_t even_group(size_t rows)
{
    size_t row = PANEL_ROWS * sizeof(float);
    size_t fitting = platform_cache_bytes(2) / 8 * 5 / row / TILE_ROWS * TILE_ROWS;
    size_t most = fitting ? num_min(fitting, GROUP_MOST) : GROUP_ROWS;
    size_t groups = num_max(1, divide_up(rows, most));
    return num_max(1, divide_up(rows, groups * TILE_ROWS)) * TILE_ROWS;
}

/* Choose the first plan that applies. A product with one row of x takes as long as reading W from
 * memory. With many rows of x, W is copied panel by panel unless it is packed as panels: rows of W
 * that are kilobytes apart share a few sets of a cache, and quantised rows, packed or not, become
 * floats. */
static struct plan plan_choose(const struct machine *machine, const struct weight *w, size_t rows)
{
    size_t threads = pool_threads(machine->pool);
    size_t share = num_min(divide_up(w->out, threads), SUMS_ROOM);
    size_t panels = divide_up(divide_up(w->out, PANEL_COLUMNS), threads) * PANEL_COLUMNS;
    size_t many = w->stride < WIDE ? MANY_ROWS : MANY_ROWS_WIDE;
    bool one = rows == 1;
    size_t dots = dtype_is_quantised(w->rows.dtype) ? 1 : gemv_rows_most();
    bool tiles = w->pairs && kernels_pair_way(machine->kernels) == PAIRS_BY_TILES;
    bool large = rows * w->in * BF16_BYTES > TILES_CACHE;
    bool in_order = kernels_read_in_order(machine->kernels);
    /* true: W is stored in bf16, which has half the bytes of panels of floats */
    bool halves = w->rows.data && w->rows.dtype == DTYPE_BF16;
    unsigned evenly = kernels_prefetch_evenly(machine->kernels) ? EVENLY : 0;
    unsigned strips = !cpu_tuning().rows_in_order || w->rows.dtype != DTYPE_F32 ? STRIPS : 0;
    const struct {
        bool applies;
        struct plan plan;
    } plans[] = {
        {tiles && large,
         {PAIR_COLUMNS, PAIR_CHUNK, TILES_GROUP, panels_together(w, threads),
          PREFETCH | EVENLY | GROUPS_IN_TURN}},
        {tiles, {PAIR_COLUMNS, PAIR_CHUNK, LARGE_GROUP, 1, PREFETCH | EVENLY | GROUPS_IN_TURN}},
        {w->pairs, {PAIR_COLUMNS, PAIR_CHUNK, LARGE_GROUP, 1, PREFETCH | GROUPS_IN_TURN}},
        {one && w->quants, {QUANT_COLUMNS, w->in, LARGE_GROUP, 1, BY_ROWS}},
        {one && w->panels && in_order && !halves,
         {num_min(panels, SUMS_ROOM), w->in, LARGE_GROUP, 1, SEVERAL_PANELS}},
        {w->rows.data && rows <= (w->panels ? 1 : dots),
         {DOTS_AT_ONCE, w->in, LARGE_GROUP, 1, BY_ROWS | strips}},
        {one && (w->data || w->halves), {share, w->in, LARGE_GROUP, 1, BY_ROWS}},
        {w->panels, {PANEL_COLUMNS, PANEL_ROWS, even_group(rows), 1, PREFETCH | evenly}},
        {w->rows.data || w->halves || rows >= many,
         {COPY_COLUMNS, PANEL_ROWS, LARGE_GROUP, 1, COPY}},
        {rows <= FEW_ROWS, {SLAB_COLUMNS, SLAB_ROWS, LARGE_GROUP, 1, 0}},
        {true, {PANEL_COLUMNS, IN_PLACE_CHUNK, LARGE_GROUP, 1, PREFETCH | ALIGN}},
    };
    size_t i = 0;
    while (!plans[i].applies)
        i++;
    return plans[i].plan;
}

/* --- the epilogue ----------------------------------------------------------------------------- */

/* The operations on the sums of a product while the sums are in cache. If y.data or total.data is
 * NULL, that result is not computed. With a total there is no activation. */
struct epilogue {
    struct matrix y;     /* the result, activation(sums + bias) */
    struct matrix total; /* sums + bias are added to it */
    const float *bias;   /* [columns]; NULL: there is no bias */
    float factor;        /* multiplies the sums; 0: there is no factor */
    enum activation activation;
};

/* The first row and column of a tile in y. */
struct corner {
    size_t row, column;
};

static inline void add_biased_row(float *restrict to, const float *restrict sums,
                                  const float *restrict bias, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += sums[i] + bias[i];
}

/* total += sums + bias. This reads the sums again and not y, which may not be in cache. */
FOR_EACH_ISA
static void add_biased_rows(struct matrix total, struct matrix sums, const float *bias)
{
    for (size_t row = 0; row < sums.rows; row++) {
        if (sums.columns == PANEL_COLUMNS)
            add_biased_row(total.data, sums.data, bias, PANEL_COLUMNS);
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
    for (size_t row = 0; epilogue->factor != 0 && row < sums.rows; row++)
        scale_row(matrix_row(sums, row), matrix_row(sums, row), sums.columns, epilogue->factor);
    if (epilogue->y.data)
        activate(tile_of(epilogue->y, sums, at), sums, bias, epilogue->activation);
    if (epilogue->total.data && bias)
        add_biased_rows(tile_of(epilogue->total, sums, at), sums, bias);
    else if (epilogue->total.data)
        add_rows(tile_of(epilogue->total, sums, at), sums);
}

/* --- the product ------------------------------------------------------------------------------ */

/* Kernels for one size of tile and chunk. First index: 0 sets C, 1 adds to C; second index: 0
 * prefetches nothing, 1 prefetches. */
struct kernel_set {
    struct kernel forms[2][2];
};

/* The product x · W and how it is computed. If W is stored as pairs, x is made of pairs as well,
 * and only kernels read x. */
struct product {
    struct matrix x;
    const struct weight *w;
    struct epilogue epilogue;
    double work; /* number of multiply-adds */
    struct plan plan;
    size_t threads;
    struct blocking groups, tiles, columns, sum; /* `groups` and `tiles` divide the rows of x */
    size_t segment;                              /* number of chunks in a segment of the sum */
    const struct thread_buffers *buffers;        /* [thread] buffers of the machine */
    struct kernel_set kernels[BLOCKING_KINDS][BLOCKING_KINDS]
                             [BLOCKING_KINDS]; /* indexed by the kind of block of the rows, then of
                                                * the columns, then of the sum */
};

/* Return the packed panels of W, which follow each other in memory; NULL: W is not packed. */
static const float *packed_panels(const struct weight *w)
{
    return w->pairs ? (const float *)w->pairs : w->panels;
}

static void fetch_set(struct kernels *kernels, const struct product *p, struct kernel_set *set,
                      struct kernel_shape shape)
{
    if (shape.m == 0 || shape.n == 0 || shape.k == 0)
        return;
    int prefetches = p->plan.flags & PREFETCH ? 1 : 0;
    int columns = shape.pairs ? PAIR_COLUMNS : shape.panels ? PANEL_COLUMNS : 1;
    shape.m = (shape.m + columns - 1) / columns *
              columns; /* rounded up to whole panels: columns beyond the last one of y are
                        * ignored */
    for (shape.accumulate = 0; shape.accumulate <= (p->sum.count > 1); shape.accumulate++)
        for (shape.prefetch = 0; shape.prefetch <= prefetches; shape.prefetch++)
            kernels_get(kernels, &set->forms[shape.accumulate][shape.prefetch], &shape, p->work);
}

static void fetch_kernels(struct kernels *kernels, struct product *p)
{
    bool panels = (p->plan.flags & COPY) || packed_panels(p->w);
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
                              .panels = p->plan.flags & SEVERAL_PANELS ? 1 : 0,
                          });
}

/* The address of a chunk of a panel: in the packed panels or, if W is not packed, in W itself. */
static const float *find_panel(const struct product *p, size_t panel, size_t chunk)
{
    size_t row = chunk * p->plan.chunk;
    size_t column = blocking_start(&p->columns, panel);
    const float *packed = packed_panels(p->w);
    if (packed)
        return packed + column * p->sum.size + row * p->plan.panel_columns;
    return p->w->data + row * p->w->stride + column;
}

/* One round of a product: a group of rows of x by the panels [first, end). */
struct round {
    size_t group, first, end;
};

static size_t rounds_of_group(const struct product *p)
{
    return (p->columns.count + p->plan.panels - 1) / p->plan.panels;
}

static struct round round_at(const struct product *p, size_t index)
{
    size_t groups = p->groups.count;
    size_t blocks = rounds_of_group(p);
    bool turn = p->plan.flags & GROUPS_IN_TURN;
    size_t first = (turn ? index / groups : index % blocks) * p->plan.panels;
    size_t end = num_min(first + p->plan.panels, p->columns.count);
    return (struct round){turn ? index % groups : index / blocks, first, end};
}

/* The address of the panel that this thread will probably multiply next; other threads multiply the
 * panels in between. After the last panel it is one of the first panels, because the address must
 * be readable. */
static const float *find_next(const struct product *p, const struct round *round, size_t panel,
                              size_t chunk)
{
    if (panel + 1 < round->end)
        return find_panel(p, panel + 1, chunk);
    if (chunk + 1 < p->sum.count)
        return find_panel(p, round->first, chunk + 1);
    size_t step = p->plan.flags & GROUPS_IN_TURN ? 1 : p->threads;
    return find_panel(p, (round->first + step * p->plan.panels) % p->columns.count, 0);
}

/* The product of a group of rows of x and a panel. */
struct product_part {
    const float *panel, *next; /* `next`: the panel to prefetch; NULL: nothing is prefetched */
    struct matrix sums;
    float *segment; /* sums of a segment after the first; as large as `sums` */
    struct corner at;
    size_t index; /* index of the panel */
};

/* sums += x · chunk, a tile at a time; segments after the first are summed separately. The first
 * tile prefetches the next panel, or each tile an equal part of it. */
static void multiply_chunk(const struct product *p, const struct product_part *part, size_t chunk)
{
    const float *x = matrix_row(p->x, part->at.row) + chunk * p->plan.chunk;
    size_t tile = part->at.row / TILE_ROWS; /* index of the group's first tile, because groups begin
                                             * where tiles begin */
    size_t tiles = (part->sums.rows + TILE_ROWS - 1) / TILE_ROWS;
    bool last = chunk + 1 == p->sum.count;
    size_t share = p->plan.flags & EVENLY ? p->plan.chunk * p->plan.panel_columns / tiles : 0;
    for (size_t row = 0, i = 0; row < part->sums.rows; row += TILE_ROWS, i++) {
        const struct kernel_set *set =
            &p->kernels[blocking_kind(&p->tiles, tile + i)][blocking_kind(&p->columns, part->index)]
                       [blocking_kind(&p->sum, chunk)];
        bool prefetch = part->next && (i == 0 || share > 0);
        struct matrix sums = matrix_rows(part->sums, row, blocking_size(&p->tiles, tile + i));
        struct matrix segment = sums;
        if (chunk >= p->segment)
            segment.data = part->segment + row * sums.stride;
        struct kernel kernel = set->forms[chunk % p->segment > 0][prefetch];
        kernel.shape.prefetch = share > 0 ? (int)tiles : prefetch;
        kernel_call(&kernel, part->panel, x + row * p->x.stride, segment.data,
                    prefetch ? part->next + i * share : part->panel);
        if (chunk >= p->segment && (last || (chunk + 1) % p->segment == 0))
            add_rows(sums, segment);
        if (last)
            epilogue_apply(&p->epilogue, sums,
                           (struct corner){part->at.row + row, part->at.column});
    }
}

static void compute_panels(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    const struct thread_buffers *buffers = &p->buffers[thread];
    struct round round = round_at(p, index);
    size_t row = blocking_start(&p->groups, round.group);
    size_t rows = blocking_size(&p->groups, round.group);
    /* with COPY, panels are made contiguous first; otherwise kernels read panels in place */
    bool copies = p->plan.flags & COPY;
    for (size_t chunk = 0; chunk < p->sum.count; chunk++)
        for (size_t panel = round.first; panel < round.end; panel++) {
            size_t offset = (panel - round.first) * rows * p->plan.panel_columns;
            size_t column = blocking_start(&p->columns, panel);
            struct product_part part = {
                .panel = copies ? buffers->panel : find_panel(p, panel, chunk),
                .next = p->plan.flags & PREFETCH ? find_next(p, &round, panel, chunk) : NULL,
                .sums = {buffers->sums + offset, rows, blocking_size(&p->columns, panel),
                         p->plan.panel_columns},
                .segment = buffers->segment + offset,
                .at = {row, column},
                .index = panel,
            };
            struct weight_piece piece = {chunk * p->plan.chunk, blocking_size(&p->sum, chunk),
                                         column};
            if (copies)
                weight_copy(buffers->panel, COPY_COLUMNS, p->w, piece);
            multiply_chunk(p, &part, chunk);
        }
}

/* Compute one segment of the product of one row: sums = Σ x[k] · row k of W, for up to SUM_SEGMENT
 * rows from row `first` on. Rows in bf16 are converted to floats in `scratch`. */
static void stream_segment(const struct product *p, size_t column, struct matrix sums, size_t first,
                           float *scratch)
{
    size_t count = sums.columns;
    size_t rows_ahead = (STREAM_AHEAD + count - 1) / count;
    size_t later = count == p->w->stride ? STREAM_AHEAD : rows_ahead * p->w->stride;
    memset(sums.data, 0, count * sizeof *sums.data);
    for (size_t k = first; k < num_min(first + SUM_SEGMENT, p->x.columns); k++) {
        const float *row = weight_row(p->w, k, column, count, scratch);
        add_scaled_row(sums.data, row, count, p->x.data[k], row == scratch ? row : row + later);
    }
}

static void compute_columns(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    const struct thread_buffers *buffers = &p->buffers[thread];
    size_t column = blocking_start(&p->columns, index);
    size_t count = blocking_size(&p->columns, index);
    struct matrix sums = {buffers->sums, p->x.rows, count, count}, segment = sums;
    segment.data = buffers->segment;
    if (p->w->quants && p->x.rows == 1)
        quants_multiply(sums.data, p->x.data, p->w, column);
    else if (p->w->rows.data)
        gemv(sums, p->x, p->w, column, p->plan.flags & STRIPS);
    else
        stream_segment(p, column, sums, 0, buffers->panel);
    for (size_t first = SUM_SEGMENT; !p->w->rows.data && first < p->x.columns;
         first += SUM_SEGMENT) {
        stream_segment(p, column, segment, first, buffers->panel);
        add_to_row(sums.data, segment.data, count);
    }
    epilogue_apply(&p->epilogue, sums, (struct corner){0, column});
}

/* --- x in bf16 -------------------------------------------------------------------------------- */

struct rounding {
    struct matrix to, x;
    bool pairs; /* `to` gets bf16 pairs; otherwise floats rounded to bf16 */
};

FOR_EACH_ISA
static void round_row(float *restrict to, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bf16_rounded(row[i]);
}

static void round_rows(void *context, size_t round, size_t thread)
{
    const struct rounding *r = context;
    size_t end = num_min((round + 1) * ROUNDED_ROWS, r->x.rows);
    (void)thread;
    for (size_t row = round * ROUNDED_ROWS; row < end; row++) {
        const float *from = matrix_row(r->x, row);
        float *to = matrix_row(r->to, row);
        if (r->pairs)
            bf16_pair_row((uint32_t *)(void *)to, from, r->x.columns);
        else
            round_row(to, from, r->x.columns);
    }
}

static struct matrix round_input(struct machine *machine, struct matrix x, bool pairs)
{
    size_t columns = pairs ? bf16_pairs(x.columns) : x.columns;
    struct matrix to = {machine->rounded, x.rows, columns, matrix_stride(columns)};
    double work = (double)x.rows * (double)x.columns;
    assert(to.rows * to.stride <= machine->rounded_size);
    pool_run(machine->pool, (struct loop){divide_up(x.rows, ROUNDED_ROWS), work, round_rows},
             &(struct rounding){to, x, pairs});
    return to;
}

/* --- products --------------------------------------------------------------------------------- */

static void multiply(struct machine *machine, struct product *p)
{
    size_t rows = p->x.rows;
    p->threads = pool_threads(machine->pool);
    p->work = (double)rows * (double)p->w->out * (double)p->x.columns;
    p->plan = plan_choose(machine, p->w, rows);
    bool by_rows = p->plan.flags & BY_ROWS;
    if (p->w->pairs || p->w->rounded)
        p->x = round_input(machine, p->x, p->w->pairs != NULL);
    p->groups = blocking_of(rows, p->plan.group, p->plan.group);
    p->tiles = blocking_of(rows, TILE_ROWS, TILE_ROWS);
    p->columns = blocking_of(p->w->out, p->plan.panel_columns,
                             p->plan.flags & ALIGN ? columns_to_line(p->w) : p->plan.panel_columns);
    p->sum = blocking_of(p->x.columns, p->plan.chunk, p->plan.chunk);
    /* If a chunk may have more terms than a segment, the function that adds its terms divides the
     * sum into segments itself (vectors.h, gemv). */
    bool whole = machine->whole_sums || p->w->pairs || p->plan.chunk > SUM_SEGMENT;
    p->segment = whole ? p->sum.count : SUM_SEGMENT / p->plan.chunk;
    p->buffers = machine->buffers;
    if (!by_rows)
        fetch_kernels(machine->kernels, p);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = p->groups.count * rounds_of_group(p),
                 .work = p->work * (1 + READ_WORK / (double)rows),
                 .round = by_rows ? compute_columns : compute_panels,
             },
             p);
}

static bool is_product(struct matrix y, struct matrix x, const struct weight *w)
{
    return x.columns == w->in && y.rows == x.rows && y.columns == w->out;
}

void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation)
{
    struct epilogue epilogue = {y, .bias = w->bias, w->factor, activation};
    assert(is_product(y, x, w));
    multiply(machine, &(struct product){.x = x, .w = w, .epilogue = epilogue});
}

void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w)
{
    struct epilogue epilogue = {y, total, w->bias, w->factor, ACTIVATION_NONE};
    assert(is_product(total, x, w) && (!y.data || is_product(y, x, w)));
    multiply(machine, &(struct product){.x = x, .w = w, .epilogue = epilogue});
}
