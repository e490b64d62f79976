/* score_json.c: scores as JSON: where they come from, as in every report, then
 *
 *     "units": {"logprob": "nats", "surprisal": "bits", "entropy": "bits"},
 *     "total": {"tokens": 5, "logprob": -20.1, "surprisal": 20.1, "perplexity": 57.3},
 *     "scores": [{"text": "is", "logprob": -1.2, "surprisal": 1.2, "entropy": 3.1, "rank": 2,
 *                 "best": [{"id": 7, "text": "was", "logprob": -0.9}, …]}, …]
 *
 * where null is what has no score. Of words there is no entropy, rank or best.
 */
#include <math.h>

#include "measure/score_view.h"
#include "write/json_report.h"

/* --bits is for all but logarithms of probabilities; `other` is a third number, or NULL. */
static void put_units(struct json_writer *json, const struct score_view *view, const char *other)
{
    json_put_open(json, "\n units", '{');
    json_put_text(json, "logprob", "nats");
    json_put_text(json, "surprisal", score_unit(view));
    if (other)
        json_put_text(json, other, score_unit(view));
    json_put_close(json, '}');
}

static void put_logprob(struct json_writer *json, const struct score_view *view, double logprob)
{
    json_put_float(json, "logprob", (float)logprob);
    json_put_float(json, "surprisal", (float)score_surprisal(view, logprob));
}

static void put_sum(struct json_writer *json, const struct score_view *view,
                    const struct score_sum *sum)
{
    json_put_integer(json, "tokens", sum->tokens);
    put_logprob(json, view, sum->logprob);
    json_put_float(json, "perplexity", (float)score_perplexity(sum));
}

void score_json_write(struct stream *out, const struct score_view *view,
                      const struct scored_text *text, const struct place *place, bool lines)
{
    struct json_writer json = {.stream = out, .one_line = lines};
    const struct tokenized *sentence = text->sentence;
    struct score_sum sum = score_sum_of(text->scored, 0, text->scored->count);
    text_origin_json_begin(&json, JSON_FORMAT("score"), &view->origin, sentence, place);
    put_units(&json, view, view->words ? NULL : "entropy");
    json_put_open(&json, "\n total", '{');
    put_sum(&json, view, &sum);
    json_put_close(&json, '}');
    json_put_open(&json, "\n scores", '[');
    for (size_t i = 0; i < (view->words ? sentence->word_count : sentence->count); i++) {
        json_put_open(&json, "\n  ", '{');
        json_put_text(&json, "text",
                      (view->words ? sentence->word_labels : sentence->labels)[i].plain);
        if (view->words) {
            put_logprob(&json, view, score_of_word(text->scored, &sentence->words[i]));
        } else {
            const struct token_score *score = &text->scored->tokens[i];
            put_logprob(&json, view, (double)score->logprob);
            json_put_float(&json, "entropy", (float)score_surprisal(view, -(double)score->entropy));
            json_put_float(&json, "rank", score->rank ? (float)score->rank : NAN);
            if (text->scored->best_count)
                text_origin_json_best(&json, &view->origin, score->best, text->scored->best_count);
        }
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    text_origin_json_end(&json, place);
}

void score_sums_json_write(struct stream *out, const struct score_view *view,
                           const struct score_sums *sums, const struct place *place, bool lines)
{
    struct json_writer json = {.stream = out, .one_line = lines};
    text_origin_json_begin(&json, JSON_FORMAT("score"), &view->origin, sums->sentence, place);
    put_units(&json, view, sums->differences ? "difference" : NULL);
    json_put_open(&json, sums->differences ? "\n continuations" : "\n texts", '[');
    for (size_t i = 0; i < sums->count; i++) {
        const struct score_sum *sum = &sums->items[i];
        json_put_open(&json, "\n  ", '{');
        json_put_text(&json, "text", sum->label.plain);
        put_sum(&json, view, sum);
        if (sums->differences)
            json_put_float(&json, "difference", (float)score_difference(view, sums, i));
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    text_origin_json_end(&json, place);
}
