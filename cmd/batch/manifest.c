#include "manifest.h"

#include <string.h>

#include "base/sha256.h"
#include "format/json_writer.h"
#include "../command.h"
#include "open_models.h"

enum { PART_BYTES = 64 * 1024 };

static void add_text(struct buf *out, const char *text)
{
    json_append_text(out, text, strlen(text));
}

static void add_hash(struct buf *out, size_t size, const char *digits)
{
    buf_format(out, "\"bytes\": %zu, \"sha256\": \"%s\"}", size, digits);
}

/* Of bytes that are there already; the memory of a large file is given back as it is read. */
static void add_hash_of(struct buf *out, const struct file *file)
{
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    sha256_begin(&hash);
    for (size_t at = 0; at < file->size; at += PART_BYTES) {
        size_t rest = file->size - at;
        sha256_add(&hash, file->bytes + at, rest < PART_BYTES ? rest : PART_BYTES);
        file_forget(file, file->bytes + at);
    }
    sha256_end(&hash, digits);
    add_hash(out, file->size, digits);
}

int manifest_file(struct buf *out, const char *folder, const char *file, const char *name,
                  struct err *err)
{
    struct buf path = {0};
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    buf_format(&path, "%s/%s", folder, file);
    int failed = buf_check(&path, err) || sha256_file(path.bytes, &size, digits, err);
    buf_release(&path);
    buf_text(out, "{\"file\": ");
    add_text(out, name);
    buf_text(out, ", ");
    add_hash(out, size, digits);
    return failed ? -1 : 0;
}

/* --- the head --------------------------------------------------------------------------------- */

/* An option that was given, as words of a command line. */
static void add_words(struct buf *out, const struct option_row *row, const struct options *options)
{
    const struct texts *texts = (const void *)((const char *)options + row->offset);
    size_t count = row->kind == OPTION_TEXTS ? texts->count : 1;
    for (size_t i = 0; i < count; i++) {
        struct buf value = {0};
        buf_format(out, ", \"--%s\"", row->name);
        if (row->kind == OPTION_TEXTS)
            buf_text(&value, texts->items[i]);
        else if (row->kind != OPTION_FLAG)
            settings_value(&value, row, options);
        if (row->kind != OPTION_FLAG) {
            buf_text(out, ", ");
            json_append_text(out, value.bytes ? value.bytes : "", value.size);
        }
        out->out_of_memory = out->out_of_memory || value.out_of_memory;
        buf_release(&value);
    }
}

static void add_command(struct buf *out, const struct options *options, const char *path)
{
    struct options none = OPTIONS_DEFAULT;
    int commands = FOR_BATCH | options_instrument(options);
    buf_text(out, "[\"attn-cli\", \"batch\", ");
    add_text(out, path);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (option_serves(row, commands) && !(row->commands & PROCESS) &&
            !settings_same(row, options, &none))
            add_words(out, row, options);
    }
    buf_char(out, ']');
}

static void add_path(struct buf *out, const char *path, const struct file *file)
{
    buf_text(out, "{\"path\": ");
    add_text(out, path);
    buf_text(out, ", ");
    add_hash_of(out, file);
}

/* What edits take values of, beside the input. */
static int add_edit_files(struct buf *out, const struct texts *files, struct err *err)
{
    if (!files->count)
        return 0;
    out->size -= out->size > 0; /* into the input's object */
    buf_text(out, ", \"edits\": [");
    for (size_t i = 0; i < files->count; i++) {
        struct file file = {0};
        if (file_map(&file, files->items[i], err))
            return -1;
        buf_text(out, i ? ", " : "");
        add_path(out, files->items[i], &file);
        file_release(&file);
    }
    buf_text(out, "]}");
    return 0;
}

static int add_model_file(struct buf *out, const struct folder *folder, const char *name,
                          const char **comma, struct err *err)
{
    struct file held = {0};
    if (!folder_has(folder, name))
        return 0;
    buf_text(out, *comma);
    *comma = ", ";
    if (!folder->files)
        return manifest_file(out, folder->path, name, name, err);
    if (folder_open(&held, folder, name, err))
        return -1;
    buf_text(out, "{\"file\": ");
    add_text(out, name);
    buf_text(out, ", ");
    add_hash_of(out, &held);
    file_release(&held);
    return 0;
}

static int add_model_files(struct buf *out, const struct model *model, struct err *err)
{
    const struct checkpoint *checkpoint = &model->weights.checkpoint;
    bool has_index = strcmp(checkpoint->name, checkpoint->shards[0].name) != 0;
    const char *comma = "";
    if (add_model_file(out, &model->folder, "config.json", &comma, err))
        return -1;
    for (size_t i = 0; i < TOKENIZER_FILES; i++)
        if (add_model_file(out, &model->folder, tokenizer_file_name(i), &comma, err))
            return -1;
    if (has_index && add_model_file(out, &model->folder, checkpoint->name, &comma, err))
        return -1;
    for (size_t i = 0; i < checkpoint->count; i++)
        if (add_model_file(out, &model->folder, checkpoint->shards[i].name, &comma, err))
            return -1;
    return 0;
}

/* config.json in one line: a break of lines is only ever between its words. */
static int add_config(struct buf *out, const struct folder *folder, struct err *err)
{
    struct file file = {0};
    if (folder_open(&file, folder, "config.json", err))
        return -1;
    for (size_t i = 0; i < file.size; i++) {
        char c = file.bytes[i];
        bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (!blank)
            buf_char(out, c);
        else if (i + 1 < file.size && out->size && out->bytes[out->size - 1] != ' ')
            buf_char(out, ' ');
    }
    file_release(&file);
    return 0;
}

static int add_models(struct buf *out, const struct open_models *models, struct err *err)
{
    buf_char(out, '[');
    for (const struct open_model *model = models->first; model; model = model->next) {
        buf_text(out, model == models->first ? "{\"model\": " : ", {\"model\": ");
        add_text(out, model->viewer.model.name);
        buf_text(out, ", ");
        if (model->viewer.model.weights.precision == PRECISION_BF16)
            buf_format(out, "\"bf16\": \"%s\", ",
                       pair_way_name(kernels_pair_way(model->viewer.machine.kernels)));
        buf_text(out, "\"files\": [");
        if (add_model_files(out, &model->viewer.model, err))
            return -1;
        buf_text(out, "], \"config\": ");
        if (add_config(out, &model->viewer.model.folder, err))
            return -1;
        buf_char(out, '}');
    }
    buf_char(out, ']');
    return 0;
}

/* Keep what was built as the next line of the head. */
static int add_line(struct manifest *manifest, const char *name, struct buf *value, struct err *err)
{
    const char *text = value->bytes ? value->bytes : "";
    const char **line = &manifest->lines[manifest->head.count];
    manifest->names[manifest->head.count++] = name;
    *line = buf_check(value, err)
                ? NULL
                : arena_format(&manifest->arena, err, " \"%s\": %s,\n", name, text);
    buf_clear(value);
    return *line ? 0 : -1;
}

static int add_lines(struct manifest *manifest, const struct items *items,
                     const struct open_models *models, const struct job_shard *shard,
                     struct buf *value, struct err *err)
{
    buf_text(value, "\"" ATTN_VERSION "\", \"format\": \"" JSON_FORMAT("batch") "\"");
    if (add_line(manifest, "version", value, err))
        return -1;
    add_command(value, items->defaults, items->path);
    if (add_line(manifest, "command", value, err))
        return -1;
    add_path(value, items->path, &items->file);
    if (add_edit_files(value, &models->edit_files, err) || add_line(manifest, "input", value, err))
        return -1;
    if (add_models(value, models, err) || add_line(manifest, "models", value, err))
        return -1;
    buf_format(value, "{\"index\": %zu, \"of\": %zu}", shard->index, shard->count);
    return shard->count ? add_line(manifest, "shard", value, err) : 0;
}

int manifest_open(struct manifest *manifest, const struct items *items,
                  const struct open_models *models, const struct job_shard *shard, struct err *err)
{
    struct buf value = {0};
    *manifest = (struct manifest){.head = {manifest->names, manifest->lines, 0}};
    int failed = add_lines(manifest, items, models, shard, &value, err);
    buf_release(&value);
    if (failed)
        manifest_release(manifest);
    return failed;
}

void manifest_release(struct manifest *manifest)
{
    arena_release(&manifest->arena);
    *manifest = (struct manifest){0};
}

/* --- items ------------------------------------------------------------------------------------ */

static void add_conditions(struct buf *out, const struct item_conditions *conditions)
{
    bool any = false;
    for (size_t i = 0; i < conditions->count; i++) {
        const struct condition *condition = &conditions->items[i];
        if (!condition->value)
            continue;
        buf_text(out, any ? ", " : ", \"conditions\": {");
        add_text(out, condition->name);
        buf_text(out, ": ");
        if (condition->literal)
            buf_text(out, condition->value);
        else
            add_text(out, condition->value);
        any = true;
    }
    if (any)
        buf_char(out, '}');
}

void manifest_identity(struct buf *out, const struct job *job)
{
    buf_text(out, "\"id\": ");
    add_text(out, job->item.id);
    add_conditions(out, &job->item.conditions);
    for (size_t i = 0; i < job->sweep_count; i++) {
        buf_text(out, i ? ", " : ", \"sweep\": {");
        add_text(out, job->sweeps[i].name);
        buf_text(out, ": ");
        add_text(out, job->sweeps[i].values[job->choices[i]]);
    }
    if (job->sweep_count)
        buf_char(out, '}');
    if (job->repeats)
        buf_format(out, ", \"repeat\": %zu", job->repetition);
}

void manifest_error(struct buf *out, const struct item_fault *fault)
{
    buf_format(out, "\"error\": {\"status\": %d, \"message\": ", (int)fault->kind);
    add_text(out, fault->message);
    buf_text(out, fault->retry ? ", \"retry\": true}" : "}");
}

/* --- the command, read ------------------------------------------------------------------------ */

static const char command_line[] = " \"command\": ";

bool manifest_is_command(const char *line, size_t size)
{
    return size >= sizeof command_line - 1 &&
           memcmp(line, command_line, sizeof command_line - 1) == 0;
}

static int no_command(struct err *err)
{
    return err_set(err, "expected the command of a batch");
}

static int check_kept(const struct options *options, struct err *err)
{
    struct options none = OPTIONS_DEFAULT;
    int commands = FOR_BATCH | options_instrument(options);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (option_serves(row, commands) && (row->commands & PROCESS) &&
            !settings_same(row, options, &none))
            return err_set(err, "expected the command of a batch without --%s", row->name);
    }
    return 0;
}

/* ["attn-cli", "batch", …] */
static int read_words(struct options *options, const struct json *words, struct arena *arena,
                      struct err *err)
{
    size_t count = json_is_array(words) ? json_count(words) : 0;
    char **arguments = arena_alloc(arena, count + 1, sizeof *arguments, err);
    const struct json *word = count ? json_first(words) : NULL;
    if (!arguments)
        return -1;
    for (size_t i = 0; word; word = json_next(word)) {
        const char *text = NULL;
        if (!json_get_text(word, &text))
            return no_command(err);
        arguments[i] = arena_text(arena, text, strlen(text), err);
        if (!arguments[i++])
            return -1;
    }
    if (count < 3)
        return no_command(err);
    return options_parse(options, FOR_BATCH, arguments + 2, arena, err);
}

int manifest_read_command(struct options *options, const char *line, size_t size,
                          struct arena *arena, struct err *err)
{
    struct json *root = NULL;
    size_t begin = sizeof command_line - 1;
    while (size && (line[size - 1] == '\n' || line[size - 1] == ','))
        size--;
    *options = (struct options)OPTIONS_DEFAULT;
    if (!manifest_is_command(line, size))
        return no_command(err);
    int failed =
        json_parse(&root, line + begin, size - begin, err) || read_words(options, root, arena, err);
    if (failed && err && err->kind == ERR_USAGE)
        err->kind = ERR_INPUT; /* the words stand in a file */
    if (failed)
        err_prefix(err, "\"command\"");
    json_free(root);
    return failed ? -1 : check_kept(options, err);
}
