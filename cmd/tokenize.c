/* tokenize.c: `attn-cli tokenize`: a text as the model reads it, and back.
 *
 * A text is taken whole, to the byte, its last newline included. A table holds all tokens in
 * memory; --only-ids and --decode hold ids, or nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/stream.h"
#include "command.h"
#include "model/model.h"
#include "output.h"
#include "session.h"
#include "text/decoder/decoder.h"
#include "text/token_list.h"

static const struct option_row own_options[] = {
    FLAG("only-ids", 0, IN(tokens.only_ids), "print only the ids, separated by spaces",
         .heading = "Tokens"),
    FLAG("decode", 0, IN(tokens.decode), "read ids and print their text"),
    STRING("file", 'f', "FILE", IN(input.file), "the file as one text; - is standard input",
           .heading = "Input"),
    {0},
};

const struct command command_tokenize = {
    .name = "tokenize",
    .group = "Inspect",
    .about = "text to tokens and back",
    .operands = "[TEXT]...",
    .examples = "attn-cli tokenize \"Life is short, eat dessert first\"\n"
                "echo \"Life is short\" | attn-cli tokenize --only-ids\n"
                "attn-cli tokenize --only-ids \"Life is short\" | attn-cli tokenize --decode\n",
    .run = tokenize_command,
    .options = own_options,
    .shared = {{text_options, "document ids source words long"},
               {model_options, "precision"},
               {table_options, NULL},
               {running_options, "threads verbose"}},
    .reads_texts = true,
};

enum { PLACE_BYTES = 32 };

struct job {
    const struct options *options;
    struct output output;
    struct folder folder;
    struct tokenizer *tokenizer;
    struct file file;
    struct input *inputs;
    struct tokenized *texts; /* of the inputs; with --only-ids they have a count, and no tokens */
    size_t count;
    struct buf ids; /* uint32_t, of all texts, with --only-ids */
    struct arena arena;
};

/* --- texts ------------------------------------------------------------------------------------ */

static void add_texts(struct job *job, const struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        job->inputs[job->count++] =
            (struct input){.text = texts->items[i], .size = strlen(texts->items[i])};
}

/* The file, sentences and operands; standard input where nothing is named. */
static int gather(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    bool named =
        options->input.file || options->input.operands.count || options->input.sentences.count;
    const char *path = named ? options->input.file : "-";
    size_t most = 1 + options->input.operands.count + options->input.sentences.count;
    job->inputs = arena_alloc(&job->arena, most, sizeof *job->inputs, err);
    job->texts = arena_alloc(&job->arena, most, sizeof *job->texts, err);
    if (!job->inputs || !job->texts || (path && inputs_read_file(&job->file, path, err)))
        return -1;
    if (path)
        job->inputs[job->count++] = (struct input){.text = job->file.bytes, .size = job->file.size};
    add_texts(job, &options->input.sentences);
    add_texts(job, &options->input.operands);
    return 0;
}

static int take_ids(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct job *job = context;
    for (size_t i = 0; i < count; i++)
        buf_bytes(&job->ids, &tokens[i].id, sizeof tokens[i].id);
    return buf_check(&job->ids, err);
}

/* Ids alone: four bytes a token. */
static int read_ids(struct job *job, struct tokenized *text, const struct input *input,
                    struct err *err)
{
    const struct token_sink sink = {take_ids, job};
    struct token_list list = {.sink = &sink, .only_ids = true};
    size_t before = job->ids.size;
    int failed = tokenizer_stream(job->tokenizer, &list, input->text, input->size, err);
    text->count = (job->ids.size - before) / sizeof(uint32_t);
    text->dropped_count = list.dropped_count;
    text->dropped_first = list.dropped_first;
    token_list_release(&list);
    return failed ? -1 : 0;
}

static int read_text(struct job *job, size_t index, struct err *err)
{
    const struct input *input = &job->inputs[index];
    struct tokenized *text = &job->texts[index];
    struct tokens tokens = {0};
    bool only_ids = job->options->tokens.only_ids;
    if (only_ids ? read_ids(job, text, input, err)
                 : tokenizer_encode(job->tokenizer, &tokens, input->text, input->size, &job->arena,
                                    err) ||
                       tokenized_label(text, &tokens, job->tokenizer, &job->arena, err))
        return -1;
    text->text = input->text;
    text->size = input->size;
    return tokenized_check(text, err);
}

/* All of them before the first is printed: no output stops half-way. */
static int read_all(struct job *job, struct err *err)
{
    struct dropped dropped = {0};
    char place[PLACE_BYTES]; /* "text 1", where there are several */
    bool several = job->count > 1;
    for (size_t i = 0; i < job->count; i++) {
        snprintf(place, PLACE_BYTES, "text %zu", i);
        if (read_text(job, i, err))
            return several ? err_prefix(err, "%s", place) : -1;
        dropped_add(&dropped, &job->texts[i], i);
    }
    snprintf(place, PLACE_BYTES, "text %zu", dropped.input);
    dropped_note(&dropped, several ? place : NULL);
    return 0;
}

/* --- output ----------------------------------------------------------------------------------- */

/* A line of ids for each text, with blanks between them. */
static int print_ids(const struct job *job, struct err *err)
{
    struct stream out = {0};
    const char *at = job->ids.bytes;
    if (output_to(&out, job->options->output.path, err))
        return -1;
    for (size_t i = 0; i < job->count; i++)
        for (size_t k = 0; k < job->texts[i].count; k++, at += sizeof(uint32_t)) {
            char text[NUM_COUNT_BYTES + 1];
            uint32_t id = 0;
            memcpy(&id, at, sizeof id);
            size_t size = num_count(text, id);
            text[size++] = k + 1 < job->texts[i].count ? ' ' : '\n';
            stream_bytes(&out, text, size);
        }
    return stream_end(&out, 0, err);
}

static int print_tables(struct job *job, struct err *err)
{
    struct place place = page_place(&job->options->looks, NULL);
    place.columns = place.lines = 0; /* all of it */
    place.count = job->count;
    if (output_check_count(&job->output, job->count, err) || output_open(&job->output, err))
        return -1;
    for (; place.index < job->count; place.index++) {
        struct arena arena = {0};
        struct frame frame;
        struct report report = {.model = job->folder.path,
                                .sentence = {.text = job->texts[place.index].text,
                                             .size = job->texts[place.index].size},
                                .frames = &frame,
                                .frame_count = 1,
                                .untitled = true};
        int failed = tokenized_frame(&frame, &job->texts[place.index], NULL, &arena, err) ||
                     output_write(&job->output, &report, &place, err);
        arena_release(&arena);
        if (failed)
            return -1;
    }
    return output_commit(&job->output, err);
}

/* --- from ids back to the text ---------------------------------------------------------------- */

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

static int write_lists(struct decoder *decoder, const struct texts *lists, struct err *err)
{
    decoder->count = 0;
    token_decoder_release(&decoder->state);
    tokenizer_decode_begin(decoder->tokenizer, &decoder->state, &decoder->text);
    if (write_list(decoder, decoder->file.bytes, decoder->file.size, err)) {
        err->kind = ERR_INPUT; /* a file with a bad id is bad input, not wrong usage */
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

/* All ids of the operands, the file or standard input are checked before a byte is written. */
static int decode(const struct options *options, const struct tokenizer *tokenizer, struct err *err)
{
    struct decoder decoder = {.tokenizer = tokenizer};
    struct stream out = {0};
    const struct texts *lists = &options->input.operands;
    const char *path = lists->count || options->input.file ? options->input.file : "-";
    if (path && inputs_read_file(&decoder.file, path, err))
        return -1;
    int failed = write_lists(&decoder, lists, err) || output_to(&out, options->output.path, err);
    decoder.out = &out;
    failed = stream_end(&out, failed || write_lists(&decoder, lists, err), err);
    token_decoder_release(&decoder.state);
    buf_release(&decoder.text);
    file_release(&decoder.file);
    return failed ? -1 : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *other = options->tokens.only_ids         ? "--only-ids"
                        : options->output.format         ? "--format"
                        : options->input.sentences.count ? "--sentence"
                        : options->input.special         ? "--special"
                        : options->input.literal_special ? "--literal-special"
                                                         : NULL;
    if (options->tokens.decode && other)
        return err_usage(err, "--decode: prints the bytes of ids, found %s as well", other);
    if (options->tokens.only_ids && options->output.format)
        return err_usage(err, "--only-ids prints no table: --format %s cannot be combined with it",
                         options->output.format);
    if (options->tokens.decode || options->tokens.only_ids)
        return 0;
    return output_choose_table(&job->output, &options->output, err);
}

static int open_tokenizer(struct job *job, struct err *err)
{
    if (model_find(&job->folder, chosen_model(job->options->model.name), &job->arena, err) ||
        tokenizer_open(&job->tokenizer, &job->folder, err))
        return -1;
    if (!job->tokenizer)
        return err_set(err, "'%s': expected a tokenizer (tokenizer.json or vocab.json), found none",
                       job->folder.path);
    if (!job->options->tokens.decode) /* there is no text */
        print_note_of_tokenizer(job->tokenizer);
    return inputs_set_tokenizer(job->tokenizer, &job->folder, &job->options->input, err);
}

int tokenize_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = check_options(&job, err) || open_tokenizer(&job, err);
    if (!failed && options->tokens.decode)
        failed = decode(options, job.tokenizer, err);
    else if (!failed)
        failed = gather(&job, err) || read_all(&job, err) ||
                 (options->tokens.only_ids ? print_ids(&job, err) : print_tables(&job, err));
    output_discard(&job.output);
    tokenizer_free(job.tokenizer);
    buf_release(&job.ids);
    file_release(&job.file);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
