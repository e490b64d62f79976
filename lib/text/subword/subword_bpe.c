/* subword_bpe.c: tokens of a piece by BPE. */
#include <string.h>

#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* What goes before words in vocabularies that have no blanks, after SentencePiece. */
static const char sign[] = "▁";

enum { SIGN_BYTES = sizeof sign - 1 };

/* --- pieces that may be cut ------------------------------------------------------------------- */

static bool is_sign(const char *bytes)
{
    return bytes[0] == sign[0] && bytes[1] == sign[1] && bytes[2] == sign[2];
}

/* The next place after `start` where a word's ▁ stands, the first of several; or the end. */
static size_t next_front(const char *bytes, size_t size, size_t start)
{
    for (size_t at = start + 1; at < size;) {
        while (at >= SIGN_BYTES && size - at >= SIGN_BYTES && is_sign(bytes + at) &&
               is_sign(bytes + at - SIGN_BYTES))
            at += SIGN_BYTES; /* of signs in a row only the first may be cut at */
        const char *found = memmem(bytes + at, size - at, sign, SIGN_BYTES);
        if (!found)
            return size;
        size_t place = (size_t)(found - bytes);
        bool after_sign = place >= SIGN_BYTES && is_sign(bytes + place - SIGN_BYTES);
        if (place > start && !after_sign)
            return place;
        at = place + SIGN_BYTES;
    }
    return size;
}

/* A text without pre-tokenizer is one piece, however long. Where nothing that is made of neighbours
 * has a ▁ after anything but another ▁, it may be cut there, and each part is encoded as if alone;
 * unless something may be dropped, which makes neighbours of what stands around it. */
bool bpe_cuts_at_signs(const struct bpe *bpe)
{
    uint32_t id = 0;
    if (!bpe->by_characters || bpe->takes_whole || bpe_drops(bpe) || bpe->prefix.size ||
        bpe->suffix.size || !word_table_find(bpe->words, sign, SIGN_BYTES, WORD_TEXT, &id))
        return false;
    for (size_t i = 0; i < bpe->count; i++) {
        size_t size = 0;
        if (i && bpe->merges[i].id == bpe->merges[i - 1].id)
            continue;
        const char *made = word_table_word(bpe->words, bpe->merges[i].id, &size);
        if (memchr(made, sign[0], size) && next_front(made, size, 0) < size)
            return false;
    }
    return true;
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* Bytes of a piece, and where they stand in it: `spelt` is a text in GPT-2's alphabet. */
struct part {
    const struct text_piece *piece;
    const char *spelt; /* NULL: byte for byte */
    size_t start;
    size_t spelt_at, byte_at; /* so far the alphabet was passed, and so many bytes */
};

/* Where a byte of the part stands in the piece. Bytes are asked for from left to right, but for
 * few. */
static size_t find_place(struct part *part, size_t byte)
{
    if (byte < part->byte_at)
        part->byte_at = part->spelt_at = 0;
    for (; part->byte_at < byte; part->byte_at++)
        part->spelt_at += (unsigned char)part->spelt[part->spelt_at] < 0x80 ? 1 : 2;
    return part->start + part->spelt_at;
}

static inline size_t place_of(struct part *part, size_t byte)
{
    return part->spelt ? find_place(part, byte) : part->start + byte;
}

static int add(struct encoder *encoder, struct part *part, struct bpe_token token, struct err *err)
{
    size_t start = 0;
    size_t end = 0;
    if (!encoder->list->only_ids) {
        start = place_of(part, token.start);
        end = place_of(part, token.end);
    }
    return encoder_add(encoder, part->piece, token.id, start, end, err);
}

static int add_known(struct encoder *encoder, struct part *part, const struct piece_entry *entry,
                     struct err *err)
{
    uint32_t start = 0;
    for (size_t i = 0; i < entry->count; i++) {
        struct bpe_token token = {.id = entry->ids[i], .start = start, .end = entry->ends[i]};
        if (add(encoder, part, token, err))
            return -1;
        start = entry->ends[i];
    }
    return 0;
}

static int encode_part(const struct bpe *bpe, struct encoder *encoder, struct part *part,
                       const char *bytes, size_t size, struct err *err)
{
    struct bpe_piece *piece = &encoder->piece;
    struct piece_entry *entry = piece_cache_at(&encoder->cache, bytes, size);
    if (entry && piece_entry_is(entry, bytes, size))
        return add_known(encoder, part, entry, err);
    if (bpe_encode(bpe, piece, bytes, size, err))
        return -1;
    if (entry && !piece->dropped)
        piece_entry_set(entry, bytes, size, piece->tokens, piece->count);
    if (piece->dropped) {
        size_t start = place_of(part, piece->dropped_first.start);
        struct text_range range = {start, place_of(part, piece->dropped_first.end)};
        encoder_drop(encoder, part->piece, range, piece->dropped);
    }
    for (size_t i = 0; i < piece->count; i++)
        if (add(encoder, part, piece->tokens[i], err))
            return -1;
    return 0;
}

/* A piece in the alphabet, as bytes. */
static int encode_spelt(const struct bpe *bpe, struct encoder *encoder,
                        const struct text_piece *piece, struct err *err)
{
    size_t size = piece->range.end - piece->range.start;
    size_t decoded = 0;
    struct part part = {.piece = piece, .spelt = piece->text->bytes + piece->range.start};
    struct buf *bytes = &encoder->scratch;
    buf_clear(bytes);
    buf_bytes(bytes, part.spelt, size);
    if (buf_check(bytes, err))
        return -1;
    byte_alphabet_decode(bytes->bytes, &decoded, bytes->bytes, size);
    return encode_part(bpe, encoder, &part, bytes->bytes, decoded, err);
}

int subword_encode_bpe(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    if (encoder->tokenizer->is_spelt)
        return encode_spelt(&model->bpe, encoder, piece, err);
    for (size_t at = 0, end; at < size; at = end) {
        struct part part = {.piece = piece, .start = at};
        end = model->cuts_at_signs ? next_front(bytes, size, at) : size;
        if (encode_part(&model->bpe, encoder, &part, bytes + at, end - at, err))
            return -1;
    }
    return 0;
}
