#include "output.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "out/folder_out.h"

static bool is_folder(const char *path)
{
    return path[strlen(path) - 1] == '/' || file_is_directory(path);
}

static int unknown_format(const char *name, struct err *err)
{
    struct buf known = {0};
    for (size_t i = 0; i < format_count; i++)
        buf_format(&known, "%s%s", i ? ", " : "", format_rows[i].name);
    err_usage(err, "--format: expected one of %s, found '%s'", known.bytes ? known.bytes : "",
              name);
    buf_release(&known);
    return -1;
}

static int find_format(struct output *output, const struct options *options, struct err *err)
{
    const char *name = options->format;
    const char *path = options->output;
    if (path && !*path)
        return err_usage(err, "--output: expected a path, found ''");
    output->path = path;
    output->to_stdout = !path || strcmp(path, "-") == 0;
    output->to_folder = !output->to_stdout && is_folder(path);
    if (name) {
        output->format = format_find(name);
        return output->format ? 0 : unknown_format(name, err);
    }
    if (output->to_folder)
        return err_usage(err, "--output: a folder needs --format, for example --format csv");
    output->format = output->to_stdout ? format_find("text") : format_of_path(path);
    if (!output->format)
        return err_usage(
            err, "--output: cannot tell a format from the ending of '%s': give --format", path);
    return 0;
}

int output_choose(struct output *output, const struct options *options, struct err *err)
{
    if (find_format(output, options, err))
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
    if (output->stream.buffer || output->to_folder)
        return 0;
    if (output->to_stdout)
        return stream_to(&output->stream, STDOUT_FILENO, err);
    return stream_open(&output->stream, output->path, err);
}

int output_write(struct output *output, const struct report *report, const struct place *place,
                 struct err *err)
{
    if (output->to_folder)
        return folder_out_write(output->path, output->format, report, place, err);
    return output->format->write(&output->stream, report, place, err);
}

int output_commit(struct output *output, struct err *err)
{
    return output->to_folder ? 0 : stream_commit(&output->stream, err);
}

void output_discard(struct output *output)
{
    stream_discard(&output->stream);
}
