#include "out/tally_picture.h"

#include <string.h>

#include "base/buf.h"
#include "lens/report.h"
#include "lens/tally_sheet.h"

/* The way through parts and measures. */
struct plan {
    const struct tally_part *parts;
    size_t part_count;
    struct section_sheets *kinds;
    size_t kind_count;
    struct arena *arena;
};

/* A tally of texts that all failed has nothing. */
static bool is_empty(const struct tally *tally)
{
    struct tally_walk walk = {.tally = tally};
    return !tally_next(&walk);
}

static const char *visible(const char *text, struct arena *arena, struct err *err)
{
    struct buf out = {0};
    const char *found = NULL;
    struct reading reading = {.text = text, .size = strlen(text)};
    reading_visible(&out, &reading);
    if (!buf_check(&out, err))
        found = arena_text(arena, out.bytes ? out.bytes : "", out.size, err);
    buf_release(&out);
    return found;
}

/* how evenly a query looks, in nats: -sum w ln w; mean over up to 5 queries */
static const char *make_note(enum measure measure, uint64_t most, struct arena *arena,
                             struct err *err)
{
    const struct measure_row *row = &measure_rows[measure];
    struct buf text = {0};
    const char *note = NULL;
    buf_format(&text, "%s; %s up to %llu %s", row->about,
               measure == MEASURE_MAX ? "over" : "mean over", (unsigned long long)most,
               row->of_row ? "queries" : "texts");
    if (!buf_check(&text, err))
        note = arena_text(arena, text.bytes, text.size, err);
    buf_release(&text);
    return note;
}

static bool same_size(const struct sheet *a, const struct sheet *b)
{
    return a->rows.size == b->rows.size && a->columns.size == b->columns.size;
}

/* Layers × heads of one part after another, as long as they have the same size. */
static int add_maps(struct plan *plan, enum measure measure, struct err *err)
{
    size_t count = plan->part_count;
    struct sheet *sheets = arena_alloc(plan->arena, count, sizeof *sheets, err);
    const char **names = arena_alloc(plan->arena, count, sizeof *names, err);
    uint64_t most = 0;
    if (!sheets || !names)
        return -1;
    struct section_sheets *kind = NULL;
    for (size_t i = 0; i < count; i++, sheets++, names++) {
        struct tally_sheets found;
        if (tally_sheets_make(&found, &plan->parts[i].tally, measure, plan->arena, err))
            return -1;
        *sheets = found.items[0];
        *names = visible(plan->parts[i].name, plan->arena, err);
        if (!kind || !same_size(kind->sheets, sheets)) {
            kind = &plan->kinds[plan->kind_count++];
            *kind = (struct section_sheets){.sheets = sheets, .layers = 1, .names = names};
            most = 0;
        }
        most = found.most > most ? found.most : most;
        kind->heads++;
        kind->of = kind->heads == 1 && count > 1 ? names[0] : NULL; /* panels say it themselves */
        kind->note = make_note(measure, most, plan->arena, err);
        if (!*names || !kind->note)
            return -1;
    }
    return 0;
}

/* Whether the sheets are every head of some layers, in their order. */
static size_t heads_of_grid(const struct tally_sheets *sheets)
{
    const struct sheet *items = sheets->items;
    size_t heads = 1;
    while (heads < sheets->count && items[heads].layer == items[0].layer)
        heads++;
    for (size_t i = 0; i < sheets->count; i++)
        if (items[i].head != items[i % heads].head ||
            items[i].layer != items[i / heads * heads].layer)
            return 0;
    return sheets->count % heads ? 0 : heads;
}

static const char *const *name_sheets(const struct tally_sheets *sheets, struct arena *arena,
                                      struct err *err)
{
    const char **names = arena_alloc(arena, sheets->count, sizeof *names, err);
    for (size_t i = 0; names && i < sheets->count; i++) {
        char title[SHEET_NAME_BYTES];
        const char *name = sheet_title(title, &sheets->items[i]);
        names[i] = arena_text(arena, name, strlen(name), err);
        if (!names[i])
            return NULL;
    }
    return names;
}

/* Queries × keys of the heads of one part. */
static int add_squares(struct plan *plan, const struct tally_part *part, enum measure measure,
                       struct err *err)
{
    struct tally_sheets found;
    struct section_sheets *kind = &plan->kinds[plan->kind_count];
    if (tally_sheets_make(&found, &part->tally, measure, plan->arena, err))
        return -1;
    *kind = (struct section_sheets){.sheets = found.items, .layers = 1, .heads = found.count};
    size_t heads = heads_of_grid(&found);
    if (heads) {
        kind->heads = heads;
        kind->layers = found.count / heads;
    } else if (!(kind->names = name_sheets(&found, plan->arena, err))) {
        return -1;
    }
    if (plan->part_count > 1 && !(kind->of = visible(part->name, plan->arena, err)))
        return -1;
    kind->note = make_note(measure, found.most, plan->arena, err);
    plan->kind_count++;
    return kind->note ? 0 : -1;
}

static int add_measure(struct plan *plan, enum measure measure, struct err *err)
{
    if (measure_rows[measure].of_row)
        return add_maps(plan, measure, err);
    for (size_t i = 0; i < plan->part_count; i++)
        if (add_squares(plan, &plan->parts[i], measure, err))
            return -1;
    return 0;
}

int tally_picture_write(struct stream *out, enum picture_form form, const char *title,
                        const struct tally_part *parts, size_t count, const struct style *style,
                        struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct tally_part *full = arena_alloc(&arena, count + 1, sizeof *full, err);
    struct plan plan = {.parts = full, .arena = &arena};
    for (size_t i = 0; i < count && full; i++)
        if (!is_empty(&parts[i].tally))
            full[plan.part_count++] = parts[i];
    plan.kinds = arena_alloc(&arena, MEASURE_COUNT * count + 1, sizeof *plan.kinds, err);
    int failed = !full || !plan.kinds;
    for (int i = 0; i < MEASURE_COUNT && !failed; i++)
        if (plan.part_count && full[0].tally.measures >> i & 1)
            failed = add_measure(&plan, (enum measure)i, err);
    failed = failed ||
             figure_plan_sheets(&figure, title, plan.kinds, plan.kind_count, style, &arena, err) ||
             picture_write(out, form, &figure, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
