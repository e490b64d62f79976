#include "items.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "../session.h"

enum { NUMBER_BYTES = 32 };

/* --- names of conditions ---------------------------------------------------------------------- */

/* The columns of all tables that a batch writes, so that these can be joined, too. */
static bool is_of_results(const char *name)
{
    static const char *const columns[] = {"value",     "repeat", "tensor",      "row",
                                          "row_token", "column", "column_token"};
    size_t index = 0;
    return names_find(&index, NAMES_LIST(columns), name, strlen(name));
}

static int check_name(int commands, const char *name, struct err *err)
{
    size_t size = strlen(name);
    const char *near = strcasecmp(name, "id") == 0         ? "id" /* it would be overlooked */
                       : strcasecmp(name, "sentence") == 0 ? "sentence"
                                                           : unknown_slip(commands, name);
    if (!size)
        return err_set(err, "expected a name, found none: name it or leave it out");
    if (size > CONDITION_NAME_BYTES_MAX)
        return err_set(err, "expected a name of at most %d bytes, found %zu",
                       CONDITION_NAME_BYTES_MAX, size);
    if (utf8_invalid_at(name, size) < size)
        return err_set(err, "expected a name in UTF-8, found '%s'", name);
    if (is_of_results(name))
        return err_set(err, "'%s': results have a column of that name: rename it", name);
    if (option_has_name((commands & INSTRUMENTS) | FOR_RUN | FOR_BATCH, name))
        return err_set(err, "option '--%s' is not for one item alone: rename it", name);
    if (near)
        return err_set(err, "'%s': did you mean '%s'? If it is a condition, rename it", name, near);
    return 0;
}

int condition_names_add(struct condition_names *names, const char *name, struct err *err)
{
    if (check_name(names->commands, name, err))
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

/* --- their values ----------------------------------------------------------------------------- */

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

static int set_condition(struct item_conditions *conditions, const struct condition *condition,
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

/* --- one field -------------------------------------------------------------------------------- */

bool item_is_text(int commands, const char *name)
{
    return strcmp(name, "sentence") == 0 || (commands & FOR_PATCH && strcmp(name, "clean") == 0);
}

/* All else are conditions. */
bool item_has_field(int commands, const char *name)
{
    return strcmp(name, "id") == 0 || item_is_text(commands, name) ||
           option_has_name(commands, name);
}

int item_commands(const struct options *options)
{
    return FOR_ITEM | options_instrument(options);
}

int item_draft_set(struct item_draft *draft, const char *name, const char *value)
{
    struct item *item = draft->item;
    if (strcmp(name, "id") == 0) {
        item->id = value;
        return *value ? 0 : err_set(draft->err, "field 'id': expected a text, found \"\"");
    }
    int commands = item->conditions.names->commands;
    if (item_is_text(commands, name)) {
        item->input.text = value;
        item->input.size = strlen(value);
        return 0;
    }
    if (!item_has_field(commands, name))
        return set_condition(&item->conditions, &(struct condition){name, value, draft->literal},
                             draft->err);
    if (options_set(&item->options, commands, name, value, draft->arena, draft->err))
        return -1;
    draft->has_ids = draft->has_ids || strcmp(name, "ids") == 0;
    return 0;
}

/* An item is looked at by its text or by its ids. */
int item_draft_check(struct item_draft *draft)
{
    struct item *item = draft->item;
    if (item->input.text && draft->has_ids)
        return err_set(draft->err, "expected 'sentence' or 'ids', found both");
    if (!item->input.text && !draft->has_ids)
        return condition_names_blame(item->conditions.names,
                                     "expected 'sentence' or 'ids', found neither", draft->err);
    if (draft->has_ids)
        item->input.ids = item->options.input.ids;
    return inputs_check_ids(&item->options.input, draft->err) ? -1 : 1;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A number as a command line has it. */
static void add_number(struct buf *text, double number)
{
    char digits[NUM_DOUBLE_BYTES];
    num_double(digits, number);
    if (number > -0x1p53 && number < 0x1p53 && number == (double)(long long)number)
        buf_format(text, "%lld", (long long)number);
    else
        buf_text(text, digits);
}

static bool add_scalar(struct buf *text, const struct json *value)
{
    const char *string = NULL;
    double number = 0;
    bool truth = false;
    if (json_get_text(value, &string))
        buf_text(text, string);
    else if (json_get_number(value, &number))
        add_number(text, number);
    else if (json_get_bool(value, &truth))
        buf_text(text, truth ? "true" : "false");
    else
        return false;
    return true;
}

/* "a", 3, true, or [0, 2] for 0,2. */
static bool add_value(struct buf *text, const struct json *value)
{
    const char *comma = "";
    if (!json_is_array(value))
        return add_scalar(text, value);
    for (const struct json *part = json_first(value); part; part = json_next(part)) {
        buf_text(text, comma);
        if (!add_scalar(text, part))
            return false;
        comma = ",";
    }
    return true;
}

/* Of an option that takes several texts, ["a", "b"] are these. */
static int set_texts(struct item_draft *draft, const struct json *member)
{
    const char *key = json_key(member);
    const char *name = arena_text(draft->arena, key, strlen(key), draft->err);
    int commands = draft->item->conditions.names->commands;
    bool first = true;
    int failed = !name;
    for (const struct json *part = json_first(member); part && !failed; part = json_next(part)) {
        const char *text = NULL;
        if (!json_get_text(part, &text))
            return err_set(draft->err, "field '%s': expected a list of texts, found others", key);
        const char *value = arena_text(draft->arena, text, strlen(text), draft->err);
        failed = !value || (first ? item_draft_set(draft, name, value)
                                  : options_add(&draft->item->options, commands, name, value,
                                                draft->arena, draft->err));
        first = false;
    }
    return failed ? -1 : 0;
}

static bool is_texts(const struct item_draft *draft, const struct json *member)
{
    const char *key = json_key(member);
    const struct option_row *row =
        option_find(draft->item->conditions.names->commands, key, strlen(key));
    return row && row->kind == OPTION_TEXTS && json_is_array(member) && json_first(member);
}

static int set_member(struct item_draft *draft, const struct json *member)
{
    if (is_texts(draft, member))
        return set_texts(draft, member);
    struct buf text = {0};
    char found[NUMBER_BYTES];
    int failed = 0;
    double number = 0;
    bool truth = false;
    bool listed = item_has_field(draft->item->conditions.names->commands, json_key(member));
    buf_text(&text, "");
    draft->literal = json_get_bool(member, &truth) ||
                     (json_get_number(member, &number) && isfinite(number)); /* of 1e999: inf */
    if (!(listed ? add_value : add_scalar)(&text, member)) {
        failed = err_set(draft->err, "field '%s': expected a text, a number, true%s, found %s",
                         json_key(member), listed ? ", false or a list of them" : " or false",
                         json_describe(member, found, sizeof found));
    } else if (buf_check(&text, draft->err)) {
        failed = -1;
    } else {
        const char *value = arena_text(draft->arena, text.bytes, text.size, draft->err);
        const char *key = json_key(member);
        const char *name = arena_text(draft->arena, key, strlen(key), draft->err);
        failed = !value || !name || item_draft_set(draft, name, value);
    }
    buf_release(&text);
    return failed ? -1 : 0;
}

int item_draft_set_members(struct item_draft *draft, const struct json *root)
{
    char found[NUMBER_BYTES];
    if (!json_is_object(root))
        return err_set(draft->err, "expected an object such as {\"sentence\": \"…\"}, found %s",
                       json_describe(root, found, sizeof found));
    if (json_unique_keys(root, draft->err))
        return -1;
    for (const struct json *member = json_first(root); member; member = json_next(member))
        if (!json_is_null(member) && set_member(draft, member))
            return -1;
    return item_draft_check(draft);
}
