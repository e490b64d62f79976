#include "case_table.h"

#include <stdlib.h>
#include <string.h>

static const char command_word[] = "attn-cli";
static const char model_word[] = "model ";
static const char let_word[] = "let ";

enum { LETS_MAX = 32 };

/* The lines above a case that apply to it. */
struct state {
    const char *lists; /* lines `value LIST NAME DESCRIPTION`, separated by tabs */
    const char *model;
    const char *command;
    struct {
        char *name, *text;
    } lets[LETS_MAX];
    size_t let_count;
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The words after `attn-cli`; NULL if the text is not a command line. */
static const char *command_of(const char *text)
{
    size_t size = sizeof command_word - 1;
    return begins_with(text, command_word) && strchr(" ", text[size]) ? text + size : NULL;
}

/* Remove blanks at both ends, in place. */
static char *trim(char *text)
{
    text += strspn(text, " ");
    size_t size = strlen(text);
    while (size > 0 && text[size - 1] == ' ')
        text[--size] = '\0';
    return text;
}

/* Return the text before `mark` and set `*rest` to the text after it; NULL after the last part. */
static char *take_part(char **rest, const char *mark)
{
    char *part = *rest;
    char *end = strstr(part, mark);
    *rest = end ? end + strlen(mark) : NULL;
    if (end)
        *end = '\0';
    return trim(part);
}

static int add_changes(struct case_row *row, char *text, struct err *err)
{
    while (text) {
        const char *change = take_part(&text, "; ");
        if (row->change_count == CASE_PARTS_MAX)
            return err_set(err, "expected at most %d changes, found more", CASE_PARTS_MAX);
        if (command_of(change))
            row->command = command_of(change);
        else if (*change)
            row->changes[row->change_count++] = change;
    }
    return 0;
}

static int read_case(struct case_row *row, char *line, struct err *err)
{
    char *end = NULL;
    const char *status = take_part(&line, "|");
    row->status = (int)strtol(status, &end, 10);
    row->leaves_files = *end == '+';
    end += row->leaves_files;
    if (*end || end == status || !line)
        return err_set(err, "expected a status and |, found '%s'", status);
    if (add_changes(row, take_part(&line, " | "), err))
        return -1;
    while (line) {
        if (row->text_count == CASE_PARTS_MAX)
            return err_set(err, "expected at most %d texts, found more", CASE_PARTS_MAX);
        row->texts[row->text_count++] = take_part(&line, " | ");
    }
    if (!row->text_count)
        return err_set(err, "expected a text of the message, found none");
    return row->command ? 0 : err_set(err, "expected a line 'attn-cli ...' above, found none");
}

/* Append the names of the {list} at `text`, and move `text` after it; false if there is none. */
static bool expand_list(struct buf *bytes, const char *lists, const char **text)
{
    static const char kind[] = "value\t";
    size_t size = **text == '{' ? strcspn(*text + 1, "} ") : 0, count = 0;
    for (const char *line = lists; size && line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *list = line + sizeof kind - 1, *name = list + size + 1;
        if (!begins_with(line, kind) || strncmp(list, *text + 1, size) != 0 || list[size] != '\t')
            continue;
        buf_text(bytes, count++ ? ", " : "");
        buf_bytes(bytes, name, strcspn(name, "\t\n"));
    }
    *text += count ? size + 2 : 0;
    return count != 0;
}

/* Replace the <names> and {lists} in a line. */
static char *expand(struct arena *arena, const struct state *state, const char *line,
                    struct err *err)
{
    struct buf text = {0};
    while (*line) {
        size_t i = 0;
        while (i < state->let_count && !begins_with(line, state->lets[i].name))
            i++;
        if (i < state->let_count) {
            buf_text(&text, state->lets[i].text);
            line += strlen(state->lets[i].name);
        } else if (!expand_list(&text, state->lists, &line)) {
            buf_char(&text, *line++);
        }
    }
    char *whole = buf_check(&text, err) ? NULL : arena_text(arena, text.bytes, text.size, err);
    buf_release(&text);
    return whole;
}

static int read_line(struct case_table *table, struct state *state, char *line, size_t number,
                     struct err *err)
{
    line = trim(line);
    if (!*line || *line == '#')
        return 0;
    if (begins_with(line, let_word) && state->let_count < LETS_MAX) {
        char *text = line + strlen(let_word);
        state->lets[state->let_count].name = take_part(&text, " = ");
        text = text ? expand(&table->arena, state, text, err) : NULL;
        state->lets[state->let_count++].text = text;
        return text ? 0 : err_set(err, "'%s' line %zu: expected NAME = TEXT", table->path, number);
    }
    if (begins_with(line, model_word)) {
        state->model = strcmp(line, "model none") == 0 ? NULL : line + strlen(model_word);
        return 0;
    }
    if (command_of(line)) {
        state->command = command_of(line);
        return 0;
    }
    struct case_row *row = &table->cases[table->count++];
    *row = (struct case_row){.line = number, .model = state->model, .command = state->command};
    line = expand(&table->arena, state, line, err);
    return !line || read_case(row, line, err)
               ? err_prefix(err, "'%s' line %zu", table->path, number)
               : 0;
}

static size_t count_lines(const struct file *file)
{
    size_t count = 1;
    for (size_t i = 0; i < file->size; i++)
        count += file->bytes[i] == '\n';
    return count;
}

static int read_lines(struct case_table *table, const struct file *file, const char *lists,
                      struct err *err)
{
    struct state state = {.lists = lists};
    char *text = arena_text(&table->arena, file->bytes, file->size, err);
    table->cases = arena_alloc(&table->arena, count_lines(file), sizeof *table->cases, err);
    if (!text || !table->cases)
        return -1;
    for (size_t number = 1; text; number++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = '\0';
        if (read_line(table, &state, text, number, err))
            return -1;
        text = end ? end + 1 : NULL;
    }
    return 0;
}

int case_table_open(struct case_table *table, const char *path, const char *lists, struct err *err)
{
    struct file file = {0};
    *table = (struct case_table){.path = path};
    if (file_map(&file, path, err))
        return -1;
    int failed = read_lines(table, &file, lists, err);
    file_release(&file);
    if (failed)
        case_table_release(table);
    return failed;
}

void case_table_release(struct case_table *table)
{
    arena_release(&table->arena);
    *table = (struct case_table){0};
}

static int hex_value(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The > that closes the < before `from`; or NULL. */
static const char *closing(const char *from, const char *end)
{
    int open = 1;
    for (; from < end; from++) {
        open += (*from == '<') - (*from == '>');
        if (open == 0)
            return from;
    }
    return NULL;
}

/* Decode <3*ab> at `text`, and move `text` after it; false if there is none. */
static bool decode_repeated(struct buf *bytes, const char **text, const char *end)
{
    char *star = NULL;
    unsigned long count = strtoul(*text + 1, &star, 10);
    if (star == *text + 1 || star >= end || *star != '*')
        return false;
    const char *close = closing(star + 1, end);
    if (!close)
        return false;
    for (unsigned long i = 0; i < count; i++)
        case_table_decode(bytes, star + 1, (size_t)(close - star - 1));
    *text = close + 1;
    return true;
}

void case_table_decode(struct buf *bytes, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        bool byte = end - text >= 4 && *text == '<' && text[3] == '>' && hex_value(text[1]) >= 0 &&
                    hex_value(text[2]) >= 0;
        if (byte) {
            buf_char(bytes, (char)(16 * hex_value(text[1]) + hex_value(text[2])));
            text += 4;
        } else if (*text != '<' || !decode_repeated(bytes, &text, end)) {
            buf_char(bytes, *text++);
        }
    }
}
