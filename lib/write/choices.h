/* choices.h: the choices of a text that went on, for people and for programs.
 *
 *     place  id  token  logprob  most likely
 *         2  17  short  -1.2346  long -0.98  short -1.23  …
 */
#ifndef ATTN_WRITE_CHOICES_H
#define ATTN_WRITE_CHOICES_H

#include "base/stream.h"
#include "format/json_writer.h"
#include "lens/continuation.h"
#include "lens/viewer.h"
#include "text/tokenizer.h"

struct choices {
    const struct choice *items; /* [count] */
    size_t count;
    size_t first;                      /* the place of the first one in the text */
    const struct tokenizer *tokenizer; /* NULL: ids have no other names */
};

/* A table, its lines shortened to `columns`; 0: endless. */
int choices_write_table(struct stream *out, const struct choices *choices, size_t columns,
                        struct err *err);

/* A member that is an array with an object for every choice, each on a line of its own: {"id": 17,
 * "text": "short", "logprob": -1.23, "best": [{"id": …, "text": …, "logprob": …}, …]}. */
void choices_write_json(struct json_writer *json, const char *name, const struct choices *choices);

#endif
