#include "fills.h"

#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/csv_read.h"

bool fills_are_merged(const struct fills *fills, const struct fill *cells)
{
    bool are_merged = false;
    for (size_t i = 0; i < fills->count; i++)
        are_merged |= fills->columns[i].how == FILL_BY && !cells[i].value;
    return are_merged;
}

bool fills_has(const struct fills *fills, size_t index, bool is_merged)
{
    return fills->columns[index].how <= (is_merged ? FILL_PER : FILL_GROUP);
}

/* Add a column to `fills`, unless it already contains the column. */
static int add(struct fills *fills, const char *name, int how, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < fills->count; i++)
        if (strcmp(fills->columns[i].name, name) == 0)
            return 0;
    fills->columns = arena_grow(arena, fills->columns, fills->count, sizeof *fills->columns, err);
    if (!fills->columns)
        return -1;
    fills->columns[fills->count++] = (struct fill_column){.name = name, .how = how};
    return 0;
}

int column_names_read(struct texts *names, const char *option, const char *list,
                      struct arena *arena, struct err *err)
{
    struct csv_reader reader = {list, list + strlen(list), 1, ','};
    struct csv_record record;
    struct err why = {0};
    if (csv_read(&reader, &record, arena, &why) && why.out_of_memory)
        return err_adopt(err, &why);
    if (why.kind || reader.at < reader.end)
        return err_usage(err,
                         "%s: expected names separated by commas, those with a comma in quotes, as "
                         "in \"a, b\",c, found '%s'",
                         option, list);
    if (!record.count && (record.fields = arena_alloc(arena, 1, sizeof *record.fields, err)))
        record.fields[record.count++] = "";
    *names = (struct texts){record.fields, record.count};
    return record.count ? 0 : -1;
}

int fills_init(struct fills *fills, const struct options *options, const struct texts *by,
               struct arena *arena, struct err *err)
{
    const struct score_options *score = &options->score;
    const char *id = options->input.id_column ? options->input.id_column : "item";
    for (size_t i = 0; i < by->count; i++)
        if (add(fills, by->items[i], FILL_BY, arena, err))
            return -1;
    if (score->group && add(fills, score->group, FILL_GROUP, arena, err))
        return -1;
    struct texts per = {0};
    if (score->per && column_names_read(&per, "--per", score->per, arena, err))
        return -1;
    for (size_t i = 0; i < per.count; i++)
        if (add(fills, per.items[i], strcmp(per.items[i], id) == 0 ? FILL_GROUP : FILL_PER, arena,
                err))
            return -1;
    if (score->total && !score->group && !score->per && add(fills, id, FILL_NONE, arena, err))
        return -1;
    fills->now = arena_alloc(arena, fills->count, sizeof *fills->now, err);
    return fills->now ? 0 : -1;
}

void fills_release(struct fills *fills)
{
    hash_table_release(&fills->texts);
}

int fills_take(struct fills *fills, const struct fill *cells, size_t line, struct arena *arena,
               struct err *err)
{
    const bool is_merged = fills_are_merged(fills, cells);
    for (size_t i = 0; i < fills->count; i++) {
        struct fill_column *column = &fills->columns[i];
        struct fill *now = &fills->now[i];
        const bool is_blank = !cells[i].value, is_filled = fills_has(fills, i, is_merged);
        column->filled += is_blank && is_filled;
        column->blank += is_blank && !is_filled;
        if (is_blank && column->how <= FILL_GROUP && !now->value && !column->first_line)
            column->first_line = line;
        if (is_blank || (now->value && strcmp(now->value, cells[i].value) == 0))
            continue;
        *now = cells[i];
        now->value = arena_text(arena, cells[i].value, strlen(cells[i].value), err);
    }
    return err_if(err->kind);
}

bool fills_begin_text(struct fills *fills, struct arena *arena, struct err *err)
{
    struct buf key = {0};
    for (size_t i = 0; i < fills->count && fills->columns[i].how == FILL_BY; i++)
        buf_format(&key, "%s%s", i ? ", " : "", fills->now[i].value ? fills->now[i].value : "");
    const char *own = buf_keep(&key, arena, err);
    if (!own || (fills->text && strcmp(fills->text, own) == 0))
        return false;
    fills->text = own;
    if (hash_table_get(&fills->texts, own, strlen(own), NULL))
        err_set(err,
                "--by: expected the rows of '%s' together, found others between: sort the table",
                own);
    return !err->kind && !hash_table_put(&fills->texts, own, strlen(own), 0, err);
}

void fills_write(struct buf *out, const struct fills *fills)
{
    for (size_t i = 0; i < fills->count; i++) {
        const struct fill_column *column = &fills->columns[i];
        if (!fills->now[i].value) /* the column has no value: the table may lack this column */
            continue;
        if (column->filled)
            buf_format(out,
                       "; %zu blank cell%s of the column '%s' ha%s the value above, as merged "
                       "cells of a spreadsheet",
                       column->filled, num_plural(column->filled), column->name,
                       column->filled == 1 ? "s" : "ve");
        if (column->blank)
            buf_format(out, "; %zu blank cell%s of the column '%s' %s ", column->blank,
                       num_plural(column->blank), column->name, column->blank == 1 ? "is" : "are");
        if (column->blank && column->how == FILL_PER)
            buf_text(out, "a value of --per");
        else if (column->blank)
            buf_format(out, "in no group: --group %s gives them the value above", column->name);
    }
}
