/* score_instrument.c: what `attn-cli score` asks of a text, and of an item of a batch. */
#include <string.h>

#include "instrument.h"
#include "score_job.h"
#include "text/post_processor.h"

/* --- what texts go on with -------------------------------------------------------------------- */

int score_check_options(const struct options *options, struct err *err)
{
    bool whole = options->score.whole;
    if (options->score.continuations.count && (whole || options->select.words))
        return err_usage(err, "--continue: it has sums alone, without --%s",
                         whole ? "total" : "words");
    if (whole && options->select.words)
        return err_usage(err, "--total: it has no lines of words: leave out --words");
    return 0;
}

/* Refuse a continuation that makes other tokens of the end of the text. */
static int check_start(const struct tokenized *text, const struct tokenized *whole,
                       const char *continuation, struct err *err)
{
    for (size_t i = 0; i < text->count; i++)
        if (i >= whole->count || text->ids[i] != whole->ids[i])
            return err_usage(err,
                             "--continue '%s': expected the text's %zu tokens to stay as they are, "
                             "found another one at %zu: begin where a token does, as with a blank",
                             continuation, text->count, i);
    if (whole->count == text->count)
        return err_usage(err, "--continue '%s': expected a token or more, found none",
                         continuation);
    return 0;
}

int score_read_continued(struct text_pair *pairs, const struct question *question,
                         const struct text_pair *alone, struct arena *arena, struct err *err)
{
    const struct texts *continuations = &question->options->score.continuations;
    const struct tokenized *sentence = &alone->sentence;
    if (!sentence->text)
        return err_usage(err, "--continue: expected a text beside it, found ids");
    for (size_t i = 0; i < continuations->count; i++) {
        const char *more = continuations->items[i];
        size_t size = strlen(more);
        char *text = arena_room(arena, sentence->size + size + 1, 1, err);
        struct input whole = {.text = text, .size = sentence->size + size};
        if (!text)
            return -1;
        memcpy(text, sentence->text, sentence->size);
        memcpy(text + sentence->size, more, size + 1);
        if (viewer_read(question->viewer, &pairs[i], &whole, NULL, arena, err) ||
            check_start(sentence, &pairs[i].sentence, more, err))
            return -1;
        pairs[i].source = alone->source;
        pairs[i].prompt_count = sentence->count;
    }
    return 0;
}

int score_sum_continued(struct score_sums *sums, const struct question *question,
                        const struct scored *scored, size_t prompt_count, struct arena *arena,
                        struct err *err)
{
    const struct texts *continuations = &question->options->score.continuations;
    struct score_sum *items = arena_alloc(arena, continuations->count, sizeof *items, err);
    *sums = (struct score_sums){NULL, items, continuations->count, "continuation", true};
    for (size_t i = 0; items && i < continuations->count; i++) {
        const char *text = continuations->items[i];
        struct token_bytes bytes = {text, strlen(text)};
        struct thing thing = {i, &bytes, 1, 0};
        items[i] = score_sum_of(&scored[i], prompt_count, scored[i].count - prompt_count);
        if (label_make(&items[i].label, &thing, arena, err))
            return -1;
    }
    return items ? 0 : -1;
}

int score_sum_text(struct score_sum *sum, size_t number, const struct tokenized *sentence,
                   const struct scored *scored, struct arena *arena, struct err *err)
{
    struct buf words = {0};
    tokenized_visible(&words, sentence);
    const char *text = buf_keep(&words, arena, err);
    struct token_bytes bytes = {text, text ? strlen(text) : 0};
    struct thing thing = {number, &bytes, 1, 0};
    *sum = score_sum_of(scored, 0, scored->count);
    if (!text || label_make(&sum->label, &thing, arena, err))
        return -1;
    sum->label.text = text; /* its blanks are no signs */
    return 0;
}

/* --- what is asked of any text ---------------------------------------------------------------- */

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
    struct special_ids special = {0};
    if (score_check_options(options, err) ||
        text_origin_attends(&question->view.origin, arena, err) ||
        (score->continuations.count && options->input.add_special &&
         tokenizer_special(&special, viewer->tokenizer, err)))
        return -1;
    if (special.after_count)
        return err_usage(err, "--continue: expected no token after a text, found --add-special");
    bool tells_best = format_is(format, "text") || strncmp(format->name, "json", 4) == 0;
    if (tells_best && !score->whole && !score->continuations.count)
        scoring->best_count = (size_t)score->best;
    if (score->stride > 0 && options->input.any_length)
        return err_usage(err, "--stride: expected no --beyond-context, which reads texts whole");
    viewer->reads_any_length = score->stride > 0;
    if (viewer->reads_any_length)
        scoring->context = viewer->model.config.n_positions;
    if (question->view.words && !viewer->tokenizer)
        return err_usage(err, "--words: expected a model with a tokenizer, found one that takes "
                              "ids: they have no words");
    return scoring_check(scoring, err);
}

static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    size_t each = question->options->score.continuations.count;
    struct text_pair *continued = arena_alloc(arena, each, sizeof *continued, err);
    if (!continued)
        return -1;
    if (each)
        return score_read_continued(continued, question, pair, arena, err);
    return question->view.words
               ? word_spans_find(&pair->sentence, question->viewer->tokenizer, arena, err)
               : 0;
}

static int find_continued(struct finding *findings, const struct question *question,
                          const struct look *look, struct arena *arena, struct err *err)
{
    size_t each = question->options->score.continuations.count;
    struct text_pair *pairs = arena_alloc(arena, look->count, each * sizeof *pairs, err);
    struct scored *scored = arena_alloc(arena, look->count, each * sizeof *scored, err);
    struct look whole = {.pairs = pairs, .count = look->count * each, .first = look->first};
    for (size_t i = 0; pairs && i < look->count; i++)
        if (score_read_continued(&pairs[i * each], question, &look->pairs[i], arena, err))
            return -1;
    if (!pairs || !scored || scoring_run(scored, &question->scoring, &whole, arena, err))
        return -1;
    for (size_t i = 0; i < look->count; i++) {
        findings[i] = (struct finding){question, &look->pairs[i], .position = 0};
        if (score_sum_continued(&findings[i].sums, question, &scored[i * each],
                                look->pairs[i].sentence.count, arena, err))
            return -1;
        findings[i].sums.sentence = &look->pairs[i].sentence;
    }
    return 0;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    if (question->options->score.continuations.count)
        return find_continued(findings, question, look, arena, err);
    struct scored *scored = arena_alloc(arena, look->count, sizeof *scored, err);
    struct score_sum *sums = arena_alloc(arena, look->count, sizeof *sums, err);
    if (!scored || !sums || scoring_run(scored, &question->scoring, look, arena, err))
        return -1;
    for (size_t i = 0; i < look->count; i++) {
        const struct tokenized *sentence = &look->pairs[i].sentence;
        findings[i] = (struct finding){question, &look->pairs[i], .scored = scored[i]};
        if (!question->view.whole)
            continue;
        if (score_sum_text(&sums[i], 0, sentence, &scored[i], arena, err))
            return -1;
        findings[i].sums = (struct score_sums){sentence, &sums[i], 1, "text", false};
    }
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
    if (finding->sums.count)
        return score_sums_report(report, &view, &finding->sums, format_is_looked_at(format), arena,
                                 err);
    return score_report(report, &view, &text, format_is_looked_at(format), arena, err);
}

static int write_line(struct stream *out, const struct finding *finding, const struct place *place,
                      struct err *err)
{
    const struct score_view view = view_of(finding);
    const struct scored_text text = {&finding->pair->sentence, &finding->scored};
    (void)err; /* what can fail here sticks to the stream */
    if (finding->sums.count) {
        score_sums_json_write(out, &view, &finding->sums, place, true);
        return 0;
    }
    score_json_write(out, &view, &text, place, true);
    return 0;
}

const struct instrument score_instrument = {
    FOR_SCORE, JSON_FORMAT("score"), ask, check, find, report, write_line};
