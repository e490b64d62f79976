/* live.h: the engine of a live page: an open model that turns each text into the JSON that the page
 * draws (draw/page.h), with exact numbers.
 *
 *     struct live *live = NULL;
 *     struct live_request request = {.text = "Life is short", .size = 13, .show = "weights"};
 *     if (live_open(&live, &folder, err) || live_write(live, &out, &request, err)) ...
 *     live_close(live);
 *
 * `make wasm` compiles it and the modules that it includes for browsers; live_exports.c has the
 * functions that the page calls. */
#pragma once

#include "base/file.h"
#include "base/stream.h"

struct live;

/* Open the model in a folder, on one thread. The folder, whose path is the name of the model, must
 * stay valid. */
int live_open(struct live **live, const struct folder *folder, struct err *err);
void live_close(struct live *live);

/* Change the attention of the requests that follow. `scale`: a value of --scale, such as "none";
 * "": the scale of the model. `without`: a value of --without, such as "mask,positions"; "": the
 * model keeps all its parts. A value that does not fit the model is refused, without a change. */
int live_switch(struct live *live, const char *scale, const char *without, struct err *err);

struct live_request {
    const char *text;
    size_t size;
    const char *added; /* ids of tokens after the text, "5,17"; NULL: no tokens */
    const char *show;  /* a value of --show */
    const char *layer; /* a value of --layer; NULL or "": all layers */
    const char *edits; /* values of --edit, separated by `;`, without files or other texts; NULL:
                        * none */
    float temperature; /* temperature by which scores are divided; 0: scores are not divided */
    size_t next;       /* number of the most likely next tokens to write at each position; 0: no
                        * predictions */
    bool steps;        /* write predictions after every step of the model, not only at the end */
    bool of_token;     /* with `steps`: write predictions only after the token with index `token` */
    size_t token;
};

/* Run the model on the text of a request, and write the JSON that the page draws. */
int live_write(struct live *live, struct stream *out, const struct live_request *request,
               struct err *err);

/* Write the tokens of the text and the added tokens, the most likely next tokens (as many as `next`
 * of the request) and the token that `generate` with these options chooses as its token `index`.
 * The text of an encoder-decoder is the source, and the added tokens are the target. If the text
 * continues the text of the previous call, only its new tokens are run. */
struct sampling;
int live_write_next(struct live *live, struct stream *out, const struct live_request *request,
                    const struct sampling *sampling, size_t index, struct err *err);

/* Write the log-probabilities of the next tokens of live_write_next if the last token cannot attend
 * to token `key` of the text, or of the source if `of_source`. Only the last token runs again. */
int live_write_knockout(struct live *live, struct stream *out, const struct live_request *request,
                        bool of_source, size_t key, struct err *err);

/* Write the findings of the request's text, with its edits and its temperature, as JSON
 * (page_findings_put). `products`: as in struct finding_plan. */
int live_write_findings(struct live *live, struct stream *out, const struct live_request *request,
                        double products, struct err *err);

/* Write where the query and the key of a score come from, for a head and the request's text.
 * `asked` (draw/page.h) has the layer, the head, the query, the key, and less_mean. */
struct page_origin;
int live_write_origin(struct live *live, struct stream *out, const struct live_request *request,
                      const struct page_origin *asked, struct err *err);
