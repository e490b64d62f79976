/* gguf_kinds.h: what values and numbers a GGUF file may have: the reader's tables, by enum
 * gguf_kind and by the numbers that ggml gives its types. */
#ifndef ATTN_FORMAT_GGUF_KINDS_H
#define ATTN_FORMAT_GGUF_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/gguf.h"

enum {
    GGUF_LENGTH_BYTES = 8, /* of texts and arrays stand before them */
    GGUF_TYPES = 40,
};

extern const struct gguf_kind_row {
    const char *name;
    size_t size; /* 0: it has no fixed one */
    bool is_whole, is_signed;
} gguf_kinds[];

extern const struct gguf_type gguf_types[GGUF_TYPES]; /* without a name: there is none */

#endif
