#include "reductions.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/line_reader.h"
#include "base/num.h"
#include "base/sha256.h"
#include "base/transfer.h"
#include "format/json_writer.h"

static const char seal[] = "sha256,";

enum { SIZE_MAX_READ = 1 << 30, SEAL_BYTES = sizeof seal - 1 + SHA256_DIGITS + 1 };

/* --- sums out --------------------------------------------------------------------------------- */

static void add_text(struct buf *out, const char *text)
{
    json_append_text(out, text, strlen(text));
}

static void describe(struct buf *out, const struct reduction_group *group)
{
    const struct reduction_size *size = &group->size;
    buf_text(out, "{\"model\": ");
    add_text(out, group->model);
    buf_text(out, ", \"settings\": {");
    for (size_t i = 0; i < group->setting_count; i++) {
        buf_text(out, i ? ", " : "");
        add_text(out, group->settings[i].name);
        buf_text(out, ": ");
        add_text(out, group->settings[i].value);
    }
    buf_format(
        out, "}, \"layers\": %zu, \"heads\": %zu, \"queries\": %zu, \"keys\": %zu, \"causal\": %s}",
        size->layers, size->heads, size->queries, size->keys, size->causal ? "true" : "false");
}

static int write_group(struct stream *out, const struct reduction_group *group, struct err *err)
{
    struct buf line = {0};
    describe(&line, group);
    int failed = buf_check(&line, err);
    if (!failed) {
        stream_bytes(out, line.bytes, line.size);
        stream_format(out, "\ntexts,%llu\n", (unsigned long long)group->texts);
        reduction_write_sums(out, &group->reduction);
    }
    buf_release(&line);
    return failed;
}

int reductions_write(struct stream *out, const struct reductions *reductions, size_t done,
                     struct err *err)
{
    stream_format(out, "{\"done\": %zu}\n", done);
    for (const struct reduction_group *group = reductions->first; group; group = group->next)
        if (write_group(out, group, err))
            return -1;
    return 0;
}

/* The last line of what is saved: sha256,DIGITS */
static int add_seal(const char *path, struct err *err)
{
    char line[SEAL_BYTES + 1];
    char digits[SHA256_DIGITS + 1];
    size_t size = 0;
    if (sha256_file(path, &size, digits, err))
        return -1;
    snprintf(line, sizeof line, "%s%s\n", seal, digits);
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    int failed =
        descriptor < 0 || transfer_write(descriptor, line, SEAL_BYTES) || fsync(descriptor);
    if (failed)
        err_output(err, "cannot write '%s': %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return failed ? -1 : 0;
}

int reductions_save(const struct reductions *reductions, const char *path, size_t done,
                    struct err *err)
{
    struct stream out = {0};
    if (stream_open(&out, path, err))
        return -1;
    int failed = reductions_write(&out, reductions, done, err);
    return stream_end(&out, failed, err) || add_seal(path, err) ? -1 : 0;
}

int reductions_check_saved(const char *path, struct err *err)
{
    char line[SEAL_BYTES + 1] = "";
    char digits[SHA256_DIGITS + 1] = "";
    struct stat status;
    int descriptor = file_open_regular(path, err);
    if (descriptor < 0)
        return -1;
    int failed = fstat(descriptor, &status);
    off_t size = failed || status.st_size < SEAL_BYTES ? 0 : status.st_size - SEAL_BYTES;
    failed = failed || pread(descriptor, line, SEAL_BYTES, size) < 0 ||
             sha256_range(descriptor, 0, (size_t)size, digits);
    if (failed)
        err_set(err, "cannot read '%s': %s", path, strerror(errno));
    close(descriptor);
    size_t word = sizeof seal - 1;
    bool same = strncmp(line, seal, word) == 0 &&
                strncmp(line + word, digits, SHA256_DIGITS) == 0 && line[SEAL_BYTES - 1] == '\n';
    if (!failed && !same)
        return err_usage(err,
                         "'%s': expected sums whose last line has the hash of the others, found "
                         "something else: move it, and --resume makes them again",
                         path);
    return failed ? -1 : 0;
}

/* --- sums in ---------------------------------------------------------------------------------- */

struct loading {
    struct reductions *reductions;
    struct reduction_group *group; /* the one whose lines come */
    bool fresh;                    /* groups are the file's */
    size_t line;
    struct line_reader reader;
    struct err *err;
};

static int refuse(struct loading *loading, const char *expected)
{
    return err_set(loading->err, "expected %s", expected);
}

static const char *copy_text(struct loading *loading, const char *text)
{
    return arena_text(&loading->reductions->arena, text, strlen(text), loading->err);
}

static int read_settings(struct loading *loading, struct reduction_group *group,
                         const struct json *settings)
{
    size_t count = settings ? json_count(settings) : 0;
    group->settings =
        arena_alloc(&loading->reductions->arena, count, sizeof *group->settings, loading->err);
    if (!group->settings)
        return -1;
    const struct json *member = settings ? json_first(settings) : NULL;
    for (; member; member = json_next(member)) {
        const char *value = NULL;
        struct reduction_setting *setting = &group->settings[group->setting_count++];
        if (!json_get_text(member, &value))
            return refuse(loading, "settings that are texts");
        setting->name = copy_text(loading, json_key(member));
        setting->value = copy_text(loading, value);
        if (!setting->name || !setting->value)
            return -1;
    }
    return 0;
}

static int read_size(const struct json *root, const char *name, size_t *size, struct err *err)
{
    long long number = -1;
    if (json_integer(root, name, 1, SIZE_MAX_READ, &number, err))
        return -1;
    *size = (size_t)number;
    return number < 0 ? err_set(err, "expected a field '%s', found none", name) : 0;
}

static int make_group(struct loading *loading, const struct json *root)
{
    struct err *err = loading->err;
    struct reduction_group *group = loading->group = reductions_add(loading->reductions, err);
    const char *model = NULL;
    if (!group || json_text(root, "model", &model, err) ||
        read_settings(loading, group, json_member(root, "settings")) ||
        read_size(root, "layers", &group->size.layers, err) ||
        read_size(root, "heads", &group->size.heads, err) ||
        read_size(root, "queries", &group->size.queries, err) ||
        read_size(root, "keys", &group->size.keys, err) ||
        json_bool(root, "causal", &group->size.causal, err))
        return -1;
    group->model = copy_text(loading, model ? model : "");
    return group->model && !reduction_init(&group->reduction, loading->reductions->measures,
                                           &group->size, &loading->reductions->arena, err)
               ? 0
               : -1;
}

/* A group that is there must be the one that the file goes on with. */
static int read_group(struct loading *loading)
{
    struct json *root = NULL;
    struct buf line = {0};
    if (loading->fresh) {
        int failed = json_parse(&root, loading->reader.line, loading->reader.size, loading->err) ||
                     make_group(loading, root);
        json_free(root);
        return failed ? -1 : 0;
    }
    loading->group = loading->group ? loading->group->next : loading->reductions->first;
    if (loading->group)
        describe(&line, loading->group);
    bool same = loading->group && !line.out_of_memory && line.size == loading->reader.size &&
                memcmp(line.bytes, loading->reader.line, line.size) == 0;
    buf_release(&line);
    return same ? 0 : refuse(loading, "the same settings and sizes as elsewhere, found others");
}

static int read_texts(struct loading *loading, const char *text, size_t size)
{
    char digits[32];
    long long texts = 0;
    if (size >= sizeof digits)
        return refuse(loading, "a number of texts");
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (!num_parse_integer(digits, 0, INT64_MAX, &texts))
        return refuse(loading, "a number of texts");
    loading->group->texts += (uint64_t)texts;
    return 0;
}

static int read_line(struct loading *loading)
{
    static const char texts[] = "texts,";
    const char *line = loading->reader.line;
    size_t size = loading->reader.size;
    size_t word = sizeof texts - 1;
    if (size && line[0] == '{')
        return read_group(loading);
    if (size == SEAL_BYTES - 1 && memcmp(line, seal, sizeof seal - 1) == 0)
        return 0; /* was checked before */
    if (!loading->group)
        return refuse(loading, "a group of sums");
    if (size > word && memcmp(line, texts, word) == 0)
        return read_texts(loading, line + word, size - word);
    return reduction_read_sum(&loading->group->reduction, line, size, loading->err);
}

static int read_done(struct loading *loading, size_t *done)
{
    struct json *root = NULL;
    long long number = -1;
    int failed = json_parse(&root, loading->reader.line, loading->reader.size, loading->err) ||
                 json_integer(root, "done", 0, SIZE_MAX_READ, &number, loading->err);
    json_free(root);
    *done = (size_t)number;
    return failed || number < 0 ? refuse(loading, "how many jobs are done") : 0;
}

static int read_lines(struct loading *loading, size_t *done)
{
    bool more = true;
    for (loading->line = 1;; loading->line++) {
        if (line_reader_next(&loading->reader, &more, loading->err))
            return -1;
        if (!more)
            return loading->line > 1 ? 0 : refuse(loading, "sums, found nothing");
        if (!loading->reader.whole)
            return refuse(loading, "whole lines, found a part of one");
        if (loading->line == 1 ? read_done(loading, done) : read_line(loading))
            return -1;
    }
}

int reductions_load(struct reductions *reductions, const char *path, size_t *done, struct err *err)
{
    struct loading loading = {.reductions = reductions, .fresh = !reductions->first, .err = err};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", path, strerror(errno));
    loading.reader = (struct line_reader){.descriptor = descriptor, .name = path};
    int failed = read_lines(&loading, done);
    if (failed)
        err_prefix(err, "'%s' line %zu", path, loading.line);
    line_reader_release(&loading.reader);
    close(descriptor);
    return failed;
}
