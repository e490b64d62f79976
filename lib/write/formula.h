/* formula.h: formulas in the notation of a terminal, k_j, e^(x - max), √(σ² + ε), as HTML and as
 * LaTeX. */
#pragma once

#include <stddef.h>

struct buf;

void html_text(struct buf *out, const char *text, size_t size); /* escapes markup */
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);

/* Append a sentence: words such as W_q, without a ' before them, by `symbol`; others by `other`. */
typedef void write_word(struct buf *out, const char *word, size_t size);
void formula_prose(struct buf *out, const char *sentence, write_word *symbol, write_word *other);
