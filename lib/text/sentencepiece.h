/* sentencepiece.h: what SentencePiece's own file, tokenizer.model, says. */
#ifndef ATTN_TEXT_SENTENCEPIECE_H
#define ATTN_TEXT_SENTENCEPIECE_H

#include "base/file.h"
#include "base/memory.h"
#include "text/word_table.h"

enum sentencepiece_kind {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN,
    PIECE_CONTROL,
    PIECE_USER_DEFINED,
    PIECE_UNUSED,
    PIECE_BYTE,
};

struct sentencepiece_piece {
    struct word word;
    float score;
    enum sentencepiece_kind kind;
};

enum { SENTENCEPIECE_UNIGRAM = 1, SENTENCEPIECE_BPE = 2 };

struct sentencepiece {
    struct sentencepiece_piece *pieces; /* [count] by id */
    size_t count;
    size_t bytes; /* of all words */
    uint64_t kind;
    bool falls_back, suffix;
    const unsigned char *charsmap;
    size_t charsmap_size;
    bool prefixes, collapses, escapes;
};

/* Read a file that stays open; the pieces are the arena's. */
int sentencepiece_read(struct sentencepiece *model, const struct file *file, struct arena *arena,
                       struct err *err);

#endif
