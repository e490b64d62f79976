#include "measure/needle.h"

#include <string.h>

#include "format/json.h"

static int find(struct needle *needle, const char *text, const char *hidden, struct err *err)
{
    const char *at = *hidden ? strstr(text, hidden) : NULL;
    if (!*hidden)
        return err_set(err, "field 'needle': expected a text, found \"\"");
    if (!at)
        return err_set(err, "field 'needle': expected a part of 'text', found '%s'", hidden);
    if (strstr(at + 1, hidden))
        return err_set(err, "field 'needle': expected once in 'text', found '%s' twice", hidden);
    needle->first = (size_t)(at - text);
    needle->end = needle->first + strlen(hidden);
    return 0;
}

static int read_fields(struct needle *needle, const struct json *root, struct arena *arena,
                       struct err *err)
{
    const char *text = NULL;
    const char *hidden = NULL;
    const char *query = "";
    if (!json_is_object(root))
        return err_set(err, "expected an object with 'text' and 'needle'");
    if (json_unique_keys(root, err) || json_text(root, "text", &text, err) ||
        json_text(root, "needle", &hidden, err) || json_text(root, "query", &query, err))
        return -1;
    if (!text || !hidden)
        return err_set(err, "field '%s': expected a text, found nothing", text ? "needle" : "text");
    needle->text = arena_format(arena, err, "%s%s", text, query);
    if (!needle->text || find(needle, text, hidden, err))
        return -1;
    needle->size = strlen(needle->text);
    return 0;
}

int needle_read(struct needle *needle, const char *line, size_t size, struct arena *arena,
                struct err *err)
{
    struct json *root = NULL;
    int failed = json_parse(&root, line, size, err) || read_fields(needle, root, arena, err);
    json_free(root);
    return failed ? -1 : 0;
}

void needle_mark(bool *marked, const struct needle *needle, const struct tokenized *text)
{
    for (size_t i = 0; i < text->count; i++)
        marked[i] = text->tokens[i].start < needle->end && text->tokens[i].end > needle->first;
}
