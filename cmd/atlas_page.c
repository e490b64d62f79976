/* atlas_page.c: writes the atlas as an HTML page that needs no network: styles and controls, the
 * data as JSON, and the script that draws them (lib/draw/page/atlas.js). If the page would be too
 * large, the weights in each head's examples are in a script of their own. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "atlas.h"
#include "base/num.h"
#include "draw/page.h"
#include "driver.h"
#include "format/csv_read.h"
#include "measure/head_circuits.h"

enum {
    SHARE_MAX = 255,
    KEY_MAX = 65535,
    ENTRY_BYTES = 3,
    /* if the entries of all examples need more than about this many bytes, each head's entries are
     * written to a script of their own */
    PAGE_BYTES = 10 << 20,
};

/* --- the texts of examples, once each --------------------------------------------------------- */

/* Number the texts of all examples in the order of the corpus, from 1. Returns the number of each
 * item, 0 for a text that is in no example; NULL on failure. */
static size_t *number_texts(const struct atlas_state *own, struct arena *arena, struct err *err)
{
    const size_t count = own->driver->items.count;
    size_t *numbers = arena_alloc(arena, count, sizeof *numbers, err);
    for (size_t i = 0; numbers && i < own->atlas.layers * own->atlas.across; i++)
        for (size_t k = 0; k < own->atlas.plan.intervals; k++) {
            const struct atlas_interval *interval = &own->atlas.heads[i].intervals[k];
            for (size_t e = 0; e < interval->count; e++)
                numbers[interval->items[e].text] = 1;
        }
    for (size_t i = 0, kept = 0; numbers && i < count; i++)
        numbers[i] = numbers[i] ? ++kept : 0;
    return numbers;
}

static int put_texts(struct json_writer *json, struct atlas_state *own, const size_t *numbers,
                     struct err *err)
{
    json_put_open(json, "\n texts", '[');
    for (size_t i = 0; i < own->driver->items.count; i++) {
        if (!numbers[i])
            continue;
        if (atlas_item_read(own, i, err))
            return -1;
        const struct tokenized *text = &own->reread.pair.text;
        json_put_open(json, "\n ", '{');
        json_put_integer(json, "number", (long long)own->reread.item.number);
        if (text->raw)
            json_put_bytes(json, "text", text->raw, text->size);
        else
            json_put_text(json, "ids", own->reread.item.input.ids);
        json_put_open(json, "tokens", '[');
        for (size_t k = 0; k < text->count; k++)
            json_put_text(json, NULL, text->labels[k].plain);
        json_put_close(json, ']');
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
    return 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Write a table as JSON: {"columns": ["layer", …], "rows": [[0, …], …]} */
static void put_table(struct json_writer *json, const char *name, const struct table *table)
{
    json_put_open(json, name, '{');
    json_put_open(json, "columns", '[');
    for (size_t i = 0; i < table->count; i++)
        json_put_text(json, NULL, table->columns[i].name);
    json_put_close(json, ']');
    json_put_open(json, "rows", '[');
    for (size_t row = 0; row < table->rows.size; row++) {
        json_put_open(json, "\n ", '[');
        for (size_t i = 0; i < table->count; i++) {
            const struct column *column = &table->columns[i];
            if (column->kind == COLUMN_FLOAT)
                json_put_float(json, NULL, (float)column_float(column, row));
            else if (column->kind == COLUMN_INTEGER)
                json_put_integer(json, NULL, column_integer(column, row));
            else
                json_put_text(json, NULL, column_text(column, row, false));
        }
        json_put_close(json, ']');
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

/* --- examples --------------------------------------------------------------------------------- */

bool atlas_page_is_split(const struct atlas_state *own)
{
    const struct atlas *atlas = &own->atlas;
    double bytes = 0;
    for (size_t i = 0; i < atlas->layers * atlas->across; i++)
        for (size_t k = 0; k < atlas->plan.intervals; k++) {
            const struct atlas_interval *interval = &atlas->heads[i].intervals[k];
            for (size_t e = 0; e < interval->count; e++)
                bytes += (double)interval->items[e].tokens *
                         (double)(1 + num_min(atlas->plan.keys, interval->items[e].tokens) *
                                          ENTRY_BYTES);
        }
    return bytes > PAGE_BYTES;
}

/* Write the entries of an example in base64: for each query a count, then that many entries, each a
 * key (16 bits) and its weight times 255 (8 bits). Keys above KEY_MAX are left out. */
static int put_entries(struct json_writer *json, const struct atlas_state *own,
                       const struct atlas_example *example, struct err *err)
{
    const size_t keys = own->atlas.plan.keys;
    struct buf bytes = {0};
    for (size_t query = 0; query < example->tokens; query++) {
        const uint32_t *entries = example->entries + query * keys;
        size_t count = 0;
        while (count < keys && entries[count] && atlas_entry_key(entries[count]) <= KEY_MAX)
            count++;
        buf_char(&bytes, (char)count);
        for (size_t i = 0; i < count; i++) {
            buf_integer(&bytes, atlas_entry_key(entries[i]), ENTRY_BYTES - 1);
            buf_char(&bytes, (char)lrintf(atlas_entry_weight(entries[i]) * SHARE_MAX));
        }
    }
    const int failed = buf_check(&bytes, err);
    json_put_raw(json, NULL, "\"");
    page_put_base64(json->stream, bytes.bytes, failed ? 0 : bytes.size);
    stream_char(json->stream, '"');
    buf_release(&bytes);
    return err_if(failed);
}

/* Write the entries of all examples of a head, from the highest interval to the lowest. */
static int put_all_entries(struct json_writer *json, const char *name,
                           const struct atlas_state *own, size_t index, struct err *err)
{
    int failed = 0;
    json_put_open(json, name, '[');
    for (size_t i = own->atlas.plan.intervals; i-- > 0;) {
        const struct atlas_interval *interval = &own->atlas.heads[index].intervals[i];
        for (size_t k = 0; k < interval->count && !failed; k++)
            failed = put_entries(json, own, &interval->items[k], err);
    }
    json_put_close(json, ']');
    return err_if(failed);
}

int atlas_page_write_entries(struct stream *out, struct atlas_state *own, size_t index,
                             struct err *err)
{
    struct json_writer json = {.stream = out};
    stream_format(out, "takeEntries('%zu.%zu', ", index / own->atlas.across,
                  index % own->atlas.across);
    const int failed = put_all_entries(&json, NULL, own, index, err);
    stream_text(out, ");\n");
    return failed;
}

/* Write the data of a head as a JSON object. Each of its examples is [interval, index of the text,
 * largest weight]; "others" are the scores of this head in the atlas of --against. */
static int put_head(struct json_writer *json, struct atlas_state *own, size_t index,
                    const size_t *numbers, struct err *err)
{
    const struct atlas_head *head = &own->atlas.heads[index];
    struct arena arena = {0};
    struct atlas_marginals marginals;
    const struct atlas_masses_of of = {&own->atlas, index, false, atlas_item_ids, own};
    int failed = atlas_marginals(&marginals, &of, &arena, err);
    json_put_open(json, "\n ", '{');
    json_put_open(json, "bins", '[');
    for (size_t i = 0; i < ATLAS_BINS; i++)
        json_put_integer(json, NULL, (long long)head->bins[i]);
    json_put_close(json, ']');
    json_put_open(json, "distances", '[');
    for (size_t i = 0; i < ATLAS_DISTANCES && !failed; i++)
        json_put_float(json, NULL, (float)marginals.distances[i]);
    json_put_close(json, ']');
    if (own->others) {
        json_put_open(json, "others", '[');
        for (size_t k = 0; k < own->heads.scores.count; k++)
            json_put_float(json, NULL,
                           own->others[k * own->atlas.layers * own->atlas.across + index]);
        json_put_close(json, ']');
    }
    json_put_open(json, "examples", '[');
    for (size_t i = own->atlas.plan.intervals; i-- > 0;)
        for (size_t k = 0; k < head->intervals[i].count; k++) {
            const struct atlas_example *example = &head->intervals[i].items[k];
            json_put_open(json, NULL, '[');
            json_put_integer(json, NULL, (long long)i + 1);
            json_put_integer(json, NULL, (long long)numbers[example->text] - 1);
            json_put_float(json, NULL, example->top);
            json_put_close(json, ']');
        }
    json_put_close(json, ']');
    if (!failed && !atlas_page_is_split(own))
        failed = put_all_entries(json, "entries", own, index, err);
    json_put_close(json, '}');
    arena_release(&arena);
    return err_if(failed);
}

/* --- --against -------------------------------------------------------------------------------- */

/* The value of the field `name` in a record of heads.csv, in the atlas of --against; NaN if the
 * field is missing. */
static double other_value(const struct csv_record *names, const struct csv_record *record,
                          const char *name)
{
    double value = (double)NAN;
    for (size_t i = 0; i < names->count && i < record->count; i++)
        if (strcmp(names->fields[i], name) == 0)
            num_parse_double(record->fields[i], -DBL_MAX, DBL_MAX, &value);
    return value;
}

int atlas_read_against(struct atlas_state *own, struct arena *arena, struct err *err)
{
    const size_t heads = own->atlas.layers * own->atlas.across;
    const size_t scores = own->heads.scores.count;
    const char *path = arena_format(arena, err, "%s/heads.csv", own->against);
    struct file file = {0};
    struct csv_record names, record;
    size_t shared = 0;
    own->others = arena_alloc(arena, scores * heads, sizeof *own->others, err);
    if (!path || !own->others || file_map_named(&file, path, err))
        return -1;
    for (size_t i = 0; i < scores * heads; i++)
        own->others[i] = NAN;
    struct csv_reader reader = {file.bytes, file.bytes + file.size, 1, ','};
    int failed = csv_read(&reader, &names, arena, err);
    while (!failed && !(failed = csv_read(&reader, &record, arena, err)) && record.count) {
        const double layer = other_value(&names, &record, "layer");
        const double head = other_value(&names, &record, "head");
        if (!(layer >= 0 && layer < (double)own->atlas.layers && head >= 0 &&
              head < (double)own->atlas.across))
            continue;
        for (size_t i = 0; i < scores; i++) {
            const double value = other_value(&names, &record, own->heads.scores.items[i].name);
            own->others[i * heads + (size_t)layer * own->atlas.across + (size_t)head] =
                (float)value;
            shared += !isnan(value);
        }
    }
    file_release(&file);
    if (!failed && !shared)
        failed = err_set(err, "expected heads and scores of this atlas, found none: --score of "
                              "both must share one");
    return failed ? err_prefix(err, "'%s'", path) : 0;
}

/* --- the page --------------------------------------------------------------------------------- */

static int put_data(struct stream *out, struct atlas_state *own, struct err *err)
{
    struct arena arena = {0};
    struct json_writer json = {.stream = out, .in_html = true};
    const struct report origin = {.model = own->driver->session.viewer.model.name,
                                  .identity = own->driver->identity};
    const size_t *numbers = number_texts(own, &arena, err);
    stream_text(out, "<script type=\"application/json\" id=\"atlas\">");
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "model", report_model_name(&origin));
    json_put_integer(&json, "layers", (long long)own->atlas.layers);
    json_put_integer(&json, "across", (long long)own->atlas.across);
    json_put_integer(&json, "count", (long long)own->atlas.texts);
    json_put_integer(&json, "tokens", (long long)own->atlas.tokens);
    json_put_integer(&json, "intervals", (long long)own->atlas.plan.intervals);
    json_put_text(&json, "against", own->against);
    json_put_open(&json, "scores", '[');
    for (size_t i = 0; i < own->heads.scores.count; i++)
        json_put_text(&json, NULL, own->heads.scores.items[i].name);
    json_put_close(&json, ']');
    put_table(&json, "\n heads", &own->tables[ATLAS_HEADS]);
    put_table(&json, "\n pairs", &own->tables[ATLAS_FREQUENT]);
    put_table(&json, "\n promotes", &own->tables[ATLAS_PROMOTES]);
    json_put_open(&json, "\n about", '[');
    int failed = !numbers;
    for (size_t i = 0; i < own->atlas.layers * own->atlas.across && !failed; i++)
        failed = atlas_has_head(own, i) && put_head(&json, own, i, numbers, err);
    json_put_close(&json, ']');
    failed = failed || put_texts(&json, own, numbers, err);
    json_put_close(&json, '}');
    stream_text(out, "</script>\n");
    arena_release(&arena);
    return err_if(failed);
}

int atlas_page_write(struct stream *out, struct atlas_state *own, size_t head, struct err *err)
{
    (void)head;
    stream_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'");
    stream_text(out, atlas_page_is_split(own) ? " 'self' file:\">\n<title>" : "\">\n<title>");
    page_put_text(out, own->driver->session.viewer.model.name);
    stream_text(out, ": atlas</title>\n");
    stream_bytes(out, page_atlas_before.bytes, page_atlas_before.size);
    if (put_data(out, own, err))
        return -1;
    stream_bytes(out, page_atlas_behind.bytes, page_atlas_behind.size);
    return 0;
}
