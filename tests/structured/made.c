#include "made.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/rigs/dice.h"
#include "base/transfer.h"
#include "math/rng.h"

enum { LINE_BYTES = 512, DESCRIPTORS = 16, FNV_PRIME = 16777619 };

void *made_memory(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "the tests are out of memory\n");
    exit(EXIT_FAILURE);
}

void made_begin(struct made *made, const char *kind, size_t number)
{
    uint32_t name = 2166136261u;
    while (*kind)
        name = (name ^ (unsigned char)*kind++) * FNV_PRIME;
    arena_clear(&made->arena);
    made->file_count = made->line_count = 0;
    made->dice = (uint32_t)rng_fold_in(name, number) | 1;
}

size_t made_below(struct made *made, size_t limit)
{
    return (size_t)((uint64_t)dice_bits(&made->dice) * limit >> 32);
}

bool made_one_in(struct made *made, size_t many)
{
    return made_below(made, many) == 0;
}

struct folder_file *made_find(struct made *made, const char *name)
{
    for (size_t i = 0; i < made->file_count; i++)
        if (strcmp(made->files[i].name, name) == 0)
            return &made->files[i];
    return NULL;
}

struct folder_file *made_file(struct made *made, const char *name, const char *bytes, size_t size)
{
    struct folder_file *file = made_find(made, name);
    if (!file && made->file_count == MADE_FILES_MAX) {
        fprintf(stderr, "an input has more than %d files\n", MADE_FILES_MAX);
        exit(EXIT_FAILURE);
    }
    if (!file) {
        file = &made->files[made->file_count++];
        file->name = made_memory(arena_text(&made->arena, name, strlen(name), NULL));
    }
    file->bytes = made_memory(arena_text(&made->arena, bytes, size, NULL));
    file->size = size;
    return file;
}

struct folder_file *made_text(struct made *made, const char *name, const char *text)
{
    return made_file(made, name, text, strlen(text));
}

void made_take(struct made *made, struct folder_file *file, struct buf *bytes)
{
    made_memory(bytes->out_of_memory ? NULL : bytes);
    made_file(made, file->name, bytes->bytes ? bytes->bytes : "", bytes->size);
    buf_release(bytes);
}

void made_line(struct made *made, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (made->line_count == MADE_LINES_MAX || size >= LINE_BYTES) {
        fprintf(stderr, "an input has too many or too long command lines\n");
        exit(EXIT_FAILURE);
    }
    made->lines[made->line_count++] =
        made_memory(arena_text(&made->arena, line, (size_t)size, NULL));
}

void made_copy(struct made *made, const struct folder_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        made_file(made, files[i].name, files[i].bytes, files[i].size);
}

/* The folders that a file's name goes through. */
static int make_folders(const char *name)
{
    char path[LINE_BYTES];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
        if (mkdir(path, 0777) && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int write_file(const struct folder_file *file)
{
    if (make_folders(file->name))
        return -1;
    int descriptor = open(file->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return -1;
    int failed = transfer_write(descriptor, file->bytes, file->size);
    return close(descriptor) || failed ? -1 : 0;
}

int made_write(const struct made *made)
{
    for (size_t i = 0; i < made->file_count; i++)
        if (write_file(&made->files[i]))
            return -1;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    return walk->level ? remove(path) : 0;
}

int made_clear(void)
{
    return nftw(".", remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
