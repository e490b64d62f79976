/* again.c: `attn-cli again`: shows the command that made a figure or a page, checks whether its
 * model and input files are unchanged and, with --run, whether the command still writes the same
 * bytes.
 *
 * A figure or page contains {"provenance": {"version": …, "command_line": …, "models": [{"name": …,
 * "hash": …}], "files": …}} (lib/write/json_report.c): an SVG in <metadata>, a PNG in a text chunk,
 * PDF and TikZ in a comment, a page in an element. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "command.h"
#include "format/json.h"
#include "output.h"
#include "progress.h"
#include "say.h"

struct own_options {
    bool runs;
};

static const struct option_row own_options[] = {
    FLAG("run", 0, OWN(runs), "run the command, and compare; the result with the figure",
         .heading = "Again"),
    {0},
};

static command_verb again_command;

const struct command command_again = {
    .name = "again",
    .heading = "More",
    .about = "check the command that made a figure",
    .operands = "FIGURE",
    .most_used = "--run\trun it, and compare the result\n",
    .examples = "attn-cli run \"Life is short\" --layer 0 -o life.svg && attn-cli again life.svg\n"
                "attn-cli page \"Life is short\" -o life.html && attn-cli again life.html --run\n",
    .run = again_command,
    .options = own_options,
    .shared = {output_options},
    .without = "no-text threads verbose",
};

enum { HASH_SHOWN = 12 /* number of hash digits that the table shows */ };

struct again {
    const char *path; /* path of the figure or page */
    const char *line; /* the command line that made the figure */
    const char *here; /* folder to return to; NULL: the current folder was not changed */
    struct options command;
    struct table_rows rows; /* rows of the printed table: a row for each check of a file or model */
    size_t changed, missing;
    struct arena arena;
    struct err *err;
};

/* --- the provenance of a figure --------------------------------------------------------------- */

/* The end of the JSON object that begins at `at`; NULL: no complete object begins there. */
static const char *object_end(const char *at, const char *end)
{
    size_t depth = 0;
    for (bool quoted = false; at < end; at++) {
        if (quoted && *at == '\\' && at + 1 < end)
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '{')
            depth++;
        else if (!quoted && *at == '}' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* Find the provenance in the bytes of a file, and parse its JSON. In an SVG, the entities of &, <
 * and > are decoded. */
static int parse_provenance(struct json **root, const struct file *file, const char *path,
                            struct err *err)
{
    static const char begin[] = "\"provenance\": {\"version\": ";
    static const char *const entities[][2] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
    const char *end = file->bytes + file->size, *found = NULL;
    struct buf text = {0};
    if (file->size)
        found = memmem(file->bytes, file->size, begin, sizeof begin - 1);
    const char *object = found ? strchr(found, '{') : NULL;
    const char *after = object ? object_end(object, end) : NULL;
    bool is_svg = file->size > 4 && memcmp(file->bytes, "<svg", 4) == 0;
    while (object && object < after) {
        size_t i = 0, count = is_svg ? sizeof entities / sizeof *entities : 0;
        while (i < count && strncmp(object, entities[i][0], strlen(entities[i][0])) != 0)
            i++;
        buf_text(&text, i < count ? entities[i][1] : (char[]){*object, 0});
        object += i < count ? strlen(entities[i][0]) : 1;
    }
    int failed = buf_check(&text, err) || (after && json_parse(root, text.bytes, text.size, err));
    buf_release(&text);
    if (failed || !json_is_array(json_member(*root, "models")))
        return err_set(err,
                       "'%s': expected a figure or a page of attn-cli, which says how it was "
                       "made, found none of that: figures of earlier versions, and those that "
                       "another program saved, do not say it",
                       path);
    return 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static void add_check(struct again *again, const char *part, const char *name, const char *recorded,
                      const char *found)
{
    bool is_same = found && strcmp(recorded, found) == 0;
    struct table_rows *rows = &again->rows;
    rows_label(rows, "part", COLUMN_KEY, (struct label){part, part, part});
    rows_label(rows, "name", COLUMN_KEY, (struct label){name, name, name});
    rows_text(rows, "recorded", 0, recorded);
    rows_text(rows, "now", 0, found);
    rows_text(rows, "state", 0, !found ? "missing" : is_same ? "same" : "changed");
    rows_next(rows);
    again->missing += !found;
    /* another version of attn-cli is not a change: it may write the same bytes */
    again->changed += !is_same && strcmp(part, "version") != 0;
}

/* True if no regular file has this name; false if there is one, or if the name cannot be looked
 * up. */
static bool lacks_file(const char *name)
{
    struct stat status;
    return stat(name, &status) ? file_is_absent() : !S_ISREG(status.st_mode);
}

/* Hash a model as `info` does, or hash a file. If the model cannot be opened, or the file does not
 * exist or is standard input, print a note and leave `*found` NULL. */
static int hash_now(const char **found, struct again *again, const char *name, bool is_model)
{
    char digits[SHA256_DIGITS + 1];
    struct err why = {0};
    struct model model = {0};
    struct file file = {0};
    bool is_short = strncmp(name, "./", 2) == 0 && !strchr(name + 2, '/');
    int failed = 0;
    bool is_there = false;
    if (is_model) {
        failed = model_open(&model, name, &why);
        if (!failed)
            weights_sample_hash(&model.weights, digits);
        model_release(&model);
    } else if (strcmp(name, "-") != 0) {
        failed = file_map_named(&file, name, &why) || file_hash(digits, name, &file, &why);
        is_there = failed && !lacks_file(name);
        file_release(&file);
    } else {
        failed = err_set(&why, "its texts came from standard input: save them in a file, and name "
                               "it with -f");
    }
    if (why.out_of_memory || is_there)
        return err_adopt(again->err, &why);
    if (failed)
        print_note("%s%s", why.text,
                   is_short ? ": the figure has its name alone; --keep-paths records where it is"
                            : "");
    else
        *found = arena_format(&again->arena, again->err, "%.*s", HASH_SHOWN, digits);
    return err_if(!failed && !*found);
}

/* True if the command reads texts with a model but names no model: the command then uses the
 * default model or $ATTN_MODEL. */
static bool lacks_model(const struct options *command)
{
    const struct texts *operands = &command->input.operands;
    const struct option_row *row = option_find(command->set, "model", 5);
    return row && row->offset == IN(model.names) && !command->model.name &&
           !(operands->count && model_is_there(operands->items[0]));
}

static int check_list(struct again *again, const struct json *list, bool is_model, struct err *err)
{
    for (const struct json *each = json_first(list); each; each = json_next(each)) {
        const char *name = NULL, *hash = NULL, *found = NULL;
        if (json_text(each, "name", &name, err) || json_text(each, "hash", &hash, err))
            return -1;
        if (!name || !hash)
            return json_refuse("models", each, "a name and a hash", err);
        const char *recorded =
            arena_format(&again->arena, err, "%.*s", HASH_SHOWN, *hash ? hash : "-");
        const char *kept = arena_text(&again->arena, name, strlen(name), err);
        if (!recorded || !kept || hash_now(&found, again, kept, is_model))
            return -1;
        add_check(again, is_model ? "model" : "file", kept, recorded, found);
        if (is_model && json_count(list) == 1 && lacks_model(&again->command))
            again->command.model.name = kept;
    }
    return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Parse the command that made the figure. With --run, refuse a command that does more than write
 * this figure: the figure may come from a stranger. */
static int parse_command(struct again *again, const struct command_list *all, bool runs,
                         struct err *err)
{
    char **words = line_split(again->line, &again->arena, err);
    const struct command *command = NULL;
    if (words && (!words[0] || !words[1]))
        return err_set(err, "'%s': expected a command, such as attn-cli run 'Life is', found '%s'",
                       again->path, again->line);
    if (!words || !(command = command_find(all, words[1], err)) ||
        command_parse(&again->command, all, command, words + 2, &again->arena, err))
        return err_prefix(err, "'%s': its command", again->path);
    if (runs && (!command->draws || again->command.output.path || again->command.help))
        return err_usage(err, "--run: expected a command that writes one figure, found '%s'",
                         again->line);
    return 0;
}

/* Set `*lacks` if a file that the command reads is missing in the current folder, and the path of
 * the figure names a folder, which may contain the file. */
static int lacks_files(bool *lacks, const struct again *again, const struct json *files,
                       struct err *err)
{
    *lacks = false;
    for (const struct json *each = json_first(files); each; each = json_next(each)) {
        const char *name = NULL;
        mode_t kind = 0;
        bool is_name = json_get_text(json_member(each, "name"), &name);
        if (is_name && strcmp(name, "-") != 0 && file_kind(&kind, name, err))
            return -1;
        *lacks |= !is_name || (strcmp(name, "-") != 0 && !kind);
    }
    *lacks &= strchr(again->path, '/') != NULL;
    return 0;
}

static int change_folder(const char *folder, struct err *err)
{
    return chdir(folder) ? err_set(err, "'%s': %s", folder, strerror(errno)) : 0;
}

/* Open the output. If lacks_files finds a missing file, make the output path absolute, and change
 * to the folder of the figure. */
static int open_and_enter(struct again *again, struct output *output, const struct json *files,
                          struct err *err)
{
    char here[PATH_MAX];
    bool lacks;
    if (lacks_files(&lacks, again, files, err))
        return -1;
    if (!lacks)
        return output_open(output, err);
    if (!getcwd(here, sizeof here))
        return err_set(err, "cannot find the present folder: %s", strerror(errno));
    const char *folder = arena_text(&again->arena, again->path,
                                    (size_t)(strrchr(again->path, '/') + 1 - again->path), err);
    again->here = arena_text(&again->arena, here, strlen(here), err);
    if (!folder || !again->here)
        return -1;
    if (!output_is_standard(output->path) && *output->path != '/' &&
        !(output->path = arena_format(&again->arena, err, "%s/%s", here, output->path)))
        return -1;
    return err_if(output_open(output, err) || change_folder(folder, err));
}

/* Refuse a command whose options name standard input, a pipe or a device: reading it could
 * block. */
static int check_texts(const struct options *command, struct err *err)
{
    struct option_walk walk = {.set = command->set};
    while (option_next(&walk)) {
        const void *field = (const char *)command + walk.row->offset;
        const struct texts *several = field;
        const char *const *one = field;
        size_t count = walk.row->kind == OPTION_TEXT    ? *one != NULL
                       : walk.row->kind == OPTION_TEXTS ? several->count
                                                        : 0;
        for (size_t i = 0; i < count; i++) {
            const char *text = walk.row->kind == OPTION_TEXT ? *one : several->items[i];
            struct stat status;
            bool is_standard = strcmp(walk.row->argument, "FILE") == 0 && strcmp(text, "-") == 0;
            if (!is_standard &&
                (stat(text, &status) || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
                continue;
            return err_usage(err, "--run: expected a command that reads files, found --%s '%s'",
                             walk.row->name, text);
        }
    }
    return 0;
}

/* Run the command with an unnamed temporary file as its output, and compare the bytes of this file
 * with the bytes of the figure. */
static int run_again(struct again *again, const struct file *figure, struct err *err)
{
    enum { NAME_BYTES = 32 };
    char name[NAME_BYTES];
    struct options *command = &again->command;
    const struct output_options output = {.path = again->path, .format = command->output.format};
    const struct format *format = option_find(command->set, "format", strlen("format"))
                                      ? format_choose(FORMAT_COUNT, &output, err)
                                      : format_find("html");
    if (!format || check_texts(command, err))
        return -1;
    FILE *made_file = tmpfile();
    if (!made_file)
        return err_output(err, "cannot create a temporary file: %s", strerror(errno));
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(made_file));
    command->output.path = name;
    command->output.format = format->name;
    command->quiet = true;
    command->input.is_hosted = true; /* do not read standard input: the original command did not */
    struct file made = {0};
    int failed = command_start(command->set.command, command, err);
    if (!failed && lseek(fileno(made_file), 0, SEEK_SET) < 0)
        failed = err_output(err, "cannot read a temporary file: %s", strerror(errno));
    failed = failed || file_read(&made, fileno(made_file), name, err);
    size_t same = 0;
    while (!failed && same < made.size && same < figure->size &&
           made.bytes[same] == figure->bytes[same])
        same++;
    if (!failed) {
        const char *slash = strrchr(again->path, '/');
        const char *before = arena_format(&again->arena, err, "%zu bytes", figure->size);
        const char *now =
            same == made.size && same == figure->size
                ? before
                : arena_format(&again->arena, err, "%zu bytes, other from byte %zu on", made.size,
                               same + 1);
        if (before && now)
            add_check(again, "figure", slash ? slash + 1 : again->path, before, now);
        failed = !before || !now;
    }
    file_release(&made);
    fclose(made_file);
    return err_if(failed);
}

static int report_checks(struct again *again, struct output *output, const struct options *options,
                         struct err *err)
{
    struct facts *facts = facts_new(&again->arena, err);
    struct table table;
    struct report report = {.untitled = true, .model = "", .tables = &table, .table_count = 1};
    if (!facts || rows_finish(&table, &again->rows, "checks", "check"))
        return -1;
    facts_text(facts, "command_line", again->line);
    facts_title(facts, "command", "");
    report.facts = &facts->table;
    progress_set_quiet(options->quiet);
    if (provenance_begin(options, err) || output_write_table(output, &report, options, NULL, err))
        return -1;
    return again->changed ? err_failed(err, "'%s': %zu of %zu differ from when it was made",
                                       again->path, again->changed, again->rows.row)
                          : 0;
}

static int again_command(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    struct again again = {.err = err};
    struct output output = {0};
    struct file figure = {0};
    struct json *root = NULL;
    const char *version = "";
    if (output_choose_table(&output, &options->output, err))
        return -1;
    if (operands->count != 1)
        return err_usage(err, "expected one figure or page, found %zu", operands->count);
    again.path = operands->items[0];
    int failed = file_map(&figure, again.path, err) ||
                 parse_provenance(&root, &figure, again.path, err) ||
                 json_text(root, "command_line", &again.line, err) ||
                 json_text(root, "version", &version, err);
    if (!failed && !again.line)
        failed = json_refuse("command_line", NULL, "a command", err);
    failed = failed || parse_command(&again, options->set.all, options_own(options)->runs, err) ||
             open_and_enter(&again, &output, json_member(root, "files"), err);
    again.rows = (struct table_rows){
        .most =
            json_count(json_member(root, "models")) + json_count(json_member(root, "files")) + 2,
        .arena = &again.arena,
        .err = err,
    };
    if (!failed)
        add_check(&again, "version", "attn-cli", version, ATTN_VERSION);
    failed = failed || check_list(&again, json_member(root, "models"), true, err) ||
             check_list(&again, json_member(root, "files"), false, err) ||
             (options_own(options)->runs && !again.missing && run_again(&again, &figure, err)) ||
             (again.here && change_folder(again.here, err)) ||
             report_checks(&again, &output, options, err);
    output_discard(&output);
    json_free(root);
    file_release(&figure);
    arena_release(&again.arena);
    return err_if(failed);
}
