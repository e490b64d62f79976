#include "attn.h"

#include <float.h>
#include <stdio.h>

#include "base/heap.h"
#include "lens/edit_list.h"
#include "lens/selection.h"
#include "lens/viewer.h"
#include "measure/token_scores.h"
#include "model/cache.h"

struct attn_model {
    struct viewer viewer;
    struct arena numbers; /* of heads */
    size_t *heads;        /* [n_head] 0, 1, 2 … */
};

struct attn_cache {
    struct attn_model *model;
    struct cache cache;
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
    size_t count = model->viewer.model.config.n_head;
    model->heads = arena_alloc(&model->numbers, count, sizeof *model->heads, &err);
    if (!model->heads) {
        give(error, &err);
        attn_close(model);
        return NULL;
    }
    for (size_t head = 0; head < count; head++)
        model->heads[head] = head;
    return model;
}

void attn_close(struct attn_model *model)
{
    if (!model)
        return;
    viewer_release(&model->viewer);
    arena_release(&model->numbers);
    heap_free(model);
}

const char *attn_token_text(const struct attn_model *model, uint32_t id, size_t *size)
{
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

/* A run as the caller's sink sees it. */
struct showing {
    const struct attn_request *request;
    const struct config *config;
    const size_t *numbers;             /* of all heads */
    const struct selection *selection; /* which of them */
    struct arena room;                 /* the tensor that is seen, where not all heads are */
};

/* The caller's sink in the dress of ours. */
static int pass_on(void *context, const struct announcement *seen, struct err *err)
{
    struct showing *showing = context;
    struct tensor values = seen->values;
    const size_t *heads = values.rank == 3 ? showing->numbers : NULL;
    char name[SITE_NAME_BYTES];
    arena_clear(&showing->room);
    if (heads && showing->selection->heads &&
        selection_copy_heads(&values, &heads, showing->selection, showing->config, &showing->room,
                             err))
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
    struct showing showing = {request, &model->viewer.model.config, model->heads, selection,
                              .room = {0}};
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
    int failed = check_run(model, ids, request, &err) || run_request(model, ids, request, &err);
    return failed ? give(error, &err) : 0;
}

static int check_score(const struct attn_model *model, const struct attn_ids *ids,
                       const float *logprobs, struct err *err)
{
    if (check_given(model, "a model", err) || check_ids(ids, "ids", err) ||
        check_given(logprobs, "room for log-probabilities", err))
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
    struct arena arena = {0};
    int failed =
        check_score(model, ids, logprobs, &err) || score_ids(model, ids, logprobs, &arena, &err);
    arena_release(&arena);
    return failed ? give(error, &err) : 0;
}

/* --- a text that grows ------------------------------------------------------------------------ */

struct attn_cache *attn_cache_open(struct attn_model *model, struct attn_error *error)
{
    struct err err = {0};
    struct attn_cache *cache = NULL;
    if (!check_given(model, "a model", &err))
        cache = heap_alloc(1, sizeof *cache, &err);
    if (cache) {
        const struct model *opened = &model->viewer.model;
        cache->model = model;
        if (cache_init(&cache->cache, &opened->config, &err)) {
            err_prefix(&err, "'%s'", opened->name);
        } else if (!opened->config.cross) {
            return cache;
        } else {
            err_unsupported(&err, "'%s': a model that looks at a source is run as a whole",
                            opened->name);
            cache_release(&cache->cache);
        }
    }
    heap_free(cache);
    give(error, &err);
    return NULL;
}

void attn_cache_close(struct attn_cache *cache)
{
    if (!cache)
        return;
    cache_release(&cache->cache);
    heap_free(cache);
}

size_t attn_cache_count(const struct attn_cache *cache)
{
    return cache ? cache->cache.count : 0;
}

static int check_step(const struct attn_cache *cache, const struct attn_ids *ids,
                      const struct attn_request *request, struct err *err)
{
    if (check_given(cache, "a cache", err) || check_run(cache->model, ids, request, err))
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
    int failed = check_step(cache, ids, request, &err) || run_step(cache, ids, request, &err);
    return failed ? give(error, &err) : 0;
}
