/* viewer.h: a model and all it takes to look at it: texts in, reports out.
 *
 *     struct viewer viewer = {0};
 *     if (viewer_open(&viewer, "life", 0, err)) ...
 *     struct text_pair pair = {0};
 *     if (viewer_read(&viewer, &pair, &input, NULL, &arena, err) ||
 *         viewer_look(&viewer, &(struct look){&selection, &pair, 1, 0, &report}, &arena, err))
 * ... viewer_release(&viewer);
 */
#ifndef ATTN_LENS_VIEWER_H
#define ATTN_LENS_VIEWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/capture.h"
#include "lens/tokenized.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "math/machine.h"
#include "math/precision.h"
#include "model/batch.h"
#include "model/model.h"
#include "model/tap.h"
#include "text/tokenizer.h"

struct viewer {
    struct model model;
    struct tokenizer *tokenizer; /* NULL: the model takes ids only */
    struct machine machine;
    struct arena scratch; /* a pass's; its memory serves for the next */
};

/* What is looked at: a sentence, and in cross-attention the text it looks at. */
struct text_pair {
    struct tokenized sentence;
    struct tokenized source;
};

/* What one pass runs. */
struct text_list {
    const struct text *items; /* [count] */
    size_t count;
    size_t first; /* the number of the first one, for messages */
};

/* A look at several pairs, and what it gives. */
struct look {
    const struct selection *selection;
    const struct text_pair *pairs; /* [count] */
    size_t count;
    size_t first;           /* the number of the first one, for messages */
    struct report *reports; /* [count], filled in */
};

/* Open a model by name or path (NULL: the default) on `threads` threads (0: one a processor). */
int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err);
void viewer_release(struct viewer *viewer);

/* Make products of that precision from now on, of float32 unless told. Refused, as not
 * supported, where the processor has no instructions for it. */
int viewer_set_precision(struct viewer *viewer, enum precision precision, struct err *err);

/* Let the model attend in another way from now on; all zero: as it is. Refused as wrong usage: what
 * does not fit it. */
int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err);

/* Say how many tokens will be looked at in all: it decides whether the weights are packed on their
 * first use, which costs what some thousand tokens gain. The results are the same either way. */
void viewer_expect(struct viewer *viewer, size_t tokens);

/* Say how many passes of one token there will be: whether the matrix of the logits is packed. */
void viewer_expect_steps(struct viewer *viewer, size_t steps);

/* Does it pay to look for the likeliest token of so many passes without the logits of the others?
 * That takes a copy of the matrix of the logits, which costs what some passes gain. */
bool viewer_screens(const struct viewer *viewer, size_t steps);

/* Tokenize an input and, unless NULL, its source. Without an input the sentence is the token that
 * sentences of the model begin with. */
int viewer_read(const struct viewer *viewer, struct text_pair *pair, const struct input *input,
                const struct input *source, struct arena *arena, struct err *err);

/* The one way to run a pass: the texts as one ragged batch, in which a sink sees what the
 * selection watches. What they are made of may be in the viewer's scratch: it is cleared when the
 * pass is over. */
int viewer_run(struct viewer *viewer, const struct selection *selection,
               const struct text_list *texts, struct tap tap, struct err *err);

/* Run the pairs as one ragged batch. The reports live as long as `arena` and the viewer. */
int viewer_look(struct viewer *viewer, const struct look *look, struct arena *arena,
                struct err *err);

/* Run them, too, but for a sink: no reports are made. */
int viewer_watch(struct viewer *viewer, const struct look *look, struct tap tap, struct err *err);

#endif
