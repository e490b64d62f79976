#include "work_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/replacement.h"
#include "journal.h"
#include "store_plan.h"

enum {
    TRIES = 100, /* to lock a folder that others come to and leave */
};

static const char own_name[] = ".attn-cli";
static const char drafts_name[] = "new";

/* --- paths ------------------------------------------------------------------------------------ */

bool work_folder_is_folder(const char *output)
{
    return (*output && output[strlen(output) - 1] == '/') || file_is_directory(output);
}

/* DIR/ without its slash; FILE.part; or either with the shard's suffix. */
static int find_path(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err)
{
    char suffix[SHARD_SUFFIX_BYTES];
    struct arena *arena = &folder->arena;
    bool is_folder = work_folder_is_folder(output);
    int size = (int)strlen(output);
    while (size > 1 && output[size - 1] == '/')
        size--;
    folder->is_named = is_folder && !shard->count;
    folder->path = arena_format(arena, err, "%.*s%s", size, output,
                                shard->count ? shard_suffix(suffix, shard)
                                : is_folder  ? ""
                                             : ".part");
    if (!folder->path || is_folder || shard->count)
        return folder->path ? 0 : -1;
    folder->target = arena_text(arena, output, strlen(output), err);
    folder->record = arena_format(arena, err, "%s.manifest", output);
    return folder->target && folder->record ? 0 : -1;
}

static int find_paths(struct work_folder *folder, struct err *err)
{
    const struct {
        const char **path, *name;
    } paths[] = {
        {&folder->journal, "journal"},           {&folder->manifest, "manifest.json"},
        {&folder->lines, "results.jsonl"},       {&folder->own, own_name},
        {&folder->lock_path, ".attn-cli/lock"},  {&folder->drafts, ".attn-cli/new"},
        {&folder->consent, ".attn-cli/replace"},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        *paths[i].path = arena_format(&folder->arena, err, "%s/%s", folder->path, paths[i].name);
        if (!*paths[i].path)
            return -1;
    }
    return 0;
}

int work_folder_find(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err)
{
    *folder = (struct work_folder){0};
    if (!find_path(folder, output, shard, err) && !find_paths(folder, err))
        return 0;
    work_folder_release(folder);
    return -1;
}

/* --- what is there ---------------------------------------------------------------------------- */

/* A record that is a batch's, or none. */
static int look_at_record(enum record_kind *kind, const char *path, struct err *err)
{
    if (record_look(kind, path, err))
        return -1;
    if (*kind == RECORD_CUT)
        return err_usage(err,
                         "'%s': expected a record of a batch as that was written, found one that "
                         "was cut short or added to: restore it, or give another place",
                         path);
    if (*kind != RECORD_OTHER)
        return 0;
    return err_usage(err,
                     "'%s': expected what a batch has written, found something else: move it, or "
                     "give another place",
                     path);
}

/* Without a record nothing but what we made before the journal may be there. */
static int look_for_others(const struct work_folder *folder, struct err *err)
{
    int failed = 0;
    DIR *directory = opendir(folder->path);
    if (!directory)
        return errno == ENOENT || errno == ENOTDIR /* making it says what is wrong */
                   ? 0
                   : err_output(err, "cannot read '%s': %s", folder->path, strerror(errno));
    for (const struct dirent *entry; !failed && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, own_name) != 0)
            failed = err_usage(err,
                               "'%s': expected an empty folder or a batch's, found '%s' in it: "
                               "give another place",
                               folder->path, name);
    }
    closedir(directory);
    return failed;
}

static int look_whether_owned(bool *owned, const char *path, struct err *err)
{
    enum record_kind kind = RECORD_NONE;
    int failed = record_look(&kind, path, err);
    *owned = *owned || (kind != RECORD_NONE && kind != RECORD_OTHER);
    return failed;
}

/* What a batch in a folder, or beside another file, goes by is no place for results. */
static int look_at_owner(struct work_folder *folder, struct err *err)
{
    static const char *const records[] = {"journal", "manifest.json"};
    const char *slash = strrchr(folder->target, '/');
    const char *name = slash ? slash + 1 : folder->target;
    struct buf path = {0};
    bool owned = false;
    int failed = look_whether_owned(&owned, folder->target, err);
    for (size_t i = 0; i < 2 && !failed && !owned && result_names_have(name); i++) {
        buf_clear(&path);
        buf_format(&path, "%.*s%s", (int)(name - folder->target), folder->target, records[i]);
        failed = buf_check(&path, err) || look_whether_owned(&owned, path.bytes, err);
    }
    buf_release(&path);
    if (!failed && owned)
        failed = err_usage(err,
                           "'%s': expected a file of yours, found one that belongs to the "
                           "results of another batch: give another name",
                           folder->target);
    return failed ? -1 : 0;
}

static int look_at_target(struct work_folder *folder, struct err *err)
{
    mode_t kind;
    enum record_kind record = RECORD_NONE;
    if (file_kind(&kind, folder->target, err))
        return -1;
    folder->has_target = kind != 0;
    if (kind && !S_ISREG(kind))
        return err_usage(err, "'%s': expected a file to replace, found a link or something else",
                         folder->target);
    if (kind && look_at_owner(folder, err))
        return -1;
    int failed = look_at_record(&record, folder->record, err);
    folder->has_record = record != RECORD_NONE;
    return failed;
}

/* Another process may be about to finish, or to begin anew: one of the two is always there, and the
 * journal may become the manifest, or that a journal, while we look. */
static int look_at_records(struct work_folder *folder, struct err *err)
{
    enum record_kind journal = RECORD_NONE;
    enum record_kind manifest = RECORD_NONE;
    if (look_at_record(&journal, folder->journal, err) ||
        look_at_record(&manifest, folder->manifest, err))
        return -1;
    if (!journal && !manifest && look_at_record(&journal, folder->journal, err))
        return -1;
    folder->state = manifest ? WORK_FINISHED : journal ? WORK_BEGUN : WORK_NONE;
    folder->cleared = journal == RECORD_MANIFEST && !manifest;
    return 0;
}

/* Another process may come while we look: it has a lock by then. Once we hold that, it says nothing
 * of others. */
static int look_at_own(struct work_folder *folder, struct err *err)
{
    folder->worked = folder->worked || folder->state != WORK_NONE;
    if (!work_own_check(folder, folder->worked, NULL))
        return 0;
    folder->worked = folder->worked || (!folder->lock.path && work_own_has_lock(folder));
    return work_own_check(folder, folder->worked, err);
}

static int look(struct work_folder *folder, struct err *err)
{
    mode_t kind;
    if (file_kind(&kind, folder->path, err))
        return -1;
    if (!folder->is_named && S_ISLNK(kind))
        return err_usage(err, "'%s': expected a folder, found a link: give another place",
                         folder->path);
    if (look_at_records(folder, err) || (folder->target && look_at_target(folder, err)))
        return -1;
    if (folder->state == WORK_NONE && look_for_others(folder, err))
        return -1;
    return look_at_own(folder, err);
}

/* --- lock and unlock -------------------------------------------------------------------------- */

static int make_within(bool *made, const char *path, struct err *err)
{
    bool is_new = mkdir(path, 0777) == 0;
    int failure = is_new ? 0 : errno;
    mode_t kind = 0;
    *made = *made || is_new;
    if (failure == EEXIST && file_kind(&kind, path, err))
        return -1;
    if (is_new || S_ISDIR(kind))
        return 0;
    return failure == ENOENT
               ? LOCK_FILE_LOST /* its parent is gone */
               : err_output(err, "cannot make the directory '%s': %s", path, strerror(failure));
}

/* Others that end remove their lock, and the folders where these are empty. */
static int lock(struct work_folder *folder, struct err *err)
{
    int failed = LOCK_FILE_LOST;
    for (int i = 0; i < TRIES && failed == LOCK_FILE_LOST; i++) {
        bool made = mkdir(folder->path, 0777) == 0;
        if (!made && file_make_directory(folder->path, err))
            return -1;
        folder->made = folder->made || made;
        failed = make_within(&folder->made_own, folder->own, err);
        if (!failed)
            failed = lock_file_take(&folder->lock, folder->lock_path, folder->path, err);
    }
    if (failed == LOCK_FILE_LOST)
        return err_output(err, "'%s': other processes come and go there", folder->path);
    return failed;
}

int work_folder_open(struct work_folder *folder, struct err *err)
{
    if (look(folder, err) || lock(folder, err) || look(folder, err) ||
        removal_folder(folder->own, drafts_name, err))
        return -1;
    folder->open = true;
    replacement_keep_private(work_folder_record(folder));
    if (folder->target)
        replacement_keep_private(folder->target);
    bool made = false;
    return make_within(&made, folder->drafts, err) ? -1 : 0;
}

void work_folder_release(struct work_folder *folder)
{
    struct err err = {0};
    bool held = folder->lock.path != NULL;
    if (folder->open && (!work_own_check(folder, true, &err) || err.out_of_memory))
        removal_folder(folder->own, drafts_name, NULL);
    if (held)
        lock_file_release(&folder->lock);
    if (held || folder->made_own)
        rmdir(folder->own); /* each where nothing is in it, least of all the lock of another */
    if (folder->made || (held && folder->target))
        rmdir(folder->path);
    buf_release(&folder->path_of_name);
    buf_release(&folder->path_of_draft);
    arena_release(&folder->arena);
    *folder = (struct work_folder){0};
}

const char *work_folder_record(const struct work_folder *folder)
{
    return folder->state == WORK_FINISHED ? folder->manifest : folder->journal;
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *path_in(struct buf *path, const char *folder, const char *name, struct err *err)
{
    buf_clear(path);
    buf_format(path, "%s/%s", folder, name);
    return buf_check(path, err) ? NULL : path->bytes;
}

const char *work_folder_path(struct work_folder *folder, const char *name, struct err *err)
{
    return path_in(&folder->path_of_name, folder->path, name, err);
}

const char *work_folder_draft(struct work_folder *folder, const char *name, struct err *err)
{
    return path_in(&folder->path_of_draft, folder->drafts, name, err);
}

int work_folder_refuse(const char *path, struct err *err)
{
    return err_output(
        err, "'%s': expected nothing there, found something that is not this batch's: move it",
        path);
}

int work_folder_check_free(struct work_folder *folder, const char *name, struct err *err)
{
    mode_t kind;
    const char *path = work_folder_path(folder, name, err);
    if (!path || file_kind(&kind, path, err))
        return -1;
    return kind ? work_folder_refuse(path, err) : 0;
}

/* Only a file is replaced, by a file. */
static int rename_to(const char *from, const char *path, bool may_replace, struct err *err)
{
    mode_t kind;
    mode_t new_kind;
    if (file_kind(&kind, path, err) || file_kind(&new_kind, from, err))
        return -1;
    bool replaces = may_replace && S_ISREG(kind) && S_ISREG(new_kind);
    if (kind && !replaces)
        return work_folder_refuse(path, err);
    if (replaces)
        return replacement_rename(from, path, err);
    return rename(from, path) ? err_output(err, "cannot write '%s': %s", path, strerror(errno)) : 0;
}

int work_folder_place(struct work_folder *folder, const char *name, struct err *err)
{
    const char *from = work_folder_draft(folder, name, err);
    const char *path = work_folder_path(folder, name, err);
    return from && path ? rename_to(from, path, folder->may_replace, err) : -1;
}

int work_folder_finish(const struct work_folder *folder, struct err *err)
{
    return file_remove(folder->journal, err);
}

int work_folder_consent(const struct work_folder *folder, bool may_replace, struct err *err)
{
    if (!may_replace)
        return file_remove(folder->consent, err);
    int descriptor = open(folder->consent, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return err_output(err, "cannot write '%s': %s", folder->consent, strerror(errno));
    close(descriptor);
    return 0;
}

int work_folder_check_target(const struct work_folder *folder, struct err *err)
{
    mode_t consent;
    if (file_kind(&consent, folder->consent, err))
        return -1;
    if (folder->has_target && !consent)
        return err_output(err,
                          "'%s': expected nothing there, found a file that is not this batch's: "
                          "move it, or replace it by --force in place of --resume",
                          folder->target);
    return work_folder_check_replaceable(folder, err);
}

int work_folder_check_replaceable(const struct work_folder *folder, struct err *err)
{
    const char *const files[] = {folder->journal, folder->manifest, folder->lines,
                                 folder->target ? folder->target : folder->journal,
                                 folder->record ? folder->record : folder->journal};
    int failed = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = replacement_check_name(files[i], err);
    return failed;
}

/* A process that was killed may have moved the result, and not its record. */
int work_folder_move_out(struct work_folder *folder, const char *name, struct err *err)
{
    enum record_kind record;
    mode_t consent;
    mode_t kind;
    const char *from = work_folder_path(folder, name, err);
    if (!from || look_at_record(&record, folder->record, err) ||
        file_kind(&consent, folder->consent, err) || file_kind(&kind, from, err))
        return -1;
    if ((kind && rename_to(from, folder->target, consent != 0, err)) ||
        rename_to(folder->manifest, folder->record, true, err))
        return -1;
    return file_remove(folder->consent, err);
}
