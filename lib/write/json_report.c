/* json_report.c: json and jsonl, data/schemas/result.json.
 *
 *     {"format": "attn-cli/result/2", "command": "run", "model": "life",
 *      "provenance": {"version": "0.4.0", "command_line": "attn-cli run 'Life is'", …},
 *      "sentence": "Life is", "tokens": [{"id": 0, "text": "Life", "start": 0, "end": 4}, …],
 *      "tensors": {"h.0.weights": [[[1, 0], [0.5, 0.5]]]}}
 *
 * Some optional members: `source` (cross-attention), `heads` (if selected), `mean` (["heads",
 * "layers"]) and `layers` (of means), `words` (if axes count words), `first_shown` (if axes omit
 * the first token), "precision": "bf16" (unless it is f32), "mechanism": "attention window:4" (if
 * such options or edits are set). For a text given as ids, `sentence` is null and tokens have no
 * offsets.
 *
 * `json` breaks lines between members and between the rows of a matrix; several reports form an
 * array. `jsonl` writes one line per report. */
#include "write/format.h"

#include <string.h>

#include "base/utf8.h"
#include "write/text.h"

/* --- origin ----------------------------------------------------------------------------------- */

/* Put the labels of an axis as a list. */
static void put_labels(struct json_writer *json, const char *name, const struct axis *axis)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < axis->size; i++)
        json_put_text(json, NULL, axis->labels[i].plain);
    json_put_close(json, ']');
}

void json_report_selection(struct json_writer *json, const struct array *array)
{
    if (array->layer < 0)
        json_put_text(json, "layer", NULL);
    else
        json_put_integer(json, "layer", array->layer);
    if (array->heads.labels)
        put_labels(json, "heads", &array->heads);
    else if (array->heads.name && array->shared_by <= 1 && !array_is_of_copies(array))
        json_put_integers(json, "heads", array->heads.numbers, array->heads.size);
    else
        json_put_text(json, "heads", NULL);
    if (array->heads.name && array->shared_by)
        json_put_integers(json, "kv_heads", array->heads.numbers, array->heads.size);
    if (array->heads.name && array_is_of_copies(array))
        json_put_integers(json, "copies", array->heads.numbers, array->heads.size);
}

/* Put a token. Invalid UTF-8, such as a part of a character, becomes U+FFFD in "text"; then "bytes"
 * contains the exact bytes. */
static void put_token(struct json_writer *json, const struct tokenized *tokenized, size_t index)
{
    const struct token *token = &tokenized->tokens[index];
    const char *plain = tokenized->labels[index].plain;
    struct token_bytes own = {plain, strlen(plain)};
    if (tokenized->bytes && tokenized->bytes[index].bytes)
        own = tokenized->bytes[index];
    json_put_open(json, NULL, '{');
    json_put_integer(json, "id", token->id);
    json_put_bytes(json, "text", own.bytes, own.size);
    if (tokenized->raw) {
        json_put_integer(json, "start", token->start);
        json_put_integer(json, "end", token->end);
    }
    if (tokenized->segments)
        json_put_integer(json, "segment", tokenized->segments[index]);
    if (utf8_invalid_at(own.bytes, own.size) < own.size)
        json_put_hex(json, "bytes", own.bytes, own.size);
    json_put_close(json, '}');
}

/* Put a text with its tokens. If the positions on axes are words, also put the words and the tokens
 * of each word. */
static void put_reading(struct json_writer *json, const struct tokenized *tokenized,
                        const char *const names[3])
{
    if (tokenized->raw)
        json_put_bytes(json, names[0], tokenized->raw, tokenized->size);
    else
        json_put_text(json, names[0], NULL);
    if (tokenized->raw && !tokenized->count) /* the tokens are in a table of the report */
        return;
    json_put_open(json, names[1], '[');
    for (size_t i = 0; i < tokenized->count; i++)
        put_token(json, tokenized, i);
    json_put_close(json, ']');
    if (!tokenized->words)
        return;
    json_put_open(json, names[2], '[');
    for (size_t i = 0; i < tokenized->word_count; i++) {
        json_put_open(json, NULL, '{');
        json_put_text(json, "text", tokenized->word_labels[i].plain);
        json_put_integer(json, "first_token", tokenized->words[i].first);
        json_put_integer(json, "tokens", tokenized->words[i].count);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

/* Put the axes over which tensors are averaged, and the layers that means include. */
static void put_means(struct json_writer *json, const struct report *report)
{
    const struct layers *layers = &report->layers;
    const struct layers *encoder_layers = &report->encoder_layers;
    bool of_heads = false, of_layers = false, of_regions = false;
    for (size_t i = 0; i < report->array_count; i++) {
        of_heads |= array_is_mean_of_heads(&report->arrays[i]);
        of_layers |= array_is_mean_of_layers(&report->arrays[i]);
        of_regions |= report->arrays[i].rows.joined || report->arrays[i].columns.joined;
    }
    if (!of_heads && !of_layers && !of_regions)
        return;
    json_put_open(json, "\n mean", '[');
    if (of_heads)
        json_put_text(json, NULL, "heads");
    if (of_layers)
        json_put_text(json, NULL, "layers");
    if (of_regions)
        json_put_text(json, NULL, "regions");
    json_put_close(json, ']');
    if (of_layers && layers->count)
        json_put_integers(json, "\n layers", layers->items, layers->count);
    if (of_layers && encoder_layers->count)
        json_put_integers(json, "\n encoder_layers", encoder_layers->items, encoder_layers->count);
}

/* Put the ids of a text, and the positions of tokens that the tokenizer added. */
static void put_ids(struct json_writer *json, const char *const names[2],
                    const struct tokenized *tokenized)
{
    if (!tokenized->count)
        return;
    json_put_open(json, names[0], '[');
    for (size_t i = 0; i < tokenized->count; i++)
        json_put_integer(json, NULL, tokenized->tokens[i].id);
    json_put_close(json, ']');
    json_put_open(json, names[1], '[');
    for (size_t i = 0; i < tokenized->count; i++)
        if (tokenized_is_added(tokenized, i))
            json_put_integer(json, NULL, (long long)i);
    json_put_close(json, ']');
}

static void put_input(struct json_writer *json, const char *name, const char *digits)
{
    json_put_open(json, NULL, '{');
    json_put_text(json, "name", name);
    json_put_text(json, "hash", digits);
    json_put_close(json, '}');
}

/* Find the model in the provenance that has the name of the report's model; NULL: there is none. */
static const struct model_hash *find_model(const struct report *report,
                                           const struct provenance *provenance)
{
    const struct model_hash *model = provenance ? provenance->models : NULL;
    while (model && strcmp(model->model, report->model) != 0)
        model = model->next;
    return model;
}

const char *report_model_name(const struct report *report)
{
    const struct model_hash *model = find_model(report, report->identity.provenance);
    return model ? model->shown : report->model;
}

/* Open the provenance object and put its members, except the token ids of the texts. The caller
 * closes the object. */
static void put_provenance(struct json_writer *json, const struct report *report,
                           const struct provenance *provenance)
{
    json_put_open(json, "\n provenance", '{');
    json_put_text(json, "version", provenance->version);
    json_put_text(json, "command_line", provenance->command_line);
    const struct model_hash *model = find_model(report, provenance);
    if (model)
        json_put_text(json, "model_hash", model->digits);
    if (model && model->beginning)
        json_put_text(json, "beginning", model->beginning);
    if (!provenance->lists_inputs)
        return;
    json_put_open(json, "models", '[');
    for (const struct model_hash *each = provenance->models; each; each = each->next)
        /* in a batch, list only the report's model: a resumed batch opens other models before it */
        if (!provenance->is_batch || each == model)
            put_input(json, each->shown, each->digits);
    json_put_close(json, ']');
    json_put_open(json, "files", '[');
    for (const struct file_hash *file = provenance->files; file; file = file->next)
        put_input(json, file->name, file->digits);
    json_put_close(json, ']');
}

void json_report_origin(struct json_writer *json, const struct report *report,
                        const struct provenance *provenance)
{
    static const char *const names[][3] = {
        {"\n sentence", "\n tokens", "\n words"},
        {"\n source", "\n source_tokens", "\n source_words"},
        {"\n corrupt_sentence", "\n corrupt_tokens", "\n corrupt_words"},
        {"\n corrupt_source", "\n corrupt_source_tokens", "\n corrupt_source_words"}};
    static const char *const ids[] = {"ids", "special_tokens"};
    static const char *const source_ids[] = {"source_ids", "source_special_tokens"};
    const struct tokenized *text = &report->text, *source = &report->source;
    const struct tokenized *texts[] = {text->raw || text->count ? text : NULL,
                                       source->count ? source : NULL, report->corrupt,
                                       report->corrupt_source};
    const struct array *shared = NULL, *queries = NULL, *keys = NULL;
    if (provenance)
        json_put_text(json, "command", provenance->command);
    json_put_text(json, "model", report_model_name(report));
    if (provenance) {
        put_provenance(json, report, provenance);
        put_ids(json, ids, text);
        put_ids(json, source_ids, source);
        json_put_close(json, '}');
    }
    if (report->precision != PRECISION_FP32)
        json_put_text(json, "\n precision", precision_name(report->precision));
    if (report->mechanism)
        json_put_text(json, "\n mechanism", report->mechanism);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (texts[i])
            put_reading(json, texts[i], names[i]);
        if (i == 0 && text->pair.bytes)
            json_put_bytes(json, "\n pair", text->pair.bytes, text->pair.size);
    }
    if (report->heads)
        json_put_integers(json, "\n heads", report->heads, report->head_count);
    /* find the first tensor with key/value heads, the first with selected queries and the first
     * with selected keys; the first is enough, since all tensors have the same selection */
    for (size_t i = report->array_count; i-- > 0;) {
        const struct array *array = &report->arrays[i];
        shared = array->shared_by && array->heads.name ? array : shared;
        queries = array_selects(array, &array->rows) ? array : queries;
        keys = array_selects(array, &array->columns) ? array : keys;
    }
    if (report->heads && shared)
        json_put_integers(json, "\n kv_heads", shared->heads.numbers, shared->heads.size);
    if (queries)
        json_put_integers(json, "\n queries", queries->rows.numbers, queries->rows.size);
    if (keys)
        json_put_integers(json, "\n keys", keys->columns.numbers, keys->columns.size);
    put_means(json, report);
    const struct label *pooled = report->array_count ? report->arrays->rows.labels : NULL;
    if (pooled >= pooling_labels && pooled < pooling_labels + POOL_MAX)
        json_put_text(json, "\n pool", pooled->plain);
    if (report->first_shown)
        json_put_integer(json, "\n first_shown", report->first_shown);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void put_row(struct json_writer *json, const char *name, const struct table *table,
                    size_t row)
{
    json_put_open(json, name, '{');
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (column->flags & COLUMN_TEXT_ONLY)
            continue;
        json_put_name(json, column->name, strlen(column->name));
        if (column->kind == COLUMN_FLOAT)
            json_put_float(json, NULL, (float)column_float(column, row));
        else if (column->flags & COLUMN_LITERAL && column_text(column, row, false))
            json_put_raw(json, NULL, column_text(column, row, false));
        else if (column_is_text(column))
            json_put_text(json, NULL, column_text(column, row, false));
        else if (column_integer(column, row) == COLUMN_MISSING)
            json_put_text(json, NULL, NULL);
        else
            json_put_integer(json, NULL, column_integer(column, row));
    }
    json_put_close(json, '}');
}

static void put_units(struct json_writer *json, const struct report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->table_count; i++)
        for (size_t k = 0; k < report->tables[i].count; k++) {
            const struct column *column = &report->tables[i].columns[k];
            if (!column->unit || column->flags & COLUMN_TEXT_ONLY)
                continue;
            if (!any)
                json_put_open(json, "\n units", '{');
            any = true;
            json_put_text(json, column->name, column->unit);
        }
    if (any)
        json_put_close(json, '}');
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Put the axes of tensors that do not belong to a site, or whose rows or columns are joined. */
static void put_axes(struct json_writer *json, const struct report *report)
{
    char name[SITE_NAME_BYTES];
    bool any = false;
    for (size_t i = 0; i < report->array_count; i++) {
        const struct array *array = &report->arrays[i];
        const struct axis *axes[] = {&array->heads, &array->rows, &array->columns};
        if (!array->name && !array->rows.joined && !array->columns.joined)
            continue;
        if (!any)
            json_put_open(json, "\n axes", '{');
        any = true;
        json_put_open(json, array_name(name, array), '[');
        for (size_t k = 0; k < sizeof axes / sizeof *axes; k++) {
            if (k == 0 ? !axes[k]->labels : !array->name && !axes[k]->joined)
                continue;
            json_put_open(json, NULL, '{');
            json_put_text(json, "name", axes[k]->name);
            put_labels(json, "labels", axes[k]);
            json_put_close(json, '}');
        }
        json_put_close(json, ']');
    }
    if (any)
        json_put_close(json, '}');
}

/* --- tables with their working ---------------------------------------------------------------- */

/* The functions below write the JSON of explain, which data/schemas/explain.json describes. "given"
 * contains the operands, from which all other numbers follow. Members for which a table has no
 * value are omitted; empty cells and minus infinity are null. */

static void put_formula(struct json_writer *json, const char *name, const char *formula,
                        struct buf *latex)
{
    buf_clear(latex);
    latex_math(latex, formula);
    json_put_open(json, name, '{');
    json_put_text(json, "text", formula);
    json_put_text(json, "latex", latex->size ? latex->bytes : "");
    json_put_close(json, '}');
}

/* Put the value of a column in one row: a number, or an array if the column has vectors. */
static void put_vector(struct json_writer *json, const char *name, const struct column *column,
                       const float *values)
{
    if (column->width)
        json_put_floats(json, name, values, column->width);
    else
        json_put_float(json, name, *values);
}

/* Put a column: a number for each row, or an array of vectors. */
static void put_vectors(struct json_writer *json, const struct column *column, size_t rows)
{
    if (!column->width) {
        json_put_floats(json, column->name, column->values, rows);
        return;
    }
    json_put_open(json, column->name, '[');
    for (size_t row = 0; row < rows; row++)
        put_vector(json, row ? "\n     " : NULL, column, column_vector(column, row));
    json_put_close(json, ']');
}

static void put_columns(struct json_writer *json, const struct table *table)
{
    json_put_open(json, "\n   rows", '[');
    for (size_t row = 0; row < table->rows.size; row++)
        json_put_text(json, NULL, table->rows.labels[row].exact);
    json_put_close(json, ']');
    json_put_open(json, "\n   columns", '{');
    for (size_t i = 0; i < table->count; i++) {
        if (i > 0)
            json_put_gap(json, "\n    ");
        put_vectors(json, &table->columns[i], table->rows.size);
    }
    json_put_close(json, '}');
    if (!table->working.total)
        return;
    json_put_open(json, "\n   total", '{');
    json_put_text(json, "name", table->working.total);
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].total)
            put_vector(json, table->columns[i].name, &table->columns[i], table->columns[i].total);
    json_put_close(json, '}');
}

static void put_working(struct json_writer *json, const struct table *table, struct buf *latex)
{
    const struct working *working = &table->working;
    json_put_open(json, "\n  ", '{');
    json_put_text(json, "name", table->name);
    json_put_text(json, "title", table->heading);
    if (working->formula_count) {
        json_put_open(json, "\n   formulas", '[');
        for (size_t i = 0; i < working->formula_count; i++)
            put_formula(json, NULL, working->formulas[i], latex);
        json_put_close(json, ']');
    }
    if (table->note)
        json_put_text(json, "\n   note", table->note);
    if (working->worked)
        put_formula(json, "\n   worked", working->worked, latex);
    if (table->rows.size)
        put_columns(json, table);
    json_put_close(json, '}');
}

/* True if one of the first `count` tables has an operand called `name`, such as a limit to which
 * queries, keys and values are clipped. An operand has the same numbers in all tables. */
static bool is_given(const struct report *report, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < report->tables[i].working.operand_count; k++)
            if (strcmp(report->tables[i].working.operands[k].name, name) == 0)
                return true;
    return false;
}

static void put_operands(struct json_writer *json, const struct report *report)
{
    json_put_open(json, "\n given", '{');
    for (size_t i = 0; i < report->table_count; i++)
        for (size_t k = 0; k < report->tables[i].working.operand_count; k++) {
            const struct table *operand = &report->tables[i].working.operands[k];
            if (is_given(report, i, operand->name))
                continue;
            if (json->comma)
                json_put_gap(json, "\n   ");
            if (operand->rows.labels)
                put_vectors(json, operand->columns + operand->count - 1, operand->rows.size);
            else
                put_vector(json, operand->name, operand->columns, operand->columns->values);
        }
    json_put_close(json, '}');
}

static int put_chapters(struct json_writer *json, const struct report *report, struct err *err)
{
    struct buf latex = {0};
    const struct chapter *chapter = NULL, *first = report_chapter(report);
    put_operands(json, report);
    json_put_gap(json, "\n ");
    if (first->is_listed)
        json_put_open(json, "explanations", '[');
    for (size_t i = 0; i < report->table_count; i++) {
        const struct table *table = &report->tables[i];
        bool is_last =
            i + 1 == report->table_count || table[1].working.chapter != table->working.chapter;
        if (table->working.chapter != chapter) {
            chapter = table->working.chapter;
            if (chapter->is_listed)
                json_put_open(json, "\n ", '{');
            json_put_integer(json, "query", chapter->query);
            json_put_open(json, "\n steps", '[');
        }
        put_working(json, table, &latex);
        if (is_last)
            json_put_close(json, ']');
        if (is_last && chapter->is_listed)
            json_put_close(json, '}');
    }
    if (first->is_listed)
        json_put_close(json, ']');
    int failed = buf_check(&latex, err);
    buf_release(&latex);
    return failed;
}

/* Open the JSON object of a result, and put all members that precede its tensors or tables. */
static void put_head(struct json_writer *json, const struct report *report)
{
    const struct table *facts = report->facts;
    bool has_facts = false;
    for (size_t i = 0; facts && i < facts->count; i++)
        has_facts |= !(facts->columns[i].flags & COLUMN_TEXT_ONLY);
    json_put_open(json, NULL, '{');
    if (report->identity.item)
        json_put_raw(json, NULL, report->identity.item);
    const struct chapter *chapter = report_chapter(report);
    json_put_text(json, "format",
                  chapter                    ? JSON_FORMAT("explain")
                  : report->identity.stacked ? JSON_FORMAT("row")
                                             : RESULT_FORMAT);
    json_report_origin(json, report, report->identity.provenance);
    if (chapter) {
        json_put_gap(json, "\n ");
        if (chapter->branch)
            json_put_text(json, "attention_of", chapter->branch->name);
        json_put_integer(json, "layer", chapter->layer);
        json_put_integer(json, "head", chapter->head);
        return;
    }
    if (has_facts)
        put_row(json, "\n facts", facts, 0);
    if (!report_has_tables(report))
        put_axes(json, report);
}

void json_report_metadata(struct buf *out, const struct report *report)
{
    struct json_writer json = {.buf = out, .one_line = true};
    put_head(&json, report);
    json_put_close(&json, '}');
}

void json_report_command(struct buf *out, const struct report *report)
{
    struct json_writer json = {.buf = out, .one_line = true, .in_html = true};
    json_put_open(&json, NULL, '{');
    put_provenance(&json, report, report->identity.provenance);
    json_put_close(&json, '}');
    json_put_close(&json, '}');
}

/* Begin a report. Several reports form an array (json) or are lines (jsonl). json_end closes
 * the object and, after the last report, the array. */
static int json_begin(struct writer *writer, struct err *err)
{
    const struct identity *identity = &writer->report->identity;
    const struct report *report = writer->report;
    struct json_writer *json = &writer->json;
    bool one_line = strcmp(writer->format->name, "jsonl") == 0;
    *json = (struct json_writer){.stream = writer->out, .one_line = one_line};
    if (identity->count > 1 && !one_line)
        stream_text(writer->out, identity->index == 0 ? "[" : ",\n");
    put_head(json, report); /* errors are kept in the stream */
    if (report_chapter(report))
        return put_chapters(json, report, err);
    bool has_tables = report_has_tables(report);
    if (has_tables)
        put_units(json, report);
    json_put_open(json, has_tables ? "\n tables" : "\n tensors", '{');
    for (size_t i = 0; has_tables && i < report->table_count; i++) {
        const struct table *table = &report->tables[i];
        if (table->flags & COLUMN_TEXT_ONLY)
            continue;
        json_put_open(json, table->name, '[');
        for (size_t row = 0; row < table->rows.size; row++)
            put_row(json, "\n  ", table, row);
        json_put_close(json, ']');
    }
    return 0;
}

/* Write a sheet. If a site has one number for each row, its matrix is written as a list of
 * numbers. */
static int json_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    char tensor[SITE_NAME_BYTES];
    struct json_writer *json = &writer->json;
    const struct array *array = &writer->report->arrays[writer->array];
    bool first = writer->sheet == 0, alone = !array->heads.name;
    const char *name = alone ? tensor : first ? NULL : "\n ";
    size_t columns = sheet->columns.size;
    (void)err;
    array_name(tensor, array);
    if (first && writer->array > 0)
        json_put_gap(json, "\n ");
    if (first && !alone)
        json_put_open(json, tensor, '[');
    if (array_rank(array) < (alone ? 2 : 3)) {
        json_put_floats(json, name, sheet->values, sheet->rows.size);
    } else {
        json_put_open(json, name, '[');
        for (size_t i = 0; i < sheet->rows.size; i++)
            json_put_floats(json, i ? "\n " : NULL, sheet->values + i * columns, columns);
        json_put_close(json, ']');
    }
    if (writer_at_last(writer) && !alone)
        json_put_close(json, ']');
    return 0;
}

static int json_end(struct writer *writer, struct err *err)
{
    const struct identity *identity = &writer->report->identity;
    bool alone = identity->count <= 1 || writer->json.one_line;
    bool last = identity->index + identity->failed + 1 == identity->count;
    (void)err;
    if (!report_chapter(writer->report))
        json_put_close(&writer->json, '}');
    json_put_close(&writer->json, '}');
    if (!alone && last)
        stream_char(writer->out, ']');
    if (alone || last)
        stream_char(writer->out, '\n');
    return 0;
}

#define OF_JSON                                                                             \
    UNIT_TEXT, .has_tokens = true, .has_tables = true, .has_origin = true, .cell_bytes = 9, \
               .keeps_shape = true, .begin = json_begin, .sheet = json_sheet, .end = json_end

FORMAT_ROW(json, ".json", "one object with the tokens, and the tensors as nested arrays", OF_JSON)
FORMAT_ROW(jsonl, ".jsonl", "one JSON object for each text, one per line", OF_JSON)
