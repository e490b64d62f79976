#include "write/text_tokens.h"

#include <string.h>

#include "write/text_line.h"

static int widest(const char *title, size_t number)
{
    int digits = 1;
    int least = (int)strlen(title);
    for (size_t rest = number; rest >= 10; rest /= 10)
        digits++;
    return digits > least ? digits : least;
}

struct token_columns token_columns_fit(size_t count, const struct token *most, bool has_places)
{
    return (struct token_columns){
        .has_places = has_places,
        .index = widest("token", count),
        .id = widest("id", most->id),
        .start = widest("start", most->start),
        .end = widest("end", most->end),
    };
}

static struct token_columns columns_of(const struct tokenized *tokenized)
{
    struct token most = {0};
    for (size_t i = 0; i < tokenized->count; i++) {
        const struct token *token = &tokenized->tokens[i];
        most.id = token->id > most.id ? token->id : most.id;
        most.start = token->start > most.start ? token->start : most.start;
        most.end = token->end > most.end ? token->end : most.end;
    }
    return token_columns_fit(tokenized->count, &most, tokenized->text != NULL);
}

void token_columns_head(struct buf *line, const struct token_columns *columns, const char *name)
{
    buf_format(line, "%*s  %*s", columns->index, "token", columns->id, "id");
    if (columns->has_places)
        buf_format(line, "  %*s  %*s", columns->start, "start", columns->end, "end");
    buf_format(line, "  %s", name);
}

void token_columns_row(struct buf *line, const struct token_columns *columns, size_t index,
                       const struct token *token)
{
    buf_format(line, "%*zu  %*u", columns->index, index, columns->id, token->id);
    if (columns->has_places) {
        buf_format(line, "  %*zu", columns->start, token->start);
        buf_format(line, "  %*zu", columns->end, token->end);
    }
    buf_text(line, "  ");
}

int text_tokens_write(struct stream *out, const struct tokenized *tokenized, const char *name,
                      const struct place *place, struct err *err)
{
    struct buf line = {0};
    struct token_columns columns = columns_of(tokenized);
    struct text_cut cut = text_cut_lines(tokenized->count, place->lines);
    if (text_is_cut(&cut)) /* the middle of a long text */
        stream_format(out, "(%zu of %zu tokens shown; --full shows all)\n", cut.front + cut.back,
                      cut.size);
    token_columns_head(&line, &columns, name);
    int failed = text_end(out, &line, err);
    for (size_t slot = 0; slot < text_cut_slots(&cut) && !failed; slot++) {
        size_t index = text_cut_place(&cut, slot);
        if (text_cut_between(&cut, slot)) {
            text_right(&line, "…", (size_t)columns.index);
        } else {
            token_columns_row(&line, &columns, index, &tokenized->tokens[index]);
            buf_text(&line, tokenized->labels[index].text);
        }
        text_shorten(&line, place->columns);
        failed = text_end(out, &line, err);
    }
    buf_release(&line);
    return failed;
}
