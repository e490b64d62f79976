/* merge.c: `attn-cli merge`: the shards of a batch become what one process would have written.
 *
 * All of them must be there, finished, of the same batch, and as they were written: every file is
 * held against its hash while it is copied. Items come in the order of the input, sums are exact;
 * the result has the same bytes whatever the number of shards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/transfer.h"
#include "../command.h"
#include "../progress.h"
#include "recorded_command.h"
#include "shard_list.h"
#include "shard_manifest.h"
#include "store.h"
#include "tallies_file.h"

enum { COPY_BYTES = 8 * 1024 }; /* of a stack, which may be small */

struct merging {
    const struct options *options; /* of the command line */
    struct options batch;          /* those that the shards were made with */
    struct shard_list shards;
    struct store_plan plan;
    struct tallies tallies;
    struct store store;
    struct arena arena;
};

/* --- what they are -----------------------------------------------------------------------------
 */

static int check_head(const struct merging *merging, const struct shard_manifest *shard,
                      size_t index, struct err *err)
{
    char expected[64];
    struct shard_manifest first;
    if (shard_manifest_open(&first, merging->shards.folders[0], err))
        return -1;
    int failed = 0;
    for (size_t i = 0; i + 1 < MANIFEST_LINES && !failed; i++)
        if (shard->line_count != MANIFEST_LINES || strcmp(shard->lines[i], first.lines[i]) != 0)
            failed = err_set(err, "'%s': expected a shard of the same batch as '%s', found another",
                             shard->folder, first.folder);
    snprintf(expected, sizeof expected, " \"shard\": {\"index\": %zu, \"of\": %zu},\n", index + 1,
             merging->shards.count);
    if (!failed && strcmp(shard->lines[MANIFEST_LINES - 1], expected) != 0)
        failed = err_set(err, "'%s': expected shard %zu of %zu, found another", shard->folder,
                         index + 1, merging->shards.count);
    shard_manifest_close(&first);
    return failed;
}

static int refuse_changed(const char *path, struct err *err)
{
    return err_set(err, "'%s': expected the file that its manifest has the hash of, found another",
                   path);
}

/* With --force there is something to lose by what is seen only while it is copied. */
static int check_hashes(const struct shard_manifest *shard, const struct json *files,
                        struct err *err)
{
    const struct json *entry = files ? json_first(files) : NULL;
    int failed = 0;
    for (; entry && !failed; entry = json_next(entry)) {
        char digits[SHA256_DIGITS + 1];
        struct shard_file file;
        struct buf path = {0};
        size_t size = 0;
        if (shard_manifest_file(shard, entry, &file, err))
            return -1;
        buf_format(&path, "%s/%s", shard->folder, file.name);
        failed = buf_check(&path, err) || sha256_file(path.bytes, &size, digits, err);
        if (!failed && strcmp(digits, file.sha256) != 0)
            failed = refuse_changed(path.bytes, err);
        buf_release(&path);
    }
    return failed;
}

/* The files of one item are in one folder. */
static int check_files(const struct merging *merging, const struct shard_manifest *shard,
                       const struct json *files, bool of_item, struct err *err)
{
    struct shard_file first = {0};
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry; entry = json_next(entry)) {
        struct shard_file file;
        if (shard_manifest_file(shard, entry, &file, err))
            return -1;
        first = first.name ? first : file;
        size_t size = strcspn(first.name, "/") + 1;
        if (of_item && (!strchr(file.name, '/') || strncmp(first.name, file.name, size) != 0))
            return err_set(err, "'%s': expected the files of an item in one folder, found '%s'",
                           shard->path, file.name);
    }
    return merging->options->output.force ? check_hashes(shard, files, err) : 0;
}

static int check_shard(const struct merging *merging, size_t index, struct err *err)
{
    struct shard_manifest shard;
    bool more = true;
    if (shard_manifest_open(&shard, merging->shards.folders[index], err))
        return -1;
    int failed = check_head(merging, &shard, index, err);
    while (more && !failed) {
        failed = shard_manifest_next(&shard, &more, err);
        const struct json *files = more && !failed ? json_member(shard.root, "files") : shard.files;
        if (!failed)
            failed = check_files(merging, &shard, files, more, err);
    }
    shard_manifest_close(&shard);
    return failed;
}

/* All of them, before anything of an earlier result goes. */
static int check_shards(const struct merging *merging, struct err *err)
{
    for (size_t i = 0; i < merging->shards.count; i++)
        if (check_shard(merging, i, err))
            return -1;
    return 0;
}

/* Of ITEM/FILE, the folder. */
static int name_item(struct buf *name, const struct shard_file *file, struct err *err)
{
    buf_bytes(name, file->name, strcspn(file->name, "/"));
    return buf_check(name, err);
}

/* The folder of the shard's next item; nothing where it has none. */
static int see_item(const struct shard_manifest *shard,
                    int (*see)(void *seer, const char *name, struct err *err), void *seer,
                    struct err *err)
{
    struct buf name = {0};
    struct shard_file file;
    const struct json *files = json_member(shard->root, "files");
    const struct json *entry = files ? json_first(files) : NULL;
    int failed = entry && (shard_manifest_file(shard, entry, &file, err) ||
                           name_item(&name, &file, err) || see(seer, name.bytes, err));
    buf_release(&name);
    return failed;
}

static int each_name(void *context, int (*see)(void *seer, const char *name, struct err *err),
                     void *seer, struct err *err)
{
    const struct merging *merging = context;
    int failed = 0;
    for (size_t i = 0; i < merging->shards.count && !failed; i++) {
        struct shard_manifest shard;
        bool more = true;
        if (shard_manifest_open(&shard, merging->shards.folders[i], err))
            return -1;
        while (more && !failed) {
            failed = shard_manifest_next(&shard, &more, err);
            failed = failed || (more && see_item(&shard, see, seer, err));
        }
        shard_manifest_close(&shard);
    }
    return failed;
}

/* Options, places and the head of the manifest are those of the first shard, which is to be as its
 * folder's name says. A merge that did not come to its end is begun anew: it has taken nothing
 * away. */
static int open_target(struct merging *merging, struct err *err)
{
    static const char *const names[] = {"version", "command", "input", "models"};
    struct shard_manifest shard;
    if (shard_manifest_open(&shard, merging->shards.folders[0], err))
        return -1;
    struct journal_head head = {names, shard.lines, sizeof names / sizeof *names};
    const char *command = shard.line_count == MANIFEST_LINES ? shard.lines[1] : "";
    int failed = recorded_command(&merging->batch, command, strlen(command), &merging->arena, err);
    if (failed)
        err_prefix(err, "'%s'", shard.path);
    merging->batch.output.path = merging->options->input.operands.items[0];
    merging->batch.output.force = merging->options->output.force;
    failed = failed || store_choose(&merging->plan, &merging->batch, err);
    merging->plan.begins_anew = true;
    merging->plan.names = (struct store_names){each_name, merging};
    failed = failed || tallies_open(&merging->tallies, &merging->batch, err) ||
             store_open(&merging->store, &merging->plan, &merging->tallies, &head, err);
    shard_manifest_close(&shard);
    return failed ? -1 : 0;
}

/* --- one shard -------------------------------------------------------------------------------- */

/* Copy what is left of a file, and hash it. */
static int copy_bytes(struct stream *out, int descriptor, struct sha256 *hash)
{
    char part[COPY_BYTES];
    for (;;) {
        ssize_t got = transfer_read(descriptor, part, sizeof part);
        if (got <= 0)
            return (int)got;
        sha256_add(hash, part, (size_t)got);
        stream_bytes(out, part, (size_t)got);
    }
}

/* Copy a file of a shard into a stream, and hold it against its hash. */
static int copy_file(struct stream *out, const struct shard_manifest *shard,
                     const struct shard_file *file, struct err *err)
{
    struct buf path = {0};
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    int failed = 0;
    sha256_begin(&hash);
    buf_format(&path, "%s/%s", shard->folder, file->name);
    if (buf_check(&path, err)) {
        buf_release(&path);
        return -1;
    }
    int descriptor = open(path.bytes, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || copy_bytes(out, descriptor, &hash))
        failed = err_set(err, "cannot read '%s': %s", path.bytes, strerror(errno));
    sha256_end(&hash, digits);
    if (!failed && strcmp(digits, file->sha256) != 0)
        failed = refuse_changed(path.bytes, err);
    if (descriptor >= 0)
        close(descriptor);
    buf_release(&path);
    return failed;
}

/* Where the files of an item are copied to before they get their name. */
static int make_draft(const struct merging *merging, const char *item, struct err *err)
{
    struct buf path = {0};
    work_folder_draft(&path, &merging->store.folder, item);
    int failed = buf_check(&path, err) ||
                 work_folder_check_free(&merging->store.folder, item, err) ||
                 file_make_directory(path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

static int copy_to_draft(const struct merging *merging, const struct shard_manifest *shard,
                         const struct shard_file *file, struct err *err)
{
    struct buf path = {0};
    struct stream out = {0};
    work_folder_draft(&path, &merging->store.folder, file->name);
    int failed = buf_check(&path, err) || stream_open(&out, path.bytes, err) ||
                 copy_file(&out, shard, file, err) || stream_commit(&out, err);
    stream_discard(&out);
    buf_release(&path);
    return failed ? -1 : 0;
}

/* Copy the files of one item, and name its folder: nothing where it has none. */
static int copy_files(const struct merging *merging, const struct shard_manifest *shard,
                      struct buf *item, struct err *err)
{
    const struct json *files = json_member(shard->root, "files");
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry; entry = json_next(entry)) {
        struct shard_file file;
        if (shard_manifest_file(shard, entry, &file, err) ||
            (!item->size &&
             (name_item(item, &file, err) || make_draft(merging, item->bytes, err))) ||
            copy_to_draft(merging, shard, &file, err))
            return -1;
    }
    return 0;
}

/* What belongs to no item: the lines of all of them, or the sums. */
static int take_files(struct merging *merging, const struct shard_manifest *shard, struct err *err)
{
    struct shard_file file;
    size_t done = 0;
    struct stream nowhere = {0};
    struct buf path = {0};
    const struct json *entry = json_first(shard->files);
    if (merging->plan.kind == STORE_ITEMS)
        return 0;
    if (!entry || shard_manifest_file(shard, entry, &file, err))
        return err_set(err, "'%s': expected a file of results, found none", shard->path);
    if (merging->plan.kind == STORE_LINES)
        return copy_file(&merging->store.lines, shard, &file, err);
    buf_format(&path, "%s/%s", shard->folder, file.name);
    int failed = stream_open(&nowhere, "/dev/null", err) ||
                 copy_file(&nowhere, shard, &file, err) || buf_check(&path, err) ||
                 tallies_load(&merging->tallies, path.bytes, &done, err);
    stream_discard(&nowhere);
    buf_release(&path);
    return failed ? -1 : 0;
}

/* The journal speaks of an item before its folder has its name, as in a batch. */
static int take_item(struct merging *merging, const struct shard_manifest *shard, struct err *err)
{
    struct store *store = &merging->store;
    struct buf item = {0};
    bool failed_item = json_member(shard->root, "error") != NULL;
    int failed = (merging->plan.kind == STORE_ITEMS && copy_files(merging, shard, &item, err)) ||
                 store_adopt(store, shard->item, shard->item_size, failed_item, err);
    if (!failed && item.size)
        failed = store_settle(store, err) || work_folder_place(&store->folder, item.bytes, err);
    buf_release(&item);
    return failed ? -1 : 0;
}

static int take_items(struct merging *merging, struct shard_manifest *shard, struct err *err)
{
    bool more = true;
    for (;;) {
        if (shard_manifest_next(shard, &more, err))
            return -1;
        if (!more)
            return take_files(merging, shard, err) || store_settle(&merging->store, err) ? -1 : 0;
        if (take_item(merging, shard, err))
            return -1;
    }
}

static int take_shard(struct merging *merging, size_t index, struct err *err)
{
    struct shard_manifest shard;
    if (shard_manifest_open(&shard, merging->shards.folders[index], err))
        return -1;
    int failed = check_head(merging, &shard, index, err) || take_items(merging, &shard, err);
    shard_manifest_close(&shard);
    return failed ? -1 : 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int merge_all(struct merging *merging, struct err *err)
{
    const struct texts *operands = &merging->options->input.operands;
    if (operands->count != 1)
        return err_usage(err,
                         "expected one place, that of the whole: what --output said, found %zu",
                         operands->count);
    if (shard_list_find(&merging->shards, operands->items[0], err) || check_shards(merging, err) ||
        open_target(merging, err))
        return -1;
    struct progress progress;
    int failed = 0;
    progress_begin(&progress, "shards");
    for (size_t i = 0; i < merging->shards.count && !failed; i++) {
        progress_show(&progress, i, merging->shards.count, NULL);
        failed = take_shard(merging, i, err);
    }
    progress_end(&progress);
    return failed || store_finish(&merging->store, err) ? -1 : 0;
}

int merge_command(const struct options *options, struct err *err)
{
    struct merging merging = {.options = options};
    int failed = merge_all(&merging, err);
    if (!failed && merging.store.failed)
        failed =
            err_failed(err, "%zu of %zu items failed", merging.store.failed, merging.store.done);
    store_close(&merging.store);
    tallies_release(&merging.tallies);
    shard_list_release(&merging.shards);
    arena_release(&merging.arena);
    return failed;
}
