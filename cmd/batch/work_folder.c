#include "work_folder.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/line_reader.h"
#include "base/listing.h"
#include "base/sha256.h"
#include "format/json.h"
#include "lens/measure.h"

enum {
    NAME_BYTES = 180,     /* of a folder's name: file systems have room for 255 */
    HASH_DIGITS = 16,     /* of a longer one */
    TEMPORARY_LETTERS = 6 /* behind the dot of a temporary file: see stream.c */
};

bool work_folder_is_folder(const char *output)
{
    return (*output && output[strlen(output) - 1] == '/') || file_is_directory(output);
}

static const char *path_in(struct work_folder *folder, const char *name, struct err *err)
{
    struct buf path = {0};
    const char *kept = NULL;
    buf_format(&path, "%s%s%s", folder->path, name ? "/" : "", name ? name : "");
    if (!buf_check(&path, err))
        kept = arena_text(&folder->arena, path.bytes, path.size, err);
    buf_release(&path);
    return kept;
}

/* DIR/ without its slash; FILE.part; or either with the shard's suffix. */
static int find_path(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err)
{
    bool is_folder = work_folder_is_folder(output);
    struct buf path = {0};
    buf_text(&path, output);
    while (path.size > 1 && path.bytes[path.size - 1] == '/')
        path.bytes[--path.size] = '\0';
    if (shard->count)
        shard_suffix(&path, shard);
    else if (!is_folder)
        buf_text(&path, ".part");
    if (!buf_check(&path, err))
        folder->path = arena_text(&folder->arena, path.bytes, path.size, err);
    if (!shard->count && !is_folder)
        folder->target = arena_text(&folder->arena, output, strlen(output), err);
    buf_release(&path);
    return folder->path && (shard->count || is_folder || folder->target) ? 0 : -1;
}

int work_folder_find(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err)
{
    *folder = (struct work_folder){0};
    if (!find_path(folder, output, shard, err)) {
        folder->journal = path_in(folder, "journal", err);
        folder->manifest = path_in(folder, "manifest.json", err);
        folder->lines = path_in(folder, "results.jsonl", err);
        folder->sums = path_in(folder, "sums", err);
        if (folder->journal && folder->manifest && folder->lines && folder->sums)
            return 0;
    }
    work_folder_release(folder);
    return -1;
}

void work_folder_release(struct work_folder *folder)
{
    arena_release(&folder->arena);
    *folder = (struct work_folder){0};
}

void work_folder_name(struct buf *out, const char *job)
{
    size_t begin = out->size;
    for (const char *at = job; *at; at++) {
        bool plain = isalnum((unsigned char)*at) || strchr("-_,=+", *at) ||
                     (*at == '.' && at > job); /* no hidden folder, and not ".." */
        if (plain && (unsigned char)*at < 0x80)
            buf_char(out, *at);
        else
            buf_format(out, "%%%02X", (unsigned char)*at);
    }
    if (out->out_of_memory || out->size - begin <= NAME_BYTES)
        return;
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    sha256_begin(&hash);
    sha256_add(&hash, job, strlen(job));
    sha256_end(&hash, digits);
    out->size = begin + NAME_BYTES - HASH_DIGITS;
    buf_bytes(out, digits, HASH_DIGITS);
}

static int fail(const char *path, struct err *err)
{
    return err_output(err, "cannot remove '%s': %s", path, strerror(errno));
}

static int remove_file(const char *path, struct err *err)
{
    return unlink(path) && errno != ENOENT ? fail(path, err) : 0;
}

/* Remove the files in a folder whose name is chosen; all of them for NULL. */
static int remove_files(const char *folder, bool (*chosen)(const char *name), struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    int failed = listing_read(&listing, folder, &arena, err);
    for (size_t i = 0; !failed && i < listing.count; i++) {
        struct buf path = {0};
        buf_format(&path, "%s/%s", folder, listing.names[i]);
        if (!chosen || chosen(listing.names[i]))
            failed = buf_check(&path, err) || remove_file(path.bytes, err);
        buf_release(&path);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}

int work_folder_remove(const char *path, struct err *err)
{
    if (!file_is_directory(path))
        return 0;
    if (remove_files(path, NULL, err))
        return -1;
    return rmdir(path) ? fail(path, err) : 0;
}

/* What is behind the name of a measure, "entropy.csv"; NULL where there is none. */
static const char *behind_measure(const char *name)
{
    for (int i = 0; i < MEASURE_COUNT; i++) {
        size_t size = strlen(measure_rows[i].name);
        if (strncmp(name, measure_rows[i].name, size) == 0 && name[size] == '.')
            return name + size;
    }
    return NULL;
}

/* manifest.json.aB3xY9 */
static bool is_temporary(const char *name)
{
    size_t size = strlen(name);
    const char *dot = size > TEMPORARY_LETTERS ? name + size - TEMPORARY_LETTERS - 1 : name;
    bool ours = strncmp(name, "manifest.json.", 14) == 0 || strncmp(name, "sums.", 5) == 0 ||
                behind_measure(name);
    return ours && *dot == '.';
}

int work_folder_tidy(const struct work_folder *folder, struct err *err)
{
    return remove_files(folder->path, is_temporary, err);
}

/* --- begin anew ------------------------------------------------------------------------------- */

/* A file that a manifest lists is ours to remove only where it is below the folder. */
static bool is_below(const char *file)
{
    return *file && *file != '/' && !strstr(file, "..");
}

static int remove_listed(const struct work_folder *folder, const struct json *files,
                         struct err *err)
{
    const struct json *entry = files ? json_first(files) : NULL;
    for (int failed = 0; entry && !failed; entry = json_next(entry)) {
        const char *file = NULL;
        struct buf path = {0};
        const struct json *name = json_member(entry, "file");
        if (!name || !json_get_text(name, &file) || !is_below(file))
            continue;
        buf_format(&path, "%s/%s", folder->path, file);
        failed = buf_check(&path, err) || remove_file(path.bytes, err);
        char *slash = strchr(file, '/') ? strrchr(path.bytes, '/') : NULL;
        if (slash) {
            *slash = '\0';
            rmdir(path.bytes); /* when its last file is gone; others may have put more there */
        }
        buf_release(&path);
        if (failed)
            return -1;
    }
    return 0;
}

/* What one line of a manifest or a journal lists. */
static int clear_line(const struct work_folder *folder, char *line, size_t size, struct err *err)
{
    struct json *root = NULL;
    int failed = 0;
    for (; size && *line == ' '; line++)
        size--;
    while (size && (line[size - 1] == ',' || line[size - 1] == ']'))
        size--;
    if (size && *line == '{' && !json_parse(&root, line, size, NULL) && json_is_object(root))
        failed = remove_listed(folder, json_member(root, "files"), err);
    json_free(root);
    return failed;
}

static int clear_from(const struct work_folder *folder, const char *path, struct err *err)
{
    struct line_reader reader = {.descriptor = open(path, O_RDONLY | O_CLOEXEC), .name = path};
    bool more = true;
    int failed = 0;
    if (reader.descriptor < 0)
        return 0;
    while (more && !failed) {
        failed = line_reader_next(&reader, &more, err);
        if (more && !failed)
            failed = clear_line(folder, reader.line, reader.size, err);
    }
    close(reader.descriptor);
    line_reader_release(&reader);
    return failed ? -1 : remove_file(path, err);
}

static bool is_result(const char *name)
{
    static const char *const endings[] = {".txt", ".csv", ".tidy.csv"};
    const char *ending = behind_measure(name);
    bool found = strcmp(name, "results.jsonl") == 0 || strcmp(name, "sums") == 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && ending; i++)
        found = found || strcmp(ending, endings[i]) == 0;
    return found;
}

int work_folder_clear(const struct work_folder *folder, struct err *err)
{
    bool ours = file_exists(folder->journal) || file_exists(folder->manifest);
    if (!ours)
        return 0;
    if (work_folder_tidy(folder, err) || remove_files(folder->path, is_result, err))
        return -1;
    return clear_from(folder, folder->journal, err) || clear_from(folder, folder->manifest, err)
               ? -1
               : 0;
}
