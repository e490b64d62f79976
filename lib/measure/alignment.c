#include "measure/alignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"

/* Some programs write a large negative number for -infinity: numbers below MASKED_BELOW count as
 * masked. */
static const float MASKED_BELOW = -1e9f;

/* The largest error of a printed number: half a unit of its last decimal, plus the rounding to
 * float32. */
static const double PRINTED_ERROR = 5.1e-5;

/* --- differences ------------------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sizes of an array's axes: heads, rows (tokens or queries) and columns (channels or keys). */
struct axis_sizes {
    size_t heads, rows, columns;
};

static struct axis_sizes sizes_of(const struct array *array)
{
    size_t rows = array->rows.size, columns = array->columns.size;
    return (struct axis_sizes){array_cells(array) / (rows * columns), rows, columns};
}

struct difference difference_of(const struct array *ours, const float *theirs, double tolerance,
                                bool printed)
{
    enum {
        ROWS = 1024
    }; /* maximum number of tokens from which the median is computed; of a longer text, only every
        * `step`-th token is used */
    const bool causal = site_id(ours->site) == SITE_SCORES; /* scores of keys after the query are
                                                             * not masked yet: leave them out */
    struct difference d = {0};
    const struct axis_sizes n = sizes_of(ours);
    double off = 0, size = 0, theirs_size = 0, product = 0, medians[ROWS];
    size_t step = (n.rows + ROWS - 1) / ROWS, count = 0;
    for (size_t row = 0; row < n.rows; row++) {
        double row_off = 0, row_size = 0;
        size_t row_count = 0;
        for (size_t i = 0; i < n.heads * n.columns; i++) {
            size_t column = i % n.columns;
            size_t cell = (i / n.columns * n.rows + row) * n.columns + column;
            double x = (double)ours->data[cell], y = (double)theirs[cell];
            if (isnan(theirs[cell]) || (causal && column > row))
                continue;
            bool is_masked = theirs[cell] < MASKED_BELOW;
            d.masked_in_one += isinf(x) ? !is_masked : is_masked || isinf(y);
            if (isinf(x) || is_masked || isinf(y))
                continue;
            row_off += (x - y) * (x - y);
            row_size += x * x;
            theirs_size += y * y;
            product += x * y;
            d.max = fmax(d.max, fabs(x - y));
            d.largest = fmax(d.largest, fabs(x));
            row_count++;
        }
        off += row_off;
        size += row_size;
        d.compared += row_count;
        if (row_count && row % step == 0)
            medians[count++] = row_off > 0 ? sqrt(row_off / row_size) : 0;
    }
    if (count)
        qsort(medians, count, sizeof *medians, compare_doubles);
    d.median = count ? (medians[(count - 1) / 2] + medians[count / 2]) / 2 : (double)NAN;
    d.nmse = off > 0 ? off / size : 0;
    d.cosine = size > 0 && theirs_size > 0 ? product / sqrt(size * theirs_size) : off > 0 ? 0 : 1;
    d.factor = size > 0 ? product / size : 0;
    d.agrees = !d.masked_in_one && d.compared &&
               d.max <= tolerance * d.largest + (printed ? PRINTED_ERROR : 0);
    return d;
}

/* --- layouts ---------------------------------------------------------------------------------- */

enum axis_id { AXIS_HEAD, AXIS_ROW, AXIS_COLUMN, AXES };

/* The orders of axes to try, the most usual first. */
static const unsigned char orders[][AXES] = {
    {AXIS_ROW, AXIS_HEAD, AXIS_COLUMN}, {AXIS_HEAD, AXIS_ROW, AXIS_COLUMN},
    {AXIS_HEAD, AXIS_COLUMN, AXIS_ROW}, {AXIS_ROW, AXIS_COLUMN, AXIS_HEAD},
    {AXIS_COLUMN, AXIS_ROW, AXIS_HEAD}, {AXIS_COLUMN, AXIS_HEAD, AXIS_ROW},
};
enum { ORDERS = sizeof orders / sizeof *orders };

/* How to find our numbers in the other program's tensor. */
struct view {
    size_t size[AXES], stride[AXES]; /* sizes and strides of the other program's tensor */
    const unsigned char *order;
    size_t repeats; /* number of copies of each of our heads in the other tensor */
    bool tiled;     /* order of the copies of heads; true: 0 1 0 1; false: 0 0 1 1 */
    bool pairs; /* true: channels of a head are in the order 0, d/2, 1, d/2 + 1, …, with rotary
                 * pairs side by side */
    size_t skip[AXES]; /* number of rows and columns of the other tensor before the first one that
                        * both tensors have */
    size_t lack[AXES]; /* number of our first rows and columns that the other tensor lacks */
    size_t both[AXES];
    const struct named_site *joined; /* the fused module whose output contains our columns; NULL:
                                      * the tensor has only our columns */
};

/* The axes of the other program's tensor, without axes of size 1. */
struct shape {
    size_t size[SAFETENSORS_RANK_MAX], rank, count;
};

/* Merge neighbouring axes of an order until they have the sizes of the shape, and write the result
 * as "[T, H·D]". Returns false if the order does not fit. Columns do not merge with heads after
 * them. The axis of tokens merges only if it has `rows` tokens, as many as ours. */
static bool write_order(char words[64], const struct view *v, const struct shape *shape,
                        const char letters[AXES], size_t rows)
{
    size_t axis = 0, used = 0;
    words[used++] = '[';
    for (size_t i = 0; i < shape->rank; i++) {
        size_t product = 1, merged = 0;
        while (axis < AXES && (product < shape->size[i] || v->size[v->order[axis]] == 1)) {
            size_t size = v->size[v->order[axis]];
            if (merged && size > 1 && v->order[axis] == AXIS_HEAD &&
                v->order[axis - 1] == AXIS_COLUMN)
                return false;
            bool of_rows = merged && size > 1 && v->size[AXIS_ROW] > 1 &&
                           (v->order[axis] == AXIS_ROW || v->order[axis - 1] == AXIS_ROW);
            if (of_rows && v->size[AXIS_ROW] != rows)
                return false;
            product *= size;
            if (size > 1 && letters[v->order[axis]] != ' ') {
                if (merged) {
                    memcpy(words + used, "·", 2);
                    used += 2;
                }
                words[used++] = letters[v->order[axis]];
                merged++;
            }
            axis++;
        }
        if (product != shape->size[i])
            return false;
        if (i + 1 < shape->rank) {
            words[used++] = ',';
            words[used++] = ' ';
        }
    }
    while (axis < AXES && v->size[v->order[axis]] == 1)
        axis++;
    words[used++] = ']';
    words[used] = '\0';
    return axis == AXES;
}

static size_t place_of(const struct view *v, size_t head, size_t row, size_t column)
{
    const size_t d = v->size[AXIS_COLUMN];
    row = row + v->skip[AXIS_ROW] - v->lack[AXIS_ROW];
    column = column + v->skip[AXIS_COLUMN] - v->lack[AXIS_COLUMN];
    if (v->joined)
        return row * v->joined->width + row_view_at(&v->joined->view, head * d + column);
    head = v->tiled ? head : head * v->repeats;
    if (v->pairs)
        column = column < d / 2 ? 2 * column : 2 * (column - d / 2) + 1;
    return head * v->stride[AXIS_HEAD] + row * v->stride[AXIS_ROW] +
           column * v->stride[AXIS_COLUMN];
}

static void take(float *values, const float *from, const struct view *v, const struct axis_sizes *n,
                 float factor)
{
    for (size_t i = 0; i < n->heads * n->rows * n->columns; i++)
        values[i] = NAN;
    for (size_t head = 0; head < n->heads; head++)
        for (size_t r = 0; r < v->both[AXIS_ROW]; r++)
            for (size_t c = 0; c < v->both[AXIS_COLUMN]; c++) {
                size_t row = r + v->lack[AXIS_ROW], column = c + v->lack[AXIS_COLUMN];
                values[(head * n->rows + row) * n->columns + column] =
                    factor * from[place_of(v, head, row, column)];
            }
}

/* Align an axis of tokens: match the beginnings of the two tensors or, if `at_end`, their ends. */
static void shift(struct view *v, enum axis_id axis, size_t ours, bool at_end)
{
    size_t theirs = v->size[axis];
    v->both[axis] = num_min(ours, theirs);
    v->skip[axis] = at_end && theirs > ours ? theirs - ours : 0;
    v->lack[axis] = at_end && ours > theirs ? ours - theirs : 0;
}

struct search {
    struct array_match *best;
    const struct array *ours;
    const struct dumped *theirs;
    const struct named_site *name;
    const float *numbers;
    double tolerance;
    bool causal;
    struct axis_sizes n;
    struct arena *arena;
    struct err *err;
};

/* Compare our numbers with the numbers of the other tensor in a view, and keep the view if it is
 * much better than the best view so far. Returns false to stop the search: the numbers agree, or
 * memory is missing. */
static bool try_view(struct search *s, const struct view *v, const char *order)
{
    struct array_match *best = s->best;
    float *values =
        arena_room(s->arena, s->n.heads * s->n.rows * s->n.columns, sizeof *values, s->err);
    struct buf words = {0};
    if (!values)
        return false;
    take(values, s->numbers, v, &s->n, 1 / s->name->factor);
    struct difference d = difference_of(s->ours, values, s->tolerance, s->theirs->is_printed);
    bool better =
        !best->layout || (d.agrees && !best->difference.agrees) ||
        (d.masked_in_one <= best->difference.masked_in_one && d.nmse < best->difference.nmse / 16);
    if (!better)
        return true;
    buf_text(&words, v->joined ? "part of a module" : order);
    if (v->repeats > 1)
        buf_format(&words, ", heads %s %zu times", v->tiled ? "tiled" : "repeated", v->repeats);
    if (v->pairs)
        buf_text(&words, ", rotary pairs side by side");
    for (enum axis_id axis = AXIS_ROW; axis < AXES; axis++) {
        size_t more = v->size[axis] - v->both[axis];
        const char *thing = axis == AXIS_ROW ? "token" : "key";
        if (more)
            buf_format(&words, ", %zu %s%s more %s", more, thing, num_plural(more),
                       v->skip[axis] ? "before" : "after");
        size_t less = (axis == AXIS_ROW ? s->n.rows : s->n.columns) - v->both[axis];
        if (less)
            buf_format(&words, ", without the %s %zu %s%s", v->lack[axis] ? "first" : "last", less,
                       thing, num_plural(less));
    }
    if (s->name->factor != 1)
        buf_format(&words, ", %g times", (double)s->name->factor);
    *best = (struct array_match){buf_keep(&words, s->arena, s->err), values, v->both[AXIS_ROW], d};
    return best->layout && !d.agrees;
}

/* Try an order of axes with all alignments of its tokens, all orders of rotary pairs and, for
 * repeated heads, repeated and tiled copies. Returns false to stop the search, as try_view does. */
static bool try_shifts(struct search *s, struct view v, const char *order, bool is_map)
{
    bool more_rows = v.size[AXIS_ROW] != s->n.rows;
    bool more_columns = is_map && v.size[AXIS_COLUMN] != s->n.columns;
    bool pairs = !is_map && !v.joined && s->n.columns % 2 == 0 &&
                 (site_id(s->ours->site) == SITE_Q || site_id(s->ours->site) == SITE_K ||
                  site_id(s->ours->site) == SITE_Q_PRE || site_id(s->ours->site) == SITE_K_PRE);
    for (int i = 0; i < 16; i++) {
        if ((i & 1 && !more_rows) || (i & 2 && !more_columns) || (i & 4 && !pairs) ||
            (i & 8 && v.repeats == 1))
            continue;
        shift(&v, AXIS_ROW, s->n.rows, i & 1);
        shift(&v, AXIS_COLUMN, s->n.columns, i & 2);
        v.pairs = i & 4;
        v.tiled = i & 8;
        if (!try_view(s, &v, order))
            return false;
    }
    return true;
}

/* Fill in the sizes of an order of axes. Returns false if they do not fit the other tensor. */
static bool fit_sizes(struct view *v, const struct shape *shape, const struct axis_sizes *n,
                      bool is_map)
{
    v->size[AXIS_HEAD] = n->heads * v->repeats;
    v->size[AXIS_COLUMN] = n->columns;
    if (is_map) { /* the numbers of queries and of keys may differ from ours: both are read
                   * from the shape */
        size_t rest = n->heads > 1 ? 3 : 2, at = 0;
        if (shape->rank != rest && !(n->rows == 1 || n->columns == 1))
            return false;
        v->size[AXIS_ROW] = n->rows;
        for (size_t i = 0; i < AXES && shape->rank == rest; i++)
            if (n->heads > 1 || v->order[i] != AXIS_HEAD)
                v->size[v->order[i]] = shape->size[at++];
        if (v->size[AXIS_HEAD] != n->heads)
            return false;
    } else {
        size_t others = v->size[AXIS_HEAD] * n->columns;
        if (shape->count % others)
            return false;
        v->size[AXIS_ROW] = shape->count / others;
    }
    size_t stride = 1;
    for (size_t i = AXES; i-- > 0;) {
        v->stride[v->order[i]] = stride;
        stride *= v->size[v->order[i]];
    }
    return stride == shape->count && v->size[AXIS_ROW];
}

int align(struct array_match *alignment, const struct array *ours, const struct named_site *name,
          const struct dumped *theirs, double tolerance, struct arena *arena, struct err *err)
{
    const struct safetensors_entry *entry = &theirs->entry;
    const bool is_map = site_axes(name->site) == AXES_HEAD_QUERY_KEY;
    struct shape shape = {.count = entry->count};
    float *numbers = arena_room(arena, entry->count, sizeof *numbers, err);
    struct search s = {.best = alignment,
                       .ours = ours,
                       .theirs = theirs,
                       .name = name,
                       .numbers = numbers,
                       .tolerance = tolerance,
                       .n = sizes_of(ours),
                       .arena = arena,
                       .err = err};
    *alignment = (struct array_match){0};
    if (!numbers || dump_floats(numbers, theirs, err))
        return -1;
    for (size_t i = 0; i < entry->rank; i++)
        if (entry->shape[i] != 1)
            shape.size[shape.rank++] = entry->shape[i];
    bool of_heads = s.n.heads > 1 || site_has_heads(name->site);
    const char letters[AXES] = {of_heads ? 'H' : ' ', is_map ? 'Q' : 'T',
                                is_map     ? 'K'
                                : of_heads ? 'D'
                                           : 'C'};
    if (name->width) {
        struct view v = {.size = {s.n.heads, entry->count / name->width, s.n.columns},
                         .order = orders[0],
                         .repeats = 1,
                         .joined = name};
        if (entry->count % name->width == 0 && v.size[AXIS_ROW])
            try_shifts(&s, v, NULL, false);
        return err_if(err->kind);
    }
    size_t shared = ours->shared_by > 1 ? ours->shared_by : 1;
    for (size_t copies = 0; copies <= (shared > 1); copies++)
        for (size_t i = 0; i < ORDERS; i++) {
            char order[64];
            struct view v = {.order = orders[i], .repeats = copies ? shared : 1};
            if (!fit_sizes(&v, &shape, &s.n, is_map) ||
                !write_order(order, &v, &shape, letters, s.n.rows))
                continue;
            if (!try_shifts(&s, v, order, is_map))
                return err_if(err->kind);
        }
    return err_if(err->kind);
}
