#include "store_resume.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "format/json.h"
#include "result_files.h"
#include "shard_manifest.h"
#include "tallies_file.h"
#include "work_claims.h"
#include "work_clear.h"
#include "work_listed.h"
#include "work_record.h"

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
    size_t most;   /* pieces that may count */
    size_t count;  /* of those that do: from the first that does not on all is done again */
    size_t failed; /* of them */
    size_t bytes;  /* of results.jsonl that are theirs … */
    size_t listed; /* … and all pieces' … */
    size_t size;   /* … and that are there */
    int lines;     /* a descriptor to read them by; -1: there are none */
    uint64_t last; /* the hash of the last one, of that line of the input */
    long long last_line;
    bool retries;  /* one that failed because of the machine does not count */
    bool ended;    /* one did not count */
};

static int open_results(const struct store *store, struct findings *found, struct err *err)
{
    struct stat status;
    mode_t kind = 0;
    const char *path = store->folder.lines;
    found->lines = -1;
    if (store->plan->kind == STORE_LINES && file_kind(&kind, path, err))
        return -1;
    if (!kind)
        return 0;
    if (!S_ISREG(kind))
        return err_usage(err,
                         "'%s': expected a file, found something else: move it, and --resume makes "
                         "it again",
                         path);
    found->lines = file_open_regular(path, err);
    if (found->lines < 0)
        return -1;
    if (fstat(found->lines, &status))
        return err_set(err, "cannot look at '%s': %s", path, strerror(errno));
    found->size = (size_t)status.st_size;
    return 0;
}

/* Lines that are there have the hash that the journal has; a journal of old has none. */
static int check_lines(const struct store *store, const struct findings *found, size_t size,
                       const char *expected, struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    if (found->lines < 0 || found->listed + size > found->size || !*expected)
        return 0;
    if (sha256_range(found->lines, found->listed, size, digits))
        return err_set(err, "cannot read '%s': %s", store->folder.lines, strerror(errno));
    if (strcmp(digits, expected) == 0)
        return 0;
    return err_usage(err,
                     "'%s': expected at byte %zu what '%s' has the hash of, found something else: "
                     "restore it, or move it, and --resume makes it again",
                     store->folder.lines, found->listed, store->folder.journal);
}

/* Pieces stand in the order of their items, each once: they are counted. */
static int check_order(const struct store *store, struct findings *found, const struct json *root,
                       uint64_t hash, struct err *err)
{
    long long line = 0;
    const struct json *member = json_member(root, "line");
    if (!member || !json_get_integer(member, 0, LLONG_MAX, &line))
        return 0;
    if (line < found->last_line || (line == found->last_line && hash == found->last))
        return err_usage(err,
                         "'%s': expected every item once, in the order of the input, found one of "
                         "line %lld again: restore it, or --force begins anew",
                         store->folder.journal, line);
    found->last_line = line;
    found->last = hash;
    return 0;
}

/* Take a piece into account: whether its results are there, as they were. */
static int take_piece(const struct store *store, struct findings *found, const char *line,
                      size_t size, struct err *err)
{
    struct json *root = NULL;
    struct err reason = {0};
    bool missing = json_parse(&root, line, size, &reason) || !json_is_object(root);
    if (reason.out_of_memory)
        return err_adopt(err, &reason);
    size_t bytes = missing ? 0 : work_listed_bytes(root);
    int failed = !missing && (check_order(store, found, root, hash_bytes(line, size), err) ||
                              check_lines(store, found, bytes, work_listed_hash(root), err) ||
                              work_listed_check(&missing, &store->folder, store->folder.journal,
                                                json_member(root, "files"), err));
    found->listed += bytes;
    found->ended = found->ended || missing || found->count == found->most ||
                   (store->plan->kind == STORE_LINES && found->listed > found->size) ||
                   (found->retries && is_to_retry(root));
    if (!found->ended) {
        found->count++;
        found->bytes = found->listed;
        found->failed += json_member(root, "error") != NULL;
    }
    json_free(root);
    if (!failed && found->ended) /* its files are to go */
        failed = work_claims_check_line(&store->folder, line, size, err);
    return failed ? -1 : 0;
}

static int check_size(const struct store *store, const struct findings *found, struct err *err)
{
    if (found->size <= found->listed)
        return 0;
    return err_usage(err,
                     "'%s': expected the %zu bytes that '%s' lists, found %zu: cut it off there, "
                     "or move it, and --resume makes it again",
                     store->folder.lines, found->listed, store->folder.journal, found->size);
}

/* Look at all pieces, before anything goes. */
static int look(const struct store *store, struct findings *found, struct err *err)
{
    struct line_reader reader = {0};
    bool more = true;
    int failed = open_results(store, found, err) || journal_read(&store->journal, &reader, err);
    while (!failed && more) {
        failed = line_reader_next(&reader, &more, err);
        if (more && !failed)
            failed = take_piece(store, found, reader.line, reader.size, err);
    }
    line_reader_release(&reader);
    if (found->lines >= 0)
        close(found->lines);
    return failed || check_size(store, found, err) ? -1 : 0;
}

/* The files of pieces that do not count go. */
static int clear_rest(const struct store *store, size_t count, struct err *err)
{
    struct line_reader reader;
    bool more = true;
    if (journal_read(&store->journal, &reader, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; !failed && more; i++) {
        failed = line_reader_next(&reader, &more, err);
        if (more && !failed && i >= count)
            failed = work_clear_line(&store->folder, reader.line, reader.size, err);
    }
    line_reader_release(&reader);
    return failed ? -1 : 0;
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

/* Whether a piece is of an item that is to be done again. */
static int look_for_retries(struct store *store, struct err *err)
{
    struct line_reader reader = {0};
    bool more = true;
    int failed = journal_read(&store->journal, &reader, err);
    while (!failed && more && !store->retries) {
        failed = line_reader_next(&reader, &more, err);
        struct json *root = NULL;
        if (more && !failed && !json_parse(&root, reader.line, reader.size, NULL))
            store->retries = json_is_object(root) && is_to_retry(root);
        json_free(root);
    }
    line_reader_release(&reader);
    return failed ? -1 : 0;
}

/* Sums hold all jobs that they say are done: what the journal has beyond them is done again. */
static int load_sums(struct store *store, size_t *done, struct err *err)
{
    *done = 0;
    if (store->retries) /* nothing says what the items before it gave */
        return file_remove(store->folder.sums, err);
    if (!file_exists(store->folder.sums))
        return 0;
    if (tallies_check_saved(store->folder.sums, err) ||
        tallies_load(store->tallies, store->folder.sums, done, err))
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
    struct findings found = {.most = SIZE_MAX};
    stream_sync_later(true);
    if (journal_resume(&store->journal, store->folder.journal, head, err) ||
        look_for_retries(store, err) ||
        (store->plan->kind == STORE_SUMS && load_sums(store, &found.most, err)))
        return -1;
    found.retries = store->retries;
    if (look(store, &found, err))
        return -1;
    if (found.count < store->journal.count &&
        (clear_rest(store, found.count, err) || journal_keep(&store->journal, found.count, err)))
        return -1;
    store->done = found.count;
    store->failed = found.failed;
    return store->plan->kind == STORE_LINES ? truncate_lines(store, found.bytes, err) : 0;
}

int store_check_lines(const struct store *store, struct err *err)
{
    struct findings found = {.most = SIZE_MAX};
    if (look(store, &found, err))
        return -1;
    if (found.count == store->journal.count)
        return 0;
    return err_output(err,
                      "'%s': expected the %zu bytes that '%s' lists, found %zu: --resume makes "
                      "again what is missing",
                      store->folder.lines, found.listed, store->folder.journal, found.size);
}

/* --- a batch that is done --------------------------------------------------------------------- */

/* The one result, which may have its name already. */
static int check_single(const struct store *store, const struct record_ending *ending,
                        const char *record, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    char digits[SHA256_DIGITS + 1];
    struct result_file file;
    struct buf path = {0};
    size_t size = 0;
    size_t at = 0;
    result_files_next(&file, store->plan, store->tallies->measures, &at);
    buf_format(&path, "%s/%s", folder->path, file.name);
    if (buf_check(&path, err)) {
        buf_release(&path);
        return -1;
    }
    bool moved = folder->state == WORK_NONE || !file_exists(path.bytes);
    const char *result = moved ? folder->target : path.bytes;
    int failed = sha256_file(result, &size, digits, err);
    if (!failed && strcmp(digits, ending->sha256) != 0)
        failed = err_usage(err,
                           "'%s': expected the file that '%s' has the hash of, found another: "
                           "--force replaces it",
                           result, record);
    buf_release(&path);
    return failed ? -1 : 0;
}

/* A walk over the lines of a manifest. */
struct complete_walk {
    const struct work_folder *folder;
    bool missing;
};

static int check_line(void *context, char *line, size_t size, struct err *err)
{
    struct complete_walk *walk = context;
    struct json *root = NULL;
    const struct json *files = work_record_files(&root, line, size);
    int failed =
        work_listed_check(&walk->missing, walk->folder, walk->folder->manifest, files, err);
    json_free(root);
    return failed;
}

int store_check_complete(struct store *store, const struct journal_head *head, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    struct record_ending ending;
    struct complete_walk walk = {.folder = folder};
    bool moved = folder->state == WORK_NONE; /* out of its folder, which is gone */
    const char *record = moved ? folder->record : folder->manifest;
    if (moved && !folder->has_record)
        return err_usage(err,
                         "'%s': expected '%s' beside it, which says what it is, found none: "
                         "--force replaces it",
                         folder->target, folder->record);
    if (work_record_check(record, head, &ending, err) ||
        (folder->target ? check_single(store, &ending, record, err)
                        : work_record_walk(record, check_line, &walk, err)))
        return -1;
    store->failed = ending.failed;
    store->retries = walk.missing || ending.to_retry;
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

int store_reopen(struct store *store, const struct journal_head *head, struct err *err)
{
    struct journal journal = {0};
    if (store->folder.target) { /* what made the one result is gone: it is made anew */
        store->complete = !store->retries;
        store->failed = store->complete ? store->failed : 0;
        return 0;
    }
    if (!store->failed && !store->retries)
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
        failed || file_remove(store->folder.sums, err) || file_remove(store->folder.manifest, err);
    store->complete = false;
    store->failed = 0;
    store->folder.state = WORK_BEGUN;
    return failed ? -1 : 0;
}
