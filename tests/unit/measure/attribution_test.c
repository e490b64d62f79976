#include "measure/attribution.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/instruments_golden.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_pair pair;
static struct attribution attribution;
static struct attribution_question question;

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static void open(const char *model, const char *ids)
{
    struct input input = {.ids = ids};
    ck_assert_msg(!viewer_open(&viewer, model, 1, &err), "%s", err.text);
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, NULL, &arena, &err), "%s", err.text);
    question = (struct attribution_question){
        .position = pair.sentence.count - 1, .answer = -1, .against = -1};
}

static void ask(enum attribution_by by)
{
    question.by = by;
    int failed = attribution_make(&attribution, &viewer, &pair, &question, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

/* --- against float64 -------------------------------------------------------------------------- */

static void expect(const struct instruments_golden *golden)
{
    const struct report *report = &attribution.report;
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        char name[SITE_NAME_BYTES];
        instruments_expect(golden, kept_name(name, kept), kept->data, kept_cells(kept), 1e-5);
    }
}

TEST_LOOP(parts_are_those_of_the_reference, INSTRUMENTS_FAMILIES)
{
    struct instruments_golden golden;
    instruments_open(&golden, _i);
    open(golden.path, golden.ids.bytes);
    const float *answer = instruments_find(&golden, "answer", 2);
    question.against = (long long)answer[1];
    for (enum attribution_by by = BY_PART; by <= BY_NEURON; by++) {
        ask(by);
        ck_assert_uint_eq(attribution.answer, (uint32_t)answer[0]);
        ck_assert(fabs(attribution.logit - attribution.sum) <= 3e-6 * fabs(attribution.logit));
        expect(&golden);
    }
    instruments_release(&golden);
}

/* --- identities ------------------------------------------------------------------------------- */

static double sum_of(const struct kept *kept, size_t first, size_t count)
{
    double sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum += (double)kept->data[i];
    return sum;
}

static const char text[] = "0,5,9,3,7,2";

static const char *const models[] = {"tiny", "tests/golden-families/llama",
                                     "tests/golden-families/gpt_neox"};

TEST_LOOP(cells_sum_to_the_logit, COUNT(models))
{
    open(models[_i], text);
    ask(BY_PART);
    const struct kept *kept = &attribution.report.tensors[0];
    ck_assert(fabs(sum_of(kept, 0, kept_cells(kept)) - attribution.logit) < 1e-5);
    ck_assert(attribution.sum != attribution.logit); /* the remainder is told as it is */
}

TEST_LOOP(sources_sum_to_heads_and_neurons_to_the_mlp, COUNT(models))
{
    open(models[_i], text);
    ask(BY_PART);
    const struct config *c = &viewer.model.config;
    const struct kept parts = attribution.report.tensors[0];
    ask(BY_SOURCE);
    for (size_t i = 0; i < c->n_layer * c->n_head; i++) {
        size_t layer = i / c->n_head;
        size_t head = i % c->n_head;
        double expected = (double)parts.data[(layer + 1) * parts.shape[1] + head];
        ck_assert(fabs(sum_of(&attribution.report.tensors[layer], 6 * head, 6) - expected) < 1e-5);
    }
    ask(BY_NEURON);
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        double expected = (double)parts.data[(layer + 1) * parts.shape[1] + c->n_head];
        double found = sum_of(attribution.report.tensors, layer * c->n_inner, c->n_inner);
        ck_assert(fabs(found - expected) < 1e-5);
    }
}

/* Of the answer less the other is what each has, part by part. */
TEST_LOOP(a_difference_is_one_of_parts, COUNT(models))
{
    open(models[_i], text);
    question.answer = 4;
    ask(BY_PART);
    const struct kept one = attribution.report.tensors[0];
    double logit = attribution.logit;
    question.answer = 9;
    ask(BY_PART);
    const struct kept other = attribution.report.tensors[0];
    logit -= attribution.logit;
    question.answer = 4;
    question.against = 9;
    ask(BY_PART);
    ck_assert(fabs(attribution.logit - logit) < 1e-9);
    for (size_t i = 0; i < kept_cells(&one); i++)
        ck_assert(fabs((double)attribution.report.tensors[0].data[i] - (double)one.data[i] +
                       (double)other.data[i]) < 1e-5);
}

/* What comes after a position says nothing there. */
TEST_LOOP(a_position_is_the_end_of_a_shorter_text, COUNT(models))
{
    open(models[_i], text);
    question.position = 2;
    ask(BY_PART);
    const struct kept early = attribution.report.tensors[0];
    struct input input = {.ids = "0,5,9"};
    ck_assert(!viewer_read(&viewer, &pair, &input, NULL, &arena, &err));
    ask(BY_PART);
    ck_assert(memcmp(early.data, attribution.report.tensors[0].data,
                     kept_cells(&early) * sizeof(float)) == 0);
    ck_assert_uint_eq(attribution.report.sentence.count, 3);
}

static int keep_logit(void *context, const struct announcement *seen, struct err *e)
{
    struct tensor row = tensor_slice(&seen->values, question.position);
    (void)e;
    *(double *)context = (double)((const float *)row.data)[question.answer];
    return 0;
}

/* But how long the text is may say by how much its tokens turn. */
TEST_LOOP(a_position_turns_as_the_whole_text_does, 2)
{
    static const char *const by_length[] = {"tests/golden-families/phi3-longrope",
                                            "tests/golden-families/llama-rope-dynamic"};
    struct selection selection = {.sites = site_bit(SITE_LOGITS)};
    double logit = 0;
    open(by_length[_i], "1,5,9,3,7,2,8,4");
    struct text whole = {.ids = pair.sentence.ids, .count = pair.sentence.count};
    struct text_list one = {&whole, 1, 0, NULL};
    question.position = 3;
    question.answer = 6;
    ask(BY_PART);
    int failed = viewer_run(&viewer, &selection, &one,
                            (struct tap){.sink = keep_logit, .context = &logit}, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert(fabs(attribution.logit - logit) < 1e-5);
}
