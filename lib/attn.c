#include "attn_model.h"

#include "base/heap.h"
#include "text/label.h"

int give_error(struct attn_error *error, const struct err *err)
{
    if (!error)
        return -1;
    error->status = (int)err->kind;
    label_fill(error->text, sizeof error->text, err->text);
    return -1;
}

int check_given(const void *given, const char *thing, struct err *err)
{
    return given ? 0 : err_usage(err, "expected %s, found NULL", thing);
}

int begin_call(struct host_call *call, const struct attn_model *model, struct err *err)
{
    if (check_given(model, "a model", err))
        return -1;
    return host_call_begin(call, (struct host_object *)&model->object, err);
}

int end_call(const struct host_call *call, int failed, struct err *err, struct attn_error *error)
{
    return host_call_end(call, failed, err) ? give_error(error, err) : 0;
}

static int open_model(struct attn_model *model, const char *name, size_t threads, struct err *err)
{
    if (viewer_open(&model->viewer, name ? name : bundled_default, threads, err))
        return -1;
    size_t count = model->viewer.model.config.n_head;
    model->heads = arena_alloc(&model->numbers, count, sizeof *model->heads, err);
    for (size_t head = 0; model->heads && head < count; head++)
        model->heads[head] = head;
    return model->heads ? 0 : -1;
}

static void free_model(struct host_object *object)
{
    struct attn_model *model = (struct attn_model *)object;
    viewer_release(&model->viewer);
    arena_release(&model->numbers);
    heap_free(model);
}

struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error)
{
    struct err err = {0};
    struct host_call call;
    struct attn_model *model = heap_alloc(1, sizeof *model, &err);
    if (!model) {
        give_error(error, &err);
        return NULL;
    }
    host_object_init(&model->object, free_model);
    host_call_begin(&call, &model->object, &err);
    if (!end_call(&call, open_model(model, name, threads, &err), &err, error))
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

int check_ids(const struct attn_ids *ids, const char *thing, struct err *err)
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
    struct host_call call;
    struct arena arena = {0};
    struct text_pair pair;
    struct input input = {.text = text ? text : "", .size = text ? size : 0};
    if (ids)
        *ids = (struct attn_ids){0};
    if (check_given(ids, "room for ids", &err) || begin_call(&call, model, &err))
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
