/* finding_words.c: the findings of a text in sentences, and as a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/language.h"
#include "measure/finding.h"
#include "model/head_name.h"
#include "model/layer.h"

const char *share_text(char text[SHARE_BYTES], double share)
{
    const double percent = 100 * share;
    if (percent > 99.9 && share < 1)
        return "> 99.9 %";
    if (percent < 0.1)
        return "< 0.1 %";
    const bool fine = percent >= 99.5 || percent < 0.95;
    snprintf(text, SHARE_BYTES, fine ? "%.1f %%" : "%.0f %%", percent);
    return text;
}

/* --- sentences -------------------------------------------------------------------------------- */

/* Data for the sentences, and the text that is written so far (`out`). */
struct telling {
    const struct findings *found;
    const struct viewer *viewer;
    const struct text_with_source *pair;
    const char *language;
    struct buf *out;
    struct arena *arena;
    struct err *err;
};

/* A token in quotes, without the space before it, or a mark such as [MASK] as it is; "" with
 * `err`. */
static const char *quoted(const struct telling *telling, const struct label *label)
{
    const char *text = token_is_mark(label) ? label->text
                                            : arena_format(telling->arena, telling->err, "\"%s\"",
                                                           label_name(label));
    return text ? text : "";
}

/* Return share_text of a share, in the arena; "" with `err`. */
static const char *share(const struct telling *telling, double share)
{
    char digits[SHARE_BYTES];
    const char *text = share_text(digits, share);
    text = arena_text(telling->arena, text, strlen(text), telling->err);
    return text ? text : "";
}

static bool is_cross(const struct finding *one)
{
    return site_branch(one->map) == BRANCH_CROSS;
}

static const char *query_of(const struct telling *telling, const struct finding *one)
{
    return quoted(telling, &telling->pair->text.labels[one->query]);
}

static const char *key_of(const struct telling *telling, const struct finding *one)
{
    const struct tokenized *keys = is_cross(one) ? &telling->pair->source : &telling->pair->text;
    return quoted(telling, &keys->labels[one->key]);
}

/* True if the probability of a prediction is large enough for sentences to say more than a guess;
 * false if the prediction is not known. */
static bool is_sure(const struct guess *guess)
{
    enum { LEAST = 10 }; /* percent */
    return guess->token.text && 100 * guess->probability >= LEAST;
}

/* Tell the prediction and its probability; nothing if the prediction is not known. */
static void tell_prediction(const struct telling *telling)
{
    const struct findings *found = telling->found;
    const struct config *config = &telling->viewer->model.config;
    const bool sure = is_sure(&found->says);
    if (!found->says.token.text)
        return;
    const char *row = quoted(telling, &telling->pair->text.labels[found->row]);
    const char *token = quoted(telling, &found->says.token);
    const char *probability = share(telling, found->says.probability);
    if (config_classifies(config) && config->answers != ANSWER_OF_EACH)
        buf_format(telling->out, say(telling->language, "The model's answer is %s (%s).\n"), token,
                   probability);
    else if (telling->viewer->mask >= 0 || config_classifies(config))
        buf_format(telling->out,
                   sure ? say(telling->language, "For %s the model says %s (%s).\n")
                        : say(telling->language,
                              "For %s the model is not sure: its best guess is %s (%s).\n"),
                   row, token, probability);
    else
        buf_format(telling->out,
                   sure ? say(telling->language, "After %s the model says %s (%s).\n")
                        : say(telling->language,
                              "After %s the model is not sure: its best guess is %s (%s).\n"),
                   row, token, probability);
}

/* Tell the prediction without the arrow of the headline, and the options that show it; nothing if
 * the prediction with the arrow is only a guess. */
static void tell_without(const struct telling *telling, const struct finding *one)
{
    const struct tokenized *text = &telling->pair->text;
    if (!one->without.token.text || !is_sure(&one->says))
        return;
    const bool changes = one->without.id != one->says.id;
    const char *says = quoted(telling, &one->says.token);
    const char *other = quoted(telling, &one->without.token);
    const char *key = key_of(telling, one);
    if (one->kind == FINDING_LOOKS && !changes) {
        buf_format(
            telling->out,
            say(telling->language, "The prediction does not need it: without it %s has %s.\n"),
            says, share(telling, one->falls_to));
        return;
    }
    if (is_cross(one) && !changes)
        return;
    if (is_cross(one))
        buf_format(telling->out,
                   say(telling->language, "If it could not look at %s, it would write %s (%s)"),
                   key, other, share(telling, one->without.probability));
    else if (changes)
        buf_format(
            telling->out,
            say(telling->language, "If %s could not look at %s, the model would say %s (%s)"),
            query_of(telling, one), key, other, share(telling, one->without.probability));
    else
        buf_format(telling->out,
                   say(telling->language, "If %s could not look at %s, %s would fall to %s"),
                   query_of(telling, one), key, says, share(telling, one->falls_to));
    if (is_cross(one))
        buf_format(telling->out, ": --edit 'cross_scores[query=%zu,key=%zu] = -1000'\n", one->query,
                   one->key);
    else
        buf_format(telling->out, ": --knockout %lld:%lld\n", tokenized_number(text, one->query),
                   tokenized_number(text, one->key));
}

/* Tell the headline's head, and the token at which it looks. */
static void tell_look(const struct telling *telling, const struct finding *one)
{
    const struct tokenized *text = &telling->pair->text;
    const bool back = one->key < one->query;
    const char *key = key_of(telling, one), *weight = share(telling, one->weight);
    char name[HEAD_NAME_BYTES];
    head_name(name, one->layer, one->head);
    if (is_cross(one) && one->query + 1 < text->count)
        buf_format(telling->out,
                   say(telling->language, "To write %s the model looks at %s (%s): head %s.\n"),
                   quoted(telling, &text->labels[one->query + 1]), key, weight, name);
    else if (site_branch(one->map) == BRANCH_MIXER)
        buf_format(telling->out,
                   say(telling->language,
                       "The state of head %s gives back mostly what it stored at %s (%s).\n"),
                   name, key, weight);
    else if (!one->says.token.text)
        buf_format(telling->out,
                   back ? say(telling->language, "%s looks back at %s (%s): head %s.\n")
                        : say(telling->language, "%s looks ahead to %s (%s): head %s.\n"),
                   query_of(telling, one), key, weight, name);
    else
        buf_format(telling->out,
                   back ? say(telling->language, "Head %s looks back at %s (%s).\n")
                        : say(telling->language, "Head %s looks ahead to %s (%s).\n"),
                   name, key, weight);
}

static void tell_others(const struct telling *telling)
{
    const struct findings *found = telling->found;
    char name[HEAD_NAME_BYTES];
    for (size_t i = 1; i < found->count; i++) {
        const struct finding *one = &found->items[i];
        buf_format(telling->out, "%s%s → %s (%s)%s", i == 1 ? say(telling->language, "Also: ") : "",
                   query_of(telling, one), key_of(telling, one),
                   head_name(name, one->layer, one->head), i + 1 < found->count ? ", " : ".\n");
    }
}

const char *findings_words(const struct findings *found, const struct viewer *viewer,
                           const struct text_with_source *pair, const char *language,
                           struct arena *arena, struct err *err)
{
    struct buf out = {0};
    const struct telling telling = {found, viewer, pair, language, &out, arena, err};
    const bool untrained = model_is_untrained(&viewer->model);
    if (untrained)
        buf_text(&out, say(language, "This model is not trained: its numbers show the computation, "
                                     "not language.\n"));
    else if (!found->count || !is_cross(found->items))
        tell_prediction(&telling);
    if (found->count) {
        tell_look(&telling, found->items);
        tell_without(&telling, found->items);
        tell_others(&telling);
    } else if (found->is_long) {
        buf_text(&out, say(language, "The text is too long to look for a head that stands out.\n"));
    } else if (!untrained) {
        buf_text(&out, is_sure(&found->says)
                           ? say(language, "No head looks more than usual at one word that this "
                                           "needs.\n")
                           : say(language, "No head stands out here.\n"));
    }
    out.size -= out.size > 0; /* the last newline */
    const char *text = buf_keep(&out, arena, err);
    return err->kind ? NULL : text;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Return a copy of a label, with the exact form in place of the plain one. */
static struct label numbered(const struct label *label)
{
    return (struct label){label->text, label->exact, label->exact};
}

/* The label of an unknown token: its cell is empty. */
static const struct label unknown = {.text = "", .exact = ""};

static struct label token_of(const struct guess *guess)
{
    return guess->token.text ? guess->token : unknown;
}

int findings_table(struct table *table, const struct findings *found,
                   const struct text_with_source *pair, struct arena *arena, struct err *err)
{
    const double nan = (double)NAN;
    const size_t count = found->count ? found->count : 1; /* no findings: 1 row, the prediction */
    struct table_rows rows = {.most = count, .arena = arena, .err = err};
    for (size_t i = 0; i < count && !err->kind; i++, rows_next(&rows)) {
        const struct finding *one = i < found->count ? &found->items[i] : NULL;
        const struct tokenized *keys = one && is_cross(one) ? &pair->source : &pair->text;
        const struct guess says = one ? one->says : found->says;
        const struct guess without = one ? one->without : (struct guess){0};
        rows_integer(&rows, "layer", COLUMN_KEY, one ? (long long)one->layer : COLUMN_MISSING);
        rows_integer(&rows, "head", COLUMN_KEY, one ? (long long)one->head : COLUMN_MISSING);
        rows_label(&rows, "query", COLUMN_KEY,
                   one ? numbered(&pair->text.labels[one->query]) : unknown);
        rows_label(&rows, "key", COLUMN_KEY, one ? numbered(&keys->labels[one->key]) : unknown);
        rows_float(&rows, (struct column){"weight", .digits = 4}, one ? one->weight : nan);
        rows_float(&rows, (struct column){"S", .unit = "bits", .digits = 2}, one ? one->s : nan);
        rows_float(&rows, (struct column){"D", .unit = "bits", .digits = 2}, one ? one->d : nan);
        rows_label(&rows, "prediction", 0, token_of(&says));
        rows_float(&rows, (struct column){"probability", .digits = 4},
                   says.token.text ? says.probability : nan);
        rows_label(&rows, "without", 0, token_of(&without));
        rows_float(&rows, (struct column){"without_probability", .digits = 4},
                   without.token.text ? without.probability : nan);
    }
    return rows_finish(table, &rows, "finding", "finding");
}
