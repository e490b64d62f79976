#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/listing.h"
#include "write/format.h"
#include "result_files.h"
#include "store_lines.h"
#include "store_resume.h"
#include "tallies_file.h"
#include "work_claims.h"
#include "work_clear.h"
#include "work_names.h"
#include "work_record.h"

/* Sums are saved so often, or so that it takes a twentieth of the time. */
static const double SAVE_SECONDS = 0.2;
static const double SAVE_SHARE = 20;

/* --- begin ------------------------------------------------------------------------------------ */

/* What is there already, where nothing was said of it. */
static int refuse_results(const struct store_plan *plan, const struct work_folder *folder,
                          struct err *err)
{
    if (folder->state == WORK_BEGUN && !plan->begins_anew)
        return err_usage(err,
                         "'%s': an interrupted batch is here: --resume goes on with it, "
                         "--force begins anew",
                         folder->path);
    if (folder->state == WORK_FINISHED || folder->has_target)
        return err_usage(err, "'%s': results are here already: --force begins anew",
                         folder->has_target ? folder->target : folder->path);
    return 0;
}

/* Nothing is in the way but what goes: asked before anything does. */
static int check_room(struct store *store, struct err *err)
{
    const struct store_plan *plan = store->plan;
    const struct store_names *names = &plan->names;
    struct work_claims claims;
    struct result_file file;
    if (work_claims_open(&claims, &store->folder, err))
        return -1;
    int failed = 0;
    for (size_t i = 0; !failed && result_files_next(&file, plan, store->tallies->measures, &i);)
        failed = work_claims_check(&claims, file.name, err);
    if (!failed && plan->kind == STORE_ITEMS && names->each && store->folder.state != WORK_NONE)
        failed = names->each(names->context, work_claims_check, &claims, err);
    work_claims_release(&claims);
    return failed;
}

/* Make room: what an earlier batch left goes, where that was asked for; all else is in the way. */
static int begin_anew(struct store *store, const struct journal_head *head, bool replaces,
                      struct err *err)
{
    struct work_folder *folder = &store->folder;
    if (work_folder_check_replaceable(folder, err) || check_room(store, err) ||
        work_clear(folder, err) || work_folder_consent(folder, false, err))
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
    if (work_record_is_cleared(folder->journal))
        return err_usage(err,
                         "'%s': expected a batch to go on with, found one that --force began to "
                         "remove: --force begins anew",
                         folder->path);
    return work_folder_check_target(folder, err) || store_resume(store, head, err) ? -1 : 0;
}

static int open_folder(struct store *store, const struct journal_head *head, struct err *err)
{
    const struct store_plan *plan = store->plan;
    struct work_folder *folder = &store->folder;
    if (work_folder_find(folder, plan->options->output, &plan->shard, err) ||
        work_folder_open(folder, err))
        return -1;
    if (plan->options->resume)
        return go_on(store, head, err);
    bool anew = plan->begins_anew && folder->state == WORK_BEGUN && !folder->has_target &&
                !plan->options->force;
    if (anew ? work_record_check(folder->journal, head, NULL, err)
             : !plan->options->force && refuse_results(plan, folder, err))
        return -1;
    return begin_anew(store, head, plan->options->force, err);
}

int store_open(struct store *store, const struct store_plan *plan, struct tallies *tallies,
               const struct journal_head *head, struct err *err)
{
    *store = (struct store){.plan = plan, .tallies = tallies, .descriptor = -1, .draft = -1};
    store->saved = clock_seconds();
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

static void begin_piece(struct store *store, const struct job *job)
{
    buf_char(&store->pieces, '{');
    manifest_identity(&store->pieces, job);
    buf_format(&store->pieces, ", \"line\": %zu", job->item.line);
}

static void end_piece(struct store *store)
{
    buf_text(&store->pieces, "}\n");
    store->piece_count++;
    store->done++;
}

/* {"id": "a", …members of the report…} */
static int write_line(struct store *store, const struct job *job, const struct report *report,
                      const struct place *page, struct err *err)
{
    struct buf identity = {0};
    struct place place = *page;
    size_t before = store->lines.written_bytes;
    manifest_identity(&identity, job);
    buf_text(&identity, ", ");
    place.first_members = identity.bytes;
    int failed =
        buf_check(&identity, err) || store->plan->format->write(&store->lines, report, &place, err);
    buf_release(&identity);
    return failed || store_lines_note(store, before, err) ? -1 : 0;
}

/* What an item came to, with what stands before the first and after the last. */
static int write_item(struct store *store, const struct job *job, const struct measured *measured,
                      const struct item_fault *fault, struct err *err)
{
    const struct store_plan *plan = store->plan;
    size_t number = plan->first_job + store->done;
    size_t before = store->lines.written_bytes;
    struct item_measured item = {
        .job = job,
        .measured = measured,
        .fault = fault,
        .measures = store->tallies->measures,
        .name_columns = plan->name_columns,
        .first = number == 0,
        .last = number + 1 == plan->jobs,
    };
    if (measured || plan->item_form->has_errors || item.first)
        if (plan->item_form->write(&store->lines, &item, err))
            return -1;
    return store_lines_note(store, before, err);
}

/* The files of an item's folder, with sizes and hashes. */
static int list_files(struct store *store, const char *name, struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    struct buf path = {0};
    work_folder_draft(&path, &store->folder, name);
    int failed = buf_check(&path, err) || listing_read(&listing, path.bytes, &arena, err);
    buf_text(&store->pieces, ", \"files\": [");
    for (size_t i = 0; !failed && i < listing.count; i++) {
        buf_clear(&path);
        buf_format(&path, "%s/%s", name, listing.names[i]);
        buf_text(&store->pieces, i ? ", " : "");
        failed = buf_check(&path, err) ||
                 manifest_file(&store->pieces, store->folder.drafts, path.bytes, err);
    }
    buf_char(&store->pieces, ']');
    buf_release(&path);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* The files are made where no one looks for them; once the journal speaks of them, they get their
 * name. Who is killed in between has lost an item, and knows. */
static int write_files(struct store *store, const struct job *job, const struct report *report,
                       const struct place *page, struct err *err)
{
    struct buf name = {0};
    struct buf draft = {0};
    const struct format *format = store_format(store->plan, &job->item.options, err);
    work_names_folder(&name, job->name);
    work_folder_draft(&draft, &store->folder, name.bytes ? name.bytes : "");
    const struct target_folder folder = {.path = draft.bytes, .replaces = true, .descriptor = -1};
    int failed = !format || buf_check(&name, err) || buf_check(&draft, err) ||
                 work_folder_check_free(&store->folder, name.bytes, err) ||
                 file_make_directory(draft.bytes, err) ||
                 folder_out_write(&folder, format, report, page, err) ||
                 list_files(store, name.bytes, err);
    end_piece(store);
    failed =
        failed || store_settle(store, err) || work_folder_place(&store->folder, name.bytes, err);
    buf_release(&name);
    buf_release(&draft);
    return failed ? -1 : 0;
}

int store_report(struct store *store, const struct job *job, const struct text_pair *pair,
                 const struct report *report, const struct place *page, struct err *err)
{
    int failed = 0;
    begin_piece(store, job);
    add_ids(&store->pieces, "ids", &pair->sentence);
    if (pair->source.count)
        add_ids(&store->pieces, "source_ids", &pair->source);
    if (store->plan->kind == STORE_ITEMS)
        return write_files(store, job, report, page, err);
    if (store->plan->kind == STORE_LINES)
        failed = write_line(store, job, report, page, err);
    end_piece(store);
    return failed ? -1 : 0;
}

int store_measured(struct store *store, const struct job *job, const struct text_pair *pair,
                   const struct measured *measured, struct err *err)
{
    begin_piece(store, job);
    add_ids(&store->pieces, "ids", &pair->sentence);
    if (pair->source.count)
        add_ids(&store->pieces, "source_ids", &pair->source);
    int failed = write_item(store, job, measured, NULL, err);
    end_piece(store);
    return failed;
}

/* {"id": "a", "error": …} */
static int write_error(struct store *store, const struct job *job, const struct item_fault *fault,
                       struct err *err)
{
    struct buf line = {0};
    size_t before = store->lines.written_bytes;
    buf_char(&line, '{');
    manifest_identity(&line, job);
    buf_text(&line, ", ");
    manifest_error(&line, fault);
    buf_text(&line, "}\n");
    int failed = buf_check(&line, err);
    if (!failed)
        stream_bytes(&store->lines, line.bytes, line.size);
    buf_release(&line);
    return failed || store_lines_note(store, before, err) ? -1 : 0;
}

int store_failure(struct store *store, const struct job *job, const struct item_fault *fault,
                  struct err *err)
{
    int failed = 0;
    begin_piece(store, job);
    buf_text(&store->pieces, ", ");
    manifest_error(&store->pieces, fault);
    if (store->plan->item_form)
        failed = write_item(store, job, NULL, fault, err);
    else if (store->plan->kind == STORE_LINES)
        failed = write_error(store, job, fault, err);
    end_piece(store);
    store->failed++;
    store->to_retry += fault->retry;
    return failed;
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

/* The journal holds no sums: this file must be whole whatever comes. */
int store_save_sums(struct store *store, struct err *err)
{
    double now = clock_seconds();
    struct buf draft = {0};
    work_folder_draft(&draft, &store->folder, "sums");
    int failed =
        buf_check(&draft, err) || tallies_save(store->tallies, draft.bytes, store->done, err);
    if (!failed && rename(draft.bytes, store->folder.sums))
        failed = err_output(err, "cannot write '%s': %s", store->folder.sums, strerror(errno));
    buf_release(&draft);
    store->saved = clock_seconds();
    store->saving = store->saved - now;
    return failed ? -1 : 0;
}

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
    double since = clock_seconds() - store->saved;
    if (plan->kind == STORE_SUMS && !plan->to_stdout && since > SAVE_SECONDS &&
        since > SAVE_SHARE * store->saving)
        return store_save_sums(store, err);
    return 0;
}

void store_close(struct store *store)
{
    if (store->plan)
        store_lines_close(store);
    journal_close(&store->journal);
    buf_release(&store->pieces);
    work_folder_release(&store->folder);
    *store = (struct store){.descriptor = -1, .draft = -1};
}
