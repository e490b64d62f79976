/* text_tokens.h: the table of a text's tokens.
 *
 *     token  id  start  end  text
 *         0   0      0    4  Life
 *         1   1      5    7  is
 *
 * Where ids were given in place of a text there is no start and no end.
 */
#ifndef ATTN_OUT_TEXT_TOKENS_H
#define ATTN_OUT_TEXT_TOKENS_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/report.h"
#include "out/format.h"

/* `name` stands above the column of texts. */
int text_tokens_write(struct stream *out, const struct reading *reading, const char *name,
                      const struct place *place, struct err *err);

#endif
