#include "live/growing.h"

#include <stdlib.h>
#include <string.h>

#include "model/layer.h"

enum { ADDED_MOST = 1000 }; /* tokens that a page adds to a text */

void growing_release(struct growing *growing)
{
    continuation_release(&growing->text);
    arena_release(&growing->arena);
    arena_release(&growing->read);
    *growing = (struct growing){0};
}

int growing_begin(struct text_with_source *pair, const struct viewer *viewer,
                  const struct live_request *request, struct arena *arena, struct err *err)
{
    const bool has_source = has_encoder(&viewer->model.config);
    const struct input input = {.text = request->text, .size = request->size};
    if (viewer_read(viewer, pair, has_source ? NULL : &input, has_source ? &input : NULL, arena,
                    err))
        return -1;
    if (has_source) { /* a decoder's prompt has no end token */
        pair->sentence.count -= pair->sentence.added_after;
        pair->sentence.added_after = 0;
    }
    return 0;
}

static const char *edits_of(const struct live_request *request)
{
    return request->edits ? request->edits : "";
}

static int begin(struct growing *growing, struct viewer *viewer, const struct live_request *request,
                 struct err *err)
{
    static const struct generation_config usual = {
        .tokens = ADDED_MOST, .sampling = {.top_p = 1}, .beams = 1};
    struct arena *arena = &growing->arena;
    struct live_request *of = &growing->of;
    *of = *request;
    of->text = arena_text(arena, request->text, request->size, err);
    of->edits = arena_text(arena, edits_of(request), strlen(edits_of(request)), err);
    if (!of->text || !of->edits || growing_begin(&growing->pair, viewer, of, arena, err) ||
        continuation_prepare(viewer, &usual, 1, err))
        return -1;
    viewer_expect(viewer, EXPECT_STEPS, 0); /* no copy of the unembedding */
    return continuation_open(&growing->text, viewer, &growing->pair, &usual, err);
}

static bool is_same(const struct live_request *one, const struct live_request *other)
{
    return one->size == other->size && memcmp(one->text, other->text, one->size) == 0 &&
           strcmp(edits_of(one), edits_of(other)) == 0 && one->temperature == other->temperature;
}

int growing_take(struct growing *growing, struct viewer *viewer, const struct live_request *request,
                 struct err *err)
{
    struct continuation *text = &growing->text;
    if (!text->viewer || !is_same(&growing->of, request)) {
        growing_release(growing);
        if (begin(growing, viewer, request, err)) {
            growing_release(growing);
            return -1;
        }
    }
    size_t at = text->prompt_count;
    char *end = NULL;
    for (const char *list = request->added ? request->added : ""; *list;
         list = *end ? end + 1 : end, at++) {
        size_t id = strtoul(list, &end, 10);
        if (at < text->count && text->ids[at] == id)
            continue;
        if (end == list || id >= viewer->model.config.vocab_size || at == text->capacity)
            return err_usage(err, "expected up to %zu ids below %zu to be added, found '%s'",
                             text->capacity - text->prompt_count, viewer->model.config.vocab_size,
                             request->added);
        growing->logits = NULL;
        if (at < text->count)
            continuation_cut(text, at);
        if (continuation_add(text, (uint32_t)id, err))
            return -1;
    }
    if (at < text->count) {
        growing->logits = NULL;
        continuation_cut(text, at);
    }
    return 0;
}

/* Copy logits; add the weights of the last row of each head. */
static int take_numbers(void *context, const struct announcement *announced, struct err *err)
{
    struct growing *growing = context;
    const struct tensor *values = &announced->values;
    float *copy = arena_room(&growing->read, tensor_count(values), sizeof *copy, err);
    if (!copy)
        return -1;
    tensor_copy(copy, values);
    if (announced->site == SITE_LOGITS) {
        growing->logits = copy;
        return 0;
    }
    float *sums = growing->weights[site_part(announced->site) == PART_CROSS];
    const size_t heads = values->shape[0], rows = values->shape[1], keys = values->shape[2];
    for (size_t head = 0; head < heads; head++)
        for (size_t key = 0; key < keys; key++)
            sums[key] += copy[(head * rows + rows - 1) * keys + key];
    return 0;
}

int growing_read(struct growing *growing, struct err *err)
{
    static const enum site_part parts[] = {PART_SENTENCE, PART_CROSS};
    struct continuation *text = &growing->text;
    const size_t counts[] = {text->count, text->source->count};
    const struct config *config = &text->viewer->model.config;
    struct selection selection = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    const struct tap tap = {.sink = take_numbers, .context = growing};
    if (growing->logits)
        return 0;
    arena_clear(&growing->read);
    continuation_forget(text, text->count - 1);
    if (text->cache.count + 1 < text->count &&
        continuation_run(text, text->count - 1, NULL, tap, err))
        return -1;
    for (size_t i = 0; i < 2; i++) {
        enum site weights = SITE_OF(parts[i], SITE_WEIGHTS);
        growing->weights[i] = NULL;
        if (!site_exists(config, weights))
            continue;
        site_set_add(&selection.sites, weights);
        growing->weights[i] = arena_alloc(&growing->read, counts[i], sizeof(float), err);
        if (!growing->weights[i])
            return -1;
    }
    return err_if(selection_layers(&selection, NULL, config, &growing->read, err) ||
                  continuation_run(text, text->count, &selection, tap, err));
}

const float *growing_edited(struct growing *growing, struct err *err)
{
    struct continuation *text = &growing->text;
    continuation_forget(text, text->count - 1);
    int failed = continuation_run(text, text->count, NULL, (struct tap){0}, err);
    continuation_forget(text, text->count - 1); /* its keys and values are edited, too */
    return failed ? NULL : text->logits;
}
