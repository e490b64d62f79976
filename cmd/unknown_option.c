#include <string.h>

#include "base/names.h"
#include "base/utf8.h"
#include "command.h"

enum { WORD_BYTES = 64 }; /* of a name that somebody could mean */

/* `Max_New_Tokens` as max-new-tokens; "" for what is too long to be meant. */
static void read_word(char word[WORD_BYTES], const char *name, size_t size)
{
    size_t count = size < WORD_BYTES ? size : 0;
    for (size_t i = 0; i < count; i++)
        word[i] = name[i] == '_' ? '-' : (char)utf8_small((unsigned char)name[i] & 0x7f);
    word[count] = '\0';
}

static struct nearest nearest_option(int command, const char *name, size_t size)
{
    struct nearest nearest;
    nearest_begin(&nearest, name, size);
    for (size_t i = 0; i < option_count(); i++)
        if (option_serves(option_at(i), command))
            nearest_offer(&nearest, option_at(i)->name);
    return nearest;
}

static int name_of_others(const char *name, size_t size, struct err *err)
{
    struct buf others = {0};
    for (size_t i = 0; i < command_count; i++)
        if (option_find(command_rows[i].bit, name, size))
            buf_format(&others, "%s%s", others.size ? ", " : "", command_rows[i].name);
    err_usage(err, "unknown option '--%.*s': it is one of %s; --help lists those of this one",
              (int)size, name, others.size ? others.bytes : "other commands");
    buf_release(&others);
    return -1;
}

int unknown_name(int command, const char *name, size_t size, struct err *err)
{
    char word[WORD_BYTES];
    read_word(word, name, size);
    if (removed_option(command, word, err))
        return -1;
    const char *same = option_find(command, word, strlen(word)) ? word : NULL;
    if (!same && option_find(FOR_ALL, word, strlen(word)))
        return name_of_others(word, strlen(word), err);
    const char *near = same ? same : nearest_option(command, name, size).name;
    if (near)
        return err_usage(err, "unknown option '--%.*s': did you mean '--%s'?", (int)size, name,
                         near);
    return err_usage(err, "unknown option '--%.*s': --help lists them", (int)size, name);
}

/* A letter that means something in a command; the first that has it says what. */
static int letter_of_others(char letter, struct err *err)
{
    for (size_t i = 0; i < command_count; i++) {
        const struct option_row *row = option_find_letter(command_rows[i].bit, letter);
        if (row)
            return err_usage(err, "unknown option '-%c': it is '--%s' of %s", letter, row->name,
                             command_rows[i].name);
    }
    return 0;
}

int unknown_letter(int command, const char *letter, struct err *err)
{
    size_t size = utf8_grapheme(letter, strlen(letter));
    bool is_letter = (*letter >= 'a' && *letter <= 'z') || (*letter >= 'A' && *letter <= 'Z');
    char other = (char)(is_letter ? *letter ^ ('a' ^ 'A') : '\0');
    if (option_find_letter(command, other))
        return err_usage(err, "unknown option '-%c': did you mean '-%c'?", *letter, other);
    if (letter_of_others(*letter, err))
        return -1;
    return err_usage(err, "unknown option '-%.*s': --help lists them", size ? (int)size : 1,
                     letter);
}

/* The bytes of a dash that no keyboard but many a word processor writes; 0: it is none. */
static size_t typeset_dash(const char *text)
{
    static const char *const dashes[] = {"‐", "‑", "‒", "–", "—", "―", "−"};
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (strncmp(text, dashes[i], strlen(dashes[i])) == 0)
            return strlen(dashes[i]);
    return 0;
}

int unknown_dashes(int command, const char *argument, struct err *err)
{
    const char *name = argument;
    size_t dash = typeset_dash(name);
    for (; dash; dash = typeset_dash(name))
        name += dash;
    bool typeset = name != argument;
    name += strspn(name, "-");
    size_t size = strcspn(name, "=");
    if (name > argument && size > 1 && option_find(command, name, size))
        return err_usage(err, "unknown option '%.*s': did you mean '--%.*s', with two %sdashes?",
                         (int)(name + size - argument), argument, (int)size, name,
                         typeset ? "plain " : "");
    if (typeset && size == 1 && option_is_known(command, (const char[]){'-', *name, '\0'}))
        return err_usage(err, "unknown option '%s': did you mean '-%s', with a plain dash?",
                         argument, name);
    return 0;
}
