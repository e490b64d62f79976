/* explain_json.c: explanations as one JSON object, nothing left out.
 *
 *     {"model": "life", "sentence": …, "tokens": […], "layer": 0, "head": 0,
 *      "given": {"x_j": [[…], …], "W_q": [[…], …], …, "scale": …}, "query": 1, "steps": [
 *      {"name": "scores", "title": …, "formulas": [{"text": …, "latex": …}, …], "note": …,
 *       "worked": {"text": …, "latex": …}, "rows": ["0:Life", …],
 *       "columns": {"k": [[…], …], "score": […]}, "total": {"name": …, "k": […]}}, …]}
 *
 * Of several queries: "explanations": [{"query": 0, "steps": […]}, …] in place of the last two.
 *
 * What is given are the weights of the head, and the rows of all tokens that its queries, keys and
 * values are made of: all other numbers follow from them. Where a model has several attentions,
 * `"attention_of": "cross"` stands before the layer; the query of its encoder is one of
 * `source_tokens`. What a step has not is not there; an empty cell and minus infinity are null.
 */
#include <string.h>

#include "format/json_writer.h"
#include "explain/explain_format.h"
#include "write/json_origin.h"

static void write_text(struct stream *out, const char *text)
{
    json_write_text(out, text, strlen(text));
}

static void write_member(struct stream *out, const char *name, const char *text)
{
    stream_format(out, "\"%s\": ", name);
    write_text(out, text);
}

static void write_formula(struct stream *out, const struct formula *formula)
{
    stream_char(out, '{');
    write_member(out, "text", formula->text);
    stream_text(out, ", ");
    write_member(out, "latex", formula->latex);
    stream_char(out, '}');
}

static void write_formulas(struct stream *out, const struct step *step)
{
    stream_text(out, ",\n   \"formulas\": [");
    for (size_t i = 0; i < step->formula_count; i++) {
        stream_text(out, i ? ", " : "");
        write_formula(out, &step->formulas[i]);
    }
    stream_char(out, ']');
}

/* A number for each row, or an array. */
static void write_block(struct stream *out, const struct step_table *table,
                        const struct block *block)
{
    if (!block->is_vector) {
        json_write_floats(out, block->values, table->row_count);
        return;
    }
    stream_char(out, '[');
    for (size_t row = 0; row < table->row_count; row++) {
        stream_text(out, row ? ",\n     " : "");
        json_write_floats(out, block->values + row * block->stride, block->width);
    }
    stream_char(out, ']');
}

static void write_total(struct stream *out, const struct step_table *table)
{
    stream_text(out, ",\n   \"total\": {");
    write_member(out, "name", table->total);
    for (size_t b = 0; b < table->block_count; b++) {
        const struct block *block = &table->blocks[b];
        if (!block->total)
            continue;
        stream_format(out, ", \"%s\": ", block->name);
        if (block->is_vector)
            json_write_floats(out, block->total, block->width);
        else
            json_write_float(out, *block->total);
    }
    stream_char(out, '}');
}

static void write_table(struct stream *out, const struct step_table *table)
{
    stream_text(out, ",\n   \"rows\": [");
    for (size_t row = 0; row < table->row_count; row++) {
        stream_text(out, row ? ", " : "");
        write_text(out, table->rows[row].exact);
    }
    stream_text(out, "],\n   \"columns\": {");
    for (size_t b = 0; b < table->block_count; b++) {
        stream_format(out, "%s\"%s\": ", b ? ",\n    " : "", table->blocks[b].name);
        write_block(out, table, &table->blocks[b]);
    }
    stream_char(out, '}');
    if (table->total)
        write_total(out, table);
}

static void write_step(struct stream *out, const struct step *step)
{
    stream_text(out, "\n  {");
    write_member(out, "name", step->name);
    stream_text(out, ", ");
    write_member(out, "title", step->title);
    if (step->formula_count)
        write_formulas(out, step);
    if (step->note) {
        stream_text(out, ",\n   ");
        write_member(out, "note", step->note);
    }
    if (step->worked.text) {
        stream_text(out, ",\n   \"worked\": ");
        write_formula(out, &step->worked);
    }
    if (step->table.row_count)
        write_table(out, &step->table);
    stream_char(out, '}');
}

static void write_given(struct stream *out, const struct given *given)
{
    const struct block *block = given->table.blocks;
    stream_format(out, "\"%s\": ", block->name);
    if (given->shape == GIVEN_NUMBER)
        json_write_float(out, *block->values);
    else if (given->shape == GIVEN_VECTOR)
        json_write_floats(out, block->values, block->width);
    else
        write_block(out, &given->table, block);
}

/* What all queries take; the first has it. */
static void write_givens(struct stream *out, const struct explanation *first)
{
    bool any = false;
    stream_text(out, "\"given\": {");
    for (size_t i = 0; i < first->step_count; i++)
        for (size_t g = 0; g < first->steps[i].given_count; g++) {
            stream_text(out, any ? ",\n   " : "");
            write_given(out, &first->steps[i].givens[g]);
            any = true;
        }
    stream_text(out, "},\n ");
}

static void write_steps(struct stream *out, const struct explanation *explanation)
{
    stream_format(out, "\"query\": %zu,\n \"steps\": [", explanation->query);
    for (size_t i = 0; i < explanation->step_count; i++) {
        stream_text(out, i ? "," : "");
        write_step(out, &explanation->steps[i]);
    }
    stream_char(out, ']');
}

static void write_several(struct stream *out, const struct explanations *explanations)
{
    stream_text(out, "\"explanations\": [");
    for (size_t i = 0; i < explanations->count; i++) {
        stream_text(out, i ? ",\n {" : "\n {");
        write_steps(out, &explanations->items[i]);
        stream_char(out, '}');
    }
    stream_char(out, ']');
}

int explain_json_write(struct stream *out, const struct explanations *explanations,
                       const struct explain_page *page, struct err *err)
{
    const struct explanation *first = explanations->items;
    struct report origin = *first->report;
    (void)page;
    (void)err;
    origin.heads = NULL; /* the one is named below */
    stream_char(out, '{');
    json_origin_write(out, &origin, "\n ");
    stream_text(out, ",\n ");
    if (first->part) {
        write_member(out, "attention_of", first->part->name);
        stream_text(out, ", ");
    }
    stream_format(out, "\"layer\": %zu, \"head\": %zu,\n ", first->layer, first->head);
    write_givens(out, first);
    if (explanations->several)
        write_several(out, explanations);
    else
        write_steps(out, first);
    stream_text(out, "}\n");
    return 0;
}
