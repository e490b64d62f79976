/* html_report.c: reports as one page to look around in, without any network.
 *
 * A page begins with its looks, goes on with a piece of JSON for each sentence and ends with the
 * program that draws them; page/ holds all but the data. Whatever a token says, no < of it is
 * written as such: nothing in the data can end the element it stands in.
 */
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "draw/figure.h"
#include "format/json_writer.h"
#include "write/format.h"
#include "draw/page_template.h"
#include "draw/page_values.h"

enum { EXACT_MOST = 300000 }; /* numbers of a page that are written exactly: 1.6 MB */

/* --- texts ------------------------------------------------------------------------------------ */

/* A JSON text without what HTML, or a script that is pasted somewhere, could trip over. */
static int put_text(struct stream *out, const char *bytes, size_t size, struct err *err)
{
    struct buf json = {0};
    json_append_text(&json, bytes, size);
    if (buf_check(&json, err)) {
        buf_release(&json);
        return -1;
    }
    for (size_t at = 0; at < json.size;) {
        const char *rest = json.bytes + at;
        size_t plain = strcspn(rest, "<\xe2");
        stream_bytes(out, rest, plain);
        at += plain;
        if (at == json.size)
            break;
        rest += plain;
        bool separator =
            strncmp(rest, "\xe2\x80\xa8", 3) == 0 || strncmp(rest, "\xe2\x80\xa9", 3) == 0;
        if (*rest == '<')
            stream_text(out, "\\u003c");
        else if (separator)
            stream_format(out, "\\u%04x", rest[2] == '\xa8' ? 0x2028 : 0x2029);
        else
            stream_char(out, *rest);
        at += separator ? 3 : 1;
    }
    buf_release(&json);
    return 0;
}

static int put_title(struct stream *out, const struct reading *reading, struct err *err)
{
    struct buf title = {0};
    reading_visible(&title, reading);
    int failed =
        buf_check(&title, err) || put_text(out, title.bytes ? title.bytes : "", title.size, err);
    buf_release(&title);
    return failed ? -1 : 0;
}

/* Text of HTML itself, for the title of the window. */
static void put_markup(struct stream *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            stream_text(out, "&lt;");
        else if (*text == '&')
            stream_text(out, "&amp;");
        else
            stream_char(out, *text);
    }
}

/* --- how the page looks at first -------------------------------------------------------------- */

static void put_palettes(struct stream *out)
{
    for (size_t i = 0; i < palette_count; i++) {
        struct ramp ramp;
        ramp_make(&ramp, &palette_rows[i]);
        stream_format(out, "%s\n \"%s\": {\"two_sided\": %s, \"colours\": \"", i ? "," : "",
                      palette_rows[i].name, palette_rows[i].two_sided ? "true" : "false");
        for (size_t level = 1; level < RAMP_LEVELS; level++) {
            struct colour colour = ramp.colours[level];
            stream_format(out, "%02x%02x%02x", colour.red, colour.green, colour.blue);
        }
        stream_text(out, "\"}");
    }
}

static int put_look(struct stream *out, const struct style *style, struct err *err)
{
    stream_text(out, "<script type=\"application/json\" id=\"look\">{\"title\": ");
    if (!style->title)
        stream_text(out, "null");
    else if (put_text(out, style->title, strlen(style->title), err))
        return -1;
    stream_format(out,
                  ", \"scale\": \"%s\", \"range\": \"%s\", \"view\": \"%s\", \"palette\": \"%s\", "
                  "\"hide_first\": %s",
                  style_scale_names[style->scale], style_range_names[style->range],
                  style_view_names[style->view], style->palette ? style->palette->name : "",
                  style->hide_first ? "true" : "false");
    if (style_has_bounds(style)) {
        char low[NUM_FLOAT_BYTES];
        char high[NUM_FLOAT_BYTES];
        num_float(low, style->bounds.low);
        num_float(high, style->bounds.high);
        stream_format(out, ", \"bounds\": {\"low\": %s, \"high\": %s}", low, high);
    }
    stream_format(out, ",\n \"defaults\": [[\"%s\", \"%s\"], [\"%s\", \"%s\"]]",
                  palette_default(false, false)->name, palette_default(false, true)->name,
                  palette_default(true, false)->name, palette_default(true, true)->name);
    stream_text(out, ",\n \"palettes\": {");
    put_palettes(out);
    stream_text(out, "}}</script>\n");
    return 0;
}

static int put_head(struct stream *out, const struct report *report, const struct style *style,
                    struct err *err)
{
    struct buf title = {0};
    figure_title(&title, report, style);
    if (buf_check(&title, err)) {
        buf_release(&title);
        return -1;
    }
    stream_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    put_markup(out, title.bytes ? title.bytes : "");
    stream_text(out, "</title>\n");
    buf_release(&title);
    stream_bytes(out, page_before.bytes, page_before.size);
    return put_look(out, style, err);
}

/* --- a sentence ------------------------------------------------------------------------------- */

static const struct label *labels_of(const struct reading *reading, size_t *count)
{
    *count = reading->words ? reading->word_count : reading->count;
    return reading->words ? reading->word_labels : reading->labels;
}

static int put_labels(struct stream *out, const struct label *labels, size_t count, struct err *err)
{
    stream_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        stream_text(out, i ? "," : "");
        if (put_text(out, labels[i].text, strlen(labels[i].text), err))
            return -1;
    }
    stream_char(out, ']');
    return 0;
}

/* Where the text of a place ends: what stands between two belongs to the one behind. */
static size_t end_of(const struct reading *reading, size_t place)
{
    size_t token = place;
    if (reading->words)
        token = reading->words[place].first + reading->words[place].count - 1;
    return reading->tokens[token].end;
}

/* The text itself, cut where its places begin; without a text, their names. */
static int put_plain(struct stream *out, const struct reading *reading, size_t first,
                     struct err *err)
{
    size_t count = 0;
    const struct label *labels = labels_of(reading, &count);
    size_t start = reading->text && first ? end_of(reading, first - 1) : 0;
    stream_char(out, '[');
    for (size_t i = first; i < count; i++) {
        const char *text = labels[i].plain;
        size_t size = strlen(text);
        if (reading->text && end_of(reading, i) > start) {
            text = reading->text + start;
            size = end_of(reading, i) - start;
            start += size;
        }
        stream_text(out, i > first ? "," : "");
        if (put_text(out, text, size, err))
            return -1;
    }
    stream_char(out, ']');
    return 0;
}

static int put_reading(struct stream *out, const struct reading *reading, const char *name,
                       size_t first, struct err *err)
{
    size_t count = 0;
    const struct label *labels = labels_of(reading, &count);
    stream_format(out, "\"%s\": ", name);
    return put_labels(out, labels + first, count - first, err);
}

/* The labels of every kind of axis; numbers need none. */
static int put_all_labels(struct stream *out, const struct report *report, struct err *err)
{
    size_t first = report->first_shown;
    bool has_source = report->source.count > 0;
    size_t words = 0;
    for (size_t i = 0; i < report->tensor_count && report->words; i++)
        if (site_rows[report->tensors[i].site].axes == AXES_TOKEN_WORD)
            words = report->tensors[i].shape[1];
    stream_text(out, ",\n\"labels\": {");
    if (put_reading(out, &report->sentence, "sentence", first, err))
        return -1;
    stream_text(out, has_source ? ", " : "");
    if (has_source && put_reading(out, &report->source, "source", first, err))
        return -1;
    if (words) {
        stream_text(out, ", \"words\": ");
        if (put_labels(out, report->words, words, err))
            return -1;
    }
    stream_text(out, "},\n\"plain\": {\"sentence\": ");
    if (put_plain(out, &report->sentence, first, err))
        return -1;
    stream_text(out, has_source ? ", \"source\": " : "");
    if (has_source && put_plain(out, &report->source, first, err))
        return -1;
    stream_char(out, '}');
    return 0;
}

/* Which labels an axis has. */
static const char *kind_of(const struct report *report, const struct axis *axis)
{
    size_t count = 0;
    const struct label *labels = axis->labels - axis->first;
    if (labels == labels_of(&report->sentence, &count))
        return "sentence";
    if (labels == labels_of(&report->source, &count))
        return "source";
    return report->words && labels == report->words ? "words" : "numbers";
}

/* --- a tensor --------------------------------------------------------------------------------- */

static size_t seen_columns(const struct sheet *sheet, size_t row)
{
    size_t columns = sheet->columns.size;
    return sheet->causal && row + 1 < columns ? row + 1 : columns;
}

/* How many numbers of all tensors are seen. */
static size_t count_numbers(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report_sheet_count(report); i++) {
        struct sheet sheet = report_sheet(report, i);
        for (size_t row = 0; row < sheet.rows.size; row++)
            count += seen_columns(&sheet, row);
    }
    return count;
}

static void put_values(struct stream *out, const struct report *report, const struct kept *kept,
                       const struct page_short *code)
{
    struct page_exact exact = {.out = out};
    for (size_t i = 0; i < kept_sheet_count(kept); i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        for (size_t row = 0; row < sheet.rows.size; row++) {
            for (size_t column = 0; column < seen_columns(&sheet, row); column++) {
                if (code)
                    page_short_put(out, code, sheet_cell(&sheet, row, column));
                else
                    page_exact_put(&exact, sheet_cell(&sheet, row, column));
            }
        }
    }
    page_exact_end(&exact);
}

static void put_heads(struct stream *out, const struct kept *kept)
{
    stream_text(out, ", \"heads\": ");
    if (!kept->heads) {
        stream_text(out, "null");
        return;
    }
    for (size_t i = 0; i < kept->shape[0]; i++)
        stream_format(out, "%s%zu", i ? ", " : "[", kept->heads[i]);
    stream_char(out, ']');
}

static void put_tensor(struct stream *out, const struct report *report, const struct kept *kept,
                       bool exact)
{
    struct sheet sheet = kept_sheet(report, kept, 0);
    size_t heads = kept_sheet_count(kept);
    struct page_short code =
        page_short_of(kept->data, heads * sheet.rows.size * sheet.columns.size);
    stream_format(out, "{\"tensor\": \"%s\", \"layer\": ", sheet.tensor);
    if (sheet.layer < 0)
        stream_text(out, "null");
    else
        stream_format(out, "%d", sheet.layer);
    put_heads(out, kept);
    stream_format(out, ", \"mean_of\": \"%s%s%s\"", sheet.mean_of_layers ? "mean of layers" : "",
                  sheet.mean_of_layers && sheet.mean_of_heads ? " · " : "",
                  sheet.mean_of_heads ? "mean of heads" : "");
    stream_format(out, ", \"rows\": \"%s\", \"columns\": \"%s\"", sheet.rows.name,
                  sheet.columns.name);
    stream_format(out, ", \"row_labels\": \"%s\", \"column_labels\": \"%s\"",
                  kind_of(report, &sheet.rows), kind_of(report, &sheet.columns));
    stream_format(out, ", \"shape\": [%zu, %zu, %zu], \"causal\": %s", heads, sheet.rows.size,
                  sheet.columns.size, sheet.causal ? "true" : "false");
    if (exact)
        stream_text(out, ", \"coding\": \"exact\", \"values\": \"");
    else
        stream_format(out, ", \"coding\": \"short\", \"signed\": %s, \"top\": %d, \"values\": \"",
                      code.has_sign ? "true" : "false", code.top);
    put_values(out, report, kept, exact ? NULL : &code);
    stream_text(out, "\"}");
}

static int put_sentence(struct stream *out, const struct report *report, bool exact,
                        struct err *err)
{
    stream_text(out, "<script type=\"application/json\" class=\"sentence\">{\"model\": ");
    if (put_text(out, report->model, strlen(report->model), err))
        return -1;
    stream_text(out, ", \"title\": ");
    if (put_title(out, &report->sentence, err) || put_all_labels(out, report, err))
        return -1;
    stream_text(out, ",\n\"tensors\": [");
    for (size_t i = 0; i < report->tensor_count; i++) {
        stream_text(out, i ? ",\n" : "\n");
        put_tensor(out, report, &report->tensors[i], exact);
    }
    stream_text(out, "]}</script>\n");
    return 0;
}

int html_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    const struct style *style = place->style ? place->style : &style_default;
    bool exact = count_numbers(report) <= EXACT_MOST / place->count;
    if (place->index == 0 && put_head(out, report, style, err))
        return -1;
    if (put_sentence(out, report, exact, err))
        return -1;
    if (place->index + 1 == place->count)
        stream_bytes(out, page_behind.bytes, page_behind.size);
    return 0;
}
