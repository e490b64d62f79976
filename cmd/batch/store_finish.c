/* store_finish.c: the end of a batch: results get their names, and the manifest says what they are.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "manifest.h"
#include "store.h"
#include "tallies_measured.h"

static int write_form(struct stream *out, const struct store *store, unsigned measures,
                      const struct measured_form *form, struct err *err)
{
    struct arena arena = {0};
    struct measured_list list;
    struct place page = store_page(store->plan->options);
    page.style = &store->plan->style;
    int failed = tallies_measure(&list, store->tallies, measures, &arena, err) ||
                 form->write(out, &list, &page, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int print_tallies(struct store *store, struct err *err)
{
    struct stream out = {0};
    if (store_open_stream(&out, store->plan, err))
        return -1;
    int failed = write_form(&out, store, store->tallies->measures, store->plan->form, err);
    if (!failed)
        failed = stream_commit(&out, err);
    stream_discard(&out);
    return failed;
}

/* One file of the folder, listed in `files`. */
static int write_result(struct store *store, const char *name, unsigned measures,
                        const struct measured_form *form, struct buf *files, struct err *err)
{
    struct stream out = {0};
    struct buf path = {0};
    buf_format(&path, "%s/%s", store->folder.path, name);
    int failed = buf_check(&path, err) || stream_open(&out, path.bytes, err) ||
                 write_form(&out, store, measures, form, err) || stream_commit(&out, err);
    stream_discard(&out);
    buf_release(&path);
    buf_text(files, files->size ? ", " : "");
    return failed || manifest_file(files, store->folder.path, name, err) ? -1 : 0;
}

static int write_results(struct store *store, struct buf *files, struct err *err)
{
    for (int i = 0; i < MEASURE_COUNT; i++) {
        for (size_t k = 0; k < measured_form_count; k++) {
            const struct measured_form *form = &measured_forms[k];
            char name[64];
            if (!form->in_folder || !(store->tallies->measures >> i & 1))
                continue;
            snprintf(name, sizeof name, "%s%s", measure_rows[i].name, form->ending);
            if (write_result(store, name, 1u << i, form, files, err))
                return -1;
        }
    }
    return 0;
}

/* The files that belong to no single item. */
static int finish_files(struct store *store, struct buf *files, struct err *err)
{
    const struct store_plan *plan = store->plan;
    const char *folder = store->folder.path;
    buf_text(files, "");
    if (plan->kind == STORE_LINES)
        return manifest_file(files, folder, "results.jsonl", err);
    if (plan->kind == STORE_ITEMS)
        return 0;
    if (plan->shard.count)
        return store_save_sums(store, err) || manifest_file(files, folder, "sums", err) ? -1 : 0;
    if (plan->form)
        return write_result(store, "result", store->tallies->measures, plan->form, files, err);
    return write_results(store, files, err);
}

static const char *result_name(const struct store *store)
{
    return store->plan->kind == STORE_LINES ? "results.jsonl" : "result";
}

/* The one result becomes the file that was asked for, and the folder goes. */
static int move_out(struct store *store, struct err *err)
{
    struct buf from = {0};
    const struct work_folder *folder = &store->folder;
    buf_format(&from, "%s/%s", folder->path, result_name(store));
    int failed = buf_check(&from, err);
    if (!failed && file_exists(from.bytes) && rename(from.bytes, folder->target))
        failed = err_output(err, "cannot write '%s': %s", folder->target, strerror(errno));
    buf_release(&from);
    return failed ? -1 : work_folder_remove(folder->path, err);
}

static int finish_folder(struct store *store, struct err *err)
{
    struct buf files = {0};
    const struct work_folder *folder = &store->folder;
    stream_sync_later(false);
    int failed = finish_files(store, &files, err) || buf_check(&files, err) ||
                 stream_sync(folder->path, err) ||
                 manifest_write(folder->manifest, &store->journal, files.bytes, store->failed, err);
    buf_release(&files);
    return failed ? -1 : 0;
}

int store_finish(struct store *store, struct err *err)
{
    if (!store->complete && store_settle(store, err))
        return -1;
    if (store->plan->to_stdout)
        return store->plan->kind == STORE_SUMS ? print_tallies(store, err)
                                               : stream_commit(&store->lines, err);
    if (!store->complete && finish_folder(store, err))
        return -1;
    unlink(store->folder.journal);
    if (!store->plan->shard.count)
        unlink(store->folder.sums);
    return store->folder.target && file_is_directory(store->folder.path) ? move_out(store, err) : 0;
}
