/* viewer.h: an open model, its tokenizer and machine; runs texts for reports, or for a tap.
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
    char why[TOKENIZER_WHY_BYTES]; /* why its tokenizer is not supported; "": it has none */
    bool reads_any_length;         /* texts longer than the context are run by parts */
    struct machine machine;
    const struct chat *chat;   /* the chat template around each text; NULL: none */
    const struct edits *edits; /* of every later pass, borrowed; NULL: none */
    struct arena scratch;      /* of one pass; its memory serves for the next */
};

/* A text and, for cross-attention, its source. */
struct text_pair {
    struct tokenized sentence;
    struct tokenized source;
    size_t prompt_count; /* of the sentence's tokens, as in batch.h; 0: all */
};

/* The texts of one pass. */
struct text_list {
    const struct text *items; /* [count] */
    size_t count;
    size_t first;                     /* the number of the first one, for messages */
    const struct stream_start *start; /* NULL: passes begin with the embedding */
};

/* A selection of tensors of several pairs, and the reports on them. */
struct look {
    const struct selection *selection;
    const struct text_pair *pairs; /* [count] */
    size_t count;
    size_t first;                     /* the number of the first one, for messages */
    struct report *reports;           /* [count], filled in */
    const struct stream_start *start; /* NULL: passes begin with the embedding */
};

/* Open a model by name or path (NULL: the default), or from a folder, which must outlive the
 * viewer, on `threads` threads (0: one for each processor). */
int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err);
int viewer_open_folder(struct viewer *viewer, const struct folder *folder, size_t threads,
                       struct err *err);
void viewer_release(struct viewer *viewer);

/* A second viewer of the same model for another thread, with the same mechanism and edits; its
 * passes run on one thread. The first one must outlive it; weights that are packed by now are
 * shared. */
int viewer_share(struct viewer *shared, const struct viewer *viewer, struct err *err);
void viewer_release_shared(struct viewer *shared);

/* Set the precision of later products (default: float32); its name for notes: "f32", "bf16 by amx".
 */
void viewer_set_precision(struct viewer *viewer, enum precision precision);

struct precision_words {
    char text[32];
};
struct precision_words viewer_precision(const struct viewer *viewer);

/* Replace the attention mechanism of later passes; all zero: the model's own. A mechanism that does
 * not fit the model is refused as wrong usage. */
int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err);

/* Announce the number of tokens in all, and of passes of one token: it decides whether the weights,
 * and the matrix of the logits, are packed on their first use. Results do not depend on it. */
void viewer_expect(struct viewer *viewer, size_t tokens);
void viewer_expect_steps(struct viewer *viewer, size_t steps);

/* True if so many passes are faster when they find the most likely token without the logits of the
 * others, which takes a copy of the matrix of the logits. */
bool viewer_screens(const struct viewer *viewer, size_t steps);

/* Tokenize an input and, unless NULL, its source. Without an input the sentence is the model's
 * beginning token. */
int viewer_read(const struct viewer *viewer, struct text_pair *pair, const struct input *input,
                const struct input *source, struct arena *arena, struct err *err);

/* Run texts as one ragged batch; the tap gets the tensors of the selection. Memory of the texts may
 * be the viewer's scratch, which is cleared after the pass. */
int viewer_run(struct viewer *viewer, const struct selection *selection,
               const struct text_list *texts, struct tap tap, struct err *err);

/* Run the pairs as one ragged batch, for a tap; or for reports, which live as long as `arena` and
 * the viewer. */
int viewer_watch(struct viewer *viewer, const struct look *look, struct tap tap, struct err *err);
int viewer_look(struct viewer *viewer, const struct look *look, struct arena *arena,
                struct err *err);

/* --- one map after another -----------------------------------------------------------------------
 *
 * All attention maps of a long text do not fit into memory. A pass that begins with the input of a
 * layer and watches some of its heads makes no other maps: each group of heads gets such a pass.
 */

/* True if a look is only at one text's own attention maps, and they are large enough. Edits of a
 * layer's input, which would be applied twice, rule it out. */
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
