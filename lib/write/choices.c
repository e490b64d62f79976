#include "write/choices.h"

#include <stdio.h>

#include "base/num.h"
#include "write/json_report.h"
#include "write/table.h"

enum {
    ID_BYTES = 16,
    NUMBER_BYTES = 64,
    TOKEN_COLUMNS_MAX = 16, /* a longer token is shortened */
};

enum { ID = 1, TOKEN, LOGPROB }; /* columns */

/* A token's bytes; its number where they are not known. */
struct name {
    char number[ID_BYTES];
    const char *bytes;
    size_t size;
};

static void name_token(struct name *name, const struct choices *choices, uint32_t id)
{
    name->bytes = choices->tokenizer ? tokenizer_token(choices->tokenizer, id, &name->size) : NULL;
    if (name->bytes)
        return;
    name->size = (size_t)snprintf(name->number, sizeof name->number, "%u", id);
    name->bytes = name->number;
}

/* One of the tokens that might stand at a place: with those chosen before it and, where it is the
 * chosen one itself, those after it. */
static void add_visible(struct buf *out, const struct choices *choices, size_t index, uint32_t id)
{
    enum { AROUND = LABEL_AROUND };
    struct name names[2 * AROUND + 1];
    struct token_bytes row[2 * AROUND + 1];
    size_t count = 0;
    size_t first = index < AROUND ? 0 : index - AROUND;
    bool is_chosen = id == choices->items[index].chosen.id;
    for (size_t i = first; i < choices->count && i <= index + (is_chosen ? AROUND : 0); i++) {
        name_token(&names[count], choices, i == index ? id : choices->items[i].chosen.id);
        row[count] = (struct token_bytes){names[count].bytes, names[count].size};
        count++;
    }
    label_token(out, row, count, index - first);
}

/* Make the columns as wide as what they hold. */
static void fit(struct table_column *columns, const struct choices *choices, struct buf *text)
{
    struct table_column *token = &columns[TOKEN];
    for (size_t i = 0; i < choices->count && !text->out_of_memory; i++) {
        const struct likely *chosen = &choices->items[i].chosen;
        char number[NUMBER_BYTES];
        table_fit_number(&columns[ID], chosen->id);
        snprintf(number, sizeof number, "%.4f", num_shown((double)chosen->logprob, 4));
        table_fit(&columns[LOGPROB], number);
        buf_clear(text);
        add_visible(text, choices, i, chosen->id);
        table_fit(token, text->size ? text->bytes : "");
    }
    token->width = token->width < TOKEN_COLUMNS_MAX ? token->width : TOKEN_COLUMNS_MAX;
}

static void write_choice(struct table *table, const struct choices *choices, size_t index)
{
    const struct choice *choice = &choices->items[index];
    table_number(table, choices->first + index);
    table_number(table, choice->chosen.id);
    add_visible(&table->cell, choices, index, choice->chosen.id);
    table_put(table);
    table_format(table, "%.4f", num_shown((double)choice->chosen.logprob, 4));
    for (size_t i = 0; i < choice->best_count; i++) {
        buf_text(&table->cell, i ? "  " : "");
        add_visible(&table->cell, choices, index, choice->best[i].id);
        buf_format(&table->cell, " %.2f", num_shown((double)choice->best[i].logprob, 2));
    }
    table_put(table);
    table_end(table);
}

int choices_write_table(struct stream *out, const struct choices *choices, size_t columns,
                        struct err *err)
{
    struct table_column row[] = {
        {"place", .width = 5},
        [ID] = {"id", .gap = 2, .width = 2},
        [TOKEN] = {"token", .gap = 2, .width = 5, .left = true, .shortens = true},
        [LOGPROB] = {"logprob", .gap = 2, .width = 7},
        {"most likely", .gap = 2},
    };
    struct table table = {
        .out = out, .columns = row, .count = sizeof row / sizeof *row, .page = columns};
    table_fit_number(row, choices->first + choices->count);
    fit(row, choices, &table.cell);
    buf_clear(&table.cell);
    table_titles(&table);
    for (size_t i = 0; i < choices->count; i++)
        write_choice(&table, choices, i);
    return table_close(&table, err);
}

/* The members of a token, without braces. */
static void put_likely(struct json_writer *json, const struct choices *choices,
                       const struct likely *likely)
{
    struct name name;
    name_token(&name, choices, likely->id);
    json_put_integer(json, "id", likely->id);
    json_put_bytes(json, "text", name.bytes, name.size);
    json_put_float(json, "logprob", likely->logprob);
    json_report_bytes(json, name.bytes, name.size);
}

static void put_choice(struct json_writer *json, const struct choices *choices,
                       const struct choice *choice)
{
    json_put_open(json, "\n  ", '{');
    put_likely(json, choices, &choice->chosen);
    json_put_open(json, "best", '[');
    for (size_t i = 0; i < choice->best_count; i++) {
        json_put_open(json, NULL, '{');
        put_likely(json, choices, &choice->best[i]);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

void choices_write_json(struct json_writer *json, const char *name, const struct choices *choices)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < choices->count; i++)
        put_choice(json, choices, &choices->items[i]);
    json_put_close(json, ']');
}
