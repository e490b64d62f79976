/* convert.c: `attn-cli convert`: a model as a GGUF file, as one file of safetensors, or as a
 * directory as Hugging Face publishes it. */
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "base/progress_sink.h"
#include "base/stream.h"
#include "command.h"
#include "model/gguf/gguf_model.h"
#include "model/model.h"
#include "model_maker.h"
#include "progress.h"

static const char config_name[] = "config.json";

static int write_gguf(struct stream *out, const struct model *model,
                      const struct progress_sink *progress, struct err *err)
{
    if (model->config.more_end_count)
        print_note("a GGUF file has one token that ends texts: of %zu the first is written",
                   model->config.more_end_count + 1);
    return gguf_export(out, model, progress, err);
}

static int write_weights(struct stream *out, const struct model *model,
                         const struct progress_sink *progress, struct err *err)
{
    return weights_export(out, &model->weights, progress, err);
}

/* What is written under a name of that ending; one without an ending is a directory's. */
static const struct form {
    const char *name;
    int (*write)(struct stream *out, const struct model *model,
                 const struct progress_sink *progress, struct err *err);
} forms[] = {{".gguf", write_gguf}, {".safetensors", write_weights}};

static const struct form *form_of(const char *path)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (name_has_ending(path, forms[i].name))
            return &forms[i];
    return NULL;
}

/* ".bin" of a/b.bin; NULL: no ending of a file, as of v0.1, which may be a directory. */
static const char *file_ending(const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    bool is_ending = dot && dot > name && dot[1] && dot[1 + strspn(dot + 1, letters)] == '\0';
    return is_ending ? dot : NULL;
}

/* A name of another ending was hardly meant to be a directory's, where there is none yet. */
static int check_directory(const char *path, bool force, struct err *err)
{
    static const struct synonym weights[] = {
        {".bin", ".safetensors"}, {".pt", ".safetensors"}, {".pth", ".safetensors"}, {NULL, NULL}};
    struct names names = NAMES(forms, sizeof forms / sizeof *forms);
    char guess[NAMES_GUESS_BYTES];
    const char *ending = file_ending(path);
    names.synonyms = weights;
    if (!ending || file_is_directory(path))
        return target_folder_check(path, force, err);
    return err_usage(err,
                     "--output: expected an ending of .gguf or .safetensors, or a directory, as "
                     "'%s/', found '%s'%s",
                     path, path, names_guess(guess, names_nearest(names, ending, strlen(ending))));
}

static int write_file(struct stream *out, const struct form *form, const struct model *model,
                      struct err *err)
{
    struct progress progress;
    progress_begin(&progress, "tensors");
    int failed = form->write(out, model, &progress.sink, err);
    progress_end(&progress);
    return failed;
}

/* --- a directory ------------------------------------------------------------------------------ */

struct copies {
    struct file files[TOKENIZER_FILES + 1];
    struct folder_file held[TOKENIZER_FILES + 1];
    struct folder folder;
};

/* The config, and what the tokenizer is read from, as they are. */
static int open_copies(struct copies *copies, const struct model *model, struct err *err)
{
    copies->folder.files = copies->held;
    for (size_t i = 0; i < TOKENIZER_FILES + 1; i++) {
        const char *name = i < TOKENIZER_FILES ? tokenizer_file_name(i) : config_name;
        struct file *file = &copies->files[copies->folder.file_count];
        if (!folder_has(&model->folder, name))
            continue;
        if (folder_open(file, &model->folder, name, err))
            return -1;
        copies->held[copies->folder.file_count++] =
            (struct folder_file){.name = name, .bytes = file->bytes, .size = file->size};
    }
    return 0;
}

static int write_inside(const struct target_folder *target, const struct model *model,
                        const struct folder *copies, struct err *err)
{
    struct arena arena = {0};
    struct stream out = {0};
    const char *path = arena_format(&arena, err, "%s/model.safetensors", target->path);
    int failed = !path || stream_open_inside(&out, path, target->replaces, err) ||
                 write_file(&out, &forms[1], model, err);
    failed = stream_end(&out, failed, err) || folder_save(copies, target, NULL, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int write_directory(const struct options *options, const struct model *model,
                           struct err *err)
{
    const char *path = options->output.path;
    struct copies copies = {0};
    struct target_folder target = {0};
    int failed = open_copies(&copies, model, err) || save_folder_check(&copies.folder, path, err) ||
                 target_folder_open(&target, path, options->output.force, err) ||
                 write_inside(&target, model, &copies.folder, err);
    target_folder_close(&target);
    for (size_t i = 0; i < TOKENIZER_FILES + 1; i++)
        file_release(&copies.files[i]);
    return failed ? -1 : 0;
}

int convert_command(const struct options *options, struct err *err)
{
    struct model model = {0};
    struct stream out = {0};
    const char *name = NULL;
    const char *path = options->output.path;
    if (only_model(&name, options, err))
        return -1;
    if (!path || !*path)
        return err_usage(err, "expected a file or a directory to write: --output FILE.gguf, "
                              "FILE.safetensors or DIR");
    const struct form *form = form_of(path);
    if ((!form && check_directory(path, options->output.force, err)) ||
        model_open(&model, name, err))
        return -1;
    int failed = form ? stream_open(&out, path, err) || write_file(&out, form, &model, err)
                      : write_directory(options, &model, err);
    if (form)
        failed = stream_end(&out, failed, err);
    model_release(&model);
    return failed ? -1 : 0;
}
