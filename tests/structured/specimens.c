#include "specimens.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/listing.h"
#include "command_line.h"

/* Files stay as long as the program. */
static struct arena arena;

static int read_tree(struct folder_file *files, size_t *count, const char *path, const char *as,
                     struct err *err);

static bool is_left_out(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending && (strcmp(ending, ".md") == 0 || strcmp(ending, ".py") == 0);
}

static int read_entry(struct folder_file *files, size_t *count, const char *path, const char *as,
                      struct err *err)
{
    struct file file = {0};
    if (file_is_directory(path))
        return read_tree(files, count, path, as, err);
    if (is_left_out(path))
        return 0;
    if (*count == MADE_FILES_MAX)
        return err_set(err, "'%s': expected at most %d files", path, MADE_FILES_MAX);
    if (file_map(&file, path, err))
        return -1;
    files[*count].name = arena_text(&arena, as, strlen(as), err);
    files[*count].bytes = arena_text(&arena, file.bytes, file.size, err);
    files[(*count)++].size = file.size;
    file_release(&file);
    return err->kind ? -1 : 0;
}

static int read_tree(struct folder_file *files, size_t *count, const char *path, const char *as,
                     struct err *err)
{
    struct listing listing;
    if (listing_read(&listing, path, &arena, err))
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        struct buf from = {0}, to = {0};
        buf_format(&from, "%s/%s", path, listing.names[i]);
        buf_format(&to, "%s%s%s", as, *as ? "/" : "", listing.names[i]);
        int failed = buf_check(&from, err) || buf_check(&to, err) ||
                     read_entry(files, count, from.bytes, to.bytes, err);
        buf_release(&from);
        buf_release(&to);
        if (failed)
            return -1;
    }
    return 0;
}

int specimens_read(struct folder *folder, const char *path, const char *as, struct err *err)
{
    struct folder_file *files = arena_alloc(&arena, MADE_FILES_MAX, sizeof *files, err);
    *folder = (struct folder){.path = path, .files = files};
    return files ? read_tree(files, &folder->file_count, path, as, err) : -1;
}

/* The process that runs them ends with the last. What they have to say of items that fail is known.
 */
static void run_lines(const char *scratch, const struct made *made, const char *const *lines)
{
    static struct err err;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0 ||
        chdir(scratch) || made_write(made))
        _exit(EXIT_FAILURE);
    for (; *lines; lines++) {
        err_clear(&err);
        command_line_run(*lines, &err);
    }
    _exit(EXIT_SUCCESS);
}

int specimens_run(struct folder *folder, const char *scratch, const struct made *made,
                  const char *const *lines, struct err *err)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        run_lines(scratch, made, lines);
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return err_set(err, "'%s': the command lines that make a specimen did not end", *lines);
    if (specimens_read(folder, scratch, "", err))
        return -1;
    child = fork();
    if (child == 0)
        _exit(chdir(scratch) || made_clear() ? EXIT_FAILURE : EXIT_SUCCESS);
    return child < 0 || waitpid(child, &status, 0) != child || status ? -1 : 0;
}
