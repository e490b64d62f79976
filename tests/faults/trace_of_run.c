#include "trace_of_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { PATH_BYTES = 4096, SHOWN_BYTES = 2000 };

static void join(char path[PATH_BYTES], const char *folder, const char *name)
{
    if (snprintf(path, PATH_BYTES, *name ? "%s/%s" : "%s", folder, name) >= PATH_BYTES)
        abort();
}

/* Call `visit` for every entry of a folder as long as it gives true. */
static bool each_entry(const char *folder, const char *other,
                       bool (*visit)(const char *path, const char *other))
{
    char path[PATH_BYTES];
    char beside[PATH_BYTES];
    bool so_far = true;
    DIR *directory = opendir(folder);
    if (!directory)
        return true;
    for (const struct dirent *entry; so_far && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        join(path, folder, entry->d_name);
        join(beside, other, entry->d_name);
        so_far = visit(path, beside);
    }
    closedir(directory);
    return so_far;
}

static bool remove_entry(const char *path, const char *other)
{
    (void)other;
    each_entry(path, path, remove_entry);
    if (remove(path))
        abort();
    return true;
}

static void send_to(int descriptor, const char *folder, const char *name)
{
    char path[PATH_BYTES];
    join(path, folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, descriptor) < 0)
        abort();
    close(file);
}

void trace_begin(const char *folder)
{
    char files[PATH_BYTES];
    join(files, folder, "files");
    mkdir(folder, 0777);
    each_entry(folder, folder, remove_entry);
    send_to(STDOUT_FILENO, folder, "out");
    send_to(STDERR_FILENO, folder, "err");
    if (mkdir(files, 0777) || chdir(files))
        abort();
}

/* The bytes of both files, of which the first is `part` of the second. */
static bool is_beginning(const char *path, const char *whole, bool *all)
{
    struct file a = {0};
    struct file b = {0};
    bool so = !file_map(&a, path, NULL) && !file_map(&b, whole, NULL) && a.size <= b.size &&
              (!a.size || memcmp(a.bytes, b.bytes, a.size) == 0);
    *all = so && a.size == b.size;
    file_release(&a);
    file_release(&b);
    return so;
}

/* The line at `*at` without its last column; moves on to the next. */
static size_t without_last(const char **at, const char *end, const char **line)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    const char *comma = memrchr(*at, ',', (size_t)((stop ? stop : end) - *at));
    *line = *at;
    *at = stop ? stop + 1 : end;
    return comma ? (size_t)(comma - *line) : 0;
}

/* The log of a training: how fast it was, in the last column, is another number each time. */
static bool is_same_log(const char *path, const char *whole)
{
    struct file a = {0};
    struct file b = {0};
    bool same = strcmp(strrchr(path, '/'), "/log.csv") == 0 && !file_map(&a, path, NULL) &&
                !file_map(&b, whole, NULL);
    const char *x = a.bytes;
    const char *y = b.bytes;
    while (same && (x < a.bytes + a.size || y < b.bytes + b.size)) {
        const char *line, *other;
        size_t size = without_last(&x, a.bytes + a.size, &line);
        same = size == without_last(&y, b.bytes + b.size, &other) && memcmp(line, other, size) == 0;
    }
    file_release(&a);
    file_release(&b);
    return same;
}

/* A batch that ended early keeps its journal and what that speaks of, to be resumed; so it does
 * with all in FILE.part, as long as there is no FILE. */
static bool is_work_in_progress(const char *path)
{
    static const char *const names[] = {"journal", "results.jsonl", ".attn-cli/sums"};
    char journal[PATH_BYTES];
    const char *own = strstr(path, "/.attn-cli/");
    const char *name = (own ? own : strrchr(path, '/')) + 1;
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known = known || strcmp(name, names[i]) == 0;
    snprintf(journal, sizeof journal, "%.*sjournal", (int)(name - path), path);
    return strstr(path, ".part/") || (known && file_exists(journal));
}

static bool is_whole(const char *path, const char *whole)
{
    bool all = false;
    if (file_is_directory(path))
        return each_entry(path, whole, is_whole);
    return (is_beginning(path, whole, &all) && all) || is_same_log(path, whole) ||
           is_work_in_progress(path);
}

/* Cut off the end of the last line, where it is not the whole's. */
static bool is_typed_so_far(const char *path, const char *whole)
{
    struct stat status;
    bool all = false;
    return is_beginning(path, whole, &all) ||
           (stat(path, &status) == 0 && status.st_size > 0 &&
            truncate(path, status.st_size - 1) == 0 && is_beginning(path, whole, &all));
}

bool trace_within(const char *folder, const char *whole)
{
    char here[PATH_BYTES];
    char there[PATH_BYTES];
    join(here, folder, "out");
    join(there, whole, "out");
    if (!is_typed_so_far(here, there))
        return false;
    join(here, folder, "files");
    join(there, whole, "files");
    return each_entry(here, there, is_whole);
}

static bool equal_entry(const char *path, const char *other)
{
    bool all = false;
    if (file_is_directory(path))
        return each_entry(path, other, equal_entry);
    return (is_beginning(path, other, &all) && all) || is_same_log(path, other);
}

/* Standard error may be shorter: what could not be said there is lost. */
bool trace_same(const char *a, const char *b)
{
    static const char *const names[] = {"out", "files"};
    char here[PATH_BYTES];
    char there[PATH_BYTES];
    bool all = false;
    join(here, a, "err");
    join(there, b, "err");
    bool same = is_beginning(here, there, &all);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        join(here, a, names[i]);
        join(there, b, names[i]);
        same = same && equal_entry(here, there) && equal_entry(there, here);
    }
    return same;
}

/* The last of the lines in `text`, if every one of them is the program's. */
static const char *last_line(const char *text, const char *end)
{
    static const char *const beginnings[] = {"attn-cli: error: ", "attn-cli: note: "};
    const char *line = NULL;
    while (text < end) {
        bool known = false;
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        for (size_t i = 0; stop && i < sizeof beginnings / sizeof *beginnings; i++)
            known = known || strncmp(text, beginnings[i], strlen(beginnings[i])) == 0;
        if (!known)
            return NULL;
        line = text;
        text = stop + 1;
    }
    return line;
}

bool trace_said(const char *folder, const char *words)
{
    char path[PATH_BYTES];
    struct file file = {0};
    join(path, folder, "err");
    if (file_map(&file, path, NULL))
        return false;
    const char *end = file.bytes + file.size;
    const char *line = last_line(file.bytes, end);
    bool said = line && strncmp(line, "attn-cli: error: ", 17) == 0 &&
                memmem(line, (size_t)(end - line), words, strlen(words));
    file_release(&file);
    return said;
}

static bool holds(const char *folder, const char *name, const char *words)
{
    char path[PATH_BYTES];
    struct file file = {0};
    join(path, folder, name);
    bool so = !file_map(&file, path, NULL) && file.size &&
              memmem(file.bytes, file.size, words, strlen(words));
    file_release(&file);
    return so;
}

/* With the words in a file of its own, where there is a folder of results. */
static const char *sought;
static bool found;

static bool is_named(const char *path, const char *whole)
{
    if (file_is_directory(path))
        return each_entry(path, whole, is_named);
    found = found || holds(path, "", sought);
    return file_exists(whole);
}

bool trace_excused(const char *folder, const char *whole, const char *words)
{
    char here[PATH_BYTES];
    char there[PATH_BYTES];
    join(here, folder, "files");
    join(there, whole, "files");
    sought = words;
    found = holds(folder, "out", words) || holds(folder, "err", words);
    return each_entry(here, there, is_named) && found && holds(folder, "err", " items failed");
}

static bool show_entry(const char *path, const char *other)
{
    char text[SHOWN_BYTES] = "";
    (void)other;
    if (file_is_directory(path))
        return each_entry(path, path, show_entry);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    printf("--- %s\n%.*s\n", path, (int)size, text);
    if (file)
        fclose(file);
    return true;
}

void trace_show(const char *folder)
{
    each_entry(folder, folder, show_entry);
}
