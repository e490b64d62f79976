#include "tallies.h"

#include <string.h>

#include "base/buf.h"
#include "settings.h"

static int unknown_measure(const char *name, size_t size, struct err *err)
{
    struct buf known = {0};
    for (int i = 0; i < MEASURE_COUNT; i++)
        buf_format(&known, "%s%s", i ? ", " : "", measure_rows[i].name);
    err_usage(err, "--reduce: expected one of %s, found '%.*s'", known.bytes ? known.bytes : "",
              (int)size, name);
    buf_release(&known);
    return -1;
}

int tallies_open(struct tallies *tallies, const char *list, struct err *err)
{
    *tallies = (struct tallies){0};
    for (const char *name = list; name;) {
        size_t size = strcspn(name, ",");
        enum measure measure;
        if (!measure_find(name, size, &measure))
            return unknown_measure(name, size, err);
        tallies->measures |= 1u << measure;
        name = name[size] ? name + size + 1 : NULL;
    }
    return 0;
}

void tallies_release(struct tallies *tallies)
{
    arena_release(&tallies->arena);
    *tallies = (struct tallies){0};
}

/* Texts of options live as long as their job: those of a group are copied. */
static int copy_settings(struct options *copy, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->kind != OPTION_TEXT || !settings_compute(row))
            continue;
        const char **text = (const char **)(void *)((char *)copy + row->offset);
        if (*text && !(*text = arena_text(arena, *text, strlen(*text), err)))
            return -1;
    }
    return 0;
}

static struct tally_group **find(struct tally_group **place, const struct job *job)
{
    while (*place && !settings_agree(&(*place)->options, &job->item.options, true))
        place = &(*place)->next;
    return place;
}

struct tally_group *tallies_find(const struct tallies *tallies, const struct job *job)
{
    struct tally_group *first = tallies->first;
    return *find(&first, job);
}

static int check_measures(const struct tallies *tallies, const struct config *config,
                          const char *model, struct err *err)
{
    for (int i = 0; i < MEASURE_COUNT && config->cross; i++)
        if (tallies->measures >> i & 1 && measure_rows[i].one_text)
            return err_usage(err,
                             "--reduce %s: '%s' attends to a second text: its places are "
                             "none in the sentence",
                             measure_rows[i].name, model);
    return 0;
}

static struct tally_group *open_group(struct tallies *tallies, const struct job *job,
                                      const struct open_model *model, struct err *err)
{
    const struct config *config = &model->viewer.model.config;
    struct tally_group *group = arena_alloc(&tallies->arena, 1, sizeof *group, err);
    if (!group || check_measures(tallies, config, model->viewer.model.name, err))
        return NULL;
    group->options = job->item.options;
    group->model = model->viewer.model.name;
    group->size.layers = config->n_layer;
    group->size.heads = config->n_head;
    group->size.causal = config->causal;
    return copy_settings(&group->options, &tallies->arena, err) ? NULL : group;
}

struct tally_group *tallies_note(struct tallies *tallies, const struct job *job,
                                 const struct open_model *model, const struct subject *subject,
                                 struct err *err)
{
    struct tally_group **place = find(&tallies->first, job);
    size_t keys = subject->source.count ? subject->source.count : subject->sentence.count;
    if (!*place)
        *place = open_group(tallies, job, model, err);
    struct tally_group *group = *place;
    if (group && group->size.queries < subject->sentence.count)
        group->size.queries = subject->sentence.count;
    if (group && group->size.keys < keys)
        group->size.keys = keys;
    return group;
}

int tallies_begin(struct tallies *tallies, struct err *err)
{
    for (struct tally_group *group = tallies->first; group; group = group->next)
        if (tally_init(&group->tally, tallies->measures, &group->size, &tallies->arena, err))
            return -1;
    return 0;
}
