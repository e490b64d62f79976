/* The file of a batch: objects a line where it begins with {, else CSV; read twice, as batch does.
 */
#include "fuzz.h"

#include <string.h>

#include "../../cmd/batch/items.h"
#include "../../cmd/session.h"

static struct arena arena; /* its memory stays for the next input */

/* After all items were read once, each has the places of all conditions, in their order. */
static void check_conditions(const struct item *item, const struct condition_names *names)
{
    const struct item_conditions *conditions = &item->conditions;
    size_t bytes = 0;
    fuzz_check(conditions->count == names->count, "an item has a place for each condition");
    for (size_t i = 0; i < conditions->count; i++) {
        const struct condition *condition = &conditions->items[i];
        fuzz_check(condition->name == names->names[i], "conditions are in order");
        bytes += condition->value ? strlen(condition->value) : 0;
    }
    fuzz_check(bytes <= CONDITIONS_BYTES_MAX, "conditions are short");
}

static void check(const struct item *item)
{
    struct mechanism mechanism;
    if (item->broken) {
        fuzz_check(fuzz_err.kind, "an item that is broken says why");
        fuzz_refused();
        return;
    }
    fuzz_check(item->input.text || item->input.ids, "an item has a text");
    if (mechanism_options_read(&mechanism, &item->options.mechanism, &fuzz_err))
        fuzz_refused();
}

void fuzz_one(const char *bytes, size_t size)
{
    static const struct options options = OPTIONS_DEFAULT;
    const char *path = size && bytes[0] == '{' ? "items.jsonl" : "items.csv";
    struct items items;
    struct item item;
    if (items_begin(&items, path, file_borrow(bytes, size), &options, &fuzz_err)) {
        fuzz_refused();
        return;
    }
    while (arena_clear(&arena), items_next(&items, &item, &arena, &fuzz_err))
        check(&item);
    items_rewind(&items);
    while (arena_clear(&arena), items_next(&items, &item, &arena, &fuzz_err)) {
        check_conditions(&item, &items.names);
        check(&item);
    }
    items_release(&items);
}
