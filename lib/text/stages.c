#include "text/stages.h"

#include <string.h>

#include "base/memory.h"
#include "format/json.h"
#include "text/label.h"

static int read_sequence(struct stage_list *list, const struct json *items, struct err *err)
{
    if (!json_is_array(items))
        return err_set(err, "Sequence: expected a field '%s', an array", list->member);
    for (const struct json *at = json_first(items); at; at = json_next(at))
        if (stages_read(list, at, err))
            return -1;
    return 0;
}

int stages_read(struct stage_list *list, const struct json *value, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *type = NULL;
    size_t row = 0;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_object(value))
        return err_set(err, "expected an object");
    if (!json_get_text(json_member(value, "type"), &type))
        return err_set(err, "expected a field 'type', a text");
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(list, json_member(value, list->member), err);
    if (!names_find(&row, list->types, type, strlen(type)))
        return err_unsupported(err, "type '%s' is not supported",
                               label_excerpt(shown, type, strlen(type)));
    if (++list->count > STAGES_MAX)
        return err_set(err, "expected at most %d steps, found more", STAGES_MAX);
    return list->add(list->context, row, value, err) ? err_prefix(err, "%s", type) : 0;
}

void *stages_add(struct stage_list *list, struct err *err)
{
    void *step = arena_alloc(list->arena, 1, list->step_bytes, err);
    if (!step)
        return NULL;
    memcpy(list->last ? list->last : list->head, &step, sizeof step);
    list->last = step;
    return step;
}

int stage_text(const char **text, size_t *size, const struct json *stage, const char *name,
               struct arena *arena, struct err *err)
{
    if (json_text(stage, name, text, err))
        return -1;
    if (!*text)
        return err_set(err, "expected a field '%s'", name);
    *size = strlen(*text);
    *text = arena_text(arena, *text, *size, err);
    return *text ? 0 : -1;
}
