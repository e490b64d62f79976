#include "measure/score_attribution.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/sheet.h"
#include "math/rows.h"
#include "model/features.h"
#include "model/head_name.h"
#include "model/points.h"

const struct score_against_row score_againsts[AGAINSTS] = {
    [AGAINST_NOTHING] = {NULL, ""},
    [AGAINST_MEAN] = {"mean", ", less the mean of all keys"},
    [AGAINST_WEIGHTS] = {"weights", ", less that of all keys by their weights"},
};

enum score_against score_against_read(const char *word)
{
    if (!word || !*word)
        return AGAINST_NOTHING;
    for (enum score_against i = 0; i < AGAINSTS; i++)
        if (score_againsts[i].name && strcmp(word, score_againsts[i].name) == 0)
            return i;
    return AGAINST_KEY;
}

enum { LISTED = 10, FLOATS_OF_ROWS = 1 << 22 /* maximum floats of parts at a time */, TEXTS = 2 };

/* The queries, keys or values of a pass's head at kept rows: the rows of one token, or of the keys
 * of a contrast, with their coefficients. */
struct text_rows {
    const struct resid_pass *pass;
    struct key_range rows;
    const double *shares; /* [rows] coefficients of the rows */
    const double *other;  /* [width] the vector that multiplies the sum of the rows */
};

/* A number that is a sum of products with queries, keys or values, so that it splits into the
 * products with their parts. It is a side of the score (of one text, or of the difference of two
 * texts), or what a head's part contributes through the value of one token. */
struct vector {
    enum resid_side side;
    struct text_rows texts[TEXTS];
    size_t count; /* number of `texts` */
};

/* A side of the score: the query or the key, split into parts. */
struct score_side {
    const char *name; /* "query" or "key" */
    enum resid_side side;
    struct key_range rows;
    const double *shares; /* [rows] coefficients of the rows */
    size_t token;
    size_t count;
    struct resid_part *parts; /* [count] the parts of this side */
    struct label *labels;     /* [count] names of the parts */
    double *vectors;          /* [count, dk] the parts, summed over the rows */
    double *sums; /* [count] for each part, the sum of its pairs with all parts of the other side */
    double *factor; /* [dk] the scaled sum of the other side: the score is its product
                     * with the sum of `vectors` */
};

/* The scores of a query, and their split into pairs of parts. */
struct splitting {
    const struct score_plan *plan;
    const struct config *config;
    const struct sublayer *attention;
    struct resid_pass pass;
    size_t *positions;            /* positions of the keys that the score or its contrast uses */
    double *shares;               /* [positions + 1] coefficients of the keys, then of the query */
    struct score_side sides[2];   /* indexed by RESID_QUERY and RESID_KEY */
    const struct splitting *less; /* the split of the text whose pairs are subtracted; NULL: nothing
                                   * is subtracted */
    double *pairs;                /* [parts of the query, parts of the key] contributions to the
                                   * score */
    struct arena scratch;
    struct arena *arena; /* owns the report */
    struct err *err;
};

/* --- scores and coefficients ------------------------------------------------------------------ */

/* Choose the keys whose scores are needed: the key alone, the key and another one, or all visible
 * keys. */
static int choose_keys(struct splitting *s)
{
    const struct score_plan *plan = s->plan;
    const struct text_with_source *pair = s->pass.pair;
    const struct tokenized *of_query = resid_text(s->config, pair, plan->head, RESID_QUERY),
                           *of_keys = resid_text(s->config, pair, plan->head, RESID_KEY);
    const size_t keys = of_keys->count;
    const size_t named[] = {plan->key, plan->other},
                 named_count = 1 + (plan->against == AGAINST_KEY);
    bool all = plan->against == AGAINST_MEAN || plan->against == AGAINST_WEIGHTS;
    uint32_t *list = arena_alloc(&s->scratch, 2 * keys, sizeof *list, s->err);
    s->positions = arena_alloc(&s->scratch, keys + 2, sizeof *s->positions, s->err);
    s->shares = arena_alloc(&s->scratch, keys + 2, sizeof *s->shares, s->err);
    if (!list || !s->positions || !s->shares)
        return -1;
    size_t count = score_keys(&s->attention->score, plan->query, keys, list, list + keys);
    for (size_t i = 0; i < named_count; i++) {
        size_t at = 0;
        while (at < count && list[at] != named[i])
            at++;
        if (at == count)
            return err_usage(s->err,
                             "--key: expected a key that query %lld of layer %zu attends to, from "
                             "%lld to %lld, found %lld",
                             tokenized_number(of_query, plan->query), plan->head.layer,
                             tokenized_number(of_keys, num_max(list[0], of_keys->words_before)),
                             tokenized_number(of_keys, list[count - 1]),
                             tokenized_number(of_keys, named[i]));
    }
    s->pass.position_count = all ? count : named_count;
    s->pass.positions = s->positions;
    for (size_t i = 0; i < s->pass.position_count; i++)
        s->positions[i] = all ? list[i] : named[i];
    return 0;
}

/* Compute the score, its bias, and the coefficient of each key in the contrast. */
static int weigh_keys(struct splitting *s, struct score_attribution *found)
{
    const struct score_plan *plan = s->plan;
    struct resid_attention row;
    if (resid_attend(&row, &s->pass, plan->head, s->pass.position_count, &s->scratch, s->err))
        return -1;
    found->weight = row.weights[plan->key];
    for (size_t i = 0; i < s->pass.position_count; i++) {
        size_t key = s->positions[i];
        bool is_key = key == plan->key && (plan->against != AGAINST_KEY || i == 0);
        double less = plan->against == AGAINST_MEAN      ? 1 / (double)row.visible
                      : plan->against == AGAINST_WEIGHTS ? row.weights[key] / (1 - row.of_sink)
                      : plan->against == AGAINST_KEY     ? (double)(i > 0)
                                                         : 0;
        s->shares[i] = is_key - less;
        found->score += s->shares[i] * row.score[key];
        found->bias += s->shares[i] * (row.score[key] - row.plain[key]);
    }
    s->shares[s->pass.position_count] = 1;
    return 0;
}

/* --- parts of vectors ------------------------------------------------------------------------- */

/* A function that is called with the parts of some rows. `first` is the index of the first of these
 * rows among the rows of `of`. */
typedef int parts_use(void *context, const struct text_rows *of, const struct resid_parts *some,
                      size_t first, struct err *err);

/* Call `use` for the parts of all rows, some rows at a time. In a pass with a probe, which has
 * `probes` channels, the heads of a layer are one part. */
static int each_rows(const struct text_rows *of, enum resid_side side, size_t probes,
                     parts_use *use, void *context, struct err *err)
{
    const struct config *c = &of->pass->viewer->model.config;
    const size_t of_layer = 4 + (of->pass->probe && c->out_proj ? 0 : 2 * c->n_head);
    const size_t parts = (c->n_layer + 1) * of_layer + of->pass->active_count + probes;
    const size_t step = num_max(FLOATS_OF_ROWS / (4 * parts * c->n_embd), 1);
    for (size_t first = of->rows.first, end; first < of->rows.end; first = end) {
        struct arena arena = {0};
        struct resid_parts some = {0};
        end = num_min(first + step, of->rows.end);
        int failed =
            resid_side_parts(&some, of->pass, side, (struct key_range){first, end}, &arena, err) ||
            use(context, of, &some, first - of->rows.first, err);
        arena_release(&arena);
        if (failed)
            return -1;
    }
    return 0;
}

/* Return the position of a row's token. */
static size_t token_of(const struct text_rows *of, size_t row)
{
    const size_t kept = of->rows.first + row;
    return kept < of->pass->position_count ? of->pass->positions[kept] : of->pass->query;
}

/* How much each part of a vector contributes, and the token at which it contributes most. */
struct weighed {
    struct resid_part *parts; /* [count] the parts of the vector */
    double *values, *most;    /* [count] `values`: contributions; `most`: contributions at the token
                               * `at` */
    size_t *at;               /* [count] the token at which the part contributes most */
    size_t count;
    struct arena *arena;
};

static int weigh_rows(void *context, const struct text_rows *of, const struct resid_parts *some,
                      size_t first, struct err *err)
{
    struct weighed *to = context;
    if (!to->count) {
        to->parts = arena_alloc(to->arena, some->count, sizeof *to->parts, err);
        to->values = arena_alloc(to->arena, 2 * some->count, sizeof *to->values, err);
        to->at = arena_alloc(to->arena, some->count, sizeof *to->at, err);
        if (!to->parts || !to->values || !to->at)
            return -1;
        to->count = some->count;
        to->most = to->values + some->count;
        memcpy(to->parts, some->items, some->count * sizeof *to->parts);
    }
    for (size_t part = 0; part < some->count; part++)
        for (size_t row = 0; row < some->rows; row++) {
            const float *x = some->values + (part * some->rows + row) * some->width;
            const double value =
                of->shares[first + row] * dot_double_row(of->other, x, some->width);
            to->values[part] += value;
            if (fabs(value) > fabs(to->most[part])) {
                to->most[part] = value;
                to->at[part] = token_of(of, first + row);
            }
        }
    return 0;
}

/* Find how much each part of a vector contributes; all texts of the vector have the same parts. */
static int weigh_parts(struct weighed *to, const struct vector *vector, struct arena *arena,
                       struct err *err)
{
    *to = (struct weighed){.arena = arena};
    for (size_t i = 0; i < vector->count; i++)
        if (each_rows(&vector->texts[i], vector->side, 0, weigh_rows, to, err))
            return -1;
    return 0;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* The context of sum_rows: the side of a split score to which it adds rows. */
struct side_made {
    struct splitting *s;
    struct score_side *side;
};

static struct label label_part(const struct splitting *s, struct resid_part part)
{
    char name[RESID_PART_BYTES];
    const char *plain = arena_format(s->arena, s->err, "%s", resid_part_name(name, part));
    const char *text = arena_format(s->arena, s->err, "%s", resid_part_title(name, part));
    return plain && text ? (struct label){text, plain, plain} : (struct label){0};
}

/* Give a side the parts of `some`, with vectors of zeros. */
static int start_side(struct splitting *s, struct score_side *side, const struct resid_parts *some)
{
    side->count = some->count;
    side->parts = arena_alloc(&s->scratch, some->count, sizeof *side->parts, s->err);
    side->labels = arena_alloc(s->arena, some->count, sizeof *side->labels, s->err);
    side->sums = arena_alloc(&s->scratch, some->count, sizeof *side->sums, s->err);
    side->vectors = arena_alloc(&s->scratch, some->count * some->width, sizeof(double), s->err);
    side->factor = arena_alloc(&s->scratch, some->width, sizeof *side->factor, s->err);
    if (!side->parts || !side->labels || !side->sums || !side->vectors || !side->factor)
        return -1;
    for (size_t i = 0; i < some->count; i++) {
        side->parts[i] = some->items[i];
        side->labels[i] = label_part(s, some->items[i]);
        if (!side->labels[i].text)
            return -1;
    }
    return 0;
}

static int sum_rows(void *context, const struct text_rows *of, const struct resid_parts *some,
                    size_t first, struct err *err)
{
    const struct side_made *made = context;
    struct score_side *side = made->side;
    const float *value = some->values;
    (void)err;
    if (!side->count && start_side(made->s, side, some))
        return -1;
    for (size_t part = 0; part < some->count; part++)
        for (size_t row = 0; row < some->rows; row++)
            for (size_t i = 0; i < some->width; i++)
                side->vectors[part * some->width + i] += of->shares[first + row] * (double)*value++;
    return 0;
}

/* Make the parts of a side: each part is summed over the kept rows, times the rows' coefficients.
 * All rows have the same parts. */
static int make_side(struct splitting *s, struct score_side *side)
{
    const struct text_rows rows = {&s->pass, side->rows, side->shares, NULL};
    return each_rows(&rows, side->side, 0, sum_rows, &(struct side_made){s, side}, s->err);
}

static int refuse_dictionary(const struct score_plan *plan, struct err *err)
{
    const struct dictionary *d = plan->dictionary;
    char name[HEAD_NAME_BYTES];
    return err_unsupported(
        err, "--sae: expected features of what %s reads, found '%s' in layer %zu",
        head_name(name, plan->head.layer, plan->head.head), site_name(d->site_out), d->layer);
}

static int make_pairs(struct splitting *s, struct score_attribution *found)
{
    struct score_side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    const size_t d = s->attention->head.d_k;
    const double scale = (double)s->attention->score.scale;
    if (make_side(s, query) || make_side(s, key))
        return -1;
    const struct dictionary *dictionary = s->plan->dictionary;
    bool is_split = !dictionary;
    for (size_t i = 0; i < key->count; i++)
        is_split = is_split || key->parts[i].kind == RESID_FEATURE_ERROR;
    if (!is_split)
        return refuse_dictionary(s->plan, s->err);
    s->pairs = arena_alloc(&s->scratch, query->count * key->count, sizeof *s->pairs, s->err);
    if (!s->pairs)
        return -1;
    for (size_t i = 0; i < query->count * key->count; i++) {
        const double *a = query->vectors + i / key->count * d;
        const double *b = key->vectors + i % key->count * d;
        double sum = 0;
        for (size_t k = 0; k < d; k++)
            sum += a[k] * b[k];
        s->pairs[i] = scale * sum;
        found->sum += scale * sum;
    }
    found->sum += found->bias;
    return 0;
}

/* Compute the factor of a side: the sum of the other side's vectors, scaled. */
static void make_factor(struct splitting *s, struct score_side *side)
{
    const struct score_side *other = &s->sides[side->side == RESID_QUERY ? RESID_KEY : RESID_QUERY];
    const size_t d = s->attention->head.d_k;
    for (size_t i = 0; i < other->count * d; i++)
        side->factor[i % d] += (double)s->attention->score.scale * other->vectors[i];
}

/* For each part of a side, sum its pairs with all parts of the other side. */
static void sum_pairs(struct splitting *s, struct score_side *side)
{
    const bool of_query = side->side == RESID_QUERY;
    const size_t others = s->sides[of_query ? RESID_KEY : RESID_QUERY].count;
    const size_t keys = s->sides[RESID_KEY].count;
    for (size_t part = 0; part < side->count; part++) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < others; i++) {
            double value = s->pairs[of_query ? part * keys + i : i * keys + part];
            sum += value;
            size += fabs(value);
        }
        side->sums[part] = fabs(sum) > 1e-12 * size ? sum : 0; /* drops rounding errors of a
                                                                * contrast */
    }
}

/* Split the score of a text into pairs of parts. */
static int split(struct splitting *s, struct score_attribution *found,
                 const struct score_plan *plan, const struct text_with_source *pair,
                 struct arena *arena, struct err *err)
{
    const struct config *c = &plan->viewer->model.config;
    *found = (struct score_attribution){0};
    *s = (struct splitting){
        .plan = plan,
        .config = c,
        .attention = attention_of(c, plan->head.branch, plan->head.layer),
        .pass = {.viewer = plan->viewer,
                 .pair = pair,
                 .at = plan->head,
                 .dictionary = plan->dictionary,
                 .number = plan->number,
                 .query = plan->query},
        .sides = {{.name = "query", .side = RESID_QUERY, .token = plan->query},
                  {.name = "key", .side = RESID_KEY, .token = plan->key}},
        .arena = arena,
        .err = err,
    };
    if (choose_keys(s))
        return -1;
    const size_t keys = s->pass.position_count;
    s->sides[RESID_KEY].rows = (struct key_range){0, keys};
    s->sides[RESID_KEY].shares = s->shares;
    s->sides[RESID_QUERY].rows = (struct key_range){keys, keys + 1};
    s->sides[RESID_QUERY].shares = s->shares + keys;
    if (resid_capture(&s->pass, &s->scratch, err) || weigh_keys(s, found) || make_pairs(s, found))
        return -1;
    for (size_t i = 0; i < 2; i++)
        make_factor(s, &s->sides[i]);
    return 0;
}

/* Subtract the pairs of the plan's other text: the model is the same, and so are the parts. */
static int subtract_corrupt(struct splitting *s, struct splitting *other,
                            struct score_attribution *found)
{
    struct score_attribution less;
    int failed = split(other, &less, s->plan, s->plan->corrupt, s->arena, s->err);
    for (size_t i = 0; !failed && i < other->sides[0].count * other->sides[1].count; i++)
        s->pairs[i] -= other->pairs[i];
    for (size_t i = 0; !failed && i <= other->pass.position_count; i++)
        other->shares[i] = -other->shares[i];
    found->score -= less.score;
    found->bias -= less.bias;
    found->sum -= less.sum;
    s->less = other;
    return failed;
}

/* Return a side of the score as a vector, which is multiplied by the sum of the other side or, if
 * `other` is not NULL, by the part `*other` of the other side. */
static struct vector vector_of(const struct splitting *s, enum resid_side side, const size_t *other)
{
    struct vector vector = {.side = side};
    for (const struct splitting *text = s; text; text = text->less) {
        const struct score_side *own = &text->sides[side], *across = &text->sides[!side];
        vector.texts[vector.count++] = (struct text_rows){
            &text->pass, own->rows, own->shares,
            other ? across->vectors + *other * s->attention->head.d_k : own->factor};
    }
    return vector;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* How a head's part contributes to a vector, by the tokens that the head read: the head's context
 * is a weighted sum of their values, and all that follows is linear in the context. */
struct head_reading {
    double *gains; /* [rows of all texts, dv] the effect of a 1 in each channel of the context */
    double *adds;  /* [keys] the contribution of each token that the head read */
    long long key; /* the token with the largest contribution in magnitude; COLUMN_MISSING: the part
                    * is not a head's */
    size_t at;     /* set by find_readers: the token at which the head read most of the contribution
                    * of `key` */
    double weight; /* set by find_readers: the head's attention at token `at` to `key` */
    double *direction[TEXTS]; /* [dv] for each text, the vector whose product with the value of
                               * `key` is the contribution of `key` */
};

/* The heads whose parts are split by the tokens that they read: one head, or all heads of a layer.
 * All `vectors` have the same rows. */
struct head_reader {
    const struct vector *vectors; /* [count] the vectors to which the heads contribute */
    size_t count;
    const struct head_rule *rule;
    struct resid_part part;
    size_t first, heads;
    size_t before;                 /* number of rows of earlier texts */
    struct head_reading *readings; /* [count, heads] how each head contributes to each vector */
    size_t text;
    struct arena *arena;
};

/* Compute the gains of the channels at a row, and add to the contribution of each token that was
 * read. */
static int read_row(const struct head_reader *to, const struct text_rows *of,
                    const struct resid_parts *some, size_t row, size_t first, struct err *err)
{
    const size_t width = context_width(to->rule);
    struct arena arena = {0};
    int failed = 0;
    for (size_t i = 0; i < to->heads && !failed; i++) {
        const struct resid_head head = {to->part.of, (size_t)to->part.layer, to->first + i};
        const float *values = resid_values(of->pass, head);
        struct resid_attention attention;
        double factor;
        failed = resid_mix(&attention, of->pass, head, of->rows.first + first + row, &factor,
                           &arena, err);
        for (size_t k = 0; k < to->count && !failed; k++) {
            struct head_reading *reading = &to->readings[k * to->heads + i];
            const struct text_rows *own = &to->vectors[k].texts[to->text];
            double *gains = reading->gains + (to->before + first + row) * width;
            reading->adds =
                reading->adds ? reading->adds
                              : arena_alloc(to->arena, attention.keys, sizeof *reading->adds, err);
            for (size_t p = 0; p < some->count; p++) {
                const struct resid_part *probe = &some->items[p];
                const size_t at = (size_t)probe->head - (to->first + i) * width;
                if (probe->kind == RESID_PROBE && at < width)
                    gains[at] = own->shares[first + row] * factor *
                                dot_double_row(own->other,
                                               some->values + (p * some->rows + row) * some->width,
                                               some->width);
            }
            failed = !reading->adds;
            for (size_t key = 0; key < attention.keys && !failed; key++)
                if (attention.weights[key] != 0)
                    reading->adds[key] +=
                        attention.weights[key] * dot_double_row(gains, values + key * width, width);
        }
    }
    arena_release(&arena);
    return err_if(failed);
}

static int read_rows(void *context, const struct text_rows *of, const struct resid_parts *some,
                     size_t first, struct err *err)
{
    for (size_t row = 0; row < some->rows; row++)
        if (read_row(context, of, some, row, first, err))
            return -1;
    return 0;
}

/* Find how `part`, a head or all heads of a layer (head -1), contributes to each of `count`
 * vectors, which have the same rows. For other kinds of parts, only `key` of the first reading is
 * set, to COLUMN_MISSING. */
static int read_part(struct head_reading *readings, const struct vector *vectors, size_t count,
                     const struct resid_part *part, struct arena *arena, struct err *err)
{
    const struct config *c = &vectors->texts->pass->viewer->model.config;
    *readings = (struct head_reading){.key = COLUMN_MISSING};
    if (part->kind != RESID_HEAD)
        return 0;
    struct head_reader reader = {
        .vectors = vectors,
        .count = count,
        .rule = &attention_of(c, part->of, (size_t)part->layer)->head,
        .part = *part,
        .first = part->head < 0 ? 0 : (size_t)part->head,
        .readings = readings,
        .arena = arena,
    };
    const size_t width = context_width(reader.rule);
    reader.heads = part->head < 0 ? context_heads(reader.rule) : 1;
    size_t rows = 0;
    for (size_t i = 0; i < vectors->count; i++)
        rows += vectors->texts[i].rows.end - vectors->texts[i].rows.first;
    for (size_t i = 0; i < count * reader.heads; i++) {
        readings[i] = (struct head_reading){.key = COLUMN_MISSING};
        if (!(readings[i].gains = arena_alloc(arena, rows * width, sizeof(double), err)))
            return -1;
    }
    for (reader.text = 0; reader.text < vectors->count; reader.text++) {
        struct text_rows of = vectors->texts[reader.text];
        struct resid_pass pass = *of.pass;
        pass.probe = part;
        of.pass = &pass;
        if (each_rows(&of, vectors->side, reader.heads * width, read_rows, &reader, err))
            return -1;
        reader.before += of.rows.end - of.rows.first;
    }
    const struct resid_head head = {part->of, (size_t)part->layer, reader.first};
    const size_t keys = resid_text(c, vectors->texts->pass->pair, head, RESID_KEY)->count;
    for (struct head_reading *to = readings; to < readings + count * reader.heads; to++)
        for (size_t key = 0; key < keys; key++)
            if (to->key == COLUMN_MISSING || fabs(to->adds[key]) > fabs(to->adds[to->key]))
                to->key = (long long)key;
    return 0;
}

/* Find where a head read a token, how much it attended to it there, and the directions in which it
 * uses the token's value. */
static int find_readers(struct head_reading *to, const struct vector *vector,
                        const struct resid_part *part, struct arena *arena, struct err *err)
{
    const struct resid_head head = {part->of, (size_t)part->layer, (size_t)part->head};
    const struct config *c = &vector->texts->pass->viewer->model.config;
    const size_t width = context_width(&attention_of(c, head.branch, head.layer)->head);
    const double *gains = to->gains;
    double most = -1;
    for (size_t i = 0; i < vector->count; i++) {
        const struct text_rows *of = &vector->texts[i];
        const float *value = resid_values(of->pass, head) + (size_t)to->key * width;
        if (!(to->direction[i] = arena_alloc(arena, width, sizeof(double), err)))
            return -1;
        for (size_t row = 0; row < of->rows.end - of->rows.first; row++, gains += width) {
            struct arena scratch = {0};
            struct resid_attention attention;
            double factor;
            int failed =
                resid_mix(&attention, of->pass, head, of->rows.first + row, &factor, &scratch, err);
            const double weight = failed ? 0 : attention.weights[to->key];
            const double added = fabs(weight * dot_double_row(gains, value, width));
            arena_release(&scratch);
            if (failed)
                return -1;
            for (size_t k = 0; k < width; k++)
                to->direction[i][k] += weight * gains[k];
            if (added > most) {
                most = added;
                to->at = token_of(of, row);
                to->weight = weight;
            }
        }
    }
    return 0;
}

/* Find, for each side of the listed pairs, the token from which the part read most of its values,
 * if the part is a head's. */
static int find_keys(long long (*keys)[2], const struct splitting *s, const size_t (*pairs)[2],
                     size_t count)
{
    for (size_t k = 0; k < 2 * count; k++)
        keys[k / 2][k % 2] = COLUMN_MISSING;
    for (size_t k = 0; k < 2 * count; k++) {
        const size_t side = k % 2, part = pairs[k / 2][side];
        struct vector vectors[LISTED];
        struct head_reading readings[LISTED];
        size_t same[LISTED], found = 0;
        struct arena arena = {0};
        for (size_t i = 0; i < count; i++)
            if (pairs[i][side] == part) {
                vectors[found] = vector_of(s, (enum resid_side)side, &pairs[i][!side]);
                same[found++] = i;
            }
        if (same[0] != k / 2) /* an earlier pair has the same part */
            continue;
        int failed =
            read_part(readings, vectors, found, &s->sides[side].parts[part], &arena, s->err);
        for (size_t i = 0; i < found && !failed && readings->key != COLUMN_MISSING; i++)
            keys[same[i]][side] = readings[i].key;
        arena_release(&arena);
        if (failed)
            return -1;
    }
    return 0;
}

/* Return the text whose tokens a head's part was read from or, for another kind of part, the text
 * of its stream. */
static const struct tokenized *text_of(const struct splitting *s, struct resid_part part)
{
    const struct text_with_source *pair = s->pass.pair;
    const struct resid_head head = {part.of, (size_t)part.layer, (size_t)part.head};
    if (part.kind == RESID_HEAD)
        return resid_text(s->config, pair, head, RESID_KEY);
    return part.of == BRANCH_SOURCE ? &pair->source : &pair->text;
}

/* Return the number of a token in a table; COLUMN_MISSING: it has none. */
static long long number_of(const struct tokenized *text, long long token)
{
    const bool has = token != COLUMN_MISSING && (size_t)token >= text->words_before;
    return has ? tokenized_number(text, (size_t)token) : COLUMN_MISSING;
}

/* Write a token with its number, "␣Mary (3)"; a token without a number is written alone. */
static void put_token(struct buf *out, const struct tokenized *text, size_t token)
{
    buf_text(out, text->labels[token].text);
    if (token >= text->words_before)
        buf_format(out, " (%lld)", tokenized_number(text, token));
}

/* --- the path --------------------------------------------------------------------------------- */

/* A step back from a score: the part of the query, key or value vector with the largest value. */
struct step {
    struct resid_part part;
    double value;
    size_t at; /* the token whose vector has the part */
    struct head_reading reading;
};

/* Follow the largest part of a side. If it is a head's, the next step is the largest part of the
 * value of the token from which this head reads most; there are at most `depth` steps. */
static int follow(struct step *steps, size_t *count, const struct splitting *s,
                  enum resid_side side, struct arena *arena)
{
    static const double whole = 1;
    struct vector vector = vector_of(s, side, NULL);
    for (*count = 0;;) {
        struct step *step = &steps[(*count)++];
        struct head_reading *reading = &step->reading;
        struct weighed weighed;
        *step = (struct step){.at = 0};
        if (weigh_parts(&weighed, &vector, arena, s->err))
            return -1;
        size_t largest = 0;
        for (size_t p = 0; p < weighed.count; p++)
            if (weighed.parts[p].kind != RESID_HERE &&
                fabs(weighed.values[p]) > fabs(step->value)) {
                largest = p;
                step->value = weighed.values[p];
            }
        step->part = weighed.parts[largest];
        step->at = weighed.at[largest];
        if (read_part(reading, &vector, 1, &step->part, arena, s->err) ||
            (reading->key != COLUMN_MISSING &&
             find_readers(reading, &vector, &step->part, arena, s->err)))
            return -1;
        if (reading->key == COLUMN_MISSING)
            return 0;
        step->at = reading->at;
        if (*count == s->plan->depth)
            return 0;
        const struct resid_head head = {step->part.of, (size_t)step->part.layer,
                                        (size_t)step->part.head};
        struct resid_pass *passes = arena_alloc(arena, vector.count, sizeof *passes, s->err);
        size_t *position = arena_alloc(arena, 1, sizeof *position, s->err);
        if (!passes || !position)
            return -1;
        *position = (size_t)reading->key;
        vector.side = RESID_VALUE;
        const struct splitting *text = s;
        for (size_t i = 0; i < vector.count; i++, text = text->less) {
            passes[i] = (struct resid_pass){.viewer = s->plan->viewer,
                                            .pair = text->pass.pair,
                                            .at = head,
                                            .number = s->plan->number,
                                            .query = step->at,
                                            .positions = position,
                                            .position_count = 1,
                                            .kept = text->pass.kept,
                                            .keeps_all = text->pass.keeps_all &&
                                                         head.branch == text->pass.at.branch};
            if (!passes[i].keeps_all && resid_capture(&passes[i], arena, s->err))
                return -1;
            vector.texts[i] = (struct text_rows){&passes[i], {0, 1}, &whole, reading->direction[i]};
        }
    }
}

/* Add a hidden label to a row, for formats that give each cell the label of its row. */
static void label_row(struct table_rows *rows, const char *name)
{
    rows_label(rows, "row", COLUMN_KEY | COLUMN_HIDDEN, (struct label){name, name, name});
}

/* Add the steps of a side to the table, and to the path in words, which begins with the last step:
 * "␣Mary (3) → L16H0 (read with 0.95) → L17.mlp → L18H6". */
static void put_steps(struct table_rows *rows, struct buf *path, const struct splitting *s,
                      const struct score_side *side, const struct step *steps, size_t count)
{
    char name[RESID_PART_BYTES], head[HEAD_NAME_BYTES];
    const struct tokenized *of_side =
        resid_text(s->config, s->pass.pair, s->plan->head,
                   side == &s->sides[RESID_QUERY] ? RESID_QUERY : RESID_KEY);
    for (size_t i = 0; i < count; i++, rows_next(rows)) {
        const struct head_reading *reading = &steps[i].reading;
        const struct tokenized *text = i ? text_of(s, steps[i - 1].part) : of_side;
        label_row(rows, arena_format(rows->arena, rows->err, "%s %zu", side->name, i));
        rows_text(rows, "side", COLUMN_KEY, side->name);
        rows_integer(rows, "step", COLUMN_KEY, (long long)i);
        rows_label(rows, "part", COLUMN_KEY, label_part(s, steps[i].part));
        rows_integer(rows, "at", 0, number_of(text, (long long)steps[i].at));
        rows_integer(rows, "reads", 0, number_of(text_of(s, steps[i].part), reading->key));
        rows_float(rows, (struct column){"weight", .digits = 4},
                   reading->key == COLUMN_MISSING ? (double)NAN : reading->weight);
        rows_float(rows, (struct column){"value", .digits = 4}, steps[i].value);
    }
    for (size_t i = count; i-- > 0;) {
        const struct head_reading *reading = &steps[i].reading;
        bool is_head = reading->key != COLUMN_MISSING;
        size_t token = is_head ? (size_t)reading->key : steps[i].at;
        if (i + 1 == count) {
            put_token(path, text_of(s, steps[i].part), token);
            buf_text(path, " → ");
        }
        buf_text(path, resid_part_title(name, steps[i].part));
        if (is_head)
            buf_format(path, " (read with %.2f)", reading->weight);
        buf_text(path, " → ");
    }
    buf_text(path, head_name(head, s->plan->head.layer, s->plan->head.head));
}

/* Add the command that runs the text without the key side's largest head. */
static void put_test(struct buf *note, const struct splitting *s, const struct score_side *key)
{
    const struct resid_head *head = &s->plan->head;
    size_t best = key->count;
    for (size_t i = 0; i < key->count; i++)
        if (key->parts[i].kind == RESID_HEAD && key->parts[i].of == BRANCH_TEXT &&
            (best == key->count || fabs(key->sums[i]) > fabs(key->sums[best])))
            best = i;
    buf_text(note, ". A large part is no proof of need: 'attn-cli patch' tests it");
    if (best < key->count && head->branch == BRANCH_TEXT)
        buf_format(
            note,
            ", or 'run' with --edit 'h.%d.context[head=%d,token=%lld] = 0' --layer %zu --head "
            "%zu --show weights",
            key->parts[best].layer, key->parts[best].head,
            tokenized_number(resid_text(s->config, s->pass.pair, *head, RESID_KEY), key->token),
            head->layer, head->head);
    buf_char(note, '.');
}

/* Make the path to the head in words, and a table of its steps. */
static int add_path(struct table *table, const struct splitting *s)
{
    const struct score_side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    const size_t depth = s->plan->depth;
    struct arena arena = {0};
    struct table_rows rows = {.most = 2 * depth, .arena = s->arena, .err = s->err};
    struct buf note = {0};
    size_t counts[2];
    struct step *steps = arena_alloc(&arena, 2 * depth, sizeof *steps, s->err);
    int failed = !steps || follow(steps, &counts[0], s, RESID_KEY, &arena) ||
                 follow(steps + depth, &counts[1], s, RESID_QUERY, &arena);
    if (!failed) {
        buf_text(&note, "Key side: ");
        put_steps(&rows, &note, s, key, steps, counts[0]);
        buf_text(&note, ". Query side: ");
        put_steps(&rows, &note, s, query, steps + depth, counts[1]);
        put_test(&note, s, key);
        failed = rows_finish(table, &rows, "score_path", "step");
        table->note = buf_keep(&note, s->arena, s->err);
    }
    arena_release(&arena);
    return err_if(failed || !table->note);
}

/* --- the report ------------------------------------------------------------------------------- */

static const struct column value_column = {"value", .digits = 4, .flags = COLUMN_COLOURED};

/* Find the values of largest magnitude, the largest first; among equal values, the first comes
 * first. Returns the number of values found. */
static size_t find_largest(size_t indices[LISTED], const double *values, size_t count)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = listed;
        while (at > 0 && fabs(values[indices[at - 1]]) < fabs(values[i]))
            at--;
        if (at == LISTED)
            continue;
        listed += listed < LISTED;
        memmove(&indices[at + 1], &indices[at], (listed - at - 1) * sizeof *indices);
        indices[at] = i;
    }
    return listed;
}

/* Make a table with a row for each part of both sides. */
static int add_parts(struct table *table, const struct splitting *s)
{
    struct table_rows rows = {
        .most = s->sides[0].count + s->sides[1].count, .arena = s->arena, .err = s->err};
    for (const struct score_side *side = s->sides; side < s->sides + 2; side++)
        for (size_t i = 0; i < side->count; i++, rows_next(&rows)) {
            label_row(&rows,
                      arena_format(s->arena, s->err, "%s %s", side->name, side->labels[i].plain));
            rows_text(&rows, "side", COLUMN_KEY, side->name);
            rows_label(&rows, "part", COLUMN_KEY, side->labels[i]);
            rows_float(&rows, value_column, side->sums[i]);
        }
    return rows_finish(table, &rows, "score_parts", "part");
}

/* Make a table for people with the largest parts of a side. */
static int add_largest(struct table *table, const struct splitting *s,
                       const struct score_side *side)
{
    size_t indices[LISTED], count = find_largest(indices, side->sums, side->count);
    struct table_rows rows = {.most = count, .arena = s->arena, .err = s->err};
    const char *title = arena_format(s->arena, s->err, "%s side", side->name);
    const char *name = arena_format(s->arena, s->err, "score_%s_side", side->name);
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        rows_float(&rows, value_column, side->sums[indices[i]]);
        rows_title(&rows, "");
        rows_label(&rows, "part", COLUMN_KEY, side->labels[indices[i]]);
        rows_title(&rows, title);
    }
    int failed = rows_finish(table, &rows, name, "part");
    table->flags = COLUMN_TEXT_ONLY;
    return failed;
}

/* Write the name of a part, with the token that a head copied: "L16H0's copy of ␣Mary (3)",
 * "L0.mlp". */
static void put_copy(struct buf *out, const struct splitting *s, const struct score_side *side,
                     size_t part, long long key)
{
    buf_text(out, side->labels[part].text);
    if (key == COLUMN_MISSING)
        return;
    buf_text(out, "'s copy of ");
    put_token(out, text_of(s, side->parts[part]), (size_t)key);
}

static int add_pairs(struct table *table, const struct splitting *s)
{
    const struct score_side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    size_t indices[LISTED], count = find_largest(indices, s->pairs, query->count * key->count);
    struct table_rows rows = {.most = count, .arena = s->arena, .err = s->err};
    size_t pairs[LISTED][2];
    long long keys_of[LISTED][2];
    for (size_t i = 0; i < count; i++) {
        pairs[i][RESID_QUERY] = indices[i] / key->count;
        pairs[i][RESID_KEY] = indices[i] % key->count;
    }
    if (find_keys(keys_of, s, (const size_t(*)[2])pairs, count))
        return -1;
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        const size_t *parts = pairs[i];
        const long long *keys = keys_of[i];
        const char *query_name = query->labels[parts[0]].plain,
                   *key_name = key->labels[parts[1]].plain;
        struct buf words = {0};
        label_row(&rows, arena_format(s->arena, s->err, "%s × %s", key_name, query_name));
        rows_float(&rows, value_column, s->pairs[indices[i]]);
        rows_text(&rows, "query_part", COLUMN_KEY | COLUMN_DATA_ONLY, query_name);
        rows_text(&rows, "key_part", COLUMN_KEY | COLUMN_DATA_ONLY, key_name);
        rows_integer(&rows, "query_source", COLUMN_KEY | COLUMN_DATA_ONLY,
                     number_of(text_of(s, query->parts[parts[0]]), keys[0]));
        rows_integer(&rows, "key_source", COLUMN_KEY | COLUMN_DATA_ONLY,
                     number_of(text_of(s, key->parts[parts[1]]), keys[1]));
        put_copy(&words, s, key, parts[1], keys[1]);
        buf_text(&words, " on the key side × ");
        put_copy(&words, s, query, parts[0], keys[0]);
        buf_text(&words, " on the query side");
        rows_text(&rows, "pair", COLUMN_TEXT_ONLY, buf_keep(&words, s->arena, s->err));
        rows_title(&rows, "");
    }
    return rows_finish(table, &rows, "score_pairs", "pair");
}

/* Add the parts of a side as a matrix: a row for the embedding, each layer and the head's own
 * constants; a column for each head, and for each other kind of part. */
static int add_grid(struct report *report, const struct splitting *s, const struct score_side *side)
{
    static const char *const kinds[] = {"mlp",          "bias",          "token",
                                        "place",        "segment",       "features",
                                        "feature_bias", "feature_error", "per_layer"};
    enum { FEATURES = 5, PER_LAYER = 8 };
    static const size_t columns_of[] = {
        [RESID_MLP] = 0,     [RESID_BIAS] = 1,         [RESID_HERE] = 1,
        [RESID_TOKEN] = 2,   [RESID_PLACE] = 3,        [RESID_SEGMENT] = 4,
        [RESID_FEATURE] = 5, [RESID_FEATURE_BIAS] = 6, [RESID_FEATURE_ERROR] = 7};
    const size_t others = s->plan->dictionary ? PER_LAYER : FEATURES;
    const size_t heads = site_heads(s->config, SITE_CONTEXT, 0),
                 crossing = has_encoder(s->config) ? heads : 0;
    struct array array = {
        .name = arena_format(s->arena, s->err, "score_%s", side->name),
        .layer = -1,
        .rows.name = "layer",
        .columns.name = "part",
        .display.parts = true,
    };
    int last = 0;
    for (size_t i = 0; i < side->count; i++)
        last = side->parts[i].layer > last ? side->parts[i].layer : last;
    int failed = axis_add(&array.rows, "embed", s->arena, s->err) ||
                 axis_add_numbers(&array.rows, "", (size_t)last + 1, s->arena, s->err) ||
                 axis_add(&array.rows, "here", s->arena, s->err) ||
                 axis_add_numbers(&array.columns, "", heads, s->arena, s->err) ||
                 axis_add_numbers(&array.columns, "cross_", crossing, s->arena, s->err);
    for (size_t i = 0; i < others + (s->config->given > 0) && !failed; i++)
        failed = axis_add(&array.columns, kinds[i < others ? i : PER_LAYER], s->arena, s->err);
    const size_t rows = array.rows.size, columns = array.columns.size;
    float *cells = arena_alloc(s->arena, rows * columns, sizeof *cells, s->err);
    if (failed || !cells || !array.name)
        return -1;
    for (size_t i = 0; i < side->count; i++) {
        const struct resid_part part = side->parts[i];
        size_t row = part.kind == RESID_HERE ? rows - 1 : (size_t)(part.layer + 1);
        size_t column = part.of == BRANCH_PER_LAYER ? heads + crossing + others
                        : part.kind != RESID_HEAD   ? heads + crossing + columns_of[part.kind]
                        : part.of == BRANCH_CROSS   ? heads + (size_t)part.head
                                                    : (size_t)part.head;
        cells[row * columns + column] += (float)side->sums[i];
    }
    array.data = cells;
    return report_add_array(report, &array, s->arena, s->err);
}

/* Add all pairs of parts as a matrix. */
static int add_matrix(struct report *report, const struct splitting *s)
{
    const struct score_side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    const size_t count = query->count * key->count;
    float *cells = arena_alloc(s->arena, count, sizeof *cells, s->err);
    const struct array array = {
        .name = "score_pairs",
        .layer = -1,
        .data = cells,
        .rows = {.name = "query_part", .size = query->count, .labels = query->labels},
        .columns = {.name = "key_part", .size = key->count, .labels = key->labels},
        .display.parts = true,
    };
    for (size_t i = 0; cells && i < count; i++)
        cells[i] = (float)s->pairs[i];
    return err_if(!cells || report_add_array(report, &array, s->arena, s->err));
}

/* Add, for each layer, a matrix of its heads' parts, split by the tokens that the heads read. */
static int add_keys(struct report *report, const struct splitting *s, const struct score_side *side)
{
    struct resid_part last = {.layer = -1};
    for (size_t i = 0; i < side->count; i++) {
        struct resid_part part = side->parts[i];
        if (part.kind != RESID_HEAD || (part.layer == last.layer && part.of == last.of))
            continue;
        last = part;
        const struct tokenized *text = text_of(s, part);
        const size_t heads =
            site_heads(s->config, SITE_OF(part.of, SITE_CONTEXT), (size_t)part.layer);
        const size_t keys = text->count;
        struct arena scratch = {0};
        const struct vector vector = vector_of(s, side->side, NULL);
        struct head_reading *readings = arena_alloc(&scratch, heads, sizeof *readings, s->err);
        float *cells = arena_alloc(s->arena, heads * keys, sizeof *cells, s->err);
        struct array array = {
            .name = arena_format(s->arena, s->err, "%sscore_%s_source",
                                 part.of == BRANCH_CROSS ? "cross_" : "", side->name),
            .layer = part.layer,
            .data = cells,
            .columns = {.name = "key",
                        .size = keys,
                        .labels = text->labels,
                        .first = -(ptrdiff_t)text->words_before},
            .display.parts = true,
        };
        part.head = -1; /* all heads of the layer */
        int failed = !readings || !cells || !array.name ||
                     axis_of_heads(&array.rows, (size_t)part.layer, heads, s->arena, s->err) ||
                     read_part(readings, &vector, 1, &part, &scratch, s->err);
        for (size_t k = 0; !failed && k < heads * keys; k++)
            cells[k] = (float)readings[k / keys].adds[k % keys];
        arena_release(&scratch);
        if (failed || report_add_array(report, &array, s->arena, s->err))
            return -1;
    }
    return 0;
}

int score_attribution_make(struct score_attribution *found, struct report *report,
                           const struct score_plan *plan, const struct text_with_source *pair,
                           struct arena *arena, struct err *err)
{
    enum { PARTS, PAIRS, KEY_SIDE, QUERY_SIDE, PATH, TABLES };
    struct viewer *viewer = plan->viewer;
    struct splitting s, less = {0};
    struct score_side *query = &s.sides[RESID_QUERY], *key = &s.sides[RESID_KEY];
    struct table *tables = arena_alloc(arena, TABLES, sizeof *tables, err);
    if (!tables || features_expect(FOR_SCORES, &viewer->model.config, viewer->model.name, err))
        return -1;
    if (viewer->edits && viewer->edits->count)
        return err_unsupported(err, "--head: expected a run without edits");
    const struct dictionary *d = plan->dictionary;
    if (d && (plan->head.branch != BRANCH_TEXT || d->layer > plan->head.layer ||
              !site_row(d->site)->in_layer || !site_row(d->site_out)->in_layer))
        return refuse_dictionary(plan, err);
    int failed = split(&s, found, plan, pair, arena, err) ||
                 (plan->corrupt && subtract_corrupt(&s, &less, found));
    if (!failed) {
        sum_pairs(&s, query);
        sum_pairs(&s, key);
        failed = add_parts(&tables[PARTS], &s) || add_pairs(&tables[PAIRS], &s) ||
                 add_largest(&tables[KEY_SIDE], &s, key) ||
                 add_largest(&tables[QUERY_SIDE], &s, query) ||
                 (plan->depth && add_path(&tables[PATH], &s));
    }
    if (!failed && plan->by == SCORE_BY_PAIR)
        failed = add_matrix(report, &s);
    for (size_t i = 0; !failed && i < 2 && plan->by != SCORE_BY_PAIR; i++)
        failed = (plan->by == SCORE_BY_PART ? add_grid : add_keys)(report, &s, &s.sides[i]);
    report->tables = tables;
    report->table_count = TABLES - !plan->depth;
    if (plan->depth)
        tables[QUERY_SIDE].note = tables[PATH].note;
    tables[PARTS].flags = tables[PATH].flags = COLUMN_DATA_ONLY;
    if (plan->by != SCORE_BY_PART) { /* data get the array in place of these tables */
        report->tables += PAIRS;
        report->table_count = PATH - PAIRS;
        tables[PAIRS].flags = COLUMN_TEXT_ONLY;
    }
    arena_release(&less.scratch);
    arena_release(&s.scratch);
    return err_if(failed);
}

void score_attribution_add_memory(struct memory *memory, const struct score_plan *plan,
                                  const struct text_with_source *pair)
{
    const struct config *c = &plan->viewer->model.config;
    struct selection selection = {0};
    double rows = plan->against == AGAINST_MEAN || plan->against == AGAINST_WEIGHTS
                      ? (double)num_max(pair->text.count, pair->source.count)
                      : 3;
    viewer_add_memory(memory, plan->viewer, &selection, pair, CAPTURE_NOTHING);
    memory->held +=
        rows * sizeof(float) * (double)config_layers(c) * (double)(c->n_head * c->d_v + c->n_embd);
}
