/* explanation_fixture.h: a small explanation, made by hand, for the tests of what is written of it.
 *
 * Its tokens are chosen to disturb, its vectors are longer than a narrow page, and it has an empty
 * cell, minus infinity, and steps without a table.
 */
#ifndef ATTN_TESTS_EXPLANATION_FIXTURE_H
#define ATTN_TESTS_EXPLANATION_FIXTURE_H

#include "explain/explanation.h"

/* All of its four keys are shown; and only the two with the most weight. */
extern const struct explanation fixture_explanation;
extern const struct explanation fixture_explanation_short;

/* A page of 60 columns. */
extern const struct explain_page fixture_page;

typedef int (*fixture_explainer)(struct stream *, const struct explanations *,
                                 const struct explain_page *, struct err *);

/* What the writer writes, 0-terminated, valid until the next call. */
const char *fixture_explained(fixture_explainer writer, const struct explanation *explanation,
                              const struct explain_page *page);

/* Every allocation of the writer fails once; each time it must say so. */
void fixture_starve_explainer(fixture_explainer writer);

/* Every allocation fails once while a trace of the subject is made; each time it must say so. */
void fixture_starve_explanation(struct viewer *viewer, const struct text_pair *pair,
                                const struct explain_request *request);

#endif
