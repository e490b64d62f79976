#include "tallies_form.h"

#include <string.h>

#include "base/buf.h"
#include "out/csv_field.h"
#include "out/tally_lines.h"
#include "out/tally_page.h"
#include "out/tally_picture.h"
#include "../settings.h"

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

/* What a group has and others have not; else its model. */
static const char *make_name(const struct tally_group *group, struct arena *arena, struct err *err)
{
    struct buf out = {0};
    const char *name = NULL;
    for (size_t i = 0; i < group->setting_count; i++)
        buf_format(&out, "%s%s=%s", i ? " · " : "", group->settings[i].name,
                   group->settings[i].value);
    if (!out.size)
        buf_text(&out, group->model);
    if (!buf_check(&out, err))
        name = arena_text(arena, out.bytes, out.size, err);
    buf_release(&out);
    return name;
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

/* tiny · 4000 texts; of several groups their models, each once where they follow each other. */
static void add_title_of_all(struct buf *out, const struct tallies *tallies)
{
    const struct tally_group *before = NULL;
    buf_text(out, tallies->first ? "" : "no texts");
    if (tallies->first && !tallies->first->next) {
        add_title(out, tallies->first);
        return;
    }
    for (const struct tally_group *group = tallies->first; group;
         before = group, group = before->next)
        if (!before || strcmp(before->model, group->model) != 0)
            buf_format(out, "%s%s", before ? ", " : "", group->model);
}

static int write_picture(struct stream *out, enum picture_form form, const struct tallies *tallies,
                         unsigned measures, const struct place *page, struct err *err)
{
    struct arena arena = {0};
    struct buf title = {0};
    size_t count = 0;
    for (const struct tally_group *group = tallies->first; group; group = group->next)
        count++;
    struct tally_part *parts = arena_alloc(&arena, count + 1, sizeof *parts, err);
    int failed = !parts;
    size_t i = 0;
    for (const struct tally_group *group = tallies->first; group && !failed; group = group->next) {
        parts[i].tally = narrowed(group, measures);
        parts[i].name = make_name(group, &arena, err);
        failed = !parts[i++].name;
    }
    add_title_of_all(&title, tallies);
    failed = failed || buf_check(&title, err) ||
             tally_picture_write(out, form, title.bytes, parts, count, page->style, err);
    buf_release(&title);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int write_svg(struct stream *out, const struct tallies *tallies, unsigned measures,
                     const struct place *page, struct err *err)
{
    return write_picture(out, PICTURE_SVG, tallies, measures, page, err);
}

static int write_png(struct stream *out, const struct tallies *tallies, unsigned measures,
                     const struct place *page, struct err *err)
{
    return write_picture(out, PICTURE_PNG, tallies, measures, page, err);
}

static int write_pdf(struct stream *out, const struct tallies *tallies, unsigned measures,
                     const struct place *page, struct err *err)
{
    return write_picture(out, PICTURE_PDF, tallies, measures, page, err);
}

const struct tallies_form tallies_forms[TALLIES_FORMS] = {
    {"text", ".txt", true, write_text, NULL},
    {"csv", ".csv", true, write_csv, NULL},
    {"tidy", ".tidy.csv", true, write_tidy, NULL},
    {"svg", ".svg", true, write_svg, NULL},
    {"png", ".png", false, write_png, picture_check_cairo},
    {"pdf", ".pdf", false, write_pdf, picture_check_cairo},
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
