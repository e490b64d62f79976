#include "lens/viewer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "lens/capture.h"
#include "model/family/family.h"
#include "model/mechanism.h"
#include "pass/pass.h"
#include "model/points.h"
#include "model/score_rule.h"
#include "pass/tap.h"

enum {
    TOKENS_WORTH_PACKING = 8192,
    TOKENS_WORTH_LITTLE_PACKING = 1024, /* number of tokens from which it pays to pack the layers of
                                         * a model with at most NARROW_CHANNELS channels */
    NARROW_CHANNELS = 128,
    STEPS_WORTH_PACKING = 256,
    STEPS_WORTH_PACKING_QUANTS = 24, /* number of steps from which it pays to pack quantised
                                      * matrices; packing takes as long as ten steps */
    CHUNK_BYTES = 16 << 20,          /* bytes of a file that a thread unmaps at a time */
};

/* Context of write_names, which writes a tokenizer.json whose words are the names of a classifier's
 * classes. */
struct class_names {
    const struct config *config;
    struct viewer *viewer;
    struct buf json;
};

/* True if a reranker's config tells sentence-transformers to leave the logit as it is. */
static bool is_identity(const struct json *root)
{
    const struct json *own = json_given(root, "sentence_transformers");
    const char *name = "";
    json_get_text(json_member(root, "sbert_ce_default_activation_function"), &name);
    json_get_text(own && json_is_object(own) ? json_member(own, "activation_fn") : NULL, &name);
    return name_ends_in(name, ".Identity");
}

/* Write the names of classes: "start" and "end" for spans of an answer, otherwise "id2label" of
 * config.json or, without it, "LABEL_0", … Also sets the meaning of the viewer's logits: `spans`,
 * `regresses` and `logistic`. */
static int write_names(void *context, const struct json *root, struct err *err)
{
    static const char *const spans[] = {"start", "end"};
    struct class_names *names = context;
    const struct config *c = names->config;
    const struct json *given = json_given(root, "id2label");
    struct json_writer json = {.buf = &names->json};
    const char *problem = "";
    const char *class = "";
    const size_t classes = c->n_class;
    json_get_text(json_first(json_given(root, "architectures")), &class);
    bool of_spans = classes == 2 && (strcmp(c->classifier->rows->name, "qa_outputs") == 0 ||
                                     name_ends_in(class, "ForQuestionAnswering"));
    json_get_text(json_member(root, "problem_type"), &problem);
    names->viewer->spans = of_spans;
    names->viewer->regresses = strcmp(problem, "regression") == 0 || is_identity(root);
    names->viewer->logistic = strcmp(problem, "multi_label_classification") == 0 || classes == 1;
    json_put_open(&json, NULL, '{');
    json_put_open(&json, "model", '{');
    json_put_text(&json, "type", "WordLevel");
    json_put_open(&json, "vocab", '{');
    for (size_t i = 0; i < classes; i++) {
        char key[32], usual[32];
        const char *name = usual;
        snprintf(key, sizeof key, "%zu", i);
        snprintf(usual, sizeof usual, "LABEL_%zu", i);
        if (of_spans)
            name = spans[i];
        else if (given && !json_get_text(json_member(given, key), &name))
            return err_set(err,
                           "field 'id2label': expected the names of %zu classes, found none "
                           "of %s",
                           classes, key);
        json_put_name(&json, name, strlen(name));
        json_put_integer(&json, NULL, (long long)i);
    }
    json_put_close(&json, '}');
    json_put_close(&json, '}');
    json_put_close(&json, '}');
    return 0;
}

/* Set `viewer->words`, which names the logits: the tokenizer or, for a classifier, a tokenizer
 * whose words are the names of the classes. */
static int open_words(struct viewer *viewer, struct err *err)
{
    struct model *model = &viewer->model;
    struct class_names names = {&model->config, viewer, {0}};
    struct err wrong = {0};
    viewer->words = viewer->tokenizer;
    if (!config_classifies(&model->config))
        return 0;
    viewer->words = NULL;
    int failed = json_read_file(&model->folder, "config.json", write_names, &names, err) ||
                 buf_check(&names.json, err);
    const struct folder_file file = {"tokenizer.json", names.json.bytes, names.json.size, NULL};
    const struct folder folder = {.path = model->folder.path, .files = &file, .file_count = 1};
    if (!failed && tokenizer_open(&viewer->words, &folder, &wrong)) {
        const char *last = strrchr(wrong.text, ':');
        failed =
            wrong.out_of_memory
                ? err_adopt(err, &wrong)
                : err_set(err, "'%s/config.json': field 'id2label': expected different names%s",
                          folder.path, last ? last : "");
    }
    buf_release(&names.json);
    return err_if(failed);
}

/* Open the tokenizer and the machine of an opened model. */
static int open_rest(struct viewer *viewer, size_t threads, struct err *err)
{
    const struct model *opened = &viewer->model;
    viewer->mask = -1;
    if (!tokenizer_open_if_known(&viewer->tokenizer, &opened->folder, viewer->why, err) &&
        !tokenizer_check_ids(viewer->tokenizer, &opened->folder, opened->config.vocab_size, err) &&
        !open_words(viewer, err) &&
        (opened->config.causal || !viewer->tokenizer || config_classifies(&opened->config) ||
         !tokenizer_find_mask(&viewer->mask, viewer->tokenizer, err)) &&
        !machine_open(&viewer->machine, threads, err))
        return 0;
    viewer_release(viewer);
    return -1;
}

int viewer_open(struct viewer *viewer, const char *model, size_t threads, struct err *err)
{
    *viewer = (struct viewer){0};
    return model_open(&viewer->model, model, err) ? -1 : open_rest(viewer, threads, err);
}

int viewer_open_folder(struct viewer *viewer, const struct folder *folder, size_t threads,
                       struct err *err)
{
    *viewer = (struct viewer){0};
    return model_open_folder(&viewer->model, folder, err) ? -1 : open_rest(viewer, threads, err);
}

struct precision_words viewer_precision(const struct viewer *viewer)
{
    enum precision precision = viewer->model.weights.precision;
    bool is_float = precision == PRECISION_FP32;
    struct precision_words words;
    snprintf(words.text, sizeof words.text, "%s%s%s", precision_name(precision),
             is_float ? "" : " by ",
             is_float ? "" : pair_way_name(kernels_pair_way(viewer->machine.kernels)));
    return words;
}

int viewer_set_mechanism(struct viewer *viewer, const struct mechanism *mechanism, struct err *err)
{
    if (mechanism_check(mechanism, &viewer->model.config, err))
        return -1;
    viewer->model.config.mechanism = *mechanism;
    return config_describe(&viewer->model.config, err);
}

void viewer_expect(struct viewer *viewer, enum expected what, size_t count)
{
    struct weights *weights = &viewer->model.weights;
    bool narrow = viewer->model.config.n_embd <= NARROW_CHANNELS;
    const struct {
        bool *packs;
        size_t enough;
    } rows[] = {
        [EXPECT_TOKENS] = {&weights->packing,
                           narrow ? TOKENS_WORTH_LITTLE_PACKING : TOKENS_WORTH_PACKING},
        [EXPECT_STEPS] = {&weights->packing_words, STEPS_WORTH_PACKING},
        [EXPECT_DECODING] = {&weights->packing_quants, STEPS_WORTH_PACKING_QUANTS},
    };
    bool *packs = rows[what].packs;
    *packs = count >= rows[what].enough;
    if (*packs && weights_bytes(weights).heap > heap_available() / 2)
        *packs = false;
}

void viewer_pack(struct viewer *viewer, size_t most_bytes)
{
    struct weights *weights = &viewer->model.weights;
    weights->packing = weights->packing_words = weights->packing_widened = true;
    weights->packing_bytes = num_min(most_bytes, heap_available() / 2);
}

static void forget_part(void *file, size_t round, size_t thread)
{
    struct file part = *(const struct file *)file;
    (void)thread;
    part.bytes += round * CHUNK_BYTES;
    file_forget(&part, part.bytes + CHUNK_BYTES);
}

void viewer_release(struct viewer *viewer)
{
    const struct checkpoint *checkpoint = &viewer->model.weights.checkpoint;
    arena_release(&viewer->scratch);
    /* unmap on all threads: one thread takes 4 ms to unmap 80 MB */
    for (size_t i = 0; viewer->machine.pool && i < checkpoint->count; i++) {
        struct file *file = &checkpoint->shards[i].tensors.file;
        size_t parts = file->size / CHUNK_BYTES;
        pool_run(viewer->machine.pool, (struct loop){parts, (double)file->size, forget_part}, file);
    }
    machine_release(&viewer->machine);
    if (viewer->words != viewer->tokenizer)
        tokenizer_free(viewer->words);
    tokenizer_free(viewer->tokenizer);
    model_release(&viewer->model);
    *viewer = (struct viewer){0};
}

int viewer_share(struct viewer *shared, const struct viewer *viewer, struct err *err)
{
    *shared = *viewer;
    shared->scratch = (struct arena){0};
    shared->machine = (struct machine){0};
    shared->model.weights = (struct weights){0}; /* empty until the weights are shared */
    return err_if(
        config_describe(&shared->model.config, err) ||
        weights_share(&shared->model.weights, &viewer->model.weights, &shared->model.config, err) ||
        machine_open(&shared->machine, 1, err));
}

void viewer_release_shared(struct viewer *shared)
{
    arena_release(&shared->scratch);
    machine_release(&shared->machine);
    weights_release(&shared->model.weights);
    config_release(&shared->model.config);
    *shared = (struct viewer){0};
}

int viewer_tokenize(const struct viewer *viewer, struct tokenized *text, enum site_branch branch,
                    const struct input *input, struct arena *arena, struct err *err)
{
    bool is_source = branch == BRANCH_SOURCE;
    struct config config = viewer->model.config;
    if (viewer->reads_any_length)
        config.n_positions = 0;
    const struct token_limits limits = {
        .tokenizer = is_source ? tokenizer_of_source(viewer->tokenizer) : viewer->tokenizer,
        .config = &config,
        .vocabulary = stack_of(&config, branch)->embed.rows,
        .why = viewer->why,
        .starts = !is_source && viewer->starts,
        .start_is_unnumbered = viewer->start_is_unnumbered,
        .model = viewer->model.folder.path,
    };
    if (input)
        return tokenized_make(text, input, &limits, arena, err);
    return tokenized_begin(text, &limits, arena, err) ? err_prefix(err, "'%s'", viewer->model.name)
                                                      : 0;
}

/* Make the text that a classifier's decoder reads: the start token, and the source without its last
 * token. */
static int shift_source(const struct viewer *viewer, struct tokenized *text,
                        const struct tokenized *source, struct arena *arena, struct err *err)
{
    const bool is_ended = source->added_after > 0;
    struct tokens tokens = {
        .items = arena_alloc(arena, source->count, sizeof *tokens.items, err),
        .count = source->count,
        .second = source->second ? source->second + 1 : 0,
        .added = {source->added_before + 1, source->added_between, source->added_after - is_ended}};
    if (!tokens.items)
        return -1;
    memcpy(tokens.items + 1, source->tokens, (source->count - 1) * sizeof *tokens.items);
    tokens.items[0].id = (uint32_t)viewer->model.config.bos_id;
    if (tokenized_label(text, &tokens, viewer->tokenizer, arena, err))
        return -1;
    text->raw = source->raw;
    text->size = source->size;
    text->pair = source->pair;
    return 0;
}

int viewer_read(const struct viewer *viewer, struct text_with_source *pair,
                const struct input *input, const struct input *source, struct arena *arena,
                struct err *err)
{
    const struct config *c = &viewer->model.config;
    *pair = (struct text_with_source){0};
    if (config_classifies(c) && config_reads_source(c) && !(input && source) && (input || source))
        return err_if(viewer_tokenize(viewer, &pair->source, BRANCH_SOURCE, input ? input : source,
                                      arena, err) ||
                      shift_source(viewer, &pair->text, &pair->source, arena, err));
    if (viewer_tokenize(viewer, &pair->text, BRANCH_TEXT, input, arena, err))
        return -1;
    return source && viewer_tokenize(viewer, &pair->source, BRANCH_SOURCE, source, arena, err)
               ? err_prefix(err, "source")
               : 0;
}

int viewer_run(struct viewer *viewer, const struct selection *selection,
               const struct text_list *texts, struct tap tap, struct err *err)
{
    struct watch watch;
    struct batch batch;
    struct config *config = &viewer->model.config;
    const struct edits *edits = viewer->edits;
    struct arena *scratch = &viewer->scratch;
    struct run run = {&viewer->machine, config, &viewer->model.weights,
                      &batch,           edits,  texts->start};
    int failed = watch_init(&watch, config, scratch, err) ||
                 batch_init(&batch, config, texts->items, texts->count, scratch, err) ||
                 edits_check(edits, config, err);
    batch.first = texts->first;
    for (size_t s = 0; edits && !failed && s < batch.count; s++) {
        size_t source = batch.sources[s].past + batch.sources[s].count;
        failed = edits_check_text(edits, config, batch_prompt(&batch, s), source, err);
        if (failed && batch.count > 1)
            err_prefix(err, "text %zu", batch.first + s);
    }
    if (!failed) {
        selection_watch(selection, &watch);
        tap.watch = &watch;
        failed = effective_begin(selection, &run, &watch, &tap, scratch, err) ||
                 forward(&run, &tap, scratch, err);
    }
    arena_clear(scratch);
    return err_if(failed);
}

struct text viewer_text(const struct text_with_source *pair)
{
    return (struct text){.ids = pair->text.ids,
                         .count = pair->text.count,
                         .segments = pair->text.segments,
                         .source_ids = pair->source.count ? pair->source.ids : NULL,
                         .source_count = pair->source.count,
                         .prompt_count = pair->prompt_count,
                         .grows = pair->grows};
}

/* --- visible keys --------------------------------------------------------------------------------
 *
 * Maps of visible keys are needed if a window, a sparse attention pattern or --knockout hides more
 * keys than the causal mask does. */

size_t viewer_visible_maps(const struct viewer *viewer, enum site site, size_t layer, size_t heads)
{
    enum site_branch branch = site_branch(site);
    /* masks are made from masked scores, which are -inf for hidden keys, or 0 in linear attention
     * and with --mask-after */
    bool of_scores = site_is_of_mask(site);
    if ((!of_scores && site_id(site) != SITE_MASKED && site_id(site) != SITE_WEIGHTS) ||
        branch == BRANCH_MIXER)
        return 0;
    const struct sublayer *attention = attention_of(&viewer->model.config, branch, layer);
    if (!attention)
        return 0;
    const struct score_rule *rule = &attention->score;
    bool gives_values = edits_have(viewer->edits, SITE_OF(branch, SITE_WEIGHTS), layer);
    bool by_head = false;
    bool plain = rule->back == SIZE_MAX && !rule->pattern;
    for (size_t i = 0; viewer->edits && i < viewer->edits->count; i++) {
        const struct edits one = {&viewer->edits->items[i], 1};
        bool knockout = one.items->op == EDIT_FORBID;
        if (!edits_have(&one, SITE_OF(branch, SITE_MASKED), layer))
            continue;
        plain = plain && !knockout;
        by_head |= knockout && one.items->heads.count;
        gives_values |= !knockout;
    }
    if (of_scores)
        plain = gives_values = rule->kind != ATTENTION_LINEAR && !rule->mask_after;
    return gives_values || plain ? 0 : by_head ? heads : 1;
}

/* Set `visible` of an attention map of a text, if viewer_visible_maps says that it is needed. */
static int find_visible(struct array *array, const struct viewer *viewer,
                        const struct capture_request *asked, size_t text, struct arena *arena,
                        struct err *err)
{
    size_t layer = (size_t)array->layer;
    enum site_branch branch = site_branch(array->site);
    size_t maps =
        array->data ? viewer_visible_maps(viewer, array->site, layer, array->heads.size) : 0;
    if (!maps)
        return 0;
    const struct text_with_source *pair = &asked->pairs[text];
    size_t rows = array->rows.size, keys = array->columns.size, count = rows * maps;
    float *visible = arena_alloc(arena, count * keys, sizeof *visible, err);
    uint32_t *memory = arena_alloc(arena, 2 * keys, sizeof *memory, err);
    if (!visible || !memory)
        return -1;
    /* positions in edits refer to the prompt, if there is one, else to the text */
    struct edit_block block = {
        .site = SITE_OF(branch, SITE_MASKED),
        .layer = layer,
        .text = text,
        .number = asked->first + text,
        .columns = keys,
        .grows = pair->grows,
        .row_places = pair->prompt_count ? pair->prompt_count : pair->text.count,
        .column_places = pair->prompt_count ? pair->prompt_count : keys,
    };
    for (size_t i = 0; i < count; i++) {
        block.data = visible + i * keys;
        block.first_head = array->heads.numbers[i / rows];
        block.first_row = array->rows.numbers ? array->rows.numbers[i % rows] : i % rows;
        visible_row(block, &attention_of(&viewer->model.config, branch, layer)->score,
                    viewer->edits, memory);
    }
    array->visible = visible;
    array->visible_step = maps > 1 ? rows * keys : 0;
    return 0;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Add the visible keys and the labels of selected queries to the tensors of a text. SITE_MASK and
 * SITE_VISIBLE were captured as scores, and become 1 for hidden or for visible keys, else 0. A key
 * is hidden if its cell in the map of find_visible is 0 or, without a map, if its score is -inf. */
static int complete(const struct viewer *viewer, const struct capture_request *asked, size_t text,
                    const struct array_list *list, const struct label *next, struct arena *arena,
                    struct err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        struct array *array = &list->items[i];
        if (find_visible(array, viewer, asked, text, arena, err))
            return -1;
        bool is_mask = site_is_of_mask(array->site);
        float *cells = (float *)array->data;
        size_t matrix = array->rows.size * array->columns.size;
        for (size_t k = 0; is_mask && k < array->heads.size * matrix; k++) {
            size_t cell = k / matrix * array->visible_step + k % matrix;
            bool visible = array->visible ? array->visible[cell] != 0 : cells[k] != -INFINITY;
            cells[k] = visible == (array->site == SITE_VISIBLE);
        }
        array->visible = is_mask ? NULL : array->visible;
        if (!array->rows.numbers)
            continue;
        const struct tokenized *sentence = &asked->pairs[text].text;
        const struct label *of = next && array_predicts(array) ? next : sentence->labels;
        size_t count = array->rows.size;
        struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
        size_t *numbers = arena_alloc(arena, count, sizeof *numbers, err);
        if (!labels || !numbers)
            return -1;
        for (size_t row = 0; row < count; row++) {
            labels[row] = of[array->rows.numbers[row]];
            /* negative for special tokens, which have no number */
            numbers[row] = array->rows.numbers[row] - sentence->words_before;
        }
        array->rows = (struct axis){array_row_name(array),
                                    count,
                                    labels,
                                    0,
                                    numbers,
                                    report_second(sentence, numbers, 0, count)};
    }
    return 0;
}

int viewer_report(struct report *report, const struct viewer *viewer, struct arena *arena,
                  struct err *err)
{
    struct buf words = {0};
    mechanism_write(&words, &viewer->model.config.mechanism);
    edits_write(&words, viewer->edits);
    const char *mechanism = buf_keep(&words, arena, err);
    *report = (struct report){
        .model = viewer->model.name,
        .untrained = model_is_untrained(&viewer->model),
        .precision = viewer->model.weights.precision,
        .mechanism = mechanism && *mechanism ? mechanism : NULL,
        .has_encoder = true, /* even without an encoder: report_keys then returns the text */
    };
    return mechanism ? 0 : -1;
}

int viewer_reports(const struct viewer *viewer, const struct capture_request *asked,
                   const struct array_list *lists, struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    bool named = viewer->words && site_set_has(asked->selection->sites, SITE_LOGITS);
    const struct label *words =
        named ? labels_of_words(viewer->words, config_logits(config), arena, err) : NULL;
    size_t widest = 0; /* maximum size of an axis that is labelled by numbers */
    for (size_t i = 0; i < asked->count; i++)
        for (const struct array *array = lists[i].items; array < lists[i].items + lists[i].count;
             array++)
            if (!array_has_key_columns(array))
                widest =
                    num_max(num_max(widest, array->columns.size),
                            site_axes(array->site) == AXES_HEAD_KEY_VALUE ? array->rows.size : 0);
    const struct label *numbers = labels_of_numbers(NULL, widest, arena, err);
    struct report report;
    if (!numbers || (named && !words) || viewer_report(&report, viewer, arena, err))
        return -1;
    report.numbers = numbers;
    report.words = words;
    report.of_classes = config_classifies(config);
    report.heads = asked->selection->heads;
    report.head_count = asked->selection->head_count;
    report.layers = asked->selection->layers;
    report.encoder_layers = asked->selection->encoder_layers;
    const struct sublayer *attention = first_attention(config, BRANCH_TEXT);
    report.causal = !attention || attention->score.ahead == 0;
    report.has_encoder = has_encoder(config);
    for (size_t i = 0; i < asked->count; i++) {
        const struct tokenized *text = &asked->pairs[i].text;
        const struct label *next = NULL;
        if (has_encoder(config) && text->labels &&
            !(next = labels_with_next(text->labels, text->count, arena, err)))
            return -1;
        if (complete(viewer, asked, i, &lists[i], next, arena, err))
            return -1;
        report.text = *text;
        report.source = asked->pairs[i].source;
        report.arrays = lists[i].items;
        report.array_count = lists[i].count;
        report.next = next;
        asked->reports[i] = report;
    }
    return 0;
}

int viewer_capture(struct viewer *viewer, const struct capture_request *asked, struct arena *arena,
                   struct err *err)
{
    struct capture capture;
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
    struct text *items = arena_alloc(&viewer->scratch, asked->count, sizeof *items, err);
    struct text_list texts = {items, asked->count, asked->first, asked->start};
    if (!items ||
        capture_init(&capture, asked->selection, &viewer->model.config, asked->count, arena, err))
        return -1;
    for (size_t i = 0; i < asked->count; i++) {
        items[i] = viewer_text(&asked->pairs[i]);
        capture.lists[i].wanted = selection_queries(asked->selection, &asked->pairs[i].text);
    }
    return err_if(viewer_run(viewer, asked->selection, &texts, tap, err) ||
                  viewer_reports(viewer, asked, capture.lists, arena, err));
}

/* --- one map after another -------------------------------------------------------------------- */

bool viewer_goes_by_map(const struct viewer *viewer, const struct capture_request *asked)
{
    const struct selection *selection = asked->selection;
    const struct config *config = &viewer->model.config;
    size_t tokens = asked->pairs[0].text.count;
    const struct site_set sites = selection->sites;
    size_t heads = 0;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        if (site < FIRST_MAP || site > LAST_MAP)
            return false;
        heads += selection->layers.count * selection->head_count;
    }
    if (asked->count != 1 || config_reads_source(config) || has_encoder(config) ||
        !site_exists(config, SITE_RESID_PRE) ||
        heads < FLOATS_AT_ONCE / tokens / selection_query_count(selection, &asked->pairs[0].text))
        return false;
    for (size_t i = 0; viewer->edits && i < selection->layers.count; i++)
        if (edits_have(viewer->edits, SITE_RESID_PRE, selection->layers.items[i]))
            return false;
    return true;
}

/* List the requested tensors in `plan`, without values. */
static int plan_maps(struct capture *plan, const struct capture_request *asked,
                     const struct config *config, struct arena *arena, struct err *err)
{
    const struct selection *selection = asked->selection;
    size_t tokens = asked->pairs[0].text.count;
    if (capture_init(plan, selection, config, 1, arena, err))
        return -1;
    plan->lists->wanted = selection_queries(selection, &asked->pairs[0].text);
    for (size_t i = 0; i < selection->layers.count; i++)
        for (enum site site = FIRST_MAP; site <= LAST_MAP; site++) {
            struct array map = {.site = site,
                                .layer = (int)selection->layers.items[i],
                                .heads.name = "head",
                                .rows.size = tokens,
                                .columns.size = tokens};
            if (site_set_has(selection->sites, site) && !capture_add(plan, 0, map, false, err))
                return -1;
        }
    return 0;
}

/* A first pass of each layer computes the layer's input, from which the passes for its maps start
 * if config_starts_anywhere. A pass for maps has as many heads as FLOATS_AT_ONCE allows, but at
 * least one. */
int viewer_capture_by_map(struct viewer *viewer, const struct capture_request *asked,
                          maps_taker *take, void *context, struct arena *arena, struct err *err)
{
    struct capture plan;
    struct selection selection;
    struct report found = {.arrays = NULL};
    struct arena pass = {0};
    const struct config *c = &viewer->model.config;
    size_t cells = asked->pairs[0].text.count * c->n_embd;
    float *stream = arena_room(arena, cells, sizeof *stream, err);
    struct stream_start start = {.streams = (const float *const[]){stream}};
    struct capture_request one = {&selection, asked->pairs, 1, asked->first, &found, NULL};
    if (!stream || plan_maps(&plan, asked, c, arena, err) ||
        viewer_reports(viewer, asked, plan.lists, arena, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < plan.lists->count && !failed; i++) {
        const struct array *map = &plan.lists->items[i];
        size_t most = num_max(FLOATS_AT_ONCE / map->rows.size / map->columns.size, 1);
        size_t layer = (size_t)map->layer;
        selection = (struct selection){.layers = {&layer, 1}, .head_count = 1};
        if (i == 0 || map[-1].layer != map->layer) {
            selection.sites = SITE_SET(SITE_RESID_PRE);
            failed = viewer_capture(viewer, &one, &pass, err);
            if (!failed)
                memcpy(stream, found.arrays->data, cells * sizeof *stream);
            arena_clear(&pass);
            start.layer = layer;
            one.start = config_starts_anywhere(c) ? &start : NULL;
        }
        selection.sites = SITE_SET(map->site);
        selection.queries = asked->selection->queries;
        for (size_t first = 0; first < map->heads.size && !failed; first += most) {
            struct report part = *asked->reports;
            selection.heads = map->heads.numbers + first;
            selection.head_count = num_min(map->heads.size - first, most);
            failed = viewer_capture(viewer, &one, &pass, err);
            part.arrays = found.arrays;
            part.array_count = 1;
            failed = failed || take(context, asked->reports, &part, &pass, err);
            arena_clear(&pass);
        }
    }
    arena_release(&pass);
    return err_if(failed);
}

/* --- the bytes that passes will need ---------------------------------------------------------- */

/* Return the number of floats of a site in one layer: if `all`, for all heads and queries, else for
 * the selected heads and queries. */
static double site_floats(const struct viewer *viewer, const struct selection *selection,
                          enum site site, const struct text_with_source *pair, bool all)
{
    const struct config *config = &viewer->model.config;
    size_t tokens = pair->text.count, count = 0;
    bool whole = all || !selection->heads || site_set_has(selection->whole, site);
    if (!site_size(&count, config, site, whole ? config_most_heads(config) : selection->head_count,
                   tokens, pair->source.count))
        return (double)INFINITY;
    if (site_axes(site) == AXES_TOKEN_WORD && selection->last_logits && !selection->queries)
        return (double)config_logits(config);
    if (all || !selection_has_queries(selection, site) || !tokens)
        return (double)count;
    return (double)count / (double)tokens * (double)selection_query_count(selection, &pair->text);
}

double viewer_captured_bytes(const struct viewer *viewer, const struct selection *selection,
                             const struct text_with_source *pair)
{
    const struct site_set sites = selection->sites;
    double floats = 0;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        floats += (double)selection_layers_of(selection, site).count *
                  site_floats(viewer, selection, site, pair, false);
    return floats * sizeof(float);
}

/* Return the bytes of the maps of visible keys (viewer_visible_maps) that a capture stores with its
 * attention maps; with `by_map`, only the bytes for the attention map that needs most. */
static double visible_bytes(const struct viewer *viewer, const struct selection *selection,
                            const struct text_with_source *pair, size_t heads_at_once, bool by_map)
{
    double all = 0, most = 0;
    const struct layers *layers = &selection->layers;
    size_t heads = selection->heads ? selection->head_count : viewer->model.config.n_head;
    for (size_t i = 0; i < layers->count; i++)
        for (enum site site = FIRST_MAP; site <= LAST_MAP; site++) {
            if (!site_set_has(selection->sites, site))
                continue;
            size_t layer = layers->items ? layers->items[i] : i;
            double floats = (double)viewer_visible_maps(viewer, site, layer, heads_at_once) *
                            site_floats(viewer, selection, site, pair, false) / (double)heads;
            all += floats;
            most = fmax(most, floats);
        }
    return (by_map ? most : all) * sizeof(float);
}

/* Return the bytes of a pass: its buffers, the memory of threads, logits, what effective sites
 * need, and attention maps of one layer unless they are lent; for CAPTURE_ROWS, also a strip of map
 * rows for each thread. */
static double pass_bytes(const struct viewer *viewer, const struct selection *selection,
                         const struct text_with_source *pair, enum capture_way way)
{
    bool lends = way != CAPTURE_NOTHING;
    const struct config *config = &viewer->model.config;
    size_t tokens = num_max(pair->text.count, pair->source.count);
    size_t threads = pool_threads(viewer->machine.pool);
    double bytes = (double)pass_memory_bytes(config, tokens) +
                   (double)attention_bytes(config, tokens, tokens, threads);
    const struct site_set named = selection->sites;
    struct site_set sites = named;
    if (way == CAPTURE_ROWS)
        bytes += (double)attention_rows_bytes(tokens) * (double)threads;
    if (site_set_has_effective(sites)) {
        bytes += effective_bytes(selection, config, pair->text.count);
        for (enum site site = site_first(named); site != SITE_END; site = site_after(named, site))
            if (site_is_effective(site))
                site_set_add(&sites, SITE_OF(site_branch(site), SITE_WEIGHTS));
        lends = false;
    }
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
        if (!site_is_effective(site) &&
            (site_axes(site) == AXES_TOKEN_WORD ||
             ((site_axes(site) == AXES_HEAD_QUERY_KEY || site_is_by_name(site)) && !lends)))
            bytes += sizeof(float) * site_floats(viewer, selection, site, pair, true);
    return bytes;
}

void viewer_add_memory(struct memory *memory, const struct viewer *viewer,
                       const struct selection *selection, const struct text_with_source *pair,
                       enum capture_way way)
{
    struct selection one = *selection; /* selects the tensors that one pass captures */
    size_t heads = one.heads ? one.head_count : viewer->model.config.n_head;
    bool by_map = way == CAPTURE_MAPS;
    double held = 0;
    if (by_map) {
        one.sites = SITE_SET(SITE_WEIGHTS);
        one.layers.count = 1;
        double map = viewer_captured_bytes(viewer, &one, pair) / (double)heads;
        double most = fmax(floor(FLOATS_AT_ONCE * sizeof(float) / map), 1);
        heads = (size_t)fmin(most, (double)heads);
        held = (double)heads * map +
               sizeof(float) * site_floats(viewer, &one, SITE_RESID_PRE, pair, true);
    } else if (way == CAPTURE_ALL) {
        held = viewer_captured_bytes(viewer, selection, pair);
    }
    if (way >= CAPTURE_ALL)
        held += visible_bytes(viewer, selection, pair, heads, by_map);
    memory->held += held;
    memory->during = fmax(memory->during, pass_bytes(viewer, &one, pair, way));
}
