#include "output.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format_choice.h"
#include "write/folder_out.h"

static bool is_folder(const char *path)
{
    return path[strlen(path) - 1] == '/' || file_is_directory(path);
}

static int find_format(struct output *output, const struct options *options, struct err *err)
{
    const struct format_table table = FORMAT_TABLE(format_rows, format_count);
    const char *path = options->output;
    size_t index = 0;
    output->path = path;
    output->to_stdout = format_to_standard_output(path);
    output->to_folder = !output->to_stdout && *path && is_folder(path);
    if (output->to_folder && !options->format)
        return err_usage(err, "--output: a folder needs --format, for example --format csv");
    if (format_choose(&index, &table, options->format, path, err))
        return -1;
    output->format = &format_rows[index];
    return 0;
}

int output_choose(struct output *output, const struct options *options, struct err *err)
{
    output->replaces = options->force;
    if (find_format(output, options, err) ||
        (output->to_folder && target_folder_check(output->path, output->replaces, err)))
        return -1;
    return output->format->check ? output->format->check(err) : 0;
}

const char *output_show(const struct format *format, const struct options *options,
                        const struct config *config)
{
    return options->show ? options->show : format_show(format, config->n_encoder_layer > 0);
}

const char *output_layer(const struct format *format, const struct options *options,
                         const struct derivation *how)
{
    if (options->layer)
        return options->layer;
    return format_layer(how->mean_of_layers ? NULL : format);
}

int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err)
{
    if (selection->sites || output->format->has_tokens)
        return 0;
    return err_usage(err, "--show tokens: --format %s has no place for them: show a tensor, too",
                     output->format->name);
}

int output_open(struct output *output, struct err *err)
{
    if (output->stream.buffer || output->folder.path)
        return 0;
    if (output->to_folder)
        return target_folder_open(&output->folder, output->path, output->replaces, err);
    if (output->to_stdout)
        return stream_to(&output->stream, STDOUT_FILENO, err);
    return stream_open(&output->stream, output->path, err);
}

int output_write(struct output *output, const struct report *report, const struct place *place,
                 struct err *err)
{
    if (output->to_folder)
        return folder_out_write(&output->folder, output->format, report, place, err);
    return output->format->write(&output->stream, report, place, err);
}

int output_commit(struct output *output, struct err *err)
{
    if (!output->to_folder)
        return stream_commit(&output->stream, err);
    target_folder_keep(&output->folder);
    return 0;
}

void output_discard(struct output *output)
{
    stream_discard(&output->stream);
    target_folder_close(&output->folder);
}
