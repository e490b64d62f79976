#include "settings.h"

#include <string.h>

#include "base/num.h"

bool settings_may_vary(const struct option_row *row)
{
    return option_serves(row, FOR_ITEM) && option_serves(row, FOR_BATCH) && !(row->commands & TEXT);
}

bool settings_compute(const struct option_row *row)
{
    return settings_may_vary(row) && !(row->commands & VIEW);
}

static const void *field_of(const struct option_row *row, const struct options *options)
{
    return (const char *)options + row->offset;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(const struct texts *a, const struct texts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_text(a->items[i], b->items[i]);
    return same;
}

bool settings_same(const struct option_row *row, const struct options *a, const struct options *b)
{
    const void *x = field_of(row, a);
    const void *y = field_of(row, b);
    switch (row->kind) {
    case OPTION_FLAG:
        return *(const bool *)x == *(const bool *)y;
    case OPTION_TEXT:
        return same_text(*(const char *const *)x, *(const char *const *)y);
    case OPTION_TEXTS:
        return same_texts(x, y);
    case OPTION_NUMBER:
        return *(const long long *)x == *(const long long *)y;
    case OPTION_REAL:
        break;
    }
    return *(const double *)x == *(const double *)y;
}

void settings_value(struct buf *out, const struct option_row *row, const struct options *options)
{
    const void *field = field_of(row, options);
    const char *text = "";
    char digits[NUM_DOUBLE_BYTES];
    switch (row->kind) {
    case OPTION_FLAG:
        text = *(const bool *)field ? "true" : "false";
        break;
    case OPTION_TEXT:
        text = *(const char *const *)field;
        break;
    case OPTION_NUMBER:
        buf_format(out, "%lld", *(const long long *)field);
        break;
    case OPTION_REAL:
        num_double(digits, *(const double *)field);
        text = digits;
        break;
    case OPTION_TEXTS: /* no item has one */
        break;
    }
    buf_text(out, text ? text : "");
}

bool settings_agree(const struct options *a, const struct options *b, bool only_computed)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_rows[i];
        bool counts = (only_computed ? settings_compute : settings_may_vary)(row);
        if (counts && !settings_same(row, a, b))
            return false;
    }
    return true;
}
