/* store_resume.c: what a process finds that goes on where another one ended. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/sha256.h"
#include "store.h"

struct findings {
    size_t count;  /* of those that do: from the first that does not on all is done again */
    size_t failed; /* of them … */
    size_t place;  /* … and their bytes in the journal */
    size_t bytes;  /* of results.jsonl that are theirs … */
    size_t listed; /* … and all pieces' … */
    size_t size;   /* … and that are there */
    int lines;     /* a descriptor to read them by; -1: there are none */
    uint64_t last; /* the hash of the last one, of that line of the input */
    long long last_line;
    bool retries; /* one that failed because of the machine does not count */
    bool ended;   /* one did not count */
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
static int take_piece(struct store *store, struct findings *found, const struct record *piece,
                      struct err *err)
{
    struct work_folder *folder = &store->folder;
    bool missing = !piece->of_item || !piece->root;
    const struct listed_file lines = missing ? (struct listed_file){0} : record_file(piece->root);
    if (!missing &&
        (check_order(store, found, piece->root, hash_bytes(piece->line, piece->size), err) ||
         check_lines(store, found, lines.bytes, lines.sha256, err) ||
         work_owned_check(&missing, folder, folder->journal, piece->files, err)))
        return -1;
    found->listed += lines.bytes;
    found->ended = found->ended || missing ||
                   (store->plan->kind == STORE_LINES && found->listed > found->size) ||
                   (found->retries && record_is_to_retry(piece));
    if (found->ended) /* its files are to go */
        return work_owned_may_go(folder, piece->files, err);
    found->count++;
    found->place += piece->size + 1;
    found->bytes = found->listed;
    found->failed += json_member(piece->root, "error") != NULL;
    return 0;
}

/* Look at all pieces, before anything goes. */
static int look(struct store *store, struct findings *found, struct err *err)
{
    struct record piece = {0};
    int more = 1;
    int failed =
        open_results(store, found, err) || record_open_pieces(&piece, &store->journal, err);
    while (!failed && (more = record_next(&piece, err)) > 0)
        failed = take_piece(store, found, &piece, err);
    record_close(&piece);
    if (found->lines >= 0)
        close(found->lines);
    if (failed || more < 0)
        return -1;
    if (found->size <= found->listed)
        return 0;
    return err_usage(err,
                     "'%s': expected the %zu bytes that '%s' lists, found %zu: cut it off there, "
                     "or move it, and --resume makes it again",
                     store->folder.lines, found->listed, store->folder.journal, found->size);
}

/* The files of pieces that do not count go. */
static int clear_rest(struct store *store, size_t count, struct err *err)
{
    struct record piece;
    int more = 1;
    int failed = record_open_pieces(&piece, &store->journal, err);
    for (size_t i = 0; !failed && (more = record_next(&piece, err)) > 0; i++)
        failed = i >= count && work_owned_remove(&store->folder, piece.files, err);
    record_close(&piece);
    return failed || more < 0 ? -1 : 0;
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

static int look_for_retries(struct store *store, struct err *err)
{
    struct record piece;
    int more = 1;
    int failed = record_open_pieces(&piece, &store->journal, err);
    while (!failed && !store->retries && (more = record_next(&piece, err)) > 0)
        store->retries = record_is_to_retry(&piece);
    record_close(&piece);
    return failed || more < 0 ? -1 : 0;
}

static int make_journal(struct store *store, struct journal *journal,
                        const struct journal_head *head, struct err *err)
{
    const char *draft = work_folder_draft(&store->folder, "journal", err);
    return draft ? journal_begin(journal, store->folder.journal, draft, head, err) : -1;
}

int store_begin(struct store *store, const struct journal_head *head, struct err *err)
{
    stream_sync_later(true);
    return make_journal(store, &store->journal, head, err);
}

int store_resume(struct store *store, const struct journal_head *head, struct err *err)
{
    struct findings found = {0};
    stream_sync_later(true);
    if (journal_resume(&store->journal, store->folder.journal, head, err) ||
        look_for_retries(store, err))
        return -1;
    found.retries = store->retries;
    if (look(store, &found, err))
        return -1;
    if (found.count < store->journal.count &&
        (clear_rest(store, found.count, err) ||
         journal_keep(&store->journal, found.count, found.place, err)))
        return -1;
    store->done = found.count;
    store->failed = found.failed;
    return store->plan->kind == STORE_LINES ? truncate_lines(store, found.bytes, err) : 0;
}

int store_lines_check(struct store *store, struct err *err)
{
    struct findings found = {0};
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
static int check_single(const struct store *store, const char *expected, const char *record,
                        struct err *err)
{
    const struct work_folder *folder = &store->folder;
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    bool moved = folder->state == WORK_NONE || !file_exists(folder->lines);
    const char *result = moved ? folder->target : folder->lines;
    int failed = sha256_file(result, &size, digits, err);
    if (!failed && strcmp(digits, expected) != 0)
        failed = err_usage(err,
                           "'%s': expected the file that '%s' has the hash of, found another: "
                           "--force replaces it",
                           result, record);
    return failed ? -1 : 0;
}

/* A line after the head; `single` becomes the hash of the one file that it lists. */
static int check_line(struct store *store, char single[SHA256_DIGITS + 1],
                      const struct record *record, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    size_t to_retry = 0;
    record_count(&store->failed, record, " \"failed\": ");
    record_count(&to_retry, record, " \"retry\": ");
    store->retries = store->retries || to_retry;
    if (!folder->target)
        return work_owned_check(&store->retries, folder, folder->manifest, record->files, err);
    const struct json *file =
        record->files && json_count(record->files) == 1 ? json_first(record->files) : NULL;
    const char *digits = file ? record_file(file).sha256 : "";
    if (strlen(digits) == SHA256_DIGITS)
        strcpy(single, digits);
    return 0;
}

int store_check_complete(struct store *store, const struct journal_head *head, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    struct record record;
    char single[SHA256_DIGITS + 1] = "";
    bool moved = folder->state == WORK_NONE; /* out of its folder, which is gone */
    const char *path = moved ? folder->record : folder->manifest;
    int more = 1;
    if (moved && !folder->has_record)
        return err_usage(err,
                         "'%s': expected '%s' beside it, which says what it is, found none: "
                         "--force replaces it",
                         folder->target, folder->record);
    int failed = record_open(&record, path, err) || record_check_head(&record, head, err);
    while (!failed && (more = record_next(&record, err)) > 0)
        failed = check_line(store, single, &record, err);
    record_close(&record);
    if (failed || more < 0)
        return -1;
    return folder->target ? check_single(store, single, path, err) : 0;
}

/* --- items that failed because of the machine ------------------------------------------------- */

/* Keep the manifest's items in a journal, if given, and see whether one is to be done again. */
static int visit_items(struct store *store, struct journal *journal, struct err *err)
{
    struct record record;
    struct buf line = {0};
    int more = 1;
    int failed = record_open_shard(&record, store->folder.path, err);
    while (!failed && (more = record_next(&record, err)) > 0) {
        store->retries = store->retries || record_is_to_retry(&record);
        if (!journal || !record.of_item)
            continue;
        buf_clear(&line);
        buf_format(&line, "%.*s\n", (int)record.size, record.line);
        failed = buf_check(&line, err) || journal_add(journal, line.bytes, line.size, 1, err);
    }
    buf_release(&line);
    record_close(&record);
    return failed || more < 0 ? -1 : 0;
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
    if (visit_items(store, NULL, err))
        return -1;
    if (!store->retries)
        return 0;
    int failed = make_journal(store, &journal, head, err) || visit_items(store, &journal, err);
    journal_close(&journal);
    failed = failed || file_remove(store->folder.manifest, err);
    store->complete = false;
    store->failed = 0;
    store->folder.state = WORK_BEGUN;
    return failed ? -1 : 0;
}
