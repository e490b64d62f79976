#include "explain/explain_walk.h"

/* One query's way through the form. */
struct walk {
    const struct explanation *explanation;
    const struct explain_form *form;
    struct page *page;
    const struct explain_page *how;
};

static void walk_table(const struct walk *walk, const struct step_table *table)
{
    (walk->how->full ? explain_table_write_parts : explain_table_write)(
        walk->explanation, table, &walk->form->table, walk->page, walk->how->columns);
}

static void walk_formula(const struct walk *walk, enum explain_text kind,
                         const struct formula *formula)
{
    const char *text = walk->form->latex ? formula->latex : formula->text;
    if (text)
        walk->form->add_text(walk->page, kind, text);
}

static void walk_step(const struct walk *walk, const struct step *step)
{
    const struct explain_form *form = walk->form;
    form->begin_step(walk->page, (size_t)(step - walk->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        walk_formula(walk, EXPLAIN_FORMULA, &step->formulas[i]);
    if (step->note)
        form->add_text(walk->page, EXPLAIN_NOTE, step->note);
    for (size_t i = 0; i < step->given_count; i++)
        if (explain_shows(&step->givens[i], walk->how->full))
            walk_table(walk, &step->givens[i].table);
    if (step->table.row_count)
        walk_table(walk, &step->table);
    walk_formula(walk, EXPLAIN_WORKED, &step->worked);
    if (form->end_step)
        form->end_step(walk->page);
}

void explain_walk(const struct explanations *explanations, const struct explain_form *form,
                  struct page *page, const struct explain_page *how)
{
    for (size_t i = 0; i < explanations->count; i++) {
        const struct walk walk = {&explanations->items[i], form, page, how};
        form->begin_query(page, walk.explanation, i);
        for (size_t s = 0; s < walk.explanation->step_count; s++)
            walk_step(&walk, &walk.explanation->steps[s]);
        if (form->end_query)
            form->end_query(page);
    }
}
