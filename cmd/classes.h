/* classes.h: tables of the classes of texts, tokens and answers. */
#pragma once

struct arena;
struct err;
struct report;
struct viewer;

extern const struct task classes_task; /* score --classes */

/* Put a table of classes in place of the logits, the last array of a report: of a text each class;
 * of tokens the best class of each; of an answer the best token of `start` and `end`. */
int classes_show(struct report *report, const struct viewer *viewer, struct arena *arena,
                 struct err *err);
