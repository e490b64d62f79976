#include "out/text_tokens.h"

#include <string.h>

#include "out/text_line.h"

/* The widths of the columns of numbers. */
struct widths {
    int index;
    int id;
    int start;
    int end;
};

static int widest(const char *title, size_t number)
{
    int digits = 1;
    int least = (int)strlen(title);
    for (size_t rest = number; rest >= 10; rest /= 10)
        digits++;
    return digits > least ? digits : least;
}

static struct widths find_widths(const struct reading *reading)
{
    struct token most = {0};
    for (size_t i = 0; i < reading->count; i++) {
        const struct token *token = &reading->tokens[i];
        most.id = token->id > most.id ? token->id : most.id;
        most.start = token->start > most.start ? token->start : most.start;
        most.end = token->end > most.end ? token->end : most.end;
    }
    return (struct widths){
        .index = widest("token", reading->count),
        .id = widest("id", most.id),
        .start = widest("start", most.start),
        .end = widest("end", most.end),
    };
}

static void add_header(struct buf *line, const struct reading *reading, const struct widths *widths,
                       const char *name)
{
    buf_format(line, "%*s  %*s", widths->index, "token", widths->id, "id");
    if (reading->text)
        buf_format(line, "  %*s  %*s", widths->start, "start", widths->end, "end");
    buf_format(line, "  %s", name);
}

static void add_token(struct buf *line, const struct reading *reading, const struct widths *widths,
                      size_t index)
{
    const struct token *token = &reading->tokens[index];
    buf_format(line, "%*zu  %*u", widths->index, index, widths->id, token->id);
    if (reading->text) {
        buf_format(line, "  %*zu", widths->start, token->start);
        buf_format(line, "  %*zu", widths->end, token->end);
    }
    buf_format(line, "  %s", reading->labels[index].text);
}

/* The middle of a long text: how many tokens are shown, of how many. */
static void write_note(struct stream *out, const struct text_cut *cut)
{
    if (text_is_cut(cut))
        stream_format(out, "(%zu of %zu tokens shown; --full shows all)\n", cut->front + cut->back,
                      cut->size);
}

int text_tokens_write(struct stream *out, const struct reading *reading, const char *name,
                      const struct place *place, struct err *err)
{
    struct buf line = {0};
    struct widths widths = find_widths(reading);
    struct text_cut cut = text_cut_lines(reading->count, place->lines);
    write_note(out, &cut);
    add_header(&line, reading, &widths, name);
    int failed = text_end(out, &line, err);
    for (size_t slot = 0; slot < text_cut_slots(&cut) && !failed; slot++) {
        if (text_cut_between(&cut, slot))
            text_right(&line, "…", (size_t)widths.index);
        else
            add_token(&line, reading, &widths, text_cut_place(&cut, slot));
        text_shorten(&line, place->columns);
        failed = text_end(out, &line, err);
    }
    buf_release(&line);
    return failed;
}
