/* question.h: checks whether a model has what a measure needs, and computes the logit of an
 * answer. */
#pragma once

#include "lens/viewer.h"

enum { NEEDS_LOGITS = 1, NEEDS_ONE_TEXT = 2, NEEDS_CAUSAL = 4, NEEDS_WORDS = 8 };

/* Refuse, as not supported, a model that does not meet one of the `needs` of a measure, a set of
 * bits NEEDS_…. NEEDS_WORDS: the logits are of tokens, not of classes. */
int model_check(const struct model *model, unsigned needs, struct err *err);

/* Refuse a model without logits, or one that model_check refuses for these `needs`; and refuse, as
 * usage, edits of logits. */
int logits_check(const struct viewer *viewer, unsigned needs, struct err *err);

/* The logit of a token at a position of a text, or the difference of two logits. */
struct question {
    size_t position; /* position of the token before the answer, or of the mask in its place */
    long long answer, against; /* token ids; answer -1: the most likely token; against -1: no second
                                * token */
};

/* Compute the logit, or the difference of two logits, from logits [count]. An answer of -1 becomes
 * the most likely token. */
double question_ask(struct question *question, const float *logits, size_t count);
