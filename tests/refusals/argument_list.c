#include "argument_list.h"

#include "case_table.h"

/* Add the next word. 'Life is' is one word, and '' is an empty one. */
static int add_word(struct argument_list *words, const char **at, struct err *err)
{
    char mark = **at == '\'' ? '\'' : ' ';
    const char *start = *at + (mark == '\'');
    size_t size = 0;
    while (start[size] && start[size] != mark)
        size++;
    if (words->count == WORDS_MAX)
        return err_set(err, "expected at most %d words, found more", WORDS_MAX);
    words->starts[words->count++] = words->text.size;
    case_table_decode(&words->text, start, size);
    buf_char(&words->text, '\0');
    *at = start + size + (mark == '\'' && start[size]);
    return 0;
}

int argument_list_split(struct argument_list *words, const char *program, const char *command,
                        struct err *err)
{
    while (*command) {
        if (*command == ' ')
            command++;
        else if (add_word(words, &command, err))
            return -1;
    }
    if (buf_check(&words->text, err))
        return -1;
    words->argv[0] = (char *)program;
    for (size_t i = 0; i < words->count; i++)
        words->argv[i + 1] = words->text.bytes + words->starts[i];
    return 0;
}

void argument_list_release(struct argument_list *words)
{
    buf_release(&words->text);
    *words = (struct argument_list){0};
}
