#include "model/layer.h"
#include "walk_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/explanation.h"
#include "lens/viewer.h"
#include "model/features.h"

/* An attention of a model (of the decoder, cross, of the encoder), and the state of the check. */
struct traces {
    const struct golden *golden;
    struct viewer *viewer;
    const struct text_with_source *pair;
    enum site_branch branch;
    size_t numbers;
    double worst;         /* largest error, as a fraction of the tensor's largest number */
    struct site_set seen; /* the sites that were compared in a layer */
};

/* --- one trace -------------------------------------------------------------------------------- */

/* The position of rows in the reference. */
struct place {
    enum site site;
    size_t layer, slice;            /* slice: the head, for tensors of heads */
    size_t row, rows;               /* first row and number of rows */
    size_t column, columns, stride; /* first column and number of columns (0: all), and the step
                                     * between rows that were found (0: that number) */
    const char *step, *block;
};

static const struct table *find_step(const struct report *e, const char *name)
{
    for (size_t i = 0; i < e->table_count; i++)
        if (strcmp(e->tables[i].name, name) == 0)
            return &e->tables[i];
    return NULL;
}

/* The numbers of a column, or of its total; NULL if there is no such column. */
static const float *find_column(const struct table *step, const char *name, bool total)
{
    const struct column *column = step ? table_column(step, name) : NULL;
    return !column ? NULL : total ? column->total : column->values;
}

/* The tensor that is multiplied by W_q: the output of the norm before it, if any, or the stream. */
static enum site input_site(const struct config *config, enum site_branch branch, size_t layer)
{
    if (config->kind == MODEL_ATTENTION)
        return layer ? SITE_ATTN_OUT : SITE_EMBEDDING;
    const struct layer *own = layer_of(config, branch, layer);
    const struct sublayer *s = layer_attention(own, branch);
    if (s->at_input)
        return SITE_OF(branch, s->at_input);
    return s > own->sublayers ? sublayer_end(s - 1) : SITE_OF(branch, SITE_RESID_PRE);
}

static int compare(struct traces *traces, const struct place *place, const float *found,
                   struct err *err)
{
    char name[SITE_NAME_BYTES];
    site_tensor_name(name, place->site, (int)place->layer);
    const struct golden_tensor *tensor = golden_find(traces->golden, name);
    const struct config *config = &traces->viewer->model.config;
    if (!tensor && (config->kind == MODEL_ATTENTION || config->family))
        return 0; /* these references contain only some tensors */
    if (!tensor || !found)
        return err_set(err, "'%s': not in the %s", name, tensor ? "explanation" : "reference");
    bool column = site_row(place->site)->axes == AXES_HEAD_TOKEN; /* a sink */
    size_t width = column ? 1 : tensor->shape[tensor->rank - 1];
    size_t height = tensor->shape[tensor->rank - (column ? 1 : 2)];
    size_t columns = place->columns ? place->columns : width;
    size_t stride = place->stride ? place->stride : columns;
    site_set_add(&traces->seen, place->site);
    for (size_t i = 0; i < place->rows * columns; i++) {
        size_t row = place->row + i / columns;
        size_t at = (place->slice * height + row) * width + place->column + i % columns;
        double number = (double)found[i / columns * stride + i % columns];
        traces->numbers++;
        traces->worst = fmax(traces->worst, golden_error(tensor, at, number));
        if (!golden_agrees(tensor, at, number, &tolerance_fp32))
            return err_set(err, "'%s' head %zu row %zu: expected %.9g, found %.9g", name,
                           place->slice, row, tensor->values[at], number);
    }
    return 0;
}

/* A row of the step's vectors, by name. */
static const float *find_row(const struct table *step, const char *name)
{
    const float *values = find_column(step, "vector", false);
    for (size_t row = 0; values && row < step->rows.size; row++)
        if (strcmp(step->rows.labels[row].exact, name) == 0)
            return column_vector(step->columns, row);
    return NULL;
}

/* The query before the rotary embedding: after the norm of heads, or after the projection. */
static const float *find_unrotated(const struct report *e, const struct table *query)
{
    const float *normed = find_row(find_step(e, "query_norm"), "q_pre");
    const float *shown = find_column(query, "q_pre", false);
    return normed ? normed : shown ? shown : find_column(query, "W_q", true);
}

/* The query in the order of its channels. The explanation lists rotated channels in pairs; other
 * channels are those before the rotary embedding. */
static const float *find_query(const struct report *e, const struct table *query, bool rotates)
{
    static float q[512];
    const struct table *rotary = find_step(e, "query_rotary");
    const float *shown = find_column(query, "q", false);
    const float *normed = find_row(find_step(e, "query_norm"), "q");
    if (!rotates || normed)
        return normed ? normed : shown ? shown : find_column(query, "W_q", true);
    size_t pairs = rotary->columns->width;
    bool neighbours = strstr(rotary->note, "2i + 1") != NULL;
    const struct column *keys = find_step(e, "scores")->columns;
    if (keys->width > sizeof q / sizeof *q)
        return NULL;
    memcpy(q, find_unrotated(e, query), keys->width * sizeof *q);
    for (size_t i = 0; i < pairs; i++) {
        q[neighbours ? 2 * i : i] = find_row(rotary, "a'")[i];
        q[neighbours ? 2 * i + 1 : i + pairs] = find_row(rotary, "b'")[i];
    }
    return q;
}

/* Compare the values of two heads that make one context, and the context after its norm. */
static int compare_two(struct traces *traces, const struct report *e, const float *values,
                       struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    const struct config *config = &traces->viewer->model.config;
    const struct head_rule *head = &attention_of(config, traces->branch, chapter->layer)->head;
    const size_t own = chapter->head % context_heads(head), width = context_width(head);
    struct place place = {.site = SITE_V,
                          .layer = chapter->layer,
                          .slice = kv_head_of(head, own),
                          .rows = chapter->key_count,
                          .stride = width};
    const struct place gated = {.site = SITE_GATED,
                                .layer = chapter->layer,
                                .row = chapter->query,
                                .rows = 1,
                                .column = own * width,
                                .columns = width};
    if (compare(traces, &place, values, err))
        return -1;
    place.slice += head->kv_heads / 2;
    return err_if(compare(traces, &place, values + head->d_v, err) ||
                  compare(traces, &gated, find_row(find_step(e, "gated"), "gated"), err));
}

/* Compare all tensors of heads; keys and values are those of the head's group. */
static int compare_head(struct traces *traces, const struct report *e, struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    const struct config *config = &traces->viewer->model.config;
    const struct head_rule *head = &attention_of(config, traces->branch, chapter->layer)->head;
    const struct table *query = find_step(e, "query");
    const float *k_normed = find_column(find_step(e, "key_norm"), "k_pre", false);
    bool rotates = find_step(e, "query_rotary") != NULL;
    const float *weights = find_column(find_step(e, "weights"), "weight", false);
    const struct {
        enum site site;
        const float *found;
        bool of_keys;
    } rows[] = {
        {SITE_Q, find_query(e, query, rotates), false},
        {SITE_Q_PRE, rotates ? find_unrotated(e, query) : NULL, false},
        {SITE_K_PRE, k_normed ? k_normed : find_column(find_step(e, "keys"), "k_pre", false), true},
        {SITE_K, find_column(find_step(e, "scores"), "k", false), true},
        {SITE_SCORES, find_column(find_step(e, "scores"), "score", false), false},
        {SITE_MASKED, find_column(find_step(e, "weights"), "masked", false), false},
        {SITE_WEIGHTS, weights, false},
        {SITE_SINK, weights ? weights + chapter->key_count : NULL, false}, /* if there is one */
        {SITE_DIFFERENCE, find_column(find_step(e, "difference"), "difference", false), false},
        {SITE_V, find_column(find_step(e, "values"), "v", false), true},
        {SITE_CONTEXT, find_column(find_step(e, "context"), "weighted", true), false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct place place = {.site = SITE_OF(traces->branch, rows[i].site),
                              .layer = chapter->layer,
                              .slice = chapter->head,
                              .row = chapter->query,
                              .rows = 1};
        if (rows[i].of_keys) {
            place.slice = kv_head_of(head, chapter->head);
            place.row = 0;
            place.rows = chapter->key_count;
        }
        if (rows[i].site == SITE_DIFFERENCE || rows[i].site == SITE_CONTEXT)
            place.slice %= context_heads(head);
        if (rows[i].site == SITE_DIFFERENCE && head->differ <= 0)
            continue;
        if (rows[i].site == SITE_V && head->differ > 0) {
            if (compare_two(traces, e, rows[i].found, err))
                return -1;
            continue;
        }
        bool before = rows[i].site == SITE_Q_PRE || rows[i].site == SITE_K_PRE;
        if (before && !rotates)
            continue;
        if (compare(traces, &place, rows[i].found, err))
            return -1;
    }
    return 0;
}

/* Compare all vectors of a decoder layer that are named like tensors. */
static int compare_vectors(struct traces *traces, const struct report *e, struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    bool gated = traces->viewer->model.config.gated;
    for (size_t s = 0; s < e->table_count; s++) {
        const struct table *step = &e->tables[s];
        const struct column *column = step->columns;
        bool alone = step->count == 1 && strcmp(step->name, column->name) == 0;
        for (size_t row = 0; row < step->rows.size && !step->working.of_keys; row++) {
            const char *name = step->rows.labels[row].exact;
            enum site site = gated && strcmp(name, "gate") == 0 ? SITE_MLP_GATE
                             : gated && strcmp(name, "up") == 0 ? SITE_MLP_UP
                                                                : SITE_Q;
            if (site == SITE_Q && !site_find(name, strlen(name), &site))
                continue;
            if ((!alone && strcmp(column->name, "vector") != 0) || site_has_heads(site) ||
                site == SITE_GATED)
                continue;
            struct place place = {
                .site = site, .layer = chapter->layer, .row = chapter->query, .rows = 1};
            if (compare(traces, &place, column_vector(column, row), err))
                return -1;
        }
    }
    return 0;
}

/* Compare the copies of the stream: a column of the step with the site's name. */
static int compare_copies(struct traces *traces, const struct report *e, struct err *err)
{
    static const enum site sites[] = {SITE_PREDICTED, SITE_CORRECTED, SITE_STREAMS};
    const struct chapter *chapter = report_chapter(e);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct table *step = find_step(e, site_name(sites[i]));
        const struct column *column = step ? table_column(step, step->name) : NULL;
        struct place place = {sites[i], .layer = chapter->layer, .row = chapter->query, .rows = 1};
        for (; column && place.slice < step->rows.size; place.slice++)
            if (compare(traces, &place, column_vector(column, place.slice), err))
                return -1;
    }
    return 0;
}

/* Compare the weights of the chosen experts (others have 0), and the sum of their outputs. */
static int compare_experts(struct traces *traces, const struct report *e, struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    float weights[EXPERTS_MAX] = {0};
    const struct table *step = find_step(e, "expert_weights");
    const float *chosen = find_column(step, "weight", false);
    struct place place = {SITE_EXPERT_WEIGHTS, .layer = chapter->layer, .row = chapter->query,
                          .rows = 1};
    if (!step)
        return 0;
    for (size_t i = 0; i < step->rows.size; i++)
        weights[strtoul(step->rows.labels[i].exact, NULL, 10)] = chosen[i];
    if (compare(traces, &place, weights, err))
        return -1;
    place.site = SITE_MLP_OUT;
    return compare(traces, &place, find_column(find_step(e, "mlp_out"), "share", true), err);
}

/* Compare the listed logits, and check that no other is larger. */
static int compare_logits(struct traces *traces, const struct report *e, struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    const struct table *step = find_step(e, "logits");
    const struct golden_tensor *tensor = golden_find(traces->golden, "logits");
    if (!step || !tensor)
        return 0;
    const float *logits = find_column(step, "logit", false);
    size_t count = tensor->shape[tensor->rank - 1];
    size_t larger = 0;
    for (size_t i = 0; i < step->rows.size; i++) {
        size_t index = chapter->query * count + strtoul(step->rows.labels[i].exact, NULL, 10);
        traces->numbers++;
        if (!golden_agrees(tensor, index, (double)logits[i], &tolerance_fp32))
            return err_set(err, "'logits' of '%s': expected %.9g, found %.9g",
                           step->rows.labels[i].exact, tensor->values[index], (double)logits[i]);
    }
    for (size_t i = 0; i < count; i++)
        larger += tensor->values[chapter->query * count + i] >
                  (double)logits[step->rows.size - 1] + 1e-4 * tensor->largest;
    return larger < step->rows.size ? 0 : err_set(err, "'logits': larger ones are not shown");
}

/* Check that the explanation contains all tensors of the layer. */
static int check_all_seen(struct traces *traces, size_t layer, struct err *err)
{
    char name[SITE_NAME_BYTES];
    const struct layer *own = layer_of(&traces->viewer->model.config, BRANCH_TEXT, layer);
    for (enum site site = SITE_LN_1; site != SITE_LN_F; site = site_next(site)) {
        bool twice =
            site == own->sublayers[own->count - 1].at_after[1]; /* the stream has another name */
        bool merged = site == SITE_MERGED && layer + 1 < traces->viewer->model.config.n_layer;
        if (site_branch(site) == BRANCH_SOURCE || site_branch(site) == BRANCH_CROSS)
            continue;
        site_tensor_name(name, site, (int)layer);
        if (!twice && !merged && golden_find(traces->golden, name) &&
            !site_set_has(traces->seen, site))
            return err_set(err, "'%s': not in the explanation", name);
    }
    traces->seen = (struct site_set){0};
    return 0;
}

/* Compare the input, the last row of the first step, and attn_out, the total of the last step. */
static int compare_ends(struct traces *traces, const struct report *e, struct err *err)
{
    const struct chapter *chapter = report_chapter(e);
    const struct config *config = &traces->viewer->model.config;
    const struct table *first = find_step(e, "input");
    const struct table *last = find_step(e, "output");
    const struct column *input = first->columns;
    struct place x = {.site = input_site(config, traces->branch, chapter->layer),
                      .layer = chapter->layer - (config->kind == MODEL_ATTENTION && chapter->layer),
                      .row = chapter->query,
                      .rows = 1};
    struct place out = x;
    out.site = SITE_OF(traces->branch, SITE_ATTN_OUT);
    out.layer = chapter->layer;
    if (compare(traces, &x, column_vector(input, first->rows.size - 1), err))
        return -1;
    return config->out_proj ? compare(traces, &out, find_column(last, "share", true), err) : 0;
}

/* --- all traces ------------------------------------------------------------------------------- */

static int trace(struct traces *traces, const struct explain_request *request, struct err *err)
{
    struct arena arena = {0};
    struct report report;
    int failed = explanation_make(&report, traces->viewer, traces->pair, request, &arena, err) ||
                 compare_head(traces, &report, err) || compare_ends(traces, &report, err) ||
                 compare_vectors(traces, &report, err) || compare_copies(traces, &report, err) ||
                 compare_experts(traces, &report, err) || compare_logits(traces, &report, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int walk_all(struct traces *traces, struct err *err)
{
    const struct config *config = &traces->viewer->model.config;
    bool in_encoder = traces->branch == BRANCH_SOURCE;
    size_t heads = stack_of(config, traces->branch)->heads;
    size_t layers = stack_of(config, traces->branch)->layers;
    size_t queries = in_encoder ? traces->pair->source.count : traces->pair->text.count;
    struct explain_request request = {.query_count = 1, .branch = traces->branch, .digits = 4};
    bool decoder = config->kind != MODEL_ATTENTION && !has_encoder(config);
    for (request.layer = 0; request.layer < layers; request.layer++) {
        for (request.head = 0; request.head < heads; request.head++)
            for (request.query = 0; request.query < queries; request.query++)
                if (trace(traces, &request, err))
                    return err_prefix(err, "query %zu", request.query);
        if (decoder && check_all_seen(traces, request.layer, err))
            return -1;
    }
    return traces->numbers ? 0 : err_set(err, "nothing to compare");
}

/* Read the golden texts as ids. */
static int read_ids(struct input *input, const uint32_t *ids, size_t count, struct buf *text,
                    struct err *err)
{
    for (size_t i = 0; i < count; i++)
        buf_format(text, "%s%u", i ? "," : "", ids[i]);
    *input = (struct input){.ids = text->bytes};
    return buf_check(text, err);
}

static int read_subject(struct text_with_source *pair, const struct viewer *viewer,
                        const struct golden *golden, struct arena *arena, struct err *err)
{
    struct buf ids = {0};
    struct buf source_ids = {0};
    struct input input;
    struct input source;
    int failed =
        read_ids(&input, golden->ids, golden->id_count, &ids, err) ||
        read_ids(&source, golden->source_ids, golden->source_id_count, &source_ids, err) ||
        viewer_read(viewer, pair, &input, golden->source_id_count ? &source : NULL, arena, err);
    buf_release(&ids);
    buf_release(&source_ids);
    return failed ? -1 : 0;
}

static void check_part(struct tally *tally, struct traces *traces)
{
    static struct err err;
    const struct config *config = &traces->viewer->model.config;
    const char *name = attention_branches[has_encoder(config) ? traces->branch : BRANCH_TEXT].name;
    struct feature_list refused = {.count = 0};
    features_find(&refused, TO_EXPLAIN, config);
    int failed = walk_all(traces, &err);
    if (refused.count && err.kind == ERR_UNSUPPORTED)
        err = (struct err){0}; /* it names what is not explained */
    else if (refused.count && !failed)
        err_set(&err, "expected a refusal to explain %s", refused.words[0]);
    else if (!failed)
        printf("walk of %s: %s, %zu numbers, off by %.1e at most\n", traces->golden->folder, name,
               traces->numbers, traces->worst);
    tally_judge(tally, traces->golden->folder, name, &err);
}

void walk_check(struct tally *tally, const struct golden *golden)
{
    static const enum site_branch branches[] = {BRANCH_TEXT, BRANCH_CROSS, BRANCH_SOURCE};
    static struct err err;
    struct viewer viewer;
    struct text_with_source pair;
    struct arena arena = {0};
    if (viewer_open(&viewer, golden->model, 1, &err)) {
        tally_judge(tally, golden->folder, "walk", &err);
        return;
    }
    size_t count = has_encoder(&viewer.model.config) ? sizeof branches / sizeof *branches : 1;
    if (read_subject(&pair, &viewer, golden, &arena, &err))
        tally_judge(tally, golden->folder, "walk", &err);
    else
        for (size_t i = 0; i < count; i++)
            check_part(tally, &(struct traces){golden, &viewer, &pair, .branch = branches[i]});
    arena_release(&arena);
    viewer_release(&viewer);
}
