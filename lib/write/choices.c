#include "write/choices.h"

#include <stdio.h>

#include "base/utf8.h"
#include "write/json_report.h"
#include "write/text_line.h"
#include "text/label.h"

enum {
    ID_BYTES = 16,
    NUMBER_BYTES = 64,
    TOKEN_COLUMNS_MAX = 16, /* a longer token is shortened */
};

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

static void add_visible(struct buf *out, const struct choices *choices, uint32_t id)
{
    struct name name;
    name_token(&name, choices, id);
    label_token(out, name.bytes, name.size, false);
}

/* --- a table ---------------------------------------------------------------------------------- */

struct widths {
    int place, id, logprob;
    size_t token;
};

static int wider(int width, int other)
{
    return other > width ? other : width;
}

static int find_widths(struct widths *widths, const struct choices *choices, struct err *err)
{
    struct buf token = {0};
    char number[NUMBER_BYTES];
    size_t last = choices->first + choices->count;
    *widths = (struct widths){5, 2, 7, 5}; /* of the titles */
    widths->place = wider(widths->place, snprintf(number, sizeof number, "%zu", last));
    for (size_t i = 0; i < choices->count; i++) {
        const struct likely *chosen = &choices->items[i].chosen;
        double logprob = (double)chosen->logprob;
        widths->id = wider(widths->id, snprintf(number, sizeof number, "%u", chosen->id));
        widths->logprob = wider(widths->logprob, snprintf(number, sizeof number, "%.4f", logprob));
        buf_clear(&token);
        add_visible(&token, choices, chosen->id);
        if (buf_check(&token, err)) {
            buf_release(&token);
            return -1;
        }
        size_t columns = utf8_width(token.bytes, token.size);
        columns = columns < TOKEN_COLUMNS_MAX ? columns : TOKEN_COLUMNS_MAX;
        widths->token = columns > widths->token ? columns : widths->token;
    }
    buf_release(&token);
    return 0;
}

static void add_choice(struct buf *line, const struct choices *choices, size_t index,
                       const struct widths *widths)
{
    const struct choice *choice = &choices->items[index];
    struct buf token = {0};
    add_visible(&token, choices, choice->chosen.id);
    buf_format(line, "%*zu  %*u  ", widths->place, choices->first + index, widths->id,
               choice->chosen.id);
    text_left(line, token.bytes ? token.bytes : "", widths->token);
    buf_format(line, "  %*.4f", widths->logprob, (double)choice->chosen.logprob);
    for (size_t i = 0; i < choice->best_count; i++) {
        buf_text(line, "  ");
        add_visible(line, choices, choice->best[i].id);
        buf_format(line, " %.2f", (double)choice->best[i].logprob);
    }
    line->out_of_memory |= token.out_of_memory;
    buf_release(&token);
}

int choices_write_table(struct stream *out, const struct choices *choices, size_t columns,
                        struct err *err)
{
    struct buf line = {0};
    struct widths widths;
    if (find_widths(&widths, choices, err))
        return -1;
    buf_format(&line, "%*s  %*s  ", widths.place, "place", widths.id, "id");
    text_left(&line, "token", widths.token);
    buf_format(&line, "  %*s  most likely", widths.logprob, "logprob");
    text_shorten(&line, columns);
    int failed = text_end(out, &line, err);
    for (size_t i = 0; i < choices->count && !failed; i++) {
        add_choice(&line, choices, i, &widths);
        text_shorten(&line, columns);
        failed = text_end(out, &line, err);
    }
    buf_release(&line);
    return failed;
}

/* --- JSON ------------------------------------------------------------------------------------- */

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
