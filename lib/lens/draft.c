#include "lens/draft.h"

#include <assert.h>

void draft_title(struct draft *draft, const char *name, const char *title)
{
    draft->step->name = name;
    draft->step->title = title;
    draft->step->corner = "";
    draft->step->own_row = NO_ROW;
}

struct buf *draft_note(struct draft *draft)
{
    buf_text(&draft->note, draft->note.size ? " " : "");
    return &draft->note;
}

void draft_formula(struct draft *draft, const char *text, const char *latex)
{
    struct step *step = draft->step;
    assert(step->formula_count < STEP_FORMULAS_MAX);
    step->formulas[step->formula_count++] = (struct formula){text, latex};
}

int draft_drawn(struct draft *draft)
{
    struct formula drawn;
    if (pen_finish(&draft->pen, &drawn, draft->arena, draft->err))
        return -1;
    draft_formula(draft, drawn.text, drawn.latex);
    return 0;
}

int draft_worked(struct draft *draft)
{
    return pen_finish(&draft->pen, &draft->step->worked, draft->arena, draft->err);
}

void draft_projection(struct draft *draft, const struct weight *w, const struct formula forms[3])
{
    bool projected = draft->walk->config->projections;
    const struct formula *form = &forms[projected ? 1 + (w->bias != NULL) : 0];
    draft_formula(draft, form->text, form->latex);
}

void draft_keys(struct draft *draft)
{
    const struct report *report = &draft->walk->report;
    struct step *step = draft->step;
    step->corner = "key";
    step->of_keys = true;
    step->own_row = draft->walk->config->cross ? NO_ROW : draft->walk->query;
    step->rows = report->source.count ? report->source.labels : report->sentence.labels;
    step->row_count = draft->walk->keys;
}

struct label *draft_rows(struct draft *draft, size_t count)
{
    struct label *rows = arena_alloc(draft->arena, count, sizeof *rows, draft->err);
    draft->step->rows = rows;
    draft->step->row_count = count;
    return rows;
}

struct label draft_label(const char *name)
{
    return (struct label){name, name, name};
}

struct block *draft_column(struct draft *draft, const char *name, const char *text,
                           const char *latex, const float *values)
{
    struct step *step = draft->step;
    assert(step->block_count < STEP_BLOCKS_MAX);
    struct block *block = &step->blocks[step->block_count++];
    *block = (struct block){
        .name = name,
        .symbol = {text, latex},
        .width = 1,
        .values = values,
        .stride = 1,
        .numeral = draft_numeral(draft, values, step->row_count),
    };
    return block;
}

struct block *draft_vectors(struct draft *draft, const char *name, const char *text,
                            const char *latex, const float *values, size_t width)
{
    struct block *block = draft_column(draft, name, text, latex, values);
    block->is_vector = true;
    block->width = block->stride = width;
    block->numeral = draft_numeral(draft, values, draft->step->row_count * width);
    return block;
}

int draft_vector(struct draft *draft, const char *name, const float *values, size_t width)
{
    struct label *row = draft_rows(draft, 1);
    if (!row)
        return -1;
    *row = draft_label(name);
    draft_vectors(draft, name, "", "", values, width);
    return 0;
}

float *draft_floats(struct draft *draft, size_t count)
{
    return arena_alloc(draft->arena, count, sizeof(float), draft->err);
}

struct numeral draft_numeral(const struct draft *draft, const float *values, size_t count)
{
    return numeral_of(values, count, draft->digits);
}
