#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/stream.h"
#include "base/transfer.h"

enum { PART_BYTES = 8 * 1024 }; /* of a stack, which may be small */

static int fail(const struct journal *journal, struct err *err)
{
    return err_output(err, "cannot write '%s': %s", journal->path, strerror(errno));
}

static int open_at(struct journal *journal, const char *name, const char *path, int flags,
                   struct err *err)
{
    *journal = (struct journal){.path = path};
    journal->descriptor =
        open(name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666);
    return journal->descriptor < 0 ? fail(journal, err) : 0;
}

void journal_close(struct journal *journal)
{
    if (journal->path && journal->descriptor >= 0)
        close(journal->descriptor);
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
    struct record record = {0};
    int failed = open_at(journal, path, path, 0, err) ||
                 record_open_pieces(&record, journal, err) || record_check_head(&record, head, err);
    for (size_t i = 0; i < head->count && !failed; i++)
        journal->head_size += strlen(head->lines[i]);
    failed = failed || count_pieces(journal, &record.reader, err);
    record_close(&record);
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

int journal_keep(struct journal *journal, size_t count, size_t size, struct err *err)
{
    journal->count = count;
    return cut_at(journal, journal->head_size + size, err);
}

/* --- the manifest ----------------------------------------------------------------------------- */

static int copy_head(struct stream *out, const struct journal *journal, struct err *err)
{
    char part[PART_BYTES];
    for (size_t at = 0; at < journal->head_size;) {
        size_t rest = journal->head_size - at;
        ssize_t got =
            pread(journal->descriptor, part, rest < PART_BYTES ? rest : PART_BYTES, (off_t)at);
        if (got <= 0)
            return err_set(err, "cannot read '%s': %s", journal->path, strerror(errno));
        stream_bytes(out, part, (size_t)got);
        at += (size_t)got;
    }
    return 0;
}

static int write_items(struct stream *out, const struct journal *journal, struct err *err)
{
    struct record record;
    struct line_reader *reader = &record.reader;
    bool more = true;
    const char *gap = "\n  ";
    int failed = record_open_pieces(&record, journal, err) || line_reader_next(reader, &more, err);
    stream_text(out, " \"items\": [");
    for (; more && !failed; failed = line_reader_next(reader, &more, err)) {
        stream_text(out, gap);
        stream_bytes(out, reader->line, reader->size);
        gap = ",\n  ";
    }
    stream_text(out, "],\n");
    record_close(&record);
    return failed ? -1 : 0;
}

int journal_finish(const struct journal *journal, const char *manifest,
                   const struct journal_end *end, struct err *err)
{
    struct stream out = {0};
    if (stream_open(&out, manifest, err))
        return -1;
    stream_text(&out, "{\n");
    int failed =
        copy_head(&out, journal, err) || (end->with_items && write_items(&out, journal, err));
    stream_text(&out, " \"files\": [");
    stream_text(&out, end->files); /* of any length */
    stream_format(&out, "],\n \"count\": %zu,\n", journal->count);
    if (!end->with_items && end->to_retry)
        stream_format(&out, " \"retry\": %zu,\n", end->to_retry);
    stream_format(&out, " \"failed\": %zu}\n", end->failed);
    return stream_end(&out, failed, err);
}
