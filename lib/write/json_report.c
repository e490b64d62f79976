/* json_report.c: where numbers come from, and reports as JSON, which begin with that: json and
 * jsonl.
 *
 * `json` breaks lines between members and between the rows of a matrix, so that it can be read and
 * compared; several sentences make an array. `jsonl` has a line for each sentence and no break in
 * it.
 */
#include "write/json_report.h"

#include <string.h>

#include "base/utf8.h"
#include "write/frame_write.h"

void json_report_bytes(struct json_writer *json, const char *bytes, size_t size)
{
    if (utf8_invalid_at(bytes, size) == size)
        return;
    json_put_raw(json, "bytes", "\"");
    for (size_t i = 0; i < size; i++)
        stream_format(json->stream, "%02x", (unsigned char)bytes[i]);
    stream_char(json->stream, '"');
}

void json_report_token(struct json_writer *json, const struct token *token, const char *bytes,
                       size_t size, bool has_place)
{
    json_put_open(json, NULL, '{');
    json_put_integer(json, "id", token->id);
    json_put_bytes(json, "text", bytes, size);
    if (has_place) {
        json_put_integer(json, "start", token->start);
        json_put_integer(json, "end", token->end);
    }
    json_report_bytes(json, bytes, size);
    json_put_close(json, '}');
}

void json_report_place(struct json_writer *json, const struct kept *kept)
{
    if (kept->layer < 0)
        json_put_text(json, "layer", NULL);
    else
        json_put_integer(json, "layer", kept->layer);
    if (kept->heads)
        json_put_integers(json, "heads", kept->heads, kept->shape[0]);
    else
        json_put_text(json, "heads", NULL);
}

/* A text with its tokens; the words that axes count in place of them: which tokens each is made of.
 */
static void put_reading(struct json_writer *json, const struct tokenized *tokenized,
                        const char *const names[3])
{
    if (tokenized->text)
        json_put_bytes(json, names[0], tokenized->text, tokenized->size);
    else
        json_put_text(json, names[0], NULL);
    if (tokenized->text && !tokenized->count) /* a table has the tokens */
        return;
    json_put_open(json, names[1], '[');
    for (size_t i = 0; i < tokenized->count; i++) {
        const char *plain = tokenized->labels[i].plain;
        struct token_bytes token = {plain, strlen(plain)};
        if (tokenized->bytes && tokenized->bytes[i].bytes)
            token = tokenized->bytes[i];
        json_report_token(json, &tokenized->tokens[i], token.bytes, token.size,
                          tokenized->text != NULL);
    }
    json_put_close(json, ']');
    if (!tokenized->words)
        return;
    json_put_open(json, names[2], '[');
    for (size_t i = 0; i < tokenized->word_count; i++) {
        json_put_open(json, NULL, '{');
        json_put_text(json, "text", tokenized->word_labels[i].plain);
        json_put_integer(json, "first_token", tokenized->words[i].first);
        json_put_integer(json, "tokens", tokenized->words[i].count);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

/* What the tensors are the mean of: "layers" says of which, as "heads" does. */
static void put_means(struct json_writer *json, const struct report *report)
{
    const struct layers *layers = &report->layers;
    const struct layers *encoder_layers = &report->encoder_layers;
    bool of_heads = false;
    bool of_layers = false;
    for (size_t i = 0; i < report->tensor_count; i++) {
        of_heads |= kept_is_mean_of_heads(&report->tensors[i]);
        of_layers |= kept_is_mean_of_layers(&report->tensors[i]);
    }
    if (!of_heads && !of_layers)
        return;
    json_put_open(json, "\n mean", '[');
    if (of_heads)
        json_put_text(json, NULL, "heads");
    if (of_layers)
        json_put_text(json, NULL, "layers");
    json_put_close(json, ']');
    if (of_layers && layers->count)
        json_put_integers(json, "\n layers", layers->items, layers->count);
    if (of_layers && encoder_layers->count)
        json_put_integers(json, "\n encoder_layers", encoder_layers->items, encoder_layers->count);
}

void json_report_begin(struct json_writer *json, const char *format, const struct place *place)
{
    if (place->item)
        json_put_raw(json, NULL, place->item);
    json_put_text(json, "format", format);
    if (place->members)
        json_put_raw(json, NULL, place->members);
}

void json_report_origin(struct json_writer *json, const struct report *report)
{
    static const char *const sentence[] = {"\n sentence", "\n tokens", "\n words"};
    static const char *const source[] = {"\n source", "\n source_tokens", "\n source_words"};
    static const char *const corrupt[] = {"\n corrupt_sentence", "\n corrupt_tokens",
                                          "\n corrupt_words"};
    json_put_text(json, "model", report->model);
    if (report->precision != PRECISION_FP32)
        json_put_text(json, "\n precision", precision_name(report->precision));
    if (report->mechanism)
        json_put_text(json, "\n mechanism", report->mechanism);
    if (report->sentence.text || report->sentence.count || !report_has_tables(report))
        put_reading(json, &report->sentence, sentence);
    if (report->source.count)
        put_reading(json, &report->source, source);
    if (report->corrupt)
        put_reading(json, report->corrupt, corrupt);
    if (report->heads)
        json_put_integers(json, "\n heads", report->heads, report->head_count);
    put_means(json, report);
    if (report->first_shown)
        json_put_integer(json, "\n first_shown", report->first_shown);
}

static const float *put_matrix(struct json_writer *json, const char *name, const float *values,
                               const size_t shape[2])
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < shape[0]; i++, values += shape[1])
        json_put_floats(json, i ? "\n " : NULL, values, shape[1]);
    json_put_close(json, ']');
    return values;
}

static void put_tensor(struct json_writer *json, const struct kept *kept)
{
    char name[SITE_NAME_BYTES];
    const float *values = kept->data;
    kept_name(name, kept);
    if (kept->rank == 2) {
        put_matrix(json, name, values, kept->shape);
        return;
    }
    json_put_open(json, name, '[');
    for (size_t i = 0; i < kept->shape[0]; i++)
        values = put_matrix(json, i ? "\n " : NULL, values, kept->shape + 1);
    json_put_close(json, ']');
}

static void put_units(struct json_writer *json, const struct report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->frame_count; i++)
        for (size_t k = 0; k < report->frames[i].count; k++) {
            const struct column *column = &report->frames[i].columns[k];
            if (!column->unit || column->flags & COLUMN_TEXT_ONLY)
                continue;
            if (!any)
                json_put_open(json, "\n units", '{');
            any = true;
            json_put_text(json, column->name, column->unit);
        }
    if (any)
        json_put_close(json, '}');
}

static void put_tables(struct json_writer *json, const struct report *report)
{
    put_units(json, report);
    json_put_open(json, "\n tables", '{');
    for (size_t i = 0; i < report->frame_count; i++)
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY))
            frame_json_write(json, &report->frames[i]);
    json_put_close(json, '}');
}

static void put_tensors(struct json_writer *json, const struct report *report)
{
    json_put_open(json, "\n tensors", '{');
    for (size_t i = 0; i < report->tensor_count; i++) {
        if (i > 0)
            json_put_gap(json, "\n ");
        put_tensor(json, &report->tensors[i]);
    }
    json_put_close(json, '}');
}

static void write_object(struct stream *out, const struct report *report, const struct place *place,
                         bool one_line)
{
    struct json_writer json = {.stream = out, .one_line = one_line};
    json_put_open(&json, NULL, '{');
    const char *format = place->document ? place->document : JSON_FORMAT("run");
    json_report_begin(&json, report_has_tables(report) ? RESULT_FORMAT : format, place);
    json_report_origin(&json, report);
    if (report->facts)
        frame_json_row(&json, report->facts, 0);
    if (report_has_tables(report))
        put_tables(&json, report);
    else
        put_tensors(&json, report);
    json_put_close(&json, '}');
}

int json_report_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    (void)err; /* what can fail here sticks to the stream */
    bool several = place->count > 1;
    if (several)
        stream_text(out, place->index == 0 ? "[" : ",\n");
    write_object(out, report, place, false);
    if (several && place->index + 1 == place->count)
        stream_char(out, ']');
    if (!several || place->index + 1 == place->count)
        stream_char(out, '\n');
    return 0;
}

int jsonl_report_write(struct stream *out, const struct report *report, const struct place *place,
                       struct err *err)
{
    (void)err;
    write_object(out, report, place, true);
    stream_char(out, '\n');
    return 0;
}
