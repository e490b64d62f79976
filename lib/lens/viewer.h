/* viewer.h: a viewer is an open model with its tokenizer and its machine. It runs texts, and makes
 * reports or passes the tensors to a tap.
 *
 *     struct viewer viewer;
 *     struct text_with_source pair;
 *     struct capture_request asked = {&selection, &pair, 1, 0, &report};
 *     if (viewer_open(&viewer, "life", 0, err) ||
 *         viewer_read(&viewer, &pair, &input, NULL, &arena, err) ||
 *         viewer_capture(&viewer, &asked, &arena, err)) ...
 *     viewer_release(&viewer);
 */
#pragma once

#include "lens/report.h"
#include "math/machine.h"
#include "pass/forward.h"
#include "model/model.h"
#include "pass/tap.h"
#include "text/tokenizer.h"

struct viewer {
    struct model model;
    struct tokenizer *tokenizer;   /* the model's tokenizer; NULL: only ids are accepted */
    char why[TOKENIZER_WHY_BYTES]; /* why the tokenizer is not supported; "": it is supported, or
                                    * there is none */
    struct tokenizer *words;       /* names of logits: `tokenizer` itself or, for a classifier, a
                                    * tokenizer whose words are the names of its classes */
    long long mask;                /* id of the mask token; -1: there is none, or the model is
                                    * causal or a classifier */
    bool logistic;                 /* classifier: each class has a sigmoid probability, independent
                                    * of the others, in place of a softmax share */
    bool regresses;                /* classifier: the logit itself is the answer, and no probability
                                    * is computed */
    bool spans;                    /* classifier: the two classes are the first and the last token
                                    * of an answer in the text */
    bool starts;                   /* texts begin with the config's bos_id; set by the caller */
    bool start_is_unnumbered;      /* token 0 is the first one after the beginning token, which has
                                    * no number */
    bool reads_any_length;         /* viewer_tokenize accepts texts longer than the context */
    struct machine machine;
    const struct chat *chat;   /* template that callers put around texts; NULL: none */
    const struct edits *edits; /* applied in later passes; borrowed; NULL: none */
    struct arena scratch;      /* memory of one pass, reused by the next pass */
};

/* A text and, for cross-attention, its source. */
struct text_with_source {
    struct tokenized text;
    struct tokenized source;
    size_t prompt_count;       /* number of prompt tokens, as in forward.h; 0: all tokens */
    bool grows;                /* an edit of token -1 changes the last token of the prompt, and then
                                * each new token */
    struct word_span scored;   /* tokens that a masked model scores; count 0: all but the prompt */
    const struct edits *edits; /* edits of this text: the caller sets viewer.edits to them */
};

/* The texts of one pass. */
struct text_list {
    const struct text *items; /* [count] the texts */
    size_t count;
    size_t first;                     /* index of the first text among all texts, used in messages
                                       * and by `= resample` */
    const struct stream_start *start; /* the layer at which the pass starts, and its inputs; NULL:
                                       * the pass starts with the embedding */
};

/* A request to capture the selected tensors of several texts; each text gets a report. */
struct capture_request {
    const struct selection *selection;
    const struct text_with_source *pairs; /* [count] texts with their sources */
    size_t count;
    size_t first;                     /* index of the first text among all texts, used in messages
                                       * and by `= resample` */
    struct report *reports;           /* [count] output: a report for each text */
    const struct stream_start *start; /* the layer at which the pass starts, and its inputs; NULL:
                                       * the pass starts with the embedding */
};

/* viewer_open opens a model by its name or path (NULL: the default model), viewer_open_folder the
 * model in a folder. The name or folder must outlive the viewer. `threads` 0: one thread per
 * processor. */
int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err);
int viewer_open_folder(struct viewer *viewer, const struct folder *folder, size_t threads,
                       struct err *err);
void viewer_release(struct viewer *viewer);

/* Set `shared` to a viewer of the same model for another thread. The new viewer has the attention
 * mechanism and the edits of `viewer`, shares its packed weights, and runs on one thread. `viewer`
 * must outlive it. */
int viewer_share(struct viewer *shared, const struct viewer *viewer, struct err *err);
void viewer_release_shared(struct viewer *shared);

/* The name of model.weights.precision, such as "f32" or "bf16 by amx". */
struct precision_words {
    char text[32];
};
struct precision_words viewer_precision(const struct viewer *viewer);

/* Replace the attention mechanism of later passes; all zeros: the model's own. It is an error if
 * mechanism_check refuses the mechanism. */
int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err);

/* Tell the viewer how many tokens will follow (EXPECT_TOKENS), how many passes of one token
 * (EXPECT_STEPS), or how many passes of one token of a single text (EXPECT_DECODING). If packing
 * pays off for this number, and fits into half of the free memory, later passes pack the matrices
 * of layers (EXPECT_TOKENS), the unembedding (EXPECT_STEPS) or quantised matrices
 * (EXPECT_DECODING). Packing does not change results. */
enum expected { EXPECT_TOKENS, EXPECT_STEPS, EXPECT_DECODING };
void viewer_expect(struct viewer *viewer, enum expected what, size_t count);

/* Make later passes pack every matrix that they use, of any data type, as long as the packed
 * matrices fit into `most_bytes` and into half of the memory that is free now. */
void viewer_pack(struct viewer *viewer, size_t most_bytes);

/* Tokenize an input (NULL: only the beginning token) as a text or, for BRANCH_SOURCE, as a
 * source. */
int viewer_tokenize(const struct viewer *viewer, struct tokenized *text, enum site_branch branch,
                    const struct input *input, struct arena *arena, struct err *err);

/* Tokenize an input (NULL: the model's beginning token) and a source (NULL: none). If a classifier
 * with an encoder gets only one of them, this is the source, and the decoder's text is made from
 * it. */
int viewer_read(const struct viewer *viewer, struct text_with_source *pair,
                const struct input *input, const struct input *source, struct arena *arena,
                struct err *err);

/* Return a pair as a text of a pass, which borrows the arrays of the pair. */
struct text viewer_text(const struct text_with_source *pair);

/* Run texts as one ragged batch; the tap receives the selected tensors. The texts may be in the
 * viewer's scratch memory, which is cleared after the pass. */
int viewer_run(struct viewer *viewer, const struct selection *selection,
               const struct text_list *texts, struct tap tap, struct err *err);

/* Set the fields of a report that describe the viewer: the model, its precision, its attention
 * options and edits. The caller adds texts and tensors. */
int viewer_report(struct report *report, const struct viewer *viewer, struct arena *arena,
                  struct err *err);

/* Run the pairs of a request as one ragged batch, and fill in its reports. The reports are in
 * `arena`, and borrow from the viewer, the pairs and the selection. */
int viewer_capture(struct viewer *viewer, const struct capture_request *asked, struct arena *arena,
                   struct err *err);

/* Fill in the reports of a request from `lists`, the captured tensors of each text (capture.h). */
struct array_list;
int viewer_reports(const struct viewer *viewer, const struct capture_request *asked,
                   const struct array_list *lists, struct arena *arena, struct err *err);

/* --- one map after another -----------------------------------------------------------------------
 *
 * The attention maps of a long text may not fit into memory together. Each group of heads gets a
 * pass of its own, which stores no other maps. If the model allows it (config_starts_anywhere), the
 * pass begins with the input of its layer. */

/* The first and the last site of the pass's attention maps; sites between them are also maps. */
#define FIRST_MAP SITE_SCORES
#define LAST_MAP SITE_WEIGHTS

/* True for a capture of nothing but large attention maps of one text without a source. The model
 * must have a residual stream, and no edit of resid_pre in a selected layer, which would apply
 * twice. */
bool viewer_goes_by_map(const struct viewer *viewer, const struct capture_request *asked);

/* Callback for the next maps of a capture. `whole`: the report of the request, whose tensors have
 * no values; `part`: a report with the values of some heads of one tensor, which `arena` owns until
 * the callback returns. */
typedef int maps_taker(void *context, const struct report *whole, struct report *part,
                       struct arena *arena, struct err *err);

/* Compute the maps of a request for which viewer_goes_by_map is true, and pass them to `take` group
 * by group. Fills in the one report of `asked`, without values. */
int viewer_capture_by_map(struct viewer *viewer, const struct capture_request *asked,
                          maps_taker *take, void *context, struct arena *arena, struct err *err);

/* Return how many maps of visible keys a tensor needs: `heads` if they differ by head, otherwise 1.
 * Return 0 for mixers and for sites that are not masked, if the causal mask or the captured scores
 * already tell which keys are visible, or if an edit may have given hidden keys a value. */
size_t viewer_visible_maps(const struct viewer *viewer, enum site site, size_t layer, size_t heads);

/* --- memory --------------------------------------------------------------------------------------
 *
 * Bytes that passes need, counted before they run, as doubles, which do not overflow. The functions
 * below do not count weights: see weights_bytes. */
struct memory {
    double held;   /* bytes needed until the result is written, such as captured tensors */
    double during; /* bytes needed during a pass; later passes reuse them */
};

/* Add to `memory` the bytes that one text needs: in a pass that only hands the selected tensors to
 * a tap (CAPTURE_NOTHING; CAPTURE_ROWS: attention maps row by row), in viewer_capture (CAPTURE_ALL)
 * or in viewer_capture_by_map (CAPTURE_MAPS). If `selection->layers.items` is NULL, the selected
 * layers are the first `count` ones. */
enum capture_way { CAPTURE_NOTHING, CAPTURE_ROWS, CAPTURE_ALL, CAPTURE_MAPS };

void viewer_add_memory(struct memory *memory, const struct viewer *viewer,
                       const struct selection *selection, const struct text_with_source *pair,
                       enum capture_way way);

enum {
    FLOATS_AT_ONCE = 1 << 24
}; /* maximum number of floats in the maps that one pass captures,
                                    * unless a single map is larger */

double viewer_captured_bytes(const struct viewer *viewer, const struct selection *selection,
                             const struct text_with_source *pair);

/* --- effective attention (effective.c) -----------------------------------------------------------
 *
 *     value_weighted   |a| |v|                  [H, T, S]
 *     norm_weighted    |a v W_O|                [H, T, S]  Kobayashi et al., 2020
 *     value_zeroing    1 - cos(x, x without v)  [T, T]     Mohebbi et al., 2023; rows sum to 1 or 0
 *     rollout          Π (mean a + I) / 2       [T, T]     Abnar and Zuidema, 2020
 *     entropy          -Σ a ln a                [H, T]     without the sink
 *     entropy_share    entropy / ln (visible)   [H, T]     NaN: one visible key
 *
 * a: attention weights, v: values, x: the layer's output, I: identity. Without a residual stream,
 * rollout is the product of the mean weights alone. If the selection has effective sites,
 * effective_begin watches the sites that they are computed from, and replaces `*tap` by a tap that
 * passes all selected sites on to the old one. */
int effective_begin(const struct selection *selection, const struct run *run, struct watch *watch,
                    struct tap *tap, struct arena *arena, struct err *err);

/* Set block.data[key] to 1 for each key that a query sees. `block.data` [columns] is the query's
 * row, all 0 before; the other fields of `block` describe its row of masked scores. `memory`
 * has room for 2 · columns numbers. */
void visible_row(struct edit_block block, const struct score_rule *rule, const struct edits *edits,
                 uint32_t *memory);

/* Return the bytes that effective sites need in addition to the pass with its attention weights. */
double effective_bytes(const struct selection *selection, const struct config *config,
                       size_t tokens);
