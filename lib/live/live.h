/* live.h: a model that somebody types at: every text gives the piece of JSON that a page draws
 * (draw/page.h), with exact numbers.
 *
 *     struct live *live = NULL;
 *     struct live_request request = {.text = "Life is short", .size = 13, .show = "weights"};
 *     if (live_open(&live, &folder, err) || live_write(live, &out, &request, err)) ...
 *     live_close(live);
 *
 * `make wasm` compiles it, and what it stands on, for browsers, where live_exports.c is its door.
 */
#ifndef ATTN_LIVE_LIVE_H
#define ATTN_LIVE_LIVE_H

#include "base/folder.h"
#include "base/stream.h"

struct live;

/* Open the model whose files a folder holds, which must outlive it, on one thread; its name is the
 * folder's path. */
int live_open(struct live **live, const struct folder *folder, struct err *err);
void live_close(struct live *live);

struct live_request {
    const char *text;
    size_t size;
    const char *show;  /* as --show has it */
    const char *edits; /* as --edit has them, with ; between them; numbers alone; NULL: none */
    float temperature; /* scores are divided by it; 0: they are not */
    size_t next;       /* most likely next tokens at each position; 0: no predictions */
    bool steps;        /* predictions after every step, not only at the end */
};

/* Run the model on a text, and write what was asked for. */
int live_write(struct live *live, struct stream *out, const struct live_request *request,
               struct err *err);

#endif
