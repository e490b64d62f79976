/* atlas_files.c: the tables, examples and settings of an atlas. */
#include <string.h>

#include "atlas.h"
#include "base/num.h"
#include "command.h"
#include "driver.h"
#include "measure/head_circuits.h"

/* --- heads ------------------------------------------------------------------------------------ */

double atlas_score(const struct atlas_state *own, size_t score, size_t head)
{
    return mean_value(&own->heads.sums.found[score * own->heads.survey.heads + head]);
}

size_t atlas_find_score(const struct atlas_state *own, const char *name)
{
    size_t i = 0;
    while (i < own->heads.scores.count && strcmp(own->heads.scores.items[i].name, name) != 0)
        i++;
    return i < own->heads.scores.count ? i : SIZE_MAX;
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

/* Find the keys with the most weight of each head, and what they promote if the model has that. */
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
        if (!atlas_marginals(&found, &own->atlas, i, true, atlas_source_ids, own, &scratch, err)) {
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

static int put_report(struct stream *out, struct report *report, struct err *err)
{
    const struct layout layout = {0};
    return report_write(format_find("csv"), &(struct target){.stream = out}, report, &layout, err);
}

/* The table of heads, with the role of each as a column. */
static int write_heads(struct stream *out, struct atlas_state *own, size_t one, struct err *err)
{
    (void)one;
    struct arena arena = {0};
    struct report report;
    struct table *table = head_table_report(&report, &own->heads.results, &arena, err);
    struct column *columns = table ? arena_alloc(&arena, table->count, sizeof *columns, err) : NULL;
    for (size_t i = 0; columns && i < table->count; i++) {
        columns[i] = table->columns[i];
        if (strcmp(columns[i].name, "verdict") != 0)
            continue;
        columns[i].name = "role";
        columns[i].flags = 0;
    }
    if (columns)
        table->columns = columns;
    int failed = !columns || put_report(out, &report, err);
    arena_release(&arena);
    return err_if(failed);
}

/* Finish a table of tokens, and write it. */
static int put_rows(struct stream *out, struct table_rows *rows, const struct atlas_state *own,
                    struct err *err)
{
    struct table table;
    struct report report;
    int failed = viewer_report(&report, &own->driver->session.viewer, rows->arena, err) ||
                 rows_finish(&table, rows, "tokens", "row");
    report.tables = &table;
    report.table_count = 1;
    failed = failed || put_report(out, &report, err);
    arena_release(rows->arena);
    return err_if(failed);
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

static int write_pairs(struct stream *out, struct atlas_state *own, size_t one, struct err *err)
{
    (void)one;
    struct arena arena = {0};
    struct table_rows rows = {.most = count_heads(own) * ATLAS_PAIRS, .arena = &arena, .err = err};
    for (size_t head = 0; head < count_heads(own); head++) {
        struct pair_count best[ATLAS_PAIRS];
        const size_t count = pair_counts_best(&own->atlas.heads[head].pairs, best, ATLAS_PAIRS);
        for (size_t i = 0; i < count && !err->kind; i++, rows_next(&rows)) {
            put_head(&rows, own, head);
            rows_integer(&rows, "rank", COLUMN_KEY, (long long)i + 1);
            put_token(&rows, own, "query_token", best[i].query);
            put_token(&rows, own, "key_token", best[i].key);
            rows_integer(&rows, "count", 0, best[i].count);
            rows_float(&rows, (struct column){"mean"},
                       best[i].weight / (double)(best[i].count - best[i].over));
            rows_integer(&rows, "at_most_too_high", 0, best[i].over);
        }
    }
    return put_rows(out, &rows, own, err);
}

static int write_promotions(struct stream *out, struct atlas_state *own, size_t one,
                            struct err *err)
{
    (void)one;
    struct arena arena = {0};
    struct table_rows rows = {
        .most = count_heads(own) * ATLAS_PROMOTED * PROMOTIONS, .arena = &arena, .err = err};
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
    return put_rows(out, &rows, own, err);
}

/* --- examples and settings -------------------------------------------------------------------- */

/* {"format": …, "layer": 1, "head": 3, "interval": 5, "text": 12, "max": 0.98, "tokens": […],
 * "entries": [[query, key, weight], …], "columns": {…}} */
static int put_example(struct json_writer *json, struct atlas_state *own, size_t head,
                       size_t interval, const struct atlas_example *example, struct err *err)
{
    const size_t keys = own->atlas.plan.keys;
    if (atlas_source_read(own, example->text, err))
        return -1;
    const struct item *item = &own->source.item;
    const struct tokenized *text = &own->source.pair.sentence;
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

int atlas_write_file(struct atlas_state *own, const struct atlas_file *file, size_t head,
                     const struct target_folder *folder, struct err *err)
{
    struct arena arena = {0};
    struct stream out = {0};
    const char *path = arena_format(&arena, err, "%s%s", folder->path, file->name);
    int failed = !path || stream_open_inside(&out, path, folder->replaces, err) ||
                 stream_end(&out, file->write(&out, own, head, err), err);
    arena_release(&arena);
    return err_if(failed);
}

int atlas_write(struct atlas_state *own, struct err *err)
{
    static const struct atlas_file files[] = {
        {"heads.csv", write_heads},           {"pairs.csv", write_pairs},
        {"promotions.csv", write_promotions}, {"examples.jsonl", write_examples},
        {"index.html", atlas_page_write},     {"atlas.json", write_settings},
    };
    int failed = promote(own, err);
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = (files[i].write != write_promotions || own->promotions) &&
                 atlas_write_file(own, &files[i], 0, &own->driver->output.folder, err);
    return err_if(failed);
}
