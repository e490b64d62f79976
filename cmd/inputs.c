#include "session.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/num.h"
#include "command.h"
#include "items.h"
#include "model/model.h"

static void add_text(struct inputs *inputs, const char *bytes, size_t size, size_t line)
{
    inputs->lines[inputs->count] = line;
    inputs->items[inputs->count++] = (struct input){.text = bytes, .size = size};
}

const char *inputs_after_mark(const struct file *file)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = sizeof mark - 1;
    bool marked = file->size >= size && memcmp(file->bytes, mark, size) == 0;
    return file->bytes + (marked ? size : 0);
}

static void add_lines(struct inputs *inputs)
{
    const char *end = inputs->file.bytes + inputs->file.size;
    const char *next = NULL;
    size_t number = 1;
    size_t before = inputs->count;
    size_t first = 0; /* blank line */
    for (const char *line = inputs_after_mark(&inputs->file); line < end; line = next, number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline ? newline : end) - line);
        size_t blanks = 0;
        next = newline ? newline + 1 : end;
        if (size && line[size - 1] == '\r')
            size--;
        while (blanks < size && (line[blanks] == ' ' || line[blanks] == '\t'))
            blanks++;
        if (blanks < size)
            add_text(inputs, line, size, number);
        else if (!first)
            first = number;
    }
    if (inputs->count > before)
        inputs->blank = inputs->lines[inputs->count - 1] - (inputs->count - before);
    if (inputs->blank)
        print_note("'%s': %zu blank line%s skipped (line %zu%s)", inputs_shown_path(inputs->path),
                   inputs->blank, inputs->blank == 1 ? "" : "s", first,
                   inputs->blank == 1 ? "" : " is the first");
}

const char *inputs_shown_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int inputs_read_file(struct file *file, const char *path, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return file_read(file, STDIN_FILENO, inputs_shown_path(path), err);
    return file_map(file, path, err);
}

/* --- texts without an option ------------------------------------------------------------------ */

static size_t text_count(const struct input_options *options)
{
    return options->sentences.count + options->operands.count;
}

/* Sentences, then operands. */
static const char *text_at(const struct input_options *options, size_t index)
{
    const struct texts *sentences = &options->sentences;
    return index < sentences->count ? sentences->items[index]
                                    : options->operands.items[index - sentences->count];
}

/* --- texts of any kind ------------------------------------------------------------------------ */

bool inputs_are_given(const struct input_options *options)
{
    return text_count(options) || options->file || options->ids;
}

bool inputs_are_piped(const struct input_options *options)
{
    return !inputs_are_given(options) && !isatty(STDIN_FILENO) &&
           (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) != O_WRONLY;
}

static void add_whole(struct inputs *inputs, const struct input_options *options)
{
    const struct file *file = &inputs->file;
    size_t newline = file->size && file->bytes[file->size - 1] == '\n';
    inputs->whole = options->file ? "--file" : inputs_shown_path(inputs->path);
    if (options->file || file->size)
        add_text(inputs, file->bytes, file->size - newline, 0);
}

int inputs_check_ids(const struct input_options *options, struct err *err)
{
    if (!options->ids || !options->special || strcmp(options->special, "none") == 0)
        return 0;
    return err_usage(err,
                     "--special %s: is for texts, found --ids: put the ids of these tokens there",
                     options->special);
}

/* Room for all texts; a pipe may be empty. */
static int open_file(struct inputs *inputs, const struct input_options *options, size_t most,
                     struct err *err)
{
    inputs->path = inputs_are_piped(options) ? "-" : options->file;
    if (inputs->path && inputs_read_file(&inputs->file, inputs->path, err))
        return -1;
    for (size_t i = 0; i < inputs->file.size; i++)
        most += inputs->file.bytes[i] == '\n';
    inputs->items = arena_alloc(&inputs->arena, most, sizeof *inputs->items, err);
    inputs->lines = arena_alloc(&inputs->arena, most, sizeof *inputs->lines, err);
    return inputs->items && inputs->lines ? 0 : -1;
}

int inputs_open(struct inputs *inputs, const struct input_options *options, enum inputs_many many,
                struct err *err)
{
    size_t given = text_count(options) + (options->file != NULL) + (options->ids != NULL);
    *inputs = (struct inputs){0};
    if (items_check_operands(options, err))
        return -1;
    if (many == INPUTS_ONE && given > 1)
        return err_usage(err, "expected one text, found %zu", given);
    if (inputs_check_ids(options, err))
        return -1;
    if (open_file(inputs, options, given + 2, err))
        goto failed;
    for (size_t i = 0; i < text_count(options); i++)
        add_text(inputs, text_at(options, i), strlen(text_at(options, i)), 0);
    if (inputs->path && many == INPUTS_ONE)
        add_whole(inputs, options);
    else if (inputs->path)
        add_lines(inputs);
    if (options->ids)
        inputs->items[inputs->count++] = (struct input){.ids = options->ids};
    bool was_read = options->file || inputs->file.size;
    if (inputs->count || (many == INPUTS_ANY && !was_read))
        return 0;
    if (was_read)
        err_set(err, "'%s': expected a sentence, found %s", inputs_shown_path(inputs->path),
                inputs->file.size ? "only blank lines" : "nothing");
    else
        err_usage(err, "expected a text, found none: \"Life is short\" in quotes, --sentence "
                       "TEXT, --file PATH, --ids LIST or a pipe");
failed:
    inputs_release(inputs);
    return -1;
}

void inputs_release(struct inputs *inputs)
{
    arena_release(&inputs->arena);
    file_release(&inputs->file);
    *inputs = (struct inputs){0};
}

int inputs_check_source(const struct input_options *options, const struct model *model,
                        struct err *err)
{
    if (options->source && !model->config.cross)
        return err_usage(err, "--source: expected none: '%s' attends to its own sentence",
                         model->name);
    if (!options->source && model->config.cross)
        return err_usage(err, "--source: expected a text that '%s' attends to, found none",
                         model->name);
    return 0;
}

void inputs_place(struct buf *place, const struct inputs *inputs, size_t index)
{
    if (inputs->whole)
        buf_text(place, inputs->whole);
    else if (!inputs->items[index].text)
        buf_text(place, "--ids");
    else if (inputs->lines[index])
        buf_format(place, "'%s' line %zu", inputs_shown_path(inputs->path), inputs->lines[index]);
    else if (inputs->count > 1)
        buf_format(place, "sentence %zu", index);
}

int inputs_blame(const struct inputs *inputs, size_t index, struct err *err)
{
    struct buf place = {0};
    inputs_place(&place, inputs, index);
    if (place.size)
        err_prefix(err, "%s", place.bytes);
    buf_release(&place);
    return -1;
}

void dropped_add(struct dropped *dropped, const struct tokenized *tokenized, size_t index)
{
    const struct token *first = &tokenized->dropped_first;
    if (!tokenized->dropped_count)
        return;
    if (!dropped->count) {
        dropped->input = index;
        dropped->at = first->start;
        label_excerpt(dropped->first, tokenized->text + first->start, first->end - first->start);
    }
    dropped->count += tokenized->dropped_count;
}

void dropped_note(const struct dropped *dropped, const char *place)
{
    bool one = dropped->count == 1;
    bool placed = place && *place;
    if (!dropped->count)
        return;
    print_note("%zu %s not in the vocabulary %s left out: '%s' at byte %zu%s%s%s", dropped->count,
               one ? "character that is" : "characters that are", one ? "was" : "were",
               dropped->first, dropped->at, placed ? " of " : "", placed ? place : "",
               one ? "" : " is the first");
}

int inputs_set_tokenizer(struct tokenizer *tokenizer, const struct folder *folder,
                         const struct input_options *options, struct err *err)
{
    enum { AUTO, NONE, BOS };
    static const char *const words[] = {[AUTO] = "auto", [NONE] = "none", [BOS] = "bos"};
    size_t when = AUTO;
    if (options->special &&
        names_choose(&when, NAMES_LIST(words), "--special", options->special, err))
        return -1;
    if (!tokenizer || options->ids)
        return 0; /* texts are refused for that; ids are taken as they are */
    if (options->literal_special)
        tokenizer_spell_special(tokenizer);
    if (when == BOS)
        return tokenizer_begin_texts(tokenizer, folder, err);
    return when == AUTO ? tokenizer_add_special(tokenizer, err) : 0;
}

/* --- a token that an option names ------------------------------------------------------------- */

int inputs_read_token(long long *id, const struct viewer *viewer, const char *option,
                      const char *text, struct arena *arena, struct err *err)
{
    const struct tokenizer *tokenizer = viewer->tokenizer;
    long long last = (long long)viewer->model.config.vocab_size - 1;
    struct tokens tokens = {0};
    if (!tokenizer && num_parse_integer(text, 0, last, id))
        return 0;
    if (!tokenizer)
        return err_usage(err, "%s: expected an id from 0 to %lld, found '%s'", option, last, text);
    if (tokenizer_encode_alone(tokenizer, &tokens, text, strlen(text), arena, err))
        return err_prefix(err, "%s", option);
    if (tokens.count != 1)
        return err_usage(err, "%s: expected a text of 1 token, found '%s', which has %zu", option,
                         text, tokens.count);
    *id = tokens.items->id;
    if (*id > last)
        return err_usage(err, "%s: '%s': expected an id from 0 to %lld, found %lld", option, text,
                         last, *id);
    return 0;
}
