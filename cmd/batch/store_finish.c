/* store_finish.c: the end of a batch: results get their names, and the manifest says what they are.
 */
#include <string.h>

#include "../output.h"
#include "store.h"

/* What it is called in the manifest: by the name that it is to have. */
static int list_lines(const struct store *store, struct buf *files, struct err *err)
{
    const char *target = store->folder.target;
    const char *slash = target ? strrchr(target, '/') : NULL;
    return manifest_file(files, store->folder.path, result_name_lines,
                         slash    ? slash + 1
                         : target ? target
                                  : result_name_lines,
                         err);
}

static int write_manifest(struct store *store, const char *files, struct err *err)
{
    struct work_folder *folder = &store->folder;
    const struct journal_end end = {files, store->failed, store->to_retry, !folder->target};
    const char *draft = work_folder_draft(folder, "manifest.json", err);
    if (!draft || journal_finish(&store->journal, draft, &end, err))
        return -1;
    return work_folder_place(folder, "manifest.json", err);
}

static int finish_folder(struct store *store, struct err *err)
{
    struct buf files = {0};
    bool lines = store->plan->kind == STORE_LINES;
    stream_sync_later(false);
    buf_text(&files, "");
    int failed = (lines && (store_lines_check(store, err) || list_lines(store, &files, err))) ||
                 buf_check(&files, err) || stream_sync(store->folder.path, err) ||
                 write_manifest(store, files.bytes, err);
    buf_release(&files);
    return failed ? -1 : 0;
}

int store_finish(struct store *store, struct err *err)
{
    if (!store->complete && store_settle(store, err))
        return -1;
    if (store->plan->to_stdout)
        return stream_commit(&store->lines, err);
    if (!store->complete && finish_folder(store, err))
        return -1;
    if (work_folder_finish(&store->folder, err))
        return -1;
    bool moved = store->complete && store->folder.state == WORK_NONE;
    if (!store->folder.target || moved)
        return 0;
    return work_folder_move_out(&store->folder, result_name_lines, err);
}
