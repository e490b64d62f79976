#include "measure/side_by_side.h"

#include <assert.h>
#include <string.h>

#include "text/label.h"

static const char *copy(const char *text, struct arena *arena, struct err *err)
{
    return arena_text(arena, text, strlen(text), err);
}

int side_by_side_init(struct side_by_side *beside, const char *const *models, size_t model_count,
                      size_t text_count, struct arena *arena, struct err *err)
{
    struct label *columns = arena_alloc(arena, model_count, sizeof *columns, err);
    *beside = (struct side_by_side){
        .models = models,
        .model_count = model_count,
        .sheets = arena_alloc(arena, text_count, sizeof *beside->sheets, err),
        .values = arena_alloc(arena, text_count, sizeof *beside->values, err),
        .columns = columns,
        .arena = arena,
    };
    if (!columns || !beside->sheets || !beside->values)
        return -1;
    for (size_t i = 0; i < model_count; i++) {
        struct buf visible = {0};
        label_line(&visible, models[i], strlen(models[i]));
        const char *name = buf_keep(&visible, arena, err);
        const char *exact = models[i];
        for (size_t k = 0; k < i && exact == models[i]; k++) /* one may be there twice */
            if (strcmp(models[k], models[i]) == 0)
                exact = arena_format(arena, err, "%zu:%s", i, models[i]);
        if (!name || !exact)
            return -1;
        columns[i] = (struct label){name, exact, models[i]};
    }
    return 0;
}

/* Room for all models, with the rows of the first. */
static int begin(const struct side_by_side *beside, size_t text, const struct sheet *column,
                 struct err *err)
{
    struct arena *arena = beside->arena;
    size_t rows = column->rows.size;
    struct label *labels = arena_alloc(arena, rows, sizeof *labels, err);
    float *values = arena_alloc(arena, rows * beside->model_count, sizeof *values, err);
    beside->values[text] = values;
    if (!labels || !values)
        return -1;
    for (size_t i = 0; i < rows; i++) {
        const struct label *label = &column->rows.labels[i];
        labels[i] = (struct label){copy(label->text, arena, err), copy(label->exact, arena, err),
                                   copy(label->plain, arena, err)};
        if (!labels[i].text || !labels[i].exact || !labels[i].plain)
            return -1;
    }
    beside->sheets[text] = (struct sheet){
        .tensor = column->columns.labels[0].plain,
        .layer = -1,
        .head = -1,
        .rows = {column->rows.name, rows, labels, 0},
        .columns = {"model", beside->model_count, beside->columns, 0},
        .values = values,
    };
    return 0;
}

static int check_rows(const struct side_by_side *beside, const struct axis *first,
                      const struct axis *rows, struct err *err)
{
    bool same = first->size == rows->size;
    size_t at = 0;
    while (same && at < rows->size &&
           (same = strcmp(first->labels[at].plain, rows->labels[at].plain) == 0))
        at++;
    if (same)
        return 0;
    if (first->size != rows->size)
        return err_usage(err,
                         "expected the %zu %ss of '%s', found %zu: --total compares models of any "
                         "vocabulary",
                         first->size, first->name, beside->models[0], rows->size);
    return err_usage(err,
                     "expected the %ss of '%s', found '%s' at %zu, where that has '%s': --total "
                     "compares models of any vocabulary",
                     first->name, beside->models[0], rows->labels[at].text, at,
                     first->labels[at].text);
}

int side_by_side_add(struct side_by_side *beside, size_t model, size_t text,
                     const struct sheet *column, struct err *err)
{
    assert(column->columns.size == 1);
    if (model == 0 && begin(beside, text, column, err))
        return -1;
    if (check_rows(beside, &beside->sheets[text].rows, &column->rows, err))
        return -1;
    for (size_t i = 0; i < column->rows.size; i++)
        beside->values[text][i * beside->model_count + model] = column->values[i];
    return 0;
}
