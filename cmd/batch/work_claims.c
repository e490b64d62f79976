#include "work_claims.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/listing.h"
#include "work_clear.h"
#include "work_listed.h"
#include "work_record.h"

/* --- an item's folder ------------------------------------------------------------------------- */

static bool lists(const struct json *files, const char *name)
{
    for (const struct json *entry = json_first(files); entry; entry = json_next(entry)) {
        const char *listed = work_listed_name(entry);
        if (listed && strcmp(listed, name) == 0)
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
        const char *name = work_listed_name(entry);
        path->size = root;
        buf_text(path, name ? name : "");
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

static int check_item(const struct work_folder *folder, const struct json *files, const char *name,
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

static int check_result(const struct work_folder *folder, const char *name, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s", folder->path, name);
    mode_t kind = 0;
    int failed = buf_check(&path, err) || file_kind(&kind, path.bytes, err);
    if (kind && !S_ISREG(kind))
        failed = work_folder_refuse(path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

/* --- what is listed --------------------------------------------------------------------------- */

static int note(struct work_claims *claims, const char *name, struct err *err)
{
    size_t line = 1;
    struct buf first = {0};
    buf_bytes(&first, name, strcspn(name, "/"));
    int failed = buf_check(&first, err) || item_ids_note(&claims->names, first.bytes, &line, err);
    buf_release(&first);
    return failed ? -1 : 0;
}

/* The files of a line, which are those of one item, or results; `claims` may be NULL. */
static int check_files(struct work_claims *claims, const struct work_folder *folder,
                       const struct json *files, struct err *err)
{
    const struct json *entry = json_first(files);
    for (; entry; entry = json_next(entry)) {
        const char *name = work_listed_name(entry);
        if (!name)
            return err_set(err, "'%s': expected a list of files that a batch makes, found others",
                           work_clear_record(folder));
        bool first = entry == json_first(files) && strchr(name, '/');
        if ((claims && note(claims, name, err)) ||
            (first && check_item(folder, files, name, err)) ||
            (!strchr(name, '/') && check_result(folder, name, err)))
            return -1;
    }
    return 0;
}

static int check_line(struct work_claims *claims, const struct work_folder *folder,
                      const char *line, size_t size, struct err *err)
{
    struct json *root = NULL;
    const struct json *files = work_record_files(&root, line, size);
    int failed = files ? check_files(claims, folder, files, err) : 0;
    json_free(root);
    return failed;
}

int work_claims_check_line(const struct work_folder *folder, const char *line, size_t size,
                           struct err *err)
{
    return check_line(NULL, folder, line, size, err);
}

static int claim_line(void *context, char *line, size_t size, struct err *err)
{
    struct work_claims *claims = context;
    return check_line(claims, claims->folder, line, size, err);
}

static int claim_result(void *context, const char *name, struct err *err)
{
    struct work_claims *claims = context;
    return check_result(claims->folder, name, err) || note(claims, name, err) ? -1 : 0;
}

int work_claims_open(struct work_claims *claims, const struct work_folder *folder, struct err *err)
{
    *claims = (struct work_claims){.folder = folder};
    if (folder->state == WORK_NONE ||
        !work_clear_walk(folder, &(struct work_clear_walk){claim_line, claim_result, claims}, err))
        return 0;
    work_claims_release(claims);
    return -1;
}

void work_claims_release(struct work_claims *claims)
{
    item_ids_release(&claims->names);
}

int work_claims_check(void *context, const char *name, struct err *err)
{
    struct work_claims *claims = context;
    size_t line = 2; /* those that go have 1 */
    if (!work_folder_check_free(claims->folder, name, NULL))
        return 0;
    if (item_ids_note(&claims->names, name, &line, err))
        return -1;
    return line == 2 ? work_folder_check_free(claims->folder, name, err) : 0;
}
