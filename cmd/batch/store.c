#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/listing.h"
#include "format/json_writer.h"

/* --- begin ------------------------------------------------------------------------------------ */

/* What is there already, where nothing was said of it. */
static int refuse_results(const struct store_plan *plan, const struct work_folder *folder,
                          struct err *err)
{
    if (folder->state == WORK_BEGUN && !plan->begins_anew)
        return err_output(err,
                          "'%s': an interrupted batch is here: --resume goes on with it, "
                          "--force begins anew",
                          folder->path);
    if (folder->state == WORK_FINISHED || folder->has_target)
        return err_output(err, "'%s': results are here already: --force begins anew",
                          folder->has_target ? folder->target : folder->path);
    return 0;
}

/* All names that this batch makes. */
static int each_name(void *context, const struct seer *seer, struct err *err)
{
    const struct store *store = context;
    const struct store_plan *plan = store->plan;
    if (plan->kind == STORE_LINES)
        return seer->see(seer->context, result_name_lines, err);
    bool has_items = plan->kind == STORE_ITEMS && store->folder.state != WORK_NONE;
    return has_items ? plan->items.each(plan->items.context, seer, err) : 0;
}

/* Make room: what an earlier batch left goes, where that was asked for; all else is in the way. */
static int begin_anew(struct store *store, const struct journal_head *head, bool replaces,
                      struct err *err)
{
    struct work_folder *folder = &store->folder;
    const struct result_list names = {each_name, store};
    if (work_folder_check_replaceable(folder, err) || work_owned_check_room(folder, &names, err) ||
        work_owned_clear(folder, err) || work_folder_consent(folder, false, err))
        return -1;
    if (store_begin(store, head, err))
        return -1;
    return replaces && folder->has_target ? work_folder_consent(folder, true, err) : 0;
}

/* Go on after what is done, if anything is. */
static int go_on(struct store *store, const struct journal_head *head, struct err *err)
{
    struct work_folder *folder = &store->folder;
    folder->may_replace = folder->state != WORK_NONE;
    store->complete =
        folder->state == WORK_FINISHED || (folder->state == WORK_NONE && folder->has_target);
    if (store->complete &&
        (store_check_complete(store, head, err) || store_reopen(store, head, err)))
        return -1;
    if (store->complete)
        return 0;
    if (folder->state == WORK_NONE || (folder->target && store->retries))
        return begin_anew(store, head, folder->has_target, err);
    if (folder->cleared)
        return err_usage(err,
                         "'%s': expected a batch to go on with, found one that --force began to "
                         "remove: --force begins anew",
                         folder->path);
    return work_folder_check_target(folder, err) || store_resume(store, head, err) ? -1 : 0;
}

static int check_begun(const struct work_folder *folder, const struct journal_head *head,
                       struct err *err)
{
    struct record record;
    int failed =
        record_open(&record, folder->journal, err) || record_check_head(&record, head, err);
    record_close(&record);
    return failed ? -1 : 0;
}

static int open_folder(struct store *store, const struct journal_head *head, struct err *err)
{
    const struct store_plan *plan = store->plan;
    struct work_folder *folder = &store->folder;
    if (work_folder_find(folder, plan->options->output.path, &plan->shard, err) ||
        work_folder_open(folder, err))
        return -1;
    if (plan->options->batch.resume)
        return go_on(store, head, err);
    bool anew = plan->begins_anew && folder->state == WORK_BEGUN && !folder->has_target &&
                !plan->options->output.force;
    if (anew ? check_begun(folder, head, err)
             : !plan->options->output.force && refuse_results(plan, folder, err))
        return -1;
    return begin_anew(store, head, plan->options->output.force, err);
}

int store_open(struct store *store, const struct store_plan *plan, const struct journal_head *head,
               struct err *err)
{
    *store = (struct store){.plan = plan, .descriptor = -1, .draft = -1};
    if (!plan->to_stdout && open_folder(store, head, err))
        return -1;
    store->resumed = store->done;
    return plan->kind == STORE_LINES && !store->complete ? store_lines_open(store, err) : 0;
}

/* --- one item --------------------------------------------------------------------------------- */

static void add_ids(struct buf *out, const char *name, const struct tokenized *tokenized)
{
    buf_format(out, ", \"%s\": [", name);
    for (size_t i = 0; i < tokenized->count; i++)
        buf_format(out, i ? ", %u" : "%u", tokenized->tokens[i].id);
    buf_char(out, ']');
}

/* {"id": "a", "format": …, members of the report, or "error": … */
static int write_line(struct store *store, const struct outcome *outcome, struct err *err)
{
    struct buf line = {0};
    struct place place = *outcome->page;
    buf_text(&line, outcome->fault ? "{" : "");
    manifest_identity(&line, outcome->job);
    if (outcome->fault) {
        buf_text(&line, ", \"format\": \"" JSON_FORMAT("batch-failure") "\", ");
        manifest_error(&line, outcome->fault);
        buf_text(&line, "}\n");
    }
    place.item = line.bytes;
    int failed = buf_check(&line, err);
    if (!failed && outcome->fault)
        stream_bytes(&store->lines, line.bytes, line.size);
    else if (!failed)
        failed = format_write(store->plan->format, &store->lines, outcome->report, &place, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

static int list_files(struct store *store, const char *draft, const char *name, struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    int failed = listing_read(&listing, draft, &arena, err);
    buf_text(&store->pieces, ", \"files\": [");
    for (size_t i = 0; !failed && i < listing.count; i++) {
        const char *file = arena_format(&arena, err, "%s/%s", name, listing.names[i]);
        buf_text(&store->pieces, i ? ", " : "");
        failed = !file || manifest_file(&store->pieces, store->folder.drafts, file, file, err);
    }
    buf_char(&store->pieces, ']');
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* The files are made where no one looks for them. */
static int make_files(struct store *store, const struct outcome *outcome, const char *name,
                      struct err *err)
{
    const struct format *format = store_format(store->plan, &outcome->job->item.options, err);
    const char *draft = work_folder_draft(&store->folder, name, err);
    const struct target_folder folder = {.path = draft, .replaces = true, .descriptor = -1};
    if (!format || !draft || work_folder_check_free(&store->folder, name, err) ||
        file_make_directory(draft, err) ||
        report_write(format, &(struct target){.folder = &folder}, outcome->report, outcome->page,
                     err))
        return -1;
    return list_files(store, draft, name, err);
}

static int end_piece(struct store *store)
{
    buf_text(&store->pieces, "}\n");
    store->piece_count++;
    store->done++;
    return 0;
}

/* Once the journal speaks of an item's files, they get their name. Who is killed in between has
 * lost an item, and knows. */
static int add_files(struct store *store, const struct outcome *outcome, struct err *err)
{
    struct buf name = {0};
    result_names_folder(&name, outcome->job->name);
    int failed = buf_check(&name, err) || make_files(store, outcome, name.bytes, err);
    end_piece(store);
    failed =
        failed || store_settle(store, err) || work_folder_place(&store->folder, name.bytes, err);
    buf_release(&name);
    return failed ? -1 : 0;
}

static int add_lines(struct store *store, const struct outcome *outcome, struct err *err)
{
    size_t before = store->lines.written_bytes;
    int failed = write_line(store, outcome, err) || store_lines_note(store, before, err);
    end_piece(store);
    return failed ? -1 : 0;
}

int store_add(struct store *store, const struct outcome *outcome, struct err *err)
{
    const struct item_fault *fault = outcome->fault;
    buf_char(&store->pieces, '{');
    manifest_identity(&store->pieces, outcome->job);
    buf_format(&store->pieces, ", \"line\": %zu", outcome->job->item.line);
    if (fault) {
        buf_text(&store->pieces, ", ");
        manifest_error(&store->pieces, fault);
        if (!store->failed++)
            buf_text(&store->failure, fault->message);
        store->to_retry += fault->retry;
    } else {
        add_ids(&store->pieces, "ids", &outcome->pair->sentence);
        if (outcome->pair->source.count)
            add_ids(&store->pieces, "source_ids", &outcome->pair->source);
    }
    if (store->plan->kind == STORE_ITEMS && !fault)
        return add_files(store, outcome, err);
    return store->plan->kind == STORE_LINES ? add_lines(store, outcome, err) : end_piece(store);
}

int store_adopt(struct store *store, const char *piece, size_t size, bool failed, struct err *err)
{
    buf_bytes(&store->pieces, piece, size);
    buf_char(&store->pieces, '\n');
    store->piece_count++;
    store->done++;
    store->failed += failed;
    return buf_check(&store->pieces, err);
}

/* --- settle ---------------------------------------------------------------------------------- */

int store_settle(struct store *store, struct err *err)
{
    const struct store_plan *plan = store->plan;
    bool lines = plan->kind == STORE_LINES;
    if (buf_check(&store->pieces, err))
        return -1;
    if (lines && store_lines_flush(store, err))
        return -1;
    if (!plan->to_stdout && journal_add(&store->journal, store->pieces.bytes, store->pieces.size,
                                        store->piece_count, err))
        return -1;
    if (lines && store_lines_append(store, err))
        return -1;
    buf_clear(&store->pieces);
    store->piece_count = 0;
    return 0;
}

void store_close(struct store *store)
{
    if (store->plan)
        store_lines_close(store);
    journal_close(&store->journal);
    buf_release(&store->pieces);
    buf_release(&store->failure);
    work_folder_release(&store->folder);
    *store = (struct store){.descriptor = -1, .draft = -1};
}
