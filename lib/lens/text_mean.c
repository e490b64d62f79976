#include "lens/text_mean.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

/* The sums of one tensor: a matrix with room for the longest text per head. */
struct mean_sums {
    struct kept kept; /* without values; its shape is that of the longest text so far */
    double *values, *visible;
    double *counts;       /* [rows, columns] texts that have the cell */
    size_t rows, columns; /* of the room */
};

static size_t rows_of(const struct kept *kept)
{
    return kept->shape[kept->rank - 2];
}

static size_t columns_of(const struct kept *kept)
{
    return kept->shape[kept->rank - 1];
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Add the matrices of a tensor to the upper left corners of the sums. NaN is missing in a sheet. */
static void add(struct mean_sums *sums, const struct kept *kept)
{
    size_t rows = rows_of(kept);
    size_t columns = columns_of(kept);
    for (size_t i = 0; i < kept_cells(kept); i++) {
        if (kept->made && isnan(kept->data[i]))
            continue;
        size_t sheet = i / (rows * columns);
        size_t own = i % (rows * columns);
        size_t first = own / columns * sums->columns + own % columns;
        size_t cell = sheet * sums->rows * sums->columns + first;
        sums->values[cell] += (double)kept->data[i];
        if (sums->visible)
            sums->visible[cell] += (double)kept->visible[sheet * kept->visible_step + own];
        if (sheet == 0)
            sums->counts[first]++;
    }
}

/* Columns of positions may be as many as those of the longest text. */
static bool grows(const struct kept *kept)
{
    return kept->made ? strcmp(kept->made->columns.name, "position") == 0
                      : kept_has_key_columns(kept);
}

/* The labels of a computed sheet; NULL of tokens, which get their positions. */
static int keep_axis(struct axis *axis, struct arena *arena, struct err *err)
{
    static const char *const of_tokens[] = {"token", "key", "position"};
    const struct label *of = axis->labels;
    struct label *labels = arena_alloc(arena, axis->size, sizeof *labels, err);
    size_t index = 0;
    bool is_of_tokens = names_find(&index, NAMES_LIST(of_tokens), axis->name, strlen(axis->name));
    axis->labels = is_of_tokens ? NULL : labels;
    for (size_t i = 0; i < axis->size && labels && !is_of_tokens; i++)
        labels[i] = label_keep(&of[i], arena, err);
    return err_if(err->kind);
}

static int begin_sums(struct mean_sums *sums, const struct kept *kept, size_t longest,
                      struct arena *arena, struct err *err)
{
    size_t sheets = kept_sheet_count(kept);
    *sums = (struct mean_sums){.kept = *kept, .rows = kept->made ? rows_of(kept) : longest};
    sums->columns = grows(kept) ? longest : columns_of(kept);
    size_t cells = sums->rows * sums->columns;
    size_t *heads = arena_alloc(arena, sheets, sizeof *heads, err);
    sums->values = arena_alloc(arena, sheets * cells, sizeof *sums->values, err);
    sums->counts = arena_alloc(arena, cells, sizeof *sums->counts, err);
    if (kept->visible)
        sums->visible = arena_alloc(arena, sheets * cells, sizeof *sums->visible, err);
    if (!heads || !sums->values || !sums->counts || (kept->visible && !sums->visible))
        return -1;
    if (kept->made) {
        struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
        sums->kept.made = sheet;
        if (!sheet)
            return -1;
        *sheet = *kept->made;
        if (sheet->title)
            sheet->title = arena_text(arena, sheet->title, strlen(sheet->title), err);
        sheet->whole = false;
        return err_if(keep_axis(&sheet->rows, arena, err) ||
                      keep_axis(&sheet->columns, arena, err));
    }
    if (kept->heads) {
        memcpy(heads, kept->heads, sheets * sizeof *heads);
        sums->kept.heads = heads;
    }
    return 0;
}

/* Add up the numbers; texts are the same for all, and integers (ids, positions) have no mean. */
static int add_facts(struct text_mean *mean, const struct frame *frame, struct err *err)
{
    bool is_first = !mean->texts;
    mean->facts = is_first ? facts_new(&mean->arena, err) : mean->facts;
    for (size_t i = 0, at = 0; i < frame->count && !err->kind; i++) {
        const struct column *column = &frame->columns[i];
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

static int begin(struct text_mean *mean, const struct report *report, struct err *err)
{
    const char *mechanism = report->mechanism;
    mean->first = *report;
    mean->tables = arena_alloc(&mean->arena, report->frame_count, sizeof *mean->tables, err);
    mean->sums = arena_alloc(&mean->arena, report->tensor_count, sizeof *mean->sums, err);
    for (size_t i = 0; mean->sums && i < report->tensor_count; i++)
        if (begin_sums(&mean->sums[i], &report->tensors[i], mean->longest, &mean->arena, err))
            return -1;
    if (mechanism)
        mean->first.mechanism = arena_text(&mean->arena, mechanism, strlen(mechanism), err);
    return err_if(!mean->sums || !mean->tables || (mechanism && !mean->first.mechanism));
}

int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err)
{
    if (!mean->texts && begin(mean, report, err))
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        struct mean_sums *sums = &mean->sums[i];
        const struct kept *kept = &report->tensors[i];
        size_t *shape = &sums->kept.shape[kept->rank - 2];
        if (kept->made && !grows(kept) && columns_of(kept) != sums->columns)
            return err_usage(
                err,
                "--mean texts: expected texts of %zu tokens like the first, found %zu: "
                "--over heads and --by part average texts of any length",
                sums->columns, columns_of(kept));
        assert(!kept->made == !sums->kept.made && kept->site == sums->kept.site &&
               kept->layer == sums->kept.layer && rows_of(kept) <= sums->rows &&
               columns_of(kept) <= sums->columns);
        shape[0] = num_max(shape[0], rows_of(kept));
        shape[1] = num_max(shape[1], columns_of(kept));
        add(sums, kept);
    }
    for (size_t i = 0; i < report->frame_count; i++) {
        mean->tables[i].how.mean_of_texts = true;
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY) &&
            frame_mean_add(&mean->tables[i], &report->frames[i], &mean->arena, err))
            return -1;
    }
    if (report->facts && add_facts(mean, report->facts, err))
        return -1;
    mean->texts++;
    return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

/* Divide sums by the counts, without the unused room. NULL with `err`. */
static float *divide(const double *values, const struct mean_sums *sums, struct arena *arena,
                     struct err *err)
{
    size_t rows = rows_of(&sums->kept);
    size_t columns = columns_of(&sums->kept);
    size_t cells = kept_cells(&sums->kept);
    float *mean = arena_alloc(arena, cells, sizeof *mean, err);
    for (size_t i = 0; mean && i < cells; i++) {
        size_t cell = i / columns % rows * sums->columns + i % columns;
        double value = values[i / (rows * columns) * sums->rows * sums->columns + cell];
        mean[i] = sums->counts[cell] > 0 ? (float)(value / sums->counts[cell]) : NAN;
    }
    return mean;
}

/* The counts of a tensor's cells; one column if columns are not tokens. */
static int count_sheet(struct sheet *sheet, const struct report *report,
                       const struct mean_sums *sums, struct arena *arena, struct err *err)
{
    static const struct label texts[] = {{"texts", "texts", "texts"}};
    const struct kept *kept = &sums->kept;
    const struct sheet like = kept_sheet(report, kept, 0);
    *sheet = (struct sheet){.layer = -1, .head = -1, .rows = like.rows, .whole = true};
    sheet->columns =
        kept_has_key_columns(kept) ? like.columns : (struct axis){"count", 1, texts, 0};
    sheet->tensor = arena_format(arena, err, "%s.count", site_name_in_layer(kept->site));
    float *values = arena_alloc(arena, sheet->rows.size * sheet->columns.size, sizeof *values, err);
    for (size_t row = 0; values && row < sheet->rows.size; row++)
        for (size_t column = 0; column < sheet->columns.size; column++)
            values[row * sheet->columns.size + column] =
                (float)sums->counts[row * sums->columns + column];
    sheet->values = values;
    return values && sheet->tensor ? 0 : -1;
}

/* True if an earlier tensor has the same axes, and so the same counts. */
static bool is_counted(const struct text_mean *mean, size_t index)
{
    const struct site_row *row = &site_rows[mean->sums[index].kept.site];
    for (size_t i = 0; i < index; i++) {
        const struct site_row *other = &site_rows[mean->sums[i].kept.site];
        if (other->axes == row->axes && other->part == row->part)
            return true;
    }
    return false;
}

/* Label tokens with their positions, which all texts share. */
static int label_report(struct report *report, const struct text_mean *mean,
                        const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    size_t most = 0;
    size_t words = 0;
    for (size_t i = 0; i < mean->first.tensor_count; i++) {
        const struct kept *kept = &mean->sums[i].kept;
        most = num_max(most, num_max(rows_of(kept), columns_of(kept)));
        if (!kept->made && site_rows[kept->site].axes == AXES_TOKEN_WORD)
            words = columns_of(kept);
    }
    const struct label *numbers = labels_of_numbers(most + mean->first.first_shown, arena, err);
    report->numbers = numbers;
    report->words = NULL;
    if (words && tokenizer)
        report->words = labels_of_words(tokenizer, words, arena, err);
    report->sentence = (struct tokenized){.labels = numbers};
    report->source = (struct tokenized){.labels = numbers};
    return numbers && (report->words || !words || !tokenizer) ? 0 : -1;
}

/* mean of 2 pairs: over heads, clean 3.5512, corrupt -1.2003 */
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
    for (size_t i = 0; mean->facts && i < mean->facts->frame.count; i++) {
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
    report->facts = &facts->frame;
    report->corrupt = NULL;
    report->about = buf_keep(&about, arena, err);
    return report->about ? 0 : -1;
}

/* The tables of data; those of people show a text. */
static int make_tables(struct report *report, const struct text_mean *mean, struct arena *arena,
                       struct err *err)
{
    struct frame *frames = arena_alloc(arena, mean->first.frame_count, sizeof *frames, err);
    report->frames = frames;
    report->frame_count = 0;
    for (size_t i = 0; frames && i < mean->first.frame_count; i++)
        if (mean->tables[i].like.columns &&
            frame_mean_make(&frames[report->frame_count++], &mean->tables[i], arena, err))
            return -1;
    return frames ? 0 : -1;
}

static int make_sheet(struct kept *kept, const struct label *numbers, struct arena *arena,
                      struct err *err)
{
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    if (!sheet)
        return -1;
    *sheet = *kept->made;
    sheet->values = kept->data;
    sheet->columns.size = columns_of(kept);
    sheet->rows.labels = sheet->rows.labels ? sheet->rows.labels : numbers;
    sheet->columns.labels = sheet->columns.labels ? sheet->columns.labels : numbers;
    kept->made = sheet;
    return 0;
}

int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct tokenizer *tokenizer, bool counts, struct arena *arena,
                     struct err *err)
{
    size_t count = mean->first.tensor_count;
    struct kept *tensors = arena_alloc(arena, 2 * count, sizeof *tensors, err);
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    *report = mean->first;
    if (!tensors || !sheets || label_report(report, mean, tokenizer, arena, err) ||
        describe(report, mean, arena, err) || make_tables(report, mean, arena, err))
        return -1;
    report->tensors = tensors;
    for (size_t i = 0; i < count; i++) {
        const struct mean_sums *sums = &mean->sums[i];
        tensors[i] = sums->kept;
        tensors[i].data = divide(sums->values, sums, arena, err);
        tensors[i].visible = sums->visible ? divide(sums->visible, sums, arena, err) : NULL;
        tensors[i].visible_step = rows_of(&sums->kept) * columns_of(&sums->kept);
        if (!tensors[i].data || (sums->visible && !tensors[i].visible) ||
            (sums->kept.made && make_sheet(&tensors[i], report->numbers, arena, err)))
            return -1;
        if (!counts || sums->kept.made || is_counted(mean, i))
            continue;
        size_t next = report->tensor_count - count;
        if (count_sheet(&sheets[next], report, sums, arena, err))
            return -1;
        tensors[report->tensor_count++] = kept_made(&sheets[next]);
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
