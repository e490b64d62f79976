/* subword_unigram.c: Unigram: of all ways to put a piece together from entries the one whose scores
 * have the largest sum, found in one pass over the piece's characters. */
#include <float.h>
#include <string.h>

#include "base/heap.h"
#include "text/encoder.h"
#include "text/label.h"

/* How far below the least score that of a character is that no entry has. */
static const double penalty = 10;

/* The best way to a place in the piece: its score, its last step, and where the step ends that goes
 * on from there, when it is known. */
struct text_path {
    double score;
    uint32_t start;
    uint32_t id; /* BPE_NONE: of a character that no entry has */
    uint32_t next;
    bool reached;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int find_least(struct subword *model, struct err *err)
{
    double least = DBL_MAX;
    for (size_t id = 0; id < model->words->size; id++)
        if (model->words->places[id].form != WORD_ABSENT && model->scores[id] < least)
            least = model->scores[id];
    if (least == DBL_MAX)
        return err_set(err, "vocab: expected scores, found none");
    model->unknown_score = least - penalty;
    return 0;
}

int subword_read_unigram(struct subword *model, const struct subword_source *source,
                         struct err *err)
{
    struct field *fields = source->fields;
    struct json_cursor vocab;
    long long unknown = -1;
    bool falls_back = false;
    model->fuses_unknown = true;
    if (field_need(&vocab, &fields[MODEL_VOCAB], "[", err))
        return -1;
    if (word_table_read(source->words, vocab, WORD_TEXT, source->file_bytes, err))
        return err_prefix(err, "vocab");
    model->scores = source->words->scores;
    if (!model->scores)
        return err_set(err, "vocab: expected items [\"▁a\", -3.5], found words alone");
    if (field_integer(&fields[MODEL_UNK_ID], 0, (long long)model->words->size - 1, &unknown, err) ||
        field_bool(&fields[MODEL_BYTE_FALLBACK], &falls_back, err) ||
        field_bool(&fields[MODEL_FUSE_UNK], &model->fuses_unknown, err) || find_least(model, err) ||
        prefix_index_init(&model->index, model->words, source->arena, err))
        return -1;
    model->unknown = unknown < 0 ? BPE_NONE : (uint32_t)unknown;
    memset(model->byte_ids, 0xFF, sizeof model->byte_ids);
    if (falls_back)
        subword_find_bytes(model->byte_ids, model->words);
    return 0;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void offer(struct text_path *path, double score, size_t start, uint32_t id)
{
    if (path->reached && score <= path->score)
        return;
    *path = (struct text_path){score, (uint32_t)start, id, 0, true};
}

static double sum(const struct subword *model, double a, double b)
{
    return model->is_single ? (double)((float)a + (float)b) : a + b;
}

/* Go on from a place by every entry that begins there, and by one unknown character. */
static void go_on(const struct subword *model, struct text_path *path, const char *bytes,
                  size_t size, size_t at, size_t length)
{
    double score = path[at].score;
    bool known = false; /* the character alone is an entry */
    const struct prefix_entry *entry = prefix_index_longest(&model->index, bytes + at, size - at);
    for (; entry; entry = prefix_index_shorter(&model->index, entry)) {
        if (model->scores[entry->id] == SUBWORD_ABSENT)
            continue;
        offer(&path[at + entry->word.size], sum(model, score, model->scores[entry->id]), at,
              entry->id);
        known |= entry->word.size == length;
    }
    if (!known)
        offer(&path[at + length], sum(model, score, model->unknown_score), at, BPE_NONE);
}

static int reserve(struct encoder *encoder, size_t size, struct err *err)
{
    if (size > UINT32_MAX / 2)
        return err_set(err, "expected a shorter text in a row that nothing cuts, found %zu bytes",
                       size);
    if (size >= encoder->path_room) {
        struct text_path *path = heap_resize(encoder->path, size + 1, sizeof *path, err);
        if (!path)
            return -1;
        encoder->path = path;
        encoder->path_room = size + 1;
    }
    memset(encoder->path, 0, (size + 1) * sizeof *encoder->path);
    return 0;
}

/* Bytes of the piece that are no entry. */
static int add_unknown(const struct subword *model, struct encoder *encoder,
                       const struct text_piece *piece, struct text_range range, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *bytes = piece->text->bytes + piece->range.start;
    uint32_t id = model->unknown;
    bool all = true; /* every byte has a token */
    for (size_t i = range.start; i < range.end; i++)
        all = all && model->byte_ids[(unsigned char)bytes[i]] != BPE_NONE;
    for (size_t i = range.start; all && i < range.end; i++)
        if (encoder_add(encoder, piece, model->byte_ids[(unsigned char)bytes[i]], i, i + 1, err))
            return -1;
    if (all)
        return 0;
    if (id == BPE_NONE) {
        struct text_range whole = {piece->range.start + range.start,
                                   piece->range.start + range.end};
        return err_set(err,
                       "'%s' at byte %zu is not in the vocabulary, which has no word for the "
                       "unknown",
                       label_excerpt(shown, bytes + range.start, range.end - range.start),
                       aligned_text_place(piece->text, whole, &encoder->hint).start);
    }
    return encoder_add(encoder, piece, id, range.start, range.end, err);
}

/* Add the tokens of the best way. */
static int collect(const struct subword *model, struct encoder *encoder,
                   const struct text_piece *piece, struct err *err)
{
    struct text_path *path = encoder->path;
    size_t size = piece->range.end - piece->range.start;
    for (size_t at = size; at > 0; at = path[at].start)
        path[path[at].start].next = (uint32_t)at;
    for (size_t at = 0, end; at < size; at = end) {
        end = path[at].next;
        uint32_t id = path[end].id;
        while (model->fuses_unknown && id == BPE_NONE && end < size &&
               path[path[end].next].id == BPE_NONE)
            end = path[end].next;
        struct text_range range = {at, end};
        if (id == BPE_NONE ? add_unknown(model, encoder, piece, range, err)
                           : encoder_add(encoder, piece, id, at, end, err))
            return -1;
    }
    return 0;
}

int subword_encode_unigram(const struct subword *model, struct encoder *encoder,
                           const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes + piece->range.start;
    size_t size = piece->range.end - piece->range.start;
    if (reserve(encoder, size, err))
        return -1;
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t c = 0;
        length = utf8_decode(&c, bytes + at, size - at);
        go_on(model, encoder->path, bytes, size, at, length);
    }
    return collect(model, encoder, piece, err);
}
