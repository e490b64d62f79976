#include "options.h"

#include <string.h>

#include "base/names.h"
#include "base/num.h"

static const struct {
    const char *name;
    int command;
} instrument_names[] = {{"run", 0},
                        {"score", FOR_SCORE},
                        {"lens", FOR_LENS},
                        {"attribute", FOR_ATTRIBUTE},
                        {"patch", FOR_PATCH},
                        {"heads", FOR_HEADS},
                        {"generate", FOR_GENERATE}};

enum { INSTRUMENT_NAMES = sizeof instrument_names / sizeof *instrument_names };

bool option_serves(const struct option_row *row, int commands)
{
    int what = commands & INSTRUMENTS;
    if ((commands & ~INSTRUMENTS) != FOR_BATCH)
        return row->commands & commands;
    bool inherits = !(row->commands & NOT_BATCH);
    return row->commands & FOR_BATCH || (inherits && row->commands & (what ? what : FOR_RUN));
}

const struct option_row *option_find(int commands, const char *name, size_t size)
{
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (option_serves(row, commands) && strlen(row->name) == size &&
            memcmp(row->name, name, size) == 0)
            return row;
    }
    return NULL;
}

const struct option_row *option_find_letter(int commands, char letter)
{
    for (size_t i = 0; letter && i < option_count(); i++)
        if (option_at(i)->letter == letter && option_serves(option_at(i), commands))
            return option_at(i);
    return NULL;
}

bool option_is_known(int commands, const char *argument)
{
    if (argument[1] != '-')
        return option_find_letter(commands, argument[1]);
    return option_find(commands, argument + 2, strcspn(argument + 2, "="));
}

bool option_has_name(int commands, const char *name)
{
    return option_find(commands, name, strlen(name));
}

int options_check_name(int command, const char *name, struct err *err)
{
    return option_has_name(command, name) ? 0 : unknown_name(command, name, strlen(name), err);
}

/* --- values ----------------------------------------------------------------------------------- */

struct reader {
    struct options *options;
    int command;
    char **next;
    struct arena *arena;
    struct err *err;
    bool changes_nothing; /* the options that were read last have no effect on the result */
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

bool texts_have(const struct texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return true;
    return false;
}

/* Put an option's value, NULL for a flag, into its field. The last of several values holds, as in a
 * line that is called up again and gone on with; but a file that was named and not read would be
 * missed. */
static int set_option(struct reader *reader, const struct option_row *row, const char *value)
{
    void *field = (char *)reader->options + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        if (*(const char **)field && row->offset == offsetof(struct options, input.file))
            return err_usage(reader->err,
                             "--%s: expected one file, found '%s' as well: 'cat' joins files, and "
                             "--%s - reads what it prints",
                             row->name, value, row->name);
        *(const char **)field = value;
        return 0;
    case OPTION_TEXTS:
        return texts_add(field, value, reader->arena, reader->err);
    case OPTION_NUMBER:
        if (num_parse_integer(value, row->min, row->max, field))
            return 0;
        return err_usage(reader->err, "--%s: expected a whole number from %lld to %lld, found '%s'",
                         row->name, row->min, row->max, value);
    case OPTION_REAL:
        if (num_parse_double(value, (double)row->min, (double)row->max, field))
            return 0;
        return err_usage(reader->err, "--%s: expected a number from %lld to %lld, found '%s'",
                         row->name, row->min, row->max, value);
    }
    return 0;
}

/* --- the command line ------------------------------------------------------------------------- */

static int give_option(struct reader *reader, const struct option_row *row, const char *value)
{
    struct texts *given = &reader->options->given;
    reader->changes_nothing &= (row->commands & PROCESS) != 0;
    return texts_add(given, row->name, reader->arena, reader->err) || set_option(reader, row, value)
               ? -1
               : 0;
}

static bool takes_any_text(const struct option_row *row)
{
    return strcmp(row->argument, "TEXT") == 0 || strcmp(row->argument, "TOKEN") == 0;
}

/* `--layer = 0`, `--layer= 0`: what stands around the sign is lost, or taken for a text. */
static int check_sign(const struct reader *reader, const struct option_row *row, bool joined,
                      const char *value)
{
    if (takes_any_text(row) || strcmp(value, joined ? "" : "=") != 0)
        return 0;
    return err_usage(reader->err, "--%s: expected a value (%s) right after the '=', found a blank",
                     row->name, row->argument);
}

/* The next argument: an option would be lost as a value, and its own taken for a text. */
static const char *take_next(struct reader *reader, const struct option_row *row)
{
    const char *value = *reader->next;
    bool known = value && value[0] == '-' && option_is_known(reader->command, value);
    if (value && (!known || takes_any_text(row)))
        return *reader->next++;
    err_usage(reader->err, "--%s: expected a value (%s), found %s%s%s", row->name, row->argument,
              value ? "the option '" : "the end of the line", value ? value : "", value ? "'" : "");
    return NULL;
}

static int read_long(struct reader *reader, char *argument)
{
    const char *name = argument + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    const struct option_row *row = option_find(reader->command, name, size);
    if (!row)
        return unknown_name(reader->command, name, size, reader->err);
    if (row->kind == OPTION_FLAG && value)
        return err_usage(reader->err, "--%s: expected no value, found '%s'", row->name, value);
    if (row->kind == OPTION_FLAG)
        return give_option(reader, row, "");
    if (!value)
        value = take_next(reader, row);
    if (!value)
        return -1;
    return check_sign(reader, row, name[size] == '=', value) ? -1 : give_option(reader, row, value);
}

/* `-q`, `-qv`, `-m life`, `-mlife`. */
static int read_letters(struct reader *reader, char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const struct option_row *row = option_find_letter(reader->command, *letter);
        if (!row)
            return unknown_letter(reader->command, letter, reader->err);
        if (row->kind == OPTION_FLAG) {
            if (give_option(reader, row, ""))
                return -1;
            continue;
        }
        const char *value = letter[1] ? letter + 1 : take_next(reader, row);
        return value ? give_option(reader, row, value) : -1;
    }
    return 0;
}

/* Append a blank and a word as a shell takes it. */
static void add_word(struct buf *line, const char *word)
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

int options_instrument(const struct options *options)
{
    const char *name = options->batch.instrument;
    size_t index = 0;
    if (name)
        names_find(&index, NAMES(instrument_names, INSTRUMENT_NAMES), name, strlen(name));
    return instrument_names[index].command;
}

/* What a batch does says which options it has, wherever it stands. */
static int find_instrument(int *command, char *const *arguments, struct err *err)
{
    size_t index = 0;
    for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
        const char *value = strncmp(*arguments, "--do=", 5) == 0 ? *arguments + 5
                            : strcmp(*arguments, "--do") == 0    ? arguments[1]
                                                                 : NULL;
        if (value &&
            names_choose(&index, NAMES(instrument_names, INSTRUMENT_NAMES), "--do", value, err))
            return -1;
    }
    *command |= instrument_names[index].command;
    return 0;
}

/* The next operand, or option with its value. */
static int read_argument(struct reader *reader, bool *only_operands)
{
    char *argument = *reader->next++;
    bool is_long = strncmp(argument, "--", 2) == 0;
    reader->changes_nothing = false;
    if (!*only_operands && !is_long && unknown_dashes(reader->command, argument, reader->err))
        return -1;
    if (*only_operands || argument[0] != '-' || argument[1] == '\0')
        return texts_add(&reader->options->input.operands, argument, reader->arena, reader->err);
    if (strcmp(argument, "--") == 0) {
        *only_operands = true;
        return 0;
    }
    reader->changes_nothing = true;
    return (is_long ? read_long : read_letters)(reader, argument);
}

int options_parse(struct options *options, int command, char **arguments, struct arena *arena,
                  struct err *err)
{
    if (command == FOR_BATCH && find_instrument(&command, arguments, err))
        return -1;
    struct reader reader = {options, command, arguments, arena, err};
    struct buf line = {0};
    bool only_operands = false;
    int failed = 0;
    buf_text(&line, "");
    while (*reader.next && !failed) {
        char **first = reader.next;
        failed = read_argument(&reader, &only_operands);
        for (; first < reader.next && !reader.changes_nothing; first++)
            add_word(&line, *first);
    }
    if (!failed)
        options->line = buf_keep(&line, arena, err);
    buf_release(&line);
    return failed || !options->line ? -1 : 0;
}

bool options_are_given(const struct options *options, const char *name)
{
    return texts_have(&options->given, name);
}

int options_precision(enum precision *precision, const struct model_options *options,
                      struct err *err)
{
    *precision = PRECISION_FP32;
    if (!options->precision)
        return 0;
    return precision_choose(precision, "--precision", options->precision, err);
}

int options_set(struct options *options, int command, const char *name, const char *value,
                struct arena *arena, struct err *err)
{
    struct reader reader = {options, command, NULL, arena, err};
    const struct option_row *row = option_find(command, name, strlen(name));
    if (!row)
        return unknown_name(command, name, strlen(name), err);
    if (row->kind == OPTION_TEXTS) /* the item's own, in place of those of all */
        *(struct texts *)(void *)((char *)options + row->offset) = (struct texts){0};
    if (row->kind != OPTION_FLAG)
        return set_option(&reader, row, value);
    bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0)
        return err_usage(err, "--%s: expected true or false, found '%s'", row->name, value);
    *(bool *)((char *)options + row->offset) = yes;
    return 0;
}

/* --- settings --------------------------------------------------------------------------------- */

bool settings_may_vary(const struct option_row *row)
{
    return !(row->commands & (NOT_SWEPT | PROCESS | TEXT));
}

static const void *field_of(const struct option_row *row, const struct options *options)
{
    return (const char *)options + row->offset;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(const struct texts *a, const struct texts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_text(a->items[i], b->items[i]);
    return same;
}

bool settings_same(const struct option_row *row, const struct options *a, const struct options *b)
{
    const void *x = field_of(row, a);
    const void *y = field_of(row, b);
    switch (row->kind) {
    case OPTION_FLAG:
        return *(const bool *)x == *(const bool *)y;
    case OPTION_TEXT:
        return same_text(*(const char *const *)x, *(const char *const *)y);
    case OPTION_TEXTS:
        return same_texts(x, y);
    case OPTION_NUMBER:
        return *(const long long *)x == *(const long long *)y;
    case OPTION_REAL:
        break;
    }
    return *(const double *)x == *(const double *)y;
}

void settings_value(struct buf *out, const struct option_row *row, const struct options *options)
{
    const void *field = field_of(row, options);
    const char *text = "";
    char digits[NUM_DOUBLE_BYTES];
    switch (row->kind) {
    case OPTION_FLAG:
        text = *(const bool *)field ? "true" : "false";
        break;
    case OPTION_TEXT:
        text = *(const char *const *)field;
        break;
    case OPTION_NUMBER:
        buf_format(out, "%lld", *(const long long *)field);
        break;
    case OPTION_REAL:
        num_double(digits, *(const double *)field);
        text = digits;
        break;
    case OPTION_TEXTS:
        for (size_t i = 0; i < ((const struct texts *)field)->count; i++)
            buf_format(out, "%s%s", i ? ";" : "", ((const struct texts *)field)->items[i]);
        break;
    }
    buf_text(out, text ? text : "");
}
