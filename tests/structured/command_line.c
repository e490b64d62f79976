#include "command_line.h"

#include <string.h>

#include "../../cmd/command.h"

enum { WORDS_MAX = 64, LINE_BYTES = 512 };

int command_line_run(const char *line, struct err *err)
{
    char text[LINE_BYTES];
    char *words[WORDS_MAX] = {NULL};
    size_t count = 0;
    struct arena arena = {0};
    if (strlen(line) >= sizeof text)
        return err_usage(err, "a command line is too long");
    strcpy(text, line);
    for (char *word = strtok(text, " "); word && count + 1 < WORDS_MAX; word = strtok(NULL, " "))
        words[count++] = word;
    int failed = command_run(words[0], words + 1, &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
