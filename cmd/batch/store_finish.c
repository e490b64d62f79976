/* store_finish.c: the end of a batch: results get their names, and the manifest says what they are.
 */
#include <string.h>

#include "draw/measured_form.h"
#include "../output.h"
#include "store.h"

static int write_form(struct stream *out, const struct store *store, unsigned measures,
                      const struct measured_form *form, struct err *err)
{
    struct arena arena = {0};
    struct measured_list list;
    struct place page = store_page(store->plan->options);
    page.style = &store->plan->style;
    int failed = reductions_measure(&list, store->reductions, measures, &arena, err) ||
                 form->write(out, &list, &page, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int print_reductions(struct store *store, struct err *err)
{
    const struct store_plan *plan = store->plan;
    struct stream out = {0};
    int failed = output_to(&out, plan->options->output.path, err) ||
                 write_form(&out, store, store->reductions->measures, plan->form, err);
    return stream_end(&out, failed, err);
}

/* A file of the folder that is made of sums. */
static int make_result(struct store *store, const struct result_file *file, struct err *err)
{
    struct stream out = {0};
    const char *draft = work_folder_draft(&store->folder, file->name, err);
    int failed = !draft || stream_open(&out, draft, err) ||
                 (file->form ? write_form(&out, store, file->measures, file->form, err)
                             : reductions_write(&out, store->reductions, store->done, err));
    return stream_end(&out, failed, err) ? -1 : work_folder_place(&store->folder, file->name, err);
}

/* What it is called in the manifest: by the name that it is to have. */
static int list_result(const struct store *store, const char *name, struct buf *files,
                       struct err *err)
{
    const char *target = store->folder.target;
    const char *slash = target ? strrchr(target, '/') : NULL;
    buf_text(files, files->size ? ", " : "");
    return manifest_file(files, store->folder.path, name,
                         slash    ? slash + 1
                         : target ? target
                                  : name,
                         err);
}

static int finish_files(struct store *store, struct buf *files, struct err *err)
{
    const struct store_plan *plan = store->plan;
    struct result_file file;
    buf_text(files, "");
    for (size_t i = 0; result_names_next(&file, plan, store->reductions->measures, &i);)
        if ((plan->kind == STORE_SUMS && make_result(store, &file, err)) ||
            list_result(store, file.name, files, err))
            return -1;
    return 0;
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
    stream_sync_later(false);
    int failed = (store->plan->kind == STORE_LINES && store_lines_check(store, err)) ||
                 finish_files(store, &files, err) || buf_check(&files, err) ||
                 stream_sync(store->folder.path, err) || write_manifest(store, files.bytes, err);
    buf_release(&files);
    return failed ? -1 : 0;
}

int store_finish(struct store *store, struct err *err)
{
    if (!store->complete && store_settle(store, err))
        return -1;
    if (store->plan->to_stdout)
        return store->plan->kind == STORE_SUMS ? print_reductions(store, err)
                                               : stream_commit(&store->lines, err);
    if (!store->complete && finish_folder(store, err))
        return -1;
    if (work_folder_finish(&store->folder, err))
        return -1;
    bool moved = store->complete && store->folder.state == WORK_NONE;
    if (!store->folder.target || moved)
        return 0;
    struct result_file file; /* the one result, which becomes the file that was asked for */
    size_t at = 0;
    result_names_next(&file, store->plan, store->reductions->measures, &at);
    return work_folder_move_out(&store->folder, file.name, err);
}
