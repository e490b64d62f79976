/* tokenize.c: `attn-cli tokenize`: a text as the model reads it.
 *
 * A text is taken whole, to the byte, its last newline included.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stream.h"
#include "command.h"
#include "inputs.h"
#include "lens/reading.h"
#include "model/model.h"
#include "out/json_origin.h"
#include "out/text_tokens.h"

enum { PLACE_BYTES = 32 };

struct job {
    const struct options *options;
    struct folder folder;
    struct tokenizer *tokenizer;
    struct file file;
    struct input *inputs;
    struct reading *readings; /* of the inputs */
    size_t count;
    struct arena arena;
};

static void write_ids(struct stream *out, const struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++)
        stream_format(out, "%s%u", i ? " " : "", reading->tokens[i].id);
    stream_char(out, '\n');
}

/* The first members of what `run` writes. */
static void write_json(struct stream *out, const char *model, const struct reading *reading)
{
    struct report report = {.model = model, .sentence = *reading};
    stream_char(out, '{');
    json_origin_write(out, &report, " ");
    stream_text(out, "}\n");
}

static int write_page(struct stream *out, const struct reading *reading, struct err *err)
{
    struct place place = {.count = 1}; /* as wide and as long as it takes */
    return text_tokens_write(out, reading, "text", &place, err);
}

static bool is_json(const struct job *job)
{
    return job->options->format && strcmp(job->options->format, "json") == 0;
}

static int write_reading(const struct job *job, struct stream *out, const struct reading *reading,
                         struct err *err)
{
    if (job->options->only_ids)
        write_ids(out, reading);
    else if (is_json(job))
        write_json(out, job->folder.path, reading);
    else
        return write_page(out, reading, err);
    return 0;
}

static int write_all(const struct job *job, struct err *err)
{
    struct stream out = {0};
    bool pages = !job->options->only_ids && !is_json(job);
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    for (size_t i = 0; i < job->count; i++) {
        if (pages && i > 0)
            stream_char(&out, '\n');
        if (write_reading(job, &out, &job->readings[i], err)) {
            stream_discard(&out);
            return -1;
        }
    }
    return stream_commit(&out, err);
}

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
    bool named = options->file || options->operands.count || options->sentences.count;
    const char *path = named ? options->file : "-";
    size_t most = 1 + options->operands.count + options->sentences.count;
    job->inputs = arena_alloc(&job->arena, most, sizeof *job->inputs, err);
    job->readings = arena_alloc(&job->arena, most, sizeof *job->readings, err);
    if (!job->inputs || !job->readings || (path && inputs_read_file(&job->file, path, err)))
        return -1;
    if (path)
        job->inputs[job->count++] = (struct input){.text = job->file.bytes, .size = job->file.size};
    add_texts(job, &options->sentences);
    add_texts(job, &options->operands);
    return 0;
}

/* "text 1", for messages; NULL where there is only one. */
static const char *place_of(const struct job *job, size_t index, char place[PLACE_BYTES])
{
    snprintf(place, PLACE_BYTES, "text %zu", index);
    return job->count > 1 ? place : NULL;
}

/* All of them before the first is written: no output stops half-way for a word. */
static int read_all(struct job *job, struct err *err)
{
    struct lexicon lexicon = {.tokenizer = job->tokenizer};
    struct dropped dropped = {0};
    char place[PLACE_BYTES];
    for (size_t i = 0; i < job->count; i++) {
        if (reading_make(&job->readings[i], &job->inputs[i], &lexicon, &job->arena, err))
            return place_of(job, i, place) ? err_prefix(err, "%s", place) : -1;
        dropped_add(&dropped, &job->readings[i], i);
    }
    dropped_note(&dropped, job->options, place_of(job, dropped.input, place));
    return 0;
}

static int check_options(const struct options *options, struct err *err)
{
    if (options->only_ids && options->format)
        return err_usage(err, "--ids: prints the ids alone, found --format %s as well",
                         options->format);
    return options_check_page(options, err);
}

static int open_tokenizer(struct job *job, struct err *err)
{
    if (model_find(&job->folder, chosen_model(job->options), err) ||
        tokenizer_open(&job->tokenizer, &job->folder, err))
        return -1;
    if (job->tokenizer)
        return 0;
    return err_set(err, "'%s': expected a tokenizer (vocab.json), found none", job->folder.path);
}

int tokenize_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = check_options(options, err) || open_tokenizer(&job, err) || gather(&job, err) ||
                 read_all(&job, err) || write_all(&job, err);
    tokenizer_free(job.tokenizer);
    file_release(&job.file);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
