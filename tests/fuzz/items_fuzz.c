/* The file of a batch: lines, objects a line, or CSV, as its first line says. All items are found,
 * then each is read. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../cmd/command.h"
#include "../../cmd/items.h"
#include "../../cmd/session.h"

enum { PATH_BYTES = 32 };

static struct arena arena; /* its memory stays for the next input */

static void check(const struct items *items, size_t index)
{
    struct item item;
    arena_clear(&arena);
    if (items_read(items, &item, index, &arena, &fuzz_err)) {
        fuzz_check(fuzz_err.kind, "an item that cannot be read says why");
        fuzz_refused();
        return;
    }
    fuzz_check(item.input.text || item.input.ids, "an item has a text");
    fuzz_check(item.column_count <= items->name_count, "copied columns are those of the file");
    for (size_t i = 0; i < item.column_count; i++)
        fuzz_check(item.columns[i].name[0], "a column has a name");
}

void fuzz_one(const char *bytes, size_t size)
{
    struct options options;
    struct items items;
    char path[PATH_BYTES];
    options_init(&options, command_set(&command_patch));
    int file = memfd_create("items", MFD_CLOEXEC);
    fuzz_check(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    options.input.file = path;
    if (items_open(&items, &options, 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT, ITEMS_SOME, &fuzz_err)) {
        fuzz_refused();
    } else {
        for (size_t i = 0; i < items.count; i++)
            check(&items, i);
        items_release(&items);
    }
    close(file);
}
