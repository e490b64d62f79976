/* oracle: holds what the program prints, and what the library computes on every path through it,
 * against what the reference computed.
 *
 *     build/oracle build/attn-cli tests/golden/life tests/golden/gpt2-micro ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "path_check.h"

int main(int argc, char **argv)
{
    static struct err err;
    char scratch[] = "/tmp/oracle-XXXXXX";
    size_t count = argc > 2 ? (size_t)argc - 2 : 0;
    struct golden *goldens = heap_alloc(count, sizeof *goldens, &err);
    int descriptor = mkstemp(scratch);
    if (count == 0 || !goldens || descriptor < 0) {
        fprintf(stderr, "usage: oracle PROGRAM FOLDER...\n");
        return 2;
    }
    close(descriptor);
    struct tally tally = {0};
    for (size_t i = 0; i < count; i++) {
        if (golden_open(&goldens[i], argv[i + 2], &err))
            tally_judge(&tally, argv[i + 2], "all", &err);
        else
            program_check(&tally, argv[1], scratch, &goldens[i]);
    }
    unlink(scratch);
    if (tally.failed == 0)
        path_check(&tally, goldens, count);
    for (size_t i = 0; i < count; i++)
        golden_release(&goldens[i]);
    heap_free(goldens);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed || tally.passed == 0 ? 1 : 0;
}
