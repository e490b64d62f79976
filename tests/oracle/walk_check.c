#include "walk_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain/explanation.h"
#include "lens/viewer.h"

/* One attention of a model, and what was seen of it. */
struct traces {
    const struct golden *golden;
    struct viewer *viewer;
    const struct text_pair *pair;
    enum site_part part;
    size_t numbers;
    double worst; /* as a share of the tensor's largest number */
};

/* --- one trace -------------------------------------------------------------------------------- */

/* Where a row stands in the reference, and where the explanation has it. */
struct place {
    enum site site;      /* the sentence's */
    size_t layer, slice; /* the head, of tensors that have heads */
    size_t row, rows;    /* the first row, and how many */
    const char *step, *block;
};

static const struct step *find_step(const struct explanation *explanation, const char *name)
{
    for (size_t i = 0; i < explanation->step_count; i++)
        if (strcmp(explanation->steps[i].name, name) == 0)
            return &explanation->steps[i];
    return NULL;
}

/* The numbers of a block; `total`: of what stands below it. NULL: there is no such block. */
static const float *find_block(const struct step *step, const char *name, bool total)
{
    for (size_t i = 0; step && i < step->table.block_count; i++)
        if (strcmp(step->table.blocks[i].name, name) == 0)
            return total ? step->table.blocks[i].total : step->table.blocks[i].values;
    return NULL;
}

/* The name of the tensor that an input of q is: behind a norm, or in bare attention none. */
static enum site input_site(const struct config *config, enum site_part part, size_t layer)
{
    if (config->kind == MODEL_ATTENTION)
        return layer ? SITE_ATTN_OUT : SITE_EMBEDDING;
    if (config->norm_first)
        return part == PART_SOURCE ? SITE_ENC_LN_1 : part == PART_CROSS ? SITE_LN_CROSS : SITE_LN_1;
    if (part == PART_CROSS) /* self-attention's norm stands behind its sum */
        return SITE_LN_1;
    return part == PART_SOURCE ? SITE_ENC_RESID_PRE : SITE_RESID_PRE;
}

static int compare(struct traces *traces, const struct place *place, const float *found,
                   struct err *err)
{
    char name[SITE_NAME_BYTES];
    site_tensor_name(name, place->site, (int)place->layer);
    const struct golden_tensor *tensor = golden_find(traces->golden, name);
    bool bare = traces->viewer->model.config.kind == MODEL_ATTENTION;
    if (!tensor && bare)
        return 0; /* of the textbook's examples there are no more than what it prints */
    if (!tensor || !found)
        return err_set(err, "'%s': not in the %s", name, tensor ? "explanation" : "reference");
    size_t width = tensor->shape[tensor->rank - 1];
    size_t height = tensor->shape[tensor->rank - 2];
    size_t first = (place->slice * height + place->row) * width;
    for (size_t i = 0; i < place->rows * width; i++) {
        double number = (double)found[i];
        traces->numbers++;
        traces->worst = fmax(traces->worst, golden_error(tensor, first + i, number));
        if (!golden_agrees(tensor, first + i, number, &tolerance_fp32))
            return err_set(err, "'%s' head %zu row %zu: expected %.9g, found %.9g", name,
                           place->slice, place->row + i / width, tensor->values[first + i], number);
    }
    return 0;
}

/* Everything that has heads; keys and values are those of the head's group. */
static int compare_head(struct traces *traces, const struct explanation *e, struct err *err)
{
    const struct config *config = &traces->viewer->model.config;
    const struct step *query = find_step(e, "query");
    const float *shown = find_block(query, "q", false);
    const struct {
        enum site site;
        const float *found;
        bool of_keys;
    } rows[] = {
        {SITE_Q, shown ? shown : find_block(query, "W_q", true), false},
        {SITE_K, find_block(find_step(e, "scores"), "k", false), true},
        {SITE_SCORES, find_block(find_step(e, "scores"), "score", false), false},
        {SITE_MASKED, find_block(find_step(e, "weights"), "masked", false), false},
        {SITE_WEIGHTS, find_block(find_step(e, "weights"), "weight", false), false},
        {SITE_V, find_block(find_step(e, "values"), "v", false), true},
        {SITE_CONTEXT, find_block(find_step(e, "context"), "weighted", true), false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct place place = {.site = site_of(traces->part, rows[i].site),
                              .layer = e->layer,
                              .slice = e->head,
                              .row = e->query,
                              .rows = 1};
        if (rows[i].of_keys) {
            place.slice = e->head / (config->n_head / config->n_kv_head);
            place.row = 0;
            place.rows = e->key_count;
        }
        if (compare(traces, &place, rows[i].found, err))
            return -1;
    }
    return 0;
}

/* The last row of the first step is x; the total of the last is what the heads give together. */
static int compare_ends(struct traces *traces, const struct explanation *e, struct err *err)
{
    const struct config *config = &traces->viewer->model.config;
    const struct step *first = &e->steps[0];
    const struct step *last = &e->steps[e->step_count - 1];
    const struct block *input = &first->table.blocks[0];
    struct place x = {.site = input_site(config, traces->part, e->layer),
                      .layer = e->layer - (config->kind == MODEL_ATTENTION && e->layer),
                      .row = e->query,
                      .rows = 1};
    struct place out = x;
    out.site = site_of(traces->part, SITE_ATTN_OUT);
    out.layer = e->layer;
    if (compare(traces, &x, input->values + (first->table.row_count - 1) * input->stride, err))
        return -1;
    return config->out_proj ? compare(traces, &out, find_block(last, "share", true), err) : 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int trace(struct traces *traces, const struct explain_request *request, struct err *err)
{
    struct arena arena = {0};
    struct explanation explanation;
    int failed =
        explanation_make(&explanation, traces->viewer, traces->pair, request, &arena, err) ||
        compare_head(traces, &explanation, err) || compare_ends(traces, &explanation, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int walk_all(struct traces *traces, struct err *err)
{
    const struct config *config = &traces->viewer->model.config;
    bool in_encoder = traces->part == PART_SOURCE;
    size_t layers = in_encoder ? config->n_encoder_layer : config->n_layer;
    size_t queries = in_encoder ? traces->pair->source.count : traces->pair->sentence.count;
    struct explain_request request = {.query_count = 1, .part = traces->part, .digits = 4};
    for (request.layer = 0; request.layer < layers; request.layer++)
        for (request.head = 0; request.head < config->n_head; request.head++)
            for (request.query = 0; request.query < queries; request.query++)
                if (trace(traces, &request, err))
                    return err_prefix(err, "query %zu", request.query);
    return traces->numbers ? 0 : err_set(err, "nothing to compare");
}

/* The golden texts as a subject: by their ids. */
static int read_ids(struct input *input, const uint32_t *ids, size_t count, struct buf *text,
                    struct err *err)
{
    for (size_t i = 0; i < count; i++)
        buf_format(text, "%s%u", i ? "," : "", ids[i]);
    *input = (struct input){.ids = text->bytes};
    return buf_check(text, err);
}

static int read_subject(struct text_pair *pair, const struct viewer *viewer,
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
    const char *name = attention_parts[config->n_encoder_layer ? traces->part : PART_SENTENCE].name;
    if (!walk_all(traces, &err))
        printf("walk of %s: %s, %zu numbers, off by %.1e at most\n", traces->golden->folder, name,
               traces->numbers, traces->worst);
    tally_judge(tally, traces->golden->folder, name, &err);
}

void walk_check(struct tally *tally, const struct golden *golden)
{
    static const enum site_part parts[] = {PART_SENTENCE, PART_CROSS, PART_SOURCE};
    static struct err err;
    struct viewer viewer;
    struct text_pair pair;
    struct arena arena = {0};
    if (viewer_open(&viewer, golden->model, 1, &err)) {
        tally_judge(tally, golden->folder, "walk", &err);
        return;
    }
    size_t count = viewer.model.config.n_encoder_layer ? sizeof parts / sizeof *parts : 1;
    if (viewer.model.config.family)
        count = 0; /* which explain refuses */
    if (read_subject(&pair, &viewer, golden, &arena, &err))
        tally_judge(tally, golden->folder, "walk", &err);
    else
        for (size_t i = 0; i < count; i++)
            check_part(tally, &(struct traces){golden, &viewer, &pair, parts[i], 0, 0});
    arena_release(&arena);
    viewer_release(&viewer);
}
