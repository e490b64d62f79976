#include "shard_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "work_names.h"

static const char items_line[] = " \"items\": [";
static const char files_line[] = " \"files\": ";

static int refuse(const struct shard_manifest *shard, const char *found, struct err *err)
{
    return err_set(err, "'%s': expected a manifest as batch writes it, found %s", shard->path,
                   found);
}

static int read_line(struct shard_manifest *shard, struct err *err)
{
    bool more = true;
    if (line_reader_next(&shard->reader, &more, err))
        return -1;
    return more && shard->reader.whole ? 0 : refuse(shard, "its end too early", err);
}

static bool begins(const struct shard_manifest *shard, const char *word)
{
    size_t size = strlen(word);
    return shard->reader.size >= size && memcmp(shard->reader.line, word, size) == 0;
}

/* Keep the lines up to that of the items. */
static int read_head(struct shard_manifest *shard, struct err *err)
{
    if (read_line(shard, err))
        return -1;
    if (shard->reader.size != 1 || *shard->reader.line != '{')
        return refuse(shard, "something else", err);
    while (!read_line(shard, err)) {
        struct buf line = {0};
        if (begins(shard, items_line)) {
            shard->in_items = shard->reader.size == sizeof items_line - 1;
            return 0;
        }
        if (shard->line_count == MANIFEST_LINES)
            return refuse(shard, "more lines", err);
        buf_bytes(&line, shard->reader.line, shard->reader.size);
        buf_char(&line, '\n');
        const char *copy =
            buf_check(&line, err) ? NULL : arena_text(&shard->arena, line.bytes, line.size, err);
        buf_release(&line);
        shard->lines[shard->line_count++] = copy;
        if (!copy)
            return -1;
    }
    return -1;
}

/* FOLDER/manifest.json, opened. */
static int open_file(struct shard_manifest *shard, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/manifest.json", shard->folder);
    if (!buf_check(&path, err))
        shard->path = arena_text(&shard->arena, path.bytes, path.size, err);
    buf_release(&path);
    if (!shard->path)
        return -1;
    if (!file_exists(shard->path))
        return err_set(err,
                       "'%s': expected a shard that is finished, found no manifest.json: run "
                       "it again with --resume",
                       shard->folder);
    shard->reader.name = shard->path;
    shard->reader.descriptor = open(shard->path, O_RDONLY | O_CLOEXEC);
    if (shard->reader.descriptor >= 0)
        return 0;
    return err_set(err, "cannot open '%s': %s", shard->path, strerror(errno));
}

int shard_manifest_open(struct shard_manifest *shard, const char *folder, struct err *err)
{
    *shard = (struct shard_manifest){.folder = folder, .reader.descriptor = -1};
    if (!open_file(shard, err) && !read_head(shard, err))
        return 0;
    shard_manifest_close(shard);
    return -1;
}

void shard_manifest_close(struct shard_manifest *shard)
{
    json_free(shard->root);
    json_free(shard->files);
    if (shard->path && shard->reader.descriptor >= 0)
        close(shard->reader.descriptor);
    line_reader_release(&shard->reader);
    arena_release(&shard->arena);
    *shard = (struct shard_manifest){0};
}

/* The line ` "files": [...],` and nothing of interest behind it. */
static int read_files(struct shard_manifest *shard, struct err *err)
{
    size_t name = sizeof files_line - 1;
    if (read_line(shard, err))
        return -1;
    size_t size = shard->reader.size;
    if (!begins(shard, files_line) || shard->reader.line[size - 1] != ',')
        return refuse(shard, "no list of files", err);
    if (json_parse(&shard->files, shard->reader.line + name, size - 1 - name, err))
        return err_prefix(err, "'%s'", shard->path);
    return json_is_array(shard->files) ? 0 : refuse(shard, "no list of files", err);
}

int shard_manifest_next(struct shard_manifest *shard, bool *more, struct err *err)
{
    json_free(shard->root);
    shard->root = NULL;
    *more = shard->in_items;
    if (!shard->in_items)
        return read_files(shard, err);
    if (read_line(shard, err))
        return -1;
    const char *line = shard->reader.line;
    size_t size = shard->reader.size;
    if (size < 4 || memcmp(line, "  {", 3) != 0 || line[size - 1] != ',')
        return refuse(shard, "no item where one should be", err);
    shard->in_items = line[size - 2] != ']';
    shard->item = line + 2;
    shard->item_size = size - 2 - (shard->in_items ? 1 : 2);
    if (json_parse(&shard->root, shard->item, shard->item_size, err))
        return err_prefix(err, "'%s'", shard->path);
    return json_is_object(shard->root) ? 0 : refuse(shard, "an item that is no object", err);
}

int shard_manifest_file(const struct shard_manifest *shard, const struct json *entry,
                        struct shard_file *file, struct err *err)
{
    const struct json *name = json_is_object(entry) ? json_member(entry, "file") : NULL;
    const struct json *hash = json_is_object(entry) ? json_member(entry, "sha256") : NULL;
    if (!name || !hash || !json_get_text(name, &file->name) ||
        !json_get_text(hash, &file->sha256) || !work_names_lists(file->name))
        return refuse(shard, "no name and hash of a file that a batch makes", err);
    return 0;
}
