/* text_heat.h: colours under the numbers of a page, and in place of them.
 *
 * A terminal has 24-bit colours, 256, 16, or none at all; then characters of four shades do.
 * Numbers near 0 keep the terminal's own ground, light or dark. Where that is not known they have
 * the light end of the colours: otherwise 0 would look stronger than the next colour on one kind.
 *
 *     if (text_heat_open(&heat, out, report, kept, place, err)) ...
 *     struct tone tone = text_heat_tone(&heat, head, &sheet, row);
 *     text_heat_set(&line, &heat, tone_level(&tone, value));
 *     buf_text(&line, " 0.5002");
 *     text_heat_reset(&line, &heat);
 *     text_heat_release(&heat);
 */
#ifndef ATTN_WRITE_TEXT_HEAT_H
#define ATTN_WRITE_TEXT_HEAT_H

#include <stdint.h>

#include "write/format.h"

struct text_heat {
    bool numbers; /* they are written */
    bool colours; /* there is heat, and it is shown by colours … */
    bool shades;  /* … or by characters */
    bool dark;    /* the terminal's ground */
    bool painted; /* numbers near 0 have a ground, too: that of the terminal is not known */
    enum style_depth depth;
    struct tones tones;
    struct tone *heads; /* [heads] where each has its own range; else NULL */
    struct ramp ramp;
    uint8_t fixed[RAMP_LEVELS]; /* the colours of a level where there are 256 */
    unsigned set;               /* the level whose colours the line has now; 0: none */
};

/* For numbers, or fractions, that lie in an extent; there is nothing to release. The stream is told
 * that its colours are ours: what is written beside them is made visible (label.h). */
void text_heat_begin(struct text_heat *heat, struct stream *out, struct extent extent,
                     bool fraction, const struct place *place);

/* For all heads of a tensor. */
int text_heat_open(struct text_heat *heat, struct stream *out, const struct report *report,
                   const struct kept *kept, const struct place *place, struct err *err);
void text_heat_release(struct text_heat *heat);

/* The tone of a row of the sheet of the tensor's head `index`. */
struct tone text_heat_tone(const struct text_heat *heat, size_t index, const struct sheet *sheet,
                           size_t row);

/* From here on the line has the colours of a level, or the terminal's own; nothing where there are
 * no colours. */
void text_heat_set(struct buf *line, struct text_heat *heat, unsigned level);
void text_heat_reset(struct buf *line, struct text_heat *heat);

/* The character for a level: a blank, ░, ▒, ▓ or █. */
const char *text_heat_shade(const struct text_heat *heat, unsigned level);

/* A line that says which colour is which number. */
void text_heat_legend(struct buf *line, struct text_heat *heat);

#endif
