/* by_hand_test.c: a trace is followed by hand, in double precision, with nothing but what `explain`
 * writes as JSON: no number of the library is looked at. */
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/by_hand.h"
#include "../rigs/explanation_fixture.h"
#include "../rigs/memory_stream.h"
#include "../rigs/patience.h"
#include "lens/edit_list.h"
#include "lens/viewer.h"
#include "model/mechanism.h"
#include "explain/explanation.h"

static struct json *root;

/* --- the steps -------------------------------------------------------------------------------- */

/* The rows that queries are made of, from the embeddings or the stream; nothing where they come
 * from elsewhere. */
static struct grid follow_stream(void)
{
    struct grid x = taken("wte");
    struct grid place = is_taken("PE") ? taken("PE") : taken("wpe");
    double scale = is_taken("embedding_scale") ? taken("embedding_scale").values[0] : 1;
    if (x.count && is_taken("P_in"))
        x = product(x, taken("P_in"), (struct grid){0});
    for (size_t i = 0; i < x.count; i++)
        x.values[i] = x.values[i] * scale + (place.count ? place.values[i] : 0);
    if (step_called("embedding"))
        x = normed_by_rows("embedding", x);
    if (x.count && is_taken("h"))
        expect("h of all tokens", taken("h"), x);
    if (is_taken("h"))
        x = taken("h");
    return is_taken("gamma") ? normed("input", x, taken("gamma"), taken("beta")) : x;
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

/* Norms of heads: by the mean squares that are printed, which are those of a head unless it says
 * that they are of all. */
static void norm_heads(const char *step, struct grid *x, struct grid gamma)
{
    const char *note = "";
    struct grid squares = printed(step, "columns", "mean_square");
    const struct json *said = json_member(step_called(step), "note");
    bool whole = said && json_get_text(said, &note) && strstr(note, "all heads");
    for (size_t row = 0; row < x->rows; row++) {
        double *at = row_at(*x, row).values;
        struct grid own = grid_make(1, 1);
        for (size_t i = 0; i < x->columns; i++)
            *own.values += at[i] * at[i] / (double)x->columns;
        if (!whole)
            expect("mean square", (struct grid){squares.values + row, 1, 1, 1}, own);
        for (size_t i = 0; i < x->columns; i++)
            at[i] *=
                scale_at(step, gamma, i) / sqrt(squares.values[row] + taken("epsilon").values[0]);
    }
}

/* A vector by itself, or the total of the product with the matrix beside it. */
static struct grid printed_query(const char *name)
{
    struct grid alone = printed("query", "columns", name);
    return alone.count ? alone : printed("query", "total", "W_q");
}

static struct grid follow_query(struct grid x, size_t query)
{
    bool norms = step_called("query_norm") != NULL;
    bool turns = step_called("query_turn") != NULL;
    struct grid q = product(x, taken("W_q"), taken("b_q"));
    expect("q", printed_query(norms ? "q_raw" : turns ? "q_pre" : "q"), q);
    if (norms) {
        norm_heads("query_norm", &q, printed_row("query_norm", "vector", "γ"));
        expect("q, normed", printed_row("query_norm", "vector", turns ? "q_pre" : "q"), q);
    }
    if (!turns)
        return go_on(printed_row("query_edited", "vector", "q, edited"), q);
    turn(q.values, query);
    size_t pairs = taken("frequencies").count;
    bool neighbours = taken("pair_distance").values[0] == 1 && pairs > 1;
    struct grid half = grid_make(1, pairs);
    for (size_t i = 0; i < pairs; i++)
        half.values[i] = q.values[neighbours ? 2 * i : i];
    expect("q, turned", printed_row("query_turn", "vector", "a'"), half);
    return go_on(printed_row("query_turn_edited", "vector", "q, edited"), q);
}

static struct grid follow_keys(void)
{
    bool linear = step_called("features") != NULL;
    bool norms = step_called("key_norm") != NULL;
    bool turns = step_called("key_turn") != NULL;
    struct grid k = product(taken("x_j"), taken("W_k"), taken("b_k"));
    if (norms || turns)
        expect("k", printed("keys", "columns", norms ? "k_raw" : "k_pre"), k);
    if (norms) {
        norm_heads("key_norm", &k, taken("gamma_k"));
        expect("k, normed", printed("key_norm", "columns", turns ? "k_pre" : "k"), k);
    }
    for (size_t j = 0; j < k.rows && turns; j++)
        turn(row_at(k, j).values, j);
    if (step_called("keys_edited")) {
        expect("k", printed("keys", "columns", "k"), k);
        return printed("keys_edited", "columns", "k");
    }
    expect("k",
           printed(linear && !turns ? "keys"
                   : linear         ? "key_turn"
                                    : "scores",
                   "columns", "k"),
           k);
    return k;
}

static double phi(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

static struct grid follow_scores(struct grid q)
{
    bool linear = step_called("features") != NULL;
    struct grid k = follow_keys();
    struct grid scores = grid_make(1, k.rows);
    for (size_t i = 0; i < k.count; i++) {
        double a = q.values[i % k.columns];
        scores.values[i / k.columns] += linear ? phi(a) * phi(k.values[i]) : a * k.values[i];
    }
    expect("scores", printed("scores", "columns", "score"), scores);
    return scores;
}

/* What a place adds to a score: the slope times the place; times the scale, rounded, if it says so.
 */
static double follow_bias(size_t j)
{
    double bias = printed("moved", "columns", "bias").values[j];
    const char *note = "";
    ck_assert(json_get_text(json_member(step_called("moved"), "note"), &note));
    bool rounded = strstr(note, "rounded") != NULL;
    double exact = taken("slope").values[0] * (double)j * (rounded ? taken("scale").values[0] : 1);
    ck_assert_double_eq_tol(bias, exact, (rounded ? 1e-2 : 1e-6) * exact + 1e-9);
    return bias;
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
        if (is_taken("cap"))
            scaled = taken("cap").values[0] * tanh(scaled / taken("cap").values[0]);
        if (is_taken("slope"))
            scaled += follow_bias(j);
        if (is_taken("temperature"))
            scaled /= taken("temperature").values[0];
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
    return go_on(printed("weights_edited", "columns", "edited"), weights);
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
    struct grid x = follow_input(query, of_source);
    struct grid weights = follow_weights(follow_scores(follow_query(x, query)));
    struct grid v = product(taken("x_j"), taken("W_v"), taken("b_v"));
    const struct grid none = {0};
    expect("v", printed("values", "columns", "v"), v);
    v = go_on(printed("values_edited", "columns", "v"), v);
    struct grid context = product(weights, v, none);
    expect("context", printed("context", "total", "weighted"), context);
    follow_output(go_on(printed_row("context_edited", "vector", "context, edited"), context), head);
    follow_block(x);
}

/* --- the cases -------------------------------------------------------------------------------- */

static struct viewer viewer;
static struct text_pair pair;
static struct edit_list edits;

#define GOLDEN "tests/golden/"
#define FAMILY(name) .model = "tests/golden-families/" name, .sentence = "3,1,4,1,5,9,2"

static const struct {
    const char *model, *sentence, *source; /* a text, or ids */
    enum site_part part;
    const char *attention, *without; /* NULL: the model's, and nothing */
    const char *edit;                /* or NULL */
    float dropout, temperature;
    bool renormalises, starves;
} cases[] = {
    {.model = "life", .sentence = "Life is short eat dessert first"},
    {.model = "life-causal", .sentence = "Life is short eat dessert first"},
    {.model = "life-4-heads", .sentence = "Life is short eat dessert"},
    {.model = "life-grouped", .sentence = "Life is short eat dessert"},
    {.model = "life-cross", .sentence = "Life is short", .source = "the cat sat"},
    {.model = "tiny", .sentence = "Life is short"},
    {.model = "tiny",
     .sentence = "Life is short",
     .edit = "q[token=1] * 2;k * 0.5;v[token=0] * 2;weights[key=0] * 0.5;context[head=1] = 0"},
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
    {FAMILY("bloom"), .starves = true},
    {FAMILY("falcon")},
    {FAMILY("falcon-7b-style")},
    {FAMILY("falcon-rw-alibi"), .starves = true},
    {FAMILY("gemma")},
    {FAMILY("gemma2"), .starves = true},
    {FAMILY("gemma3_text")},
    {FAMILY("gpt_neo")},
    {FAMILY("gpt_neox")},
    {FAMILY("gpt_neox-sequential")},
    {FAMILY("gptj"), .starves = true},
    {FAMILY("granite"), .starves = true},
    {FAMILY("llama")},
    {FAMILY("llama-bf16-tied-biases")},
    {FAMILY("llama-rope-dynamic")},
    {FAMILY("llama-rope-linear")},
    {FAMILY("llama-rope-llama3")},
    {FAMILY("llama-rope-yarn")},
    {FAMILY("mistral")},
    {FAMILY("olmo2"), .starves = true},
    {FAMILY("opt")},
    {FAMILY("opt-350m-style"), .starves = true},
    {FAMILY("phi")},
    {FAMILY("phi3")},
    {FAMILY("phi3-longrope")},
    {FAMILY("qwen2")},
    {FAMILY("qwen3")},
    {FAMILY("smollm3")},
    {FAMILY("stablelm")},
    {FAMILY("starcoder2")},
    {FAMILY("llama"), .edit = "q * 2;v = 1;context[head=0] * 3", .starves = true},
    {FAMILY("llama"), .attention = "linear"},
    {FAMILY("llama"), .without = "norm,positions"},
    {FAMILY("qwen3"), .without = "positions,residual"},
    {FAMILY("gemma2"), .without = "mlp,norm"},
    {FAMILY("olmo2"), .attention = "window:2"},
    {FAMILY("bloom"), .dropout = 0.5f},
    {FAMILY("bloom"), .temperature = 0.5f, .renormalises = true},
    {FAMILY("gemma2"), .temperature = 2},
    {FAMILY("llama"), .temperature = 2},
    {FAMILY("granite"), .without = "residual"},
    {FAMILY("qwen3"), .without = "norm"},
    {FAMILY("opt-350m-style"), .without = "positions"},
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
                                  .temperature = cases[index].temperature,
                                  .renormalise = cases[index].renormalises};
    struct input sentence = input_of(cases[index].sentence);
    struct input source = input_of(cases[index].source ? cases[index].source : "");
    ck_assert_msg(!viewer_open(&viewer, cases[index].model, 1, &by_hand.err), "%s",
                  by_hand.err.text);
    if (cases[index].attention)
        ck_assert(!mechanism_set_attention(&mechanism, cases[index].attention, &by_hand.err));
    if (cases[index].without)
        ck_assert(!mechanism_set_without(&mechanism, cases[index].without, &by_hand.err));
    ck_assert_msg(!viewer_set_mechanism(&viewer, &mechanism, &by_hand.err), "%s", by_hand.err.text);
    edits = (struct edit_list){.config = &viewer.model.config, .arena = &by_hand.arena};
    if (cases[index].edit) {
        ck_assert(!edit_list_add(&edits, EDIT_WORDS, cases[index].edit, &by_hand.err));
        viewer.edits = &edits.edits;
    }
    ck_assert_msg(!viewer_read(&viewer, &pair, &sentence, cases[index].source ? &source : NULL,
                               &by_hand.arena, &by_hand.err),
                  "%s", by_hand.err.text);
}

/* All queries of a head, as the program writes them. */
static void explain(enum site_part part, size_t layer, size_t head, size_t queries)
{
    static const struct explain_page page = {.columns = 80};
    struct explain_request request = {
        .part = part, .layer = layer, .head = head, .query_count = queries};
    struct explanation *items = arena_alloc(&by_hand.arena, queries, sizeof *items, &by_hand.err);
    struct explanations all = {items, queries, true};
    struct stream out = {0};
    request.digits = 2;
    ck_assert_msg(!explanation_make(items, &viewer, &pair, &request, &by_hand.arena, &by_hand.err),
                  "%s", by_hand.err.text);
    memory_stream_open(&out);
    ck_assert(!explain_json_write(&out, &all, &page, &by_hand.err));
    struct file file = memory_stream_take(&out);
    ck_assert_msg(!json_parse(&root, file.bytes, file.size, &by_hand.err), "%s", by_hand.err.text);
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
    for (size_t i = 0; i < layers * config->n_head; i += one_of(5)) {
        size_t query = 0;
        explain(part, i / config->n_head, i % config->n_head, queries);
        by_hand.given = json_member(root, "given");
        ck_assert_ptr_nonnull(by_hand.given);
        for (const struct json *one = json_first(json_member(root, "explanations")); one;
             one = json_next(one)) {
            by_hand.steps = json_member(one, "steps");
            follow(query++, i % config->n_head, of_source);
        }
        ck_assert_uint_eq(query, queries);
        json_free(root);
    }
    arena_release(&by_hand.arena);
    viewer_release(&viewer);
}

TEST_LOOP(memory_that_is_not_there_is_said, COUNT(cases))
{
    struct explain_request request = {.query = 1, .query_count = 1, .digits = 4};
    if (!cases[_i].starves)
        return;
    open_case(_i);
    request.layer = viewer.model.config.n_layer - 1;
    fixture_starve_explanation(&viewer, &pair, &request);
    arena_release(&by_hand.arena);
    viewer_release(&viewer);
}
