#include "write/text_titles.h"

#include <string.h>

#include "write/text_line.h"

/* life · attention window:4 · sentence 1 · Life is short */
static void add_title(struct buf *line, const struct report *report, const struct place *place)
{
    struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    tokenized_visible(line, &model);
    if (report->mechanism)
        buf_format(line, " · %s", report->mechanism);
    if (place_sentences(place) > 1)
        buf_format(line, " · sentence %zu", place_sentence(place));
    if (!report->sentence.count && !report->sentence.size) /* it is about the model alone */
        return;
    buf_text(line, " · ");
    tokenized_visible(line, &report->sentence);
}

static int end_title(struct stream *out, struct buf *line, const struct place *place,
                     struct err *err)
{
    text_shorten(line, place->columns);
    return text_end(out, line, err);
}

int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    struct buf line = {0};
    add_title(&line, report, place);
    int failed = end_title(out, &line, place, err);
    const struct tokenized *other = report->corrupt ? report->corrupt : &report->source;
    if (other->count && !failed) {
        buf_text(&line, report->corrupt ? "corrupt · " : "source · ");
        tokenized_visible(&line, other);
        failed = end_title(out, &line, place, err);
    }
    bool has_text = report->sentence.count || report->sentence.size;
    if (report->about && !failed && has_text) {
        buf_text(&line, report->about);
        failed = end_title(out, &line, place, err);
    } else if (report->about && !failed) { /* nothing else says it */
        text_wrap(out, report->about, 0, 0, place->columns);
    }
    buf_release(&line);
    return failed;
}
