#include "measure/gradients.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/golden_models.h"
#include "../rigs/goldens.h"
#include "../unit.h"
#include "format/json.h"
#include "model/points.h"
#include "lens/edits.h"
#include "lens/selection.h"

/* Gradients in float64, tests/references/golden-gradients.json: for each a model, its texts, the
 * token and the position of a logit, and for each site two indices with their numbers, the larger
 * one first. The last one is of PyTorch. */
enum { GOLDENS = 44 };

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct json *root;
static struct text_with_source pair;
static struct selection selection;
static struct report report;

static void enter(void)
{
    root = goldens_open("tests/references/golden-gradients.json");
    selection = (struct selection){0};
    report = (struct report){0};
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
    json_free(root);
    root = NULL;
}

FIXTURE(enter, leave)

/* Make the gradients of all sites. */
static void make(struct gradient_plan *plan)
{
    int failed = selection_sites(&selection, "all", &viewer.model.config, &err) ||
                 selection_layers(&selection, NULL, &viewer.model.config, &arena, &err) ||
                 selection_heads(&selection, NULL, &viewer.model.config, &arena, &err) ||
                 gradients_make(&report, plan, &pair, &arena, &err);
    ck_assert_msg(!failed, "%s: %s", viewer.model.name, err.text);
}

static const struct array *array_of(const char *site)
{
    char name[SITE_NAME_BYTES];
    for (size_t i = 0; i < report.array_count; i++) {
        array_name(name, &report.arrays[i]);
        if (strcmp(name + strlen("gradient."), site) == 0)
            return &report.arrays[i];
    }
    return NULL;
}

TEST_LOOP(gradients_are_those_of_float64, GOLDENS)
{
    const struct json *golden = golden_at(root, _i);
    struct gradient_plan plan = {&viewer, &selection, golden_question(golden), 0, 0};
    golden_open(&viewer, golden);
    golden_read(&pair, &viewer, golden, &arena);
    make(&plan);
    const struct json *site = json_first(json_member(golden, "sites"));
    for (; site; site = json_next(site)) {
        const struct array *array = array_of(json_key(site));
        ck_assert_msg(array != NULL, "no gradient.%s", json_key(site));
        golden_expect_two(site, array->data, 1e-7);
    }
}

/* The logit of a question after an edit of a site. */
static double logit_after(const struct gradient_plan *plan, const char *words)
{
    struct edit_list list = {.config = &viewer.model.config, .arena = &arena};
    struct selection logits = {.sites = SITE_SET(SITE_LOGITS)};
    struct report after = {0};
    struct question question = plan->question;
    const struct capture_request asked = {&logits, &pair, 1, 0, &after, NULL};
    ck_assert_msg(!edit_list_add(&list, EDIT_WORDS, words, &err) &&
                      !edits_check(&list.edits, &viewer.model.config, &err),
                  "%s", err.text);
    viewer.edits = &list.edits;
    int failed = viewer_capture(&viewer, &asked, &arena, &err);
    viewer.edits = NULL;
    ck_assert_msg(!failed, "%s", err.text);
    const size_t words_count = viewer.model.config.vocab_size;
    return question_ask(&question, after.arrays->data + question.position * words_count,
                        words_count);
}

/* What an edit of a number changes, a little in both directions, is its gradient. */
TEST(a_gradient_is_what_a_small_edit_changes)
{
    static const char *const sites[] = {"h.0.resid_pre", "h.0.q", "h.0.v", "h.1.context",
                                        "h.1.mlp_act"};
    const double step = 2e-3;
    const struct input text = {.text = "lemon cherry apple lemon", .size = 24};
    struct gradient_plan plan = {&viewer, &selection, {9, 262, -1}, 0};
    ck_assert(!viewer_open(&viewer, "tiny", 1, &err) &&
              !viewer_read(&viewer, &pair, &text, NULL, &arena, &err));
    make(&plan);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct array *array = array_of(sites[i]);
        const size_t columns = array->columns.size, size = array->rows.size * columns;
        size_t most = 0;
        char words[2][128];
        for (size_t k = 1; k < array_matrix_count(array) * size; k++)
            most = fabsf(array->data[k]) > fabsf(array->data[most]) ? k : most;
        for (int side = 0; side < 2; side++) {
            char head[32] = "";
            if (array->heads.name)
                snprintf(head, sizeof head, "head=%zu,", most / size);
            snprintf(words[side], sizeof *words, "%s[%stoken=%zu,channel=%zu] + %g", sites[i], head,
                     most % size / columns, most % columns, side ? -step : step);
        }
        double found = (double)array->data[most];
        double expected =
            (logit_after(&plan, words[0]) - logit_after(&plan, words[1])) / (2 * step);
        ck_assert_msg(fabs(found - expected) <= 0.02 * fabs(expected), "%s: expected %g, found %g",
                      sites[i], expected, found);
    }
}

TEST(what_has_no_gradient_is_refused)
{
    const struct input text = {.text = "Life is short", .size = 13};
    struct gradient_plan plan = {&viewer, &selection, {1, 3, -1}, 0};
    struct edit_list list = {.arena = &arena};
    selection.sites = SITE_SET(SITE_CONTEXT);
    ck_assert(!viewer_open(&viewer, "tiny", 1, &err));
    list.config = &viewer.model.config;
    ck_assert(!viewer_read(&viewer, &pair, &text, NULL, &arena, &err));
    ck_assert(!edit_list_add(&list, EDIT_WORDS, "q * 2", &err));
    viewer.edits = &list.edits;
    ck_assert_int_eq(gradients_make(&report, &plan, &pair, &arena, &err), -1);
    ck_assert_msg(strstr(err.text, "expected a run without edits"), "%s", err.text);
    viewer.edits = NULL;
    err = (struct err){0};
    struct model_point *point = (struct model_point *)point_any(list.config, SITE_CONTEXT);
    point->gradient = false; /* as those of a site that the walk does not reach */
    selection.layers = (struct layers){&(const size_t){0}, 1};
    ck_assert_int_eq(gradients_make(&report, &plan, &pair, &arena, &err), -1);
    ck_assert_msg(strstr(err.text, "'context', which is only shown"), "%s", err.text);
    err = (struct err){0};
    ck_assert(!selection_sites(&selection, "all", list.config, &err)); /* leaves it out */
    ck_assert_msg(!gradients_make(&report, &plan, &pair, &arena, &err), "%s", err.text);
    err = (struct err){0};
    const struct mechanism linear = {.kind = ATTENTION_LINEAR};
    ck_assert(!viewer_set_mechanism(&viewer, &linear, &err));
    ck_assert_int_eq(gradients_make(&report, &plan, &pair, &arena, &err), -1);
    ck_assert_msg(strstr(err.text, "expected attention as the model has it"), "%s", err.text);
}

/* --- every model ------------------------------------------------------------------------------ */

static int note_site(void *context, const struct announcement *announced, struct err *e)
{
    (void)e;
    site_set_add(context, announced->site);
    return 0;
}

/* The walk back reaches each site of a model that has a gradient; others are refused by name. */
TEST_LOOP(each_site_with_a_gradient_is_reached, golden_models()->gl_pathc)
{
    char path[GOLDEN_PATH_BYTES];
    struct site_set reached = {{0}};
    struct question question = {2, -1, -1};
    ck_assert_msg(!viewer_open(&viewer, golden_model(path, (size_t)_i), 1, &err), "%s", err.text);
    golden_ids(&pair, &viewer, "1,2,3", &arena);
    const struct config *c = &viewer.model.config;
    const struct text text = viewer_text(&pair);
    struct gradient_walk walk = {.viewer = &viewer,
                                 .text = &text,
                                 .question = &question,
                                 .selection = &selection,
                                 .sink = note_site,
                                 .context = &reached,
                                 .arena = &arena};
    for (const struct model_point *p = points_of(c); p < points_end(c); p++) {
        if (p->gradient) {
            site_set_add(&selection.sites, p->site);
            continue;
        }
        struct selection one = {.sites = SITE_SET(p->site)};
        walk.selection = &one;
        ck_assert(!selection_layers(&one, NULL, c, &arena, &err));
        ck_assert(gradient_walk(&walk, &err) && err.kind == ERR_UNSUPPORTED);
        err_clear(&err);
    }
    walk.selection = &selection;
    ck_assert(!selection_layers(&selection, NULL, c, &arena, &err));
    if (gradient_walk(&walk, &err)) {
        ck_assert_msg(err.kind == ERR_UNSUPPORTED, "%s", err.text);
        return;
    }
    for (const struct model_point *p = points_of(c); p < points_end(c); p++)
        ck_assert_msg(site_set_has(reached, p->site) == p->gradient, "%s: %s is not reached", path,
                      site_name(p->site));
}
