#include "draw/measured_form.h"

#include "write/measured_data.h"
#include "write/measured_page.h"
#include "draw/measured_picture.h"

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
    return measured_picture_write(out, DRAWING_SVG, list, place->style, err);
}

static int write_png(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    return measured_picture_write(out, DRAWING_PNG, list, place->style, err);
}

static int write_pdf(struct stream *out, const struct measured_list *list,
                     const struct place *place, struct err *err)
{
    return measured_picture_write(out, DRAWING_PDF, list, place->style, err);
}

const struct measured_form measured_forms[] = {
    {"text", ".txt", "tables to read, fitted to the terminal", true, false, measured_page_write,
     NULL},
    {"csv", ".csv", "labelled matrices, layers by heads", true, false, write_csv, NULL},
    {"tidy", ".tidy.csv", "CSV with a line for every number, for data frames", true, false,
     write_tidy, NULL},
    {"json", ".json", "one object, the numbers as nested arrays", false, false, write_json, NULL},
    {"svg", ".svg", "a picture for papers and web pages", true, false, write_svg, NULL},
    {"png", ".png", "the same in pixels; needs pango and cairo", false, true, write_png,
     drawing_check},
    {"pdf", ".pdf", "the same, its text selectable; needs pango and cairo", false, true, write_pdf,
     drawing_check},
};

const size_t measured_form_count = sizeof measured_forms / sizeof *measured_forms;
