/* page_scores.c: what heads do, of a file that `attn-cli heads --format csv` has written: a line a
 * head, whose columns after `layer` and `head` are scores. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/csv_read.h"
#include "measure/head_scores.h"
#include "items.h"
#include "page_parts.h"

static const char baseline_ending[] = "_baseline"; /* not for a page */

struct sheet_columns {
    size_t model, layer, head; /* SIZE_MAX: there is none */
    size_t *scores;            /* [count] */
    size_t count;
};

static bool is_baseline(const char *name)
{
    return name_ends_in(name, baseline_ending) && strcmp(name, baseline_ending) != 0;
}

static int read_header(struct sheet_columns *columns, const struct csv_record *header,
                       const char *path, struct arena *arena, struct err *err)
{
    *columns = (struct sheet_columns){SIZE_MAX, SIZE_MAX, SIZE_MAX, NULL, 0};
    columns->scores = arena_alloc(arena, header->count, sizeof *columns->scores, err);
    if (!columns->scores)
        return -1;
    for (size_t i = 0; i < header->count; i++) {
        const char *name = header->fields[i];
        size_t *known = strcmp(name, "model") == 0   ? &columns->model
                        : strcmp(name, "layer") == 0 ? &columns->layer
                        : strcmp(name, "head") == 0  ? &columns->head
                                                     : NULL;
        if (known)
            *known = i;
        else if (!is_baseline(name))
            columns->scores[columns->count++] = i;
    }
    if (columns->layer != SIZE_MAX && columns->head != SIZE_MAX && columns->count)
        return 0;
    return err_set(err,
                   "'%s': expected the columns layer, head and scores, as 'attn-cli heads --format "
                   "csv' writes them, found others",
                   path);
}

/* A head of the model that is looked at; numbers stay as they are written. */
static int read_line(struct page_head *head, const struct csv_record *record,
                     const struct sheet_columns *columns, const char *path,
                     const struct config *config, struct err *err)
{
    long long layer = 0;
    long long index = 0;
    const char *texts[] = {record->fields[columns->layer], record->fields[columns->head]};
    if (!num_parse_integer(texts[0], 0, (long long)config->n_layer - 1, &layer) ||
        !num_parse_integer(texts[1], 0, (long long)config->n_head - 1, &index))
        return err_set(err,
                       "'%s' line %zu: expected a head of %zu layers of %zu heads, found layer "
                       "'%s', head '%s'",
                       path, record->line, config->n_layer, config->n_head, texts[0], texts[1]);
    head->layer = (size_t)layer;
    head->head = (size_t)index;
    for (size_t i = 0; i < columns->count; i++) {
        double value = 0;
        const char *text = record->fields[columns->scores[i]];
        if (*text && !num_parse_double(text, -HUGE_VAL, HUGE_VAL, &value))
            return err_set(err, "'%s' line %zu: expected a number, found '%s'", path, record->line,
                           text);
        head->values[i] = text;
    }
    return 0;
}

/* What it is clearly, as `heads` says it: "previous token, induction". */
static int name_head(struct page_head *head, const struct page_scores *scores, struct arena *arena,
                     struct err *err)
{
    head->name = "";
    for (size_t i = 0; i < scores->name_count; i++) {
        const char *name = scores->names[i];
        size_t index = 0;
        double value = 0;
        if (!names_find(&index, NAMES(score_rows, score_row_count), name, strlen(name)) ||
            !num_parse_double(head->values[i], -HUGE_VAL, HUGE_VAL, &value))
            continue;
        const struct score_row *row = &score_rows[index];
        if (!row->verdict || value < row->from)
            continue;
        head->name =
            arena_format(arena, err, "%s%s%s", head->name, *head->name ? ", " : "", row->verdict);
        if (!head->name)
            return -1;
    }
    return 0;
}

/* Lines of other models are passed by. */
static int read_lines(struct page_scores *scores, struct csv_reader *reader,
                      const struct sheet_columns *columns, const struct page_source *source,
                      struct arena *arena, struct err *err)
{
    const struct model *model = &source->viewer->model;
    const char *path = source->options->page.scores;
    size_t width = 0;
    struct csv_record record = {0};
    size_t room = model->config.n_layer * model->config.n_head;
    scores->heads = arena_alloc(arena, room, sizeof *scores->heads, err);
    if (!scores->heads)
        return -1;
    for (size_t i = 0; i < columns->count; i++)
        width = columns->scores[i] > width ? columns->scores[i] : width;
    for (;;) {
        if (csv_read(reader, &record, arena, err))
            return err_prefix(err, "'%s'", path);
        if (!record.count)
            return 0;
        if (record.count <= width)
            return err_set(err, "'%s' line %zu: expected %zu fields, found %zu", path, record.line,
                           width + 1, record.count);
        if (columns->model != SIZE_MAX && strcmp(record.fields[columns->model], model->name) != 0)
            continue;
        if (scores->count == room)
            return err_set(err,
                           "'%s' line %zu: expected one line for each of %zu heads, found more",
                           path, record.line, room);
        struct page_head *head = &scores->heads[scores->count++];
        head->values = arena_alloc(arena, columns->count, sizeof *head->values, err);
        if (!head->values || read_line(head, &record, columns, path, &model->config, err) ||
            name_head(head, scores, arena, err))
            return -1;
    }
}

static int read_file(struct page_scores *scores, const struct file *file,
                     const struct page_source *source, struct arena *arena, struct err *err)
{
    const char *path = source->options->page.scores;
    struct csv_reader reader = {text_after_mark(file), file->bytes + file->size, 1, ','};
    struct csv_record header;
    struct sheet_columns columns;
    if (csv_read(&reader, &header, arena, err))
        return err_prefix(err, "'%s'", path);
    if (read_header(&columns, &header, path, arena, err))
        return -1;
    if (columns.model == SIZE_MAX && source->options->model.names.count > 1)
        return err_set(err, "'%s': expected a column 'model', as there are several, found none",
                       path);
    scores->name_count = columns.count;
    scores->names = arena_alloc(arena, columns.count, sizeof *scores->names, err);
    if (!scores->names)
        return -1;
    for (size_t i = 0; i < columns.count; i++)
        scores->names[i] = header.fields[columns.scores[i]];
    return read_lines(scores, &reader, &columns, source, arena, err);
}

int page_scores_find(struct page_facts *facts, const struct page_source *source,
                     struct arena *arena, struct err *err)
{
    struct file file = {0};
    if (!source->options->page.scores)
        return 0;
    struct page_scores *scores = arena_alloc(arena, 1, sizeof *scores, err);
    int failed = !scores || file_map(&file, source->options->page.scores, err) ||
                 read_file(scores, &file, source, arena, err);
    file_release(&file);
    facts->scores = scores;
    return failed ? -1 : 0;
}
