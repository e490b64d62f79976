/* viewer.h: a model and all it takes to look at it: texts in, reports out, or what is seen to a
 * sink.
 *
 *     struct viewer viewer = {0};
 *     struct text_pair pair = {0};
 *     struct look look = {&selection, &pair, 1, 0, &report};
 *     if (viewer_open(&viewer, "life", 0, err) ||
 *         viewer_read(&viewer, &pair, &input, NULL, &arena, err) ||
 *         viewer_look(&viewer, &look, &arena, err)) ...
 *     viewer_release(&viewer);
 */
#ifndef ATTN_LENS_VIEWER_H
#define ATTN_LENS_VIEWER_H

#include "lens/report.h"
#include "math/machine.h"
#include "model/forward.h"
#include "model/model.h"
#include "text/tokenizer.h"

struct viewer {
    struct model model;
    struct tokenizer *tokenizer;   /* NULL: the model takes ids only */
    char why[TOKENIZER_WHY_BYTES]; /* … because its tokenizer is not supported; "": it has none */
    bool reads_any_length;         /* texts longer than the context are run by parts */
    struct machine machine;
    const struct chat *chat;   /* what texts were wrapped in (text/chat.h); NULL: nothing */
    const struct edits *edits; /* of every pass from now on, borrowed; NULL: none */
    struct arena scratch;      /* a pass's; its memory serves for the next */
};

/* What is looked at: a sentence, and in cross-attention the text it looks at. */
struct text_pair {
    struct tokenized sentence;
    struct tokenized source;
    size_t prompt_count; /* of the sentence's tokens, as in batch.h; 0: all */
};

/* What one pass runs. */
struct text_list {
    const struct text *items; /* [count] */
    size_t count;
    size_t first;                     /* the number of the first one, for messages */
    const struct stream_start *start; /* NULL: passes begin with the embedding */
};

/* A look at several pairs, and what it gives. */
struct look {
    const struct selection *selection;
    const struct text_pair *pairs; /* [count] */
    size_t count;
    size_t first;                     /* the number of the first one, for messages */
    struct report *reports;           /* [count], filled in */
    const struct stream_start *start; /* NULL: passes begin with the embedding */
};

/* Open a model by name or path (NULL: the default) on `threads` threads (0: one a processor). */
int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err);

/* The model whose files a folder holds, which must outlive the viewer. */
int viewer_open_folder(struct viewer *viewer, const struct folder *folder, size_t threads,
                       struct err *err);
void viewer_release(struct viewer *viewer);

/* A second viewer of the same model for another thread: it attends and edits in the same way, and
 * its passes run on one thread. The first one must outlive it; weights that it has packed by now
 * are shared. */
int viewer_share(struct viewer *shared, const struct viewer *viewer, struct err *err);
void viewer_release_shared(struct viewer *shared);

/* Make products of that precision from now on, of float32 unless told. */
void viewer_set_precision(struct viewer *viewer, enum precision precision);

/* What a note says of it: "f32", "bf16 by amx". */
struct precision_words {
    char text[32];
};
struct precision_words viewer_precision(const struct viewer *viewer);

/* Let the model attend in another way from now on; all zero: as it is. Refused as wrong usage: what
 * does not fit it. */
int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err);

/* Say how many tokens will be looked at in all, and how many passes of one token there will be: it
 * decides whether the weights, and the matrix of the logits, are packed on their first use. The
 * results are the same either way. */
void viewer_expect(struct viewer *viewer, size_t tokens);
void viewer_expect_steps(struct viewer *viewer, size_t steps);

/* Does it pay to look for the likeliest token of so many passes without the logits of the others?
 * That takes a copy of the matrix of the logits. */
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

/* Run the pairs as one ragged batch, for a sink; or for reports, which live as long as `arena` and
 * the viewer. */
int viewer_watch(struct viewer *viewer, const struct look *look, struct tap tap, struct err *err);
int viewer_look(struct viewer *viewer, const struct look *look, struct arena *arena,
                struct err *err);

/* --- one map after another -----------------------------------------------------------------------
 *
 * All attention maps of a long text do not fit into memory. A pass that begins with the input of a
 * layer and watches some of its heads makes no other maps: so each gets a pass through its layer,
 * and is handed over and forgotten.
 */

/* Whether a look is at one text's own attention maps alone, and at so many that it is worth it.
 * Edits of a layer's input, which would be applied twice, rule it out. */
bool viewer_goes_by_map(const struct viewer *viewer, const struct look *look);

/* Called with the report of the look, whose tensors have no values, and a report of the next heads
 * of the next tensor. Memory of `arena` lasts until it returns. */
typedef int look_taker(void *context, const struct report *whole, struct report *part,
                       struct arena *arena, struct err *err);

/* Look by maps; `look->reports` has one report, which is filled in without values. */
int viewer_look_by_map(struct viewer *viewer, const struct look *look, look_taker *take,
                       void *context, struct arena *arena, struct err *err);

/* --- sinks --------------------------------------------------------------------------------------
 *
 * A capture keeps what it receives, dense, only the selected heads and queries. Attention maps are
 * written where they are kept, all else is copied.
 *
 *     struct capture capture;
 *     struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
 *     if (capture_init(&capture, &selection, config, text_count, &arena, err) ||
 *         viewer_run(&viewer, &selection, &texts, tap, err)) ...
 *     capture.lists[text].items[i] ...
 */

/* The tensors of one text, in the order of the pass. */
struct kept_list {
    struct kept *items;
    size_t count;
    const size_t *queries; /* [query_count] the selected ones; NULL: all, or not yet known */
    size_t query_count;
    size_t *rows; /* [queries of the text] the row of each in maps, or ATTENTION_NO_ROW */
};

struct capture_heads {
    const size_t *items;
    size_t count;
};

struct capture {
    const struct selection *selection;
    struct kept_list *lists;                 /* [text] */
    size_t room;                             /* items of each list */
    struct capture_heads queries, keys, all; /* of query heads: the selected ones, their key/value
                                                heads, and all */
    struct arena *arena;
};

/* Memory for everything the selection can announce; all of it, now and later, is the arena's. */
int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err);

/* A tap_sink and its tap_lender; `context` is the capture. */
int capture_sink(void *context, const struct announcement *seen, struct err *err);
int capture_lend(void *context, struct attention_map_room *room, struct err *err);

/* The time that passes take from keys and values to contexts: the attention of all layers. Only
 * STOPWATCH_SITES may be watched: a map costs more than it measures. */
#define STOPWATCH_SITES (site_bit(SITE_V) | site_bit(SITE_CONTEXT))

struct stopwatch {
    double begun; /* 0: it is stopped */
    double seconds;
};

struct tap stopwatch_tap(struct stopwatch *stopwatch);

/* --- effective attention (effective.c) ----------------------------------------------------------
 *
 * Made of what a pass announces and announced after it, to the same sink, as values of the pass
 * are.
 *
 *     value_weighted   a |v|                    [H, T, S]
 *     norm_weighted    |a v W_O|                [H, T, S]  Kobayashi et al., 2020
 *     value_zeroing    1 - cos(x, x without v)  [T, T]     Mohebbi et al., 2023; rows sum to 1
 *     rollout          Π (mean a + 1) / 2       [T, T]     Abnar and Zuidema, 2020; rows sum to 1
 *
 * x is what leaves the layer. A causal model's matrices are triangles, and so are their products.
 * Without a residual stream rollout goes through the mean weights alone.
 *
 * If the selection has any, watch the sites that they are made of, too, and let `tap` make them and
 * pass on what was selected, in memory of the arena. */
int effective_begin(const struct selection *selection, const struct run *run, struct watch *watch,
                    struct tap *tap, struct arena *arena, struct err *err);

#endif
