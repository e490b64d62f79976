#include "draw/axis_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double GRID = 0.375;    /* half a pixel of a screen with 96 in an inch */
static const double SMALLEST = 0.75; /* cells */
static const double LABEL_LEAST = 5; /* sizes of labels */
static const double LABEL_MOST = 7.5;
static const double LABEL_SHARE = 0.8; /* of the pitch */
static const double LABEL_GAP = 3;     /* between a label and its cell */
static const double CAP = 0.36;        /* half the height of a capital, of its size */
static const double LINE = 1.15;       /* from one line of text to the next, of its size */
static const double SLANT = 0.7072;    /* sine and cosine of 45 degrees */

enum { CELLS_MAX = 512 };

size_t cells_step(size_t size, size_t room)
{
    return room ? (size + room - 1) / room : size;
}

size_t cells_count(size_t size, size_t step)
{
    return step ? (size + step - 1) / step : 0;
}

struct axis_fit axis_fit_print(size_t size, double length, double largest)
{
    double room = fmax(fmin(floor(length / SMALLEST), CELLS_MAX), 1);
    struct axis_fit fit = {.step = cells_step(size, (size_t)room), .every = 1};
    fit.cells = cells_count(size, fit.step);
    fit.pitch = fmin(fmax(length, SMALLEST) / (double)fit.cells, largest);
    return fit;
}

struct axis_fit axis_fit_cells(size_t size, double length, double largest)
{
    double room = fmin(floor(length / SMALLEST), CELLS_MAX);
    struct axis_fit fit = {.step = cells_step(size, room < 1 ? 1 : (size_t)room), .every = 1};
    fit.cells = cells_count(size, fit.step);
    double pitch = fmin(length / (double)fit.cells, largest);
    fit.pitch = fmax(floor(pitch / GRID) * GRID, GRID);
    return fit;
}

double axis_fit_snap(double length)
{
    return ceil(length / GRID) * GRID;
}

double axis_fit_length(const struct axis_fit *fit)
{
    return fit->pitch * (double)fit->cells;
}

enum { PLACE_BYTES = 24 };

/* The label of a place, in some room: its own; the number of one that has not all beside it. */
static const char *label_of(char room[PLACE_BYTES], const struct axis *axis,
                            const struct axis_fit *fit, size_t place)
{
    const struct label *label = &axis->labels[place - axis->first];
    if (fit->every == 1 || strcmp(label->text, label->exact) == 0)
        return label->text;
    snprintf(room, PLACE_BYTES, "%zu", place);
    return room;
}

/* The first of the places that have labels. */
static size_t first_place(const struct axis *axis, const struct axis_fit *fit)
{
    return (axis->first + fit->every - 1) / fit->every * fit->every;
}

static size_t cell_of(const struct axis *axis, const struct axis_fit *fit, size_t place)
{
    return (place - axis->first) / fit->step;
}

/* The widest of the labels that are shown, at their size. */
static double widest(const struct axis *axis, const struct axis_fit *fit)
{
    char room[PLACE_BYTES];
    double most = 0;
    for (size_t p = first_place(axis, fit); p < axis->first + axis->size; p += fit->every)
        most = fmax(most, letters_width(label_of(room, axis, fit, p), fit->size));
    return most;
}

static void choose_size(struct axis_fit *fit)
{
    fit->size =
        fit->print > 0 ? fit->print : fmin(fmax(LABEL_SHARE * fit->pitch, LABEL_LEAST), LABEL_MOST);
}

/* Let labels `apart` points from each other, thinned out where cells are closer. */
static void thin_out(struct axis_fit *fit, double apart)
{
    static const size_t steps[] = {1, 2, 5};
    double least = apart / fit->pitch * (double)fit->step;
    size_t power = 1;
    fit->every = 1;
    if (fit->pitch >= apart && fit->step == 1)
        return;
    for (size_t i = 0; (double)fit->every < least || fit->every < fit->step; i++) {
        power *= i && i % 3 == 0 ? 10 : 1;
        fit->every = steps[i % 3] * power;
    }
}

void axis_fit_rows(struct axis_fit *fit, const struct axis *axis, double room)
{
    choose_size(fit);
    thin_out(fit, LINE * fit->size);
    fit->label = fmin(widest(axis, fit), room - LABEL_GAP);
    fit->room = fit->label + LABEL_GAP;
}

static bool has_numbers(const struct axis *axis)
{
    const struct label *first = axis->labels;
    return axis->size > 0 && !first->text[strspn(first->text, "0123456789")] &&
           strcmp(first->text, first->exact) == 0;
}

/* Slanted labels lean to the right, the last one beyond its cell. */
static double overhang(const struct axis *axis, const struct axis_fit *fit, double width)
{
    char room[PLACE_BYTES];
    double most = axis_fit_length(fit);
    for (size_t p = first_place(axis, fit); p < axis->first + axis->size; p += fit->every) {
        double label = fmin(letters_width(label_of(room, axis, fit, p), fit->size), width);
        double middle = fit->pitch * ((double)cell_of(axis, fit, p) + 0.5);
        most = fmax(most, middle + SLANT * label + fit->size / 2);
    }
    return most - axis_fit_length(fit);
}

void axis_fit_columns(struct axis_fit *fit, const struct axis *axis, double room)
{
    choose_size(fit);
    fit->every = 1;
    double width = widest(axis, fit);
    if (width + 2 <= fit->pitch || has_numbers(axis)) {
        thin_out(fit, width + (has_numbers(axis) ? 4 : 2));
        fit->room = LINE * fit->size;
        return;
    }
    thin_out(fit, LINE * fit->size);
    if (fit->every > 1) { /* numbers, which lie level */
        thin_out(fit, widest(axis, fit) + 4);
        fit->room = LINE * fit->size;
        return;
    }
    fit->turn = fit->pitch >= LINE * fit->size / SLANT ? -45 : -90;
    fit->label = fmin(width, room - LABEL_GAP);
    width = fit->label + LABEL_GAP;
    fit->room = fit->turn == -45 ? SLANT * width + fit->size / 2 : width;
    fit->over = fit->turn == -45 ? overhang(axis, fit, width) : 0;
}

static const struct colour label_colour = {0x33, 0x33, 0x33};

int axis_draw_rows(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
                   struct point corner, enum anchor anchor, struct err *err)
{
    struct lettering lettering = {.size = fit->size, .colour = label_colour, .anchor = anchor};
    char text[PLACE_BYTES];
    double x = corner.x + (anchor == ANCHOR_END ? -LABEL_GAP : LABEL_GAP);
    size_t end = fit->size > 0 ? axis->first + axis->size : 0;
    int failed = 0;
    for (size_t p = first_place(axis, fit); p < end && !failed; p += fit->every) {
        double y = corner.y + fit->pitch * ((double)cell_of(axis, fit, p) + 0.5) + CAP * fit->size;
        failed = canvas_text_fit(canvas, (struct point){x, y}, label_of(text, axis, fit, p),
                                 fit->label, &lettering, err);
    }
    return failed;
}

int axis_draw_columns(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
                      struct point corner, struct err *err)
{
    struct lettering lettering = {.size = fit->size, .colour = label_colour, .turn = fit->turn};
    bool level = fit->turn == 0;
    bool slanted = fit->turn == -45;
    double sink = slanted ? SLANT * CAP * fit->size : CAP * fit->size;
    char text[PLACE_BYTES];
    size_t end = fit->size > 0 ? axis->first + axis->size : 0;
    int failed = 0;
    lettering.anchor = level ? ANCHOR_MIDDLE : ANCHOR_START;
    for (size_t p = first_place(axis, fit); p < end && !failed; p += fit->every) {
        double x = corner.x + fit->pitch * ((double)cell_of(axis, fit, p) + 0.5);
        struct point at = {level ? x : x + sink, corner.y - (level ? 2 : LABEL_GAP)};
        failed = canvas_text_fit(canvas, at, label_of(text, axis, fit, p), level ? 1e9 : fit->label,
                                 &lettering, err);
    }
    return failed;
}
