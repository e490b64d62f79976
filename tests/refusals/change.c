#include "change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "case_table.h"
#include "format/pytorch.h"
#include "../unit/rigs/zip_made.h"

enum { LENGTH_BYTES = 8 };

static const char model_file[] = "m/model.safetensors";
static const char pickled_file[] = "m/pytorch_model.bin";

/* The parts of a change. */
struct change {
    char *name;       /* of the file */
    const char *text; /* after the verb */
    struct err *err;
};

static int fail(const struct change *change)
{
    return err_set(change->err, "'%s': %s", change->name, strerror(errno));
}

static int write_file(const struct change *change, const char *name, const char *mode,
                      const struct buf *bytes)
{
    FILE *out = fopen(name, mode);
    if (!out)
        return fail(change);
    size_t written = bytes->size ? fwrite(bytes->bytes, 1, bytes->size, out) : 0;
    return fclose(out) || written != bytes->size ? fail(change) : 0;
}

static int write_text(const struct change *change, const char *mode)
{
    struct buf bytes = {0};
    case_table_decode(&bytes, change->text, strlen(change->text));
    int failed = buf_check(&bytes, change->err) || write_file(change, change->name, mode, &bytes);
    buf_release(&bytes);
    return failed;
}

static int set(const struct change *change)
{
    return write_text(change, "w");
}

static int append(const struct change *change)
{
    return write_text(change, "a");
}

/* Copy `from`, with the first OLD of "OLD -> NEW" replaced by NEW. */
static int replace(struct buf *to, const char *from, size_t size, const struct change *change)
{
    static const char arrow[] = " -> ";
    struct buf old = {0};
    const char *middle = strstr(change->text, arrow);
    int failed = -1;
    if (!middle)
        return err_set(change->err, "expected OLD -> NEW, found '%s'", change->text);
    case_table_decode(&old, change->text, (size_t)(middle - change->text));
    const char *at = memmem(from, size, old.bytes, old.size);
    if (at) {
        const char *new = middle + strlen(arrow);
        buf_bytes(to, from, (size_t)(at - from));
        case_table_decode(to, new, strlen(new));
        buf_bytes(to, at + old.size, (size_t)(from + size - at) - old.size);
        failed = buf_check(to, change->err);
    } else {
        err_set(change->err, "'%s': nothing there reads '%s'", change->name, change->text);
    }
    buf_release(&old);
    return failed;
}

static int change_text(const struct change *change)
{
    struct file file = {0};
    struct buf bytes = {0};
    if (file_map(&file, change->name, change->err))
        return -1;
    int failed = replace(&bytes, file.bytes, file.size, change);
    file_release(&file);
    failed = failed || write_file(change, change->name, "w", &bytes);
    buf_release(&bytes);
    return failed;
}

/* --- the header of m/model.safetensors; data.pkl of m/pytorch_model.bin ----------------------- */

static size_t header_size(const struct file *file)
{
    return (unsigned char)file->bytes[0] + 256u * (unsigned char)file->bytes[1];
}

static void add_length(struct buf *bytes, size_t length)
{
    for (int i = 0; i < LENGTH_BYTES; i++)
        buf_char(bytes, (char)(length >> 8 * i & 0xff));
}

/* Replace the header and its length. */
static int rewrite_header(const struct change *change,
                          int (*make)(struct buf *, const char *, size_t, const struct change *))
{
    struct file file = {0};
    struct buf header = {0};
    struct buf all = {0};
    if (file_map(&file, model_file, change->err))
        return -1;
    size_t size = header_size(&file);
    int failed = make(&header, file.bytes + LENGTH_BYTES, size, change);
    add_length(&all, header.size);
    buf_bytes(&all, header.bytes, header.size);
    buf_bytes(&all, file.bytes + LENGTH_BYTES + size, file.size - LENGTH_BYTES - size);
    file_release(&file);
    failed = failed || write_file(change, model_file, "w", &all);
    buf_release(&header);
    buf_release(&all);
    return failed;
}

static int whole_text(struct buf *to, const char *from, size_t size, const struct change *change)
{
    (void)from, (void)size;
    case_table_decode(to, change->text, strlen(change->text));
    return buf_check(to, change->err);
}

/* Write the archive again with another data.pkl. */
static int rewrite_pickle(const struct change *change,
                          int (*make)(struct buf *, const char *, size_t, const struct change *))
{
    struct file file = {0};
    struct arena arena = {0};
    struct zip zip = {0};
    struct zip_made made = {0};
    struct buf pickle = {0};
    int failed = file_map(&file, pickled_file, change->err) ||
                 zip_read(&zip, &file, "torch.save", &arena, change->err);
    for (size_t i = 0; i < zip.count && !failed; i++) {
        const struct zip_entry *entry = &zip.entries[i];
        bool found = memmem(entry->name, entry->name_size, "data.pkl", 8);
        if (found)
            failed = make(&pickle, entry->data, entry->size, change);
        zip_made_add(&made, entry->name, entry->name_size, found ? pickle.bytes : entry->data,
                     found ? pickle.size : entry->size);
    }
    zip_made_end(&made);
    file_release(&file);
    failed = failed || write_file(change, pickled_file, "w", &made.file);
    zip_made_release(&made);
    buf_release(&pickle);
    hash_table_release(&zip.names);
    arena_release(&arena);
    return failed;
}

static bool is_named(const struct change *change, const char *name)
{
    return strcmp(change->name, name) == 0;
}

static int set_any(const struct change *change)
{
    return is_named(change, "header")   ? rewrite_header(change, whole_text)
           : is_named(change, "pickle") ? rewrite_pickle(change, whole_text)
                                        : set(change);
}

static int change_any(const struct change *change)
{
    return is_named(change, "header")   ? rewrite_header(change, replace)
           : is_named(change, "pickle") ? rewrite_pickle(change, replace)
                                        : change_text(change);
}

/* --- whole files ------------------------------------------------------------------------------ */

static int cut(const struct change *change)
{
    struct stat status;
    long long size = atoll(change->text);
    if (size < 0 && stat(change->name, &status) == 0)
        size += status.st_size;
    return truncate(change->name, size) ? fail(change) : 0;
}

static int grow(const struct change *change)
{
    FILE *out = fopen(change->name, "a");
    if (!out)
        return fail(change);
    fclose(out);
    return truncate(change->name, atoll(change->text)) ? fail(change) : 0;
}

static int gone(const struct change *change)
{
    return unlink(change->name) ? fail(change) : 0;
}

static int moved(const struct change *change)
{
    return rename(change->name, change->text) ? fail(change) : 0;
}

static int folder(const struct change *change)
{
    return mkdir(change->name, 0777) ? fail(change) : 0;
}

static int make_link(const struct change *change)
{
    return symlink(change->text, change->name) ? fail(change) : 0;
}

static const struct verb {
    const char *mark; /* between the name of the file and the rest */
    int (*apply)(const struct change *change);
} verbs[] = {
    {" = ", set_any},   {" += ", append},     {": ", change_any},
    {" cut ", cut},     {" grow ", grow},     {" gone ", gone},
    {" moved ", moved}, {" folder ", folder}, {" link ", make_link},
};

/* The first verb in the line; later ones are part of its text. */
static const struct verb *find_verb(const char *line, const char **at)
{
    const struct verb *first = NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *found = strstr(line, verbs[i].mark);
        if (found && (!first || found < *at)) {
            first = &verbs[i];
            *at = found;
        }
    }
    return first;
}

int change_apply(const char *line, struct err *err)
{
    struct buf text = {0};
    const char *at = NULL;
    int failed = -1;
    buf_format(&text, "%s ", line); /* with a blank, because a verb may be the last word */
    if (buf_check(&text, err))
        return -1;
    const struct verb *verb = find_verb(text.bytes, &at);
    if (verb) {
        struct change change = {text.bytes, at + strlen(verb->mark), err};
        text.bytes[text.size - 1] = '\0';
        if (change.text > text.bytes + text.size - 1)
            change.text = "";
        text.bytes[at - text.bytes] = '\0';
        failed = verb->apply(&change);
    } else {
        err_set(err, "expected a change, found '%s'", line);
    }
    buf_release(&text);
    return failed;
}
