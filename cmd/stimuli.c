#include "stimuli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "format/json.h"
#include "format/json_writer.h"

static const char ascii_blanks[] = " \t\r\n";

/* --- regions ---------------------------------------------------------------------------------- */

/* Split a text at its marks, and trim the blanks of each part. */
static struct texts split(const char *text, struct arena *arena, struct err *err)
{
    struct texts parts = {0};
    for (const char *at = text, *mark; at && !err->kind; at = mark ? mark + 1 : NULL) {
        mark = mark_find(text, at);
        size_t blanks = strspn(at, ascii_blanks), size = mark ? (size_t)(mark - at) : strlen(at);
        blanks = num_min(blanks, size);
        while (size > blanks && strchr(ascii_blanks, at[size - 1]))
            size--;
        const char *part = arena_text(arena, at + blanks, size - blanks, err);
        if (part)
            texts_add(&parts, part, arena, err);
    }
    return parts;
}

int regions_read(struct item *item, const char *numbers, struct arena *arena, struct err *err)
{
    static const enum item_field texts[] = {ITEM_TEXT, ITEM_GOOD, ITEM_CLEAN};
    const char *marked = NULL, *column = item_column(item, "regions");
    struct buf text = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        marked = marked ? marked : item->fields[texts[i]];
    if (!marked || (!mark_find(marked, marked) && !column))
        return 0;
    struct texts parts = split(marked, arena, err);
    struct texts names = split(column ? column : "", arena, err);
    struct score_region *regions = arena_alloc(arena, parts.count, sizeof *regions, err);
    if (column && names.count != parts.count)
        err_set(err,
                "column 'regions': expected %zu name%s separated by |, as in the text, found %zu",
                parts.count, num_plural(parts.count), names.count);
    const char *mark = marked;
    bool is_apart = false; /* true if blanks adjoin a mark since the last region with text */
    for (size_t i = 0; i < parts.count && !err->kind; i++) {
        const char *name = column ? names.items[i] : "";
        long long number = numbers ? strtoll(numbers, (char **)&numbers, 10) : (long long)i + 1;
        size_t first = text.size;
        mark = i ? mark_find(marked, mark + (i > 1)) : marked;
        is_apart |= i && (strchr(ascii_blanks, mark[1]) ||
                          (mark > marked && strchr(ascii_blanks, mark[-1])));
        buf_format(&text, "%s%s", text.size && is_apart && *parts.items[i] ? " " : "",
                   parts.items[i]);
        is_apart &= !*parts.items[i];
        name = *name ? name : arena_format(arena, err, "%zu", i + 1);
        regions[i] = (struct score_region){
            .name = name, .number = number, .first = first, .count = text.size - first};
    }
    item->regions = regions;
    item->region_count = parts.count;
    item->input.size = text.size;
    item->input.text = buf_keep(&text, arena, err);
    return err_if(err->kind);
}

int regions_join(struct item *item, struct score_region *regions, const char *const *cells,
                 size_t count, struct arena *arena, struct err *err)
{
    const char *joint = item->options.input.joint;
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        const char *cell = cells[i] ? cells[i] : "";
        cell += strspn(cell, ascii_blanks);
        size_t size = strlen(cell);
        while (size && strchr(ascii_blanks, cell[size - 1]))
            size--;
        if (size && text.size)
            buf_text(&text, joint ? joint : wording_needs_blank(&text, cell, size) ? " " : "");
        regions[i].first = text.size;
        regions[i].count = size;
        buf_bytes(&text, cell, size);
    }
    item->regions = regions;
    item->region_count = count;
    if (!text.size)
        return 0;
    item->input.size = text.size;
    item->input.text = item->fields[ITEM_TEXT] = buf_keep(&text, arena, err);
    return err_if(err->kind);
}

const struct score_region *regions_find(const struct tokenized *text, const struct item *item,
                                        struct arena *arena, struct err *err)
{
    size_t count = item->region_count, token = text->added_before, start = item->text_start;
    size_t end =
        text->pair.bytes ? text->second - text->added_between : text->count - text->added_after;
    struct score_region *found = count ? arena_alloc(arena, count, sizeof *found, err) : NULL;
    for (size_t i = 0; found && i < count; i++) {
        const struct score_region *bytes = &item->regions[i];
        size_t first = token, past = start + bytes->first + bytes->count;
        while (token < end && (i + 1 == count || text->tokens[token].start < past))
            token++;
        found[i] = *bytes;
        found[i].first = first;
        found[i].count = token - first;
    }
    return found;
}

/* --- predictions ------------------------------------------------------------------------------ */

struct formula {
    /* totals of an item's regions; NULL: check only the formula */
    const struct score_total *rows, *end;
    const char *at;
    size_t operands;
    int unknown;      /* size of the name at `at` of a region that the item lacks; else 0 */
    bool is_truth;    /* the last value is the result of a comparison, or of & or | */
    bool lacks_truth; /* an operand of & or | is a number */
};

/* If the next character is one of `signs`, skip it and return it; else return 0. */
static char take(struct formula *formula, const char *signs)
{
    formula->at += strspn(formula->at, " \t\r\n");
    return *formula->at && strchr(signs, *formula->at) ? *formula->at++ : 0;
}

/* Read a number, or the name of a surprisal: of a region (3;%match%) or all regions (*;%match%). */
static bool parse_number(double *value, struct formula *formula)
{
    char region[8] = "", condition[256] = "";
    int size = 0;
    *value = 0;
    sscanf(formula->at, "%7[0-9*] ; %%%255[^%]%%%n", region, condition, &size);
    bool is_found = size ? !formula->rows : sscanf(formula->at, "%lf%n", value, &size) == 1;
    formula->is_truth = false;
    for (const struct score_total *row = formula->rows; row < formula->end; row++)
        if (strcmp(row->keys[1], condition) == 0 &&
            (strcmp(region, "*") == 0 || row->number == strtol(region, NULL, 10))) {
            *value -= row->logprob;
            is_found = true;
        }
    formula->at += is_found ? size : 0;
    formula->unknown = is_found ? 0 : size;
    return is_found;
}

/* Read an operand, and apply the operators after it whose precedence is at least `level`. */
static bool parse_value(double *value, struct formula *formula, size_t level)
{
    enum { OPERANDS_MAX = 512 };
    static const char *const operators[] = {"|", "&", "<>=", "+-"};
    if (++formula->operands > OPERANDS_MAX)
        return false;
    char bracket = take(formula, "([");
    if (bracket ? !parse_value(value, formula, 0) || !take(formula, bracket == '(' ? ")" : "]")
                : !parse_number(value, formula))
        return false;
    for (size_t i = sizeof operators / sizeof *operators; i-- > level;)
        for (char sign; (sign = take(formula, operators[i]));) {
            double left = *value, right;
            bool is_truth = formula->is_truth;
            if (!parse_value(&right, formula, i + 1))
                return false;
            formula->lacks_truth |= i < 2 && !(is_truth && formula->is_truth);
            formula->is_truth = i < 3;
            *value = sign == '|'   ? left != 0 || right != 0
                     : sign == '&' ? left != 0 && right != 0
                     : sign == '<' ? left < right
                     : sign == '>' ? left > right
                     : sign == '=' ? !(left < right || left > right)
                     : sign == '+' ? left + right
                                   : left - right;
        }
    return true;
}

/* Set the value of a prediction for an item, above 0 if it holds, from the totals of the item's
 * regions, whose keys begin with item and condition. Refused: regions that the item lacks. Without
 * `rows`, check only the formula. */
static int predict(double *value, const char *text, const struct score_total *rows, size_t count,
                   struct err *err)
{
    struct formula formula = {.rows = rows, .end = rows ? rows + count : NULL, .at = text};
    bool is_read = parse_value(value, &formula, 0) && !*formula.at;
    if (is_read && formula.is_truth && !formula.lacks_truth)
        return 0;
    if (is_read)
        return err_set(err,
                       "field 'formula': expected a comparison, such as (3;%%match%%) < "
                       "(3;%%mismatch%%), found '%s'",
                       text);
    if (formula.unknown)
        return err_set(err,
                       "item %s: prediction '%s': expected a region and a condition of the item, "
                       "found '%.*s'",
                       rows->keys[0], text, formula.unknown, formula.at);
    return err_set(err,
                   "field 'formula': '%s': expected regions, such as (3;%%match%%), and "
                   "+ - < > = & |, found '%.20s'",
                   text, formula.at);
}

int suite_predict_all(struct score_totals *table, const struct texts *formulas, struct arena *arena,
                      struct err *err)
{
    static const char *const names[] = {"item", "prediction"};
    const struct score_total *next = table->rows, *end = next + table->count;
    struct score_totals sums = {.names = names, .key_count = 2};
    *table = (struct score_totals){
        .kind = TOTALS_OF_PREDICTIONS, .names = names, .key_count = 2, .texts = table->texts};
    while (next < end) {
        const struct score_total *rows = next; /* first row of an item */
        while (next < end && strcmp(next->keys[0], rows->keys[0]) == 0 &&
               !(next > rows && next->number == rows->number &&
                 strcmp(next->keys[1], rows->keys[1]) == 0))
            next++;
        for (size_t i = 0; i < formulas->count; i++) {
            const char *keys[] = {rows->keys[0], formulas->items[i]};
            struct score_total total = {.keys = keys, .count = 1};
            double value = 0;
            predict(&value, keys[1], rows, (size_t)(next - rows), err);
            total.correct = value > 0;
            score_totals_add(table, &total, table->count, arena, err);
            keys[0] = "all";
            if (i < sums.count)
                score_total_add(&sums.rows[i], &total);
            else
                score_totals_add(&sums, &total, i, arena, err);
            if (err->kind)
                return -1;
        }
    }
    table->sums = sums.rows;
    table->sum_count = sums.count;
    return 0;
}

/* --- suites ----------------------------------------------------------------------------------- */

/* The text of a member of an object; `otherwise` if it is missing or empty. */
static const char *text_of(const struct json *object, const char *name, const char *otherwise)
{
    const char *text = "";
    json_get_text(json_member(object, name), &text);
    return *text ? text : otherwise;
}

/* The number of an item or a region, to which predictions refer; -1 with `err` if it is missing or
 * invalid. */
static long long number_of(const struct json *object, const char *name, long long most,
                           struct err *err)
{
    long long number = -1;
    if (!err->kind && !json_integer(object, name, 0, most, &number, err) && number < 0)
        err_set(err, "field '%s': expected a number, found none", name);
    return number;
}

/* Add a condition of an item as a line of JSONL. Even a single region has a mark. The sentence has
 * its regions in the order of the file, as in SyntaxGym. */
static void add_condition(struct buf *lines, struct items *items, const struct json *root,
                          const struct json *item, const struct json *condition, struct err *err)
{
    enum { REGION_MAX = 999 };
    struct json_writer json = {.buf = lines};
    struct buf text = {0}, names = {0}, numbers = {0};
    const char *name = text_of(condition, "condition_name", "");
    const struct json *first = json_first(json_member(condition, "regions"));
    long long item_number = number_of(item, "item_number", INT32_MAX, err);
    for (const struct json *region = first; region && !err->kind; region = json_next(region)) {
        const char *mark = region == first || json_next(region) ? "|" : "";
        char key[24];
        long long number = number_of(region, "region_number", REGION_MAX, err);
        snprintf(key, sizeof key, "%lld", number);
        for (const struct json *each = first; each != region && !err->kind; each = json_next(each))
            if (number_of(each, "region_number", REGION_MAX, err) == number)
                err_set(err, "field 'region_number': expected each once, found %s twice", key);
        buf_format(&numbers, " %s%s", key, *mark && !json_next(region) ? " -1" : "");
        buf_format(&text, "%s%s%s", text_of(region, "content", ""), *mark ? " " : "", mark);
        buf_text(&text, *mark && json_next(region) ? " " : "");
        buf_format(&names, "%s%s", text_of(json_member(root, "region_meta"), key, key), mark);
    }
    if (!first && !err->kind)
        err_set(err, "expected regions, found none");
    if (err->kind && item_number >= 0)
        err_prefix(err, "item %lld: condition '%s'", item_number, name);
    json_put_open(&json, NULL, '{');
    json_put_integer(&json, "item", item_number);
    json_put_text(&json, "condition", name);
    json_put_text(&json, "text", buf_keep(&text, &items->arena, err));
    json_put_text(&json, "regions", buf_keep(&names, &items->arena, err));
    json_put_close(&json, '}');
    buf_char(lines, '\n');
    texts_add(&items->numbers, buf_keep(&numbers, &items->arena, err), &items->arena, err);
}

int suite_read(struct items *items, struct err *err)
{
    struct texts *formulas = &items->formulas;
    struct arena *arena = &items->arena;
    struct json *root = NULL;
    struct buf lines = {0};
    const char *at = items->reader.at;
    size_t size = (size_t)(items->reader.end - at);
    if (json_parse(&root, at, size, err)) {
        const char *newline = memchr(at, '\n', size);
        struct err other = {0};
        if (!newline || err->out_of_memory || json_parse(&root, at, (size_t)(newline - at), &other))
            return -1;
        json_free(root);
        err_clear(err); /* the file is JSONL, not a suite */
        return 0;
    }
    const struct json *item = json_first(json_member(root, "items"));
    const struct json *each = item ? json_first(json_member(root, "predictions")) : NULL;
    const char *metric = text_of(json_member(root, "meta"), "metric", "sum");
    if (each && strcmp(metric, "sum") != 0)
        err_set(err, "expected the metric \"sum\", found \"%s\"", metric);
    for (; each && !err->kind; each = json_next(each)) {
        const char *formula = arena_format(arena, err, "%s", text_of(each, "formula", ""));
        double value = 0;
        if (formula && !predict(&value, formula, NULL, 0, err))
            texts_add(formulas, formula, arena, err);
    }
    for (; item && !err->kind; item = json_next(item))
        for (each = json_first(json_member(item, "conditions")); each; each = json_next(each))
            add_condition(&lines, items, root, item, each, err);
    json_free(root);
    if (lines.size || formulas->count) {
        items->reader.at = buf_keep(&lines, arena, err);
        items->reader.end = items->reader.at ? strchr(items->reader.at, 0) : NULL;
    }
    return err_if(err->kind);
}
