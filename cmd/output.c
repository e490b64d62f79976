#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/names.h"
#include "base/platform.h"
#include "command.h"
#include "draw/figure.h"
#include "format/json_writer.h"
#include "lens/dictionary.h"
#include "lens/edits.h"
#include "say.h"

/* To recognise a file of rows (--stack), search for row_format in this many bytes at the start of
 * the file: in the first row, row_format comes after the columns of an item. */
enum { ROW_FORMAT_WITHIN = 1 << 14 };

static const char row_format[] = "\"format\": \"" JSON_FORMAT("row") "\"";

#define ROW(name) &format_##name,
const struct format *const format_rows[FORMAT_COUNT] = {FORMATS(ROW)};
#undef ROW

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(format_rows[i]->name, name) == 0)
            return format_rows[i];
    return NULL;
}

bool output_is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool output_is_folder(const char *path)
{
    return !output_is_standard(path) && *path &&
           (path[strlen(path) - 1] == '/' || file_is_directory(path));
}

bool output_is_page(const char *path)
{
    const char *slash = strrchr(path, '/');
    return output_is_standard(path) || !strchr(slash ? slash : path, '.') ||
           name_has_ending(path, ".html");
}

int output_to(struct stream *out, const char *path, struct err *err)
{
    return output_is_standard(path) ? stream_to(out, STDOUT_FILENO, err)
                                    : stream_open(out, path, err);
}

/* Find the format whose ending is the longest match: `.tidy.csv` before `.csv`. */
const struct format *format_find_ending(const char *path, size_t count)
{
    const struct format *found = NULL;
    size_t size = strlen(path), longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(format_rows[i]->ending);
        if (length <= longest || length > size ||
            strcasecmp(path + size - length, format_rows[i]->ending) != 0)
            continue;
        longest = length;
        found = format_rows[i];
    }
    return found;
}

const struct format *format_choose(size_t count, const struct output_options *options,
                                   struct err *err)
{
    size_t index = 0;
    const char *path = options->path, *name = options->format;
    const char *names[FORMAT_COUNT], *endings[FORMAT_COUNT];
    for (size_t i = 0; i < count; i++) {
        names[i] = format_rows[i]->name;
        endings[i] = format_rows[i]->ending;
    }
    if (path && !*path) {
        err_usage(err, "--output: expected a path, found ''");
        return NULL;
    }
    if (names_choose(&index, (struct names){names, count, sizeof *names}, "--format", name, err))
        return NULL;
    const struct format *format = format_rows[index];
    if (!name && !output_is_standard(path) && !(format = format_find_ending(path, count))) {
        const char *file = strrchr(path, '/') ? strrchr(path, '/') : path;
        const char *ending = strrchr(file, '.') ? strrchr(file, '.') : path;
        names_refuse((struct names){endings, count, sizeof *endings}, "--output without --format",
                     ending, strlen(ending), NULL, err);
        return NULL;
    }
    if (format->for_files && !path && isatty(STDOUT_FILENO)) {
        err_usage(err,
                  "--format %s: expected a file (-o FILE) or a pipe, found a terminal: -o - writes "
                  "to it anyway",
                  name);
        return NULL;
    }
    if (format->check && format->check(err))
        return NULL;
    return format;
}

bool format_is(const struct format *format, const char *names)
{
    return name_is_among(names, format->name) ||
           (format->like && name_is_among(names, format->like));
}

bool format_is_looked_at(const struct format *format)
{
    return format->is_picture || format_is(format, "html");
}

int output_choose(struct output *output, const struct output_options *options, struct err *err)
{
    const char *path = options->path;
    output->path = path;
    output->replaces = options->force;
    output->to_stdout = output_is_standard(path);
    output->to_folder = output_is_folder(path);
    if (output->to_folder && !options->format)
        return err_usage(err, "--output: a folder needs --format, for example --format csv");
    output->format = format_choose(FORMAT_COUNT, options, err);
    if (!output->format)
        return -1;
    if (options->locale && strcmp(output->format->name, "excel") != 0)
        return err_usage(err, "--locale: expected --format excel, found %s", output->format->name);
    if (options->locale && !locale_is_valid(options->locale))
        return err_usage(err, "--locale: expected a locale such as de_DE or C, found '%s'",
                         options->locale);
    return output->to_folder ? target_folder_check(path, output->replaces, err) : 0;
}

int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err)
{
    if (!site_set_is_empty(selection->sites) || output->format->has_tokens)
        return 0;
    return err_usage(err, "--show tokens: --format %s cannot hold them: show a tensor as well",
                     output->format->name);
}

int output_check_count(const struct output *output, size_t texts, struct err *err)
{
    if (!output->format->single_text || output->to_folder || texts <= 1)
        return 0;
    return err_usage(err,
                     "--format %s: one file holds one result, found %zu: use a folder (-o DIR/)",
                     output->format->name, texts);
}

const char *output_rows_path(const char *path, struct arena *arena, struct err *err)
{
    if (output_is_standard(path))
        return NULL;
    bool has_ending = name_has_ending(path, ".npy") || name_has_ending(path, ".safetensors");
    return arena_format(arena, err, "%.*s.jsonl",
                        has_ending ? (int)(strrchr(path, '.') - path) : INT_MAX, path);
}

int output_check_rows(const char *path, struct err *err)
{
    char begin[ROW_FORMAT_WITHIN];
    mode_t kind = 0;
    if (replacement_check_name(path, err) || file_kind(&kind, path, err))
        return -1;
    int file = kind ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t size = file < 0 ? 0 : transfer_read(file, begin, sizeof begin);
    if (file >= 0)
        close(file);
    if (size <= 0 || memmem(begin, (size_t)size, row_format, sizeof row_format - 1))
        return 0;
    return err_output(err,
                      "cannot write '%s': expected no file, or one of rows as --stack writes it, "
                      "found another: choose another name for the array",
                      path);
}

int output_open(struct output *output, struct err *err)
{
    if (output->stream.buffer || (output->to_folder && output->folder.path))
        return 0;
    if (output->to_folder)
        return target_folder_open(&output->folder, output->path, output->replaces, err);
    return err_if(output_to(&output->stream, output->path, err) ||
                  (output->rows_path && (output_check_rows(output->rows_path, err) ||
                                         stream_open(&output->rows, output->rows_path, err))));
}

struct target output_target(struct output *output)
{
    return (struct target){&output->stream, output->to_folder ? &output->folder : NULL};
}

int output_write(struct output *output, const struct report *report, const struct layout *layout,
                 struct err *err)
{
    if (output->draws_pages && format_is(output->format, "html")) {
        struct arena arena = {0};
        struct report drawn;
        int failed = report_as_arrays(&drawn, report, true, &arena, err) ||
                     figure_write_page(&output->stream, &drawn, layout, err);
        arena_release(&arena);
        return err_if(failed);
    }
    const struct target target = output_target(output);
    if (output->rows.buffer) {
        struct buf row = {0};
        json_report_metadata(&row, report);
        buf_char(&row, '\n');
        stream_bytes(&output->rows, row.bytes, row.size);
        int failed = buf_check(&row, err);
        buf_release(&row);
        if (failed)
            return -1;
    }
    return report_write(output->format, &target, report, layout, err);
}

int output_commit(struct output *output, struct err *err)
{
    bool has_rows = output->rows_path;
    return output->to_folder ? 0
                             : err_if((has_rows && stream_finish(&output->rows, err)) ||
                                      stream_commit(&output->stream, err) ||
                                      (has_rows && stream_commit(&output->rows, err)));
}

void output_discard(struct output *output)
{
    stream_discard(&output->stream);
    stream_discard(&output->rows);
    target_folder_close(&output->folder);
}

int output_clear_folder(const char *path, struct err *err)
{
    struct arena arena = {0};
    struct listing found;
    int failed = listing_read(&found, path, &arena, err);
    for (size_t i = 0; !failed && i < found.count; i++)
        if (stream_is_temporary(found.names[i])) {
            const char *rest = arena_format(&arena, err, "%s/%s", path, found.names[i]);
            failed = !rest || file_remove(rest, err);
        }
    arena_release(&arena);
    return err_if(failed);
}

/* --- provenance ------------------------------------------------------------------------------- */

static struct provenance provenance;
static struct arena provenance_arena; /* memory of the provenance, never released */
static bool keeps_paths;

int options_files(const struct options *options,
                  int (*use)(void *context, const char *path, struct err *err), void *context,
                  struct arena *arena, struct err *err)
{
    const char *reference = options->edit.reference;
    const char *const files[] = {reference && strcmp(reference, "-") == 0 ? NULL : reference,
                                 options->heads.pairs,
                                 options->heads.needles,
                                 options->score.unigrams,
                                 options->lens.jacobian,
                                 options->input.weights,
                                 options->input.tokens};
    const struct texts *const edits[] = {&options->edit.edits, &options->edit.ablations};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && use(context, files[i], err))
            return -1;
    for (size_t i = 0; i < options->edit.dictionaries.count; i++)
        if (dictionary_files(options->edit.dictionaries.items[i], use, context, arena, err))
            return -1;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        for (size_t k = 0; k < edits[i]->count; k++)
            if (edit_files(edits[i]->items[k], use, context, arena, err))
                return -1;
    return 0;
}

int file_hash(char digits[SHA256_DIGITS + 1], const char *path, const struct file *read,
              struct err *err)
{
    struct sha256 hash;
    struct file file = {0};
    if (!read && file_map(&file, path, err))
        return -1;
    read = read ? read : &file;
    sha256_begin(&hash);
    sha256_add(&hash, read->bytes, read->size);
    sha256_end(&hash, digits);
    file_release(&file);
    return 0;
}

/* Shorten a path to ./NAME, without its folders. With --keep-paths, or without folders, return the
 * path itself. */
static const char *short_path(const char *path, struct err *err)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    const char *slash = platform_last_byte(path, '/', size);
    if (!slash || keeps_paths)
        return path;
    return arena_format(&provenance_arena, err, "./%.*s", (int)(path + size - slash - 1),
                        slash + 1);
}

/* Shorten a path in the recorded command line, wherever a word begins with the path or contains it
 * after a character such as "=" or ",". */
static int shorten_in_line(const char *path, struct err *err)
{
    const char *name = short_path(path, err);
    char **words = line_split(provenance.command_line, &provenance_arena, err);
    struct buf line = {0}, word = {0};
    if (!name || !words)
        return -1;
    buf_text(&line, *words);
    for (words++; *words; words++) {
        const char *at = *words, *found = NULL;
        buf_clear(&word);
        for (; name != path && (found = strstr(at, path)); at = found + strlen(path)) {
            bool begins = found == *words || strchr("=*+-,:( ", found[-1]);
            buf_bytes(&word, at, (size_t)(found - at));
            buf_text(&word, begins ? name : path);
        }
        buf_text(&word, at);
        line_add(&line, word.bytes ? word.bytes : "");
    }
    buf_fail_with(&line, &word);
    buf_release(&word);
    provenance.command_line = buf_keep(&line, &provenance_arena, err);
    return err_if(!provenance.command_line);
}

/* Record the name and hash of an input file, once. Standard input and pipes have no hash, since
 * they can be read only once. */
static int add_file(void *context, const char *path, struct err *err)
{
    struct stat status;
    bool is_pipe = strcmp(path, "-") == 0 || (!stat(path, &status) && !S_ISREG(status.st_mode));
    struct file_hash *entry = arena_alloc(&provenance_arena, 1, sizeof *entry, err);
    const char *name = entry ? short_path(path, err) : NULL;
    (void)context;
    if (!name || (!is_pipe && file_hash(entry->digits, path, NULL, err)))
        return -1;
    for (const struct file_hash *file = provenance.files; file; file = file->next)
        if (strcmp(file->digits, entry->digits) == 0 && strcmp(file->name, name) == 0)
            return 0;
    entry->name = arena_text(&provenance_arena, name, strlen(name), err);
    entry->next = provenance.files;
    provenance.files = entry;
    return err_if(!entry->name || shorten_in_line(path, err));
}

/* Record the files that texts, operands and options name. Shorten the paths of models. */
static int add_inputs(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands, *models = &options->model.names;
    const char *path = options->input.file;
    for (size_t i = 0; i < operands->count; i++) {
        const char *operand = operands->items[i];
        mode_t kind = 0;
        struct err unknown = {0};
        const bool is_model = model_is_there(operand);
        if (!is_model && file_kind(&kind, operand, &unknown) && errno != EACCES)
            return err_adopt(err, &unknown);
        /* ignore EACCES: a text may look like a path in a folder of another user */
        if (is_model ? shorten_in_line(operand, err)
                     : S_ISREG(kind) && add_file(NULL, operand, err))
            return -1;
    }
    for (size_t i = 0; i < models->count; i++)
        if (shorten_in_line(models->items[i], err))
            return -1;
    return err_if((path && add_file(NULL, path, err)) ||
                  options_files(options, add_file, NULL, &provenance_arena, err));
}

int provenance_begin(const struct options *options, struct err *err)
{
    const struct command *command = options->set.command, *done = options->set.done;
    const struct output_options *output = &options->output;
    arena_clear(&provenance_arena);
    const char *line =
        arena_format(&provenance_arena, err, "attn-cli %s%s", command->name, options->line);
    const struct format *format = output->format ? format_find(output->format)
                                  : output_is_standard(output->path)
                                      ? NULL
                                      : format_find_ending(output->path, FORMAT_COUNT);
    bool is_folder = output_is_folder(output->path) || command->draws_folders;
    keeps_paths = options->display.keep_paths || is_folder;
    provenance = (struct provenance){
        .version = ATTN_VERSION,
        .command = done ? done->name : command->name,
        .command_line = line,
        .is_batch = done,
        .lists_inputs =
            command->draws_pages || is_folder || (format && format_is_looked_at(format)),
    };
    return err_if(!line || (provenance.lists_inputs && add_inputs(options, err)));
}

int provenance_add_model(const struct model *model, struct err *err)
{
    struct model_hash *entry = arena_alloc(&provenance_arena, 1, sizeof *entry, err);
    const char *name = arena_text(&provenance_arena, model->name, strlen(model->name), err);
    if (!entry || !name)
        return -1;
    *entry = (struct model_hash){.model = name, .next = provenance.models};
    entry->shown = provenance.lists_inputs ? short_path(name, err) : name;
    weights_sample_hash(&model->weights, entry->digits);
    struct model_hash *before = entry;
    while (before->next && (strcmp(before->next->model, name) != 0 ||
                            strcmp(before->next->digits, entry->digits) != 0))
        before = (struct model_hash *)before->next;
    if (before->next) /* the model is already recorded: another setting opened it */
        before->next = before->next->next;
    provenance.models = entry;
    return err_if(!entry->shown);
}

int provenance_add_beginning(const char *token, struct err *err)
{
    struct model_hash *last = (struct model_hash *)provenance.models;
    if (last)
        last->beginning = arena_text(&provenance_arena, token, strlen(token), err);
    return err_if(last && !last->beginning);
}

/* --- display ---------------------------------------------------------------------------------- */

enum {
    PAGE_COLUMNS = 80, /* default width of text output, in columns */
    PAGE_LINES = 24,
    NARROWEST = 20,
};

struct identity identity_first(size_t count)
{
    return (struct identity){.count = count, .provenance = &provenance};
}

struct layout page_layout(const struct options *options, const struct style *style)
{
    const struct display_options *display = &options->display;
    struct winsize window;
    struct layout layout = {.style = style, .locale = options->output.locale, .note = print_note};
    if (display->full)
        return layout;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= NARROWEST;
    layout.columns = display->width ? (size_t)display->width : known ? window.ws_col : PAGE_COLUMNS;
    layout.is_piped = !display->width && !(known && output_is_standard(options->output.path));
    layout.lines = PAGE_LINES;
    layout.matrices = display->matrices;
    return layout;
}

/* --- colours ---------------------------------------------------------------------------------- */

/* Read --color. With auto, any NO_COLOR that is not empty disables colours: https://no-color.org */
static int parse_colour(struct style *style, const struct options *options, struct err *err)
{
    enum { AUTO, ALWAYS, NEVER };
    static const char *const times[] = {[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
    const char *terminal = getenv("TERM") ? getenv("TERM") : "";
    const char *colours = getenv("COLORTERM") ? getenv("COLORTERM") : "";
    const char *refused = getenv("NO_COLOR");
    bool wanted = !options->output.path && isatty(STDOUT_FILENO) && !(refused && *refused) &&
                  *terminal && strcmp(terminal, "dumb") != 0;
    bool is_full =
        strstr(colours, "truecolor") || strstr(colours, "24bit") || strstr(terminal, "-direct");
    size_t when = AUTO;
    if (names_choose(&when, NAMES_LIST(times), "--color", options->display.color, err))
        return -1;
    style->depth = when == NEVER || (when == AUTO && !wanted) ? DEPTH_NONE
                   : is_full                                  ? DEPTH_FULL
                                                              : DEPTH_256;
    return 0;
}

int language_read(const char **language, const struct options *options, struct err *err)
{
    *language = options->display.language ? options->display.language : "en";
    if (strcmp(*language, "en") == 0 || strcmp(*language, "zh") == 0)
        return 0;
    return err_usage(err, "--lang: expected en or zh, found '%s'", *language);
}

int display_read(struct style *style, const struct options *options, struct err *err)
{
    /* the value ends with the colour of the background: 7 and 15 are white */
    const char *colours = getenv("COLORFGBG");
    const char *ground = colours ? strrchr(colours, ';') : NULL;
    const struct display_options *display = &options->display;
    struct style_words words = display->style;
    words.marks = display->marks.items;
    words.mark_count = display->marks.count;
    *style = (struct style){
        .title = display->title,
        .hide_first = options->select.hide_first,
        .dark = ground && strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0,
        .form = {.font_size = display->font_size, .dpi = display->dpi},
    };
    return err_if(style_read(style, &words, err) || parse_colour(style, options, err) ||
                  language_read(&style->language, options, err));
}

/* Print a note that lists the given options that have no effect on the format. A page of pictures
 * and a folder with figures use the options of svg. */
void display_note(const struct display_options *options, const struct output *output)
{
    static const struct option_row *const tables[] = {terminal_options, figure_options};
    static const char none[sizeof(long long)] = {0}; /* the bytes of an option that was not given */
    const struct options given = {.display = *options};
    const struct format *format = output->format;
    bool is_drawn = output->folder.path || (output->draws_pages && format_is(format, "html"));
    unsigned display = is_drawn ? format_find("svg")->display : format->display;
    struct buf idle = {0};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct option_row *row = tables[i]; row->name; row++)
            if (row->display && !(row->display & display) &&
                memcmp((const char *)&given + row->offset, none,
                       row->kind == OPTION_FLAG ? sizeof(bool) : sizeof none) != 0 &&
                !(row->offset == IN(display.color) && strcmp(options->color, "always") != 0))
                buf_format(&idle, "%s--%s", idle.size ? ", " : "", row->name);
    if (idle.size && !idle.out_of_memory)
        print_note("no effect on --format %s: %s", format->name, idle.bytes);
    buf_release(&idle);
}

void columns_note(const struct output *output, const char *own, bool of_pairs, struct names columns)
{
    static const char rows[] = "sentence tensor layer head kv_head row";
    static const char cells[] = "row_token column column_token value";
    static const char segments[] = "row_segment column_segment";
    bool is_csv = format_is(output->format, "csv"), is_tidy = format_is(output->format, "tidy");
    struct buf renamed = {0};
    struct arena arena = {0};
    struct err err = {0};
    own = own && is_csv ? own : rows;
    for (size_t i = 0; i < columns.count && (is_csv || is_tidy); i++) {
        const char *name = names_at(columns, i);
        const char *ours = names_unused(name, columns, &arena, &err);
        if (ours && (name_is_among(own, name) || (is_tidy && name_is_among(cells, name)) ||
                     (is_tidy && of_pairs && name_is_among(segments, name))))
            buf_format(&renamed, "%s'%s'", renamed.size ? ", " : "", ours);
    }
    if (renamed.size && !renamed.out_of_memory && !err.kind)
        print_note("columns of results with the name of a column of the table get a prefix: %s",
                   renamed.bytes);
    arena_release(&arena);
    buf_release(&renamed);
}

/* --- one table -------------------------------------------------------------------------------- */

int output_choose_table(struct output *output, const struct output_options *options,
                        struct err *err)
{
    if (output_choose(output, options, err))
        return -1;
    return format_is(output->format, "html")
               ? err_usage(
                     err,
                     "--format html: expected text, data or a figure: 'attn-cli page' writes pages")
               : 0;
}

int output_write_table(struct output *output, const struct report *report,
                       const struct options *options, const struct style *style, struct err *err)
{
    struct layout layout = page_layout(options, style);
    struct report own = *report;
    own.identity = identity_first(1);
    layout.lines = 0; /* no limit for lines, as with --full */
    return err_if(output_open(output, err) || output_write(output, &own, &layout, err) ||
                  output_commit(output, err));
}

void columns_put(struct json_writer *json, const char *name, const struct identity_column *extras,
                 size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!extras[i].value)
            continue;
        if (!any)
            json_put_open(json, name, '{');
        any = true;
        json_put_name(json, extras[i].name, strlen(extras[i].name));
        if (extras[i].literal)
            json_put_raw(json, NULL, extras[i].value);
        else
            json_put_text(json, NULL, extras[i].value);
    }
    if (any)
        json_put_close(json, '}');
}
