/* print.c: lines on standard error. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/listing.h"
#include "base/num.h"
#include "command.h"
#include "model/model.h"
#include "output.h"
#include "progress.h"
#include "text/label.h"

enum { KIND_BYTES = 32 }; /* the longest "attn-cli: error: " */

static void write_line(const char *bytes, size_t size)
{
    progress_wipe();
    while (write(STDERR_FILENO, bytes, size) < 0 && errno == EINTR)
        continue; /* any other reason: no one is left to tell */
    errno = 0;
}

/* Without memory of its own: what is printed may be that there is none. */
static void print_line(const char *kind, const char *text)
{
    enum { VISIBLE_BYTES = 4 };                                    /* \xNN for each byte */
    static char line[KIND_BYTES + VISIBLE_BYTES * ERR_TEXT_BYTES]; /* the stack may be small */
    size_t size = (size_t)snprintf(line, sizeof line, "attn-cli: %s", kind);
    size += label_fill(line + size, sizeof line - size - 1, text);
    line[size++] = '\n';
    write_line(line, size);
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
    long long most = tokenizer ? tokenizer_truncation(tokenizer) : 0;
    if (most > 0)
        print_note("tokenizer.json: 'truncation' to %lld tokens is not applied: a text keeps all "
                   "of its tokens",
                   most);
    if (tokenizer && tokenizer_pads(tokenizer))
        print_note("tokenizer.json: 'padding' is not applied: a text has no tokens but its own");
}

void print_note_of_model(const struct model *model)
{
    if (model->config.lacks_head)
        print_note("'%s' has no '%s', though its embeddings are not tied: the token embedding "
                   "makes the logits",
                   model->folder.path, model_head(model).name);
    if (model->context)
        print_note("'%s' is made for texts of at most %zu tokens: what it makes of longer ones may "
                   "be worth little",
                   model->folder.path, model->context);
}

void print_failure(const char *text)
{
    print_line("error: ", text);
}

/* --- what was written ------------------------------------------------------------------------- */

struct written {
    size_t files;
    uint64_t bytes;
};

/* A file, or all files in a folder; what is gone by now, and links in a folder, do not count. */
static int count_written(struct written *written, const char *path, struct arena *arena,
                         struct err *err)
{
    struct stat status;
    struct listing listing;
    if (lstat(path, &status) || (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)))
        return 0;
    if (S_ISREG(status.st_mode)) {
        written->files++;
        written->bytes += (uint64_t)status.st_size;
        return 0;
    }
    if (listing_read(&listing, path, arena, err))
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        const char *inner = arena_format(arena, err, "%s/%s", path, listing.names[i]);
        if (!inner || count_written(written, inner, arena, err))
            return -1;
    }
    return 0;
}

void print_written(const char *path)
{
    char size[NUM_SIZE_BYTES];
    struct buf line = {0};
    struct arena arena = {0};
    char real[PATH_MAX];
    struct written written = {0};
    struct err err = {0};
    if (progress_is_quiet() || output_is_standard(path) || file_descriptor_of(path) >= 0 ||
        !isatty(STDERR_FILENO))
        return;
    int failed = !realpath(path, real) || count_written(&written, real, &arena, &err);
    label_line(&line, path, strlen(path));
    buf_text(&line, ": ");
    if (file_is_directory(path))
        buf_format(&line, "%zu file%s, ", written.files, written.files == 1 ? "" : "s");
    buf_format(&line, "%s\n", num_size(size, written.bytes));
    if (!failed && written.files && !line.out_of_memory)
        write_line(line.bytes, line.size);
    buf_release(&line);
    arena_release(&arena);
    errno = 0;
}

void print_usage(void)
{
    enum { INDENT = 10, COLUMNS = 79 }; /* of the names after "Commands:" */
    size_t used = INDENT;
    struct buf page = {0};
    buf_text(&page, "Usage:     attn-cli COMMAND [options]\n"
                    "Try:       attn-cli run \"Life is short, eat dessert first\"\n"
                    "Commands: ");
    for (size_t i = 0; i < command_count; i++) {
        size_t size = strlen(commands[i]->name);
        bool fits = used + 1 + size <= COLUMNS;
        buf_format(&page, "%s%s", fits ? " " : "\n           ", commands[i]->name);
        used = (fits ? used : INDENT) + 1 + size;
    }
    buf_text(&page, "\nMore:      attn-cli help, attn-cli help COMMAND\n");
    if (page.out_of_memory)
        print_failure("expected a command: 'attn-cli help' lists them");
    else
        write_line(page.bytes, page.size);
    buf_release(&page);
}
