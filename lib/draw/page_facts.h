/* page_facts.h: what the page of html_report.c tells of a text besides its tensors. It is found by
 * others (cmd/page.c) and only written here: NULL and 0 are what was not asked for.
 *
 *     struct page_facts facts = {.config = &model.config, .explained = &report};
 *     struct place place = {.page = &facts, .count = 1};
 *     html_report_write(&stream, &report, &place, err);
 */
#ifndef ATTN_DRAW_PAGE_FACTS_H
#define ATTN_DRAW_PAGE_FACTS_H

#include "base/folder.h"
#include "format/json_writer.h"
#include "lens/continuation.h"
#include "lens/report.h"
#include "model/config.h"

/* The point of the residual stream that a prediction is read from. */
enum page_step { STEP_EMBEDDING, STEP_ATTENTION, STEP_MLP, STEP_LAYER, PAGE_STEPS };

/* The prediction after each token, read from the residual stream after a step (logit lens). */
struct page_next_layer {
    enum page_step step;
    size_t layer, best_count;
    const struct likely *best; /* [tokens, best_count] the likeliest first */
    const float *came;         /* [tokens] of the token that came; NaN after the last */
};

struct page_next {
    const struct page_next_layer *layers; /* [layer_count] the last is the model's own prediction */
    size_t layer_count, token_count, vocabulary;
    const uint32_t *named; /* [name_count] ids in the layers, and their names */
    const struct label *names;
    size_t name_count;
};

/* Head scores by name; values as text, "": nothing was counted. */
struct page_head {
    size_t layer, head;
    const char **values;
};

struct page_scores {
    const char **names;
    size_t name_count;
    struct page_head *heads;
    size_t count;
};

/* A step of the tour (cmd/lesson.c), of which the page's text is the example. */
struct page_lesson {
    const char *title;
    const char *before; /* what the step does */
    const char *line;   /* attn-cli …; words in double quotes stay together */
    const char *look;   /* where to look */
    const char *marks;  /* cells that stand out: "scores:1:2 weights:0.3:1:0", tensor, the layer and
                           head unless these are the first, row and column */
    const char *question, *answer;
    const char *show;     /* tensors, of a command that is not `run`; NULL: those of the command */
    size_t number, count; /* the step, from 1, of how many of the tour */
    bool is_walk;         /* it is the way of a text through the model */
};

struct page_facts {
    const struct config *config;               /* of the model, as it attends */
    const struct tokenized *sentence, *source; /* tokens, whatever stands on axes; NULL: none */

    /* Exact queries, keys, values and all that comes of them, of heads whose cells are explained;
     * and how many bytes of a page those of all heads take. */
    const struct report *explained;
    size_t explained_bytes;

    const struct page_next *next; /* NULL: nothing comes next, or it was not asked for */

    /* The words of a command line that looks at the same model in the same way, but for the model,
     * the text and what is shown. */
    const char *const *command;
    size_t command_count, unedited_count; /* … and without edits, which come last */
    const char *run;                      /* "edited" or not, where a page has both; else NULL */

    const struct page_scores *scores; /* NULL: there are none */

    const struct page_lesson *lesson; /* NULL: it is none; else its numbers are exact */

    /* The files of the model, for a page that runs it; NULL: it is not live. */
    const struct folder *live;
};

/* What cells of attention are explained with, of every attention that the model has. */
uint64_t page_explained_sites(const struct config *config);

/* As members of the object that is open. */
void page_facts_put(struct json_writer *json, const struct page_facts *facts);

/* A report, and what is told besides unless NULL, as JSON in which nothing ends an element of HTML;
 * its numbers exact or short (page_sentence.c). */
int page_sentence_put(struct stream *out, const struct report *report, bool exact,
                      const struct page_facts *facts, struct err *err);

/* A tensor of a report, which data.js reads: its place, its axes by the names of
 * their labels, and its numbers as one text: exact, base64 of float32; else three digits each. */
void page_tensor_put(struct json_writer *json, const struct report *report, const struct kept *kept,
                     bool exact);

/* The labels of a text's tokens, or of its words where those stand on the axes. */
const struct label *page_labels_of(const struct tokenized *tokenized, size_t *count);

/* How many numbers of all tensors are seen. */
size_t page_count_numbers(const struct report *report);

/* page_live.c: refuse a live page where there is no engine; the size of the engine and the model's
 * files in a page; and write them. */
int page_live_check(struct err *err);
int page_live_size(size_t *bytes, const struct folder *folder, struct err *err);
int page_live_put(struct stream *out, const struct folder *folder, struct err *err);

#endif
