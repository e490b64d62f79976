#include "draw/section.h"

#include <math.h>
#include <string.h>

#include "draw/letters.h"
#include "draw/panel.h"
#include "draw/scale_bar.h"
#include "draw/section_fit.h"

/* --- what is shown ---------------------------------------------------------------------------- */

static size_t count_layers(const struct report *report, enum site site)
{
    size_t count = 0;
    for (size_t i = 0; i < report->tensor_count; i++)
        count += report->tensors[i].site == site;
    return count;
}

/* The sheets of the site in all layers; they have the same heads everywhere. */
static int gather(struct section_sheets *what, const struct report *report, enum site site,
                  struct arena *arena, struct err *err)
{
    struct sheet *sheets = NULL;
    size_t count = 0;
    what->layers = count_layers(report, site);
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        if (kept->site != site)
            continue;
        what->heads = kept_sheet_count(kept);
        if (!sheets)
            sheets = arena_alloc(arena, what->layers * what->heads, sizeof *sheets, err);
        if (!sheets) /* nor asked for again, when some would be missing */
            return -1;
        for (size_t head = 0; head < what->heads; head++)
            sheets[count++] = kept_sheet(report, kept, head);
    }
    what->sheets = sheets;
    return 0;
}

/* Attention: from queries to keys, and never below 0. */
static bool is_attention(const struct section *section)
{
    return strcmp(section->sheets->columns.name, "key") == 0 && section->tones.found.low >= 0;
}

static enum section_kind choose_kind(const struct section *section)
{
    if (!is_attention(section) || section->style->view == VIEW_MATRIX)
        return KIND_MATRIX;
    return section->style->view == VIEW_OVERLAY && section->heads > 1 ? KIND_OVERLAY : KIND_LINES;
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
    buf_format(text, matrix ? " · rows: %s, columns: %s" : " · left: %s, right: %s",
               sheet->rows.name, sheet->columns.name);
}

/* The subtitle is the picture's, too: it must have room. */
static int describe_section(struct section *section, const char *of, struct arena *arena,
                            struct err *err)
{
    struct buf text = {0};
    describe(&text, section, of);
    if (!buf_check(&text, err))
        section->subtitle = arena_text(arena, text.bytes, text.size, err);
    buf_release(&text);
    if (!section->subtitle)
        return -1;
    section->width = fmax(section->width, letters_width(section->subtitle, subtitle.size));
    return 0;
}

int section_plan_sheets(struct section *section, const struct section_sheets *what,
                        const struct style *style, struct arena *arena, struct err *err)
{
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
    section_fit(section);
    return describe_section(section, what->of, arena, err);
}

int section_plan(struct section *section, const struct report *report, enum site site,
                 const struct style *style, struct arena *arena, struct err *err)
{
    struct section_sheets what = {.first_hidden = report->first_shown > 0};
    return gather(&what, report, site, arena, err) ||
                   section_plan_sheets(section, &what, style, arena, err)
               ? -1
               : 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

int section_draw(const struct section *section, struct canvas *canvas, struct point corner,
                 struct err *err)
{
    canvas_text(canvas, (struct point){corner.x, corner.y + subtitle.size}, section->subtitle,
                &subtitle);
    for (size_t i = 0; i < section->panels; i++)
        if (panel_draw(section, i, canvas, corner, err))
            return -1;
    return scale_bar_draw(section, canvas, (struct point){corner.x, corner.y + section->foot}, err);
}
