#include "text/stages.h"

#include <string.h>

#include "base/memory.h"
#include "format/json.h"
#include "text/label.h"

static int add_stage(struct stage_list *list, const struct stage_row *row, const struct json *value,
                     struct err *err)
{
    struct stage *step = NULL;
    const char *text = row->fallback;
    if (!row->adds_steps && !(step = stages_add(list, row, err)))
        return -1;
    if (step)
        step->name = row->name;
    if (step && row->content) {
        if (json_text(value, row->content, &text, err))
            return -1;
        if (!text)
            return err_set(err, "expected a field '%s'", row->content);
        size_t size = step->content_size = strlen(text);
        if (!(step->content = arena_text(list->arena, text, size, err)))
            return -1;
        step->matcher = (struct matcher){.literal = step->content, .literal_size = size};
    }
    if (row->read && row->read(list, step, value, err))
        return -1;
    return row->then && !stages_add(list, row->then, err) ? -1 : 0;
}

int stages_read(struct stage_list *list, const struct json *value, struct err *err)
{
    const char *type = NULL;
    size_t row = 0;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_object(value))
        return err_set(err, "expected an object");
    if (!json_get_text(json_member(value, "type"), &type))
        return err_set(err, "expected a field 'type', a text");
    if (strcmp(type, "Sequence") == 0) {
        const struct json *items = json_member(value, list->kind->member);
        if (!json_is_array(items))
            return err_set(err, "Sequence: expected a field '%s', an array", list->kind->member);
        for (const struct json *at = json_first(items); at; at = json_next(at))
            if (stages_read(list, at, err))
                return -1;
        return 0;
    }
    if (!names_find(&row, NAMES(list->kind->rows, list->kind->row_count), type, strlen(type)))
        return err_unsupported(err, "type '%s' is not supported",
                               label_excerpt(type, strlen(type)));
    if (++list->count > STAGES_MAX)
        return err_set(err, "expected at most %d steps, found more", STAGES_MAX);
    return add_stage(list, &list->kind->rows[row], value, err) ? err_prefix(err, "%s", type) : 0;
}

void stages_release(struct stage *steps)
{
    for (; steps; steps = steps->next)
        matcher_release(&steps->matcher);
}

struct stage *stages_add(struct stage_list *list, const struct stage_row *row, struct err *err)
{
    struct stage *step = arena_alloc(list->arena, 1, sizeof *step, err);
    if (!step)
        return NULL;
    step->row = row;
    step->index = list->last ? list->last->index + 1 : 0;
    if (list->kind->begin(list, step, err))
        return NULL;
    *(list->last ? &list->last->next : list->head) = step;
    list->last = step;
    return step;
}

int stage_read_pattern(struct stage_list *list, struct stage *step, const struct json *value,
                       struct err *err)
{
    const struct json *pattern = json_member(value, "pattern");
    struct matcher *matcher = &step->matcher;
    const char *text = NULL;
    *matcher = (struct matcher){0};
    if (json_get_text(json_member(pattern, "String"), &text)) {
        matcher->literal_size = strlen(text);
        matcher->literal = arena_text(list->arena, text, matcher->literal_size, err);
        return matcher->literal ? 0 : -1;
    }
    if (!json_get_text(json_member(pattern, "Regex"), &text))
        return err_set(err, "field 'pattern': expected {\"String\": …} or {\"Regex\": …}");
    return matcher_set_pattern(matcher, text, err);
}
