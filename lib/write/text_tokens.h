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

#include "write/table.h"

/* `name` stands above the column of texts. */
int text_tokens_write(struct stream *out, const struct tokenized *tokenized, const char *name,
                      const struct place *place, struct err *err);

/* For who writes row by row: the columns of so many tokens, none of them with larger numbers than
 * `most`; returns how many there are. And a row's cells before its text. */
enum { TOKEN_COLUMNS = 5 };
size_t token_columns(struct table_column columns[TOKEN_COLUMNS], const char *name, size_t count,
                     const struct token *most, bool has_places);
void token_cells(struct table *table, size_t index, const struct token *token);

#endif
