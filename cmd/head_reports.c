/* head_reports.c: `attn-cli heads --composition`: how heads compose. */
#include <math.h>
#include <string.h>

#include "command.h"
#include "heads.h"

bool head_reports_asked(const struct options *options)
{
    return options->heads.composition;
}

int head_reports_check(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct output *output = &job->output;
    static const char *const others[] = {"score",  "map",      "sort", "null", "pairs",
                                         "needle", "sentence", "file", "data"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (options_are_given(options, others[i]))
            return err_usage(err, "--composition: expected it by itself, found --%s", others[i]);
    if (options->input.operands.count)
        return err_usage(err, "--composition: expected no text, found '%s'",
                         options->input.operands.items[0]);
    if (output_choose(output, &options->output, err) || output_check_made(output, err))
        return -1;
    looks_note_pictures(&options->looks, output->format);
    if (model_list_check(&job->models, output, err))
        return -1;
    job->shared = model_list_count(&job->models) > 1 && !output->to_folder &&
                  format_is(output->format, "csv");
    return 0;
}

/* On a page cells are empty where there is no number. */
static int leave_empty(struct sheet *sheet, struct arena *arena, struct err *err)
{
    size_t count = sheet->rows.size * sheet->columns.size;
    const char **texts = arena_alloc(arena, count, sizeof *texts, err);
    sheet->texts = texts;
    for (size_t i = 0; texts && i < count; i++) {
        texts[i] = isnan(sheet->values[i])
                       ? ""
                       : arena_format(arena, err, "%.4f", (double)sheet->values[i]);
        if (!texts[i])
            return -1;
    }
    return texts ? 0 : -1;
}

static int make_composition(struct report *report, struct heads_job *job,
                            const struct format *format, struct err *err)
{
    const char *name = job->options->heads.composition;
    struct arena *arena = &job->session.arena;
    const struct config *c = &job->session.viewer.model.config;
    size_t heads = c->n_layer * c->n_head;
    size_t way = 0;
    if (names_choose(&way, NAMES_LIST(composition_names), "--composition", name, err))
        return -1;
    float *values = arena_alloc(arena, heads * heads, sizeof *values, err);
    struct label *labels = arena_alloc(arena, heads, sizeof *labels, err);
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    struct kept *kept = arena_alloc(arena, 1, sizeof *kept, err);
    if (!values || !labels || !sheet || !kept ||
        circuits_compose(values, (enum composition)way, &job->session.viewer, err))
        return -1;
    for (size_t i = 0; i < heads; i++)
        if (label_of_head(&labels[i], i / c->n_head, i % c->n_head, arena, err))
            return -1;
    *sheet = (struct sheet){
        .tensor = arena_format(arena, err, "%s_composition", composition_names[way]),
        .layer = -1,
        .head = -1,
        .rows = {"head", heads, labels, 0},
        .columns = {"later", heads, labels, 0},
        .values = values,
    };
    *kept = kept_made(sheet);
    *report = (struct report){.model = job->session.viewer.model.name,
                              .tensors = kept,
                              .tensor_count = 1,
                              .has_encoder = true};
    report->about = arena_format(arena, err, "%s-composition of heads; at random %.4f",
                                 (const char *[]){"Q", "K", "V"}[way], 1 / sqrt((double)c->n_embd));
    if (!sheet->tensor || !report->about)
        return -1;
    return format_is(format, "text") ? leave_empty(sheet, arena, err) : 0;
}

static void put_axis(struct json_writer *json, const struct axis *axis)
{
    json_put_open(json, NULL, '[');
    for (size_t i = 0; i < axis->size; i++)
        json_put_text(json, NULL, axis->labels[i].plain);
    json_put_close(json, ']');
}

/* "about": …, "axes": {"k_composition": [["L0H0", …], ["L0H0", …]]}, */
static int put_members(struct buf *members, const struct report *report, struct err *err)
{
    struct json_writer json = {.buf = members};
    json_put_text(&json, "about", report->about);
    json_put_open(&json, "axes", '{');
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct sheet *sheet = report->tensors[i].made;
        json_put_open(&json, sheet->tensor, '[');
        put_axis(&json, &sheet->rows);
        put_axis(&json, &sheet->columns);
        json_put_close(&json, ']');
    }
    json_put_close(&json, '}');
    return buf_check(members, err);
}

int head_reports_write(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct output *output = &job->output;
    struct report report;
    struct buf members = {0};
    struct place place = page_place(&options->looks, &job->style);
    int failed = make_composition(&report, job, output->format, err);
    if (!failed)
        failed = put_members(&members, &report, err);
    place.index = job->models.open;
    place.count = model_list_count(&job->models);
    place.model = job->models.hashes ? report.model : NULL;
    place.sentences = 1;
    place.document = JSON_FORMAT("heads");
    place.members = members.bytes;
    failed = failed || output_open(output, err) || output_write_made(output, &report, &place, err);
    buf_release(&members);
    return failed ? -1 : 0;
}
