#include "math/plan.h"

#include <stdint.h>

#include "base/num.h"
#include "base/platform.h"
#include "math/avx512.h"
#include "math/kernel_body.h"
#include "math/machine.h"
#include "math/target.h"

enum {
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

/* The rows of x that W as [out, in] is read for where it lies: their sums stay in registers. */
static size_t rows_in_registers(const struct weight *w)
{
    return !w->rows.bytes ? 1 : has_avx512() ? GEMV_ROWS : 0;
}

/* One row streams through W, which is all that memory can do, or reads panels where there is
 * nothing else, or memory is best read so. Panels are read once, in order. W in place, where it
 * lies in the file: few rows stream through it; many rows copy it panel by panel, because rows of W
 * that are kilobytes apart fall on the same few lines of the caches. What is prefetched is narrow:
 * a kernel asks for the whole of the next panel during its first rows. W as [out, in] is read row
 * by row for one row, and transposed panel by panel for more, or if it is quantised: to make
 * numbers of it takes the same time for one row; in bf16 it is widened, too. */
struct plan plan_choose(const struct machine *machine, const struct weight *w, size_t rows)
{
    size_t threads = pool_threads(machine->pool);
    size_t part = num_min((w->out + threads - 1) / threads, SUMS_ROOM);
    struct plan one_row = {part, part, w->in, LARGE_GROUP, 1, .row = true};
    struct plan dots = {DOTS_AT_ONCE, DOTS_AT_ONCE, w->in, LARGE_GROUP, 1, .row = true};
    dots.strips = !target_habits().reads_in_order || w->rows.bytes != FLOAT_BYTES; /* halves too */
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
    if (w->rows.data && rows <= rows_in_registers(w))
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
