#include "options.h"

#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "unknown_option.h"

bool option_serves(const struct option_row *row, int commands)
{
    if (commands == FOR_ITEM && row->commands & NOT_ITEM)
        return false;
    if (row->commands & commands)
        return true;
    bool inherits = commands == FOR_ITEM || (commands == FOR_BATCH && !(row->commands & NOT_BATCH));
    return inherits && row->commands & FOR_RUN;
}

/* The walk through the arguments. */
struct reader {
    struct options *options;
    int command;
    char **next;
    struct arena *arena;
    struct err *err;
};

static const struct option_row *find_name(const struct reader *reader, const char *name,
                                          size_t size)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (option_serves(row, reader->command) && strlen(row->name) == size &&
            memcmp(row->name, name, size) == 0)
            return row;
    }
    return NULL;
}

static const struct option_row *find_letter(const struct reader *reader, char letter)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], reader->command) && option_rows[i].letter == letter)
            return &option_rows[i];
    return NULL;
}

bool option_is_known(int commands, const char *argument)
{
    const struct reader any = {.command = commands};
    if (argument[1] != '-')
        return argument[1] && find_letter(&any, argument[1]);
    return find_name(&any, argument + 2, strcspn(argument + 2, "=")) != NULL;
}

bool option_has_name(int commands, const char *name)
{
    const struct reader any = {.command = commands};
    return find_name(&any, name, strlen(name)) != NULL;
}

int options_check_name(int command, const char *name, struct err *err)
{
    return option_has_name(command, name) ? 0 : unknown_name(command, name, strlen(name), err);
}

static int add_text(struct reader *reader, struct texts *texts, const char *text)
{
    size_t count = texts->count;
    bool full = (count & (count - 1)) == 0; /* room doubles: 1, 2, 4, … */
    if (full) {
        size_t room = count ? 2 * count : 1;
        const char **items = arena_alloc(reader->arena, room, sizeof *items, reader->err);
        if (!items)
            return -1;
        for (size_t i = 0; i < count; i++)
            items[i] = texts->items[i];
        texts->items = items;
    }
    texts->items[texts->count++] = text;
    return 0;
}

static int set_number(struct reader *reader, const struct option_row *row, const char *text,
                      void *field)
{
    if (num_parse_integer(text, row->min, row->max, field))
        return 0;
    return err_usage(reader->err, "--%s: expected a whole number from %lld to %lld, found '%s'",
                     row->name, row->min, row->max, text);
}

static int set_real(struct reader *reader, const struct option_row *row, const char *text,
                    void *field)
{
    if (num_parse_double(text, (double)row->min, (double)row->max, field))
        return 0;
    return err_usage(reader->err, "--%s: expected a number from %lld to %lld, found '%s'",
                     row->name, row->min, row->max, text);
}

/* The last of several values holds, as in a line that is called up again and gone on with; but a
 * file that was named and not read would be missed. */
static int set_text(struct reader *reader, const struct option_row *row, const char *value,
                    const char **field)
{
    if (*field && row->offset == offsetof(struct options, file))
        return err_usage(reader->err,
                         "--%s: expected one file, found '%s' as well: 'cat' joins files, and "
                         "--%s - reads what it prints",
                         row->name, value, row->name);
    *field = value;
    return 0;
}

/* Put an option's value, NULL for a flag, into its field. */
static int set_option(struct reader *reader, const struct option_row *row, const char *value)
{
    void *field = (char *)reader->options + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        return set_text(reader, row, value, field);
    case OPTION_TEXTS:
        return add_text(reader, field, value);
    case OPTION_NUMBER:
        return set_number(reader, row, value, field);
    case OPTION_REAL:
        return set_real(reader, row, value, field);
    }
    return 0;
}

static int give_option(struct reader *reader, const struct option_row *row, const char *value)
{
    return add_text(reader, &reader->options->given, row->name) || set_option(reader, row, value)
               ? -1
               : 0;
}

static int missing_value(const struct reader *reader, const struct option_row *row)
{
    return err_usage(reader->err, "--%s: expected a value (%s), found the end of the line",
                     row->name, row->argument);
}

/* `--layer = 0`, `--layer= 0`: what stands around the sign is lost, or taken for a text. */
static int check_sign(const struct reader *reader, const struct option_row *row, bool joined,
                      const char *value)
{
    bool any_text = strcmp(row->argument, "TEXT") == 0 || strcmp(row->argument, "TOKEN") == 0;
    if (any_text || strcmp(value, joined ? "" : "=") != 0)
        return 0;
    return err_usage(reader->err, "--%s: expected a value (%s) right after the '=', found a blank",
                     row->name, row->argument);
}

static int read_long(struct reader *reader, char *argument)
{
    const char *name = argument + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    const struct option_row *row = find_name(reader, name, size);
    if (!row)
        return unknown_name(reader->command, name, size, reader->err);
    if (row->kind == OPTION_FLAG && value)
        return err_usage(reader->err, "--%s: expected no value, found '%s'", row->name, value);
    if (row->kind != OPTION_FLAG && !value)
        value = *reader->next ? *reader->next++ : NULL;
    if (row->kind != OPTION_FLAG && !value)
        return missing_value(reader, row);
    if (row->kind != OPTION_FLAG && check_sign(reader, row, name[size] == '=', value))
        return -1;
    return give_option(reader, row, value);
}

/* `-q`, `-qv`, `-m life`, `-mlife`. */
static int read_letters(struct reader *reader, char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const struct option_row *row = find_letter(reader, *letter);
        if (!row)
            return unknown_letter(reader->command, letter, reader->err);
        if (row->kind == OPTION_FLAG) {
            if (give_option(reader, row, NULL))
                return -1;
            continue;
        }
        const char *value = letter[1] ? letter + 1 : *reader->next;
        if (!value)
            return missing_value(reader, row);
        reader->next += letter[1] == '\0';
        return give_option(reader, row, value);
    }
    return 0;
}

int options_parse(struct options *options, int command, char **arguments, struct arena *arena,
                  struct err *err)
{
    struct reader reader = {options, command, arguments, arena, err};
    bool only_operands = false;
    while (*reader.next) {
        char *argument = *reader.next++;
        bool is_long = strncmp(argument, "--", 2) == 0;
        int failed = !only_operands && !is_long ? unknown_dashes(command, argument, err) : 0;
        if (failed)
            return -1;
        if (only_operands || argument[0] != '-' || argument[1] == '\0')
            failed = add_text(&reader, &options->operands, argument);
        else if (strcmp(argument, "--") == 0)
            only_operands = true;
        else if (is_long)
            failed = read_long(&reader, argument);
        else
            failed = read_letters(&reader, argument);
        if (failed)
            return -1;
    }
    return 0;
}

bool options_are_given(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->given.count; i++)
        if (strcmp(options->given.items[i], name) == 0)
            return true;
    return false;
}

int options_precision(enum precision *precision, const struct options *options, struct err *err)
{
    *precision = PRECISION_FP32;
    if (!options->precision)
        return 0;
    return precision_choose(precision, "--precision", options->precision, err);
}

static int set_flag(const struct option_row *row, const char *value, bool *field, struct err *err)
{
    bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0)
        return err_usage(err, "--%s: expected true or false, found '%s'", row->name, value);
    *field = yes;
    return 0;
}

int options_set(struct options *options, int command, const char *name, const char *value,
                struct arena *arena, struct err *err)
{
    struct reader reader = {options, command, NULL, arena, err};
    const struct option_row *row = find_name(&reader, name, strlen(name));
    if (!row)
        return unknown_name(command, name, strlen(name), err);
    if (row->kind == OPTION_FLAG)
        return set_flag(row, value, (bool *)((char *)options + row->offset), err);
    return set_option(&reader, row, value);
}

int options_check_page(const struct options *options, struct err *err)
{
    static const char *const formats[] = {"text", "json"};
    size_t index = 0;
    return options->format
               ? names_choose(&index, NAMES_LIST(formats), "--format", options->format, err)
               : 0;
}
