#include "reductions.h"

#include <string.h>

#include "base/names.h"
#include "model/config.h"
#include "model/model.h"
#include "open_models.h"

int reductions_open(struct reductions *reductions, const struct options *options, struct err *err)
{
    *reductions = (struct reductions){.defaults = options};
    for (const char *name = options->batch.reduce; name;) {
        size_t size = strcspn(name, ",");
        size_t measure = 0;
        if (names_choose_item(&measure, NAMES(measure_rows, MEASURE_COUNT), "--reduce", name, size,
                              err))
            return -1;
        if (options->batch.per_item && !measure_rows[measure].of_row)
            return err_usage(err,
                             "--per-item: '%s' of one item are its weights: leave --reduce out",
                             measure_rows[measure].name);
        reductions->measures |= 1u << measure;
        name = name[size] ? name + size + 1 : NULL;
    }
    return 0;
}

void reductions_release(struct reductions *reductions)
{
    arena_release(&reductions->arena);
    *reductions = (struct reductions){0};
}

static int copy_text(const char **text, struct arena *arena, struct err *err)
{
    return *text && !(*text = arena_text(arena, *text, strlen(*text), err)) ? -1 : 0;
}

static int copy_list(struct texts *texts, struct arena *arena, struct err *err)
{
    const char **items = arena_alloc(arena, texts->count, sizeof *items, err);
    for (size_t i = 0; items && i < texts->count; i++) {
        items[i] = texts->items[i];
        if (copy_text(&items[i], arena, err))
            return -1;
    }
    texts->items = items;
    return items ? 0 : -1;
}

/* Texts of options live as long as their job: those of a group are copied. */
static int copy_texts(struct options *copy, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        void *field = (char *)copy + row->offset;
        int failed = 0;
        if (row->kind == OPTION_TEXT && settings_compute(row))
            failed = copy_text(field, arena, err);
        if (row->kind == OPTION_TEXTS && settings_compute(row))
            failed = copy_list(field, arena, err);
        if (failed)
            return -1;
    }
    return 0;
}

struct reduction_group *reductions_find(const struct reductions *reductions, const struct job *job)
{
    struct reduction_group *group = reductions->first;
    while (group && !settings_agree(&group->options, &job->item.options, true))
        group = group->next;
    return group;
}

static int check_measures(const struct reductions *reductions, const struct config *config,
                          const char *model, struct err *err)
{
    for (int i = 0; i < MEASURE_COUNT && config_is_cross(config); i++)
        if (reductions->measures >> i & 1 && measure_rows[i].one_text)
            return err_usage(err,
                             "--reduce %s: '%s' attends to a second text: its places are "
                             "none in the sentence",
                             measure_rows[i].name, model);
    return 0;
}

struct reduction_group *reductions_add(struct reductions *reductions, struct err *err)
{
    struct reduction_group **place = &reductions->first;
    while (*place)
        place = &(*place)->next;
    *place = arena_alloc(&reductions->arena, 1, sizeof **place, err);
    return *place;
}

int reductions_note(struct reductions *reductions, const struct job *job,
                    const struct open_model *model, const struct text_pair *pair, struct err *err)
{
    const struct model *opened = &model->viewer.model;
    struct reduction_group *group = reductions_find(reductions, job);
    bool cross = config_is_cross(&opened->config);
    size_t keys = cross ? pair->source.count : pair->sentence.count;
    if (check_measures(reductions, &opened->config, opened->name, err))
        return -1;
    if (!group) {
        group = reductions_add(reductions, err);
        if (!group)
            return -1;
        group->options = job->item.options;
        group->model = opened->name;
        group->size.layers = opened->config.n_layer;
        group->size.heads = opened->config.n_head;
        group->size.causal = opened->config.causal;
        if (copy_texts(&group->options, &reductions->arena, err))
            return -1;
    }
    if (group->size.queries < pair->sentence.count)
        group->size.queries = pair->sentence.count;
    if (group->size.keys < keys)
        group->size.keys = keys;
    return 0;
}

/* Is there a group that has another value than the command line? */
static bool makes_a_difference(const struct option_row *row, const struct reductions *reductions)
{
    bool differs = false;
    if (!settings_compute(row)) /* nor are texts of others kept */
        return false;
    for (struct reduction_group *group = reductions->first; group && !differs; group = group->next)
        differs = !settings_same(row, &group->options, reductions->defaults);
    return differs;
}

/* Name the values of what makes groups different: those of the command line, too, so that tables
 * can be grouped by them. */
static int list_settings(struct reduction_group *group, struct reductions *reductions,
                         struct err *err)
{
    group->settings = arena_alloc(&reductions->arena, option_count(), sizeof *group->settings, err);
    for (size_t i = 0; i < option_count() && group->settings; i++) {
        const struct option_row *row = option_at(i);
        if (!makes_a_difference(row, reductions))
            continue;
        struct buf text = {0};
        settings_value(&text, row, &group->options);
        const char *value = buf_keep(&text, &reductions->arena, err);
        if (!value)
            return -1;
        if (!*value && strcmp(row->name, "model") == 0) /* the default's */
            value = group->model;
        if (*value)
            group->settings[group->setting_count++] = (struct reduction_setting){row->name, value};
    }
    return group->settings ? 0 : -1;
}

int reductions_begin(struct reductions *reductions, struct err *err)
{
    for (struct reduction_group *group = reductions->first; group; group = group->next)
        if (list_settings(group, reductions, err) ||
            reduction_init(&group->reduction, reductions->measures, &group->size,
                           &reductions->arena, err))
            return -1;
    return 0;
}
