/* record.c: journals and manifests, read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/transfer.h"
#include "journal.h"
#include "store_plan.h"

enum {
    BEGINNING_BYTES = 256,
    END_BYTES = 64,
    HEAD_LINES = 4, /* that of the models is the last one of all heads */
};

static const char version_line[] = " \"version\": \"";
static const char command_line[] = " \"command\": [\"attn-cli\", \"batch\", \"";
static const char models_line[] = " \"models\": ";
static const char items_line[] = " \"items\": [";
static const char files_line[] = " \"files\": ";
static const char failed_line[] = " \"failed\": ";

static bool begins(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    return size >= length && memcmp(text, word, length) == 0;
}

static int open_path(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

/* --- what it is ------------------------------------------------------------------------------- */

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

/*  "failed": 0}         the last line of a manifest */
static int has_end(bool *whole, int descriptor, const char *path, off_t size, struct err *err)
{
    char text[END_BYTES + 1] = "";
    off_t from = size > END_BYTES ? size - END_BYTES : 0;
    ssize_t got = pread(descriptor, text, END_BYTES, from);
    if (got < 0)
        return err_set(err, "cannot read '%s': %s", path, strerror(errno));
    const char *line = strstr(text, failed_line);
    if (line)
        line += sizeof failed_line - 1;
    *whole = line && strcmp(line + strspn(line, "0123456789"), "}\n") == 0;
    return 0;
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
    bool whole = false;
    if (is_manifest ? has_end(&whole, descriptor, path, size, err)
                    : has_head(&whole, descriptor, path, err))
        return -1;
    *kind = !whole ? RECORD_CUT : is_manifest ? RECORD_MANIFEST : RECORD_JOURNAL;
    return 0;
}

int record_look(enum record_kind *kind, const char *path, struct err *err)
{
    char text[BEGINNING_BYTES];
    struct stat status;
    int descriptor = open_path(path);
    if (descriptor < 0) {
        *kind = errno == ENOENT || errno == ENOTDIR ? RECORD_NONE : RECORD_OTHER;
        bool known = *kind == RECORD_NONE || errno == ELOOP || errno == ENXIO; /* links, sockets */
        return known ? 0 : err_output(err, "cannot read '%s': %s", path, strerror(errno));
    }
    ssize_t got = fstat(descriptor, &status);
    if (got == 0 && S_ISREG(status.st_mode))
        got = transfer_read(descriptor, text, sizeof text);
    int failed = got < 0 ? err_output(err, "cannot read '%s': %s", path, strerror(errno)) : 0;
    *kind = RECORD_OTHER;
    if (got > 0 && is_beginning(text, (size_t)got))
        failed = look_at_rest(kind, descriptor, path, status.st_size, *text == '{', err);
    close(descriptor);
    return failed ? -1 : 0;
}

/* --- its lines -------------------------------------------------------------------------------- */

static struct record record_at(int descriptor, const char *path)
{
    return (struct record){.path = path, .reader = {.descriptor = descriptor, .name = path}};
}

int record_open(struct record *record, const char *path, struct err *err)
{
    *record = record_at(open_path(path), path);
    record->is_owned = record->reader.descriptor >= 0;
    return record->is_owned ? 0 : err_set(err, "cannot open '%s': %s", path, strerror(errno));
}

int record_open_pieces(struct record *record, const struct journal *journal, struct err *err)
{
    *record = record_at(journal->descriptor, journal->path);
    if (lseek(journal->descriptor, (off_t)journal->head_size, SEEK_SET) < 0)
        return err_set(err, "cannot read '%s': %s", journal->path, strerror(errno));
    return 0;
}

void record_close(struct record *record)
{
    json_free(record->root);
    if (record->is_owned)
        close(record->reader.descriptor);
    line_reader_release(&record->reader);
    arena_release(&record->arena);
    *record = (struct record){0};
}

/* Parse what of the line is JSON: a list of files, or a piece. */
static int parse(struct record *record, const char *json, size_t size, bool of_item,
                 struct err *err)
{
    if (json_parse(&record->root, json, size, err))
        return err_prefix(err, "'%s'", record->path);
    const struct json *files = record->root;
    if (of_item)
        files = json_is_object(files) ? json_member(files, "files") : NULL;
    record->files = files && json_is_array(files) ? files : NULL;
    return 0;
}

/*  "files": [{"file": "results.jsonl", …}],          of a manifest
 *   {"id": "a", …, "files": [{…}, {…}]},          of an item in it
 * {"id": "a", …}                                  of a journal */
static int parse_any(struct record *record, struct err *err)
{
    struct err unread = {0};
    const char *line = record->line;
    size_t size = record->size;
    bool of_item = !begins(line, size, files_line);
    size_t skip = of_item ? 0 : sizeof files_line - 1;
    for (line += skip, size -= skip; size && *line == ' '; line++)
        size--;
    while (size && (line[size - 1] == ',' || (of_item && line[size - 1] == ']')))
        size--;
    record->of_item = of_item && size > 1 && *line == '{' && record->line[record->size - 1] == '}';
    if (size > 1 && *line == (of_item ? '{' : '['))
        parse(record, line, size, of_item, &unread);
    return unread.out_of_memory ? err_adopt(err, &unread) : 0; /* else it is no JSON */
}

static int refuse_form(const struct record *record, const char *found, struct err *err)
{
    return err_set(err, "'%s': expected a manifest as batch writes it, found %s", record->path,
                   found);
}

static int read_line(struct record *record, struct err *err)
{
    bool more = true;
    if (line_reader_next(&record->reader, &more, err))
        return -1;
    record->line = record->reader.line;
    record->size = record->reader.size;
    return more && record->reader.whole ? 0 : refuse_form(record, "its end too early", err);
}

static int read_item(struct record *record, struct err *err)
{
    const char *line = record->line;
    size_t size = record->size;
    if (size < 4 || memcmp(line, "  {", 3) != 0 || line[size - 1] != ',')
        return refuse_form(record, "no item where one should be", err);
    bool is_last = line[size - 2] == ']';
    record->state = is_last ? RECORD_AT_FILES : RECORD_IN_ITEMS;
    record->of_item = true;
    record->line = line + 2;
    record->size = size - 2 - (is_last ? 2 : 1);
    if (parse(record, record->line, record->size, true, err))
        return -1;
    return json_is_object(record->root) ? 1 : refuse_form(record, "an item that is no object", err);
}

/* The line ` "files": [...],` after them, and nothing of interest after that. */
static int read_files(struct record *record, struct err *err)
{
    const char *line = record->line;
    size_t name = sizeof files_line - 1;
    record->state = RECORD_AT_END;
    record->of_item = false;
    if (!begins(line, record->size, files_line) || line[record->size - 1] != ',')
        return refuse_form(record, "no list of files", err);
    if (parse(record, line + name, record->size - 1 - name, false, err))
        return -1;
    return record->files ? 1 : refuse_form(record, "no list of files", err);
}

int record_next(struct record *record, struct err *err)
{
    bool more = true;
    json_free(record->root);
    record->root = NULL;
    record->files = NULL;
    if (record->state == RECORD_AT_END)
        return 0;
    if (record->state != RECORD_ANY && read_line(record, err))
        return -1;
    if (record->state != RECORD_ANY)
        return record->state == RECORD_IN_ITEMS ? read_item(record, err) : read_files(record, err);
    if (line_reader_next(&record->reader, &more, err))
        return -1;
    record->line = record->reader.line;
    record->size = record->reader.size;
    if (more && parse_any(record, err))
        return -1;
    return more;
}

/* --- the head --------------------------------------------------------------------------------- */

int record_check_head(struct record *record, const struct journal_head *head, struct err *err)
{
    struct line_reader *reader = &record->reader;
    bool more = true;
    for (size_t i = 0; i < head->count; i++) {
        size_t size = strlen(head->lines[i]);
        if (line_reader_next(reader, &more, err))
            return -1;
        bool opens = more && i == 0 && reader->size == 1 && *reader->line == '{'; /* a manifest */
        if (opens && line_reader_next(reader, &more, err))
            return -1;
        bool is_whole = more && reader->size + 1 == size && reader->whole;
        if (is_whole && memcmp(reader->line, head->lines[i], reader->size) == 0)
            continue;
        return err_usage(err,
                         "'%s': expected the same %s as when it was begun, found another: "
                         "--force begins anew",
                         record->path, head->names[i]);
    }
    return 0;
}

/* Keep the lines up to that of the items. */
static int read_head(struct record *record, struct err *err)
{
    if (read_line(record, err))
        return -1;
    if (record->size != 1 || *record->line != '{')
        return refuse_form(record, "something else", err);
    while (!read_line(record, err)) {
        if (begins(record->line, record->size, items_line)) {
            bool has_items = record->size == sizeof items_line - 1;
            record->state = has_items ? RECORD_IN_ITEMS : RECORD_AT_FILES;
            return 0;
        }
        if (record->line_count == HEAD_LINES_MAX)
            return refuse_form(record, "more lines", err);
        const char *copy =
            arena_format(&record->arena, err, "%.*s\n", (int)record->size, record->line);
        record->lines[record->line_count++] = copy;
        if (!copy)
            return -1;
    }
    return -1;
}

static int open_shard(struct record *record, struct err *err)
{
    record->path = arena_format(&record->arena, err, "%s/manifest.json", record->folder);
    if (!record->path)
        return -1;
    if (!file_exists(record->path))
        return err_set(err,
                       "'%s': expected a shard that is finished, found no manifest.json: run "
                       "it again with --resume",
                       record->folder);
    int descriptor = open(record->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", record->path, strerror(errno));
    record->reader = (struct line_reader){.descriptor = descriptor, .name = record->path};
    record->is_owned = true;
    return read_head(record, err);
}

int record_open_shard(struct record *record, const char *folder, struct err *err)
{
    *record = (struct record){.folder = folder};
    if (!open_shard(record, err))
        return 0;
    record_close(record);
    return -1;
}

/* --- what a line says ------------------------------------------------------------------------- */

void record_count(size_t *count, const struct record *record, const char *name)
{
    size_t at = strlen(name);
    if (!begins(record->line, record->size, name))
        return;
    for (*count = 0; at < record->size && record->line[at] >= '0' && record->line[at] <= '9'; at++)
        *count = *count * 10 + (size_t)(record->line[at] - '0');
}

bool record_is_to_retry(const struct record *record)
{
    bool retry = false;
    const struct json *error =
        record->of_item && record->root ? json_member(record->root, "error") : NULL;
    const struct json *member = error && json_is_object(error) ? json_member(error, "retry") : NULL;
    return member && json_get_bool(member, &retry) && retry;
}

struct listed_file record_file(const struct json *entry)
{
    long long bytes = 0;
    struct listed_file file = {.sha256 = ""};
    if (!json_is_object(entry))
        return file;
    const struct json *name = json_member(entry, "file");
    const struct json *size = json_member(entry, "bytes");
    const struct json *hash = json_member(entry, "sha256");
    if (!name || !json_get_text(name, &file.name) || !result_names_list(file.name))
        file.name = NULL;
    if (size && json_get_integer(size, 0, (long long)1 << 60, &bytes))
        file.bytes = (size_t)bytes;
    if (hash)
        json_get_text(hash, &file.sha256);
    return file;
}
