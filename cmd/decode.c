#include "decode.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stream.h"
#include "inputs.h"
#include "text/token_list.h"

/* The text that is put together. */
struct decoder {
    const struct tokenizer *tokenizer;
    struct file file;
    struct stream *out; /* NULL: look at the ids first */
    size_t count;       /* of ids */
};

static int write_id(struct decoder *decoder, uint32_t id, struct err *err)
{
    size_t size = 0;
    const char *bytes = tokenizer_token(decoder->tokenizer, id, &size);
    decoder->count++;
    if (!bytes)
        return err_usage(err, "id %zu of the list: %u is not in the vocabulary", decoder->count,
                         id);
    if (!decoder->out)
        return 0;
    if (decoder->count > 1)
        stream_text(decoder->out, tokenizer_gap(decoder->tokenizer));
    stream_bytes(decoder->out, bytes, size);
    return 0;
}

static int write_list(struct decoder *decoder, const char *text, size_t size, struct err *err)
{
    struct id_list list = {
        .at = text,
        .end = text + size,
        .limit = tokenizer_size(decoder->tokenizer),
        .count = decoder->count,
    };
    uint32_t id = 0;
    while (id_list_next(&list, &id, err))
        if (write_id(decoder, id, err))
            return -1;
    return list.failed ? -1 : 0;
}

static int write_all(struct decoder *decoder, const struct texts *lists, struct err *err)
{
    decoder->count = 0;
    if (write_list(decoder, decoder->file.bytes, decoder->file.size, err)) {
        err->kind = ERR_INPUT; /* what stands in a file is bad input, not wrong usage */
        return -1;
    }
    for (size_t i = 0; i < lists->count; i++)
        if (write_list(decoder, lists->items[i], strlen(lists->items[i]), err))
            return -1;
    if (decoder->count)
        return 0;
    return err_set(err, "the list is empty: expected at least one id");
}

/* All of them are looked at before the first byte is written. */
static int write_checked(struct decoder *decoder, const struct texts *lists, struct err *err)
{
    struct stream out = {0};
    if (write_all(decoder, lists, err) || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    decoder->out = &out;
    int failed = write_all(decoder, lists, err) || stream_commit(&out, err);
    stream_discard(&out);
    return failed ? -1 : 0;
}

int decode_ids(const struct options *options, const struct tokenizer *tokenizer, struct err *err)
{
    struct decoder decoder = {.tokenizer = tokenizer};
    const char *path = options->operands.count || options->file ? options->file : "-";
    if (path && inputs_read_file(&decoder.file, path, err))
        return -1;
    int failed = write_checked(&decoder, &options->operands, err);
    file_release(&decoder.file);
    return failed;
}
