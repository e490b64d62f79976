#include "write/text_titles.h"

#include <string.h>

#include "write/text_line.h"

/* life · attention window:4 · sentence 1 · Life is short */
static void add_title(struct buf *line, const struct report *report, const struct place *place)
{
    struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    tokenized_visible(line, &model);
    buf_text(line, " · ");
    if (report->mechanism)
        buf_format(line, "%s · ", report->mechanism);
    if (place->count > 1)
        buf_format(line, "sentence %zu · ", place->index);
    tokenized_visible(line, &report->sentence);
}

/* source · what is looked at, where that is not the sentence itself */
static void add_source(struct buf *line, const struct report *report)
{
    buf_text(line, "source · ");
    tokenized_visible(line, &report->source);
}

int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    struct buf line = {0};
    add_title(&line, report, place);
    text_shorten(&line, place->columns);
    int failed = text_end(out, &line, err);
    if (report->source.count && !failed) {
        add_source(&line, report);
        text_shorten(&line, place->columns);
        failed = text_end(out, &line, err);
    }
    if (report->about && !failed) {
        buf_text(&line, report->about);
        text_shorten(&line, place->columns);
        failed = text_end(out, &line, err);
    }
    buf_release(&line);
    return failed;
}
