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
#include "draw/page_facts.h"
#include "draw/page_tensor.h"
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
    const struct label *labels = page_labels_of(tokenized, &count);
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
    const struct label *labels = page_labels_of(&report->sentence, &count);
    json_put_open(json, "\nlabels", '{');
    put_labels(json, "sentence", labels + first, count - first);
    labels = page_labels_of(&report->source, &count);
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

static int put_sentence(struct stream *out, const struct report *report, bool exact,
                        const struct page_facts *facts, struct err *err)
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
        page_tensor_put(&json, report, &report->tensors[i], exact);
    json_put_close(&json, ']');
    if (facts)
        page_facts_put(&json, facts);
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
    return failed;
}

int html_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    const struct style *style = place->style ? place->style : &style_default;
    bool exact = page_count_numbers(report) <= EXACT_MOST / place->count;
    if (place->index == 0 && put_head(out, report, style, err))
        return -1;
    if (put_sentence(out, report, exact, place->page, err))
        return -1;
    if (place->index + 1 == place->count)
        stream_bytes(out, page_behind.bytes, page_behind.size);
    return 0;
}
