#include "measure/score_attribution.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/sheet.h"
#include "math/rows.h"
#include "model/features.h"

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

enum { LISTED = 10, FLOATS_OF_KEYS = 1 << 22 /* of parts of keys, at a time */ };

/* The query, key or value of a pass's head at a kept row. */
struct vector_at {
    const struct resid_pass *pass;
    enum resid_side side;
    size_t row;
};

/* The query or the key of the score. */
struct side {
    const char *name;    /* "query", "key" */
    struct vector_at at; /* of the key itself, without those that it is compared with */
    size_t token;
    size_t count;
    struct resid_part *parts;   /* [count] */
    struct label *labels;       /* [count] names of the parts */
    struct resid_parts own;     /* of `at` alone: its items are `parts` */
    struct resid_parts *probes; /* [count] of parts that are heads', when first needed */
    double *vectors;            /* [count, dk] of keys, summed over the positions */
    double *sums;   /* [count] of the pairs of a part with all parts of the other side */
    double *factor; /* [dk] its product with a vector is the score: the scaled sum of the
                               * other side */
};

/* The scores of a query, and the sum over pairs that is asked for. */
struct splitting {
    const struct score_plan *plan;
    const struct config *config;
    const struct sublayer *attention;
    struct resid_pass pass;
    size_t *positions;    /* keys of the score and its contrast */
    double *shares;       /* coefficients of `positions` */
    struct side sides[2]; /* RESID_QUERY, RESID_KEY */
    double *pairs;        /* [parts of the query, parts of the key] */
    struct arena scratch;
    struct arena *arena; /* of the report */
    struct err *err;
};

/* --- scores and coefficients ------------------------------------------------------------------ */

/* Choose the keys: one, two, or all that are visible. */
static int choose_keys(struct splitting *s)
{
    const struct score_plan *plan = s->plan;
    const size_t keys = resid_text(s->config, s->pass.pair, plan->head, RESID_KEY)->count;
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
                             "--key: expected a key that query %zu of layer %zu attends to, from "
                             "%u to %u, found %zu",
                             plan->query, plan->head.layer, list[0], list[count - 1], named[i]);
    }
    s->pass.position_count = all ? count : named_count;
    s->pass.positions = s->positions;
    for (size_t i = 0; i < s->pass.position_count; i++)
        s->positions[i] = all ? list[i] : named[i];
    return 0;
}

/* Compute the score, its bias, and the coefficients of the keys. */
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
        if (is_key)
            s->sides[RESID_KEY].at.row = i;
        found->score += s->shares[i] * row.score[key];
        found->bias += s->shares[i] * (row.score[key] - row.plain[key]);
    }
    return 0;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* Make a side that has parts as in `some`, all of them 0. */
static int start_side(struct splitting *s, struct side *side, const struct resid_parts *some)
{
    side->count = some->count;
    side->parts = arena_alloc(&s->scratch, some->count, sizeof *side->parts, s->err);
    side->labels = arena_alloc(s->arena, some->count, sizeof *side->labels, s->err);
    side->probes = arena_alloc(&s->scratch, some->count, sizeof *side->probes, s->err);
    side->sums = arena_alloc(&s->scratch, some->count, sizeof *side->sums, s->err);
    side->vectors = arena_alloc(&s->scratch, some->count * some->width, sizeof(double), s->err);
    side->factor = arena_alloc(&s->scratch, some->width, sizeof *side->factor, s->err);
    side->own =
        (struct resid_parts){.items = side->parts, .count = some->count, .width = some->width};
    side->own.values = arena_alloc(&s->scratch, some->count * some->width, sizeof(float), s->err);
    if (!side->parts || !side->labels || !side->probes || !side->own.values || !side->sums ||
        !side->vectors || !side->factor)
        return -1;
    for (size_t i = 0; i < some->count; i++) {
        char name[RESID_PART_BYTES];
        side->parts[i] = some->items[i];
        resid_part_name(name, some->items[i]);
        const char *kept = arena_text(s->arena, name, strlen(name), s->err);
        if (!kept)
            return -1;
        side->labels[i] = (struct label){kept, kept, kept};
    }
    return 0;
}

/* Make the parts of a side: a sum over kept rows, times their coefficients. All rows have the same
 * parts. */
static int make_side(struct splitting *s, struct side *side, struct key_range rows,
                     const double *shares)
{
    const struct config *c = s->config;
    const size_t floats =
        4 * ((c->n_layer + 1) * (2 * c->n_head + 4) + s->pass.active_count) * c->n_embd;
    const size_t step = num_max(FLOATS_OF_KEYS / floats, 1);
    for (size_t first = rows.first, end; first < rows.end; first = end) {
        struct arena arena = {0};
        struct resid_parts some = {0};
        end = num_min(first + step, rows.end);
        int failed = resid_side_parts(&some, &s->pass, side->at.side,
                                      (struct key_range){first, end}, &arena, s->err) ||
                     (first == rows.first && start_side(s, side, &some));
        const float *value = some.values;
        for (size_t part = 0; !failed && part < some.count; part++)
            for (size_t row = first - rows.first; row < end - rows.first; row++)
                for (size_t i = 0; i < some.width; i++)
                    side->vectors[part * some.width + i] += shares[row] * (double)*value++;
        const struct resid_parts *own = &side->own;
        for (size_t part = 0; !failed && part < own->count; part++)
            if (side->at.row >= first && side->at.row < end)
                memcpy(own->values + part * own->width,
                       some.values + (part * some.rows + side->at.row - first) * own->width,
                       own->width * sizeof *own->values);
        arena_release(&arena);
        if (failed)
            return -1;
    }
    return 0;
}

static int refuse_dictionary(const struct score_plan *plan, struct err *err)
{
    const struct dictionary *d = plan->dictionary;
    return err_unsupported(
        err, "--sae: expected features of what head %zu.%zu reads, found '%s' in layer %zu",
        plan->head.layer, plan->head.head, site_name(d->site_out), d->layer);
}

static int make_pairs(struct splitting *s, struct score_attribution *found)
{
    struct side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    const size_t d = s->attention->head.d_k, at_query = s->pass.position_count;
    const double scale = (double)s->attention->score.scale, whole = 1;
    if (make_side(s, query, (struct key_range){at_query, at_query + 1}, &whole) ||
        make_side(s, key, (struct key_range){0, at_query}, s->shares))
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

/* Sum over the other side: the pairs of each part, and the vectors. */
static void sum_other(struct splitting *s, struct side *side)
{
    const bool of_query = side->at.side == RESID_QUERY;
    const struct side *other = &s->sides[of_query ? RESID_KEY : RESID_QUERY];
    const size_t keys = s->sides[RESID_KEY].count, others = other->count;
    const size_t d = s->attention->head.d_k;
    for (size_t i = 0; i < others * d; i++)
        side->factor[i % d] += (double)s->attention->score.scale * other->vectors[i];
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

/* Split the score of a text. */
static int split(struct splitting *s, struct score_attribution *found,
                 const struct score_plan *plan, const struct text_with_source *pair,
                 struct arena *arena, struct err *err)
{
    const struct config *c = &plan->viewer->model.config;
    *found = (struct score_attribution){0};
    *s = (struct splitting){
        .plan = plan,
        .config = c,
        .attention = attention_of(c, plan->head.part, plan->head.layer),
        .pass = {.viewer = plan->viewer,
                 .pair = pair,
                 .at = plan->head,
                 .dictionary = plan->dictionary,
                 .number = plan->number,
                 .query = plan->query},
        .sides = {{.name = "query", .at = {&s->pass, RESID_QUERY, 0}, .token = plan->query},
                  {.name = "key", .at = {&s->pass, RESID_KEY, 0}, .token = plan->key}},
        .arena = arena,
        .err = err,
    };
    if (choose_keys(s))
        return -1;
    s->sides[RESID_QUERY].at.row = s->pass.position_count;
    return err_if(resid_capture(&s->pass, &s->scratch, err) || weigh_keys(s, found) ||
                  make_pairs(s, found));
}

/* Subtract the pairs of the plan's other text: the model is the same, and so are the parts. */
static int subtract_corrupt(struct splitting *s, struct score_attribution *found)
{
    struct splitting other;
    struct score_attribution less;
    int failed = split(&other, &less, s->plan, s->plan->corrupt, s->arena, s->err);
    for (size_t i = 0; !failed && i < other.sides[0].count * other.sides[1].count; i++)
        s->pairs[i] -= other.pairs[i];
    found->score -= less.score;
    found->bias -= less.bias;
    found->sum -= less.sum;
    arena_release(&other.scratch);
    return failed;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* What a head's part of a query, key or value adds to a product, by the tokens that the head read:
 * its context is a weighted sum of their values, and all that follows is linear in it. */
struct reading {
    double *gains;    /* [dv] of each channel of the context */
    double *adds;     /* [keys] */
    long long source; /* token of the largest magnitude in `adds`; COLUMN_MISSING: no head */
    double weight;    /* the head's attention to `source` */
};

/* Find what `part` of a vector, that of a head or of all heads of a layer (head -1), adds to the
 * product of the vector and `other`; nothing for other kinds of parts. The part's `probes` are made
 * if it has none yet. */
static int read_part(struct reading *to, const struct vector_at *at, const struct resid_part *part,
                     struct resid_parts *probes, const double *other, struct arena *arena,
                     struct err *err)
{
    struct resid_pass pass = *at->pass;
    *to = (struct reading){.source = COLUMN_MISSING};
    if (part->kind != RESID_HEAD)
        return 0;
    pass.probe = part;
    const struct head_rule *rule =
        &attention_of(&pass.viewer->model.config, part->of, (size_t)part->layer)->head;
    const size_t width = context_width(rule), count = part->head < 0 ? context_heads(rule) : 1;
    const size_t first = part->head < 0 ? 0 : (size_t)part->head;
    const struct key_range row = {at->row, at->row + 1};
    double *gains = arena_alloc(arena, count * width, sizeof *gains, err);
    if (!gains || (!probes->items && resid_side_parts(probes, &pass, at->side, row, arena, err)))
        return -1;
    for (size_t p = 0; p < probes->count; p++)
        if (probes->items[p].kind == RESID_PROBE)
            gains[(size_t)probes->items[p].head - first * width] =
                dot_double_row(other, probes->values + p * probes->width, probes->width);

    for (size_t i = 0; i < count; i++, to++) {
        const struct resid_head head = {part->of, (size_t)part->layer, first + i};
        const float *values = resid_values(&pass, head);
        struct resid_attention attention;
        double factor;
        *to = (struct reading){.gains = gains + i * width, .source = COLUMN_MISSING};
        if (resid_mix(&attention, &pass, head, at->row, &factor, arena, err) ||
            !(to->adds = arena_alloc(arena, attention.keys, sizeof *to->adds, err)))
            return -1;
        for (size_t k = 0; k < width; k++)
            to->gains[k] *= factor;
        for (size_t key = 0; key < attention.keys; key++) {
            to->adds[key] =
                attention.weights[key] * dot_double_row(to->gains, values + key * width, width);
            if (to->source == COLUMN_MISSING || fabs(to->adds[key]) > fabs(to->adds[to->source])) {
                to->source = (long long)key;
                to->weight = attention.weights[key];
            }
        }
    }
    return 0;
}

/* Find the tokens from which the parts of a pair, if they are heads', read most of its value. */
static int find_sources(long long sources[2], struct splitting *s, const size_t parts[2])
{
    for (size_t i = 0; i < 2; i++) {
        const struct side *side = &s->sides[i];
        const size_t part = parts[i];
        const double *other = s->sides[!i].vectors + parts[!i] * s->attention->head.d_k;
        struct reading reading;
        if (read_part(&reading, &side->at, &side->parts[part], &side->probes[part], other,
                      &s->scratch, s->err))
            return -1;
        sources[i] = reading.source;
    }
    return 0;
}

/* The text whose tokens a head's part was read from, or in whose stream another part is. */
static const struct tokenized *text_of(const struct splitting *s, struct resid_part part)
{
    const struct text_with_source *pair = s->pass.pair;
    const struct resid_head head = {part.of, (size_t)part.layer, (size_t)part.head};
    if (part.kind == RESID_HEAD)
        return resid_text(s->config, pair, head, RESID_KEY);
    return part.of == PART_SOURCE ? &pair->source : &pair->sentence;
}

/* --- the path --------------------------------------------------------------------------------- */

/* A step of the path: the largest part of a vector. */
struct step {
    struct resid_part part;
    double value;
    size_t at; /* token of the vector */
    struct reading reading;
};

/* Follow the largest part of a side. If it is a head's, the next step is the largest part of the
 * value of the token from which this head reads most; there are at most `depth` steps. */
static int follow(struct step *steps, size_t *count, const struct splitting *s,
                  const struct side *side, struct arena *arena)
{
    struct resid_pass pass;
    struct vector_at vector = side->at;
    size_t token = side->token, position;
    const double *other = side->factor;
    for (*count = 0;; vector = (struct vector_at){&pass, RESID_VALUE, 0}) {
        struct step *step = &steps[(*count)++];
        struct reading *reading = &step->reading;
        struct resid_parts parts = side->own, probes = {0};
        size_t largest = 0;
        *step = (struct step){.at = token};
        if (*count > 1 &&
            resid_side_parts(&parts, vector.pass, vector.side,
                             (struct key_range){vector.row, vector.row + 1}, arena, s->err))
            return -1;
        for (size_t p = 0; p < parts.count; p++) {
            double value = dot_double_row(other, parts.values + p * parts.width, parts.width);
            if (parts.items[p].kind != RESID_HERE && fabs(value) > fabs(step->value)) {
                largest = p;
                step->value = value;
            }
        }
        step->part = parts.items[largest];
        if (read_part(reading, &vector, &step->part, *count > 1 ? &probes : &side->probes[largest],
                      other, arena, s->err))
            return -1;
        if (reading->source == COLUMN_MISSING || *count == s->plan->depth)
            return 0;
        const struct resid_head head = {step->part.of, (size_t)step->part.layer,
                                        (size_t)step->part.head};
        position = (size_t)reading->source;
        pass = (struct resid_pass){.viewer = s->plan->viewer,
                                   .pair = s->pass.pair,
                                   .at = head,
                                   .number = s->plan->number,
                                   .query = token,
                                   .positions = &position,
                                   .position_count = 1,
                                   .kept = s->pass.kept,
                                   .keeps_all = s->pass.keeps_all && head.part == s->pass.at.part};
        for (size_t i = 0; i < context_width(&attention_of(s->config, head.part, head.layer)->head);
             i++)
            reading->gains[i] *= reading->weight;
        other = reading->gains;
        token = position;
        if (!pass.keeps_all && resid_capture(&pass, arena, s->err))
            return -1;
    }
}

/* Add a hidden label to a row, for formats that give each cell the label of its row. */
static void label_row(struct table_rows *rows, const char *name)
{
    rows_label(rows, "row", COLUMN_KEY | COLUMN_HIDDEN, (struct label){name, name, name});
}

/* Add the steps of a side to the table, and to the path in words, which begins with the last step:
 * "␣Mary (3) → L16.H0 (read with 0.95) → L17.mlp → 18.6". */
static void put_steps(struct table_rows *rows, struct buf *path, const struct splitting *s,
                      const struct side *side, const struct step *steps, size_t count)
{
    char name[RESID_PART_BYTES];
    for (size_t i = 0; i < count; i++, rows_next(rows)) {
        const struct reading *reading = &steps[i].reading;
        resid_part_name(name, steps[i].part);
        label_row(rows, arena_format(rows->arena, rows->err, "%s %zu", side->name, i));
        rows_text(rows, "side", COLUMN_KEY, side->name);
        rows_integer(rows, "step", COLUMN_KEY, (long long)i);
        rows_text(rows, "part", COLUMN_KEY, arena_text(rows->arena, name, strlen(name), rows->err));
        rows_integer(rows, "at", 0, (long long)steps[i].at);
        rows_integer(rows, "reads", 0, reading->source);
        rows_float(rows, (struct column){"weight", .digits = 4},
                   reading->source == COLUMN_MISSING ? (double)NAN : reading->weight);
        rows_float(rows, (struct column){"value", .digits = 4}, steps[i].value);
    }
    for (size_t i = count; i-- > 0;) {
        const struct reading *reading = &steps[i].reading;
        bool is_head = reading->source != COLUMN_MISSING;
        size_t token = is_head ? (size_t)reading->source : steps[i].at;
        if (i + 1 == count)
            buf_format(path, "%s (%zu) → ", text_of(s, steps[i].part)->labels[token].text, token);
        buf_text(path, resid_part_name(name, steps[i].part));
        if (is_head)
            buf_format(path, " (read with %.2f)", reading->weight);
        buf_text(path, " → ");
    }
    buf_format(path, "%zu.%zu", s->plan->head.layer, s->plan->head.head);
}

/* Add the command that runs the text without the key side's largest head. */
static void put_test(struct buf *note, const struct splitting *s, const struct side *key)
{
    const struct resid_head *head = &s->plan->head;
    size_t best = key->count;
    for (size_t i = 0; i < key->count; i++)
        if (key->parts[i].kind == RESID_HEAD && key->parts[i].of == PART_SENTENCE &&
            (best == key->count || fabs(key->sums[i]) > fabs(key->sums[best])))
            best = i;
    buf_text(note, ". A large part is no proof of need: 'attn-cli patch' tests it");
    if (best < key->count && head->part == PART_SENTENCE)
        buf_format(
            note,
            ", or 'run' with --edit 'h.%d.context[head=%d,token=%zu] = 0' --layer %zu --head "
            "%zu --show weights",
            key->parts[best].layer, key->parts[best].head, key->token, head->layer, head->head);
    buf_char(note, '.');
}

/* Make the path to the head in words, and a table of its steps. */
static int add_path(struct table *table, const struct splitting *s)
{
    const struct side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    const size_t depth = s->plan->depth;
    struct arena arena = {0};
    struct table_rows rows = {.most = 2 * depth, .arena = s->arena, .err = s->err};
    struct buf note = {0};
    size_t counts[2];
    struct step *steps = arena_alloc(&arena, 2 * depth, sizeof *steps, s->err);
    int failed = !steps || follow(steps, &counts[0], s, key, &arena) ||
                 follow(steps + depth, &counts[1], s, query, &arena);
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

/* Find the values of largest magnitude, the largest first; of equal ones, the first is first.
 * Returns how many there are. */
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

/* A row for each part of both sides. */
static int add_parts(struct table *table, const struct splitting *s)
{
    struct table_rows rows = {
        .most = s->sides[0].count + s->sides[1].count, .arena = s->arena, .err = s->err};
    for (const struct side *side = s->sides; side < s->sides + 2; side++)
        for (size_t i = 0; i < side->count; i++, rows_next(&rows)) {
            label_row(&rows,
                      arena_format(s->arena, s->err, "%s %s", side->name, side->labels[i].text));
            rows_text(&rows, "side", COLUMN_KEY, side->name);
            rows_text(&rows, "part", COLUMN_KEY, side->labels[i].text);
            rows_float(&rows, value_column, side->sums[i]);
        }
    return rows_finish(table, &rows, "score_parts", "part");
}

/* For people: the largest parts of a side. */
static int add_largest(struct table *table, const struct splitting *s, const struct side *side)
{
    size_t indices[LISTED], count = find_largest(indices, side->sums, side->count);
    struct table_rows rows = {.most = count, .arena = s->arena, .err = s->err};
    const char *title = arena_format(s->arena, s->err, "%s side", side->name);
    const char *name = arena_format(s->arena, s->err, "score_%s_side", side->name);
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        rows_float(&rows, value_column, side->sums[indices[i]]);
        rows_title(&rows, "");
        rows_text(&rows, "part", COLUMN_KEY, side->labels[indices[i]].text);
        rows_title(&rows, title);
    }
    int failed = rows_finish(table, &rows, name, "part");
    table->flags = COLUMN_TEXT_ONLY;
    return failed;
}

/* "L16.H0's copy of ␣Mary (3)", "L0.mlp". */
static void put_copy(struct buf *out, const struct splitting *s, const struct side *side,
                     size_t part, long long source)
{
    buf_text(out, side->labels[part].text);
    if (source != COLUMN_MISSING)
        buf_format(out, "'s copy of %s (%lld)", text_of(s, side->parts[part])->labels[source].text,
                   source);
}

static int add_pairs(struct table *table, struct splitting *s)
{
    const struct side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
    size_t indices[LISTED], count = find_largest(indices, s->pairs, query->count * key->count);
    struct table_rows rows = {.most = count, .arena = s->arena, .err = s->err};
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        const size_t parts[] = {indices[i] / key->count, indices[i] % key->count};
        const char *query_name = query->labels[parts[0]].text,
                   *key_name = key->labels[parts[1]].text;
        long long sources[2];
        struct buf words = {0};
        if (find_sources(sources, s, parts))
            return -1;
        label_row(&rows, arena_format(s->arena, s->err, "%s × %s", key_name, query_name));
        rows_float(&rows, value_column, s->pairs[indices[i]]);
        rows_text(&rows, "query_part", COLUMN_KEY | COLUMN_DATA_ONLY, query_name);
        rows_text(&rows, "key_part", COLUMN_KEY | COLUMN_DATA_ONLY, key_name);
        rows_integer(&rows, "query_source", COLUMN_KEY | COLUMN_DATA_ONLY, sources[0]);
        rows_integer(&rows, "key_source", COLUMN_KEY | COLUMN_DATA_ONLY, sources[1]);
        put_copy(&words, s, key, parts[1], sources[1]);
        buf_text(&words, " on the key side × ");
        put_copy(&words, s, query, parts[0], sources[0]);
        buf_text(&words, " on the query side");
        rows_text(&rows, "pair", COLUMN_TEXT_ONLY, buf_keep(&words, s->arena, s->err));
        rows_title(&rows, "");
    }
    return rows_finish(table, &rows, "score_pairs", "pair");
}

/* The parts of a side as a matrix: a row for the embedding, each layer and the head's own
 * constants; a column for each head, and other kinds of parts. */
static int add_grid(struct report *report, const struct splitting *s, const struct side *side)
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
        size_t column = part.of == PART_PER_LAYER ? heads + crossing + others
                        : part.kind != RESID_HEAD ? heads + crossing + columns_of[part.kind]
                        : part.of == PART_CROSS   ? heads + (size_t)part.head
                                                  : (size_t)part.head;
        cells[row * columns + column] += (float)side->sums[i];
    }
    array.data = cells;
    return report_add_array(report, &array, s->arena, s->err);
}

/* All pairs as a matrix. */
static int add_matrix(struct report *report, const struct splitting *s)
{
    const struct side *query = &s->sides[RESID_QUERY], *key = &s->sides[RESID_KEY];
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

/* The heads' parts by the token that they were read from: for each layer a matrix of its heads. */
static int add_sources(struct report *report, const struct splitting *s, const struct side *side)
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
        struct resid_parts probes = {0};
        struct reading *readings = arena_alloc(&scratch, heads, sizeof *readings, s->err);
        float *cells = arena_alloc(s->arena, heads * keys, sizeof *cells, s->err);
        struct array array = {
            .name = arena_format(s->arena, s->err, "%sscore_%s_source",
                                 part.of == PART_CROSS ? "cross_" : "", side->name),
            .layer = part.layer,
            .data = cells,
            .columns = {.name = "key", .size = keys, .labels = text->labels},
            .display.parts = true,
        };
        part.head = -1; /* all of the layer */
        int failed = !readings || !cells || !array.name ||
                     axis_of_heads(&array.rows, (size_t)part.layer, heads, s->arena, s->err) ||
                     read_part(readings, &side->at, &part, &probes, side->factor, &scratch, s->err);
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
    struct splitting s;
    struct side *query = &s.sides[RESID_QUERY], *key = &s.sides[RESID_KEY];
    struct table *tables = arena_alloc(arena, TABLES, sizeof *tables, err);
    if (!tables || features_expect(FOR_SCORES, &viewer->model.config, viewer->model.name, err))
        return -1;
    if (viewer->edits && viewer->edits->count)
        return err_unsupported(err, "--head: expected a run without edits");
    const struct dictionary *d = plan->dictionary;
    if (d && (plan->head.part != PART_SENTENCE || d->layer > plan->head.layer ||
              !site_row(d->site)->in_layer || !site_row(d->site_out)->in_layer))
        return refuse_dictionary(plan, err);
    int failed =
        split(&s, found, plan, pair, arena, err) || (plan->corrupt && subtract_corrupt(&s, found));
    if (!failed) {
        sum_other(&s, query);
        sum_other(&s, key);
        failed = add_parts(&tables[PARTS], &s) || add_pairs(&tables[PAIRS], &s) ||
                 add_largest(&tables[KEY_SIDE], &s, key) ||
                 add_largest(&tables[QUERY_SIDE], &s, query) ||
                 (plan->depth && add_path(&tables[PATH], &s));
    }
    if (!failed && plan->by == SCORE_BY_PAIR)
        failed = add_matrix(report, &s);
    for (size_t i = 0; !failed && i < 2 && plan->by != SCORE_BY_PAIR; i++)
        failed = (plan->by == SCORE_BY_PART ? add_grid : add_sources)(report, &s, &s.sides[i]);
    report->tables = tables;
    report->table_count = TABLES - !plan->depth;
    if (plan->depth)
        tables[QUERY_SIDE].note = tables[PATH].note;
    tables[PARTS].flags = tables[PATH].flags = COLUMN_DATA_ONLY;
    if (plan->by != SCORE_BY_PART) { /* data have the array */
        report->tables += PAIRS;
        report->table_count = PATH - PAIRS;
        tables[PAIRS].flags = COLUMN_TEXT_ONLY;
    }
    arena_release(&s.scratch);
    return err_if(failed);
}

void score_attribution_add_memory(struct memory *memory, const struct score_plan *plan,
                                  const struct text_with_source *pair)
{
    const struct config *c = &plan->viewer->model.config;
    struct selection selection = {0};
    double rows = plan->against == AGAINST_MEAN || plan->against == AGAINST_WEIGHTS
                      ? (double)num_max(pair->sentence.count, pair->source.count)
                      : 3;
    viewer_add_memory(memory, plan->viewer, &selection, pair, CAPTURE_NOTHING);
    memory->held +=
        rows * sizeof(float) * (double)config_layers(c) * (double)(c->n_head * c->d_v + c->n_embd);
}
