/* by_hand_test.c: a trace is followed by hand, in double precision, with nothing but what `explain`
 * writes as JSON: no number of the library is looked at. */
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "format/json.h"
#include "lens/viewer.h"
#include "model/mechanism.h"
#include "explain/explanation.h"

static const double tolerance = 1e-5; /* of the largest number of a row */

/* Numbers as they stand in the file; null, minus infinity, is NAN. Nothing: count is 0. */
struct grid {
    double *values;
    size_t rows, columns, count;
};

static struct arena arena; /* of a case: it holds all grids */
static struct err err;
static struct json *root;
static const struct json *given, *steps; /* of the query that is followed */

/* --- what is in the file ---------------------------------------------------------------------- */

static struct grid grid_make(size_t rows, size_t columns)
{
    struct grid grid = {NULL, rows, columns, rows * columns};
    grid.values = arena_alloc(&arena, grid.count, sizeof *grid.values, &err);
    ck_assert_ptr_nonnull(grid.values);
    return grid;
}

static double number_of(const struct json *value)
{
    double number = NAN;
    ck_assert(json_is_null(value) || json_get_number(value, &number));
    return number;
}

/* An array of numbers, one of arrays, or a number. */
static struct grid grid_read(const struct json *value)
{
    if (!value)
        return (struct grid){0};
    if (!json_is_array(value)) {
        struct grid single = grid_make(1, 1);
        single.values[0] = number_of(value);
        return single;
    }
    bool nested = json_is_array(json_first(value));
    struct grid grid =
        grid_make(nested ? json_count(value) : 1, json_count(nested ? json_first(value) : value));
    size_t i = 0;
    for (const struct json *row = nested ? json_first(value) : value; row;
         row = nested ? json_next(row) : NULL)
        for (const struct json *item = json_first(row); item; item = json_next(item))
            grid.values[i++] = number_of(item);
    ck_assert_uint_eq(i, grid.count);
    return grid;
}

static struct grid taken(const char *name)
{
    return grid_read(json_member(given, name));
}

static bool is_taken(const char *name)
{
    return json_member(given, name) != NULL;
}

static const struct json *step_called(const char *name)
{
    for (const struct json *step = json_first(steps); step; step = json_next(step)) {
        const char *found = "";
        ck_assert(json_get_text(json_member(step, "name"), &found));
        if (strcmp(found, name) == 0)
            return step;
    }
    return NULL;
}

/* A column, or the total below it; nothing where the step or the column is not there. */
static struct grid printed(const char *step, const char *part, const char *name)
{
    const struct json *found = step_called(step);
    const struct json *columns = found ? json_member(found, part) : NULL;
    return grid_read(columns ? json_member(columns, name) : NULL);
}

/* The rows of the step's table of that name. */
static struct grid printed_row(const char *step, const char *column, const char *name)
{
    const struct json *found = step_called(step);
    struct grid all = printed(step, "columns", column);
    size_t row = 0;
    ck_assert_ptr_nonnull(found);
    for (const struct json *label = json_first(json_member(found, "rows")); label;
         label = json_next(label), row++) {
        const char *text = "";
        ck_assert(json_get_text(label, &text));
        if (strcmp(text, name) == 0)
            return (struct grid){all.values + row * all.columns, 1, all.columns, all.columns};
    }
    return (struct grid){0};
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static void expect(const char *what, struct grid found, struct grid expected)
{
    double largest = 0;
    ck_assert_msg(found.count == expected.count && found.count, "%s: %zu numbers, expected %zu",
                  what, found.count, expected.count);
    for (size_t i = 0; i < expected.count; i++)
        largest = fmax(largest, fabs(expected.values[i]));
    for (size_t i = 0; i < expected.count; i++)
        ck_assert_msg(fabs(found.values[i] - expected.values[i]) <= tolerance * largest,
                      "%s, number %zu: by hand %.9g, printed %.9g", what, i, expected.values[i],
                      found.values[i]);
}

static struct grid row_at(struct grid grid, size_t row)
{
    ck_assert_uint_lt(row, grid.rows);
    return (struct grid){grid.values + row * grid.columns, 1, grid.columns, grid.columns};
}

/* a · b + bias, where there is one */
static struct grid product(struct grid a, struct grid b, struct grid bias)
{
    struct grid y = grid_make(a.rows, b.columns);
    ck_assert_uint_eq(a.columns, b.rows);
    for (size_t i = 0; i < y.count; i++) {
        size_t row = i / y.columns;
        size_t column = i % y.columns;
        y.values[i] = bias.count ? bias.values[column] : 0;
        for (size_t c = 0; c < a.columns; c++)
            y.values[i] += a.values[row * a.columns + c] * b.values[c * b.columns + column];
    }
    return y;
}

static struct grid normed(struct grid h)
{
    struct grid y = grid_make(h.rows, h.columns);
    struct grid gamma = taken("gamma");
    struct grid beta = taken("beta");
    double size = (double)h.columns;
    for (size_t row = 0; row < h.rows; row++) {
        const double *x = row_at(h, row).values;
        double mean = 0;
        double variance = 0;
        for (size_t c = 0; c < h.columns; c++)
            mean += x[c] / size;
        for (size_t c = 0; c < h.columns; c++)
            variance += (x[c] - mean) * (x[c] - mean) / size;
        for (size_t c = 0; c < h.columns; c++)
            y.values[row * h.columns + c] =
                (x[c] - mean) / sqrt(variance + taken("epsilon").values[0]) * gamma.values[c] +
                beta.values[c];
    }
    return y;
}

static double phi(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

/* --- the steps -------------------------------------------------------------------------------- */

/* The rows that queries are made of, from the embeddings or the stream; nothing where they come
 * from elsewhere. */
static struct grid follow_stream(void)
{
    struct grid x = taken("wte");
    struct grid place = is_taken("PE") ? taken("PE") : taken("wpe");
    double scale = is_taken("embedding_scale") ? taken("embedding_scale").values[0] : 1;
    for (size_t i = 0; i < x.count; i++)
        x.values[i] = x.values[i] * scale + (place.count ? place.values[i] : 0);
    if (x.count && is_taken("h"))
        expect("h of all tokens", taken("h"), x);
    if (is_taken("h"))
        x = taken("h");
    return is_taken("gamma") ? normed(x) : x;
}

static struct grid follow_input(size_t query, bool of_source)
{
    struct grid x = printed_row("input", "vector", "x");
    struct grid stream = follow_stream();
    if (!x.count)
        x = printed("input", "columns", "x");
    if (stream.count)
        expect("x", x, row_at(stream, query));
    if (stream.count && !of_source)
        expect("x of all tokens", taken("x_j"), stream);
    if (!of_source)
        expect("x among all", x, row_at(taken("x_j"), query));
    return x;
}

static struct grid follow_scores(struct grid q)
{
    bool linear = step_called("features") != NULL;
    struct grid k = product(taken("x_j"), taken("W_k"), taken("b_k"));
    struct grid scores = grid_make(1, k.rows);
    expect("k", printed(linear ? "keys" : "scores", "columns", "k"), k);
    for (size_t i = 0; i < k.count; i++) {
        double a = q.values[i % k.columns];
        scores.values[i / k.columns] += linear ? phi(a) * phi(k.values[i]) : a * k.values[i];
    }
    expect("scores", printed("scores", "columns", "score"), scores);
    return scores;
}

/* Scaled, hidden where the file says so, and shares of one. */
static struct grid follow_weights(struct grid scores)
{
    bool linear = step_called("features") != NULL;
    struct grid weights = grid_make(1, scores.count);
    struct grid kept = printed("weights", "columns", "weight");
    struct grid masked = printed("masked", "columns", "masked");
    double sum = 0;
    for (size_t j = 0; j < scores.count; j++) {
        bool hidden = masked.count && (isnan(masked.values[j]) || masked.values[j] == 0);
        double scaled = linear ? scores.values[j] : scores.values[j] * taken("scale").values[0];
        weights.values[j] = hidden ? 0 : linear ? scaled : exp(scaled);
        sum += weights.values[j];
    }
    for (size_t j = 0; j < scores.count; j++)
        weights.values[j] /= sum;
    if (is_taken("dropout")) {
        expect("shares", printed("weights", "columns", "share"), weights);
        for (size_t j = 0; j < scores.count; j++)
            weights.values[j] =
                kept.values[j] == 0 ? 0 : weights.values[j] / (1 - taken("dropout").values[0]);
    }
    expect("weights", kept, weights);
    return weights;
}

static void follow_output(struct grid context, size_t head)
{
    struct grid shares = printed("output", "columns", "share");
    struct grid out = printed("output", "total", "share");
    const struct grid none = {0};
    if (!shares.count)
        return;
    expect("share", row_at(shares, head), product(context, taken("W_O"), none));
    struct grid sum = grid_make(1, shares.columns);
    for (size_t i = 0; i < shares.count; i++)
        sum.values[i % shares.columns] += shares.values[i];
    expect("attn_out", out, sum);
    if (is_taken("b_O"))
        expect("b_O", row_at(shares, shares.rows - 1), taken("b_O"));
}

static void follow(size_t query, size_t head, bool of_source)
{
    struct grid q = printed("query", "columns", "q");
    if (!q.count)
        q = printed("query", "total", "W_q");
    struct grid x = follow_input(query, of_source);
    expect("q", q, product(x, taken("W_q"), taken("b_q")));
    struct grid weights = follow_weights(follow_scores(product(x, taken("W_q"), taken("b_q"))));
    struct grid v = product(taken("x_j"), taken("W_v"), taken("b_v"));
    const struct grid none = {0};
    expect("v", printed("values", "columns", "v"), v);
    struct grid context = product(weights, v, none);
    expect("context", printed("context", "total", "weighted"), context);
    follow_output(context, head);
}

/* --- the cases -------------------------------------------------------------------------------- */

static struct viewer viewer;
static struct text_pair pair;

#define GOLDEN "tests/golden/"

static const struct {
    const char *model, *sentence, *source; /* a text, or ids */
    enum site_part part;
    const char *attention, *without; /* NULL: the model's, and nothing */
    float dropout;
    bool renormalises;
} cases[] = {
    {.model = "life", .sentence = "Life is short eat dessert first"},
    {.model = "life-causal", .sentence = "Life is short eat dessert first"},
    {.model = "life-4-heads", .sentence = "Life is short eat dessert"},
    {.model = "life-grouped", .sentence = "Life is short eat dessert"},
    {.model = "life-cross", .sentence = "Life is short", .source = "the cat sat"},
    {.model = "tiny", .sentence = "Life is short"},
    {"translate", "<s> le petit", "the small cat", .part = PART_SENTENCE},
    {"translate", "<s> le petit", "the small cat", .part = PART_CROSS},
    {"translate", "<s> le petit", "the small cat", .part = PART_SOURCE},
    {GOLDEN "transformer-pre", "<s> le chien", "the old dog", .part = PART_SENTENCE},
    {GOLDEN "transformer-pre", "<s> le chien", "the old dog", .part = PART_CROSS},
    {GOLDEN "transformer-pre", "<s> le chien", "the old dog", .part = PART_SOURCE},
    {GOLDEN "transformer-post", "<s> le chien", "the old dog", .part = PART_CROSS},
    {GOLDEN "transformer-paper", "<s> le chien", "the old dog", .part = PART_SENTENCE},
    {GOLDEN "transformer-paper", "<s> le chien", "the old dog", .part = PART_CROSS},
    {GOLDEN "transformer-paper", "<s> le chien", "the old dog", .part = PART_CROSS,
     .without = "mlp,norm"},
    {.model = GOLDEN "gpt2-micro-bf16-prefixed-untied", .sentence = "3,1,4,1,5"},
    {.model = GOLDEN "gpt2-micro", .sentence = "3,1,4,1,5", .without = "norm,positions"},
    {.model = GOLDEN "multi-query", .sentence = "3,1,4,1,5"},
    {.model = GOLDEN "uneven", .sentence = "3,1,4,1,5"},
    {.model = "tiny", .sentence = "Life is short", .attention = "linear"},
    {.model = "tiny", .sentence = "Life is short", .attention = "window:2"},
    {.model = "life-causal", .sentence = "Life is short eat dessert first", .dropout = 0.5f},
    {.model = "life-causal", .sentence = "Life is short eat dessert first", .renormalises = true},
};

static struct input input_of(const char *text)
{
    bool has_ids = *text >= '0' && *text <= '9';
    return has_ids ? (struct input){.ids = text}
                   : (struct input){.text = text, .size = strlen(text)};
}

static void open_case(int index)
{
    struct mechanism mechanism = {.dropout = cases[index].dropout,
                                  .renormalise = cases[index].renormalises};
    struct input sentence = input_of(cases[index].sentence);
    struct input source = input_of(cases[index].source ? cases[index].source : "");
    ck_assert_msg(!viewer_open(&viewer, cases[index].model, 1, &err), "%s", err.text);
    if (cases[index].attention)
        ck_assert(!mechanism_set_attention(&mechanism, cases[index].attention, &err));
    if (cases[index].without)
        ck_assert(!mechanism_set_without(&mechanism, cases[index].without, &err));
    ck_assert_msg(!viewer_set_mechanism(&viewer, &mechanism, &err), "%s", err.text);
    ck_assert_msg(
        !viewer_read(&viewer, &pair, &sentence, cases[index].source ? &source : NULL, &arena, &err),
        "%s", err.text);
}

/* All queries of a head, as the program writes them. */
static void explain(enum site_part part, size_t layer, size_t head, size_t queries)
{
    static const struct explain_page page = {.columns = 80};
    struct explain_request request = {
        .part = part, .layer = layer, .head = head, .query_count = queries};
    struct explanation *items = arena_alloc(&arena, queries, sizeof *items, &err);
    struct explanations all = {items, queries, true};
    struct stream out = {0};
    request.digits = 2;
    ck_assert_msg(!explanation_make(items, &viewer, &pair, &request, &arena, &err), "%s", err.text);
    memory_stream_open(&out);
    ck_assert(!explain_json_write(&out, &all, &page, &err));
    struct file file = memory_stream_take(&out);
    ck_assert_msg(!json_parse(&root, file.bytes, file.size, &err), "%s", err.text);
    file_release(&file);
}

TEST_LOOP(every_number_follows_from_what_is_given, COUNT(cases))
{
    enum site_part part = cases[_i].part;
    open_case(_i);
    const struct config *config = &viewer.model.config;
    bool of_source = part == PART_CROSS || (config->cross && !config->n_encoder_layer);
    size_t layers = part == PART_SOURCE ? config->n_encoder_layer : config->n_layer;
    size_t queries = part == PART_SOURCE ? pair.source.count : pair.sentence.count;
    for (size_t i = 0; i < layers * config->n_head; i++) {
        size_t query = 0;
        explain(part, i / config->n_head, i % config->n_head, queries);
        given = json_member(root, "given");
        ck_assert_ptr_nonnull(given);
        for (const struct json *one = json_first(json_member(root, "explanations")); one;
             one = json_next(one)) {
            steps = json_member(one, "steps");
            follow(query++, i % config->n_head, of_source);
        }
        ck_assert_uint_eq(query, queries);
        json_free(root);
    }
    arena_release(&arena);
    viewer_release(&viewer);
}
