#include "write/text_tokens.h"

#include "base/num.h"
#include "write/text_line.h"

size_t token_columns(struct table_column columns[TOKEN_COLUMNS], const char *name, size_t count,
                     const struct token *most, bool has_places)
{
    size_t end = 0;
    columns[end++] = (struct table_column){"token", .width = 5};
    columns[end++] = (struct table_column){"id", .gap = 2, .width = 2};
    table_fit_number(&columns[0], count);
    table_fit_number(&columns[1], most->id);
    if (has_places) {
        columns[end++] = (struct table_column){"start", .gap = 2, .width = 5};
        columns[end++] = (struct table_column){"end", .gap = 2, .width = 3};
        table_fit_number(&columns[2], most->start);
        table_fit_number(&columns[3], most->end);
    }
    columns[end++] = (struct table_column){name, .gap = 2};
    return end;
}

void token_cells(struct table *table, size_t index, const struct token *token)
{
    table_number(table, index);
    table_number(table, token->id);
    if (table->count == TOKEN_COLUMNS) {
        table_number(table, token->start);
        table_number(table, token->end);
    }
}

static struct token most_of(const struct tokenized *tokenized)
{
    struct token most = {0};
    for (size_t i = 0; i < tokenized->count; i++) {
        const struct token *token = &tokenized->tokens[i];
        most.id = token->id > most.id ? token->id : most.id;
        most.start = num_max(most.start, token->start);
        most.end = num_max(most.end, token->end);
    }
    return most;
}

int text_tokens_write(struct stream *out, const struct tokenized *tokenized, const char *name,
                      const struct place *place, struct err *err)
{
    struct table_column columns[TOKEN_COLUMNS];
    struct table table = {.out = out, .columns = columns};
    struct token most = most_of(tokenized);
    struct text_cut cut = text_cut_lines(tokenized->count, place->lines);
    table.count = token_columns(columns, name, tokenized->count, &most, tokenized->text != NULL);
    if (text_is_cut(&cut)) /* the middle of a long text is left out */
        stream_format(out, "(%zu of %zu tokens shown; --full shows all)\n", cut.front + cut.back,
                      cut.size);
    table_titles(&table);
    table.page = place->columns;
    for (size_t slot = 0; slot < text_cut_slots(&cut); slot++) {
        size_t index = text_cut_place(&cut, slot);
        if (text_cut_between(&cut, slot)) {
            table_text(&table, "…");
        } else {
            token_cells(&table, index, &tokenized->tokens[index]);
            table_text(&table, tokenized->labels[index].text);
        }
        table_end(&table);
    }
    return table_close(&table, err);
}
