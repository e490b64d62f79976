#include "lens/viewer.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "lens/effective.h"
#include "lens/visible.h"
#include "model/mechanism.h"

enum {
    TOKENS_WORTH_PACKING = 8192,
    TOKENS_WORTH_LITTLE_PACKING = 1024, /* of a narrow model: it gains more, panels being padded */
    NARROW_CHANNELS = 128,
    STEPS_WORTH_PACKING = 256,
    STEPS_WORTH_SCREENING = 8,
    WEIGHTS_WORTH_SCREENING = 1 << 20, /* fewer stay in a cache */
    FLOATS_AT_ONCE = 1 << 24,          /* of attention maps: 64 MiB */
};

/* What a model that is open takes besides. */
static int complete(struct viewer *viewer, size_t threads, struct err *err)
{
    const struct model *opened = &viewer->model;
    if (tokenizer_open_if_known(&viewer->tokenizer, &opened->folder, viewer->why, err) ||
        tokenizer_check_ids(viewer->tokenizer, &opened->folder, opened->config.vocab_size, err) ||
        machine_open(&viewer->machine, threads, err)) {
        viewer_release(viewer);
        return -1;
    }
    return 0;
}

int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err)
{
    *viewer = (struct viewer){0};
    return model_open(&viewer->model, model, err) ? -1 : complete(viewer, threads, err);
}

int viewer_open_folder(struct viewer *viewer, const struct folder *folder, size_t threads,
                       struct err *err)
{
    *viewer = (struct viewer){0};
    return model_open_folder(&viewer->model, folder, err) ? -1 : complete(viewer, threads, err);
}

void viewer_set_precision(struct viewer *viewer, enum precision precision)
{
    viewer->model.weights.precision = precision;
}

struct precision_words viewer_precision(const struct viewer *viewer)
{
    enum precision precision = viewer->model.weights.precision;
    struct precision_words words = {0};
    const char *name = precision_name(precision);
    if (precision == PRECISION_FP32)
        snprintf(words.text, sizeof words.text, "%s", name);
    else
        snprintf(words.text, sizeof words.text, "%s by %s", name,
                 pair_way_name(kernels_pair_way(viewer->machine.kernels)));
    return words;
}

int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err)
{
    if (mechanism_check(mechanism, &viewer->model.config, err))
        return -1;
    viewer->model.config.mechanism = *mechanism;
    return 0;
}

void viewer_expect(struct viewer *viewer, size_t tokens)
{
    bool narrow = viewer->model.config.n_embd <= NARROW_CHANNELS;
    size_t enough = narrow ? TOKENS_WORTH_LITTLE_PACKING : TOKENS_WORTH_PACKING;
    viewer->model.weights.packing = tokens >= enough;
}

void viewer_expect_steps(struct viewer *viewer, size_t steps)
{
    viewer->model.weights.packing_words = steps >= STEPS_WORTH_PACKING;
}

bool viewer_screens(const struct viewer *viewer, size_t steps)
{
    const struct model *model = &viewer->model;
    return model->weights.precision == PRECISION_FP32 && steps >= STEPS_WORTH_SCREENING &&
           model->config.vocab_size >= WEIGHTS_WORTH_SCREENING / model->config.n_embd;
}

void viewer_release(struct viewer *viewer)
{
    arena_release(&viewer->scratch);
    machine_release(&viewer->machine);
    tokenizer_free(viewer->tokenizer);
    model_release(&viewer->model);
    *viewer = (struct viewer){0};
}

int viewer_share(struct viewer *shared, const struct viewer *viewer, struct err *err)
{
    *shared = *viewer;
    shared->scratch = (struct arena){0};
    shared->machine = (struct machine){0};
    return weights_share(&shared->model.weights, &viewer->model.weights, &shared->model.config,
                         err) ||
                   machine_open(&shared->machine, 1, err)
               ? -1
               : 0;
}

void viewer_release_shared(struct viewer *shared)
{
    arena_release(&shared->scratch);
    machine_release(&shared->machine);
    weights_release_shared(&shared->model.weights);
    *shared = (struct viewer){0};
}

int viewer_read(const struct viewer *viewer, struct text_pair *pair, const struct input *input,
                const struct input *source, struct arena *arena, struct err *err)
{
    struct config config = viewer->model.config;
    struct lexicon lexicon = {viewer->tokenizer, &config, viewer->why};
    if (viewer->reads_any_length)
        config.n_positions = 0;
    *pair = (struct text_pair){0};
    if (!input && tokenized_begin(&pair->sentence, &lexicon, arena, err))
        return err_prefix(err, "'%s'", viewer->model.name);
    if (input && tokenized_make(&pair->sentence, input, &lexicon, arena, err))
        return -1;
    if (source && tokenized_make(&pair->source, source, &lexicon, arena, err))
        return err_prefix(err, "source");
    return 0;
}

int viewer_run(struct viewer *viewer, const struct selection *selection,
               const struct text_list *texts, struct tap tap, struct err *err)
{
    struct watch watch;
    struct batch batch;
    struct model *model = &viewer->model;
    struct arena *scratch = &viewer->scratch;
    struct run run = {&viewer->machine, &model->config, &model->weights,
                      &batch,           viewer->edits,  texts->start};
    int failed = watch_init(&watch, &model->config, scratch, err) ||
                 batch_init(&batch, &model->config, texts->items, texts->count, scratch, err);
    batch.first = texts->first;
    failed = failed || edits_check_batch(viewer->edits, &model->config, &batch, err);
    if (!failed) {
        selection_watch(selection, &watch);
        tap.watch = &watch;
        failed = effective_begin(selection, &run, &watch, &tap, scratch, err) ||
                 forward(&run, &tap, scratch, err);
    }
    arena_clear(scratch);
    return failed ? -1 : 0;
}

int viewer_watch(struct viewer *viewer, const struct look *look, struct tap tap, struct err *err)
{
    struct text *items = arena_alloc(&viewer->scratch, look->count, sizeof *items, err);
    struct text_list texts = {items, look->count, look->first, look->start};
    for (size_t i = 0; items && i < look->count; i++) {
        const struct tokenized *sentence = &look->pairs[i].sentence;
        const struct tokenized *source = &look->pairs[i].source;
        items[i] = (struct text){.ids = sentence->ids,
                                 .count = sentence->count,
                                 .prompt_count = look->pairs[i].prompt_count};
        items[i].source_ids = source->count ? source->ids : NULL;
        items[i].source_count = source->count;
    }
    return items ? viewer_run(viewer, look->selection, &texts, tap, err) : -1;
}

/* The most columns that are counted rather than named. */
static size_t widest(const struct kept_list *lists, size_t count)
{
    size_t columns = 0;
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < lists[s].count; i++) {
            const struct kept *kept = &lists[s].items[i];
            size_t width = kept->shape[kept->rank - 1];
            enum site_axes axes = site_rows[kept->site].axes;
            if (axes != AXES_HEAD_QUERY_KEY && axes != AXES_QUERY_KEY && width > columns)
                columns = width;
        }
    }
    return columns;
}

/* Which keys the queries of a text see, of the tensors that have values. */
static int find_visible(const struct viewer *viewer, const struct look *look, size_t text,
                        const struct kept_list *list, struct arena *arena, struct err *err)
{
    struct visible_rules rules = {&viewer->model.config, viewer->edits, text, look->first + text,
                                  look->pairs[text].prompt_count};
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].data && visible_find(&list->items[i], &rules, arena, err))
            return -1;
    return 0;
}

static int make_reports(const struct viewer *viewer, const struct look *look,
                        const struct kept_list *lists, struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    bool named = viewer->tokenizer && look->selection->sites >> SITE_LOGITS & 1;
    const struct label *words =
        named ? labels_of_words(viewer->tokenizer, config->vocab_size, arena, err) : NULL;
    const struct label *numbers = labels_of_numbers(widest(lists, look->count), arena, err);
    struct buf text = {0};
    mechanism_write(&text, &config->mechanism);
    edits_write(&text, viewer->edits);
    const char *mechanism = buf_keep(&text, arena, err);
    if (!numbers || (named && !words) || !mechanism)
        return -1;
    for (size_t i = 0; i < look->count; i++) {
        if (find_visible(viewer, look, i, &lists[i], arena, err))
            return -1;
        look->reports[i] = (struct report){
            .model = viewer->model.name,
            .precision = viewer->model.weights.precision,
            .mechanism = *mechanism ? mechanism : NULL,
            .sentence = look->pairs[i].sentence,
            .source = look->pairs[i].source,
            .tensors = lists[i].items,
            .tensor_count = lists[i].count,
            .heads = look->selection->heads,
            .head_count = look->selection->head_count,
            .layers = look->selection->layers,
            .encoder_layers = look->selection->encoder_layers,
            .numbers = numbers,
            .words = words,
            .causal = config->causal,
            .has_encoder = config->n_encoder_layer > 0,
        };
    }
    return 0;
}

int viewer_look(struct viewer *viewer, const struct look *look, struct arena *arena,
                struct err *err)
{
    struct capture capture;
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
    if (capture_init(&capture, look->selection, &viewer->model.config, look->count, arena, err) ||
        viewer_watch(viewer, look, tap, err))
        return -1;
    return make_reports(viewer, look, capture.lists, arena, err);
}

/* --- one map after another -------------------------------------------------------------------- */

static const enum site first_map = SITE_SCORES, last_map = SITE_WEIGHTS;

static size_t count_maps(const struct selection *selection)
{
    size_t sites = 0;
    for (enum site site = first_map; site <= last_map; site++)
        sites += selection->sites >> site & 1;
    return sites * selection->layers.count * selection->head_count;
}

bool viewer_goes_by_map(const struct viewer *viewer, const struct look *look)
{
    const struct selection *selection = look->selection;
    const struct config *config = &viewer->model.config;
    const uint64_t maps = 2 * site_bit(last_map) - site_bit(first_map);
    size_t tokens = look->pairs[0].sentence.count;
    if (look->count != 1 || selection->sites & ~maps || config->cross || config->n_encoder_layer ||
        !site_exists(config, SITE_RESID_PRE) ||
        count_maps(selection) < FLOATS_AT_ONCE / tokens / tokens)
        return false;
    for (size_t i = 0; viewer->edits && i < selection->layers.count; i++)
        if (edits_have(viewer->edits, SITE_RESID_PRE, selection->layers.items[i]))
            return false;
    return true;
}

/* A look by maps: `part` is what a pass of it watches, from `start` on. */
struct by_map {
    struct viewer *viewer;
    struct look look;
    struct selection part;
    struct stream_start start;
    struct capture capture;
    struct arena arena; /* of a pass */
};

/* The look's tensors without values. */
static int plan_maps(struct kept_list *list, const struct look *look, struct arena *arena,
                     struct err *err)
{
    const struct selection *selection = look->selection;
    size_t tokens = look->pairs[0].sentence.count;
    size_t *heads = arena_alloc(arena, selection->head_count, sizeof *heads, err);
    list->items = arena_alloc(arena, count_maps(selection), sizeof *list->items, err);
    if (!heads || !list->items)
        return -1;
    for (size_t i = 0; i < selection->head_count; i++)
        heads[i] = selection->heads ? selection->heads[i] : i;
    for (size_t i = 0; i < selection->layers.count; i++)
        for (enum site site = first_map; site <= last_map; site++)
            if (selection->sites >> site & 1)
                list->items[list->count++] =
                    (struct kept){.site = site,
                                  .layer = (int)selection->layers.items[i],
                                  .rank = 3,
                                  .shape = {selection->head_count, tokens, tokens},
                                  .heads = heads};
    return 0;
}

/* Run the text as far as the part watches; what was captured is the first item of the list. */
static struct kept_list *run_part(struct by_map *by, struct err *err)
{
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &by->capture};
    arena_clear(&by->arena);
    return capture_init(&by->capture, &by->part, &by->viewer->model.config, 1, &by->arena, err) ||
                   viewer_watch(by->viewer, &by->look, tap, err)
               ? NULL
               : by->capture.lists;
}

/* Let the passes begin with the input of a layer, which they run to from the layer before. */
static int start_with(struct by_map *by, const size_t *layer, float *stream, struct err *err)
{
    by->part = (struct selection){
        .sites = site_bit(SITE_RESID_PRE), .layers = {layer, 1}, .head_count = 1};
    const struct kept_list *list = run_part(by, err);
    if (!list)
        return -1;
    memcpy(stream, list->items->data, kept_cells(list->items) * sizeof *stream);
    by->start.layer = *layer;
    by->look.start = &by->start;
    return 0;
}

/* All heads of a tensor: as many at a time as fit, at least one. */
static int run_heads(struct by_map *by, const struct kept *kept, look_taker *take, void *context,
                     struct err *err)
{
    struct report part = by->look.reports[0];
    size_t most = num_max(FLOATS_AT_ONCE / kept->shape[1] / kept->shape[2], 1);
    for (size_t first = 0; first < kept->shape[0]; first += most) {
        by->part.sites = site_bit(kept->site);
        by->part.heads = kept->heads + first;
        by->part.head_count = num_min(kept->shape[0] - first, most);
        struct kept_list *list = run_part(by, err);
        if (!list || find_visible(by->viewer, &by->look, 0, list, &by->arena, err))
            return -1;
        part.tensors = list->items;
        part.tensor_count = 1;
        if (take(context, &by->look.reports[0], &part, &by->arena, err))
            return -1;
        part = by->look.reports[0];
    }
    return 0;
}

int viewer_look_by_map(struct viewer *viewer, const struct look *look, look_taker *take,
                       void *context, struct arena *arena, struct err *err)
{
    struct by_map by = {.viewer = viewer, .look = *look};
    struct kept_list list = {0};
    size_t channels = viewer->model.config.n_embd;
    float *stream =
        arena_room(arena, look->pairs[0].sentence.count * channels, sizeof *stream, err);
    const float *const streams[] = {stream};
    int failed = !stream || plan_maps(&list, look, arena, err) ||
                 make_reports(viewer, look, &list, arena, err);
    by.start.streams = streams;
    by.look.selection = &by.part;
    for (size_t i = 0; i < list.count && !failed; i++) {
        size_t layer = (size_t)list.items[i].layer;
        if (i == 0 || list.items[i - 1].layer != list.items[i].layer)
            failed = start_with(&by, &layer, stream, err);
        by.part.layers = (struct layers){&layer, 1};
        failed = failed || run_heads(&by, &list.items[i], take, context, err);
    }
    arena_release(&by.arena);
    return failed ? -1 : 0;
}
