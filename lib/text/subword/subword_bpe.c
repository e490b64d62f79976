/* subword_bpe.c: BPE of tokenizer.json: its fields, and its pieces. */
#include <string.h>

#include "text/encoder.h"
#include "text/label.h"
#include "text/subword/subword.h"

/* What goes before words in vocabularies that have no blanks, after SentencePiece. */
static const char sign[] = "▁";

enum { SIGN_BYTES = sizeof sign - 1 };

/* --- reading ---------------------------------------------------------------------------------- */

static int read_affix(struct word *affix, struct field *field, struct arena *arena, struct err *err)
{
    const char *text = "";
    if (field_text(field, &text, err))
        return -1;
    affix->size = strlen(text);
    affix->bytes = arena_text(arena, text, affix->size, err);
    return affix->bytes ? 0 : -1;
}

static int read_unknown(struct bpe *bpe, struct field *field, struct arena *arena, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *text = "";
    if (field_text(field, &text, err))
        return -1;
    char *scratch = arena_alloc(arena, strlen(text) + 1, 1, err);
    if (!scratch)
        return -1;
    if (!*text || word_table_find_written(bpe->words, text, strlen(text), scratch, &bpe->unknown))
        return 0;
    return err_set(err, "unk_token: '%s' is not in the vocabulary",
                   label_excerpt(shown, text, strlen(text)));
}

static int read_settings(struct subword *model, const struct subword_source *source,
                         struct err *err)
{
    struct field *fields = source->fields;
    struct bpe *bpe = &model->bpe;
    bool falls_back = false;
    if (read_affix(&bpe->suffix, &fields[MODEL_SUFFIX], source->arena, err) ||
        read_unknown(bpe, &fields[MODEL_UNK_TOKEN], source->arena, err) ||
        field_bool(&fields[MODEL_FUSE_UNK], &bpe->fuses_unknown, err) ||
        field_bool(&fields[MODEL_IGNORE_MERGES], &bpe->takes_whole, err) ||
        field_bool(&fields[MODEL_BYTE_FALLBACK], &falls_back, err))
        return -1;
    if (falls_back)
        subword_find_bytes(bpe->fallback_ids, bpe->words);
    return 0;
}

int subword_read_bpe(struct subword *model, const struct subword_source *source, struct err *err)
{
    struct field *fields = source->fields;
    struct json_cursor vocab;
    struct json_cursor merges;
    struct word prefix = {0};
    char shown[LABEL_EXCERPT_BYTES];
    struct json_span dropout = fields[MODEL_DROPOUT].value;
    /* merges that are left to chance are for training */
    if (field_is_given(&fields[MODEL_DROPOUT]) && !json_span_is(dropout, "0") &&
        !json_span_is(dropout, "0.0"))
        return err_unsupported(err, "'dropout': %s is not supported",
                               label_excerpt(shown, dropout.bytes, dropout.size));
    if (field_need(&vocab, &fields[MODEL_VOCAB], "{", err) ||
        field_need(&merges, &fields[MODEL_MERGES], "[", err))
        return -1;
    if (word_table_read(source->words, vocab, source->form, source->file_bytes, err))
        return err_prefix(err, "vocab");
    if (read_affix(&prefix, &fields[MODEL_PREFIX], source->arena, err))
        return -1;
    bpe_init(&model->bpe, source->words);
    if (merges_read_json(&model->bpe, merges, prefix.size, err))
        return err_prefix(err, "merges");
    model->bpe.prefix = prefix;
    if (read_settings(model, source, err))
        return -1;
    model->cuts_at_signs = bpe_cuts_at_signs(&model->bpe);
    return 0;
}

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
    if (encoder->pipeline->is_spelt)
        return encode_spelt(&model->bpe, encoder, piece, err);
    for (size_t at = 0, end; at < size; at = end) {
        struct part part = {.piece = piece, .start = at};
        end = model->cuts_at_signs ? next_front(bytes, size, at) : size;
        if (encode_part(&model->bpe, encoder, &part, bytes + at, end - at, err))
            return -1;
    }
    return 0;
}
