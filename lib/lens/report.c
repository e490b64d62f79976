#include "lens/report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What the places along an axis are called, and what stands at them. */
enum things { OF_QUERIES, OF_KEYS, OF_NUMBERS, OF_WORDS };

struct axis_row {
    const char *name;
    enum things things;
};

/* Rows and columns of a sheet, by the axes of its site. */
static const struct axis_row axis_rows[][2] = {
    [AXES_TOKEN_CHANNEL] = {{"token", OF_QUERIES}, {"channel", OF_NUMBERS}},
    [AXES_TOKEN_WORD] = {{"token", OF_QUERIES}, {"word", OF_WORDS}},
    [AXES_HEAD_TOKEN_DIM] = {{"token", OF_QUERIES}, {"dim", OF_NUMBERS}},
    [AXES_GROUP_TOKEN_DIM] = {{"token", OF_KEYS}, {"dim", OF_NUMBERS}},
    [AXES_HEAD_QUERY_KEY] = {{"query", OF_QUERIES}, {"key", OF_KEYS}},
    [AXES_QUERY_KEY] = {{"query", OF_QUERIES}, {"key", OF_KEYS}},
};

const struct tokenized *report_queries(const struct report *report, enum site_part part)
{
    return part == PART_SOURCE ? &report->source : &report->sentence;
}

const struct tokenized *report_keys(const struct report *report, enum site_part part)
{
    bool at_itself = !report->source.count || (report->has_encoder && part == PART_SENTENCE);
    return at_itself ? &report->sentence : &report->source;
}

static const struct label *labels_of_text(const struct tokenized *tokenized)
{
    return tokenized->words ? tokenized->word_labels : tokenized->labels;
}

static const struct label *labels_of(const struct report *report, enum site_part part,
                                     enum things things)
{
    switch (things) {
    case OF_QUERIES:
        return labels_of_text(report_queries(report, part));
    case OF_KEYS:
        return labels_of_text(report_keys(report, part));
    case OF_WORDS:
        return report->words ? report->words : report->numbers;
    case OF_NUMBERS:
        break;
    }
    return report->numbers;
}

static struct axis make_axis(const struct report *report, enum site_part part,
                             const struct axis_row *row, size_t size)
{
    bool of_text = row->things == OF_QUERIES || row->things == OF_KEYS;
    size_t first = of_text ? report->first_shown : 0;
    return (struct axis){
        .name = row->name,
        .size = size,
        .labels = labels_of(report, part, row->things) + first,
        .first = first,
    };
}

bool kept_is_mean_of_heads(const struct kept *kept)
{
    return !kept->made && !kept->heads && site_has_heads(kept->site);
}

bool kept_is_mean_of_layers(const struct kept *kept)
{
    return !kept->made && kept->layer < 0 && site_rows[kept->site].in_layer;
}

const char *kept_name(char name[SITE_NAME_BYTES], const struct kept *kept)
{
    const char *stack = site_stack(kept->site);
    const char *site = kept->made ? kept->made->tensor : site_name_in_layer(kept->site);
    const char *whole = kept->made ? site : site_rows[kept->site].name;
    const char *ending = kept_is_mean_of_heads(kept) ? ".mean" : "";
    if (kept_is_mean_of_layers(kept))
        snprintf(name, SITE_NAME_BYTES, "%s.mean.%s%s", stack, site, ending);
    else if (kept->layer >= 0)
        snprintf(name, SITE_NAME_BYTES, "%s.%d.%s%s", stack, kept->layer, site, ending);
    else
        snprintf(name, SITE_NAME_BYTES, "%s%s", whole, ending);
    return name;
}

struct kept kept_made(const struct sheet *sheet)
{
    return (struct kept){
        .made = sheet,
        .layer = sheet->layer,
        .rank = 2,
        .shape = {sheet->rows.size, sheet->columns.size},
        .data = sheet->values,
    };
}

size_t kept_cells(const struct kept *kept)
{
    size_t cells = 1;
    for (size_t axis = 0; axis < kept->rank; axis++)
        cells *= kept->shape[axis];
    return cells;
}

size_t kept_sheet_count(const struct kept *kept)
{
    return kept->heads ? kept->shape[0] : 1;
}

struct kept kept_head(const struct kept *kept, size_t index)
{
    struct kept one = *kept;
    if (!one.heads)
        return one;
    one.heads += index;
    one.data += one.data ? index * one.shape[1] * one.shape[2] : 0;
    one.visible += one.visible ? index * one.visible_step : 0;
    one.shape[0] = 1;
    return one;
}

/* Attention, and what is made of it: shares of each row. */
static bool is_fraction(enum site site)
{
    const uint64_t sites = site_bit(SITE_WEIGHTS) | site_bit(SITE_ENC_WEIGHTS) |
                           site_bit(SITE_CROSS_WEIGHTS) | site_bit(SITE_SOFTMAX) |
                           site_bit(SITE_VALUE_ZEROING) | site_bit(SITE_ROLLOUT);
    return sites & site_bit(site);
}

struct sheet kept_sheet(const struct report *report, const struct kept *kept, size_t index)
{
    assert(index < kept_sheet_count(kept));
    assert(kept->rank == (kept->heads ? 3 : 2));
    if (kept->made)
        return *kept->made;
    const struct site_row *site = &site_rows[kept->site];
    const struct axis_row *axes = axis_rows[site->axes];
    size_t rows = kept->shape[kept->rank - 2];
    size_t columns = kept->shape[kept->rank - 1];
    return (struct sheet){
        .tensor = site->name,
        .layer = kept->layer,
        .head = kept->heads ? (int)kept->heads[index] : -1,
        .rows = make_axis(report, site->part, &axes[0], rows),
        .columns = make_axis(report, site->part, &axes[1], columns),
        .values = kept->data ? kept->data + index * rows * columns : NULL,
        .fraction = is_fraction(kept->site),
        .causal = report->causal && site->masked,
        .visible = kept->visible ? kept->visible + index * kept->visible_step : NULL,
        .mean_of_layers = kept_is_mean_of_layers(kept),
        .mean_of_heads = kept_is_mean_of_heads(kept),
    };
}

size_t report_sheet_count(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->tensor_count; i++)
        count += kept_sheet_count(&report->tensors[i]);
    return count;
}

struct sheet report_sheet(const struct report *report, size_t index)
{
    const struct kept *kept = report->tensors;
    while (index >= kept_sheet_count(kept)) {
        index -= kept_sheet_count(kept);
        kept++;
    }
    return kept_sheet(report, kept, index);
}

bool report_has_tables(const struct report *report)
{
    for (size_t i = 0; i < report->frame_count; i++)
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY))
            return true;
    return false;
}

int report_as_sheets(struct report *copy, const struct report *report, bool for_picture,
                     struct arena *arena, struct err *err)
{
    size_t count = report->frame_count;
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, count, sizeof *kept, err);
    *copy = *report;
    copy->frame_count = 0;
    if (!sheets || !kept)
        return -1;
    if (report->tensor_count)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (report->frames[i].flags & COLUMN_TEXT_ONLY)
            continue;
        if (frame_sheet(&sheets[i], &report->frames[i], for_picture, arena, err))
            return -1;
        kept[copy->tensor_count++] = kept_made(&sheets[i]);
    }
    copy->tensors = kept;
    return 0;
}
