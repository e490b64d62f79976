#include "base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/transfer.h"

static int fail(const struct journal *journal, struct err *err)
{
    return err_output(err, "cannot write '%s': %s", journal->path, strerror(errno));
}

static int open_at(struct journal *journal, const char *name, const char *path, int flags,
                   struct err *err)
{
    *journal = (struct journal){.descriptor = -1};
    size_t size = strlen(path) + 1;
    journal->path = heap_alloc(size, 1, err);
    if (!journal->path)
        return -1;
    memcpy(journal->path, path, size);
    journal->descriptor =
        open(name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666);
    return journal->descriptor < 0 ? fail(journal, err) : 0;
}

void journal_close(struct journal *journal)
{
    if (journal->path && journal->descriptor >= 0)
        close(journal->descriptor);
    heap_free(journal->path);
    *journal = (struct journal){.descriptor = -1};
}

static int cut_at(struct journal *journal, size_t size, struct err *err)
{
    if (ftruncate(journal->descriptor, (off_t)size))
        return fail(journal, err);
    journal->size = size;
    return 0;
}

static int write_all(struct journal *journal, const char *bytes, size_t size, struct err *err)
{
    journal->size += size;
    return transfer_write(journal->descriptor, bytes, size) ? fail(journal, err) : 0;
}

static int write_head(struct journal *journal, const struct journal_head *head, struct err *err)
{
    for (size_t i = 0; i < head->count; i++)
        if (write_all(journal, head->lines[i], strlen(head->lines[i]), err))
            return -1;
    journal->head_size = journal->size;
    return fsync(journal->descriptor) ? fail(journal, err) : 0;
}

int journal_begin(struct journal *journal, const char *path, const char *draft,
                  const struct journal_head *head, struct err *err)
{
    int failed =
        open_at(journal, draft, path, O_CREAT | O_EXCL, err) || write_head(journal, head, err);
    if (!failed && rename(draft, path))
        failed = fail(journal, err);
    if (failed)
        journal_close(journal);
    return failed ? -1 : 0;
}

static int seek(const struct journal *journal, size_t place, struct line_reader *reader,
                struct err *err)
{
    *reader = (struct line_reader){.descriptor = journal->descriptor, .name = journal->path};
    if (lseek(journal->descriptor, (off_t)place, SEEK_SET) < 0)
        return err_set(err, "cannot read '%s': %s", journal->path, strerror(errno));
    return 0;
}

int journal_read(const struct journal *journal, struct line_reader *reader, struct err *err)
{
    return seek(journal, journal->head_size, reader, err);
}

int journal_read_head(const struct journal *journal, struct line_reader *reader, struct err *err)
{
    return seek(journal, 0, reader, err);
}

static int check_head(struct journal *journal, struct line_reader *reader,
                      const struct journal_head *head, struct err *err)
{
    bool more = true;
    for (size_t i = 0; i < head->count; i++) {
        size_t size = strlen(head->lines[i]);
        if (line_reader_next(reader, &more, err))
            return -1;
        if (!more || reader->size + 1 != size || !reader->whole ||
            memcmp(reader->line, head->lines[i], reader->size) != 0)
            return err_usage(err,
                             "'%s': expected the same %s as when it was begun, found another: "
                             "--force begins anew",
                             journal->path, head->names[i]);
        journal->head_size += size;
    }
    return 0;
}

/* Count the pieces up to one that is not whole. */
static int count_pieces(struct journal *journal, struct line_reader *reader, struct err *err)
{
    bool more = true;
    journal->size = journal->head_size;
    for (;;) {
        if (line_reader_next(reader, &more, err))
            return -1;
        if (!more || !reader->whole)
            return cut_at(journal, journal->size, err);
        journal->size += reader->size + 1;
        journal->count++;
    }
}

int journal_resume(struct journal *journal, const char *path, const struct journal_head *head,
                   struct err *err)
{
    struct line_reader reader = {0};
    int failed = open_at(journal, path, path, 0, err) || journal_read_head(journal, &reader, err) ||
                 check_head(journal, &reader, head, err) || count_pieces(journal, &reader, err);
    line_reader_release(&reader);
    if (failed)
        journal_close(journal);
    return failed ? -1 : 0;
}

int journal_add(struct journal *journal, const char *lines, size_t size, size_t count,
                struct err *err)
{
    journal->count += count;
    return write_all(journal, lines, size, err);
}

int journal_keep(struct journal *journal, size_t count, struct err *err)
{
    struct line_reader reader;
    size_t size = journal->head_size;
    bool more = true;
    if (journal_read(journal, &reader, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < count && more && !failed; i++) {
        failed = line_reader_next(&reader, &more, err);
        size += more && !failed ? reader.size + 1 : 0;
    }
    line_reader_release(&reader);
    journal->count = count;
    return failed ? -1 : cut_at(journal, size, err);
}
