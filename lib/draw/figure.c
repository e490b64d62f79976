/* figure.c: groups the sheets of a report into sections, sets the title, and writes the figure as
 * a file or a page. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

#include "base/language.h"
#include "base/names.h"
#include "draw/page.h"
#include "draw/section.h"
#include "text/label.h"

static const double PRINT_MARGIN = 1;
/* minimum width in points of a figure on screen, so its title has room */
static const double NARROWEST = 252;
static const double SECTION_GAP = 16;
/* minimum width in points of sections that are side by side */
static const double SECTION_LEAST = 75;
static const double LISTED_WIDEST = 12; /* maximum width of a listed token, in font sizes */
static const double ROUNDING = 1e-6;
static const double BOLD = 1.16; /* width of bold letters relative to regular ones */

/* --- titles ----------------------------------------------------------------------------------- */

void figure_title(struct buf *out, const struct report *report, const struct style *style)
{
    bool given = style->title && *style->title;
    /* the model's name is the last component of the path */
    const char *slash = strrchr(report->model, '/');
    const char *name = given ? style->title : slash && slash[1] ? slash + 1 : report->model;
    label_line(out, name, strlen(name));
    if (given)
        return;
    if (report->about)
        buf_format(out, " · %s", report->about);
    /* if there is no single text, name the mechanism in place of a text */
    if (!report->text.count && report->mechanism)
        buf_format(out, " · %s", report->mechanism);
    if (!report->text.count)
        return;
    buf_text(out, say(style->language, report->corrupt ? " · clean: " : " · "));
    tokenized_visible(out, &report->text);
    if (report->corrupt || report->source.count) {
        buf_text(out, say(style->language, report->corrupt ? " · corrupt: " : " · source: "));
        tokenized_visible(out, report->corrupt ? report->corrupt : &report->source);
    }
}

/* Break the title into lines, and move all sections below the title. With `widens`, make the figure
 * wider until the title fits, up to FIGURE_WIDEST. */
static int place_title(struct figure *figure, bool widens, struct arena *arena, struct err *err)
{
    static const double step = 12;
    struct letter_lines title = {.lines = figure->title_lines,
                                 .most = FIGURE_TITLE_LINES,
                                 .size = type_size(figure->form, TYPE_TITLE)};
    for (bool fits = false; !fits; figure->page.width += fits ? 0 : step) {
        title.count = 0;
        title.width = (figure->page.width - 2 * figure->margin) / BOLD;
        if (letters_break(&title, figure->page.title, arena, err))
            return -1;
        fits = !widens || figure->page.width + step > FIGURE_WIDEST ||
               letters_width(title.lines[title.count - 1], title.size) <= title.width;
    }
    figure->title_count = title.count;
    double height = (double)figure->title_count * type_line(figure->form, TYPE_TITLE);
    for (size_t i = 0; i < figure->section_count; i++)
        figure->sections[i].at.y += height;
    figure->page.height += height;
    return 0;
}

/* --- selecting sheets ------------------------------------------------------------------------- */

/* Reduce an axis to the tokens of --token-range; `skipped` gets the number of positions before the
 * range. */
static int crop_axis(struct axis *axis, size_t *skipped, const struct figure_form *form,
                     struct err *err)
{
    ptrdiff_t least = axis->first > 0 ? axis->first : 0, end = axis->first + (ptrdiff_t)axis->size;
    ptrdiff_t first = (ptrdiff_t)form->first_token, last = (ptrdiff_t)form->last_token;
    if (axis->numbers)
        return err_usage(err, "--token-range cannot be combined with --query or --key");
    if (last >= end || last < least)
        return err_usage(err, "--token-range: expected tokens from %td to %td, found %td", least,
                         end - 1, last);
    first = first > least ? first : least;
    *skipped = (size_t)(first - axis->first);
    axis->labels += *skipped;
    axis->size = (size_t)(last + 1 - first);
    axis->first = first;
    return 0;
}

/* True if an axis counts tokens or words of the text, not of the source or the vocabulary. */
static bool is_of_text(const struct axis *axis, const struct report *report)
{
    static const char *const names[] = {"token", "query", "key", "word"};
    size_t index = 0;
    return axis->labels != report->words && report_text_of(report, axis) != &report->source &&
           names_find(&index, NAMES_LIST(names), axis->name, strlen(axis->name));
}

/* Reduce the rows and columns that are tokens (or words) of the text to the requested range, if
 * any. `*cropped` tells if the range applies to the rows or the columns. */
static int crop(struct sheet *sheet, bool *cropped, const struct report *report,
                const struct figure_form *form, struct arena *arena, struct err *err)
{
    struct sheet whole = *sheet;
    size_t row = 0, column = 0;
    bool has_rows = form->has_token_range && is_of_text(&sheet->rows, report);
    bool has_columns = form->has_token_range && is_of_text(&sheet->columns, report);
    *cropped = has_rows || has_columns;
    if (!*cropped)
        return 0;
    if ((has_rows && crop_axis(&sheet->rows, &row, form, err)) ||
        (has_columns && crop_axis(&sheet->columns, &column, form, err)))
        return -1;
    size_t size = sheet->rows.size * sheet->columns.size;
    float *values = arena_alloc(arena, size, sizeof *values, err);
    float *visible = arena_alloc(arena, size, sizeof *visible, err);
    const char **texts = arena_alloc(arena, size, sizeof *texts, err);
    if (!values || !visible || !texts)
        return -1;
    for (size_t i = 0; i < size; i++) {
        size_t from =
            (row + i / sheet->columns.size) * whole.columns.size + column + i % sheet->columns.size;
        values[i] = whole.values[from];
        visible[i] = whole.visible ? whole.visible[from] : 1;
        texts[i] = whole.display.texts ? whole.display.texts[from] : NULL;
    }
    sheet->values = values;
    sheet->visible = visible;
    sheet->display.texts = whole.display.texts ? texts : NULL;
    if (whole.display.regions)
        sheet->display.regions += row;
    return 0;
}

/* True for two tensors of one site, or two computed tensors of the same name. */
static bool is_alike(const struct array *a, const struct array *b)
{
    if (!a->name || !b->name)
        return !a->name && !b->name && a->site == b->site;
    return strcmp(a->name, b->name) == 0;
}

/* Collect the sheets of all tensors that have the same site or name as tensor `first`, and mark
 * these tensors in `taken`. */
static int gather(struct section_sheets *what, const struct report *report, size_t first,
                  bool *taken, const struct figure_form *form, struct arena *arena, struct err *err)
{
    const struct array *arrays = report->arrays;
    size_t heads = array_matrix_count(&arrays[first]); /* number of heads, the same in all layers */
    *what = (struct section_sheets){.heads = heads,
                                    .fills = report->about,
                                    .first_hidden = !arrays[first].name && report->first_shown};
    for (size_t i = first; i < report->array_count; i++)
        what->layers += is_alike(&arrays[first], &arrays[i]);
    struct sheet *sheets = arena_alloc(arena, what->layers * heads, sizeof *sheets, err);
    what->sheets = sheets;
    for (size_t i = first; i < report->array_count && sheets; i++) {
        if (!is_alike(&arrays[first], &arrays[i]))
            continue;
        taken[i] = true;
        for (size_t head = 0; head < heads; head++, sheets++) {
            *sheets = array_matrix(report, &arrays[i], head);
            what->listed |= heads == 1 && sheets->head != what->sheets->head;
            if (crop(sheets, &what->cropped, report, form, arena, err))
                return -1;
        }
    }
    return sheets ? 0 : -1;
}

/* Refuse --token-range, --view arrows and --mark if they apply to no section. */
static int check_options(const struct figure *figure, const struct style *style, struct err *err)
{
    const struct figure_form *form = &style->form;
    bool is_cropped = !form->has_token_range, has_arrows = style->view != VIEW_ARROWS;
    bool has_mark[FIGURE_MARKS_MAX] = {0};
    for (size_t i = 0; i < figure->section_count; i++) {
        const struct section *section = &figure->sections[i];
        is_cropped |= section->what.cropped;
        has_arrows |= section->kind == KIND_ARROWS;
        for (size_t k = 0; k < section->what.layers * section->what.heads; k++)
            for (size_t m = 0; m < form->mark_count && section->kind == KIND_MATRIX; m++)
                has_mark[m] |= cell_is_marked(&form->marks[m], &section->what.sheets[k]);
    }
    const struct sheet *first = figure->section_count ? figure->sections->what.sheets : NULL;
    if (first && !is_cropped)
        return err_usage(err,
                         "--token-range: expected a figure of tokens, found %s: rows are %s, "
                         "columns %s",
                         first->name, first->rows.name, first->columns.name);
    if (first && !has_arrows)
        return err_usage(err,
                         "--view arrows: expected a tensor of 3 channels, found %s: rows are "
                         "%s, columns %zu %ss; -m journey --show embedding has one",
                         first->name, first->rows.name, first->columns.size, first->columns.name);
    for (size_t m = 0; m < form->mark_count; m++)
        if (!has_mark[m])
            return err_usage(err,
                             "--mark: expected ROW:COLUMN of a matrix in the figure, found %zu:%zu",
                             form->marks[m].row, form->marks[m].column);
    return 0;
}

/* --- layout ----------------------------------------------------------------------------------- */

/* If several sections show attention weights, give each the name of its kind of attention, such as
 * "cross-attention". If all of these have the same colour range, only one has a colour bar: the
 * last or, side by side, the first. Returns true to place sections side by side. */
static bool arrange_attentions(struct section *sections, size_t count, const struct style *style,
                               double limit)
{
    size_t found = 0, single = 0, last = 0;
    bool shares = style->range == RANGE_ALL;
    struct extent first = {0, 0};
    for (size_t i = 0; i < count; i++) {
        struct section_sheets *what = &sections[i].what;
        const struct sheet *sheets = what->sheets;
        size_t panels = what->layers * what->heads;
        if (!name_ends_in(sheets->name, "weights") || strcmp(sheets->columns.name, "key") != 0)
            continue;
        struct extent extent = norms_make(sheets, panels, style).whole.extent;
        first = found++ ? first : extent;
        shares = shares && extent.low == first.low && extent.high == first.high;
        single += panels == 1;
        last = i;
        what->attention = strncmp(sheets->name, "enc.", 4) == 0     ? "encoder self-attention"
                          : strncmp(sheets->name, "cross_", 6) == 0 ? "cross-attention"
                                                                    : "decoder self-attention";
    }
    bool row = style->form.width > 0 && count > 1 && single == count &&
               limit >= SECTION_LEAST * (double)count &&
               (style->view == VIEW_FIT || style->view == VIEW_MATRIX);
    if (found == 1)
        sections[last].what.attention = NULL;
    for (size_t i = 0; i < count; i++) {
        struct section_sheets *what = &sections[i].what;
        what->shares_bar = shares && found > 1 && what->attention;
        what->barless = what->shares_bar && (row ? i > 0 : i < last);
    }
    return row;
}

/* Place the sections below one another, or in a row. In a row, the first section's colour bar is
 * below the tallest section. */
static int plan(struct figure *figure, const struct style *style, struct arena *arena,
                struct err *err)
{
    size_t count = figure->section_count, labels = 0;
    double foot = 0;
    bool printed = style->form.width > 0;
    struct point at = {figure->margin, figure->margin};
    const double bar_limit = (printed ? style->form.width : FIGURE_WIDEST) - 2 * figure->margin;
    bool row = arrange_attentions(figure->sections, count, style, bar_limit);
    double limit =
        row ? (bar_limit - SECTION_GAP * (double)(count - 1)) / (double)count : bar_limit;
    size_t bar = 0; /* the section whose colour bar others share */
    for (size_t i = 0; i < count; i++) {
        const struct section_sheets *what = &figure->sections[i].what;
        if (section_plan(&figure->sections[i], style, limit, arena, err))
            return -1;
        bar = what->shares_bar && !what->barless ? i : bar;
    }
    for (size_t i = 0; i < count; i++) {
        struct section *section = &figure->sections[i];
        if (section->what.barless)
            section_drop_notes(section, &figure->sections[bar]);
        section->at = at;
        section->bar_limit = bar_limit;
        section->first_label = labels;
        labels += section->label_count;
        foot = fmax(foot, section->foot);
        figure->page.height = fmax(figure->page.height, at.y + section->height + figure->margin);
        at.x += row ? limit + SECTION_GAP : 0;
        at.y += row ? 0 : section->height + SECTION_GAP;
        if (!printed)
            figure->page.width = fmax(figure->page.width, section->width + 2 * FIGURE_MARGIN);
    }
    if (row) {
        struct section *first = figure->sections;
        first->height += foot - first->foot;
        first->foot = foot;
        figure->page.height =
            fmax(figure->page.height, first->at.y + first->height + figure->margin);
    }
    return check_options(figure, style, err);
}

/* List the tokens of an axis that shows only numbers, if they fit and are not yet listed. */
static int list_tokens(struct figure *figure, const struct axis *axis, const struct axis_fit *fit,
                       const struct report *report, struct arena *arena, struct err *err)
{
    bool skips = !axis_is_numbered(axis, fit) || fit->step > 1 ||
                 figure->list_count == FIGURE_LISTS ||
                 figure->listed_count + axis->size >= FIGURE_LISTED;
    const struct tokenized *text = report_text_of(report, axis);
    const void *list = text ? (const void *)text : axis->labels;
    for (size_t i = 0; i < figure->list_count; i++)
        skips |= figure->lists[i] == list;
    if (skips)
        return 0;
    figure->lists[figure->list_count++] = list;
    figure->listed[figure->listed_count++] =
        say(figure->sections->style->language, text == &report->source ? "source:" : "tokens:");
    for (size_t i = 0; i < axis->size; i++) {
        const char *token =
            arena_format(arena, err, "%td %s", axis_number(axis, i), axis->labels[i].text);
        figure->listed[figure->listed_count++] = token;
        if (!token)
            return -1;
    }
    return 0;
}

static int plan_lists(struct figure *figure, const struct report *report, struct arena *arena,
                      struct err *err)
{
    double size = type_size(figure->form, TYPE_NUMBER);
    double limit = figure->page.width - 2 * figure->margin;
    for (size_t i = 0; i < figure->section_count; i++) {
        const struct section *own = &figure->sections[i];
        const struct sheet *sheet = own->what.sheets;
        if (own->kind <= KIND_LINES &&
            (list_tokens(figure, &sheet->rows, &own->rows, report, arena, err) ||
             list_tokens(figure, &sheet->columns, &own->columns, report, arena, err)))
            return -1;
    }
    if (figure->listed_count == 0)
        return 0;
    for (size_t i = 0; i < figure->listed_count; i++)
        figure->listed_width = fmax(figure->listed_width, letters_width(figure->listed[i], size));
    figure->listed_width = fmin(figure->listed_width, LISTED_WIDEST * size);
    double across = fmax(floor((limit + size) / (figure->listed_width + size)), 1);
    figure->listed_down = axis_cells(figure->listed_count, (size_t)across);
    figure->page.height += type_line(figure->form, TYPE_NUMBER) * (double)(figure->listed_down + 1);
    return 0;
}

/* Break the caption of a report into lines that fit the figure. Each sentence begins a new line. */
static int place_caption(struct figure *figure, const char *caption, struct arena *arena,
                         struct err *err)
{
    struct letter_lines lines = {.lines = figure->caption_lines,
                                 .most = FIGURE_CAPTION_LINES,
                                 .width = figure->page.width - 2 * figure->margin,
                                 .size = type_size(figure->form, TYPE_TEXT)};
    for (const char *at = caption; at && *at && lines.count < lines.most;) {
        const size_t size = strcspn(at, "\n");
        const char *sentence = arena_text(arena, at, size, err);
        if (!sentence || letters_break(&lines, sentence, arena, err))
            return -1;
        at += size + (at[size] == '\n');
    }
    figure->caption_count = lines.count;
    if (lines.count)
        figure->page.height += type_line(figure->form, TYPE_TEXT) * (double)(lines.count + 1);
    return 0;
}

static void draw_caption(const struct figure *figure, struct canvas *canvas)
{
    const struct font font = {.size = type_size(figure->form, TYPE_TEXT)};
    const double line = type_line(figure->form, TYPE_TEXT);
    const double height = line * (double)figure->caption_count;
    struct point at = {figure->margin, figure->page.height - figure->margin - height + font.size};
    for (size_t i = 0; i < figure->caption_count; i++, at.y += line)
        canvas_text_fit(canvas, at, figure->caption_lines[i],
                        figure->page.width - 2 * figure->margin + ROUNDING, &font);
}

int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err)
{
    const struct figure_form *form = &style->form;
    bool printed = form->width > 0;
    bool *taken = arena_alloc(arena, report->array_count, sizeof *taken, err);
    struct buf title = {0};
    figure_title(&title, report, style);
    *figure = (struct figure){
        .page = {.width = printed ? form->width : NARROWEST,
                 .title = buf_keep(&title, arena, err),
                 .font = form->font,
                 .dpi = form->dpi},
        .form = form,
        .sections = arena_alloc(arena, report->array_count, sizeof *figure->sections, err),
        .margin = printed ? PRINT_MARGIN : FIGURE_MARGIN,
    };
    figure->page.height = 2 * figure->margin;
    if (!figure->sections || !taken || !figure->page.title)
        return -1;
    for (size_t i = 0; i < report->array_count; i++) {
        const struct sheet sheet = array_matrix(report, &report->arrays[i], 0);
        /* draw the sheet unless it has no numbers, such as a table of texts */
        if (!taken[i] && sheet.columns.size &&
            gather(&figure->sections[figure->section_count++].what, report, i, taken, form, arena,
                   err))
            return -1;
    }
    if (!figure->section_count)
        return err_usage(err,
                         "expected numbers to draw, found none: choose text or data (--format)");
    if (plan(figure, style, arena, err))
        return -1;
    bool widens = !printed && (report->about || report->source.count) && !style->title;
    return err_if((!style_is_untitled(style) && place_title(figure, widens, arena, err)) ||
                  plan_lists(figure, report, arena, err) ||
                  place_caption(figure, report->caption, arena, err));
}

int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err)
{
    const struct font font = {.size = type_size(figure->form, TYPE_TITLE), .bold = true};
    struct point at = {figure->margin, figure->margin + font.size - 1};
    double limit = (figure->page.width - 2 * figure->margin) / BOLD;
    canvas->err = err;
    for (size_t i = 0; i < figure->title_count; i++) {
        canvas_text_fit(canvas, at, figure->title_lines[i], limit, &font);
        at.y += type_line(figure->form, TYPE_TITLE);
    }
    for (size_t i = 0; i < figure->section_count; i++)
        section_draw(&figure->sections[i], canvas);
    const struct font small = {type_size(figure->form, TYPE_NUMBER), colour_of_hex(0x333333)};
    double line = type_line(figure->form, TYPE_NUMBER), width = figure->listed_width;
    double top = figure->page.height - figure->margin - line * (double)figure->listed_down -
                 (figure->caption_count
                      ? type_line(figure->form, TYPE_TEXT) * (double)(figure->caption_count + 1)
                      : 0);
    for (size_t i = 0; i < figure->listed_count; i++) {
        at.x = figure->margin + (width + small.size) * (double)(i / figure->listed_down);
        at.y = top + small.size + line * (double)(i % figure->listed_down);
        canvas_text_fit(canvas, at, figure->listed[i], width + ROUNDING, &small);
    }
    draw_caption(figure, canvas);
    return err_if(err->kind);
}

/* --- files ------------------------------------------------------------------------------------ */

static int write_picture(struct stream *out, enum drawing_form form, const struct report *report,
                         const struct layout *layout, struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct drawing drawing;
    struct buf metadata = {0};
    const struct style *style = layout->style ? layout->style : &style_default;
    int failed = figure_plan(&figure, report, style, &arena, err);
    if (!failed && report->identity.provenance) {
        (form == DRAWING_SVG ? json_report_metadata : json_report_command)(&metadata, report);
        figure.page.metadata = metadata.bytes;
        failed = buf_check(&metadata, err);
    }
    figure.page.note = layout->note;
    failed = failed || drawing_begin(&drawing, form, out, &figure.page, err);
    if (!failed) {
        failed = figure_draw(&figure, &drawing.canvas, err);
        failed |= drawing_end(&drawing, err);
    }
    buf_release(&metadata);
    arena_release(&arena);
    return err_if(failed);
}

#define PICTURE(name, form, about, ...)                                                     \
    static int write_##name(struct stream *out, const struct report *report,                \
                            const struct layout *layout, struct err *err)                   \
    {                                                                                       \
        return write_picture(out, form, report, layout, err);                               \
    }                                                                                       \
    FORMAT_ROW(name, "." #name, about, UNIT_SHEET, .is_picture = true, .single_text = true, \
               .has_origin = true, .write = write_##name, __VA_ARGS__)

PICTURE(svg, DRAWING_SVG, "vector figure", .display = DISPLAY_PICTURE | DISPLAY_FONT)
PICTURE(tex, DRAWING_TEX, "the same figure as TikZ code for LaTeX, to \\input or to compile",
        .display = DISPLAY_PICTURE)
PICTURE(png, DRAWING_PNG, "the same figure in pixels (see --dpi); needs rsvg-convert",
        .display = DISPLAY_PICTURE | DISPLAY_FONT | DISPLAY_PIXELS, .for_files = true,
        .check = drawing_check)
PICTURE(pdf, DRAWING_PDF, "the same figure as a PDF page; needs rsvg-convert",
        .display = DISPLAY_PICTURE | DISPLAY_FONT, .for_files = true, .check = drawing_check)

/* Write figures below each other on one page. Its title is the user's, or like "tiny · Life is
 * short · attribution" or "tiny · attribution of 12 texts". */
int figure_write_page(struct stream *out, const struct report *report, const struct layout *layout,
                      struct err *err)
{
    const struct style *style = layout->style ? layout->style : &style_default;
    const char *what = report->array_count ? report->arrays->name : "pictures";
    struct buf title = {0};
    if (report->identity.index > 0)
        return write_picture(out, DRAWING_SVG, report, layout, err);
    if (report->identity.count > 1 && !(style->title && *style->title))
        buf_format(&title, "%s · %s of %zu texts", report->model, what, report->identity.count);
    else
        figure_title(&title, report, style);
    if (report->identity.count <= 1 && !(style->title && *style->title))
        buf_format(&title, " · %s", what);
    int failed = buf_check(&title, err);
    if (!failed) {
        stream_text(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
        page_put_text(out, title.bytes);
        stream_text(out,
                    "</title>\n<style>\n"
                    ":root { color-scheme: light dark }\n"
                    "html { overflow: hidden auto }\n"
                    "body { margin: 16px; overflow-x: auto }\n"
                    "svg { display: block; zoom: 1.5; max-width: max(100%, 420px); height: auto; "
                    "margin: 0 auto 16px; border-radius: 6px; background: white }\n"
                    "</style>\n");
        failed = write_picture(out, DRAWING_SVG, report, layout, err);
    }
    buf_release(&title);
    return err_if(failed);
}
