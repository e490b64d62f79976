#include "verdict.h"

#include <string.h>

#include "base/stream.h"
#include "trouble.h"

enum { STATUSES = 8, SHOWN_BYTES = 300 };

/* A training says that it saved itself, whatever the signal. */
static bool is_interrupted(const struct scene *scene)
{
    int more = scene->trouble->status_more;
    return more &&
           (scene->status == more || (scene->chore->saves && scene->status == ERR_INTERRUPTED));
}

bool verdict_items_failed(const struct scene *scene)
{
    return scene->chore->goes_on && scene->status == ERR_FAILED &&
           (scene->trouble->statuses & MAY_FAIL_ITEMS);
}

static bool may_end_so(const struct scene *scene)
{
    const struct trouble *trouble = scene->trouble;
    unsigned statuses = trouble->expect ? trouble->expect(scene) : trouble->statuses;
    if (scene->status >= SIGNALLED)
        return trouble->signal && scene->status == SIGNALLED + trouble->signal;
    if (is_interrupted(scene))
        return true;
    if (scene->status == ERR_FAILED)
        return verdict_items_failed(scene);
    return scene->status < STATUSES && (statuses >> scene->status & 1);
}

static void judge_end(struct buf *faults, const struct scene *scene)
{
    if (may_end_so(scene))
        return;
    if (scene->status >= SIGNALLED)
        buf_format(faults, "  it was ended by signal %d\n", scene->status - SIGNALLED);
    else
        buf_format(faults, "  it ended with status %d\n", scene->status);
}

/* --- what it said ----------------------------------------------------------------------------- */

/* The last line, behind those of a batch's items. */
static struct buf own_words(const struct scene *scene)
{
    struct buf said = scene->said; /* a view */
    bool more = verdict_items_failed(scene);
    while (more && said.size) {
        const char *end = memchr(said.bytes, '\n', said.size);
        size_t size = end ? (size_t)(end + 1 - said.bytes) : said.size;
        if (size == said.size)
            break;
        said.bytes += size;
        said.size -= size;
    }
    return said;
}

static bool is_message(const struct buf *said)
{
    static const char beginning[] = "attn-cli: error: ";
    return said->size >= sizeof beginning &&
           memcmp(said->bytes, beginning, sizeof beginning - 1) == 0 &&
           memchr(said->bytes, '\n', said->size) == said->bytes + said->size - 1;
}

static void judge_message(struct buf *faults, const struct scene *scene)
{
    bool refused = scene->status > 0 && scene->status < STATUSES;
    bool is_mute = scene->trouble->is_mute && scene->trouble->is_mute(scene);
    struct buf said = own_words(scene);
    const char *wrong = NULL;
    if (refused && !is_mute && !is_message(&said))
        wrong = "expected one line of a message";
    else if (!refused && said.size && !is_message(&said))
        wrong = "expected no message";
    else if (scene->status == 0 && said.size)
        wrong = "expected no message of what succeeded";
    if (wrong)
        buf_format(faults, "  %s, found '%.*s'\n", wrong,
                   (int)(scene->said.size < SHOWN_BYTES ? scene->said.size : SHOWN_BYTES),
                   scene->said.size ? scene->said.bytes : "");
}

static void judge_printed(struct buf *faults, const struct scene *scene)
{
    const struct buf *whole = &scene->whole->printed;
    const struct buf *printed = &scene->printed;
    if (!scene->trouble->to_stdout || scene->trouble->partly_read || scene->status)
        return;
    if (printed->size != whole->size || memcmp(printed->bytes, whole->bytes, whole->size) != 0)
        buf_format(faults, "  it printed %zu bytes, other than the %zu it prints in peace\n",
                   printed->size, whole->size);
}

/* --- what it left ----------------------------------------------------------------------------- */

static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return stream_is_temporary(slash ? slash + 1 : path);
}

static size_t count_lines(const struct held *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->size; i++)
        count += file->bytes[i] == '\n';
    return count;
}

static bool is_beginning_of(const struct held *file, const struct held *whole)
{
    return whole && !whole->is_folder && file->size <= whole->size &&
           memcmp(file->bytes, whole->bytes, file->size) == 0;
}

/* By a signal, whether or not it could see to anything before. */
static bool is_ended(const struct scene *scene)
{
    return is_interrupted(scene) || scene->trouble->may_leave;
}

/* While a batch has no manifest, nothing in its folder has its final name. Then its journal and its
 * lock go: who is ended just then leaves them. */
static bool is_work(const struct scene *scene, const struct holding *after, const char *path)
{
    static const char folder[] = "disk/out";
    if (!scene->chore->goes_on || strncmp(path, folder, sizeof folder - 1) != 0)
        return false;
    return strstr(path, ".part") || strstr(path, "-of-") ||
           (is_ended(scene) && strcmp(path, "disk/out/journal") == 0) ||
           (is_ended(scene) && strstr(path, "/.attn-cli")) ||
           !holding_find(after, "disk/out/manifest.json");
}

/* Where a training's times stand, they differ. */
static bool is_same(const struct scene *scene, const struct held *file, const struct held *whole)
{
    static const char name[] = "/log.csv";
    size_t length = strlen(file->path);
    if (held_same(file, whole))
        return true;
    if (!whole || !scene->chore->saves || length < sizeof name)
        return false;
    return strcmp(file->path + length - (sizeof name - 1), name) == 0 && file->size &&
           file->bytes[file->size - 1] == '\n' && count_lines(file) == count_lines(whole);
}

/* What was saved at another step is as long, but for the digits of numbers. */
static bool is_saved(const struct scene *scene, const struct held *file, const struct held *whole)
{
    return scene->chore->saves && is_interrupted(scene) && whole &&
           (file->size == whole->size || strstr(file->path, "/log.csv"));
}

static void judge_file(struct buf *faults, const struct scene *scene, const struct held *file,
                       const struct holding *before, const struct holding *after)
{
    const struct held *whole = holding_find(&scene->whole->files, file->path);
    if (is_temporary(file->path)) {
        if (!scene->trouble->may_leave)
            buf_format(faults, "  it left '%s'\n", file->path);
    } else if (!is_same(scene, file, whole) && !is_saved(scene, file, whole) &&
               !held_same(file, holding_find(before, file->path)) && !verdict_items_failed(scene) &&
               !is_work(scene, after, file->path)) {
        buf_format(faults, "  '%s' is neither whole (%zu bytes) nor what was there: %zu bytes%s\n",
                   file->path, whole ? whole->size : 0, file->size,
                   is_beginning_of(file, whole) ? ", cut off" : "");
    }
}

static void judge_gone(struct buf *faults, const struct scene *scene, const struct holding *before,
                       const struct holding *after)
{
    for (size_t i = 0; i < before->count; i++) {
        const char *path = before->files[i].path;
        bool is_cleared =
            strncmp(path, "disk/out/", 9) == 0 &&
            (is_work(scene, after, path) || verdict_items_failed(scene)); /* by --force */
        if (!holding_find(after, path) && holding_find(&scene->whole->files, path) && !is_cleared)
            buf_format(faults, "  '%s' is gone\n", path);
    }
}

static void judge_whole(struct buf *faults, const struct scene *scene, const struct holding *after)
{
    const struct holding *whole = &scene->whole->files;
    for (size_t i = 0; i < whole->count; i++) {
        const struct held *file = holding_find(after, whole->files[i].path);
        if (!file || !is_same(scene, file, &whole->files[i]))
            buf_format(faults, "  '%s' is not what it is in peace\n", whole->files[i].path);
    }
    for (size_t i = 0; i < after->count; i++)
        if (!holding_find(whole, after->files[i].path) &&
            !(scene->trouble->may_leave && is_temporary(after->files[i].path)))
            buf_format(faults, "  '%s' is too many\n", after->files[i].path);
}

void verdict_on(struct buf *faults, const struct scene *scene, const struct holding *before,
                const struct holding *after)
{
    judge_end(faults, scene);
    judge_message(faults, scene);
    judge_printed(faults, scene);
    for (size_t i = 0; i < after->count; i++)
        judge_file(faults, scene, &after->files[i], before, after);
    judge_gone(faults, scene, before, after);
    if (scene->status == 0 && !scene->trouble->to_stdout)
        judge_whole(faults, scene, after);
}

void verdict_on_repeat(struct buf *faults, const struct scene *scene, const struct holding *after)
{
    if (scene->status)
        buf_format(faults, "  once more, in peace: status %d: %.*s\n", scene->status,
                   (int)scene->said.size, scene->said.size ? scene->said.bytes : "");
    judge_whole(faults, scene, after);
}
