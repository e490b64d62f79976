#include "attn.h"

#include <float.h>
#include <string.h>

#include "base/heap.h"
#include "base/host_call.h"
#include "base/mapping_list.h"
#include "lens/edits.h"
#include "measure/token_scores.h"
#include "model/cache.h"
#include "text/label.h"

struct attn_model {
    struct host_object object;
    struct viewer viewer;
    size_t runs, packing_bytes;
    char name[]; /* a copy of the caller's, for messages */
};

struct attn_cache {
    struct host_object object;
    struct attn_model *model;
    struct cache cache;
};

/* Copy an error, as one visible line of UTF-8, unless `error` is NULL. Returns -1. */
static int give_error(struct attn_error *error, const struct err *err)
{
    if (error) {
        error->status = (int)err->kind;
        label_fill(error->text, sizeof error->text, err->text);
    }
    return -1;
}

/* Callers who ignored an earlier failure have NULL. */
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

/* Every call that runs the model or its tokenizer is between begin_call and end_call. */
static int begin_call(struct host_call *call, const struct attn_model *model, struct err *err)
{
    return err_if(check_given(model, "a model", err) ||
                  host_call_begin(call, (struct host_object *)&model->object, err));
}

static int end_call(const struct host_call *call, int failed, struct err *err,
                    struct attn_error *error)
{
    return host_call_end(call, failed, err) ? give_error(error, err) : 0;
}

static void free_model(struct host_object *object)
{
    struct attn_model *model = (struct attn_model *)object;
    viewer_release(&model->viewer);
    heap_free(model);
}

struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    size_t size = strlen(name ? name : bundled_default) + 1;
    struct attn_model *model = heap_alloc(1, sizeof *model + size, &err);
    if (!model) {
        give_error(error, &err);
        return NULL;
    }
    memcpy(model->name, name ? name : bundled_default, size);
    model->packing_bytes = SIZE_MAX;
    host_object_init(&model->object, free_model);
    host_call_begin(&call, &model->object, &err);
    int failed = viewer_open(&model->viewer, model->name, threads, &err);
    if (!end_call(&call, failed, &err, error))
        return model;
    attn_close(model);
    return NULL;
}

void attn_close(struct attn_model *model)
{
    if (model)
        host_object_close(&model->object);
}

const char *attn_token_text(const struct attn_model *model, uint32_t id, size_t *size)
{
    size_t unused;
    size = size ? size : &unused;
    *size = 0;
    if (!model || !model->viewer.tokenizer)
        return NULL;
    return tokenizer_token(model->viewer.tokenizer, id, size);
}

struct attn_counts attn_count(const struct attn_model *model)
{
    static const struct config nothing;
    const struct config *c = model ? &model->viewer.model.config : &nothing;
    return (struct attn_counts){
        .layers = c->n_layer,
        .encoder_layers = c->n_encoder_layer,
        .heads = c->n_head,
        .kv_heads = c->n_kv_head,
        .channels = c->n_embd,
        .hidden_channels = c->n_inner,
        .key_channels = c->d_k,
        .value_channels = c->d_v,
        .vocabulary = c->vocab_size,
        .positions = c->n_positions,
    };
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

int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    struct arena arena = {0};
    struct text_pair pair;
    struct input input = {.text = text ? text : "", .size = text ? size : 0};
    if (ids)
        *ids = (struct attn_ids){0};
    if (check_given(ids, "a buffer for ids", &err) || begin_call(&call, model, &err))
        return give_error(error, &err);
    int failed = viewer_read(&model->viewer, &pair, &input, NULL, &arena, &err) ||
                 copy_ids(ids, &pair.sentence, &err);
    arena_release(&arena);
    failed = end_call(&call, failed, &err, error);
    if (failed)
        attn_ids_free(ids);
    return failed;
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

int attn_set_packing(struct attn_model *model, size_t bytes, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    if (begin_call(&call, model, &err))
        return give_error(error, &err);
    model->packing_bytes = bytes;
    return end_call(&call, 0, &err, error);
}

/* The second run packs weights: a program that runs one text would end before that pays. For one
 * token it never does. */
static void count_run(struct attn_model *model, size_t tokens)
{
    if (tokens > 1 && ++model->runs == 2)
        viewer_pack(&model->viewer, model->packing_bytes);
}

static int check_run(const struct attn_ids *ids, const struct attn_request *request,
                     struct err *err)
{
    if (check_ids(ids, "ids", err) || check_given(request, "a request", err))
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

static int read_mechanism(struct mechanism *mechanism, const struct attn_request *request,
                          const struct config *config, struct err *err)
{
    *mechanism = config->mechanism;
    if (request->attention && mechanism_set_attention(mechanism, request->attention, err))
        return -1;
    if (!(request->temperature >= 0) || request->temperature > FLT_MAX)
        return err_usage(err, "temperature: expected a number above 0, or 0 for none, found %g",
                         (double)request->temperature);
    mechanism->temperature = request->temperature == 1 ? 0 : request->temperature;
    return mechanism_check(mechanism, config, err);
}

static int read_selection(struct selection *selection, const struct attn_request *request,
                          struct viewer *viewer, struct err *err)
{
    const struct config *config = &viewer->model.config;
    const char *show = request->show ? request->show : site_rows[SITE_WEIGHTS].name;
    return err_if(selection_sites(selection, show, config, err) ||
                  selection_layers(selection, request->layers, config, &viewer->scratch, err) ||
                  selection_heads(selection, request->heads, config, &viewer->scratch, err));
}

/* A run with a sink of the caller. */
struct showing {
    struct attn_model *model;
    const struct attn_request *request;
    struct capture capture; /* holds one tensor at a time, where not all heads are selected */
    struct arena tensor;
};

static int pass_on(void *context, const struct announcement *seen, struct err *err)
{
    struct showing *showing = context;
    struct capture *capture = &showing->capture;
    struct kept_list *list = capture->lists;
    struct tensor values = seen->values;
    const size_t *heads = values.rank == 3 ? capture->all.items : NULL;
    char name[SITE_NAME_BYTES];
    if (mapping_list_check(&showing->model->object, err))
        return -1;
    if (heads && capture->selection->heads) {
        arena_clear(&showing->tensor);
        list->count = 0;
        if (capture_sink(capture, seen, err))
            return -1;
        heads = list->items->heads;
        values = tensor_dense(list->items->data, list->items->rank, list->items->shape);
    }
    struct attn_tensor tensor = {
        .name = site_tensor_name(name, seen->site, seen->layer),
        .layer = seen->layer,
        .data = values.data,
        .rank = values.rank,
        .heads = heads,
    };
    for (size_t axis = 0; axis < tensor.rank; axis++) {
        tensor.shape[axis] = values.shape[axis];
        tensor.stride[axis] = values.stride[axis];
        tensor.axes[axis] = site_axis_name(seen->site, axis);
    }
    if (showing->request->sink(showing->request->context, &tensor))
        return err_set(err, "'%s': the sink ended the pass", name);
    return 0;
}

/* Run checked ids, after those in a cache if there is one, and pass on the selected tensors. The
 * request's attention pattern and edits apply to this run only. */
static int run_request(struct attn_model *model, const struct attn_ids *ids,
                       const struct attn_request *request, struct cache *cache, struct err *err)
{
    struct viewer *viewer = &model->viewer;
    struct config *config = &viewer->model.config;
    const struct mechanism own = config->mechanism;
    struct mechanism asked;
    struct selection selection = {0};
    struct edit_list list = {.config = config, .arena = &viewer->scratch};
    struct showing showing = {.model = model, .request = request};
    struct tap tap = {.sink = pass_on, .context = &showing};
    struct text text = {.ids = ids->ids, .count = ids->count, .cache = cache};
    struct text_list one = {.items = &text, .count = 1};
    if (request->source) {
        text.source_ids = request->source->ids;
        text.source_count = request->source->count;
    }
    arena_clear(&viewer->scratch);
    if (read_mechanism(&asked, request, config, err) ||
        read_selection(&selection, request, viewer, err) || read_edits(&list, request->edits, err))
        return -1;
    if (cache && selection.sites >> SITE_COUNT)
        return err_unsupported(err,
                               "a step: effective attention is not available while generating");
    if (capture_init(&showing.capture, &selection, config, 1, &viewer->scratch, err))
        return -1;
    showing.capture.arena = &showing.tensor;
    count_run(model, ids->count);
    viewer->edits = list.edits.count ? &list.edits : NULL;
    config->mechanism = asked;
    int failed = viewer_run(viewer, &selection, &one, tap, err);
    config->mechanism = own;
    viewer->edits = NULL;
    arena_release(&showing.tensor);
    return failed;
}

int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    if (begin_call(&call, model, &err))
        return give_error(error, &err);
    int failed = check_run(ids, request, &err) || run_request(model, ids, request, NULL, &err);
    return end_call(&call, failed, &err, error);
}

static int score_ids(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
                     struct arena *arena, struct err *err)
{
    struct scored scored;
    struct scoring scoring = {.viewer = &model->viewer};
    if (check_ids(ids, "ids", err) ||
        check_given(logprobs, "a buffer for log-probabilities", err) ||
        batch_check_ids(&model->viewer.model.config, ids->ids, ids->count, 0, err))
        return -1;
    struct text_pair pair = {.sentence = {.ids = ids->ids, .count = ids->count}};
    struct look look = {.pairs = &pair, .count = 1};
    arena_clear(&model->viewer.scratch);
    if (scoring_check(&scoring, err))
        return -1;
    count_run(model, ids->count);
    if (scoring_run(&scored, &scoring, &look, arena, err))
        return -1;
    for (size_t i = 0; i < ids->count; i++)
        logprobs[i] = scored.tokens[i].logprob;
    return 0;
}

int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    struct arena arena = {0};
    if (begin_call(&call, model, &err))
        return give_error(error, &err);
    int failed = score_ids(model, ids, logprobs, &arena, &err);
    arena_release(&arena);
    return end_call(&call, failed, &err, error);
}

/* --- cached steps ------------------------------------------------------------------------- */

static void free_cache(struct host_object *object)
{
    struct attn_cache *cache = (struct attn_cache *)object;
    cache_release(&cache->cache);
    host_object_drop(&cache->model->object);
    heap_free(cache);
}

static struct attn_cache *open_cache(struct attn_model *model, struct err *err)
{
    const struct model *opened = &model->viewer.model;
    if (opened->config.cross) {
        err_unsupported(err, "'%s': a model with cross-attention cannot be run step by step",
                        opened->name);
        return NULL;
    }
    struct attn_cache *cache = heap_alloc(1, sizeof *cache, err);
    if (!cache)
        return NULL;
    if (cache_init(&cache->cache, &opened->config, err)) {
        heap_free(cache);
        err_prefix(err, "'%s'", opened->name);
        return NULL;
    }
    cache->model = model;
    host_object_init(&cache->object, free_cache);
    host_object_hold(&model->object);
    return cache;
}

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    if (begin_call(&call, model, &err)) {
        give_error(error, &err);
        return NULL;
    }
    struct attn_cache *cache = open_cache(model, &err);
    if (!end_call(&call, cache ? 0 : -1, &err, error))
        return cache;
    attn_cache_close(cache);
    return NULL;
}

void attn_cache_close(struct attn_cache *cache)
{
    if (cache)
        host_object_close(&cache->object);
}

size_t attn_cache_count(const struct attn_cache *cache)
{
    return cache ? cache->cache.count : 0;
}

static int check_step(const struct attn_cache *cache, const struct attn_ids *ids,
                      const struct attn_request *request, struct err *err)
{
    if (check_run(ids, request, err))
        return -1;
    if (request->source || request->edits || request->attention || request->temperature != 0)
        return err_usage(err, "a step does not support a source, edits, attention or temperature");
    const struct config *c = &cache->model->viewer.model.config;
    size_t past = cache->cache.count;
    if (past && (rotary_depends(&c->rotary, past, past + ids->count) ||
                 rotary_depends(&c->rotary_local, past, past + ids->count)))
        return err_unsupported(
            err,
            "a step: from %zu tokens on the rotary embedding differs from that of the %zu cached "
            "tokens: run the whole text",
            past + ids->count, past);
    return 0;
}

int attn_step(struct attn_cache *cache, const struct attn_ids *ids,
              const struct attn_request *request, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    if (check_given(cache, "a cache", &err) || begin_call(&call, cache->model, &err))
        return give_error(error, &err);
    size_t past = cache->cache.count;
    host_object_hold(&cache->object);
    int failed = check_step(cache, ids, request, &err) ||
                 run_request(cache->model, ids, request, &cache->cache, &err) ||
                 mapping_list_check(&cache->model->object, &err);
    if (failed && cache->cache.count > past) /* a file became shorter after the last tensor */
        cache_forget(&cache->cache, past);
    host_object_drop(&cache->object);
    return end_call(&call, failed, &err, error);
}
