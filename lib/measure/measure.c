/* measure.c: the scores of heads: what each is called, and how a row of attention weights becomes
 * a number. Sums have one order and use no function of the C library. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "math/portable_math.h"
#include "measure/head_scores.h"

enum {
    BLOCK = 64, /* terms that are computed side by side before they are added up */
    OFFSET_MAX = 1 << 24,
};

/* --- measures --------------------------------------------------------------------------------- */

/* -Σ w · ln w; a weight of 0 adds nothing. */
static double entropy(const struct attention_row *row)
{
    double sum = 0;
    double terms[BLOCK];
    for (size_t first = 0; first < row->keys; first += BLOCK) {
        size_t count = row->keys - first < BLOCK ? row->keys - first : BLOCK;
        for (size_t i = 0; i < count; i++) {
            double weight = (double)row->weights[first + i];
            terms[i] = weight * log_double(weight > 0 ? weight : 1);
        }
        for (size_t i = 0; i < count; i++)
            sum -= terms[i];
    }
    return sum;
}

static double first_token(const struct attention_row *row)
{
    return (double)row->weights[0];
}

static double previous_token(const struct attention_row *row)
{
    return (double)row->weights[row->query - 1];
}

/* Σ w · |query - key| */
static double distance(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++) {
        size_t apart = key < row->query ? row->query - key : key - row->query;
        sum += (double)row->weights[key] * (double)apart;
    }
    return sum;
}

static double self(const struct attention_row *row)
{
    return (double)row->weights[row->query];
}

/* The weight on earlier copies of the token (offset 0), or on tokens after them (1); NaN: none. */
static double weight_after(const struct attention_row *row, size_t offset)
{
    double sum = 0;
    bool found = false;
    for (size_t key = offset; key < row->query + offset; key++) {
        if (row->ids[key - offset] != row->ids[row->query])
            continue;
        sum += (double)row->weights[key];
        found = true;
    }
    return found ? sum : (double)NAN;
}

static double duplicate_token(const struct attention_row *row)
{
    return weight_after(row, 0);
}

static double induction(const struct attention_row *row)
{
    return weight_after(row, 1);
}

static double sink(const struct attention_row *row)
{
    double sum = first_token(row);
    for (size_t key = 1; key < row->keys && row->bos >= 0; key++)
        if (row->ids[key] == row->bos)
            sum += (double)row->weights[key];
    return sum;
}

static double at_offset(const struct attention_row *row)
{
    size_t back = (size_t)-row->offset;
    return back > row->query ? (double)NAN : (double)row->weights[row->query - back];
}

static double needle(const struct attention_row *row)
{
    double sum = 0;
    for (size_t key = 0; key < row->keys; key++)
        sum += row->marked[key] ? (double)row->weights[key] : 0;
    return sum;
}

/* 1 if no key outside the needle has as much weight as one inside. */
static double needle_top(const struct attention_row *row)
{
    float inside = -1, outside = -1;
    for (size_t key = 0; key < row->keys; key++) {
        float *most = row->marked[key] ? &inside : &outside;
        *most = row->weights[key] > *most ? row->weights[key] : *most;
    }
    return inside > outside;
}

double mean_value(const struct mean *mean)
{
    return mean->count ? mean->sum / (double)mean->count : (double)NAN;
}

/* --- scores ----------------------------------------------------------------------------------- */

const struct score_row score_rows[] = {
    {"previous-token", "weight on the previous token", "previous", "prev", "previous token", 0.5,
     OF_TEXTS, previous_token, .usual = true},
    {"first-token", "weight on the first token", "first", "first", "first token", 0.6, OF_TEXTS,
     first_token, .usual = true},
    {"self", "weight on the token itself", "self", "self", "itself", 0.5, OF_TEXTS, self,
     .usual = true},
    {"duplicate-token", "weight on earlier copies of the token", "duplicate", "dup.", "duplicates",
     0.4, OF_REPEATS, duplicate_token, .usual = true},
    {"induction", "weight on the token after an earlier copy", "induction", "ind.", "induction",
     0.4, OF_REPEATS, induction, .usual = true},
    {"entropy", "entropy of the weights, in nats", "entropy", "entr.", NULL, 0, OF_TEXTS, entropy,
     "nats", .usual = true},
    {"distance", "mean distance from query to key, in tokens", "distance", "dist.", NULL, 0,
     OF_TEXTS, distance, "tokens", .usual = true},
    {"sink", "weight on the first token and on tokens that begin texts, such as <s>", "sink",
     "sink", NULL, 0, OF_TEXTS, sink},
    {"offset", "weight on the token at an offset: offset:-2 is two tokens back", "offset", "off.",
     NULL, 0, OF_TEXTS, at_offset, .takes_offset = true},
    {"copying", "share of words whose own logit W_E·W_V·W_O·W_U raises most", "copying", "copy",
     "copying", 0.5, OF_WORDS},
    {"successor", "share of --pairs whose second word's logit rises most, of all words in the file",
     "successor", "succ.", "successor", 0.5, OF_PAIRS},
    {"needle", "weight of a text's last token on the needle of --needle", "needle", "ndl.",
     "retrieval", 0.5, OF_NEEDLES, needle},
    {"needle-top", "how often its top key is in the needle", "top", "top", NULL, 0, OF_NEEDLES,
     needle_top},
};
const size_t score_row_count = sizeof score_rows / sizeof *score_rows;

/* What follows a name: an offset; or, of what attention rows are measured on, texts or repeats. */
static int read_argument(struct score *score, const char *argument, const char *option,
                         struct err *err)
{
    bool on_rows = score->material == OF_TEXTS || score->material == OF_REPEATS;
    score->material = strcmp(argument, "texts") == 0 ? OF_TEXTS : OF_REPEATS;
    if (score->row->takes_offset) {
        score->material = OF_TEXTS;
        return num_parse_integer(argument, -OFFSET_MAX, 0, &score->offset)
                   ? 0
                   : err_usage(err,
                               "%s: expected offset:N, where N is 0 or below: offset:-2, found "
                               "'%s'",
                               option, score->name);
    }
    if (on_rows && (score->material == OF_TEXTS || strcmp(argument, "repeats") == 0))
        return 0;
    return on_rows ? err_usage(err, "%s: expected %s, %s:texts or %s:repeats, found '%s'", option,
                               score->row->name, score->row->name, score->row->name, score->name)
                   : err_usage(err, "%s: expected %s, found '%s'", option, score->row->name,
                               score->name);
}

int score_choose(struct score_list *list, size_t *index, const char *option, const char *name,
                 size_t size, struct arena *arena, struct err *err)
{
    struct score score = {.name = arena_text(arena, name, size, err)};
    const char *colon = memchr(name, ':', size);
    size_t row = 0;
    size_t name_size = colon ? (size_t)(colon - name) : size;
    if (!score.name ||
        names_choose_item(&row, NAMES(score_rows, score_row_count), option, name, name_size, err))
        return -1;
    score.row = &score_rows[row];
    score.material = score.row->material;
    if ((colon || score.row->takes_offset) &&
        read_argument(&score, colon ? score.name + name_size + 1 : "", option, err))
        return -1;
    for (*index = 0; *index < list->count; ++*index)
        if (strcmp(list->items[*index].name, score.name) == 0)
            return 0;
    if (list->count == SCORES_MAX)
        return err_usage(err, "expected at most %d scores, found more", SCORES_MAX);
    list->items[list->count++] = score;
    return 0;
}

bool score_has_argument(const struct score *score)
{
    return strcmp(score->name, score->row->name) != 0;
}
