#include "draw/figure.h"

#include <math.h>
#include <string.h>

/* --- what is shown ---------------------------------------------------------------------------- */

static bool is_of(const struct kept *kept, enum site site)
{
    return !kept->made && kept->site == site;
}

int section_gather(struct section_sheets *what, const struct report *report, enum site site,
                   struct arena *arena, struct err *err)
{
    struct sheet *sheets = NULL;
    *what = (struct section_sheets){.first_hidden = report->first_shown > 0};
    for (size_t i = 0; i < report->tensor_count; i++) {
        if (!is_of(&report->tensors[i], site))
            continue;
        what->heads = kept_sheet_count(&report->tensors[i]); /* the same in all layers */
        what->layers++;
    }
    if (what->layers)
        what->sheets = sheets = arena_alloc(arena, what->layers * what->heads, sizeof *sheets, err);
    for (size_t i = 0; i < report->tensor_count && sheets; i++)
        for (size_t head = 0; is_of(&report->tensors[i], site) && head < what->heads; head++)
            *sheets++ = kept_sheet(report, &report->tensors[i], head);
    return what->layers && !what->sheets ? -1 : 0;
}

/* Only attention, from queries to keys and never below 0, is drawn as lines. */
static enum section_kind choose_kind(const struct section *section)
{
    enum style_view view = section->style->view;
    if (section->sheets->running && view == VIEW_FIT)
        return KIND_TEXT;
    if (view == VIEW_BARS || (section->sheets->parts && view == VIEW_FIT))
        return KIND_BARS;
    bool is_attention =
        strcmp(section->sheets->columns.name, "key") == 0 && section->tones.found.low >= 0;
    if (!is_attention || view == VIEW_FIT || view == VIEW_MATRIX)
        return KIND_MATRIX;
    return view == VIEW_OVERLAY && section->heads > 1 ? KIND_OVERLAY : KIND_LINES;
}

/* --- how panels are arranged ------------------------------------------------------------------ */

static const double PAGE = 480; /* points across: two columns of a paper, without the margin */
static const double TALLEST = 520;
static const double NARROWEST = 228;
static const double SUBTITLE = 15;
static const double FOOT_GAP = 2;
static const double PANEL_TITLE = 11.25;
static const double NAME_SIZE = 7;       /* of letters, in the name of a panel */
static const double LAYER_NAMES = 15.75; /* beside a row of panels, and above a column of them */
static const double HEAD_NAMES = 11.25;
static const double GAP = 9, GAP_OF_MANY = 4.875, MANY = 8; /* between panels */
static const double LINES_ALONE = 150, LINES_LARGEST = 11;
static const double CELL_LARGEST = 25, ROW_LARGEST = 15, TEXT_LARGEST = 44;
static const double LABELS_ALONE = 110, LABELS_OF_MANY = 56; /* the most room for labels */
static const double LABELLED = 6.25;    /* the smallest pitch at which every place has a label */
static const double LABELLED_AXIS = 84; /* a shorter one has all its labels, or none */

/* So many in a row that the whole is a bit wider than high, and its last row as full as can be. */
static size_t choose_across(size_t panels)
{
    size_t first = (size_t)ceil(sqrt((double)panels));
    size_t best = panels;
    size_t least = panels;
    if (panels <= 4)
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

/* --- how large things are --------------------------------------------------------------------- */

static double gap_of(const struct section *section)
{
    return (double)section->across > MANY ? GAP_OF_MANY : GAP;
}

/* What a panel may take across, when so much is taken by what stands beside all of them. */
static double panel_share(const struct section *section, double beside)
{
    return (PAGE - beside) / (double)section->across - gap_of(section);
}

/* Cells of queries and keys are square, lines of both as far apart: they share their steps. */
static void fit(struct section *section, double across)
{
    size_t rows = section->sheets->rows.size;
    size_t columns = section->sheets->columns.size;
    size_t most = rows > columns ? rows : columns;
    bool square = strcmp(section->sheets->columns.name, "key") == 0;
    /* panels that stand in one row may be as high as their labels need */
    double tallest = section->panels == 1 ? TALLEST
                     : section->panels > section->across
                         ? across
                         : fmin(fmax(LABELLED * (double)rows, across), TALLEST);
    if (section->kind == KIND_MATRIX && !square) {
        double largest = section->sheets->texts ? TEXT_LARGEST : CELL_LARGEST;
        section->columns = axis_fit_cells(columns, across, largest);
        section->rows = axis_fit_cells(rows, tallest, ROW_LARGEST);
        return;
    }
    section->rows = section->kind == KIND_MATRIX ? axis_fit_cells(most, across, CELL_LARGEST)
                                                 : axis_fit_cells(most, tallest, LINES_LARGEST);
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
    const struct sheet *sheet = section->sheets;
    double room = section->panels == 1 ? LABELS_ALONE : LABELS_OF_MANY;
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
    return section->kind == KIND_MATRIX ? section->columns.over : section->columns.room;
}

/* Labels take room from panels, and small panels lose their labels: twice is enough. */
static void measure_panels(struct section *section)
{
    double names = section->by_layer ? LAYER_NAMES : 0;
    double share = panel_share(section, names);
    fit(section, share);
    fit_labels(section);
    share = panel_share(section, names + axis_fit_snap(section->rows.room) + right_room(section));
    fit(section, share);
    fit_labels(section);
    section->area.width = section->kind == KIND_MATRIX ? axis_fit_length(&section->columns)
                          : section->panels == 1       ? LINES_ALONE
                                                       : share;
    section->area.height =
        fmax(axis_fit_length(&section->rows),
             section->kind == KIND_MATRIX ? 0 : axis_fit_length(&section->columns));
}

/* From one panel to the next: names have room, as far as all panels fit into the page. */
static double panel_step(const struct section *section)
{
    double step = section->area.width + gap_of(section);
    double widest = 0;
    for (size_t i = 0; section->names && i < section->panels; i++)
        widest = fmax(widest, letters_width(section->names[i], NAME_SIZE) + gap_of(section));
    double most = (PAGE - axis_fit_snap(section->rows.room)) / (double)section->across;
    return fmax(step, fmin(widest, most));
}

/* Lines of a text, as wide as the page. */
static void fit_text(struct section *section)
{
    section->panels = section->across = 1;
    section->rows.step = section->columns.step = 1;
    section->width = section->area.width = PAGE;
    section->area.height = running_text_height(section->sheets, PAGE);
    section->top = SUBTITLE;
    section->foot = section->top + section->area.height + GAP_OF_MANY;
}

/* All measures of a section whose sheets, kind and tones are known: as wide as two columns of a
 * paper at most, cells of one measure everywhere, labels where they can be read. */
static void fit_section(struct section *section)
{
    size_t heads = section->kind == KIND_OVERLAY ? 1 : section->heads;
    section->panels = section->layers * heads;
    section->by_layer = section->layers > 1 && heads > 1;
    section->across = section->by_layer ? heads : choose_across(section->panels);
    measure_panels(section);
    bool named = section->panels > 1 && !section->by_layer;
    bool matrix = section->kind == KIND_MATRIX;
    size_t down = (section->panels + section->across - 1) / section->across;
    section->left = axis_fit_snap(section->rows.room) + (section->by_layer ? LAYER_NAMES : 0);
    section->top = SUBTITLE + (matrix ? axis_fit_snap(section->columns.room) : 0) +
                   (section->by_layer ? HEAD_NAMES : 0);
    section->area.y = named ? PANEL_TITLE : 0;
    section->panel_width = panel_step(section);
    section->panel_height = section->area.y + section->area.height + gap_of(section);
    section->width =
        section->left + (double)section->across * section->panel_width + right_room(section);
    section->width = fmax(section->width, NARROWEST);
    section->foot = section->top + (double)down * section->panel_height + FOOT_GAP;
}

/* --- what it is called ------------------------------------------------------------------------ */

static const struct lettering subtitle = {.size = 7.5, .colour = {0x55, 0x55, 0x55}};

static void add_part(struct buf *text, const char *part)
{
    buf_format(text, "%s%s", text->size ? " · " : "", part);
}

/* weights · layer 3 · head 1 · rows: query, columns: key */
static void describe(struct buf *text, const struct section *section, const char *of)
{
    const struct sheet *sheet = section->sheets;
    bool matrix = section->kind == KIND_MATRIX;
    add_part(text, sheet->tensor);
    if (of)
        add_part(text, of);
    if (section->layers == 1 && sheet->layer >= 0 && !section->names)
        buf_format(text, " · layer %d", sheet->layer);
    if (section->heads == 1 && sheet->head >= 0)
        buf_format(text, " · head %d", sheet->head);
    if (sheet->mean_of_layers)
        add_part(text, "mean of layers");
    if (sheet->mean_of_heads)
        add_part(text, "mean of heads");
    if (section->kind == KIND_BARS) {
        buf_format(text, " · the %zu farthest from 0%s", section->strongest->count,
                   section->first_hidden ? ", without the first token" : "");
        return;
    }
    if (section->kind == KIND_TEXT) {
        buf_format(text, " · %s of every %s", sheet->columns.labels[0].text, sheet->rows.name);
        return;
    }
    buf_format(text, matrix ? " · rows: %s, columns: %s" : " · left: %s, right: %s",
               sheet->rows.name, sheet->columns.name);
    if (sheet->beside_texts)
        buf_format(text, ", colours: %s", sheet->beside_texts);
}

int section_plan(struct section *section, const struct section_sheets *what,
                 const struct style *style, struct arena *arena, struct err *err)
{
    struct buf text = {0};
    *section = (struct section){
        .style = style,
        .sheets = what->sheets,
        .layers = what->layers,
        .heads = what->heads,
        .names = what->names,
        .note = what->note,
        .first_hidden = what->first_hidden,
    };
    section->tones = tones_make(section->sheets, section->layers * section->heads, style, false);
    ramp_make(&section->ramp, section->tones.palette);
    section->kind = choose_kind(section);
    if (section->kind == KIND_TEXT)
        fit_text(section);
    else if (section->kind != KIND_BARS)
        fit_section(section);
    if (section->kind == KIND_BARS ? bars_fit(section, arena, err)
                                   : scale_bar_fit(section, arena, err))
        return -1;
    section->height = axis_fit_snap(section->height);
    describe(&text, section, what->of);
    section->subtitle = buf_keep(&text, arena, err);
    if (!section->subtitle)
        return -1;
    section->width = fmax(section->width, letters_width(section->subtitle, subtitle.size));
    return 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

int section_draw(const struct section *section, struct canvas *canvas, struct point corner,
                 struct err *err)
{
    canvas_text(canvas, (struct point){corner.x, corner.y + subtitle.size}, section->subtitle,
                &subtitle);
    if (section->kind == KIND_BARS)
        return bars_draw(section, canvas, (struct point){corner.x, corner.y + SUBTITLE}, err);
    if (section->kind == KIND_TEXT)
        running_text_draw(section, canvas, (struct point){corner.x, corner.y + section->top});
    for (size_t i = 0; section->kind != KIND_TEXT && i < section->panels; i++)
        if (panel_draw(section, i, canvas, corner, err))
            return -1;
    scale_bar_draw(section, canvas, (struct point){corner.x, corner.y + section->foot});
    return 0;
}
