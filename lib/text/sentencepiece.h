/* sentencepiece.h: the contents of a model file of SentencePiece. sentencepiece.c and
 * sentencepiece_classes.c make tokenizers from it. */
#pragma once

#include "text/builder.h"

struct sentencepiece_piece {
    struct word word;
    float score;
    enum sentencepiece_kind kind;
};

struct sentencepiece {
    struct sentencepiece_piece *pieces; /* array of `count` pieces, by id */
    size_t count;
    size_t bytes; /* total size of all words in bytes */
    uint64_t kind;
    bool falls_back, suffix; /* settings byte_fallback and treat_whitespace_as_suffix of the file */
    struct sentencepiece_rules rules;
};

/* Read a model file. Words point to the bytes of the file; the array of pieces is in the arena. */
int sentencepiece_read(struct sentencepiece *model, const struct file *file, struct arena *arena,
                       struct err *err);

/* Make the BPE of a tokenizer whose words are these pieces: scores decide the order of merges.
 * Words with equal scores have equal ranks, so the leftmost of their pairs is joined first. */
int sentencepiece_add_merges(struct tokenizer *tokenizer, const struct sentencepiece *model,
                             struct err *err);
