#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"
#include "../rigs/tiny_model.h"
#include "../unit.h"
#include "draw/page.h"
#include "format/json.h"
#include "model/layer.h"
#include "model/points.h"

/* --- a page's JSON ---------------------------------------------------------------------------- */

static struct config config;
static struct err err;
static struct report report;
static struct page_facts facts;
static char written[1 << 16]; /* the JSON without white space outside of texts */

static void prepare(void)
{
    static const uint32_t ids[] = {0, 1, 0};
    config = (struct config){0};
    err = (struct err){0};
    report = fixture_plain;
    report.text.ids = ids;
    facts = (struct page_facts){.config = &config, .text = &report.text, .mask = -1};
}

static void release(void)
{
    config_release(&config);
}

FIXTURE(prepare, release)

/* Read the config of a golden model, or a text. */
static void describe(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/references/golden-families/%s", name);
    const struct folder folder = {.path = path};
    config_release(&config);
    config = (struct config){0};
    int failed = *name == '{' ? config_parse(&config, name, strlen(name), &err)
                              : config_open(&config, &folder, &err);
    ck_assert_msg(!failed && !config_describe(&config, &err), "%s: %s", name, err.text);
}

static void compact(char *to, const char *from, size_t size)
{
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (from[i] == '"' && (i == 0 || from[i - 1] != '\\'))
            quoted = !quoted;
        if (quoted || !strchr(" \n", from[i]))
            *to++ = from[i];
    }
    *to = '\0';
}

static void take(struct stream *out)
{
    struct file file = memory_stream_take(out);
    struct json *root = NULL;
    ck_assert_uint_lt(file.size, sizeof written);
    ck_assert_msg(!json_parse(&root, file.bytes, file.size, &err), "%s", err.text);
    json_free(root);
    compact(written, file.bytes, file.size);
    file_release(&file);
}

static void write_page(bool exact)
{
    struct stream out = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(page_text_put(&out, &report, exact, config.family ? &facts : NULL, &err), 0);
    take(&out);
}

/* The value at a path, "tensors.0.shape"; an empty span: there is none. */
static struct json_span value_at(const char *path)
{
    struct json_cursor cursor;
    char parts[64];
    snprintf(parts, sizeof parts, "%s", path);
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, written, strlen(written), &err), 0);
    for (char *part = strtok(parts, "."); part; part = strtok(NULL, ".")) {
        bool is_list = json_cursor_kind(&cursor) == '[', found = false;
        size_t index = 0;
        json_cursor_enter(&cursor);
        while (!found && json_cursor_next(&cursor)) {
            found = is_list ? index++ == strtoul(part, NULL, 10)
                            : json_span_is(json_cursor_name(&cursor), part);
            if (!found)
                json_cursor_value(&cursor);
        }
        if (!found)
            return (struct json_span){0};
    }
    return json_cursor_value(&cursor);
}

/* Expect a value, as JSON; NULL: no such member. */
static void expect(const char *path, const char *json)
{
    char expected[2048] = "";
    const struct json_span found = value_at(path);
    compact(expected, json ? json : "", json ? strlen(json) : 0);
    ck_assert_msg(found.size == strlen(expected) && memcmp(found.bytes, expected, found.size) == 0,
                  "%s: expected %s, found %.*s", path, expected, (int)found.size, found.bytes);
}

static void expect_number(const char *path, double number)
{
    const struct json_span found = value_at(path);
    ck_assert_msg(found.size > 0, "no '%s'", path);
    double value = strtod(found.bytes, NULL);
    ck_assert_msg(fabs(value - number) <= 1e-6 * fabs(number), "%s: expected %g, found %g", path,
                  number, value);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static unsigned digit(char letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(letters, letter);
    ck_assert(letter && at);
    return (unsigned)(at - letters);
}

/* Decode the short numbers of a tensor as page.h describes them. */
static size_t decode_short(double *numbers, const char *tensor)
{
    char path[32];
    snprintf(path, sizeof path, "%s.values", tensor);
    const struct json_span text = value_at(path);
    snprintf(path, sizeof path, "%s.signed", tensor);
    bool is_signed = *value_at(path).bytes == 't';
    snprintf(path, sizeof path, "%s.most", tensor);
    double most = strtod(value_at(path).bytes, NULL);
    for (size_t i = 0; i < text.size / 2 - 1; i++) {
        const char *pair = text.bytes + 1 + 2 * i; /* after the quote */
        unsigned code = 64 * digit(pair[0]) + digit(pair[1]), level = code - 2;
        double highest = (is_signed ? 2048 : 4096) - 3, powers = is_signed ? 5 : 6;
        double share = (is_signed ? level / 2 : level) / highest;
        bool negative = is_signed && level % 2;
        numbers[i] = code == 0   ? 0
                     : code == 1 ? (double)-INFINITY
                                 : (negative ? -1 : 1) * most * pow(10, powers * (share - 1));
    }
    return text.size / 2 - 1;
}

/* Decode base64 by RFC 4648; returns the number of floats. */
static size_t decode_exact(float *numbers, const char *path)
{
    unsigned char bytes[512];
    const struct json_span text = value_at(path);
    size_t size = 0;
    for (const char *at = text.bytes + 1; *at != '"'; at += 4) {
        uint32_t bits = digit(at[0]) << 18 | digit(at[1]) << 12;
        bits |= at[2] == '=' ? 0 : digit(at[2]) << 6;
        bits |= at[3] == '=' ? 0 : digit(at[3]);
        size_t count = at[2] == '=' ? 1 : at[3] == '=' ? 2 : 3;
        ck_assert_uint_lt(size + 3, sizeof bytes);
        for (size_t i = 0; i < count; i++)
            bytes[size++] = (unsigned char)(bits >> (16 - 8 * i));
    }
    ck_assert_uint_eq(size % sizeof *numbers, 0);
    memcpy(numbers, bytes, size);
    return size / sizeof *numbers;
}

static struct array matrix_of(const float *values, size_t rows, size_t columns)
{
    return (struct array){.name = "computed",
                          .layer = -1,
                          .rows = {.name = "row", .size = rows, .labels = report.numbers},
                          .columns = {.name = "column", .size = columns, .labels = report.numbers},
                          .data = values};
}

/* A level is half a step from a number at most: the share of a step is (10^powers)^(1/highest). */
TEST_LOOP(short_numbers_are_near, 2)
{
    bool has_sign = _i == 1;
    float values[8 * 8];
    double decoded[64];
    double powers = has_sign ? 5 : 6, most = 7.25, step = powers / (has_sign ? 2045 : 4093);
    for (size_t i = 0; i < COUNT(values); i++) /* from the largest to beyond the least */
        values[i] = (float)(most * pow(10, -(powers + 0.5) * (double)i / 63)) *
                    (has_sign && i % 3 == 1 ? -1 : 1);
    const struct array array = matrix_of(values, 8, 8);
    report.arrays = &array;
    write_page(false);
    expect("tensors.0.coding", "\"short\"");
    expect("tensors.0.signed", has_sign ? "true" : "false");
    expect("tensors.0.most", "7.25");
    ck_assert_uint_eq(decode_short(decoded, "tensors.0"), 64);
    ck_assert_double_eq(decoded[0], most);
    for (size_t i = 0; i < COUNT(values); i++) {
        double value = values[i], apart = fabs(log10(decoded[i] / value));
        if (fabs(value) > most * pow(10, -powers - step / 2))
            ck_assert_msg(decoded[i] * value > 0 && apart <= step / 2 + 1e-6, "%g as %g", value,
                          decoded[i]);
        else
            ck_assert_double_eq(decoded[i], 0);
    }
}

/* A number of each visible cell; hidden ones after the query are left out, others are NaN. */
TEST(cells_that_a_mask_hides_are_left_out_or_not_a_number)
{
    static const float visible[] = {1, 0, 0, 0, 1, 0, 1, 1, 1};
    struct array array = *fixture_plain.arrays;
    float numbers[9];
    double decoded[9];
    report.arrays = &array;
    ck_assert_uint_eq(page_count_numbers(&report), 6);
    array.visible = visible;
    ck_assert_uint_eq(page_count_numbers(&report), 6);
    write_page(true);
    expect("tensors.0.hides", "true");
    expect("tensors.0.causal", "true");
    ck_assert_uint_eq(decode_exact(numbers, "tensors.0.values"), 6);
    static const float expected[] = {1, NAN, 0.75f, 0.1f, 0.2f, 0.7f};
    for (size_t i = 0; i < 6; i++)
        ck_assert(isnan(expected[i]) ? isnan(numbers[i]) : numbers[i] == expected[i]);
    write_page(false);
    ck_assert_uint_eq(decode_short(decoded, "tensors.0"), 6);
    ck_assert(isinf(decoded[1]) && decoded[0] == 1);
    report.causal = false;
    array.visible = NULL;
    ck_assert_uint_eq(page_count_numbers(&report), 9);
    write_page(true);
    expect("tensors.0.hides", NULL);
    ck_assert_uint_eq(decode_exact(numbers, "tensors.0.values"), 9);
    ck_assert_mem_eq(numbers, array.data, sizeof numbers);
}

/* The last column is that of the sink, which no query hides. */
TEST(a_sink_follows_the_visible_keys)
{
    static const size_t keys[] = {0, 1, 2, SIZE_MAX};
    static const struct label labels[] = {
        {"Life", "", ""}, {"is", "", ""}, {"Life", "", ""}, {"sink", "", ""}};
    static const float weights[] = {1, 0, 0, 9, 2, 3, 0, 8, 4, 5, 6, 7};
    static const float expected[] = {1, 9, 2, 3, 8, 4, 5, 6, 7};
    struct array array = *fixture_plain.arrays;
    float numbers[12];
    array.columns = (struct axis){.size = 4, .numbers = keys, .labels = labels};
    array.data = weights;
    report.arrays = &array;
    ck_assert_uint_eq(page_count_numbers(&report), 9);
    write_page(true);
    expect("tensors.0.shape", "[1, 3, 4]");
    expect("tensors.0.column_labels", "\"with_sink\"");
    expect("tensors.0.row_labels", "\"sentence\"");
    expect("labels.with_sink", JSON([ "Life", "is", "Life", "sink" ]));
    ck_assert_uint_eq(decode_exact(numbers, "tensors.0.values"), 9);
    ck_assert_mem_eq(numbers, expected, sizeof expected);
}

TEST(means_are_of_layers_heads_or_heads_of_keys)
{
    static const struct {
        int layer;
        bool heads; /* they are listed */
        size_t shared_by;
        const char *mean;
    } cases[] = {
        {0, true, 0, "\"\""},
        {-1, true, 0, "\"mean of layers\""},
        {0, false, 0, "\"mean of heads\""},
        {-1, false, 0, "\"mean of layers · mean of heads\""},
        {0, false, 2, "\"mean of kv_heads\""},
        {0, true, 2, "\"\""},
    };
    struct array array = *fixture_plain.arrays;
    report.arrays = &array;
    for (size_t i = 0; i < COUNT(cases); i++) {
        array.layer = cases[i].layer;
        array.shared_by = cases[i].shared_by;
        array.heads.name = cases[i].heads ? "head" : NULL;
        write_page(true);
        expect("tensors.0.mean_of", cases[i].mean);
        expect("tensors.0.layer", cases[i].layer < 0 ? "null" : "0");
        expect("tensors.0.heads", cases[i].heads && !cases[i].shared_by ? "[0]" : "null");
        expect("tensors.0.kv_heads", cases[i].heads && cases[i].shared_by ? "[0]" : NULL);
    }
}

/* --- labels ----------------------------------------------------------------------------------- */

TEST(labels_are_those_that_axes_show)
{
    static const struct label words[] = {{"Life is", "", ""}, {"Life", "", ""}};
    static const struct label vocabulary[] = {{"a", "", ""}, {"b", "", ""}, {"c", "", ""}};
    static const struct word_span spans[] = {{0, 2}, {2, 1}};
    const struct array logits = {.site = SITE_LOGITS,
                                 .layer = -1,
                                 .rows.size = 3,
                                 .columns.size = 3,
                                 .data = fixture_plain.arrays->data};
    write_page(true);
    expect("labels", JSON({"sentence" : [ "Life", "is", "Life" ]}));
    expect("second", NULL);
    report.first_shown = 1;
    report.text.second = 2;
    write_page(true);
    expect("labels", JSON({"sentence" : [ "is", "Life" ]}));
    expect("second", "1"); /* of those that are shown */
    report.first_shown = 0;
    report.text.second = 0;
    report.text.words = spans;
    report.text.word_labels = words;
    report.text.word_count = 2;
    report.array_count = 0;
    write_page(true);
    expect("labels", JSON({"sentence" : [ "Life is", "Life" ]}));
    report = fixture_plain;
    report.words = vocabulary;
    report.arrays = &logits;
    write_page(true);
    expect("labels", JSON({"sentence" : [ "Life", "is", "Life" ], "words" : [ "a", "b", "c" ]}));
    expect("tensors.0.column_labels", "\"words\"");
    expect("tensors.0.row_labels", "\"sentence\"");
}

TEST(a_title_is_the_text_or_its_ids)
{
    report = fixture_cross;
    write_page(true);
    expect("model", "\"models/cross\"");
    expect("title", "\"ids 3,11\"");
    expect("source", "\"Life is Life\"");
    expect("run", NULL); /* without facts */
    report = fixture_plain;
    write_page(true);
    expect("title", "\"Life is Life\"");
    expect("source", NULL);
}

/* --- facts of a text -------------------------------------------------------------------------- */

TEST(a_command_gets_the_text_unless_it_is_of_ids)
{
    describe("llama");
    report.text.added_after = 1;
    write_page(true);
    expect("text", "\"Life is Life\"");
    expect("ids", NULL);
    expect("tokens", "[3, 0]");
    expect("added_after", "[1, 0]");
    expect("opens", "1"); /* before what was added */
    expect("masks", NULL);
    expect("splits", NULL);
    expect("untrained", NULL);
    expect("files", NULL);
    facts.by_ids = true;
    facts.source = &fixture_cross.source;
    facts.untrained = true;
    facts.weights = "a.csv";
    facts.run = "edited";
    facts.command = (const char *const[]){"--mask-after", "--edit"};
    facts.command_count = 2;
    facts.explained_bytes = 1234;
    write_page(true);
    expect("text", NULL);
    expect("ids", "[0, 1, 0]");
    expect("tokens", "[3, 3]");
    expect("untrained", "true");
    expect("files", JSON([ "--weights", "a.csv" ]));
    expect("run", "\"edited\"");
    expect("command", JSON([ "--mask-after", "--edit" ]));
    expect("explained_bytes", "1234");
    facts.tokens = "b.txt";
    write_page(true);
    expect("files", JSON([ "--weights", "a.csv", "--tokens", "b.txt" ]));
}

/* Where the model answers: in place of masks, at the first token, at the last, or at each. */
TEST(a_page_opens_where_the_model_answers)
{
    static const struct {
        const char *config;
        long long mask;
        size_t classes;
        enum class_answer answers;
        const char *opens, *masks;
    } cases[] = {
        {"bert", 1, 0, ANSWER_OF_FIRST, "1", "[1]"},
        {"bert", 0, 0, ANSWER_OF_FIRST, "2", "[0, 2]"},
        {"bert", 7, 0, ANSWER_OF_FIRST, "2", "[]"},
        {"bert", -1, 3, ANSWER_OF_FIRST, "0", "[0]"},
        {"llama", -1, 3, ANSWER_OF_LAST, "2", "[2]"},
        {"bert", -1, 3, ANSWER_OF_EACH, "2", "[0, 1, 2]"},
        {"bert", 0, 3, ANSWER_OF_FIRST, "0", "[0]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        describe(cases[i].config);
        config.n_class = cases[i].classes;
        config.answers = cases[i].answers;
        facts.mask = cases[i].mask;
        write_page(true);
        expect("opens", cases[i].opens);
        expect("masks", cases[i].masks);
        expect("classes", cases[i].classes ? "true" : NULL);
    }
}

TEST(tokens_inside_characters_are_told_unless_axes_have_words)
{
    static const struct word_span spans[] = {{0, 3}};
    static const struct token_bytes bytes[] = {{"a", 1}, {"\xC3", 1}, {"\xA9", 1}};
    describe("llama");
    report.text.bytes = bytes;
    write_page(true);
    expect("splits", "2"); /* the first that does not begin a character */
    report.text.words = spans;
    report.text.word_labels = fixture_plain.text.labels;
    report.text.word_count = 1;
    report.array_count = 0;
    write_page(true);
    expect("splits", NULL);
}

/* --- facts of a model ------------------------------------------------------------------------- */

/* How scores become weights, as config.json of each model says. */
static const struct {
    const char *config, *alibi;
    const char *queries_of_a_key; /* by layer */
    const char *encoder;
    double scale, cap; /* of the first attention */
} attentions[] = {
    {"llama", "\"\"", "[2, 2]", "{\"layers\": 0, \"heads\": 4}", 0.5, 0},
    {"gemma2", "\"\"", "[2, 2]", "{\"layers\": 0, \"heads\": 4}", 0.36514837, 4},
    {"granite", "\"\"", "[2, 2]", "{\"layers\": 0, \"heads\": 4}", 0.2, 0},
    {"bloom", "\"bloom\"", "[1, 1]", "{\"layers\": 0, \"heads\": 6}", 0.70710678, 0},
    {"falcon-rw-alibi", "\"falcon\"", "[1, 1]", "{\"layers\": 0, \"heads\": 6}", 0.70710678, 0},
    {"mpt", "\"mpt\"", "[1, 1]", "{\"layers\": 0, \"heads\": 6}", 0.4, 0},
    {"bert-alibi", "\"jina\"", "[1, 1]", "{\"layers\": 0, \"heads\": 2}", 0.70710678, 0},
    {"deberta-v2", "\"table\"", "[1, 1]", "{\"layers\": 0, \"heads\": 3}", 0.28867513, 0},
    {"t5", "\"table\"", "[1, 1]", "{\"layers\": 2, \"heads\": 3}", 1, 0},
    {"bart", "\"\"", "[1, 1]", "{\"layers\": 2, \"heads\": 4}", 0.5, 0},
};

TEST_LOOP(a_page_tells_how_scores_become_weights, COUNT(attentions))
{
    describe(attentions[_i].config);
    write_page(true);
    expect("attention.linear", "false");
    expect("attention.renormalise", "false");
    expect("attention.differs", NULL);
    expect("attention.alibi", attentions[_i].alibi);
    expect("attention.queries_of_a_key", attentions[_i].queries_of_a_key);
    expect("attention.encoder", attentions[_i].encoder);
    expect_number("attention.scales.weights.0", attentions[_i].scale);
    expect_number("attention.cap", attentions[_i].cap);
    expect_number("attention.layers", 2);
    expect_number("attention.heads", (double)config.n_head);
    bool slopes = config.score_bias != NO_BIAS && config.score_bias < BIAS_BUCKETS;
    if (slopes) /* of two heads 1/16 first, of six 1/4 */
        expect_number("attention.slopes.0", config.n_head == 2 ? 0.0625 : 0.25);
    else
        expect_number("attention.slopes.0", 0);
}

/* Layers with a mixer have no scale, and its heads share keys in numbers of their own. */
TEST(a_mixer_is_told_apart_from_attention)
{
    static const struct {
        const char *config, *mixer, *scales;
    } cases[] = {
        {"olmo_hybrid", JSON({"rule" : "delta", "channels" : false, "heads_of_a_key" : 1}),
         "[0, 0.5, 0]"},
        {"qwen3_5_text", JSON({"rule" : "delta", "channels" : false, "heads_of_a_key" : 2}),
         "[0, 0, 0.35355338]"},
        {"mamba", JSON({"rule" : "add", "channels" : true, "heads_of_a_key" : 8}), NULL},
        {"lfm2", JSON({"rule" : "convolve", "channels" : true, "heads_of_a_key" : 1}),
         "[0, 0.5, 0]"},
        {"llama", NULL, "[0.5, 0.5]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        describe(cases[i].config);
        write_page(true);
        expect("mixer", cases[i].mixer);
        expect("attention.scales.weights", cases[i].scales);
    }
    describe("olmo_hybrid");
    write_page(true);
    expect("attention.queries_of_a_key", "[2, 2, 2]");
}

TEST(options_of_attention_are_told)
{
    describe("llama");
    config.mechanism = (struct mechanism){.renormalise = true, .temperature = 2};
    ck_assert_int_eq(config_describe(&config, &err), 0);
    write_page(true);
    expect("attention.renormalise", "true");
    expect_number("attention.scales.weights.0", 0.25); /* the temperature divides it */
    config.mechanism = (struct mechanism){.kind = ATTENTION_LINEAR};
    ck_assert_int_eq(config_describe(&config, &err), 0);
    write_page(true);
    expect("attention.linear", "true");
    describe("gemma2"); /* after the cap, a temperature is a step of its own */
    config.mechanism = (struct mechanism){.temperature = 2};
    ck_assert_int_eq(config_describe(&config, &err), 0);
    write_page(true);
    expect_number("attention.temperature", 2);
    describe("diffllama");
    write_page(true);
    expect("attention.differs", "true");
}

/* Whether the list of sites has one name before another; each is followed by its layers. */
static bool is_before(const char *first, const char *second)
{
    const struct json_span sites = value_at("sites");
    char quoted[2][40];
    snprintf(quoted[0], sizeof quoted[0], "\"%s\",", first);
    snprintf(quoted[1], sizeof quoted[1], "\"%s\",", second);
    const char *a = memmem(sites.bytes, sites.size, quoted[0], strlen(quoted[0]));
    const char *b = memmem(sites.bytes, sites.size, quoted[1], strlen(quoted[1]));
    ck_assert_msg(a && b, "%s, %s: %.*s", first, second, (int)sites.size, sites.bytes);
    return a < b;
}

TEST(sites_are_in_the_order_of_the_pass)
{
    describe("llama"); /* norms before sublayers */
    write_page(true);
    ck_assert(is_before("resid_pre", "ln_1") && is_before("ln_1", "q"));
    ck_assert(is_before("resid_mid", "ln_2") && is_before("ln_2", "mlp_act"));
    ck_assert(is_before("resid_post", "ln_f") && is_before("ln_f", "logits"));
    ck_assert_ptr_nonnull(strstr(written, "\"weights\",2,"));
    ck_assert_ptr_nonnull(strstr(written, "\"logits\",0"));
    ck_assert_ptr_null(strstr(written, "\"softmax\""));
    describe("bert"); /* norms of sums */
    write_page(true);
    ck_assert(is_before("attn_out", "resid_mid") && is_before("resid_mid", "ln_1"));
    ck_assert(is_before("ln_1", "mlp_act") && is_before("resid_post", "ln_2"));
    describe("bart");
    write_page(true);
    ck_assert(is_before("enc.weights", "cross_weights") && is_before("weights", "cross_weights"));
    ck_assert(is_before("enc.resid_mid", "enc.ln_1"));
}

/* What a layer adds to the stream. */
/* clang-format off */
static const struct {
    const char *config, *path, *block;
} blocks[] = {
    {"llama", "blocks.1",
     JSON([{"kind": "attention", "adds": "attn_out", "factor": 1, "rotates": true,
            "sums": ["resid_mid"]},
           {"kind": "MLP", "adds": "mlp_out", "factor": 1, "rotates": false,
            "sums": ["resid_post"]}])},
    {"bert", "blocks.0",
     JSON([{"kind": "attention", "adds": "attn_out", "factor": 1, "rotates": false,
            "sums": ["resid_mid", "ln_1"]},
           {"kind": "MLP", "adds": "mlp_out", "factor": 1, "rotates": false,
            "sums": ["ln_2"]}])}, /* which is also resid_post */
    {"gemma2", "blocks.0.0.adds", "\"ln_1_post\""},
    {"gemma2", "blocks.0.1.adds", "\"ln_2_post\""},
    {"granite", "blocks.0.0.factor", "0.3"},
    {"bart", "blocks.0.1.kind", "\"cross-attention\""},
    {"bart", "blocks.0.1.adds", "\"cross_out\""},
    {"bart", "blocks.0.2.kind", "\"MLP\""},
    {"olmo_hybrid", "blocks.0.0.kind", "\"mixer\""},
    {"olmo_hybrid", "blocks.1.0.kind", "\"attention\""},
    {"gemma3n_text", "blocks.0.1.kind", "\"low-rank branch\""},
    {"gemma4", "blocks.0.2.kind", "\"layer input\""},
    {"gemma4", "blocks.0.3", NULL},
};
/* clang-format on */

TEST_LOOP(blocks_are_what_a_layer_adds_to_the_stream, COUNT(blocks))
{
    describe(blocks[_i].config);
    write_page(true);
    expect(blocks[_i].path, blocks[_i].block);
}

static bool has_site(struct site_set set, const char *name, size_t size)
{
    for (enum site site = site_first(set); site != SITE_END; site = site_after(set, site))
        if (strlen(site_name(site)) == size && memcmp(site_name(site), name, size) == 0)
            return true;
    return false;
}

/* The page looks for the tensors that blocks name. */
TEST_LOOP(stream_sites_are_those_of_blocks, COUNT(blocks))
{
    describe(blocks[_i].config);
    write_page(true);
    const struct site_set set = page_stream_sites(&config);
    for (size_t layer = 0; layer < config.n_layer; layer++) {
        for (size_t i = 0; i < SUBLAYERS_MAX; i++) {
            static const char *const fields[] = {"adds", "sums.0", "sums.1"};
            for (size_t field = 0; field < COUNT(fields); field++) {
                char path[64];
                snprintf(path, sizeof path, "blocks.%zu.%zu.%s", layer, i, fields[field]);
                const struct json_span name = value_at(path);
                if (name.size) /* in quotes */
                    ck_assert_msg(has_site(set, name.bytes + 1, name.size - 2), "%s: %.*s", path,
                                  (int)name.size, name.bytes);
            }
        }
    }
    for (enum site site = site_first(set); site != SITE_END; site = site_after(set, site))
        ck_assert(site_exists(&config, site));
}

TEST(explained_sites_are_those_of_heads)
{
    static const struct {
        const char *config, *with, *without;
    } cases[] = {
        {"llama", "q_pre k_pre q k v scores masked weights context", "softmax difference ln_1"},
        {"bert", "q k v scores masked weights context", "q_pre k_pre"},
        {"bart", "q enc.q cross_q enc.weights cross_weights cross_context", "q_pre"},
        {"diffllama", "weights difference", "softmax"},
        {"olmo_hybrid", "mix_q mix_k mix_step mix_decay mix_map weights", "mix_v"},
        {"lfm2", "weights", "mix_map mix_q"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        describe(cases[i].config);
        const struct site_set set = page_explained_sites(&config);
        for (int with = 0; with < 2; with++) {
            char names[128];
            strcpy(names, with ? cases[i].with : cases[i].without);
            for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
                ck_assert_msg(has_site(set, name, strlen(name)) == with, "%s: %s", cases[i].config,
                              name);
        }
        const struct site_set journey = page_journey_sites(&config);
        ck_assert(has_site(journey, "q", 1) && has_site(journey, "masked", 6));
        ck_assert(!has_site(journey, "weights", 7));
        ck_assert(has_site(journey, "cross_q", 7) == (strcmp(cases[i].config, "bart") == 0));
    }
}

/* q, k, v and context [T, d], scores, masked and weights [T, T] of each head. */
TEST(the_estimate_of_explained_numbers_is_near)
{
    describe("bert"); /* two layers of three heads of four channels */
    for (size_t tokens = 1; tokens <= 1000; tokens *= 10) {
        size_t count = 2 * 3 * (4 * tokens * 4 + 3 * tokens * tokens);
        size_t estimate = page_explained_numbers(&config, tokens);
        ck_assert(estimate >= count && estimate <= 2 * count);
    }
}

/* --- predictions, heads, lessons -------------------------------------------------------------- */

TEST(predictions_have_a_name_for_each_step)
{
    static const struct likely best[] = {{.id = 5, .logprob = -0.5f},
                                         {.id = 2, .logprob = -1},
                                         {.id = 2, .logprob = -0.25f},
                                         {.id = 5, .logprob = -2}};
    static const float came[] = {-3, NAN};
    static const uint32_t named[] = {5, 2};
    static const struct label names[] = {{"five", "", ""}, {"two", "", ""}};
    static const char *const steps[] = {"\"embedding\"",       "\"mixer\"", "\"attention\"",
                                        "\"cross-attention\"", "\"mlp\"",   "\"layer\""};
    struct next_of_step layers[] = {
        {STEP_EMBEDDING, 0, 2, 1, 2, best, came}, {STEP_ATTENTION, 0, 2, 0, 2, best, came},
        {STEP_ATTENTION, 1, 2, 0, 2, best, came}, {STEP_CROSS, 0, 2, 0, 2, best, came},
        {STEP_MLP, 0, 2, 0, 2, best, came},       {STEP_LAYER, 1, 2, 0, 2, best, came}};
    const struct next_tokens next = {layers, COUNT(layers), 13, named, names, 2};
    float numbers[4];
    facts.next = &next;
    describe("olmo_hybrid"); /* layer 0 has a mixer, layer 1 attention */
    write_page(true);
    for (size_t i = 0; i < COUNT(steps); i++) {
        char path[32];
        snprintf(path, sizeof path, "next.layers.%zu.step", i);
        expect(path, steps[i]);
    }
    expect("next.layers.0.first", "1");
    expect("next.layers.1.first", NULL);
    expect("next.layers.2.layer", "1");
    expect("next.layers.0.count", "2");
    expect("next.layers.0.ids", "[5, 2, 2, 5]");
    expect("next.names", JSON([ 5, "five", 2, "two" ]));
    ck_assert_uint_eq(decode_exact(numbers, "next.layers.0.logprobs"), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_float_eq(numbers[i], best[i].logprob);
    ck_assert_uint_eq(decode_exact(numbers, "next.layers.0.came"), 2);
    ck_assert(numbers[0] == -3 && isnan(numbers[1]));
}

TEST(effects_are_of_all_heads_and_keys)
{
    static const float heads[] = {0.5f, 0.25f, 1, NAN, 0, 0.125f, 2, 3}, keys[] = {1, 2, 3, 4};
    static const struct label tops[] = {{"␣is", "", ""}, {0}, {"␣are", "", ""}, {0}};
    describe("llama");
    write_page(true);
    expect("effects", NULL);
    expect("without", NULL);
    facts.without_heads = heads;
    facts.without_keys = keys;
    facts.without_top = tops;
    write_page(true);
    expect("effects", "[0.5, 0.25, 1, null, 0, 0.125, 2, 3]");
    expect("without", "[1, 2, 3]");
    expect("without_top", JSON([ "␣is", null, "␣are" ]));
}

TEST(findings_are_listed_with_what_was_measured)
{
    const struct guess are = {5, {"␣are", " are", " are"}, 0.75};
    const struct guess is = {6, {"␣is", " is", " is"}, 0.5};
    struct findings findings = {
        .items = {{FINDING_ACTS, SITE_WEIGHTS, 1, 0, 2, 1, 0.5, 1.5, 0.25, are, is, 0.625},
                  {.kind = FINDING_LOOKS, .map = SITE_WEIGHTS, .s = 1, .d = (double)NAN}},
        .count = 2,
        .row = 2,
        .says = are};
    describe("llama");
    write_page(true);
    expect("findings", NULL);
    facts.findings = &findings;
    write_page(true);
    expect("findings.0.kind", JSON("acts"));
    expect("findings.0.map", JSON("weights"));
    expect("findings.0.layer", "1");
    expect("findings.0.query", "2");
    expect("findings.0.d", "0.25");
    expect("findings.0.token", JSON("␣are"));
    expect("findings.0.without", JSON("␣is"));
    expect("findings.0.without_probability", "0.5");
    expect("findings.1.kind", JSON("looks"));
    expect("findings.1.d", NULL);
    expect("findings.1.token", NULL);
    expect("findings.1.without", NULL);
    expect("predicts.row", "2");
    expect("predicts.probability", "0.75");
    findings = (struct findings){.count = 0};
    write_page(true);
    expect("findings", "[]");
    expect("predicts", NULL);
}

TEST(scores_and_roles_of_heads_are_listed)
{
    static const struct label columns[] = {{"Previous", "", "previous"}, {"First", "", "first"}};
    static const struct label rows[] = {{"0.0", "", "L0H0"}, {"0.1", "", "L0H1"}};
    static const float values[] = {0.5f, NAN, 1, 0.25f};
    static const struct role items[] = {{"previous", "previous-token head", "previous"}};
    const struct roles roles = {0.25, 3, items, 1};
    const struct sheet scores = {.rows = {.size = 2, .labels = rows},
                                 .columns = {.size = 2, .labels = columns},
                                 .values = values};
    describe("llama");
    facts.scores = &scores;
    facts.roles = &roles;
    write_page(true);
    expect("scores", JSON({
               "names" : [ "previous", "first" ],
               "heads" : [ "0.0", "0.1" ],
               "values" : [ [ 0.5, null ], [ 1, 0.25 ] ]
           }));
    expect("roles", JSON({
               "least" : 0.25,
               "times" : 3,
               "items" :
                   [ {"score" : "previous", "name" : "previous-token head", "brief" : "previous"} ]
           }));
}

TEST(a_lesson_has_the_texts_that_a_step_has)
{
    const struct page_lesson chinese = {.title = "题目", .question = "</b>"};
    struct page_lesson lesson = {.title = "T",
                                 .point = "P",
                                 .before = "B",
                                 .line = "L",
                                 .look = "K",
                                 .marks = "M",
                                 .figures = "F",
                                 .question = "Q",
                                 .answer = "A",
                                 .walk = true,
                                 .scale = false};
    describe("llama");
    facts.lesson = &lesson;
    write_page(true);
    expect("lesson", JSON({
               "title" : "T",
               "point" : "P",
               "before" : "B",
               "line" : "L",
               "look" : "K",
               "marks" : "M",
               "figures" : "F",
               "question" : "Q",
               "answer" : "A",
               "parts" : false,
               "walk" : true,
               "scale" : false
           }));
    lesson.also = "also";
    lesson.caption = "caption";
    lesson.chinese = &chinese;
    lesson.parts = "9-12";
    lesson.channels = "cat dog";
    lesson.arithmetic = "<p>";
    lesson.scene = "softmax";
    lesson.picture = "plane+softmax";
    lesson.labels = "who? | what?";
    lesson.is_other = true;
    lesson.of = 5;
    write_page(true);
    expect("lesson.also", "\"also\"");
    expect("lesson.caption", "\"caption\"");
    expect("lesson.chinese.title", "\"题目\"");
    expect("lesson.chinese.question", "\"\\u003c/b>\""); /* safe inside of HTML */
    expect("lesson.parts", "true");
    expect("lesson.channels", "\"cat dog\"");
    expect("lesson.arithmetic", "\"\\u003cp>\"");
    expect("lesson.scene", "\"softmax\"");
    expect("lesson.picture", "\"plane+softmax\"");
    expect("lesson.labels", "\"who? | what?\"");
    expect("lesson.of", "5");
}

/* --- tensors beside those of the page --------------------------------------------------------- */

TEST(explained_tensors_are_exact_and_journeys_as_they_say)
{
    describe("llama");
    facts.explained = &fixture_layers;
    facts.streams = (struct page_journey){&fixture_plain, true, 2};
    facts.journey = (struct page_journey){&fixture_layers, false, -1};
    write_page(false);
    expect("tensors.0.coding", "\"short\"");
    expect("explained.0.coding", "\"exact\"");
    expect("explained.4.tensor", "\"weights\"");
    expect("explained.5", NULL);
    expect("streams.query", "2");
    expect("streams.tensors.0.coding", "\"exact\"");
    expect("journey.query", "-1");
    expect("journey.tensors.1.coding", "\"short\"");
    facts.streams.report = facts.journey.report = NULL;
    write_page(false);
    expect("streams", NULL);
    expect("journey", NULL);
}

static const char *const texts[] = {"a", "b"};
static const double counts[] = {0.5, 1.5};
static const struct column columns_of_rows[] = {
    {.name = "text", .kind = COLUMN_TEXT, .values = texts},
    {.name = "for people", .kind = COLUMN_TEXT, .values = texts, .flags = COLUMN_TEXT_ONLY},
    {.name = "count", .kind = COLUMN_FLOAT, .values = counts}};

/* The first table has the numbers of the sides, and one is only for people. */
TEST(an_origin_has_both_sides_and_the_paths)
{
    static const float side[] = {1, -2, 0, 4};
    const struct array sides[] = {matrix_of(side, 2, 2), matrix_of(side, 1, 2)};
    const struct table tables[] = {
        {.name = "sides", .rows.size = 2, .columns = columns_of_rows, .count = 3},
        {.name = "paths", .rows.size = 2, .columns = columns_of_rows, .count = 3},
        {.name = "people",
         .rows.size = 2,
         .columns = columns_of_rows,
         .count = 3,
         .flags = COLUMN_TEXT_ONLY}};
    const struct report parts = {.arrays = sides,
                                 .array_count = 2,
                                 .tables = tables,
                                 .table_count = 3,
                                 .numbers = report.numbers};
    const struct page_origin origin = {SITE_WEIGHTS, 1, 2, 3, 0, true, 2.5, &parts};
    struct stream out = {0};
    double decoded[4];
    memory_stream_open(&out);
    page_origin_put(&out, &origin);
    take(&out);
    expect("of", "\"weights\"");
    expect("layer", "1");
    expect("head", "2");
    expect("query", "3");
    expect("key", "0");
    expect("less_mean", "true");
    expect("score", "2.5");
    expect("columns", JSON([ "0", "1" ]));
    ck_assert_uint_eq(decode_short(decoded, "sides.0"), 4);
    ck_assert_double_eq(decoded[3], 4);
    ck_assert(decoded[2] == 0 && fabs(decoded[1] + 2) < 0.01);
    expect("sides.1.most", "2");
    expect("sides.2", NULL);
    expect("paths", JSON([ [ "a", 0.5 ], [ "b", 1.5 ] ]));
    expect("people", NULL);
    describe("llama");
    facts.origins = &origin;
    facts.origin_count = 1;
    write_page(true);
    expect("origins.0.score", "2.5");
}

TEST(features_have_facts_and_a_row_for_each)
{
    const struct table rows = {
        .name = "features", .rows.size = 2, .columns = columns_of_rows, .count = 3};
    const struct table about = {.rows.size = 1, .columns = columns_of_rows, .count = 3};
    const struct report of_dictionary = {.tables = &rows, .table_count = 1, .facts = &about};
    const struct page_features features = {"sae", &of_dictionary};
    describe("llama");
    write_page(true);
    expect("features", NULL);
    facts.features = &features;
    facts.feature_count = 1;
    write_page(true);
    expect("features.0.name", "\"sae\"");
    expect("features.0.count", "0.5");
    expect("features.0.features", JSON([ [ "a", 0.5 ], [ "b", 1.5 ] ]));
}

/* --- texts in HTML ---------------------------------------------------------------------------- */

TEST(texts_are_escaped_for_elements_and_attributes)
{
    struct stream out = {0};
    memory_stream_open(&out);
    page_put_text(&out, "a <b> & \"c\" 'd' 爱");
    struct file file = memory_stream_take(&out);
    static const char expected[] = "a &lt;b> &amp; &quot;c&quot; 'd' 爱";
    ck_assert_uint_eq(file.size, strlen(expected));
    ck_assert_mem_eq(file.bytes, expected, file.size);
    file_release(&file);
}

TEST(a_report_without_provenance_has_no_command)
{
    struct buf out = {0};
    page_add_command(&out, &report);
    ck_assert_uint_eq(out.size, 0);
}
