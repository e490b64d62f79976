#include "live/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "draw/page.h"
#include "format/json_writer.h"
#include "lens/continuation.h"
#include "lens/edits.h"
#include "measure/finding.h"
#include "measure/logit_lens.h"
#include "measure/score_attribution.h"
#include "model/head_name.h"
#include "model/layer.h"
#include "model/mechanism.h"
#include "model/points.h"
#include "pass/tap.h"

/* maximum count of numbers that explain the cells of the maps: 1.3 MB in base64 */
enum { CELLS_MAX = 250000 };

/* --- texts that grow --------------------------------------------------------------------------
 *
 * A text that grows by tokens which the page chooses. The keys and values of its tokens stay in a
 * cache: a request with one more token runs only this token. */

struct growing {
    struct continuation text;     /* the text; its viewer is NULL if there is no text yet */
    struct text_with_source pair; /* the text without the tokens that were added */
    struct live_request of;       /* the request that `pair` was read from, in `arena` */
    float *logits;                /* logits after the last token, by id; NULL: not known */
    float *weights[2];  /* attention weights of the last token for each token of the text, and of
                         * the source, summed over layers and heads; NULL: the model has no such
                         * attention */
    struct arena arena; /* memory of the pair */
    struct arena read;  /* memory of the numbers: `logits` and `weights` */
};

enum { ADDED_MOST = 1000 }; /* maximum number of tokens that a page adds to a text */

static void growing_release(struct growing *growing)
{
    continuation_release(&growing->text);
    arena_release(&growing->arena);
    arena_release(&growing->read);
    *growing = (struct growing){0};
}

/* Read a request without its added tokens. For an encoder-decoder, the text of the request is the
 * source. */
static int growing_begin(struct text_with_source *pair, const struct viewer *viewer,
                         const struct live_request *request, struct arena *arena, struct err *err)
{
    const bool has_source = has_encoder(&viewer->model.config);
    const struct input input = {.text = request->text, .size = request->size};
    if (viewer_read(viewer, pair, has_source ? NULL : &input, has_source ? &input : NULL, arena,
                    err))
        return -1;
    if (has_source) { /* a decoder's prompt has no end token */
        pair->text.count -= pair->text.added_after;
        pair->text.added_after = 0;
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
    viewer_expect(viewer, EXPECT_STEPS, 0); /* do not make a copy of the unembedding */
    return continuation_open(&growing->text, viewer, &growing->pair, &usual, err);
}

static bool is_same(const struct live_request *one, const struct live_request *other)
{
    return one->size == other->size && memcmp(one->text, other->text, one->size) == 0 &&
           strcmp(edits_of(one), edits_of(other)) == 0 && one->temperature == other->temperature;
}

/* Make the text of a request, with its added tokens, the growing text. The viewer must have the
 * temperature of the request. */
static int growing_take(struct growing *growing, struct viewer *viewer,
                        const struct live_request *request, struct err *err)
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

/* Receive numbers of a pass: keep logits, or add the last row of each head's weights to the
 * sums. */
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
    float *sums = growing->weights[site_branch(announced->site) == BRANCH_CROSS];
    const size_t heads = values->shape[0], rows = values->shape[1], keys = values->shape[2];
    for (size_t head = 0; head < heads; head++)
        for (size_t key = 0; key < keys; key++)
            sums[key] += copy[(head * rows + rows - 1) * keys + key];
    return 0;
}

/* Compute `logits` and `weights` for the last token with the viewer's edits, unless they are
 * known. */
static int growing_read(struct growing *growing, struct err *err)
{
    static const enum site_branch branches[] = {BRANCH_TEXT, BRANCH_CROSS};
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
        enum site weights = SITE_OF(branches[i], SITE_WEIGHTS);
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

/* Compute the logits, by id, with the viewer's edits, which change only the last token. They are
 * valid until the next call; NULL with `err`. */
static const float *growing_edited(struct growing *growing, struct err *err)
{
    struct continuation *text = &growing->text;
    continuation_forget(text, text->count - 1);
    int failed = continuation_run(text, text->count, NULL, (struct tap){0}, err);
    /* forget the keys and values of the last token, which are edited as well */
    continuation_forget(text, text->count - 1);
    return failed ? NULL : text->logits;
}

/* --- the engine ------------------------------------------------------------------------------- */

struct live {
    struct viewer viewer;
    struct mechanism switched; /* the changes of live_switch, for each request */
    struct growing growing;
    struct arena arena;                    /* memory of the current text; the next text reuses it */
    struct arena before;                   /* memory of the text that `known` belongs to */
    struct lens_known known[STREAM_STEPS]; /* predictions for the text before this one, the last
                                            * step first */
};

int live_open(struct live **live, const struct folder *folder, struct err *err)
{
    struct live *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    if (viewer_open_folder(&opened->viewer, folder, 1, err)) {
        heap_free(opened);
        return -1;
    }
    if (opened->viewer.tokenizer && tokenizer_add_special(opened->viewer.tokenizer, err)) {
        live_close(opened);
        return -1;
    }
    *live = opened;
    return 0;
}

int live_switch(struct live *live, const char *scale, const char *without, struct err *err)
{
    struct mechanism switched = {0};
    if ((*scale && mechanism_set_scale(&switched, scale, err)) ||
        (*without && mechanism_set_without(&switched, without, err)) ||
        mechanism_check(&switched, &live->viewer.model.config, err))
        return -1;
    growing_release(&live->growing);
    memset(live->known, 0, sizeof live->known);
    live->switched = switched;
    return 0;
}

void live_close(struct live *live)
{
    if (!live)
        return;
    growing_release(&live->growing);
    viewer_release(&live->viewer);
    arena_release(&live->arena);
    arena_release(&live->before);
    heap_free(live);
}

/* Set the attention temperature of a request, and read its text with the added tokens. */
static int read_text(struct live *live, struct text_with_source *pair,
                     const struct live_request *request, struct arena *arena, struct err *err)
{
    struct mechanism mechanism = live->switched;
    struct growing *growing = &live->growing;
    mechanism.temperature = request->temperature;
    if (viewer_set_mechanism(&live->viewer, &mechanism, err))
        return -1;
    if (!request->added || !*request->added)
        return growing_begin(pair, &live->viewer, request, arena, err);
    if (growing_take(growing, &live->viewer, request, err))
        return -1;
    *pair = growing->pair;
    return continuation_whole(&pair->text, &growing->text, arena, err);
}

/* True if the bytes of a text give the same tokens when they are encoded again: commands may then
 * contain the text, not its ids. False if the text has a source. */
static bool is_typed(const struct live *live, const struct text_with_source *pair,
                     struct arena *arena)
{
    const struct tokenized *text = &pair->text;
    const struct input input = {.text = text->raw, .size = text->size};
    struct tokenized again = {0};
    struct err unused = {0};
    return !pair->source.count && text->size &&
           !viewer_tokenize(&live->viewer, &again, BRANCH_TEXT, &input, arena, &unused) &&
           again.count == text->count &&
           memcmp(again.ids, text->ids, text->count * sizeof *text->ids) == 0;
}

/* Parse the edits of a request into an empty list. */
static int read_edits(struct edit_list *list, const struct live_request *request, struct err *err)
{
    if (request->edits && *request->edits &&
        (edit_list_add(list, EDIT_WORDS, request->edits, err) ||
         edits_check(&list->edits, list->config, err)))
        return -1;
    if (list->by_text)
        return err_usage(err, "edits: expected numbers of tokens, found a name: '%s'",
                         request->edits);
    return list->origins & ~(1u << EDIT_NUMBER)
               ? err_usage(err, "edits: expected numbers, found values of other texts")
               : 0;
}

/* Make `part` a copy of a report with only the tensors of some sites. */
static int choose_sites(struct report *part, const struct report *report, struct site_set sites,
                        struct arena *arena, struct err *err)
{
    struct array *arrays = arena_alloc(arena, report->array_count, sizeof *arrays, err);
    size_t count = 0;
    for (size_t i = 0; arrays && i < report->array_count; i++)
        if (site_set_has(sites, report->arrays[i].site))
            arrays[count++] = report->arrays[i];
    *part = *report;
    part->arrays = arrays;
    part->array_count = count;
    return arrays ? 0 : -1;
}

/* Run a text in one pass, and write its JSON. */
static int write_look(struct live *live, struct stream *out, const struct live_request *request,
                      struct selection selection, const struct text_with_source *pair,
                      struct err *err)
{
    const struct config *config = &live->viewer.model.config;
    const struct site_set shown = selection.sites;
    /* true if explaining the cells would be too much work for every keystroke: there are many, or
     * the model has an encoder */
    bool is_much = page_explained_numbers(config, pair->text.count) > CELLS_MAX ||
                   stack_of(config, BRANCH_SOURCE)->layers;
    const struct site_set explained = is_much ? (struct site_set){0} : page_explained_sites(config);
    struct report *report = arena_alloc(&live->arena, 1, sizeof *report, err);
    struct report parts[2];
    struct next_plan plan;
    struct page_facts facts = {.config = config,
                               .text = &pair->text,
                               .source = &pair->source,
                               .by_ids = request->added && *request->added &&
                                         !is_typed(live, pair, &live->arena),
                               .mask = live->viewer.mask,
                               .explained = is_much ? NULL : &parts[1]};
    struct capture_request asked = {
        .selection = &selection, .pairs = pair, .count = 1, .reports = report};
    if (!report ||
        next_tokens_plan(&plan, &live->viewer, request->next, request->steps, &live->arena, err))
        return -1;
    for (size_t i = 0; i < STREAM_STEPS; i++) {
        struct lens_plan *lens = i < plan.count ? &plan.lenses[plan.count - 1 - i] : NULL;
        /* the lens of the model's output, i = 0, always covers all tokens */
        bool of_token = i > 0 && request->of_token;
        if (lens && of_token) {
            lens->of_one = true;
            lens->position = num_min(request->token, pair->text.count - 1);
        } else if (lens) {
            lens->known = &live->known[i];
        }
        if (!lens || of_token)
            live->known[i] = (struct lens_known){0};
    }
    site_set_join(&selection.sites, explained);
    site_set_join(&selection.sites, next_tokens_sites(&plan));
    return err_if(
        viewer_capture(&live->viewer, &asked, &live->arena, err) ||
        choose_sites(&parts[0], report, shown, &live->arena, err) ||
        choose_sites(&parts[1], report, explained, &live->arena, err) ||
        next_tokens_of_report(&facts.next, &plan, report, &pair->text, &live->arena, err) ||
        page_text_put(out, &parts[0], true, &facts, err));
}

int live_write(struct live *live, struct stream *out, const struct live_request *request,
               struct err *err)
{
    struct viewer *viewer = &live->viewer;
    const struct config *config = &viewer->model.config;
    struct edit_list list = {.config = config, .arena = &live->arena};
    struct selection selection = {0};
    struct text_with_source pair;
    const char *layer = request->layer && *request->layer ? request->layer : NULL;
    arena_clear(&live->arena);
    if (read_text(live, &pair, request, &live->arena, err) ||
        selection_sites(&selection, request->show, config, err) ||
        selection_layers(&selection, layer, config, &live->arena, err) ||
        selection_heads(&selection, NULL, config, &live->arena, err) ||
        read_edits(&list, request, err))
        return -1;
    viewer->edits = list.edits.count ? &list.edits : NULL;
    int failed = write_look(live, out, request, selection, &pair, err);
    viewer->edits = NULL;
    if (failed) {
        memset(live->known, 0, sizeof live->known);
    } else if (live->known->ids == pair.text.ids) {
        struct arena before = live->before;
        live->before = live->arena;
        live->arena = before;
    }
    return failed;
}

int live_write_findings(struct live *live, struct stream *out, const struct live_request *request,
                        double products, struct err *err)
{
    struct viewer *viewer = &live->viewer;
    struct arena arena = {0};
    struct edit_list list = {.config = &viewer->model.config, .arena = &arena};
    struct text_with_source pair;
    const struct finding_plan plan = {viewer, &pair, products};
    struct findings findings;
    int failed = read_text(live, &pair, request, &arena, err) || read_edits(&list, request, err);
    viewer->edits = !failed && list.edits.count ? &list.edits : NULL;
    failed = failed || findings_make(&findings, &plan, &arena, err);
    viewer->edits = NULL;
    if (!failed)
        page_findings_put(out, &findings);
    arena_release(&arena);
    return err_if(failed);
}

int live_write_origin(struct live *live, struct stream *out, const struct live_request *request,
                      const struct page_origin *asked, struct err *err)
{
    struct viewer *viewer = &live->viewer;
    const struct config *config = &viewer->model.config;
    struct page_origin origin = *asked;
    struct text_with_source pair;
    struct report report = {.model = viewer->model.name};
    struct score_attribution found;
    struct arena arena = {0};
    char name[HEAD_NAME_BYTES];
    struct score_plan plan = {.viewer = viewer,
                              .head = {BRANCH_TEXT, asked->layer, asked->head},
                              .query = asked->query,
                              .key = asked->key,
                              .against = asked->less_mean ? AGAINST_MEAN : AGAINST_NOTHING,
                              .depth = PAGE_ORIGIN_DEPTH};
    int failed = read_text(live, &pair, request, &arena, err);
    if (!failed && (asked->layer >= config->n_layer || asked->head >= config->n_head ||
                    asked->query >= pair.text.count))
        failed = err_usage(err, "expected a head and a query of the text, found %s, query %zu",
                           head_name(name, asked->layer, asked->head), asked->query);
    if (!failed) {
        report.text = pair.text;
        failed = score_attribution_make(&found, &report, &plan, &pair, &arena, err);
    }
    if (!failed) {
        origin.weights = SITE_WEIGHTS;
        origin.score = found.score;
        origin.report = &report;
        page_origin_put(out, &origin);
    }
    arena_release(&arena);
    return err_if(failed);
}

/* --- next tokens of a text that grows --------------------------------------------------------- */

/* The most likely next tokens of a request, in an arena. */
struct next_likely {
    struct likely *best; /* array of `count` tokens */
    size_t count;
    double log_sum;
    struct edit_list list; /* the edits of the request */
};

/* Read the text of a request, and find its most likely next tokens. */
static int find_likely(struct next_likely *found, struct live *live,
                       const struct live_request *request, struct arena *arena, struct err *err)
{
    struct text_with_source pair;
    struct growing *growing = &live->growing;
    struct viewer *viewer = &live->viewer;
    const struct config *config = &viewer->model.config;
    *found = (struct next_likely){.count = num_min(request->next, config->vocab_size),
                                  .list = {.config = config, .arena = arena}};
    if (read_text(live, &pair, request, arena, err) ||
        growing_take(growing, viewer, request, err) || read_edits(&found->list, request, err))
        return -1;
    viewer->edits = found->list.edits.count ? &found->list.edits : NULL;
    int failed = growing_read(growing, err);
    viewer->edits = NULL;
    found->best = arena_alloc(arena, found->count, sizeof *found->best, err);
    if (failed || !found->best)
        return -1;
    found->log_sum = logsumexp(growing->logits, config->vocab_size);
    topk(found->best, found->count, growing->logits, config->vocab_size, found->log_sum);
    return 0;
}

/* Write a next token. The chances of tokens divide the numbers from 0 to 1 in the order of ids:
 * `start` is the number where the range of this token begins. */
static void put_choice(struct json_writer *json, const char *name, struct likely one,
                       const struct live *live, const struct sampler *sampler, struct arena *arena,
                       struct err *err)
{
    double before = 0, total = 0;
    for (size_t i = 0; i < sampler->count; i++) {
        before = i == one.id ? total : before;
        total += (double)sampler->weights[i];
    }
    json_put_open(json, name, '{');
    json_put_integer(json, "id", one.id);
    json_put_text(json, "name", label_of_word(live->viewer.words, one.id, arena, err).text);
    json_put_float(json, "logprob", one.logprob);
    json_put_float(json, "chance", (float)((double)sampler->weights[one.id] / total));
    json_put_float(json, "start", (float)(before / total));
    json_put_bool(json, "ends", continuation_ends(&live->growing.text, one.id));
    json_put_close(json, '}');
}

static int put_next(struct live *live, struct stream *out, const struct next_likely *found,
                    struct sampler *sampler, struct arena *arena, struct err *err)
{
    struct json_writer json = {.stream = out};
    struct growing *growing = &live->growing;
    struct continuation *text = &growing->text;
    struct tokenized whole;
    const float *logits = continuation_ruled(text, growing->logits, arena, err);
    if (!logits || continuation_whole(&whole, text, arena, err))
        return -1;
    uint64_t state = sampler->state;
    double u = (double)(sampler_random(&state) >> 11) * 0x1p-53;
    struct likely drawn = {sampler_next(sampler, logits), 0};
    drawn.logprob = (float)((double)growing->logits[drawn.id] - found->log_sum);
    if (!sampler->weights) { /* the temperature is 0 */
        sampler->weights = arena_alloc(arena, sampler->count, sizeof *sampler->weights, err);
        if (!sampler->weights)
            return -1;
        sampler->weights[drawn.id] = 1;
    }
    json_put_open(&json, NULL, '{');
    json_put_open(&json, "words", '[');
    for (size_t i = 0; i < whole.count; i++)
        json_put_text(&json, NULL, whole.labels[i].text);
    json_put_close(&json, ']');
    const struct text_with_source pair = {.text = whole, .source = *text->source};
    if (is_typed(live, &pair, arena)) {
        json_put_bytes(&json, "text", whole.raw, whole.size);
    } else {
        json_put_open(&json, "ids", '[');
        for (size_t i = 0; i < whole.count; i++)
            json_put_integer(&json, NULL, text->ids[i]);
        json_put_close(&json, ']');
    }
    json_put_integer(&json, "vocabulary", (long long)sampler->count);
    json_put_integer(&json, "room", (long long)(text->capacity - text->count));
    if (growing->weights[0])
        json_put_floats(&json, "weights", growing->weights[0], text->count);
    if (growing->weights[1])
        json_put_floats(&json, "source_weights", growing->weights[1], text->source->count);
    json_put_open(&json, "likely", '[');
    for (size_t i = 0; i < found->count; i++)
        put_choice(&json, NULL, found->best[i], live, sampler, arena, err);
    json_put_close(&json, ']');
    put_choice(&json, "drawn", drawn, live, sampler, arena, err);
    json_put_float(&json, "u", (float)u);
    json_put_close(&json, '}');
    return err_if(err->kind);
}

int live_write_next(struct live *live, struct stream *out, const struct live_request *request,
                    const struct sampling *sampling, size_t index, struct err *err)
{
    struct arena arena = {0};
    struct next_likely found;
    struct sampler sampler;
    int failed =
        find_likely(&found, live, request, &arena, err) ||
        sampler_init(&sampler, sampling, live->viewer.model.config.vocab_size, &arena, err);
    for (size_t i = 0; i < index && !failed; i++)
        sampler_random(&sampler.state);
    failed = failed || put_next(live, out, &found, &sampler, &arena, err);
    arena_release(&arena);
    return err_if(failed);
}

int live_write_knockout(struct live *live, struct stream *out, const struct live_request *request,
                        bool of_source, size_t key, struct err *err)
{
    struct arena arena = {0};
    struct json_writer json = {.stream = out};
    struct next_likely found;
    struct viewer *viewer = &live->viewer;
    const struct edit_range last = {-1, -1}, hidden = {(ptrdiff_t)key, (ptrdiff_t)key};
    const struct edit without = {.site =
                                     SITE_OF(of_source ? BRANCH_CROSS : BRANCH_TEXT, SITE_MASKED),
                                 .op = EDIT_FORBID,
                                 .tokens = {&last, 1},
                                 .columns = {&hidden, 1}};
    int failed = find_likely(&found, live, request, &arena, err);
    const size_t count = failed ? 0 : found.list.edits.count;
    struct edit *items = arena_alloc(&arena, count + 1, sizeof *items, err);
    struct edits edits = {items, count + 1};
    const float *logits = NULL;
    if (!failed && items) {
        for (size_t i = 0; i < count; i++)
            items[i] = found.list.edits.items[i];
        items[count] = without;
        viewer->edits = &edits;
        logits = growing_edited(&live->growing, err);
        viewer->edits = NULL;
    }
    json_put_open(&json, NULL, '[');
    const double log_sum = logits ? logsumexp(logits, viewer->model.config.vocab_size) : 0;
    for (size_t i = 0; logits && i < found.count; i++)
        json_put_float(&json, NULL, (float)((double)logits[found.best[i].id] - log_sum));
    json_put_close(&json, ']');
    arena_release(&arena);
    return logits ? 0 : -1;
}
