#include "draw/figure.h"

#include <math.h>
#include <string.h>

/* --- what is shown ---------------------------------------------------------------------------- */

static bool is_of(const struct kept *kept, enum site site)
{
    return !kept->made && kept->site == site;
}

/* The part of an axis that is shown, from a place on. */
static int crop_axis(struct axis *axis, size_t *skipped, const struct figure_form *form,
                     struct err *err)
{
    size_t end = axis->first + axis->size;
    if (form->last_token >= end || form->last_token < axis->first)
        return err_usage(err, "--token-range: expected tokens from %zu to %zu, found %zu",
                         axis->first, end - 1, form->last_token);
    size_t first = form->first_token > axis->first ? form->first_token : axis->first;
    *skipped = first - axis->first;
    axis->labels += *skipped;
    axis->size = form->last_token + 1 - first;
    axis->first = first;
    return 0;
}

/* Cut the tokens that are not to be shown from a sheet: from rows, columns or both. */
static int crop(struct sheet *sheet, bool has_rows, bool has_columns,
                const struct figure_form *form, struct arena *arena, struct err *err)
{
    struct sheet whole = *sheet;
    size_t row = 0;
    size_t column = 0;
    if ((has_rows && crop_axis(&sheet->rows, &row, form, err)) ||
        (has_columns && crop_axis(&sheet->columns, &column, form, err)))
        return -1;
    size_t size = sheet->rows.size * sheet->columns.size;
    float *values = arena_alloc(arena, size, sizeof *values, err);
    const char **texts = whole.texts ? arena_alloc(arena, size, sizeof *texts, err) : NULL;
    if (!values || (whole.texts && !texts))
        return -1;
    for (size_t i = 0; i < size; i++) {
        size_t place =
            (row + i / sheet->columns.size) * whole.columns.size + column + i % sheet->columns.size;
        values[i] = whole.values[place];
        if (texts)
            texts[i] = whole.texts[place];
    }
    sheet->values = values;
    sheet->texts = texts;
    return 0;
}

/* Of a site: those of the sentence, not of a source. */
static int crop_site(struct sheet *sheet, const struct report *report, enum site site,
                     const struct figure_form *form, struct arena *arena, struct err *err)
{
    enum site_part part = site_rows[site].part;
    const struct tokenized *sentence = &report->sentence;
    bool has_rows = strcmp(sheet->rows.name, "key") == 0 ? report_keys(report, part) == sentence
                                                         : report_queries(report, part) == sentence;
    bool has_columns =
        strcmp(sheet->columns.name, "key") == 0 && report_keys(report, part) == sentence;
    return crop(sheet, has_rows, has_columns, form, arena, err);
}

static bool is_of_tokens(const struct axis *axis)
{
    static const char *const names[] = {"token", "query", "key", "word"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(axis->name, names[i]) == 0)
            return true;
    return false;
}

int section_crop(bool *cropped, struct sheet *sheet, const struct figure_form *form,
                 struct arena *arena, struct err *err)
{
    bool has_rows = is_of_tokens(&sheet->rows);
    bool has_columns = is_of_tokens(&sheet->columns);
    *cropped = form->has_token_range && (has_rows || has_columns);
    return *cropped ? crop(sheet, has_rows, has_columns, form, arena, err) : 0;
}

int section_gather(struct section_sheets *what, const struct report *report, enum site site,
                   const struct figure_form *form, struct arena *arena, struct err *err)
{
    struct sheet *sheets = NULL;
    bool cropped = form->has_token_range;
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
    what->cropped = cropped;
    for (size_t i = 0; cropped && sheets && i < what->layers * what->heads; i++)
        if (crop_site(&sheets[-1 - (ptrdiff_t)i], report, site, form, arena, err))
            return -1;
    return what->layers && !what->sheets ? -1 : 0;
}

/* Only attention, from queries to keys and never below 0, is drawn as lines. */
static enum section_kind choose_kind(const struct section *section)
{
    enum style_view view = section->style->view;
    if (section->what.sheets->running && view == VIEW_FIT)
        return KIND_TEXT;
    if (view == VIEW_BARS || (section->what.sheets->parts && view == VIEW_FIT))
        return KIND_BARS;
    bool is_attention =
        strcmp(section->what.sheets->columns.name, "key") == 0 && section->tones.found.low >= 0;
    if (!is_attention || view == VIEW_FIT || view == VIEW_MATRIX)
        return KIND_MATRIX;
    return view == VIEW_OVERLAY && section->what.heads > 1 ? KIND_OVERLAY : KIND_LINES;
}

bool section_is_printed(const struct section *section)
{
    return section->style->form.width > 0;
}

static const struct {
    double size, line;
} kinds[] = {
    [TYPE_TITLE] = {9.5, 15}, [TYPE_SUBTITLE] = {7.5, 15}, [TYPE_NAME] = {7, 11.25},
    [TYPE_NUMBER] = {6, 9},   [TYPE_TEXT] = {8.5, 14},
};

double type_size(const struct figure_form *form, enum type_kind kind)
{
    return form->font_size > 0 ? form->font_size : kinds[kind].size;
}

double type_line(const struct figure_form *form, enum type_kind kind)
{
    return kinds[kind].line * type_size(form, kind) / kinds[kind].size;
}

double section_line(const struct section *section, enum type_kind kind)
{
    return type_line(&section->style->form, kind);
}

struct lettering section_letters(const struct section *section, enum type_kind kind, uint32_t hex)
{
    return (struct lettering){.size = type_size(&section->style->form, kind),
                              .colour = colour_of_hex(hex)};
}

/* --- what it is called ------------------------------------------------------------------------ */

static void add_part(struct buf *text, const char *part)
{
    buf_format(text, "%s%s", text->size ? " · " : "", part);
}

/* weights · layer 3 · head 1 · rows: query, columns: key */
static void describe(struct buf *text, const struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    bool matrix = section->kind == KIND_MATRIX;
    add_part(text, section->what.attention ? section->what.attention
                   : sheet->title          ? sheet->title
                                           : sheet->tensor);
    if (style_is_untitled(section->style))
        return;
    if (section->what.layers == 1 && sheet->layer >= 0)
        buf_format(text, " · layer %d", sheet->layer);
    if (section->what.heads == 1 && sheet->head >= 0)
        buf_format(text, " · head %d", sheet->head);
    if (sheet->mean_of_layers)
        add_part(text, "mean of layers");
    if (sheet->mean_of_heads)
        add_part(text, "mean of heads");
    if (section->kind == KIND_BARS) {
        buf_format(text, " · the %zu farthest from 0%s", section->strongest->count,
                   section->what.first_hidden ? ", without the first token" : "");
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

static void name_axes(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    bool has_axes = section->kind != KIND_BARS && section->kind != KIND_TEXT;
    if (has_axes && style_is_untitled(section->style)) { /* else the subtitle names them */
        section->row_title = sheet->rows.name;
        section->column_title = sheet->columns.name;
    }
    section->bar_title = sheet->beside_texts ? sheet->beside_texts : sheet->tensor;
    if (section->kind == KIND_TEXT)
        section->bar_title = sheet->columns.labels[0].text;
    if (section->what.shares_range) /* one bar for enc.weights, weights, cross_weights */
        section->bar_title = "attention weights, all panels";
}

/* A label of the section alone stands before its subtitle. */
static bool has_own_label(const struct section *section)
{
    return section->style->form.panel_labels &&
           (section->by_layer || section->kind == KIND_BARS || section->kind == KIND_TEXT);
}

int section_plan(struct section *section, const struct section_sheets *what,
                 const struct style *style, double room, struct arena *arena, struct err *err)
{
    const struct figure_form *form = &style->form;
    struct buf text = {0};
    *section = (struct section){
        .style = style,
        .what = *what,
        .room = room,
        .head = style_is_untitled(style) && !what->attention ? 0 : type_line(form, TYPE_SUBTITLE),
    };
    section->tones =
        tones_make(section->what.sheets, section->what.layers * section->what.heads, style, false);
    ramp_make(&section->ramp, section->tones.palette);
    section->kind = choose_kind(section);
    name_axes(section);
    section->by_layer =
        section->what.layers > 1 && section->what.heads > 1 && section->kind != KIND_OVERLAY;
    if (has_own_label(section))
        section->head = type_line(form, TYPE_SUBTITLE);
    if (section->kind != KIND_BARS)
        section_fit(section);
    if (section->kind == KIND_BARS ? bars_fit(section, arena, err)
                                   : scale_bar_fit(section, arena, err))
        return -1;
    section->height = axis_fit_snap(section->height);
    describe(&text, section);
    section->subtitle = buf_keep(&text, arena, err);
    if (!section->subtitle)
        return -1;
    if (!section_is_printed(section) && (!style_is_untitled(style) || what->attention))
        section->width =
            fmax(section->width, letters_width(section->subtitle, type_size(form, TYPE_SUBTITLE)));
    return 0;
}

size_t section_labels(const struct section *section)
{
    return has_own_label(section) ? 1 : section->panels;
}

double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at)
{
    static const double bold = 1.16; /* wider than other letters */
    struct lettering letters = section_letters(section, TYPE_NAME, 0);
    char label[PANEL_LABEL_BYTES];
    letters.bold = true;
    figure_form_label(label, &section->style->form, section->first_label + panel);
    canvas_text(canvas, at, label, &letters);
    return bold * letters_width(label, letters.size) + letters.size / 2;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Along the left of all panels; above them, or where columns have lines along their right. */
static int draw_axis_titles(const struct section *section, struct canvas *canvas,
                            struct point corner, struct err *err)
{
    struct lettering letters = section_letters(section, TYPE_NAME, 0x111111);
    size_t down = (section->panels + section->across - 1) / section->across;
    double width = section->area.width + section->panel_width * (double)(section->across - 1);
    double first = corner.y + section->top + section->area.y;
    double height = section->area.height + section->panel_height * (double)(down - 1);
    double start = corner.x + section->left;
    double line = section_line(section, TYPE_NAME);
    struct point left = {corner.x + letters.size, first + height / 2};
    struct point above = {start + width / 2, corner.y + section->head + letters.size};
    struct point right = {start + width + section->columns.room + line - 2, left.y};
    bool matrix = section->kind == KIND_MATRIX;
    letters.anchor = ANCHOR_MIDDLE;
    letters.turn = -90;
    if (section->row_title &&
        canvas_text_fit(canvas, left, section->row_title, height, &letters, err))
        return -1;
    letters.turn = matrix ? 0 : -90;
    return section->column_title
               ? canvas_text_fit(canvas, matrix ? above : right, section->column_title,
                                 matrix ? width : height, &letters, err)
               : 0;
}

int section_draw(const struct section *section, struct canvas *canvas, struct point corner,
                 struct err *err)
{
    const struct lettering letters = section_letters(section, TYPE_SUBTITLE, 0x555555);
    double room = section_is_printed(section) ? section->room : 1e9;
    struct point first = {corner.x, corner.y + letters.size};
    if (has_own_label(section))
        first.x += section_draw_label(section, 0, canvas, first);
    if ((!style_is_untitled(section->style) || section->what.attention) &&
        canvas_text_fit(canvas, first, section->subtitle, room - (first.x - corner.x), &letters,
                        err))
        return -1;
    if (section->kind == KIND_BARS)
        return bars_draw(section, canvas, (struct point){corner.x, corner.y + section->head}, err);
    if (section->kind == KIND_TEXT)
        running_text_draw(section, canvas, (struct point){corner.x, corner.y + section->top});
    for (size_t i = 0; section->kind != KIND_TEXT && i < section->panels; i++)
        if (panel_draw(section, i, canvas, corner, err))
            return -1;
    return draw_axis_titles(section, canvas, corner, err) ||
                   scale_bar_draw(section, canvas,
                                  (struct point){corner.x, corner.y + section->foot}, err)
               ? -1
               : 0;
}
