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
#include "work_clear.h"
#include "work_record.h"

/* The size of a file; 0 where there is none. */
static size_t size_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) || !S_ISREG(status.st_mode) ? 0 : (size_t)status.st_size;
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

/* Whether an item failed because of the machine. */
static bool is_to_retry(const struct json *piece)
{
    bool retry = false;
    const struct json *error = json_member(piece, "error");
    const struct json *member = error && json_is_object(error) ? json_member(error, "retry") : NULL;
    return member && json_get_bool(member, &retry) && retry;
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
                 !(store->retries && is_to_retry(root)) &&
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

/* Look at the pieces up to the first, or the `most`-th, that does not count; the files of all from
 * there on go. */
static int look(const struct store *store, struct findings *found, size_t most, struct err *err)
{
    struct line_reader reader;
    bool more = true;
    bool counts = true;
    bool lines = store->plan->kind == STORE_LINES;
    size_t available = lines ? size_of(store->folder.lines) : 0;
    if (journal_read(&store->journal, &reader, err))
        return -1;
    int failed = 0;
    for (;;) {
        failed = line_reader_next(&reader, &more, err);
        if (failed || !more)
            break;
        counts = counts && found->count < most &&
                 take_piece(store, found, reader.line, reader.size, available);
        if (!counts && work_clear_line(&store->folder, reader.line, reader.size, err))
            break;
    }
    line_reader_release(&reader);
    return failed || more ? -1 : 0;
}

/* Cut results.jsonl off; nothing where there is none. */
static int truncate_lines(struct store *store, size_t size, struct err *err)
{
    const char *path = store->folder.lines;
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT)
        return 0;
    int failed = descriptor < 0 || ftruncate(descriptor, (off_t)size);
    if (failed)
        err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return failed ? -1 : 0;
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

static int make_journal(const struct store *store, struct journal *journal,
                        const struct journal_head *head, struct err *err)
{
    struct buf draft = {0};
    work_folder_draft(&draft, &store->folder, "journal");
    int failed = buf_check(&draft, err) ||
                 journal_begin(journal, store->folder.journal, draft.bytes, head, err);
    buf_release(&draft);
    return failed ? -1 : 0;
}

int store_begin(struct store *store, const struct journal_head *head, struct err *err)
{
    stream_sync_later(true);
    return make_journal(store, &store->journal, head, err);
}

int store_resume(struct store *store, const struct journal_head *head, struct err *err)
{
    struct findings found = {0};
    size_t most = SIZE_MAX;
    stream_sync_later(true);
    if (journal_resume(&store->journal, store->folder.journal, head, err) ||
        (store->plan->kind == STORE_SUMS && load_sums(store, &most, err)) ||
        look(store, &found, most, err))
        return -1;
    if (found.count < store->journal.count && journal_keep(&store->journal, found.count, err))
        return -1;
    store->done = found.count;
    store->failed = found.failed;
    return store->plan->kind == STORE_LINES ? truncate_lines(store, found.bytes, err) : 0;
}

/* --- a batch that is done --------------------------------------------------------------------- */

/* The one result has its name already. */
static int check_file(const struct work_folder *folder, const struct record_ending *ending,
                      struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    if (sha256_file(folder->target, &size, digits, err))
        return -1;
    if (strcmp(digits, ending->sha256) == 0)
        return 0;
    return err_usage(err,
                     "'%s': expected the file that '%s' has the hash of, found another: --force "
                     "replaces it",
                     folder->target, folder->record);
}

int store_check_complete(struct store *store, const struct journal_head *head, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    struct record_ending ending;
    bool moved = folder->state == WORK_NONE; /* out of its folder, which is gone */
    if (moved && !folder->has_record)
        return err_usage(err,
                         "'%s': expected '%s' beside it, which says what it is, found none: "
                         "--force replaces it",
                         folder->target, folder->record);
    if (work_record_check(moved ? folder->record : folder->manifest, head, &ending, err) ||
        (moved && check_file(folder, &ending, err)))
        return -1;
    store->failed = ending.failed;
    return 0;
}

/* --- items that failed because of the machine ------------------------------------------------- */

/* Keep the items of the manifest in a journal, if it is given, and see whether one is to be done
 * again. */
static int walk_items(const struct store *store, struct journal *journal, bool *found,
                      struct err *err)
{
    struct shard_manifest manifest;
    bool more = true;
    if (shard_manifest_open(&manifest, store->folder.path, err))
        return -1;
    int failed = shard_manifest_next(&manifest, &more, err);
    for (; more && !failed; failed = shard_manifest_next(&manifest, &more, err)) {
        struct buf line = {0};
        *found = *found || is_to_retry(manifest.root);
        if (!journal)
            continue;
        buf_format(&line, "%.*s\n", (int)manifest.item_size, manifest.item);
        failed = buf_check(&line, err) || journal_add(journal, line.bytes, line.size, 1, err);
        buf_release(&line);
        if (failed)
            break;
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
    if (!store->failed || store->folder.target)
        return 0;
    if (walk_items(store, NULL, &store->retries, err))
        return -1;
    if (!store->retries)
        return 0;
    int failed = make_journal(store, &journal, head, err) ||
                 walk_items(store, &journal, &store->retries, err);
    journal_close(&journal);
    /* of sums nothing says what the first items gave: without them all is done anew */
    failed =
        failed || remove_file(store->folder.sums, err) || remove_file(store->folder.manifest, err);
    store->complete = false;
    store->failed = 0;
    store->folder.state = WORK_BEGUN;
    return failed ? -1 : 0;
}
