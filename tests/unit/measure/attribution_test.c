#include "measure/attribution.h"

#include <math.h>

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
