/* page.h: interactive pages. page_data.c writes the JSON of a text: its tensors, and the facts that
 * the caller provides (cmd/page.c, lib/live); html_report.c writes the page around it.
 *
 *     struct page_facts facts = {.config = &model.config, .text = &pair.text, .mask = -1};
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

/* A step of the lesson (cmd/lesson.c). Its example is the text of the page. */
struct page_lesson {
    const char *title;
    const char *point;   /* sentence that says what the step shows */
    const char *before;  /* text that introduces the step */
    const char *line;    /* command line, with "attn-cli"; double quotes group words; "": none */
    const char *look;    /* text on where to look: paragraphs, separated by empty lines; each is a
                          * slide */
    const char *also;    /* commands to try, which slides leave out; NULL: none */
    const char *marks;   /* cells to frame, TENSOR:[LAYER.HEAD:]ROW:COLUMN, as in "scores:1:2
                         * weights:0.3:1:0" */
    const char *figures; /* what each slide shows, such as "picture q+k 4"; see steps.txt */
    const char *picture; /* name of the page's picture, such as "plane" or "adds:9:2"
                          * (lib/draw/page/pictures.js); NULL: none */
    const char *labels;  /* names of the picture's arcs, separated by " | "; NULL: numbers only */
    const char *question, *answer;
    const char *caption; /* caption of the animation Motion; NULL: the animation's default
                          * caption */
    const char *scene;   /* scenes of the animation Motion, such as "softmax sum"; NULL: none */
    /* value of --show for a command other than `run`; NULL: the command's own tensors */
    const char *show;
    const char *tables; /* explain command for the tables of the page; NULL: `line` */
    const char *parts;  /* sections of explain that the step shows, such as "2-3,6-8"; NULL: all */
    const char *channels;   /* words on the axes of a state, such as "cat dog"; NULL: numbers */
    const char *curve;      /* curve to draw, such as "13 gelu_new 0.9289": the section of explain
                             * that it follows, the activation, and numbers to mark on it; NULL:
                             * none */
    const char *arithmetic; /* output of explain or `lesson scale` as HTML; NULL: none */
    /* `walk`: the step follows a query through a model; `scale`: the step is `lesson scale` */
    bool walk, scale;
    const struct page_lesson *chinese; /* the same texts in Chinese; NULL: none */
    /* `is_other`: the page shows this step in place of its step `of`, counted from 0, if the page
     * is in Chinese: its example is Chinese */
    bool is_other;
    size_t of;
};

enum { PAGE_ORIGIN_DEPTH = 2 }; /* value of `depth` in struct score_plan for page_origin */

/* A head's score of a query and a key as a sum over pairs of terms: one of the query's residual
 * stream and one of the key's (measure/score_attribution.h). */
struct page_origin {
    enum site weights; /* site of the weights of the explained head */
    size_t layer, head, query, key;
    bool less_mean; /* the explained value is the score minus the mean score of all keys */
    double score;
    const struct report *report; /* report of score_attribution_make */
};

/* The features of a dictionary at each token, as a report of features_report. */
struct page_features {
    const char *name; /* name of the dictionary, as in --sae */
    const struct report *report;
};

/* Data of the animation Motion: the stream of each layer, or queries, keys, values and masked
 * scores. */
struct page_journey {
    const struct report *report; /* the report with these tensors; NULL: none */
    bool exact;
    long long query; /* the only query whose rows are in the report; -1: all queries have rows */
};

/* Data of a page in addition to tensors. NULL or 0 omits a part, except for config, text and
 * mask. */
struct page_facts {
    const struct config *config; /* config of the model, with the attention options in use */
    const struct tokenized *text, *source; /* text and source as tokens, even if axes count words */
    bool by_ids;    /* commands give the text as ids, since the model made it, such as a
                     * translation */
    long long mask; /* id of the mask token of a masked model; -1: none */

    const struct report *explained; /* the exact tensors of the heads that the page explains */
    size_t explained_bytes;         /* estimated bytes of the exact tensors of all heads */
    const struct page_origin *origins;
    size_t origin_count;
    /* `streams`: data of the residual stream; `journey`: data of heads that are not in
     * `explained` */
    struct page_journey streams, journey;

    const struct page_features *features;
    size_t feature_count; /* number of dictionaries */

    const struct next_tokens *next;
    const struct findings *findings; /* findings of the text; NULL: not searched */
    /* Without each head, or without each key, the probability of the token that is most likely at
     * the position that the page first shows (measure/logit_lens.h); NULL: unknown. */
    const float *without_heads, *without_keys;
    const struct label *without_top; /* the most likely token without each key; NULL: unknown */

    const char *const *command; /* options that reproduce the model, its attention and edits */
    size_t command_count;
    const char *run; /* if the page compares runs with and without edits, which of them this is:
                      * "edited" or "unedited"; NULL: it does not compare */

    /* paths of another program's files, in place of a model; NULL: none */
    const char *weights, *tokens;

    bool untrained; /* the model's weights are not trained (model_is_untrained) */
    const struct roles *roles;
    const struct sheet *scores;       /* scores of heads: a row for each head, a column for each
                                       * score; NaN: no data */
    const struct page_lesson *lesson; /* step of the lesson that the page shows; NULL: none */
    /* folder of the model's files, which a live page contains; NULL: the page is not live */
    const struct folder *live;
};

/* Write a report of tables with their working (write/working.h) as one HTML page. */
extern report_writer html_working_write;

/* Return the sites whose tensors explain cells of attention maps, in each attention branch and in
 * mixers. */
struct site_set page_explained_sites(const struct config *config);

/* Return the sites that the animation Motion shows: page_stream_sites the sites around each
 * sublayer, page_journey_sites the sites in heads. */
struct site_set page_stream_sites(const struct config *config);
struct site_set page_journey_sites(const struct config *config);

/* Estimate how many numbers the tensors of page_explained_sites have in all layers and heads. */
size_t page_explained_numbers(const struct config *config, size_t tokens);

/* Write a report and its facts (NULL: none) as JSON that is safe inside HTML elements. */
int page_text_put(struct stream *out, const struct report *report, bool exact,
                  const struct page_facts *facts, struct err *err);

void page_origin_put(struct stream *out, const struct page_origin *origin);

/* Write the members "findings" and "predicts" of a text as a JSON object:
 *
 *     {"findings": [{"kind": "acts", "map": "weights", "layer": 1, "head": 3, "query": 4, "key": 1,
 *      "weight": 0.9428, "s": 0.7089, "d": 9.6658, "token": "␣are", "probability": 0.99995,
 *      "without": "␣is", "without_probability": 0.99877}],
 *      "predicts": {"row": 4, "token": "␣are", "probability": 0.99995}}
 *
 * The first finding is the headline. "predicts", and "token" with its probability, are left out if
 * the prediction is not known; "d", and "without" with its probability, if no cut was tried. */
void page_findings_put(struct stream *out, const struct findings *findings);

/* Count the numbers of a report's tensors that a page contains. */
size_t page_count_numbers(const struct report *report);

void page_put_base64(struct stream *out, const char *bytes, size_t size);

/* Write a text, escaped for HTML; the result is also safe in an attribute in double quotes. */
void page_put_text(struct stream *out, const char *text);

/* Append the HTML element that tells how the page was made, if the report has a provenance. */
void page_add_command(struct buf *out, const struct report *report);

/* Refuse --live if this attn-cli was built without the engine. */
int page_live_check(struct err *err);

/* Estimate the size of a live page: the engine and the model's files in base64. Refuse a model that
 * is too large. */
int page_live_bytes(size_t *bytes, const struct folder *folder, struct err *err);

/* A piece of HTML or script for pages, or the engine; page/embed.sh generates it. */
struct page_part {
    const char *bytes;
    size_t size;
};

extern const struct page_part page_before; /* the first part, from <style> to the last control */
extern const struct page_part page_behind; /* the script that draws the page, from <script> */
extern const struct page_part page_live;   /* for live pages: the script that runs the engine */
/* the engine, compressed by gzip; empty if it was not built */
extern const struct page_part page_module;
extern const struct page_part page_end; /* the last part, up to </html> */

/* the first part of the page of an atlas (cmd/atlas_page.c) */
extern const struct page_part page_atlas_before;
extern const struct page_part page_atlas_behind;

extern const struct page_part page_explanation_style; /* the style of pages of `explain` */
