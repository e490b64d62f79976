/* text_page.c: what people look at first: the sentence, its tokens, and every tensor as tables.
 *
 *     life · Life is short
 *
 *     token  id  start  end  text
 *         0   0      0    4  Life
 *     ...
 *
 *     weights · layer 0 · rows: query, columns: key
 *     ...
 */
#include "write/format.h"
#include "write/text_matrix.h"
#include "write/text_titles.h"
#include "write/text_tokens.h"

enum { RULE_WIDTH = 80 }; /* where the page has no width of its own */

/* Between two sentences. */
static void write_rule(struct stream *out, size_t width)
{
    stream_char(out, '\n');
    for (size_t i = 0; i < (width ? width : RULE_WIDTH); i++)
        stream_char(out, '-');
    stream_text(out, "\n\n");
}

static int write_tokens(struct stream *out, const struct report *report, const struct place *place,
                        struct err *err)
{
    stream_char(out, '\n');
    if (report->source.count == 0)
        return text_tokens_write(out, &report->sentence, "text", place, err);
    if (text_tokens_write(out, &report->sentence, "sentence", place, err))
        return -1;
    stream_char(out, '\n');
    return text_tokens_write(out, &report->source, "source", place, err);
}

int text_page_write(struct stream *out, const struct report *report, const struct place *place,
                    struct err *err)
{
    if (place->index > 0)
        write_rule(out, place->columns);
    if (text_titles_write(out, report, place, err))
        return -1;
    if (place->show_tokens && write_tokens(out, report, place, err))
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        stream_char(out, '\n');
        if (text_matrix_write(out, report, &report->tensors[i], place, err))
            return -1;
    }
    return 0;
}
