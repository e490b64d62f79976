#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"
#include "lens/dictionary.h"
#include "lens/tokenized.h"
#include "options.h"
#include "progress.h"
#include "text/label.h"
#include "text/tokenizer.h"

/* --- standard error --------------------------------------------------------------------------- */

enum { KIND_BYTES = 32 }; /* at least the bytes of "attn-cli: error: " */

/* Print a line without allocating memory, since memory may have run out. */
static void print_line(const char *kind, const char *text)
{
    enum { VISIBLE_BYTES = 4 }; /* maximum number of bytes that show one byte: \xNN */
    /* static, because the stack may be small */
    static char line[KIND_BYTES + VISIBLE_BYTES * ERR_TEXT_BYTES];
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

/* Files that people mistake for texts, by their first bytes. */
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

/* --- models ----------------------------------------------------------------------------------- */

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
