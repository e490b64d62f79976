#include "work_listed.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "work_names.h"

enum listed_state {
    LISTED_SAME,
    LISTED_MISSING,
    LISTED_OTHER,
};

const char *work_listed_name(const struct json *entry)
{
    const char *name = NULL;
    const struct json *member = json_is_object(entry) ? json_member(entry, "file") : NULL;
    return member && json_get_text(member, &name) && work_names_lists(name) ? name : NULL;
}

size_t work_listed_bytes(const struct json *entry)
{
    long long bytes = 0;
    const struct json *member = json_is_object(entry) ? json_member(entry, "bytes") : NULL;
    return member && json_get_integer(member, 0, (long long)1 << 60, &bytes) ? (size_t)bytes : 0;
}

const char *work_listed_hash(const struct json *entry)
{
    const char *digits = NULL;
    const struct json *member = json_is_object(entry) ? json_member(entry, "sha256") : NULL;
    return member && json_get_text(member, &digits) ? digits : "";
}

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

static int look_at_file(enum listed_state *state, const char *path, const struct json *entry,
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
    if (size != work_listed_bytes(entry) || strcmp(digits, work_listed_hash(entry)) != 0)
        *state = LISTED_OTHER;
    return 0;
}

static int look_at_entry(bool *missing, const struct work_folder *folder, const char *record,
                         const struct json *entry, struct err *err)
{
    struct buf path = {0};
    enum listed_state state = LISTED_SAME;
    const char *name = work_listed_name(entry);
    if (!name)
        return err_set(err, "'%s': expected a list of files that a batch makes, found others",
                       record);
    const char *slash = strchr(name, '/');
    buf_format(&path, "%s/%.*s", folder->path, (int)(slash ? slash - name : 0), name);
    int failed = buf_check(&path, err);
    if (!failed && slash)
        failed = look_at_kind(&state, path.bytes, S_IFDIR, err);
    if (!failed && state == LISTED_SAME) {
        buf_text(&path, slash ? slash : name);
        failed = buf_check(&path, err) || look_at_file(&state, path.bytes, entry, err);
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

int work_listed_check(bool *missing, const struct work_folder *folder, const char *record,
                      const struct json *files, struct err *err)
{
    const struct json *entry = files && json_is_array(files) ? json_first(files) : NULL;
    for (; entry; entry = json_next(entry))
        if (look_at_entry(missing, folder, record, entry, err))
            return -1;
    return 0;
}
