/* flips: open and run small models whose files are truncated after each byte, or have one bit
 * flipped.
 *
 *     build/flips [STRIDE]         in the repository's top folder; each STRIDEth change, others for
 *                                  each SLICE in the environment
 *
 * In weights it flips the bits of length, header and, if they are few, numbers; in other files all
 * bits. The model must run, or be refused as invalid input; the process must not end. (A flipped
 * bit of "gpt2" or "gelu_new" may also make an unsupported model.)
 *
 * All changes of a file run in one process, whose progress is in shared memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../run/stage_progress.h"
#include "base/memory.h"
#include "specimen.h"

enum { FEW_BYTES = 1024, LENGTH_BYTES = 8 };

static struct specimen specimens[] = {
    {.folder = "models/life", .text = "Life is", .is_model = true},
    {.folder = "tests/references/golden/gpt2-micro-f16", .text = "w1 w2", .is_model = true},
    {.folder = "tests/refusals/pickled", .text = "Life is", .is_model = true},
    {.folder = "tests/refusals/gguf", .text = "ab a", .is_model = true},
    {.folder = "tests/texts/bpe", .text = "ab cat"},
    {.folder = "tests/refusals/json", .text = "ab a<|end|>"},
    {.folder = "tests/refusals/sentencepiece", .text = "a ab<x>b<e>a\n"},
};

/* Shared by both processes. */
struct progress {
    size_t at; /* index of the change of this file: first the truncations, then the bits */
    size_t fine, refused, unsupported, wrong;
};

/* All changes of one file. */
struct series {
    struct specimen *specimen;
    size_t file;
    size_t first, stride; /* of the changes that are made */
    struct progress *progress;
};

static const struct file *file_of(const struct series *series)
{
    return &series->specimen->files[series->file];
}

static bool holds_weights(const struct series *series)
{
    return strcmp(series->specimen->names[series->file], "model.safetensors") == 0;
}

/* The number of bytes, from the first on, whose bits are flipped. */
static size_t flipped_bytes(const struct series *series)
{
    const struct file *file = file_of(series);
    if (!holds_weights(series) || file->size <= FEW_BYTES)
        return file->size;
    return LENGTH_BYTES + (unsigned char)file->bytes[0] + 256u * (unsigned char)file->bytes[1];
}

static size_t tries_of(const struct series *series)
{
    return file_of(series)->size + 8 * flipped_bytes(series);
}

static void show(const struct series *series, const char *what)
{
    size_t at = series->progress->at;
    size_t cuts = file_of(series)->size;
    printf("failed: '%s/%s' ", series->specimen->folder, series->specimen->names[series->file]);
    if (at < cuts)
        printf("truncated after byte %zu: %s\n", at, what);
    else
        printf("with bit %zu of byte %zu flipped: %s\n", (at - cuts) % 8, (at - cuts) / 8, what);
    fflush(stdout);
}

static void judge(const struct series *series, int failed, const struct err *err)
{
    struct progress *progress = series->progress;
    if (!failed)
        progress->fine++;
    else if (err->kind == ERR_INPUT && err->text[0])
        progress->refused++;
    else if (err->kind == ERR_UNSUPPORTED && !holds_weights(series))
        progress->unsupported++;
    else {
        progress->wrong++;
        show(series, err->text);
    }
}

/* Uses a copy of exact size, so that a sanitizer detects reading beyond its end. */
static void try_at(const struct series *series, size_t at)
{
    static struct err err;
    const struct file *file = file_of(series);
    size_t size = at < file->size ? at : file->size;
    char *bytes = heap_alloc(size, 1, NULL);
    err_clear(&err);
    memcpy(bytes, file->bytes, size);
    if (at >= file->size)
        bytes[(at - size) / 8] = (char)(bytes[(at - size) / 8] ^ 1 << (at - size) % 8);
    int failed = specimen_try(series->specimen, series->file, bytes, size, &err);
    judge(series, failed, &err);
    heap_free(bytes);
}

static void try_all(const struct series *series)
{
    size_t count = tries_of(series);
    for (size_t at = series->first; at < count; at += series->stride) {
        series->progress->at = at;
        try_at(series, at);
    }
}

/* Run all changes in one process; 0 on success. */
static int run_series(const struct series *series)
{
    int status = 0;
    *series->progress = (struct progress){0};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        try_all(series);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (status != 0)
        show(series, "the process ended");
    return status != 0 || series->progress->wrong;
}

struct sums {
    size_t passed, failed, tries, fine, refused, unsupported;
};

static void add(struct sums *sums, const struct progress *progress, int failed)
{
    sums->passed += !failed;
    sums->failed += failed != 0;
    sums->fine += progress->fine;
    sums->refused += progress->refused;
    sums->unsupported += progress->unsupported;
    sums->tries += progress->fine + progress->refused + progress->unsupported + progress->wrong;
}

static void run_specimen(struct specimen *specimen, size_t first, size_t stride,
                         struct progress *progress, struct sums *sums)
{
    static struct err err;
    if (specimen_open(specimen, &err)) {
        printf("failed: %s\n", err.text);
        sums->failed++;
        return;
    }
    for (size_t file = 0; file < specimen->count; file++) {
        struct series series = {specimen, file, first, stride, progress};
        int failed = run_series(&series);
        add(sums, progress, failed);
        tell_progress(sums->passed + sums->failed, 0);
    }
    specimen_close(specimen);
}

int main(int argc, char **argv)
{
    struct sums sums = {0};
    long stride = argc > 1 ? atol(argv[1]) : 1;
    const char *slice = getenv("SLICE");
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stride < 1 || progress == MAP_FAILED) {
        fprintf(stderr, "usage: flips [STRIDE]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof specimens / sizeof *specimens; i++)
        run_specimen(&specimens[i], slice ? strtoul(slice, NULL, 10) % (size_t)stride : 0,
                     (size_t)stride, progress, &sums);
    printf("%zu tries: %zu fine, %zu refused, %zu not supported\n", sums.tries, sums.fine,
           sums.refused, sums.unsupported);
    printf("%zu passed, %zu failed\n", sums.passed, sums.failed);
    return sums.failed || !sums.passed;
}
