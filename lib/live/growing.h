/* growing.h: a text of a live page that grows by tokens which the page chooses.
 *
 *     struct growing growing = {0};
 *     if (growing_take(&growing, &viewer, &request, err) || growing_read(&growing, err)) ...
 *     ... growing.logits ...
 *     growing_release(&growing);
 *
 * Tokens stay in a cache: after a request with one token more, one token is read. */
#pragma once

#include "lens/continuation.h"
#include "lens/viewer.h"
#include "live/live.h"

struct growing {
    struct continuation text;     /* its viewer is NULL: no text yet */
    struct text_with_source pair; /* before the tokens that were added */
    struct live_request of;       /* of the pair, in `arena` */
    float *logits;                /* [V] after the last token; NULL: not known */
    float *weights[2];  /* [tokens], [tokens of the source] attention weights of the last token,
                        * summed over layers and heads; NULL: no such attention */
    struct arena arena; /* of the pair */
    struct arena read;  /* of the numbers */
};

/* Make the text of a request, with its added tokens, the one that grows. The viewer has the
 * temperature of the request. */
int growing_take(struct growing *growing, struct viewer *viewer, const struct live_request *request,
                 struct err *err);
void growing_release(struct growing *growing);

/* Read a request without its added tokens. Of an encoder-decoder, its text is the source. */
int growing_begin(struct text_with_source *pair, const struct viewer *viewer,
                  const struct live_request *request, struct arena *arena, struct err *err);

/* Find the numbers after the last token, with the viewer's edits. */
int growing_read(struct growing *growing, struct err *err);

/* The logits [V] with edits of the viewer that are of the last token alone, until the next call;
 * NULL with `err`. */
const float *growing_edited(struct growing *growing, struct err *err);
