#include "measure/attribution.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/instruments_golden.h"
#include "lens/edits.h"
#include "model/points.h"
#include "pass/tap.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct text_with_source pair;
static struct attribution attribution;
static struct report report;
static struct question question;

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
    question = (struct question){pair.text.count - 1, -1, -1};
}

static void ask(enum attribution_by by)
{
    const struct attribution_plan plan = {&viewer, by, &question, 0};
    report = (struct report){.text = pair.text, .source = pair.source};
    int failed = attribution_make(&attribution, &report, &plan, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

/* --- against float64 -------------------------------------------------------------------------- */

static void expect(const struct instruments_golden *golden)
{
    for (size_t i = 0; i < report.array_count; i++) {
        const struct array *array = &report.arrays[i];
        char name[SITE_NAME_BYTES];
        instruments_expect(golden, array_name(name, array), array->data, array_cells(array), 1e-5);
    }
}

TEST_LOOP(parts_agree_with_the_reference, INSTRUMENTS_ALL)
{
    struct instruments_golden golden;
    instruments_open(&golden, _i);
    open(golden.path, golden.ids.bytes);
    const float *answer = instruments_find(&golden, "answer", 2);
    question.against = (long long)answer[1];
    bool mixes = viewer.model.config.mixture.experts;
    for (enum attribution_by by = BY_PART; by <= BY_EXPERT; by++) {
        if (by == (mixes ? BY_NEURON : BY_EXPERT) ||
            (by == BY_NEURON && !site_exists(&viewer.model.config, SITE_MLP_ACT)))
            continue;
        ask(by);
        ck_assert_int_eq(question.answer, (long long)answer[0]);
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

/* The rotary embedding of some families depends on the length of the whole text; encoders attend to
 * all of it. */
TEST_LOOP(an_earlier_position_is_that_of_the_whole_text, 6)
{
    static const char *const by_length[] = {"tests/references/golden-families/phi3-longrope",
                                            "tests/references/golden-families/llama-rope-dynamic",
                                            "tests/references/golden-families/bert",
                                            "tests/references/golden-families/camembert",
                                            "tests/references/golden-families/modernbert",
                                            "tests/references/golden-families/esm"};
    struct selection selection = {.sites = SITE_SET(SITE_LOGITS)};
    double logit = 0;
    open(by_length[_i], "1,5,9,3,7,2,8,4");
    struct text whole = {.ids = pair.text.ids, .count = pair.text.count};
    struct text_list one = {&whole, 1, 0, NULL};
    question.position = 3;
    question.answer = 6;
    ask(BY_PART);
    int failed = viewer_run(&viewer, &selection, &one,
                            (struct tap){.sink = keep_logit, .context = &logit}, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert(fabs(attribution.logit - logit) < 1e-5);
    ck_assert(fabs(attribution.sum - logit) < 1e-5);
}

TEST(the_second_text_of_a_pair_has_the_embedding_of_its_segment)
{
    static const unsigned char segments[] = {0, 0, 1, 1};
    open("tests/references/golden-families/bert", "1,5,9,3");
    pair.text.segments = segments;
    ask(BY_PART);
    ck_assert(fabs(attribution.logit - attribution.sum) < 1e-5);
}

/* --- under edits ------------------------------------------------------------------------------ */

static double logit_of_pass(void)
{
    struct selection selection = {.sites = SITE_SET(SITE_LOGITS)};
    struct text whole = {.ids = pair.text.ids,
                         .count = pair.text.count,
                         .source_ids = pair.source.count ? pair.source.ids : NULL,
                         .source_count = pair.source.count};
    struct text_list one = {&whole, 1, 0, NULL};
    double logit = 0;
    int failed = viewer_run(&viewer, &selection, &one,
                            (struct tap){.sink = keep_logit, .context = &logit}, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return logit;
}

/* Edits of every site from the embedding to the logits; some families lack some of them. */
static const char *const edits_of_sites[] = {
    "embedding[channel=2] = 3",
    "resid_pre * 2",
    "resid_mid[channel=1-3] = 0.25",
    "resid_post[layer=0] * 1.5",
    "ln_1[channel=0] = 1",
    "ln_1_post * 0.5",
    "ln_2[channel=1] = 0.5",
    "ln_2_post[channel=0] = 2",
    "ln_f[channel=1] = 0.5",
    "transform[channel=1] = 0.5",
    "attn_out * 0.5",
    "mlp_out[layer=-1] = 0.125",
    "mlp_act[token=-1] = 0.1",
    "shared_out * 2",
    "per_layer_act[channel=1] = 0.5",
    "per_layer_out * 2",
    "per_layer_post[channel=2] = 0.25",
    "resid_mlp[channel=0] = 0.5",
    "context[head=1] = 0.5",
    "weights[key=0] = 1",
    "v * 2",
    "gate[channel=0] = 1",
    "gated[channel=1] = 0.5",
    "mix_context[head=1] = 0.5",
    "mix_gated[channel=1] = 0.5",
    "mix_gate * 2",
    "mix_v * 2",
    "mix_k[token=1] * 0.5",
    "mix_out[channel=0] = 1",
    "attn_out[channel=0] = 1; attn_out * 3; h.0.resid_post[channel=0] = 1",
};

/* Copies of the stream: what mixes them is fixed, in an edited run, too. */
TEST_LOOP(parts_sum_to_the_logit_with_copies_of_the_stream, 14)
{
    static const char *const folders[] = {"tests/references/golden-families/gemma3n_text",
                                          "tests/references/golden-families/gemma3n"};
    static const char *const edits[] = {"h.1.streams[copy=1] * 2", "h.1.predicted[copy=0] = 0.5",
                                        "h.0.corrected * 3",       "h.1.ln_1[channel=0] = 1",
                                        "h.1.laurel_out * 2",      "h.0.resid_pre * 2"};
    const size_t edit = (size_t)_i / COUNT(folders);
    open(folders[(size_t)_i % COUNT(folders)], "1 2 3 4 5");
    struct edit_list list = {.config = &viewer.model.config, .arena = &arena};
    struct err why = {0};
    if (edit > 0)
        ck_assert_msg(!edit_list_add(&list, EDIT_WORDS, edits[edit - 1], &why), "%s", why.text);
    viewer.edits = edit > 0 ? &list.edits : NULL;
    question.answer = 4;
    ask(BY_PART);
    const double off = fabs(attribution.logit - attribution.sum);
    ck_assert_msg(off <= 1e-6 * fmax(1, fabs(attribution.logit)), "%d: %.9g, parts %.9g", _i,
                  attribution.logit, attribution.sum);
}

TEST_LOOP(parts_sum_to_the_logit_of_an_edited_run, INSTRUMENTS_ALL)
{
    struct instruments_golden golden;
    size_t checked = 0;
    instruments_open(&golden, _i);
    open(golden.path, golden.ids.bytes);
    question.answer = 4;
    for (size_t i = 0; i < COUNT(edits_of_sites); i++) {
        struct edit_list list = {.config = &viewer.model.config, .arena = &arena};
        struct err why = {0};
        viewer.edits = NULL;
        if (edit_list_add(&list, EDIT_WORDS, edits_of_sites[i], &why))
            continue;
        ask(BY_PART);
        double before = attribution.logit;
        viewer.edits = &list.edits;
        ask(BY_PART);
        double off = fabs(attribution.logit - attribution.sum);
        ck_assert_msg(off <= 1e-5 * fmax(1, fabs(attribution.logit)), "%s %s: %.9g, parts %.9g",
                      golden.path, edits_of_sites[i], attribution.logit, attribution.sum);
        if (viewer.model.config.logit_cap == 0)
            ck_assert(fabs(attribution.logit - logit_of_pass()) < 1e-5);
        checked += attribution.logit != before;
    }
    ck_assert_uint_ge(checked, 8);
    instruments_release(&golden);
}

/* The cells of a head, of all layers and keys, of a tensor by source. */
static double sum_of(const char *tensor)
{
    double sum = 0;
    for (size_t i = 0; i < report.array_count; i++)
        for (size_t k = 0; k < array_cells(&report.arrays[i]); k++)
            sum +=
                strcmp(report.arrays[i].name, tensor) == 0 ? (double)report.arrays[i].data[k] : 0;
    return sum;
}

/* Both kinds of attention, and edits of the sites of both and of the encoder. */
TEST_LOOP(parts_of_a_decoder_with_a_source_sum_to_the_logit, 12)
{
    static const char *const models[] = {
        "golden/transformer-paper", "golden/transformer-post",         "golden/transformer-pre",
        "golden-families/t5",       "golden-families/t5-gated-untied", "golden-families/umt5",
        "golden-families/bart",     "golden-families/bart-base-model", "golden-families/mbart",
        "golden-families/marian",   "golden-families/pegasus",         "golden-families/m2m_100"};
    static const char *const edits[] = {NULL,
                                        "cross_context[head=0] * 0.5",
                                        "cross_out[channel=1] = 2",
                                        "cross_weights[key=0] = 1",
                                        "resid_cross[layer=0] * 1.5",
                                        "ln_cross[channel=0] = 1",
                                        "resid_post[layer=0] * 1.5",
                                        "enc.0.mlp_out = 0"};
    const struct input source = {.ids = "7,6,5,2"};
    char path[64];
    snprintf(path, sizeof path, "tests/references/%s", models[_i]);
    open(path, "1,5,3");
    ck_assert(!viewer_read(&viewer, &pair, &(struct input){.ids = "1,5,3"}, &source, &arena, &err));
    size_t heads = viewer.model.config.n_head;
    for (size_t i = 0; i < COUNT(edits); i++) {
        struct edit_list list = {.config = &viewer.model.config, .arena = &arena};
        if (edits[i] && edit_list_add(&list, EDIT_WORDS, edits[i], &(struct err){0}))
            continue;
        viewer.edits = edits[i] ? &list.edits : NULL;
        question = (struct question){2, 4, -1};
        ask(BY_PART);
        double bound = 1e-5 * fmax(1, fabs(attribution.logit)), sums[2] = {0};
        ck_assert_msg(fabs(attribution.logit - attribution.sum) <= bound, "%s %s", path, edits[i]);
        ck_assert(fabs(attribution.logit - logit_of_pass()) <= bound);
        size_t columns = report.arrays->columns.size;
        for (size_t k = 0; k < array_cells(report.arrays); k++)
            if (k % columns < 2 * heads)
                sums[k % columns >= heads] += (double)report.arrays->data[k];
        ask(BY_KEY);
        if (edits[i] && strstr(edits[i], "context"))
            continue; /* what it adds comes from no token */
        ck_assert(fabs(sums[0] - sum_of("attribution_by_source")) <= bound);
        ck_assert(fabs(sums[1] - sum_of("cross_attribution_by_source")) <= bound);
    }
}

TEST(an_ablated_head_adds_nothing_and_reads_from_no_token)
{
    struct edit_list list = {.config = &viewer.model.config, .arena = &arena};
    open("tiny", "5,9,3,7,2,8,4");
    ck_assert(!edit_list_add(&list, EDIT_ABLATION, "1.2", &err));
    viewer.edits = &list.edits;
    ask(BY_PART);
    const struct array *parts = report.arrays;
    ck_assert_float_eq(parts->data[2 * parts->columns.size + 2], 0);
    ask(BY_KEY);
    const struct array *sources = report.arrays + 1;
    for (size_t key = 0; key < sources->columns.size; key++)
        ck_assert_float_eq(sources->data[2 * sources->columns.size + key], 0);
}
