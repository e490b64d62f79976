/* explain_facts.h: what stands above an explanation in a document, before its steps: the model and
 * its texts, which query it is, and how much of it is shown. (A page of a terminal has titles.)
 *
 *     static void add_fact(struct buf *out, const struct explain_fact *fact) { ... }
 *     explain_facts_add(&out, explanation->report, add_fact);
 *     explain_facts_add_query(&out, explanation, add_fact);
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_FACTS_H
#define ATTN_EXPLAIN_EXPLAIN_FACTS_H

#include "base/buf.h"
#include "explain/explanation.h"

struct explain_fact {
    const char *name;   /* "sentence" */
    const char *quoted; /* [size] what was given, to be escaped; NULL: nothing */
    size_t size;
    const char *words; /* behind it, our own; may be "" */
    bool is_query;     /* its token is marked in tables, too */
};

/* What the query's token is called. */
const char *explain_token(const struct explanation *explanation);

/* Writes one fact, which it may keep nothing of. */
typedef void (*explain_fact_writer)(struct buf *out, const struct explain_fact *fact);

/* Have the facts written, in their order: those of the model and its texts; of a query. Failures of
 * memory stick to `out`. */
void explain_facts_add(struct buf *out, const struct report *report, explain_fact_writer add);
void explain_facts_add_query(struct buf *out, const struct explanation *explanation,
                             explain_fact_writer add);

#endif
