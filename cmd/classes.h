/* classes.h: tables of the classes of texts, tokens and answers. */
#pragma once

struct arena;
struct err;
struct report;
struct viewer;

extern const struct task classes_task; /* the task of `score --classes` */

/* Replace the logits, the last array of a report, by a table of classes: all classes of a text, the
 * best class of each token, or the best tokens for the `start` and `end` of an answer. */
int classes_show(struct report *report, const struct viewer *viewer, struct arena *arena,
                 struct err *err);
