#include "lens/mean.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

/* --- tables ----------------------------------------------------------------------------------- */

static struct label keep_label(const struct label *label, struct arena *arena, struct err *err)
{
    const char *const texts[] = {label->text, label->exact, label->plain};
    const char *kept[3] = {NULL};
    for (size_t i = 0; i < 3; i++)
        kept[i] = texts[i] ? arena_text(arena, texts[i], strlen(texts[i]), err) : NULL;
    return (struct label){kept[0], kept[1], kept[2]};
}

/* One cell of a row: a key, or the sum of the values of a result. */
struct mean_cell {
    long long integer;
    struct label label; /* the key, if it is not an integer */
    double sum;
    size_t count; /* number of values that are not missing */
};

struct mean_row {
    struct mean_cell *cells; /* [like.count] a cell for each column */
    size_t count;            /* number of table rows in the sums */
};

/* The sums of a table's rows. Rows that agree in all keys, except averaged keys, are added up. */
struct table_mean {
    struct derivation how;
    struct table like;        /* the first table; its values are not used */
    struct mean_row *rows;    /* [count] sums of the rows */
    struct mean_cell *wanted; /* [like.count] keys of the row to look up */
    size_t count;
};

/* True if a column is the key `head` and the mean is over heads, or the key `layer` and the mean is
 * over layers. */
static bool column_is_averaged(const struct column *column, const struct derivation *how)
{
    return column->flags & COLUMN_KEY &&
           ((how->mean_of_heads && strcmp(column->name, "head") == 0) ||
            (how->mean_of_layers && strcmp(column->name, "layer") == 0));
}

/* Set the columns of the mean by the first table: keys stay keys, results become numbers with
 * decimals, and all other columns, such as averaged keys, become texts, which the mean leaves
 * out. */
static int begin_table(struct table_mean *mean, const struct table *table, struct arena *arena,
                       struct err *err)
{
    static const char *const axes[] = {"model", "layer", "head", "position"};
    struct column *column = arena_alloc(arena, table->count, sizeof *column, err);
    bool has_position = false;
    size_t index = 0;
    mean->like = *table;
    mean->like.columns = column;
    mean->wanted = arena_alloc(arena, table->count, sizeof *mean->wanted, err);
    for (size_t i = 0; i < table->count; i++)
        has_position |= strcmp(table->columns[i].name, "position") == 0;
    for (size_t i = 0; i < table->count && !err->kind; i++, column++) {
        *column = table->columns[i];
        if (column_is_result(column)) {
            column->kind = COLUMN_FLOAT;
            column->digits = column->digits ? column->digits : NUMERAL_DIGITS;
        } else if (!(column->flags & COLUMN_KEY) || column_is_averaged(column, &mean->how) ||
                   (mean->how.mean_of_texts && has_position &&
                    !names_find(&index, NAMES_LIST(axes), column->name, strlen(column->name)))) {
            column->kind = COLUMN_TEXT;
            column->flags = 0;
        }
        const char *title = column->title ? column->title : column->name;
        column->title = arena_text(arena, title, strlen(title), err);
        column->name = arena_text(arena, column->name, strlen(column->name), err);
    }
    return err_if(err->kind);
}

/* Read the keys of a row into `wanted`; false if a key is missing. */
static bool parse_keys(struct table_mean *mean, const struct table *table, size_t row)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        struct mean_cell *cell = &mean->wanted[i];
        if (!(mean->like.columns[i].flags & COLUMN_KEY))
            continue;
        *cell = column->kind == COLUMN_INTEGER
                    ? (struct mean_cell){.integer = column_integer(column, row)}
                    : (struct mean_cell){.label = {.text = column_text(column, row, true),
                                                   .plain = column_text(column, row, false)}};
        if (column->kind == COLUMN_INTEGER ? cell->integer == COLUMN_MISSING : !cell->label.plain)
            return false;
    }
    return true;
}

static bool is_wanted(const struct table_mean *mean, const struct mean_row *row)
{
    for (size_t i = 0; i < mean->like.count; i++) {
        const struct mean_cell *one = &row->cells[i], *other = &mean->wanted[i];
        if (one->integer != other->integer ||
            (other->label.plain && strcmp(one->label.plain, other->label.plain) != 0))
            return false;
    }
    return true;
}

/* Find the row with the wanted keys among the first `known` rows, starting the search at `*at`; if
 * there is none, insert a new row at `*at`. NULL with `err`. */
static struct mean_row *find_row(struct table_mean *mean, size_t *at, size_t known,
                                 struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < known; i++) {
        size_t index = (*at + i) % known;
        if (is_wanted(mean, &mean->rows[index])) {
            *at = index;
            return &mean->rows[index];
        }
    }
    struct mean_row row = {arena_alloc(arena, mean->like.count, sizeof *row.cells, err), 0};
    mean->rows = arena_grow(arena, mean->rows, mean->count, sizeof row, err);
    for (size_t i = 0; i < mean->like.count && !err->kind; i++) {
        row.cells[i] = mean->wanted[i];
        row.cells[i].label = keep_label(&mean->wanted[i].label, arena, err);
    }
    if (err->kind)
        return NULL;
    memmove(&mean->rows[*at + 1], &mean->rows[*at], (mean->count++ - *at) * sizeof row);
    mean->rows[*at] = row;
    return &mean->rows[*at];
}

/* Add the rows of a table. For a mean over texts, rows with a position are matched by the position,
 * not by the token, and otherwise by model, layer and head. Missing values, and rows in which a key
 * is missing, are skipped. A table that lacks a column of the first table is a usage error. */
static int add_table(struct table_mean *mean, const struct table *table, struct arena *arena,
                     struct err *err)
{
    if (!mean->like.columns && begin_table(mean, table, arena, err))
        return -1;
    for (size_t i = 0; i < mean->like.count; i++)
        if (i >= table->count || strcmp(table->columns[i].name, mean->like.columns[i].name) != 0)
            return err_usage(err, "--mean: expected the column '%s' for all texts as for the first",
                             mean->like.columns[i].name);
    assert(table->count == mean->like.count);
    bool all_differ = mean->how.mean_of_texts && !mean->count; /* all rows of the first text differ,
                                                                * so none is looked up */
    for (size_t row = 0, at = 0; row < table->rows.size; row++) {
        struct mean_row *to = NULL;
        if (!parse_keys(mean, table, row))
            continue;
        if (!(to = find_row(mean, &at, all_differ ? 0 : mean->count, arena, err)))
            return -1;
        at++;
        to->count++;
        for (size_t i = 0; i < table->count; i++) {
            double value = column_number(&table->columns[i], row);
            to->cells[i].sum += isnan(value) ? 0 : value;
            to->cells[i].count += !isnan(value);
        }
    }
    return 0;
}

/* Write a row of means; `*label` gets its last key. */
static void put_row(struct table_rows *rows, struct label *label, const struct table_mean *mean,
                    const struct mean_row *row)
{
    bool counts = mean->how.mean_of_texts;
    for (size_t i = 0; i < mean->like.count; i++) {
        const struct column *column = &mean->like.columns[i];
        const struct mean_cell *cell = &row->cells[i];
        if (column_is_result(column)) {
            if (counts)
                rows_integer(rows, "texts", COLUMN_KEY, (long long)row->count);
            counts = false;
            rows_float(rows, *column, cell->count ? cell->sum / (double)cell->count : (double)NAN);
        } else if (column->flags & COLUMN_KEY && column->kind == COLUMN_INTEGER) {
            label->text = label->plain =
                arena_format(rows->arena, rows->err, "%lld", cell->integer);
            rows_integer(rows, column->name, column->flags, cell->integer);
            rows_title(rows, column->title);
        } else if (column->flags & COLUMN_KEY) {
            *label = cell->label;
            rows_label(rows, column->name, column->flags, *label);
        }
    }
    label->exact = label->plain;
}

/* Make the table of means, in the order of the summed rows. For a mean over texts, the key column
 * `texts` has the number of texts of each row. */
static int make_table(struct table *table, const struct table_mean *mean, struct arena *arena,
                      struct err *err)
{
    const struct table *like = &mean->like;
    const struct mean_row none = {mean->wanted, 0}; /* an empty row, which defines the columns */
    struct table_rows rows = {.most = num_max(mean->count, 1), .arena = arena, .err = err};
    struct label *labels = arena_alloc(arena, rows.most, sizeof *labels, err);
    const char *name = "mean";
    for (; rows.row < rows.most && !err->kind; rows_next(&rows)) {
        labels[rows.row] = (struct label){"mean", "mean", "mean"};
        put_row(&rows, &labels[rows.row], mean, mean->count ? &mean->rows[rows.row] : &none);
    }
    if (rows_finish(table, &rows, like->name, ""))
        return -1;
    for (size_t i = 0; i < like->count; i++)
        name = like->columns[i].flags & COLUMN_KEY ? like->columns[i].name : name;
    table->rows = (struct axis){name, mean->count, labels, 0, NULL};
    table->note = mean->how.mean_of_texts ? NULL : like->note; /* notes are about a single text */
    table->flags = mean->how.mean_of_texts ? like->flags : 0;
    table->curves = like->curves || like->running; /* a mean has no running text, since tokens
                                                    * differ: draw curves */
    return 0;
}

/* --- sums of tensors -------------------------------------------------------------------------- */

/* The sums of a tensor: a matrix for each head, large enough for the longest text. */
struct mean_sums {
    struct array kept; /* the tensor without values, as large as in the longest text so far */
    double *values, *visible;
    double *counts;       /* [rows, columns] number of texts that have this cell */
    size_t rows, columns; /* allocated size of a matrix */
};

/* Add the matrices of a tensor to the upper left corners of the sums. In a computed tensor, NaN is
 * a missing value. A key is visible in the mean if it is visible in any tensor. */
static void add(struct mean_sums *sums, const struct array *array)
{
    if (!array->visible)
        sums->visible = NULL;
    for (size_t sheet = 0; sheet < array_matrix_count(array); sheet++) {
        const struct array head = array_head(array, sheet);
        for (size_t row = 0, i = 0; row < array->rows.size; row++)
            for (size_t column = 0; column < array->columns.size; column++, i++) {
                size_t first = row * sums->columns + column;
                size_t cell = sheet * sums->rows * sums->columns + first;
                if (array->name && isnan(head.data[i]))
                    continue;
                sums->values[cell] += (double)head.data[i];
                if (sums->visible)
                    sums->visible[cell] += (double)head.visible[i];
                if (sheet == 0)
                    sums->counts[first]++;
            }
    }
}

/* Return the sums divided by the counts, without unused rows and columns; NULL with `err`. */
static float *divide(const double *values, const struct mean_sums *sums, struct arena *arena,
                     struct err *err)
{
    size_t rows = sums->kept.rows.size;
    size_t columns = sums->kept.columns.size;
    size_t cells = array_cells(&sums->kept);
    float *mean = arena_alloc(arena, cells, sizeof *mean, err);
    for (size_t i = 0; mean && i < cells; i++) {
        size_t cell = i / columns % rows * sums->columns + i % columns;
        double value = values[i / (rows * columns) * sums->rows * sums->columns + cell];
        mean[i] = sums->counts[cell] > 0 ? (float)(value / sums->counts[cell]) : NAN;
    }
    return mean;
}

/* True if columns are positions: the longest text then sets their number. */
static bool grows(const struct array *array)
{
    return array->name ? strcmp(array->columns.name, "position") == 0
                       : array_has_key_columns(array);
}

/* Copy an axis's labels and numbers. An axis of single tokens gets none: tokens are labelled by
 * position. */
static int keep_axis(struct axis *axis, struct arena *arena, struct err *err)
{
    static const char *const of_tokens[] = {"token", "key", "position"};
    const struct axis of = *axis;
    size_t index = 0;
    axis->labels = NULL;
    axis->numbers = NULL;
    if (!of.joined && names_find(&index, NAMES_LIST(of_tokens), of.name, strlen(of.name)))
        return 0;
    struct label *labels = arena_alloc(arena, of.size, sizeof *labels, err);
    size_t *numbers = of.numbers ? arena_alloc(arena, of.size, sizeof *numbers, err) : NULL;
    for (size_t i = 0; i < of.size && !err->kind; i++) {
        labels[i] = keep_label(&of.labels[i], arena, err);
        if (numbers)
            numbers[i] = of.numbers[i];
    }
    axis->labels = labels;
    axis->numbers = numbers;
    return err_if(err->kind);
}

static int begin_tensor(struct mean_sums *sums, const struct array *array, size_t longest,
                        struct arena *arena, struct err *err)
{
    size_t sheets = array_matrix_count(array);
    *sums = (struct mean_sums){.kept = *array,
                               .rows = array->name ? array->rows.size
                                                   : num_max(longest, array->rows.size)};
    if (array_selects(array, &array->rows)) /* texts differ in their selected rows: row 0 is the
                                             * first selected */
        sums->kept.rows = (struct axis){.size = array->rows.size};
    if (array_selects(array, &array->columns))
        sums->kept.columns = (struct axis){.size = array->columns.size};
    sums->columns = grows(array) ? num_max(longest, array->columns.size) : array->columns.size;
    size_t cells = sums->rows * sums->columns;
    size_t *heads = arena_alloc(arena, sheets, sizeof *heads, err);
    sums->values = arena_alloc(arena, sheets * cells, sizeof *sums->values, err);
    sums->counts = arena_alloc(arena, cells, sizeof *sums->counts, err);
    if (array->visible)
        sums->visible = arena_alloc(arena, sheets * cells, sizeof *sums->visible, err);
    if (err->kind)
        return -1;
    if (array->name) {
        struct display *display = &sums->kept.display;
        if (display->title)
            display->title = arena_text(arena, display->title, strlen(display->title), err);
        display->whole = false;
        return err_if(keep_axis(&sums->kept.rows, arena, err) ||
                      keep_axis(&sums->kept.columns, arena, err));
    }
    if ((array->rows.joined && keep_axis(&sums->kept.rows, arena, err)) ||
        (array->columns.joined && keep_axis(&sums->kept.columns, arena, err)))
        return -1;
    if (array->heads.name)
        sums->kept.heads.numbers = memcpy(heads, array->heads.numbers, sheets * sizeof *heads);
    return 0;
}

/* --- tensors of heads and layers -------------------------------------------------------------- */

/* Replace the values of `mean` by the mean of `count` tensors of its shape, summed in float64 in
 * order: sums of all cells at once, as for texts, would need three times the memory. A key is
 * visible if it is visible in any tensor. */
static int take_mean(struct array *mean, const struct array *parts, size_t count,
                     struct arena *arena, struct err *err)
{
    size_t cells = array_cells(mean);
    size_t matrix = cells / array_matrix_count(mean);
    bool hides = true;
    for (size_t part = 0; part < count; part++)
        hides = hides && parts[part].visible;
    float *data = arena_alloc(arena, cells, sizeof *data, err);
    float *visible = hides ? arena_alloc(arena, cells, sizeof *visible, err) : NULL;
    if (!data || (hides && !visible))
        return -1;
    for (size_t i = 0; i < cells; i++) {
        double sum = 0, seen = 0;
        for (const struct array *part = parts; part < parts + count; part++) {
            sum += (double)part->data[i];
            if (hides)
                seen += (double)part->visible[i / matrix * part->visible_step + i % matrix];
        }
        data[i] = (float)(sum / (double)count);
        if (hides)
            visible[i] = (float)(seen / (double)count);
    }
    mean->data = data;
    mean->visible = visible;
    mean->visible_step = matrix;
    return 0;
}

/* Replace the tensors of each site by one tensor, their mean over layers, at the index of the
 * site's first tensor. */
static int join_layers(struct array *arrays, struct report *report, struct arena *arena,
                       struct err *err)
{
    struct site_set joined = {0};
    size_t count = 0;
    struct array *layers = arena_alloc(arena, report->array_count, sizeof *layers, err);
    for (size_t i = 0; layers && i < report->array_count; i++) {
        struct array mean = arrays[i];
        size_t found = 0;
        if (site_set_has(joined, mean.site))
            continue;
        site_set_add(&joined, mean.site);
        for (size_t k = i; k < report->array_count; k++)
            if (arrays[k].site == mean.site)
                layers[found++] = arrays[k];
        if (mean.layer >= 0 && take_mean(&mean, layers, found, arena, err))
            return -1;
        mean.layer = -1;
        arrays[count++] = mean;
    }
    report->array_count = count;
    return layers ? 0 : -1;
}

/* Average the rows of tables over heads or layers; if there are such tables, drop the tensors. */
static int join_rows(struct report *report, const struct derivation *how, struct arena *arena,
                     struct err *err)
{
    struct table *tables = arena_alloc(arena, report->table_count, sizeof *tables, err);
    for (size_t i = 0; tables && i < report->table_count; i++) {
        struct table_mean mean = {.how = *how};
        bool any = false;
        mean.how.mean_of_texts = false;
        tables[i] = report->tables[i];
        for (size_t c = 0; c < tables[i].count; c++)
            any |= column_is_averaged(&tables[i].columns[c], how);
        if (!any)
            continue;
        if (add_table(&mean, &report->tables[i], arena, err) ||
            make_table(&tables[i], &mean, arena, err))
            return -1;
        report->array_count = 0;
    }
    report->tables = tables;
    return tables ? 0 : -1;
}

int report_take_means(struct array *arrays, struct report *report, const struct derivation *how,
                      struct arena *arena, struct err *err)
{
    if (join_rows(report, how, arena, err))
        return -1;
    for (size_t i = 0; how->mean_of_heads && i < report->array_count; i++) {
        struct array mean = arrays[i];
        size_t count = mean.heads.size;
        if (!mean.heads.name || array_is_of_copies(&mean))
            continue;
        struct array *heads = arena_alloc(arena, count, sizeof *heads, err);
        for (size_t head = 0; heads && head < count; head++)
            heads[head] = array_head(&arrays[i], head);
        mean.heads = (struct axis){.name = NULL};
        if (!heads || take_mean(&mean, heads, count, arena, err))
            return -1;
        arrays[i] = mean;
    }
    return err_if(how->mean_of_layers && join_layers(arrays, report, arena, err));
}

/* --- facts of texts --------------------------------------------------------------------------- */

/* Add up facts that are numbers with decimals, and copy facts that are texts from the first report,
 * since they are equal in all reports. Skip integers. */
static int add_facts(struct text_mean *mean, const struct table *table, struct err *err)
{
    bool is_first = !mean->texts;
    mean->facts = is_first ? facts_new(&mean->arena, err) : mean->facts;
    for (size_t i = 0, at = 0; i < table->count && !err->kind; i++) {
        const struct column *column = &table->columns[i];
        const char *text = column->kind == COLUMN_TEXT ? column_text(column, 0, false) : NULL;
        if (is_first && text)
            facts_text(mean->facts, column->name,
                       arena_text(&mean->arena, text, strlen(text), err));
        else if (is_first && column->kind == COLUMN_FLOAT)
            facts_float(mean->facts, column->name, 0);
        if (column->kind == COLUMN_FLOAT)
            mean->facts->values[at].number += column_float(column, 0);
        at += column->kind != COLUMN_INTEGER;
    }
    return err_if(err->kind);
}

int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err)
{
    const char *mechanism = report->mechanism;
    if (!mean->texts) {
        mean->first = *report;
        mean->tables = arena_alloc(&mean->arena, report->table_count, sizeof *mean->tables, err);
        mean->sums = arena_alloc(&mean->arena, report->array_count, sizeof *mean->sums, err);
        if (mechanism)
            mean->first.mechanism = arena_text(&mean->arena, mechanism, strlen(mechanism), err);
        const struct tokenized *text = &report->text;
        if (text->words_before)
            mean->start =
                keep_label(text->words ? text->word_labels : text->labels, &mean->arena, err);
        if (!mean->sums || !mean->tables || (mechanism && !mean->first.mechanism))
            return -1;
    }
    for (size_t i = 0; i < report->array_count && !mean->texts; i++) {
        const struct array *array = &report->arrays[i];
        mean->first.causal &=
            !array_selects(array, &array->rows) && !array_selects(array, &array->columns);
        if (begin_tensor(&mean->sums[i], array, mean->longest, &mean->arena, err))
            return -1;
    }

    for (size_t i = 0; i < report->array_count; i++) {
        struct mean_sums *sums = &mean->sums[i];
        const struct array *array = &report->arrays[i];
        struct axis *rows = &sums->kept.rows, *columns = &sums->kept.columns;
        if (array->name && !grows(array) && array->columns.size != sums->columns)
            return err_usage(
                err,
                "--mean texts: expected texts of %zu tokens like the first, found %zu: "
                "--over heads and --by part average texts of any length",
                sums->columns, array->columns.size);
        assert(!array->name == !sums->kept.name && array->site == sums->kept.site &&
               array->layer == sums->kept.layer && array->rows.size <= sums->rows &&
               array->columns.size <= sums->columns);
        rows->size = num_max(rows->size, array->rows.size);
        columns->size = num_max(columns->size, array->columns.size);
        add(sums, array);
    }
    for (size_t i = 0; i < report->table_count; i++) {
        mean->tables[i].how.mean_of_texts = true;
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY) &&
            add_table(&mean->tables[i], &report->tables[i], &mean->arena, err))
            return -1;
    }
    if (report->facts && add_facts(mean, report->facts, err))
        return -1;
    mean->texts++;
    return 0;
}

/* Make an array with the number of texts that have each cell of a tensor; if its columns are not
 * keys, the array has one column. */
static int count_array(struct array *array, const struct report *report,
                       const struct mean_sums *sums, struct arena *arena, struct err *err)
{
    static const struct label texts[] = {{"texts", "texts", "texts"}};
    const struct array *kept = &sums->kept;
    const struct sheet like = array_matrix(report, kept, 0);
    struct axis columns =
        array_has_key_columns(kept) ? like.columns : (struct axis){"count", 1, texts, 0};
    float *values = arena_alloc(arena, like.rows.size * columns.size, sizeof *values, err);
    for (size_t row = 0; values && row < like.rows.size; row++)
        for (size_t column = 0; column < columns.size; column++)
            values[row * columns.size + column] = (float)sums->counts[row * sums->columns + column];
    *array = (struct array){
        .name = arena_format(arena, err, "%s.count", site_name(kept->site)),
        .layer = -1,
        .data = values,
        .rows = like.rows,
        .columns = columns,
        .display.whole = true,
    };
    return values && array->name ? 0 : -1;
}

/* Label tokens by position, which all texts share. Special tokens without a number get the label
 * that they have in the first text. */
static int label_report(struct report *report, const struct text_mean *mean,
                        const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    size_t most = 0, words = 0;
    for (size_t i = 0; i < mean->first.array_count; i++) {
        const struct array *array = &mean->sums[i].kept;
        most = num_max(most, num_max(array->rows.size, array->columns.size));
        if (!array->name && site_axes(array->site) == AXES_TOKEN_WORD)
            words = array->columns.size;
    }
    const size_t before = mean->first.text.words_before;
    const struct label *numbers =
        labels_of_numbers(NULL, most + mean->first.first_shown, arena, err);
    struct label *places = arena_alloc(arena, most + before, sizeof *places, err);
    if (!numbers || !places)
        return -1;
    for (size_t i = 0; i < most + before; i++)
        places[i] = i < before ? mean->start : numbers[i - before];
    report->numbers = numbers;
    report->words = NULL;
    report->next = NULL;
    if (words && tokenizer)
        report->words = labels_of_words(tokenizer, words, arena, err);
    report->text = (struct tokenized){.labels = before ? places : numbers, .words_before = before};
    report->source = (struct tokenized){.labels = numbers};
    return report->words || !words || !tokenizer ? 0 : -1;
}

/* Describe the means: "mean of 2 pairs: over heads, clean 3.5512, corrupt -1.2003". */
static int describe(struct report *report, const struct text_mean *mean, struct arena *arena,
                    struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    struct buf about = {0};
    bool of_pairs = mean->first.corrupt;
    if (!facts)
        return -1;
    facts_integer(facts, of_pairs ? "pairs" : "texts", (long long)mean->texts);
    buf_format(&about, "mean of %zu %s%s", mean->texts, of_pairs ? "pair" : "text",
               num_plural(mean->texts));
    for (size_t i = 0; mean->facts && i < mean->facts->table.count; i++) {
        const struct column *fact = &mean->facts->columns[i];
        const char *text = fact->kind == COLUMN_TEXT ? column_text(fact, 0, false) : NULL;
        double number = text ? 0 : column_float(fact, 0) / (double)mean->texts;
        buf_format(&about, "%s%s ", i ? ", " : ": ", fact->name);
        if (text) {
            buf_text(&about, text);
            facts_text(facts, fact->name, text);
        } else {
            buf_format(&about, "%.4f", num_shown(number, NUMERAL_DIGITS));
            facts_float(facts, fact->name, number);
        }
    }
    report->facts = &facts->table;
    report->corrupt = NULL;
    report->about = buf_keep(&about, arena, err);
    return report->about ? 0 : -1;
}

int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct tokenizer *tokenizer, bool counts, struct arena *arena,
                     struct err *err)
{
    size_t count = mean->first.array_count;
    bool counted[SITE_BRANCHES][AXES_QUERY_KEY + 1] = {{false}};
    struct array *arrays = arena_alloc(arena, 2 * count, sizeof *arrays, err);
    struct table *tables = arena_alloc(arena, mean->first.table_count, sizeof *tables, err);
    *report = mean->first;
    if (!arrays || !tables || label_report(report, mean, tokenizer, arena, err) ||
        describe(report, mean, arena, err))
        return -1;
    report->arrays = arrays;
    report->tables = tables;
    report->table_count = 0;
    for (size_t i = 0; i < mean->first.table_count; i++)
        if (mean->tables[i].like.columns && /* tables with COLUMN_TEXT_ONLY have no mean */
            make_table(&tables[report->table_count++], &mean->tables[i], arena, err))
            return -1;
    for (size_t i = 0; i < count; i++) {
        const struct mean_sums *sums = &mean->sums[i];
        arrays[i] = sums->kept;
        arrays[i].data = divide(sums->values, sums, arena, err);
        arrays[i].visible = sums->visible ? divide(sums->visible, sums, arena, err) : NULL;
        arrays[i].visible_step = sums->kept.rows.size * sums->kept.columns.size;
        if (!arrays[i].data || (sums->visible && !arrays[i].visible))
            return -1;
        if (sums->kept.name) {
            struct axis *rows = &arrays[i].rows, *columns = &arrays[i].columns;
            rows->labels = rows->labels ? rows->labels : report->numbers;
            columns->labels = columns->labels ? columns->labels : report->numbers;
            continue;
        }
        bool *is_counted = &counted[site_branch(sums->kept.site)][site_axes(sums->kept.site)];
        if (!counts || *is_counted)
            continue;
        *is_counted = true;
        if (count_array(&arrays[report->array_count++], report, sums, arena, err))
            return -1;
    }
    return report->strongest
               ? report_add_strongest(report, report->strongest, report->origin, arena, err)
               : 0;
}

void text_mean_release(struct text_mean *mean)
{
    arena_release(&mean->arena);
    *mean = (struct text_mean){0};
}
