/* page.h: interactive pages. page_data.c writes the JSON of a text: its tensors, and the facts that
 * the caller provides (cmd/page.c, lib/live); html_report.c writes the page around it.
 *
 *     struct page_facts facts = {.config = &model.config, .sentence = &pair.sentence, .mask = -1};
 *     struct layout layout = {.page = &facts};
 *     format_html.write(&stream, &report, &layout, err);
 *
 * Numbers are in base64: exact, as the bytes of float32, or short, as two letters (12 bits): code 0
 * is 0, code 1 is minus infinity, or masked if the tensor `hides` cells, and code 2 + level is on a
 * logarithmic scale from 1e-6 of the tensor's largest magnitude up to it. With negative numbers in
 * the tensor, the lowest bit of a level is the sign, and the scale starts at 1e-5. Masked cells
 * after the query are left out; other masked cells of exact tensors are NaN. */
#pragma once

#include "base/file.h"
#include "lens/prediction.h"
#include "lens/report.h"
#include "model/config.h"
#include "write/format.h"

/* A step of the lesson (cmd/lesson.c); its example is the text of the page. */
struct page_lesson {
    const char *title;
    const char *before;  /* text about the step */
    const char *line;    /* command line, with "attn-cli"; double quotes group words; "": none */
    const char *look;    /* where to look: paragraphs between empty lines, a slide each */
    const char *also;    /* commands to try, which slides leave out; NULL: none */
    const char *marks;   /* cells to frame, TENSOR:[LAYER.HEAD:]ROW:COLUMN, as in "scores:1:2
                         * weights:0.3:1:0" */
    const char *figures; /* what each slide shows, "motion q+k 4", as in cmd/lesson/steps.txt */
    const char *question, *answer;
    const char *caption;    /* in place of what Motion says; NULL: that */
    const char *scene;      /* scenes of Motion, "softmax sum"; NULL: none */
    const char *show;       /* tensors for a command other than `run`; NULL: the command's own */
    const char *tables;     /* explain command for the tables of the page; NULL: `line` */
    const char *parts;      /* sections of explain that the step shows, "9-12"; NULL: all */
    const char *channels;   /* words on the axes of a state, "cat dog"; NULL: numbers */
    const char *curve;      /* section, activation and numbers of a curve; NULL: none */
    const char *arithmetic; /* output of explain or `lesson scale` as HTML, or NULL */
    bool walk, scale;       /* has the journey through a model; is `lesson scale` */
    const struct page_lesson *chinese; /* the same texts in Chinese; NULL: none */
};

enum { PAGE_ORIGIN_DEPTH = 2 }; /* steps of a path */

/* Why a query has its score with a key: what made the query, and what made the key. */
struct page_origin {
    enum site weights; /* of the head */
    size_t layer, head, query, key;
    bool less_mean; /* of the score less the mean of the scores of all keys */
    double score;
    const struct report *report; /* of score_attribution_make */
};

/* The features of a dictionary at each token, a report of features_report. */
struct page_features {
    const char *name; /* of the dictionary, as --sae has it */
    const struct report *report;
};

/* What Motion draws: the stream of each layer, or queries, keys, values and masked scores. */
struct page_journey {
    const struct report *report; /* NULL: none */
    bool exact;
    long long query; /* the only one whose rows are in the report; -1: all are */
};

/* Data of a page besides tensors; NULL or 0 omits a part, except of config, text and mask. */
struct page_facts {
    const struct config *config;           /* of the model, with the attention options in use */
    const struct tokenized *text, *source; /* tokens, even if axes count words */
    bool by_ids;    /* commands give the text as ids: the model made it, as a translation */
    long long mask; /* id of the token that a masked model replaces; -1: none */

    const struct report *explained; /* exact tensors of the heads that the page explains */
    size_t explained_bytes;         /* estimated size of such tensors for all heads */
    const struct page_origin *origins;
    size_t origin_count;
    struct page_journey streams, journey; /* journey: of heads not in `explained` */

    const struct page_features *features;
    size_t feature_count; /* dictionaries */

    const struct next_tokens *next;
    /* Probability, without each head or key, of the token that is most likely where the page opens
     * (measure/logit_lens.h); NULL: unknown. */
    const float *without_heads, *without_keys;

    const char *const *command; /* options that reproduce the model, its attention and edits */
    size_t command_count;
    const char *run; /* "edited" or "unedited" if the page compares both */

    const char *weights, *tokens; /* files of another program, in place of a model; NULL: none */

    bool untrained; /* the model: see model_is_untrained */
    const struct roles *roles;
    const struct sheet *scores;       /* a row for each head; NaN: no data */
    const struct page_lesson *lesson; /* NULL: not a lesson */
    const struct folder *live;        /* model files to embed in a live page; NULL: not live */
};

/* Write reports as one page, with the facts that a layout has in `page`. */
extern report_writer html_working_write; /* see write/working.h */

/* Sites needed to explain attention cells, for each attention of the model. */
struct site_set page_explained_sites(const struct config *config);

/* Sites that a journey needs: of the stream around each sublayer, or of heads. */
struct site_set page_stream_sites(const struct config *config);
struct site_set page_journey_sites(const struct config *config);

/* Estimate the count of numbers at page_explained_sites, over all layers and heads. */
size_t page_explained_numbers(const struct config *config, size_t tokens);

/* Write a report and its facts (NULL: none) as JSON that is safe inside HTML elements. */
int page_text_put(struct stream *out, const struct report *report, bool exact,
                  const struct page_facts *facts, struct err *err);

void page_origin_put(struct stream *out, const struct page_origin *origin);

/* Count the numbers of a report's tensors that a page has. */
size_t page_count_numbers(const struct report *report);

void page_put_base64(struct stream *out, const char *bytes, size_t size);

/* Write text, escaped for HTML, also for an attribute in ". */
void page_put_text(struct stream *out, const char *text);

/* Append the element that says how the page was made, if the report has a provenance. */
void page_add_command(struct buf *out, const struct report *report);

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

extern const struct page_part page_atlas_before; /* of the page of an atlas (cmd/atlas_page.c) */
extern const struct page_part page_atlas_behind;

extern const struct page_part page_explanation_style; /* of the pages of explain */
