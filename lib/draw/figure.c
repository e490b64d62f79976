/* figure.c: a report's sheets grouped into sections, the title, and the files and page that hold
 * the figure. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "draw/page.h"
#include "text/label.h"
#include "write/format.h"

static const double PRINT_MARGIN = 1;
static const double NARROWEST = 252; /* so that a title has room */
static const double SECTION_GAP = 16;
static const double SECTION_LEAST = 75; /* of one next to others */
static const double BOLD = 1.16;        /* width of bold letters in widths of others */

/* --- titles ----------------------------------------------------------------------------------- */

/* A folder's own name is enough. */
static const char *model_name(const struct report *report)
{
    const char *slash = strrchr(report->model, '/');
    return slash && slash[1] ? slash + 1 : report->model;
}

void figure_title(struct buf *out, const struct report *report, const struct style *style)
{
    bool given = style->title && *style->title;
    const char *name = given ? style->title : model_name(report);
    label_line(out, name, strlen(name));
    if (given)
        return;
    if (report->about)
        buf_format(out, " · %s", report->about);
    if (!report->sentence.count) /* it is about the model alone */
        return;
    buf_text(out, report->corrupt ? " · clean: " : " · ");
    tokenized_visible(out, &report->sentence);
    if (report->corrupt || report->source.count) {
        buf_text(out, report->corrupt ? " · corrupt: " : " · source: ");
        tokenized_visible(out, report->corrupt ? report->corrupt : &report->source);
    }
}

static bool title_fits(const char *title, double room, double size)
{
    for (int line = 0; line < FIGURE_TITLE_LINES; line++) {
        size_t bytes = letters_line(title, room, size);
        if (!title[bytes])
            return letters_width(title, size) <= room;
        title += bytes + 1;
    }
    return false;
}

/* Widen a figure, up to a usual page's width, until its title names the whole question, or both
 * texts. */
static void widen_to_title(struct figure *figure, const struct report *report,
                           const struct style *style)
{
    static const double step = 12;
    double size = type_size(figure->form, TYPE_TITLE);
    if ((!report->about && !report->source.count) || style->title)
        return;
    while (figure->width + step <= FIGURE_WIDEST &&
           !title_fits(figure->title, (figure->width - 2 * figure->margin) / BOLD, size))
        figure->width += step;
}

/* Break the title into lines and move all sections below it. */
static int place_title(struct figure *figure, struct arena *arena, struct err *err)
{
    const char *rest = figure->title;
    double size = type_size(figure->form, TYPE_TITLE);
    double room = (figure->width - 2 * figure->margin) / BOLD;
    while (*rest && figure->title_count < FIGURE_TITLE_LINES) {
        bool last = figure->title_count + 1 == FIGURE_TITLE_LINES;
        size_t bytes = last ? strlen(rest) : letters_line(rest, room, size);
        const char *line = arena_text(arena, rest, bytes, err);
        if (!line)
            return -1;
        figure->title_lines[figure->title_count++] = line;
        rest += bytes + (rest[bytes] == ' ');
    }
    double height = (double)figure->title_count * type_line(figure->form, TYPE_TITLE);
    for (size_t i = 0; i < figure->section_count; i++)
        figure->sections[i].at.y += height;
    figure->height += height;
    return 0;
}

/* --- from a report to sheets ------------------------------------------------------------------ */

static bool is_of(const struct kept *kept, enum site site)
{
    return !kept->made && kept->site == site;
}

/* The shown part of an axis, after `skipped` positions. */
static int crop_axis(struct axis *axis, size_t *skipped, const struct figure_form *form,
                     struct err *err)
{
    size_t end = axis->first + axis->size;
    if (axis->numbers)
        return err_usage(err, "--query and --token-range cannot be combined");
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
    float *visible = whole.visible ? arena_alloc(arena, size, sizeof *visible, err) : NULL;
    const char **texts = whole.texts ? arena_alloc(arena, size, sizeof *texts, err) : NULL;
    if (!values || (whole.visible && !visible) || (whole.texts && !texts))
        return -1;
    for (size_t i = 0; i < size; i++) {
        size_t from =
            (row + i / sheet->columns.size) * whole.columns.size + column + i % sheet->columns.size;
        values[i] = whole.values[from];
        if (visible)
            visible[i] = whole.visible[from];
        if (texts)
            texts[i] = whole.texts[from];
    }
    sheet->values = values;
    sheet->visible = visible;
    sheet->texts = texts;
    if (whole.regions)
        sheet->regions += row;
    return 0;
}

/* Crop a site's sheet: only the sentence's tokens, not a source's. */
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

/* Collect the sheets of a site in all layers; no layers: the report has none. */
static int gather_site(struct section_sheets *what, const struct report *report, enum site site,
                       const struct figure_form *form, struct arena *arena, struct err *err)
{
    struct sheet *sheets = NULL;
    *what = (struct section_sheets){.first_hidden = report->first_shown > 0,
                                    .cropped = form->has_token_range};
    for (size_t i = 0; i < report->tensor_count; i++) {
        if (!is_of(&report->tensors[i], site))
            continue;
        what->heads = kept_sheet_count(&report->tensors[i]); /* the same in all layers */
        what->layers++;
    }
    if (!what->layers)
        return 0;
    what->sheets = sheets = arena_alloc(arena, what->layers * what->heads, sizeof *sheets, err);
    for (size_t i = 0; i < report->tensor_count && sheets; i++)
        for (size_t head = 0; is_of(&report->tensors[i], site) && head < what->heads; head++) {
            *sheets = kept_sheet(report, &report->tensors[i], head);
            if (what->cropped && crop_site(sheets, report, site, form, arena, err))
                return -1;
            sheets++;
        }
    return sheets ? 0 : -1;
}

/* Each sheet that is no site's is a section; those of several layers are drawn side by side. */
static int gather_made(struct section_sheets *kinds, size_t *count, const struct report *report,
                       const struct figure_form *form, struct arena *arena, struct err *err)
{
    const struct sheet *before = NULL;
    struct sheet *shown = arena_alloc(arena, report->tensor_count, sizeof *shown, err);
    for (size_t i = 0; shown && i < report->tensor_count; i++) {
        const struct sheet *made = report->tensors[i].made;
        if (!made)
            continue;
        bool has_rows = is_of_tokens(&made->rows);
        bool has_columns = is_of_tokens(&made->columns);
        bool cropped = form->has_token_range && (has_rows || has_columns);
        *shown = *made;
        if (cropped && crop(shown, has_rows, has_columns, form, arena, err))
            return -1;
        if (before && made == before + 1 && strcmp(made->tensor, before->tensor) == 0)
            kinds[*count - 1].layers++;
        else
            kinds[(*count)++] = (struct section_sheets){
                .sheets = shown, .layers = 1, .heads = 1, .cropped = cropped};
        before = made;
        shown++;
    }
    return shown ? 0 : -1;
}

/* Refuse a part of the text that no picture shows. */
static int check_tokens(const struct section_sheets *kinds, size_t count,
                        const struct figure_form *form, struct err *err)
{
    bool found = !form->has_token_range || count == 0;
    for (size_t i = 0; i < count; i++)
        found = found || kinds[i].cropped;
    return found ? 0
                 : err_usage(err,
                             "--token-range: expected a picture of tokens, found %s: rows are "
                             "%s, columns %s",
                             kinds->sheets->tensor, kinds->sheets->rows.name,
                             kinds->sheets->columns.name);
}

/* Refuse a mark that no picture has. */
static int check_marks(const struct figure *figure, const struct figure_form *form, struct err *err)
{
    for (size_t m = 0; m < form->mark_count; m++) {
        bool found = false;
        for (size_t i = 0; i < figure->section_count; i++) {
            const struct section *section = &figure->sections[i];
            for (size_t k = 0; k < section->what.layers * section->what.heads; k++)
                found |= section->kind == KIND_MATRIX &&
                         cell_is_marked(&form->marks[m], &section->what.sheets[k]);
        }
        if (!found)
            return err_usage(err,
                             "--mark: expected a cell of a matrix that is drawn, as ROW:COLUMN, "
                             "found %zu:%zu",
                             form->marks[m].row, form->marks[m].column);
    }
    return 0;
}

/* --- attentions of one model, which share a bar ----------------------------------------------- */

static bool is_attention(const struct section_sheets *kind)
{
    return name_ends_in(kind->sheets->tensor, "weights") &&
           strcmp(kind->sheets->columns.name, "key") == 0;
}

/* Which attention of an encoder and its decoder a kind is; NULL: there is no other. */
static const char *attention_name(const struct section_sheets *kinds, size_t count, size_t index)
{
    const char *tensor = kinds[index].sheets->tensor;
    bool several = false;
    for (size_t i = 0; i < count; i++)
        several |= i != index && is_attention(&kinds[i]);
    if (!several || !is_attention(&kinds[index]))
        return NULL;
    return strncmp(tensor, "enc.", 4) == 0     ? "encoder self-attention"
           : strncmp(tensor, "cross_", 6) == 0 ? "cross-attention"
                                               : "decoder self-attention";
}

/* The style of several attentions: one range for all of them, unless another was asked for. */
static const struct style *share_range(const struct section_sheets *kinds, size_t count,
                                       const struct style *style, struct arena *arena,
                                       struct err *err)
{
    struct extent whole = {0, 0};
    size_t shared = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_attention(&kinds[i]))
            continue;
        struct colour_norms norms =
            norms_make(kinds[i].sheets, kinds[i].layers * kinds[i].heads, style, false);
        whole = extent_join(whole, norms.whole.extent);
        shared++;
    }
    if (shared < 2 || style->range != RANGE_ALL || style_has_bounds(style) || whole.low < 0)
        return style;
    struct style *common = arena_alloc(arena, 1, sizeof *common, err);
    if (common) {
        *common = *style;
        common->bounds = whole;
    }
    return common;
}

/* --- layout ----------------------------------------------------------------------------------- */

/* On paper single heads of an encoder and its decoder are placed side by side. */
static bool in_a_row(const struct section_sheets *kinds, size_t count, const struct style *style,
                     double room)
{
    bool fits = style->form.width > 0 && count > 1 && room >= SECTION_LEAST * (double)count &&
                (style->view == VIEW_FIT || style->view == VIEW_MATRIX);
    for (size_t i = 0; i < count; i++)
        fits = fits && is_attention(&kinds[i]) && kinds[i].layers * kinds[i].heads == 1;
    return fits;
}

/* Lay out sections below each other, or side by side. Of attentions with one range the last has
 * the bar, or the first of those side by side, which is below the highest of them. */
static int plan(struct figure *figure, const struct section_sheets *kinds, size_t count,
                const struct style *style, struct arena *arena, struct err *err)
{
    size_t labels = 0;
    size_t last = 0; /* of the attentions */
    double foot = 0;
    bool printed = style->form.width > 0;
    struct point at = {figure->margin, figure->margin};
    const double bar_room = (printed ? style->form.width : FIGURE_WIDEST) - 2 * figure->margin;
    bool row = in_a_row(kinds, count, style, bar_room);
    double room = row ? (bar_room - SECTION_GAP * (double)(count - 1)) / (double)count : bar_room;
    const struct style *common = share_range(kinds, count, style, arena, err);
    figure->sections = arena_alloc(arena, count, sizeof *figure->sections, err);
    if (!common || !figure->sections)
        return -1;
    for (size_t i = 0; i < count; i++)
        last = is_attention(&kinds[i]) ? i : last;
    for (size_t i = 0; i < count; i++) {
        struct section *section = &figure->sections[i];
        struct section_sheets what = kinds[i];
        bool attention = is_attention(&what);
        what.attention = attention_name(kinds, count, i);
        what.shares_range = common != style && attention;
        what.barless = what.shares_range && (row ? i > 0 : i < last);
        if (section_plan(section, &what, attention ? common : style, room, arena, err))
            return -1;
        section->at = at;
        section->bar_room = bar_room;
        section->first_label = labels;
        labels += section->label_count;
        foot = fmax(foot, section->foot);
        figure->height = fmax(figure->height, at.y + section->height + figure->margin);
        at.x += row ? room + SECTION_GAP : 0;
        at.y += row ? 0 : section->height + SECTION_GAP;
        if (!printed)
            figure->width = fmax(figure->width, section->width + 2 * FIGURE_MARGIN);
        figure->section_count++;
    }
    if (row) {
        struct section *first = figure->sections;
        first->height += foot - first->foot;
        first->foot = foot;
        figure->height = fmax(figure->height, first->at.y + first->height + figure->margin);
    }
    return check_marks(figure, &style->form, err);
}

int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err)
{
    const struct figure_form *form = &style->form;
    size_t most = SITE_ALL + report->tensor_count;
    struct section_sheets *kinds = arena_alloc(arena, most, sizeof *kinds, err);
    struct buf title = {0};
    size_t count = 0;
    figure_title(&title, report, style);
    *figure = (struct figure){
        .title = buf_keep(&title, arena, err),
        .form = form,
        .margin = form->width > 0 ? PRINT_MARGIN : FIGURE_MARGIN,
        .width = form->width > 0 ? form->width : NARROWEST,
    };
    figure->height = 2 * figure->margin;
    if (!kinds)
        return -1;
    for (int site = 0; site < SITE_ALL; site++) {
        if (gather_site(&kinds[count], report, (enum site)site, form, arena, err))
            return -1;
        count += kinds[count].layers > 0;
    }
    if (!figure->title || gather_made(kinds, &count, report, form, arena, err) ||
        check_tokens(kinds, count, form, err) || plan(figure, kinds, count, style, arena, err))
        return -1;
    if (form->width <= 0)
        widen_to_title(figure, report, style);
    return style_is_untitled(style) ? 0 : place_title(figure, arena, err);
}

int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err)
{
    const struct font font = {.size = type_size(figure->form, TYPE_TITLE), .bold = true};
    struct point at = {figure->margin, figure->margin + font.size - 1};
    double room = (figure->width - 2 * figure->margin) / BOLD;
    for (size_t i = 0; i < figure->title_count; i++) {
        if (canvas_text_fit(canvas, at, figure->title_lines[i], room, &font, err))
            return -1;
        at.y += type_line(figure->form, TYPE_TITLE);
    }
    for (size_t i = 0; i < figure->section_count; i++)
        if (section_draw(&figure->sections[i], canvas, err))
            return -1;
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

int figure_write(struct stream *out, enum drawing_form form, const struct figure *figure,
                 struct err *err)
{
    struct drawing drawing;
    const struct drawing_page page = {
        .width = figure->width,
        .height = figure->height,
        .title = figure->title,
        .metadata = figure->metadata,
        .font = figure->form->font,
        .dpi = figure->form->dpi,
    };
    if (drawing_begin(&drawing, form, out, &page, err))
        return -1;
    int failed = figure_draw(figure, &drawing.canvas, err);
    return drawing_end(&drawing, err) || failed ? -1 : 0;
}

static int write_report(struct stream *out, enum drawing_form form, const struct report *report,
                        const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct buf metadata = {0};
    const struct style *style = place->style ? place->style : &style_default;
    int failed = figure_plan(&figure, report, style, &arena, err);
    if (!failed && form == DRAWING_SVG && place->provenance) {
        json_report_metadata(&metadata, report, place);
        figure.metadata = metadata.bytes;
        failed = buf_check(&metadata, err);
    }
    failed = failed || figure_write(out, form, &figure, err);
    buf_release(&metadata);
    arena_release(&arena);
    return failed ? -1 : 0;
}

#define PICTURE(ending, form)                                                  \
    int figure_write_##ending(struct stream *out, const struct report *report, \
                              const struct place *place, struct err *err)      \
    {                                                                          \
        return write_report(out, form, report, place, err);                    \
    }

PICTURE(svg, DRAWING_SVG)
PICTURE(tex, DRAWING_TEX)
PICTURE(png, DRAWING_PNG)
PICTURE(pdf, DRAWING_PDF)

/* --- figures on a page for browsers ------------------------------------------------------------
 *
 * Each figure has its numbers as tables below: for screen readers, and for copying.
 */

static void put_heading(struct stream *out, const char *scope, const char *text)
{
    stream_format(out, "<th scope=\"%s\">", scope);
    page_put_text(out, text);
}

static void put_sheet(struct stream *out, const struct sheet *sheet, bool alone)
{
    char title[SHEET_NAME_BYTES];
    stream_text(out, "<table>");
    if (!alone)
        stream_format(out, "<caption>%s</caption>", sheet_title(title, sheet));
    stream_text(out, "\n<tr><td>");
    for (size_t i = 0; i < sheet->columns.size; i++)
        put_heading(out, "col", sheet->columns.labels[i].text);
    for (size_t row = 0; row < sheet->rows.size; row++) {
        stream_text(out, "\n<tr>");
        put_heading(out, "row", sheet->rows.labels[row].text);
        for (size_t column = 0; column < sheet->columns.size; column++) {
            float value = sheet_cell(sheet, row, column);
            stream_text(out, "<td>");
            if (!sheet_hides(sheet, row, column) && !isnan(value))
                stream_float(out, value);
        }
    }
    stream_text(out, "\n</table>\n");
}

static void put_numbers(struct stream *out, const struct section *section)
{
    size_t sheets = section->what.layers * section->what.heads;
    bool bars = section->kind == KIND_BARS;
    stream_text(out, "<details><summary>");
    page_put_text(out, section->subtitle);
    stream_text(out, bars ? "</summary>\n<table>\n" : "</summary>\n");
    for (size_t i = 0; bars && i < section->strongest->count; i++) {
        stream_text(out, "<tr>");
        put_heading(out, "row", section->strong_names[i]);
        stream_text(out, "<td>");
        stream_float(out, section->strongest->cells[i].value);
        stream_char(out, '\n');
    }
    for (size_t i = 0; !bars && i < sheets; i++)
        put_sheet(out, &section->what.sheets[i], sheets == 1);
    stream_text(out, bars ? "</table>\n</details>\n" : "</details>\n");
}

/* "tiny · Life is short · fraction", or "tiny · score of 12 texts"; the user's own as it is. */
static int begin_page(struct stream *out, const struct figure *figure, const struct report *report,
                      const struct place *place, struct arena *arena, struct err *err)
{
    const char *own = place->style ? place->style->title : NULL;
    const char *what = report->tensor_count ? report->tensors->made->tensor : "pictures";
    const char *title = own;
    if (!own || !*own)
        title = place->count > 1 ? arena_format(arena, err, "%s · %s of %zu texts", report->model,
                                                what, place->count)
                                 : arena_format(arena, err, "%s · %s", figure->title, what);
    if (!title)
        return -1;
    stream_text(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    page_put_text(out, title);
    stream_text(out, "</title>\n"
                     "<style>svg { display: block; max-width: 100%; margin: 0 auto }\n"
                     "details { margin: 1em; overflow: auto; font: 14px sans-serif }\n"
                     "caption, th, td { padding: 1px 7px; text-align: right }\n"
                     "caption { text-align: left }</style>\n");
    return 0;
}

int figure_write_page(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    const struct style *style = place->style ? place->style : &style_default;
    int failed = figure_plan(&figure, report, style, &arena, err) ||
                 (place->index == 0 && begin_page(out, &figure, report, place, &arena, err)) ||
                 figure_write(out, DRAWING_SVG, &figure, err);
    for (size_t i = 0; !failed && i < figure.section_count; i++)
        put_numbers(out, &figure.sections[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}
