#include "measure/trials.h"

#include <math.h>

#include "measure/logit_lens.h"
#include "model/layer.h"
#include "model/points.h"

/* --- arrows ----------------------------------------------------------------------------------- */

bool arrow_can_be_cut(const struct config *config, enum site_branch branch)
{
    return config->mechanism.kind == ATTENTION_DENSE && branch != BRANCH_MIXER &&
           site_exists(config, SITE_OF(branch, SITE_MASKED));
}

static struct edit_range one_index(size_t index)
{
    return (struct edit_range){(ptrdiff_t)index, (ptrdiff_t)index};
}

struct arrow_cut arrow_cut(enum site_branch branch, size_t query, size_t key)
{
    return (struct arrow_cut){.edit = {.site = SITE_OF(branch, SITE_MASKED), .op = EDIT_FORBID},
                              .query = one_index(query),
                              .key = one_index(key)};
}

const struct edit *arrow_edit(struct arrow_cut *cut)
{
    cut->edit.tokens = (struct edit_indices){&cut->query, 1};
    cut->edit.columns = (struct edit_indices){&cut->key, 1};
    cut->edit.layers = (struct edit_indices){&cut->layer, cut->in_head};
    cut->edit.heads = (struct edit_indices){&cut->head, cut->in_head};
    return &cut->edit;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* True if a cache can hold the tokens before the position: the model supports a cache and predicts
 * tokens, and the viewer has no edits. */
static bool can_cache(const struct viewer *viewer)
{
    const struct config *config = &viewer->model.config;
    struct cache cache;
    struct err none = {0};
    bool refused = cache_init(&cache, config, &none);
    err_clear(&none);
    return !refused && !viewer->edits && !config_classifies(config) &&
           site_exists(config, SITE_LOGITS);
}

void trial_open(struct trial *trial, struct viewer *viewer, const struct text_with_source *pair,
                size_t position)
{
    const struct config *config = &viewer->model.config;
    struct err none = {0};
    *trial = (struct trial){
        .viewer = viewer, .pair = pair, .position = position, .is_cached = can_cache(viewer)};
    if (!trial->is_cached)
        return;
    cache_init(&trial->cache, config, &none); /* does not fail: can_cache has tried it */
    if (has_encoder(config))
        cache_init_source(&trial->source_cache, config);
}

void trial_close(struct trial *trial)
{
    if (trial->is_cached)
        cache_release(&trial->cache);
    if (trial->is_cached && has_encoder(&trial->viewer->model.config))
        cache_release(&trial->source_cache);
    arena_release(&trial->arena);
}

size_t trial_tokens(const struct trial *trial)
{
    return trial->is_cached ? 1 : trial->pair->text.count + trial->pair->source.count;
}

/* Context of read_logits. */
struct reading {
    struct tried *found;
    long long target;
    struct arena *arena;
};

static int read_logits(void *context, const struct announcement *announced, struct err *err)
{
    const struct reading *reading = context;
    const size_t count = tensor_count(&announced->values);
    float *logits = arena_room(reading->arena, count, sizeof *logits, err);
    if (!logits)
        return -1;
    tensor_copy(logits, &announced->values);
    const double sum = logsumexp(logits, count);
    struct tried *found = reading->found;
    topk(&found->best, 1, logits, count, sum);
    const size_t target = reading->target < 0 ? found->best.id : (size_t)reading->target;
    found->target = (float)((double)logits[target] - sum);
    return 0;
}

/* Run the tokens from the first that is not in the cache to token `end` - 1, and read the logits of
 * the last one. */
static int run_cached(struct tried *found, struct trial *trial, size_t end, long long target,
                      struct err *err)
{
    const struct selection logits = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    struct reading reading = {found, target, &trial->arena};
    const struct tap tap = {.sink = read_logits, .context = &reading};
    const size_t past = trial->cache.count;
    struct text text = viewer_text(trial->pair);
    const struct text_list texts = {.items = &text, .count = 1};
    text.ids += past;
    text.segments = text.segments ? text.segments + past : NULL;
    text.whole_count = text.count;
    text.count = end - past;
    text.prompt_count = 0;
    text.grows = false;
    text.cache = &trial->cache;
    text.source_cache = has_encoder(&trial->viewer->model.config) ? &trial->source_cache : NULL;
    return viewer_run(trial->viewer, &logits, &texts, tap, err);
}

/* Make the cache hold exactly the tokens before the position. The state of a mixer can only return
 * to the start of the last pass; for an earlier position, all tokens run again. */
static int fill_cache(struct trial *trial, struct err *err)
{
    struct cache *cache = &trial->cache;
    const size_t before = trial->position;
    struct tried unused;
    if (cache->count > before)
        cache_forget(cache, !cache->mixed || cache->before == before ? before : 0);
    return cache->count < before ? run_cached(&unused, trial, before, -1, err) : 0;
}

/* Run the text without a cache. */
static int run_whole(struct tried *found, struct trial *trial, long long target, struct err *err)
{
    const struct config *config = &trial->viewer->model.config;
    const size_t last = config->n_layer - 1;
    const struct lens_plan plan = {.viewer = trial->viewer,
                                   .site = site_of_output(config),
                                   .layers = {&last, 1},
                                   .best_count = 1,
                                   .target = target,
                                   .against = -1,
                                   .of_one = true,
                                   .position = trial->position,
                                   .is_brief = true};
    struct logit_lens lens;
    if (lens_capture(&lens, &plan, trial->pair, &trial->arena, err))
        return -1;
    found->best = *lens.cells->best;
    found->target = target < 0 ? found->best.logprob : lens.cells->target;
    return 0;
}

int trial_run(struct tried *found, struct trial *trial, const struct edit *edit, long long target,
              struct err *err)
{
    struct viewer *viewer = trial->viewer;
    const struct edits *before = viewer->edits;
    const size_t count = before ? before->count : 0;
    const bool in_row = !edit || edit->tokens.count; /* no tokens: all rows are edited */
    arena_clear(&trial->arena);
    struct edit *items = arena_room(&trial->arena, count + 1, sizeof *items, err);
    struct edits edits = before ? *before : (struct edits){0};
    if (!items || (trial->is_cached && in_row && fill_cache(trial, err)))
        return -1;
    for (size_t i = 0; i < count; i++)
        items[i] = before->items[i];
    if (edit) {
        items[count] = *edit;
        edits.items = items;
        edits.count = count + 1;
        viewer->edits = &edits;
    }
    int failed = trial->is_cached && in_row
                     ? run_cached(found, trial, trial->position + 1, target, err)
                     : run_whole(found, trial, target, err);
    viewer->edits = before;
    return failed;
}

void trial_add_memory(struct memory *memory, struct viewer *viewer,
                      const struct text_with_source *pair)
{
    const struct config *config = &viewer->model.config;
    const size_t last = config->n_layer - 1;
    const struct lens_plan plan = {
        .viewer = viewer, .site = site_of_output(config), .layers = {&last, 1}, .best_count = 1};
    struct memory whole = {0};
    lens_add_memory(&whole, &plan, pair);
    if (can_cache(viewer))
        whole.during += (double)cache_bytes(config, viewer->model.weights.precision,
                                            pair->text.count + pair->source.count);
    memory->during = fmax(memory->during, whole.held + whole.during);
}
