/* merge.c: `attn-cli merge`: the shards of a batch become what one process would have written.
 *
 * All of them must be there, finished, of the same batch, and as they were written: every file is
 * held against its hash while it is copied. Items come in the order of the input; the result has
 * the same bytes whatever the number of shards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/transfer.h"
#include "../command.h"
#include "../progress.h"
#include "store.h"

enum { COPY_BYTES = 8 * 1024 }; /* of a stack, which may be small */

struct merging {
    const struct options *options; /* of the command line */
    struct options batch;          /* those that the shards were made with */
    struct shard_list shards;
    struct record first;       /* of them, for its head */
    struct progress *progress; /* NULL: they are only looked at */
    const struct seer *seer;   /* who asks for the names of items */
    struct store_plan plan;
    struct store store;
    struct buf path, name; /* of a file, and of an item, for a moment */
    struct arena arena;
};

/* --- what they are ---------------------------------------------------------------------------- */

static int check_head(const struct merging *merging, const struct record *shard, size_t index,
                      struct err *err)
{
    char expected[64];
    const struct record *first = &merging->first;
    for (size_t i = 0; i + 1 < HEAD_LINES_MAX; i++) {
        const char *line = shard->line_count == HEAD_LINES_MAX ? shard->lines[i] : "";
        if (strcmp(line, first->lines[i]) == 0)
            continue;
        return err_set(err, "'%s': expected a shard of the same batch as '%s', found another",
                       shard->folder, first->folder);
    }
    snprintf(expected, sizeof expected, " \"shard\": {\"index\": %zu, \"of\": %zu},\n", index + 1,
             merging->shards.count);
    if (strcmp(shard->lines[HEAD_LINES_MAX - 1], expected) != 0)
        return err_set(err, "'%s': expected shard %zu of %zu, found another", shard->folder,
                       index + 1, merging->shards.count);
    return 0;
}

typedef int see_line(struct merging *merging, const struct record *shard, struct err *err);

static int visit_shard(struct merging *merging, size_t index, see_line *see, struct err *err)
{
    struct record shard;
    int more = 1;
    if (record_open_shard(&shard, merging->shards.folders[index], err))
        return -1;
    int failed = check_head(merging, &shard, index, err);
    while (!failed && (more = record_next(&shard, err)) > 0)
        failed = see(merging, &shard, err);
    record_close(&shard);
    return failed || more < 0 ? -1 : 0;
}

/* Give every item, and the files of none, of every shard to `see`. */
static int visit_shards(struct merging *merging, see_line *see, struct err *err)
{
    size_t count = merging->shards.count;
    for (size_t i = 0; i < count; i++) {
        if (merging->progress)
            progress_show(merging->progress, i, count, NULL);
        if (visit_shard(merging, i, see, err))
            return -1;
    }
    return 0;
}

static int refuse_changed(const char *path, struct err *err)
{
    return err_set(err, "'%s': expected the file that its manifest has the hash of, found another",
                   path);
}

/* FOLDER/NAME */
static const char *path_of(struct buf *path, const char *folder, const char *name, struct err *err)
{
    buf_clear(path);
    buf_format(path, "%s/%s", folder, name);
    return buf_check(path, err) ? NULL : path->bytes;
}

static int read_file(struct listed_file *file, const struct record *shard, const struct json *entry,
                     struct err *err)
{
    *file = record_file(entry);
    if (file->name && *file->sha256)
        return 0;
    return err_set(err,
                   "'%s': expected a manifest as batch writes it, found no name and hash of a file "
                   "that a batch makes",
                   shard->path);
}

/* With --force there is something to lose by what is seen only while it is copied. */
static int check_hash(struct merging *merging, const struct record *shard,
                      const struct listed_file *file, struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    const char *path = path_of(&merging->path, shard->folder, file->name, err);
    if (!path || sha256_file(path, &size, digits, err))
        return -1;
    return strcmp(digits, file->sha256) == 0 ? 0 : refuse_changed(path, err);
}

/* The files of one item are in one folder. */
static int check_files(struct merging *merging, const struct record *shard, struct err *err)
{
    struct listed_file first = {0};
    struct listed_file file;
    const struct json *files = shard->files ? json_first(shard->files) : NULL;
    for (const struct json *entry = files; entry; entry = json_next(entry)) {
        if (read_file(&file, shard, entry, err))
            return -1;
        first = first.name ? first : file;
        size_t size = strcspn(first.name, "/") + 1;
        if (shard->of_item &&
            (!strchr(file.name, '/') || strncmp(first.name, file.name, size) != 0))
            return err_set(err, "'%s': expected the files of an item in one folder, found '%s'",
                           shard->path, file.name);
    }
    for (const struct json *entry = files; entry && merging->options->output.force;
         entry = json_next(entry))
        if (read_file(&file, shard, entry, err) || check_hash(merging, shard, &file, err))
            return -1;
    return 0;
}

/* Of an item that has files, the name of its folder; of another "". */
static const char *name_item(struct merging *merging, const struct record *shard, struct err *err)
{
    struct listed_file file = {.name = ""};
    const struct json *entry = shard->of_item && shard->files ? json_first(shard->files) : NULL;
    if (entry && read_file(&file, shard, entry, err))
        return NULL;
    buf_clear(&merging->name);
    buf_bytes(&merging->name, file.name, strcspn(file.name, "/"));
    return buf_check(&merging->name, err) ? NULL : merging->name.bytes;
}

static int see_name(struct merging *merging, const struct record *shard, struct err *err)
{
    const char *name = name_item(merging, shard, err);
    return !name || (*name && merging->seer->see(merging->seer->context, name, err)) ? -1 : 0;
}

static int each_name(void *context, const struct seer *seer, struct err *err)
{
    struct merging *merging = context;
    merging->seer = seer;
    return visit_shards(merging, see_name, err);
}

/* Options, places and the head of the manifest are those of the first shard, which is to be as its
 * folder's name says. A merge that did not end has taken nothing away: it begins anew. */
static int open_target(struct merging *merging, struct err *err)
{
    static const char *const names[] = {"version", "command", "input", "models"};
    const struct record *first = &merging->first;
    struct options *batch = &merging->batch;
    struct journal_head head = {names, first->lines, sizeof names / sizeof *names};
    if (manifest_read_command(batch, first->lines[1], strlen(first->lines[1]), &merging->arena,
                              err))
        return err_prefix(err, "'%s'", first->path);
    batch->output.path = merging->options->input.operands.items[0];
    batch->output.force = merging->options->output.force;
    if (store_choose(&merging->plan, batch, err))
        return -1;
    merging->plan.begins_anew = true;
    merging->plan.items = (struct result_list){each_name, merging};
    return store_open(&merging->store, &merging->plan, &head, err);
}

/* --- one shard -------------------------------------------------------------------------------- */

/* Copy a file of a shard into a stream, and hold it against its hash. */
static int copy_file(struct stream *out, const char *path, const struct listed_file *file,
                     struct err *err)
{
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    char part[COPY_BYTES];
    ssize_t got = -1;
    int failed = 0;
    sha256_begin(&hash);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor >= 0 && (got = transfer_read(descriptor, part, sizeof part)) > 0) {
        sha256_add(&hash, part, (size_t)got);
        stream_bytes(out, part, (size_t)got);
    }
    if (got < 0)
        failed = err_set(err, "cannot read '%s': %s", path, strerror(errno));
    sha256_end(&hash, digits);
    if (!failed && strcmp(digits, file->sha256) != 0)
        failed = refuse_changed(path, err);
    if (descriptor >= 0)
        close(descriptor);
    return failed;
}

static int copy_to_draft(struct merging *merging, const struct record *shard,
                         const struct listed_file *file, struct err *err)
{
    struct stream out = {0};
    const char *from = path_of(&merging->path, shard->folder, file->name, err);
    const char *to = work_folder_draft(&merging->store.folder, file->name, err);
    int failed = !from || !to || stream_open(&out, to, err) || copy_file(&out, from, file, err);
    return stream_end(&out, failed, err);
}

/* Copy the files of one item, before they get their name: nothing where it has none. */
static int copy_files(struct merging *merging, const struct record *shard, const char *item,
                      struct err *err)
{
    struct work_folder *folder = &merging->store.folder;
    const struct json *entry = *item ? json_first(shard->files) : NULL;
    const char *draft = entry ? work_folder_draft(folder, item, err) : NULL;
    if (entry &&
        (!draft || work_folder_check_free(folder, item, err) || file_make_directory(draft, err)))
        return -1;
    for (; entry; entry = json_next(entry)) {
        struct listed_file file;
        if (read_file(&file, shard, entry, err) || copy_to_draft(merging, shard, &file, err))
            return -1;
    }
    return 0;
}

/* The journal speaks of an item before its folder has its name, as in a batch. */
static int take_item(struct merging *merging, const struct record *shard, struct err *err)
{
    struct store *store = &merging->store;
    const char *item = merging->plan.kind == STORE_ITEMS ? name_item(merging, shard, err) : "";
    bool failed = json_member(shard->root, "error") != NULL;
    if (!item || copy_files(merging, shard, item, err) ||
        store_adopt(store, shard->line, shard->size, failed, err))
        return -1;
    if (!*item)
        return 0;
    return store_settle(store, err) || work_folder_place(&store->folder, item, err) ? -1 : 0;
}

/* What belongs to no item: the lines of all of them, in one file. */
static int take_files(struct merging *merging, const struct record *shard, struct err *err)
{
    struct listed_file file;
    const struct json *entry = json_first(shard->files);
    if (merging->plan.kind == STORE_ITEMS)
        return 0;
    if (!entry || read_file(&file, shard, entry, err))
        return err_set(err, "'%s': expected a file of results, found none", shard->path);
    const char *path = path_of(&merging->path, shard->folder, file.name, err);
    if (!path)
        return -1;
    return copy_file(&merging->store.lines, path, &file, err);
}

static int take(struct merging *merging, const struct record *shard, struct err *err)
{
    if (shard->of_item)
        return take_item(merging, shard, err);
    return take_files(merging, shard, err) || store_settle(&merging->store, err) ? -1 : 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int merge_all(struct merging *merging, struct err *err)
{
    const struct texts *operands = &merging->options->input.operands;
    if (operands->count != 1)
        return err_usage(err,
                         "expected one place, that of the whole: what --output said, found %zu",
                         operands->count);
    if (shard_list_find(&merging->shards, operands->items[0], &merging->arena, err) ||
        record_open_shard(&merging->first, merging->shards.folders[0], err) ||
        visit_shards(merging, check_files, err) || /* before anything of an earlier result goes */
        open_target(merging, err))
        return -1;
    struct progress progress;
    progress_begin(&progress, "shards");
    merging->progress = &progress;
    int failed = visit_shards(merging, take, err);
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
    record_close(&merging.first);
    buf_release(&merging.path);
    buf_release(&merging.name);
    arena_release(&merging.arena);
    return failed;
}
