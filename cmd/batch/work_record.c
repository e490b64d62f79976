#include "work_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/line_reader.h"
#include "base/transfer.h"
#include "work_listed.h"

enum {
    BEGINNING_BYTES = 256,
    END_BYTES = 64,
    HEAD_LINES = 4, /* that of the models is the last one of all heads */
};

static const char version_line[] = " \"version\": \"";
static const char command_line[] = " \"command\": [\"attn-cli\", \"batch\", \"";
static const char models_line[] = " \"models\": ";
static const char files_line[] = " \"files\": ";
static const char failed_line[] = " \"failed\": ";
static const char retry_line[] = " \"retry\": ";

static bool begins(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    return size >= length && memcmp(text, word, length) == 0;
}

/* {                                    of a manifest
 *  "version": "…
 *  "command": ["attn-cli", "batch", "… */
static bool is_beginning(const char *text, size_t size)
{
    size_t at = begins(text, size, "{\n") ? 2 : 0;
    const char *end = memchr(text + at, '\n', size - at);
    if (!end || !begins(text + at, size - at, version_line))
        return false;
    return begins(end + 1, (size_t)(text + size - end - 1), command_line);
}

static int open_record(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* By errno. */
static int look_without(enum record_kind *kind, const char *path, struct err *err)
{
    *kind = errno == ENOENT || errno == ENOTDIR ? RECORD_NONE : RECORD_OTHER;
    bool is_known = *kind == RECORD_NONE || errno == ELOOP || errno == ENXIO; /* links, sockets */
    return is_known ? 0 : err_output(err, "cannot read '%s': %s", path, strerror(errno));
}

/*  "failed": 0}         the last line of a manifest */
static bool has_end(int descriptor, off_t size)
{
    char text[END_BYTES + 1] = "";
    off_t from = size > END_BYTES ? size - END_BYTES : 0;
    ssize_t got = pread(descriptor, text, END_BYTES, from);
    const char *line = got > 0 ? strstr(text, failed_line) : NULL;
    if (!line)
        return false;
    line += sizeof failed_line - 1;
    return strcmp(line + strspn(line, "0123456789"), "}\n") == 0;
}

static int has_head(bool *whole, int descriptor, const char *path, struct err *err)
{
    struct line_reader reader = {.descriptor = descriptor, .name = path};
    bool more = true;
    int failed = lseek(descriptor, 0, SEEK_SET) < 0;
    for (int i = 0; i < HEAD_LINES && more && !failed; i++)
        failed = line_reader_next(&reader, &more, err);
    *whole = more && !failed && reader.whole && begins(reader.line, reader.size, models_line);
    line_reader_release(&reader);
    return failed ? -1 : 0;
}

/* What begins as a record: a journal has its name with its head in it, a manifest with its end. */
static int look_at_rest(enum record_kind *kind, int descriptor, const char *path, off_t size,
                        bool is_manifest, struct err *err)
{
    bool whole = is_manifest && has_end(descriptor, size);
    if (!is_manifest && has_head(&whole, descriptor, path, err))
        return -1;
    *kind = whole ? RECORD_OF_BATCH : RECORD_CUT;
    return 0;
}

int work_record_look(enum record_kind *kind, const char *path, struct err *err)
{
    char text[BEGINNING_BYTES];
    struct stat status;
    int descriptor = open_record(path);
    if (descriptor < 0)
        return look_without(kind, path, err);
    ssize_t got = 0;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        got = transfer_read(descriptor, text, sizeof text);
    int failed = got < 0 ? err_output(err, "cannot read '%s': %s", path, strerror(errno)) : 0;
    *kind = RECORD_OTHER;
    if (got > 0 && is_beginning(text, (size_t)got))
        failed = look_at_rest(kind, descriptor, path, status.st_size, *text == '{', err);
    close(descriptor);
    return failed ? -1 : 0;
}

bool work_record_is_cleared(const char *journal)
{
    char first = '\0';
    int descriptor = open_record(journal);
    bool cleared = descriptor >= 0 && transfer_read(descriptor, &first, 1) == 1 && first == '{';
    if (descriptor >= 0)
        close(descriptor);
    return cleared;
}

const struct json *work_record_files(struct json **root, const char *line, size_t size)
{
    size_t name = sizeof files_line - 1;
    bool is_list = begins(line, size, files_line);
    size_t skip = is_list ? name : 0;
    *root = NULL;
    for (line += skip, size -= skip; size && *line == ' '; line++)
        size--;
    while (size && (line[size - 1] == ',' || (!is_list && line[size - 1] == ']')))
        size--;
    if (!size || *line != (is_list ? '[' : '{') || json_parse(root, line, size, NULL))
        return NULL;
    const struct json *files = is_list ? *root : json_member(*root, "files");
    return files && json_is_array(files) ? files : NULL;
}

static void read_files(struct record_ending *ending, const char *line, size_t size)
{
    struct json *root = NULL;
    const struct json *files = work_record_files(&root, line, size);
    const struct json *file = files && json_count(files) == 1 ? json_first(files) : NULL;
    const char *digits = file ? work_listed_hash(file) : "";
    if (strlen(digits) == SHA256_DIGITS)
        strcpy(ending->sha256, digits);
    json_free(root);
}

/* Of the line that begins so. */
static void read_count(size_t *count, const char *beginning, const char *line, size_t size)
{
    size_t at = strlen(beginning);
    if (!begins(line, size, beginning))
        return;
    for (*count = 0; at < size && line[at] >= '0' && line[at] <= '9'; at++)
        *count = *count * 10 + (size_t)(line[at] - '0');
}

/* A line after the head. */
static void read_ending(struct record_ending *ending, const char *line, size_t size)
{
    if (begins(line, size, files_line))
        read_files(ending, line, size);
    read_count(&ending->failed, failed_line, line, size);
    read_count(&ending->to_retry, retry_line, line, size);
}

static int refuse(const char *path, const char *what, struct err *err)
{
    return err_usage(err,
                     "'%s': expected the same %s as when it was begun, found another: --force "
                     "begins anew",
                     path, what);
}

static int next_line(struct line_reader *reader, bool *more, struct err *err)
{
    *more = true;
    int failed = line_reader_next(reader, more, err);
    bool opens = *more && !failed && reader->size == 1 && *reader->line == '{';
    return opens ? line_reader_next(reader, more, err) : failed; /* of a manifest */
}

static int check_lines(struct line_reader *reader, const struct journal_head *head,
                       struct record_ending *ending, struct err *err)
{
    bool more = true;
    for (size_t i = 0; i < head->count; i++) {
        size_t size = strlen(head->lines[i]);
        if (next_line(reader, &more, err))
            return -1;
        if (!more || reader->size + 1 != size ||
            memcmp(reader->line, head->lines[i], reader->size) != 0)
            return refuse(reader->name, head->names[i], err);
    }
    while (more && ending) {
        if (next_line(reader, &more, err))
            return -1;
        if (more)
            read_ending(ending, reader->line, reader->size);
    }
    return 0;
}

int work_record_check(const char *path, const struct journal_head *head,
                      struct record_ending *ending, struct err *err)
{
    int descriptor = open_record(path);
    struct line_reader reader = {.descriptor = descriptor, .name = path};
    if (ending)
        *ending = (struct record_ending){0};
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", path, strerror(errno));
    int failed = check_lines(&reader, head, ending, err);
    line_reader_release(&reader);
    close(descriptor);
    return failed ? -1 : 0;
}

int work_record_walk(const char *path,
                     int (*see)(void *context, char *line, size_t size, struct err *err),
                     void *context, struct err *err)
{
    int descriptor = open_record(path);
    struct line_reader reader = {.descriptor = descriptor, .name = path};
    bool more = true;
    int failed = 0;
    if (descriptor < 0)
        return errno == ENOENT ? 0 : err_set(err, "cannot open '%s': %s", path, strerror(errno));
    while (more && !failed) {
        failed = line_reader_next(&reader, &more, err);
        if (more && !failed)
            failed = see(context, reader.line, reader.size, err);
    }
    line_reader_release(&reader);
    close(descriptor);
    return failed ? -1 : 0;
}
