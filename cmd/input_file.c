#include "input_file.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

/* Files that people take for texts, by their first bytes. */
static const struct other_file {
    const char *begins, *what, *way_out;
} other_files[] = {
    {"\x1f\x8b", "a gzip file", "zcat FILE | attn-cli … -f -"},
    {"\xfd"
     "7zXZ",
     "an xz file", "xzcat FILE | attn-cli … -f -"},
    {"\x28\xb5\x2f\xfd", "a zstd file", "zstdcat FILE | attn-cli … -f -"},
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
