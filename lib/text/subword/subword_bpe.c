/* subword_bpe.c: encodes pieces by BPE (bpe.h), with a cache of short pieces. */
#include <string.h>

#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* The sign of a space before a word in vocabularies of SentencePiece. */
static const char sign[] = "▁";

enum { SIGN_BYTES = sizeof sign - 1 };

/* --- splitting long pieces -------------------------------------------------------------------- */

static bool is_sign(const char *bytes)
{
    return bytes[0] == sign[0] && bytes[1] == sign[1] && bytes[2] == sign[2];
}

/* The position of the next ▁ after `start` that does not follow another ▁, or the end. */
static size_t next_front(const char *bytes, size_t size, size_t start)
{
    for (size_t at = start + 1; at < size;) {
        while (at >= SIGN_BYTES && size - at >= SIGN_BYTES && is_sign(bytes + at) &&
               is_sign(bytes + at - SIGN_BYTES))
            at += SIGN_BYTES; /* skip all but the first of several signs */
        const char *found = memmem(bytes + at, size - at, sign, SIGN_BYTES);
        if (!found)
            return size;
        size_t position = (size_t)(found - bytes);
        bool after_sign = position >= SIGN_BYTES && is_sign(bytes + position - SIGN_BYTES);
        if (position > start && !after_sign)
            return position;
        at = position + SIGN_BYTES;
    }
    return size;
}

/* Without a pre-tokenizer, a text of any size is one piece. If no merge makes a word with a ▁ after
 * another character, no pair across a ▁ is ever joined, so the parts between can be encoded alone.
 * This does not hold if a character may be dropped: tokens around it then become neighbours. */
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

/* A part of a piece: maps offsets of decoded bytes to offsets in the piece. */
struct part {
    const struct text_piece *piece;
    const char *text; /* the text in GPT-2's alphabet; NULL: offsets are the same */
    size_t start;
    size_t text_at, byte_at; /* the last pair of equal positions found */
};

/* The position in the piece of a byte of the part; fast for ascending bytes, as most are. */
static size_t find_position(struct part *part, size_t byte)
{
    if (byte < part->byte_at)
        part->byte_at = part->text_at = 0;
    for (; part->byte_at < byte; part->byte_at++)
        part->text_at += (unsigned char)part->text[part->text_at] < 0x80 ? 1 : 2;
    return part->start + part->text_at;
}

static inline size_t position_of(struct part *part, size_t byte)
{
    return part->text ? find_position(part, byte) : part->start + byte;
}

static int add(struct encoder *encoder, struct part *part, struct bpe_token token, struct err *err)
{
    size_t start = 0;
    size_t end = 0;
    if (!encoder->list->only_ids) {
        start = position_of(part, token.start);
        end = position_of(part, token.end);
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
        size_t start = position_of(part, piece->dropped_first.start);
        struct text_range range = {start, position_of(part, piece->dropped_first.end)};
        encoder_drop(encoder, part->piece, range, piece->dropped);
    }
    for (size_t i = 0; i < piece->count; i++)
        if (add(encoder, part, piece->tokens[i], err))
            return -1;
    return 0;
}

/* Encode a piece that is written in GPT-2's alphabet. */
static int encode_byte_level(const struct bpe *bpe, struct encoder *encoder,
                             const struct text_piece *piece, struct err *err)
{
    size_t size = piece->range.end - piece->range.start;
    size_t decoded = 0;
    struct part part = {.piece = piece, .text = piece->text->bytes + piece->range.start};
    struct buf *bytes = &encoder->scratch;
    buf_clear(bytes);
    buf_bytes(bytes, part.text, size);
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
        return encode_byte_level(&model->bpe, encoder, piece, err);
    for (size_t at = 0, end; at < size; at = end) {
        struct part part = {.piece = piece, .start = at};
        end = model->cuts_at_signs ? next_front(bytes, size, at) : size;
        if (encode_part(&model->bpe, encoder, &part, bytes + at, end - at, err))
            return -1;
    }
    return 0;
}
