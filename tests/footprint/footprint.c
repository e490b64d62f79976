/* footprint.c: the most memory that a command takes, in KiB, on standard output; its own goes
 * nowhere.
 *
 *     build/footprint build/attn-cli batch texts.txt -o results/
 *
 * A small program, because the system counts what a process held before it became the command:
 * begun by an interpreter, every command takes at least what the interpreter does. The status is
 * the command's; 127 when it could not be run.
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
