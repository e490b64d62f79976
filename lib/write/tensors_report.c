/* tensors_report.c: every tensor of a report in one safetensors file, or one as npy.
 *
 * The metadata, text to text, says where the numbers come from:
 *
 *     format         "pt": what readers expect to find there
 *     model          as it was given
 *     precision      "bf16" where products were not of float32
 *     sentence       absent when ids were given
 *     ids, tokens    JSON arrays: [0, 1] and ["Life", "is"]
 *     source, source_ids, source_tokens   the same of what is looked at, for cross-attention
 *     words, source_words   where axes count words: [[4, 2]] is one of two tokens, from token 4 on
 *     heads, layers  [0, 2] when heads were selected; the layers that means were made of
 *     first_shown    1 when the first token or word is on no axis
 */
#include <string.h>

#include "format/json_writer.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "write/format.h"

enum { NOTES_MAX = 15 };

struct notes {
    struct safetensors_note items[NOTES_MAX];
    struct buf texts[NOTES_MAX];
    size_t count;
};

/* Begin a note; its text goes into the buffer that is returned. */
static struct buf *note(struct notes *notes, const char *key)
{
    notes->items[notes->count].key = key;
    struct buf *text = &notes->texts[notes->count++];
    buf_text(text, "");
    return text;
}

/* A note ends at a 0 byte; one within the text becomes U+FFFD, so that nothing is cut. */
static void note_text(struct buf *out, const struct tokenized *tokenized)
{
    for (size_t at = 0; at < tokenized->size;) {
        const char *text = tokenized->text + at;
        size_t size = strnlen(text, tokenized->size - at);
        buf_bytes(out, text, size);
        at += size;
        if (at < tokenized->size) {
            buf_text(out, "\xef\xbf\xbd");
            at++;
        }
    }
}

/* The ids, or what they stand for. */
static void note_tokens(struct buf *out, const struct tokenized *tokenized, bool ids)
{
    struct json_writer json = {.buf = out};
    json_put_open(&json, NULL, '[');
    for (size_t i = 0; i < tokenized->count; i++) {
        if (ids)
            json_put_integer(&json, NULL, tokenized->tokens[i].id);
        else
            json_put_text(&json, NULL, tokenized->labels[i].plain);
    }
    json_put_close(&json, ']');
}

static void note_words(struct buf *out, const struct tokenized *tokenized)
{
    struct json_writer json = {.buf = out};
    json_put_open(&json, NULL, '[');
    for (size_t i = 0; i < tokenized->word_count; i++) {
        const size_t word[] = {tokenized->words[i].first, tokenized->words[i].count};
        json_put_integers(&json, NULL, word, 2);
    }
    json_put_close(&json, ']');
}

static void note_numbers(struct buf *out, const size_t *numbers, size_t count)
{
    json_put_integers(&(struct json_writer){.buf = out}, NULL, numbers, count);
}

/* A text with its ids and tokens. */
static void note_reading(struct notes *notes, const struct tokenized *tokenized,
                         const char *const names[4])
{
    if (tokenized->text)
        note_text(note(notes, names[0]), tokenized);
    note_tokens(note(notes, names[1]), tokenized, true);
    note_tokens(note(notes, names[2]), tokenized, false);
    if (tokenized->words)
        note_words(note(notes, names[3]), tokenized);
}

/* What the axes and numbers are, where that does not go without saying. */
static void note_choices(struct notes *notes, const struct report *report)
{
    bool means = false;
    if (report->heads)
        note_numbers(note(notes, "heads"), report->heads, report->head_count);
    for (size_t i = 0; i < report->tensor_count; i++)
        means |= kept_is_mean_of_layers(&report->tensors[i]);
    if (means && report->layers.count)
        note_numbers(note(notes, "layers"), report->layers.items, report->layers.count);
    if (means && report->encoder_layers.count)
        note_numbers(note(notes, "encoder_layers"), report->encoder_layers.items,
                     report->encoder_layers.count);
    if (report->first_shown)
        buf_format(note(notes, "first_shown"), "%zu", report->first_shown);
}

static int make_notes(struct notes *notes, const struct report *report, struct err *err)
{
    static const char *const sentence[] = {"sentence", "ids", "tokens", "words"};
    static const char *const source[] = {"source", "source_ids", "source_tokens", "source_words"};
    buf_text(note(notes, "format"), "pt");
    buf_text(note(notes, "model"), report->model);
    if (report->precision != PRECISION_FP32)
        buf_text(note(notes, "precision"), precision_name(report->precision));
    if (report->mechanism)
        buf_text(note(notes, "mechanism"), report->mechanism);
    note_reading(notes, &report->sentence, sentence);
    if (report->source.count)
        note_reading(notes, &report->source, source);
    note_choices(notes, report);
    for (size_t i = 0; i < notes->count; i++) {
        if (buf_check(&notes->texts[i], err))
            return -1;
        notes->items[i].text = notes->texts[i].bytes;
    }
    return 0;
}

static struct safetensors_tensor *name_tensors(const struct report *report, struct arena *arena,
                                               struct err *err)
{
    size_t count = report->tensor_count;
    struct safetensors_tensor *tensors = arena_alloc(arena, count, sizeof *tensors, err);
    for (size_t i = 0; i < count && tensors; i++) {
        const struct kept *kept = &report->tensors[i];
        char *name = arena_alloc(arena, SITE_NAME_BYTES, 1, err);
        if (!name)
            return NULL;
        tensors[i] = (struct safetensors_tensor){
            .name = kept_name(name, kept),
            .rank = kept->rank,
            .shape = kept->shape,
            .data = kept->data,
        };
    }
    return tensors;
}

int tensors_report_write(struct stream *out, const struct report *report, const struct place *place,
                         struct err *err)
{
    (void)place;
    struct arena arena = {0};
    struct notes notes = {0};
    struct safetensors_tensor *tensors = name_tensors(report, &arena, err);
    int failed = -1;
    if (!tensors || make_notes(&notes, report, err))
        goto done;
    failed = safetensors_write(out, tensors, report->tensor_count, notes.items, notes.count, err);
done:
    for (size_t i = 0; i < notes.count; i++)
        buf_release(&notes.texts[i]);
    arena_release(&arena);
    return failed;
}

/* The one tensor of a report as numpy's file, which has no room for tokens or names: a folder gives
 * it a name and puts manifest.json beside it. */
int npy_report_write(struct stream *out, const struct report *report, const struct place *place,
                     struct err *err)
{
    (void)place;
    if (report->tensor_count != 1)
        return err_usage(err,
                         "--format npy: one file holds one tensor, found %zu: name one by --show "
                         "and --layer, or give a folder (-o DIR/)",
                         report->tensor_count);
    const struct kept *kept = &report->tensors[0];
    npy_write(out, kept->rank, kept->shape, kept->data);
    return 0;
}
