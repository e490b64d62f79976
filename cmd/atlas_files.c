/* atlas_files.c: writes the folder of an atlas: its tables, examples and page, and atlas.json with
 * the settings. */
#include <stdio.h>
#include <string.h>

#include "atlas.h"
#include "base/num.h"
#include "driver.h"
#include "measure/head_circuits.h"
#include "say.h"

enum { FILE_NAME_BYTES = 64 };

/* --- heads ------------------------------------------------------------------------------------ */

double atlas_score(const struct atlas_state *own, size_t score, size_t head)
{
    return mean_value(&own->heads.sums.found[score * own->heads.survey.heads + head]);
}

bool atlas_has_head(const struct atlas_state *own, size_t head)
{
    const size_t across = own->atlas.across;
    const struct head_layer *layer = &own->result.of_layer[head / across];
    return head % across < layer->heads && !(own->is_headvis && layer->kind != HEADS_ATTEND);
}

static size_t count_heads(const struct atlas_state *own)
{
    return own->atlas.layers * own->atlas.across;
}

/* For each head, find the key tokens with the most weight, and the tokens that these key tokens
 * promote. With edits, or if the weights do not tell what a key token promotes (circuits_check), a
 * note is printed, and own->promotions stays NULL. */
static int promote(struct atlas_state *own, struct err *err)
{
    struct viewer *viewer = &own->driver->session.viewer;
    struct arena *arena = &own->driver->session.arena, scratch = {0};
    const size_t heads = count_heads(own);
    struct err why = {0};
    own->keys = arena_alloc(arena, heads * ATLAS_PROMOTED, sizeof *own->keys, err);
    own->key_counts = arena_alloc(arena, heads, sizeof *own->key_counts, err);
    struct promotion *promotions =
        arena_alloc(arena, heads * ATLAS_PROMOTED, sizeof *promotions, err);
    for (size_t i = 0; i < heads && !err->kind; i++) {
        struct atlas_marginals found;
        const struct atlas_masses_of of = {&own->atlas, i, true, atlas_item_ids, own};
        if (!atlas_marginals(&found, &of, &scratch, err)) {
            own->key_counts[i] = num_min(found.key_count, ATLAS_PROMOTED);
            memcpy(own->keys + i * ATLAS_PROMOTED, found.keys,
                   own->key_counts[i] * sizeof *found.keys);
        }
        arena_clear(&scratch);
    }
    arena_release(&scratch);
    for (size_t i = 0; i < heads * ATLAS_PROMOTED && !err->kind; i++)
        promotions[i].from = own->keys[i].id;
    if (err->kind)
        return -1;
    if (viewer->edits || own->atlas.across != viewer->model.config.n_head ||
        circuits_check(&viewer->model, true, &why)) {
        print_note("no promotions: %s", why.kind        ? why.text
                                        : viewer->edits ? "the edits are not part of the weights"
                                                        : "not all layers have attention");
        return 0;
    }
    own->promotions = promotions;
    return circuits_promote(promotions, ATLAS_PROMOTED, viewer, err);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Make the table of heads: the table of the command `heads`, with its column "verdict" renamed to
 * "role". */
static int make_heads(struct table *table, struct atlas_state *own, struct arena *arena,
                      struct err *err)
{
    struct report report;
    const struct table *scores = head_table_report(&report, &own->heads.results, arena, err);
    struct column *columns =
        scores ? arena_alloc(arena, scores->count, sizeof *columns, err) : NULL;
    for (size_t i = 0; columns && i < scores->count; i++) {
        columns[i] = scores->columns[i];
        if (strcmp(columns[i].name, "verdict") != 0)
            continue;
        columns[i].name = "role";
        columns[i].flags = 0;
    }
    if (!columns)
        return -1;
    *table = *scores;
    table->columns = columns;
    return 0;
}

static void put_head(struct table_rows *rows, const struct atlas_state *own, size_t head)
{
    rows_integer(rows, "layer", COLUMN_KEY, (long long)(head / own->atlas.across));
    rows_integer(rows, "head", COLUMN_KEY, (long long)(head % own->atlas.across));
}

static void put_token(struct table_rows *rows, const struct atlas_state *own, const char *name,
                      uint32_t id)
{
    const struct tokenizer *tokenizer = own->driver->session.viewer.tokenizer;
    rows_label(rows, name, COLUMN_KEY, label_of_word(tokenizer, id, rows->arena, rows->err));
}

static void put_pair(struct table_rows *rows, const struct atlas_state *own, size_t head,
                     size_t rank, const struct pair_count *pair)
{
    put_head(rows, own, head);
    rows_integer(rows, "rank", COLUMN_KEY, (long long)rank + 1);
    put_token(rows, own, "query_token", pair->query);
    put_token(rows, own, "key_token", pair->key);
    rows_integer(rows, "count", 0, pair->count);
    rows_float(rows, (struct column){"mean"}, pair->weight / (double)(pair->count - pair->over));
    rows_integer(rows, "at_most_too_high", 0, pair->over);
}

static int make_pairs(struct table *table, struct atlas_state *own, struct arena *arena,
                      struct err *err)
{
    static const struct pair_count none;
    struct table_rows rows = {
        .most = count_heads(own) * ATLAS_PAIRS + 1, .arena = arena, .err = err};
    for (size_t head = 0; head < count_heads(own); head++) {
        struct pair_count best[ATLAS_PAIRS];
        const size_t count = pair_counts_best(&own->atlas.heads[head].pairs, best, ATLAS_PAIRS);
        for (size_t i = 0; i < count && !err->kind; i++, rows_next(&rows))
            put_pair(&rows, own, head, i, &best[i]);
    }
    const bool is_empty = !rows.row;
    if (is_empty) /* an empty row, removed below, creates the columns of a table without pairs */
        put_pair(&rows, own, 0, 0, &none);
    rows.row += is_empty;
    if (rows_finish(table, &rows, "tokens", "row"))
        return -1;
    table->rows.size -= is_empty;
    return 0;
}

static int make_promotions(struct table *table, struct atlas_state *own, struct arena *arena,
                           struct err *err)
{
    struct table_rows rows = {
        .most = count_heads(own) * ATLAS_PROMOTED * PROMOTIONS, .arena = arena, .err = err};
    for (size_t i = 0; own->promotions && i < count_heads(own) * ATLAS_PROMOTED; i++) {
        const size_t head = i / ATLAS_PROMOTED;
        const struct promotion *promotion = &own->promotions[i];
        for (size_t k = 0;
             k < PROMOTIONS && i % ATLAS_PROMOTED < own->key_counts[head] && !err->kind;
             k++, rows_next(&rows)) {
            put_head(&rows, own, head);
            put_token(&rows, own, "key_token", promotion->from);
            rows_float(&rows, (struct column){"mass"}, own->keys[i].weight);
            rows_integer(&rows, "rank", COLUMN_KEY, (long long)k + 1);
            put_token(&rows, own, "raises", promotion->raised[k].id);
            rows_float(&rows, (struct column){"raised_by"}, (double)promotion->raised[k].change);
            put_token(&rows, own, "lowers", promotion->lowered[k].id);
            rows_float(&rows, (struct column){"lowered_by"}, (double)promotion->lowered[k].change);
        }
    }
    return rows_finish(table, &rows, "tokens", "row");
}

static int make_tables(struct atlas_state *own, struct err *err)
{
    struct arena *arena = &own->driver->session.arena;
    return err_if(make_heads(&own->tables[ATLAS_HEADS], own, arena, err) ||
                  make_pairs(&own->tables[ATLAS_FREQUENT], own, arena, err) ||
                  make_promotions(&own->tables[ATLAS_PROMOTES], own, arena, err));
}

static int write_table(struct stream *out, struct atlas_state *own, size_t index, struct err *err)
{
    struct arena arena = {0};
    struct report report;
    const struct layout layout = {0};
    int failed = viewer_report(&report, &own->driver->session.viewer, &arena, err);
    report.tables = &own->tables[index];
    report.table_count = 1;
    failed = failed || report_write(format_find("csv"), &(struct target){.stream = out}, &report,
                                    &layout, err);
    arena_release(&arena);
    return err_if(failed);
}

/* --- examples and settings -------------------------------------------------------------------- */

/* Write an example as a line of JSON:
 * {"format": …, "layer": 1, "head": 3, "interval": 5, "text": 12, "max": 0.98, "tokens": […],
 * "entries": [[query, key, weight], …], "columns": {…}} */
static int put_example(struct json_writer *json, struct atlas_state *own, size_t head,
                       size_t interval, const struct atlas_example *example, struct err *err)
{
    const size_t keys = own->atlas.plan.keys;
    if (atlas_item_read(own, example->text, err))
        return -1;
    const struct item *item = &own->reread.item;
    const struct tokenized *text = &own->reread.pair.text;
    json_put_open(json, NULL, '{');
    json_put_text(json, "format", JSON_FORMAT("atlas-example"));
    json_put_integer(json, "layer", (long long)(head / own->atlas.across));
    json_put_integer(json, "head", (long long)(head % own->atlas.across));
    json_put_integer(json, "interval", (long long)interval + 1);
    json_put_integer(json, "text", (long long)item->number);
    json_put_float(json, "max", example->top);
    json_put_open(json, "tokens", '[');
    for (size_t i = 0; i < text->count; i++)
        json_put_text(json, NULL, text->labels[i].plain);
    json_put_close(json, ']');
    json_put_open(json, "entries", '[');
    for (size_t i = 0; i < example->tokens * keys; i++) {
        if (!example->entries[i])
            continue;
        json_put_open(json, NULL, '[');
        json_put_integer(json, NULL, (long long)(i / keys));
        json_put_integer(json, NULL, (long long)atlas_entry_key(example->entries[i]));
        json_put_float(json, NULL, atlas_entry_weight(example->entries[i]));
        json_put_close(json, ']');
    }
    json_put_close(json, ']');
    columns_put(json, "columns", item->columns, item->column_count);
    json_put_close(json, '}');
    return 0;
}

static int write_examples(struct stream *out, struct atlas_state *own, size_t one, struct err *err)
{
    (void)one;
    for (size_t head = 0; head < count_heads(own); head++)
        for (size_t i = own->atlas.plan.intervals; i-- > 0;) {
            const struct atlas_interval *interval = &own->atlas.heads[head].intervals[i];
            for (size_t k = 0; k < interval->count; k++) {
                struct json_writer json = {.stream = out};
                if (put_example(&json, own, head, i, &interval->items[k], err))
                    return -1;
                stream_char(out, '\n');
            }
        }
    return 0;
}

static int write_settings(struct stream *out, struct atlas_state *own, size_t one, struct err *err)
{
    (void)one;
    const struct atlas_plan *plan = &own->atlas.plan;
    const struct provenance *origin = own->driver->identity.provenance;
    struct json_writer json = {.stream = out};
    struct report report;
    struct arena arena = {0};
    if (viewer_report(&report, &own->driver->session.viewer, &arena, err))
        return -1;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("atlas"));
    json_report_origin(&json, &report, origin);
    json_put_integer(&json, "\n layers", (long long)own->atlas.layers);
    json_put_integer(&json, "heads", (long long)own->atlas.across);
    json_put_integer(&json, "texts", (long long)own->atlas.texts);
    json_put_integer(&json, "tokens", (long long)own->atlas.tokens);
    json_put_text(&json, "measured_on", own->result.origin);
    json_put_integer(&json, "\n intervals", (long long)plan->intervals);
    json_put_integer(&json, "samples", (long long)plan->samples);
    json_put_integer(&json, "top_samples", (long long)plan->top_samples);
    json_put_integer(&json, "keys", (long long)plan->keys);
    json_put_float(&json, "floor", (float)plan->floor);
    json_put_integer(&json, "warm_up", (long long)plan->warm_up);
    json_put_integer(&json, "seed", (long long)plan->seed);
    json_put_open(&json, "\n limits", '[');
    for (size_t head = 0; head < count_heads(own); head++) {
        if (!atlas_has_head(own, head))
            continue;
        json_put_open(&json, "\n ", '{');
        json_put_integer(&json, "layer", (long long)(head / own->atlas.across));
        json_put_integer(&json, "head", (long long)(head % own->atlas.across));
        json_put_floats(&json, "limits", own->atlas.heads[head].limits, plan->intervals - 1);
        json_put_close(&json, '}');
    }
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    arena_release(&arena);
    return 0;
}

/* --- all files -------------------------------------------------------------------------------- */

int atlas_write_file(struct atlas_state *own, const struct atlas_file *file,
                     const struct target_folder *folder, struct err *err)
{
    struct arena arena = {0};
    struct stream out = {0};
    const char *path = arena_format(&arena, err, "%s%s", folder->path, file->name);
    int failed = !path || stream_open_inside(&out, path, folder->replaces, err) ||
                 stream_end(&out, file->write(&out, own, file->index, err), err);
    arena_release(&arena);
    return err_if(failed);
}

int atlas_write_folder(struct atlas_state *own, const char *name, const struct atlas_file *file,
                       bool of_heads, struct err *err)
{
    const struct target_folder *outer = &own->driver->output.folder;
    const char *path = arena_format(&own->driver->kept, err, "%s%s/", outer->path, name);
    struct target_folder folder = {.descriptor = -1};
    int failed = !path || target_folder_open_inside(&folder, path, outer, err);
    for (size_t i = 0; i < (of_heads ? count_heads(own) : 1) && !failed; i++) {
        char of_head[FILE_NAME_BYTES];
        const struct atlas_file one = {of_heads ? of_head : file->name, file->write, i};
        snprintf(of_head, sizeof of_head, "L%zuH%zu%s", i / own->atlas.across,
                 i % own->atlas.across, file->name);
        failed = (!of_heads || atlas_has_head(own, i)) && atlas_write_file(own, &one, &folder, err);
    }
    target_folder_close(&folder);
    return err_if(failed);
}

int atlas_write(struct atlas_state *own, struct err *err)
{
    static const struct atlas_file files[] = {
        {"heads.csv", write_table, ATLAS_HEADS},
        {"pairs.csv", write_table, ATLAS_FREQUENT},
        {"promotions.csv", write_table, ATLAS_PROMOTES},
        {"examples.jsonl", write_examples, 0},
        {"index.html", atlas_page_write, 0},
        {"atlas.json", write_settings, 0},
    };
    static const struct atlas_file entries = {".js", atlas_page_write_entries, 0};
    int failed = promote(own, err) || make_tables(own, err);
    if (!failed && atlas_page_is_split(own))
        failed = atlas_write_folder(own, "heads", &entries, true, err);
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = (files[i].index != ATLAS_PROMOTES || own->promotions) &&
                 atlas_write_file(own, &files[i], &own->driver->output.folder, err);
    return err_if(failed);
}
