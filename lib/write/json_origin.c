#include "write/json_origin.h"

#include <string.h>

#include "base/utf8.h"
#include "format/json_writer.h"

static void write_text(struct stream *out, const char *text, size_t size)
{
    if (text)
        json_write_text(out, text, size);
    else
        stream_text(out, "null");
}

void json_origin_bytes(struct stream *out, const char *bytes, size_t size)
{
    if (utf8_invalid_at(bytes, size) == size)
        return;
    stream_text(out, ", \"bytes\": \"");
    for (size_t i = 0; i < size; i++)
        stream_format(out, "%02x", (unsigned char)bytes[i]);
    stream_char(out, '"');
}

void json_origin_token(struct stream *out, const struct token *token, const char *bytes,
                       size_t size, bool has_place)
{
    stream_format(out, "{\"id\": %u, \"text\": ", token->id);
    json_write_text(out, bytes, size);
    if (has_place)
        stream_format(out, ", \"start\": %zu, \"end\": %zu", token->start, token->end);
    json_origin_bytes(out, bytes, size);
    stream_char(out, '}');
}

static void write_tokens(struct stream *out, const struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        const char *plain = reading->labels[i].plain;
        struct token_bytes token = {plain, strlen(plain)};
        if (reading->bytes && reading->bytes[i].bytes)
            token = reading->bytes[i];
        stream_text(out, i ? ", " : "");
        json_origin_token(out, &reading->tokens[i], token.bytes, token.size, reading->text != NULL);
    }
}

/* The words that axes count in place of tokens: which tokens each is made of. */
static void write_words(struct stream *out, const struct reading *reading, const char *name,
                        const char *gap)
{
    if (!reading->words)
        return;
    stream_format(out, ",%s\"%s\": [", gap, name);
    for (size_t i = 0; i < reading->word_count; i++) {
        const char *plain = reading->word_labels[i].plain;
        stream_text(out, i ? ", {\"text\": " : "{\"text\": ");
        json_write_text(out, plain, strlen(plain));
        stream_format(out, ", \"first_token\": %zu, \"tokens\": %zu}", reading->words[i].first,
                      reading->words[i].count);
    }
    stream_char(out, ']');
}

void json_origin_numbers(struct stream *out, const size_t *numbers, size_t count)
{
    stream_char(out, '[');
    for (size_t i = 0; i < count; i++)
        stream_format(out, i ? ", %zu" : "%zu", numbers[i]);
    stream_char(out, ']');
}

/* What the tensors are the mean of: "layers" says of which, as "heads" does. */
static void write_layers(struct stream *out, const char *gap, const char *name,
                         const struct layers *layers)
{
    if (layers->count == 0)
        return;
    stream_format(out, ",%s\"%s\": ", gap, name);
    json_origin_numbers(out, layers->items, layers->count);
}

static void write_means(struct stream *out, const struct report *report, const char *gap)
{
    bool heads = false;
    bool layers = false;
    for (size_t i = 0; i < report->tensor_count; i++) {
        heads |= kept_is_mean_of_heads(&report->tensors[i]);
        layers |= kept_is_mean_of_layers(&report->tensors[i]);
    }
    if (!heads && !layers)
        return;
    stream_format(out, ",%s\"mean\": [%s%s%s]", gap, heads ? "\"heads\"" : "",
                  heads && layers ? ", " : "", layers ? "\"layers\"" : "");
    if (layers) {
        write_layers(out, gap, "layers", &report->layers);
        write_layers(out, gap, "encoder_layers", &report->encoder_layers);
    }
}

void json_origin_write(struct stream *out, const struct report *report, const char *gap)
{
    stream_text(out, "\"model\": ");
    json_write_text(out, report->model, strlen(report->model));
    if (report->precision != PRECISION_FP32)
        stream_format(out, ",%s\"precision\": \"%s\"", gap, precision_name(report->precision));
    if (report->mechanism) {
        stream_format(out, ",%s\"mechanism\": ", gap);
        json_write_text(out, report->mechanism, strlen(report->mechanism));
    }
    stream_format(out, ",%s\"sentence\": ", gap);
    write_text(out, report->sentence.text, report->sentence.size);
    stream_format(out, ",%s\"tokens\": [", gap);
    write_tokens(out, &report->sentence);
    stream_char(out, ']');
    write_words(out, &report->sentence, "words", gap);
    if (report->source.count) {
        stream_format(out, ",%s\"source\": ", gap);
        write_text(out, report->source.text, report->source.size);
        stream_format(out, ",%s\"source_tokens\": [", gap);
        write_tokens(out, &report->source);
        stream_char(out, ']');
        write_words(out, &report->source, "source_words", gap);
    }
    if (report->heads) {
        stream_format(out, ",%s\"heads\": ", gap);
        json_origin_numbers(out, report->heads, report->head_count);
    }
    write_means(out, report, gap);
    if (report->first_shown)
        stream_format(out, ",%s\"first_shown\": %zu", gap, report->first_shown);
}
