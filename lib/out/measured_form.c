#include "out/measured_form.h"

#include <string.h>

#include "base/buf.h"
#include "out/measured_data.h"
#include "out/measured_page.h"
#include "out/measured_picture.h"

static int write_csv(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    (void)place;
    return measured_csv_write(out, list, err);
}

static int write_tidy(struct stream *out, const struct measured_list *list,
                      const struct place *place, struct err *err)
{
    (void)place;
    return measured_tidy_write(out, list, err);
}

static int write_json(struct stream *out, const struct measured_list *list,
                      const struct place *place, struct err *err)
{
    (void)place, (void)err;
    measured_json_write(out, list);
    return 0;
}

static int write_svg(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    return measured_picture_write(out, PICTURE_SVG, list, place->style, err);
}

static int write_png(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    return measured_picture_write(out, PICTURE_PNG, list, place->style, err);
}

static int write_pdf(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    return measured_picture_write(out, PICTURE_PDF, list, place->style, err);
}

const struct measured_form measured_forms[] = {
    {"text", ".txt", "tables to read, fitted to the terminal", true, measured_page_write, NULL},
    {"csv", ".csv", "labelled matrices, layers by heads", true, write_csv, NULL},
    {"tidy", ".tidy.csv", "CSV with a line for every number, for data frames", true, write_tidy,
     NULL},
    {"json", ".json", "one object, the numbers as nested arrays", false, write_json, NULL},
    {"svg", ".svg", "a picture for papers and web pages", true, write_svg, NULL},
    {"png", ".png", "the same in pixels; needs pango and cairo", false, write_png,
     picture_check_cairo},
    {"pdf", ".pdf", "the same, its text selectable; needs pango and cairo", false, write_pdf,
     picture_check_cairo},
};

const size_t measured_form_count = sizeof measured_forms / sizeof *measured_forms;

static const struct measured_form *find(const char *name)
{
    for (size_t i = 0; i < measured_form_count; i++)
        if (strcmp(measured_forms[i].name, name) == 0)
            return &measured_forms[i];
    return NULL;
}

/* text, csv, … or pdf */
static void list_forms(struct buf *out, bool endings)
{
    for (size_t i = 0; i < measured_form_count; i++)
        buf_format(out, "%s%s",
                   i == 0                        ? ""
                   : i + 1 < measured_form_count ? ", "
                                                 : " or ",
                   endings ? measured_forms[i].ending : measured_forms[i].name);
}

static int refuse(const char *name, const char *path, const char *option, struct err *err)
{
    struct buf known = {0};
    list_forms(&known, !name);
    const char *forms = known.bytes ? known.bytes : "";
    if (name)
        err_usage(err, "--format: expected %s for %s, found '%s'", forms, option, name);
    else
        err_usage(err, "--output: expected an ending of %s for %s, found '%s'", forms, option,
                  path);
    buf_release(&known);
    return -1;
}

int measured_form_choose(const struct measured_form **form, const char *name, const char *path,
                         const char *option, struct err *err)
{
    *form = &measured_forms[0];
    if (name) {
        *form = find(name);
    } else if (path) {
        const struct format *format = format_of_path(path); /* the endings are those of run */
        *form = format ? find(format->name) : NULL;
    }
    if (!*form)
        return refuse(name, path, option, err);
    return (*form)->check ? (*form)->check(err) : 0;
}
