/* argument_list.h: the words of a command line in a table.
 *
 *     struct argument_list words = {0};
 *     if (argument_list_split(&words, program, "run -m m -s 'Life is'", &err)) ...
 *     execv(program, words.argv);
 *     argument_list_release(&words);
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum { WORDS_MAX = 64 };

struct argument_list {
    struct buf text;           /* the words, each followed by a 0 */
    char *argv[WORDS_MAX + 2]; /* the program, the words, NULL */
    size_t starts[WORDS_MAX];
    size_t count;
};

/* Words are separated by blanks or in single quotes, and decoded by case_table_decode(). `words` is
 * zeroed; `program` must outlive it. Release it also on failure. */
int argument_list_split(struct argument_list *words, const char *program, const char *command,
                        struct err *err);

void argument_list_release(struct argument_list *words);
