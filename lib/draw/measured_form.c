#include "draw/measured_form.h"

#include <string.h>

#include "base/buf.h"
#include "draw/figure.h"
#include "text/label.h"
#include "write/measured_data.h"

/* The way through what was measured. */
struct plan {
    const struct measured_list *list;
    struct section_sheets *kinds;
    size_t kind_count;
    struct arena *arena;
};

static const char *visible(const char *text, struct arena *arena, struct err *err)
{
    struct buf out = {0};
    label_line(&out, text, strlen(text));
    return buf_keep(&out, arena, err);
}

/* how evenly a query looks, in nats: -sum w ln w; mean over up to 5 queries */
static const char *make_note(const struct measurement *item, struct arena *arena, struct err *err)
{
    return arena_format(arena, err, "%s; %s", item->about, item->basis);
}

/* Layers × heads of one after another, as long as they have the same size. */
static int add_maps(struct plan *plan, size_t measure, struct err *err)
{
    size_t count = plan->list->count;
    struct sheet *sheets = arena_alloc(plan->arena, count, sizeof *sheets, err);
    const char **names = arena_alloc(plan->arena, count, sizeof *names, err);
    struct section_sheets *kind = NULL;
    uint64_t most = 0;
    if (!sheets || !names)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct measurement *item = &plan->list->items[i].items[measure];
        if (!item->count)
            continue;
        *sheets = item->sheets[0];
        *names = visible(plan->list->items[i].name, plan->arena, err);
        if (!kind || kind->sheets->rows.size != sheets->rows.size ||
            kind->sheets->columns.size != sheets->columns.size) {
            kind = &plan->kinds[plan->kind_count++];
            *kind = (struct section_sheets){.sheets = sheets, .layers = 1, .names = names};
            most = 0;
        }
        kind->heads++;
        kind->of = kind->heads == 1 && count > 1 ? names[0] : NULL; /* panels say it themselves */
        if (!most || item->most > most)
            kind->note = make_note(item, plan->arena, err);
        most = item->most > most ? item->most : most;
        if (!*names || !kind->note)
            return -1;
        sheets++;
        names++;
    }
    return 0;
}

/* Whether the sheets are every head of some layers, in their order. */
static size_t heads_of_grid(const struct measurement *sheets)
{
    const struct sheet *items = sheets->sheets;
    size_t heads = 1;
    while (heads < sheets->count && items[heads].layer == items[0].layer)
        heads++;
    for (size_t i = 0; i < sheets->count; i++)
        if (items[i].head != items[i % heads].head ||
            items[i].layer != items[i / heads * heads].layer)
            return 0;
    return sheets->count % heads ? 0 : heads;
}

static const char *const *name_sheets(const struct measurement *sheets, struct arena *arena,
                                      struct err *err)
{
    const char **names = arena_alloc(arena, sheets->count, sizeof *names, err);
    for (size_t i = 0; names && i < sheets->count; i++) {
        char title[SHEET_NAME_BYTES];
        const char *name = sheet_title(title, &sheets->sheets[i]);
        names[i] = arena_text(arena, name, strlen(name), err);
        if (!names[i])
            return NULL;
    }
    return names;
}

/* Queries × keys of the heads of one. */
static int add_squares(struct plan *plan, const struct measured *measured, size_t measure,
                       struct err *err)
{
    const struct measurement *item = &measured->items[measure];
    struct section_sheets *kind = &plan->kinds[plan->kind_count];
    if (!item->count)
        return 0;
    *kind = (struct section_sheets){.sheets = item->sheets, .layers = 1, .heads = item->count};
    size_t heads = heads_of_grid(item);
    if (heads) {
        kind->heads = heads;
        kind->layers = item->count / heads;
    } else if (!(kind->names = name_sheets(item, plan->arena, err))) {
        return -1;
    }
    if (plan->list->count > 1 && !(kind->of = visible(measured->name, plan->arena, err)))
        return -1;
    kind->note = make_note(item, plan->arena, err);
    plan->kind_count++;
    return kind->note ? 0 : -1;
}

static int add_measure(struct plan *plan, size_t measure, struct err *err)
{
    if (!plan->list->items[0].items[measure].of_cells)
        return add_maps(plan, measure, err);
    for (size_t i = 0; i < plan->list->count; i++)
        if (add_squares(plan, &plan->list->items[i], measure, err))
            return -1;
    return 0;
}

static int write_picture(struct stream *out, enum drawing_form form,
                         const struct measured_list *list, const struct style *style,
                         struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct plan plan = {.list = list, .arena = &arena};
    size_t measures = list->count ? list->items[0].count : 0;
    plan.kinds = arena_alloc(&arena, measures * list->count + 1, sizeof *plan.kinds, err);
    int failed = !plan.kinds;
    for (size_t i = 0; i < measures && !failed; i++)
        failed = add_measure(&plan, i, err);
    failed =
        failed ||
        figure_plan_sheets(&figure, list->title, plan.kinds, plan.kind_count, style, &arena, err) ||
        figure_write(out, form, &figure, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

#define PICTURE(ending, form)                                                       \
    static int write_##ending(struct stream *out, const struct measured_list *list, \
                              const struct place *place, struct err *err)           \
    {                                                                               \
        return write_picture(out, form, list, place->style, err);                   \
    }

PICTURE(svg, DRAWING_SVG)
PICTURE(tex, DRAWING_TEX)
PICTURE(png, DRAWING_PNG)
PICTURE(pdf, DRAWING_PDF)

static int write_html(struct stream *out, const struct measured_list *list,
                      const struct place *place, struct err *err)
{
    figure_begin_page(out, list->title);
    return write_picture(out, DRAWING_SVG, list, place->style, err);
}

const struct measured_form measured_forms[] = {
    {"text", ".txt", "tables to read, fitted to the terminal", true, false, measured_page_write,
     NULL},
    {"csv", ".csv", "labelled matrices, layers by heads", true, false, measured_csv_write, NULL},
    {"tidy", ".tidy.csv", "CSV with a line for every number, for data frames", true, false,
     measured_tidy_write, NULL},
    {"json", ".json", "one object, the numbers as nested arrays", false, false, measured_json_write,
     NULL},
    {"jsonl", ".jsonl", "the same on one line for each group of them", false, false,
     measured_jsonl_write, NULL},
    {"npy", ".npy", "numpy's file of one array: all matrices, stacked", false, true,
     measured_npy_write, NULL},
    {"safetensors", ".safetensors", "every matrix under its name, float32", false, true,
     measured_tensors_write, NULL},
    {"svg", ".svg", "a picture for papers and web pages", true, false, write_svg, NULL},
    {"tex", ".tex", "the picture as TikZ, for LaTeX", true, false, write_tex, NULL},
    {"png", ".png", "the same in pixels; needs rsvg-convert", false, true, write_png,
     drawing_check},
    {"pdf", ".pdf", "the same, its text selectable; needs rsvg-convert", false, true, write_pdf,
     drawing_check},
    {"html", ".html", "the picture on a page for browsers", false, false, write_html, NULL},
};

const size_t measured_form_count = sizeof measured_forms / sizeof *measured_forms;
