#include "store_resume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "format/json.h"
#include "shard_manifest.h"
#include "tallies_file.h"

/* The size of a file; 0 where there is none. */
static size_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) ? 0 : (size_t)status.st_size;
}

static size_t bytes_of(const struct json *entry)
{
    long long bytes = 0;
    const struct json *member = json_is_object(entry) ? json_member(entry, "bytes") : NULL;
    return member && json_get_integer(member, 0, (long long)1 << 60, &bytes) ? (size_t)bytes : 0;
}

/* Every file that a piece lists is there, as long as it was. */
static bool has_files(const struct store *store, const struct json *files)
{
    bool whole = true;
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry && whole; entry = json_next(entry)) {
        const char *file = NULL;
        struct buf path = {0};
        const struct json *name = json_member(entry, "file");
        if (name && json_get_text(name, &file))
            buf_format(&path, "%s/%s", store->folder.path, file);
        whole = path.bytes && file_exists(path.bytes) && size_of(path.bytes) == bytes_of(entry);
        buf_release(&path);
    }
    return whole;
}

/* What the pieces that were looked at so far say. */
struct findings {
    size_t count;
    size_t failed;
    size_t bytes; /* of results.jsonl */
};

/* Take a piece into account; false when its results are not there. */
static bool take_piece(const struct store *store, struct findings *found, const char *line,
                       size_t size, size_t available)
{
    struct json *root = NULL;
    bool whole = !json_parse(&root, line, size, NULL) && json_is_object(root) &&
                 found->bytes + bytes_of(root) <= available &&
                 has_files(store, json_member(root, "files"));
    if (whole) {
        found->count++;
        found->bytes += bytes_of(root);
        found->failed += json_member(root, "error") != NULL;
    }
    json_free(root);
    return whole;
}

/* Look at the pieces up to the first, or the `most`-th, that does not count. */
static int look(const struct store *store, struct findings *found, size_t most, struct err *err)
{
    struct line_reader reader;
    bool more = true;
    bool lines = store->plan->kind == STORE_LINES;
    size_t available = lines ? size_of(store->folder.lines) : 0;
    if (journal_read(&store->journal, &reader, err))
        return -1;
    int failed = 0;
    while (found->count < most && more && !failed) {
        failed = line_reader_next(&reader, &more, err);
        more = more && !failed && take_piece(store, found, reader.line, reader.size, available);
    }
    line_reader_release(&reader);
    return failed;
}

int store_truncate(struct store *store, size_t size, struct err *err)
{
    const char *path = store->folder.lines;
    if (truncate(path, (off_t)size) && errno != ENOENT)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    return 0;
}

/* Sums hold all jobs that they say are done: what the journal has beyond them is done again. */
static int load_sums(struct store *store, size_t *done, struct err *err)
{
    *done = 0;
    if (!file_exists(store->folder.sums))
        return 0;
    if (tallies_load(store->tallies, store->folder.sums, done, err))
        return -1;
    if (*done > store->journal.count)
        return err_set(err,
                       "'%s': expected sums of at most %zu items, found %zu: --force begins "
                       "anew",
                       store->folder.sums, store->journal.count, *done);
    return 0;
}

int store_resume(struct store *store, struct err *err)
{
    struct findings found = {0};
    size_t most = SIZE_MAX;
    if (work_folder_tidy(&store->folder, err) ||
        (store->plan->kind == STORE_SUMS && load_sums(store, &most, err)) ||
        look(store, &found, most, err))
        return -1;
    if (found.count < store->journal.count && journal_keep(&store->journal, found.count, err))
        return -1;
    store->done = found.count;
    store->failed = found.failed;
    return store_truncate(store, found.bytes, err);
}

/* "failed": 2} on the last line. */
static int read_failed(struct store *store, const char *line, size_t size)
{
    static const char name[] = " \"failed\": ";
    size_t length = sizeof name - 1;
    store->failed = 0;
    if (size <= length || memcmp(line, name, length) != 0)
        return -1;
    for (size_t i = length; i < size && line[i] >= '0' && line[i] <= '9'; i++)
        store->failed = store->failed * 10 + (size_t)(line[i] - '0');
    return 0;
}

int store_check_complete(struct store *store, const struct journal_head *head, struct err *err)
{
    const char *path = store->folder.manifest;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct line_reader reader = {.descriptor = descriptor, .name = path};
    bool more = true;
    int failed = 0;
    if (descriptor < 0) /* a single file: what it was made of, nobody knows */
        return 0;
    failed = line_reader_next(&reader, &more, err); /* { */
    for (size_t i = 0; i < head->count && !failed; i++) {
        size_t size = strlen(head->lines[i]);
        failed = line_reader_next(&reader, &more, err);
        if (!failed && (!more || reader.size + 1 != size ||
                        memcmp(reader.line, head->lines[i], reader.size) != 0))
            failed = err_usage(err,
                               "'%s': expected the same %s as when it was begun, found "
                               "another",
                               path, head->names[i]);
    }
    while (more && !failed) {
        failed = line_reader_next(&reader, &more, err);
        if (more && !failed)
            read_failed(store, reader.line, reader.size);
    }
    line_reader_release(&reader);
    close(descriptor);
    return failed ? -1 : 0;
}

/* --- items that failed because of the machine ------------------------------------------------- */

static bool is_to_retry(const struct json *piece)
{
    bool retry = false;
    const struct json *error = json_member(piece, "error");
    const struct json *member = error && json_is_object(error) ? json_member(error, "retry") : NULL;
    return member && json_get_bool(member, &retry) && retry;
}

/* Count the items before the first that is to be done again. */
static int find_retry(const struct store *store, size_t *count, bool *found, struct err *err)
{
    struct shard_manifest manifest;
    bool more = true;
    *count = 0;
    *found = false;
    if (shard_manifest_open(&manifest, store->folder.path, err))
        return -1;
    int failed = shard_manifest_next(&manifest, &more, err);
    for (; more && !failed; failed = shard_manifest_next(&manifest, &more, err)) {
        *found = is_to_retry(manifest.root);
        if (*found)
            break;
        ++*count;
    }
    shard_manifest_close(&manifest);
    return failed;
}

static int journal_items(const struct store *store, struct journal *journal, size_t count,
                         struct err *err)
{
    struct shard_manifest manifest;
    bool more = true;
    if (shard_manifest_open(&manifest, store->folder.path, err))
        return -1;
    int failed = 0;
    for (; count && !failed; count--) {
        struct buf line = {0};
        failed = shard_manifest_next(&manifest, &more, err);
        if (!failed)
            buf_format(&line, "%.*s\n", (int)manifest.item_size, manifest.item);
        failed =
            failed || buf_check(&line, err) || journal_add(journal, line.bytes, line.size, 1, err);
        buf_release(&line);
    }
    shard_manifest_close(&manifest);
    return failed;
}

static int remove_file(const char *path, struct err *err)
{
    if (unlink(path) && errno != ENOENT)
        return err_output(err, "cannot remove '%s': %s", path, strerror(errno));
    return 0;
}

int store_reopen(struct store *store, const struct journal_head *head, struct err *err)
{
    struct journal journal = {0};
    size_t count = 0;
    bool found = false;
    if (!store->failed)
        return 0;
    if (find_retry(store, &count, &found, err))
        return -1;
    if (!found)
        return 0;
    int failed = journal_open(&journal, store->folder.journal, err) ||
                 journal_begin(&journal, head, err) || journal_items(store, &journal, count, err);
    journal_close(&journal);
    /* of sums nobody knows what the first items gave: without them all is done anew */
    failed = failed || (store->plan->kind == STORE_SUMS && remove_file(store->folder.sums, err)) ||
             remove_file(store->folder.manifest, err);
    store->complete = false;
    store->failed = 0;
    return failed ? -1 : 0;
}
