/* oracle: compares the output of `run`, `generate` and `explain`, and the tensors of the library on
 * every path, with those of a reference implementation.
 *
 *     build/oracle build/attn-cli tests/references/golden/life tests/references/golden/gpt2-micro
 * ...
 *     build/oracle --bf16 build/attn-cli ...     only `run`, with --precision bf16
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "path_check.h"
#include "walk_check.h"

/* Check `run` and `generate`; in float32 also the explanations. A pair of texts, or a text with a
 * source, has no command line as ids. */
static void check_folder(struct tally *tally, const struct question *question,
                         const struct golden *golden)
{
    for (size_t i = 0; i < golden->segment_count; i++)
        if (golden->segments[i])
            return;
    if (!golden->source_ids || golden->source)
        program_check(tally, question, golden);
    if (question->tolerance == &tolerance_fp32)
        walk_check(tally, golden);
}

/* Check all folders, and then, in float32, every path. */
static void check_all(struct tally *tally, const struct question *question, char **folders,
                      size_t count)
{
    static struct err err;
    struct golden *goldens = heap_alloc(count, sizeof *goldens, &err);
    if (!goldens) {
        tally_judge(tally, "oracle", "memory", &err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (golden_open(&goldens[i], folders[i], &err))
            tally_judge(tally, folders[i], "all", &err);
        else
            check_folder(tally, question, &goldens[i]);
    }
    if (tally->failed == 0 && question->tolerance == &tolerance_fp32)
        path_check(tally, goldens, count);
    for (size_t i = 0; i < count; i++)
        golden_release(&goldens[i]);
    heap_free(goldens);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/oracle-XXXXXX";
    int bf16 = argc > 1 && strcmp(argv[1], "--bf16") == 0;
    int descriptor = mkstemp(path);
    if (argc - bf16 < 3 || descriptor < 0) {
        fprintf(stderr, "usage: oracle [--bf16] PROGRAM FOLDER...\n");
        return 2;
    }
    close(descriptor);
    struct question question = {argv[1 + bf16], bf16 ? &tolerance_bf16 : &tolerance_fp32, path};
    struct tally tally = {0};
    check_all(&tally, &question, argv + 2 + bf16, (size_t)(argc - 2 - bf16));
    unlink(path);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed || tally.passed == 0 ? 1 : 0;
}
