#include "items.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "command.h"
#include "format/json.h"
#include "model/model.h"
#include "say.h"
#include "session.h"
#include "stimuli.h"
#include "sweep.h"
#include "table_rows.h"

#define EXCEL_UTF8 "save it as UTF-8 (in Excel: 'CSV UTF-8')"

enum {
    COLUMNS_MAX = 256, /* largest number of columns that are copied to the output */
    NO_FIELD = ITEM_FIELDS + COLUMNS_MAX, /* field of a column that is ignored */
    COLUMN_NAME_BYTES_MAX = 256,          /* maximum length of a column's name, in bytes */
    OF_ALL = (2 << ITEM_PAIR) - 1,        /* fields that every command reads, as bits */
    OF_TEXTS = 1 << ITEM_TEXT | 1 << ITEM_IDS | 1 << ITEM_CLEAN | 1 << ITEM_GOOD | 1 << ITEM_BAD |
               1 << ITEM_POSITIVE,
    ARE_MARKED = 1 << ITEM_TEXT | 1 << ITEM_CLEAN | 1 << ITEM_CORRUPT | 1 << ITEM_GOOD |
                 1 << ITEM_BAD, /* fields whose texts may have marks between regions */
    ARE_TEXTS = (OF_TEXTS & ~(1 << ITEM_IDS)) | 1 << ITEM_SOURCE | 1 << ITEM_PAIR |
                1 << ITEM_CORRUPT | 1 << ITEM_CORRUPT_SOURCE | 1 << ITEM_BAD | 1 << ITEM_NEGATIVE,
};

/* Names of the fields in the order of enum item_field, then other names of some fields. */
static const struct {
    const char *name;
    enum item_field field;
    size_t option; /* offset in struct options of the value that the field replaces; 0: none */
} known_columns[] = {{"text", ITEM_TEXT, 0},
                     {"ids", ITEM_IDS, IN(input.ids)},
                     {"source", ITEM_SOURCE, IN(input.source)},
                     {"pair", ITEM_PAIR, IN(input.pair)},
                     {"answer", ITEM_ANSWER, IN(attribute.answer)},
                     {"target", ITEM_TARGET, IN(lens.target)},
                     {"continue", ITEM_CONTINUE, 0},
                     {"position", ITEM_POSITION, IN(attribute.position)},
                     {"clean", ITEM_CLEAN, IN(patch.clean)},
                     {"corrupt", ITEM_CORRUPT, IN(patch.corrupt)},
                     {"corrupt_source", ITEM_CORRUPT_SOURCE, IN(patch.corrupt_source)},
                     {"good", ITEM_GOOD, 0},
                     {"bad", ITEM_BAD, 0},
                     {"positive", ITEM_POSITIVE, 0},
                     {"negative", ITEM_NEGATIVE, 0},
                     {"head", ITEM_HEAD, IN(attribute.head)},
                     {"key", ITEM_KEY, IN(attribute.key)},
                     {"against", ITEM_AGAINST, IN(attribute.against)},
                     {"label", ITEM_LABEL, 0},
                     {"sentence", ITEM_TEXT, 0},
                     {"sentence_good", ITEM_GOOD, 0},
                     {"sentence_bad", ITEM_BAD, 0},
                     {"query", ITEM_POSITION, IN(attribute.position)}};
enum { COLUMNS_KNOWN = sizeof known_columns / sizeof *known_columns };

/* --- operands --------------------------------------------------------------------------------- */

/* Refuse operands of one word that are probably not texts: the name of a model or a file, or words
 * that the shell split because the quotes are missing. */
static int check_operands(const struct input_options *options, struct err *err)
{
    static const char *const endings[] = {".txt", ".csv", ".tsv", ".json", ".jsonl", ".xlsx"};
    for (size_t i = 0, index = 0; i < options->operands.count; i++) {
        const char *word = options->operands.items[i];
        if (strchr(word, ' '))
            continue;
        errno = 0;
        bool exists = file_exists(word);
        if (exists && errno)
            return err_set(err, "cannot access '%s': %s: --sentence %s reads it as a text", word,
                           strerror(errno), word);
        const char *kind = bundled_find(word)        ? "model"
                           : file_is_directory(word) ? "directory"
                           : exists                  ? "file"
                                                     : NULL;
        if (!*word)
            return err_usage(err, "expected a text, found ''");
        if (strcmp(word, "-") == 0)
            return err_usage(err, "'-': use --file - to read standard input");
        if (kind)
            return err_usage(err,
                             "'%s' is a %s: --%s %s opens it, --sentence %s reads it as a text",
                             word, kind, strcmp(kind, "file") == 0 ? kind : "model", word, word);
        const char *dot = strrchr(word, '.');
        if (dot && dot > word && names_find(&index, NAMES_LIST(endings), dot, strlen(dot)))
            return err_usage(err,
                             "'%s': expected a file, found none of this name: --file FILE reads "
                             "texts from one, --sentence %s reads it as a text",
                             word, word);
        if (options->operands.count + options->sentences.count > 1)
            return err_usage(err,
                             "expected a text of several words in quotes, such as \"Life is "
                             "short\", found '%s': use --sentence for a text of one word",
                             word);
    }
    return 0;
}

static int check_ids(const struct input_options *options, struct err *err)
{
    if (options->ids && options->pair)
        return err_usage(err, "--pair: expected texts, found --ids");
    if (!options->ids || !options->special || strcmp(options->special, "none") == 0)
        return 0;
    return err_usage(err, "--special %s: expected texts, found --ids: add the special tokens there",
                     options->special);
}

/* --- names of columns ------------------------------------------------------------------------- */

static struct names names_of(const struct texts *texts)
{
    return (struct names){texts->items, texts->count, sizeof *texts->items};
}

/* The field in which values of a column are stored: an item_field of the command; or, for a column
 * to copy, ITEM_FIELDS + its index in items->names. A name that is not in this list yet gets the
 * next index. */
static size_t field_of(const struct items *items, const char *name)
{
    const char *text = items->options->input.text_column, *id = items->options->input.id_column;
    size_t index = 0, size = strlen(name);
    bool is_named = names_find(&index, names_of(&items->parts), name, size) ||
                    names_find(&index, names_of(&items->by), name, size) ||
                    (id && strcmp(id, name) == 0);
    unsigned fields = items->fields & ~(text || items->parts.count ? 1u << ITEM_TEXT : 0);
    if ((text && strcmp(text, name) == 0) || (items->reads_clean && strcmp(name, "clean") == 0))
        return ITEM_TEXT;
    if (!is_named && names_find(&index, NAMES(known_columns, COLUMNS_KNOWN), name, size) &&
        fields >> known_columns[index].field & 1)
        return known_columns[index].field;
    index = items->names.count;
    names_find(&index, (struct names){items->names.items, index, sizeof name}, name, size);
    return ITEM_FIELDS + index;
}

/* Set items->reads_clean if the table has a column `clean`, and no other text that the command
 * reads. */
static void choose_clean(struct items *items, struct names names)
{
    bool has_clean = false, has_text = items->fields >> ITEM_CLEAN & 1;
    for (size_t i = 0; i < names.count; i++) {
        size_t field = field_of(items, names_at(names, i));
        has_clean |= strcmp(names_at(names, i), "clean") == 0;
        has_text |= field < ITEM_FIELDS && OF_TEXTS >> field & 1;
    }
    items->reads_clean =
        has_clean && !has_text && !items->options->input.text_column && !items->parts.count;
}

/* True if pairs of texts can be joined: by the tokenizer of a model, or by --special bos. Also true
 * if a sweep varies the model or --special, and for a model that cannot be opened, which is refused
 * later. */
static bool joins_texts(struct items *items)
{
    const struct options *options = items->options;
    const char *special = options->input.special;
    bool joins = special && strcmp(special, "bos") == 0;
    const struct texts *sweeps = &options->batch.sweeps;
    for (size_t i = 0; i < sweeps->count; i++) /* a swept model or --special may join two texts */
        joins |= strncmp(sweeps->items[i], "model=", 6) == 0 ||
                 strncmp(sweeps->items[i], "special=", 8) == 0;
    struct texts models;
    struct err err = {0};
    models_read(&models, options, &items->arena, &err);
    for (size_t i = 0; i < num_max(models.count, 1) && !joins && !err.kind; i++) {
        struct folder folder;
        struct tokenizer *tokenizer = NULL;
        const char *name = chosen_model(models.count ? models.items[i] : NULL);
        joins = !model_find(&folder, name, &items->arena, &err) &&
                !tokenizer_open(&tokenizer, &folder, &err) && tokenizer &&
                tokenizer_joins(tokenizer);
        tokenizer_free(tokenizer);
    }
    return joins || err.kind;
}

/* Get the field of a column, and record in items->found that the table has this field. A column
 * `pair` often contains the number of a minimal pair: it is only copied to the output, unless two
 * texts can be joined to a pair. */
static size_t find_field(struct items *items, const char *name)
{
    size_t field = field_of(items, name);
    if (field == ITEM_PAIR && !(items->found >> ITEM_PAIR & 1)) {
        if (!joins_texts(items)) {
            items->fields &= ~(1u << ITEM_PAIR);
            return field_of(items, name);
        }
        print_note("'%s': the column '%s' is read as the second text of pairs",
                   shown_path(items->path), name);
    }
    items->found |= field < ITEM_FIELDS ? 1u << field : 0;
    return field;
}

/* Get the field of a column; a new name is added to the columns to copy. Refused: an invalid name,
 * too many names, and a name that is probably a misspelling of a known name that is missing (other
 * capitals or, from five letters on, at distance 1: base/names.h). */
static size_t add_column(struct items *items, const char *name, struct err *err)
{
    enum { LETTERS = 5 };
    struct nearest nearest;
    size_t size = strlen(name), field = find_field(items, name);
    if (field == ITEM_TEXT && !items->text_name)
        items->text_name = arena_text(&items->arena, name, size, err);
    if (field != ITEM_FIELDS + items->names.count)
        return field;
    nearest_begin(&nearest, name, size);
    for (size_t i = 0; i < COLUMNS_KNOWN; i++)
        if (items->fields >> known_columns[i].field & ~items->found >> known_columns[i].field & 1)
            nearest_offer(&nearest, known_columns[i].name);
    if (!size || size > COLUMN_NAME_BYTES_MAX || utf8_invalid_at(name, size) < size)
        err_set(err, "expected a name of 1 to %d bytes in UTF-8, found %zu byte%s: '%.40s'%s",
                COLUMN_NAME_BYTES_MAX, size, num_plural(size), name,
                utf8_invalid_at(name, size) < size ? ": " EXCEL_UTF8 : "");
    else if (nearest.name && nearest.steps <= (nearest.size >= LETTERS))
        err_set(err, "'%s': did you mean '%s'? If not, rename the column", name, nearest.name);
    else if (items->names.count == COLUMNS_MAX)
        err_set(err, "expected at most %d columns to copy, found '%s' as well", COLUMNS_MAX, name);
    else if ((name = arena_text(&items->arena, name, size, err)))
        texts_add(&items->names, name, &items->arena, err);
    return field;
}

/* --- where items begin ------------------------------------------------------------------------ */

static int add_start(struct items *items, const char *at, size_t size, size_t line, struct err *err)
{
    struct item_start *starts =
        arena_grow(&items->arena, items->starts, items->count, sizeof *starts, err);
    if (!starts)
        return -1;
    const struct item_start *last = items->count ? &starts[items->count - 1] : NULL;
    const struct fill *now = items->fills.now, *fills = last ? last->fills : NULL;
    const size_t bytes = items->fills.count * sizeof *now;
    if (bytes && (!fills || memcmp(fills, now, bytes) != 0)) {
        struct fill *own = arena_alloc(&items->arena, items->fills.count, sizeof *own, err);
        if (!own)
            return -1;
        fills = memcpy(own, now, bytes);
    }
    items->starts = starts;
    starts[items->count++] =
        (struct item_start){at, size, line, last ? last->number + 1 : 0, fills};
    return 0;
}

/* True if a field is a copied column whose cells are joined to texts. */
static bool is_part_field(const struct items *items, size_t field)
{
    size_t index = field - ITEM_FIELDS;
    return field >= ITEM_FIELDS && index < items->names.count &&
           names_find(&index, names_of(&items->parts), items->names.items[index],
                      strlen(items->names.items[index]));
}

static bool is_text_field(const struct items *items, size_t field)
{
    return field < ITEM_FIELDS ? ARE_TEXTS >> field & 1 : is_part_field(items, field);
}

static const char *name_of_field(const struct items *items, size_t field)
{
    return field >= ITEM_FIELDS                     ? items->names.items[field - ITEM_FIELDS]
           : field == ITEM_TEXT && items->text_name ? items->text_name
                                                    : known_columns[field].name;
}

/* Add oversights of an author in a cell, such as stray blanks or an error value of Excel, to
 * items->survey. */
static int survey_cell(struct items *items, size_t field, const char *text, size_t line,
                       struct err *err)
{
    bool is_part = is_part_field(items, field), is_text = !is_part && is_text_field(items, field);
    enum cell_kind kind = is_part                                          ? CELL_REGION
                          : field < ITEM_FIELDS && ARE_MARKED >> field & 1 ? CELL_WITH_MARKS
                                                                           : CELL_TEXT;
    if (!is_text && !is_part && field < ITEM_FIELDS + items->names.count && cell_is_error(text) &&
        !items->survey.errors++) {
        items->survey.error_line = line;
        items->survey.error = arena_text(&items->arena, text, strlen(text), err);
    }
    unsigned kinds = is_text || is_part ? hidden_find(text, items->kind == ITEMS_CSV) : 0;
    if (kinds && items->options->input.trim) {
        const char *trimmed = text_trim(text, &items->arena, err);
        kinds = trimmed ? hidden_find(trimmed, items->kind == ITEMS_CSV) : 0;
    }
    items->survey.hidden_kinds |= kinds;
    if (kinds && !items->survey.hidden++)
        items->survey.hidden_line = line;
    return is_text || is_part
               ? text_survey_add(&items->survey, text, kind, line, &items->arena, err)
               : 0;
}

/* Add the cells of a row in the columns that group rows to items->fills. */
static int note_fills(struct items *items, const struct row *row, struct arena *arena,
                      struct err *err)
{
    struct fills *fills = &items->fills;
    struct fill *found = arena_alloc(arena, fills->count, sizeof *found, err);
    for (size_t i = 0; found && i < fills->count; i++) {
        const char *name = fills->columns[i].name;
        size_t index = items->names.count;
        names_find(&index, names_of(&items->names), name, strlen(name));
        for (size_t k = 0; k < row->count && !found[i].value; k++)
            if (row->cells[k].field == ITEM_FIELDS + index && row->cells[k].value &&
                *row->cells[k].value)
                found[i] = (struct fill){row->cells[k].value, row->cells[k].literal};
    }
    return !found || (!row->is_blank && fills_take(fills, found, row->line, &items->arena, err))
               ? -1
               : 0;
}

/* Add the cells of a row to items->survey. If the row is an object of JSONL, also add the names of
 * its members to the columns of the table. */
static int note_row(struct items *items, const struct row *row, enum cells *cells, struct err *err)
{
    if (items->kind == ITEMS_JSONL && !items->found && row->count)
        choose_clean(items, NAMES(row->cells, row->count));
    for (size_t i = 0; i < row->count && !err->kind; i++) {
        struct row_cell *cell = &row->cells[i];
        const char *value = cell->value ? cell->value : "";
        if (items->kind == ITEMS_JSONL) {
            cell->field = add_column(items, cell->name, err);
        } else {
            cells[i] = cells_add(cells[i], cell_is_error(value) ? "" : value);
            const char *start = row->at + strspn(row->at, "\r\n");
            items->survey.whole +=
                items->reader.separator == '\n' && *start != '"' && strpbrk(value, ",;\t");
        }
        if (!cell->literal)
            survey_cell(items, cell->field, value, row->line, err);
    }
    return err_if(err->kind);
}

/* Refuse a column that groups rows and is blank in its first row: no row above has a value for
 * it. */
static int check_fills(const struct items *items, struct err *err)
{
    size_t index;
    for (size_t i = 0; i < items->fills.count; i++) {
        const struct fill_column *column = &items->fills.columns[i];
        if (column->first_line &&
            names_find(&index, names_of(&items->names), column->name, strlen(column->name)))
            return err_set(err,
                           "'%s' line %zu: column '%s': expected a value in the first row, which "
                           "blank cells below repeat, found none: fill it in",
                           shown_path(items->path), column->first_line, column->name);
    }
    return 0;
}

/* Make the items. An item is a line of text or a row of a table that is not blank; with
 * ITEMS_KEEP_BLANK, also a blank row that comes before the last row that is not blank; with --by,
 * neighbouring rows with the same values in the columns of --by. The numbers of items count blank
 * rows. Errors in a row are reported when the item is read. */
static int find_rows(struct items *items, struct err *err)
{
    const bool of_csv = items->kind == ITEMS_CSV, by = items->by.count;
    const bool keeps_blank = items->fields & ITEMS_KEEP_BLANK && items->kind != ITEMS_JSONL && !by;
    const size_t first = items->count;
    /* `last`: number of items up to the last item that is not blank */
    size_t last = first, number = first;
    /* `skipped`: number of blank rows that are no items; `between`: how many of these come before
     * the last row that is not blank */
    size_t skipped = 0, between = 0;
    struct arena arena = {0};
    enum cells *cells = arena_alloc(&items->arena, items->header_count, sizeof *cells, err);
    if (!cells)
        return -1;
    for (struct row row = {.line = 1}; row.line && !err->kind;) {
        arena_clear(&arena);
        const bool is_broken = row_read(&row, items, field_of, &items->reader, &arena, err);
        if (!err->out_of_memory)
            err_clear(err);
        if (!row.line || err->kind)
            break;
        bool is_skipped = row.is_blank && !keeps_blank;
        bool begins = !note_row(items, &row, cells, err) && !is_skipped &&
                      (is_broken || (!note_fills(items, &row, &arena, err) &&
                                     (!by || fills_begin_text(&items->fills, &items->arena, err))));
        if (err->kind) {
            err_prefix(err, "'%s' line %zu", shown_path(items->path), row.line);
            break;
        }
        skipped += is_skipped;
        items->records += !is_skipped;
        if (begins && !add_start(items, row.at, row.size, row.line, err))
            items->starts[items->count - 1].number = number;
        if (!row.is_blank) {
            last = items->count;
            between = skipped;
        }
        number += begins || !by;
    }
    arena_release(&arena);
    skipped += items->count - last;
    if (!of_csv || last > first)
        items->count = last;
    items->survey.blank = of_csv ? skipped : by ? 0 : between;
    for (size_t i = items->header_count; i-- > 0;) {
        size_t index = items->field_of_column[i] - ITEM_FIELDS;
        if (cells[i] == CELLS_WITH_COMMAS && index < items->names.count)
            items->survey.commas = items->names.items[index];
    }
    return err_if(err->kind || check_fills(items, err));
}

/* --- the header of CSV ------------------------------------------------------------------------ */

/* Choose the separator: comma, semicolon or tab, or none if there is one column. Prefer a separator
 * that gives the header a column that the command reads, then the separator that makes the most
 * columns. A file with several columns, one of which the command reads, is a table. */
static int choose_separator(struct items *items, struct err *err)
{
    /* added to the number of columns if the command reads one: more than any number of columns */
    const size_t KNOWN = SIZE_MAX / 2;
    size_t best = 1;
    bool is_one = true; /* the table has one column */
    for (const char *separator = ",;\t"; *separator && !err->kind; separator++) {
        struct csv_record header;
        struct arena arena = {0};
        /* `known`: the command reads a column of this header; `is_prose`: the name of a column
         * begins with a space, as after a comma in prose */
        bool known = false, is_prose = false;
        struct csv_reader trial = {items->reader.at, items->reader.end, 1, *separator};
        size_t count = csv_read(&trial, &header, &arena, err) ? 0 : header.count;
        is_one &= count == 1;
        if (!err->out_of_memory)
            err_clear(err);
        for (size_t i = 0; i < count; i++) {
            size_t index = 0;
            known |= field_of(items, header.fields[i]) < ITEM_FIELDS ||
                     names_find(&index, names_of(&items->parts), header.fields[i],
                                strlen(header.fields[i]));
            is_prose |= header.fields[i][0] == ' ';
        }
        arena_release(&arena);
        count += known && !is_prose ? KNOWN : 0;
        if (count > best) {
            best = count;
            items->reader.separator = *separator;
        }
    }
    if (best > KNOWN + 1)
        items->kind = ITEMS_CSV;
    if (is_one) /* with one column, a whole line is a cell, including its commas */
        items->reader.separator = '\n';
    return err_if(err->kind);
}

/* Read the header of a table. Refused: a column that occurs twice; a header without any column of
 * texts, ids or, if the command accepts them, sources. */
static int read_header(struct items *items, struct err *err)
{
    struct csv_record header;
    csv_read(&items->reader, &header, &items->arena, err);
    items->field_of_column =
        arena_alloc(&items->arena, header.count, sizeof *items->field_of_column, err);
    items->header_count = header.count;
    choose_clean(items, (struct names){header.fields, header.count, sizeof *header.fields});
    for (size_t i = 0; i < header.count; i++)
        find_field(items, header.fields[i]);
    size_t ignored = 0;
    for (size_t i = 0; i < header.count && !err->kind; i++) {
        const char *name = header.fields[i];
        /* a column without a name: row names of R, or an empty cell after Excel's last separator */
        bool is_ignored = !*name && header.count > 1 && ignored < COLUMNS_MAX;
        items->field_of_column[i] = is_ignored ? NO_FIELD : add_column(items, name, err);
        ignored += is_ignored;
        if (err->kind)
            err_prefix(err, "column %zu", i + 1);
        for (size_t j = 0; j < i && !is_ignored && !err->kind; j++)
            if (items->field_of_column[j] == items->field_of_column[i])
                err_set(err, "expected each column once, found '%s' and '%s', which mean the same",
                        header.fields[j], name);
    }
    items->survey.nameless = ignored;
    unsigned texts = OF_TEXTS | (unsigned)items->takes_sources << ITEM_SOURCE;
    if (!err->kind && header.count && !(items->found & texts)) {
        static const unsigned firsts[] = {ITEM_CLEAN, ITEM_GOOD, ITEM_POSITIVE};
        err_set(err, "expected a column 'text', 'sentence' or 'ids',");
        for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
            if (items->fields >> firsts[i] & 1)
                err_append(err, " or '%s' and '%s',", known_columns[firsts[i]].name,
                           known_columns[firsts[i] + 1].name);
        err_append(err, " found");
        for (size_t i = 0; i < header.count; i++)
            err_append(err, "%s '%s'", i ? "," : "", header.fields[i]);
        err_append(err, ": --text-column %s reads another",
                   header.count == 1 ? header.fields[0] : "NAME");
    }
    return err->kind ? err_prefix(err, "'%s' line %zu", shown_path(items->path), header.line) : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* True if the file begins with `first`, followed by one of the characters of `second`; white space
 * may be between them. */
static bool begins(const struct items *items, char first, const char *second)
{
    const char *end = items->reader.end, *at = json_blanks_end(items->reader.at, end);
    if (at == end || *at != first)
        return false;
    at = json_blanks_end(at + 1, end);
    return at < end && *at && strchr(second, *at);
}

/* Skip a first line such as "sep=;", which Excel reads and writes, and use its separator. Returns
 * true if there is such a line. */
static bool take_separator(struct csv_reader *reader)
{
    const char *at = reader->at, *next = at + 5;
    if (reader->end - at < 7 || memcmp(at, "sep=", 4) != 0 || !memchr(",;\t", at[4], 3))
        return false;
    next += *next == '\r';
    if (*next != '\n')
        return false;
    *reader = (struct csv_reader){next + 1, reader->end, reader->line + 1, at[4]};
    return true;
}

/* Set the kind of the file by a known ending of its name. Without one, unless the file is a
 * document, set the kind by its first line: an object, or a header with several columns, one of
 * which the command reads. A .txt file with such a header, as Excel's "Text (tab delimited)", gets
 * a note. */
static int find_kind(struct items *items, struct err *err)
{
    const char *path = items->path;
    bool is_txt = name_has_ending(path, ".txt");
    if (items->fields & ITEMS_KEEP_BLANK && name_has_ending(path, ".json") &&
        suite_read(items, err))
        return err_prefix(err, "'%s'", path);
    if (name_has_ending(path, ".csv") || name_has_ending(path, ".tsv"))
        items->kind = ITEMS_CSV;
    else if (items->formulas.count || name_has_ending(path, ".jsonl"))
        items->kind = ITEMS_JSONL;
    else if (items->kind == ITEMS_DOCUMENT)
        return 0;
    else if (!is_txt && begins(items, '{', "\"}"))
        items->kind = ITEMS_JSONL;
    if (items->kind == ITEMS_JSONL)
        return 0;
    if (!is_txt && take_separator(&items->reader))
        items->kind = ITEMS_CSV;
    else if (choose_separator(items, err))
        return -1;
    bool names_columns = items->options->input.text_column || items->parts.count;
    if (is_txt && items->kind == ITEMS_CSV && !names_columns) {
        print_note("'%s' begins like a table, but is read as lines: rename it to .csv or .tsv",
                   shown_path(path));
        items->kind = ITEMS_LINES;
    }
    return 0;
}

/* Print a note that says how the file was read: which lines and columns are left out, whether texts
 * have marks and, except for tokenize (ITEMS_WHOLE), whose output shows them, stray blanks. With
 * -v, list the columns that the command reads and the columns to copy. */
static void note_texts(struct items *items, enum items_many many)
{
    const struct text_survey *survey = &items->survey;
    const char *path = items->path ? shown_path(items->path) : "";
    struct buf text = {0};
    if (items->by.count)
        buf_format(&text, "; %zu text%s of %zu row%s", items->count, num_plural(items->count),
                   items->records, num_plural(items->records));
    fills_write(&text, &items->fills);
    text_survey_write(&text, survey, !(items->fields & ITEMS_KEEP_BLANK),
                      !items->options->input.trim && many != ITEMS_WHOLE);
    const struct output_options *output = &items->options->output;
    const char *to = output->format ? output->format : "";
    bool to_csv = strcmp(to, "csv") == 0 || strcmp(to, "tidy") == 0 ||
                  (!*to && output->path && name_ends_in(output->path, ".csv"));
    if (survey->commas && to_csv)
        buf_format(
            &text,
            "; decimal commas, as in the column '%s', are copied as they are: --format excel "
            "writes all numbers so",
            survey->commas);
    if (text.size && !text.out_of_memory)
        print_note("'%s': %s", path, text.bytes + strlen("; "));
    buf_release(&text);
    if (!items->options->verbose || items->kind < ITEMS_JSONL)
        return;
    for (size_t field = 0; field < ITEM_FIELDS; field++)
        if (items->found >> field & 1)
            buf_format(&text, "%s%s", text.size ? ", " : "", known_columns[field].name);
    buf_format(&text, "%s; copied to the output: %s", items->found ? "" : "none",
               items->names.count ? "" : "none");
    for (size_t i = 0; i < items->names.count; i++)
        buf_format(&text, "%s%s", i ? ", " : "", items->names.items[i]);
    const char *listed = buf_keep(&text, &items->arena, NULL);
    if (listed)
        print_note("'%s': columns read: %s", path, listed);
}

/* Read the options that name columns. Refused: two options that give texts, or an option without
 * the other option that it needs. */
static int name_columns(struct items *items, struct err *err)
{
    const struct input_options *input = &items->options->input;
    const char *parts = input->word_column ? input->word_column : input->regions;
    if (options_exclude(items->options, "text-column", "regions word-column", err) ||
        options_exclude(items->options, "regions", "word-column", err))
        return -1;
    if (!input->word_column != !input->by)
        return err_usage(err, "--word-column and --by: expected both, found --%s alone",
                         input->by ? "by" : "word-column");
    if (input->joint && !parts)
        return err_usage(err, "--join: expected --regions or --word-column");
    struct arena *arena = &items->arena;
    if ((input->regions && column_names_read(&items->parts, "--regions", parts, arena, err)) ||
        (input->by && column_names_read(&items->by, "--by", input->by, arena, err)) ||
        (input->word_column && texts_add(&items->parts, parts, arena, err)))
        return -1;
    if (fills_init(&items->fills, items->options, &items->by, &items->arena, err))
        return -1;
    if (!input->text_column && !parts)
        return 0;
    /* with these options, `text` is the only column of texts that the command reads */
    items->fields &= ~((unsigned)OF_TEXTS & ~(1u << ITEM_TEXT));
    items->found |= 1u << ITEM_TEXT;
    return 0;
}

/* Refuse options that name columns which the table lacks. */
static int check_columns(const struct items *items, struct err *err)
{
    const struct input_options *input = &items->options->input;
    const struct texts text = {(const char *[]){input->text_column}, !!input->text_column};
    const struct texts id = {(const char *[]){input->id_column}, !!input->id_column};
    const struct {
        const char *option;
        const struct texts *columns;
    } lists[] = {{input->by ? "--word-column" : "--regions", &items->parts},
                 {"--by", &items->by},
                 {"--id-column", &id},
                 {"--text-column", &text}};
    if (items->by.count && items->kind < ITEMS_JSONL)
        return err_usage(err, "--word-column: expected a table in CSV or JSONL");
    for (size_t i = 0, index; i < sizeof lists / sizeof *lists; i++)
        for (size_t k = 0; k < lists[i].columns->count; k++) {
            const char *name = lists[i].columns->items[k];
            bool is_text = items->text_name && strcmp(items->text_name, name) == 0;
            if (!is_text && column_choose(&index, names_of(&items->names), lists[i].option, name,
                                          strlen(name), err))
                return -1;
        }
    return 0;
}

static int find_in_file(struct items *items, enum items_many many, struct err *err)
{
    bool is_document = items->options->input.document;
    const char *bytes = items->file.bytes;
    size_t size = items->file.size;
    items->reader = (struct csv_reader){utf8_begin(bytes, size), bytes + size, 1, ','};
    if (!is_document && name_has_ending(items->path, ".js"))
        return err_set(err,
                       "'%s': expected texts or a table, found a script, as of Ibex: write its "
                       "sentences into a table with a column 'text'; --document reads it as one "
                       "text",
                       items->path);
    items->kind = is_document || many >= ITEMS_ONE ? ITEMS_DOCUMENT : ITEMS_LINES;
    if (!is_document && find_kind(items, err))
        return -1;
    if (items->kind == ITEMS_CSV && !memchr(bytes, '\n', size) && memchr(bytes, '\r', size))
        return err_set(err,
                       "'%s': expected lines that end in LF or CR LF, found only CR: tr '\\r' "
                       "'\\n' converts them",
                       shown_path(items->path));
    if (items->kind == ITEMS_CSV)
        return err_if(read_header(items, err) || find_rows(items, err));
    if (items->kind == ITEMS_DOCUMENT) {
        size_t newline = many != ITEMS_WHOLE && size && bytes[size - 1] == '\n';
        return size ? add_start(items, bytes, size - newline, 0, err) : 0;
    }
    if (begins(items, '[', "{"))
        return err_set(err,
                       "'%s': expected one item per line, found a JSON array: jq -c '.[]' converts "
                       "it; --document reads it as one text",
                       shown_path(items->path));
    return find_rows(items, err);
}

/* True if texts are read from standard input without `--file -`: a text is required, and none is
 * given. Where texts are optional, standard input is not read, since in a script it is the rest of
 * the script. A note then says if a pipe or a file is left unread, but not in a loop over sources
 * to translate (ITEMS_PROMPT). */
static bool reads_standard_input(const struct items *items, enum items_many many)
{
    const struct input_options *options = &items->options->input;
    bool is_optional = many == ITEMS_ANY || (items->takes_sources && options->source);
    struct stat status;
    if (options->is_hosted || isatty(STDIN_FILENO) ||
        (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
        return false;
    if (is_optional && many != ITEMS_PROMPT && !fstat(STDIN_FILENO, &status) &&
        (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        print_note("no text is given: standard input is read for '--file -' alone");
    return !is_optional;
}

static int find_all(struct items *items, enum items_many many, struct err *err)
{
    const struct input_options *options = &items->options->input;
    const struct texts *texts[] = {&options->sentences, &options->operands};
    size_t given = options->sentences.count + options->operands.count + (options->file != NULL) +
                   (options->ids != NULL);
    bool is_one = many == ITEMS_ONE || many == ITEMS_PROMPT;
    if (many != ITEMS_WHOLE && check_operands(options, err))
        return -1;
    if (is_one && given > 1)
        return err_usage(err, "expected one text, found %zu", given);
    if (many == ITEMS_PROMPT && !given && options->source)
        return add_start(items, NULL, 0, 0, err);
    items->path = options->file;
    if (!given && reads_standard_input(items, many))
        items->path = "-";
    if (check_ids(options, err) || (items->path && input_file_open(&items->file, items->path, err)))
        return -1;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < texts[i]->count; j++)
            if (add_start(items, texts[i]->items[j], strlen(texts[i]->items[j]), 0, err))
                return -1;
    if ((items->path && find_in_file(items, many, err)) ||
        (options->ids && add_start(items, NULL, 0, 0, err)))
        return -1;
    bool was_read = options->file || items->file.size;
    if (is_one && items->count > 1)
        return err_usage(err, "expected one text, found %zu%s", items->count,
                         many == ITEMS_PROMPT ? ": 'attn-cli batch --do generate' continues each"
                                              : "");
    if (!items->count && items->takes_sources && !was_read && options->source)
        return add_start(items, NULL, 0, 0, err);
    if (items->count || (many == ITEMS_ANY && !was_read))
        return 0;
    if (!was_read && options->source)
        return err_usage(err, "expected a text besides --source, found none: 'attn-cli generate "
                              "--source TEXT' writes a translation");
    if (!was_read)
        return err_usage(err, "expected a text, found none: use \"Life is short\" in quotes, "
                              "--sentence TEXT, --file FILE, --ids LIST or a pipe");
    return err_set(err, "'%s': expected a sentence, found %s", shown_path(items->path),
                   items->header_count && !items->survey.blank ? "only a header"
                   : items->file.size                          ? "only blank lines"
                                                               : "nothing");
}

int items_open(struct items *items, const struct options *options, unsigned fields,
               enum items_many many, struct err *err)
{
    *items = (struct items){.options = options,
                            .fields = fields | OF_ALL,
                            .takes_sources = many == ITEMS_ANY || many == ITEMS_OR_SOURCE ||
                                             many == ITEMS_PROMPT};
    if (many != ITEMS_NONE &&
        (name_columns(items, err) || find_all(items, many, err) || check_columns(items, err))) {
        items_release(items);
        return -1;
    }
    note_texts(items, many);
    return 0;
}

void items_release(struct items *items)
{
    fills_release(&items->fills);
    arena_release(&items->arena);
    file_release(&items->file);
    *items = (struct items){0};
}

/* --- an item ---------------------------------------------------------------------------------- */

struct names item_columns(const struct item *item)
{
    size_t count = item->column_count + item->text_count;
    return count ? NAMES(item->columns, count) : (struct names){0};
}

const char *item_column(const struct item *item, const char *name)
{
    size_t index = 0;
    bool is_found = names_find(&index, item_columns(item), name, strlen(name));
    return is_found ? item->columns[index].value : NULL;
}

int column_choose(size_t *index, struct names columns, const char *option, const char *name,
                  size_t size, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct buf list = {0};
    if (!columns.count)
        return err_usage(err,
                         "%s: expected a table with the column '%.*s', found texts alone: "
                         "--file FILE.csv reads one",
                         option, (int)size, name);
    if (names_find(index, columns, name, size))
        return 0;
    for (size_t i = 0; i < columns.count; i++)
        buf_format(&list, "%s%s", i ? ", " : "", names_at(columns, i));
    err_usage(err, "%s: expected a column of the table (%s), found '%.*s'%s", option,
              list.bytes ? list.bytes : "", (int)size, name,
              names_guess(guess, names_nearest(columns, name, size)));
    buf_release(&list);
    return -1;
}

void items_origin(struct buf *origin, const struct items *items, size_t index)
{
    const struct item_start *start = &items->starts[index];
    if (items->kind == ITEMS_DOCUMENT)
        buf_text(origin, items->options->input.file ? "--file" : shown_path(items->path));
    else if (!start->at)
        buf_text(origin, items->options->input.ids ? "--ids" : "");
    else if (start->line)
        buf_format(origin, "'%s' %s %zu", shown_path(items->path),
                   items->formulas.count ? "sentence" : "line", start->line);
    else if (items->count > 1)
        buf_format(origin, "sentence %zu", index);
}

int items_blame(const struct items *items, size_t index, struct err *err)
{
    struct buf origin = {0};
    items_origin(&origin, items, index);
    if (origin.size)
        err_prefix(err, "%s", origin.bytes);
    buf_release(&origin);
    return -1;
}

void items_print_failure(struct items *items, size_t index, const char *message)
{
    /* start of a suggestion at the end of a message; suggestions differ between texts */
    static const char guess[] = ": did you mean";
    struct buf origin = {0};
    items_origin(&origin, items, index);
    const char *reason = message, *last = items->reason;
    if (origin.size && strncmp(message, origin.bytes, origin.size) == 0)
        reason += origin.size;
    buf_release(&origin);
    const char *end = strstr(reason, guess);
    size_t size = end ? (size_t)(end - reason) : strlen(reason);
    if (last && strncmp(last, reason, size) == 0 &&
        (!last[size] || strncmp(last + size, guess, strlen(guess)) == 0))
        return;
    print_failure(message);
    items->reason = arena_text(&items->arena, reason, strlen(reason), NULL);
}

int items_check_failed(size_t failed, size_t items, const char *how, const char *first,
                       struct err *err)
{
    return failed ? err_failed(err, "%zu of %zu items %s%s: %s", failed, items, how,
                               failed > 1 ? ", the first" : "", first)
                  : 0;
}

struct input input_of(const char *text, const char *pair)
{
    return (struct input){.text = text,
                          .size = text ? strlen(text) : 0,
                          .pair = {.bytes = pair, .size = pair ? strlen(pair) : 0}};
}

/* Store the value of a column in the item. If the command reads the column, the value replaces the
 * option of the same name for this item; several `continue` columns may add values. */
static int set_value(struct item *item, size_t field, const char *value, struct arena *arena,
                     struct err *err)
{
    struct texts *continuations = &item->options.score.continuations;
    size_t size = strlen(value), invalid = utf8_invalid_at(value, size);
    if (invalid < size)
        return err_set(
            err, "column '%s': expected UTF-8, found the byte 0x%02x at byte %zu: " EXCEL_UTF8,
            field >= ITEM_FIELDS                     ? item->columns[field - ITEM_FIELDS].name
            : field == ITEM_TEXT && item->text_count ? item->columns[item->column_count].name
                                                     : known_columns[field].name,
            (unsigned char)value[invalid], invalid);
    if (field >= ITEM_FIELDS) {
        item->columns[field - ITEM_FIELDS].value = value;
        return 0;
    }
    if (field == ITEM_TEXT)
        item->columns[item->column_count].value = value;
    if (item->options.input.trim && ARE_TEXTS >> field & 1 &&
        !(value = text_trim(value, arena, err)))
        return -1;
    if (field == ITEM_CONTINUE && !item->fields[field])
        *continuations = (struct texts){0};
    if (field == ITEM_TEXT || field == ITEM_CLEAN || field == ITEM_GOOD || field == ITEM_POSITIVE)
        item->input = input_of(value, NULL);
    if (known_columns[field].option)
        *(const char **)((char *)&item->options + known_columns[field].option) = value;
    item->fields[field] = value;
    return field == ITEM_CONTINUE ? texts_add(continuations, value, arena, err) : 0;
}

/* Join the cells of the columns of --regions to the text of the item. */
static int join_columns(const struct items *items, struct item *item, struct arena *arena,
                        struct err *err)
{
    size_t count = items->parts.count;
    struct score_region *regions = arena_alloc(arena, count, sizeof *regions, err);
    const char **cells = arena_alloc(arena, count, sizeof *cells, err);
    for (size_t i = 0; cells && regions && i < count; i++) {
        regions[i].name = items->parts.items[i];
        regions[i].number = (long long)i + 1;
        cells[i] = item_column(item, regions[i].name);
        if (cells[i] && item->options.input.trim && !(cells[i] = text_trim(cells[i], arena, err)))
            return -1;
    }
    return err_if(!cells || !regions || regions_join(item, regions, cells, count, arena, err));
}

/* In columns that group rows, fill blank cells with `now`, the values above; other cells set `now`.
 * True if a cell of --by was blank: then all blank cells of the row are merged cells. */
static bool fill_row(struct fill *now, struct item *item, const struct items *items,
                     struct arena *arena, struct err *err)
{
    const struct fills *fills = &items->fills;
    struct fill *cells = arena_alloc(arena, fills->count, sizeof *cells, err);
    size_t *at = arena_alloc(arena, fills->count, sizeof *at, err);
    for (size_t i = 0; cells && at && i < fills->count; i++) {
        at[i] = item->column_count;
        names_find(&at[i], names_of(&items->names), fills->columns[i].name,
                   strlen(fills->columns[i].name));
        const struct identity_column *cell = &item->columns[at[i]];
        if (at[i] < item->column_count && cell->value && *cell->value)
            cells[i] = (struct fill){cell->value, cell->literal};
    }
    const bool is_merged = cells && fills_are_merged(fills, cells);
    for (size_t i = 0; cells && at && i < fills->count; i++) {
        struct identity_column *cell = &item->columns[at[i]];
        if (cells[i].value) {
            now[i] = cells[i];
        } else if (at[i] < item->column_count && fills_has(fills, i, is_merged)) {
            cell->value = now[i].value;
            cell->literal = now[i].literal;
        }
    }
    return is_merged;
}

/* Read a row and store its values in the item: first the columns to copy, since even failures show
 * them. If an item has several rows, the first value of a field counts. */
static int take_row(struct row *row, const struct items *items, struct item *item,
                    struct csv_reader *reader, struct arena *arena, struct err *err)
{
    const char *earlier[ITEM_FIELDS];
    memcpy(earlier, item->fields, sizeof earlier);
    if (row_read(row, items, field_of, reader, arena, err) && items->kind == ITEMS_CSV)
        return -1;
    for (size_t i = 0; i < 2 * row->count; i++) {
        const struct row_cell *cell = &row->cells[i % row->count];
        const size_t field = cell->field;
        if (i == row->count && err->kind)
            return -1;
        if (!cell->value || field == NO_FIELD || (field < ITEM_FIELDS) != (i >= row->count))
            continue;
        if (!cell->literal && is_text_field(items, field) && cell_is_error(cell->value))
            return err_set(err,
                           "column '%s': expected a text, found '%s', an error of Excel: mend "
                           "the cell",
                           name_of_field(items, field), cell->value);
        if (field >= ITEM_FIELDS)
            item->columns[field - ITEM_FIELDS].literal = cell->literal;
        else if (earlier[field])
            continue;
        else if (item->fields[field] && field != ITEM_CONTINUE)
            return err_set(err, "field '%s': expected one '%s', found another", cell->name,
                           known_columns[field].name);
        if (set_value(item, field, cell->value, arena, err))
            return -1;
    }
    return err_if(err->kind);
}

/* Read the row of an item or, with --by, the rows up to the next item, whose words are joined to
 * one text. A column of the item has a value if the value is the same in all rows, or if the cells
 * below the first row are merged cells. */
static int read_rows(const struct items *items, struct item *item, const struct item_start *start,
                     struct arena *arena, struct err *err)
{
    struct csv_reader reader = {start->at, items->reader.end, start->line, items->reader.separator};
    const struct item_start *next = start + 1, *end = items->starts + items->count;
    const char *stop = next < end && next->at ? next->at : items->reader.end;
    struct identity_column *same = item->columns;
    size_t columns = item->column_count, count = 0;
    struct score_region *rows = NULL;
    const char **words = NULL;
    struct row row = {0};
    struct fill *now = arena_alloc(arena, items->fills.count, sizeof *now, err);
    if (!now)
        return -1;
    if (start->fills)
        memcpy(now, start->fills, items->fills.count * sizeof *now);
    if (!items->by.count) {
        int failed = take_row(&row, items, item, &reader, arena, err);
        if (!row.is_blank)
            fill_row(now, item, items, arena, err);
        return failed || (items->parts.count && join_columns(items, item, arena, err));
    }
    while (reader.at < stop && !err->kind) {
        item->columns = arena_alloc(arena, columns + 1, sizeof *same, err);
        for (size_t i = 0; item->columns && i < columns; i++)
            item->columns[i].name = same[i].name;
        if (!item->columns || take_row(&row, items, item, &reader, arena, err))
            return -1;
        if (row.is_blank || !row.line)
            continue;
        const bool is_merged = fill_row(now, item, items, arena, err);
        rows = arena_grow(arena, rows, count, sizeof *rows, err);
        words = arena_grow(arena, words, count, sizeof *words, err);
        if (!rows || !words)
            return -1;
        for (size_t i = 0; i < columns; i++) {
            const char *value = item->columns[i].value;
            if (count && !value && is_merged)
                continue;
            bool is_same = value && same[i].value && strcmp(value, same[i].value) == 0;
            same[i].value = !count || is_same ? value : NULL;
            same[i].literal = item->columns[i].literal;
        }
        const char *region = item_column(item, "region");
        words[count] = item_column(item, items->parts.items[0]);
        rows[count] = (struct score_region){.name = region ? region : "",
                                            .number = (long long)count + 1,
                                            .columns = item->columns,
                                            .column_count = columns};
        count++;
    }
    item->columns = same;
    return regions_join(item, rows, words, count, arena, err);
}

/* Divide the text of an item into regions. Also divide its bad or corrupt text, which must have the
 * same number of regions. */
static int read_regions(struct item *item, const char *numbers, struct arena *arena,
                        struct err *err)
{
    static const enum item_field others[] = {ITEM_BAD, ITEM_CORRUPT};
    if (regions_read(item, numbers, arena, err))
        return -1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const enum item_field field = others[i];
        struct item other = *item;
        other.fields[ITEM_TEXT] = item->fields[field];
        other.region_count = 0;
        if (!item->fields[field])
            continue;
        if (regions_read(&other, numbers, arena, err))
            return err_prefix(err, "column '%s'", known_columns[field].name);
        if (other.region_count != item->region_count)
            return err_set(err, "column '%s': expected %zu regions as in the other text, found %zu",
                           known_columns[field].name, item->region_count, other.region_count);
        if (other.region_count && set_value(item, field, other.input.text, arena, err))
            return -1;
        item->other_regions = other.regions;
    }
    return 0;
}

/* Read a record or an object, which must have a text, ids or, if accepted, a source. */
static int read_fields(const struct items *items, struct item *item, const struct item_start *start,
                       struct arena *arena, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    if (read_rows(items, item, start, arena, err))
        return -1;
    item->is_joined = items->parts.count > 0;
    if (items->kind == ITEMS_CSV && items->fields & ITEMS_KEEP_BLANK && !item->fields[ITEM_IDS] &&
        !item->input.text)
        item->input.text = "";
    const char *ids = item->input.ids = item->fields[ITEM_IDS];
    const char *good = item->fields[ITEM_GOOD], *bad = item->fields[ITEM_BAD];
    if (!good != !bad) {
        const struct names names = {items->names.items, items->names.count,
                                    sizeof *items->names.items};
        const char *missing = good ? "bad" : "good";
        const char *near = names_nearest(names, missing, strlen(missing));
        return err_set(err, "expected 'good', 'bad' and no other text, found %s'%s'%s",
                       near ? "" : "no ", near ? near : missing,
                       names_guess(guess, near ? missing : NULL));
    }
    if (good && (item->fields[ITEM_TEXT] || ids))
        return err_set(err, "expected 'good', 'bad' and no other text, found another");
    bool is_source = items->takes_sources && item->fields[ITEM_SOURCE];
    if (ids ? item->input.text != NULL : !item->input.text && !is_source) {
        err_set(err, "expected '%s' or 'ids', found %s",
                items->found >> ITEM_POSITIVE & 1 ? "positive"
                : items->found >> ITEM_CLEAN & 1  ? "clean"
                                                  : "text",
                ids ? "both" : "neither");
        return ids ? -1 : err_about(err, ERR_ABOUT_EMPTY);
    }
    const char *numbers = items->numbers.count ? items->numbers.items[start->line - 1] : NULL;
    if (items->survey.marks && !item->is_joined && read_regions(item, numbers, arena, err))
        return -1;
    return check_ids(&item->options.input, err);
}

int items_read(const struct items *items, struct item *item, size_t index, struct arena *arena,
               struct err *err)
{
    const struct item_start *start = &items->starts[index];
    *item = (struct item){.number = start->number, .options = *items->options};
    item->columns = arena_alloc(arena, items->names.count + 1, sizeof *item->columns, err);
    if (!item->columns)
        return -1;
    item->column_count = items->names.count;
    item->text_count = items->text_name != NULL;
    for (size_t i = 0; i <= item->column_count; i++)
        item->columns[i].name = i < item->column_count ? items->names.items[i] : items->text_name;
    if (!start->at)
        item->input.ids = items->options->input.ids;
    else if (!start->line && items->kind >= ITEMS_JSONL)
        set_value(item, ITEM_TEXT, start->at, arena, err);
    else if (start->line && items->kind != ITEMS_LINES) {
        if (read_fields(items, item, start, arena, err))
            return items_blame(items, index, err);
    } else if (items->options->input.trim) {
        const char *whole = arena_text(arena, start->at, start->size, err);
        item->input = input_of(whole ? text_trim(whole, arena, err) : NULL, NULL);
    } else
        item->input = (struct input){.text = start->at, .size = start->size};
    const char *text = item->input.text;
    if (text)
        item->input.pair = input_of(NULL, item->options.input.pair).pair;
    item->is_blank = start->line && items->fields & ITEMS_KEEP_BLANK && text &&
                     json_blanks_end(text, text + item->input.size) == text + item->input.size;
    return err_if(err->kind);
}
