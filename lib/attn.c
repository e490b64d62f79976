#include "attn.h"

#include <stdio.h>

#include "base/heap.h"
#include "lens/edit_list.h"
#include "lens/selection.h"
#include "lens/viewer.h"
#include "measure/token_scores.h"

struct attn_model {
    struct viewer viewer;
};

/* Hand an inner error to the outside; returns -1. */
static int give(struct attn_error *error, const struct err *err)
{
    if (!error)
        return -1;
    error->status = (int)err->kind;
    snprintf(error->text, sizeof error->text, "%.*s", ATTN_ERROR_BYTES - 1, err->text);
    return -1;
}

struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error)
{
    struct err err = {0};
    struct attn_model *model = heap_alloc(1, sizeof *model, &err);
    if (!model || viewer_open(&model->viewer, name ? name : bundled_default, threads, &err)) {
        give(error, &err);
        heap_free(model);
        return NULL;
    }
    return model;
}

void attn_close(struct attn_model *model)
{
    if (model)
        viewer_release(&model->viewer);
    heap_free(model);
}

static int copy_ids(struct attn_ids *ids, const struct tokenized *tokenized, struct err *err)
{
    ids->count = tokenized->count;
    ids->ids = heap_alloc(ids->count, sizeof *ids->ids, err);
    ids->starts = heap_alloc(ids->count, sizeof *ids->starts, err);
    ids->ends = heap_alloc(ids->count, sizeof *ids->ends, err);
    if (!ids->ids || !ids->starts || !ids->ends)
        return -1;
    for (size_t i = 0; i < ids->count; i++) {
        ids->ids[i] = tokenized->tokens[i].id;
        ids->starts[i] = tokenized->tokens[i].start;
        ids->ends[i] = tokenized->tokens[i].end;
    }
    return 0;
}

/* A caller that did not look at what failed before comes here with NULL. */
static int check_given(const void *given, const char *thing, struct err *err)
{
    return given ? 0 : err_usage(err, "expected %s, found NULL", thing);
}

static int check_ids(const struct attn_ids *ids, const char *thing, struct err *err)
{
    if (check_given(ids, thing, err))
        return -1;
    return !ids->count || ids->ids
               ? 0
               : err_usage(err, "%s: expected %zu numbers, found NULL", thing, ids->count);
}

int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error)
{
    struct err err = {0};
    struct arena arena = {0};
    struct text_pair pair;
    struct input input = {.text = text ? text : "", .size = text ? size : 0};
    if (ids)
        *ids = (struct attn_ids){0};
    if (check_given(model, "a model", &err) || check_given(ids, "room for ids", &err))
        return give(error, &err);
    int failed = viewer_read(&model->viewer, &pair, &input, NULL, &arena, &err) ||
                 copy_ids(ids, &pair.sentence, &err);
    arena_release(&arena);
    if (!failed)
        return 0;
    attn_ids_free(ids);
    return give(error, &err);
}

void attn_ids_free(struct attn_ids *ids)
{
    if (!ids)
        return;
    heap_free(ids->ids);
    heap_free(ids->starts);
    heap_free(ids->ends);
    *ids = (struct attn_ids){0};
}

/* The caller's sink in the dress of ours. */
static int pass_on(void *context, const struct announcement *seen, struct err *err)
{
    const struct attn_request *request = context;
    char name[SITE_NAME_BYTES];
    struct attn_tensor tensor = {
        .name = site_tensor_name(name, seen->site, seen->layer),
        .layer = seen->layer,
        .data = seen->values.data,
        .rank = seen->values.rank,
    };
    for (size_t axis = 0; axis < tensor.rank; axis++) {
        tensor.shape[axis] = seen->values.shape[axis];
        tensor.stride[axis] = seen->values.stride[axis];
    }
    if (request->sink(request->context, &tensor))
        return err_set(err, "'%s': the sink ended the pass", name);
    return 0;
}

static int check_run(const struct attn_model *model, const struct attn_ids *ids,
                     const struct attn_request *request, struct err *err)
{
    if (check_given(model, "a model", err) || check_ids(ids, "ids", err) ||
        check_given(request, "a request", err))
        return -1;
    if (!request->sink)
        return err_usage(err, "expected a sink, found NULL");
    return request->source ? check_ids(request->source, "ids of the source", err) : 0;
}

static int read_edits(struct edit_list *list, const char *text, struct err *err)
{
    if (!text)
        return 0;
    if (edit_list_add(list, EDIT_WORDS, text, err))
        return -1;
    if (list->origins & ~(1u << EDIT_NUMBER))
        return err_usage(err, "edits: expected numbers or files, found values of other texts");
    return 0;
}

/* Run what was checked. */
static int run_request(struct attn_model *model, const struct attn_ids *ids,
                       const struct attn_request *request, struct err *err)
{
    struct viewer *viewer = &model->viewer;
    const struct config *config = &viewer->model.config;
    const char *show = request->show ? request->show : site_rows[SITE_WEIGHTS].name;
    struct selection selection = {0};
    struct text text = {.ids = ids->ids, .count = ids->count};
    struct text_list one = {.items = &text, .count = 1};
    struct attn_request copy = *request;
    struct edit_list list = {.config = config, .arena = &viewer->scratch};
    struct tap tap = {.sink = pass_on, .context = &copy};
    if (request->source) {
        text.source_ids = request->source->ids;
        text.source_count = request->source->count;
    }
    arena_clear(&viewer->scratch);
    if (selection_sites(&selection, show, config, err) ||
        selection_layers(&selection, request->layers, config, &viewer->scratch, err) ||
        read_edits(&list, request->edits, err))
        return -1;
    viewer->edits = list.edits.count ? &list.edits : NULL;
    int failed = viewer_run(viewer, &selection, &one, tap, err);
    viewer->edits = NULL;
    return failed;
}

int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error)
{
    struct err err = {0};
    int failed = check_run(model, ids, request, &err) || run_request(model, ids, request, &err);
    return failed ? give(error, &err) : 0;
}

static int check_score(const struct attn_model *model, const struct attn_ids *ids,
                       const float *logprobs, struct err *err)
{
    return check_given(model, "a model", err) || check_ids(ids, "ids", err) ||
                   check_given(logprobs, "room for log-probabilities", err) ||
                   batch_check_length(&model->viewer.model.config, ids->count, err)
               ? -1
               : 0;
}

static int score_ids(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
                     struct arena *arena, struct err *err)
{
    struct scored scored;
    struct scoring scoring = {.viewer = &model->viewer};
    struct text_pair pair = {.sentence = {.ids = ids->ids, .count = ids->count}};
    struct look look = {.pairs = &pair, .count = 1};
    arena_clear(&model->viewer.scratch);
    if (scoring_check(&scoring, err) || scoring_run(&scored, &scoring, &look, arena, err))
        return -1;
    for (size_t i = 0; i < ids->count; i++)
        logprobs[i] = scored.tokens[i].logprob;
    return 0;
}

int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error)
{
    struct err err = {0};
    struct arena arena = {0};
    int failed =
        check_score(model, ids, logprobs, &err) || score_ids(model, ids, logprobs, &arena, &err);
    arena_release(&arena);
    return failed ? give(error, &err) : 0;
}
