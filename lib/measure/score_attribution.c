#include "measure/score_attribution.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/sheet.h"
#include "model/features.h"

enum { LISTED = 10, FLOATS_OF_KEYS = 1 << 22 /* of parts of keys, at a time */ };

/* The scores of a query, and the sum over pairs that is asked for. */
struct splitting {
    const struct score_plan *plan;
    const struct sublayer *attention;
    struct resid_pass pass;
    size_t *positions;             /* keys of the score and its contrast */
    double *shares;                /* coefficients of `positions` */
    size_t at_key;                 /* index of the key in `positions` */
    struct resid_parts query, key; /* query [A, dk]; of key only the items, [B] */
    double *keys;                  /* [B, dk] summed over the positions */
    double *pairs;                 /* [A, B] */
    struct arena arena;
    struct err *err;
};

/* --- scores and coefficients ------------------------------------------------------------------ */

/* Choose the keys: one, two, or all that are visible. */
static int choose_keys(struct splitting *s, size_t keys)
{
    const struct score_plan *plan = s->plan;
    const struct score_rule *rule = &s->attention->score;
    uint32_t *list = arena_alloc(&s->arena, keys, sizeof *list, s->err);
    uint32_t *drawn = arena_alloc(&s->arena, keys, sizeof *drawn, s->err);
    const size_t wanted[] = {plan->key, plan->other};
    s->positions = arena_alloc(&s->arena, keys + 2, sizeof *s->positions, s->err);
    s->shares = arena_alloc(&s->arena, keys + 2, sizeof *s->shares, s->err);
    if (!list || !drawn || !s->positions || !s->shares)
        return -1;
    size_t count = score_keys(rule, plan->query, keys, list, drawn);
    for (size_t i = 0; i < 1 + (plan->against == AGAINST_KEY); i++) {
        size_t at = 0;
        while (at < count && list[at] != wanted[i])
            at++;
        if (at == count)
            return err_usage(s->err,
                             "--key: expected a key that query %zu of layer %zu attends to, from "
                             "%u to %u, found %zu",
                             plan->query, plan->head.layer, list[0], list[count - 1], wanted[i]);
        s->positions[i] = wanted[i];
        s->pass.position_count = i + 1;
    }
    if (plan->against == AGAINST_MEAN || plan->against == AGAINST_WEIGHTS) {
        for (size_t i = 0; i < count; i++)
            s->positions[i] = list[i];
        s->pass.position_count = count;
    }
    s->pass.positions = s->positions;
    return 0;
}

/* Compute the score, its bias, and the coefficients of the keys. */
static int weigh_keys(struct splitting *s, struct score_attribution *found)
{
    const struct score_plan *plan = s->plan;
    struct resid_attention row;
    if (resid_attend(&row, &s->pass, plan->head, s->pass.position_count, &s->arena, s->err))
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
        s->at_key = is_key ? i : s->at_key;
        found->score += s->shares[i] * row.score[key];
        found->bias += s->shares[i] * (row.score[key] - row.plain[key]);
    }
    return 0;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* Add the parts of some keys, times their coefficients. */
static int add_keys(struct splitting *s, size_t first, size_t count)
{
    const size_t d = s->attention->head.d_k;
    struct arena arena = {0};
    struct resid_parts some;
    if (resid_side_parts(&some, &s->pass, RESID_KEY, (struct key_range){first, first + count},
                         &arena, s->err)) {
        arena_release(&arena);
        return -1;
    }
    if (!s->key.items) { /* the same parts for all keys */
        s->key.items = arena_alloc(&s->arena, some.count, sizeof *some.items, s->err);
        s->keys = arena_alloc(&s->arena, some.count * d, sizeof *s->keys, s->err);
        if (s->key.items)
            memcpy(s->key.items, some.items, some.count * sizeof *some.items);
        s->key.count = some.count;
    }
    bool failed = !s->key.items || !s->keys;
    for (size_t part = 0; part < some.count && !failed; part++)
        for (size_t row = 0; row < count; row++)
            for (size_t i = 0; i < d; i++)
                s->keys[part * d + i] +=
                    s->shares[first + row] * (double)some.values[(part * some.rows + row) * d + i];
    arena_release(&arena);
    return err_if(failed);
}

static int make_pairs(struct splitting *s, struct score_attribution *found)
{
    const struct config *c = &s->plan->viewer->model.config;
    const size_t d = s->attention->head.d_k;
    const double scale = (double)s->attention->score.scale;
    size_t floats = 4 * (c->n_layer + 1) * (2 * c->n_head + 4) * c->n_embd;
    size_t step = num_max(FLOATS_OF_KEYS / floats, 1);
    const struct key_range of_query = {s->pass.position_count, s->pass.position_count + 1};
    if (resid_side_parts(&s->query, &s->pass, RESID_QUERY, of_query, &s->arena, s->err))
        return -1;
    for (size_t first = 0; first < s->pass.position_count; first += step)
        if (add_keys(s, first, num_min(step, s->pass.position_count - first)))
            return -1;
    s->pairs = arena_alloc(&s->arena, s->query.count * s->key.count, sizeof *s->pairs, s->err);
    if (!s->pairs)
        return -1;
    for (size_t a = 0; a < s->query.count; a++)
        for (size_t b = 0; b < s->key.count; b++) {
            double sum = 0;
            for (size_t i = 0; i < d; i++)
                sum += (double)s->query.values[a * d + i] * s->keys[b * d + i];
            s->pairs[a * s->key.count + b] = scale * sum;
            found->sum += scale * sum;
        }
    found->sum += found->bias;
    return 0;
}

/* The sum of the pairs of a part of a side with all parts of the other side. */
static double margin(const struct splitting *s, bool of_query, size_t part)
{
    size_t keys = s->key.count, count = of_query ? keys : s->query.count;
    double sum = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        double value = s->pairs[of_query ? part * keys + i : i * keys + part];
        sum += value;
        size += fabs(value);
    }
    return fabs(sum) > 1e-12 * size ? sum : 0; /* drops rounding errors of a contrast */
}

/* --- copies ----------------------------------------------------------------------------------- */

/* A listed pair: a part of each side, and the tokens from which these parts, if they are heads,
 * read most of `value`. */
struct listed_pair {
    double value;
    size_t parts[2]; /* of the query, of the key */
    long long sources[2];
};

/* What a head's part of a query, key or value adds to a product, by the tokens that the head read:
 * its context is a weighted sum of their values, and all that follows is linear in it. */
struct reading {
    double *gains;    /* [dv] of each channel of the context */
    double *adds;     /* [keys] */
    long long source; /* token of the largest magnitude in `adds`; COLUMN_MISSING: no head */
    double weight;    /* the head's attention to `source` */
};

/* Find what `part` of a row of a side, that of a head or of all heads of a layer (head -1), adds to
 * the product of the row and `other`; nothing for other kinds of parts. */
static int read_part(struct reading *to, struct resid_pass pass, enum resid_side side, size_t row,
                     const struct resid_part *part, const double *other, struct arena *arena,
                     struct err *err)
{
    struct resid_parts probes;
    *to = (struct reading){.source = COLUMN_MISSING};
    if (part->kind != RESID_HEAD)
        return 0;
    pass.probe = part;
    const struct head_rule *rule =
        &attention_of(&pass.viewer->model.config, part->of, (size_t)part->layer)->head;
    const size_t width = rule->d_v, count = part->head < 0 ? rule->heads : 1;
    const size_t first = part->head < 0 ? 0 : (size_t)part->head;
    double *gains = arena_alloc(arena, count * width, sizeof *gains, err);
    if (!gains ||
        resid_side_parts(&probes, &pass, side, (struct key_range){row, row + 1}, arena, err))
        return -1;
    for (size_t p = 0; p < probes.count; p++)
        for (size_t i = 0; i < probes.width && probes.items[p].kind == RESID_PROBE; i++)
            gains[(size_t)probes.items[p].head - first * width] +=
                (double)probes.values[p * probes.width + i] * other[i];

    for (size_t i = 0; i < count; i++, to++) {
        const struct resid_head head = {part->of, (size_t)part->layer, first + i};
        const float *values = resid_values(&pass, head);
        struct resid_attention attention;
        *to = (struct reading){.gains = gains + i * width, .source = COLUMN_MISSING};
        if (resid_attend(&attention, &pass, head, row, arena, err) ||
            !(to->adds = arena_alloc(arena, attention.keys, sizeof *to->adds, err)))
            return -1;
        for (size_t key = 0; key < attention.keys; key++) {
            for (size_t k = 0; k < width; k++)
                to->adds[key] += to->gains[k] * (double)values[key * width + k];
            to->adds[key] *= attention.weights[key];
            if (to->source == COLUMN_MISSING || fabs(to->adds[key]) > fabs(to->adds[to->source])) {
                to->source = (long long)key;
                to->weight = attention.weights[key];
            }
        }
    }
    return 0;
}

/* Find the tokens that the parts of a pair come from. */
static int find_sources(const struct splitting *s, struct listed_pair *pair)
{
    const size_t d = s->attention->head.d_k, of_query = pair->parts[0], of_key = pair->parts[1];
    struct arena arena = {0};
    struct reading query, key;
    double *q = arena_alloc(&arena, d, sizeof *q, s->err);
    for (size_t i = 0; q && i < d; i++)
        q[i] = (double)s->query.values[of_query * d + i];
    int failed =
        !q ||
        read_part(&query, s->pass, RESID_QUERY, s->pass.position_count, &s->query.items[of_query],
                  s->keys + of_key * d, &arena, s->err) ||
        read_part(&key, s->pass, RESID_KEY, s->at_key, &s->key.items[of_key], q, &arena, s->err);
    if (!failed) {
        pair->sources[0] = query.source;
        pair->sources[1] = key.source;
    }
    arena_release(&arena);
    return err_if(failed);
}

/* The pairs of largest magnitude, the largest first. */
static int list_pairs(struct listed_pair *list, size_t count, const struct splitting *s)
{
    const size_t cells = s->query.count * s->key.count;
    double last = INFINITY;
    size_t at = 0; /* index of the pair listed last; of equal pairs, the first is listed first */
    for (size_t n = 0; n < count; n++) {
        double most = -1;
        size_t best = 0;
        for (size_t i = 0; i < cells; i++) {
            double value = fabs(s->pairs[i]);
            bool later = value < last || (value == last && i > at);
            if (later && value > most) {
                most = value;
                best = i;
            }
        }
        last = most;
        at = best;
        list[n] = (struct listed_pair){
            s->pairs[best], {best / s->key.count, best % s->key.count}, {0, 0}};
        if (find_sources(s, &list[n]))
            return -1;
    }
    return 0;
}

static const char *name_of(const struct resid_part part, struct arena *arena, struct err *err)
{
    char name[RESID_PART_BYTES];
    resid_part_name(name, part);
    return arena_text(arena, name, strlen(name), err);
}

/* Add a hidden label to a row, for formats that give each cell the label of its row. */
static void label_row(struct table_rows *rows, const char *name)
{
    rows_label(rows, "row", COLUMN_KEY | COLUMN_HIDDEN, (struct label){name, name, name});
}

/* --- the path --------------------------------------------------------------------------------- */

/* "L16.H0's copy of ␣Mary (3)", "L0.mlp". */
static const char *describe_part(const struct splitting *s, struct resid_part part,
                                 long long source, struct arena *arena)
{
    const struct text_with_source *pair = s->pass.pair;
    const char *name = name_of(part, arena, s->err);
    if (!name || source == COLUMN_MISSING)
        return name;
    const struct resid_head head = {part.of, (size_t)part.layer, (size_t)part.head};
    const struct tokenized *text =
        resid_text(&s->plan->viewer->model.config, pair, head, RESID_KEY);
    return arena_format(arena, s->err, "%s's copy of %s (%lld)", name, text->labels[source].text,
                        source);
}

/* Put a step before a path: "L16.H0 (read with 0.95) → "; if `at` is not COLUMN_MISSING, also the
 * token that the path begins with: the one that the head reads, or `at`. */
static const char *describe_step(const struct splitting *s, const char *path,
                                 struct resid_part part, const struct reading *reading,
                                 long long at, struct arena *arena)
{
    bool is_head = part.kind == RESID_HEAD;
    long long token = is_head ? reading->source : at;
    bool of_source = part.of == PART_SOURCE || (is_head && part.of == PART_CROSS);
    const struct tokenized *text = of_source ? &s->pass.pair->source : &s->pass.pair->sentence;
    const char *name = name_of(part, arena, s->err);
    if (name && path && is_head)
        path = arena_format(arena, s->err, "%s (read with %.2f) → %s", name, reading->weight, path);
    else if (name && path)
        path = arena_format(arena, s->err, "%s → %s", name, path);
    return !path || !name || at == COLUMN_MISSING
               ? path
               : arena_format(arena, s->err, "%s (%lld) → %s", text->labels[token].text, token,
                              path);
}

/* What a row of a side is multiplied by to give the score: the scaled sum of the other side. */
static double *other_side(const struct splitting *s, bool of_query, struct arena *arena)
{
    const size_t d = s->attention->head.d_k, count = of_query ? s->key.count : s->query.count;
    double *sum = arena_alloc(arena, d, sizeof *sum, s->err);
    for (size_t i = 0; sum && i < count * d; i++)
        sum[i % d] += (double)s->attention->score.scale *
                      (of_query ? s->keys[i] : (double)s->query.values[i]);
    return sum;
}

/* The part of a row whose product with `other` has the largest magnitude, except RESID_HERE. */
static size_t largest_part(double *value, const struct resid_parts *parts, const double *other)
{
    size_t best = 0;
    *value = 0;
    for (size_t p = 0; p < parts->count; p++) {
        double sum = 0;
        for (size_t i = 0; i < parts->width; i++)
            sum += (double)parts->values[p * parts->rows * parts->width + i] * other[i];
        if (parts->items[p].kind != RESID_HERE && fabs(sum) > fabs(*value)) {
            best = p;
            *value = sum;
        }
    }
    return best;
}

/* Follow the largest part of a side. If it is a head's, the next step is the largest part of the
 * value of the token from which this head reads most; there are at most `depth` steps. */
static int follow(struct table_rows *rows, const char **path, const struct splitting *s,
                  bool of_key, struct arena *kept)
{
    struct resid_pass pass = s->pass;
    enum resid_side side = of_key ? RESID_KEY : RESID_QUERY;
    size_t row = of_key ? s->at_key : s->pass.position_count;
    long long at = (long long)(of_key ? s->plan->key : s->plan->query);
    struct arena arena = {0};
    double *other = other_side(s, !of_key, &arena);
    int failed = !other;
    for (size_t step = 0; !failed && step < s->plan->depth; step++) {
        struct resid_parts parts;
        struct reading reading;
        double value;
        if ((failed = resid_side_parts(&parts, &pass, side, (struct key_range){row, row + 1},
                                       &arena, s->err)))
            break;
        const struct resid_part part = parts.items[largest_part(&value, &parts, other)];
        if ((failed = read_part(&reading, pass, side, row, &part, other, &arena, s->err)))
            break;
        label_row(rows, arena_format(kept, s->err, "%s %zu", of_key ? "key" : "query", step));
        rows_text(rows, "side", COLUMN_KEY, of_key ? "key" : "query");
        rows_integer(rows, "step", COLUMN_KEY, (long long)step);
        rows_text(rows, "part", COLUMN_KEY, name_of(part, kept, s->err));
        rows_integer(rows, "at", 0, at);
        rows_integer(rows, "reads", 0, reading.source);
        rows_float(rows, (struct column){"weight", .digits = 4},
                   reading.source == COLUMN_MISSING ? (double)NAN : reading.weight);
        rows_float(rows, (struct column){"value", .digits = 4}, value);
        rows_next(rows);
        bool is_last = reading.source == COLUMN_MISSING || step + 1 == s->plan->depth;
        *path = describe_step(s, *path, part, &reading, is_last ? at : COLUMN_MISSING, kept);
        if (is_last)
            break;
        size_t *position = arena_alloc(&arena, 1, sizeof *position, s->err);
        if ((failed = !position))
            break;
        *position = (size_t)reading.source;
        pass = (struct resid_pass){.viewer = s->plan->viewer,
                                   .pair = s->pass.pair,
                                   .at = {part.of, (size_t)part.layer, (size_t)part.head},
                                   .number = s->plan->number,
                                   .query = (size_t)at,
                                   .positions = position,
                                   .position_count = 1};
        size_t width =
            attention_of(&s->plan->viewer->model.config, part.of, (size_t)part.layer)->head.d_v;
        other = reading.gains;
        for (size_t i = 0; i < width; i++)
            other[i] *= reading.weight;
        side = RESID_VALUE;
        row = 0;
        at = reading.source;
        failed = resid_capture(&pass, &arena, s->err);
    }
    arena_release(&arena);
    return err_if(failed);
}

/* Make the path to the head in words, and a table of its steps. */
static int add_path(struct table *table, const struct splitting *s, struct arena *arena)
{
    const char *paths[2] = {"", ""};
    struct table_rows rows = {.most = 2 * s->plan->depth, .arena = arena, .err = s->err};
    if (follow(&rows, &paths[0], s, true, arena) || follow(&rows, &paths[1], s, false, arena) ||
        rows_finish(table, &rows, "score_path", "step"))
        return -1;
    table->note =
        arena_format(arena, s->err,
                     "Key side: %s%zu.%zu. Query side: %s%zu.%zu. A large part is no proof "
                     "of need: 'attn-cli patch' tests it.",
                     paths[0], s->plan->head.layer, s->plan->head.head, paths[1],
                     s->plan->head.layer, s->plan->head.head);
    return table->note ? 0 : -1;
}

/* --- the report ------------------------------------------------------------------------------- */

/* A row for each part of both sides; for people, the largest of one side. */
static int add_parts(struct table *table, const struct splitting *s, struct arena *arena)
{
    static const char *const sides[] = {"key", "query"};
    struct table_rows rows = {.most = s->query.count + s->key.count, .arena = arena, .err = s->err};
    for (int of_query = 1; of_query >= 0; of_query--) {
        const struct resid_parts *side = of_query ? &s->query : &s->key;
        for (size_t i = 0; i < side->count; i++, rows_next(&rows)) {
            const char *name = name_of(side->items[i], arena, s->err);
            label_row(&rows,
                      name ? arena_format(arena, s->err, "%s %s", sides[of_query], name) : NULL);
            rows_text(&rows, "side", COLUMN_KEY, sides[of_query]);
            rows_text(&rows, "part", COLUMN_KEY, name);
            rows_float(&rows, (struct column){"value", .digits = 4, .flags = COLUMN_COLOURED},
                       margin(s, of_query, i));
        }
    }
    return rows_finish(table, &rows, "score_parts", "part");
}

static int add_side(struct table *table, const struct splitting *s, bool of_query,
                    struct arena *arena)
{
    const struct resid_parts *side = of_query ? &s->query : &s->key;
    const size_t count = num_min(LISTED, side->count);
    struct table_rows rows = {.most = side->count, .arena = arena, .err = s->err};
    size_t *largest = arena_alloc(arena, side->count + 1, sizeof *largest, s->err);
    if (!largest)
        return -1;
    for (size_t i = 0; i < side->count; i++, rows_next(&rows)) {
        double value = margin(s, of_query, i);
        size_t at = i;
        for (; at > 0 && fabs(margin(s, of_query, largest[at - 1])) < fabs(value); at--)
            largest[at] = largest[at - 1];
        largest[at] = i;
        rows_float(&rows, (struct column){"value", .digits = 4, .flags = COLUMN_COLOURED}, value);
        rows_title(&rows, "");
        rows_text(&rows, "part", COLUMN_KEY, name_of(side->items[i], arena, s->err));
        rows_title(&rows, of_query ? "query side" : "key side");
    }
    table->flags = COLUMN_TEXT_ONLY;
    if (rows_finish(table, &rows, of_query ? "score_query_side" : "score_key_side", "part") ||
        table_pick(table, largest, count, arena, s->err))
        return -1;
    table->flags = COLUMN_TEXT_ONLY;
    return 0;
}

static int add_pairs(struct table *table, const struct splitting *s, struct arena *arena)
{
    const size_t count = num_min(LISTED, s->query.count * s->key.count);
    struct table_rows rows = {.most = count, .arena = arena, .err = s->err};
    struct listed_pair list[LISTED];
    if (list_pairs(list, count, s))
        return -1;
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        const struct resid_part query = s->query.items[list[i].parts[0]],
                                key = s->key.items[list[i].parts[1]];
        const char *query_words = describe_part(s, query, list[i].sources[0], arena);
        const char *key_words = describe_part(s, key, list[i].sources[1], arena);
        const char *names[] = {name_of(query, arena, s->err), name_of(key, arena, s->err)};
        label_row(&rows, names[0] && names[1]
                             ? arena_format(arena, s->err, "%s × %s", names[1], names[0])
                             : NULL);
        rows_float(&rows, (struct column){"value", .digits = 4, .flags = COLUMN_COLOURED},
                   list[i].value);
        rows_text(&rows, "query_part", COLUMN_KEY | COLUMN_DATA_ONLY, names[0]);
        rows_text(&rows, "key_part", COLUMN_KEY | COLUMN_DATA_ONLY, names[1]);
        rows_integer(&rows, "query_source", COLUMN_KEY | COLUMN_DATA_ONLY, list[i].sources[0]);
        rows_integer(&rows, "key_source", COLUMN_KEY | COLUMN_DATA_ONLY, list[i].sources[1]);
        rows_text(&rows, "pair", COLUMN_TEXT_ONLY,
                  query_words && key_words
                      ? arena_format(arena, s->err, "%s on the key side × %s on the query side",
                                     key_words, query_words)
                      : NULL);
        rows_title(&rows, "");
    }
    return rows_finish(table, &rows, "score_pairs", "pair");
}

/* The parts of a side as a matrix: a row for the embedding, each layer and the head's own
 * constants; a column for each head, and other kinds of parts. */
static int add_grid(struct report *report, const struct splitting *s, bool of_query,
                    struct arena *arena)
{
    static const char *const kinds[] = {"mlp", "bias", "token", "place", "segment"};
    static const size_t columns_of[] = {[RESID_MLP] = 0,   [RESID_BIAS] = 1,  [RESID_HERE] = 1,
                                        [RESID_TOKEN] = 2, [RESID_PLACE] = 3, [RESID_SEGMENT] = 4};
    const struct config *c = &s->plan->viewer->model.config;
    const struct resid_parts *side = of_query ? &s->query : &s->key;
    const size_t heads = c->n_head, crossing = has_encoder(c) ? heads : 0;
    const size_t others = sizeof kinds / sizeof *kinds, columns = heads + crossing + others;
    size_t last = 0;
    for (size_t i = 0; i < side->count; i++)
        last = side->items[i].layer > (int)last ? (size_t)side->items[i].layer : last;
    const size_t rows = last + 3;
    struct axis stages = {.name = "layer"}, parts = {.name = "part"};
    int failed = axis_add(&stages, "embed", arena, s->err) ||
                 axis_add_numbers(&stages, "", last + 1, arena, s->err) ||
                 axis_add(&stages, "here", arena, s->err) ||
                 axis_add_numbers(&parts, "", heads, arena, s->err) ||
                 axis_add_numbers(&parts, "cross_", crossing, arena, s->err);
    for (size_t i = 0; i < others && !failed; i++)
        failed = axis_add(&parts, kinds[i], arena, s->err);
    float *cells = arena_alloc(arena, rows * columns, sizeof *cells, s->err);
    if (failed || !cells)
        return -1;
    for (size_t i = 0; i < side->count; i++) {
        const struct resid_part part = side->items[i];
        size_t row = part.kind == RESID_HERE ? rows - 1 : (size_t)(part.layer + 1);
        size_t column = part.kind != RESID_HEAD ? heads + crossing + columns_of[part.kind]
                        : part.of == PART_CROSS ? heads + (size_t)part.head
                                                : (size_t)part.head;
        cells[row * columns + column] += (float)margin(s, of_query, i);
    }
    const struct array array = {
        .name = of_query ? "score_query" : "score_key",
        .layer = -1,
        .data = cells,
        .rows = stages,
        .columns = parts,
        .display.parts = true,
    };
    return report_add_array(report, &array, arena, s->err);
}

static int add_matrix(struct report *report, const struct splitting *s, struct arena *arena)
{
    struct axis axes[] = {{.name = "query_part"}, {.name = "key_part"}};
    float *cells = arena_alloc(arena, s->query.count * s->key.count, sizeof *cells, s->err);
    int failed = !cells;
    for (size_t i = 0; i < s->query.count && !failed; i++)
        failed = axis_add(&axes[0], name_of(s->query.items[i], arena, s->err), arena, s->err);
    for (size_t i = 0; i < s->key.count && !failed; i++)
        failed = axis_add(&axes[1], name_of(s->key.items[i], arena, s->err), arena, s->err);
    if (failed)
        return -1;
    for (size_t i = 0; i < s->query.count * s->key.count; i++)
        cells[i] = (float)s->pairs[i];
    const struct array array = {
        .name = "score_pairs",
        .layer = -1,
        .data = cells,
        .rows = axes[0],
        .columns = axes[1],
        .display.parts = true,
    };
    return report_add_array(report, &array, arena, s->err);
}

/* The heads' parts by the token that they were read from: for each layer a matrix of its heads. */
static int add_sources(struct report *report, const struct splitting *s, bool of_query,
                       struct arena *arena)
{
    const struct resid_parts *side = of_query ? &s->query : &s->key;
    struct resid_part last = {.layer = -1};
    for (size_t i = 0; i < side->count; i++) {
        struct resid_part part = side->items[i];
        if (part.kind != RESID_HEAD || (part.layer == last.layer && part.of == last.of))
            continue;
        last = part;
        part.head = -1; /* all of the layer */
        const size_t heads =
            attention_of(&s->plan->viewer->model.config, part.of, (size_t)part.layer)->head.heads;
        const struct tokenized *text = report_keys(report, part.of);
        struct arena scratch = {0};
        struct reading *readings = arena_alloc(&scratch, heads, sizeof *readings, s->err);
        double *other = other_side(s, of_query, &scratch);
        float *cells = arena_alloc(arena, heads * text->count, sizeof *cells, s->err);
        struct array array = {
            .name = arena_format(arena, s->err, "%sscore_%s_source",
                                 part.of == PART_CROSS ? "cross_" : "", of_query ? "query" : "key"),
            .layer = part.layer,
            .data = cells,
            .columns = {.name = "key", .size = text->count, .labels = text->labels},
            .display.parts = true,
        };
        int failed = !readings || !other || !cells || !array.name ||
                     axis_of_heads(&array.rows, (size_t)part.layer, heads, arena, s->err) ||
                     read_part(readings, s->pass, of_query ? RESID_QUERY : RESID_KEY,
                               of_query ? s->pass.position_count : s->at_key, &part, other,
                               &scratch, s->err);
        for (size_t k = 0; !failed && k < heads * text->count; k++)
            cells[k] = (float)readings[k / text->count].adds[k % text->count];
        arena_release(&scratch);
        if (failed || report_add_array(report, &array, arena, s->err))
            return -1;
    }
    return 0;
}

static int split(struct splitting *s, struct score_attribution *found)
{
    const struct config *c = &s->plan->viewer->model.config;
    size_t keys = resid_text(c, s->pass.pair, s->pass.at, RESID_KEY)->count;
    return err_if(choose_keys(s, keys) || resid_capture(&s->pass, &s->arena, s->err) ||
                  weigh_keys(s, found) || make_pairs(s, found));
}

int score_attribution_make(struct score_attribution *found, struct report *report,
                           const struct score_plan *plan, const struct text_with_source *pair,
                           struct arena *arena, struct err *err)
{
    enum { PARTS, PAIRS, KEY_SIDE, QUERY_SIDE, PATH, TABLES };
    struct viewer *viewer = plan->viewer;
    struct splitting s = {
        .plan = plan,
        .attention = attention_of(&viewer->model.config, plan->head.part, plan->head.layer),
        .pass = {.viewer = viewer,
                 .pair = pair,
                 .at = plan->head,
                 .number = plan->number,
                 .query = plan->query},
        .err = err,
    };
    struct table *tables = arena_alloc(arena, TABLES, sizeof *tables, err);
    *found = (struct score_attribution){0};
    if (!tables || features_expect(TO_RUN, &viewer->model.config, viewer->model.name, err))
        return -1;
    if (viewer->edits && viewer->edits->count)
        return err_unsupported(err, "--head: expected a run without edits");
    int failed = split(&s, found);
    if (!failed && plan->corrupt) {
        struct splitting other = s;
        struct score_attribution less = {0};
        other.pass.pair = plan->corrupt;
        other.arena = (struct arena){0};
        other.key = other.query = (struct resid_parts){0};
        failed = split(&other, &less); /* the model is the same, and so are the parts */
        for (size_t i = 0; !failed && i < s.query.count * s.key.count; i++)
            s.pairs[i] -= other.pairs[i];
        found->score -= less.score;
        found->bias -= less.bias;
        found->sum -= less.sum;
        arena_release(&other.arena);
    }
    failed = failed || add_parts(&tables[PARTS], &s, arena) ||
             add_pairs(&tables[PAIRS], &s, arena) ||
             add_side(&tables[KEY_SIDE], &s, false, arena) ||
             add_side(&tables[QUERY_SIDE], &s, true, arena) ||
             (plan->depth && add_path(&tables[PATH], &s, arena));
    if (!failed && plan->by == SCORE_BY_PAIR)
        failed = add_matrix(report, &s, arena);
    else if (!failed && plan->by == SCORE_BY_SOURCE)
        failed = add_sources(report, &s, true, arena) || add_sources(report, &s, false, arena);
    else if (!failed)
        failed = add_grid(report, &s, true, arena) || add_grid(report, &s, false, arena);
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
    arena_release(&s.arena);
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
