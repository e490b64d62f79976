#include "command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

enum { FILE_BYTES_MAX = 1 << 20 };

struct reader {
    struct defaults *defaults;
    struct options *options;
    const struct command *command;
    int serves;                    /* the command's bits, with those of what a batch does */
    const struct command *section; /* of the lines that come; NULL: all commands */
    const char *model;             /* that the lines before name */
    size_t line;
    struct texts given; /* options of the command line */
    struct arena *arena;
};

/* --- the file --------------------------------------------------------------------------------- */

/* NULL in `*path`: there is none. One that is named must be there. */
static int find_file(const char **path, struct arena *arena, struct err *err)
{
    const char *named = getenv("ATTN_CONFIG");
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    *path = named && *named ? named : NULL;
    if (named)
        return 0;
    if (folder && *folder == '/') /* a relative one does not count, says its specification */
        *path = arena_format(arena, err, "%s/attn-cli/config", folder);
    else if (home && *home)
        *path = arena_format(arena, err, "%s/.config/attn-cli/config", home);
    else
        return 0;
    if (!*path)
        return -1;
    *path = file_exists(*path) ? *path : NULL;
    return 0;
}

static int check_bytes(const struct file *file, const char *path, struct err *err)
{
    size_t invalid = utf8_invalid_at(file->bytes, file->size);
    const char *zero = file->size ? memchr(file->bytes, '\0', file->size) : NULL;
    if (zero && (size_t)(zero - file->bytes) < invalid)
        invalid = (size_t)(zero - file->bytes);
    if (file->size > FILE_BYTES_MAX)
        return err_set(err, "'%s': expected at most %d bytes of options, found %zu", path,
                       FILE_BYTES_MAX, file->size);
    if (invalid < file->size)
        return err_set(err, "'%s': expected text, found the byte 0x%02x at %zu", path,
                       (unsigned char)file->bytes[invalid], invalid);
    return 0;
}

/* --- a line ----------------------------------------------------------------------------------- */

/* [run]: what comes is for that command; [all]: for all again. */
static int begin_section(struct reader *reader, char *line, struct err *err)
{
    char *end = strchr(line, ']');
    if (!end || end[1])
        return err_usage(err, "expected [COMMAND], found '%s'", line);
    *end = '\0';
    reader->section = NULL;
    if (strcmp(line + 1, "all") == 0)
        return 0;
    reader->section = command_find(line + 1, err);
    return reader->section ? 0 : -1;
}

/* "--name value", "--name=value", "-n value", "-nvalue": the row, and the value, or NULL. */
static const struct option_row *read_option(const char **value, const char *line, int commands,
                                            struct err *err)
{
    bool is_long = line[1] == '-';
    const char *name = line + 1 + is_long;
    size_t size = is_long ? strcspn(name, "= \t") : *name != '\0';
    const struct option_row *row =
        is_long ? option_find(commands, name, size) : option_find_letter(commands, *name);
    if (!row && is_long)
        unknown_name(commands, name, size, err);
    else if (!row)
        unknown_letter(commands, name, err);
    *value = name + size + (name[size] == '=');
    *value += strspn(*value, " \t");
    if (!**value)
        *value = NULL;
    return row;
}

/* The ending of a path on the command line comes before --format of the file. */
static bool is_chosen_by_ending(const struct reader *reader, const struct option_row *row)
{
    const char *path = reader->options->output.path;
    const char *name = path ? strrchr(path, '/') : NULL;
    return path && strcmp(row->name, "format") == 0 && strchr(name ? name : path, '.') &&
           !file_is_directory(path);
}

/* Remember which line set it. */
static int note_option(struct reader *reader, const struct option_row *row, struct err *err)
{
    struct defaults *defaults = reader->defaults;
    size_t *lines =
        arena_grow(reader->arena, (void *)defaults->lines, defaults->count, sizeof *lines, err);
    const char **names =
        arena_grow(reader->arena, defaults->names, defaults->count, sizeof *names, err);
    if (!lines || !names || texts_add(&reader->options->given, row->name, reader->arena, err))
        return -1;
    lines[defaults->count] = reader->line;
    names[defaults->count++] = row->name;
    defaults->lines = lines;
    defaults->names = names;
    return 0;
}

static int set_option(struct reader *reader, const struct option_row *row, const char *value,
                      struct err *err)
{
    if (row->kind == OPTION_FLAG && value)
        return err_usage(err, "--%s: expected no value, found '%s'", row->name, value);
    if (row->kind != OPTION_FLAG && !value)
        return err_usage(err, "--%s: expected a value (%s), found the end of the line", row->name,
                         row->argument);
    if (texts_have(&reader->given, row->name) || is_chosen_by_ending(reader, row))
        return 0;
    if (strcmp(row->name, "model") == 0) {
        reader->model = value;
        return 0;
    }
    bool adds = row->kind == OPTION_TEXTS;
    return note_option(reader, row, err) ||
                   (adds ? options_add(reader->options, reader->serves, row->name, value,
                                       reader->arena, err)
                         : options_set(reader->options, reader->serves, row->name,
                                       value ? value : "true", reader->arena, err))
               ? -1
               : 0;
}

/* An option that no command has is a slip; one that this command has not is for others. */
static int read_line(struct reader *reader, char *line, bool of_instrument, struct err *err)
{
    const char *value = NULL;
    if (*line == '[')
        return begin_section(reader, line, err);
    if (*line != '-')
        return err_usage(err, "expected an option, found '%s'", line);
    const struct command *section = reader->section;
    int known = !section                    ? FOR_ALL
                : section->bit == FOR_BATCH ? FOR_BATCH | INSTRUMENTS
                                            : section->bit;
    const struct option_row *row = read_option(&value, line, known, err);
    if (!row)
        return -1;
    if (strcmp(row->name, "help") == 0 || strcmp(row->name, "no-config") == 0)
        return err_usage(err, "--%s: expected it on a command line alone", row->name);
    if ((section && section != reader->command) ||
        of_instrument != (strcmp(row->name, "do") == 0) ||
        !option_has_name(reader->serves, row->name))
        return 0;
    row = read_option(&value, line, reader->serves, err);
    return set_option(reader, row, value, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Every line without the blanks around it; a line that begins with # says nothing. */
static int read_lines(struct reader *reader, const struct file *file, bool of_instrument,
                      struct err *err)
{
    const char *at = file->bytes;
    const char *end = file->bytes + file->size;
    if (file->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) /* a mark of UTF-8 */
        at += 3;
    reader->section = NULL;
    for (reader->line = 1; at < end; reader->line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        const char *stop = next ? next : end;
        while (at < stop && isspace((unsigned char)*at))
            at++;
        while (at < stop && isspace((unsigned char)stop[-1]))
            stop--;
        char *line = arena_text(reader->arena, at, (size_t)(stop - at), err);
        if (!line)
            return -1;
        if (*line && *line != '#' && read_line(reader, line, of_instrument, err))
            return err_prefix(err, "'%s' line %zu", reader->defaults->path, reader->line);
        at = next ? next + 1 : end;
    }
    return 0;
}

/* What a batch does comes first: it says which options it has. */
static int read_all(struct reader *reader, const struct file *file, struct err *err)
{
    bool is_batch = reader->command->bit == FOR_BATCH;
    if (is_batch && read_lines(reader, file, true, err))
        return -1;
    reader->serves |= is_batch ? options_instrument(reader->options) : 0;
    if (read_lines(reader, file, false, err))
        return -1;
    if (!reader->model || chosen_model(NULL)) /* the environment comes before it */
        return 0;
    return setenv("ATTN_MODEL", reader->model, 1) ? err_memory(err, strlen(reader->model)) : 0;
}

int defaults_apply(struct defaults *defaults, struct options *options,
                   const struct command *command, struct arena *arena, struct err *err)
{
    struct reader reader = {.defaults = defaults,
                            .options = options,
                            .command = command,
                            .serves = command->bit | options_instrument(options),
                            .given = options->given,
                            .arena = arena};
    struct file file = {0};
    bool asks = options->help || options->no_config || command->bit == FOR_HELP;
    *defaults = (struct defaults){0};
    if (asks)
        return 0;
    if (find_file(&defaults->path, arena, err))
        return -1;
    if (!defaults->path)
        return 0;
    int failed = file_map(&file, defaults->path, err) || check_bytes(&file, defaults->path, err) ||
                 read_all(&reader, &file, err);
    file_release(&file);
    return failed ? err_append(err, " (--no-config leaves the file out)") : 0;
}

int defaults_blame(const struct defaults *defaults, struct err *err)
{
    for (size_t i = 0; err->kind == ERR_USAGE && i < defaults->count; i++) {
        const char *at = err->text;
        size_t size = strlen(defaults->names[i]);
        while ((at = strstr(at, "--")) &&
               (strncmp(at + 2, defaults->names[i], size) != 0 ||
                isalpha((unsigned char)at[2 + size]) || at[2 + size] == '-'))
            at += 2;
        if (at)
            return err_append(err, " ('%s' line %zu gives --%s)", defaults->path,
                              defaults->lines[i], defaults->names[i]);
    }
    return -1;
}
