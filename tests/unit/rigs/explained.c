#include "explained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "explain/explanation.h"
#include "math/activation.h"
#include "reference_model.h"

struct explained explained;

void explained_prepare(void)
{
    explained = (struct explained){.digits = 4};
}

void explained_release(void)
{
    viewer_release(&explained.viewer);
    tiny_model_release(&explained.made);
    arena_release(&explained.arena);
}

void explained_open(const char *model)
{
    struct explained *e = &explained;
    const struct input input = {.ids = "3,1,4,1,5"}, source = {.ids = "6,2,2"};
    bool failed;
    if (*model == '{') {
        tiny_model_make(&e->made, model);
        failed = viewer_open_folder(&e->viewer, &e->made.folder, 1, &e->err);
    } else {
        failed = viewer_open(&e->viewer, model, 1, &e->err);
    }
    ck_assert_msg(!failed, "%s: %s", model, e->err.text);
    failed = viewer_read(&e->viewer, &e->pair, &input,
                         e->viewer.model.config.cross ? &source : NULL, &e->arena, &e->err);
    ck_assert_msg(!failed, "%s: %s", model, e->err.text);
}

void explained_set(struct mechanism mechanism)
{
    ck_assert_msg(!viewer_set_mechanism(&explained.viewer, &mechanism, &explained.err), "%s",
                  explained.err.text);
}

void explained_query(size_t layer, size_t head, size_t query)
{
    struct explained *e = &explained;
    const struct explain_request request = {.query_count = 1,
                                            .layer = layer,
                                            .head = head,
                                            .query = query,
                                            .key = e->key,
                                            .digits = e->digits};
    ck_assert_msg(!explanation_make(&e->report, &e->viewer, &e->pair, &request, &e->arena, &e->err),
                  "%s", e->err.text);
}

/* --- parts of steps --------------------------------------------------------------------------- */

const struct table *first_step(const char *name)
{
    for (size_t i = 0; i < explained.report.table_count; i++)
        if (strcmp(explained.report.tables[i].name, name) == 0)
            return &explained.report.tables[i];
    return NULL;
}

const struct table *last_step(const char *name)
{
    for (size_t i = explained.report.table_count; i-- > 0;)
        if (strcmp(explained.report.tables[i].name, name) == 0)
            return &explained.report.tables[i];
    return NULL;
}

static const struct table *step_called(const char *name)
{
    const struct table *step = last_step(name);
    ck_assert_msg(step != NULL, "no step '%s'", name);
    return step;
}

const char *step_formula(const char *step, size_t index)
{
    const struct working *working = &step_called(step)->working;
    ck_assert_msg(index < working->formula_count, "no formula %zu in '%s'", index, step);
    return working->formulas[index];
}

const char *step_worked(const char *step)
{
    const char *worked = step_called(step)->working.worked;
    return worked ? worked : "";
}

const char *step_note(const char *step)
{
    const char *note = step_called(step)->note;
    return note ? note : "";
}

static const struct column *column_of(const struct table *step, const char *name)
{
    const struct column *column = table_column(step, name);
    ck_assert_msg(column != NULL, "no column '%s' in '%s'", name, step->name);
    return column;
}

const float *step_column(const char *step, const char *column)
{
    return column_of(step_called(step), column)->values;
}

const float *step_total(const char *step, const char *column)
{
    const float *total = column_of(step_called(step), column)->total;
    ck_assert_msg(total != NULL, "no total of '%s' in '%s'", column, step);
    return total;
}

static const float *row_of(const struct table *step, const char *label)
{
    for (size_t i = 0; step->count && i < step->rows.size && step->columns->width > 0; i++)
        if (step->rows.labels && strcmp(step->rows.labels[i].plain, label) == 0)
            return column_vector(step->columns, i);
    return NULL;
}

const float *step_row(const char *step, const char *label)
{
    return row_of(step_called(step), label);
}

const float *step_operand(const char *step, const char *name)
{
    const struct working *working = &step_called(step)->working;
    for (size_t i = 0; i < working->operand_count; i++)
        if (strcmp(working->operands[i].name, name) == 0)
            return column_of(&working->operands[i], name)->values;
    return NULL;
}

/* --- formulas --------------------------------------------------------------------------------- */

/* A formula that is read, and where its names are: element `index` of the rows and columns of a
 * step. */
struct reader {
    const char *at;
    const struct table *step;
    size_t index;
};

static bool read_sum(struct reader *reader, double *value);

static bool accept(struct reader *reader, const char *text)
{
    while (*reader->at == ' ')
        reader->at++;
    bool found = strncmp(reader->at, text, strlen(text)) == 0;
    reader->at += found ? strlen(text) : 0;
    return found;
}

/* Read a name, up to a blank, a bracket or an operator; "mean(x²)" is one. */
static bool read_name(struct reader *reader, char name[48])
{
    static const char *const ends[] = {" ", "(", ")", ",", "×", "⊙", "·", "√"};
    const char *from = reader->at;
    for (bool ended = false; *reader->at && !ended; reader->at += !ended)
        for (size_t i = 0; i < sizeof ends / sizeof *ends && !ended; i++)
            ended = strncmp(reader->at, ends[i], strlen(ends[i])) == 0;
    size_t size = (size_t)(reader->at - from);
    if (size == strlen("mean") && strncmp(from, "mean(", 5) == 0 && strchr(from, ')')) {
        reader->at = strchr(from, ')') + 1;
        size = (size_t)(reader->at - from);
    }
    if (!size || size >= 48)
        return false;
    snprintf(name, 48, "%.*s", (int)size, from);
    return true;
}

/* The number of a name: of a row, a column of numbers, the index of the key, or one that the worked
 * line gives: "ε = 0.03". */
static bool look_up(const struct reader *reader, const char *name, double *value)
{
    const struct table *step = reader->step;
    char given[64], stem[48];
    if (!step)
        return false;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "["), name); /* wte[3] */
    const float *row = row_of(step, stem);
    if (row)
        *value = (double)row[reader->index];
    if (row)
        return true;
    for (size_t i = 0; i < step->count && step->working.of_keys; i++) {
        const struct column *column = &step->columns[i];
        if (!column->width && strcmp(column->title, name) == 0) {
            *value = (double)((const float *)column->values)[reader->index];
            return true;
        }
    }
    *value = (double)reader->index;
    if (step->working.of_keys && strcmp(name, "j") == 0)
        return true;
    snprintf(given, sizeof given, "%s = ", name);
    const char *at = step->working.worked ? strstr(step->working.worked, given) : NULL;
    *value = at ? strtod(at + strlen(given), NULL) : 0;
    return at != NULL;
}

/* Apply a function: an activation, max or min. */
static bool read_call(struct reader *reader, const char *name, double *value)
{
    enum activation activation;
    double other = 0;
    bool greatest = strcmp(name, "max") == 0, least = strcmp(name, "min") == 0;
    if (!read_sum(reader, value))
        return false;
    if (greatest || least) {
        if (!accept(reader, ",") || !read_sum(reader, &other))
            return false;
        *value = greatest ? fmax(*value, other) : fmin(*value, other);
    } else if (strcmp(name, "e^") == 0) {
        *value = exp(*value);
    } else if (activation_find(name, &activation)) {
        *value = activation == ACTIVATION_RELU2 ? pow(fmax(*value, 0), 2)
                                                : reference_activation(activation, *value);
    } else {
        return false;
    }
    return accept(reader, ")");
}

static bool read_factor(struct reader *reader, double *value)
{
    char name[48], *end;
    if (accept(reader, "("))
        return read_sum(reader, value) && accept(reader, ")");
    bool negative = accept(reader, "-"), root = accept(reader, "√");
    accept(reader, ""); /* skips blanks */
    *value = strtod(reader->at, &end);
    if (*reader->at >= '0' && *reader->at <= '9')
        reader->at = end;
    else if (root || negative ? !read_factor(reader, value)
                              : !(read_name(reader, name) &&
                                  (accept(reader, "(") ? read_call(reader, name, value)
                                                       : look_up(reader, name, value))))
        return false;
    *value = (root ? sqrt(*value) : *value) * (negative ? -1 : 1);
    return true;
}

static bool read_product(struct reader *reader, double *value)
{
    double other = 0;
    if (!read_factor(reader, value))
        return false;
    for (;;) {
        bool divides = accept(reader, "/");
        if (!divides && !accept(reader, "×") && !accept(reader, "⊙"))
            return true;
        if (!read_factor(reader, &other))
            return false;
        *value = divides ? *value / other : *value * other;
    }
}

static bool read_sum(struct reader *reader, double *value)
{
    double other = 0;
    if (!read_product(reader, value))
        return false;
    for (;;) {
        bool minus = accept(reader, "- ");
        if (!minus && !accept(reader, "+"))
            return true;
        if (!read_product(reader, &other))
            return false;
        *value += minus ? -other : other;
    }
}

/* Compute the sides of a line "a = b = c" that can be computed; all must agree. Returns how many
 * agree with an earlier one. */
static size_t check_sides(const char *line, const struct table *step, size_t index)
{
    char sides[512];
    size_t found = 0;
    double first = 0;
    ck_assert_uint_lt(strlen(line), sizeof sides);
    strcpy(sides, line);
    for (char *side = sides, *next; side; side = next) {
        double value = 0;
        next = strstr(side, " = ");
        if (next)
            *next = '\0', next += strlen(" = ");
        struct reader reader = {side, step, index};
        if (!read_sum(&reader, &value) || *reader.at || isinf(value))
            continue;
        ck_assert_msg(!found || fabs(value - first) <= 3e-5 * fmax(1, fabs(first)),
                      "%s [%zu]: %.9g is not %.9g", line, index, first, value);
        first = found++ ? first : value;
    }
    return found ? found - 1 : 0;
}

size_t explained_check_lines(void)
{
    size_t found = 0;
    for (size_t i = 0; i < explained.report.table_count; i++) {
        const char *worked = explained.report.tables[i].working.worked;
        if (worked && !strstr(worked, "ε = "))
            found += check_sides(worked, NULL, 0);
    }
    return found;
}

size_t explained_check_formulas(void)
{
    size_t found = 0;
    for (size_t i = 0; i < explained.report.table_count; i++) {
        const struct table *step = &explained.report.tables[i];
        size_t width = step->working.of_keys ? step->rows.size
                       : step->count         ? step->columns->width
                                             : 0;
        for (size_t f = 0; f < step->working.formula_count; f++)
            for (size_t k = 0; k < width; k++)
                found += check_sides(step->working.formulas[f], step, k);
    }
    return found;
}
