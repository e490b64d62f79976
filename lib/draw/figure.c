#include "draw/figure.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "text/label.h"
#include "write/format.h"

static const double PRINT_MARGIN = 1;
static const double NARROWEST = 252; /* a title needs no picture to have room */
static const double SECTION_GAP = 16;
static const double SECTION_LEAST = 75; /* of one beside others */

/* A mark that no picture has is a slip. */
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
        struct tones tones =
            tones_make(kinds[i].sheets, kinds[i].layers * kinds[i].heads, style, false);
        whole = extent_join(whole, tones.whole.extent);
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

/* Whether another one has the bar: the last, below all; the first of those side by side. */
static bool is_barless(const struct section_sheets *kinds, size_t count, size_t index, bool row)
{
    bool more = false;
    for (size_t i = index + 1; i < count; i++)
        more = more || is_attention(&kinds[i]);
    return row ? index > 0 : more;
}

/* In print single heads of an encoder and its decoder stand side by side. */
static bool in_a_row(const struct section_sheets *kinds, size_t count, const struct style *style,
                     double room)
{
    bool fits = style->form.width > 0 && count > 1 && room >= SECTION_LEAST * (double)count &&
                (style->view == VIEW_FIT || style->view == VIEW_MATRIX);
    for (size_t i = 0; i < count; i++)
        fits = fits && is_attention(&kinds[i]) && kinds[i].layers * kinds[i].heads == 1;
    return fits;
}

/* The bar of sections side by side is below the highest of them. */
static void lower_bar(struct figure *figure)
{
    struct section *first = figure->sections;
    double foot = first->foot;
    for (size_t i = 1; i < figure->section_count; i++)
        foot = fmax(foot, figure->sections[i].foot);
    first->height += foot - first->foot;
    first->foot = foot;
    figure->height = fmax(figure->height, first->at.y + first->height + figure->margin);
}

/* Lay out sections below each other, or beside each other. */
static int plan(struct figure *figure, const struct section_sheets *kinds, size_t count,
                const struct style *style, struct arena *arena, struct err *err)
{
    const struct figure_form *form = &style->form;
    size_t labels = 0;
    figure->form = form;
    figure->margin = form->width > 0 ? PRINT_MARGIN : FIGURE_MARGIN;
    figure->width = form->width > 0 ? form->width : NARROWEST;
    figure->height = 2 * figure->margin;
    struct point at = {figure->margin, figure->margin};
    double room = (form->width > 0 ? form->width : FIGURE_WIDEST) - 2 * figure->margin;
    bool row = in_a_row(kinds, count, style, room);
    const struct style *common = share_range(kinds, count, style, arena, err);
    figure->sections = arena_alloc(arena, count, sizeof *figure->sections, err);
    if (!common || !figure->sections)
        return -1;
    const double bar_room = room;
    if (row)
        room = (room - SECTION_GAP * (double)(count - 1)) / (double)count;
    for (size_t i = 0; i < count; i++) {
        struct section *section = &figure->sections[i];
        struct section_sheets what = kinds[i];
        bool attention = is_attention(&what);
        what.attention = attention_name(kinds, count, i);
        what.shares_range = common != style && attention;
        what.barless = what.shares_range && is_barless(kinds, count, i, row);
        if (section_plan(section, &what, attention ? common : style, room, arena, err))
            return -1;
        section->at = at;
        section->bar_room = bar_room;
        section->first_label = labels;
        labels += section_labels(section);
        figure->height = fmax(figure->height, at.y + section->height + figure->margin);
        at.x += row ? room + SECTION_GAP : 0;
        at.y += row ? 0 : section->height + SECTION_GAP;
        if (form->width <= 0)
            figure->width = fmax(figure->width, section->width + 2 * FIGURE_MARGIN);
        figure->section_count++;
    }
    if (row)
        lower_bar(figure);
    return check_marks(figure, form, err);
}

/* Sheets that were made are a section each, but for those of several layers, side by side. */
static int gather_made(struct section_sheets *kinds, size_t *count, const struct report *report,
                       const struct figure_form *form, struct arena *arena, struct err *err)
{
    const struct sheet *before = NULL;
    struct sheet *shown = arena_alloc(arena, report->tensor_count, sizeof *shown, err);
    for (size_t i = 0; shown && i < report->tensor_count; i++) {
        const struct sheet *made = report->tensors[i].made;
        if (!made)
            continue;
        bool cropped = false;
        *shown = *made;
        if (section_crop(&cropped, shown, form, arena, err))
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

/* A part of the text that no picture shows is a slip. */
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

int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err)
{
    size_t most = SITE_ALL + report->tensor_count;
    struct section_sheets *kinds = arena_alloc(arena, most, sizeof *kinds, err);
    struct buf title = {0};
    size_t count = 0;
    figure_title(&title, report, style);
    *figure = (struct figure){.title = buf_keep(&title, arena, err)};
    if (!kinds)
        return -1;
    for (int site = 0; site < SITE_ALL; site++) {
        if (section_gather(&kinds[count], report, (enum site)site, &style->form, arena, err))
            return -1;
        count += kinds[count].layers > 0;
    }
    if (!figure->title || gather_made(kinds, &count, report, &style->form, arena, err) ||
        check_tokens(kinds, count, &style->form, err) ||
        plan(figure, kinds, count, style, arena, err))
        return -1;
    if (style->form.width <= 0)
        figure->width = fmax(figure->width, figure_title_width(report, style, figure->title));
    return figure_place_title(figure, style, arena, err);
}

int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err)
{
    if (figure_draw_title(figure, canvas, err))
        return -1;
    for (size_t i = 0; i < figure->section_count; i++) {
        if (section_draw(&figure->sections[i], canvas, figure->sections[i].at, err))
            return -1;
    }
    return 0;
}

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
