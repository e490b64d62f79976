#include <float.h>

#include "attn_model.h"
#include "base/heap.h"
#include "base/mapping_list.h"
#include "lens/edits.h"
#include "lens/selection.h"
#include "measure/token_scores.h"
#include "model/cache.h"

/* A run as the caller's sink sees it. */
struct showing {
    const struct attn_model *model;
    const struct attn_request *request;
    const struct selection *selection;
    struct arena room; /* the tensor that is seen, where not all heads are */
};

/* The caller's sink in the dress of ours. */
static int pass_on(void *context, const struct announcement *seen, struct err *err)
{
    struct showing *showing = context;
    struct tensor values = seen->values;
    const size_t *heads = values.rank == 3 ? showing->model->heads : NULL;
    char name[SITE_NAME_BYTES];
    if (mapping_list_check(&showing->model->object, err))
        return -1;
    arena_clear(&showing->room);
    if (heads && showing->selection->heads &&
        selection_copy_heads(&values, &heads, showing->selection,
                             &showing->model->viewer.model.config, &showing->room, err))
        return -1;
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
    if (selection_sites(selection, show, config, err) ||
        selection_layers(selection, request->layers, config, &viewer->scratch, err))
        return -1;
    return selection_heads(selection, request->heads, config, &viewer->scratch, err);
}

/* Run a text, with what comes before it in its cache, and show what was chosen. */
static int show_text(struct attn_model *model, const struct text *text,
                     const struct attn_request *request, const struct selection *selection,
                     struct err *err)
{
    struct text_list one = {.items = text, .count = 1};
    struct showing showing = {model, request, selection, .room = {0}};
    struct tap tap = {.sink = pass_on, .context = &showing};
    int failed = viewer_run(&model->viewer, selection, &one, tap, err);
    arena_release(&showing.room);
    return failed;
}

/* Run what was checked, in the request's way to attend, which is the model's no longer than this.
 */
static int run_request(struct attn_model *model, const struct attn_ids *ids,
                       const struct attn_request *request, struct err *err)
{
    struct viewer *viewer = &model->viewer;
    struct config *config = &viewer->model.config;
    const struct mechanism own = config->mechanism;
    struct mechanism asked;
    struct selection selection = {0};
    struct text text = {.ids = ids->ids, .count = ids->count};
    struct edit_list list = {.config = config, .arena = &viewer->scratch};
    if (request->source) {
        text.source_ids = request->source->ids;
        text.source_count = request->source->count;
    }
    arena_clear(&viewer->scratch);
    if (read_mechanism(&asked, request, config, err) ||
        read_selection(&selection, request, viewer, err) || read_edits(&list, request->edits, err))
        return -1;
    viewer->edits = list.edits.count ? &list.edits : NULL;
    config->mechanism = asked;
    int failed = show_text(model, &text, request, &selection, err);
    config->mechanism = own;
    viewer->edits = NULL;
    return failed;
}

int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    if (begin_call(&call, model, &err))
        return give_error(error, &err);
    int failed = check_run(ids, request, &err) || run_request(model, ids, request, &err);
    return end_call(&call, failed, &err, error);
}

static int check_score(const struct attn_model *model, const struct attn_ids *ids,
                       const float *logprobs, struct err *err)
{
    if (check_ids(ids, "ids", err) || check_given(logprobs, "room for log-probabilities", err))
        return -1;
    return batch_check_length(&model->viewer.model.config, ids->count, err);
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
    struct host_call call;
    struct arena arena = {0};
    if (begin_call(&call, model, &err))
        return give_error(error, &err);
    int failed =
        check_score(model, ids, logprobs, &err) || score_ids(model, ids, logprobs, &arena, &err);
    arena_release(&arena);
    return end_call(&call, failed, &err, error);
}

/* --- a text that grows ------------------------------------------------------------------------ */

struct attn_cache {
    struct host_object object;
    struct attn_model *model;
    struct cache cache;
};

static void free_cache(struct host_object *object)
{
    struct attn_cache *cache = (struct attn_cache *)object;
    cache_release(&cache->cache);
    host_object_drop(&cache->model->object);
    heap_free(cache);
}

static int open_cache(struct attn_cache **cache, struct attn_model *model, struct err *err)
{
    const struct model *opened = &model->viewer.model;
    if (opened->config.cross)
        return err_unsupported(err, "'%s': a model that looks at a source is run as a whole",
                               opened->name);
    struct attn_cache *made = heap_alloc(1, sizeof *made, err);
    if (!made)
        return -1;
    if (cache_init(&made->cache, &opened->config, err)) {
        heap_free(made);
        return err_prefix(err, "'%s'", opened->name);
    }
    made->model = model;
    host_object_init(&made->object, free_cache);
    host_object_hold(&model->object);
    *cache = made;
    return 0;
}

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    struct attn_cache *cache = NULL;
    if (begin_call(&call, model, &err))
        give_error(error, &err);
    else if (end_call(&call, open_cache(&cache, model, &err), &err, error)) {
        attn_cache_close(cache);
        cache = NULL;
    }
    return cache;
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
        return err_usage(err, "a step: expected no source, edits, attention or temperature");
    const struct config *c = &cache->model->viewer.model.config;
    size_t past = cache->cache.count;
    if (past && (rotary_depends(&c->rotary, past, past + ids->count) ||
                 rotary_depends(&c->rotary_local, past, past + ids->count)))
        return err_unsupported(err,
                               "a step: from %zu tokens on the model turns all in another way than "
                               "it turned %zu; run the whole text",
                               past + ids->count, past);
    return 0;
}

static int run_step(struct attn_cache *cache, const struct attn_ids *ids,
                    const struct attn_request *request, struct err *err)
{
    struct viewer *viewer = &cache->model->viewer;
    struct selection selection = {0};
    struct text text = {.ids = ids->ids, .count = ids->count, .cache = &cache->cache};
    arena_clear(&viewer->scratch);
    if (read_selection(&selection, request, viewer, err))
        return -1;
    if (selection.sites >> SITE_COUNT)
        return err_unsupported(err, "a step: effective attention is made of whole texts");
    return show_text(cache->model, &text, request, &selection, err);
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
    int failed = check_step(cache, ids, request, &err) || run_step(cache, ids, request, &err) ||
                 mapping_list_check(&cache->model->object, &err);
    if (failed && cache->cache.count > past) /* a file became shorter after the last tensor */
        cache_forget(&cache->cache, past);
    host_object_drop(&cache->object);
    return end_call(&call, failed, &err, error);
}
