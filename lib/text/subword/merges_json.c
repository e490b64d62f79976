/* merges_json.c: the merges of tokenizer.json. */
#include "text/label.h"
#include "text/subword/merge_reader.h"

static int refuse_item(const struct merge_reader *reader, struct json_span item)
{
    char shown[LABEL_EXCERPT_BYTES];
    return err_set(reader->err, "%s %zu: expected \"a b\" or [\"a\", \"b\"], found %s",
                   reader->unit, reader->number, label_excerpt(shown, item.bytes, item.size));
}

/* ["Ġ", "t"] */
static int add_pair(struct merge_reader *reader, struct json_cursor *merges)
{
    struct json_cursor item = *merges;
    struct json_span spans[2] = {0};
    size_t count = 0;
    json_cursor_enter(merges);
    for (; json_cursor_next(merges); count++) {
        if (count == 2 || json_cursor_kind(merges) != '"')
            return refuse_item(reader, json_cursor_value(&item));
        spans[count] = json_cursor_text(merges);
    }
    if (count != 2 || !spans[0].size || !spans[1].size)
        return refuse_item(reader, json_cursor_value(&item));
    if (merge_reader_reserve(reader, spans[0].size + spans[1].size))
        return -1;
    char *text = merge_reader_room(reader);
    struct word left = {text, json_unescape(text, spans[0])};
    char *after = text + left.size;
    struct word right = {after, json_unescape(after, spans[1])};
    merge_reader_push(reader, left, right);
    return 0;
}

/* A merge as most are written: without escapes, and with signs alone. False: it takes a closer
 * look. */
static bool add_signs(struct merge_reader *reader, struct json_cursor *merges)
{
    struct json_cursor at = *merges;
    bool pair = *at.at == '[';
    if (pair)
        json_cursor_enter(&at);
    if (*at.at++ != '"' || !merge_reader_left(reader, &at.at, pair ? '"' : ' '))
        return false;
    at.at++;
    if (pair && (!json_cursor_next(&at) || *at.at++ != '"'))
        return false;
    if (!merge_reader_right(reader, &at.at, '"'))
        return false;
    at.at++;
    if ((pair && json_cursor_next(&at)) || !merge_reader_push_signs(reader))
        return false;
    *merges = at;
    return true;
}

static int add_item(struct merge_reader *reader, struct json_cursor *merges)
{
    char kind = json_cursor_kind(merges);
    if (merge_reader_reserve(reader, MERGE_ROOM))
        return -1;
    if (add_signs(reader, merges))
        return 0;
    if (kind == '[')
        return add_pair(reader, merges);
    struct json_span item = json_cursor_value(merges);
    if (kind != '"')
        return refuse_item(reader, item);
    if (merge_reader_reserve(reader, item.size))
        return -1;
    struct json_cursor text = json_cursor_at(item);
    char *bytes = merge_reader_room(reader);
    size_t size = json_cursor_read(&text, bytes);
    return merge_reader_add_text(reader, bytes, size);
}

static int read_items(struct merge_reader *reader)
{
    struct json_cursor merges = {.at = reader->start, .end = reader->end};
    json_cursor_enter(&merges);
    for (; json_cursor_next(&merges); reader->number++)
        if (add_item(reader, &merges))
            return -1;
    return 0;
}

int merges_read_json(struct bpe *bpe, const struct word_table *words, struct json_cursor merges,
                     size_t count, size_t prefix, bool brief, struct err *err)
{
    struct merge_reader reader = {.bpe = bpe,
                                  .words = words,
                                  .unit = "merge",
                                  .prefix = prefix,
                                  .start = merges.at,
                                  .end = merges.end,
                                  .read_all = read_items,
                                  .brief = brief && !prefix,
                                  .err = err};
    return merge_reader_run(&reader, count);
}
