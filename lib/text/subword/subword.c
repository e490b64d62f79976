#include "text/subword/subword.h"

#include <stdio.h>
#include <string.h>

#include "text/encoder.h"
#include "text/label.h"

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

/* --- WordPiece and WordLevel: pieces that are words ------------------------------------------- */

static int refuse_word(const struct subword *model, const struct text_piece *piece, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    struct word unknown = {piece->text->bytes + piece->range.start,
                           piece->range.end - piece->range.start};
    size_t hint = 0;
    size_t at = aligned_text_place(piece->text, piece->range, &hint).start;
    if (model->row != &subword_rows[SUBWORD_WORD_PIECE])
        return words_refuse(model->words, unknown, at, err);
    return err_set(err, /* no suggestion: a piece is not a word that a user wrote */
                   "word '%s' at byte %zu is not in the vocabulary, which has no unknown token",
                   label_excerpt(shown, unknown.bytes, unknown.size), at);
}

static int add_unknown(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err)
{
    if (model->unknown == BPE_NONE)
        return refuse_word(model, piece, err);
    return encoder_add(encoder, piece, model->unknown, 0, piece->range.end - piece->range.start,
                       err);
}

int subword_encode_word_level(const struct subword *model, struct encoder *encoder,
                              const struct text_piece *piece, struct err *err)
{
    uint32_t id = 0;
    size_t size = piece->range.end - piece->range.start;
    if (!word_table_find(model->words, piece->text->bytes + piece->range.start, size, WORD_TEXT,
                         &id))
        return add_unknown(model, encoder, piece, err);
    return encoder_add(encoder, piece, id, 0, size, err);
}

/* Find the longest entry at `at`. Returns its end, or 0 if there is none. */
static size_t find_longest(const struct subword *model, const char *bytes, size_t size, size_t at,
                           uint32_t *id)
{
    uint32_t node = at ? model->rest : 0;
    size_t end = 0;
    if (at && !model->has_rests)
        return 0;
    while (at < size && (node = word_trie_step(&model->trie, node, (unsigned char)bytes[at]))) {
        at++;
        if (model->trie.ids[node] == WORD_TRIE_NONE)
            continue;
        *id = model->trie.ids[node];
        end = at;
    }
    return end;
}

/* Split a piece into entries; `found` is empty if that is not possible. */
static int find_all(const struct subword *model, struct token_list *found, const char *bytes,
                    size_t size, struct err *err)
{
    uint32_t id = 0;
    size_t characters = 0;
    found->count = 0;
    for (size_t i = 0; i < size; i++)
        characters += !utf8_continues(bytes[i]);
    if (characters > (size_t)model->most_characters)
        return 0;
    for (size_t at = 0, end; at < size; at = end) {
        end = find_longest(model, bytes, size, at, &id);
        if (!end)
            found->count = 0;
        if (!end)
            return 0;
        if (token_list_add(found, (struct token){id, at, end}, err))
            return -1;
    }
    return 0;
}

int subword_encode_word_piece(const struct subword *model, struct encoder *encoder,
                              const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    struct token_list *found = &encoder->found;
    struct piece_entry *entry = piece_cache_at(&encoder->cache, bytes, size);
    struct bpe_token tokens[PIECE_ENTRY_BYTES];
    if (entry && piece_entry_is(entry, bytes, size))
        return encoder_add_known(encoder, piece, entry, err);
    if (find_all(model, found, bytes, size, err))
        return -1;
    if (!found->count)
        return add_unknown(model, encoder, piece, err);
    for (size_t i = 0; i < found->count; i++) {
        struct token token = found->items[i];
        if (entry)
            tokens[i] = (struct bpe_token){
                .id = token.id, .start = (uint32_t)token.start, .end = (uint32_t)token.end};
        if (encoder_add(encoder, piece, token.id, token.start, token.end, err))
            return -1;
    }
    if (entry)
        piece_entry_set(entry, bytes, size, tokens, found->count);
    return 0;
}
