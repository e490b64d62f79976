#include "specimen.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/gguf/gguf_model.h"

static int read_files(struct specimen *specimen, struct err *err)
{
    static const char *const names[] = {
        "config.json",     "model.safetensors",     "vocab.json",
        "merges.txt",      "tokenizer.json",        "pytorch_model.bin",
        "tokenizer.model", "tokenizer_config.json", GGUF_WEIGHTS_NAME};
    const struct folder folder = {.path = specimen->folder};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!folder_has(&folder, names[i]))
            continue;
        if (folder_open(&specimen->files[specimen->count], &folder, names[i], err))
            return -1;
        specimen->names[specimen->count++] = names[i];
    }
    return 0;
}

int specimen_open(struct specimen *specimen, struct err *err)
{
    if (read_files(specimen, err) || machine_open(&specimen->viewer.machine, 1, err) ||
        specimen_try(specimen, 0, specimen->files[0].bytes, specimen->files[0].size, err)) {
        specimen_close(specimen);
        return err_prefix(err, "'%s'", specimen->folder);
    }
    return 0;
}

void specimen_close(struct specimen *specimen)
{
    for (size_t i = 0; i < specimen->count; i++)
        file_release(&specimen->files[i]);
    specimen->count = 0;
    viewer_release(&specimen->viewer);
}

static int asked(struct viewer *viewer, const struct input *input, struct arena *arena,
                 struct err *err)
{
    struct text_with_source pair;
    struct selection selection = {0};
    struct report report;
    struct capture_request wanted = {.selection = &selection, .pairs = &pair, .count = 1};
    wanted.reports = &report;
    if (viewer_read(viewer, &pair, input, NULL, arena, err) ||
        selection_sites(&selection, "weights", &viewer->model.config, err) ||
        selection_layers(&selection, NULL, &viewer->model.config, arena, err))
        return -1;
    return viewer_capture(viewer, &wanted, arena, err);
}

static int run(const struct specimen *specimen, struct viewer *viewer, struct arena *arena,
               struct err *err)
{
    struct tokens tokens;
    struct input input = {.text = specimen->text, .size = strlen(specimen->text)};
    if (specimen->is_model)
        return asked(viewer, &input, arena, err);
    return tokenizer_encode(viewer->tokenizer, &tokens, input.text, input.size, arena, err);
}

int specimen_try(struct specimen *specimen, size_t file, const char *bytes, size_t size,
                 struct err *err)
{
    struct viewer *viewer = &specimen->viewer;
    struct folder_file files[SPECIMEN_FILES_MAX];
    struct folder folder = {specimen->folder, files, specimen->count};
    struct arena arena = {0};
    for (size_t i = 0; i < specimen->count; i++)
        files[i] = (struct folder_file){specimen->names[i], specimen->files[i].bytes,
                                        specimen->files[i].size};
    files[file].bytes = bytes;
    files[file].size = size;
    bool is_gguf = strcmp(specimen->names[file], GGUF_WEIGHTS_NAME) == 0;
    int failed =
        (is_gguf && gguf_folder_held(&folder, specimen->folder, bytes, size, &arena, err)) ||
        (specimen->is_model && model_open_folder(&viewer->model, &folder, err)) ||
        tokenizer_open(&viewer->tokenizer, &folder, err) || run(specimen, viewer, &arena, err);
    arena_release(&arena);
    tokenizer_free(viewer->tokenizer);
    viewer->tokenizer = NULL;
    model_release(&viewer->model);
    return failed ? -1 : 0;
}
