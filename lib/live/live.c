#include "live/live.h"

#include <string.h>

#include "base/memory.h"
#include "draw/page.h"
#include "lens/edits.h"
#include "lens/viewer.h"
#include "measure/logit_lens.h"
#include "measure/saliency.h"
#include "measure/score_attribution.h"
#include "model/layer.h"
#include "model/mechanism.h"

enum { CELLS_MAX = 250000 }; /* numbers that explain the cells of a text, at most: 1.3 MB */

struct live {
    struct viewer viewer;
    struct arena arena;                    /* of the present text; the next text reuses it */
    struct arena before;                   /* of the text that `known` belongs to */
    struct lens_known known[STREAM_STEPS]; /* predictions of the text before, last step first */
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

void live_close(struct live *live)
{
    if (!live)
        return;
    viewer_release(&live->viewer);
    arena_release(&live->arena);
    arena_release(&live->before);
    heap_free(live);
}

/* Make `part`, a copy of a report with only the tensors of some sites. */
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
    bool is_much = page_explained_numbers(config, pair->sentence.count) > CELLS_MAX ||
                   stack_of(config, PART_SOURCE)->layers; /* too much to run at every keystroke */
    const struct site_set explained = is_much ? (struct site_set){0} : page_explained_sites(config);
    struct report *report = arena_alloc(&live->arena, 1, sizeof *report, err);
    struct report parts[2];
    struct next_plan plan;
    struct page_facts facts = {.config = config,
                               .sentence = &pair->sentence,
                               .source = &pair->source,
                               .mask = live->viewer.mask,
                               .explained = is_much ? NULL : &parts[1]};
    struct capture_request asked = {
        .selection = &selection, .pairs = pair, .count = 1, .reports = report};
    if (!report ||
        next_tokens_plan(&plan, &live->viewer, request->next, request->steps, &live->arena, err))
        return -1;
    for (size_t i = 0; i < STREAM_STEPS; i++)
        if (i < plan.count)
            plan.lenses[plan.count - 1 - i].known = &live->known[i];
        else
            live->known[i] = (struct lens_known){0};
    site_set_join(&selection.sites, explained);
    site_set_join(&selection.sites, next_tokens_sites(&plan));
    return err_if(
        edits_check_text(live->viewer.edits, config, pair->sentence.count, 0, err) ||
        viewer_capture(&live->viewer, &asked, &live->arena, err) ||
        choose_sites(&parts[0], report, shown, &live->arena, err) ||
        choose_sites(&parts[1], report, explained, &live->arena, err) ||
        next_tokens_of_report(&facts.next, &plan, report, &pair->sentence, &live->arena, err) ||
        page_sentence_put(out, &parts[0], true, &facts, err));
}

int live_write(struct live *live, struct stream *out, const struct live_request *request,
               struct err *err)
{
    struct viewer *viewer = &live->viewer;
    struct mechanism mechanism = {.temperature = request->temperature};
    const struct config *config = &viewer->model.config;
    struct edit_list list = {.config = config, .arena = &live->arena};
    struct selection selection = {0};
    struct text_with_source pair;
    struct input input = {.text = request->text, .size = request->size};
    bool is_edited = request->edits && *request->edits;
    arena_clear(&live->arena);
    if (viewer_set_mechanism(viewer, &mechanism, err) ||
        selection_sites(&selection, request->show, config, err) ||
        selection_layers(&selection, NULL, config, &live->arena, err) ||
        selection_heads(&selection, NULL, config, &live->arena, err) ||
        (is_edited && (edit_list_add(&list, EDIT_WORDS, request->edits, err) ||
                       edits_check(&list.edits, config, err))))
        return -1;
    if (list.origins & ~(1u << EDIT_NUMBER))
        return err_usage(err, "edits: expected numbers, found values of other texts");
    if (viewer_read(viewer, &pair, &input, NULL, &live->arena, err))
        return -1;
    viewer->edits = list.edits.count ? &list.edits : NULL;
    int failed = write_look(live, out, request, selection, &pair, err);
    viewer->edits = NULL;
    if (failed) {
        memset(live->known, 0, sizeof live->known);
    } else if (live->known->ids == pair.sentence.ids) {
        struct arena before = live->before;
        live->before = live->arena;
        live->arena = before;
    }
    return failed;
}

int live_write_origin(struct live *live, struct stream *out, const struct live_request *request,
                      const struct page_origin *asked, struct err *err)
{
    struct viewer *viewer = &live->viewer;
    struct mechanism mechanism = {.temperature = request->temperature};
    const struct config *config = &viewer->model.config;
    struct page_origin origin = *asked;
    struct text_with_source pair;
    struct input input = {.text = request->text, .size = request->size};
    struct report report = {.model = viewer->model.name};
    struct score_attribution found;
    struct arena arena = {0};
    struct score_plan plan = {.viewer = viewer,
                              .head = {PART_SENTENCE, asked->layer, asked->head},
                              .query = asked->query,
                              .key = asked->key,
                              .against = asked->less_mean ? AGAINST_MEAN : AGAINST_NOTHING,
                              .depth = PAGE_ORIGIN_DEPTH};
    int failed = viewer_set_mechanism(viewer, &mechanism, err) ||
                 viewer_read(viewer, &pair, &input, NULL, &arena, err);
    if (!failed && (asked->layer >= config->n_layer || asked->head >= config->n_head ||
                    asked->query >= pair.sentence.count))
        failed =
            err_usage(err, "expected a head and a query of the text, found head %zu.%zu, query %zu",
                      asked->layer, asked->head, asked->query);
    if (!failed) {
        report.sentence = pair.sentence;
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

int live_write_saliency(struct live *live, struct stream *out, const struct live_request *request,
                        size_t position, struct err *err)
{
    struct viewer *viewer = &live->viewer;
    struct mechanism mechanism = {.temperature = request->temperature};
    struct text_with_source pair;
    struct input input = {.text = request->text, .size = request->size};
    struct report report = {.model = viewer->model.name};
    struct saliency found;
    struct arena arena = {0};
    struct question question = {.position = position, .answer = -1, .against = -1};
    const struct saliency_plan plan = {
        .viewer = viewer, .question = &question, .steps = SALIENCY_STEPS};
    int failed = viewer_set_mechanism(viewer, &mechanism, err) ||
                 viewer_read(viewer, &pair, &input, NULL, &arena, err);
    if (!failed && position >= pair.sentence.count)
        failed = err_usage(err, "expected a position of the text, found %zu", position);
    failed = failed || saliency_make(&found, &report, &plan, &pair, &arena, err);
    if (!failed) {
        const struct page_saliency saliency = {position, found.value,
                                               found.value - found.baseline + found.missing,
                                               found.missing, report.tables};
        page_saliency_put(out, &saliency);
    }
    arena_release(&arena);
    return err_if(failed);
}
