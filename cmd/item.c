/* item.c: one item: a text, a record of CSV or an object of JSON lines. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "format/json.h"
#include "items.h"

/* Put the value of a column where it belongs: a field replaces the option of its name, of which
 * `continue` may have several values. */
static int set_value(struct item *item, struct place_column *columns, size_t place,
                     const char *value, struct arena *arena, struct err *err)
{
    struct options *options = &item->options;
    const char **const fields[ITEM_FIELDS] = {
        [ITEM_IDS] = &options->input.ids,
        [ITEM_SOURCE] = &options->input.source,
        [ITEM_ANSWER] = &options->attribute.answer,
        [ITEM_TARGET] = &options->lens.target,
        [ITEM_POSITION] = &options->attribute.position,
        [ITEM_CLEAN] = &options->patch.clean,
        [ITEM_CORRUPT] = &options->patch.corrupt,
    };
    size_t size = strlen(value);
    size_t invalid = utf8_invalid_at(value, size);
    if (place >= ITEM_FIELDS && invalid < size)
        return err_set(err, "column '%s': expected UTF-8, found the byte 0x%02x at byte %zu",
                       columns[place - ITEM_FIELDS].name, (unsigned char)value[invalid], invalid);
    if (place >= ITEM_FIELDS) {
        columns[place - ITEM_FIELDS].value = value;
        return 0;
    }
    if (place == ITEM_CONTINUE) {
        if (!item->fields[place])
            options->score.continuations = (struct texts){0};
        item->fields[place] = value;
        return texts_add(&options->score.continuations, value, arena, err);
    }
    item->fields[place] = value;
    if (fields[place])
        *fields[place] = value;
    if (place == ITEM_TEXT || place == ITEM_CLEAN || place == ITEM_GOOD)
        item->input = (struct input){.text = value, .size = size};
    return 0;
}

static int read_record(const struct items *items, struct item *item, struct place_column *columns,
                       const struct item_start *start, struct arena *arena, struct err *err)
{
    struct csv_record record;
    struct csv_reader reader = {start->at, items->file.bytes + items->file.size, start->line,
                                items->separator};
    if (csv_read(&reader, &record, arena, err))
        return -1;
    if (record.count != items->place_count)
        return err_set(err, "expected %zu fields as in the header, found %zu", items->place_count,
                       record.count);
    for (size_t i = 0; i < record.count; i++)
        if (*record.fields[i] &&
            set_value(item, columns, items->places[i], record.fields[i], arena, err))
            return -1;
    return 0;
}

/* The value of a member as text; a list becomes its values with commas between. NULL with `err`. */
static const char *read_value(const char *name, const struct json *value, bool is_list,
                              struct arena *arena, struct err *err)
{
    char digits[NUM_DOUBLE_BYTES];
    struct buf text = {0};
    buf_text(&text, "");
    for (const struct json *part = is_list ? json_first(value) : value; part;
         part = is_list ? json_next(part) : NULL) {
        const char *string = NULL;
        double number = 0;
        bool truth = false;
        buf_text(&text, text.size ? "," : "");
        if (json_get_text(part, &string)) {
            buf_text(&text, string);
        } else if (json_get_bool(part, &truth)) {
            buf_text(&text, truth ? "true" : "false");
        } else if (!json_get_number(part, &number)) {
            err_set(err, "field '%s': expected a text, a number, true or false%s, found %s", name,
                    is_list ? " in a list" : "", json_describe(value, digits, sizeof digits));
            buf_release(&text);
            return NULL;
        } else if (fabs(number) < 0x1p53 && number == (double)(long long)number) {
            buf_format(&text, "%lld", (long long)number);
        } else {
            num_double(digits, number);
            buf_text(&text, digits);
        }
    }
    return buf_keep(&text, arena, err);
}

/* Ids may be a list; of several texts to continue with each is a value. */
static int read_member(const struct items *items, struct item *item, struct place_column *columns,
                       const struct json *member, struct arena *arena, struct err *err)
{
    const char *name = json_key(member);
    size_t place = items_place_of(items, name);
    bool truth = false;
    double number = 0;
    bool is_list = place == ITEM_IDS && json_is_array(member);
    bool is_each = place == ITEM_CONTINUE && json_is_array(member);
    if (place == ITEM_TEXT && item->fields[place])
        return err_set(err, "expected one text, found 'text' and 'sentence'");
    if (place >= ITEM_FIELDS)
        columns[place - ITEM_FIELDS].literal =
            json_get_bool(member, &truth) || (json_get_number(member, &number) && isfinite(number));
    for (const struct json *part = is_each ? json_first(member) : member; part;
         part = is_each ? json_next(part) : NULL) {
        const char *value = read_value(name, part, is_list, arena, err);
        if (!value || set_value(item, columns, place, value, arena, err))
            return -1;
    }
    return 0;
}

static int read_object(const struct items *items, struct item *item, struct place_column *columns,
                       const struct item_start *start, struct arena *arena, struct err *err)
{
    char found[NUM_DOUBLE_BYTES];
    struct json *root = NULL;
    if (json_parse(&root, start->at, start->size, err))
        return -1;
    int failed = json_is_object(root)
                     ? json_unique_keys(root, err)
                     : err_set(err, "expected an object such as {\"text\": \"…\"}, found %s",
                               json_describe(root, found, sizeof found));
    for (const struct json *member = failed ? NULL : json_first(root); member && !failed;
         member = json_next(member))
        failed = !json_is_null(member) && read_member(items, item, columns, member, arena, err);
    json_free(root);
    return failed ? -1 : 0;
}

/* A record or an object has a text or ids. */
static int read_fields(const struct items *items, struct item *item, const struct item_start *start,
                       struct arena *arena, struct err *err)
{
    struct place_column *columns = arena_alloc(arena, items->name_count, sizeof *columns, err);
    if (!columns)
        return -1;
    for (size_t i = 0; i < items->name_count; i++)
        columns[i].name = items->names[i];
    item->columns = columns;
    item->column_count = items->name_count;
    if ((items->kind == ITEMS_CSV ? read_record : read_object)(items, item, columns, start, arena,
                                                               err))
        return -1;
    bool has_ids = item->fields[ITEM_IDS];
    const char *good = item->fields[ITEM_GOOD], *bad = item->fields[ITEM_BAD];
    if (!good != !bad || (good && (item->fields[ITEM_TEXT] || has_ids)))
        return err_set(err, "expected 'good' and 'bad' alone, found %s",
                       !good  ? "only 'bad'"
                       : !bad ? "only 'good'"
                              : "another text, too");
    if (items->kind == ITEMS_CSV && items->fields & ITEMS_KEEP_BLANK && !has_ids &&
        !item->input.text)
        item->input.text = "";
    if (has_ids == (item->input.text != NULL))
        return err_set(err, "expected 'text' or 'ids', found %s", has_ids ? "both" : "neither");
    if (has_ids)
        item->input = (struct input){.ids = item->fields[ITEM_IDS]};
    return items_check_ids(&item->options.input, err);
}

int items_read(const struct items *items, struct item *item, size_t index, struct arena *arena,
               struct err *err)
{
    const struct item_start *start = &items->starts[index];
    bool in_file = start->line > 0;
    *item = (struct item){.number = index + items_blank_before(items, index),
                          .options = *items->options};
    if (start->at)
        item->input = (struct input){.text = start->at, .size = start->size};
    else
        item->input = (struct input){.ids = items->options->input.ids};
    if (in_file && items->kind != ITEMS_LINES) {
        item->input = (struct input){.text = NULL};
        if (read_fields(items, item, start, arena, err))
            return items_blame(items, index, err);
    }
    const char *text = item->input.text;
    item->is_blank = in_file && items->fields & ITEMS_KEEP_BLANK && text &&
                     items_skip_blanks(text, text + item->input.size) == text + item->input.size;
    return 0;
}
