#include "lens/report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/names.h"
#include "lens/mean.h"
#include "pass/sampler.h"

/* What an axis counts: queries, the first token, keys, numbered channels, words of the vocabulary,
 * or a single value. */
enum things { OF_QUERIES, OF_FIRST, OF_KEYS, OF_NUMBERS, OF_WORDS, OF_VALUE };

struct axis_row {
    const char *name;
    enum things things;
};

/* The axes of the rows and columns of a matrix, indexed by enum site_axes. */
static const struct axis_row axis_rows[][2] = {
    [AXES_TOKEN_CHANNEL] = {{"token", OF_QUERIES}, {"channel", OF_NUMBERS}},
    [AXES_FIRST_CHANNEL] = {{"token", OF_FIRST}, {"channel", OF_NUMBERS}},
    [AXES_TOKEN_EXPERT] = {{"token", OF_QUERIES}, {"expert", OF_NUMBERS}},
    [AXES_TOKEN_WORD] = {{"token", OF_QUERIES}, {"word", OF_WORDS}},
    [AXES_HEAD_TOKEN] = {{"token", OF_QUERIES}, {"value", OF_VALUE}},
    [AXES_HEAD_TOKEN_DIM] = {{"token", OF_QUERIES}, {"dim", OF_NUMBERS}},
    [AXES_KV_HEAD_TOKEN_DIM] = {{"token", OF_KEYS}, {"dim", OF_NUMBERS}},
    [AXES_HEAD_KEY_VALUE] = {{"key_dim", OF_NUMBERS}, {"dim", OF_NUMBERS}},
    [AXES_HEAD_QUERY_KEY] = {{"query", OF_QUERIES}, {"key", OF_KEYS}},
    [AXES_COPY_TOKEN_CHANNEL] = {{"token", OF_QUERIES}, {"channel", OF_NUMBERS}},
    [AXES_QUERY_KEY] = {{"query", OF_QUERIES}, {"key", OF_KEYS}},
};

const struct tokenized *report_queries(const struct report *report, enum site_branch branch)
{
    return branch == BRANCH_SOURCE ? &report->source : &report->text;
}

const struct tokenized *report_keys(const struct report *report, enum site_branch branch)
{
    bool at_itself = !report->source.count || (report->has_encoder && branch == BRANCH_TEXT);
    return at_itself ? &report->text : &report->source;
}

const struct label *labels_with_next(const struct label *labels, size_t count, struct arena *arena,
                                     struct err *err)
{
    struct label *next = arena_alloc(arena, count, sizeof *next, err);
    for (size_t i = 0; next && i < count; i++) {
        next[i] = labels[i];
        if (i + 1 < count && !(next[i].text = arena_format(arena, err, "%s → %s", labels[i].text,
                                                           labels[i + 1].text)))
            return NULL;
    }
    return next;
}

const struct tokenized *report_text_of(const struct report *report, const struct axis *axis)
{
    if (report->next && axis->labels == report->next + report->first_shown)
        return &report->text;
    const struct tokenized *texts[] = {&report->text, &report->source};
    for (size_t i = 0; i < 2; i++) {
        const struct label *labels = texts[i]->words ? texts[i]->word_labels : texts[i]->labels;
        if (labels && axis->labels == labels + report->first_shown)
            return texts[i];
    }
    return NULL;
}

bool array_predicts(const struct array *array)
{
    return site_branch(array->site) == BRANCH_CROSS && array_has_key_columns(array);
}

size_t report_second(const struct tokenized *text, const size_t *queries, size_t first, size_t size)
{
    size_t second = 0;
    for (size_t i = 0; i < size && text->second; i++) {
        size_t index = queries ? queries[i] + text->words_before : first + i;
        second += (text->words ? text->words[index].first : index) < text->second;
    }
    return second < size ? second : 0;
}

const char *array_row_name(const struct array *array)
{
    return axis_rows[site_axes(array->site)]->name;
}

static struct axis label_axis(const struct report *report, const struct array *array,
                              const struct axis_row *row, size_t size)
{
    enum site_branch branch = site_branch(array->site);
    if (row->things == OF_WORDS || row->things == OF_NUMBERS) {
        bool words = row->things == OF_WORDS && report->words;
        const char *name = words && report->of_classes ? "class" : row->name;
        return (struct axis){name, size, words ? report->words : report->numbers};
    }
    static const struct label value = {"value", "value", "value"};
    if (row->things == OF_VALUE)
        return (struct axis){row->name, size, &value, -1};
    const struct tokenized *text =
        row->things == OF_KEYS ? report_keys(report, branch) : report_queries(report, branch);
    size_t second = report_second(text, NULL, report->first_shown, size);
    const struct label *labels = text->words ? text->word_labels : text->labels;
    if (row->things == OF_FIRST)
        return (struct axis){row->name, size, labels};
    if (report->next && row->things == OF_QUERIES && array_predicts(array))
        labels = report->next;
    size_t first = report->first_shown - text->words_before;
    return (struct axis){row->name,        size, labels + report->first_shown,
                         (ptrdiff_t)first, NULL, second};
}

bool array_is_mean_of_heads(const struct array *array)
{
    return !array->name && !array->heads.name && site_has_heads(array->site);
}

bool array_is_mean_of_layers(const struct array *array)
{
    return !array->name && array->layer < 0 && site_row(array->site)->in_layer;
}

const char *array_name(char name[SITE_NAME_BYTES], const struct array *array)
{
    if (array->theirs)
        return array->theirs;
    const char *stack = site_stack(array->site);
    const char *site = array->name ? array->name : site_name_in_layer(array->site);
    const char *whole = array->name ? site : site_name(array->site);
    const char *unit = array->bits ? "_bits" : "",
               *mean = array_is_mean_of_heads(array) ? ".mean" : "",
               *of = array->gradient && !array->name ? "gradient." : "";
    if (array_is_mean_of_layers(array))
        snprintf(name, SITE_NAME_BYTES, "%s%s.mean.%s%s%s", of, stack, site, unit, mean);
    else if (array->layer >= 0)
        snprintf(name, SITE_NAME_BYTES, "%s%s.%d.%s%s%s", of, stack, array->layer, site, unit,
                 mean);
    else
        snprintf(name, SITE_NAME_BYTES, "%s%s%s%s", of, whole, unit, mean);
    return name;
}

/* Name an axis unless it has a name; label its positions with their numbers unless it has
 * labels. */
static int number_axis(struct axis *axis, const char *name, struct arena *arena, struct err *err)
{
    axis->name = axis->name ? axis->name : name;
    if (axis->labels)
        return 0;
    struct label *labels = arena_alloc(arena, axis->size, sizeof *labels, err);
    for (size_t i = 0; labels && i < axis->size; i++) {
        const char *text = arena_format(arena, err, "%td", axis_number(axis, i));
        if (!text)
            return -1;
        labels[i] = (struct label){text, text, text};
    }
    axis->labels = labels;
    return err_if(!labels);
}

/* Number the heads (or other matrices) of an array 0, 1, …, unless they have numbers. */
static int number_heads(struct axis *heads, struct arena *arena, struct err *err)
{
    if (!heads->name || heads->numbers)
        return 0;
    size_t *numbers = arena_alloc(arena, heads->size, sizeof *numbers, err);
    for (size_t i = 0; numbers && i < heads->size; i++)
        numbers[i] = i;
    heads->numbers = numbers;
    return err_if(!numbers);
}

int report_add_array(struct report *report, const struct array *array, struct arena *arena,
                     struct err *err)
{
    size_t count = report->array_count;
    struct array *arrays = arena_grow(arena, (void *)report->arrays, count, sizeof *arrays, err);
    if (!arrays)
        return -1;
    struct array *own = &arrays[report->array_count++];
    report->arrays = arrays;
    *own = *array;
    return err_if(own->name && (number_heads(&own->heads, arena, err) ||
                                number_axis(&own->rows, "row", arena, err) ||
                                number_axis(&own->columns, "column", arena, err)));
}

const struct array *report_find(const struct report *report, enum site site, size_t layer)
{
    int number = site_row(site)->in_layer ? (int)layer : -1;
    for (size_t i = 0; i < report->array_count; i++)
        if (!report->arrays[i].name && report->arrays[i].site == site &&
            report->arrays[i].layer == number)
            return &report->arrays[i];
    return NULL;
}

struct tensor array_tensor(const struct array *array)
{
    const size_t shape[] = {array->heads.size, array->rows.size, array->columns.size};
    bool has_heads = array->heads.name;
    return tensor_dense(array->data, has_heads ? 3 : 2, has_heads ? shape : shape + 1);
}

bool array_is_of_copies(const struct array *array)
{
    return !array->name && site_axes(array->site) == AXES_COPY_TOKEN_CHANNEL;
}

size_t array_rank(const struct array *array)
{
    return array_tensor(array).rank -
           (!array->name && (site_axes(array->site) == AXES_HEAD_TOKEN ||
                             (site_id(array->site) == SITE_DECAY && array->columns.size == 1)));
}

size_t array_cells(const struct array *array)
{
    return array_matrix_count(array) * array->rows.size * array->columns.size;
}

bool array_has_key_columns(const struct array *array)
{
    enum site_axes axes = site_axes(array->site);
    return !array->name && (axes == AXES_HEAD_QUERY_KEY || axes == AXES_QUERY_KEY);
}

size_t array_matrix_count(const struct array *array)
{
    return array->heads.name ? array->heads.size : 1;
}

struct array array_head(const struct array *array, size_t index)
{
    struct array one = *array;
    if (!one.heads.name)
        return one;
    one.heads.numbers += index;
    one.heads.size = 1;
    one.data += one.data ? index * one.rows.size * one.columns.size : 0;
    one.visible += one.visible ? index * one.visible_step : 0;
    return one;
}

struct sheet array_matrix(const struct report *report, const struct array *array, size_t index)
{
    assert(index < array_matrix_count(array));
    const struct site_set fractions =
        SITE_SET(SITE_WEIGHTS, SITE_SOFTMAX, SITE_VALUE_ZEROING, SITE_ROLLOUT);
    static const char *const in_bits[] = {[BRANCH_TEXT] = "entropy_bits",
                                          [BRANCH_SOURCE] = "enc.entropy_bits",
                                          [BRANCH_CROSS] = "cross_entropy_bits"};
    size_t rows = array->rows.size, columns = array->columns.size;
    bool of_heads = array_is_mean_of_heads(array), of_layers = array_is_mean_of_layers(array);
    struct sheet sheet = {
        .name = array->name,
        .layer = array->layer,
        .head = array->heads.name ? (int)array->heads.numbers[index] : -1,
        .shared_by = array->shared_by,
        .rows = array->rows,
        .columns = array->columns,
        .values = array->data ? array->data + index * rows * columns : NULL,
        .visible = array->visible ? array->visible + index * array->visible_step : NULL,
        .mean_of_layers = of_layers,
        .mean_of_heads = of_heads,
        .display = array->display,
    };
    if (array->name)
        return sheet;
    const struct site_row *site = site_row(array->site);
    const struct axis_row *axes = axis_rows[site_axes(array->site)];
    sheet.of_copies = array_is_of_copies(array);
    sheet.is_named = report->named && !sheet.of_copies &&
                     sheet.layer == (int)report->named->layer &&
                     sheet.head == (int)report->named->head;
    if (!sheet.rows.labels)
        sheet.rows = label_axis(report, array, &axes[0], rows);
    if (!sheet.columns.labels)
        sheet.columns = label_axis(report, array, &axes[1], columns);
    sheet.name = array->bits ? in_bits[site_branch(array->site)] : site_name(array->site);
    sheet.name = array->gradient ? array->gradient : sheet.name;
    sheet.display.fraction = !array->gradient && site_branch(array->site) < ATTENTION_BRANCHES &&
                             site_set_has(fractions, site_id(array->site));
    sheet.display.whole = site_is_of_mask(array->site) && !of_layers && !of_heads;
    sheet.causal = site->masked && (site_branch(array->site) == BRANCH_MIXER ||
                                    (report->causal && site_branch(array->site) == BRANCH_TEXT));
    return sheet;
}

/* Copy a matrix and append a column: `more` [rows], or 1 in every row if `more` is NULL. */
static float *with_column(const float *cells, const float *more, size_t rows, size_t columns,
                          struct arena *arena, struct err *err)
{
    float *data = arena_room(arena, rows * (columns + 1), sizeof *data, err);
    for (size_t row = 0; data && row < rows; row++) {
        memcpy(data + row * (columns + 1), cells + row * columns, columns * sizeof *data);
        data[row * (columns + 1) + columns] = more ? more[row] : 1;
    }
    return data;
}

/* Copy an axis of keys, and append the sink, a position without a number. */
static int add_sink(struct axis *axis, const struct axis *keys, struct arena *arena,
                    struct err *err)
{
    struct label *labels = arena_alloc(arena, keys->size + 1, sizeof *labels, err);
    size_t *numbers = arena_alloc(arena, keys->size + 1, sizeof *numbers, err);
    if (!labels || !numbers)
        return -1;
    memcpy(labels, keys->labels, keys->size * sizeof *labels);
    labels[keys->size] = (struct label){"sink", "sink", "sink"};
    for (size_t i = 0; i <= keys->size; i++)
        numbers[i] = i < keys->size ? (size_t)axis_number(keys, i) : SIZE_MAX;
    *axis = *keys;
    axis->size++;
    axis->labels = labels;
    axis->numbers = numbers;
    return 0;
}

int report_join_sinks(struct report *report, struct arena *arena, struct err *err)
{
    struct array *arrays = arena_alloc(arena, report->array_count, sizeof *arrays, err);
    size_t count = 0;
    for (size_t i = 0; arrays && i < report->array_count; i++) {
        struct array array = report->arrays[i];
        const bool is_sink = array.site == SITE_SINK, is_map = array.site == SITE_WEIGHTS;
        const struct array *other =
            report_find(report, is_sink ? SITE_WEIGHTS : SITE_SINK, (size_t)array.layer);
        bool joins = !array.name && other && array.data;
        if (joins && is_sink)
            continue;
        if (joins && is_map) {
            struct sheet sheet = array_matrix(report, &array, 0);
            size_t maps = array.visible_step ? array_matrix_count(&array) : 1;
            size_t rows = array.rows.size, keys = array.columns.size;
            array.data = with_column(array.data, other->data, array_matrix_count(&array) * rows,
                                     keys, arena, err);
            if (add_sink(&array.columns, &sheet.columns, arena, err))
                return -1;
            if (array.visible)
                array.visible = with_column(array.visible, NULL, maps * rows, keys, arena, err);
            if (!array.data || (sheet.visible && !array.visible))
                return -1;
            array.visible_step = array.visible_step ? rows * array.columns.size : 0;
        }
        arrays[count++] = array;
    }
    report->arrays = arrays;
    report->array_count = count;
    return arrays ? 0 : -1;
}

const struct chapter *report_chapter(const struct report *report)
{
    return report->table_count ? report->tables->working.chapter : NULL;
}

bool report_has_tables(const struct report *report)
{
    for (size_t i = 0; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY))
            return true;
    return false;
}

int report_add_strongest(struct report *report, const char *ending, float origin,
                         struct arena *arena, struct err *err)
{
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct strongest strongest = {.origin = origin};
    for (size_t i = 0; i < report->array_count; i++)
        if (name_ends_in(report->arrays[i].name, ending)) {
            struct sheet sheet = array_matrix(report, &report->arrays[i], 0);
            strongest_add(&strongest, &sheet);
        }
    report->tables = table;
    report->table_count = strongest.count > 0;
    report->strongest = ending;
    report->origin = origin;
    return table ? strongest_table(table, &strongest, arena, err) : -1;
}

/* --- words and hidden tokens ---------------------------------------------------------------------
 *
 * The attention of a word is the mean over the tokens of the query and the sum over the tokens of
 * the key: rows still sum to 1. Other vectors of a word are the mean over its tokens. */
enum grouping { INTO_WORDS, WITHOUT_FIRST };

/* The old positions of an axis that are combined into each new position. */
struct groups {
    const struct word_span *words; /* [count] the range of old positions for each new one; NULL: one
                                    * position each, from `first` on */
    size_t first;
    size_t count;
};

static struct groups group_axis(const struct tokenized *tokenized, size_t size, enum grouping how)
{
    if (how == WITHOUT_FIRST)
        return (struct groups){.first = 1, .count = size - 1};
    return (struct groups){tokenized->words, 0, tokenized->words ? tokenized->word_count : size};
}

static struct word_span group_at(const struct groups *groups, size_t index)
{
    return groups->words ? groups->words[index] : (struct word_span){groups->first + index, 1};
}

/* Replace `count` matrices of the array's size by smaller ones: a new cell is the sum over its
 * group of columns, averaged over its group of rows. Does nothing if `*matrices` is NULL. */
static int group_matrices(const float **matrices, size_t count, const struct array *array,
                          const struct groups axes[2], struct arena *arena, struct err *err)
{
    if (!*matrices)
        return 0;
    size_t cells = axes[0].count * axes[1].count;
    float *data = arena_alloc(arena, count * cells, sizeof *data, err);
    for (size_t i = 0; data && i < count * cells; i++) {
        size_t width = array->columns.size;
        const float *matrix = *matrices + i / cells * array->rows.size * width;
        struct word_span rows = group_at(&axes[0], i % cells / axes[1].count);
        struct word_span columns = group_at(&axes[1], i % axes[1].count);
        double sum = 0;
        for (size_t r = rows.first; r < rows.first + rows.count; r++)
            for (size_t c = columns.first; c < columns.first + columns.count; c++)
                sum += (double)matrix[r * width + c];
        data[i] = (float)(sum / (double)rows.count);
    }
    *matrices = data;
    return data ? 0 : -1;
}

static int group_matrix(struct array *array, const struct groups axes[2], struct arena *arena,
                        struct err *err)
{
    size_t matrices = array_matrix_count(array);
    if (group_matrices(&array->data, matrices, array, axes, arena, err) ||
        group_matrices(&array->visible, array->visible_step ? matrices : 1, array, axes, arena,
                       err))
        return -1;
    array->rows.size = axes[0].count;
    array->columns.size = axes[1].count;
    array->visible_step = array->visible_step ? axes[0].count * axes[1].count : 0;
    return 0;
}

static int group_all(struct array *arrays, const struct report *report, enum grouping how,
                     struct arena *arena, struct err *err)
{
    for (struct array *array = arrays; array < arrays + report->array_count; array++) {
        enum site_branch branch = site_branch(array->site);
        enum site_axes own_axes = site_axes(array->site);
        const struct tokenized *keys = report_keys(report, branch);
        const struct tokenized *rows =
            own_axes == AXES_KV_HEAD_TOKEN_DIM ? keys : report_queries(report, branch);
        struct groups axes[] = {group_axis(rows, array->rows.size, how),
                                {.count = array->columns.size}};
        if (own_axes == AXES_FIRST_CHANNEL)
            axes[0] = (struct groups){.count = 1};
        if (own_axes == AXES_HEAD_KEY_VALUE)
            axes[0] = (struct groups){.count = array->rows.size};
        if (array_selects(array, &array->rows) && how == WITHOUT_FIRST) {
            size_t hidden = array->rows.numbers[0] + rows->words_before == 0;
            axes[0] = (struct groups){.first = hidden, .count = array->rows.size - hidden};
            array->rows.numbers += hidden;
            array->rows.labels += hidden;
            array->rows.second -= array->rows.second ? hidden : 0;
            if (!axes[0].count)
                return err_usage(err,
                                 "--hide-first: --query selects only the token that is hidden");
        }
        if (array_has_key_columns(array))
            axes[1] = group_axis(keys, array->columns.size, how);
        if (group_matrix(array, axes, arena, err))
            return -1;
    }
    return 0;
}

/* True for sites whose values can be summed over a word's keys and averaged over its queries. */
static bool has_sum(enum site site)
{
    const struct site_set lacking = SITE_SET(SITE_SCORES, SITE_MASKED, SITE_LOGITS);
    return !site_set_has(lacking, site_id(site)) && !site_is_of_mask(site);
}

/* Tells select_axis which positions of an axis to keep. */
struct axis_choice {
    const char *list;                    /* numbers, such as "0,3-5"; NULL: all positions, or those
                                          * in `named` */
    const struct named_positions *named; /* items of positions to join; NULL: join none */
    const char *option, *thing;          /* for messages: the option, and what its numbers count,
                                          * "token" or "word" */
    size_t before;                       /* number of leading tokens that have no number, but are
                                          * counted by the indices of `list` */
};

/* Set `axis` to the chosen positions of `from`: groups[0] chooses the positions, and groups[1]
 * joins positions of the same name. */
static int select_axis(struct axis *axis, struct groups groups[2], const struct axis *from,
                       const struct axis_choice *choice, struct arena *arena, struct err *err)
{
    const struct named_positions all = {NULL, (const char *[]){choice->list}, 1};
    const struct named_positions *named = choice->named ? choice->named : &all;
    const struct index_range range = {choice->option, "text", choice->thing,
                                      (size_t)axis_number(from, from->size - 1) + 1 +
                                          choice->before};
    const size_t most = named->count * range.count;
    struct word_span *spans = arena_alloc(arena, most, sizeof *spans, err), *joined = NULL;
    struct label *labels = arena_alloc(arena, most, sizeof *labels, err);
    size_t *numbers = arena_alloc(arena, most, sizeof *numbers, err), found = 0;
    if (!spans || !labels || !numbers ||
        !(joined = arena_alloc(arena, named->count, sizeof *joined, err)))
        return -1;
    for (size_t k = 0; k < named->count; k++) {
        const size_t first = found, *wanted = NULL;
        size_t count = 0;
        if (selection_indices(&wanted, &count, named->positions[k], &range, arena, err))
            return -1;
        for (size_t i = 0; i < count; i++) {
            const size_t number = (wanted ? wanted[i] : i) - choice->before;
            size_t index = axis_index(from, number);
            if (index >= from->size) /* skip a position that is hidden */
                continue;
            spans[found] = (struct word_span){index, 1};
            labels[found] = from->labels[index];
            numbers[found++] = number;
        }
        if (found == first)
            return err_usage(err, "%s selects only the token that is hidden", choice->option);
        joined[k] = (struct word_span){first, found - first};
    }
    groups[0] = (struct groups){.words = spans, .count = found};
    groups[1] = (struct groups){.count = found};
    *axis = (struct axis){from->name, found, labels, 0, numbers, 0};
    if (choice->named) { /* named positions have no numbers */
        groups[1] = (struct groups){.words = joined, .count = named->count};
        *axis = (struct axis){from->name, named->count, named->labels, -(ptrdiff_t)named->count,
                              .joined = true};
        return 0;
    }
    while (axis->second < axis->size && spans[axis->second].first < from->second)
        axis->second++;
    axis->second = axis->second < axis->size ? axis->second : 0;
    return 0;
}

static int hide_keys(struct array *array, const struct groups *kept_keys, struct arena *arena,
                     struct err *err)
{
    size_t maps = array->visible_step ? array_matrix_count(array) : 1;
    size_t rows = maps * array->rows.size, width = array->columns.size;
    float *visible = arena_alloc(arena, rows * width, sizeof *visible, err);
    for (size_t row = 0; visible && row < rows; row++)
        for (size_t i = 0; i < kept_keys->count; i++) {
            size_t cell = row * width + kept_keys->words[i].first;
            visible[cell] = array->visible ? array->visible[cell] : 1;
        }
    array->visible = visible;
    return visible ? 0 : -1;
}

/* Keep only the selected keys and, if rows are words, the selected queries; rows that are tokens
 * were captured only for selected queries. Named positions are joined, as the tokens of a word
 * are. */
static int select_cells(struct array *arrays, struct report *report, const struct derivation *how,
                        struct arena *arena, struct err *err)
{
    const bool joins = (how->mean_of_regions || how->mean_of_texts) && !how->pool.by;
    for (struct array *array = arrays; array < arrays + report->array_count; array++) {
        if (array->name)
            continue;
        enum site_branch branch = site_branch(array->site);
        const struct sheet sheet = array_matrix(report, array, 0);
        const struct tokenized *rows = report_queries(report, branch);
        const struct tokenized *columns = report_keys(report, branch);
        const bool has_keys = array_has_key_columns(array);
        const enum things things = axis_rows[site_axes(array->site)][0].things;
        const bool has_queries = things == OF_QUERIES;
        struct axis_choice choices[] = {
            {.list = has_queries && rows->words ? rows->queries : NULL, .option = "--query"},
            {.list = has_keys ? columns->keys : NULL, .option = "--key"}};
        for (size_t k = 0; k < 2; k++) {
            const struct tokenized *text = k || !has_queries ? columns : rows;
            choices[k].thing = text->words ? "word" : "token";
            choices[k].before = text->words ? 0 : text->words_before;
        }
        const struct named_positions *named =
            has_queries ? &rows->named_queries : &columns->named_keys;
        if (joins && (has_queries || things == OF_KEYS) && named->count)
            choices[0].named = named;
        if (joins && has_keys && columns->named_keys.count)
            choices[1].named = &columns->named_keys;
        struct groups of_rows[] = {{.count = sheet.rows.size}, {.count = sheet.rows.size}};
        struct groups of_keys[] = {{.count = sheet.columns.size}, {.count = sheet.columns.size}};
        struct axis rows_left = array->rows, keys_left = array->columns;
        bool queries = choices[0].list || choices[0].named, keys = choices[1].list;
        if ((queries && select_axis(&rows_left, of_rows, &sheet.rows, &choices[0], arena, err)) ||
            (keys && select_axis(&keys_left, of_keys, &sheet.columns, &choices[1], arena, err)))
            return -1;
        if (keys && how->hides_keys) {
            if (hide_keys(array, of_keys, arena, err))
                return -1;
            of_keys[0] = of_keys[1] = (struct groups){.count = sheet.columns.size};
            keys_left = array->columns;
        }
        for (size_t i = 0; choices[1].named && i < of_keys[1].count && !has_sum(array->site); i++)
            if (of_keys[1].words[i].count > 1)
                return err_usage(err,
                                 "--key '%s': '%s' has no sum over several tokens: leave it out of "
                                 "--show",
                                 keys_left.labels[i].plain, sheet.name);
        for (size_t k = 0; k < 2 && (queries || keys); k++)
            if (group_matrix(array, (struct groups[]){of_rows[k], of_keys[k]}, arena, err))
                return -1;
        if (choices[0].named || choices[1].named)
            report->causal = false;
        array->rows = rows_left;
        array->columns = keys_left;
    }
    return 0;
}

const struct label pooling_labels[POOL_MODEL] = {{"first", "first", "first"},
                                                 {"last", "last", "last"},
                                                 {"mean", "mean", "mean"},
                                                 {"max", "max", "max"},
                                                 {"model", "model", "model"}};

static int pool_all(struct array *arrays, const struct report *report,
                    const struct pooling_rule *rule, struct arena *arena, struct err *err)
{
    for (struct array *array = arrays; array < arrays + report->array_count; array++) {
        size_t matrices = array_matrix_count(array);
        size_t rows = array->rows.size, columns = array->columns.size;
        size_t width = pooling_width(rule, columns);
        float *data = arena_alloc(arena, matrices * width, sizeof *data, err);
        for (size_t k = 0; data && k < matrices; k++)
            if (pool_rows(data + k * width, array->data + k * rows * columns, rows, columns, rule,
                          err))
                return -1;
        array->data = data;
        array->rows = (struct axis){array_row_name(array), 1, &pooling_labels[rule->by - 1], -1};
        if (rule->by == POOL_MODEL) {
            array->name = "sentence_vector";
            array->layer = -1;
        }
        if (!data ||
            (array->name && axis_of_numbers(&array->columns, "channel", NULL, width, arena, err)))
            return -1;
    }
    return 0;
}

/* Add a row with statistics of the visible, finite numbers of a sheet. */
static void add_stats(struct table_rows *rows, const struct sheet *sheet, bool shares, bool copies)
{
    size_t count = 0;
    double sum = 0;
    double least = NAN;
    double most = NAN;
    double squares = 0;
    for (int round = 0; round < 2; round++) /* first the mean, then squared distances to the mean */
        for (size_t i = 0; i < sheet->rows.size * sheet->columns.size; i++) {
            double x = (double)sheet->values[i];
            bool counts = isfinite(x) &&
                          !sheet_hides(sheet, i / sheet->columns.size, i % sheet->columns.size);
            if (counts && round == 0) {
                count++;
                sum += x;
                least = fmin(least, x);
                most = fmax(most, x);
            } else if (counts) {
                squares += (x - sum / (double)count) * (x - sum / (double)count);
            }
        }
    char stem[SHEET_NAME_BYTES];
    const char *name = arena_format(rows->arena, rows->err, "%s", sheet_stem(stem, sheet));
    rows_label(rows, "row", COLUMN_HIDDEN, (struct label){name, name, name});
    rows_text(rows, "tensor", COLUMN_KEY, sheet->name);
    rows_integer(rows, "layer", COLUMN_KEY, sheet->layer < 0 ? COLUMN_MISSING : sheet->layer);
    const char *const words[] = {"head", shares ? "kv_head" : NULL, copies ? "copy" : NULL};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i])
            rows_integer(rows, words[i], COLUMN_KEY,
                         sheet->head < 0 || strcmp(sheet_head_word(sheet), words[i]) != 0
                             ? COLUMN_MISSING
                             : sheet->head);
    rows_integer(rows, "count", 0, (long long)count);
    rows_float(rows, (struct column){"mean", .digits = 4}, sum / (double)count);
    rows_float(rows, (struct column){"variance", .digits = 4}, squares / (double)count);
    rows_float(rows, (struct column){"minimum", .digits = 4}, least);
    rows_float(rows, (struct column){"maximum", .digits = 4}, most);
    rows_next(rows);
}

static int describe(struct report *report, struct arena *arena, struct err *err)
{
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.arena = arena, .err = err};
    bool shares = false, copies = false;
    for (size_t i = 0; i < report->array_count; i++) {
        rows.most += array_matrix_count(&report->arrays[i]);
        shares |= report->arrays[i].shared_by > 1;
        copies |= array_is_of_copies(&report->arrays[i]);
    }
    for (size_t i = 0; i < report->array_count; i++)
        for (size_t k = 0; k < array_matrix_count(&report->arrays[i]); k++) {
            struct sheet sheet = array_matrix(report, &report->arrays[i], k);
            add_stats(&rows, &sheet, shares, copies);
        }
    report->tables = table;
    report->table_count = rows.most > 0;
    report->shows_arrays = true;
    return !table || rows_finish(table, &rows, "stats", "tensor") ? -1 : 0;
}

enum { ALIGNED_SHOWN = 3 }; /* number of keys that text output shows for each token */

/* Add the keys of a row, best first: for data, a row for each key; for people, one row, whose cell
 * has the best ALIGNED_SHOWN keys, "dog 0.97  the 0.02". */
static void add_aligned(struct table_rows *rows, const struct sheet *sheet, size_t row,
                        const struct label *label, const struct likely *best, bool for_people)
{
    struct buf text = {0};
    size_t keys = sheet->columns.size;
    for (size_t i = 0; i < (for_people ? 1 : keys); i++, rows_next(rows)) {
        rows_integer(rows, "token", COLUMN_KEY, axis_number(&sheet->rows, row) + 1);
        rows_label(rows, "text", COLUMN_KEY, *label);
        for (size_t k = 0; for_people && k < ALIGNED_SHOWN && k < keys; k++)
            buf_format(&text, "%s%s %.2f", k ? "  " : "", sheet->columns.labels[best[k].id].text,
                       best[k].logprob);
        if (for_people) {
            rows_text(rows, "source", 0, buf_keep(&text, rows->arena, rows->err));
            continue;
        }
        rows_integer(rows, "rank", COLUMN_KEY, (long long)i + 1);
        rows_integer(rows, "source", 0, axis_number(&sheet->columns, best[i].id));
        rows_label(rows, "source_text", 0, sheet->columns.labels[best[i].id]);
        rows_float(rows, (struct column){"weight", .digits = 4}, best[i].logprob);
    }
}

/* Set the tables of --align. A row is named by the next token of the text, which it predicts; the
 * last row is left out, since no token follows it. */
static int align(struct report *report, struct arena *arena, struct err *err)
{
    const struct sheet sheet = array_matrix(report, report->arrays, 0);
    const struct tokenized *text = &report->text;
    const struct label *labels = text->words ? text->word_labels : text->labels;
    struct table *tables = arena_alloc(arena, 2, sizeof *tables, err);
    struct likely *best = arena_alloc(arena, sheet.columns.size, sizeof *best, err);
    if (!tables || !best)
        return -1;
    size_t keys = sheet.columns.size;
    struct table_rows data = {.most = sheet.rows.size * keys, .arena = arena, .err = err};
    struct table_rows texts = {.most = sheet.rows.size, .arena = arena, .err = err};
    for (size_t row = 0; row + 1 < sheet.rows.size; row++) {
        topk(best, keys, sheet.values + row * keys, keys, 0);
        add_aligned(&data, &sheet, row, &labels[row + 1], best, false);
        add_aligned(&texts, &sheet, row, &labels[row + 1], best, true);
    }
    if (rows_finish(&tables[0], &data, "alignment", "token") ||
        rows_finish(&tables[1], &texts, "alignment", "token"))
        return -1;
    tables[0].flags = COLUMN_DATA_ONLY;
    tables[1].flags = COLUMN_TEXT_ONLY;
    report->tables = tables;
    report->table_count = 2;
    return 0;
}

int derive_read_mean(struct derivation *how, const char *list, enum mean_axes axes, struct err *err)
{
    static const char *const things[] = {"heads", "layers", "texts", "regions"};
    unsigned means = 0;
    const unsigned first = axes < MEAN_AXES ? MEAN_AXES - axes : 0;
    if (names_choose_set(&means, (struct names){things + first, axes, sizeof *things}, "--mean",
                         list, err))
        return -1;
    means <<= first;
    how->mean_of_heads = means & 1;
    how->mean_of_layers = means & 2;
    how->mean_of_texts = means & 4;
    how->mean_of_regions = means & 8;
    return 0;
}

int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err)
{
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        enum site_axes axes = site_axes(site);
        if (how->pool.by &&
            (axes == AXES_HEAD_QUERY_KEY || axes == AXES_QUERY_KEY || axes == AXES_FIRST_CHANNEL))
            return err_usage(err,
                             "--pool: expected tensors with a vector for each token, found '%s': "
                             "leave it out of --show",
                             site_name(site));
    }
    if (!how->words)
        return 0;
    if (!tokenizer)
        return err_usage(
            err, "--words: expected a model with a tokenizer, found one that takes only ids");
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        if (!has_sum(site))
            return err_usage(err,
                             "--words: '%s' has no meaning for a word of several tokens: leave it "
                             "out of --show",
                             site_name(site));
    return 0;
}

/* Return the arrays without heads, followed by an array of one head for each head that `how` lists
 * and each site with heads, in the order of the list; NULL with `err`. */
static struct array *choose_heads(struct report *report, const struct derivation *how,
                                  struct arena *arena, struct err *err)
{
    struct array *chosen =
        arena_alloc(arena, report->array_count * (how->head_count + 1), sizeof *chosen, err);
    size_t count = 0;
    for (size_t k = 0; chosen && k <= how->head_count; k++)
        for (size_t i = 0; i < report->array_count; i++) {
            const struct array *array = &report->arrays[i];
            bool has_heads = array->heads.name && !array_is_of_copies(array);
            if (k == 0 && !has_heads)
                chosen[count++] = *array;
            if (k == 0 || !has_heads || array->layer != (int)how->heads[k - 1].layer)
                continue;
            size_t head = how->heads[k - 1].head / num_max(array->shared_by, 1);
            for (size_t index = 0; index < array->heads.size; index++)
                if (array->heads.numbers[index] == head)
                    chosen[count++] = array_head(array, index);
        }
    report->array_count = count;
    return chosen;
}

int report_join_heads(struct report *report, const struct derivation *how, struct arena *arena,
                      struct err *err)
{
    struct array *arrays = arena_alloc(arena, report->array_count, sizeof *arrays, err);
    struct label *labels = arena_alloc(arena, how->head_count, sizeof *labels, err);
    size_t *numbers = arena_alloc(arena, how->head_count, sizeof *numbers, err), count = 0;
    for (size_t i = 0; i < report->array_count && arrays; i++)
        arrays[i] = report->arrays[i];
    for (size_t i = 0; i < how->head_count && !err->kind; i++)
        labels[i] = label_of_head(how->heads[i].layer, how->heads[i].head, arena, err);
    for (size_t i = 0; i < report->array_count && !err->kind; i++) {
        struct array joined = arrays[i];
        size_t cells = joined.rows.size * joined.columns.size, found = 0;
        if (!joined.heads.name || array_is_of_copies(&joined)) {
            arrays[count++] = joined;
            continue;
        }
        if (joined.layer < 0) /* already joined to an earlier array */
            continue;
        float *data = arena_alloc(arena, how->head_count * cells, sizeof *data, err);
        for (size_t k = i; k < report->array_count && data; k++) {
            struct array *one = &arrays[k];
            if (one->site != joined.site || !one->heads.name)
                continue;
            if (one->rows.size != joined.rows.size || one->columns.size != joined.columns.size)
                return err_usage(err,
                                 "--head: '%s': expected heads of one size, found others in layer "
                                 "%d",
                                 site_name(joined.site), one->layer);
            if (one->data)
                memcpy(data + found * cells, one->data, cells * sizeof *data);
            numbers[found] = found;
            found++;
            one->layer = -1;
        }
        const struct sheet sheet = array_matrix(report, &joined, 0);
        joined.name = sheet.name;
        joined.layer = -1;
        joined.shared_by = 0;
        joined.heads = (struct axis){joined.heads.name, found, labels, 0, numbers};
        joined.rows = sheet.rows;
        joined.columns = sheet.columns;
        joined.data = joined.data ? data : NULL;
        arrays[count++] = joined;
    }
    report->arrays = arrays;
    report->array_count = count;
    report->heads = NULL;
    return err_if(err->kind);
}

/* Average over heads and layers first: grouping then has fewer tensors to read. */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err)
{
    struct array *arrays = arena_alloc(arena, report->array_count, sizeof *arrays, err);
    const struct tokenized *texts[] = {&report->text, &report->source};
    if (!arrays)
        return -1;
    for (size_t i = 0; i < report->array_count; i++) {
        struct array *array = &arrays[i];
        *array = report->arrays[i];
        if (how->names && !array->name)
            array->theirs = how->names[SITE_COUNT * (size_t)(array->layer < 0 ? 0 : array->layer) +
                                       array->site];
        array->merges_heads = how->merges_heads;
    }
    report->arrays = arrays;
    if (how->head_count && !(report->arrays = arrays = choose_heads(report, how, arena, err)))
        return -1;
    if ((how->mean_of_heads || how->mean_of_layers) &&
        report_take_means(arrays, report, how, arena, err))
        return -1;
    if (how->words &&
        (word_spans_find(&report->text, tokenizer, arena, err) ||
         (report->source.count &&
          word_spans_find(&report->source, tokenizer_of_source(tokenizer), arena, err)) ||
         group_all(arrays, report, INTO_WORDS, arena, err) ||
         (report->next && !(report->next = labels_with_next(report->text.word_labels,
                                                            report->text.word_count, arena, err)))))
        return -1;
    for (size_t i = 0; how->hide_first && i < 1 + (report->source.count > 0); i++)
        if ((texts[i]->words ? texts[i]->word_count : texts[i]->count) < 2)
            return err_set(err, "--hide-first: expected a %s of two tokens or more, found one",
                           i ? "source" : "text");
    report->first_shown = how->hide_first ? 1 : report->first_shown;
    if ((how->hide_first && group_all(arrays, report, WITHOUT_FIRST, arena, err)) ||
        select_cells(arrays, report, how, arena, err) ||
        (how->pool.by && pool_all(arrays, report, &how->pool, arena, err)) ||
        (how->joins_heads && !how->mean_of_texts && report_join_heads(report, how, arena, err)))
        return -1;
    return how->align ? align(report, arena, err) : how->stats ? describe(report, arena, err) : 0;
}
