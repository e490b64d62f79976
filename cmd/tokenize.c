/* tokenize.c: `attn-cli tokenize`: a text as the model reads it, and back.
 *
 * A text is taken whole, to the byte, its last newline included; of its tokens only a portion is
 * held at a time, and of one that is looked through before it is printed, its ids, unless they are
 * very many.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/stream.h"
#include "command.h"
#include "session.h"
#include "model/model.h"
#include "text/token_list.h"
#include "write/json_report.h"
#include "write/text_tokens.h"

enum {
    PLACE_BYTES = 32,
    NEAR = 2 * LABEL_AROUND + 1,
    IDS_BYTES = 4096,
    KEPT_IDS_MAX = 1 << 25, /* 128 MB */
};

struct tally {
    size_t count;
    struct token most; /* its numbers are the largest of all */
};

enum mode { MODE_TABLE, MODE_JSON, MODE_IDS };

struct job {
    const struct options *options;
    enum mode mode;
    struct folder folder;
    struct tokenizer *tokenizer;
    struct file file;
    struct input *inputs;
    struct tally *tallies; /* of the inputs */
    size_t count;
    bool keeps_ids; /* of all texts, as they were looked through */
    uint32_t *ids;
    size_t id_count, id_room;
    struct arena arena;
};

/* --- what is printed -------------------------------------------------------------------------- */

/* The tokens of one text on their way out. */
struct printer {
    const struct job *job;
    size_t input;
    size_t index; /* of the next token */
    size_t kept;  /* ids that were printed, of those that the job kept */
    struct stream out;
    struct json_writer json;
    struct table table;
    struct table_column columns[TOKEN_COLUMNS];

    /* Of a table: the last tokens, some of which wait for those that their labels depend on. */
    struct token near[NEAR];
    struct token_bytes near_bytes[NEAR];
    size_t near_count;
    size_t waiting; /* so many at their end */
    size_t row;     /* of the first that waits */
};

/* The head of a table; of JSON the first members of what `run` writes. */
static void begin_text(struct printer *printer)
{
    const struct job *job = printer->job;
    const struct input *input = &job->inputs[printer->input];
    const struct tally *tally = &job->tallies[printer->input];
    struct stream *out = &printer->out;
    printer->index = printer->row = 0;
    printer->near_count = 0;
    if (job->mode == MODE_JSON) {
        printer->json = (struct json_writer){.stream = out};
        json_put_open(&printer->json, NULL, '{');
        json_put_text(&printer->json, "format", JSON_FORMAT("tokenize"));
        json_put_text(&printer->json, "model", job->folder.path);
        json_put_bytes(&printer->json, "sentence", input->text, input->size);
        json_put_open(&printer->json, "tokens", '[');
    }
    if (job->mode != MODE_TABLE)
        return;
    if (printer->input)
        stream_char(out, '\n');
    printer->table.count =
        token_columns(printer->columns, "text", tally->count, &tally->most, true);
    table_titles(&printer->table);
}

static void print_row(struct printer *printer)
{
    size_t place = printer->near_count - printer->waiting;
    token_cells(&printer->table, printer->row++, &printer->near[place]);
    label_token(&printer->table.cell, printer->near_bytes, printer->near_count, place);
    table_put(&printer->table);
    table_end(&printer->table);
    printer->waiting--;
}

static void add_row(struct printer *printer, const struct token *token, const char *bytes,
                    size_t size)
{
    if (printer->near_count == NEAR) {
        printer->near_count--;
        memmove(printer->near, printer->near + 1, sizeof printer->near - sizeof *printer->near);
        memmove(printer->near_bytes, printer->near_bytes + 1,
                sizeof printer->near_bytes - sizeof *printer->near_bytes);
    }
    printer->near[printer->near_count] = *token;
    printer->near_bytes[printer->near_count++] = (struct token_bytes){bytes, size};
    if (printer->waiting++ == LABEL_AROUND)
        print_row(printer);
}

/* Repeat what a text ends with so many times. */
static void repeat(char *end, size_t size, size_t times)
{
    size_t left = size * times;
    for (size_t there = size, part; left; left -= part, there += part, end += part) {
        part = left < there ? left : there;
        memcpy(end, end - there, part);
    }
}

/* Ids alone, with blanks between them; of a row of equal ones the first is written and copied. */
static void print_ids(struct printer *printer, const uint32_t *ids, size_t count)
{
    char text[IDS_BYTES];
    size_t used = 0;
    size_t front = !printer->index; /* no blank before the first of all */
    for (size_t i = 0, end; i < count; i = end) {
        if (used + NUM_COUNT_BYTES + 1 > sizeof text) {
            stream_bytes(&printer->out, text + front, used - front);
            used = front = 0;
        }
        text[used] = ' ';
        size_t size = 1 + num_count(text + used + 1, ids[i]);
        used += size;
        end = i + 1;
        if (end == count || ids[end] != ids[i])
            continue; /* without a division */
        size_t fit = (sizeof text - used) / size;
        while (end < count && end - i <= fit && ids[end] == ids[i])
            end++;
        repeat(text + used, size, end - i - 1);
        used += size * (end - i - 1);
    }
    printer->index += count;
    stream_bytes(&printer->out, text + front, used - front);
}

static int print_tokens(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct printer *printer = context;
    if (printer->job->mode == MODE_IDS) {
        uint32_t ids[TOKEN_PORTION];
        for (size_t i = 0; i < count; i++)
            ids[i] = tokens[i].id;
        print_ids(printer, ids, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++, printer->index++) {
        size_t size = 0;
        const char *bytes = tokenizer_token(printer->job->tokenizer, tokens[i].id, &size);
        if (printer->job->mode == MODE_JSON)
            json_report_token(&printer->json, &tokens[i], bytes, size, true);
        else
            add_row(printer, &tokens[i], bytes, size);
    }
    return buf_check(&printer->table.line, err);
}

static int print_text(struct printer *printer, const struct input *input, struct err *err)
{
    static const char *const ends[] = {[MODE_TABLE] = "", [MODE_JSON] = "]}\n", [MODE_IDS] = "\n"};
    const struct token_sink sink = {print_tokens, printer};
    const struct job *job = printer->job;
    struct token_list list = {.sink = &sink, .only_ids = job->mode == MODE_IDS};
    int failed = 0;
    begin_text(printer);
    if (job->keeps_ids) {
        size_t count = job->tallies[printer->input].count;
        print_ids(printer, job->ids + printer->kept, count);
        printer->kept += count;
    } else {
        failed = tokenizer_stream(job->tokenizer, &list, input->text, input->size, err);
    }
    while (printer->waiting)
        print_row(printer);
    stream_text(&printer->out, failed ? "" : ends[job->mode]);
    token_list_release(&list);
    return failed ? -1 : 0;
}

static int print_all(const struct job *job, struct err *err)
{
    struct printer printer = {.job = job};
    printer.table = (struct table){.out = &printer.out, .columns = printer.columns};
    int failed = stream_to(&printer.out, STDOUT_FILENO, err);
    for (; printer.input < job->count && !failed; printer.input++)
        failed = print_text(&printer, &job->inputs[printer.input], err);
    failed |= table_close(&printer.table, failed ? NULL : err);
    return stream_end(&printer.out, failed, err);
}

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
    job->tallies = arena_alloc(&job->arena, most, sizeof *job->tallies, err);
    if (!job->inputs || !job->tallies || (path && inputs_read_file(&job->file, path, err)))
        return -1;
    if (path)
        job->inputs[job->count++] = (struct input){.text = job->file.bytes, .size = job->file.size};
    add_texts(job, &options->input.sentences);
    add_texts(job, &options->input.operands);
    return 0;
}

/* Where they are too many, or memory is short, texts are cut again to be printed. */
static void keep_ids(struct job *job, const struct token *tokens, size_t count)
{
    if (job->keeps_ids && job->id_count + count > job->id_room) {
        size_t room = job->id_room ? 2 * job->id_room : TOKEN_PORTION;
        uint32_t *ids =
            room <= KEPT_IDS_MAX ? heap_resize(job->ids, room, sizeof *ids, NULL) : NULL;
        job->keeps_ids = ids;
        job->ids = ids ? ids : job->ids;
        job->id_room = room;
    }
    for (size_t i = 0; job->keeps_ids && i < count; i++)
        job->ids[job->id_count++] = tokens[i].id;
}

struct first_look {
    struct job *job;
    struct tally *tally;
};

static int look_at_tokens(void *context, const struct token *tokens, size_t count, struct err *err)
{
    const struct first_look *look = context;
    struct tally *tally = look->tally;
    (void)err;
    keep_ids(look->job, tokens, count);
    tally->count += count;
    for (size_t i = 0; i < count; i++) { /* places rise, ids do not */
        uint32_t id = tokens[i].id > tally->most.id ? tokens[i].id : tally->most.id;
        tally->most = (struct token){id, tokens[i].start, tokens[i].end};
    }
    return 0;
}

/* Look through a text; what was dropped in it is noted. */
static int read_text(struct job *job, size_t index, struct dropped *dropped, struct err *err)
{
    const struct input *input = &job->inputs[index];
    struct first_look look = {job, &job->tallies[index]};
    const struct token_sink sink = {look_at_tokens, &look};
    struct token_list list = {.sink = &sink, .only_ids = job->mode == MODE_IDS};
    int failed = tokenizer_stream(job->tokenizer, &list, input->text, input->size, err);
    struct tokenized tokenized = {
        .text = input->text,
        .size = input->size,
        .count = job->tallies[index].count,
        .dropped_count = list.dropped_count,
        .dropped_first = list.dropped_first,
    };
    token_list_release(&list);
    if (failed || tokenized_check(&tokenized, err))
        return -1;
    dropped_add(dropped, &tokenized, index);
    return 0;
}

/* "text 1", for messages; NULL where there is only one. */
static const char *place_of(const struct job *job, size_t index, char place[PLACE_BYTES])
{
    snprintf(place, PLACE_BYTES, "text %zu", index);
    return job->count > 1 ? place : NULL;
}

/* All of them before the first is printed: no output stops half-way for a word. */
static int read_all(struct job *job, struct err *err)
{
    struct dropped dropped = {0};
    char place[PLACE_BYTES];
    if (job->count == 1 && job->inputs[0].size && tokenizer_knows_all(job->tokenizer) &&
        job->mode != MODE_TABLE)
        return 0; /* it cannot be refused, and its ids need no look before */
    job->keeps_ids = job->mode == MODE_IDS;
    for (size_t i = 0; i < job->count; i++)
        if (read_text(job, i, &dropped, err))
            return place_of(job, i, place) ? err_prefix(err, "%s", place) : -1;
    dropped_note(&dropped, place_of(job, dropped.input, place));
    return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    bool json = false;
    const char *other = options->tokens.only_ids         ? "--ids"
                        : options->output.format         ? "--format"
                        : options->input.sentences.count ? "--sentence"
                        : options->input.bos             ? "--bos"
                        : options->input.add_special     ? "--add-special"
                        : options->input.no_special      ? "--no-special"
                                                         : NULL;
    if (options->tokens.decode && other)
        return err_usage(err, "--decode: prints the bytes of ids, found %s as well", other);
    if (options->tokens.only_ids && options->output.format)
        return err_usage(err, "--ids: prints the ids alone, found --format %s as well",
                         options->output.format);
    if (options_choose_page(&json, &options->output, err))
        return -1;
    job->mode = options->tokens.only_ids ? MODE_IDS : json ? MODE_JSON : MODE_TABLE;
    return 0;
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
        failed = tokenize_decode(&options->input, job.tokenizer, err);
    else if (!failed)
        failed = gather(&job, err) || read_all(&job, err) || print_all(&job, err);
    tokenizer_free(job.tokenizer);
    heap_free(job.ids);
    file_release(&job.file);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
