/* The input of a batch: lines, JSON lines or CSV, by its first line, or a suite. Finds all items
 * and reads each as `patch`, `attribute` and `score` do, then the predictions of a suite. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../cmd/command.h"
#include "../../../cmd/items.h"
#include "../../../cmd/session.h"
#include "../../../cmd/stimuli.h"

enum { PATH_BYTES = 64 };

static struct arena arena; /* reused by the next input */

/* Totals of the regions of items, for the predictions of a suite. */
static void add_row(struct score_totals *table, const char *const keys[2], long long region)
{
    struct score_total *grown =
        arena_grow(&arena, table->rows, table->count, sizeof *grown, &fuzz_err);
    fuzz_check(grown, "memory for a row");
    grown[table->count++] = (struct score_total){.keys = keys, .number = region, .logprob = -1.5};
    table->rows = grown;
}

static void check(const struct items *items, size_t index, struct score_totals *table)
{
    struct item item;
    if (items_read(items, &item, index, &arena, &fuzz_err)) {
        fuzz_check(fuzz_err.kind, "an invalid item has an error");
        fuzz_refused();
        return;
    }
    fuzz_check(item.input.text || item.input.ids, "an item has a text");
    fuzz_check(!item.fields[ITEM_GOOD] == !item.fields[ITEM_BAD], "a pair has two texts");
    fuzz_check(item.column_count <= items->names.count, "copied columns are in the file");
    for (size_t i = 0; i < item.column_count; i++)
        fuzz_check(item.columns[i].name[0], "a column has a name");
    fuzz_check(item.region_count != 1 || item_column(&item, "regions"),
               "a text without marks is a region if it has a name");
    fuzz_check(item.region_count <= items->survey.marks + 1,
               "marks are counted before items are read");
    for (size_t i = 0, end = 0; i < item.region_count; end += item.regions[i++].count)
        fuzz_check(item.regions[i].name[0] && item.regions[i].first == end, "regions are in order");
    const char **keys = arena_alloc(&arena, 2, sizeof *keys, &fuzz_err);
    fuzz_check(keys, "memory for keys");
    keys[0] = item_column(&item, "item");
    keys[1] = item_column(&item, "condition");
    for (size_t i = 0; items->formulas.count && keys[1] && i < item.region_count; i++)
        add_row(table, keys, item.regions[i].number);
}

static void open_as(const struct command *command, unsigned fields, const char *path)
{
    struct options options;
    struct items items;
    struct score_totals table = {0};
    arena_clear(&arena);
    options_init(&options, command_set(command));
    options.input.file = path;
    if (items_open(&items, &options, fields, ITEMS_SOME, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    for (size_t i = 0; i < items.count; i++)
        check(&items, i, &table);
    if (table.count && suite_predict_all(&table, &items.formulas, &arena, &fuzz_err))
        fuzz_refused();
    items_release(&items);
}

void fuzz_one(const char *bytes, size_t size)
{
    const unsigned of_patch = 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT;
    const unsigned of_attribute =
        1 << ITEM_PAIR | 1 << ITEM_ANSWER | 1 << ITEM_TARGET | 1 << ITEM_POSITION;
    const unsigned of_score =
        1 << ITEM_CONTINUE | 1 << ITEM_GOOD | 1 << ITEM_BAD | ITEMS_KEEP_BLANK;
    char path[PATH_BYTES], link[PATH_BYTES];
    int file = memfd_create("items", MFD_CLOEXEC);
    fuzz_check(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    snprintf(link, sizeof link, "/tmp/items-fuzz-%d.json", (int)getpid());
    open_as(&command_patch, of_patch, path);
    open_as(&command_attribute, of_attribute, path);
    open_as(&command_score, of_score, path);
    fuzz_check(symlink(path, link) == 0, "the name of a suite");
    open_as(&command_score, of_score, link);
    unlink(link);
    close(file);
}
