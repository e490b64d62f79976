#include "command.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "driver.h"
#include "lens/dictionary.h"
#include "output.h"
#include "progress.h"
#include "text/label.h"

const struct command *const commands[] = {
    &command_run,   &command_heads,    &command_explain,  &command_page,  &command_tokenize,
    &command_info,  &command_again,    &command_score,    &command_lens,  &command_attribute,
    &command_patch, &command_compare,  &command_generate, &command_steer, &command_examples,
    &command_atlas, &command_features, &command_batch,    &command_bench, &command_init,
    &command_train, &command_lesson,   &command_help,
};

const size_t command_count = sizeof commands / sizeof *commands;

enum { SENTENCE_BYTES = 60 }; /* of a longer name, the suggestion has only "…" */

struct option_set command_set(const struct command *command)
{
    return (struct option_set){command, command->done};
}

const struct command *command_find(const char *name, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        nearest_offer(&nearest, commands[i]->name);
    }
    const char *near = nearest.name;
    if (strchr(name, ' ')) /* probably a text */
        err_usage(err, "unknown command '%s': did you mean 'attn-cli run \"%s\"'?", name,
                  strlen(name) <= SENTENCE_BYTES ? name : "…");
    else if (near)
        err_usage(err, "unknown command '%s'%s", name, names_guess(guess, near));
    else
        err_usage(err, "unknown command '%s': 'attn-cli help' lists them", name);
    return NULL;
}

/* Append advice that the library cannot give, because it names commands and options. */
static void add_advice(struct err *err, const struct command *command, const char *model)
{
    size_t size = strlen(err->text);
    const char *gap = size && err->text[size - 1] == '?' ? "" : ":";
    if (err->about == ERR_ABOUT_WORD && model)
        err_append(err,
                   "%s 'attn-cli info %s' lists its words, 'attn-cli init -s \"…\" -o mine' makes "
                   "a model with your words",
                   gap, model);
    if (err->about == ERR_ABOUT_TOKENIZER)
        err_append(err,
                   command == &command_heads ? "%s leave out the text to measure on random tokens"
                   : option_find(command_set(command), "ids", 3)
                       ? "%s use --ids"
                       : "%s use a table with the column 'ids'",
                   gap);
    if (err->about == ERR_ABOUT_LENGTH)
        err_append(err, "%s shorten it, or use a model with a longer context (--model)", gap);
    if (err->about == ERR_ABOUT_CONTEXT)
        err_append(err, "%s shorten it, or use --long", gap);
}

const struct task *command_task(const struct command *command, const struct options *options)
{
    return options->score.classes    ? &classes_task
           : options->heads.contacts ? &contacts_task
                                     : command->task;
}

int command_start(const struct command *command, const struct options *options, struct err *err)
{
    const char *path = options->output.path;
    char size[NUM_SIZE_BYTES];
    struct buf line = {0};
    struct stat status;
    progress_set_quiet(options->quiet);
    if (options->help)
        return help_of(command, err);
    if (provenance_begin(options, err))
        return -1;
    if (command->run ? command->run(options, err)
                     : driver_do(command_task(command, options), options, err)) {
        add_advice(err, command, chosen_model(options->model.name));
        return -1;
    }
    if (options->batch.dry_run || progress_is_quiet() || output_is_standard(path) ||
        !isatty(STDERR_FILENO))
        return 0;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) { /* "weights.csv: 12.3 KiB" */
        label_line(&line, path, strlen(path));
        buf_format(&line, ": %s\n", num_size(size, (uint64_t)status.st_size));
        if (!line.out_of_memory)
            progress_say(line.bytes, line.size);
        buf_release(&line);
    }
    errno = 0;
    return 0;
}

const char *chosen_model(const char *option)
{
    const char *environment = getenv("ATTN_MODEL");
    if (option)
        return option;
    return environment && *environment ? environment : NULL;
}

int only_model(const char **name, const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    size_t named = operands->count + (options->model.name != NULL);
    *name = operands->count ? operands->items[0] : chosen_model(options->model.name);
    if (named <= 1)
        return 0;
    return err_usage(err, "expected one model, found '%s' as well",
                     options->model.name ? options->model.name : operands->items[1]);
}

/* --- standard error --------------------------------------------------------------------------- */

enum { KIND_BYTES = 32 }; /* at least the size of "attn-cli: error: " */

/* Print a line without allocating memory, since memory may have run out. */
static void print_line(const char *kind, const char *text)
{
    enum { VISIBLE_BYTES = 4 };                                    /* \xNN for each byte */
    static char line[KIND_BYTES + VISIBLE_BYTES * ERR_TEXT_BYTES]; /* the stack may be small */
    size_t size = (size_t)snprintf(line, sizeof line, "attn-cli: %s", kind);
    size += label_fill(line + size, sizeof line - size - 1, text);
    line[size++] = '\n';
    progress_say(line, size);
}

void print_note(const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;
    if (progress_is_quiet())
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("note: ", text);
}

void print_note_of_tokenizer(const struct tokenizer *tokenizer)
{
    long long most = tokenizer ? tokenizer_facts(tokenizer)->truncation : 0;
    if (most > 0)
        print_note("tokenizer.json: 'truncation' to %lld tokens is ignored: texts keep all of "
                   "their tokens",
                   most);
    if (tokenizer && tokenizer_facts(tokenizer)->pads)
        print_note("tokenizer.json: 'padding' is ignored");
}

bool print_note_of_training(const struct dictionary *dictionary, const struct tokenized *text)
{
    const bool differs = dictionary->knows_begin && dictionary->begins != (text->added_before > 0);
    const bool is_longer = dictionary->context && text->count > dictionary->context;
    if (is_longer)
        print_note("--sae: expected texts of at most %zu tokens, as in its training "
                   "(context_size), found %zu: features of later tokens may be meaningless",
                   dictionary->context, text->count);
    if (differs)
        print_note("--sae: expected texts that begin with%s a special token, as in its "
                   "training (prepend_bos), found others: try --special %s",
                   dictionary->begins ? "" : "out", dictionary->begins ? "bos" : "none");
    return differs || is_longer;
}

void print_note_of_weights(double mapped, double others)
{
    char needed[NUM_SIZE_BYTES], there[NUM_SIZE_BYTES];
    size_t left = platform_page_bytes();
    if (left < SIZE_MAX && others <= (double)left && mapped > (double)left - others)
        print_note("the weights (%s) do not fit into the free memory (%s): each pass reads those "
                   "it uses from the disk (a smaller model or GGUF type is faster)",
                   num_size(needed, (uint64_t)mapped), num_size(there, left));
}

void print_failure(const char *text)
{
    print_line("error: ", text);
}

/* --- files of texts --------------------------------------------------------------------------- */

/* Files that people take for texts, by their first bytes. */
static const struct other_file {
    const char *begins, *what, *way_out;
} other_files[] = {
    {"\x1f\x8b", "a gzip file", "zcat FILE | attn-cli … -f -"},
    {"\xfd"
     "7zXZ",
     "an xz file", "xzcat FILE | attn-cli … -f -"},
    {"\x28\xb5\x2f\xfd", "a zstd file", "zstdcat FILE | attn-cli … -f -"},
    {"\xff\xfe", "UTF-16", "save it as \"CSV UTF-8\" or UTF-8, or iconv -f utf-16 -t utf-8 FILE"},
    {"\xfe\xff", "UTF-16", "save it as \"CSV UTF-8\" or UTF-8, or iconv -f utf-16 -t utf-8 FILE"},
    {"PK\3\4", "an Excel or zip file", "save it as \"CSV UTF-8\""},
    {"\xd0\xcf\x11\xe0", "an old Excel or Word file", "save it as \"CSV UTF-8\""},
    {"%PDF-", "a PDF file", "pdftotext FILE - | attn-cli … -f -"},
    {"GGUF\2", "a model", "--model FILE opens it"},
    {"GGUF\3", "a model", "--model FILE opens it"},
    {"PAR1\x15", "a Parquet file", "write it as CSV or JSONL"},
};

const char *shown_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int input_file_open(struct file *file, const char *path, struct err *err)
{
    enum { PATIENCE_MS = 2000 };
    struct pollfd standard = {STDIN_FILENO, POLLIN, 0};
    bool is_standard = strcmp(path, "-") == 0;
    if (is_standard && poll(&standard, 1, PATIENCE_MS) == 0)
        print_note("waiting for standard input: Ctrl-D ends it, '</dev/null' is an empty one");
    if (is_standard ? file_read(file, STDIN_FILENO, shown_path(path), err)
                    : file_map(file, path, err))
        return -1;
    for (size_t i = 0; i < sizeof other_files / sizeof *other_files; i++) {
        const struct other_file *other = &other_files[i];
        size_t size = strlen(other->begins);
        if (file->size >= size && memcmp(file->bytes, other->begins, size) == 0)
            return err_set(err, "'%s': expected texts in UTF-8, found %s: %s", shown_path(path),
                           other->what, other->way_out);
    }
    return 0;
}
