/* models_change.h: what may be changed in the files of a model, and command lines that run it. */
#ifndef ATTN_TESTS_MODELS_CHANGE_H
#define ATTN_TESTS_MODELS_CHANGE_H

#include "made.h"

/* One field of m/config.json gets a value, as JSON; it may be one that was not there. */
void models_set(struct made *made, const char *field, const char *value);

/* Something in the config or the vocabulary; in the tensors; they stand in two files, with an
 * index, which is changed. */
void models_change_json(struct made *made);
void models_change_tensors(struct made *made);
void models_split(struct made *made);

/* A `run` of some look and mechanism; `text` and `source` are options, or nothing. */
void models_add_run(struct made *made, const char *text, const char *source);

#endif
