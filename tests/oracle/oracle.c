/* oracle: compares every tensor the program gives with what the reference computed.
 *
 *     build/oracle build/attn-cli tests/golden/life tests/golden/gpt2-micro ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "golden.h"
#include "program_check.h"

static void check_folder(struct tally *tally, const char *program, const char *scratch,
                         const char *folder)
{
    static struct err err;
    struct golden golden;
    if (golden_open(&golden, folder, &err))
        tally_judge(tally, folder, "all", &err);
    else
        program_check(tally, program, scratch, &golden);
    golden_release(&golden);
}

int main(int argc, char **argv)
{
    char scratch[] = "/tmp/oracle-XXXXXX";
    int descriptor = mkstemp(scratch);
    if (argc < 3 || descriptor < 0) {
        fprintf(stderr, "usage: oracle PROGRAM FOLDER...\n");
        return 2;
    }
    close(descriptor);
    struct tally tally = {0};
    for (int i = 2; i < argc; i++)
        check_folder(&tally, argv[1], scratch, argv[i]);
    unlink(scratch);
    printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed || tally.passed == 0 ? 1 : 0;
}
