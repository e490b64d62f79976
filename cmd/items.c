#include "items.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "command.h"
#include "format/json.h"
#include "model/model.h"
#include "session.h"
#include "stimuli.h"

enum {
    COLUMNS_MAX = 256,                                          /* that are copied */
    COLUMN_NAME_BYTES_MAX = 256,                                /* of one name */
    OF_ALL = 1 << ITEM_TEXT | 1 << ITEM_IDS | 1 << ITEM_SOURCE, /* fields that all commands have */
};

const char *const item_field_names[ITEM_FIELDS] = {
    "text",     "ids",      "source", "pair",    "answer", "target",
    "continue", "position", "clean",  "corrupt", "good",   "bad",
};

/* --- operands --------------------------------------------------------------------------------- */

static size_t text_count(const struct input_options *options)
{
    return options->sentences.count + options->operands.count;
}

/* Sentences, then operands. */
static const char *text_at(const struct input_options *options, size_t index)
{
    const struct texts *sentences = &options->sentences;
    return index < sentences->count ? sentences->items[index]
                                    : options->operands.items[index - sentences->count];
}

/* An operand without a blank is refused where it is more likely something else than a text. */
static int check_word(const struct input_options *options, const char *word, struct err *err)
{
    if (strcmp(word, "-") == 0)
        return err_usage(err, "'-': standard input is read by --file -");
    if (!*word)
        return err_usage(err, "expected a text, found ''");
    if (bundled_find(word) || file_is_directory(word))
        return err_usage(err, "'%s' is a %s: --model %s opens it, --sentence %s reads it as a text",
                         word, bundled_find(word) ? "model" : "directory", word, word);
    errno = 0;
    bool exists = file_exists(word);
    if (exists && errno)
        return err_set(err, "cannot look at '%s': %s: --sentence %s reads it as a text", word,
                       strerror(errno), word);
    if (exists)
        return err_usage(err,
                         "'%s' is a file: --file %s reads it, --sentence %s its name as a text",
                         word, word, word);
    if (!word[strspn(word, "0123456789,-")])
        return err_usage(err,
                         "'%s': a list for an option has commas and no blanks, as 0,1; by itself "
                         "--ids %s reads it as ids, --sentence %s as a text",
                         word, word, word);
    if (text_count(options) <= 1)
        return 0;
    return err_usage(err,
                     "expected a text of several words in quotes, as \"Life is short\", found '%s' "
                     "by itself: texts of one word are given by --sentence",
                     word); /* a shell has split it */
}

/* Refuse operands that are probably no texts: words a shell has split, models, files, lists. */
static int check_operands(const struct input_options *options, struct err *err)
{
    for (size_t i = 0; i < options->operands.count; i++) {
        const char *operand = options->operands.items[i];
        if (!strchr(operand, ' ') && check_word(options, operand, err))
            return -1;
    }
    return 0;
}

/* Standard input is read where there is no other text, unless it is a terminal or cannot be. */
static bool text_is_piped(const struct input_options *options)
{
    return !text_count(options) && !options->file && !options->ids && !isatty(STDIN_FILENO) &&
           (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) != O_WRONLY;
}

int items_check_ids(const struct input_options *options, struct err *err)
{
    if (!options->ids || !options->special || strcmp(options->special, "none") == 0)
        return 0;
    return err_usage(err,
                     "--special %s: is for texts, found --ids: put the ids of these tokens there",
                     options->special);
}

/* --- files ------------------------------------------------------------------------------------ */

const char *text_after_mark(const struct file *file)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = sizeof mark - 1;
    bool marked = file->size >= size && memcmp(file->bytes, mark, size) == 0;
    return file->bytes + (marked ? size : 0);
}

const char *shown_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

int input_file_open(struct file *file, const char *path, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return file_read(file, STDIN_FILENO, shown_path(path), err);
    return file_map(file, path, err);
}

/* --- names of columns ------------------------------------------------------------------------- */

size_t items_place_of(const struct items *items, const char *name)
{
    size_t place = ITEM_TEXT;
    if (strcmp(name, "sentence") == 0)
        return ITEM_TEXT;
    if (strcmp(name, "sentence_good") == 0 || strcmp(name, "sentence_bad") == 0)
        name += strlen("sentence_");
    if (names_find(&place, NAMES_LIST(item_field_names), name, strlen(name)) &&
        items->fields >> place & 1)
        return place;
    for (place = 0; place < items->name_count; place++)
        if (strcmp(items->names[place], name) == 0)
            break;
    return ITEM_FIELDS + place;
}

/* The field that a column's name is only a slip away from: other capitals, or in words of five
 * letters or more one letter. NULL: none. */
static const char *slip_of(const struct items *items, const char *name)
{
    enum { LETTERS = 5 };
    for (size_t field = 0; field <= ITEM_FIELDS; field++) {
        const char *known = field < ITEM_FIELDS ? item_field_names[field] : "sentence";
        struct nearest nearest;
        if (field < ITEM_FIELDS && !(items->fields >> field & 1))
            continue;
        nearest_begin(&nearest, name, strlen(name));
        nearest_offer(&nearest, known);
        if (strcasecmp(name, known) == 0 ||
            (nearest.name && nearest.steps <= 1 && nearest.size >= LETTERS))
            return known;
    }
    return NULL;
}

/* Find the place of a column, and add its name where it is to be copied and new. */
static int add_column(struct items *items, size_t *place, const char *name, struct err *err)
{
    static const char *const of_results[] = {"tensor",    "layer",  "head",         "row",
                                             "row_token", "column", "column_token", "value"};
    size_t index = 0;
    size_t size = strlen(name);
    *place = items_place_of(items, name);
    if (*place != ITEM_FIELDS + items->name_count)
        return 0;
    const char *near = slip_of(items, name);
    if (!size)
        return err_set(err, "expected a name, found none: name it or leave it out");
    if (size > COLUMN_NAME_BYTES_MAX)
        return err_set(err, "expected a name of at most %d bytes, found %zu", COLUMN_NAME_BYTES_MAX,
                       size);
    if (utf8_invalid_at(name, size) < size)
        return err_set(err, "expected a name in UTF-8, found '%s'", name);
    if (near)
        return err_set(err, "'%s': did you mean '%s'? If it is another column, rename it", name,
                       near);
    if (names_find(&index, NAMES_LIST(of_results), name, size))
        return err_set(err, "'%s': results have a column of that name: rename it", name);
    if (items->name_count == COLUMNS_MAX)
        return err_set(err, "expected at most %d columns to copy, found '%s' as well", COLUMNS_MAX,
                       name);
    const char **names =
        arena_grow(&items->arena, items->names, items->name_count, sizeof *names, err);
    if (!names || !(names[items->name_count] = arena_text(&items->arena, name, size, err)))
        return -1;
    items->names = names;
    items->name_count++;
    return 0;
}

/* --- where items begin ------------------------------------------------------------------------ */

const char *items_skip_blanks(const char *at, const char *end)
{
    while (at < end && *at && strchr(" \t\r\n", *at))
        at++;
    return at;
}

static int add_start(struct items *items, const char *at, size_t size, size_t line, struct err *err)
{
    struct item_start *starts =
        arena_grow(&items->arena, items->starts, items->count, sizeof *starts, err);
    if (!starts)
        return -1;
    items->starts = starts;
    starts[items->count++] = (struct item_start){at, size, line};
    return 0;
}

/* The names of the columns of an object; what is wrong with it is found when it is read. */
static int note_keys(struct items *items, const struct item_start *start, struct err *err)
{
    struct json *root = NULL;
    struct err unread = {0};
    size_t place = 0;
    int failed = 0;
    if (json_parse(&root, start->at, start->size, &unread))
        return unread.out_of_memory ? err_adopt(err, &unread) : 0;
    for (const struct json *member = json_is_object(root) ? json_first(root) : NULL;
         member && !failed; member = json_next(member))
        failed = add_column(items, &place, json_key(member), err);
    json_free(root);
    return failed ? err_prefix(err, "'%s' line %zu", shown_path(items->path), start->line) : 0;
}

/* One item for each line that is not blank. */
static int find_lines(struct items *items, const char *at, const char *end, struct err *err)
{
    bool keeps_blank = items->fields & ITEMS_KEEP_BLANK && items->kind == ITEMS_LINES;
    size_t last = items->count; /* one past the last that is not blank */
    size_t first_blank = 0;
    for (size_t number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        size -= size && at[size - 1] == '\r';
        bool is_blank = items_skip_blanks(at, at + size) == at + size;
        if ((!is_blank || keeps_blank) && add_start(items, at, size, number, err))
            return -1;
        if (!is_blank && items->kind == ITEMS_JSONL &&
            note_keys(items, &items->starts[items->count - 1], err))
            return -1;
        if (is_blank && !first_blank)
            first_blank = number;
        if (!is_blank)
            last = items->count;
        at = newline ? newline + 1 : end;
    }
    items->count = last;
    if (items->count > items->of_file)
        items->blank = items->starts[items->count - 1].line - (items->count - items->of_file);
    if (items->blank)
        print_note("'%s': %zu blank line%s skipped (line %zu%s)", shown_path(items->path),
                   items->blank, num_plural(items->blank), first_blank,
                   items->blank == 1 ? "" : " is the first");
    return 0;
}

static int find_records(struct items *items, struct csv_reader reader, struct err *err)
{
    struct arena arena = {0};
    bool more = true;
    while (more && !err->kind) {
        struct err unread = {0};
        struct csv_record record;
        const char *at = reader.at;
        size_t line = reader.line;
        int failed = csv_read(&reader, &record, &arena, &unread);
        more = failed || record.count;
        if (unread.out_of_memory)
            err_adopt(err, &unread);
        else if (more)
            add_start(items, at, 0, record.line ? record.line : line, err);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return err->kind ? -1 : 0;
}

/* --- the header of CSV ------------------------------------------------------------------------ */

/* How well a header reads with a separator: it has a field of the command, else several columns. */
static size_t judge_header(const struct items *items, const struct csv_record *header)
{
    bool is_known = false;
    bool is_tight = true; /* prose has blanks after commas */
    for (size_t i = 0; i < header->count; i++) {
        is_known |= items_place_of(items, header->fields[i]) < ITEM_FIELDS;
        is_tight &= header->fields[i][0] != ' ';
    }
    if (is_known && is_tight)
        return SIZE_MAX - (header->count == 1);
    return header->count > 1 ? header->count : 0;
}

/* Choose the separator, of comma, semicolon and tab, with which the header reads best, and say how
 * well. A header that cannot be read is worth nothing; only a lack of memory is an error. */
static int choose_separator(size_t *best, const struct items *items, struct csv_reader *reader,
                            struct err *err)
{
    char chosen = ',';
    *best = 0;
    for (const char *separator = ",;\t"; *separator; separator++) {
        struct csv_reader trial = *reader;
        struct csv_record header;
        struct arena arena = {0};
        struct err unread = {0};
        trial.separator = *separator;
        int failed = csv_read(&trial, &header, &arena, &unread);
        size_t worth = failed ? 0 : judge_header(items, &header);
        arena_release(&arena);
        if (failed && unread.out_of_memory)
            return err_adopt(err, &unread);
        if (worth > *best) {
            *best = worth;
            chosen = *separator;
        }
    }
    reader->separator = chosen;
    return 0;
}

/* What a column is: a field that no column before it is, or the place of its name. */
static int read_column(struct items *items, const struct csv_record *header, size_t column,
                       struct err *err)
{
    const char *name = header->fields[column];
    size_t *place = &items->places[column];
    if (add_column(items, place, name, err))
        return err_prefix(err, "column %zu", column + 1);
    for (size_t i = 0; i < column; i++)
        if (items->places[i] == *place)
            return strcmp(header->fields[i], name) == 0
                       ? err_set(err, "expected every column once, found '%s' twice", name)
                       : err_set(err, "expected one column of texts, found '%s' and '%s'",
                                 header->fields[i], name);
    return 0;
}

static bool has_column(const struct items *items, enum item_field field)
{
    bool has = false;
    for (size_t i = 0; i < items->place_count; i++)
        has |= items->places[i] == field;
    return has;
}

/* Each column once; one has the texts. */
static int read_header(struct items *items, struct csv_reader *reader, struct err *err)
{
    struct csv_record header = {.line = 0};
    size_t worth;
    if (choose_separator(&worth, items, reader, err))
        return -1;
    items->separator = reader->separator;
    int failed = csv_read(reader, &header, &items->arena, err);
    items->place_count = failed ? 0 : header.count;
    items->places = arena_alloc(&items->arena, items->place_count + 1, sizeof *items->places, err);
    failed = failed || !items->places;
    for (size_t i = 0; !failed && i < header.count; i++)
        failed = read_column(items, &header, i, err);
    if (!failed && header.count && !has_column(items, ITEM_TEXT) && !has_column(items, ITEM_IDS) &&
        !has_column(items, ITEM_CLEAN) && !has_column(items, ITEM_GOOD))
        failed = err_set(err, "expected a column 'text' or 'ids', found none");
    return failed ? err_prefix(err, "'%s' line %zu", shown_path(items->path),
                               header.line ? header.line : 1)
                  : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* By the name's ending; without one by what the file begins with: an object, or a header of several
 * columns of which one is known. */
static int find_kind(struct items *items, struct csv_reader reader, bool is_document,
                     struct err *err)
{
    const char *at = items_skip_blanks(reader.at, reader.end);
    size_t worth = 0;
    static const struct {
        const char *ending;
        enum items_kind kind;
    } endings[] = {
        {".txt", ITEMS_LINES}, {".jsonl", ITEMS_JSONL}, {".csv", ITEMS_CSV}, {".tsv", ITEMS_CSV}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (name_has_ending(items->path, endings[i].ending)) {
            items->kind = endings[i].kind;
            return 0;
        }
    if (is_document)
        return 0;
    if (at < reader.end && *at == '{') {
        at = items_skip_blanks(at + 1, reader.end);
        items->kind = at < reader.end && (*at == '"' || *at == '}') ? ITEMS_JSONL : ITEMS_LINES;
        return 0;
    }
    if (choose_separator(&worth, items, &reader, err))
        return -1;
    items->kind = worth == SIZE_MAX ? ITEMS_CSV : ITEMS_LINES;
    return 0;
}

/* With -v: what belongs to the items, and what is copied. */
static void note_columns(const struct items *items)
{
    struct buf read = {0};
    struct buf copied = {0};
    for (size_t field = 0; field < ITEM_FIELDS; field++)
        if (items->kind == ITEMS_CSV ? has_column(items, (enum item_field)field)
                                     : items->fields >> field & 1)
            buf_format(&read, "%s%s", read.size ? ", " : "", item_field_names[field]);
    for (size_t i = 0; i < items->name_count; i++)
        buf_format(&copied, "%s%s", i ? ", " : "", items->names[i]);
    if (!read.out_of_memory && !copied.out_of_memory)
        print_note("'%s': columns read: %s; copied to the output: %s", shown_path(items->path),
                   read.bytes, copied.size ? copied.bytes : "none");
    buf_release(&read);
    buf_release(&copied);
}

/* Of commands that keep blank lines, which score stimuli: a suite in a file of JSON. */
static int find_suite(struct items *items, struct csv_reader file, struct err *err)
{
    struct suite *suite = arena_alloc(&items->arena, 1, sizeof *suite, err);
    if (!(items->fields & ITEMS_KEEP_BLANK) || !name_has_ending(items->path, ".json"))
        return suite ? 0 : -1;
    if (!suite || suite_read(suite, file.at, (size_t)(file.end - file.at), &items->arena, err))
        return err_prefix(err, "'%s'", items->path);
    if (!suite->formula_count)
        return 0;
    items->suite = suite;
    items->kind = ITEMS_JSONL;
    return find_lines(items, suite->lines, suite->lines + suite->size, err);
}

static int find_in_file(struct items *items, enum items_many many, struct err *err)
{
    bool is_document = items->options->input.document || many >= ITEMS_ONE;
    const char *begin = text_after_mark(&items->file);
    struct csv_reader reader = {begin, items->file.bytes + items->file.size, 1, ','};
    items->of_file = items->count;
    items->kind = ITEMS_LINES;
    if (!items->options->input.document && find_suite(items, reader, err))
        return -1;
    if (items->suite)
        return 0;
    if (!items->options->input.document && find_kind(items, reader, is_document, err))
        return -1;
    if (items->kind == ITEMS_CSV)
        return read_header(items, &reader, err) || find_records(items, reader, err) ? -1 : 0;
    if (items->kind == ITEMS_JSONL || !is_document) {
        const char *at = items_skip_blanks(reader.at, reader.end);
        if (at < reader.end && *at == '[' &&
            (at = items_skip_blanks(at + 1, reader.end)) < reader.end && *at == '{')
            return err_set(err,
                           "'%s': expected one item per line, found a JSON array of them: jq -c "
                           "'.[]' makes them lines; --document reads it as one text",
                           shown_path(items->path));
        return find_lines(items, begin, reader.end, err);
    }
    size_t newline =
        many != ITEMS_WHOLE && items->file.size && items->file.bytes[items->file.size - 1] == '\n';
    items->whole = items->options->input.file ? "--file" : shown_path(items->path);
    return items->file.size
               ? add_start(items, items->file.bytes, items->file.size - newline, 0, err)
               : 0;
}

static int check_count(const struct items *items, enum items_many many, struct err *err)
{
    bool was_read = items->options->input.file || items->file.size;
    if (items->count || (many == ITEMS_ANY && !was_read))
        return 0;
    if (!was_read)
        return err_usage(err,
                         "expected a text, found none: \"Life is short\" in quotes, --sentence "
                         "TEXT, --file PATH, --ids LIST or a pipe");
    return err_set(err, "'%s': expected a sentence, found %s", shown_path(items->path),
                   items->place_count ? "only a header"
                   : items->file.size ? "only blank lines"
                                      : "nothing");
}

static int find_all(struct items *items, enum items_many many, struct err *err)
{
    const struct input_options *options = &items->options->input;
    size_t texts = text_count(options);
    size_t given = texts + (options->file != NULL) + (options->ids != NULL);
    bool is_one = many == ITEMS_ONE || many == ITEMS_PROMPT;
    if (many == ITEMS_NONE)
        return 0;
    if (many != ITEMS_WHOLE && check_operands(options, err))
        return -1;
    if (is_one && given > 1)
        return err_usage(err, "expected one text, found %zu", given);
    if (many == ITEMS_PROMPT && !given && options->source)
        return add_start(items, NULL, 0, 0, err);
    items->path = text_is_piped(options) ? "-" : options->file;
    if (items_check_ids(options, err) ||
        (items->path && input_file_open(&items->file, items->path, err)))
        return -1;
    for (size_t i = 0; i < texts; i++)
        if (add_start(items, text_at(options, i), strlen(text_at(options, i)), 0, err))
            return -1;
    if ((items->path && find_in_file(items, many, err)) ||
        (options->ids && add_start(items, NULL, 0, 0, err)))
        return -1;
    if (is_one && items->count > 1)
        return err_usage(err, "expected one text, found %zu", items->count);
    return check_count(items, many, err);
}

int items_open(struct items *items, const struct options *options, unsigned fields,
               enum items_many many, struct err *err)
{
    *items = (struct items){.options = options, .fields = fields | OF_ALL};
    if (find_all(items, many, err)) {
        items_release(items);
        return -1;
    }
    if (options->verbose && items->kind != ITEMS_LINES)
        note_columns(items);
    return 0;
}

void items_release(struct items *items)
{
    arena_release(&items->arena);
    file_release(&items->file);
    *items = (struct items){0};
}

size_t items_blank_before(const struct items *items, size_t index)
{
    const struct item_start *start = &items->starts[index];
    if (start->line && items->kind != ITEMS_CSV)
        return start->line - 1 - (index - items->of_file);
    return start->at ? 0 : items->blank;
}

void items_place(struct buf *place, const struct items *items, size_t index)
{
    const struct item_start *start = &items->starts[index];
    if (items->whole)
        buf_text(place, items->whole);
    else if (!start->at)
        buf_text(place, items->options->input.ids ? "--ids" : "");
    else if (start->line)
        buf_format(place, "'%s' %s %zu", shown_path(items->path),
                   items->suite ? "sentence" : "line", start->line);
    else if (items->count > 1)
        buf_format(place, "sentence %zu", index);
}

int items_blame(const struct items *items, size_t index, struct err *err)
{
    struct buf place = {0};
    items_place(&place, items, index);
    if (place.size)
        err_prefix(err, "%s", place.bytes);
    buf_release(&place);
    return -1;
}
