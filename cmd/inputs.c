#include "inputs.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

/* A line of a file, without its end; `next` begins the one behind it. */
struct line {
    const char *bytes;
    size_t size;
    const char *next;
};

static struct line line_at(const char *bytes, const char *end)
{
    const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
    const char *stop = newline ? newline : end;
    struct line line = {bytes, (size_t)(stop - bytes), newline ? newline + 1 : end};
    if (line.size && line.bytes[line.size - 1] == '\r')
        line.size--;
    return line;
}

static bool is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (line->bytes[i] != ' ' && line->bytes[i] != '\t')
            return false;
    return true;
}

static size_t count_lines(const struct file *file)
{
    size_t count = 0;
    const char *end = file->bytes + file->size;
    for (const char *at = file->bytes; at < end; count++)
        at = line_at(at, end).next;
    return count;
}

static void add_text(struct inputs *inputs, const char *bytes, size_t size, size_t line)
{
    inputs->lines[inputs->count] = line;
    inputs->items[inputs->count++] = (struct input){.text = bytes, .size = size};
}

const char *inputs_behind_mark(const struct file *file)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = sizeof mark - 1;
    bool marked = file->size >= size && memcmp(file->bytes, mark, size) == 0;
    return file->bytes + (marked ? size : 0);
}

static void add_lines(struct inputs *inputs)
{
    const char *end = inputs->file.bytes + inputs->file.size;
    size_t number = 1;
    for (const char *at = inputs_behind_mark(&inputs->file); at < end; number++) {
        struct line line = line_at(at, end);
        if (!is_blank(&line))
            add_text(inputs, line.bytes, line.size, number);
        at = line.next;
    }
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *inputs_shown_path(const char *path)
{
    return is_standard_input(path) ? "standard input" : path;
}

int inputs_read_file(struct file *file, const char *path, struct err *err)
{
    if (is_standard_input(path))
        return file_read(file, STDIN_FILENO, inputs_shown_path(path), err);
    return file_map(file, path, err);
}

static int make_room(struct inputs *inputs, size_t count, struct err *err)
{
    inputs->items = arena_alloc(&inputs->arena, count, sizeof *inputs->items, err);
    inputs->lines = arena_alloc(&inputs->arena, count, sizeof *inputs->lines, err);
    return inputs->items && inputs->lines ? 0 : -1;
}

static int no_text(struct err *err)
{
    return err_usage(err, "expected a text: --sentence TEXT, --file PATH or --ids LIST");
}

bool inputs_are_given(const struct options *options)
{
    return options->sentences.count || options->file || options->ids;
}

int inputs_check_ids(const struct options *options, struct err *err)
{
    if (!options->ids || !options->bos)
        return 0;
    return err_usage(err, "--bos: is for texts, found --ids: put the id of that token first");
}

int inputs_open(struct inputs *inputs, const struct options *options, struct err *err)
{
    *inputs = (struct inputs){.path = options->file};
    if (!inputs_are_given(options))
        return no_text(err);
    if (inputs_check_ids(options, err))
        return -1;
    if (options->file && inputs_read_file(&inputs->file, options->file, err))
        return -1;
    if (make_room(inputs, options->sentences.count + count_lines(&inputs->file) + 1, err))
        goto failed;
    for (size_t i = 0; i < options->sentences.count; i++)
        add_text(inputs, options->sentences.items[i], strlen(options->sentences.items[i]), 0);
    if (options->file)
        add_lines(inputs);
    if (options->ids)
        inputs->items[inputs->count++] = (struct input){.ids = options->ids};
    if (inputs->count)
        return 0;
    err_set(err, "'%s': expected a sentence, found %s", inputs_shown_path(options->file),
            inputs->file.size ? "only blank lines" : "nothing");
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

int inputs_only(struct input *input, struct file *file, const struct options *options,
                struct err *err)
{
    size_t count = options->sentences.count + (options->file != NULL) + (options->ids != NULL);
    *input = (struct input){.ids = options->ids};
    if (count == 0)
        return no_text(err);
    if (count > 1)
        return err_usage(err, "expected one text, found %zu", count);
    if (inputs_check_ids(options, err))
        return -1;
    if (options->sentences.count)
        *input = (struct input){.text = options->sentences.items[0],
                                .size = strlen(options->sentences.items[0])};
    if (!options->file)
        return 0;
    if (inputs_read_file(file, options->file, err))
        return -1;
    *input = (struct input){.text = file->bytes, .size = file->size};
    input->size -= input->size && input->text[input->size - 1] == '\n';
    return 0;
}

int inputs_blame_only(const struct options *options, struct err *err)
{
    return options->sentences.count ? -1 : err_prefix(err, options->file ? "--file" : "--ids");
}

int inputs_check_source(const struct options *options, const struct model *model, struct err *err)
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
    if (!inputs->items[index].text)
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

void dropped_add(struct dropped *dropped, const struct reading *reading, size_t index)
{
    const struct token *first = &reading->dropped_first;
    if (!reading->dropped_count)
        return;
    if (!dropped->count) {
        dropped->input = index;
        dropped->at = first->start;
        label_excerpt(dropped->first, reading->text + first->start, first->end - first->start);
    }
    dropped->count += reading->dropped_count;
}

void dropped_note(const struct dropped *dropped, const struct options *options, const char *place)
{
    bool one = dropped->count == 1;
    bool placed = place && *place;
    if (!dropped->count)
        return;
    print_note(options, "%zu %s not in the vocabulary %s left out: '%s' at byte %zu%s%s%s",
               dropped->count, one ? "mark that is" : "marks that are", one ? "was" : "were",
               dropped->first, dropped->at, placed ? " of " : "", placed ? place : "",
               one ? "" : " is the first");
}

int inputs_set_tokenizer(struct tokenizer *tokenizer, const struct folder *folder,
                         const struct options *options, struct err *err)
{
    if (!tokenizer)
        return 0; /* texts are refused for that */
    if (options->no_special)
        tokenizer_spell_special(tokenizer);
    return options->bos ? tokenizer_begin_texts(tokenizer, folder, err) : 0;
}
