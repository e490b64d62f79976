#include "text/subword/subword.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "text/label.h"

const struct subword_row subword_rows[SUBWORD_COUNT] = {
    [SUBWORD_BPE] = {"BPE", subword_read_bpe, subword_encode_bpe},
    [SUBWORD_UNIGRAM] = {"Unigram", subword_read_unigram, subword_encode_unigram},
    [SUBWORD_WORD_PIECE] = {"WordPiece", subword_read_word_piece, subword_encode_word_piece},
    [SUBWORD_WORD_LEVEL] = {"WordLevel", subword_read_word_level, subword_encode_word_level},
};

enum { BYTE_NAME_BYTES = 8 };

/* Files of old versions do not name the model; then other fields tell. */
static const char *guess_type(const struct field *fields)
{
    return field_is_given(&fields[MODEL_MERGES])            ? "BPE"
           : field_is_given(&fields[MODEL_UNK_ID])          ? "Unigram"
           : field_is_given(&fields[MODEL_MOST_CHARACTERS]) ? "WordPiece"
                                                            : NULL;
}

int subword_read(struct subword *model, const struct subword_source *source, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    struct field *fields = source->fields;
    const char *type = NULL;
    size_t row = 0;
    if (field_text(&fields[MODEL_TYPE], &type, err))
        return -1;
    type = type ? type : guess_type(fields);
    if (!type)
        return err_set(err, "expected a field 'type'");
    if (!names_find(&row, NAMES(subword_rows, SUBWORD_COUNT), type, strlen(type)))
        return err_unsupported(err, "type '%s' is not supported",
                               label_excerpt(shown, type, strlen(type)));
    if (source->form == WORD_BYTES && row != SUBWORD_BPE)
        return err_unsupported(err, "%s with the pre_tokenizer ByteLevel is not supported",
                               subword_rows[row].name);
    *model =
        (struct subword){.row = &subword_rows[row], .words = source->words, .unknown = BPE_NONE};
    return subword_rows[row].read(model, source, err);
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
