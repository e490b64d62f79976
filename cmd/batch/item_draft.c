#include "items.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "../inputs.h"
#include "../options.h"

enum { NUMBER_BYTES = 32 };

/* --- one field -------------------------------------------------------------------------------- */

/* All else are conditions. */
bool item_has_field(const char *name)
{
    return strcmp(name, "id") == 0 || strcmp(name, "sentence") == 0 ||
           option_has_name(FOR_ITEM, name);
}

int item_draft_set(struct item_draft *draft, const char *name, const char *value)
{
    struct item *item = draft->item;
    if (strcmp(name, "id") == 0) {
        item->id = value;
        return *value ? 0 : err_set(draft->err, "field 'id': expected a text, found \"\"");
    }
    if (strcmp(name, "sentence") == 0) {
        item->input.text = value;
        item->input.size = strlen(value);
        return 0;
    }
    if (!item_has_field(name))
        return item_conditions_set(&item->conditions,
                                   &(struct condition){name, value, draft->literal}, draft->err);
    if (options_set(&item->options, FOR_ITEM, name, value, draft->arena, draft->err))
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
        item->input.ids = item->options.ids;
    return inputs_check_ids(&item->options, draft->err) ? -1 : 1;
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

static int set_member(struct item_draft *draft, const struct json *member)
{
    struct buf text = {0};
    char found[NUMBER_BYTES];
    int failed = 0;
    double number = 0;
    bool truth = false;
    bool listed = item_has_field(json_key(member));
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
