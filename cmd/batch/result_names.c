/* result_names.c: what the files and folders of a batch are called in the folder of its results. */
#include "store_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/sha256.h"
#include "draw/measured_form.h"
#include "measure/reduction.h"

enum {
    NAME_BYTES = 180, /* of a folder's name: file systems have room for 255 */
    HASH_DIGITS = 16, /* of a longer one */
};

/* --- of results ------------------------------------------------------------------------------- */

static const char lines_name[] = "results.jsonl";
static const char sums_name[] = "sums";
static const char single_name[] = "result";

static bool only(struct result_file *file, const char *name, unsigned measures,
                 const struct measured_form *form, size_t *at)
{
    snprintf(file->name, sizeof file->name, "%s", name);
    file->measures = measures;
    file->form = form;
    return (*at)++ == 0;
}

/* entropy.csv */
static bool next_of_folder(struct result_file *file, unsigned measures, size_t *at)
{
    for (; *at < MEASURE_COUNT * measured_form_count; ++*at) {
        size_t measure = *at / measured_form_count;
        const struct measured_form *form = &measured_forms[*at % measured_form_count];
        if (!form->in_folder || !(measures >> measure & 1))
            continue;
        snprintf(file->name, sizeof file->name, "%s%s", measure_rows[measure].name, form->ending);
        file->measures = 1u << measure;
        file->form = form;
        ++*at;
        return true;
    }
    return false;
}

bool result_names_next(struct result_file *file, const struct store_plan *plan, unsigned measures,
                       size_t *at)
{
    if (plan->kind == STORE_ITEMS)
        return false;
    if (plan->kind == STORE_LINES)
        return only(file, lines_name, 0, NULL, at);
    if (plan->shard.count)
        return only(file, sums_name, measures, NULL, at);
    if (plan->form)
        return only(file, single_name, measures, plan->form, at);
    return next_of_folder(file, measures, at);
}

bool result_names_have(const char *name)
{
    struct result_file file;
    for (size_t i = 0; next_of_folder(&file, ~0u, &i);)
        if (strcmp(file.name, name) == 0)
            return true;
    return strcmp(name, lines_name) == 0 || strcmp(name, sums_name) == 0 ||
           strcmp(name, single_name) == 0;
}

/* --- of items --------------------------------------------------------------------------------- */

static bool is_reserved(const char *name, size_t size)
{
    static const char *const names[] = {"journal", "manifest.json", "results.jsonl", "sums"};
    size_t index = 0;
    return names_find(&index, NAMES_LIST(names), name, size);
}

static bool is_plain(char c)
{
    return (unsigned char)c < 0x80 && (isalnum((unsigned char)c) || strchr("-_,=+", c));
}

void result_names_folder(struct buf *out, const char *job)
{
    size_t begin = out->size;
    bool reserved = is_reserved(job, strlen(job));
    for (const char *at = job; *at; at++) {
        bool first = at == job; /* no hidden folder, not "..", and none of our own */
        if (first ? is_plain(*at) && !reserved : is_plain(*at) || *at == '.')
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

/* As result_names_folder makes them. */
static bool is_item(const char *name, size_t size)
{
    if (!size || *name == '.' || is_reserved(name, size))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_plain(name[i]) && name[i] != '.' && name[i] != '%')
            return false;
    return true;
}

bool result_names_list(const char *file)
{
    const char *slash = strchr(file, '/');
    if (!removal_is_below(file) || !slash)
        return result_names_have(file);
    return is_item(file, (size_t)(slash - file)) && slash[1] != '.' && !strchr(slash + 1, '/');
}
