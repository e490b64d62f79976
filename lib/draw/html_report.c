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
#include "draw/page_values.h"

enum { EXACT_MOST = 300000 }; /* numbers of a page that are written exactly: 1.6 MB */

/* The colours of --palette. */
static void put_palette(struct json_writer *json, const struct palette *palette)
{
    struct ramp ramp;
    ramp_make(&ramp, palette);
    json_put_raw(json, "\n colours", "\"");
    for (size_t level = 1; level < RAMP_LEVELS; level++) {
        struct colour colour = ramp.colours[level];
        stream_format(json->stream, "%02x%02x%02x", colour.red, colour.green, colour.blue);
    }
    stream_char(json->stream, '"');
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
    if (style->palette)
        put_palette(&json, style->palette);
    json_put_bool(&json, "hide_first", style->hide_first);
    if (style_has_bounds(style)) {
        json_put_open(&json, "bounds", '{');
        json_put_float(&json, "low", style->bounds.low);
        json_put_float(&json, "high", style->bounds.high);
        json_put_close(&json, '}');
    }
    json_put_open(&json, "\n about", '{');
    for (size_t i = 0; i < SITE_COUNT; i++)
        json_put_text(&json, site_rows[i].name, site_rows[i].about);
    json_put_close(&json, '}');
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
}

static int put_head(struct stream *out, const struct report *report, const struct style *style,
                    const struct folder *live, struct err *err)
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
                     "style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'");
    stream_text(out, live ? " 'wasm-unsafe-eval'\">\n<title>" : "\">\n<title>");
    page_put_text(out, title.bytes ? title.bytes : "");
    stream_text(out, "</title>\n");
    buf_release(&title);
    stream_bytes(out, page_before.bytes, page_before.size);
    put_look(out, style);
    return 0;
}

static int put_end(struct stream *out, const struct folder *live, struct err *err)
{
    if (live && page_live_put(out, live, err))
        return -1;
    stream_bytes(out, page_behind.bytes, page_behind.size);
    if (live)
        stream_bytes(out, page_live.bytes, page_live.size);
    stream_bytes(out, page_end.bytes, page_end.size);
    return 0;
}

int html_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    const struct style *style = place->style ? place->style : &style_default;
    const struct folder *live = place->page ? place->page->live : NULL;
    bool is_lesson = place->page && place->page->lesson;
    bool exact = page_count_numbers(report) <= EXACT_MOST / (is_lesson ? 1 : place->count);
    if (place->index == 0 && put_head(out, report, style, live, err))
        return -1;
    stream_text(out, "<script type=\"application/json\" class=\"sentence\">");
    if (page_sentence_put(out, report, exact, place->page, err))
        return -1;
    stream_text(out, "</script>\n");
    return place->index + 1 == place->count ? put_end(out, live, err) : 0;
}
