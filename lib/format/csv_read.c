#include "format/csv_read.h"

#include <string.h>

/* Where a record ends, and how many fields it can have. */
struct field_extent {
    const char *end; /* the line break of the record, or the end of the file */
    size_t fields;   /* upper bound of the number of fields in the record */
    bool open;       /* true if a quote is not closed before the end of the file */
};

/* The reader is at the start of a field, in a field without quotes, in quotes, or after the closing
 * quote. */
enum state { FRESH, PLAIN, QUOTED, CLOSED };

/* Return the state after the character `c`. A quote opens a quoted field only at the start of a
 * field; in a field without quotes it is an ordinary character. */
static enum state state_after(enum state state, char c, char separator)
{
    if (c == '"' && state != PLAIN) /* after CLOSED this is a doubled quote: the field continues */
        return state == QUOTED ? CLOSED : QUOTED;
    return state == QUOTED ? QUOTED : c == separator ? FRESH : state == CLOSED ? CLOSED : PLAIN;
}

static struct field_extent measure(const struct csv_reader *reader)
{
    const char *at = reader->at;
    struct field_extent extent = {.fields = 1};
    enum state state = FRESH;
    for (; at < reader->end && (state == QUOTED || *at != '\n'); at++) {
        state = state_after(state, *at, reader->separator);
        extent.fields += state == FRESH;
    }
    extent.end = at;
    extent.open = state == QUOTED;
    return extent;
}

static int refuse(const char *at, const char *end, char separator, struct err *err)
{
    size_t rest = (size_t)(end - at);
    const char *name = separator == ','    ? "a comma or "
                       : separator == ';'  ? "a semicolon or "
                       : separator == '\t' ? "a tab or "
                                           : "";
    return err_set(err, "expected %sthe end of the line after a quoted field, found '%.*s'", name,
                   rest < 16 ? (int)rest : 16, at);
}

/* Copy the field at `*at` to `*out`, without its quotes and with a closing 0. Moves `*at` to the
 * separator after the field, or to `end`, and `*out` past the 0. */
static int read_field(char **out, const char **at, const char *end, char separator, struct err *err)
{
    const char *from = *at;
    char *to = *out;
    if (from < end && *from == '"') {
        for (from++; *from != '"' || (from + 1 < end && from[1] == '"'); from++) {
            from += *from == '"';
            *to++ = *from;
        }
        from++; /* skip the closing quote */
        if (from < end && *from != separator)
            return refuse(from, end, separator, err);
    } else {
        while (from < end && *from != separator)
            *to++ = *from++;
    }
    *to++ = '\0';
    *out = to;
    *at = from;
    return 0;
}

static int read_fields(struct csv_record *record, const char *at, const struct field_extent *extent,
                       char separator, struct arena *arena, struct err *err)
{
    size_t room = (size_t)(extent->end - at) + 1; /* bytes of all fields, each with a closing 0 */
    char *out = arena_alloc(arena, room, 1, err);
    record->fields = arena_alloc(arena, extent->fields, sizeof *record->fields, err);
    if (!out || !record->fields)
        return -1;
    for (;; at++) { /* at++ skips the separator */
        record->fields[record->count++] = out;
        if (read_field(&out, &at, extent->end, separator, err))
            return -1;
        if (at >= extent->end)
            return 0;
    }
}

int csv_read(struct csv_reader *reader, struct csv_record *record, struct arena *arena,
             struct err *err)
{
    *record = (struct csv_record){0};
    while (reader->at < reader->end) {
        const char *at = reader->at;
        struct field_extent extent = measure(reader);
        size_t line = reader->line;
        if (extent.open) { /* refuse only this line, not the rest of the file */
            const char *newline = memchr(at, '\n', (size_t)(reader->end - at));
            extent.end = newline ? newline : reader->end;
        }
        for (const char *c = at; c < extent.end; c++)
            reader->line += *c == '\n';
        bool is_last = extent.end == reader->end;
        reader->line += !is_last;
        reader->at = extent.end + !is_last;
        if (at == extent.end || (extent.end - at == 1 && *at == '\r')) /* an empty line */
            continue;
        record->line = line;
        if (extent.open)
            return err_set(err, "expected a closing quote, found the end of the file");
        if (memchr(at, 0, (size_t)(extent.end - at)))
            return err_set(err, "expected text in UTF-8, found a zero byte: save it as UTF-8 (in "
                                "Excel: 'CSV UTF-8')");
        extent.end -= extent.end[-1] == '\r';
        return read_fields(record, at, &extent, reader->separator, arena, err);
    }
    return 0;
}
