/* replay.c: calls a target with each file, like libFuzzer.
 *
 *     sh tests/fuzz.sh unpack config FOLDER && build/fuzz/config FOLDER/...
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "fuzz.h"

static int replay(const char *path)
{
    struct err err = {0};
    struct file file = {0};
    if (file_map(&file, path, &err)) {
        printf("%s\n", err.text);
        return -1;
    }
    printf("%s\n", path);
    fflush(stdout); /* the last line names the input that ends the program */
    uint8_t *copy = malloc(file.size ? file.size : 1); /* exact size, for sanitizers */
    for (size_t i = 0; copy && i < file.size; i++)
        copy[i] = (uint8_t)file.bytes[i];
    int failed = copy ? LLVMFuzzerTestOneInput(copy, file.size) : -1;
    free(copy);
    file_release(&file);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc && !failed; i++)
        failed = replay(argv[i]);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
