#include "math/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "base/platform.h"
#include "math/precision.h"
#include "math/isa.h"
#include "math/kernel.h"
#include "math/machine.h"
#include "math/rows.h"

/* --- blocks ------------------------------------------------------------------------------------ */

/* One dimension cut into blocks of equal size, except the first and the last. */
struct blocking {
    size_t size, part, first, count;
};

/* Blocks have at most three sizes: the size of a kind of block, 0 if there is none. */
enum blocking_kind { BLOCKING_FIRST, BLOCKING_INNER, BLOCKING_LAST, BLOCKING_KINDS };

/* 100, 32, 8: blocks of 8, 32, 32 and 28. */
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

/* --- plans ------------------------------------------------------------------------------------ */

enum {
    TILE_ROWS = 64,    /* of x, that a kernel takes at a time */
    GROUP_ROWS = 192,  /* of one round: they stay in cache while panels come and go; */
    GROUP_MOST = 256,  /* more where a core's cache is large */
    LARGE_GROUP = 512, /* the same in place and of pairs: the more rows share a panel the better */
    TILES_GROUP = 256, /* the same where panels go … */
    TILES_PANELS = 4,  /* … so many at a time, */
    TILES_CACHE = 512 * 1024, /* from where x is more than this */
    FEW_ROWS = 8,   /* up to here reading W is all the work: whole rows of it, in order, */
    SLAB_ROWS = 16, /* so many at a time, */
    SLAB_COLUMNS = 768,
    IN_PLACE_CHUNK = 256, /* of the sum: rows of W that lie far apart fill no more of a cache */
    MANY_ROWS = 384,      /* from here on it pays to copy a panel for one use, */
    WIDE = 2560,
    MANY_ROWS_WIDE = 192, /* the sooner the farther rows of W are apart */
    DOTS_AT_ONCE = 192,   /* rows of W as [out, in] that a round reads where they lie */
    PAIR_CHUNK = 384,     /* of the sum: a chunk of a panel stays in the second-level cache */
    LINE_BYTES = 64,      /* of the caches */
};

struct plan {
    size_t panel_columns, first_columns; /* of the panels, and of the first of them */
    size_t chunk;                        /* of the sum */
    size_t group;                        /* rows of one round */
    size_t panels;                       /* of one round: x is read once for all of them */
    bool row;                            /* no panels, no kernels: W is read row by row */
    bool strips;                         /* its rows, as [out, in], from LANES places at once */
    bool at_once;                        /* a kernel takes several panels */
    bool copy;                           /* each panel is made contiguous before it is used */
    bool prefetch;                       /* while a panel is used the next is prefetched, */
    bool prefetch_shared;                /* a share of it with every tile */
    bool groups_in_turn;                 /* all groups of a panel, then of the next; not all panels
                                            of a group */
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

/* The columns of W that come before the first cache line that begins in a row, or a panel's. A
 * file aligns its tensors to 8 bytes; a vector that lies across two lines is read twice. */
static size_t columns_to_line(const struct weight *w)
{
    size_t past = (uintptr_t)w->data % LINE_BYTES / sizeof(float);
    bool rows_alike = w->stride * sizeof(float) % LINE_BYTES == 0;
    return past > 0 && rows_alike ? LINE_BYTES / sizeof(float) - past : PANEL_COLUMNS;
}

/* The panels of pairs that go together: threads have as many rounds. */
static size_t panels_together(const struct weight *w, size_t threads)
{
    size_t panels = (w->out + PAIR_COLUMNS - 1) / PAIR_COLUMNS;
    size_t rounds = (panels + TILES_PANELS - 1) / TILES_PANELS;
    rounds = (rounds + threads - 1) / threads * threads;
    return (panels + rounds - 1) / rounds;
}

/* Panels of pairs by tiles. Those are so fast that x must not come from far for each panel: a few
 * share it. */
static struct plan plan_of_tiles(const struct weight *w, size_t rows, size_t threads)
{
    struct plan plan = {PAIR_COLUMNS, PAIR_COLUMNS, PAIR_CHUNK, LARGE_GROUP, .panels = 1};
    plan.prefetch = plan.prefetch_shared = plan.groups_in_turn = true;
    if (rows * w->in * BF16_BYTES > TILES_CACHE) {
        plan.panels = panels_together(w, threads);
        plan.group = TILES_GROUP;
    }
    return plan;
}

/* The rows of x, of a chunk's length, that fill five eighths of a core's cache. */
static size_t rows_of_cache(void)
{
    size_t row = PANEL_ROWS * sizeof(float);
    size_t rows = platform_core_cache_bytes() / 8 * 5 / row / TILE_ROWS * TILE_ROWS;
    return rows ? num_min(rows, GROUP_MOST) : GROUP_ROWS;
}

/* Whole tiles, about as many for each group. */
static size_t even_group(size_t rows)
{
    size_t most = rows_of_cache();
    size_t groups = num_max(1, (rows + most - 1) / most);
    size_t tiles = (rows + groups * TILE_ROWS - 1) / (groups * TILE_ROWS);
    return num_max(1, tiles) * TILE_ROWS;
}

/* One row, by panels as they follow each other in memory. */
static struct plan plan_in_order(const struct weight *w, size_t threads)
{
    size_t panels = (w->out + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    size_t part = num_min((panels + threads - 1) / threads * PANEL_COLUMNS, SUMS_ROOM);
    return (struct plan){part, part, w->in, LARGE_GROUP, 1, .at_once = true};
}

/* One row streams through W, which is all that memory can do, or reads panels where there is
 * nothing else, or memory is best read so. Panels are read once, in order. W in place, where it
 * lies in the file: few rows stream through it; many rows copy it panel by panel, because rows of W
 * that are kilobytes apart fall on the same few lines of the caches. What is prefetched is narrow:
 * a kernel asks for the whole of the next panel during its first rows. W as [out, in] is read row
 * by row for one row, and transposed panel by panel for more, or if it is quantised: to make
 * numbers of it takes the same time for one row; in bf16 it is widened, too. */
static struct plan plan_choose(const struct machine *machine, const struct weight *w, size_t rows)
{
    size_t threads = pool_threads(machine->pool);
    size_t part = num_min((w->out + threads - 1) / threads, SUMS_ROOM);
    struct plan one_row = {part, part, w->in, LARGE_GROUP, 1, .row = true};
    struct plan dots = {DOTS_AT_ONCE, DOTS_AT_ONCE, w->in, LARGE_GROUP, 1, .row = true};
    dots.strips = !cpu_tuning().reads_in_order || w->rows.bytes != FLOAT_BYTES; /* halves too */
    struct plan pairs = {PAIR_COLUMNS,     PAIR_COLUMNS,          PAIR_CHUNK, LARGE_GROUP, 1,
                         .prefetch = true, .groups_in_turn = true};
    struct plan packed = {PANEL_COLUMNS,   PANEL_COLUMNS, PANEL_ROWS, even_group(rows), 1,
                          .prefetch = true};
    struct plan slabs = {SLAB_COLUMNS, SLAB_COLUMNS, SLAB_ROWS, LARGE_GROUP, 1, .row = false};
    struct plan in_place = {PANEL_COLUMNS,   columns_to_line(w), IN_PLACE_CHUNK, LARGE_GROUP, 1,
                            .prefetch = true};
    struct plan copied = {COPY_COLUMNS, COPY_COLUMNS, PANEL_ROWS, LARGE_GROUP, 1, .copy = true};
    packed.prefetch_shared = kernels_prefetch_evenly(machine->kernels);
    if (w->pairs && kernels_pair_way(machine->kernels) == PAIRS_BY_TILES)
        return plan_of_tiles(w, rows, threads);
    if (w->pairs)
        return pairs;
    if (w->panels && rows == 1 && kernels_read_in_order(machine->kernels))
        return plan_in_order(w, threads);
    if (w->rows.data && w->rows.bytes && rows == 1)
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

enum {
    USUAL_COLUMNS = 32,  /* with a number that is known, a loop has no rest */
    STREAM_AHEAD = 2048, /* floats that one row of y prefetches */
    ROUNDED_ROWS = 16,   /* of x, by one thread at a time */
};

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
    size_t segment;                              /* chunks of one, each sum of which is a chain */
    float *const *copies, *const *sums;          /* [thread] room for a panel's chunk, its sums, */
    float *const *segments;                      /* and those of one segment */
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
    int columns = shape.pairs ? PAIR_COLUMNS : shape.panels ? PANEL_COLUMNS : 1;
    shape.m = (shape.m + columns - 1) / columns * columns; /* the last ones may be none of y's */
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
                              .panels = p->plan.at_once,
                          });
}

/* A chunk of a panel where it lies. */
static const float *find_panel(const struct product *p, size_t panel, size_t chunk)
{
    size_t row = chunk * p->plan.chunk;
    size_t column = blocking_start(&p->columns, panel);
    const float *packed = packed_panels(p->w);
    if (packed)
        return packed + column * p->sum.size + row * p->plan.panel_columns;
    return p->w->data + row * p->w->stride + column;
}

/* One round: a group of rows by a few panels, [first, end). */
struct round {
    size_t group, first, end;
};

/* Into how many rounds the panels of a group go. */
static size_t rounds_of_group(const struct product *p)
{
    return (p->columns.count + p->plan.panels - 1) / p->plan.panels;
}

static struct round round_at(const struct product *p, size_t index)
{
    size_t groups = p->groups.count;
    size_t blocks = rounds_of_group(p);
    bool turn = p->plan.groups_in_turn;
    size_t first = (turn ? index / groups : index % blocks) * p->plan.panels;
    size_t end = num_min(first + p->plan.panels, p->columns.count);
    return (struct round){turn ? index % groups : index / blocks, first, end};
}

/* What this thread works on next, most likely: the panels between are the other threads'. At the
 * end it is one of the first: any will do. */
static const float *find_next(const struct product *p, const struct round *round, size_t panel,
                              size_t chunk)
{
    if (panel + 1 < round->end)
        return find_panel(p, panel + 1, chunk);
    if (chunk + 1 < p->sum.count)
        return find_panel(p, round->first, chunk + 1);
    size_t step = p->plan.groups_in_turn ? 1 : p->threads;
    return find_panel(p, (round->first + step * p->plan.panels) % p->columns.count, 0);
}

/* A panel and the place of its sums, with those of all rows of a group, in y. */
struct part {
    const float *panel, *next; /* NULL: nothing is prefetched */
    struct matrix sums;
    float *segment; /* as large as the sums: those of a segment but the first */
    struct corner at;
    size_t index; /* of the panel */
};

/* sums += x · chunk, a tile at a time; segments after the first are summed apart. While the first
 * tile is computed, what comes next is prefetched; or an equal share of it with each. */
static void multiply_chunk(const struct product *p, const struct part *part, size_t chunk)
{
    const float *x = p->x.data + part->at.row * p->x.stride + chunk * p->plan.chunk;
    size_t tile = part->at.row / TILE_ROWS; /* groups are whole tiles */
    size_t tiles = (part->sums.rows + TILE_ROWS - 1) / TILE_ROWS;
    bool last = chunk + 1 == p->sum.count;
    size_t share = p->plan.prefetch_shared ? p->plan.chunk * p->plan.panel_columns / tiles : 0;
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

/* A chunk of a panel as kernels read it: where it lies, or made contiguous. */
static const float *prepare_panel(const struct product *p, size_t thread, size_t panel,
                                  size_t chunk)
{
    float *copy = p->copies[thread];
    size_t column = blocking_start(&p->columns, panel);
    struct weight_piece piece = {chunk * p->plan.chunk, blocking_size(&p->sum, chunk), column};
    if (!p->plan.copy)
        return find_panel(p, panel, chunk);
    weight_copy(copy, COPY_COLUMNS, p->w, piece);
    return copy;
}

static void compute_panels(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    struct round round = round_at(p, index);
    size_t row = blocking_start(&p->groups, round.group);
    size_t rows = blocking_size(&p->groups, round.group);
    for (size_t chunk = 0; chunk < p->sum.count; chunk++)
        for (size_t panel = round.first; panel < round.end; panel++) {
            size_t offset = (panel - round.first) * rows * p->plan.panel_columns;
            struct part part = {
                .panel = prepare_panel(p, thread, panel, chunk),
                .next = p->plan.prefetch ? find_next(p, &round, panel, chunk) : NULL,
                .sums = {p->sums[thread] + offset, rows, blocking_size(&p->columns, panel),
                         p->plan.panel_columns},
                .segment = p->segments[thread] + offset,
                .at = {row, blocking_start(&p->columns, panel)},
                .index = panel,
            };
            multiply_chunk(p, &part, chunk);
        }
}

/* Columns of one row: sums += x[k] · row k of W, which may have to be widened, for a segment. */
static void stream_segment(const struct product *p, size_t column, struct matrix sums, size_t first,
                           float *room)
{
    size_t count = sums.columns;
    size_t rows_ahead = (STREAM_AHEAD + count - 1) / count;
    size_t later = count == p->w->stride ? STREAM_AHEAD : rows_ahead * p->w->stride;
    memset(sums.data, 0, count * sizeof *sums.data);
    for (size_t k = first; k < num_min(first + SUM_SEGMENT, p->x.columns); k++) {
        const float *row = weight_row(p->w, k, column, count, room);
        add_scaled_row(sums.data, row, count, p->x.data[k], row == room ? row : row + later);
    }
}

static void stream_rows(const struct product *p, size_t column, struct matrix sums, size_t thread)
{
    struct matrix segment = sums;
    segment.data = p->segments[thread];
    stream_segment(p, column, sums, 0, p->copies[thread]);
    for (size_t first = SUM_SEGMENT; first < p->x.columns; first += SUM_SEGMENT) {
        stream_segment(p, column, segment, first, p->copies[thread]);
        add_to_row(sums.data, segment.data, sums.columns);
    }
}

static void compute_columns(void *context, size_t index, size_t thread)
{
    const struct product *p = context;
    size_t column = blocking_start(&p->columns, index);
    size_t count = blocking_size(&p->columns, index);
    struct matrix sums = {p->sums[thread], p->x.rows, count, count};
    if (p->w->rows.data)
        gemv(sums, p->x, p->w, column, p->plan.strips);
    else
        stream_rows(p, column, sums, thread);
    epilogue_apply(&p->epilogue, sums, (struct corner){0, column});
}

/* --- x in bf16 -------------------------------------------------------------------------------- */

struct rounding {
    struct matrix to, x;
    bool pairs; /* to pairs; or to floats */
};

static void round_rows(void *context, size_t round, size_t thread)
{
    const struct rounding *r = context;
    size_t end = num_min((round + 1) * ROUNDED_ROWS, r->x.rows);
    (void)thread;
    for (size_t row = round * ROUNDED_ROWS; row < end; row++) {
        const float *from = r->x.data + row * r->x.stride;
        float *to = r->to.data + row * r->to.stride;
        if (r->pairs)
            bf16_pair_row((uint32_t *)(void *)to, from, r->x.columns);
        else
            bf16_round_each(to, from, r->x.columns);
    }
}

static struct matrix round_input(struct machine *machine, struct matrix x, bool pairs)
{
    size_t columns = pairs ? bf16_pairs(x.columns) : x.columns;
    struct matrix to = {machine->rounded, x.rows, columns, matrix_stride(columns)};
    struct loop loop = {
        .rounds = (x.rows + ROUNDED_ROWS - 1) / ROUNDED_ROWS,
        .work = (double)x.rows * (double)x.columns,
        .round = round_rows,
    };
    assert(to.rows * to.stride <= machine->rounded_size);
    pool_run(machine->pool, loop, &(struct rounding){to, x, pairs});
    return to;
}

/* --- both ------------------------------------------------------------------------------------- */

/* A plan that takes the whole sum at once has segments of its own (kernel_panels.h). */
static size_t chunks_of_segment(const struct machine *machine, const struct product *p)
{
    bool whole = machine->whole_sums || p->w->pairs || p->plan.chunk > SUM_SEGMENT;
    return whole ? p->sum.count : SUM_SEGMENT / p->plan.chunk;
}

static void multiply(struct machine *machine, struct product *p)
{
    size_t rows = p->x.rows;
    p->threads = pool_threads(machine->pool);
    p->work = (double)rows * (double)p->w->out * (double)p->x.columns;
    p->plan = plan_choose(machine, p->w, rows);
    if (p->w->pairs || p->w->rounded)
        p->x = round_input(machine, p->x, p->w->pairs != NULL);
    p->groups = blocking_of(rows, p->plan.group, p->plan.group);
    p->tiles = blocking_of(rows, TILE_ROWS, TILE_ROWS);
    p->columns = blocking_of(p->w->out, p->plan.panel_columns, p->plan.first_columns);
    p->sum = blocking_of(p->x.columns, p->plan.chunk, p->plan.chunk);
    p->segment = chunks_of_segment(machine, p);
    p->copies = machine->panels;
    p->sums = machine->sums;
    p->segments = machine->segments;
    if (!p->plan.row)
        fetch_kernels(machine->kernels, p);
    pool_run(machine->pool,
             (struct loop){
                 .rounds = p->groups.count * rounds_of_group(p),
                 .work = p->work,
                 .round = p->plan.row ? compute_columns : compute_panels,
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
