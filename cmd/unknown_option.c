#include "unknown_option.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/utf8.h"
#include "command.h"

enum {
    WORD_BYTES = 64,     /* of a name that somebody could mean */
    SLIP_CHARACTERS = 5, /* in a shorter word one letter more or less makes another word */
};

/* What other programs, or other commands, call a thing; the first row counts whose option the
 * command has. */
static const struct alias {
    const char *word, *option; /* with a value, where it has one */
    const char *remark;        /* NULL: none */
} aliases[] = {
    {"prompt", "sentence", NULL},
    {"text", "sentence", NULL},
    {"texts", "sentence", NULL},
    {"string", "sentence", NULL},
    {"sentences", "sentence", NULL},
    {"input", "file", NULL},
    {"input", "data", NULL},
    {"input-file", "file", NULL},
    {"infile", "file", NULL},
    {"prompt-file", "file", NULL},
    {"data", "file", NULL},
    {"file", "data", NULL},
    {"dataset", "data", NULL},
    {"corpus", "data", NULL},
    {"layers", "layer", NULL},
    {"block", "layer", NULL},
    {"heads", "head", NULL},
    {"query", "token", NULL},
    {"position", "token", NULL},
    {"pos", "token", NULL},
    {"n", "tokens", NULL},
    {"n", "count", NULL},
    {"count", "tokens", NULL},
    {"num", "count", NULL},
    {"length", "tokens", NULL},
    {"max-length", "tokens", NULL},
    {"max-tokens", "tokens", NULL},
    {"max-new-tokens", "tokens", NULL},
    {"n-tokens", "tokens", NULL},
    {"num-tokens", "tokens", NULL},
    {"n-predict", "tokens", NULL},
    {"temperature", "temp",
     ": the temperature of drawing tokens; that of the scores is given by "
     "--scale, as 1/(T√d_k)"},
    {"temp", "temperature", ": the temperature of the scores"},
    {"sampling-temperature", "temp", NULL},
    {"nucleus", "top-p", NULL},
    {"random-seed", "seed", NULL},
    {"manual-seed", "seed", NULL},
    {"rng-seed", "seed", NULL},
    {"out", "output", NULL},
    {"outfile", "output", NULL},
    {"out-file", "output", NULL},
    {"output-file", "output", NULL},
    {"output-dir", "output", NULL},
    {"out-dir", "output", NULL},
    {"dir", "output", NULL},
    {"directory", "output", NULL},
    {"folder", "output", NULL},
    {"save", "output", NULL},
    {"dest", "output", NULL},
    {"write", "output", NULL},
    {"colour", "color", NULL},
    {"colors", "color", NULL},
    {"colours", "color", NULL},
    {"no-color", "color never", NULL},
    {"no-colour", "color never", NULL},
    {"colour-scale", "color-scale", NULL},
    {"cmap", "palette", NULL},
    {"colormap", "palette", NULL},
    {"theme", "palette", NULL},
    {"columns", "width", NULL},
    {"type", "format", NULL},
    {"to", "format", NULL},
    {"output-format", "format", NULL},
    {"json", "format json", NULL},
    {"jsonl", "format jsonl", NULL},
    {"csv", "format csv", NULL},
    {"npy", "format npy", NULL},
    {"svg", "format svg", NULL},
    {"png", "format png", NULL},
    {"pdf", "format pdf", NULL},
    {"html", "format html", NULL},
    {"tensor", "show", NULL},
    {"tensors", "show", NULL},
    {"what", "show", NULL},
    {"average", "mean", NULL},
    {"context-sentence", "source", NULL},
    {"src", "source", NULL},
    {"encoder-input", "source", NULL},
    {"dtype", "precision", NULL},
    {"mask", "mask-method", NULL},
    {"softmax-temperature", "temperature", NULL},
    {"checkpoint", "model", NULL},
    {"model-name", "model", NULL},
    {"model-path", "model", NULL},
    {"model-dir", "model", NULL},
    {"pretrained", "model", NULL},
    {"jobs", "threads", NULL},
    {"workers", "threads", NULL},
    {"cores", "threads", NULL},
    {"num-threads", "threads", NULL},
    {"n-threads", "threads", NULL},
    {"silent", "quiet", NULL},
    {"overwrite", "force", NULL},
    {"continue", "resume", NULL},
    {"precision-digits", "digits", NULL},
    {"decimals", "digits", NULL},
    {"like", "shape", NULL},
    {"size", "shape", NULL},
    {"vocab-size", "size", NULL},
    {"epochs", "steps", NULL},
    {"iterations", "steps", NULL},
    {"max-steps", "steps", NULL},
    {"batch-size", "batch", NULL},
    {"block-size", "context", NULL},
    {"seq-len", "context", NULL},
    {"lr", "rate", NULL},
    {"learning-rate", "rate", NULL},
    {"weight-decay", "decay", NULL},
    {"grad-clip", "clip", NULL},
    {"rounds", "repeat", NULL},
    {"repeats", "repeat", NULL},
    {"usage", "help", NULL},
};

/* The row of a long name of so many bytes. */
static const struct option_row *row_of(int commands, const char *name, size_t size)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (option_serves(row, commands) && strlen(row->name) == size &&
            memcmp(row->name, name, size) == 0)
            return row;
    }
    return NULL;
}

/* `Max_New_Tokens` as max-new-tokens; "" for what is too long to be meant. */
static void read_word(char word[WORD_BYTES], const char *name, size_t size)
{
    size_t count = size < WORD_BYTES ? size : 0;
    for (size_t i = 0; i < count; i++)
        word[i] = name[i] == '_' ? '-' : (char)utf8_small((unsigned char)name[i] & 0x7f);
    word[count] = '\0';
}

static const struct alias *alias_of(int command, const char *word)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const char *option = aliases[i].option;
        if (strcmp(aliases[i].word, word) == 0 && row_of(command, option, strcspn(option, " ")))
            return &aliases[i];
    }
    return NULL;
}

static struct nearest nearest_option(int command, const char *name, size_t size)
{
    struct nearest nearest;
    nearest_begin(&nearest, name, size);
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], command))
            nearest_offer(&nearest, option_rows[i].name);
    return nearest;
}

bool unknown_may_mean(const char *name, const char *option)
{
    char word[WORD_BYTES];
    struct nearest nearest;
    read_word(word, name, strlen(name));
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].word, word) == 0 && strcmp(aliases[i].option, option) == 0)
            return true;
    nearest_begin(&nearest, name, strlen(name));
    nearest_offer(&nearest, option);
    return nearest.name != NULL;
}

const char *unknown_slip(int command, const char *name)
{
    char word[WORD_BYTES];
    size_t size = strlen(name);
    read_word(word, name, size);
    const struct option_row *row = row_of(command, word, strlen(word));
    struct nearest nearest = nearest_option(command, name, size);
    bool alike = nearest.name && nearest.steps <= 1 && nearest.size >= SLIP_CHARACTERS &&
                 size + 1 >= nearest.name_bytes && size <= nearest.name_bytes + 1;
    return row ? row->name : alike ? nearest.name : NULL;
}

/* It is an option, but of others. */
static int name_of_others(int command, const char *name, size_t size, struct err *err)
{
    struct buf others = {0};
    if (command == FOR_ITEM)
        return err_usage(err, "option '--%.*s' is not for one item alone", (int)size, name);
    for (size_t i = 0; i < command_count; i++)
        if (row_of(command_rows[i].bit, name, size))
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
    const struct alias *alias = alias_of(command, word);
    const char *same = row_of(command, word, strlen(word)) ? word : NULL;
    if (!same && alias)
        return err_usage(err, "unknown option '--%.*s': here it is '--%s'%s", (int)size, name,
                         alias->option, alias->remark ? alias->remark : "");
    if (!same && row_of(FOR_ALL, word, strlen(word)))
        return name_of_others(command, word, strlen(word), err);
    const char *near = same ? same : nearest_option(command, name, size).name;
    if (near)
        return err_usage(err, "unknown option '--%.*s': did you mean '--%s'?", (int)size, name,
                         near);
    return err_usage(err, "unknown option '--%.*s': --help lists them", (int)size, name);
}

static const struct option_row *row_of_letter(int commands, char letter)
{
    for (size_t i = 0; i < option_count; i++)
        if (letter && option_rows[i].letter == letter && option_serves(&option_rows[i], commands))
            return &option_rows[i];
    return NULL;
}

/* A letter that means something in a command; the first that has it says what. */
static int letter_of_others(char letter, struct err *err)
{
    for (size_t i = 0; i < command_count; i++) {
        const struct option_row *row = row_of_letter(command_rows[i].bit, letter);
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
    if (row_of_letter(command, other))
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
    if (name > argument && size > 1 && row_of(command, name, size))
        return err_usage(err, "unknown option '%.*s': did you mean '--%.*s', with two %sdashes?",
                         (int)(name + size - argument), argument, (int)size, name,
                         typeset ? "plain " : "");
    if (typeset && size == 1 && option_is_known(command, (const char[]){'-', *name, '\0'}))
        return err_usage(err, "unknown option '%s': did you mean '-%s', with a plain dash?",
                         argument, name);
    return 0;
}
