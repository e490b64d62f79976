/* text_tokens.h: the table of a text's tokens.
 *
 *     token  id  start  end  text
 *         0   0      0    4  Life
 *         1   1      5    7  is
 *
 * Where ids were given in place of a text there is no start and no end.
 */
#ifndef ATTN_WRITE_TEXT_TOKENS_H
#define ATTN_WRITE_TEXT_TOKENS_H

#include "base/buf.h"
#include "write/format.h"

/* `name` stands above the column of texts. */
int text_tokens_write(struct stream *out, const struct tokenized *tokenized, const char *name,
                      const struct place *place, struct err *err);

/* The columns before the texts, for who writes row by row: how wide they are. */
struct token_columns {
    bool has_places;
    int index, id, start, end;
};

/* Columns for so many tokens, none of them with larger numbers than `most`. */
struct token_columns token_columns_fit(size_t count, const struct token *most, bool has_places);

/* Append the line of titles, or that of a token up to where its text comes. */
void token_columns_head(struct buf *line, const struct token_columns *columns, const char *name);
void token_columns_row(struct buf *line, const struct token_columns *columns, size_t index,
                       const struct token *token);

#endif
