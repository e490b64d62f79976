/* work_owned.c: what an earlier batch left in its folder: whether it is as that says, whether all
 * of it can go, and its going. That is what its journal or manifest lists, and the files of results
 * that its command makes; nothing else is touched.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/sha256.h"
#include "manifest.h"
#include "store_plan.h"

static int refuse_list(const char *record, struct err *err)
{
    return err_set(err, "'%s': expected a list of files that a batch makes, found others", record);
}

/* --- whether it is as its record says --------------------------------------------------------- */

enum listed_state {
    LISTED_SAME,
    LISTED_MISSING,
    LISTED_OTHER,
};

/* What has a path, itself: no link is followed, neither to a file nor to an item's folder. */
static int look_at_kind(enum listed_state *state, const char *path, mode_t expected,
                        struct err *err)
{
    mode_t kind;
    if (file_kind(&kind, path, err))
        return -1;
    *state = kind == expected ? LISTED_SAME : kind ? LISTED_OTHER : LISTED_MISSING;
    return 0;
}

static int look_at_file(enum listed_state *state, const char *path, const struct listed_file *file,
                        struct err *err)
{
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    if (look_at_kind(state, path, S_IFREG, err))
        return -1;
    if (*state != LISTED_SAME)
        return 0;
    if (sha256_file(path, &size, digits, err))
        return -1;
    if (size != file->bytes || strcmp(digits, file->sha256) != 0)
        *state = LISTED_OTHER;
    return 0;
}

static int look_at_entry(bool *missing, const struct work_folder *folder, const char *record,
                         const struct listed_file *file, struct err *err)
{
    struct buf path = {0};
    enum listed_state state = LISTED_SAME;
    const char *slash = strchr(file->name, '/');
    buf_format(&path, "%s/%.*s", folder->path, (int)(slash ? slash - file->name : 0), file->name);
    int failed = buf_check(&path, err);
    if (!failed && slash)
        failed = look_at_kind(&state, path.bytes, S_IFDIR, err);
    if (!failed && state == LISTED_SAME) {
        buf_text(&path, slash ? slash : file->name);
        failed = buf_check(&path, err) || look_at_file(&state, path.bytes, file, err);
    }
    if (!failed && state == LISTED_OTHER)
        failed = err_usage(err,
                           "'%s': expected what '%s' has the hash of, found something else: move "
                           "it, and --resume makes it again",
                           path.bytes, record);
    *missing = *missing || state == LISTED_MISSING;
    buf_release(&path);
    return failed ? -1 : 0;
}

int work_owned_check(bool *missing, const struct work_folder *folder, const char *record,
                     const struct json *files, struct err *err)
{
    const struct json *entry = files ? json_first(files) : NULL;
    for (; entry; entry = json_next(entry)) {
        struct listed_file file = record_file(entry);
        if (!file.name)
            return refuse_list(record, err);
        if (look_at_entry(missing, folder, record, &file, err))
            return -1;
    }
    return 0;
}

/* What sees all names that would go; NULL: none that a batch makes. Of the first file of an item it
 * is given all that are listed with it. */
struct visitor {
    int (*see)(void *context, const char *name, const struct json *item, struct err *err);
    void *context;
};

/* The files of a line, which are those of one item, or results. */
static int see_files(const struct json *files, const struct visitor *visitor, struct err *err)
{
    const struct json *first = files ? json_first(files) : NULL;
    for (const struct json *entry = first; entry; entry = json_next(entry)) {
        const char *name = record_file(entry).name;
        bool of_item = entry == first && name && strchr(name, '/');
        if (visitor->see(visitor->context, name, of_item ? files : NULL, err))
            return -1;
    }
    return 0;
}

/* --- whether it can go ------------------------------------------------------------------------ */

static bool lists(const struct json *files, const char *name)
{
    for (const struct json *entry = json_first(files); entry; entry = json_next(entry)) {
        struct listed_file file = record_file(entry);
        if (file.name && strcmp(file.name, name) == 0)
            return true;
    }
    return false;
}

/* Only regular files that are listed are there; `path` is that of the item's folder, and `root` of
 * its bytes that of all results. All names are compared only where the numbers differ. */
static int check_entries(struct buf *path, size_t root, const struct json *files,
                         const struct listing *listing, struct err *err)
{
    size_t item = path->size;
    size_t there = 0;
    mode_t kind;
    for (const struct json *entry = json_first(files); entry; entry = json_next(entry)) {
        struct listed_file file = record_file(entry);
        path->size = root;
        buf_text(path, file.name ? file.name : "");
        if (buf_check(path, err) || file_kind(&kind, path->bytes, err))
            return -1;
        there += S_ISREG(kind);
    }
    for (size_t i = 0; i < listing->count && there != listing->count; i++) {
        path->size = item;
        buf_format(path, "/%s", listing->names[i]);
        if (buf_check(path, err) || file_kind(&kind, path->bytes, err))
            return -1;
        if (!S_ISREG(kind) || !lists(files, path->bytes + root))
            return work_folder_refuse(path->bytes, err);
    }
    return 0;
}

static int check_item(struct work_folder *folder, const struct json *files, const char *name,
                      struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    struct buf path = {0};
    buf_format(&path, "%s/%.*s", folder->path, (int)strcspn(name, "/"), name);
    mode_t kind = 0;
    int failed = buf_check(&path, err) || file_kind(&kind, path.bytes, err);
    if (kind && !S_ISDIR(kind))
        failed = work_folder_refuse(path.bytes, err);
    else if (kind && access(path.bytes, W_OK | X_OK))
        failed = err_output(err, "cannot remove '%s': %s", path.bytes, strerror(errno));
    else if (kind)
        failed = listing_read(&listing, path.bytes, &arena, err) ||
                 check_entries(&path, strlen(folder->path) + 1, files, &listing, err);
    buf_release(&path);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int check_result(struct work_folder *folder, const char *name, struct err *err)
{
    mode_t kind;
    const char *path = work_folder_path(folder, name, err);
    if (!path || file_kind(&kind, path, err))
        return -1;
    return kind && !S_ISREG(kind) ? work_folder_refuse(path, err) : 0;
}

/* What goes has its names in `going`. */
struct claims {
    struct work_folder *folder;
    struct item_ids going;
};

static int note(struct claims *claims, const char *name, struct err *err)
{
    size_t line = 1;
    struct buf first = {0};
    buf_bytes(&first, name, strcspn(name, "/"));
    int failed = buf_check(&first, err) || item_ids_note(&claims->going, first.bytes, &line, err);
    buf_release(&first);
    return failed ? -1 : 0;
}

static int claim(void *context, const char *name, const struct json *item, struct err *err)
{
    struct claims *claims = context;
    struct work_folder *folder = claims->folder;
    if (!name)
        return refuse_list(work_folder_record(folder), err);
    return note(claims, name, err) || (item && check_item(folder, item, name, err)) ||
                   (!strchr(name, '/') && check_result(folder, name, err))
               ? -1
               : 0;
}

int work_owned_may_go(struct work_folder *folder, const struct json *files, struct err *err)
{
    struct claims claims = {.folder = folder};
    int failed = see_files(files, &(struct visitor){claim, &claims}, err);
    item_ids_release(&claims.going);
    return failed;
}

static int check_name(void *context, const char *name, struct err *err)
{
    struct claims *claims = context;
    size_t line = 2; /* those that go have 1 */
    if (!work_folder_check_free(claims->folder, name, NULL))
        return 0;
    if (item_ids_note(&claims->going, name, &line, err))
        return -1;
    return line == 2 ? work_folder_check_free(claims->folder, name, err) : 0;
}

/* --- its going -------------------------------------------------------------------------------- */

static int remove_file(void *context, const char *name, const struct json *item, struct err *err)
{
    const struct work_folder *folder = context;
    (void)item;
    return name ? removal_file(folder->path, name, err) : 0;
}

int work_owned_remove(struct work_folder *folder, const struct json *files, struct err *err)
{
    return see_files(files, &(struct visitor){remove_file, folder}, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A command that this version does not know any more stays with what is listed. */
static int see_command(const struct work_folder *folder, const char *line,
                       const struct visitor *visitor, struct arena *arena, struct err *err)
{
    struct options options;
    struct store_plan plan;
    if (manifest_read_command(&options, line, strlen(line), arena, NULL))
        return 0;
    options.output.path = folder->target ? folder->target : "./";
    if (store_choose(&plan, &options, NULL) || plan.kind != STORE_LINES)
        return 0;
    return visitor->see(visitor->context, result_name_lines, NULL, err);
}

/* A finished folder's manifest lists its results; that of a file is the one result. */
static int visit(const struct work_folder *folder, const char *path, const struct visitor *visitor,
                 struct err *err)
{
    struct record record;
    struct arena arena = {0};
    const char *command = NULL;
    bool has_lists = !folder->target;
    bool has_all = has_lists && folder->state == WORK_FINISHED;
    int found = 1;
    int failed = record_open(&record, path, err);
    while (!failed && (found = record_next(&record, err)) > 0) {
        if (record.files && has_lists)
            failed = see_files(record.files, visitor, err);
        if (!has_all && !command && manifest_is_command(record.line, record.size)) {
            command = arena_text(&arena, record.line, record.size, err);
            failed = failed || !command;
        }
    }
    failed = failed || found < 0 || (command && see_command(folder, command, visitor, &arena, err));
    record_close(&record);
    arena_release(&arena);
    return failed ? -1 : 0;
}

int work_owned_check_room(struct work_folder *folder, const struct result_list *results,
                          struct err *err)
{
    struct claims claims = {.folder = folder};
    const struct visitor visitor = {claim, &claims};
    int failed =
        (folder->state != WORK_NONE && visit(folder, work_folder_record(folder), &visitor, err)) ||
        results->each(results->context, &(struct seer){check_name, &claims}, err);
    item_ids_release(&claims.going);
    return failed ? -1 : 0;
}

int work_owned_clear(struct work_folder *folder, struct err *err)
{
    const struct visitor visitor = {remove_file, folder};
    if (folder->state == WORK_NONE)
        return 0;
    if (folder->state == WORK_FINISHED && rename(folder->manifest, folder->journal))
        return err_output(err, "cannot write '%s': %s", folder->journal, strerror(errno));
    return visit(folder, folder->journal, &visitor, err);
}
