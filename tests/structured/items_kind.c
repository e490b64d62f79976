/* Items: the file of a batch, as lines, JSON or CSV. */
#include <string.h>

#include "../../cmd/options.h"
#include "json_change.h"
#include "kind.h"
#include "lines_change.h"
#include "odd.h"

static const char jsonl[] =
    "{\"id\": \"a\", \"sentence\": \"Life is short\", \"head\": [0], \"show\": \"weights,q\","
    " \"side\": \"left\", \"plausible\": 4.5}\n"
    "{\"sentence\": \"eat dessert first\", \"model\": \"life-causal\", \"scale\": 2, \"new\": "
    "true}\n"
    "{\"id\": \"c\", \"ids\": [0, 4, 5], \"attention\": \"window:2\", \"layer\": \"0\"}\n"
    "{\"sentence\": \"Life\", \"words\": true, \"title\": \"x\", \"temperature\": 0.5, \"seed\": 3,"
    " \"dropout\": 0.1}\n";

static const char csv[] =
    "id,sentence,model,head,show,scale,side\n"
    "a,Life is short,life,0,weights,,left\n"
    "b,\"eat dessert, first\",journey,,,1,\n"
    "\"c \"\"d\"\"\",\"Life\n is\",life-4-heads,1-2,\"scores,weights\",sqrt,\"far, right\"\n";

static const char semicolons[] = "id;side;sentence;head\r\n"
                                 "a;left;Life is short;0\r\n"
                                 "b;\"far; \"\"right\"\"\";\"eat dessert;first\";\r\n";

static const char tabs[] = "sentence\tside\tplausible\n"
                           "Life is short\tleft\t4,5\n"
                           "eat\t\"a\tb\"\t\n";

static const char lines[] = "Life is short\neat dessert first\n  Life   is\n\nshort\n";

/* --- changes ---------------------------------------------------------------------------------- */

/* A field of any name that there is. */
static const char *field_name(struct made *made)
{
    for (;;) {
        const struct option_row *row = option_at(made_below(made, option_count()));
        if (option_serves(row, FOR_ITEM))
            return row->name;
    }
}

static const char *field_value(struct made *made)
{
    return made_one_in(made, 2) ? odd_text(made) : odd_number(made);
}

/* "as JSON has it". */
static void add_json_text(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            buf_format(out, "\\u%04x", *text);
        else
            buf_char(out, *text);
    buf_char(out, '"');
}

static void add_object(struct buf *out, struct made *made)
{
    const char *name = field_name(made);
    const char *value = field_value(made);
    buf_format(out, "{\"sentence\": \"Life is\", \"%s\": ", name);
    if (made_one_in(made, 3))
        buf_text(out, odd_number(made));
    else
        add_json_text(out, value);
    buf_text(out, "}\n");
}

static void change_object(struct buf *out, struct made *made)
{
    const char *line;
    size_t size;
    size_t count = lines_count(jsonl, sizeof jsonl - 1);
    size_t changed = made_below(made, count);
    for (size_t i = 0; i < count; i++) {
        lines_find(&line, &size, jsonl, sizeof jsonl - 1, i);
        if (i != changed || !json_change_line(out, line, size, made))
            buf_bytes(out, line, size);
        buf_char(out, '\n');
    }
}

static void add_csv_text(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        buf_text(out, *text == '"' ? "\"" : "");
        buf_char(out, *text);
    }
    buf_char(out, '"');
}

/* A column more, with the same odd value in all rows but the last. */
static void add_column(struct buf *out, struct made *made)
{
    const char *value = field_value(made);
    buf_format(out, "sentence,%s\nLife is,", field_name(made));
    add_csv_text(out, value);
    buf_text(out, "\nshort,");
    add_csv_text(out, value);
    buf_text(out, "\neat,\n");
}

static void make_jsonl(struct buf *out, struct made *made)
{
    if (made_one_in(made, 3))
        add_object(out, made);
    else if (made_one_in(made, 4))
        lines_change(out, jsonl, sizeof jsonl - 1, made);
    else
        change_object(out, made);
}

static void make_csv(struct buf *out, struct made *made)
{
    if (made_one_in(made, 3))
        add_column(out, made);
    else if (made_one_in(made, 3))
        lines_change(out, semicolons, sizeof semicolons - 1, made);
    else if (made_one_in(made, 3))
        lines_change(out, tabs, sizeof tabs - 1, made);
    else
        lines_change(out, csv, sizeof csv - 1, made);
}

static void make_lines(struct buf *out, struct made *made)
{
    lines_change(out, lines, sizeof lines - 1, made);
}

/* --- command lines ---------------------------------------------------------------------------- */

static const char *const places[] = {
    "",
    "-o out.jsonl",
    "-o out/ --format csv",
    "-o out/ --format text",
    "-o out/ --format npy --show weights",
    "-o out/ --format svg",
    "-o out/ --format html",
    "-o out/ --format json --show all",
    "-o out/ --format safetensors",
    "-o out/",
    "--dry-run",
    "--reduce entropy,distance",
    "--reduce entropy --format json",
    "--reduce mean -o out/",
    "--reduce entropy --per-item",
    "--reduce entropy,mean --per-item --format csv",
    "--reduce entropy --per-item -o out.tidy.csv",
    "--sweep head=0 --sweep scale=none,sqrt,0",
    "--repeat 2 -o out/ --format csv",
    "--sweep model=life,journey -o out.jsonl",
    "--shard 2/3 -o out.jsonl",
    "--fail-fast -o out.jsonl",
    "--format tidy -o out/",
};

void items_make(struct made *made)
{
    static const struct {
        const char *name;
        void (*make)(struct buf *, struct made *);
    } forms[] = {{"i.jsonl", make_jsonl},
                 {"i.jsonl", make_jsonl},
                 {"i.csv", make_csv},
                 {"i.txt", make_lines}};
    struct buf text = {0};
    size_t form = made_below(made, sizeof forms / sizeof *forms);
    const char *place = MADE_PICK(made, places);
    struct folder_file *file = made_text(made, forms[form].name, "");
    forms[form].make(&text, made);
    made_take(made, file, &text);
    made_line(made, "batch %s -q -m life -t 1 %s", file->name, place);
    if (strstr(place, "-o"))
        made_line(made, "batch %s -q -m life -t 1 %s --resume", file->name, place);
}
