/* section_fit.h: how the panels of a section are arranged, and how large everything is: as wide as
 * two columns of a paper at most, cells of one measure everywhere, labels where they can be read.
 */
#ifndef ATTN_DRAW_SECTION_FIT_H
#define ATTN_DRAW_SECTION_FIT_H

#include "draw/section.h"

/* Fill in all measures of a section whose sheets, kind and tones are known. */
void section_fit(struct section *section);

#endif
