/* footprint.c: prints the peak memory of a command in KiB, and discards the command's output.
 *
 *     build/footprint build/attn-cli batch texts.txt -o results/
 *
 * It is a small program because peak memory includes that of the process before exec: started by an
 * interpreter, every command would have at least the interpreter's. The status is the command's, or
 * 127 if it cannot be run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(char **command)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0)
        execv(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    int status = 0;
    struct rusage usage;
    if (argc < 2) {
        fprintf(stderr, "usage: footprint COMMAND...\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0)
        become(argv + 1);
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("footprint");
        return 127;
    }
    printf("%ld\n", usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}
