#include "items.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "lens/measure.h"
#include "../options.h"

/* --- names ------------------------------------------------------------------------------------ */

/* The columns of all tables that a batch writes, so that these can be joined, too. */
static bool is_of_results(const char *name)
{
    static const char *const columns[] = {"measure",   "query",  "key",         "count",
                                          "value",     "repeat", "tensor",      "row",
                                          "row_token", "column", "column_token"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i], name) == 0)
            return true;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        if (strcmp(measure_rows[i].name, name) == 0)
            return true;
    return false;
}

/* What a name is a slip away from, so that it would be overlooked. */
static const char *field_meant(const char *name)
{
    return strcasecmp(name, "id") == 0         ? "id"
           : strcasecmp(name, "sentence") == 0 ? "sentence"
                                               : unknown_slip(FOR_ITEM, name);
}

static int check_name(const char *name, struct err *err)
{
    size_t size = strlen(name);
    const char *near = field_meant(name);
    if (!size)
        return err_set(err, "expected a name, found none: name it or leave it out");
    if (size > CONDITION_NAME_BYTES_MAX)
        return err_set(err, "expected a name of at most %d bytes, found %zu",
                       CONDITION_NAME_BYTES_MAX, size);
    if (utf8_invalid_at(name, size) < size)
        return err_set(err, "expected a name in UTF-8, found '%s'", name);
    if (is_of_results(name))
        return err_set(err, "'%s': results have a column of that name: rename it", name);
    if (option_has_name(FOR_RUN | FOR_BATCH, name))
        return err_set(err, "option '--%s' is not for one item alone: rename it", name);
    if (near)
        return err_set(err, "'%s': did you mean '%s'? If it is a condition, rename it", name, near);
    return 0;
}

int condition_names_add(struct condition_names *names, const char *name, struct err *err)
{
    if (check_name(name, err))
        return -1;
    if (names->count == CONDITIONS_MAX)
        return err_set(err, "expected at most %d conditions, found '%s' as well: leave some out",
                       CONDITIONS_MAX, name);
    const char *copy = arena_text(&names->arena, name, strlen(name), err);
    if (!copy)
        return -1;
    names->names[names->count++] = copy;
    return 0;
}

void condition_names_release(struct condition_names *names)
{
    arena_release(&names->arena);
    *names = (struct condition_names){0};
}

int condition_names_blame(const struct condition_names *names, const char *what, struct err *err)
{
    for (size_t i = 0; i < names->count; i++)
        if (unknown_may_mean(names->names[i], "sentence"))
            return err_set(err, "%s: did you mean 'sentence' by '%s'?", what, names->names[i]);
    return err_set(err, "%s", what);
}

/* --- values ----------------------------------------------------------------------------------- */

/* A place for each of the names; what is filled stays so. */
static int make_places(struct item_conditions *conditions, struct err *err)
{
    const struct condition_names *names = conditions->names;
    struct condition *items = arena_alloc(conditions->arena, names->count, sizeof *items, err);
    if (!items)
        return -1;
    for (size_t i = 0; i < names->count; i++)
        items[i] = i < conditions->count ? conditions->items[i]
                                         : (struct condition){.name = names->names[i]};
    conditions->items = items;
    conditions->count = names->count;
    return 0;
}

int item_conditions_begin(struct item_conditions *conditions, struct condition_names *names,
                          struct arena *arena, struct err *err)
{
    *conditions = (struct item_conditions){.names = names, .arena = arena};
    return names->count ? make_places(conditions, err) : 0;
}

/* The place of a name, or that after the last. */
static size_t find(const struct item_conditions *conditions, const char *name)
{
    size_t count = conditions->count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (conditions->next + i) % count;
        if (strcmp(conditions->items[at].name, name) == 0)
            return at;
    }
    return count;
}

int item_conditions_set(struct item_conditions *conditions, const struct condition *condition,
                        struct err *err)
{
    const char *name = condition->name;
    size_t size = strlen(condition->value);
    size_t invalid = utf8_invalid_at(condition->value, size);
    size_t at = find(conditions, name);
    if (at == conditions->count &&
        (condition_names_add(conditions->names, name, err) || make_places(conditions, err)))
        return -1;
    if (invalid < size)
        return err_set(err, "condition '%s': expected UTF-8, found the byte 0x%02x at byte %zu",
                       name, (unsigned char)condition->value[invalid], invalid);
    conditions->bytes += size;
    if (conditions->bytes > CONDITIONS_BYTES_MAX)
        return err_set(err, "condition '%s': expected at most %d bytes of conditions, found %zu",
                       name, CONDITIONS_BYTES_MAX, conditions->bytes);
    conditions->items[at].value = condition->value;
    conditions->items[at].literal = condition->literal;
    conditions->next = at + 1;
    return 0;
}
