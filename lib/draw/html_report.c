/* html_report.c: reports as one page to look around in, without any network.
 *
 * A page begins with its looks, goes on with a piece of JSON for each sentence and ends with the
 * program that draws them; page/ holds all but the data. Whatever a token says, no < of it is
 * written as such: nothing in the data can end the element it stands in.
 */
#include <string.h>

#include "base/buf.h"
#include "draw/figure.h"
#include "format/json_writer.h"
#include "write/format.h"
#include "write/json_report.h"
#include "draw/page_values.h"

enum { EXACT_MOST = 300000 }; /* numbers of a page that are written exactly: 1.6 MB */

/* --- how the page looks at first -------------------------------------------------------------- */

static void put_palette(struct json_writer *json, const struct palette *palette)
{
    struct ramp ramp;
    ramp_make(&ramp, palette);
    json_put_gap(json, "\n ");
    json_put_open(json, palette->name, '{');
    json_put_bool(json, "two_sided", palette->two_sided);
    json_put_raw(json, "colours", "\"");
    for (size_t level = 1; level < RAMP_LEVELS; level++) {
        struct colour colour = ramp.colours[level];
        stream_format(json->stream, "%02x%02x%02x", colour.red, colour.green, colour.blue);
    }
    stream_char(json->stream, '"');
    json_put_close(json, '}');
}

static void put_look(struct stream *out, const struct style *style)
{
    struct json_writer json = {.stream = out, .in_html = true};
    stream_text(out, "<script type=\"application/json\" id=\"look\">");
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "title", style->title);
    json_put_text(&json, "scale", style_scale_names[style->scale]);
    json_put_text(&json, "range", style_range_names[style->range]);
    json_put_text(&json, "view", style->view ? style_view_names[style->view - 1] : "");
    json_put_text(&json, "palette", style->palette ? style->palette->name : "");
    json_put_bool(&json, "hide_first", style->hide_first);
    if (style_has_bounds(style)) {
        json_put_open(&json, "bounds", '{');
        json_put_float(&json, "low", style->bounds.low);
        json_put_float(&json, "high", style->bounds.high);
        json_put_close(&json, '}');
    }
    json_put_open(&json, "\n defaults", '[');
    for (int signs = 0; signs < 2; signs++) {
        json_put_open(&json, NULL, '[');
        json_put_text(&json, NULL, palette_default(signs, false)->name);
        json_put_text(&json, NULL, palette_default(signs, true)->name);
        json_put_close(&json, ']');
    }
    json_put_close(&json, ']');
    json_put_open(&json, "\n palettes", '{');
    for (size_t i = 0; i < palette_count; i++)
        put_palette(&json, &palette_rows[i]);
    json_put_close(&json, '}');
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
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
    page_put_text(out, title.bytes ? title.bytes : "");
    stream_text(out, "</title>\n");
    buf_release(&title);
    stream_bytes(out, page_before.bytes, page_before.size);
    put_look(out, style);
    return 0;
}

/* --- a sentence ------------------------------------------------------------------------------- */

static const struct label *labels_of(const struct tokenized *tokenized, size_t *count)
{
    *count = tokenized->words ? tokenized->word_count : tokenized->count;
    return tokenized->words ? tokenized->word_labels : tokenized->labels;
}

/* Without blanks: there may be thousands. */
static void put_labels(struct json_writer *json, const char *name, const struct label *labels,
                       size_t count)
{
    json_put_open(json, name, '[');
    json->compact = true;
    for (size_t i = 0; i < count; i++)
        json_put_text(json, NULL, labels[i].text);
    json->compact = false;
    json_put_close(json, ']');
}

/* Where the text of a place ends: what stands between two belongs to the one after it. */
static size_t end_of(const struct tokenized *tokenized, size_t place)
{
    size_t token = place;
    if (tokenized->words)
        token = tokenized->words[place].first + tokenized->words[place].count - 1;
    return tokenized->tokens[token].end;
}

/* The text itself, cut where its places begin; without a text, their names. */
static void put_plain(struct json_writer *json, const char *name, const struct tokenized *tokenized,
                      size_t first)
{
    size_t count = 0;
    const struct label *labels = labels_of(tokenized, &count);
    size_t start = tokenized->text && first ? end_of(tokenized, first - 1) : 0;
    json_put_open(json, name, '[');
    json->compact = true;
    for (size_t i = first; i < count; i++) {
        const char *text = labels[i].plain;
        size_t size = strlen(text);
        if (tokenized->text && end_of(tokenized, i) > start) {
            text = tokenized->text + start;
            size = end_of(tokenized, i) - start;
            start += size;
        }
        json_put_bytes(json, NULL, text, size);
    }
    json->compact = false;
    json_put_close(json, ']');
}

/* The labels of every kind of axis; numbers need none. */
static void put_all_labels(struct json_writer *json, const struct report *report)
{
    size_t first = report->first_shown;
    bool has_source = report->source.count > 0;
    size_t words = 0;
    for (size_t i = 0; i < report->tensor_count && report->words; i++)
        if (site_rows[report->tensors[i].site].axes == AXES_TOKEN_WORD)
            words = report->tensors[i].shape[1];
    size_t count = 0;
    const struct label *labels = labels_of(&report->sentence, &count);
    json_put_open(json, "\nlabels", '{');
    put_labels(json, "sentence", labels + first, count - first);
    labels = labels_of(&report->source, &count);
    if (has_source)
        put_labels(json, "source", labels + first, count - first);
    if (words)
        put_labels(json, "words", report->words, words);
    json_put_close(json, '}');
    json_put_open(json, "\nplain", '{');
    put_plain(json, "sentence", &report->sentence, first);
    if (has_source)
        put_plain(json, "source", &report->source, first);
    json_put_close(json, '}');
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

static void put_tensor(struct json_writer *json, const struct report *report,
                       const struct kept *kept, bool exact)
{
    struct sheet sheet = kept_sheet(report, kept, 0);
    const size_t shape[] = {kept_sheet_count(kept), sheet.rows.size, sheet.columns.size};
    struct page_short code = page_short_of(kept->data, shape[0] * shape[1] * shape[2]);
    const char *of_layers =
        sheet.mean_of_heads ? "mean of layers · mean of heads" : "mean of layers";
    json_put_open(json, "\n", '{');
    json_put_text(json, "tensor", sheet.tensor);
    json_report_place(json, kept);
    json_put_text(json, "mean_of",
                  sheet.mean_of_layers  ? of_layers
                  : sheet.mean_of_heads ? "mean of heads"
                                        : "");
    json_put_text(json, "rows", sheet.rows.name);
    json_put_text(json, "columns", sheet.columns.name);
    json_put_text(json, "row_labels", kind_of(report, &sheet.rows));
    json_put_text(json, "column_labels", kind_of(report, &sheet.columns));
    json_put_integers(json, "shape", shape, 3);
    json_put_bool(json, "causal", sheet.causal);
    json_put_text(json, "coding", exact ? "exact" : "short");
    if (!exact) {
        json_put_bool(json, "signed", code.has_sign);
        json_put_integer(json, "top", code.top);
    }
    json_put_raw(json, "values", "\"");
    put_values(json->stream, report, kept, exact ? NULL : &code);
    stream_char(json->stream, '"');
    json_put_close(json, '}');
}

static int put_sentence(struct stream *out, const struct report *report, bool exact,
                        struct err *err)
{
    struct json_writer json = {.stream = out, .in_html = true};
    struct buf title = {0};
    tokenized_visible(&title, &report->sentence);
    int failed = buf_check(&title, err);
    stream_text(out, "<script type=\"application/json\" class=\"sentence\">");
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model", report->model);
    json_put_bytes(&json, "title", title.bytes ? title.bytes : "", title.size);
    buf_release(&title);
    put_all_labels(&json, report);
    json_put_open(&json, "\ntensors", '[');
    for (size_t i = 0; i < report->tensor_count; i++)
        put_tensor(&json, report, &report->tensors[i], exact);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
    return failed;
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
