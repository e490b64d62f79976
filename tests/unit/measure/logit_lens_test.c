#include "measure/logit_lens.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "lens/continuation.h"
#include "measure/token_scores.h"
#include "pass/forward.h"
#include "model/layer.h"

static const char *const models[] = {
    "tiny", "tests/references/golden-families/llama", "tests/references/golden-families/gpt_neox",
    "tests/references/golden-families/gemma2", "tests/references/golden-families/opt-350m-style"};

static const char ids[] = "1,9,2,2,12,4,11";

static struct viewer viewer;
static struct lens_plan plan;
static struct arena arena;
static struct text_with_source pair;

static void open_model(const char *model)
{
    struct err err = {0};
    struct input input = {.ids = ids};
    int failed = viewer_open(&viewer, model, 1, &err) ||
                 viewer_read(&viewer, &pair, &input, NULL, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void close_model(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

static struct report asked(enum site site, const char *layers)
{
    struct err err = {0};
    struct report report;
    struct selection selection = {.sites = SITE_SET(site)};
    struct capture_request at = {&selection, &pair, 1, 0, &report};
    int failed = selection_layers(&selection, layers, &viewer.model.config, &arena, &err) ||
                 viewer_capture(&viewer, &at, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return report;
}

static struct logit_lens see(void)
{
    struct err err = {0};
    struct logit_lens lens;
    struct selection all = {0};
    const struct config *config = &viewer.model.config;
    plan = (struct lens_plan){.viewer = &viewer, .best_count = 2, .target = -1, .against = -1};
    int failed = lens_find_site(&plan.site, NULL, config, &err);
    all.sites = SITE_SET(plan.site);
    failed = failed || selection_layers(&all, NULL, config, &arena, &err);
    plan.layers = all.layers;
    ck_assert_msg(!failed && !lens_capture(&lens, &plan, &pair, &arena, &err), "%s", err.text);
    return lens;
}

/* forward_logits() of captured rows of the stream, compared with the logits of the pass. */
TEST_LOOP(logits_of_captured_rows_have_the_bits_of_the_pass, COUNT(models))
{
    open_model(models[_i]);
    struct err err = {0};
    const struct config *config = &viewer.model.config;
    size_t words = config->vocab_size;
    struct report logits = asked(SITE_LOGITS, NULL);
    struct report stream =
        asked(layer_of(config, BRANCH_TEXT, 0)->sublayers->norm_after ? SITE_LN_2 : SITE_RESID_POST,
              "-1");
    const struct array *kept = stream.arrays;
    struct run run = {
        .machine = &viewer.machine, .config = config, .weights = &viewer.model.weights};
    for (size_t rows = 1; rows <= 7; rows += 3) {
        float *made = arena_alloc(&arena, rows * words, sizeof *made, NULL);
        struct matrix from = {(float *)kept->data, rows, config->n_embd, config->n_embd};
        struct matrix to = {made, rows, words, words};
        ck_assert_msg(forward_logits(&run, to, from, false, &arena, &err) == 0, "%s", err.text);
        ck_assert_mem_eq(made, logits.arrays->data, rows * words * sizeof *made);
    }
    close_model();
}

TEST_LOOP(the_last_layer_has_the_predictions_of_the_model, COUNT(models))
{
    open_model(models[_i]);
    struct logit_lens lens = see();
    struct capture_request at = {.pairs = &pair, .count = 1};
    struct scoring scoring = {.viewer = &viewer, .best_count = 2};
    struct scored scored;
    ck_assert_int_eq(scoring_run(&scored, &scoring, &at, &arena, NULL), 0);
    const struct lens_cell *last = lens.cells + (plan.layers.count - 1) * lens.tokens;
    for (size_t i = 0; i + 1 < lens.tokens; i++) {
        const struct token_score *next = &scored.tokens[i + 1];
        ck_assert_mem_eq(&last[i].target, &next->logprob, sizeof next->logprob);
        ck_assert_mem_eq(&last[i].entropy, &next->entropy, sizeof next->entropy);
        ck_assert_mem_eq(last[i].best, next->best, 2 * sizeof *next->best);
        ck_assert_uint_eq(last[i].rank, next->rank);
        ck_assert_float_eq(last[i].kl, 0);
    }
    ck_assert(isnan(last[lens.tokens - 1].target) && last[lens.tokens - 1].rank == 0);
    close_model();
}

static const char *const masked[] = {
    "cloze",
    "tests/references/golden-families/bert",
    "tests/references/golden-families/albert",
    "tests/references/golden-families/electra",
    "tests/references/golden-families/roberta",
    "tests/references/golden-families/distilbert",
    "tests/references/golden-families/mpnet",
    "tests/references/golden-families/modernbert",
};

/* Their heads have dense layers; embeddings of albert and electra are narrower than the stream. */
TEST_LOOP(the_last_layer_of_a_masked_model_has_its_logits, COUNT(masked))
{
    enum { MASK = 3, AGAINST = 5, BEST = 4 };
    open_model(masked[_i]);
    viewer.mask = MASK;
    uint32_t *own = (uint32_t *)pair.text.ids;
    own[MASK] = MASK;
    struct report report = asked(SITE_LOGITS, NULL);
    const float *logits = report.arrays->data;
    size_t words = viewer.model.config.vocab_size, layers = viewer.model.config.n_layer;
    struct logit_lens lens = see();
    const struct lens_cell *last = lens.cells + (layers - 1) * lens.tokens;
    for (size_t i = 0; i < lens.tokens; i++) {
        struct likely best[BEST] = {0};
        double sum = logsumexp_entropy(&(double){0}, logits + i * words, words);
        topk(best, BEST, logits + i * words, words, sum);
        ck_assert_mem_eq(last[i].best, best, 2 * sizeof *best);
        ck_assert(isnan(last[i].target) == (i == MASK));
        if (i != MASK)
            ck_assert_float_eq(last[i].target, (float)((double)logits[i * words + own[i]] - sum));
    }
    plan.target = MASK;
    plan.against = AGAINST;
    plan.of_one = true;
    plan.position = MASK;
    ck_assert_int_eq(lens_capture(&lens, &plan, &pair, &arena, NULL), 0);
    logits += MASK * words;
    ck_assert_uint_eq(lens.tokens, 1);
    ck_assert_float_eq(lens.cells[layers - 1].target,
                       (float)((double)logits[MASK] - (double)logits[AGAINST]));
    close_model();
}

TEST(tables_and_tensors_of_a_report_have_the_same_numbers)
{
    open_model("tiny");
    struct logit_lens lens = see();
    struct report report = {.text = pair.text};
    struct err err = {0};
    unsigned numbers = 1u << LENS_BEST | 1u << LENS_RANK;
    ck_assert_int_eq(lens_report(&report, &lens, numbers, viewer.tokenizer, &arena, &err), 0);
    const struct table *table = &report.tables[0];
    const struct table *best = &report.tables[1];
    ck_assert_uint_eq(table->rows.size, plan.layers.count * lens.tokens);
    ck_assert_uint_eq(best->rows.size, 2 * table->rows.size);
    ck_assert_ptr_null(table_column(table, "kl")); /* not selected */
    ck_assert_uint_eq(report.array_count, 2);
    const float *probabilities = report.arrays[0].data;
    const float *ranks = report.arrays[1].data;
    for (size_t i = 0; i < table->rows.size; i++) {
        ck_assert_int_eq(table_key(table, "layer", i), (int)(i / lens.tokens));
        ck_assert_int_eq(table_key(table, "position", i), (int)(i % lens.tokens));
        ck_assert_float_eq(probabilities[i],
                           (float)column_number(table_column(table, "probability"), i));
        int rank = table_key(table, "rank", i);
        ck_assert(rank < 0 ? isnan(ranks[i]) : ranks[i] == (float)rank);
        ck_assert_int_eq(table_key(best, "id", 2 * i), (int)lens.cells[i].best->id);
        ck_assert_int_eq(table_key(best, "position", 2 * i + 1), (int)(i % lens.tokens));
    }
    close_model();
}
