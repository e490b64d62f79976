#include "text/tokenizer_fields.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"

enum { DESCRIPTION_BYTES = 80 };

/* Pass the value of a field, or of none that is wanted. The large ones are passed only once. */
static int pass_value(struct field *field, struct json_cursor *object, struct err *err)
{
    const char *start = object->at;
    if (!field) {
        json_cursor_value(object);
        return 0;
    }
    if (field->value.bytes)
        return err_set(err, "field '%s': expected once, found twice", field->name);
    if (!field->inner || json_cursor_kind(object) != '{') {
        field->value = json_cursor_value(object);
        return 0;
    }
    if (fields_find(field->inner, field->inner_count, object, err))
        return err_prefix(err, "%s", field->name);
    field->value = (struct json_span){start, (size_t)(object->at - start)};
    return 0;
}

int fields_find(struct field *fields, size_t count, struct json_cursor *object, struct err *err)
{
    if (json_cursor_kind(object) != '{')
        return err_set(err, "expected an object");
    json_cursor_enter(object);
    while (json_cursor_next(object)) {
        struct json_span name = json_cursor_name(object);
        struct field *field = NULL;
        for (size_t i = 0; i < count; i++)
            if (json_span_is(name, fields[i].name))
                field = &fields[i];
        if (pass_value(field, object, err))
            return -1;
    }
    return 0;
}

bool field_is_given(const struct field *field)
{
    return field->value.bytes && *field->value.bytes != 'n'; /* null is as good as nothing */
}

int field_parse(struct field *field, struct err *err)
{
    if (!field_is_given(field) || field->tree)
        return 0;
    return json_parse(&field->tree, field->value.bytes, field->value.size, err);
}

void fields_free(struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_free(fields[i].tree);
}

int field_need(struct json_cursor *value, const struct field *field, const char *kinds,
               struct err *err)
{
    if (!field_is_given(field))
        return err_set(err, "expected a field '%s'", field->name);
    *value = json_cursor_at(field->value);
    if (!strchr(kinds, json_cursor_kind(value)))
        return err_set(err, "field '%s': expected an %s", field->name,
                       *kinds == '{' ? "object" : "array");
    return 0;
}

static int refuse(const struct field *field, const char *expected, struct err *err)
{
    char found[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", field->name, expected,
                   json_describe(field->tree, found, sizeof found));
}

int field_text(struct field *field, const char **out, struct err *err)
{
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    return json_get_text(field->tree, out) ? 0 : refuse(field, "a text", err);
}

int field_bool(struct field *field, bool *out, struct err *err)
{
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    return json_get_bool(field->tree, out) ? 0 : refuse(field, "true or false", err);
}

int field_integer(struct field *field, long long min, long long max, long long *out,
                  struct err *err)
{
    char expected[DESCRIPTION_BYTES];
    if (!field_is_given(field))
        return 0;
    if (field_parse(field, err))
        return err_prefix(err, "%s", field->name);
    if (json_get_integer(field->tree, min, max, out))
        return 0;
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", min, max);
    return refuse(field, expected, err);
}
