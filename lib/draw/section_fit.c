/* section_fit.c: how the panels of a section are arranged, and how large they are. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

enum { FITS = 5 };

static const double TALLEST = 520;
static const double NARROWEST = 228;
static const double FOOT_GAP = 2;
static const double LAYER_NAMES = 1.4; /* beside a row of panels, in lines of names */
static const double GAP = 9, GAP_OF_MANY = 4.875, MANY = 8; /* between panels */
static const double GAP_SHARE = 0.2;    /* the most of a panel, where panels are narrow in print */
static const double PANEL_LEAST = 90;   /* a narrower one is put below others */
static const double LABELS_SHARE = 0.3; /* the most of a printed width */
static const double LINES_ALONE = 150, LINES_LARGEST = 11;
static const double CELL_LARGEST = 25, ROW_LARGEST = 15, TEXT_LARGEST = 44;
static const double LABELS_ALONE = 110, LABELS_OF_MANY = 56; /* the most room for labels */
static const double LABELLED = 6.25;    /* the smallest pitch at which every place has a label */
static const double LABELLED_AXIS = 84; /* a shorter one has all its labels, or none */

/* So many in a row that the whole is a bit wider than high, and its last row as full as can be. */
static size_t choose_across(const struct section *section)
{
    size_t panels = section->panels;
    size_t first = (size_t)ceil(sqrt((double)panels));
    size_t best = panels;
    size_t least = panels;
    if (panels <= 4 && section->room >= PANEL_LEAST * (double)panels)
        return panels;
    for (size_t across = first; across <= first + first / 2; across++) {
        size_t blanks = (across - panels % across) % across;
        if (blanks < least) {
            least = blanks;
            best = across;
        }
    }
    return best;
}

static double gap_of(const struct section *section)
{
    double gap = (double)section->across > MANY ? GAP_OF_MANY : GAP;
    double most = GAP_SHARE * section->room / (double)section->across;
    return section_is_printed(section) ? fmin(gap, most) : gap;
}

/* What a panel may take across, when so much is taken by what stands beside all of them. */
static double panel_share(const struct section *section, double beside)
{
    return (section->room - beside + section_is_printed(section) * gap_of(section)) /
               (double)section->across -
           gap_of(section);
}

/* Places of an axis as cells: on paper they fill the length. */
static struct axis_fit fit_axis(const struct section *section, size_t size, double length,
                                double largest)
{
    struct axis_fit fit = section_is_printed(section) ? axis_fit_print(size, length, length)
                                                      : axis_fit_cells(size, length, largest);
    fit.print = section->style->form.font_size;
    return fit;
}

/* Cells of queries and keys are square, lines of both as far apart: they share their steps. */
static void fit(struct section *section, double across)
{
    size_t rows = section->what.sheets->rows.size;
    size_t columns = section->what.sheets->columns.size;
    size_t most = rows > columns ? rows : columns;
    bool square = strcmp(section->what.sheets->columns.name, "key") == 0;
    /* panels that stand in one row may be as high as their labels need */
    double tallest = section->panels == 1 ? TALLEST
                     : section->panels > section->across
                         ? across
                         : fmin(fmax(LABELLED * (double)rows, across), TALLEST);
    if (section->kind == KIND_MATRIX && !square) {
        double largest = section->what.sheets->texts ? TEXT_LARGEST : CELL_LARGEST;
        double highest = fmax(ROW_LARGEST, 1.5 * section->style->form.font_size);
        section->columns = fit_axis(section, columns, across, largest);
        section->rows = fit_axis(section, rows, fmin(tallest, highest * (double)rows), highest);
        return;
    }
    double apart = fmax(LINES_LARGEST, 1.5 * section->style->form.font_size);
    section->rows = section->kind == KIND_MATRIX
                        ? fit_axis(section, most, fmin(across, TALLEST), CELL_LARGEST)
                        : fit_axis(section, most, fmin(tallest, apart * (double)most), apart);
    section->columns = section->rows;
    section->rows.cells = cells_count(rows, section->rows.step);
    section->columns.cells = cells_count(columns, section->columns.step);
}

/* In small panels only where all have room; in larger ones every few. */
static bool has_labels(const struct section *section, const struct axis_fit *fit)
{
    return section->panels == 1 || fit->pitch >= LABELLED || axis_fit_length(fit) >= LABELLED_AXIS;
}

static void fit_labels(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    double room = section->panels == 1 ? LABELS_ALONE : LABELS_OF_MANY;
    if (section_is_printed(section))
        room = fmin(room, LABELS_SHARE * section->room);
    if (has_labels(section, &section->rows))
        axis_fit_rows(&section->rows, &sheet->rows, room);
    if (!has_labels(section, &section->columns))
        return;
    if (section->kind == KIND_MATRIX)
        axis_fit_columns(&section->columns, &sheet->columns, room);
    else
        axis_fit_rows(&section->columns, &sheet->columns, room);
}

/* What labels take at the right of the last panel. */
static double right_room(const struct section *section)
{
    bool matrix = section->kind == KIND_MATRIX;
    double title = !matrix && section->column_title ? section_line(section, TYPE_NAME) : 0;
    return matrix ? section->columns.over : section->columns.room + title;
}

/* What stands at the left of all panels but for labels; what above them, but for a subtitle. */
static double left_names(const struct section *section)
{
    double line = section_line(section, TYPE_NAME);
    return (section->by_layer ? LAYER_NAMES * line : 0) + (section->row_title ? line : 0);
}

static double top_names(const struct section *section)
{
    double line = section_line(section, TYPE_NAME);
    bool above = section->kind == KIND_MATRIX && section->column_title;
    return (section->by_layer ? line : 0) + (above ? line : 0);
}

/* Labels take room from panels, and small panels lose their labels: twice is enough; in print,
 * where nothing may stand out, what leans out of the last panel is looked at again. */
static void measure_panels(struct section *section)
{
    double names = left_names(section);
    double share = panel_share(section, names);
    fit(section, share);
    fit_labels(section);
    double right = 0;
    for (int i = 0; i < (section_is_printed(section) ? FITS : 1); i++) {
        right = fmax(right, right_room(section));
        share = panel_share(section, names + axis_fit_snap(section->rows.room) + right);
        fit(section, share);
        fit_labels(section);
    }
    section->area.width = section->kind == KIND_MATRIX ? axis_fit_length(&section->columns)
                          : section->panels == 1 && !section_is_printed(section) ? LINES_ALONE
                                                                                 : share;
    section->area.height =
        fmax(axis_fit_length(&section->rows),
             section->kind == KIND_MATRIX ? 0 : axis_fit_length(&section->columns));
}

/* Lines of a text, as wide as the page. */
static void fit_lines(struct section *section)
{
    section->panels = section->across = 1;
    section->rows.step = section->columns.step = 1;
    section->width = section->area.width = section->room;
    section->area.height = running_text_height(section, section->room);
    section->top = section->head;
    section->foot = section->top + section->area.height + GAP_OF_MANY;
}

/* All measures of a section whose sheets, kind and tones are known: as wide as two columns of a
 * paper at most, cells of one measure everywhere, labels where they can be read. */
static void fit_panels(struct section *section)
{
    size_t heads = section->kind == KIND_OVERLAY ? 1 : section->what.heads;
    section->panels = section->what.layers * heads;
    section->across = section->by_layer ? heads : choose_across(section);
    measure_panels(section);
    bool labelled = section->style->form.panel_labels != NULL;
    bool named = (section->panels > 1 || labelled) && !section->by_layer;
    bool matrix = section->kind == KIND_MATRIX;
    size_t down = (section->panels + section->across - 1) / section->across;
    section->left = axis_fit_snap(section->rows.room) + left_names(section);
    section->top =
        section->head + (matrix ? axis_fit_snap(section->columns.room) : 0) + top_names(section);
    section->area.y = named ? section_line(section, TYPE_NAME) : 0;
    section->panel_width = section->area.width + gap_of(section);
    section->panel_height = section->area.y + section->area.height + gap_of(section);
    section->width =
        section->left + (double)section->across * section->panel_width + right_room(section);
    section->width = fmax(section->width, fmin(NARROWEST, section->room));
    section->foot = section->top + (double)down * section->panel_height + FOOT_GAP;
}

void section_fit(struct section *section)
{
    if (section->kind == KIND_TEXT)
        fit_lines(section);
    else
        fit_panels(section);
}
