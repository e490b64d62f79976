/* small_models.h: a small model of every kind, and a text and source that fit all of them.
 *
 *     tiny_model_make(&model, small_encoder);
 *     rig_open(&rig, &model, 1);
 *     rig_watch_all(&rig);
 *     if (small_run(&rig, &seen, &err)) ...
 */
#pragma once

#include "forward_rig.h"

enum { LENGTH = 18, SOURCE = 21 }; /* tokens */

extern const char small_gpt2[];
extern const char small_self[];
extern const char small_cross[];
extern const char small_bare[];    /* no projections */
extern const char small_encoder[]; /* encoder and decoder */

struct text small_text(const struct tiny_model *model);

/* Run the text and count its tensors; returns the result of forward(). */
int small_run(struct rig *rig, struct recording *seen, struct err *err);
