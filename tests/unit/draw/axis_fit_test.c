#include "draw/axis_fit.h"

#include <math.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "../rigs/canvas_witness.h"
#include "draw/canvas.h"

TEST(cells_fill_a_length_up_to_the_largest)
{
    static const struct {
        size_t size;
        double length, largest;
        size_t step, cells;
        double pitch;
    } cases[] = {
        {7, 100, 25, 1, 7, 14.25},  {4, 400, 25, 1, 4, 24.75},  {1, 10, 25, 1, 1, 9.75},
        {60, 36, 25, 2, 30, 1.125}, {128, 36, 25, 3, 43, 0.75}, {4096, 450, 25, 8, 512, 0.75},
        {9, 0.1, 25, 9, 1, 0.375},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct axis_fit fit = axis_fit_cells(cases[i].size, cases[i].length, cases[i].largest);
        ck_assert_uint_eq(fit.step, cases[i].step);
        ck_assert_uint_eq(fit.cells, cases[i].cells);
        ck_assert_double_eq(fit.pitch, cases[i].pitch);
        ck_assert_double_eq(axis_fit_length(&fit), (double)cases[i].cells * cases[i].pitch);
    }
}

TEST(lengths_snap_to_half_pixels)
{
    ck_assert_double_eq(axis_fit_snap(0), 0);
    ck_assert_double_eq(axis_fit_snap(1), 1.125);
    ck_assert_double_eq(axis_fit_snap(1.125), 1.125);
}

static struct axis axis_of(const struct label *labels, size_t size)
{
    return (struct axis){.name = "key", .size = size, .labels = labels};
}

static const struct label words[] = {
    {"dessert", "0:dessert", "dessert"}, {"is", "1:is", "is"}, {"short", "2:short", "short"}};
static const struct label numbers[] = {{"0", "0", "0"}, {"1", "1", "1"}, {"2", "2", "2"}};

TEST(column_labels_turn_when_there_is_no_room)
{
    static const struct {
        double length, turn;
    } cases[] = {{150, 0}, {60, -45}, {20, -90}, {4, 0}};
    struct axis axis = axis_of(words, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct axis_fit fit = axis_fit_cells(3, cases[i].length, 50);
        axis_fit_columns(&fit, &axis, 100);
        ck_assert_double_eq(fit.turn, cases[i].turn);
        ck_assert_double_ge(fit.room, fit.turn == 0 ? fit.size : 3 * fit.size);
        if (fit.turn == -45) /* the last one leans out */
            ck_assert(fit.over > 0 && fit.over < fit.room);
        else
            ck_assert_double_eq(fit.over, 0);
    }
}

TEST(numbers_stay_level_and_thin_out)
{
    struct axis axis = axis_of(numbers, 3);
    struct axis_fit fit = axis_fit_cells(3, 12, 50);
    axis_fit_columns(&fit, &axis, 100);
    ck_assert_double_eq(fit.turn, 0);
    ck_assert_uint_eq(fit.every, 2);
}

/* Of places that have not all a label those of whole steps have their numbers. */
TEST(labels_that_are_thinned_out_are_numbers)
{
    static const struct {
        size_t first, size, every, labels;
        const char *one;
    } rows[] = {{0, 60, 20, 3, "40"}, {3, 60, 20, 3, "60"}, {0, 30, 10, 3, "20"}};
    struct label labels[60];
    struct err err = {0};
    for (size_t i = 0; i < 60; i++)
        labels[i] = (struct label){"word", "0:word", "word"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct axis axis = {
            .name = "key", .size = rows[i].size, .labels = labels, .first = rows[i].first};
        struct axis_fit fit = axis_fit_cells(rows[i].size, 30, 25);
        axis_fit_rows(&fit, &axis, 100);
        ck_assert_uint_eq(fit.every, rows[i].every);
        canvas_witness_begin(2000, 2000);
        ck_assert_int_eq(axis_draw_rows(&witness.canvas, &axis, &fit, (struct point){300, 300},
                                        ANCHOR_END, &err),
                         0);
        ck_assert_uint_eq(witness.text_count, rows[i].labels);
        ck_assert_uint_eq(canvas_witness_texts(rows[i].one), 1);
    }
}

TEST(row_labels_thin_out_and_take_no_more_room_than_they_may)
{
    struct axis axis = axis_of(words, 3);
    struct axis_fit fit = axis_fit_cells(3, 7, 50);
    axis_fit_rows(&fit, &axis, 100);
    ck_assert_uint_eq(fit.every, 5);
    fit = axis_fit_cells(3, 60, 50);
    axis_fit_rows(&fit, &axis, 100);
    ck_assert_double_gt(fit.room, 20);
    axis_fit_rows(&fit, &axis, 20);
    ck_assert_double_eq(fit.room, 20);
}

/* Words of every length, as a page of attention has them: many widths, many roundings. */
static const struct label texts[] = {
    {"␣doors", "0", "0"},     {"␣old", "0", "0"},
    {"slept", "0", "0"},      {"10", "0", "0"},
    {"␣beautiful", "0", "0"}, {"Life", "0", "0"},
    {"␣dessert", "0", "0"},   {".", "0", "0"},
    {"爱", "0", "0"},         {"␣the", "0", "0"},
    {"␣overslept", "0", "0"}, {"␣i", "0", "0"},
    {"␣cabinet", "0", "0"},   {"␣W", "0", "0"},
    {"␣q!", "0", "0"},        {"␣antidisestablishment", "0", "0"},
};

enum { TEXTS = sizeof texts / sizeof *texts };

static void draw_axis(struct axis_fit *fit, const struct axis *axis, bool rows, double room)
{
    struct point corner = {300, 300};
    struct err err = {0};
    canvas_witness_begin(2000, 2000);
    if (rows) {
        axis_fit_rows(fit, axis, room);
        ck_assert_int_eq(axis_draw_rows(&witness.canvas, axis, fit, corner, ANCHOR_END, &err), 0);
        return;
    }
    axis_fit_columns(fit, axis, room);
    ck_assert_int_eq(axis_draw_columns(&witness.canvas, axis, fit, corner, &err), 0);
}

/* The widest label sets the room of all: no rounding on the way may take it back. */
static void check_texts(size_t count, double length, bool rows, double room)
{
    static const double gap = 3; /* between a label and its cell */
    for (size_t first = 0; first + count <= TEXTS; first++) {
        struct axis axis = axis_of(texts + first, count);
        struct axis_fit fit = axis_fit_cells(count, length, 25);
        draw_axis(&fit, &axis, rows, room);
        for (size_t i = 0; i < fit.cells && fit.every == 1; i++) {
            const char *text = axis.labels[i * fit.step].text;
            if (letters_width(text, fit.size) + gap <= room)
                ck_assert_msg(canvas_witness_texts(text) > 0, "'%s' of size %g is shortened", text,
                              fit.size);
        }
    }
}

TEST(a_label_that_has_room_is_whole)
{
    static const double rooms[] = {20, 33.3, 56, 110};
    for (size_t room = 0; room < sizeof rooms / sizeof *rooms; room++)
        for (size_t count = 1; count <= TEXTS; count += one_of(2))
            for (double length = 5; length < 480; length += 7.3) {
                check_texts(count, length, true, rooms[room]);
                check_texts(count, length, false, rooms[room]);
            }
}
