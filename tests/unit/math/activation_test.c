#include "math/activation.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../unit.h"

/* The formulas, without cancellation in double. */
static double gelu_new(double x)
{
    double u = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-2 * u)); /* (1 + tanh u) / 2 = 1 / (1 + e^-2u) */
}

/* As in transformers, with ten digits of √(2/π). */
static double gelu_fast(double x)
{
    double u = x * 0.7978845608 * (1 + 0.044715 * x * x);
    return x / (1 + exp(-2 * u));
}

static double gelu(double x)
{
    return x / 2 * erfc(-x / sqrt(2));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double relu2(double x)
{
    return relu(x) * relu(x);
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double quick_gelu(double x)
{
    return x / (1 + exp(-1.702 * x));
}

static const struct curve {
    const char *name;
    enum activation activation;
    double (*formula)(double x);
    double at_minus_infinity, at_infinity; /* NaN: must give NaN, so that it is reported */
} curves[] = {
    {"gelu_new", ACTIVATION_GELU_NEW, gelu_new, NAN, INFINITY},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_NEW, gelu_new, NAN, INFINITY},
    {"gelu_python_tanh", ACTIVATION_GELU_NEW, gelu_new, NAN, INFINITY},
    {"gelu_accurate", ACTIVATION_GELU_NEW, gelu_new, NAN, INFINITY},
    {"gelu_fast", ACTIVATION_GELU_NEW, gelu_fast, NAN, INFINITY},
    {"gelu_python", ACTIVATION_GELU, gelu, NAN, INFINITY},
    {"swish", ACTIVATION_SILU, silu, NAN, INFINITY},
    {"gelu", ACTIVATION_GELU, gelu, NAN, INFINITY},
    {"relu", ACTIVATION_RELU, relu, NAN, INFINITY},
    {"relu2", ACTIVATION_RELU2, relu2, NAN, INFINITY},
    {"silu", ACTIVATION_SILU, silu, NAN, INFINITY},
    {"tanh", ACTIVATION_TANH, tanh, NAN, NAN},
    {"quick_gelu", ACTIVATION_QUICK_GELU, quick_gelu, NAN, INFINITY},
};

static float activated(float x, enum activation activation)
{
    struct matrix one = {&x, 1, 1, 1};
    activate(one, one, NULL, activation);
    return x;
}

/* Rounding x to float changes e^x by |x| units and e^(x³ …) by its exponent, so results far to the
 * left of 0, where they approach 0, have a larger tolerance. */
static double tolerance_at(double x)
{
    return x < -1 ? 1e-6 * (1 - x * x * x) : 1e-6;
}

TEST(activations_agree_with_their_formulas)
{
    for (size_t i = 0; i < COUNT(curves); i++) {
        for (int step = -10000; step <= 40000; step++) {
            float x = (float)step / 1000.0f;
            double expected = curves[i].formula(x);
            double off = fabs((double)activated(x, curves[i].activation) - expected);
            if (!(off <= tolerance_at(x) * fabs(expected) + 1e-37))
                ck_abort_msg("%s(%g): expected %.9g, found %.9g", curves[i].name, x, expected,
                             activated(x, curves[i].activation));
        }
    }
}

TEST(small_numbers_have_a_small_relative_error)
{
    for (size_t i = 0; i < COUNT(curves); i++) {
        for (float x = 1e-30f; x < 1; x *= 1.37f) {
            double above = curves[i].formula(x);
            double below = curves[i].formula(-x);
            ck_assert_double_le(fabs(activated(x, curves[i].activation) - above),
                                1e-6 * fabs(above) + 1e-37); /* a square may be too small */
            ck_assert_double_le(fabs(activated(-x, curves[i].activation) - below),
                                1e-6 * fabs(below));
        }
    }
}

TEST(huge_numbers_do_not_overflow)
{
    static const float huge[] = {100, 1e4f, 1e12f, 1e30f, 3e38f};
    for (size_t i = 0; i < COUNT(curves); i++) {
        for (size_t k = 0; k < COUNT(huge); k++) {
            double above = curves[i].formula(huge[k]);
            double below = curves[i].formula(-huge[k]);
            float found = activated(-huge[k], curves[i].activation);
            ck_assert_msg(fabs(activated(huge[k], curves[i].activation) - above) <= 1e-6 * above ||
                              above > FLT_MAX,
                          "%s(%g)", curves[i].name, huge[k]);
            ck_assert_msg(fabs(found - below) <= 1e-6 * fabs(below) + 1e-37, "%s(-%g): %g",
                          curves[i].name, huge[k], found);
        }
    }
}

TEST(nan_and_infinity_are_not_lost)
{
    for (size_t i = 0; i < COUNT(curves); i++) {
        enum activation activation = curves[i].activation;
        float above = activated(INFINITY, activation);
        float below = activated(-INFINITY, activation);
        ck_assert_msg(isnan(activated(NAN, activation)), "%s", curves[i].name);
        ck_assert_msg(isnan(curves[i].at_infinity) ? isnan(above) : above == INFINITY, "%s: %g",
                      curves[i].name, above);
        ck_assert_msg(isnan(curves[i].at_minus_infinity) ? isnan(below) : below == -INFINITY,
                      "%s: %g", curves[i].name, below);
    }
}

TEST(the_activation_of_zero_is_zero)
{
    for (size_t i = 0; i < COUNT(curves); i++) {
        ck_assert(activated(0.0f, curves[i].activation) == 0);
        ck_assert(activated(-0.0f, curves[i].activation) == 0);
    }
    ck_assert(!signbit(activated(-2.0f, ACTIVATION_RELU)));
}

/* Numbers of all sizes, including those outside of the ranges of all formulas. */
static float number_at(size_t i)
{
    static const float some[] = {0.0f,   -0.0f,  1e-40f,   -1e-30f, 87.3f,     -87.34f,
                                 88.73f, -88.8f, INFINITY, 3e38f,   -INFINITY, NAN};
    return i % 5 == 0 ? some[i / 5 % COUNT(some)] : 20.0f * sinf((float)i);
}

static void check_block(const struct curve *curve, size_t rows, size_t columns, const float *bias)
{
    enum { STRIDE = 101, ROWS = 6 };
    float x[ROWS * STRIDE], y[ROWS * STRIDE];
    for (size_t i = 0; i < ROWS * STRIDE; i++)
        x[i] = y[i] = number_at(i);
    activate((struct matrix){y, rows, columns, STRIDE}, (struct matrix){x, rows, columns, STRIDE},
             bias, curve->activation);
    for (size_t i = 0; i < ROWS * STRIDE; i++) {
        bool touched = i / STRIDE < rows && i % STRIDE < columns;
        float moved = bias && touched ? x[i] + bias[i % STRIDE] : x[i];
        float expected = touched ? activated(moved, curve->activation) : x[i];
        if (memcmp(&expected, &y[i], sizeof expected) != 0 && !(isnan(expected) && isnan(y[i])))
            ck_abort_msg("%s, %zu x %zu, cell %zu: expected %.9g, found %.9g", curve->name, rows,
                         columns, i, expected, y[i]);
    }
}

TEST(a_block_has_the_bits_of_single_numbers)
{
    static const size_t widths[] = {1, 16, 31, 32, 33, 64, 95, 100};
    float bias[100];
    for (size_t i = 0; i < COUNT(bias); i++)
        bias[i] = cosf((float)i);
    for (size_t i = 0; i < COUNT(curves) * COUNT(widths); i++)
        for (size_t rows = 1; rows <= 6; rows++)
            check_block(&curves[i / COUNT(widths)], rows, widths[i % COUNT(widths)],
                        rows % 2 ? bias : NULL);
}

TEST(activations_have_their_names_in_configs)
{
    for (size_t i = 0; i < COUNT(curves); i++) {
        enum activation found = ACTIVATION_NONE;
        ck_assert(activation_find(curves[i].name, &found));
        ck_assert_int_eq(found, curves[i].activation);
        ck_assert(activation_find(activation_name(found), &found) && found == curves[i].activation);
    }
}

TEST(activations_have_formulas_of_their_own)
{
    for (enum activation i = 0; i < ACTIVATION_COUNT; i++) {
        ck_assert(strchr(activation_formula(i), 'x'));
        for (enum activation j = 0; j < i; j++)
            ck_assert_str_ne(activation_formula(i), activation_formula(j));
    }
}

TEST(the_list_for_messages_has_exactly_these_names)
{
    char list[256];
    size_t count = 0;
    ck_assert_uint_lt(strlen(activation_names), sizeof list);
    strcpy(list, activation_names);
    for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", ")) {
        bool found = strcmp(name, "or") == 0;
        for (size_t i = 0; i < COUNT(curves); i++)
            if (strcmp(name, curves[i].name) == 0) {
                found = true;
                count++;
            }
        ck_assert_msg(found, "'%s' is listed", name);
    }
    ck_assert_uint_eq(count, COUNT(curves));
}
