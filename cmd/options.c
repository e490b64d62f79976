#include "options.h"

#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "command.h"

/* --- tables ----------------------------------------------------------------------------------- */

enum { TABLES = 2 + OPTION_USES };

/* The table with this index in a set: the command's own table, its shared tables, running_options;
 * then the tables of the command of --do. NULL: no table. */
static const struct option_row *table_at(struct option_set set, size_t index)
{
    const struct command *command = index < TABLES ? set.command : set.done;
    index %= TABLES;
    if (!command || index == 0)
        return command ? command->options : NULL;
    return index <= OPTION_USES ? command->shared[index - 1]
           : command->done      ? NULL
                                : running_options;
}

/* Find the row of an option by its name or, with `former`, by the name that it had before. */
static const struct option_row *find_row(struct option_set set, const char *name, size_t size,
                                         bool former)
{
    for (size_t i = 0; i < 2 * TABLES; i++) {
        const struct command *command = i < TABLES ? set.command : set.done;
        bool excepts = i % TABLES && command && command->without;
        for (const struct option_row *row = table_at(set, i); row && row->name; row++) {
            const char *own = former ? row->former : row->name;
            if (own && strlen(own) == size && memcmp(own, name, size) == 0 &&
                !(excepts && name_is_among(command->without, row->name)) &&
                !(i >= TABLES && row->flags & OPTION_NOT_BATCH))
                return row;
        }
    }
    return NULL;
}

const struct option_row *option_find(struct option_set set, const char *name, size_t size)
{
    const struct option_row *row = find_row(set, name, size, false);
    return row ? row : find_row(set, name, size, true);
}

static const struct option_row *find_text(struct option_set set, const char *name)
{
    return option_find(set, name, strlen(name));
}

bool option_next(struct option_walk *walk)
{
    for (; walk->table < 2 * TABLES; walk->table++, walk->index = 0) {
        const struct option_row *rows = table_at(walk->set, walk->table);
        walk->is_shared = walk->table % TABLES != 0;
        while (rows && rows[walk->index].name) {
            walk->row = &rows[walk->index++];
            if (walk->row->heading)
                walk->heading = walk->row->heading;
            if (find_text(walk->set, walk->row->name) == walk->row)
                return true;
        }
    }
    return false;
}

const struct option_row *option_find_letter(struct option_set set, char letter)
{
    struct option_walk walk = {.set = set};
    while (letter && option_next(&walk))
        if (walk.row->letter == letter)
            return walk.row;
    return NULL;
}

size_t option_brief_bytes(const struct option_row *row)
{
    const char *end = strstr(row->about, "; ");
    return end ? (size_t)(end - row->about) : strlen(row->about);
}

bool option_is_known(struct option_set set, const char *argument)
{
    return argument[1] == '-' ? option_find(set, argument + 2, strcspn(argument + 2, "=")) != NULL
                              : option_find_letter(set, argument[1]) != NULL;
}

/* --- unknown names ---------------------------------------------------------------------------- */

enum { WORD_BYTES = 64 };

int option_refuse(struct option_set set, const char *name, size_t size, struct err *err)
{
    /* the name in the spelling of options: `Max_New_Tokens` becomes max-new-tokens */
    char word[WORD_BYTES] = "";
    struct nearest nearest;
    for (size_t i = 0; i < size && size < WORD_BYTES; i++)
        word[i] = name[i] == '_' ? '-' : (char)utf8_small((unsigned char)name[i] & 0x7f);
    const char *near = find_text(set, word) ? word : NULL;
    if (name_is_among("token position at", word) && !near && find_text(set, "query"))
        near = "query";
    for (size_t i = 0; set.all && i < set.all->count && !near; i++)
        if (find_text(command_set(set.all->items[i]), word))
            return err_usage(err, "unknown option '--%s': it is an option of %s, not of %s%s%s",
                             word, set.all->items[i]->name, set.command->name,
                             set.done ? " --do " : "", set.done ? set.done->name : "");
    nearest_begin(&nearest, name, size);
    for (struct option_walk walk = {.set = set}; option_next(&walk);)
        nearest_offer(&nearest, walk.row->name);
    near = near ? near : nearest.name;
    if (near)
        return err_usage(err, "unknown option '--%.*s': did you mean '--%s'?", (int)size, name,
                         near);
    size_t places = set.all ? set.all->places(word, set.all) : 0;
    if (places)
        return err_usage(err, "unknown option '--%.*s': 'attn-cli help %s' finds %zu place%s",
                         (int)size, name, word, places, places == 1 ? "" : "s");
    return err_usage(err, "unknown option '--%.*s': --help lists them", (int)size, name);
}

/* --- values ----------------------------------------------------------------------------------- */

struct option_reader {
    struct options *options;
    char **next;
    struct arena *arena;
    struct err *err;
    /* the last argument contains only options that do not affect results (OPTION_PROCESS) */
    bool changes_nothing;
};

int texts_add(struct texts *texts, const char *text, struct arena *arena, struct err *err)
{
    const char **items = arena_grow(arena, texts->items, texts->count, sizeof *items, err);
    if (!items)
        return -1;
    items[texts->count++] = text;
    texts->items = items;
    return 0;
}

/* Store the value of an option. If an option occurs several times, the last value counts; but a
 * second --file or --output is refused, since the first one would not be read or written. */
static int set_option(struct option_reader *reader, const struct option_row *row, const char *value)
{
    void *field = (char *)reader->options + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = strcmp(value, "true") == 0;
        return *(bool *)field || strcmp(value, "false") == 0
                   ? 0
                   : err_usage(reader->err, "--%s: expected true or false, found '%s'", row->name,
                               value);
    case OPTION_TEXT:
        if (*(const char **)field &&
            (row->offset == IN(input.file) || row->offset == IN(output.path)))
            return err_usage(reader->err, "--%s: expected one file, found '%s' as well", row->name,
                             value);
        *(const char **)field = value;
        return 0;
    case OPTION_TEXTS:
        if (row->offset == IN(model.names))
            reader->options->model.name = value;
        return texts_add(field, value, reader->arena, reader->err);
    default:
        if (row->kind == OPTION_NUMBER
                ? num_parse_integer(value, row->min, row->max, field)
                : num_parse_double(value, (double)row->min, (double)row->max, field))
            return 0;
        return err_usage(reader->err, "--%s: expected a %snumber from %lld to %lld, found '%s'",
                         row->name, row->kind == OPTION_NUMBER ? "whole " : "", row->min, row->max,
                         value);
    }
}

/* --- the command line ------------------------------------------------------------------------- */

static int give_option(struct option_reader *reader, const struct option_row *row,
                       const char *value)
{
    reader->changes_nothing &= (row->flags & OPTION_PROCESS) != 0;
    return err_if(texts_add(&reader->options->given, row->name, reader->arena, reader->err) ||
                  set_option(reader, row, value));
}

static bool takes_any_text(const struct option_row *row)
{
    return name_is_among("TEXT TOKEN A[:B]", row->argument);
}

/* Use the next argument as the value of an option. An argument that is an option itself is refused,
 * unless the value may be any text. */
static const char *take_next(struct option_reader *reader, const struct option_row *row)
{
    const char *value = *reader->next;
    bool known = value && value[0] == '-' && option_is_known(reader->options->set, value);
    if (value && (!known || takes_any_text(row)))
        return *reader->next++;
    err_usage(reader->err, "--%s: expected a value (%s), found %s%s%s", row->name, row->argument,
              value ? "the option '" : "the end of the line", value ? value : "", value ? "'" : "");
    return NULL;
}

static int parse_long(struct option_reader *reader, char *argument)
{
    const char *name = argument + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    const struct option_row *row = option_find(reader->options->set, name, size);
    if (!row && reader->options->set.command->names_options)
        return texts_add(&reader->options->input.operands, argument, reader->arena, reader->err);
    if (!row)
        return option_refuse(reader->options->set, name, size, reader->err);
    if (row->kind == OPTION_FLAG)
        return value
                   ? err_usage(reader->err, "--%s: expected no value, found '%s'", row->name, value)
                   : give_option(reader, row, "true");
    /* a value equal to `blank` means that the "=" has a space next to it: `--layer = 0` */
    const char *blank = value ? "" : "=";
    if (!value && !(value = take_next(reader, row)))
        return -1;
    if (strcmp(value, blank) == 0 && !takes_any_text(row))
        return err_usage(reader->err,
                         "--%s: expected a value (%s) right after the '=', found a space",
                         row->name, row->argument);
    return give_option(reader, row, value);
}

/* Read options by their letters: `-q`, `-qv`, `-m life` or `-mlife`. */
static int parse_letters(struct option_reader *reader, char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const struct option_row *row = option_find_letter(reader->options->set, *letter);
        if (!row)
            return err_usage(reader->err, "unknown option '-%.*s': --help lists them",
                             (int)utf8_grapheme(letter, strlen(letter)), letter);
        if (row->kind == OPTION_FLAG) {
            if (give_option(reader, row, "true"))
                return -1;
            continue;
        }
        const char *value = letter[1] ? letter + 1 : take_next(reader, row);
        return value ? give_option(reader, row, value) : -1;
    }
    return 0;
}

void line_add(struct buf *line, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    buf_char(line, ' ');
    if (*word && !word[strspn(word, plain)]) {
        buf_text(line, word);
        return;
    }
    buf_char(line, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_text(line, "'\\'");
        buf_char(line, *word);
    }
    buf_char(line, '\'');
}

char **line_split(const char *line, struct arena *arena, struct err *err)
{
    size_t size = strlen(line), count = 0;
    char *text = arena_alloc(arena, size + 1, 1, err);
    char **words = arena_alloc(arena, size + 2, sizeof *words, err);
    if (!text || !words)
        return NULL;
    while (*line) {
        words[count++] = text;
        for (bool quoted = false; *line && (quoted || *line != ' '); line++) {
            if (*line == '\'')
                quoted = !quoted;
            else
                *text++ = !quoted && *line == '\\' && line[1] ? *++line : *line;
        }
        *text++ = '\0';
        line += *line == ' ';
    }
    words[count] = NULL;
    return words;
}

/* Read the next operand, or the next option with its value. Refused: `-layer`, which would be read
 * as letters, and `–layer` with the dash of a word processor, which would be read as a text. */
static int parse_argument(struct option_reader *reader, bool *only_operands)
{
    char *argument = *reader->next++;
    bool is_long = strncmp(argument, "--", 2) == 0;
    size_t dashes = strspn(argument, "-‐‑‒–—―−");
    const char *name = argument + dashes;
    size_t size = strcspn(name, "=");
    reader->changes_nothing = false;
    if (!*only_operands && !is_long && dashes && size > 1 &&
        option_find(reader->options->set, name, size))
        return err_usage(reader->err,
                         "unknown option '%.*s': did you mean '--%.*s', with two hyphens?",
                         (int)(dashes + size), argument, (int)size, name);
    if (*only_operands || argument[0] != '-' || argument[1] == '\0')
        return texts_add(&reader->options->input.operands, argument, reader->arena, reader->err);
    if (strcmp(argument, "--") == 0) {
        *only_operands = true;
        return 0;
    }
    reader->changes_nothing = true;
    return (is_long ? parse_long : parse_letters)(reader, argument);
}

static void preset(struct options *options, const struct option_row *row)
{
    void *field = (char *)options + row->offset;
    if (row->kind == OPTION_NUMBER && row->preset != 0)
        *(long long *)field = (long long)row->preset;
    if (row->kind == OPTION_REAL && row->preset != 0)
        *(double *)field = row->preset;
}

void options_init(struct options *options, struct option_set set)
{
    struct option_walk walk = {.set = set};
    *options = (struct options){.set = set};
    for (const struct option_row *row = mechanism_options; row->name; row++)
        preset(options, row); /* set defaults even of options that the command does not have */
    while (option_next(&walk))
        preset(options, walk.row);
}

int options_parse(struct options *options, struct option_set set, char **arguments,
                  struct arena *arena, struct err *err)
{
    options_init(options, set);
    struct option_reader reader = {options, arguments, arena, err};
    struct buf line = {0};
    bool only_operands = false;
    int failed = 0;
    buf_text(&line, "");
    while (*reader.next && !failed) {
        char **first = reader.next;
        failed = parse_argument(&reader, &only_operands);
        for (; first < reader.next && !reader.changes_nothing; first++)
            line_add(&line, *first);
    }
    if (!failed)
        options->line = buf_keep(&line, arena, err);
    if (options->input.word_column && find_text(set, "words") &&
        !options_are_given(options, "total per group continue next"))
        options->select.words = true;
    buf_release(&line);
    return err_if(failed || !options->line);
}

const char *options_are_given(const struct options *options, const char *names)
{
    for (size_t i = 0; i < options->given.count; i++)
        if (name_is_among(names, options->given.items[i]))
            return options->given.items[i];
    return NULL;
}

int options_exclude(const struct options *options, const char *name, const char *others,
                    struct err *err)
{
    const char *other = options_are_given(options, others);
    return other && options_are_given(options, name)
               ? err_usage(err, "--%s and --%s cannot be combined", name, other)
               : 0;
}

int options_set(struct options *options, const char *name, const char *value, struct arena *arena,
                struct err *err)
{
    struct option_reader reader = {options, NULL, arena, err};
    const struct option_row *row = find_text(options->set, name);
    if (!row)
        return option_refuse(options->set, name, strlen(name), err);
    if (row->kind == OPTION_TEXTS) /* new values replace the values of the command line */
        *(struct texts *)(void *)((char *)options + row->offset) = (struct texts){0};
    if (set_option(&reader, row, value))
        return -1;
    bool is_off = row->kind == OPTION_FLAG && !*((bool *)(void *)((char *)options + row->offset));
    return is_off || options_are_given(options, row->name)
               ? 0
               : texts_add(&options->given, row->name, arena, err);
}
