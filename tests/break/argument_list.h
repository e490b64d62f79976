/* argument_list.h: a command line of a table, taken apart.
 *
 *     struct argument_list words = {0};
 *     if (argument_list_split(&words, program, "run -m m -s 'Life is'", &err)) ...
 *     execv(program, words.argv);
 *     argument_list_release(&words);
 */
#ifndef ATTN_TESTS_ARGUMENT_LIST_H
#define ATTN_TESTS_ARGUMENT_LIST_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum { WORDS_MAX = 64 };

struct argument_list {
    struct buf text;           /* the words, each with a 0 behind it */
    char *argv[WORDS_MAX + 2]; /* the program, the words, NULL */
    size_t starts[WORDS_MAX];
    size_t count;
};

/* Words stand between blanks, or in single quotes; in them case_table_decode has its way. `words`
 * is zeroed; `program` must live as long as it. Release it on failure, too. */
int argument_list_split(struct argument_list *words, const char *program, const char *command,
                        struct err *err);

void argument_list_release(struct argument_list *words);

#endif
