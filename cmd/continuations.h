/* continuations.h: the texts of `score --continue`: a text joined with each continuation. In a
 * masked model, a text may have a mask token: the continuation then takes its place.
 *
 *     the keys to the cabinet [MASK] old.   are → the keys to the cabinet are old. */
#pragma once

#include "items.h"
#include "measure/score_report.h"

/* Read the texts into pairs [count]. Returns the tokens of each continuation; NULL with `err`.
 * Refused: a continuation that changes tokens of the text or has none, and several mask tokens. */
const struct score_region *continuations_read(struct text_with_source *pairs,
                                              const struct text_with_source *pair,
                                              const struct texts *continuations,
                                              const struct viewer *viewer, struct arena *arena,
                                              struct err *err);
