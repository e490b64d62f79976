/* replay.c: calls a target with each file, like libFuzzer; or with files that are changed at
 * random, for sanitizers without libFuzzer. The same seed makes the same inputs.
 *
 *     sh tests/harm/fuzz.sh unpack config FOLDER && build/fuzz/config FOLDER/...
 *     build/fuzz/config --mutate SEED COUNT FOLDER/...
 *
 * An input that ends the process is written to found-NUMBER, and the next process continues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz.h"
#include "math/rng.h"

static int read_input(struct fuzz_input *input, const char *path)
{
    struct err err = {0};
    struct file file = {0};
    if (file_map(&file, path, &err)) {
        printf("%s\n", err.text);
        return -1;
    }
    input->size = file.size;
    input->bytes = malloc(file.size ? file.size : 1); /* exact size, for sanitizers */
    for (size_t i = 0; input->bytes && i < file.size; i++)
        input->bytes[i] = file.bytes[i];
    file_release(&file);
    return input->bytes ? 0 : -1;
}

static int call(const struct fuzz_input *input)
{
    return LLVMFuzzerTestOneInput((const uint8_t *)input->bytes, input->size);
}

static int replay(const char *path)
{
    struct fuzz_input input = {0};
    if (read_input(&input, path))
        return -1;
    printf("%s\n", path);
    fflush(stdout); /* the last line names the input that ends the program */
    int failed = call(&input);
    free(input.bytes);
    return failed;
}

/* --- changed inputs --------------------------------------------------------------------------- */

struct mutation {
    struct fuzz_input *inputs;
    size_t count; /* of inputs */
    uint64_t seed;
    size_t *at; /* the number of the mutant, shared by both processes */
};

/* The mutant of a number: of an input that is chosen by it, in memory of exact size. */
static struct fuzz_input make_mutant(const struct mutation *m, size_t number)
{
    const uint64_t seed = rng_fold_in(m->seed, number);
    const struct fuzz_input *one = &m->inputs[rng_below(seed, 0, m->count)];
    const struct fuzz_input *other = &m->inputs[rng_below(seed, 1, m->count)];
    struct fuzz_input mutant = {malloc(one->size + 1), one->size}, exact = {0};
    fuzz_check(mutant.bytes, "memory for a copy");
    memcpy(mutant.bytes, one->bytes, one->size);
    fuzz_mutate(&mutant, other, rng_fold_in(seed, 2));
    exact = (struct fuzz_input){malloc(mutant.size ? mutant.size : 1), mutant.size};
    fuzz_check(exact.bytes, "memory for a copy");
    memcpy(exact.bytes, mutant.bytes, mutant.size);
    free(mutant.bytes);
    return exact;
}

static void save(const struct mutation *m)
{
    char path[64];
    struct fuzz_input mutant = make_mutant(m, *m->at);
    snprintf(path, sizeof path, "found-%zu", *m->at);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(mutant.bytes, 1, mutant.size, file);
        fclose(file);
    }
    printf("the process ended: %s\n", path);
    free(mutant.bytes);
}

/* Run the mutants from *m->at on, in processes of their own. Returns the number of failures. */
static size_t run_mutants(const struct mutation *m, size_t end)
{
    size_t found = 0;
    for (; *m->at < end; ++*m->at) {
        int status = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            LLVMFuzzerInitialize(NULL, NULL); /* a child has no timer of its parent */
            for (; *m->at < end; ++*m->at) {
                struct fuzz_input mutant = make_mutant(m, *m->at);
                const int failed = call(&mutant);
                free(mutant.bytes);
                if (failed)
                    exit(EXIT_FAILURE);
            }
            exit(EXIT_SUCCESS); /* a sanitizer looks for leaks */
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return found + 1;
        if (status && *m->at == end)
            printf("the process failed after its last input, as one that has leaks\n");
        else if (status)
            save(m);
        found += status != 0;
    }
    return found;
}

/* SEED COUNT FILE... */
static int mutate(int argc, char **argv)
{
    const size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    struct mutation m = {.seed = argc > 2 ? strtoull(argv[0], NULL, 10) : 0};
    m.inputs = calloc((size_t)argc, sizeof *m.inputs);
    m.at = mmap(NULL, sizeof *m.at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc < 3 || !m.inputs || m.at == MAP_FAILED) {
        fprintf(stderr, "usage: --mutate SEED COUNT FILE...\n");
        return EXIT_FAILURE;
    }
    for (int i = 2; i < argc; i++)
        if (read_input(&m.inputs[m.count++], argv[i]))
            return EXIT_FAILURE;
    const size_t found = run_mutants(&m, count);
    printf("%zu inputs of seed %llu: %zu failed\n", count, (unsigned long long)m.seed, found);
    while (m.count)
        free(m.inputs[--m.count].bytes);
    free(m.inputs);
    return found ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--mutate") == 0)
        return mutate(argc - 2, argv + 2);
    int failed = LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc && !failed; i++)
        failed = replay(argv[i]);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
