/* model_list.c: the models of a command that takes several. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "session.h"

/* --- their names ------------------------------------------------------------------------------ */

/* step8 before step64 before step512: of two numbers the shorter one comes first. */
static int compare(const void *a, const void *b)
{
    static const char digits[] = "0123456789";
    const char *one = *(const char *const *)a;
    const char *other = *(const char *const *)b;
    while (*one && *one == *other && !strchr(digits, *one))
        one++, other++;
    size_t size = strspn(one, digits);
    size_t other_size = strspn(other, digits);
    if (size && other_size && size != other_size)
        return size < other_size ? -1 : 1;
    if (size && size == other_size && memcmp(one, other, size) == 0)
        return compare(&(const char *){one + size}, &(const char *){other + size});
    return strcmp(one, other);
}

/* Add the directories below a folder, "pythia/", that fit a pattern. */
static int expand(struct listing *found, const char *folder, const char *pattern,
                  struct arena *arena, struct err *err)
{
    size_t size = strcspn(pattern, "/");
    const char *rest = pattern + size + strspn(pattern + size, "/");
    const char *part = arena_text(arena, pattern, size, err);
    struct listing names;
    if (!part || listing_read(&names, *folder ? folder : ".", arena, err))
        return -1;
    if (names.count)
        qsort(names.names, names.count, sizeof *names.names, compare);
    for (size_t i = 0; i < names.count; i++) {
        if (fnmatch(part, names.names[i], FNM_PERIOD) != 0)
            continue;
        const char *path =
            arena_format(arena, err, "%s%s%s", folder, names.names[i], *rest ? "/" : "");
        if (!path)
            return -1;
        errno = 0;
        bool is_directory = file_is_directory(path);
        if (errno && !file_is_absent())
            return err_set(err, "cannot look at '%s': %s", path, strerror(errno));
        if (is_directory &&
            (*rest ? expand(found, path, rest, arena, err) : listing_add(found, path, arena, err)))
            return -1;
    }
    return 0;
}

static int add_pattern(struct listing *found, const char *pattern, struct arena *arena,
                       struct err *err)
{
    size_t size = strcspn(pattern, "*?[");
    size_t count = found->count;
    while (size && pattern[size - 1] != '/')
        size--;
    const char *folder = arena_text(arena, pattern, size, err);
    if (!folder || expand(found, folder, pattern + size, arena, err))
        return err_prefix(err, "--model '%s'", pattern);
    if (found->count > count)
        return 0;
    return err_set(err, "--model: expected folders that match '%s', found none in '%.*s'", pattern,
                   (int)(size > 1 ? size - 1 : 1), *folder ? folder : ".");
}

int model_list_read(struct model_list *list, const struct options *options, struct arena *arena,
                    struct err *err)
{
    const struct texts *names = &options->model.names;
    *list = (struct model_list){0};
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        bool is_pattern = name[strcspn(name, "*?[")] && !file_is_directory(name);
        if ((is_pattern ? add_pattern : listing_add)(&list->names, name, arena, err))
            return -1;
    }
    size_t count = list->names.count;
    if (count > 1 && !(list->hashes = arena_alloc(arena, count, sizeof *list->hashes, err)))
        return -1;
    return 0;
}

size_t model_list_count(const struct model_list *list)
{
    return list->hashes ? list->names.count : 1;
}

int model_list_check(const struct model_list *list, const struct output *output, struct err *err)
{
    size_t count = model_list_count(list);
    if (count == 1 || !output->format->one_sentence || output->to_folder)
        return 0;
    return err_usage(err,
                     "--format %s: one file holds one model, found %zu: give a folder (-o DIR/), "
                     "or csv or tidy",
                     output->format->name, count);
}

/* --- the open one ----------------------------------------------------------------------------- */

/* "'B' has the weights of 'A'" of the first that is like it. */
static void note_equal(const struct model_list *list)
{
    const char *hash = list->hashes[list->open];
    for (size_t i = 0; i < list->open; i++) {
        if (strcmp(list->hashes[i], hash) != 0)
            continue;
        print_note("'%s' has the same weights as '%s': both hashes begin with %.16s",
                   list->names.names[list->open], list->names.names[i], hash);
        return;
    }
}

void model_list_hash(struct model_list *list, size_t index, const struct weights *weights)
{
    list->open = index;
    if (*list->hashes[index])
        return;
    weights_hash(weights, list->hashes[index]);
    note_equal(list);
}

int model_blame(const char *name, struct err *err)
{
    if (err->about == ERR_ABOUT_WORD)
        err->about = ERR_ABOUT_ANYTHING;
    bool named = err->text[0] == '\'' && strncmp(err->text + 1, name, strlen(name)) == 0;
    return named ? -1 : err_prefix(err, "'%s'", name);
}
