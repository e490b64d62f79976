#include "lens/fold.h"

/* What a matrix becomes: which of its rows and columns go into each place of an axis. */
struct groups {
    const struct word_span *spans; /* NULL: each place is itself, from `first` on */
    size_t first;
    size_t count;
};

struct folding {
    struct groups rows;
    struct groups columns;
    size_t row_size; /* of the matrix before */
};

static struct word_span span_of(const struct groups *groups, size_t place)
{
    return groups->spans ? groups->spans[place] : (struct word_span){groups->first + place, 1};
}

/* The mean over a group of rows of the sum over a group of columns. */
static float fold_cell(const struct folding *folding, const float *matrix, struct word_span rows,
                       struct word_span columns)
{
    double sum = 0;
    for (size_t r = rows.first; r < rows.first + rows.count; r++)
        for (size_t c = columns.first; c < columns.first + columns.count; c++)
            sum += (double)matrix[r * folding->row_size + c];
    return (float)(sum / (double)rows.count);
}

static void fold_matrix(float *out, const struct folding *folding, const float *matrix)
{
    for (size_t r = 0; r < folding->rows.count; r++)
        for (size_t c = 0; c < folding->columns.count; c++)
            *out++ = fold_cell(folding, matrix, span_of(&folding->rows, r),
                               span_of(&folding->columns, c));
}

static int fold_kept(struct kept *kept, const struct folding *folding, struct arena *arena,
                     struct err *err)
{
    size_t matrices = kept->rank == 3 ? kept->shape[0] : 1;
    size_t before = kept->shape[kept->rank - 2] * kept->shape[kept->rank - 1];
    size_t after = folding->rows.count * folding->columns.count;
    float *data = arena_alloc(arena, matrices * after, sizeof *data, err);
    if (!data)
        return -1;
    for (size_t i = 0; i < matrices; i++)
        fold_matrix(data + i * after, folding, kept->data + i * before);
    kept->data = data;
    kept->shape[kept->rank - 2] = folding->rows.count;
    kept->shape[kept->rank - 1] = folding->columns.count;
    return 0;
}

/* How an axis of tokens is folded. */
typedef struct groups (*axis_folding)(const struct reading *reading, size_t size);

static struct groups to_words(const struct reading *reading, size_t size)
{
    size_t count = reading->words ? reading->word_count : size;
    return (struct groups){.spans = reading->words, .count = count};
}

static struct groups to_rest(const struct reading *reading, size_t size)
{
    (void)reading;
    return (struct groups){.first = 1, .count = size - 1};
}

/* Rows are tokens on every site, those of keys and values are the ones looked at. Columns are
 * tokens only where queries meet keys. */
static struct folding fold_axes(const struct report *report, const struct kept *kept,
                                axis_folding fold)
{
    enum site_axes axes = site_rows[kept->site].axes;
    enum site_part part = site_rows[kept->site].part;
    const struct reading *keys = report_keys(report, part);
    const struct reading *of_rows =
        axes == AXES_GROUP_TOKEN_DIM ? keys : report_queries(report, part);
    size_t rows = kept->shape[kept->rank - 2];
    size_t columns = kept->shape[kept->rank - 1];
    struct folding folding = {
        .rows = fold(of_rows, rows),
        .columns = {.count = columns},
        .row_size = columns,
    };
    if (axes == AXES_HEAD_QUERY_KEY)
        folding.columns = fold(keys, columns);
    return folding;
}

static int fold_all(struct report *report, axis_folding fold, struct arena *arena, struct err *err)
{
    struct kept *tensors = arena_alloc(arena, report->tensor_count, sizeof *tensors, err);
    if (!tensors)
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        tensors[i] = report->tensors[i];
        struct folding folding = fold_axes(report, &tensors[i], fold);
        if (fold_kept(&tensors[i], &folding, arena, err))
            return -1;
    }
    report->tensors = tensors;
    return 0;
}

bool fold_has_words(enum site site)
{
    enum site like = site_like(site);
    return like != SITE_SCORES && like != SITE_MASKED && like != SITE_LOGITS;
}

int fold_words(struct report *report, struct arena *arena, struct err *err)
{
    return fold_all(report, to_words, arena, err);
}

static size_t places_of(const struct reading *reading)
{
    return reading->words ? reading->word_count : reading->count;
}

int fold_hide_first(struct report *report, struct arena *arena, struct err *err)
{
    if (places_of(&report->sentence) < 2)
        return err_set(err, "--hide-first: expected a text of two tokens or more, found one");
    if (report->source.count && places_of(&report->source) < 2)
        return err_set(err, "--hide-first: expected a source of two tokens or more, found one");
    if (fold_all(report, to_rest, arena, err))
        return -1;
    report->first_shown = 1;
    return 0;
}
