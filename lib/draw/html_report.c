/* html_report.c: writes reports as one interactive page that needs no network. A page contains
 * styles and controls, then JSON for each text, then the script that draws it; everything but the
 * data is in page/. Every < in the data is escaped, so no token can close an element. A live page
 * also contains the engine and the model's files in base64. Tables with their working are left to
 * working_html.c. */
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "draw/figure.h"
#include "draw/page.h"

/* --- live pages ------------------------------------------------------------------------------- */

enum {
    /* maximum number of bytes of a file in one element: browsers limit the length of a string */
    CHUNK_BYTES = 3 << 24,
    /* maximum total size of the model's files: browsers fail to open larger pages */
    MODEL_BYTES_MAX = 1 << 30,
};

int page_live_check(struct err *err)
{
    return page_module.size
               ? 0
               : err_unsupported(err, "--live: this attn-cli was built without the engine of live "
                                      "pages: 'make wasm' compiles it, with clang, and builds "
                                      "attn-cli with it");
}

/* Sum up the sizes of the model's files, and write the files unless `out` is NULL. Only files that
 * were opened for the model count, since its folder may contain other checkpoints and
 * credentials. */
static int put_files(struct stream *out, const struct folder *folder, size_t *bytes,
                     struct err *err)
{
    const struct listing *list = &folder->opened->list;
    *bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct file file = {0};
        if (folder_open(&file, folder, list->names[i], err))
            return -1;
        for (size_t at = 0; out && at < file.size; at += CHUNK_BYTES) {
            stream_text(out, "<script type=\"text/plain\" class=\"file\" data-name=\"");
            page_put_text(out, list->names[i]);
            stream_text(out, "\">");
            page_put_base64(out, file.bytes + at, num_min(file.size - at, CHUNK_BYTES));
            stream_text(out, "</script>\n");
        }
        *bytes += file.size;
        file_release(&file);
    }
    return 0;
}

int page_live_bytes(size_t *bytes, const struct folder *folder, struct err *err)
{
    if (put_files(NULL, folder, bytes, err))
        return -1;
    if (*bytes > MODEL_BYTES_MAX)
        return err_unsupported(err,
                               "--live: expected a model of at most %d MB, found %zu MB in "
                               "'%s'",
                               MODEL_BYTES_MAX >> 20, *bytes >> 20, folder->path);
    *bytes = (*bytes + page_module.size) / 3 * 4;
    return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* maximum number of numbers that a page stores exactly, in 1.6 MB; if it has more, all numbers have
 * 12 bits */
enum { EXACT_MOST = 300000 };

static void put_look(struct stream *out, const struct style *style)
{
    struct json_writer json = {.stream = out, .in_html = true};
    stream_text(out, "<script type=\"application/json\" id=\"look\">");
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "title", style->title);
    json_put_text(&json, "scale", style_scale_names[style->scale]);
    json_put_text(&json, "range", style_range_names[style->range]);
    if (style->palette) {
        struct ramp ramp;
        ramp_make(&ramp, style->palette);
        json_put_raw(&json, "\n colours", "\"");
        for (size_t level = 1; level < RAMP_LEVELS; level++) {
            struct colour colour = ramp.colours[level];
            stream_format(out, "%02x%02x%02x", colour.red, colour.green, colour.blue);
        }
        stream_char(out, '"');
    }
    json_put_text(&json, "language", style->language ? style->language : "en");
    json_put_bool(&json, "hide_first", style->hide_first);
    if (style_has_bounds(style)) {
        json_put_open(&json, "bounds", '{');
        json_put_float(&json, "low", style->bounds.low);
        json_put_float(&json, "high", style->bounds.high);
        json_put_close(&json, '}');
    }
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
}

static int put_head(struct stream *out, const struct report *report, const struct style *style,
                    const struct folder *live, struct err *err)
{
    struct buf title = {0}, command = {0};
    figure_title(&title, report, style);
    page_add_command(&command, report);
    buf_fail_with(&title, &command);
    if (buf_check(&title, err)) {
        buf_release(&title);
        buf_release(&command);
        return -1;
    }
    stream_format(out, "<!doctype html>\n<html lang=\"%s\">\n<head>\n",
                  style->language ? style->language : "en");
    stream_text(out, "<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'");
    stream_text(out, live ? " 'wasm-unsafe-eval'\">\n<title>" : "\">\n<title>");
    page_put_text(out, title.bytes ? title.bytes : "");
    stream_text(out, "</title>\n");
    stream_bytes(out, command.bytes, command.size);
    buf_release(&title);
    buf_release(&command);
    stream_bytes(out, page_before.bytes, page_before.size);
    put_look(out, style);
    return 0;
}

static int html_report_write(struct stream *out, const struct report *report,
                             const struct layout *layout, struct err *err)
{
    if (report_chapter(report))
        return html_working_write(out, report, layout, err);
    const struct style *style = layout->style ? layout->style : &style_default;
    const struct folder *live = layout->page ? layout->page->live : NULL;
    bool is_lesson = layout->page && layout->page->lesson;
    size_t bytes, pages = is_lesson ? 1 : num_max(report->identity.count, 1);
    bool exact = page_count_numbers(report) <= EXACT_MOST / pages;
    if (report->identity.index == 0 && put_head(out, report, style, live, err))
        return -1;
    stream_text(out, "<script type=\"application/json\" class=\"sentence\">");
    if (page_text_put(out, report, exact, layout->page, err))
        return -1;
    stream_text(out, "</script>\n");
    if (report->identity.index + 1 < report->identity.count)
        return 0;
    if (live) {
        stream_text(out, "<script type=\"text/plain\" id=\"engine\">");
        page_put_base64(out, page_module.bytes, page_module.size);
        stream_text(out, "</script>\n");
        if (put_files(out, live, &bytes, err))
            return -1;
    }
    stream_bytes(out, page_behind.bytes, page_behind.size);
    if (live)
        stream_bytes(out, page_live.bytes, page_live.size);
    stream_bytes(out, page_end.bytes, page_end.size);
    return 0;
}

FORMAT_ROW(html, ".html",
           "interactive page (run, page and generate); static page (explain, attribute, patch)",
           UNIT_TEXT, .for_files = true, .has_origin = true,
           .display = DISPLAY_COLOURS | DISPLAY_TITLE, .can_show_all = true,
           .show = "embedding,weights",
           .show_of_encoder = "embedding,source_embedding,enc.weights,weights,cross_weights",
           .write = html_report_write)
