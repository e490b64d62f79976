#include "reductions.h"

#include <string.h>

/* tiny · 4000 texts · bos=true */
static void add_title(struct buf *out, const struct reduction_group *group)
{
    buf_format(out, "%s · %llu text%s", group->model, (unsigned long long)group->texts,
               group->texts == 1 ? "" : "s");
    for (size_t i = 0; i < group->setting_count; i++)
        if (strcmp(group->settings[i].name, "model") != 0) /* it is what the title begins with */
            buf_format(out, " · %s=%s", group->settings[i].name, group->settings[i].value);
}

/* What a group has and others have not; else its model. */
static const char *make_name(const struct reduction_group *group, struct arena *arena,
                             struct err *err)
{
    struct buf out = {0};
    for (size_t i = 0; i < group->setting_count; i++)
        buf_format(&out, "%s%s=%s", i ? " · " : "", group->settings[i].name,
                   group->settings[i].value);
    if (!out.size)
        buf_text(&out, group->model);
    return buf_keep(&out, arena, err);
}

static const char *value_of(const struct reduction_group *group, const char *name)
{
    for (size_t i = 0; i < group->setting_count; i++)
        if (strcmp(group->settings[i].name, name) == 0)
            return group->settings[i].value;
    return NULL;
}

/* The settings that any group has, in the order of the table of options. */
static bool is_column(const struct reductions *reductions, const struct option_row *row)
{
    for (const struct reduction_group *group = reductions->first; group; group = group->next)
        if (settings_compute(row) && value_of(group, row->name))
            return true;
    return false;
}

static int add_columns(struct measured *measured, const struct reductions *reductions,
                       const struct reduction_group *group, struct arena *arena, struct err *err)
{
    struct measured_column *columns = arena_alloc(arena, option_count(), sizeof *columns, err);
    measured->columns = columns;
    for (size_t i = 0; i < option_count() && columns; i++) {
        const char *name = option_at(i)->name;
        if (is_column(reductions, option_at(i)))
            columns[measured->column_count++] =
                (struct measured_column){name, value_of(group, name)};
    }
    return columns ? 0 : -1;
}

/* tiny · 4000 texts; of several groups their models, each once where they follow each other. */
static void add_title_of_all(struct buf *out, const struct reductions *reductions)
{
    const struct reduction_group *before = NULL;
    buf_text(out, reductions->first ? "" : "no texts");
    if (reductions->first && !reductions->first->next) {
        add_title(out, reductions->first);
        return;
    }
    for (const struct reduction_group *group = reductions->first; group;
         before = group, group = before->next)
        if (!before || strcmp(before->model, group->model) != 0)
            buf_format(out, "%s%s", before ? ", " : "", group->model);
}

static int measure_group(struct measured *measured, const struct reductions *reductions,
                         const struct reduction_group *group, unsigned measures,
                         struct arena *arena, struct err *err)
{
    struct buf title = {0};
    struct reduction reduction = group->reduction;
    reduction.measures = measures;
    add_title(&title, group);
    *measured = (struct measured){.model = group->model, .texts = group->texts};
    measured->title = buf_keep(&title, arena, err);
    measured->name = make_name(group, arena, err);
    if (!measured->title || !measured->name || add_columns(measured, reductions, group, arena, err))
        return -1;
    return reduction_measure(measured, &reduction, arena, err);
}

int reductions_measure(struct measured_list *list, const struct reductions *reductions,
                       unsigned measures, struct arena *arena, struct err *err)
{
    struct buf title = {0};
    size_t count = 0;
    for (const struct reduction_group *group = reductions->first; group; group = group->next)
        count++;
    struct measured *items = arena_alloc(arena, count, sizeof *items, err);
    *list = (struct measured_list){.items = items};
    if (!items)
        return -1;
    for (const struct reduction_group *group = reductions->first; group; group = group->next)
        if (measure_group(&items[list->count++], reductions, group, measures, arena, err))
            return -1;
    add_title_of_all(&title, reductions);
    list->title = buf_keep(&title, arena, err);
    return list->title ? 0 : -1;
}
