/* pre_tokenizer.h: the steps that split a text into pieces before the model: `pre_tokenizer` of a
 * tokenizer.json. Each step gets a piece, splits or changes it, and passes on the results
 * (encoder.h).
 *
 * Most steps search (matcher.h) and split at the matches: Digits, Punctuation, Split,
 * Whitespace. ByteLevel and Metaspace change the piece before it is split. */
#pragma once

#include "text/stages.h"

/* A range of a text after its normalization, or after a step that changed it. */
struct text_piece {
    const struct aligned_text *text;
    struct text_range range;
};

/* If ByteLevel is the only type of step, add the space before texts or remove it. */
int pre_tokenizers_set_prefix(struct stage **steps, bool wanted, struct arena *arena,
                              struct err *err);

/* The `run` of ByteLevel: writes bytes as characters of GPT-2's alphabet. */
int pre_tokenizer_encode_bytes(const struct stage *step, struct encoder *encoder,
                               const struct text_piece *piece, struct err *err);
