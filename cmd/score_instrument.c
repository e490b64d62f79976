/* score_instrument.c: what `attn-cli score` asks of a text, and of an item of a batch. */
#include <string.h>

#include "instrument.h"

static bool tells_best(const struct format *format)
{
    return strcmp(format->name, "text") == 0 || strncmp(format->name, "json", 4) == 0;
}

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const struct options *options = question->options;
    const struct score_options *score = &options->score;
    struct viewer *viewer = question->viewer;
    struct scoring *scoring = &question->scoring;
    question->view = (struct score_view){.origin.viewer = viewer,
                                         .bits = score->bits,
                                         .words = options->select.words,
                                         .whole = score->whole};
    *scoring = (struct scoring){.viewer = viewer, .stride = (size_t)score->stride};
    if (text_origin_attends(&question->view.origin, arena, err))
        return -1;
    if (tells_best(format) && !score->whole && !score->continuations.count)
        scoring->best_count = (size_t)score->best;
    if (score->stride > 0 && options->input.any_length)
        return err_usage(err, "--stride: expected no --beyond-context, which reads texts whole");
    viewer->reads_any_length = score->stride > 0;
    if (viewer->reads_any_length)
        scoring->context = viewer->model.config.n_positions;
    if (question->view.words && !viewer->tokenizer)
        return err_usage(err,
                         "--words: expected a model with a tokenizer, found one that takes ids: "
                         "they have no words");
    return scoring_check(scoring, err);
}

static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    return question->view.words
               ? word_spans_find(&pair->sentence, question->viewer->tokenizer, arena, err)
               : 0;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    struct scored *scored = arena_alloc(arena, look->count, sizeof *scored, err);
    if (!scored || scoring_run(scored, &question->scoring, look, arena, err))
        return -1;
    for (size_t i = 0; i < look->count; i++)
        findings[i] = (struct finding){question, &look->pairs[i], .scored = scored[i]};
    return 0;
}

static struct score_view view_of(const struct finding *finding)
{
    struct score_view view = finding->question->view;
    view.origin.source = &finding->pair->source;
    return view;
}

static int report(struct report *report, const struct finding *finding, const struct format *format,
                  struct arena *arena, struct err *err)
{
    const struct score_view view = view_of(finding);
    const struct scored_text text = {&finding->pair->sentence, &finding->scored};
    return score_report(report, &view, &text, instrument_is_picture(format), arena, err);
}

static int write_line(struct stream *out, const struct finding *finding, const struct place *place,
                      struct err *err)
{
    const struct score_view view = view_of(finding);
    const struct scored_text text = {&finding->pair->sentence, &finding->scored};
    (void)err; /* what can fail here sticks to the stream */
    score_json_write(out, &view, &text, place, true);
    return 0;
}

const struct instrument score_instrument = {FOR_SCORE, ask, check, find, report, write_line};
