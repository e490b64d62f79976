#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/transfer.h"
#include "../output.h"
#include "store.h"

enum { PART_BYTES = 8 * 1024 }; /* of a stack, which may be small */

static int fail(const struct store *store, int failure, struct err *err)
{
    const struct work_folder *folder = &store->folder;
    return err_output(err, "cannot write '%s': %s", folder->target ? folder->target : folder->lines,
                      strerror(failure));
}

static int open_draft(struct store *store, struct err *err)
{
    const char *path = work_folder_draft(&store->folder, "results.jsonl", err);
    if (!path)
        return -1;
    store->draft = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (store->draft < 0 || unlink(path)) /* it needs no name */
        return fail(store, errno, err);
    return stream_to(&store->lines, store->draft, err);
}

int store_lines_open(struct store *store, struct err *err)
{
    const char *path = store->folder.lines;
    if (store->plan->to_stdout)
        return output_to(&store->lines, store->plan->options->output.path, err);
    store->descriptor =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (store->descriptor < 0)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (store->plan->begins_anew) /* what is interrupted is not gone on with */
        return stream_to(&store->lines, store->descriptor, err);
    return open_draft(store, err);
}

void store_lines_close(struct store *store)
{
    stream_discard(&store->lines);
    if (store->descriptor >= 0)
        close(store->descriptor);
    if (store->draft >= 0)
        close(store->draft);
    store->descriptor = store->draft = -1;
}

/* --- what is drafted -------------------------------------------------------------------------- */

int store_lines_flush(struct store *store, struct err *err)
{
    stream_flush(&store->lines);
    if (!store->lines.failure)
        return 0;
    return store->plan->to_stdout ? stream_commit(&store->lines, err)
                                  : fail(store, store->lines.failure, err);
}

int store_lines_note(struct store *store, size_t before, struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    size_t size = store->lines.written_bytes - before;
    if (store->plan->to_stdout)
        return 0;
    if (store_lines_flush(store, err))
        return -1;
    if (sha256_range(store->draft, before - store->appended, size, digits))
        return fail(store, errno, err);
    buf_format(&store->pieces, ", \"bytes\": %zu, \"sha256\": \"%s\"", size, digits);
    return 0;
}

int store_lines_append(struct store *store, struct err *err)
{
    char part[PART_BYTES];
    ssize_t got = 0;
    if (store->draft < 0)
        return 0;
    int failed = lseek(store->draft, 0, SEEK_SET) < 0;
    while (!failed && (got = transfer_read(store->draft, part, sizeof part)) > 0)
        failed = transfer_write(store->descriptor, part, (size_t)got);
    if (failed || got < 0 || ftruncate(store->draft, 0))
        return fail(store, errno, err);
    store->appended = store->lines.written_bytes;
    return 0;
}
