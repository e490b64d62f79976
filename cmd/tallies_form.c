#include "tallies_form.h"

#include <string.h>

#include "base/buf.h"
#include "out/csv_field.h"
#include "out/tally_lines.h"
#include "out/tally_page.h"
#include "settings.h"

static struct tally narrowed(const struct tally_group *group, unsigned measures)
{
    struct tally tally = group->tally;
    tally.measures = measures;
    return tally;
}

/* tiny · 4000 texts · bos=true */
static void add_title(struct buf *out, const struct tally_group *group)
{
    buf_format(out, "%s · %llu text%s", group->model, (unsigned long long)group->texts,
               group->texts == 1 ? "" : "s");
    for (size_t i = 0; i < group->setting_count; i++)
        if (strcmp(group->settings[i].name, "model") != 0) /* it is what the title begins with */
            buf_format(out, " · %s=%s", group->settings[i].name, group->settings[i].value);
}

typedef int (*sheets_writer)(struct stream *out, const struct tally *tally, const char *title,
                             const struct place *place, struct err *err);

static int write_sheets(struct stream *out, const struct tallies *tallies, unsigned measures,
                        const struct place *page, sheets_writer write, struct err *err)
{
    struct place place = *page;
    int failed = 0;
    place.count = 0;
    for (const struct tally_group *group = tallies->first; group; group = group->next)
        place.count++;
    const struct tally_group *group = tallies->first;
    for (place.index = 0; group && !failed; group = group->next, place.index++) {
        struct buf title = {0};
        struct tally tally = narrowed(group, measures);
        add_title(&title, group);
        failed = buf_check(&title, err) || write(out, &tally, title.bytes, &place, err);
        buf_release(&title);
    }
    return failed ? -1 : 0;
}

static int write_text(struct stream *out, const struct tallies *tallies, unsigned measures,
                      const struct place *page, struct err *err)
{
    return write_sheets(out, tallies, measures, page, tally_page_write, err);
}

static int write_csv(struct stream *out, const struct tallies *tallies, unsigned measures,
                     const struct place *page, struct err *err)
{
    return write_sheets(out, tallies, measures, page, tally_csv_write, err);
}

static const char *value_of(const struct tally_group *group, const char *name)
{
    for (size_t i = 0; i < group->setting_count; i++)
        if (strcmp(group->settings[i].name, name) == 0)
            return group->settings[i].value;
    return NULL;
}

/* The settings that any group has, in the order of the table of options. */
static bool is_column(const struct tallies *tallies, const struct option_row *row)
{
    for (const struct tally_group *group = tallies->first; group; group = group->next)
        if (settings_compute(row) && value_of(group, row->name))
            return true;
    return false;
}

/* The names of those columns, or what a group has there: each with its comma. */
static void add_columns(struct buf *out, const struct tallies *tallies,
                        const struct tally_group *group)
{
    buf_text(out, "");
    for (size_t i = 0; i < option_count; i++) {
        const char *name = option_rows[i].name;
        if (!is_column(tallies, &option_rows[i]))
            continue;
        const char *value = group ? value_of(group, name) : name;
        csv_field(out, value ? value : "");
        buf_char(out, ',');
    }
}

static int write_tidy(struct stream *out, const struct tallies *tallies, unsigned measures,
                      const struct place *page, struct err *err)
{
    struct buf columns = {0};
    int failed = 0;
    (void)page;
    add_columns(&columns, tallies, NULL);
    if (!(failed = buf_check(&columns, err)))
        stream_format(out, "measure,%slayer,head,query,key,count,value\n", columns.bytes);
    for (const struct tally_group *group = tallies->first; group && !failed; group = group->next) {
        struct tally tally = narrowed(group, measures);
        buf_clear(&columns);
        add_columns(&columns, tallies, group);
        if (!(failed = buf_check(&columns, err)))
            tally_write_values(out, &tally, columns.bytes);
    }
    buf_release(&columns);
    return failed;
}

const struct tallies_form tallies_forms[TALLIES_FORMS] = {
    {"text", ".txt", write_text},
    {"csv", ".csv", write_csv},
    {"tidy", ".tidy.csv", write_tidy},
};

const struct tallies_form *tallies_form_find(const char *name)
{
    for (size_t i = 0; i < TALLIES_FORMS; i++)
        if (strcmp(tallies_forms[i].name, name) == 0)
            return &tallies_forms[i];
    return NULL;
}

const struct tallies_form *tallies_form_of_path(const char *path)
{
    const struct format *format = format_of_path(path); /* the endings are those of run */
    return format ? tallies_form_find(format->name) : NULL;
}
