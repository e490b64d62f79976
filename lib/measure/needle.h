/* needle.h: a text with something hidden in it, and a question at its end that asks for it: a line
 * of JSON.
 *
 *     {"text": "The code is 7421. The sky is blue.", "needle": "7421", "query": " The code is"}
 *
 *     struct needle needle;
 *     if (needle_read(&needle, line, size, &arena, err)) ...
 *     needle_mark(marked, &needle, &tokenized);
 */
#ifndef ATTN_MEASURE_NEEDLE_H
#define ATTN_MEASURE_NEEDLE_H

#include "lens/tokenized.h"

struct needle {
    const char *text; /* and the query, as it stands, after it; the arena's */
    size_t size;
    size_t first, end; /* bytes of the needle */
};

/* Refused: what is no such object, and a needle that is not in the text exactly once. `query` may
 * be left out. */
int needle_read(struct needle *needle, const char *line, size_t size, struct arena *arena,
                struct err *err);

/* The tokens of the text that share a byte with the needle. */
void needle_mark(bool *marked, const struct needle *needle, const struct tokenized *text);

#endif
