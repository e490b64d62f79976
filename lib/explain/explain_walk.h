/* explain_walk.h: explanations, piece by piece in the order of their pages, for whatever form they
 * are written in. What stands above them all, and below, the form writes itself.
 *
 *     static const struct explain_form form = {
 *         .begin_query = begin_query, .begin_step = begin_step, .add_text = add_text, ...
 *     struct page page = {0};
 *     explain_walk(explanations, &form, &page, &(struct explain_page){.columns = 100});
 *     int failed = text_send(out, &page.text, err);
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_WALK_H
#define ATTN_EXPLAIN_EXPLAIN_WALK_H

#include "base/buf.h"
#include "explain/explain_format.h"
#include "explain/explain_table.h"

/* The texts of a step: formulas, the sentence to read with them, and below its tables a formula
 * with numbers. */
enum explain_text { EXPLAIN_FORMULA, EXPLAIN_NOTE, EXPLAIN_WORKED };

/* Failures stick to the page. */
struct explain_form {
    bool latex; /* formulas are in LaTeX's notation, not the terminal's */
    /* The `place`th of the queries, with its title if there are several. */
    void (*begin_query)(struct page *page, const struct explanation *explanation, size_t place);
    void (*begin_step)(struct page *page, size_t number, const char *title);
    void (*add_text)(struct page *page, enum explain_text kind, const char *text);
    struct explain_table_form table;
    void (*end_step)(struct page *page);  /* may be NULL */
    void (*end_query)(struct page *page); /* may be NULL */
};

/* `how`: the columns that a table has; and in full tables are in several parts where one is too
 * wide. */
void explain_walk(const struct explanations *explanations, const struct explain_form *form,
                  struct page *page, const struct explain_page *how);

#endif
