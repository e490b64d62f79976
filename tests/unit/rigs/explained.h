/* explained.h: a model, a text of it, and the steps of an explanation; and the formulas of steps,
 * computed in double from the numbers that the steps show.
 *
 *     FIXTURE(explained_prepare, explained_release)
 *     ...
 *     explained_open("tests/references/golden-families/gemma2");
 *     explained_query(1, 0, 2);
 *     ck_assert_str_eq(step_formula("capped", 0), "capped_j = 4.0000 × tanh(scaled_j / 4.0000)");
 *     ck_assert_uint_ge(explained_check_formulas(), 60);
 */
#pragma once

#include "lens/viewer.h"
#include "tiny_model.h"

struct explained {
    struct tiny_model made; /* if the model is made of a config */
    struct viewer viewer;
    struct text_with_source pair;
    struct report report;
    struct arena arena;
    struct err err;
    int digits; /* of numbers in texts, 4 */
    size_t key; /* of worked lines, 0 */
};

extern struct explained explained;

void explained_prepare(void);
void explained_release(void);

/* Open a folder, or a model in memory of the config "{…}" with random weights, and read the ids 3,
 * 1, 4, 1, 5, and 6, 2, 2 of a source if it has one. */
void explained_open(const char *model);

/* Change how it attends, and explain a query. */
void explained_set(struct mechanism mechanism);
void explained_query(size_t layer, size_t head, size_t query);

/* The first step, or the last, of a name; NULL: there is none. The other functions expect a step,
 * the last of its name. */
const struct table *first_step(const char *name);
const struct table *last_step(const char *name);

const char *step_formula(const char *step, size_t index);
const char *step_worked(const char *step); /* "": none */
const char *step_note(const char *step);

/* A column's numbers, and the total below them; a row of a step that has a row for each vector, and
 * an operand: NULL if there is none. */
const float *step_column(const char *step, const char *column);
const float *step_total(const char *step, const char *column);
const float *step_row(const char *step, const char *label);
const float *step_operand(const char *step, const char *name);

/* Compute each worked line and each formula of the report, but for those with products of vectors,
 * sums over keys, or dots in place of terms. Both sides of each = must agree. Returns how many = of
 * formulas and lines were computed. */
size_t explained_check_formulas(void);
size_t explained_check_lines(void);
