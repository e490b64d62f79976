#include "explain/explain_walk.h"

#include <string.h>

const char *explain_token(const struct explanation *explanation)
{
    return explanation->text->labels[explanation->query].exact;
}

/* --- the walk --------------------------------------------------------------------------------- */

bool explain_shows(const struct given *given, bool full)
{
    return !given->is_shown && (full || given->is_small);
}

static void walk_step(struct explain_table *walk, const struct step *step,
                      const struct explain_page *how)
{
    const struct explain_form *form = walk->form;
    form->begin_step(walk->page, (size_t)(step - walk->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        form->add_text(walk->page, EXPLAIN_FORMULA, step->formulas[i]);
    if (step->note)
        form->add_text(walk->page, EXPLAIN_NOTE, step->note);
    for (size_t i = 0; i < step->given_count; i++) {
        walk->data = &step->givens[i].table;
        if (explain_shows(&step->givens[i], how->full))
            explain_table_write(walk, how);
    }
    walk->data = &step->table;
    if (step->table.row_count)
        explain_table_write(walk, how);
    if (step->worked)
        form->add_text(walk->page, EXPLAIN_WORKED, step->worked);
    if (form->end_step)
        form->end_step(walk->page);
}

int explain_walk(const struct explanations *explanations, const struct explain_form *form,
                 struct page *page, const struct explain_page *how, struct err *err)
{
    struct buf text = {0};
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->items[i];
        struct explain_table walk = {
            .explanation = explanation, .form = form, .page = page, .text = &text};
        form->begin_query(page, explanation, i);
        for (size_t s = 0; s < explanation->step_count; s++)
            walk_step(&walk, &explanation->steps[s], how);
        if (form->end_query)
            form->end_query(page);
    }
    int failed = buf_check(&text, err);
    buf_release(&text);
    return failed;
}

/* --- markups ---------------------------------------------------------------------------------- */

struct page {
    struct buf text;
    const struct markup *markup;
    const struct explain_table *table; /* that is being written */
    bool several;                      /* explanations */
};

static void add(struct page *page, const char *mark)
{
    if (mark)
        buf_text(&page->text, mark);
}

static void add_text(struct page *page, const struct marks *marks, const char *text)
{
    add(page, marks->before);
    page->markup->text(&page->text, text, strlen(text));
    add(page, marks->after);
}

/* A name, a text that was given, in quotes, and words of our own. */
static void add_fact(struct page *page, const char *name, const struct marks *quote,
                     const struct buf *quoted, const char *words)
{
    const struct markup *markup = page->markup;
    add(page, markup->fact.before);
    add(page, name);
    add(page, markup->fact.after);
    if (quoted && quoted->size) {
        add(page, quote->before);
        markup->text(&page->text, quoted->bytes, quoted->size);
        add(page, quote->after);
    }
    if (markup->escapes_words)
        markup->text(&page->text, words, strlen(words));
    else
        add(page, words);
    add(page, markup->fact.end);
    page->text.out_of_memory |= quoted && quoted->out_of_memory;
}

static void add_text_fact(struct page *page, const char *name, const struct tokenized *tokenized)
{
    struct buf text = {0};
    tokenized_visible(&text, tokenized);
    add_fact(page, name, &page->markup->quote, &text, "");
    buf_release(&text);
}

static void add_report_facts(struct page *page, const struct report *report)
{
    struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    add_text_fact(page, "model", &model);
    if (report->mechanism)
        add_fact(page, "mechanism", NULL, NULL, report->mechanism);
    add_text_fact(page, "sentence", &report->sentence);
    if (report->source.count)
        add_text_fact(page, "source", &report->source);
}

static void add_query_facts(struct page *page, const struct explanation *explanation)
{
    struct buf token = {0};
    struct buf words = {0};
    buf_text(&token, explain_token(explanation));
    if (explanation->part)
        buf_format(&words, ", %s", explanation->part->words);
    buf_format(&words, ", layer %zu, head %zu", explanation->layer, explanation->head);
    add_fact(page, "query", &page->markup->query_quote, &token, words.size ? words.bytes : "");
    buf_clear(&words);
    buf_format(&words, "%zu of %zu, which have %.2f of the weight", explanation->shown_count,
               explanation->key_count, (double)explanation->shown_weight);
    if (explanation->shown_count < explanation->key_count)
        add_fact(page, "keys shown", NULL, NULL, words.size ? words.bytes : "");
    page->text.out_of_memory |= words.out_of_memory;
    buf_release(&token);
    buf_release(&words);
}

static void add_cell(struct page *page, const struct explain_cell *cell)
{
    const struct markup *markup = page->markup;
    bool is_title = cell->line == LINE_TITLES && markup->titles[cell->kind].before;
    const struct marks *marks = &(is_title ? markup->titles : markup->cells)[cell->kind];
    if (cell->kind == CELL_HEADING) {
        markup->heading_cell(&page->text, cell);
    } else if (cell->kind == CELL_BAR && cell->line == LINE_ROW) {
        markup->bar_cell(&page->text, (double)cell->value);
    } else {
        add(page, marks->before);
        add(page, cell->kind == CELL_DOTS ? "…" : cell->text);
        add(page, marks->after);
    }
}

static void add_columns(struct page *page)
{
    const struct step_table *table = page->table->data;
    add(page, page->markup->columns.label);
    for (size_t b = 0; b < table->block_count; b++) {
        for (size_t slot = 0; slot < text_cut_slots(&page->table->cuts[b]); slot++)
            add(page, page->markup->columns.number);
        add(page, table->blocks[b].is_share ? page->markup->columns.share : "");
    }
    add(page, page->markup->columns.end);
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    add(page, page->markup->table_begin);
}

static void end_table(struct page *page)
{
    add(page, page->markup->table_end[page->table->data->total != NULL]);
    for (size_t b = 0; b < page->table->data->block_count; b++) {
        const struct text_cut *cut = &page->table->cuts[b];
        if (page->markup->says_parts && text_is_cut(cut))
            buf_format(&page->text, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

static void begin_line(struct page *page, const struct explain_line *line)
{
    const struct markup *markup = page->markup;
    bool is_row = line->kind == LINE_ROW;
    add(page, line->is_own ? markup->own_row.before : markup->lines[line->kind].before);
    if (is_row && page->table->data->of_keys)
        buf_format(&page->text, "%zu ", line->row);
    if (is_row)
        add_text(page, &markup->name, line->label);
    else if (line->kind == LINE_TOTAL)
        markup->text(&page->text, line->label, strlen(line->label));
    else
        add(page, line->kind == LINE_GAP ? "…" : line->label);
    add(page, line->is_own ? markup->own_row.after : markup->lines[line->kind].after);
}

static void end_line(struct page *page, enum explain_line_kind line)
{
    add(page, page->markup->lines[line].end);
    if (line == LINE_TITLES && page->markup->columns.label)
        add_columns(page);
}

static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    (void)place;
    const struct markup *markup = page->markup;
    if (markup->anchor.before)
        buf_format(&page->text, "%s%zu%s", markup->anchor.before, explanation->query,
                   markup->anchor.after);
    if (page->several)
        add_text(page, &markup->query, explain_token(explanation));
    add(page, markup->facts.before);
    add_query_facts(page, explanation);
    add(page, markup->facts.after);
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    const struct markup *markup = page->markup;
    buf_format(&page->text, "%s%zu%s%s%s", markup->step[page->several].before, number,
               markup->step[page->several].number, title, markup->step[page->several].after);
}

static void end_step(struct page *page)
{
    add(page, page->markup->step_end);
}

static void end_query(struct page *page)
{
    add(page, page->markup->query_end);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    const struct markup *markup = page->markup;
    add(page, markup->paragraphs[kind].before);
    (kind == EXPLAIN_NOTE ? markup->prose : markup->form.formula)(&page->text, text);
    add(page, markup->paragraphs[kind].after);
}

int explain_markup_write(struct stream *out, const struct explanations *explanations,
                         const struct explain_page *how, const struct markup *markup,
                         struct err *err)
{
    struct explain_form form = markup->form;
    form.lacks_headings = !markup->heading_cell;
    form.begin_query = begin_query;
    form.begin_step = begin_step;
    form.add_text = add_paragraph;
    form.begin_table = begin_table;
    form.begin_line = begin_line;
    form.add_cell = add_cell;
    form.end_line = end_line;
    form.end_table = end_table;
    form.end_step = end_step;
    form.end_query = end_query;
    struct page page = {.markup = markup, .several = explanations->several};
    const struct report *report = explanations->items->report;
    if (markup->begin)
        markup->begin(&page.text, report);
    add(&page, markup->title.before);
    add(&page, page.several ? "Every query, step by step" : "One query, step by step");
    add(&page, markup->title.after);
    add(&page, markup->facts.before);
    add_report_facts(&page, report);
    add(&page, markup->facts.after);
    if (page.several && markup->links)
        markup->links(&page.text, explanations);
    int failed = explain_walk(explanations, &form, &page, how, err);
    add(&page, markup->end);
    failed = failed || text_send(out, &page.text, err);
    buf_release(&page.text);
    return failed ? -1 : 0;
}
