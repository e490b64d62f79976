#include "text/subword/subword.h"

#include <stdio.h>

const struct subword_row subword_rows[SUBWORD_COUNT] = {
    [SUBWORD_BPE] = {"BPE", subword_encode_bpe},
    [SUBWORD_UNIGRAM] = {"Unigram", subword_encode_unigram},
    [SUBWORD_WORD_PIECE] = {"WordPiece", subword_encode_word_piece},
    [SUBWORD_WORD_LEVEL] = {"WordLevel", subword_encode_word_level},
    [SUBWORD_WORDS] = {"words", subword_encode_words},
};

enum { BYTE_NAME_BYTES = 8 };

void subword_init(struct subword *model, const struct subword_row *row,
                  const struct word_table *words)
{
    *model = (struct subword){.row = row, .words = words, .unknown = BPE_NONE};
}

void subword_release(struct subword *model)
{
    bpe_release(&model->bpe);
    word_trie_release(&model->trie);
}

void subword_find_bytes(uint32_t ids[256], const struct word_table *words)
{
    char name[BYTE_NAME_BYTES];
    for (unsigned byte = 0; byte < 256; byte++) {
        ids[byte] = BPE_NONE;
        int size = snprintf(name, sizeof name, "<0x%02X>", byte);
        word_table_find(words, name, (size_t)size, WORD_TEXT, &ids[byte]);
    }
}
