#include "items.h"

#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "../session.h"

enum {
    PASSED_BYTES = 64 * 1024, /* of the file, which are then given back */
    ENDINGS_MAX = 2,
};

struct items_kind {
    const char *name;
    const char *endings[ENDINGS_MAX]; /* of file names */
    /* Read what begins at the reader: 1 an item, 0 nothing but the end, -1 an item that is broken.
     */
    int (*read)(struct items *items, struct item_draft *draft);
};

/* --- lines ------------------------------------------------------------------------------------ */

struct line {
    const char *bytes;
    size_t size;
};

/* Pass lines of blanks; false at the end. */
static bool next_line(struct csv_reader *reader, struct line *line, size_t *number)
{
    while (reader->at < reader->end) {
        const char *begin = reader->at;
        const char *newline = memchr(begin, '\n', (size_t)(reader->end - begin));
        const char *stop = newline ? newline : reader->end;
        reader->at = newline ? newline + 1 : reader->end;
        *number = reader->line++;
        stop -= stop > begin && stop[-1] == '\r';
        *line = (struct line){begin, (size_t)(stop - begin)};
        for (const char *at = begin; at < stop; at++)
            if (*at != ' ' && *at != '\t')
                return true;
    }
    return false;
}

static int read_line(struct items *items, struct item_draft *draft)
{
    struct line line;
    if (!next_line(&items->reader, &line, &draft->item->line))
        return 0;
    draft->item->input = (struct input){.text = line.bytes, .size = line.size};
    return 1;
}

static int read_object(struct items *items, struct item_draft *draft)
{
    struct line line;
    struct json *root = NULL;
    if (!next_line(&items->reader, &line, &draft->item->line))
        return 0;
    int found = json_parse(&root, line.bytes, line.size, draft->err)
                    ? -1
                    : item_draft_set_members(draft, root);
    json_free(root);
    return found;
}

/* --- CSV -------------------------------------------------------------------------------------- */

static int read_record(struct items *items, struct item_draft *draft)
{
    struct csv_record record;
    const struct csv_record *header = &items->header;
    int failed = csv_read(&items->reader, &record, draft->arena, draft->err);
    draft->item->line = record.line;
    if (failed)
        return -1;
    if (!record.count)
        return 0;
    if (record.count != header->count)
        return err_set(draft->err, "expected %zu fields as in the header, found %zu", header->count,
                       record.count);
    for (size_t i = 0; i < record.count; i++)
        if (*record.fields[i] && item_draft_set(draft, header->fields[i], record.fields[i]))
            return -1;
    return item_draft_check(draft);
}

/* --- the file --------------------------------------------------------------------------------- */

static const struct items_kind kinds[] = {
    {"lines", {".txt"}, read_line},
    {"jsonl", {".jsonl"}, read_object},
    {"csv", {".csv", ".tsv"}, read_record},
};

enum { KINDS = sizeof kinds / sizeof *kinds, LINES = 0, JSONL = 1, CSV = 2 };

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && *at && strchr(" \t\r\n", *at))
        at++;
    return at;
}

static const struct items_kind *kind_of_file(const struct items *items)
{
    const char *ending = strrchr(items->path, '.');
    for (int i = 0; i < KINDS && ending; i++)
        for (int k = 0; k < ENDINGS_MAX && kinds[i].endings[k]; k++)
            if (strcasecmp(ending, kinds[i].endings[k]) == 0)
                return &kinds[i];
    const char *at = skip_blanks(items->reader.at, items->reader.end);
    return &kinds[at < items->reader.end && *at == '{' ? JSONL : LINES];
}

/* Unless --input says what it is. */
static int refuse_array(const struct items *items, struct err *err)
{
    const char *end = items->reader.end;
    const char *at = skip_blanks(items->reader.at, end);
    at = at < end && *at == '[' ? skip_blanks(at + 1, end) : end;
    if (at == end || *at != '{')
        return 0;
    return err_set(err,
                   "'%s': expected an item a line, found a JSON array of them: jq -c '.[]' makes "
                   "them lines; --input lines takes them for text",
                   inputs_shown_path(items->path));
}

static int choose_kind(struct items *items, const char *name, struct err *err)
{
    size_t index = 0;
    if (name && names_choose(&index, NAMES(kinds, KINDS), "--input", name, err))
        return -1;
    items->kind = name ? &kinds[index] : kind_of_file(items);
    return name ? 0 : refuse_array(items, err);
}

/* Columns are fields of an item or conditions, each once; one has the texts. */
static int check_header(struct items *items, const struct csv_record *header, struct err *err)
{
    bool texts = false;
    for (size_t i = 0; i < header->count; i++) {
        const char *name = header->fields[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(header->fields[k], name) == 0)
                return err_set(err, "expected every column once, found '%s' twice", name);
        if (!item_has_field(items->names.commands, name) &&
            condition_names_add(&items->names, name, err))
            return err_prefix(err, "column %zu", i + 1);
        texts = texts || strcmp(name, "ids") == 0 || item_is_text(items->names.commands, name);
    }
    return texts ? 0
                 : condition_names_blame(&items->names,
                                         "expected a column 'sentence' or 'ids', found none", err);
}

/* How good a reading of the header is: it has a column that is known, else it has several. */
static size_t judge_header(const struct items *items, const struct csv_record *header)
{
    for (size_t i = 0; i < header->count; i++)
        if (item_has_field(items->names.commands, header->fields[i]))
            return SIZE_MAX;
    return header->count > 1 ? header->count : 0;
}

/* Comma, semicolon or tab: the first that makes the best of the header. */
static int choose_separator(struct items *items, struct err *err)
{
    static const char separators[] = ",;\t";
    size_t best = 0;
    for (const char *separator = separators; *separator; separator++) {
        struct csv_reader reader = items->reader;
        struct arena arena = {0};
        struct err unread = {0};
        struct csv_record header;
        reader.separator = *separator;
        size_t worth =
            csv_read(&reader, &header, &arena, &unread) ? 0 : judge_header(items, &header);
        arena_release(&arena);
        if (unread.out_of_memory)
            return err_adopt(err, &unread);
        if (worth > best)
            items->reader.separator = *separator;
        best = worth > best ? worth : best;
    }
    return 0;
}

static int read_header(struct items *items, struct err *err)
{
    if (items->kind != &kinds[CSV])
        return 0;
    if (choose_separator(items, err) ||
        csv_read(&items->reader, &items->header, &items->arena, err) ||
        check_header(items, &items->header, err))
        return err_prefix(err, "'%s' line %zu", inputs_shown_path(items->path),
                          items->header.line ? items->header.line : 1);
    return 0;
}

/* A file in which nothing is to be done is a mistake. */
static int check_content(struct items *items, struct err *err)
{
    struct csv_reader reader = items->reader;
    struct line line;
    size_t number = 0;
    if (next_line(&reader, &line, &number))
        return 0;
    return err_set(err, "'%s': expected a sentence, found %s", inputs_shown_path(items->path),
                   items->header.count ? "only a header"
                   : items->file.size  ? "only blank lines"
                                       : "nothing");
}

int items_begin(struct items *items, const char *path, struct file file,
                const struct options *options, struct err *err)
{
    *items = (struct items){.path = path, .file = file, .defaults = options};
    items->names.commands = item_commands(options);
    const char *begin = inputs_after_mark(&items->file);
    items->reader = (struct csv_reader){begin, items->file.bytes + items->file.size, 1, ','};
    if (choose_kind(items, options->batch.kind, err) || read_header(items, err) ||
        check_content(items, err)) {
        items_release(items);
        return -1;
    }
    items->first = items->reader;
    items_rewind(items);
    return 0;
}

int items_open(struct items *items, const struct options *options, struct err *err)
{
    struct file file = {0};
    const struct texts *operands = &options->input.operands;
    const char *path = operands->count ? operands->items[0] : options->input.file;
    const char *second = operands->count > 1 ? operands->items[1] : options->input.file;
    *items = (struct items){0};
    if (operands->count && second)
        return err_usage(err, "expected one file, found '%s' as well", second);
    if (!path && inputs_are_piped(&options->input))
        path = "-";
    if (path && inputs_read_file(&file, path, err))
        return -1;
    if (!file.size && !operands->count && !options->input.file) {
        file_release(&file);
        return err_usage(err, "expected a file of sentences, JSON lines or CSV, or a pipe; - is "
                              "standard input");
    }
    return items_begin(items, path, file, options, err);
}

int items_check_unchanged(const struct items *items, struct err *err)
{
    if (!file_has_changed(&items->file, items->path))
        return 0;
    return err_set(err, "'%s': it was changed while it was read: begin anew with --force",
                   items->path);
}

void items_release(struct items *items)
{
    item_ids_release(&items->ids);
    condition_names_release(&items->names);
    arena_release(&items->arena);
    file_release(&items->file);
    *items = (struct items){0};
}

void items_rewind(struct items *items)
{
    items->reader = items->first;
    items->forgotten = items->first.at;
    items->next = 0;
}

void items_again(struct items *items)
{
    items->reader = items->last;
    items->next--;
}

static int check_id(struct items *items, const struct item *item, struct err *err)
{
    size_t line = item->line;
    if (items->kind == &kinds[LINES])
        return 0;
    if (item_ids_note(&items->ids, item->id, &line, err))
        return -1;
    return line == item->line
               ? 0
               : err_set(err, "expected an id of its own, found '%s', which line %zu has", item->id,
                         line);
}

bool items_next(struct items *items, struct item *item, struct arena *arena, struct err *err)
{
    struct item_draft draft = {.item = item, .arena = arena, .err = err};
    *item = (struct item){.options = *items->defaults};
    items->last = items->reader;
    int found = item_conditions_begin(&item->conditions, &items->names, arena, err)
                    ? -1
                    : items->kind->read(items, &draft);
    if (!found)
        return false;
    if (items->reader.at - items->forgotten > PASSED_BYTES) {
        file_forget(&items->file, items->reader.at);
        items->forgotten = items->reader.at;
    }
    if (!item->id)
        item->id = arena_format(arena, err, "%04zu", items->next);
    items->next++;
    item->broken = found < 0 || !item->id || check_id(items, item, err);
    if (item->broken)
        err_prefix(err, "'%s' line %zu", inputs_shown_path(items->path), item->line);
    return true;
}
