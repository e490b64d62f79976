/* explain_json.c: explanations as one complete JSON object.
 *
 *     {"model": "life", "sentence": …, "tokens": […], "layer": 0, "head": 0,
 *      "given": {"x_j": [[…], …], "W_q": [[…], …], …, "scale": …}, "query": 1, "steps": [
 *      {"name": "scores", "title": …, "formulas": [{"text": …, "latex": …}, …], "note": …,
 *       "worked": {"text": …, "latex": …}, "rows": ["0:Life", …],
 *       "columns": {"k": [[…], …], "score": […]}, "total": {"name": …, "k": […]}}, …]}
 *
 * "given" has the weights and rows from which all other numbers follow. Members that a step lacks
 * are omitted; empty cells and minus infinity are null. data/schemas/explain.json also describes
 * several queries, and models with several attentions.
 */
#include "explain/explain_page.h"
#include "write/format.h"

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

/* Put a row's number, or its vector. */
static void put_row(struct json_writer *json, const char *name, const struct block *block,
                    const float *values)
{
    if (block->is_vector)
        json_put_floats(json, name, values, block->width);
    else
        json_put_float(json, name, *values);
}

/* Put a number for each row, or an array of vectors. */
static void put_block(struct json_writer *json, const struct step_table *table,
                      const struct block *block)
{
    if (!block->is_vector) {
        json_put_floats(json, block->name, block->values, table->row_count);
        return;
    }
    json_put_open(json, block->name, '[');
    for (size_t row = 0; row < table->row_count; row++)
        put_row(json, row ? "\n     " : NULL, block, block->values + row * block->stride);
    json_put_close(json, ']');
}

static void put_table(struct json_writer *json, const struct step_table *table)
{
    json_put_open(json, "\n   rows", '[');
    for (size_t row = 0; row < table->row_count; row++)
        json_put_text(json, NULL, table->rows[row].exact);
    json_put_close(json, ']');
    json_put_open(json, "\n   columns", '{');
    for (size_t b = 0; b < table->block_count; b++) {
        if (b > 0)
            json_put_gap(json, "\n    ");
        put_block(json, table, &table->blocks[b]);
    }
    json_put_close(json, '}');
    if (!table->total)
        return;
    json_put_open(json, "\n   total", '{');
    json_put_text(json, "name", table->total);
    for (size_t b = 0; b < table->block_count; b++)
        if (table->blocks[b].total)
            put_row(json, table->blocks[b].name, &table->blocks[b], table->blocks[b].total);
    json_put_close(json, '}');
}

static void put_step(struct json_writer *json, const struct step *step, struct buf *latex)
{
    json_put_open(json, "\n  ", '{');
    json_put_text(json, "name", step->name);
    json_put_text(json, "title", step->title);
    if (step->formula_count) {
        json_put_open(json, "\n   formulas", '[');
        for (size_t i = 0; i < step->formula_count; i++)
            put_formula(json, NULL, step->formulas[i], latex);
        json_put_close(json, ']');
    }
    if (step->note)
        json_put_text(json, "\n   note", step->note);
    if (step->worked)
        put_formula(json, "\n   worked", step->worked, latex);
    if (step->table.row_count)
        put_table(json, &step->table);
    json_put_close(json, '}');
}

/* Put the operands of all queries, which are stored with the first query. */
static void put_givens(struct json_writer *json, const struct explanation *first)
{
    json_put_open(json, "\n given", '{');
    for (size_t i = 0; i < first->step_count; i++)
        for (size_t g = 0; g < first->steps[i].given_count; g++) {
            const struct step_table *table = &first->steps[i].givens[g].table;
            if (json->comma)
                json_put_gap(json, "\n   ");
            if (first->steps[i].givens[g].is_matrix)
                put_block(json, table, table->blocks);
            else
                put_row(json, table->blocks->name, table->blocks, table->blocks->values);
        }
    json_put_close(json, '}');
}

int explain_json_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    struct json_writer json = {.stream = out};
    const struct explanation *first = explanations->items;
    struct report origin = *first->report;
    struct buf latex = {0};
    origin.heads = NULL; /* the single head is named below */
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("explain"));
    json_report_origin(&json, &origin, NULL);
    json_put_gap(&json, "\n ");
    if (first->part)
        json_put_text(&json, "attention_of", first->part->name);
    json_put_integer(&json, "layer", first->layer);
    json_put_integer(&json, "head", first->head);
    put_givens(&json, first);
    json_put_gap(&json, "\n ");
    if (explanations->several)
        json_put_open(&json, "explanations", '[');
    for (size_t i = 0; i < explanations->count; i++) {
        if (explanations->several)
            json_put_open(&json, "\n ", '{');
        const struct explanation *explanation = &explanations->items[i];
        json_put_integer(&json, "query", explanation->query);
        json_put_open(&json, "\n steps", '[');
        for (size_t k = 0; k < explanation->step_count; k++)
            put_step(&json, &explanation->steps[k], &latex);
        json_put_close(&json, ']');
        if (explanations->several)
            json_put_close(&json, '}');
    }
    if (explanations->several)
        json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    int failed = buf_check(&latex, err);
    buf_release(&latex);
    return failed;
}
