/* page.h: interactive pages. page_data.c writes the JSON of a text: its tensors, and facts that the
 * caller found (cmd/page.c, lib/live); html_report.c puts texts and the program into one page.
 *
 *     struct page_facts facts = {.config = &model.config, .sentence = &pair.sentence};
 *     struct place place = {.page = &facts, .count = 1};
 *     html_report_write(&stream, &report, &place, err);
 *
 * Numbers are written in base64: exact, as the bytes of float32; or short, two letters for 12 bits:
 * 0 for 0, 1 for minus infinity, else 2 + level, a logarithmic scale whose highest level is the
 * largest number of the tensor and whose lowest is 1e-6 of it. If there are negative numbers the
 * lowest bit of a level is the sign, and the lowest level is 1e-5 of the largest number.
 */
#ifndef ATTN_DRAW_PAGE_H
#define ATTN_DRAW_PAGE_H

#include "base/folder.h"
#include "lens/continuation.h"
#include "lens/report.h"
#include "model/config.h"

struct stream;

/* The point of the residual stream that a prediction is read from. */
enum page_step { STEP_EMBEDDING, STEP_ATTENTION, STEP_MLP, STEP_LAYER, PAGE_STEPS };

/* The prediction after each token, read from the residual stream after a step (logit lens). */
struct page_next_layer {
    enum page_step step;
    size_t layer, best_count;
    const struct likely *best; /* [tokens, best_count] the likeliest first */
    const float *came; /* [tokens] log-probability of the actual next token; NaN after the last */
};

struct page_next {
    const struct page_next_layer *layers; /* [layer_count] the last is the model's own prediction */
    size_t layer_count, token_count, vocabulary;
    const uint32_t *named; /* [name_count] ids in the layers, and their names */
    const struct label *names;
    size_t name_count;
};

/* A step of the tour (cmd/lesson.c); the text of the page is its example. */
struct page_lesson {
    const char *title;
    const char *before; /* what the step does */
    const char *line;   /* attn-cli …; words in double quotes stay together */
    const char *look;   /* where to look */
    const char *marks;  /* framed cells: "scores:1:2 weights:0.3:1:0", tensor, the layer and head
                           unless these are the first, row and column */
    const char *question, *answer;
    const char *show; /* tensors, of a command that is not `run`; NULL: those of the command */
    bool is_walk;     /* the diagram of the whole model, which is no step */
};

/* NULL and 0: not asked for. */
struct page_facts {
    const struct config *config;               /* of the model, as it attends */
    const struct tokenized *sentence, *source; /* the tokens, even if axes count words */

    const struct report *explained; /* exact tensors of the heads whose cells are explained */
    size_t explained_bytes;         /* about what those of all heads take in a page */

    const struct page_next *next;

    /* Options that make a command look at the same model in the same way; those of edits are
     * last. */
    const char *const *command;
    size_t command_count, unedited_count;
    const char *run; /* "edited" or "unedited" if a page has both */

    const struct sheet *scores;       /* a row for each head; NaN: nothing was counted */
    const struct page_lesson *lesson; /* else numbers may be short */
    const struct folder *live;        /* files of the model of a live page */
};

/* The sites that explain cells of attention, of each attention that the model has. */
uint64_t page_explained_sites(const struct config *config);

/* About how many numbers these sites have, of all layers and heads. */
size_t page_explained_numbers(const struct config *config, size_t tokens);

/* Write a report and its facts (NULL: none) as JSON in which nothing ends an element of HTML. */
int page_sentence_put(struct stream *out, const struct report *report, bool exact,
                      const struct page_facts *facts, struct err *err);

/* The number of values of all tensors that a page holds. */
size_t page_count_numbers(const struct report *report);

/* Write bytes in base64. */
void page_put_base64(struct stream *out, const char *bytes, size_t size);

/* Write text of HTML. */
void page_put_text(struct stream *out, const char *text);

/* Refuse a live page if this attn-cli has no engine. */
int page_live_check(struct err *err);

/* About the size of a live page: the engine and the files of a model in base64. Refuse a model that
 * is too large. */
int page_live_bytes(size_t *bytes, const struct folder *folder, struct err *err);

/* Parts of each page, made by page/embed.sh. */
struct page_part {
    const char *bytes;
    size_t size;
};

extern const struct page_part page_before; /* from <style> to the last field */
extern const struct page_part page_behind; /* the program, from <script> */
extern const struct page_part page_live;   /* the program's part that runs the engine */
extern const struct page_part page_module; /* the engine, by gzip; empty: none */
extern const struct page_part page_end;    /* to </html> */

#endif
