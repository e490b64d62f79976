#include "attn.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "attn_host.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "lens/capture.h"
#include "lens/continuation.h"
#include "measure/gradients.h"
#include "measure/sparse_features.h"
#include "measure/token_scores.h"
#include "pass/cache.h"
#include "model/layer.h"
#include "pass/tap.h"
#include "text/post_processor.h"

/* --- models, texts and errors ----------------------------------------------------------------- */

struct attn_model {
    struct host_object object;
    struct viewer viewer;
    struct tokenizer *special;         /* tokenizer that adds special tokens; NULL until
                                        * attn_encode_special or attn_encode_source needs it */
    size_t runs, steps, packing_bytes; /* runs: number of calls with more tokens than texts; steps:
                                        * number of calls with one token of one text; packing_bytes:
                                        * the limit that attn_set_packing sets */
    size_t begin, adds_begin;          /* the same as attn_counts.begin and
                                        * attn_counts.adds_begin */
    struct mechanism mechanism;        /* the model's kind of attention; a request may replace it
                                        * for one call */
    char name[];                       /* a copy of the caller's name */
};

struct attn_cache {
    struct host_object object;
    struct attn_model *model;
    struct cache cache;
};

static int check_ids(const struct attn_ids *ids, size_t count, const char *thing, struct err *err)
{
    if (count && check_given(ids, thing, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (ids[i].count && !ids[i].ids)
            return err_usage(err, "%s: expected %zu numbers, found NULL", thing, ids[i].count);
    return 0;
}

/* Begin a call that runs the model or its tokenizer. Each call ends with end_call, which also
 * resets the kind of attention, the temperature and the edits that a request set. */
static int begin_call(struct host_call *call, const struct attn_model *model)
{
    return err_if(check_given(model, "a model", &call->err) ||
                  host_call_begin(call, (struct host_object *)&model->object));
}

static int end_call(struct host_call *call, int failed, struct attn_error *error)
{
    struct attn_model *model = (struct attn_model *)call->object;
    if (model && model->viewer.model.config.description) /* the model was opened */
        viewer_set_mechanism(&model->viewer, &model->mechanism, NULL);
    if (model)
        model->viewer.edits = NULL;
    return host_call_end(call, failed, error);
}

static void free_model(struct host_object *object)
{
    struct attn_model *model = (struct attn_model *)object;
    tokenizer_free(model->special);
    viewer_release(&model->viewer);
    heap_free(model);
}

static void find_begin(struct attn_model *model)
{
    const struct config *config = &model->viewer.model.config;
    const struct tokenizer *tokenizer = model->viewer.tokenizer;
    uint32_t begin = 0;
    bool found = false;
    struct text_templates special = {0};
    struct err none = {0};
    model->begin = SIZE_MAX;
    model->mechanism = config->mechanism;
    model->viewer.reads_any_length = true; /* attn_encode accepts texts of any length; calls that
                                            * run the model check the length */
    if (config_has_start(config)) {
        model->begin = (size_t)config->bos_id;
        model->adds_begin = 1;
        return;
    }
    if (!tokenizer ||
        tokenizer_find_begin(&begin, &found, tokenizer, &model->viewer.model.folder, &none) ||
        tokenizer_special(&special, tokenizer, &none) || !found)
        return;
    model->begin = begin;
    model->adds_begin =
        special.single.parts[0].kind == TEMPLATE_SPECIAL && special.single.parts[0].id == begin;
}

struct attn_model *attn_open(const char *name, size_t threads, struct attn_error *error)
{
    struct host_call call = {0};
    size_t size = strlen(name ? name : bundled_default) + 1;
    struct attn_model *model = heap_alloc(1, sizeof *model + size, &call.err);
    if (!model) {
        end_call(&call, -1, error);
        return NULL;
    }
    memcpy(model->name, name ? name : bundled_default, size);
    model->packing_bytes = SIZE_MAX;
    host_object_init(&model->object, free_model);
    host_call_begin(&call, &model->object);
    int failed = viewer_open(&model->viewer, model->name, threads, &call.err);
    if (!failed)
        find_begin(model);
    if (!end_call(&call, failed, error))
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
    if (!model)
        return (struct attn_counts){0};
    const struct config *c = &model->viewer.model.config;
    return (struct attn_counts){
        .layers = c->n_layer,
        .encoder_layers = stack_of(c, BRANCH_SOURCE)->layers,
        .heads = c->n_head,
        .kv_heads = c->n_kv_head,
        .channels = c->n_embd,
        .hidden_channels = c->n_inner,
        .key_channels = c->d_k,
        .value_channels = c->d_v,
        .vocabulary = c->vocab_size,
        .positions = c->n_positions,
        .begin = model->begin,
        .adds_begin = model->adds_begin,
        .mask = (size_t)model->viewer.mask,
    };
}

/* Copy the ids of a text into one block of memory with all arrays of attn_ids. The block begins
 * with `starts`. */
static int copy_ids(struct attn_ids *ids, const struct tokenized *tokenized, struct err *err)
{
    size_t count = tokenized->count;
    size_t *memory = heap_alloc(count, 3 * sizeof *memory + sizeof *ids->ids + 2, err);
    if (!memory)
        return -1;
    *ids = (struct attn_ids){.starts = memory,
                             .ends = memory + count,
                             .words = memory + 2 * count,
                             .ids = (uint32_t *)(memory + 3 * count),
                             .count = count};
    ids->joins = (unsigned char *)(ids->ids + count);
    for (size_t i = 0; i < ids->count; i++) {
        ids->ids[i] = tokenized->tokens[i].id;
        ids->starts[i] = tokenized->tokens[i].start;
        ids->ends[i] = tokenized->tokens[i].end;
        ids->joins[i] = tokenized->tokens[i].joins;
    }
    if (tokenized->segments)
        ids->segments = memcpy(ids->joins + count, tokenized->segments, count);
    for (size_t w = 0; w < tokenized->word_count; w++)
        for (size_t i = 0; i < tokenized->words[w].count; i++)
            ids->words[tokenized->words[w].first + i] = w;
    for (size_t i = 0; i < tokenized->count; i++)
        if (tokenized_is_added(tokenized, i))
            ids->words[i] = SIZE_MAX;
    return 0;
}

/* Tokenize a text, or the source of a model with an encoder. `special`: add special tokens, with
 * the tokenizer model->special. */
static int encode(const struct attn_model *given, bool special, bool is_source, struct input input,
                  struct attn_ids *ids, struct attn_error *error)
{
    struct host_call call = {0};
    struct tokenized text = {0};
    if (ids)
        *ids = (struct attn_ids){0};
    if (check_given(ids, "a buffer for ids", &call.err) || begin_call(&call, given))
        return end_call(&call, -1, error);
    struct attn_model *model = (struct attn_model *)given;
    struct viewer viewer = model->viewer;
    int failed = 0;
    if (!input.text)
        input = (struct input){.text = "", .pair = input.pair};
    if (special && !model->special && viewer.tokenizer)
        failed = tokenizer_open(&model->special, &viewer.model.folder, &call.err) ||
                 tokenizer_add_special(model->special, &call.err);
    if (special && viewer.tokenizer)
        viewer.tokenizer = model->special;
    viewer.starts = special && config_has_start(&viewer.model.config);
    failed =
        failed ||
        viewer_tokenize(&viewer, &text, is_source ? BRANCH_SOURCE : BRANCH_TEXT, &input,
                        &call.arena, &call.err) ||
        word_spans_find(&text, is_source ? tokenizer_of_source(viewer.tokenizer) : viewer.tokenizer,
                        &call.arena, &call.err) ||
        copy_ids(ids, &text, &call.err);
    failed = end_call(&call, failed, error);
    if (failed)
        attn_ids_free(ids);
    return failed;
}

int attn_encode(const struct attn_model *model, const char *text, size_t size, struct attn_ids *ids,
                struct attn_error *error)
{
    return encode(model, false, false, (struct input){text, size}, ids, error);
}

int attn_encode_source(struct attn_model *model, const char *text, size_t size,
                       struct attn_ids *ids, struct attn_error *error)
{
    return encode(model, true, true, (struct input){text, size}, ids, error);
}

int attn_encode_special(struct attn_model *model, const char *text, size_t size, const char *pair,
                        size_t pair_size, struct attn_ids *ids, struct attn_error *error)
{
    const struct input input = {text, size, .pair = {pair, pair_size}};
    return encode(model, true, false, input, ids, error);
}

void attn_ids_free(struct attn_ids *ids)
{
    if (!ids)
        return;
    heap_free(ids->starts);
    *ids = (struct attn_ids){0};
}

int attn_set_packing(struct attn_model *model, size_t bytes, struct attn_error *error)
{
    struct host_call call = {0};
    int failed = begin_call(&call, model);
    if (!failed)
        model->packing_bytes = bytes;
    return end_call(&call, failed, error);
}

/* Count a call that runs texts, and decide whether to pack weights. The second call packs them: for
 * a program that runs only one text, packing would cost more time than it saves. The first call
 * packs them only if it has several texts and enough tokens. Calls with one token of one text pack
 * only quantised weights, from the third such call on. */
static void count_run(struct attn_model *model, const struct attn_ids *texts, size_t count)
{
    struct viewer *viewer = &model->viewer;
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += texts[i].count;
    if (tokens == 1 && ++model->steps == 3)
        viewer_expect(viewer, EXPECT_DECODING, SIZE_MAX);
    if (tokens <= count)
        return;
    if (++model->runs == 2)
        viewer_pack(viewer, model->packing_bytes);
    if (model->runs > 1 || count == 1)
        return;
    viewer_expect(viewer, EXPECT_TOKENS, tokens);
    viewer_expect(viewer, EXPECT_STEPS, tokens);
    viewer->model.weights.packing_bytes = model->packing_bytes;
}

/* Check the ids of texts and sources, and set the attention pattern, temperature and edits of
 * `request`. If `request` is NULL only the ids of the texts are checked. */
static int check_request(struct host_call *call, struct attn_model *model,
                         const struct attn_ids *texts, size_t count,
                         const struct attn_request *request)
{
    struct viewer *viewer = &model->viewer;
    struct config *config = &viewer->model.config;
    struct mechanism asked = model->mechanism;
    struct err *err = &call->err;
    struct edit_list *list = arena_alloc(&call->arena, 1, sizeof *list, err);
    if (!list || check_ids(texts, count, "ids", err))
        return -1;
    arena_clear(&viewer->scratch);
    if (!request)
        return 0;
    if ((request->source && check_ids(request->source, count, "ids of the source", err)) ||
        (request->attention && mechanism_set_attention(&asked, request->attention, err)))
        return -1;
    if (!(request->temperature >= 0) || request->temperature > FLT_MAX)
        return err_usage(err, "temperature: expected a number above 0, or 0 for none, found %g",
                         (double)request->temperature);
    asked.temperature = request->temperature == 1 ? 0 : request->temperature;
    *list = (struct edit_list){.config = config, .arena = &call->arena};
    if (viewer_set_mechanism(viewer, &asked, err) ||
        (request->edits &&
         (host_values(&list->values, request->values, request->value_count, list->arena, err) ||
          edit_list_add(list, EDIT_WORDS, request->edits, err))))
        return -1;
    if (list->by_text)
        return err_usage(err, "edits: expected numbers of tokens, found a name: '%s'",
                         request->edits);
    if (list->origins & ~(1u << EDIT_NUMBER))
        return err_usage(err, "edits: expected numbers or files, found values of other texts");
    viewer->edits = list->edits.count ? &list->edits : NULL;
    return 0;
}

/* A run whose tensors go to the caller's sink. */
struct showing {
    struct attn_model *model;
    const struct attn_request *request;
    size_t first;           /* index of the first text of the pass */
    struct capture capture; /* copies the selected heads of one tensor at a time; no tensor is
                             * copied if all heads are selected */
    struct arena tensor;
};

static int pass_on(void *context, const struct announcement *announced, struct err *err)
{
    struct showing *showing = context;
    struct capture *capture = &showing->capture;
    struct array_list *list = capture->lists;
    struct tensor values = announced->values;
    const size_t *heads = values.rank == 3 ? capture->all_heads.items : NULL;
    char name[SITE_NAME_BYTES];
    if (mapping_list_check(&showing->model->object, err))
        return -1;
    if (heads && capture->selection->heads) {
        struct announcement alone = *announced;
        alone.text = 0;
        arena_clear(&showing->tensor);
        list->count = 0;
        if (capture_sink(capture, &alone, err))
            return -1;
        heads = list->items->heads.numbers;
        values = array_tensor(list->items);
    }
    struct attn_tensor tensor = {
        .name = site_tensor_name(name, announced->site, announced->layer),
        .layer = announced->layer,
        .data = values.data,
        .rank = values.rank - (site_axes(announced->site) == AXES_HEAD_TOKEN),
        .heads = heads,
        .text = showing->first + announced->text,
    };
    for (size_t axis = 0; axis < tensor.rank; axis++) {
        tensor.shape[axis] = values.shape[axis];
        tensor.stride[axis] = values.stride[axis];
        tensor.axes[axis] = site_axis_name(announced->site, axis);
    }
    if (showing->request->sink(showing->request->context, &tensor))
        return err_set(err, "'%s': the sink ended the pass", name);
    return 0;
}

static int check_texts(const struct attn_model *model, const struct attn_ids *texts, size_t count,
                       struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (batch_check_ids(&model->viewer.model.config, BRANCH_TEXT, texts[i].ids, texts[i].count,
                            0, err))
            return count > 1 ? err_prefix(err, "text %zu", i) : -1;
    return 0;
}

/* Read the selection of a request: tensors, layers and heads. */
static int open_showing(struct showing *showing, struct selection *selection,
                        struct host_call *call, struct attn_model *model,
                        const struct attn_request *request)
{
    const struct config *config = &model->viewer.model.config;
    struct arena *arena = &call->arena;
    struct err *err = &call->err;
    *showing = (struct showing){.model = model, .request = request};
    if (check_given(request, "a request", err))
        return -1;
    if (!request->sink)
        return err_usage(err, "expected a sink, found NULL");
    const char *show = request->show ? request->show : site_name(SITE_WEIGHTS);
    const char *layers = request->layers;
    if (selection_translate(&show, &layers, config, NULL, arena, err) ||
        selection_sites(selection, show, config, err) ||
        selection_layers(selection, layers, config, arena, err) ||
        selection_heads(selection, request->heads, config, arena, err) ||
        capture_init(&showing->capture, selection, config, 1, arena, err))
        return -1;
    showing->capture.values = &showing->tensor;
    return 0;
}

/* The text with index `i`, with its source if the request has one. */
static struct text text_of(const struct attn_ids *ids, const struct attn_request *request, size_t i)
{
    struct text text = {.ids = ids[i].ids, .count = ids[i].count, .segments = ids[i].segments};
    if (request->source) {
        text.source_ids = request->source[i].ids;
        text.source_count = request->source[i].count;
    }
    return text;
}

/* Run texts after check_request, and pass the selected tensors to the request's sink. `cache`: keys
 * and values of the earlier tokens, or NULL. */
static int run_request(struct host_call *call, struct attn_model *model, const struct attn_ids *ids,
                       size_t count, const struct attn_request *request, struct cache *cache)
{
    enum {
        PASS_TOKENS = 1024
    }; /* several texts share a pass if they have at most this many tokens
                                  * together */
    struct err *err = &call->err;
    struct selection selection = {0};
    struct showing showing;
    const struct tap tap = {.sink = pass_on, .context = &showing};
    struct text *texts = arena_alloc(&call->arena, count, sizeof *texts, err);
    if (!texts || open_showing(&showing, &selection, call, model, request) ||
        (cache && site_set_has_effective(selection.sites) &&
         err_unsupported(err, "a step: effective attention is not available while generating")) ||
        (count > 1 && check_texts(model, ids, count, err)))
        return -1;
    for (size_t i = 0; i < count; i++) {
        texts[i] = text_of(ids, request, i);
        texts[i].cache = cache;
    }
    count_run(model, ids, count);

    int failed = 0;
    for (size_t end = 0; !failed && (showing.first = end) < count;) {
        for (size_t tokens = 0; end < count; tokens += texts[end++].count)
            if (end > showing.first && tokens + texts[end].count > PASS_TOKENS)
                break;
        const struct text_list list = {
            .items = texts + showing.first, .count = end - showing.first, .first = showing.first};
        failed = viewer_run(&model->viewer, &selection, &list, tap, err);
    }
    arena_release(&showing.tensor);
    return err_if(failed);
}

/* Pass the gradients of the tokens' rows of the embedding table to the sink, after the gradient of
 * the embedding. */
static int pass_on_rows(struct showing *showing, struct matrix rows, bool of_source,
                        struct err *err)
{
    const struct attn_tensor tensor = {.name = of_source ? "source_token_rows" : "token_rows",
                                       .layer = -1,
                                       .data = rows.data,
                                       .rank = 2,
                                       .shape = {rows.rows, rows.columns},
                                       .stride = {rows.columns, 1},
                                       .axes = {"token", "channel"}};
    return showing->request->sink(showing->request->context, &tensor)
               ? err_set(err, "'%s': the sink ended the pass", tensor.name)
               : 0;
}

static int walk_back(struct host_call *call, struct attn_model *model, const struct attn_ids *ids,
                     const struct attn_request *request, struct gradient_walk *walk)
{
    struct err *err = &call->err;
    struct selection selection = {0};
    struct showing showing;
    if (open_showing(&showing, &selection, call, model, request))
        return -1;
    const struct text text = text_of(ids, request, 0);
    const size_t logits = config_logits(&model->viewer.model.config);
    for (size_t i = 0; i < walk->term_count; i++)
        if (walk->terms[i].position >= text.count || walk->terms[i].id >= logits)
            return err_usage(err,
                             "logits: expected a position below %zu and an id below %zu, found %zu "
                             "and %zu",
                             text.count, logits, walk->terms[i].position, walk->terms[i].id);
    walk->viewer = &model->viewer;
    walk->text = &text;
    walk->selection = &selection;
    walk->sink = pass_on;
    walk->context = &showing;
    walk->arena = &call->arena;
    count_run(model, ids, 1);
    int failed = gradient_walk(walk, err);
    for (size_t branch = 0; branch <= BRANCH_SOURCE && !failed; branch++)
        if (site_set_has(selection.sites, SITE_OF(branch, SITE_EMBEDDING)))
            failed = pass_on_rows(&showing, walk->token_rows[branch], branch == BRANCH_SOURCE, err);
    arena_release(&showing.tensor);
    return err_if(failed);
}

int attn_gradient(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_logit *logits, size_t count,
                  double *value, struct attn_error *error)
{
    struct host_call call = {0};
    struct gradient_walk walk = {.term_count = count};
    int failed = begin_call(&call, model) || check_given(logits, "logits", &call.err) ||
                 check_request(&call, model, ids, 1, request);
    struct logit_term *terms =
        failed ? NULL : arena_alloc(&call.arena, count, sizeof *terms, &call.err);
    for (size_t i = 0; terms && i < count; i++)
        terms[i] = (struct logit_term){logits[i].position, logits[i].id, logits[i].weight};
    walk.terms = terms;
    failed = failed || !terms || walk_back(&call, model, ids, request, &walk);
    if (!failed && value)
        *value = walk.value;
    return end_call(&call, failed, error);
}

int attn_run_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                 const struct attn_request *request, struct attn_error *error)
{
    struct host_call call = {0};
    int failed = begin_call(&call, model) || check_request(&call, model, texts, count, request) ||
                 run_request(&call, model, texts, count, request, NULL);
    return end_call(&call, failed, error);
}

int attn_run(struct attn_model *model, const struct attn_ids *ids,
             const struct attn_request *request, struct attn_error *error)
{
    return attn_run_all(model, ids, 1, request, error);
}

static int score_texts(struct host_call *call, struct attn_model *model,
                       const struct attn_ids *texts, size_t count,
                       const struct attn_request *request, struct attn_token_score *scores)
{
    struct arena *arena = &call->arena;
    struct err *err = &call->err;
    struct viewer *viewer = &model->viewer;
    struct scoring scoring = {.viewer = viewer, .within_word = request && request->within_word};
    struct text_with_source *pairs = arena_alloc(arena, count, sizeof *pairs, err);
    struct scored *scored = arena_alloc(arena, count, sizeof *scored, err);
    struct capture_request asked = {.pairs = pairs, .count = count};
    for (size_t i = 0; pairs && i < count; i++) {
        struct tokenized *text = &pairs[i].text;
        *text = (struct tokenized){
            .ids = texts[i].ids, .count = texts[i].count, .segments = texts[i].segments};
        if (scoring.within_word && viewer->mask >= 0) {
            struct token *tokens = arena_alloc(arena, text->count, sizeof *tokens, err);
            if (!tokens || check_given(texts[i].joins, "joins of the ids", err))
                return -1;
            for (size_t k = 0; k < text->count; k++)
                tokens[k].joins = texts[i].joins[k];
            text->tokens = tokens;
        }
        if (request && request->source)
            pairs[i].source = (struct tokenized){.ids = request->source[i].ids,
                                                 .count = request->source[i].count};
    }
    if (!pairs || !scored || check_texts(model, texts, count, err) || scoring_check(&scoring, err))
        return -1;
    count_run(model, texts, count);
    if (scoring_run(scored, &scoring, &asked, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        for (size_t token = 0; token < texts[i].count; token++)
            *scores++ = (struct attn_token_score){scored[i].tokens[token].logprob,
                                                  scored[i].tokens[token].entropy,
                                                  scored[i].tokens[token].rank};
    return 0;
}

int attn_score_all(struct attn_model *model, const struct attn_ids *texts, size_t count,
                   const struct attn_request *request, struct attn_token_score *scores,
                   struct attn_error *error)
{
    struct host_call call = {0};
    int failed = begin_call(&call, model) || check_request(&call, model, texts, count, request) ||
                 check_given(scores, "a buffer for scores", &call.err) ||
                 score_texts(&call, model, texts, count, request, scores);
    return end_call(&call, failed, error);
}

int attn_score(struct attn_model *model, const struct attn_ids *ids, float *logprobs,
               struct attn_error *error)
{
    struct host_call call = {0};
    size_t count = ids ? ids->count : 0;
    struct attn_token_score *scores = heap_alloc(count, sizeof *scores, &call.err);
    int failed = check_given(logprobs, "a buffer for log-probabilities", &call.err) || !scores;
    failed =
        failed ? end_call(&call, -1, error) : attn_score_all(model, ids, 1, NULL, scores, error);
    for (size_t i = 0; !failed && i < count; i++)
        logprobs[i] = scores[i].logprob;
    heap_free(scores);
    return failed;
}

/* --- continuing a text ------------------------------------------------------------------------ */

static int take_prompt(struct text_with_source *pair, const struct viewer *viewer,
                       const struct attn_ids *ids, const struct attn_request *request,
                       struct arena *arena, struct err *err)
{
    struct tokens tokens = {.count = ids->count};
    if (!ids->count) {
        if (viewer_read(viewer, pair, NULL, NULL, arena, err))
            return -1;
    } else {
        tokens.items = arena_alloc(arena, ids->count, sizeof *tokens.items, err);
        for (size_t i = 0; tokens.items && i < ids->count; i++)
            tokens.items[i].id = ids->ids[i];
        if (!tokens.items ||
            batch_check_ids(&viewer->model.config, BRANCH_TEXT, ids->ids, ids->count, 0, err) ||
            tokenized_label(&pair->text, &tokens, viewer->tokenizer, arena, err))
            return -1;
    }
    if (request && request->source)
        pair->source =
            (struct tokenized){.ids = request->source->ids, .count = request->source->count};
    return 0;
}

static int generate(struct host_call *call, struct attn_model *model, const struct attn_ids *ids,
                    const struct attn_request *request, const struct attn_generation *asked)
{
    struct err *err = &call->err;
    const struct generation_config how = {
        .tokens = asked->tokens,
        .sampling = {asked->temperature, asked->top_k, asked->top_p > 0 ? asked->top_p : 1,
                     asked->seed},
        .beams = asked->beams,
        .past_end = asked->past_end != 0,
        .logits = asked->logprobs != 0,
    };
    struct viewer *viewer = &model->viewer;
    struct continuation text;
    struct text_with_source pair = {.prompt_count = 0};
    bool packs = viewer->model.weights.packing_words, more = true;
    int failed = continuation_prepare(viewer, &how, 1, err) ||
                 take_prompt(&pair, viewer, ids, request, &call->arena, err) ||
                 continuation_open(&text, viewer, &pair, &how, err);
    viewer->model.weights.packing_words |= packs;
    if (failed)
        return -1;
    count_run(model, ids, 1);
    while (!failed && more) {
        failed = continuation_next(&text, &more, err) || mapping_list_check(&model->object, err);
        const struct choice *choices = text.choices;
        if (!failed && more)
            more = !asked->sink(asked->context, text.chosen, text.text.bytes + text.shown,
                                text.text.size - text.shown,
                                choices ? choices[text.count - text.prompt_count - 1].chosen.logprob
                                        : NAN);
    }
    continuation_release(&text);
    return err_if(failed);
}

static int check_generation(const struct attn_generation *asked, struct err *err)
{
    if (check_given(asked, "a generation", err))
        return -1;
    if (!asked->sink)
        return err_usage(err, "expected a sink, found NULL");
    if (!(asked->temperature >= 0 && asked->temperature <= 1000))
        return err_usage(err, "temperature: expected a number from 0 to 1000, found %g",
                         asked->temperature);
    if (!(asked->top_p >= 0 && asked->top_p <= 1))
        return err_usage(err, "top_p: expected a number from 0 to 1, found %g", asked->top_p);
    if (asked->temperature <= 0 && (asked->top_k || (asked->top_p > 0 && asked->top_p < 1)))
        return err_usage(err, "top_k, top_p: expected a temperature above 0: at 0 the most likely "
                              "token is always taken");
    if (asked->beams > 100 || asked->tokens > 1000000)
        return err_usage(err, "expected at most 100 beams and 1000000 tokens, found %zu and %zu",
                         asked->beams, asked->tokens);
    return asked->beams > 1 && asked->temperature > 0
               ? err_usage(err, "beams and a temperature cannot be combined: beam search does not "
                                "sample")
               : 0;
}

int attn_generate(struct attn_model *model, const struct attn_ids *ids,
                  const struct attn_request *request, const struct attn_generation *generation,
                  struct attn_error *error)
{
    struct host_call call = {0};
    int failed = begin_call(&call, model) || check_generation(generation, &call.err) ||
                 check_request(&call, model, ids, 1, request) ||
                 generate(&call, model, ids, request, generation);
    return end_call(&call, failed, error);
}

/* --- weights ---------------------------------------------------------------------------------- */

/* How a stored matrix [in, out] or vector [out] is rearranged into the axes of a tensor. */
enum weight_form {
    FORM_MATRIX,   /* a matrix [in, out] */
    FORM_TURNED,   /* a transposed matrix [out, in] */
    FORM_TO_HEADS, /* [head, in, dim]: a matrix whose columns are divided among heads */
    FORM_OF_HEADS, /* [head, dim, out]: a matrix whose rows are divided among heads */
    FORM_SCALES,   /* the scales [out] of a norm */
    FORM_SHIFTS,   /* the shifts [out] of a norm */
    FORM_BIAS,     /* a vector [out] */
    FORM_HEAD_BIAS /* [head, dim]: a vector that is divided among heads */
};

static const struct weight_row {
    const char *name;
    unsigned char slot, form;
    const char *axes[ATTN_AXES_MAX];
    const char *alias; /* name in TransformerLens; for a weight of a layer, without
                        * "blocks.LAYER." */
} weight_rows[] = {
    {"W_E", SLOT_TOKENS, FORM_TURNED, {"word", "channel"}, "embed.W_E"},
    {"W_pos", SLOT_POSITIONS, FORM_TURNED, {"token", "channel"}, "pos_embed.W_pos"},
    {"W_U", SLOT_UNEMBED, FORM_MATRIX, {"channel", "word"}, "unembed.W_U"},
    {"b_U", SLOT_UNEMBED, FORM_BIAS, {"word"}, "unembed.b_U"},
    {"ln_f.w", SLOT_FINAL_NORM, FORM_SCALES, {"channel"}, "ln_final.w"},
    {"ln_f.b", SLOT_FINAL_NORM, FORM_SHIFTS, {"channel"}, "ln_final.b"},
    {"W_Q", SLOT_Q, FORM_TO_HEADS, {"head", "channel", "dim"}, "attn.W_Q"},
    {"W_K", SLOT_K, FORM_TO_HEADS, {"kv_head", "channel", "dim"}, "attn.W_K"},
    {"W_V", SLOT_V, FORM_TO_HEADS, {"kv_head", "channel", "dim"}, "attn.W_V"},
    {"W_O", SLOT_O, FORM_OF_HEADS, {"head", "dim", "channel"}, "attn.W_O"},
    {"b_Q", SLOT_Q, FORM_HEAD_BIAS, {"head", "dim"}, "attn.b_Q"},
    {"b_K", SLOT_K, FORM_HEAD_BIAS, {"kv_head", "dim"}, "attn.b_K"},
    {"b_V", SLOT_V, FORM_HEAD_BIAS, {"kv_head", "dim"}, "attn.b_V"},
    {"b_O", SLOT_O, FORM_BIAS, {"channel"}, "attn.b_O"},
    {"W_gate", SLOT_GATE, FORM_MATRIX, {"channel", "dim"}, "mlp.W_gate"},
    {"W_in", SLOT_UP, FORM_MATRIX, {"channel", "dim"}, "mlp.W_in"},
    {"W_out", SLOT_DOWN, FORM_MATRIX, {"dim", "channel"}, "mlp.W_out"},
    {"b_in", SLOT_UP, FORM_BIAS, {"dim"}, "mlp.b_in"},
    {"b_out", SLOT_DOWN, FORM_BIAS, {"channel"}, "mlp.b_out"},
    {"ln_1.w", SLOT_NORM_1, FORM_SCALES, {"channel"}, "ln1.w"},
    {"ln_1.b", SLOT_NORM_1, FORM_SHIFTS, {"channel"}, "ln1.b"},
    {"ln_2.w", SLOT_NORM_2, FORM_SCALES, {"channel"}, "ln2.w"},
    {"ln_2.b", SLOT_NORM_2, FORM_SHIFTS, {"channel"}, "ln2.b"},
};

/* Find the slot of a weight by its name, such as "W_E", "h.3.W_Q", "h.3.cross_W_Q" or "enc.0.W_Q",
 * or by TransformerLens' name. A layer that the model lacks is an error. */
static int find_weight(const struct weight_row **row, struct slot *slot,
                       const struct config *config, const char *name, struct err *err)
{
    bool of_source = strncmp(name, "enc.", 4) == 0, of_block = strncmp(name, "blocks.", 7) == 0;
    bool in_layer = of_source || of_block || name[0] == 'h';
    const char *rest = name, *number = name + (of_source ? 4 : of_block ? 7 : 2);
    long long layer = -1;
    size_t layers = of_source ? stack_of(config, BRANCH_SOURCE)->layers : config->n_layer,
           index = 0;
    if (in_layer && num_parse_part(number, strspn(number, "0123456789"), 0, 1 << 20, &layer))
        rest = number + strspn(number, "0123456789") + 1;
    bool is_cross = in_layer && strncmp(rest, "cross_", 6) == 0;
    rest += is_cross ? 6 : 0;
    size_t count = sizeof weight_rows / sizeof *weight_rows;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rest, weight_rows[i].alias) == 0)
            rest = weight_rows[i].name;
    if (names_choose_item(&index, (struct names){&weight_rows->name, count, sizeof *weight_rows},
                          "a weight", rest, strlen(rest), err))
        return -1;
    *row = &weight_rows[index];
    bool is_end = (*row)->slot < SLOTS_OF_ENDS;
    if (is_end && layer >= 0 && !of_source)
        return err_usage(err, "'%s': expected '%s', since no layer has it", name, rest);
    if (!is_end && layers && (layer < 0 || layer >= (long long)layers))
        return err_usage(err, "'%s': expected '%s.LAYER.%s' with a layer below %zu", name,
                         of_source ? "enc" : "h", rest, layers);
    *slot = (struct slot){of_source  ? BRANCH_SOURCE
                          : is_cross ? BRANCH_CROSS
                                     : BRANCH_TEXT,
                          (*row)->slot, (short)layer, -1};
    return 0;
}

/* Make the tensor of a weight, as float32 numbers, with the axes of row->form. tensor->data is NULL
 * if the model lacks the weight. */
static int copy_weight(struct attn_tensor *tensor, struct weights *weights, struct slot slot,
                       const struct weight_row *row, struct arena *arena, struct err *err)
{
    struct weight matrix = {0};
    struct norm norm = {0};
    const struct stack *stack = stack_of(weights->config, slot.branch);
    const struct head_rule *head =
        stack_head(weights->config, slot.branch, slot.layer < 0 ? 0 : (size_t)slot.layer);
    bool of_norm = row->form == FORM_SCALES || row->form == FORM_SHIFTS;
    bool is_end = row->slot == SLOT_UNEMBED;
    size_t heads = row->slot == SLOT_K || row->slot == SLOT_V ? head->kv_heads : head->heads;
    if (of_norm  ? slot_exists(slot, weights->config) && weights_norm(weights, slot, &norm, err)
        : is_end ? weights_unembedding(weights, &matrix, err) ||
                       weights_vector(weights, slot_bias(slot), &matrix.bias, err)
                 : weights_matrix(weights, slot, &matrix, err))
        return -1;
    const float *vector = row->form == FORM_SCALES ? norm.scale
                          : of_norm                ? norm.shift
                                                   : matrix.bias;
    size_t in = matrix.in, out = of_norm ? stack->width : matrix.out;
    if (row->form < FORM_SCALES && weight_exists(&matrix)) {
        float *copy = arena_room(arena, in * out, sizeof *copy, err);
        if (!copy)
            return -1;
        weight_copy(copy, out, &matrix, (struct weight_piece){0, in, 0});
        tensor->data = copy;
    } else if (row->form >= FORM_SCALES) {
        tensor->data = vector;
    }
    size_t to = out / heads, of = in / heads;
    const struct attn_tensor forms[] = {
        [FORM_MATRIX] = {.rank = 2, .shape = {in, out}, .stride = {out, 1}},
        [FORM_TURNED] = {.rank = 2, .shape = {out, in}, .stride = {1, out}},
        [FORM_TO_HEADS] = {.rank = 3, .shape = {heads, in, to}, .stride = {to, out, 1}},
        [FORM_OF_HEADS] = {.rank = 3, .shape = {heads, of, out}, .stride = {of * out, out, 1}},
        [FORM_SCALES] = {.rank = 1, .shape = {out}, .stride = {1}},
        [FORM_SHIFTS] = {.rank = 1, .shape = {out}, .stride = {1}},
        [FORM_BIAS] = {.rank = 1, .shape = {out}, .stride = {1}},
        [FORM_HEAD_BIAS] = {.rank = 2, .shape = {heads, to}, .stride = {to, 1}},
    };
    const float *data = tensor->data;
    *tensor = forms[row->form];
    tensor->data = data;
    memcpy(tensor->axes, row->axes, sizeof row->axes);
    return 0;
}

int attn_weight(struct attn_model *model, const char *name,
                int (*sink)(void *context, const struct attn_tensor *weight), void *context,
                struct attn_error *error)
{
    struct host_call call = {0};
    const struct weight_row *row = NULL;
    struct slot slot = {0};
    struct attn_tensor tensor = {0};
    if (check_given(name, "a name", &call.err) || begin_call(&call, model))
        return end_call(&call, -1, error);
    struct weights *weights = &model->viewer.model.weights;
    bool packing = weights->packing, packing_words = weights->packing_words;
    /* packed weights cannot be copied, only used in products */
    weights->packing = weights->packing_words = false;
    int failed = find_weight(&row, &slot, weights->config, name, &call.err) ||
                 copy_weight(&tensor, weights, slot, row, &call.arena, &call.err);
    weights->packing = packing;
    weights->packing_words = packing_words;
    tensor.name = name;
    tensor.layer = failed ? -1 : slot.layer;
    if (!failed && !tensor.data)
        failed = err_usage(&call.err, "'%s': the model has no such weight", name);
    if (!failed && sink && sink(context, &tensor))
        failed = err_set(&call.err, "'%s': the sink ended the call", name);
    return end_call(&call, failed, error);
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
    if (config_reads_source(&opened->config)) {
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
    struct host_call call = {0};
    struct attn_cache *cache = begin_call(&call, model) ? NULL : open_cache(model, &call.err);
    if (!end_call(&call, cache ? 0 : -1, error))
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
    if (request &&
        (request->source || request->edits || request->attention || request->temperature != 0))
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
    struct host_call call = {0};
    if (check_given(cache, "a cache", &call.err) || begin_call(&call, cache->model))
        return end_call(&call, -1, error);
    size_t past = cache->cache.count;
    host_object_hold(&cache->object);
    int failed = check_request(&call, cache->model, ids, 1, request) ||
                 check_step(cache, ids, request, &call.err) ||
                 run_request(&call, cache->model, ids, 1, request, &cache->cache) ||
                 mapping_list_check(&cache->model->object, &call.err);
    /* remove the new tokens that were already added to the cache */
    if (failed && cache->cache.count > past)
        cache_forget(&cache->cache, past);
    host_object_drop(&cache->object);
    return end_call(&call, failed, error);
}

/* --- sparse features -------------------------------------------------------------------------- */

struct attn_dictionary {
    struct host_object object;
    struct attn_model *model;
    struct dictionary dictionary;
};

_Static_assert(sizeof(struct attn_feature) == sizeof(struct feature), "they are passed on");

static void free_dictionary(struct host_object *object)
{
    struct attn_dictionary *dictionary = (struct attn_dictionary *)object;
    dictionary_release(&dictionary->dictionary);
    host_object_drop(&dictionary->model->object);
    heap_free(dictionary);
}

struct attn_dictionary *attn_dictionary_open(struct attn_model *model, const char *name,
                                             struct attn_error *error)
{
    struct host_call call = {0};
    struct dictionary_request request;
    if (check_given(name, "a name", &call.err) || begin_call(&call, model)) {
        end_call(&call, -1, error);
        return NULL;
    }
    struct attn_dictionary *made = heap_alloc(1, sizeof *made, &call.err);
    int failed =
        !made || dictionary_request_read(&request, name, &call.arena, &call.err) ||
        dictionary_open(&made->dictionary, &request, &model->viewer.model.config, &call.err);
    if (failed) {
        heap_free(made);
        made = NULL;
    } else {
        made->model = model;
        host_object_init(&made->object, free_dictionary);
        host_object_hold(&model->object);
    }
    if (!end_call(&call, failed, error))
        return made;
    attn_dictionary_close(made);
    return NULL;
}

void attn_dictionary_close(struct attn_dictionary *dictionary)
{
    if (dictionary)
        host_object_close(&dictionary->object);
}

size_t attn_dictionary_count(const struct attn_dictionary *dictionary)
{
    return dictionary ? dictionary->dictionary.count : 0;
}

int attn_features(struct attn_dictionary *dictionary, const struct attn_ids *ids,
                  int (*sink)(void *context, size_t token, const struct attn_feature *features,
                              size_t count),
                  void *context, struct attn_error *error)
{
    struct host_call call = {0};
    struct err *err = &call.err;
    if (check_given(dictionary, "a dictionary", err) || begin_call(&call, dictionary->model))
        return end_call(&call, -1, error);
    struct attn_model *model = dictionary->model;
    struct viewer *viewer = &model->viewer;
    struct text_with_source pair = {0};
    struct selection selection;
    struct report report = {0};
    struct feature_row *rows = NULL;
    struct matrix x;
    const struct feature_plan plan = {.viewer = viewer, .dictionary = &dictionary->dictionary};
    const struct capture_request asked = {&selection, &pair, 1, 0, &report};
    host_object_hold(&dictionary->object);
    features_select(&selection, &dictionary->dictionary);
    int failed = check_request(&call, model, ids, 1, NULL) || check_texts(model, ids, 1, err);
    if (!failed && !sink)
        failed = err_usage(err, "expected a sink, found NULL");
    if (!failed) {
        pair.text =
            (struct tokenized){.ids = ids->ids, .count = ids->count, .segments = ids->segments};
        count_run(model, ids, 1);
        failed = viewer_capture(viewer, &asked, &call.arena, err) ||
                 features_of_report(&rows, &x, &plan, &report, &call.arena, err) ||
                 mapping_list_check(&model->object, err);
    }
    for (size_t i = 0; !failed && i < ids->count; i++)
        if (sink(context, i, (const struct attn_feature *)rows[i].items, rows[i].count))
            failed = err_set(err, "token %zu: the sink ended the call", i);
    host_object_drop(&dictionary->object);
    return end_call(&call, failed, error);
}
