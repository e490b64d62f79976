#include "measure/reduction.h"

#include <limits.h>
#include <string.h>

#include "base/num.h"

enum { FIELDS = 7, FIELD_BYTES = 128 };

static void write_place(struct stream *out, size_t place)
{
    if (place != NO_PLACE)
        stream_format(out, "%zu", place);
    stream_char(out, ',');
}

void reduction_write_sums(struct stream *out, const struct reduction *reduction)
{
    char text[EXACT_SUM_BYTES];
    struct reduction_walk walk = {.reduction = reduction};
    while (reduction_next(&walk)) {
        const struct reduction_entry *entry = &walk.entry;
        stream_format(out, "%s,%zu,%zu,", measure_rows[entry->measure].name, entry->layer,
                      entry->head);
        write_place(out, entry->query);
        write_place(out, entry->key);
        stream_format(out, "%llu,", (unsigned long long)entry->cell.count);
        stream_bytes(out, text, exact_sum_text(text, &entry->cell.sum));
        stream_char(out, '\n');
    }
}

/* Cut a line at its commas into fields that end in 0; false when there are not as many. */
static bool cut(char fields[FIELDS][FIELD_BYTES], const char *line, size_t size)
{
    const char *end = line + size;
    for (int i = 0; i < FIELDS; i++) {
        const char *comma = memchr(line, ',', (size_t)(end - line));
        const char *stop = comma ? comma : end;
        size_t length = (size_t)(stop - line);
        if (length >= FIELD_BYTES || (comma == NULL) != (i == FIELDS - 1))
            return false;
        memcpy(fields[i], line, length);
        fields[i][length] = '\0';
        line = comma ? comma + 1 : end;
    }
    return true;
}

static bool read_place(const char *field, size_t *place)
{
    long long number = 0;
    *place = NO_PLACE;
    if (!*field)
        return true;
    if (!num_parse_integer(field, 0, LLONG_MAX, &number))
        return false;
    *place = (size_t)number;
    return true;
}

static bool read_entry(struct reduction_entry *entry, const char *line, size_t size)
{
    char fields[FIELDS][FIELD_BYTES];
    long long count = 0;
    if (!cut(fields, line, size) || !measure_find(fields[0], strlen(fields[0]), &entry->measure) ||
        !read_place(fields[1], &entry->layer) || !read_place(fields[2], &entry->head) ||
        !read_place(fields[3], &entry->query) || !read_place(fields[4], &entry->key) ||
        !num_parse_integer(fields[5], 1, LLONG_MAX, &count) ||
        !exact_sum_parse(&entry->cell.sum, fields[6], strlen(fields[6])))
        return false;
    entry->cell.count = (uint64_t)count;
    return true;
}

int reduction_read_sum(struct reduction *reduction, const char *line, size_t size, struct err *err)
{
    struct reduction_entry entry;
    if (!read_entry(&entry, line, size) || !reduction_fits(reduction, &entry))
        return err_set(err, "expected a line of sums, found '%.*s'", size < 60 ? (int)size : 60,
                       line);
    return reduction_merge(reduction, &entry, err);
}
