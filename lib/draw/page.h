/* page.h: interactive pages. page_data.c writes the JSON of a text: its tensors, and the facts that
 * the caller provides (cmd/page.c, lib/live); html_report.c writes the page around it.
 *
 *     struct page_facts facts = {.config = &model.config, .sentence = &pair.sentence};
 *     struct place place = {.page = &facts, .count = 1};
 *     html_report_write(&stream, &report, &place, err);
 *
 * Numbers are in base64: exact, as the bytes of float32, or short, as two letters (12 bits): code 0
 * is 0, code 1 is minus infinity, or masked if the tensor `hides` cells, and code 2 + level is on a
 * logarithmic scale from 1e-6 of the tensor's largest magnitude up to it. With negative numbers in
 * the tensor, the lowest bit of a level is the sign, and the scale starts at 1e-5. Masked cells
 * after the query are left out; other exact ones are NaN. */
#pragma once

#include "base/file.h"
#include "lens/continuation.h"
#include "lens/report.h"
#include "model/config.h"
#include "write/format.h"

/* Step after which a prediction is read from the residual stream. */
enum page_step { STEP_EMBEDDING, STEP_ATTENTION, STEP_CROSS, STEP_MLP, STEP_LAYER, PAGE_STEPS };

/* Logit lens: the prediction after each token, or of a masked model in its place, read from the
 * residual stream after a step. */
struct page_next_layer {
    enum page_step step;
    size_t layer, best_count;
    const struct likely *best; /* [tokens, best_count] most likely tokens, best first */
    const float *came;         /* [tokens] log-probability of the actual next token; NaN: none */
};

struct page_next {
    const struct page_next_layer *layers; /* [layer_count] the last one is the model's output */
    size_t layer_count, token_count, vocabulary; /* no tokens: a masked model, but no mask */
    const uint32_t *named; /* [name_count] token ids used in the layers, and their names */
    const struct label *names;
    size_t name_count;
};

/* A step of the tour (cmd/lesson.c), whose example is the text of the page. */
struct page_lesson {
    const char *title;
    const char *before; /* what the step does */
    const char *line;   /* command after "attn-cli"; double quotes group words */
    const char *look;   /* where to look in the figure */
    const char *marks;  /* cells to frame, TENSOR:[LAYER.HEAD:]ROW:COLUMN, as in "scores:1:2
                         * weights:0.3:1:0" */
    const char *question, *answer;
    const char *show;   /* tensors for a command other than `run`; NULL: the command's own */
    const char *tables; /* explain command whose weight matrices the page shows as well, or NULL */
    const char *parts;  /* sections of explain that the page shows, "9-12"; NULL: all */
    const char *arithmetic;            /* output of explain as HTML, or NULL */
    bool walk, scale;                  /* of the diagram of a model; of `lesson scale` */
    const struct page_lesson *chinese; /* the same texts in Chinese; NULL: none */
};

/* The tour in a language; cmd/lesson/embed.sh makes it from cmd/lesson/steps.txt. */
struct lesson {
    const char *language; /* as in HTML: "zh" */
    const char *name;
    const char *page;               /* title of the HTML page */
    const char *look;               /* before the text `look` of a step */
    const char *next;               /* before the command of the next step */
    const char *more;               /* on a terminal, below a screen that is not the last */
    const char *last;               /* after the last step */
    const char *variance, *largest; /* columns of `lesson scale` */
    const struct page_lesson *steps;
};

enum { LESSONS = 2 };

extern const struct lesson lessons[LESSONS]; /* the first one is the default */
extern const size_t lesson_steps; /* with a number; `lesson scale` and the diagram follow */

/* Roles of heads. A head has the role with the highest mean weight on its keys that reaches `least`
 * and `times` the mean of uniform attention. */
struct page_roles {
    double least, times;
    const struct page_role {
        const char *score, *name, *brief;
    } * items;
    size_t count;
};

/* Data of a page besides tensors; NULL or 0 omits a part. */
struct page_facts {
    const struct config *config;               /* of the model, with the attention options in use */
    const struct tokenized *sentence, *source; /* tokens, even if axes count words */
    bool by_ids;    /* commands have the ids of a sentence that no text gives, its start included */
    long long mask; /* id of the token that a masked model replaces; -1: none */

    const struct report *explained; /* exact tensors of the heads that the page explains */
    size_t explained_bytes;         /* estimated size of these tensors for all heads */

    const struct page_next *next;
    const float *without_heads; /* [layers, heads] probability of the most likely next token without
                                  * each head; NULL: unknown */

    const char *const *command; /* options that reproduce the model, its attention and edits */
    size_t command_count;
    const char *run; /* "edited" or "unedited" if the page compares both */

    bool untrained; /* the model: see model_is_untrained */
    const struct page_roles *roles;
    const struct sheet *scores;       /* a row for each head; NaN: no data */
    const struct page_lesson *lesson; /* NULL: not a lesson, and numbers may be short */
    const struct folder *live;        /* model files to embed in a live page; NULL: not live */
};

/* Write reports as one page, with the facts that a place has in `page`. */
extern report_writer html_report_write;

/* The query that a page opens on and compares: the last mask, else the last token not added. */
size_t page_opens(const struct tokenized *sentence, long long mask);

/* Sites needed to explain attention cells, for each attention of the model. */
struct site_set page_explained_sites(const struct config *config);

/* Estimate the count of numbers at these sites, over all layers and heads. */
size_t page_explained_numbers(const struct config *config, size_t tokens);

/* Write a report and its facts (NULL: none) as JSON that is safe inside HTML elements. */
int page_sentence_put(struct stream *out, const struct report *report, bool exact,
                      const struct page_facts *facts, struct err *err);

/* Count the numbers of all tensors in a page. */
size_t page_count_numbers(const struct report *report);

void page_put_base64(struct stream *out, const char *bytes, size_t size);

/* Write text, escaped for HTML, also for an attribute in ". */
void page_put_text(struct stream *out, const char *text);

/* Refuse --live if this attn-cli was built without the engine. */
int page_live_check(struct err *err);

/* Estimate the size of a live page: the engine and the model's files in base64. Refuse a model that
 * is too large. */
int page_live_bytes(size_t *bytes, const struct folder *folder, struct err *err);

/* Parts of each page, generated by page/embed.sh. */
struct page_part {
    const char *bytes;
    size_t size;
};

extern const struct page_part page_before; /* from <style> to the last control */
extern const struct page_part page_behind; /* the program, from <script> */
extern const struct page_part page_live;   /* live pages: the program that runs the engine */
extern const struct page_part page_module; /* engine, gzip-compressed; empty if not built */
extern const struct page_part page_end;    /* up to </html> */

extern const struct page_part page_explanation_style; /* of the pages of explain */
