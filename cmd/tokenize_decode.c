/* tokenize_decode.c: `attn-cli tokenize --decode`: from ids back to the text they came from. */
#include <string.h>
#include <unistd.h>

#include "base/stream.h"
#include "command.h"
#include "session.h"
#include "text/decoder/decoder.h"
#include "text/token_list.h"

struct decoder {
    const struct tokenizer *tokenizer;
    struct file file;
    struct stream *out; /* NULL: look at the ids first */
    size_t count;       /* of ids */
    struct token_decoder state;
    struct buf text; /* that was not written yet */
};

static void write_text(struct decoder *decoder)
{
    if (decoder->out && decoder->text.size)
        stream_bytes(decoder->out, decoder->text.bytes, decoder->text.size);
    buf_clear(&decoder->text);
}

static int write_list(struct decoder *decoder, const char *text, size_t size, struct err *err)
{
    const struct tokenizer *tokenizer = decoder->tokenizer;
    struct id_list list = {
        .at = text,
        .end = text + size,
        .limit = tokenizer_size(tokenizer),
        .count = decoder->count,
    };
    uint32_t id = 0;
    while (id_list_next(&list, &id, err)) {
        decoder->count++;
        if (!tokenizer_decode(tokenizer, &decoder->state, id))
            return err_usage(err, "id %zu of the list: %u is not in the vocabulary", decoder->count,
                             id);
        write_text(decoder);
    }
    return list.failed || buf_check(&decoder->text, err) ? -1 : 0;
}

static int write_all(struct decoder *decoder, const struct texts *lists, struct err *err)
{
    decoder->count = 0;
    token_decoder_release(&decoder->state);
    tokenizer_decode_begin(decoder->tokenizer, &decoder->state, &decoder->text);
    if (write_list(decoder, decoder->file.bytes, decoder->file.size, err)) {
        err->kind = ERR_INPUT; /* what stands in a file is bad input, not wrong usage */
        return -1;
    }
    for (size_t i = 0; i < lists->count; i++)
        if (write_list(decoder, lists->items[i], strlen(lists->items[i]), err))
            return -1;
    token_decoder_end(&decoder->state);
    write_text(decoder);
    if (decoder->count)
        return buf_check(&decoder->text, err);
    return err_set(err, "the list is empty: expected at least one id");
}

int tokenize_decode(const struct input_options *options, const struct tokenizer *tokenizer,
                    struct err *err)
{
    struct decoder decoder = {.tokenizer = tokenizer};
    struct stream out = {0};
    const char *path = options->operands.count || options->file ? options->file : "-";
    if (path && inputs_read_file(&decoder.file, path, err))
        return -1;
    int failed =
        write_all(&decoder, &options->operands, err) || stream_to(&out, STDOUT_FILENO, err);
    decoder.out = &out;
    failed = stream_end(&out, failed || write_all(&decoder, &options->operands, err), err);
    token_decoder_release(&decoder.state);
    buf_release(&decoder.text);
    file_release(&decoder.file);
    return failed ? -1 : 0;
}
